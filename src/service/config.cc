#include "service/config.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <functional>
#include <limits>
#include <set>
#include <utility>

#include "base/plain_file.h"
#include "base/quote.h"
#include "wire/chip_catalog.h"
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
      return fail(problem(entry.first, "config.duplicate_field", name_of(printable(entry.first.Scalar(), 64)),
                          "stands twice"));
    }
    return {};
  }

  bool are_given() const { return node_.IsDefined(); }

  // Calls `take` with the text of the field if it is there.
  Result<void> scalar(const std::string& name, const std::function<Result<void>(const std::string&)>& take) {
    known_.insert(name);
    const YAML::Node value = find(name);
    if (!value.IsDefined()) return {};
    if (!value.IsScalar())
      return fail(problem(value, "config.wrong_type", name_of(name), "must be a single value"));
    const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
    if (std::any_of(value.Scalar().begin(), value.Scalar().end(), is_control)) {
      return fail(problem(value, "config.bad_value", name_of(name), "has a control character"));
    }
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
        return fail(Code::kInvalidArgument, "",
                    name_of(name) + ": " + tangram::quoted(value) + " is no absolute path");
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
                    name_of(name) + ": " + tangram::quoted(value) + " is no whole number from " +
                        std::to_string(least) + " to " + std::to_string(most));
      }
      into = static_cast<Number>(read);
      return {};
    });
  }

  Result<void> duration(const std::string& name, std::int64_t& into, std::int64_t least_ms) {
    return scalar(name, [&](const std::string& value) -> Result<void> {
      TG_TRY(const std::int64_t read, parse_duration_ms(value, name_of(name)));
      if (read < least_ms) {
        return fail(
            Code::kInvalidArgument, "",
            name_of(name) + ": " + tangram::quoted(value) + " is less than " + format_duration_ms(least_ms));
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
                    name_of(name) + ": " + tangram::quoted(value) + " is less than " + format_bytes(least));
      }
      into = read.count;
      return {};
    });
  }

  template <class T>
  Result<void> choice(const std::string& name, T& into,
                      const std::vector<std::pair<std::string, T>>& choices) {
    return scalar(name, [&](const std::string& value) -> Result<void> {
      std::string words;
      for (const auto& [word, meaning] : choices) {
        if (value == word) {
          into = meaning;
          return {};
        }
        words += (words.empty() ? "" : ", ") + word;
      }
      return fail(Code::kInvalidArgument, "", name_of(name) + ": \"" + value + "\" is none of " + words);
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
      Error error = problem(entry.first, "config.unknown_field", name_of(printable(entry.first.Scalar(), 64)),
                            "is not known");
      error.hint = "known here: " + names;
      return fail(std::move(error));
    }
    return {};
  }

  // "tangramd.yaml line 7: listen[0]", for messages about the whole.
  std::string place() const { return where(node_) + name_of(""); }

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
  TG_TRY_VOID(fields.text("group", config.options.device_group.name, 32));
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

Result<void> read_slices(Fields fields, Config& config) {
  TG_TRY_VOID(fields.check_shape());
  TG_TRY_VOID(fields.absolute_path("chips", config.chips_file));
  TG_TRY_VOID(
      fields.choice<bool>("variants", config.options.slice_variants, {{"true", true}, {"false", false}}));
  TG_TRY_VOID(fields.choice<SliceCount>("countAs", config.options.slice_count,
                                        {{"one", SliceCount::kOne}, {"none", SliceCount::kNone}}));
  ForeignPolicy& foreign = config.options.slice_policy.foreign;
  TG_TRY_VOID(fields.choice<bool>("returnForeign", foreign.reclaim, {{"true", true}, {"false", false}}));
  TG_TRY_VOID(fields.duration("foreignGrace", foreign.grace_ms, 0));
  TG_TRY_VOID(fields.choice<bool>("forbidRecover", config.options.slice_policy.forbid_recover,
                                  {{"true", true}, {"false", false}}));
  return fields.finish();
}

bool is_loopback(const std::string& address) {
  in_addr v4{};
  in6_addr v6{};
  if (inet_pton(AF_INET, address.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24U) == 127U;
  return inet_pton(AF_INET6, address.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

bool is_numeric(const std::string& address) {
  in6_addr ignored{};
  return inet_pton(AF_INET, address.c_str(), &ignored) == 1 ||
         inet_pton(AF_INET6, address.c_str(), &ignored) == 1;
}

Result<void> check_listen(const Listen& listen) {
  const auto wrong = [&](const std::string& sentence, std::string hint) {
    return fail(Code::kInvalidArgument, "config.bad_value", listen.where + sentence, std::move(hint));
  };
  if (listen.address.empty()) return wrong(".address is missing", "write a numeric address, 0.0.0.0 for all");
  if (!is_numeric(listen.address)) {
    return wrong(".address: " + tangram::quoted(listen.address) + " is no numeric IPv4 or IPv6 address",
                 "write 0.0.0.0 or :: for all addresses of this machine");
  }
  if (listen.certificate.empty() != listen.key.empty()) {
    return wrong(".tls needs both certificate and key", "name both files; one PEM file may hold both");
  }
  if (listen.has_tls() || is_loopback(listen.address)) return {};
  return wrong(
      ": " + listen.address + " without tls: everybody on the way could read the tokens, so that is refused",
      "add tls: {certificate: FILE, key: FILE}, or listen on 127.0.0.1");
}

// The bytes of a numeric address: each has several spellings.
std::string address_bytes(const std::string& address) {
  std::string bytes(sizeof(in6_addr), '\0');
  if (inet_pton(AF_INET6, address.c_str(), bytes.data()) == 1) return bytes;
  bytes.resize(sizeof(in_addr));
  inet_pton(AF_INET, address.c_str(), bytes.data());
  return bytes;
}

// Whether the one takes what the other listens on: the same address, or all of its kind.
bool overlap(const Listen& one, const Listen& other) {
  const std::string mine = address_bytes(one.address);
  const std::string theirs = address_bytes(other.address);
  const auto is_any = [](const std::string& bytes) {
    return bytes.find_first_not_of('\0') == std::string::npos;
  };
  const bool one_port = one.port == other.port && one.port != 0;
  return one_port && mine.size() == theirs.size() && (mine == theirs || is_any(mine) || is_any(theirs));
}

Result<void> check_distinct(const Listen& listen, const std::vector<Listen>& before) {
  const auto same =
      std::find_if(before.begin(), before.end(), [&](const Listen& other) { return overlap(listen, other); });
  if (same == before.end()) return {};
  return fail(Code::kInvalidArgument, "config.bad_value",
              listen.where + ": " + listen.address + " port " + std::to_string(listen.port) +
                  " is taken by listen[" + std::to_string(same - before.begin()) + "] already (" +
                  same->address + ")",
              "leave one of them out, or choose another port");
}

Result<void> read_listen(Fields& fields, Config& config) {
  TG_TRY(std::vector<Fields> entries, fields.list("listen", 16));
  for (Fields& entry : entries) {
    Listen listen;
    TG_TRY_VOID(entry.check_shape());
    listen.where = entry.place();
    TG_TRY_VOID(entry.text("address", listen.address, 45));
    // 0 is any free one, which the log names.
    std::int64_t port = -1;
    TG_TRY_VOID(entry.number("port", port, 0, 65'535));
    if (port < 0) {
      return fail(Code::kInvalidArgument, "config.bad_value", listen.where + ".port is missing",
                  "8443 is a good one");
    }
    listen.port = static_cast<std::uint16_t>(port);
    Fields tls = entry.inside("tls");
    TG_TRY_VOID(tls.check_shape());
    TG_TRY_VOID(tls.absolute_path("certificate", listen.certificate));
    TG_TRY_VOID(tls.absolute_path("key", listen.key));
    TG_TRY_VOID(tls.finish());
    TG_TRY_VOID(entry.finish());
    TG_TRY_VOID(check_listen(listen));
    TG_TRY_VOID(check_distinct(listen, config.listen));
    config.listen.push_back(std::move(listen));
  }
  return {};
}

Result<void> read_audit(Fields fields, Audit& audit) {
  TG_TRY_VOID(fields.check_shape());
  TG_TRY_VOID(fields.absolute_path("file", audit.file));
  TG_TRY_VOID(fields.bytes("size", audit.size, Bytes::kib(64)));
  TG_TRY_VOID(fields.number("files", audit.files, 1, 1'000));
  return fields.finish();
}

Result<void> read_api_limits(Fields& fields, ApiLimits& api) {
  TG_TRY_VOID(fields.number("connections", api.connections, 32, 100'000));
  TG_TRY_VOID(fields.number("connectionsPerTenant", api.connections_per_tenant, 1, 100'000));
  TG_TRY_VOID(fields.number("connectionsUnknown", api.connections_unknown, 1, 100'000));
  if (api.connections_unknown > api.connections / 2) {
    return fail(Code::kInvalidArgument, "config.bad_value",
                fields.name_of("connectionsUnknown") + ": " + std::to_string(api.connections_unknown) +
                    " is more than half of limits.connections (" + std::to_string(api.connections) + ")",
                "leave room for those who are known");
  }
  TG_TRY_VOID(fields.number("handshakesPerSecond", api.handshakes_per_second, 1, 100'000));
  TG_TRY_VOID(fields.duration("headerTime", api.header_time_ms, 100));
  TG_TRY_VOID(fields.duration("bodyTime", api.body_time_ms, 100));
  TG_TRY_VOID(fields.duration("idleTime", api.idle_time_ms, 100));
  TG_TRY_VOID(fields.duration("stallTime", api.stall_time_ms, 100));
  // The largest body is a batch of 8 MiB.
  TG_TRY_VOID(fields.bytes("memoryPerTenant", api.memory_per_tenant, Bytes::mib(8)));
  TG_TRY_VOID(fields.bytes("memory", api.memory, Bytes::mib(8)));
  TG_TRY_VOID(fields.number("requestsPerSecond", api.requests_per_second, 1, 1'000'000));
  return fields.number("requestBurst", api.request_burst, 1, 1'000'000);
}

Result<void> read_limits(Fields fields, Options& options, ApiLimits& api) {
  TG_TRY_VOID(fields.check_shape());
  TG_TRY_VOID(read_api_limits(fields, api));
  TG_TRY_VOID(fields.number("tokens", options.tokens_max, 1, 100'000));
  TG_TRY_VOID(fields.number("jobs", options.jobs_max, 1, 10'000'000));
  TG_TRY_VOID(fields.number("jobsPerTenant", options.jobs_per_tenant_max, 1, 10'000'000));
  // Room for some of the largest submissions.
  TG_TRY_VOID(fields.bytes("bytesPerTenant", options.bytes_per_tenant_max, Bytes::mib(1)));
  TG_TRY_VOID(fields.number("tenants", options.tenants_max, 1, 1'000'000));
  TG_TRY_VOID(fields.number("eventStreams", options.event_streams_max, 0, 10'000));
  TG_TRY_VOID(fields.number("eventStreamsPerTenant", options.event_streams_per_tenant_max, 0, 10'000));
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
                "logLevel: " + tangram::quoted(value) + " is none of debug, info, warn, error");
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
                  "cgroup: " + tangram::quoted(value) +
                      " is no name of a control group: 1 to 255 characters without blanks, parted by "
                      "single '/', no "
                      "part '.' or '..'");
    }
    config.cgroup = value;
    return {};
  }));
  TG_TRY_VOID(fields.duration("keepAfter", config.options.keep_after_ms, 0));
  TG_TRY_VOID(
      fields.scalar("logLevel", [&](const std::string& v) { return read_level(v, config.log_level); }));
  TG_TRY_VOID(read_listen(fields, config));
  TG_TRY_VOID(read_audit(fields.inside("audit"), config.audit));
  Fields devices = fields.inside("devices");
  config.options.device_group.has_section = devices.are_given();
  TG_TRY_VOID(read_devices(std::move(devices), config));
  TG_TRY_VOID(read_jobs(fields.inside("jobs"), config.options));
  TG_TRY_VOID(read_slices(fields.inside("slices"), config));
  TG_TRY_VOID(read_limits(fields.inside("limits"), config.options, config.api));
  TG_TRY_VOID(read_retention(fields.inside("retention"), config.options));
  return fields.finish();
}

Error too_large(const std::string& file) {
  return {Code::kInvalidArgument, "config.syntax", file + " is larger than 1 MiB", "", {}, nullptr};
}

// `field`: that names it, with a colon behind; empty for the configuration itself.
Result<std::string> read_file(const std::string& field, const std::string& file) {
  TG_TRY(PlainFile read, read_plain_file(field + "cannot read " + file, file, kFileBytesMax));
  return std::move(read.text);
}

}  // namespace

Places places_below(const std::string& root) {
  if (root.empty()) {
    return {"/etc/tangram/tangramd.yaml", "/run/tangram/tangram.sock", "/var/lib/tangram",
            "/var/log/tangram/audit.log"};
  }
  return {root + "/etc/tangramd.yaml", root + "/run/tangram.sock", root + "/lib", root + "/log/audit.log"};
}

Result<Config> parse_config(std::string_view text, const std::string& file, const std::string& root) {
  Config config;
  config.places = places_below(root);
  config.places.config = file;
  config.options.device_group.file = file;
  config.audit.file = config.places.audit;
  if (text.size() > kFileBytesMax) {
    return fail(too_large(file));
  }
  // The parser takes a text with a NUL among its first bytes for UTF-16 or UTF-32.
  if (!is_utf8(text) || text.find('\0') != std::string_view::npos) {
    return fail(Code::kInvalidArgument, "config.syntax", file + ": the text is not UTF-8",
                "save the file as UTF-8");
  }
  try {
    const YAML::Node node = YAML::Load(std::string(text));
    TG_TRY_VOID(read_all(Fields(node, "", file), config));
  } catch (const YAML::Exception& problem) {
    return fail(Code::kInvalidArgument, "config.syntax",
                file + (problem.mark.is_null() ? "" : " line " + std::to_string(problem.mark.line + 1)) +
                    ": " + printable(problem.msg));
  }
  return config;
}

Result<Config> load_config(const std::string& file, const std::string& root, bool must_exist) {
  std::error_code ignored;
  const bool is_there =
      std::filesystem::status(file, ignored).type() != std::filesystem::file_type::not_found;
  if (!is_there && !must_exist) return parse_config("", file, root);
  TG_TRY(const std::string text, read_file("", file));
  TG_TRY(Config config, parse_config(text, file, root));
  if (config.chips_file.empty()) return config;
  TG_TRY(const std::string chips, read_file("slices.chips: ", config.chips_file));
  TG_TRY(config.options.chips, wire::read_chips(chips, config.chips_file));
  return config;
}

}  // namespace tangram::service
