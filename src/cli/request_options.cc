#include "cli/request_options.h"

namespace tangram::cli {

SubmitArguments request_arguments(const Arguments& arguments) {
  SubmitArguments job;
  job.tenant = arguments.text(request::kTenant);
  job.name = arguments.text(request::kName);
  job.npus = arguments.text(request::kNpus);
  job.memory = arguments.text(request::kMemory);
  job.slice = arguments.text(request::kSlice);
  job.share = arguments.text(request::kShare);
  job.bandwidth = arguments.text(request::kBandwidth);
  job.priority = arguments.text(request::kPriority);
  job.time_limit = arguments.text(request::kTimeLimit);
  job.labels = arguments.list(request::kLabel);
  job.no_wait = arguments.has(request::kNoWait);
  return job;
}

}  // namespace tangram::cli
