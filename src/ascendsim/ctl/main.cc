// ascendsim-ctl: makes things befall the simulated machine, one at a time, by a script or at random, and
// shows the machine's own books. For root, and for tests.
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "ascendsim/ctl/action.h"
#include "ascendsim/ctl/script.h"
#include "ascendsim/protocol/connection.h"

namespace {

using ascendsim::CallResult;
using ascendsim::Connection;
using ascendsim::RequestType;
using ascendsim::Status;
using ascendsim::ctl::Action;
using ascendsim::ctl::ChaosPlan;
using ascendsim::ctl::Step;
using Words = std::vector<std::string>;

constexpr char kUsage[] =
    "usage: ascendsim-ctl --root DIR ACTION…\n"
    "       ascendsim-ctl --root DIR script FILE|-   actions at their times, a line each: \"1500 hang 3\"\n"
    "       ascendsim-ctl --root DIR random [--seed N] [--seconds S] [--gap-ms MS] [--leak TEMPLATE[,…]]\n"
    "                                       [--reboots] [--dry-run]\n"
    "                                                faults at random, mended again; prints the seed and "
    "the\n"
    "                                                script, which the same seed makes again\n"
    "       ascendsim-ctl --root DIR books           who holds memory on which NPU now, as one line of JSON\n"
    "       ascendsim-ctl --root DIR watch           the same, a line whenever it changes, until it is "
    "ended\n"
    "\n"
    "NPU is the physical id: N of davinciN. An ACTION is one of\n";

int refuse(const std::string& why) {
  std::fprintf(stderr, "ascendsim-ctl: %s\n", why.c_str());
  return 2;
}

int show_usage() {
  std::fputs(kUsage, stderr);
  std::fputs(ascendsim::ctl::kActionUsage, stderr);
  return 2;
}

// Empty: done.
std::string problem_of(const CallResult& result, const Action& action) {
  if (result.ok()) return "";
  if (!result.connected) return "ascendsimd went away";
  const std::string npu = "NPU " + std::to_string(action.npu) + ": ";
  if (result.status == Status::kDenied) return "only root of the host may do that to an NPU";
  if (result.status == Status::kNoSuchNpu) return npu + "the machine has none of that id";
  if (result.status == Status::kInvalid) return npu + "that cannot be done to it";
  return "ascendsimd refused the request, status " + std::to_string(static_cast<int>(result.status));
}

class Machine {
 public:
  explicit Machine(const std::string& root) : path_(root + "/driver/run/ascendsim.sock") { connect(); }

  bool connected() const { return connection_.connected(); }
  const std::string& path() const { return path_; }
  Connection& connection() { return connection_; }

  // Over a reboot, too: the driver is given a while to come back. Empty: done.
  std::string perform(const Action& action) {
    std::string problem = try_once(action);
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (rebooted_ && problem == "ascendsimd went away" && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      connect();
      if (connected()) problem = try_once(action);
    }
    if (action.type == RequestType::kInject && action.inject.injection == ascendsim::Injection::kReboot) {
      rebooted_ = true;
    }
    return problem;
  }

 private:
  void connect() { connection_ = Connection::open(path_); }

  std::string try_once(const Action& action) {
    const CallResult result = action.type == RequestType::kSetHealth
                                  ? connection_.send(action.type, action.npu, action.health)
                                  : connection_.send(action.type, action.npu, action.inject);
    return problem_of(result, action);
  }

  std::string path_;
  Connection connection_;
  bool rebooted_ = false;
};

constexpr useconds_t kLookMicroseconds = 5000;

// {"npus":[{"npu":0,"pids":[4711]},…]}; empty when ascendsimd is gone.
std::string read_books(Connection& connection) {
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

int show_books(Connection& connection, bool watch) {
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

// An action that the machine refuses is told, and the rest is done all the same.
int run_script(Machine& machine, const std::string& text) {
  std::string complaint;
  const auto steps = ascendsim::ctl::parse_script(text, &complaint);
  if (!steps) return refuse(complaint);
  const auto start = std::chrono::steady_clock::now();
  int status = 0;
  for (const Step& step : *steps) {
    std::this_thread::sleep_until(start + std::chrono::milliseconds(step.at_ms));
    const std::string problem = machine.perform(step.action);
    std::printf("%llu %s%s%s\n", static_cast<unsigned long long>(step.at_ms), step.text.c_str(),
                problem.empty() ? "" : "  # ", problem.c_str());
    std::fflush(stdout);
    if (!problem.empty()) status = 1;
  }
  return status;
}

int run_script_file(Machine& machine, const std::string& file) {
  std::ostringstream text;
  if (file == "-") {
    text << std::cin.rdbuf();
  } else {
    const std::ifstream stream(file);
    if (!stream) return refuse("cannot read " + file + ": " + std::strerror(errno));
    text << stream.rdbuf();
  }
  return run_script(machine, text.str());
}

bool read_number(const std::string& text, std::uint64_t* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

Words split(const std::string& text) {
  Words parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

struct RandomOptions {
  ChaosPlan plan;
  bool dry_run = false;
};

std::string not_a_number(const std::string& flag, const std::string& value) {
  return flag + " '" + value + "' is not a whole number";
}

// Empty: understood.
std::string read_random(const Words& words, RandomOptions* options) {
  options->plan.seed = std::random_device()();
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& flag = words[i];
    if (flag == "--reboots" || flag == "--dry-run") {
      (flag == "--reboots" ? options->plan.reboots : options->dry_run) = true;
      continue;
    }
    if (i + 1 == words.size()) return flag + " needs a value, or is not an option of random";
    const std::string& value = words[++i];
    std::uint64_t number = 0;
    if (flag == "--leak") {
      options->plan.templates = split(value);
    } else if (!read_number(value, &number)) {
      return not_a_number(flag, value);
    } else if (flag == "--seed") {
      options->plan.seed = number;
    } else if (flag == "--seconds") {
      options->plan.duration_ms = number * 1000;
    } else if (flag == "--gap-ms") {
      options->plan.mean_gap_ms = number;
    } else {
      return flag + " is not an option of random";
    }
  }
  return "";
}

int run_random(Machine& machine, const Words& words) {
  RandomOptions options;
  if (const std::string problem = read_random(words, &options); !problem.empty()) return refuse(problem);
  ascendsim::MachineSnapshot snapshot;
  if (!query_machine(machine.connection(), &snapshot).ok()) return refuse("ascendsimd went away");
  for (const ascendsim::NpuRecord& npu : snapshot.npus) options.plan.npus.push_back(npu.phy_id);
  std::printf("# seed %llu\n", static_cast<unsigned long long>(options.plan.seed));
  const std::string script = random_script(options.plan);
  if (!options.dry_run) {
    // What the machine refuses at random is no failure of this program.
    run_script(machine, script);
    return 0;
  }
  std::fputs(script.c_str(), stdout);
  return 0;
}

int run_action(Machine& machine, const Action& action) {
  const std::string problem = machine.perform(action);
  return problem.empty() ? 0 : refuse(problem);
}

int run(const Words& words, const std::string& root) {
  const std::string& verb = words[0];
  const bool books = words.size() == 1 && (verb == "books" || verb == "watch");
  const bool script = words.size() == 2 && verb == "script";
  const bool random = verb == "random";
  std::string complaint;
  const auto action = books || script || random
                          ? Action{}
                          : ascendsim::ctl::parse_action(words, &complaint).value_or(Action{});
  if (!complaint.empty()) return refuse(complaint);
  Machine machine(root);
  if (!machine.connected()) {
    return refuse("cannot reach ascendsimd at " + machine.path() + ": " + std::strerror(errno));
  }
  if (books) return show_books(machine.connection(), verb == "watch");
  if (script) return run_script_file(machine, words[1]);
  if (random) return run_random(machine, {words.begin() + 1, words.end()});
  return run_action(machine, action);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4 || std::strcmp(argv[1], "--root") != 0) return show_usage();
  return run({argv + 3, argv + argc}, argv[2]);
}
