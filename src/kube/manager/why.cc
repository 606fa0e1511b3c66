#include "kube/manager/why.h"

#include <utility>

#include "wire/texts.h"

namespace tangram::kube::manager {
namespace {

wire::Names names_of(const WhyQuestion& question) {
  wire::Names names;
  names.tenant = [&question](TenantId id) {
    const auto view = question.core.tenant(id);
    return view ? view->spec.name : std::string();
  };
  names.job = [&question](JobId job) {
    const auto at = question.jobs.find(job.value);
    return at == question.jobs.end() ? std::string() : at->second;
  };
  names.npu = [&question](NpuIndex npu) {
    const auto view = question.core.npu(npu);
    if (!view) return std::string();
    return "NPU " + std::to_string(view->report.physical_id) + " of " + question.core.node_name(view->node);
  };
  return names;
}

}  // namespace

Result<PodWhy> explain(const WhyQuestion& question, TimeMs now, wire::Language language) {
  PodWhy why = question.known;
  if (!question.job.valid()) return why;
  const auto status = question.core.job(question.job);
  if (!status) return why;
  TG_TRY(const Explanation explanation, question.core.explain(question.job, now));
  const wire::Names names = names_of(question);
  why.verdict = wire::make_verdict(status->spec, explanation, names, language);
  for (const Blocker& blocker : explanation.blockers) {
    if (why.reason.empty()) why.reason = token(blocker.reason);
    why.reasons.push_back(wire::make_reason(status->spec, blocker, names, language).message);
  }
  for (const Remedy& remedy : explanation.remedies) {
    why.remedies.push_back(wire::make_remedy(status->spec, remedy, names, language).text);
  }
  why.position = explanation.position;
  why.queue_length = explanation.queue_length;
  return why;
}

}  // namespace tangram::kube::manager
