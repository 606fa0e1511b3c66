// The daemon's configuration file: tangramd.yaml. docs/configuration.md describes every field.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "service/options.h"

namespace tangram::service {

struct DriverMount {
  std::string source;  // on the host, absolute
  std::string target;  // where jobs see it, absolute

  friend bool operator==(const DriverMount&, const DriverMount&) = default;
};

// Where everything is. Installed: /etc/tangram, /run/tangram, /var/lib/tangram, /var/log/tangram. Below a
// root directory R: R/etc, R/run, R/lib, R/log.
struct Places {
  std::string config;  // file
  std::string socket;
  std::string state;  // directory: VERSION, journal.db, jobs/
  std::string audit;  // file
};

// One address of the API besides the Unix socket.
struct Listen {
  std::string address;  // numeric
  std::uint16_t port = 0;
  std::string certificate;  // empty: without TLS, on a loopback address only
  std::string key;
  std::string where;  // "listen[0]" with file and line, for messages

  bool has_tls() const { return !certificate.empty(); }
};

// What strangers and tenants may take of the API; see docs/configuration.md.
struct ApiLimits {
  std::int64_t connections = 1'024;
  std::int64_t connections_per_tenant = 128;
  std::int64_t connections_unknown = 256;
  std::int64_t handshakes_per_second = 100;
  std::int64_t header_time_ms = 10'000;
  std::int64_t body_time_ms = 30'000;
  std::int64_t idle_time_ms = 75'000;
  std::int64_t stall_time_ms = 30'000;
  std::int64_t memory_per_tenant = 64LL << 20;
  std::int64_t memory = 256LL << 20;
  std::int64_t requests_per_second = 100;
  std::int64_t request_burst = 200;
};

struct Audit {
  std::string file;
  std::int64_t size = 16LL << 20;
  std::int64_t files = 8;
};

struct Config {
  Options options;
  Places places;
  std::string cgroup = "tangram";
  std::string device_library;  // empty: where a driver installs it
  std::string device_directory = "/dev";
  std::string driver_directory = "/usr/local/Ascend/driver";
  std::vector<DriverMount> mounts;
  std::string chips_file;  // empty: the built-in chips alone; load_config() reads it into options.chips
  log::Level log_level = log::Level::kInfo;
  std::vector<Listen> listen;
  ApiLimits api;
  Audit audit;
};

// `root` empty: the installed places.
Places places_below(const std::string& root);

// The defaults where the text says nothing. Errors name line, field, value and what would be right:
// kInvalidArgument with config.syntax, config.unknown_field, config.duplicate_field, config.wrong_type,
// config.bad_value. `root` as for places_below(); `file` is named in errors.
Result<Config> parse_config(std::string_view text, const std::string& file, const std::string& root);

// A file that is missing is an error only if `must_exist`: the defaults are a configuration too. Also reads
// the file of chips that it names.
Result<Config> load_config(const std::string& file, const std::string& root, bool must_exist);

}  // namespace tangram::service
