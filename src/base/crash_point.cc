#include "base/crash_point.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace tangram {
namespace {

struct Target {
  std::string_view name;
  int countdown = 1;
};

Target read_target() {
  const char* const text = std::getenv("TANGRAM_CRASH_AT");
  Target target;
  if (text == nullptr) return target;
  target.name = text;
  const auto colon = target.name.rfind(':');
  if (colon != std::string_view::npos) {
    std::from_chars(target.name.data() + colon + 1, target.name.data() + target.name.size(),
                    target.countdown);
    target.name = target.name.substr(0, colon);
  }
  return target;
}

std::function<void(std::string_view)>& caller() {
  static std::function<void(std::string_view)> call;
  return call;
}

}  // namespace

void on_crash_point(std::function<void(std::string_view)> call) {
  caller() = std::move(call);
}

void pass_crash_point(const char* name) {
  if (const auto& call = caller()) {
    call(name);
    return;
  }
  static const Target target = read_target();
  static std::atomic<int> passes_left = target.countdown;
  if (target.name.empty() || target.name != name) return;
  if (passes_left.fetch_sub(1) == 1) kill(getpid(), SIGKILL);
}

}  // namespace tangram
