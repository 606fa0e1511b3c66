// The book as text, to be compared; and what explains a Pod.
#include <algorithm>
#include <utility>

#include "kube/manager/book_state.h"

namespace tangram::kube::manager {
namespace {

std::string_view word_of(NpuMode mode) {
  switch (mode) {
    case NpuMode::kFree:
      return "free";
    case NpuMode::kWhole:
      return "whole";
    case NpuMode::kSliced:
      return "sliced";
    case NpuMode::kShared:
      return "shared";
  }
  return "unknown";
}

}  // namespace

// Without anything that depends on when or in which order it came to be known: no numbers of jobs or NPUs.
std::string BookState::describe() const {
  std::string text;
  const auto line = [&text](std::initializer_list<std::string> words) {
    for (const std::string& word : words) text += word + ' ';
    text.back() = '\n';
  };
  std::vector<TenantView> tenants = core_.tenants();
  std::sort(tenants.begin(), tenants.end(),
            [](const TenantView& a, const TenantView& b) { return a.spec.name < b.spec.name; });
  for (const TenantView& tenant : tenants) {
    const Usage& used = tenant.used;
    line({"tenant", tenant.spec.name, "npus", std::to_string(used.npus), "memory",
          std::to_string(used.memory_total.count), "cores", std::to_string(used.ai_cores), "jobs",
          std::to_string(used.running_jobs), "bandwidth", std::to_string(used.bandwidth_bps), "queued",
          std::to_string(tenant.queued)});
  }
  const auto pod_of = [this](JobId job) {
    const auto at = by_job_.find(job.value);
    return at == by_job_.end() ? std::string("nobody") : key_of(at->second->facts.ref);
  };
  std::vector<std::string> npus;
  for (const NpuView& npu : core_.npus()) {
    const std::string node = core_.node_name(npu.node);
    if (!nodes_.contains(node)) continue;
    std::string words =
        "npu " + node + ' ' + std::to_string(npu.report.physical_id) + ' ' + std::string(word_of(npu.mode));
    if (npu.mode == NpuMode::kWhole) words += ' ' + pod_of(npu.job);
    std::vector<std::string> slices;
    for (const NpuView::Slice& slice : npu.slices) {
      slices.push_back(' ' + pod_of(slice.job) + '=' + slice.placement.template_name + '@' +
                       std::to_string(slice.placement.vgroup));
    }
    std::sort(slices.begin(), slices.end());
    for (const std::string& slice : slices) words += slice;
    npus.push_back(std::move(words));
  }
  std::sort(npus.begin(), npus.end());
  for (const std::string& npu : npus) line({npu});
  for (const auto& [key, entry] : pods_) {
    line({"pod", key, entry.facts.ref.uid, "stage", std::to_string(static_cast<int>(entry.stage)), "rank",
          core_.rank(entry.job) ? "queued" : "out"});
  }
  return text;
}

Result<WhyQuestion> BookState::question(const extender::PodRef& pod) const {
  const Entry* const entry = find(pod);
  if (entry == nullptr) {
    return fail(Code::kNotFound, "kube.pod.unknown",
                "Pod " + pod.space + "/" + pod.name + " is not known to Tangram's manager",
                "it has ended, or asks for no NPUs");
  }
  WhyQuestion question;
  question.core = core_;
  question.job = entry->job;
  question.pod = key_of(entry->facts.ref);
  question.known.tenant = tenant_of(*entry);
  for (const auto& [number, one] : by_job_) question.jobs.emplace(number, key_of(one->facts.ref));
  switch (entry->stage) {
    case Stage::kUnfit:
      question.known.stage = PodStage::kQueued;
      question.known.reason = entry->problem_reason;
      question.known.verdict = "Pod " + question.pod + " waits: " + entry->problem;
      question.known.reasons = {entry->problem};
      break;
    case Stage::kQueued:
      question.known.stage = PodStage::kQueued;
      break;
    case Stage::kOpening:
      question.known.stage = PodStage::kOpening;
      break;
    case Stage::kAdmitted:
      question.known.stage = PodStage::kAdmitted;
      break;
    case Stage::kReserved:
      question.known.stage = PodStage::kReserved;
      question.known.node = entry->place.node;
      break;
    case Stage::kBound:
      question.known.stage = PodStage::kBound;
      question.known.node = entry->facts.node;
      break;
  }
  return question;
}

}  // namespace tangram::kube::manager
