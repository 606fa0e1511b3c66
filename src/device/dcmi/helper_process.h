// One running tangram-dcmi-helper as the daemon holds it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>

#include "base/result.h"
#include "device/dcmi/helper_protocol.h"

namespace tangram::device {

using Deadline = std::chrono::steady_clock::time_point;

// Kills and reaps its process when destroyed. After any error of call() the process is of no further use:
// destroy it. One thread at a time.
class HelperProcess {
 public:
  // Spawns the program; kUnavailable ("device.helper.missing") names the path when that is not possible.
  static Result<std::unique_ptr<HelperProcess>> start(const std::string& program);

  HelperProcess(const HelperProcess&) = delete;
  HelperProcess& operator=(const HelperProcess&) = delete;
  ~HelperProcess();

  // The answer is of kind kDone or kFailed. Each vendor call may take `each`, all together until `deadline`.
  // Errors: kDeadlineExceeded ("device.call.hung") naming the vendor call under way; kUnavailable
  // ("device.helper.died") naming the signal; kDataLoss for nonsense on the channel.
  Result<HelperAnswer> call(const HelperRequest& request, std::chrono::milliseconds each, Deadline deadline);

  pid_t pid() const { return pid_; }

 private:
  HelperProcess(pid_t pid, int channel) : pid_(pid), channel_(channel) {}

  Result<std::string> read_frame_before(Deadline deadline);
  tl::unexpected<Error> died();

  pid_t pid_;
  int channel_;
  std::string inbox_;
  std::string under_way_;  // the vendor call that the helper announced last
};

// Helpers that SIGKILL could not end, because the driver holds them in an uninterruptible call. Reaps those
// that have ended meanwhile and returns how many are left.
std::size_t stuck_helper_count();

}  // namespace tangram::device
