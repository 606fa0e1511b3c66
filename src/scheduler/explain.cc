#include "scheduler/scheduler.h"
namespace tangram {
Result<Explanation> Scheduler::explain(JobId, TimeMs) const {
  return Explanation{};
}
}  // namespace tangram
