#include "service/fit.h"

#include <algorithm>
#include <utility>

#include "service/granted.h"
#include "service/submission.h"
#include "wire/sentences.h"
#include "wire/slice_texts.h"
#include "wire/words.h"

namespace tangram::service {
namespace {

namespace say = wire::slices;
using wire::Language;

// A settled state decides about one new job in one step; what is not settled is let be after some.
constexpr int kStepsMax = 64;

// Apart from those that a better request mends: of these, nothing here will ever be given.
bool is_refusal(const Error& error) {
  return error.code == Code::kPolicyRefused || error.code == Code::kUnimplemented;
}

std::optional<JobStarted> find_start(Scheduler& core, JobId job, TimeMs now) {
  for (int step = 0; step < kStepsMax; ++step) {
    const std::vector<Decision> batch = core.decide(now);
    if (batch.empty()) return std::nullopt;
    for (const Decision& decision : batch) {
      const auto* started = std::get_if<JobStarted>(&decision);
      if (started != nullptr && started->job == job) return *started;
      core.apply(decision, now);
    }
  }
  return std::nullopt;
}

std::string granted(const Scheduler& core, const FitQuestion& question, const Placement& placement,
                    Language language) {
  return granted_text(core, question.spec.request, placement, usable_by(core, question.readings), language);
}

void answer_now(const Scheduler& core, const FitQuestion& question, const JobStarted& start,
                Language language, wire::FitView& view) {
  view.answer = wire::FitAnswer::kNow;
  std::string npus;
  for (const NpuIndex index : start.npus) {
    const auto npu = core.npu(index);
    if (!npu) continue;
    view.npus.push_back(npu->report.physical_id);
    if (!npus.empty()) npus += say::kComma.in(language);
    npus += std::to_string(npu->report.physical_id);
  }
  if (start.slice) {
    view.slice.emplace();
    view.slice->template_name = start.slice->template_name;
    view.slice->memory = start.slice->memory;
    view.slice->usable_memory = start.slice->usable_memory;
    view.slice->ai_cores = start.slice->ai_cores;
    if (start.slice->vgroup != kNoVgroup) view.slice->vgroup = start.slice->vgroup;
  }
  view.granted = granted(core, question, {start.npus, start.slice}, language);
  view.verdict =
      wire::fill(view.npus.size() > 1 ? say::kFitsNowOnSeveral : say::kFitsNow, language, {{"npus", npus}});
}

void answer_later(const Scheduler& core, const FitQuestion& question, const wire::Names& names, TimeMs now,
                  Language language, wire::FitView& view) {
  view.answer = wire::FitAnswer::kLater;
  view.granted = granted(core, question, {}, language);
  view.verdict = say::kFitsReady.in(language);
  const auto explanation = core.explain(question.spec.id, now);
  if (!explanation) return;
  wire::JobView asked;
  asked.tenant = question.tenant;
  asked.priority = view.priority;
  asked.slice_requested = view.slice_requested;
  asked.bandwidth_bps = question.spec.bandwidth_bps;
  if (question.spec.time_limit_ms < kUnlimited) asked.time_limit_ms = question.spec.time_limit_ms;
  wire::WhyView why = wire::make_why(std::move(asked), question.spec, *explanation, names, language);
  for (std::size_t i = 0; i < why.remedies.size(); ++i) {
    // There is no job that could be waited for.
    if (explanation->remedies[i].kind == Remedy::Kind::kWaitForLimit) why.remedies[i].command.clear();
  }
  view.blockers = std::move(why.blockers);
  view.remedies = std::move(why.remedies);
  view.position = why.position;
  view.queue_length = why.queue_length;
  view.estimated_start = why.estimated_start;
  view.assumption = std::move(why.assumption);
  if (!view.blockers.empty())
    view.verdict = wire::fill(say::kFitsLater, language, {{"reason", view.blockers.front().message}});
}

void answer_never(const Error& refusal, Language language, wire::FitView& view) {
  const Error told = wire::localised(refusal, language);
  view.answer = wire::FitAnswer::kNever;
  view.blockers = {{told.reason, told.message, told.hint, told.details}};
  view.verdict = wire::fill(say::kFitsNever, language, {{"reason", told.message}});
}

}  // namespace

Result<FitQuestion> resolve_fit(const State& state, const Options& options, const Caller& caller,
                                const wire::LeaseRequest& request,
                                const std::function<std::shared_ptr<const Scheduler>()>& copy_core) {
  Caller asker = caller;
  if (caller.kind == Caller::Kind::kViewer) asker.kind = Caller::Kind::kOperator;
  FitQuestion question;
  question.tenant = request.tenant;
  if (question.tenant.empty()) {
    const auto own = state.core().tenant(caller.tenant);
    if (own) question.tenant = own->spec.name;
  }
  auto record = resolve_lease(state, options, asker, request);
  if (!record) {
    if (!is_refusal(record.error())) return fail(std::move(record).error());
    question.spec.priority = request.priority;
    question.spec.request.npus = static_cast<std::int32_t>(request.npus);
    question.spec.request.memory_per_npu = request.memory.value_or(Bytes());
    if (request.slice) {
      question.spec.request = {RequestKind::kSlice, 1, request.slice->memory.value_or(Bytes()),
                               request.slice->ai_cores, 0};
    }
    question.refusal = std::move(record).error();
    return question;
  }
  question.spec = record->input.spec;
  question.core = copy_core();
  return question;
}

wire::FitView make_fit(const FitQuestion& question, const wire::Names& names, TimeMs now, Language language) {
  const Request& request = question.spec.request;
  wire::FitView view;
  view.tenant = question.tenant;
  view.priority = question.spec.priority;
  view.slice_requested = slice_request_of(request);
  if (!view.slice_requested) {
    view.npus_requested = request.npus;
    if (request.memory_per_npu.count > 0) view.memory_per_npu = request.memory_per_npu;
  }
  if (question.refusal) {
    answer_never(*question.refusal, language, view);
    return view;
  }
  Scheduler core = *question.core;
  view.queue_length = static_cast<std::int64_t>(core.queue_length());
  core.apply(Input(JobSubmitted{question.spec}), now);
  if (const auto start = find_start(core, question.spec.id, now)) {
    answer_now(core, question, *start, language, view);
  } else {
    answer_later(core, question, names, now, language, view);
  }
  return view;
}

}  // namespace tangram::service
