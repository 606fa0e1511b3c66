#include "service/fit.h"

#include <algorithm>
#include <utility>

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

std::string asked_text(const Request& request, Language language) {
  if (request.ai_cores == 0) return format_bytes(request.memory_per_npu);
  const std::string memory = format_bytes(request.memory_per_npu);
  const std::string cores = std::to_string(request.ai_cores);
  if (request.memory_per_npu.count == 0) return wire::fill(say::kAskedCores, language, {{"cores", cores}});
  return wire::fill(say::kAskedBoth, language, {{"memory", memory}, {"cores", cores}});
}

// "vir02 or vir02_1c".
std::string one_of(const std::vector<std::string>& templates, Language language) {
  std::string text;
  for (const std::string& name : templates)
    text = text.empty() ? name : wire::fill(say::kOr, language, {{"one", text}, {"other", name}});
  return text;
}

// What a slice comes to, and why.
std::string granted_text(const Request& request, const SliceOption& option, const std::string& templates,
                         Language language) {
  const SliceGrant& grant = option.grant;
  const std::string asked = asked_text(request, language);
  const std::string memory = format_bytes(grant.memory);
  const std::string cores = std::to_string(grant.ai_cores);
  if (grant.kind == SliceGrant::Kind::kWhole) {
    return wire::fill(say::kBecomesWhole, language,
                      {{"chip", option.chip}, {"memory", memory}, {"cores", cores}, {"asked", asked}});
  }
  std::string why = grant.why == SliceGrant::Why::kAsAsked
                        ? std::string(say::kAsAsked.in(language))
                        : wire::fill(say::kRoundedUp, language, {{"asked", asked}});
  if (grant.usable_is_below({request.memory_per_npu, request.ai_cores})) {
    const std::string need = format_bytes(request.memory_per_npu);
    why = wire::fill(say::kUsableIsBelow, language, {{"why", why}, {"asked", need}});
  }
  return wire::fill(say::kTemplateGranted, language,
                    {{"template", templates},
                     {"cores", cores},
                     {"memory", memory},
                     {"usable", format_bytes(grant.usable_memory)},
                     {"why", why}});
}

// Chips differ in size under the same names of templates.
bool is_given(const Scheduler& core, const JobStarted& start, const SliceOption& option) {
  const auto npu = core.npu(start.npus.front());
  if (npu && npu->report.chip != option.chip) return false;
  if (!start.slice) {
    return option.grant.kind == SliceGrant::Kind::kWhole &&
           (!npu || npu->report.memory == option.grant.memory);
  }
  const auto& names = option.templates;
  return std::find(names.begin(), names.end(), start.slice->template_name) != names.end() &&
         start.slice->memory == option.grant.memory && start.slice->ai_cores == option.grant.ai_cores;
}

std::string slice_granted(const Scheduler& core, const Request& request, const JobStarted* start,
                          Language language) {
  const std::vector<SliceOption> options = core.slice_options(request);
  const auto given = std::find_if(options.begin(), options.end(), [&](const SliceOption& option) {
    return start == nullptr || is_given(core, *start, option);
  });
  if (given == options.end()) return {};
  const bool placed = start != nullptr && start->slice;
  return granted_text(request, *given,
                      placed ? start->slice->template_name : one_of(given->templates, language), language);
}

std::string whole_granted(const Scheduler& core, const Request& request, const JobStarted* start,
                          Language language) {
  if (start == nullptr || start->npus.empty()) {
    const std::string count = std::to_string(request.npus);
    return wire::fill(request.npus == 1 ? say::kOneWholeOf : say::kWholeOf, language,
                      {{"count", count}, {"memory", format_bytes(request.memory_per_npu)}});
  }
  const auto first = core.npu(start->npus.front());
  const NpuReport report = first ? first->report : NpuReport();
  const std::string memory = format_bytes(report.memory);
  const std::string cores = std::to_string(report.ai_cores);
  if (start->npus.size() == 1) {
    return wire::fill(say::kOneWholeGranted, language,
                      {{"chip", report.chip}, {"memory", memory}, {"cores", cores}});
  }
  const std::string npus =
      wire::format_amount(Dimension::kNpus, static_cast<std::int64_t>(start->npus.size()), language);
  return wire::fill(say::kWholeGranted, language,
                    {{"npus", npus}, {"chip", report.chip}, {"memory", memory}, {"cores", cores}});
}

std::string granted(const Scheduler& core, const Request& request, const JobStarted* start,
                    Language language) {
  return request.kind == RequestKind::kSlice ? slice_granted(core, request, start, language)
                                             : whole_granted(core, request, start, language);
}

void answer_now(const Scheduler& core, const FitQuestion& question, const JobStarted& start,
                Language language, wire::FitView& view) {
  view.answer = wire::FitAnswer::kNow;
  std::string npus;
  for (const NpuIndex index : start.npus) {
    const auto npu = core.npu(index);
    if (!npu) continue;
    view.npus.push_back(npu->report.physical_id);
    npus += (npus.empty() ? "" : ", ") + std::to_string(npu->report.physical_id);
  }
  if (start.slice) {
    view.slice.emplace();
    view.slice->template_name = start.slice->template_name;
    view.slice->memory = start.slice->memory;
    view.slice->usable_memory = start.slice->usable_memory;
    view.slice->ai_cores = start.slice->ai_cores;
    if (start.slice->vgroup != kNoVgroup) view.slice->vgroup = start.slice->vgroup;
  }
  view.granted = granted(core, question.spec.request, &start, language);
  view.verdict = wire::fill(say::kFitsNow, language, {{"npus", npus}});
}

void answer_later(const Scheduler& core, const FitQuestion& question, const wire::Names& names, TimeMs now,
                  Language language, wire::FitView& view) {
  view.answer = wire::FitAnswer::kLater;
  view.granted = granted(core, question.spec.request, nullptr, language);
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
