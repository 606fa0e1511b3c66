// The sentence for every reason, blocker and remedy, in English and Chinese: names and numbers, never only a
// count; remedies are commands. One catalogue for the daemon, the CLI and the pages. Thread-safe: pure
// functions.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/job.h"
#include "model/reason.h"
#include "model/tenant.h"
#include "scheduler/scheduler.h"
#include "wire/language.h"
#include "wire/types.h"

namespace tangram::wire {

// How handles are called. A function that has no name for a handle answers "" and the text says "j-17" or "a
// tenant".
struct Names {
  std::function<std::string(TenantId)> tenant;
  std::function<std::string(JobId)> job;     // the name ("train-017"), or the id for one without
  std::function<std::string(NpuIndex)> npu;  // "NPU 3"
};

std::string format_job_id(JobId job);  // "j-17"

// A limit or use with its unit: 4 -> "4 NPUs", "64GiB", "1h", "10Gbps"; kUnlimited -> "unlimited".
std::string format_amount(Dimension dimension, std::int64_t amount, Language language);

// One sentence without numbers, for catalogues and for jobs whose blocker is not at hand.
std::string describe(ReasonCode code, Language language);

// The general sentence and remedy behind an Error::reason; empty when the token is not in the catalogue.
struct ReasonText {
  std::string_view token;
  std::string_view english;
  std::string_view chinese;
  std::string_view english_hint;
  std::string_view chinese_hint;
};
std::span<const ReasonText> reason_catalogue();
const ReasonText* find_reason(std::string_view token);

// Those for which a job waits because that can help, in the order of the core.
std::vector<ReasonCode> waiting_reasons();

// The code behind a token; none for tokens that are no reason of the core.
std::optional<ReasonCode> find_reason_code(std::string_view token);

// With names and numbers. `spec` is the job that waits (or is to be refused).
ReasonView make_reason(const JobSpec& spec, const Blocker& blocker, const Names& names, Language language);

// When only the code is known.
ReasonView make_reason(ReasonCode code, Language language);

RemedyView make_remedy(const JobSpec& spec, const Remedy& remedy, const Names& names, Language language);

// "job train-017 waits: tenant team-a may hold 4 NPUs and holds 4"
std::string make_verdict(const JobSpec& spec, const Explanation& explanation, const Names& names,
                         Language language);

// A reason that was told in English, in the language: made anew of its code and its details, without numbers
// where those do not tell all of them.
ReasonView localised(const ReasonView& told, Language language);

// Of a job that is not in the queue: "job train-017 runs", "job train-017 has ended: failed, exited with
// status 1".
std::string make_verdict(const JobView& job, bool is_cancelled, Language language);

// The whole answer to `why`; `job` is the job's view.
WhyView make_why(JobView job, const JobSpec& spec, const Explanation& explanation, const Names& names,
                 Language language);

// The Error for a job that is refused because of `blocker`: kPolicyRefused for "never", kNotNow otherwise.
Error make_refusal(const JobSpec& spec, const Blocker& blocker, const Names& names, Language language);

}  // namespace tangram::wire
