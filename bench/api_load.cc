// Puts an open-loop load on a running daemon and prints what it saw as one JSON object. bench/api_bench.py
// drives it.
#include <sys/prctl.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "daemon_meter.h"
#include "load_connection.h"
#include "load_events.h"
#include "load_stream.h"

namespace tangram::bench {
namespace {

namespace asio = boost::asio;

constexpr const char* kUsage =
    "usage: api_load --socket PATH [--tls-port N --ca FILE] --seconds S [--alternate S] [--pid DAEMON] "
    "[--print-jobs] --stream SPEC…\n"
    "  SPEC: key=value,… of kind (submit, batch, why, metrics, list, get, events), name, rate, "
    "connections,\n"
    "        batch, tenants, jobs, first, npus, program, path, disturbs (0 or 1)\n"
    "  --alternate S  streams that disturb run in every second slot of S seconds only\n";

// How long what was sent before the end may still take.
constexpr std::chrono::seconds kGrace{20};
// Until the first request; subscribers of events must be there before.
constexpr std::chrono::milliseconds kLead{200};
constexpr std::chrono::milliseconds kSubscriberLead{1'500};

struct Arguments {
  std::string socket;
  unsigned short tls_port = 0;  // 0: streams use the socket, too
  std::string ca_file;
  double seconds = 5;
  double alternate = 0;
  pid_t daemon = 0;
  bool print_jobs = false;
  std::vector<StreamSpec> streams;
};

StreamSpec::Kind parse_kind(std::string_view text) {
  using Kind = StreamSpec::Kind;
  for (const auto& [name, kind] :
       {std::pair{"submit", Kind::kSubmit}, std::pair{"batch", Kind::kBatch}, std::pair{"why", Kind::kWhy},
        std::pair{"metrics", Kind::kMetrics}, std::pair{"list", Kind::kList}, std::pair{"get", Kind::kGet},
        std::pair{"events", Kind::kEvents}}) {
    if (text == name) return kind;
  }
  throw std::invalid_argument("no such kind: " + std::string(text));
}

void set(StreamSpec& spec, std::string_view key, const std::string& value) {
  if (key == "kind") {
    spec.kind = parse_kind(value);
    if (spec.name.empty()) spec.name = value;
  } else if (key == "name") {
    spec.name = value;
  } else if (key == "rate") {
    spec.rate = std::stod(value);
  } else if (key == "connections") {
    spec.connections = std::stoul(value);
  } else if (key == "batch") {
    spec.batch = std::stoul(value);
  } else if (key == "tenants") {
    spec.tenants = std::stoul(value);
  } else if (key == "jobs") {
    spec.jobs = std::stoul(value);
  } else if (key == "first") {
    spec.first_job = std::stoul(value);
  } else if (key == "npus") {
    spec.npus = std::stoi(value);
  } else if (key == "program") {
    spec.program = value;
  } else if (key == "path") {
    spec.path = value;
  } else if (key == "disturbs") {
    spec.disturbs = value == "1";
  } else {
    throw std::invalid_argument("no such key of a stream: " + std::string(key));
  }
}

StreamSpec parse_stream(std::string_view text) {
  StreamSpec spec;
  while (!text.empty()) {
    const auto end = std::min(text.find(','), text.size());
    const std::string_view pair = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto equals = std::min(pair.find('='), pair.size());
    set(spec, pair.substr(0, equals), std::string(pair.substr(std::min(equals + 1, pair.size()))));
  }
  if (!(spec.rate > 0) || spec.connections == 0 || spec.tenants == 0 || spec.jobs == 0) {
    throw std::invalid_argument("a stream needs a rate, connections, tenants and jobs above zero");
  }
  return spec;
}

Arguments parse(const std::vector<std::string>& words) {
  Arguments arguments;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--print-jobs") {
      arguments.print_jobs = true;
      continue;
    }
    if (i + 1 == words.size()) throw std::invalid_argument(word + " needs a value");
    const std::string& value = words[++i];
    if (word == "--socket") {
      arguments.socket = value;
    } else if (word == "--tls-port") {
      arguments.tls_port = static_cast<unsigned short>(std::stoul(value));
    } else if (word == "--ca") {
      arguments.ca_file = value;
    } else if (word == "--seconds") {
      arguments.seconds = std::stod(value);
    } else if (word == "--alternate") {
      arguments.alternate = std::stod(value);
    } else if (word == "--pid") {
      arguments.daemon = static_cast<pid_t>(std::stol(value));
    } else if (word == "--stream") {
      arguments.streams.push_back(parse_stream(value));
    } else {
      throw std::invalid_argument("no such option: " + word);
    }
  }
  if (arguments.socket.empty() || arguments.streams.empty()) {
    throw std::invalid_argument("a socket and a stream are needed");
  }
  return arguments;
}

Clock::duration duration_of(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// Reads the daemon at the settled beginning and at the end of each slot, and adds up what lies between.
class SlotMeter {
 public:
  SlotMeter(asio::io_context& io, const Target& to, pid_t daemon)
      : daemon_(daemon),
        connection_(make_load_connection(io, to)),
        request_(make_request(to, "GET", "/metrics")) {}

  void begin_slot() {
    if (daemon_ != 0) read([this](const DaemonReading& now) { at_begin_ = now; });
  }
  void end_slot(bool disturbed) {
    if (daemon_ == 0) return;
    read([this, disturbed](const DaemonReading& now) {
      (disturbed ? disturbed_ : quiet_) += now - at_begin_;
      at_begin_ = now;
    });
  }
  bool idle() const { return !busy_; }
  std::string to_json() const {
    return R"({"quiet":)" + quiet_.to_json() + R"(,"disturbed":)" + disturbed_.to_json() + "}";
  }

 private:
  // One at a time: a slot is much longer than an answer takes; what comes too early is left out.
  void read(std::function<void(const DaemonReading&)> use) {
    if (busy_) return;
    busy_ = true;
    DaemonReading now;
    read_cpu(daemon_, now);
    connection_->exchange(request_, [this, now, use = std::move(use)](const Answer& answer) mutable {
      read_metrics(answer.body, now);
      busy_ = false;
      use(now);
    });
  }

  const pid_t daemon_;
  std::unique_ptr<LoadConnection> connection_;
  const std::string request_;
  bool busy_ = false;
  DaemonReading at_begin_;
  DaemonReading quiet_;
  DaemonReading disturbed_;
};

// The token comes by the environment, where other users do not see it.
Target target_of(const Arguments& arguments) {
  if (arguments.tls_port == 0) return make_local_target(arguments.socket);
  const char* token = std::getenv("TANGRAM_TOKEN");
  return make_tls_target("127.0.0.1", arguments.tls_port, arguments.ca_file, token == nullptr ? "" : token);
}

Clock::duration lead_of(const Arguments& arguments) {
  const bool subscribers = std::any_of(
      arguments.streams.begin(), arguments.streams.end(),
      [](const StreamSpec& spec) { return spec.kind == StreamSpec::Kind::kEvents && !spec.disturbs; });
  return subscribers ? kSubscriberLead : kLead;
}

class Load {
 public:
  explicit Load(Arguments arguments)
      : arguments_(std::move(arguments)),
        local_(make_local_target(arguments_.socket)),
        to_(target_of(arguments_)),
        slots_(Clock::now() + lead_of(arguments_), duration_of(arguments_.alternate)),
        end_(slots_.begin() + duration_of(arguments_.seconds)),
        meter_(io_, local_, arguments_.daemon),
        timer_(io_) {
    const std::string run =
        std::to_string(std::chrono::system_clock::now().time_since_epoch().count() / 1'000'000);
    for (const StreamSpec& spec : arguments_.streams) {
      if (spec.kind == StreamSpec::Kind::kEvents) {
        events_.push_back(std::make_unique<LoadEvents>(io_, local_, spec, slots_, times_, run));
      } else {
        streams_.push_back(std::make_unique<LoadStream>(io_, to_, spec, slots_, times_, run));
      }
    }
  }

  // True: every request was answered, each with success.
  void run() {
    for (const auto& events : events_) events->start();
    for (const auto& stream : streams_) stream->start(end_);
    at(slots_.begin(), [this] { begin_slot(); });
    io_.run();
    print();
  }

 private:
  void at(Clock::time_point when, std::function<void()> call) {
    timer_.expires_at(when);
    timer_.async_wait([call = std::move(call)](const boost::system::error_code& error) {
      if (!error) call();
    });
  }

  void begin_slot() {
    const auto now = Clock::now();
    const bool disturbed = slots_.disturbed(now);
    for (const auto& events : events_) events->on_slot(disturbed);
    at(now + slots_.length() / 5, [this, disturbed] { measure_slot(disturbed); });
  }

  void measure_slot(bool disturbed) {
    meter_.begin_slot();
    const auto next = slots_.begin() + (slots_.number(Clock::now()) + 1) * slots_.length();
    const bool last = slots_.length() == Clock::duration::zero() || next >= end_;
    at(last ? end_ : next, [this, disturbed, last] {
      if (!last || slots_.length() != Clock::duration::zero()) meter_.end_slot(disturbed);
      if (last) {
        await_end();
      } else {
        begin_slot();
      }
    });
  }

  void await_end() {
    bool done = Clock::now() > end_ + kGrace;
    bool all = true;
    for (const auto& stream : streams_) all = all && stream->finished();
    done = done || all;
    if (!done) return at(Clock::now() + std::chrono::milliseconds(1), [this] { await_end(); });
    finished_ = Clock::now();
    if (slots_.length() == Clock::duration::zero()) meter_.end_slot(false);
    // What is on its way to subscribers, and the last reading.
    at(Clock::now() + std::chrono::milliseconds(300), [this] {
      for (const auto& events : events_) events->stop();
      await_meter();
    });
  }

  void await_meter() {
    if (meter_.idle() || Clock::now() > end_ + 2 * kGrace) return io_.stop();
    at(Clock::now() + std::chrono::milliseconds(5), [this] { await_meter(); });
  }

  void print() {
    const double seconds = std::chrono::duration<double>(finished_ - slots_.begin()).count();
    std::string out = R"({"streams":[)";
    bool first = true;
    const auto add = [&](const std::string& one) { out += (std::exchange(first, false) ? "" : ",") + one; };
    for (const auto& stream : streams_) add(stream->to_json(seconds));
    for (const auto& events : events_) add(events->to_json(seconds));
    out += R"(],"daemon":)" + meter_.to_json();
    if (arguments_.print_jobs) out += R"(,"jobs":[)" + jobs() + "]";
    std::cout << out << "}\n";
  }

  // Each accepted job with its intended time as the wall clock tells it, seconds.
  std::string jobs() const {
    const auto wall_offset =
        std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()) -
        std::chrono::duration<double>(Clock::now().time_since_epoch());
    std::string list;
    for (const auto& stream : streams_) {
      for (const auto& [id, number] : stream->accepted()) {
        const auto at = std::chrono::duration<double>(times_.at(number).time_since_epoch()) + wall_offset;
        list += (list.empty() ? "[\"" : ",[\"") + id + "\"," + std::to_string(at.count()) + "]";
      }
    }
    return list;
  }

  const Arguments arguments_;
  asio::io_context io_{1};
  const Target local_;  // for the meter, and for subscribers
  const Target to_;
  const Slots slots_;
  const Clock::time_point end_;
  Clock::time_point finished_;
  IntendedTimes times_;
  SlotMeter meter_;
  asio::steady_timer timer_;
  std::vector<std::unique_ptr<LoadStream>> streams_;
  std::vector<std::unique_ptr<LoadEvents>> events_;
};

}  // namespace
}  // namespace tangram::bench

int main(int argc, char** argv) {
  try {
    // The timetable is kept to the microsecond, not to the kernel's 50.
    (void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    tangram::bench::Load(tangram::bench::parse({argv + 1, argv + argc})).run();
    return 0;
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "api_load: %s\n%s", problem.what(), tangram::bench::kUsage);
    return 2;
  }
}
