#include "service/config.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <set>
#include <sstream>
#include <utility>

#include "wire/schema.h"

namespace tangram::service {
namespace {

constexpr std::size_t kFileBytesMax = 1U << 20;
constexpr std::int64_t kDayMs = 24LL * 3'600'000;

// One mapping of the file. Each read names its field once; finish() finds what nobody read.
class Fields {
 public:
  Fields(const YAML::Node& node, std::string path, std::string file)
      : node_(node), path_(std::move(path)), file_(std::move(file)) {}

  Result<void> check_shape() const {
    if (!node_.IsDefined() || node_.IsNull()) return {};
    if (!node_.IsMap()) return fail(problem(node_, "config.wrong_type", name_of(""), "must be a mapping"));
    std::set<std::string> seen;
    for (const auto& entry : node_) {
      if (!entry.first.IsScalar()) {
        return fail(
            problem(entry.first, "config.wrong_type", name_of(""), "has a field whose name is no text"));
      }
      if (seen.insert(entry.first.Scalar()).second) continue;
      return fail(
          problem(entry.first, "config.duplicate_field", name_of(entry.first.Scalar()), "stands twice"));
    }
    return {};
  }

  // Calls `take` with the text of the field if it is there.
  Result<void> scalar(const std::string& name, const std::function<Result<void>(const std::string&)>& take) {
    known_.insert(name);
    const YAML::Node value = find(name);
    if (!value.IsDefined()) return {};
    if (!value.IsScalar())
      return fail(problem(value, "config.wrong_type", name_of(name), "must be a single value"));
    auto taken = take(value.Scalar());
    if (taken) return {};
    Error error = std::move(taken).error();
    error.reason = "config.bad_value";
    error.message = where(value) + error.message;
    return fail(std::move(error));
  }

  Result<void> text(const std::string& name, std::string& into, std::size_t length_max = 255) {
    return scalar(name, [&](const std::string& value) -> Result<void> {
      if (value.empty() || value.size() > length_max) {
        return fail(Code::kInvalidArgument, "",
                    name_of(name) + " must have 1 to " + std::to_string(length_max) + " characters");
      }
      into = value;
      return {};
    });
  }

  Result<void> absolute_path(const std::string& name, std::string& into) {
    return scalar(name, [&](const std::string& value) -> Result<void> {
      if (!value.starts_with('/') || value.size() > wire::kPathLengthMax) {
        return fail(Code::kInvalidArgument, "", name_of(name) + ": \"" + value + "\" is no absolute path");
      }
      into = value;
      return {};
    });
  }

  template <class Number>
  Result<void> number(const std::string& name, Number& into, std::int64_t least, std::int64_t most) {
    return scalar(name, [&](const std::string& value) -> Result<void> {
      std::int64_t read = 0;
      const auto [end, failed] = std::from_chars(value.data(), value.data() + value.size(), read);
      if (failed != std::errc{} || end != value.data() + value.size() || read < least || read > most) {
        return fail(Code::kInvalidArgument, "",
                    name_of(name) + ": \"" + value + "\" is no whole number from " + std::to_string(least) +
                        " to " + std::to_string(most));
      }
      into = static_cast<Number>(read);
      return {};
    });
  }

  Result<void> duration(const std::string& name, std::int64_t& into, std::int64_t least_ms) {
    return scalar(name, [&](const std::string& value) -> Result<void> {
      TG_TRY(const std::int64_t read, parse_duration_ms(value, name_of(name)));
      if (read < least_ms) {
        return fail(Code::kInvalidArgument, "",
                    name_of(name) + ": \"" + value + "\" is less than " + format_duration_ms(least_ms));
      }
      into = read;
      return {};
    });
  }

  Result<void> bytes(const std::string& name, std::int64_t& into, Bytes least) {
    return scalar(name, [&](const std::string& value) -> Result<void> {
      TG_TRY(const Bytes read, parse_bytes(value, name_of(name)));
      if (read < least) {
        return fail(Code::kInvalidArgument, "",
                    name_of(name) + ": \"" + value + "\" is less than " + format_bytes(least));
      }
      into = read.count;
      return {};
    });
  }

  Fields inside(const std::string& name) {
    known_.insert(name);
    return {find(name), name_of(name), file_};
  }

  // The elements of a list, each a mapping.
  Result<std::vector<Fields>> list(const std::string& name, std::size_t most) {
    known_.insert(name);
    std::vector<Fields> elements;
    const YAML::Node value = find(name);
    if (!value.IsDefined() || value.IsNull()) return elements;
    if (!value.IsSequence() || value.size() > most) {
      return fail(problem(value, "config.wrong_type", name_of(name),
                          "must be a list of at most " + std::to_string(most) + " entries"));
    }
    for (std::size_t i = 0; i < value.size(); ++i) {
      elements.emplace_back(value[i], name_of(name) + "[" + std::to_string(i) + "]", file_);
    }
    return elements;
  }

  Result<void> finish() const {
    if (!node_.IsDefined() || !node_.IsMap()) return {};
    for (const auto& entry : node_) {
      if (known_.contains(entry.first.Scalar())) continue;
      std::string names;
      for (const std::string& name : known_) names += (names.empty() ? "" : ", ") + name;
      Error error =
          problem(entry.first, "config.unknown_field", name_of(entry.first.Scalar()), "is not known");
      error.hint = "known here: " + names;
      return fail(std::move(error));
    }
    return {};
  }

  std::string name_of(const std::string& name) const {
    if (path_.empty()) return name.empty() ? "the configuration" : name;
    return name.empty() ? path_ : path_ + "." + name;
  }

 private:
  YAML::Node find(const std::string& name) const {
    if (!node_.IsDefined() || !node_.IsMap()) return YAML::Node(YAML::NodeType::Undefined);
    const YAML::Node constant = node_;
    return constant[name];
  }

  std::string where(const YAML::Node& node) const {
    const YAML::Mark mark = node.Mark();
    if (mark.is_null()) return file_ + ": ";
    return file_ + " line " + std::to_string(mark.line + 1) + ": ";
  }

  Error problem(const YAML::Node& node, std::string reason, const std::string& field,
                const std::string& sentence) const {
    return {Code::kInvalidArgument, std::move(reason), where(node) + field + " " + sentence, "", {}, nullptr};
  }

  YAML::Node node_;
  std::string path_;
  std::string file_;
  std::set<std::string> known_;
};

Result<void> read_devices(Fields fields, Config& config) {
  TG_TRY_VOID(fields.check_shape());
  TG_TRY_VOID(fields.absolute_path("library", config.device_library));
  TG_TRY_VOID(fields.absolute_path("directory", config.device_directory));
  TG_TRY_VOID(fields.absolute_path("driver", config.driver_directory));
  TG_TRY_VOID(fields.text("group", config.device_group, 32));
  TG_TRY_VOID(fields.duration("scanInterval", config.options.scan_interval_ms, 100));
  TG_TRY_VOID(fields.duration("lostAfter", config.options.lost_after_ms, 0));
  TG_TRY(std::vector<Fields> mounts, fields.list("mounts", 64));
  for (Fields& entry : mounts) {
    DriverMount mount;
    TG_TRY_VOID(entry.check_shape());
    TG_TRY_VOID(entry.absolute_path("source", mount.source));
    TG_TRY_VOID(entry.absolute_path("target", mount.target));
    TG_TRY_VOID(entry.finish());
    if (mount.source.empty() || mount.target.empty()) {
      return fail(Code::kInvalidArgument, "config.missing_field",
                  entry.name_of("") + " needs source and target");
    }
    config.mounts.push_back(std::move(mount));
  }
  return fields.finish();
}

Result<void> read_host_defaults(Fields fields, HostLimits& limits) {
  TG_TRY_VOID(fields.check_shape());
  TG_TRY_VOID(fields.scalar("cpus", [&](const std::string& value) -> Result<void> {
    TG_TRY(limits.cpu_milli, wire::parse_cpus(value, fields.name_of("cpus")));
    return {};
  }));
  TG_TRY_VOID(fields.bytes("memory", limits.memory.count, Bytes::mib(1)));
  TG_TRY_VOID(fields.number("processes", limits.processes, 1, 4'194'304));
  return fields.finish();
}

Result<void> read_jobs(Fields fields, Options& options) {
  TG_TRY_VOID(fields.check_shape());
  Fields uids = fields.inside("uids");
  TG_TRY_VOID(uids.check_shape());
  TG_TRY_VOID(uids.number("first", options.uids.first, 1'000, 0x7FFFFFFF));
  TG_TRY_VOID(uids.number("count", options.uids.count, 1, 10'000'000));
  TG_TRY_VOID(uids.finish());
  TG_TRY_VOID(read_host_defaults(fields.inside("defaults"), options.host_defaults));
  TG_TRY_VOID(fields.bytes("logSize", options.log_bytes_max, Bytes::kib(4)));
  TG_TRY_VOID(fields.duration("grace", options.grace_ms, 0));
  TG_TRY_VOID(fields.duration("leaseGrace", options.lease_grace_ms, 0));
  TG_TRY_VOID(fields.absolute_path("ascendHome", options.ascend_home));
  return fields.finish();
}

Result<void> read_limits(Fields fields, Options& options) {
  TG_TRY_VOID(fields.check_shape());
  TG_TRY_VOID(fields.number("jobs", options.jobs_max, 1, 10'000'000));
  TG_TRY_VOID(fields.number("jobsPerTenant", options.jobs_per_tenant_max, 1, 10'000'000));
  TG_TRY_VOID(fields.number("tenants", options.tenants_max, 1, 1'000'000));
  return fields.finish();
}

Result<void> read_retention(Fields fields, Options& options) {
  TG_TRY_VOID(fields.check_shape());
  TG_TRY_VOID(fields.duration("endedJobs", options.ended_keep_ms, 0));
  TG_TRY_VOID(fields.number("endedJobsMax", options.ended_max, 0, 10'000'000));
  TG_TRY_VOID(fields.duration("journal", options.journal_keep_ms, kDayMs));
  TG_TRY_VOID(fields.number("snapshotEvery", options.snapshot_every, 100, 100'000'000));
  TG_TRY_VOID(fields.duration("sweepInterval", options.sweep_interval_ms, 100));
  return fields.finish();
}

Result<void> read_level(const std::string& value, log::Level& level) {
  if (value == "debug") {
    level = log::Level::kDebug;
  } else if (value == "info") {
    level = log::Level::kInfo;
  } else if (value == "warn") {
    level = log::Level::kWarn;
  } else if (value == "error") {
    level = log::Level::kError;
  } else {
    return fail(Code::kInvalidArgument, "",
                "logLevel: \"" + value.substr(0, 64) + "\" is none of debug, info, warn, error");
  }
  return {};
}

// "tangram", "a/b", or the same with one '/' in front. The root of a hierarchy and what is above are nobody's
// to give.
bool is_group_name(std::string_view name) {
  if (name.empty() || name.size() > 255) return false;
  if (std::any_of(name.begin(), name.end(), [](char c) { return c <= ' ' || c == 0x7f; })) return false;
  if (name.starts_with('/')) name.remove_prefix(1);
  while (true) {
    const std::string_view part = name.substr(0, name.find('/'));
    if (part.empty() || part == "." || part == "..") return false;
    if (part.size() == name.size()) return true;
    name.remove_prefix(part.size() + 1);
  }
}

Result<void> read_all(Fields fields, Config& config) {
  TG_TRY_VOID(fields.check_shape());
  TG_TRY_VOID(fields.text("node", config.options.node, 63));
  TG_TRY_VOID(fields.absolute_path("socket", config.places.socket));
  TG_TRY_VOID(fields.scalar("cgroup", [&](const std::string& value) -> Result<void> {
    if (!is_group_name(value)) {
      return fail(Code::kInvalidArgument, "",
                  "cgroup: \"" + value.substr(0, 64) +
                      "\" is no name of a control group: 1 to 255 characters without blanks, parted by "
                      "single '/', no "
                      "part '.' or '..'");
    }
    config.cgroup = value;
    return {};
  }));
  TG_TRY_VOID(fields.duration("keepAfter", config.options.keep_after_ms, 0));
  TG_TRY_VOID(
      fields.scalar("logLevel", [&](const std::string& v) { return read_level(v, config.log_level); }));
  TG_TRY_VOID(read_devices(fields.inside("devices"), config));
  TG_TRY_VOID(read_jobs(fields.inside("jobs"), config.options));
  TG_TRY_VOID(read_limits(fields.inside("limits"), config.options));
  TG_TRY_VOID(read_retention(fields.inside("retention"), config.options));
  return fields.finish();
}

}  // namespace

Places places_below(const std::string& root) {
  if (root.empty()) {
    return {"/etc/tangram/tangramd.yaml", "/run/tangram/tangram.sock", "/var/lib/tangram"};
  }
  return {root + "/etc/tangramd.yaml", root + "/run/tangram.sock", root + "/lib"};
}

Result<Config> parse_config(std::string_view text, const std::string& file, const std::string& root) {
  Config config;
  config.places = places_below(root);
  config.places.config = file;
  if (text.size() > kFileBytesMax) {
    return fail(Code::kInvalidArgument, "config.syntax", file + " is larger than 1 MiB");
  }
  try {
    const YAML::Node node = YAML::Load(std::string(text));
    TG_TRY_VOID(read_all(Fields(node, "", file), config));
  } catch (const YAML::Exception& problem) {
    return fail(Code::kInvalidArgument, "config.syntax",
                file + " line " + std::to_string(problem.mark.line + 1) + ": " + problem.msg);
  }
  return config;
}

Result<Config> load_config(const std::string& file, const std::string& root, bool must_exist) {
  errno = 0;
  std::error_code ignored;
  // A stream would open it and find it empty.
  if (std::filesystem::is_directory(file, ignored)) return fail(system_error("cannot read " + file, EISDIR));
  const std::ifstream stream(file);
  if (!stream) {
    const int problem = errno;
    if (problem == ENOENT && !must_exist) return parse_config("", file, root);
    return fail(system_error("cannot read " + file, problem));
  }
  std::ostringstream text;
  text << stream.rdbuf();
  if (stream.bad()) return fail(system_error("cannot read " + file, errno));
  return parse_config(text.str(), file, root);
}

}  // namespace tangram::service
