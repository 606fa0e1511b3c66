// From the words of a command line to a JobSubmission.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "wire/types.h"

namespace tangram::cli {

// The options of `tangram submit` as typed. Empty: not given.
struct SubmitArguments {
  std::string tenant;
  std::string name;
  std::string npus;
  std::string memory;
  std::string slice;
  std::string share;
  std::string bandwidth;
  std::string priority;
  std::string time_limit;
  std::string restart;
  std::string workdir;
  std::string host_cpus;
  std::string host_memory;
  std::string host_processes;
  std::vector<std::string> labels;  // "k=v"
  std::vector<std::string> env;     // "K=V"
  bool no_wait = false;
  std::vector<std::string> command;  // the program and its arguments
};

// Pure. Errors are kInvalidArgument "cli.option.invalid" and name the option, the value and what would be
// right. Whether the request can ever be met is for the service to say.
Result<wire::JobSubmission> parse_submission(const SubmitArguments& arguments);

// The same without what belongs to a job's program. One that runs beside the lease goes with no slice.
Result<wire::LeaseRequest> parse_lease(const SubmitArguments& arguments);

// A whole number from `least` to 2^53, digits only.
Result<std::int64_t> parse_count(std::string_view text, std::string_view option, std::int64_t least);

// "k=v"; `what` says what a right one looks like.
Result<std::pair<std::string, std::string>> parse_pair(std::string_view text, std::string_view option,
                                                       std::string_view example);

}  // namespace tangram::cli
