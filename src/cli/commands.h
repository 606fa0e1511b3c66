// The commands of `tangram`: each asks the API, answers on the session and returns the exit code.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/session.h"
#include "cli/submission.h"

namespace tangram::cli {

struct SubmitOptions {
  SubmitArguments job;
  bool wait = false;
  std::string idempotency_key;  // empty: one is made, so that a lost answer can be asked for again
};

struct WaitOptions {
  std::vector<std::string> jobs;
  std::string timeout;  // empty: for ever
};

struct QueueOptions {
  bool all = false;
  std::string tenant;
  std::vector<std::string> labels;
  std::string state;
};

struct LogsOptions {
  std::string job;
  bool follow = false;
  std::string attempt;  // empty: the last one
};

struct LeaseOptions {
  SubmitArguments request;           // what belongs to a program is not looked at
  std::vector<std::string> command;  // runs here while the lease is held; empty: until a signal comes
};

int run_apply(Session& session, const std::string& file);
int run_submit(Session& session, const SubmitOptions& options);
int run_lease(Session& session, const LeaseOptions& options);
int run_wait(Session& session, const WaitOptions& options);
int run_queue(Session& session, const QueueOptions& options);
int run_status(Session& session);
int run_why(Session& session, const std::string& job);
int run_describe(Session& session, const std::string& job);
int run_logs(Session& session, const LogsOptions& options);
int run_cancel(Session& session, const std::vector<std::string>& jobs);
int run_quota(Session& session, const std::string& tenant);  // empty: all
int run_delete_tenant(Session& session, const std::string& name);
int run_version(Session& session);

// The exit code that an ended job stands for: its exit status; 128 + n for signal n; 3 when it was refused
// because of a quota; 1 for everything else that is not success.
int exit_code_of(const wire::JobView& ended);

}  // namespace tangram::cli
