// ascendsim-ctl: makes an NPU of the simulated machine fall ill, vanish and come back. For root, and for
// tests.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "ascendsim/protocol/connection.h"

namespace {

using ascendsim::CallResult;
using ascendsim::Health;
using ascendsim::Status;

constexpr char kUsage[] =
    "usage: ascendsim-ctl --root DIR health NPU ok|warning|alarm|critical|absent\n"
    "       ascendsim-ctl --root DIR remove NPU\n"
    "       ascendsim-ctl --root DIR return NPU\n"
    "\n"
    "NPU is the physical id: N of davinciN.\n";

int refuse(const std::string& why) {
  std::fprintf(stderr, "ascendsim-ctl: %s\n", why.c_str());
  return 2;
}

int report(const CallResult& result, const std::string& npu) {
  if (result.ok()) return 0;
  if (!result.connected) return refuse("ascendsimd went away");
  if (result.status == Status::kDenied) return refuse("only root may change the health of an NPU");
  if (result.status == Status::kNoSuchNpu) return refuse("NPU " + npu + ": the machine has none of that id");
  return refuse("ascendsimd refused the request, status " + std::to_string(static_cast<int>(result.status)));
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, Health> healths = {{"ok", Health::kOk},
                                                 {"warning", Health::kWarning},
                                                 {"alarm", Health::kAlarm},
                                                 {"critical", Health::kCritical},
                                                 {"absent", Health::kAbsent}};
  if (argc < 5 || std::strcmp(argv[1], "--root") != 0) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  const std::string verb = argv[3];
  std::string word;
  if (verb == "health" && argc == 6) word = argv[5];
  if (verb == "remove" && argc == 5) word = "absent";
  if (verb == "return" && argc == 5) word = "ok";
  if (word.empty()) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  const auto health = healths.find(word);
  if (health == healths.end())
    return refuse("health '" + word + "' is not ok, warning, alarm, critical or absent");
  char* end = nullptr;
  const unsigned long npu = std::strtoul(argv[4], &end, 10);
  if (end == argv[4] || *end != '\0' || npu >= ascendsim::kNpusMax) {
    return refuse(std::string("NPU '") + argv[4] + "' is not a number below " +
                  std::to_string(ascendsim::kNpusMax));
  }
  const std::string path = std::string(argv[2]) + "/driver/run/ascendsim.sock";
  auto connection = ascendsim::Connection::open(path);
  if (!connection.connected())
    return refuse("cannot reach ascendsimd at " + path + ": " + std::strerror(errno));
  const ascendsim::SetHealthBody body{health->second, 0};
  return report(connection.send(ascendsim::RequestType::kSetHealth, static_cast<std::uint32_t>(npu), body),
                argv[4]);
}
