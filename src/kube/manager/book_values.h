// What the book says. Values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "kube/extender/placer.h"
#include "kube/manager/pod_why.h"
#include "model/tenant.h"
#include "scheduler/scheduler.h"

namespace tangram::kube::manager {

// A Pod that is admitted: its quota is charged in the book, and its gate is to be opened.
struct Opening {
  extender::PodRef pod;
  std::optional<std::uint32_t> gate;  // where it stands among the Pod's; none: somebody has removed it
  std::string granted;                // what was charged, as the Pod's annotation says it
  std::string tenant;                 // as the Pod's label says it

  friend bool operator==(const Opening&, const Opening&) = default;
};

// What is to be told of a Pod in its condition.
struct PodNote {
  extender::PodRef pod;
  bool admitted = false;
  std::string reason;  // "QuotaNpusExceeded", "Admitted"
  std::string message;

  friend bool operator==(const PodNote&, const PodNote&) = default;
};

struct TenantUse {
  std::string name;
  Usage used;       // with the tenants below it
  Quota effective;  // the tightest on the way to the top
  std::int64_t queued = 0;
  std::int64_t namespaces = 0;
  std::string closed;  // why nothing is admitted for it; empty: as its quota says

  friend bool operator==(const TenantUse&, const TenantUse&) = default;
};

struct BookCounts {
  std::int64_t nodes = 0;
  std::int64_t npus = 0;  // healthy, on nodes that may be used
  std::int64_t queued = 0;
  std::int64_t waiting = 0;  // admitted, without a place
  std::int64_t placed = 0;   // reserved or bound
  std::uint64_t expired = 0;
  std::uint64_t rebuilt = 0;
};

// What explains a Pod, to be asked without the book's lock.
struct WhyQuestion {
  Scheduler core;
  JobId job;                                  // invalid: the core does not know it
  PodWhy known;                               // stage, tenant and node; the verdict where there is no job
  std::string pod;                            // "namespace/name"
  std::map<std::uint64_t, std::string> jobs;  // how they are called
};

}  // namespace tangram::kube::manager
