// ascendsim-ctl: makes an NPU of the simulated machine fall ill, vanish and come back, and shows the
// machine's own books. For root, and for tests.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "ascendsim/protocol/connection.h"

namespace {

using ascendsim::CallResult;
using ascendsim::Health;
using ascendsim::Status;

constexpr char kUsage[] =
    "usage: ascendsim-ctl --root DIR health NPU ok|warning|alarm|critical|absent\n"
    "       ascendsim-ctl --root DIR remove NPU\n"
    "       ascendsim-ctl --root DIR return NPU\n"
    "       ascendsim-ctl --root DIR books     who holds memory on which NPU now, as one line of JSON\n"
    "       ascendsim-ctl --root DIR watch     the same, a line whenever it changes, until it is ended\n"
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

constexpr useconds_t kLookMicroseconds = 5000;

// {"npus":[{"npu":0,"pids":[4711]},…]}; empty when ascendsimd is gone.
std::string read_books(ascendsim::Connection& connection) {
  ascendsim::MachineSnapshot snapshot;
  if (!query_machine(connection, &snapshot).ok()) return {};
  std::string line = "{\"npus\":[";
  for (const ascendsim::NpuRecord& npu : snapshot.npus) {
    std::vector<ascendsim::ProcessRecord> processes;
    if (!query_processes(connection, npu.logic_id, &processes).ok()) return {};
    line += line.back() == '[' ? "" : ",";
    line += "{\"npu\":" + std::to_string(npu.phy_id) + ",\"pids\":[";
    for (const ascendsim::ProcessRecord& process : processes) {
      line += line.back() == '[' ? "" : ",";
      line += std::to_string(process.host_pid);
    }
    line += "]}";
  }
  return line + "]}\n";
}

int show_books(ascendsim::Connection& connection, bool watch) {
  std::string shown;
  while (true) {
    const std::string line = read_books(connection);
    if (line.empty()) return refuse("ascendsimd went away");
    if (line != shown) std::fputs(line.c_str(), stdout);
    if (std::fflush(stdout) != 0 || !watch) return 0;
    shown = line;
    usleep(kLookMicroseconds);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, Health> healths = {{"ok", Health::kOk},
                                                 {"warning", Health::kWarning},
                                                 {"alarm", Health::kAlarm},
                                                 {"critical", Health::kCritical},
                                                 {"absent", Health::kAbsent}};
  if (argc < 4 || std::strcmp(argv[1], "--root") != 0) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  const std::string path = std::string(argv[2]) + "/driver/run/ascendsim.sock";
  auto connection = ascendsim::Connection::open(path);
  if (!connection.connected())
    return refuse("cannot reach ascendsimd at " + path + ": " + std::strerror(errno));
  const std::string verb = argv[3];
  if (argc == 4 && (verb == "books" || verb == "watch")) return show_books(connection, verb == "watch");
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
  const ascendsim::SetHealthBody body{health->second, 0};
  return report(connection.send(ascendsim::RequestType::kSetHealth, static_cast<std::uint32_t>(npu), body),
                argv[4]);
}
