#include "wire/texts.h"

#include <fmt/args.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <variant>

#include "wire/catalogue.h"
#include "wire/phrases.h"

namespace tangram::wire {
namespace {

std::string tenant_or_placeholder(const Names& names, TenantId tenant, Language language) {
  std::string name = tenant.valid() && names.tenant ? names.tenant(tenant) : std::string();
  if (!name.empty()) return name;
  return language == Language::kChinese ? "（未知）" : "(unknown)";
}

// An ancestor's limit surprises its tenant: the text says where it stands.
std::string tenant_phrase(const JobSpec& spec, const Blocker& blocker, const Names& names,
                          Language language) {
  std::string text = tenant_or_placeholder(names, blocker.tenant, language);
  if (!blocker.tenant.valid() || blocker.tenant == spec.tenant) return text;
  const std::string own = tenant_or_placeholder(names, spec.tenant, language);
  return text + (language == Language::kChinese ? "（" + own + " 的上级）" : " (above " + own + ")");
}

Dimension dimension_of(const Blocker& blocker) {
  switch (blocker.reason) {
    case ReasonCode::kQuotaNpus:
    case ReasonCode::kQuotaNpusNever:
    case ReasonCode::kNpusBusy:
    case ReasonCode::kNpusUnhealthy:
    case ReasonCode::kNpusKept:
    case ReasonCode::kNpusNever:
    case ReasonCode::kSlotsBusy:
    case ReasonCode::kMemoryBusy:
    case ReasonCode::kSlicesResidual:
    case ReasonCode::kAiCoresNever:
      return Dimension::kNpus;
    case ReasonCode::kQuotaMemoryTotal:
    case ReasonCode::kQuotaMemoryTotalNever:
      return Dimension::kMemoryTotal;
    case ReasonCode::kQuotaMemoryPerNpu:
    case ReasonCode::kMemoryNever:
      return Dimension::kMemoryPerNpu;
    case ReasonCode::kQuotaAiCores:
    case ReasonCode::kQuotaAiCoresNever:
      return Dimension::kAiCores;
    case ReasonCode::kQuotaRunningJobs:
    case ReasonCode::kQuotaRunningJobsNever:
      return Dimension::kRunningJobs;
    case ReasonCode::kQuotaBandwidth:
    case ReasonCode::kQuotaBandwidthNever:
      return Dimension::kBandwidth;
    case ReasonCode::kQuotaRunTime:
      return Dimension::kRunTime;
    case ReasonCode::kQuotaPriority:
      return Dimension::kPriorities;
    case ReasonCode::kNone:
    case ReasonCode::kQuotaKept:
    case ReasonCode::kNoDevices:
    case ReasonCode::kSliceUnsupported:
    case ReasonCode::kShareUnsupported:
      return blocker.dimension;
  }
  return blocker.dimension;
}

// "4", "64GiB": without the noun, for "4 of 4 NPUs" and for options of the command line.
std::string bare_amount(Dimension dimension, std::int64_t amount) {
  switch (dimension) {
    case Dimension::kMemoryPerNpu:
    case Dimension::kMemoryTotal:
      return format_bytes(Bytes(amount));
    case Dimension::kRunTime:
      return format_duration_ms(amount);
    case Dimension::kBandwidth:
      return format_bits_per_second(amount);
    case Dimension::kNpus:
    case Dimension::kAiCores:
    case Dimension::kRunningJobs:
    case Dimension::kPriorities:
      return amount >= kUnlimited ? "unlimited" : std::to_string(amount);
  }
  return {};
}

std::string holders_phrase(const Blocker& blocker, const Names& names, Language language) {
  if (blocker.holders.empty()) return {};
  const std::string all = name_list(blocker.holders, names, language);
  return language == Language::kChinese ? "；占用者：" + all : "; held by " + all;
}

// Which ones, so that nobody has to look for them.
std::string unhealthy_phrase(const Blocker& blocker, const Names& names, Language language) {
  const bool chinese = language == Language::kChinese;
  std::string all;
  for (const NpuIndex npu : blocker.unhealthy_npus) {
    const std::string name = names.npu ? names.npu(npu) : std::string();
    if (!name.empty()) all += (all.empty() ? "" : chinese ? "、" : ", ") + name;
  }
  if (all.empty()) return {};
  return chinese ? "（" + all + "）" : " (" + all + ")";
}

std::string residual_phrase(const Blocker& blocker, const Names& names, Language language) {
  const std::string all = slice_list(blocker.residual, names, language);
  if (all.empty()) return {};
  return (language == Language::kChinese ? "：" : ": ") + all;
}

// "4GiB and 2 AI cores"; empty: no size was asked for.
std::string slice_size(const Request& request, Language language) {
  std::string size;
  if (request.memory_per_npu.count > 0) size = format_bytes(request.memory_per_npu);
  if (request.ai_cores > 0) {
    if (!size.empty()) size += language == Language::kChinese ? "、" : " and ";
    size += format_amount(Dimension::kAiCores, request.ai_cores, language);
  }
  return size;
}

bool is_slice(const JobSpec& spec) {
  return spec.request.kind == RequestKind::kSlice;
}

// "2 NPUs of one node", "a slice of 4GiB and 2 AI cores".
std::string need_phrase(const JobSpec& spec, const Blocker& blocker, Language language) {
  const bool chinese = language == Language::kChinese;
  if (!is_slice(spec)) {
    const std::string npus = format_amount(Dimension::kNpus, blocker.asked, language);
    return chinese ? "同一节点上的 " + npus : npus + " of one node";
  }
  const std::string size = slice_size(spec.request, language);
  std::string text = chinese ? "一个切片" : "a slice";
  if (!size.empty()) text += chinese ? "（" + size + "）" : " of " + size;
  const bool becomes_whole = blocker.granted && blocker.granted->template_name.empty();
  if (becomes_whole)
    text += chinese ? "，即整个 NPU，因为没有足够大的模板"
                    : ", which is a whole NPU, for no template is so large";
  return text;
}

// What was asked for and what that comes to, behind the amount that is charged.
std::string granted_phrase(const JobSpec& spec, const Blocker& blocker, Language language) {
  if (!blocker.granted) return {};
  const bool chinese = language == Language::kChinese;
  const Granted& granted = *blocker.granted;
  const std::string memory = format_bytes(granted.memory);
  const std::string cores = format_amount(Dimension::kAiCores, granted.ai_cores, language);
  if (!is_slice(spec)) {
    const std::string asked = format_bytes(spec.request.memory_per_npu);
    return chinese ? "（请求每个 NPU " + asked + "，分配整个 NPU，各 " + memory + "）"
                   : " (" + asked + " per NPU asked for, whole NPUs granted with " + memory + " each)";
  }
  const std::string asked = slice_size(spec.request, language);
  std::string what = granted.template_name;
  if (what.empty()) what = chinese ? "整个 NPU" : "a whole NPU";
  if (chinese) return "（请求 " + asked + " 的切片，分配 " + what + "，即 " + memory + "、" + cores + "）";
  return " (a slice of " + asked + " asked for, " + what + " granted with " + memory + " and " + cores + ")";
}

std::string exist_phrase(const Blocker& blocker, Language language) {
  if (blocker.limit <= 0) return {};
  const std::string amount = format_amount(Dimension::kNpus, blocker.limit, language);
  return language == Language::kChinese ? "（全部节点共 " + amount + "）"
                                        : " (all nodes together: " + amount + ")";
}

// The limit of kQuotaPriority is the set of priorities that are allowed.
std::string allowed_priorities(const Blocker& blocker) {
  const PrioritySet allowed{static_cast<std::uint8_t>(blocker.limit & PrioritySet::all().bits)};
  std::string all;
  for (const Priority priority : {Priority::kHigh, Priority::kNormal, Priority::kLow}) {
    if (allowed.contains(priority)) all += (all.empty() ? "" : ", ") + std::string(to_string(priority));
  }
  return all;
}

std::string allowed_phrase(const Blocker& blocker, Language language) {
  const std::string all = allowed_priorities(blocker);
  if (all.empty()) return {};
  return language == Language::kChinese ? "；允许的优先级：" + all : "; it may use " + all;
}

// A report keeps an NPU that has just refused a cut by what looks like a slice of nobody's, without a
// template.
bool is_trace_of_refusal(const ResidualSlice& residual) {
  return residual.slice.residual && residual.slice.template_name.empty();
}

// "NPU 0, NPU 3", where nothing but such refusals is in the way; else empty.
std::string resting_npus(const Blocker& blocker, const Names& names, Language language) {
  const bool none_other = std::all_of(blocker.residual.begin(), blocker.residual.end(), is_trace_of_refusal);
  if (blocker.reason != ReasonCode::kSlicesResidual || !none_other || !names.npu) return {};
  std::string all;
  std::optional<NpuIndex> last;
  for (const ResidualSlice& residual : blocker.residual) {
    const std::string npu = residual.npu == last ? std::string() : names.npu(residual.npu);
    last = residual.npu;
    if (npu.empty()) continue;
    all += (all.empty() ? "" : language == Language::kChinese ? "、" : ", ") + npu;
  }
  return all;
}

Blocker without_traces(Blocker blocker) {
  std::erase_if(blocker.residual, is_trace_of_refusal);
  return blocker;
}

// "1 is", "3 are": of NPUs that were counted.
std::string counted(std::int64_t count, Language language) {
  if (language == Language::kChinese) return std::to_string(count) + " 个";
  return std::to_string(count) + (count == 1 ? " is" : " are");
}

std::string fill(std::string_view text, const JobSpec& spec, const Blocker& blocker, const Names& names,
                 Language language) {
  const Dimension dimension = dimension_of(blocker);
  fmt::dynamic_format_arg_store<fmt::format_context> values;
  // A text has one or two of them, and a batch makes a text for each of its jobs.
  const auto set = [&](const char* name, const auto& value) {
    const std::string place = std::string("{") + name + '}';
    if (text.find(place) != std::string_view::npos) values.push_back(fmt::arg(name, std::string(value())));
  };
  const bool by_priority = blocker.reason == ReasonCode::kQuotaPriority;
  set("tenant", [&] { return tenant_phrase(spec, blocker, names, language); });
  set("plain_tenant", [&] { return tenant_or_placeholder(names, blocker.tenant, language); });
  set("asked", [&] { return format_amount(dimension, blocker.asked, language); });
  set("used", [&] { return bare_amount(dimension, blocker.used); });
  set("limit", [&] { return format_amount(dimension, blocker.limit, language); });
  set("limit_option", [&] { return bare_amount(dimension, blocker.limit); });
  set("memory_option", [&] { return is_slice(spec) ? "--slice" : "--memory"; });
  set("free", [&] { return counted(blocker.free, language); });
  set("unhealthy", [&] { return counted(blocker.unhealthy, language); });
  set("unhealthy_npus", [&] { return unhealthy_phrase(blocker, names, language); });
  set("holders", [&] { return holders_phrase(blocker, names, language); });
  set("exist", [&] { return exist_phrase(blocker, language); });
  set("allowed", [&] { return by_priority ? allowed_phrase(blocker, language) : std::string(); });
  set("need", [&] { return need_phrase(spec, blocker, language); });
  set("granted", [&] { return granted_phrase(spec, blocker, language); });
  set("cut", [&] { return counted(blocker.cut, language); });
  set("residual", [&] { return residual_phrase(without_traces(blocker), names, language); });
  set("resting", [&] { return resting_npus(blocker, names, language); });
  set("kept_for", [&] { return job_name(blocker.kept_for, names); });
  set("kept_id", [&] { return blocker.kept_for.valid() ? format_job_id(blocker.kept_for) : "JOB"; });
  set("memory", [&] { return format_bytes(spec.request.memory_per_npu); });
  set("priority", [&] { return to_string(spec.priority); });
  return fmt::vformat(fmt::string_view(text.data(), text.size()), values);
}

// Some callers know the code and nothing else: then numbers would be lies.
bool has_numbers(const Blocker& blocker) {
  switch (blocker.reason) {
    case ReasonCode::kNone:
      return false;
    case ReasonCode::kQuotaKept:
      return blocker.tenant.valid() && blocker.kept_for.valid();
    case ReasonCode::kNpusKept:
      return blocker.kept_for.valid();
    case ReasonCode::kQuotaPriority:
    case ReasonCode::kQuotaRunningJobsNever:
      return blocker.tenant.valid();
    case ReasonCode::kMemoryNever:
    case ReasonCode::kNoDevices:
    case ReasonCode::kSliceUnsupported:
    case ReasonCode::kShareUnsupported:
      return true;
    case ReasonCode::kNpusBusy:
    case ReasonCode::kNpusUnhealthy:
    case ReasonCode::kNpusNever:
    case ReasonCode::kSlotsBusy:
    case ReasonCode::kMemoryBusy:
    case ReasonCode::kSlicesResidual:
    case ReasonCode::kAiCoresNever:
      return blocker.asked > 0;
    case ReasonCode::kQuotaNpus:
    case ReasonCode::kQuotaMemoryTotal:
    case ReasonCode::kQuotaAiCores:
    case ReasonCode::kQuotaRunningJobs:
    case ReasonCode::kQuotaBandwidth:
    case ReasonCode::kQuotaMemoryPerNpu:
    case ReasonCode::kQuotaRunTime:
    case ReasonCode::kQuotaNpusNever:
    case ReasonCode::kQuotaMemoryTotalNever:
    case ReasonCode::kQuotaAiCoresNever:
    case ReasonCode::kQuotaBandwidthNever:
      return blocker.tenant.valid() && blocker.asked > 0;
  }
  return false;
}

// A whole NPU has no template.
constexpr std::string_view kWhole = "whole";

void add_grant(const Request& request, const Blocker& blocker, bool has_size, Details& details) {
  if (!blocker.granted) return;
  if (request.kind != RequestKind::kSlice) {
    details.emplace_back("memoryPerNpu", request.memory_per_npu.count);
  } else if (!has_size) {
    details.emplace_back("sliceMemory", request.memory_per_npu.count);
    details.emplace_back("sliceAiCores", std::int64_t{request.ai_cores});
  }
  const Granted& granted = *blocker.granted;
  details.emplace_back("granted",
                       granted.template_name.empty() ? std::string(kWhole) : granted.template_name);
  details.emplace_back("grantedMemory", granted.memory.count);
  details.emplace_back("grantedAiCores", std::int64_t{granted.ai_cores});
}

// No slice of anybody's is there that could be returned.
ReasonTemplate words_of_rest() {
  return {ReasonCode::kSlicesResidual,
          false,
          "the job needs {need}, and the driver has just refused to cut what has room for it, which rests: "
          "{resting}",
          "任务需要{need}，但驱动刚刚拒绝切分有余量的 NPU，暂不使用：{resting}",
          "it is asked again within seconds: tangram slices",
          "几秒后再试：tangram slices"};
}

Details details_of(const Request& request, const Blocker& blocker, const Names& names) {
  Details details;
  const bool is_capacity = !blocker.tenant.valid();
  if (!is_capacity && names.tenant) {
    if (std::string tenant = names.tenant(blocker.tenant); !tenant.empty())
      details.emplace_back("tenant", tenant);
    details.emplace_back("dimension", std::string(to_string(dimension_of(blocker))));
  }
  if (blocker.reason == ReasonCode::kQuotaPriority) {
    details.emplace_back("allowed", allowed_priorities(blocker));
    return details;
  }
  if (blocker.asked > 0) details.emplace_back("asked", blocker.asked);
  if (blocker.used > 0 || !is_capacity) details.emplace_back("used", blocker.used);
  if (blocker.limit < kUnlimited) details.emplace_back("limit", blocker.limit);
  if (is_capacity) {
    details.emplace_back("free", blocker.free);
    details.emplace_back("unhealthy", blocker.unhealthy);
    if (blocker.cut > 0) details.emplace_back("cut", blocker.cut);
  }
  const bool of_size = is_capacity || blocker.reason == ReasonCode::kQuotaMemoryPerNpu;
  if (of_size && request.kind == RequestKind::kSlice) {
    details.emplace_back("sliceMemory", request.memory_per_npu.count);
    details.emplace_back("sliceAiCores", std::int64_t{request.ai_cores});
  }
  add_grant(request, blocker, of_size, details);
  if (blocker.kept_for.valid()) details.emplace_back("keptFor", format_job_id(blocker.kept_for));
  if (!blocker.holders.empty()) {
    std::string ids;
    for (const JobId holder : blocker.holders) ids += (ids.empty() ? "" : ",") + format_job_id(holder);
    details.emplace_back("holders", ids);
  }
  return details;
}

// "j-17"; an invalid one for anything else.
JobId read_job_id(std::string_view text) {
  std::uint64_t number = 0;
  if (!text.starts_with("j-")) return {};
  const auto [end, problem] = std::from_chars(text.data() + 2, text.data() + text.size(), number);
  return problem == std::errc{} && end == text.data() + text.size() ? JobId(number) : JobId();
}

// A blocker again, of what a reason tells about it. Jobs have their ids for names, the tenant its own.
class ToldReason {
 public:
  ToldReason(const ReasonView& told, ReasonCode code) : told_(told) {
    blocker_.reason = code;
    if (!text("tenant").empty()) blocker_.tenant = spec_.tenant = TenantId(1);
    blocker_.asked = number("asked");
    blocker_.used = number("used");
    blocker_.limit = number("limit");
    blocker_.free = number("free");
    blocker_.unhealthy = number("unhealthy");
    blocker_.cut = number("cut");
    if (find<std::int64_t>("sliceMemory") != nullptr) {
      spec_.request.kind = RequestKind::kSlice;
      spec_.request.memory_per_npu = Bytes(number("sliceMemory"));
      spec_.request.ai_cores = static_cast<std::int32_t>(number("sliceAiCores"));
    }
    if (const std::string_view granted = text("granted"); !granted.empty()) {
      blocker_.granted =
          Granted{granted == kWhole ? std::string() : std::string(granted), Bytes(number("grantedMemory")),
                  static_cast<std::int32_t>(number("grantedAiCores"))};
    }
    if (find<std::int64_t>("memoryPerNpu") != nullptr)
      spec_.request.memory_per_npu = Bytes(number("memoryPerNpu"));
    if (!text("resting").empty()) blocker_.residual = {{NpuIndex(0), StraySlice{0, {}, kNoVgroup, true}}};
    blocker_.kept_for = read_job_id(text("keptFor"));
    std::string_view holders = text("holders");
    while (!holders.empty()) {
      const std::size_t comma = std::min(holders.find(','), holders.size());
      blocker_.holders.push_back(read_job_id(holders.substr(0, comma)));
      holders.remove_prefix(std::min(comma + 1, holders.size()));
    }
  }

  ReasonView in(Language language) const {
    Names names;
    names.tenant = [this](TenantId) { return std::string(text("tenant")); };
    names.npu = [this](NpuIndex) { return std::string(text("resting")); };
    return make_reason(spec_, blocker_, names, language);
  }

 private:
  template <class T>
  const T* find(std::string_view name) const {
    for (const auto& [key, value] : told_.details) {
      if (key == name) return std::get_if<T>(&value);
    }
    return nullptr;
  }
  std::string_view text(std::string_view name) const {
    const auto* found = find<std::string>(name);
    return found == nullptr ? std::string_view() : std::string_view(*found);
  }
  std::int64_t number(std::string_view name) const {
    const auto* found = find<std::int64_t>(name);
    return found == nullptr ? 0 : *found;
  }

  const ReasonView& told_;
  JobSpec spec_;
  Blocker blocker_;
};

}  // namespace

std::string format_job_id(JobId job) {
  return job.valid() ? "j-" + std::to_string(job.value) : "(none)";
}

std::string job_name(JobId job, const Names& names) {
  const std::string name = job.valid() && names.job ? names.job(job) : std::string();
  return name.empty() ? format_job_id(job) : name;
}

std::string name_list(const std::vector<JobId>& jobs, const Names& names, Language language) {
  std::string all;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (i > 0) all += language == Language::kChinese ? "、" : i + 1 == jobs.size() ? " and " : ", ";
    all += job_name(jobs[i], names);
  }
  return all;
}

std::string slice_list(const std::vector<ResidualSlice>& slices, const Names& names, Language language) {
  const bool chinese = language == Language::kChinese;
  std::string all;
  for (const ResidualSlice& residual : slices) {
    const std::string npu = names.npu ? names.npu(residual.npu) : std::string();
    if (npu.empty()) continue;
    if (!all.empty()) all += chinese ? "、" : ", ";
    if (chinese) all.append(npu).append(" 的");
    all.append(chinese ? "切片 " : "slice ").append(std::to_string(residual.slice.id));
    const std::string& shape = residual.slice.template_name;
    if (!shape.empty()) all += chinese ? "（" + shape + "）" : " (" + shape + ")";
    if (!chinese) all.append(" of ").append(npu);
  }
  return all;
}

std::string format_amount(Dimension dimension, std::int64_t amount, Language language) {
  std::string bare = bare_amount(dimension, amount);
  const bool chinese = language == Language::kChinese;
  switch (dimension) {
    case Dimension::kNpus:
      return bare + (chinese ? " 个 NPU" : amount == 1 ? " NPU" : " NPUs");
    case Dimension::kAiCores:
      return bare + (chinese ? " 个 AI Core" : amount == 1 ? " AI core" : " AI cores");
    case Dimension::kRunningJobs:
      return bare + (chinese ? " 个任务" : amount == 1 ? " job" : " jobs");
    case Dimension::kMemoryPerNpu:
    case Dimension::kMemoryTotal:
    case Dimension::kRunTime:
    case Dimension::kBandwidth:
    case Dimension::kPriorities:
      return bare;
  }
  return bare;
}

std::string describe(ReasonCode code, Language language) {
  const ReasonText* reason = find_reason(token(code));
  if (reason == nullptr) return {};
  return std::string(language == Language::kChinese ? reason->chinese : reason->english);
}

std::vector<ReasonCode> waiting_reasons() {
  std::vector<ReasonCode> codes;
  for (const ReasonTemplate& entry : reason_templates()) {
    if (!entry.never) codes.push_back(entry.code);
  }
  return codes;
}

std::optional<ReasonCode> find_reason_code(std::string_view text) {
  for (const ReasonTemplate& entry : reason_templates()) {
    if (token(entry.code) == text) return entry.code;
  }
  return std::nullopt;
}

ReasonView make_reason(ReasonCode code, Language language) {
  ReasonView view;
  view.code = token(code);
  view.message = describe(code, language);
  if (const ReasonText* reason = find_reason(view.code)) {
    view.hint = language == Language::kChinese ? reason->chinese_hint : reason->english_hint;
  }
  return view;
}

ReasonView make_reason(const JobSpec& spec, const Blocker& blocker, const Names& names, Language language) {
  const ReasonTemplate* words = find_template(blocker.reason);
  if (words == nullptr || !has_numbers(blocker)) return make_reason(blocker.reason, language);
  const bool chinese = language == Language::kChinese;
  const std::string resting = resting_npus(blocker, names, Language::kEnglish);
  const ReasonTemplate rest = words_of_rest();
  if (!resting.empty()) words = &rest;
  ReasonView view;
  view.code = token(blocker.reason);
  view.message = fill(chinese ? words->chinese : words->english, spec, blocker, names, language);
  view.hint = fill(chinese ? words->chinese_hint : words->english_hint, spec, blocker, names, language);
  view.details = details_of(spec.request, blocker, names);
  if (!resting.empty()) view.details.emplace_back("resting", resting);
  return view;
}

ReasonView localised(const ReasonView& told, Language language) {
  const auto code = find_reason_code(told.code);
  if (language == Language::kEnglish || !code) return told;
  const std::string_view words = find_template(*code)->chinese;
  const bool needs_more =
      words.find("{memory}") != std::string_view::npos || words.find("{priority}") != std::string_view::npos;
  ReasonView view = needs_more ? make_reason(*code, language) : ToldReason(told, *code).in(language);
  view.details = told.details;
  return view;
}

Error make_refusal(const JobSpec& spec, const Blocker& blocker, const Names& names, Language language) {
  ReasonView reason = make_reason(spec, blocker, names, language);
  const ReasonTemplate* words = find_template(blocker.reason);
  Error error;
  error.code = words != nullptr && words->never ? Code::kPolicyRefused : Code::kNotNow;
  error.reason = std::move(reason.code);
  error.message = (language == Language::kChinese ? "任务被拒绝：" : "refused: ") + reason.message;
  error.hint = std::move(reason.hint);
  // The hint speaks of a job that waits, and this one does not.
  if (error.code == Code::kNotNow) {
    error.hint = (language == Language::kChinese ? "去掉 --no-wait 即可等待；"
                                                 : "leave --no-wait out to let it wait; ") +
                 error.hint;
  }
  error.details = std::move(reason.details);
  return error;
}

}  // namespace tangram::wire
