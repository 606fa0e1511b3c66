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

// Where everything is. Installed: /etc/tangram, /run/tangram, /var/lib/tangram. Below a root directory R:
// R/etc, R/run, R/lib.
struct Places {
  std::string config;  // file
  std::string socket;
  std::string state;  // directory: VERSION, journal.db, jobs/
};

struct Config {
  Options options;
  Places places;
  std::string cgroup = "tangram";
  std::string device_library;  // empty: where a driver installs it
  std::string device_directory = "/dev";
  std::string driver_directory = "/usr/local/Ascend/driver";
  std::string device_group = "HwHiAiUser";
  std::vector<DriverMount> mounts;
  log::Level log_level = log::Level::kInfo;
};

// `root` empty: the installed places.
Places places_below(const std::string& root);

// The defaults where the text says nothing. Errors name line, field, value and what would be right:
// kInvalidArgument with config.syntax, config.unknown_field, config.duplicate_field, config.wrong_type,
// config.bad_value. `root` as for places_below(); `file` is named in errors.
Result<Config> parse_config(std::string_view text, const std::string& file, const std::string& root);

// A file that is missing is an error only if `must_exist`: the defaults are a configuration too.
Result<Config> load_config(const std::string& file, const std::string& root, bool must_exist);

}  // namespace tangram::service
