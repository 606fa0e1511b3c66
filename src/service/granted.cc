#include "service/granted.h"

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>

#include "service/device_use.h"
#include "wire/slice_texts.h"
#include "wire/texts.h"

namespace tangram::service {
namespace {

namespace say = wire::slices;
using wire::Language;

std::string cores_text(std::int32_t cores, Language language) {
  return wire::format_amount(Dimension::kAiCores, cores, language);
}

std::string asked_text(const Request& request, Language language) {
  if (request.ai_cores == 0) return format_bytes(request.memory_per_npu);
  std::string cores = cores_text(request.ai_cores, language);
  if (request.memory_per_npu.count == 0) return cores;
  return wire::fill(say::kAskedBoth, language,
                    {{"memory", format_bytes(request.memory_per_npu)}, {"cores", cores}});
}

// "vir02 or vir02_1c".
std::string one_of(const std::vector<std::string>& templates, Language language) {
  std::string text;
  for (const std::string& name : templates)
    text = text.empty() ? name : wire::fill(say::kOr, language, {{"one", text}, {"other", name}});
  return text;
}

// Adds that a program finds less than was asked for, if that is so.
std::string with_shortfall(std::string why, const Request& request, const std::optional<Bytes>& usable,
                           Language language) {
  if (!usable || *usable >= request.memory_per_npu) return why;
  return wire::fill(say::kUsableIsBelow, language,
                    {{"why", why}, {"asked", format_bytes(request.memory_per_npu)}});
}

// ", 29GiB for the program"; empty: not known.
std::string usable_phrase(const std::optional<Bytes>& usable, Language language) {
  if (!usable) return {};
  return wire::fill(say::kUsableWhole, language, {{"usable", format_bytes(*usable)}});
}

// Of all that are given.
std::optional<Bytes> least_usable(const std::vector<NpuIndex>& npus, const UsableMemory& usable) {
  std::optional<Bytes> least;
  for (const NpuIndex npu : npus) {
    const std::optional<Bytes> found = usable(npu);
    if (!found) return std::nullopt;
    least = least ? std::min(*least, *found) : *found;
  }
  return least;
}

const SliceTemplate* largest_template(const Scheduler& core, const std::string& chip, Bytes memory) {
  const std::shared_ptr<const Catalog> catalog = core.catalog();  // the core keeps it, too
  const SliceTemplate* largest = nullptr;
  for (const NpuView& npu : core.npus()) {
    if (npu.report.chip != chip || npu.report.memory != memory || npu.report.template_set.empty()) continue;
    for (const Catalog::Chip& one : catalog->chips()) {
      if (one.model.name != npu.report.template_set) continue;
      for (const SliceTemplate& shape : one.model.templates) {
        const auto size = [](const SliceTemplate& t) { return std::tuple(t.memory, t.ai_cores()); };
        if (shape.offered && (largest == nullptr || size(*largest) < size(shape))) largest = &shape;
      }
      return largest;
    }
  }
  return nullptr;
}

std::string why_whole(const Scheduler& core, const Request& request, const SliceOption& option,
                      Language language) {
  const std::string asked = asked_text(request, language);
  const SliceTemplate* largest = largest_template(core, option.chip, option.grant.memory);
  if (largest == nullptr) return wire::fill(say::kNoTemplateHolds, language, {{"asked", asked}});
  return wire::fill(say::kLargestTemplateIs, language,
                    {{"asked", asked},
                     {"template", largest->name},
                     {"memory", format_bytes(largest->memory)},
                     {"cores", cores_text(static_cast<std::int32_t>(largest->ai_cores()), language)}});
}

// What a slice comes to, and why. `usable`: of a whole NPU.
std::string option_text(const Scheduler& core, const Request& request, const SliceOption& option,
                        const std::string& templates, const std::optional<Bytes>& usable, Language language) {
  const SliceGrant& grant = option.grant;
  const std::string memory = format_bytes(grant.memory);
  const std::string cores = cores_text(grant.ai_cores, language);
  if (grant.kind == SliceGrant::Kind::kWhole) {
    const std::string why =
        with_shortfall(why_whole(core, request, option, language), request, usable, language);
    return wire::fill(say::kBecomesWhole, language,
                      {{"chip", option.chip},
                       {"memory", memory},
                       {"cores", cores},
                       {"usable", usable_phrase(usable, language)},
                       {"why", why}});
  }
  std::string why = grant.why == SliceGrant::Why::kAsAsked
                        ? std::string(say::kAsAsked.in(language))
                        : wire::fill(say::kRoundedUp, language, {{"asked", asked_text(request, language)}});
  why = with_shortfall(std::move(why), request, grant.usable_memory, language);
  return wire::fill(say::kTemplateGranted, language,
                    {{"template", templates},
                     {"cores", cores},
                     {"memory", memory},
                     {"usable", format_bytes(grant.usable_memory)},
                     {"why", why}});
}

// Chips differ in size under the same names of templates.
bool is_given(const Scheduler& core, const Placement& placement, const SliceOption& option) {
  const auto npu = core.npu(placement.npus.front());
  if (npu && npu->report.chip != option.chip) return false;
  if (!placement.slice) {
    return option.grant.kind == SliceGrant::Kind::kWhole &&
           (!npu || npu->report.memory == option.grant.memory);
  }
  const auto& names = option.templates;
  return std::find(names.begin(), names.end(), placement.slice->template_name) != names.end() &&
         placement.slice->memory == option.grant.memory && placement.slice->ai_cores == option.grant.ai_cores;
}

// The least that is known of NPUs of that kind.
std::optional<Bytes> usable_of_kind(const Scheduler& core, const SliceOption& option,
                                    const UsableMemory& usable) {
  std::optional<Bytes> least;
  for (const NpuView& npu : core.npus()) {
    if (npu.report.chip != option.chip || npu.report.memory != option.grant.memory) continue;
    const std::optional<Bytes> found = usable(npu.index);
    if (found) least = least ? std::min(*least, *found) : *found;
  }
  return least;
}

std::string slice_text(const Scheduler& core, const Request& request, const Placement& placement,
                       const UsableMemory& usable, Language language) {
  const std::vector<SliceOption> options = core.slice_options(request);
  const bool placed = !placement.npus.empty();
  const auto given = std::find_if(options.begin(), options.end(), [&](const SliceOption& option) {
    return !placed || is_given(core, placement, option);
  });
  if (given == options.end()) return {};
  const std::string templates =
      placement.slice ? placement.slice->template_name : one_of(given->templates, language);
  std::optional<Bytes> whole;
  if (given->grant.kind == SliceGrant::Kind::kWhole)
    whole = placed ? usable(placement.npus.front()) : usable_of_kind(core, *given, usable);
  return option_text(core, request, *given, templates, whole, language);
}

std::string whole_text(const Scheduler& core, const Request& request, const Placement& placement,
                       const UsableMemory& usable, Language language) {
  if (placement.npus.empty()) {
    const std::string count = std::to_string(request.npus);
    return wire::fill(request.npus == 1 ? say::kOneWholeOf : say::kWholeOf, language,
                      {{"count", count}, {"memory", format_bytes(request.memory_per_npu)}});
  }
  const auto first = core.npu(placement.npus.front());
  const NpuReport report = first ? first->report : NpuReport();
  const std::string memory = format_bytes(report.memory);
  const std::string cores = cores_text(report.ai_cores, language);
  const std::string inside = usable_phrase(least_usable(placement.npus, usable), language);
  if (placement.npus.size() == 1) {
    return wire::fill(say::kOneWholeGranted, language,
                      {{"chip", report.chip}, {"memory", memory}, {"cores", cores}, {"usable", inside}});
  }
  const std::string npus =
      wire::format_amount(Dimension::kNpus, static_cast<std::int64_t>(placement.npus.size()), language);
  return wire::fill(
      say::kWholeGranted, language,
      {{"npus", npus}, {"chip", report.chip}, {"memory", memory}, {"cores", cores}, {"usable", inside}});
}

}  // namespace

UsableMemory usable_by(const Scheduler& core, const DeviceReadings& readings) {
  return [&core, &readings](NpuIndex index) -> std::optional<Bytes> {
    const auto npu = core.npu(index);
    return npu ? usable_whole(readings, npu->report.physical_id) : std::nullopt;
  };
}

std::string granted_text(const Scheduler& core, const Request& request, const Placement& placement,
                         const UsableMemory& usable, Language language) {
  return request.kind == RequestKind::kSlice ? slice_text(core, request, placement, usable, language)
                                             : whole_text(core, request, placement, usable, language);
}

}  // namespace tangram::service
