// The answer to `why`: verdict, blockers, remedies.
#include <algorithm>
#include <optional>
#include <string>

#include "wire/catalogue.h"
#include "wire/phrases.h"
#include "wire/schema.h"
#include "wire/texts.h"
#include "wire/words.h"

namespace tangram::wire {
namespace {

constexpr Text kRuns{"job {job} runs", "任务 {job} 运行中"};
constexpr Text kIsStarting{"job {job} is starting", "任务 {job} 启动中"};
constexpr Text kIsBeingStopped{"job {job} is being stopped: it was cancelled", "任务 {job} 已取消，正在停止"};
constexpr Text kHasEnded{"job {job} has ended: {outcome}", "任务 {job} 已结束：{outcome}"};
constexpr Text kHasEndedBecause{"job {job} has ended: {outcome}, {message}",
                                "任务 {job} 已结束：{outcome}，{message}"};

std::string in_language(Language language, const std::string& english, const std::string& chinese) {
  return language == Language::kChinese ? chinese : english;
}

// A word of a shell's command line.
std::string shell_word(const std::string& word) {
  const auto is_safe = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./=:,+@%").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_safe)) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string job_words(const std::vector<JobId>& jobs) {
  std::string words;
  for (const JobId job : jobs) words += ' ' + format_job_id(job);
  return words;
}

// The same job asked for otherwise. Its environment is not shown to anybody, so it is not repeated here.
std::string submit_command(const JobView& job, std::int64_t npus, std::optional<Bytes> memory) {
  std::string command = "tangram submit --tenant " + job.tenant;
  if (job.slice_requested) {
    command += " --slice " + format_bytes(memory.value_or(Bytes()));
    if (job.slice_requested->ai_cores > 0) command += ',' + std::to_string(job.slice_requested->ai_cores);
  } else {
    command += " --npus " + std::to_string(npus);
    if (memory) command += " --memory " + format_bytes(*memory);
  }
  command += " --priority " + std::string(to_string(job.priority));
  if (job.time_limit_ms) command += " --time-limit " + format_duration_ms(*job.time_limit_ms);
  if (job.bandwidth_bps > 0) command += " --bandwidth " + format_bits_per_second(job.bandwidth_bps);
  if (job.restart != RestartPolicy::kNever)
    command += " --restart " + format_restart(job.restart, job.restarts_max);
  for (const auto& [key, value] : job.labels) {
    std::string label = key;
    label.append("=").append(value);
    command += " --label " + shell_word(label);
  }
  if (!job.workdir.empty()) command += " --workdir " + shell_word(job.workdir);
  command += " --";
  for (const std::string& word : job.command) command += ' ' + shell_word(word);
  if (job.command.empty()) command += " COMMAND";
  return command;
}

JobView view_of_spec(const JobSpec& spec, const Names& names) {
  JobView view;
  view.tenant = names.tenant ? names.tenant(spec.tenant) : std::string();
  if (view.tenant.empty()) view.tenant = "TENANT";
  view.priority = spec.priority;
  view.bandwidth_bps = spec.bandwidth_bps;
  if (spec.time_limit_ms < kUnlimited) view.time_limit_ms = spec.time_limit_ms;
  view.restart = spec.restart;
  view.restarts_max = spec.restarts_max;
  if (spec.request.kind == RequestKind::kSlice)
    view.slice_requested = SliceRequest{{}, spec.request.ai_cores};
  return view;
}

std::optional<Bytes> memory_of(const JobSpec& spec) {
  if (spec.request.memory_per_npu.count <= 0) return std::nullopt;
  return spec.request.memory_per_npu;
}

std::string raise_text(const Remedy& remedy, const Names& names, Language language) {
  const std::string tenant = names.tenant ? names.tenant(remedy.tenant) : std::string();
  const std::string field = "spec.quota." + std::string(to_string(remedy.dimension));
  const std::string limit = format_amount(remedy.dimension, remedy.limit, language);
  return in_language(language, "the operator raises " + field + " of tenant " + tenant + " to " + limit,
                     "管理员将租户 " + tenant + " 的 " + field + " 提高到 " + limit);
}

RemedyView remedy_of(const JobSpec& spec, const JobView& job, const Remedy& remedy, const Names& names,
                     Language language) {
  RemedyView view;
  view.starts = remedy.starts;
  switch (remedy.kind) {
    case Remedy::Kind::kJobsEnd: {
      const std::string all = name_list(remedy.jobs, names, language);
      const bool one = remedy.jobs.size() == 1;
      view.text = in_language(language, all + (one ? " ends or is cancelled" : " end or are cancelled"),
                              all + " 结束或被取消");
      view.command = "tangram cancel" + job_words(remedy.jobs);
      return view;
    }
    case Remedy::Kind::kWaitForLimit: {
      const std::string at = format_time(remedy.at);
      view.text = in_language(language, "running jobs reach their time limits by " + at,
                              "运行中的任务最迟于 " + at + " 到达时限");
      view.command = "tangram wait " + format_job_id(spec.id);
      return view;
    }
    case Remedy::Kind::kFewerNpus:
      view.text = in_language(language,
                              "submit it with " + format_amount(Dimension::kNpus, remedy.npus, language) +
                                  " instead of " + std::to_string(spec.request.npus),
                              "改为请求 " + format_amount(Dimension::kNpus, remedy.npus, language) +
                                  "（原为 " + std::to_string(spec.request.npus) + "）");
      view.command = submit_command(job, remedy.npus, memory_of(spec));
      return view;
    case Remedy::Kind::kLessMemory:
      if (spec.request.kind == RequestKind::kSlice) {
        const std::string from = format_bytes(spec.request.memory_per_npu);
        const std::string to = format_bytes(remedy.memory_per_npu);
        view.text = in_language(language, "submit it with a slice of " + to + " instead of " + from,
                                "改为请求 " + to + " 的切片（原为 " + from + "）");
        view.command = submit_command(job, 1, remedy.memory_per_npu);
        return view;
      }
      view.text = in_language(language,
                              "submit it with " + format_bytes(remedy.memory_per_npu) +
                                  " per NPU instead of " + format_bytes(spec.request.memory_per_npu),
                              "每个 NPU 改为请求 " + format_bytes(remedy.memory_per_npu) + "（原为 " +
                                  format_bytes(spec.request.memory_per_npu) + "）");
      view.command = submit_command(job, spec.request.npus, remedy.memory_per_npu);
      return view;
    case Remedy::Kind::kSlicesReturned: {
      const std::string all = slice_list(remedy.slices, names, language);
      const bool one = remedy.slices.size() == 1;
      view.text =
          all.empty()
              ? in_language(language, "slices that no job holds are returned", "无任务持有的切片被回收")
              : in_language(language, all + (one ? " is returned" : " are returned"), all + "被回收");
      view.text += in_language(language, ", by the daemon or by a command that this tells",
                               "，由守护进程或由下列命令给出的命令完成");
      view.command = "tangram doctor";
      return view;
    }
    case Remedy::Kind::kRaiseQuota: {
      view.text = raise_text(remedy, names, language);
      const std::string tenant = names.tenant ? names.tenant(remedy.tenant) : std::string();
      view.command = "tangram quota " + (tenant.empty() ? "TENANT" : tenant) + " -o yaml";
      return view;
    }
  }
  return view;
}

}  // namespace

RemedyView make_remedy(const JobSpec& spec, const Remedy& remedy, const Names& names, Language language) {
  return remedy_of(spec, view_of_spec(spec, names), remedy, names, language);
}

std::string make_verdict(const JobSpec& spec, const Explanation& explanation, const Names& names,
                         Language language) {
  const std::string job = in_language(language, "job ", "任务 ") + job_name(spec.id, names);
  const bool queued = explanation.state == JobState::kReady || explanation.state == JobState::kWaiting;
  if (!queued) {
    const std::string state(word(explanation.state, language));
    return job + in_language(language, " is " + state, " " + state);
  }
  if (explanation.blockers.empty()) {
    return job + in_language(language, " is ready to start: nothing is in its way", " 可以启动：没有阻碍");
  }
  const Blocker& first = explanation.blockers.front();
  const ReasonTemplate* words = find_template(first.reason);
  const bool never = words != nullptr && words->never;
  const std::string verb =
      never ? in_language(language, " cannot run as things are: ", " 在当前条件下无法运行：")
            : in_language(language, " waits: ", " 等待中：");
  return job + verb + make_reason(spec, first, names, language).message;
}

std::string make_verdict(const JobView& job, bool is_cancelled, Language language) {
  if (is_cancelled && job.state != JobState::kEnded)
    return fill(kIsBeingStopped, language, {{"job", job.name}});
  if (job.state == JobState::kRunning) return fill(kRuns, language, {{"job", job.name}});
  if (job.state == JobState::kStarting) return fill(kIsStarting, language, {{"job", job.name}});
  const std::string_view outcome = word(job.outcome.value_or(Outcome::kLost), language);
  if (job.message.empty()) return fill(kHasEnded, language, {{"job", job.name}, {"outcome", outcome}});
  return fill(kHasEndedBecause, language,
              {{"job", job.name}, {"outcome", outcome}, {"message", job.message}});
}

WhyView make_why(JobView job, const JobSpec& spec, const Explanation& explanation, const Names& names,
                 Language language) {
  WhyView why;
  why.verdict = make_verdict(spec, explanation, names, language);
  for (const Blocker& blocker : explanation.blockers) {
    why.blockers.push_back(make_reason(spec, blocker, names, language));
  }
  for (const Remedy& remedy : explanation.remedies) {
    why.remedies.push_back(remedy_of(spec, job, remedy, names, language));
  }
  if (explanation.position > 0) why.position = explanation.position;
  why.queue_length = explanation.queue_length;
  why.estimated_start = explanation.estimated_start;
  if (why.estimated_start) {
    why.assumption =
        in_language(language, "running jobs end at their time limits, and none is submitted before it",
                    "运行中的任务在时限到达时结束，且之前没有新的任务插入");
  }
  why.job = std::move(job);
  return why;
}

}  // namespace tangram::wire
