#include "device/dcmi/helper_session.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/invariant.h"
#include "base/log.h"
#include "device/dcmi/codes.h"

namespace tangram::device {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kStuckHelpersMax = 8;

// Where drivers install the library: with the tool set, with the driver (two layouts), else the loader's
// search.
const std::vector<std::string>& default_library_paths() {
  static const std::vector<std::string> paths = {"/usr/local/dcmi/libdcmi.so",
                                                 "/usr/local/Ascend/driver/lib64/driver/libdcmi.so",
                                                 "/usr/local/Ascend/driver/lib64/libdcmi.so", "libdcmi.so"};
  return paths;
}

}  // namespace

Result<void> HelperSession::ensure(Deadline end) {
  if (helper_) return {};
  if (failure_) return fail(*failure_);
  auto opened = open(end);
  if (!opened) {
    failure_ = opened.error();
    return fail(opened.error());
  }
  helper_ = std::move(*opened);
  return {};
}

bool HelperSession::renew(std::chrono::milliseconds age, Deadline end) {
  if (!helper_ || Clock::now() < opened_at_ + age) return false;
  auto fresh = open(end);
  if (!fresh) return false;
  helper_ = std::move(*fresh);
  return true;
}

Result<HelperAnswer> HelperSession::ask(const HelperRequest& request, std::chrono::milliseconds deadline) {
  return ask(request, deadline, deadline);
}

Result<HelperAnswer> HelperSession::ask(const HelperRequest& request, std::chrono::milliseconds each,
                                        std::chrono::milliseconds deadline) {
  TG_ASSERT(helper_, "ensure() comes before a question");
  auto answer = helper_->call(request, each, Clock::now() + deadline);
  if (!answer) {
    log::warn("dcmi: " + answer.error().to_string() + " (card " + std::to_string(request.address.card) +
              ", chip " + std::to_string(request.address.device) + "); the helper is replaced");
    helper_.reset();
  }
  return answer;
}

Result<std::unique_ptr<HelperProcess>> HelperSession::open(Deadline end) {
  if (const std::size_t stuck = stuck_helper_count(); stuck >= kStuckHelpersMax) {
    return fail(Code::kUnavailable, "device.helper.stuck",
                std::to_string(stuck) + " helpers hang in the driver and cannot be killed",
                "reset the NPUs or restart the machine");
  }
  opened_at_ = Clock::now();
  TG_TRY(auto helper, HelperProcess::start(options_.helper_path));
  HelperRequest request;
  request.operation = Operation::kOpen;
  request.texts = options_.library_path.empty() ? default_library_paths()
                                                : std::vector<std::string>{options_.library_path};
  TG_TRY(const HelperAnswer answer,
         helper->call(request, options_.init_deadline, std::min(end, Clock::now() + options_.init_deadline)));
  if (answer.kind == AnswerKind::kFailed && answer.code == 0) {
    return fail(Code::kUnavailable, "device.library.missing", answer.text,
                "install the Ascend driver, or name its libdcmi.so in the configuration");
  }
  if (answer.kind == AnswerKind::kFailed) {
    return fail(Code::kUnavailable, "device.driver.away", failure_text(answer.text, answer.code),
                "see whether the driver is loaded (npu-smi info); tried again at the next look");
  }
  return helper;
}

}  // namespace tangram::device
