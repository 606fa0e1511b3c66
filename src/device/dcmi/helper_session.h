// The helper process that is in use, replaced whenever one is lost.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "device/dcmi/helper_process.h"
#include "device/dcmi_devices.h"

namespace tangram::device {

// One thread at a time, which must outlive the object: helpers die with the thread that started them.
class HelperSession {
 public:
  explicit HelperSession(const DcmiOptions& options) : options_(options) {}

  bool is_open() const { return helper_ != nullptr; }

  // Starts a helper that has loaded and initialised the library, unless one runs. Until the next begin() a
  // start that failed is not tried again.
  Result<void> ensure(Deadline end);
  void begin() { failure_.reset(); }

  // One question, of a helper that runs. After an error it is gone.
  Result<HelperAnswer> ask(const HelperRequest& request, std::chrono::milliseconds deadline);
  // The same where each vendor call may take `each`.
  Result<HelperAnswer> ask(const HelperRequest& request, std::chrono::milliseconds each,
                           std::chrono::milliseconds deadline);

  // Puts a new helper in the place of one older than `age`, once the new one works. True if it did.
  bool renew(std::chrono::milliseconds age, Deadline end);
  void drop() { helper_.reset(); }

 private:
  Result<std::unique_ptr<HelperProcess>> open(Deadline end);

  const DcmiOptions& options_;
  std::unique_ptr<HelperProcess> helper_;
  std::chrono::steady_clock::time_point opened_at_{};
  std::optional<Error> failure_;
};

}  // namespace tangram::device
