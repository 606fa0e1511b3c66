// The numbers of docs/configuration.md and docs/api.md against the code: what a page promises holds.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/units.h"
#include "net/handshake_pace.h"
#include "net/server.h"
#include "server/gate.h"
#include "server/rate_limiter.h"
#include "service/config.h"
#include "wire/schema.h"

namespace tangram::server {
namespace {

using Names = std::set<std::string>;

std::string page(const std::string& name) {
  const std::ifstream file(std::string(TANGRAM_SOURCE_DIR) + "/docs/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string section(const std::string& text, const std::string& title) {
  const std::size_t begin = text.find("\n## " + title + "\n");
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find("\n## ", begin + 1) - begin);
}

// The cells of each row of the tables in a text.
std::vector<std::vector<std::string>> rows_of(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| ")) continue;
    std::vector<std::string> cells;
    for (std::size_t at = 2, end = 0; (end = line.find(" |", at)) != std::string::npos; at = end + 3)
      cells.push_back(line.substr(at, end - at));
    rows.push_back(std::move(cells));
  }
  return rows;
}

std::vector<std::string> quoted_words(const std::string& text) {
  static const std::regex quoted("`([^`]*)`");
  std::vector<std::string> words;
  for (std::sregex_iterator at(text.begin(), text.end(), quoted), end; at != end; ++at)
    words.push_back((*at)[1].str());
  return words;
}

// Field -> default of docs/configuration.md; empty where none stands in back quotes. "`jobs.uids.first`,
// `.count`" are two fields of one folder.
std::map<std::string, std::string> documented_defaults() {
  std::map<std::string, std::string> defaults;
  for (const std::vector<std::string>& cells : rows_of(section(page("configuration.md"), "Fields"))) {
    std::vector<std::string> names = quoted_words(cells.at(0));
    const std::vector<std::string> values = quoted_words(cells.at(1));
    for (std::size_t n = 0; n < names.size(); ++n) {
      if (names[n].starts_with('.')) names[n].insert(0, names[0].substr(0, names[0].rfind('.')));
      // "see above, `16MiB`, `8`": the last fields have the values.
      const std::size_t without = names.size() - std::min(names.size(), values.size());
      defaults[names[n]] = n < without ? "" : values[n - without];
    }
  }
  return defaults;
}

// A number in whatever unit it is written; absent: it is none.
std::optional<std::int64_t> number_of(const std::string& text) {
  if (!text.empty() && text.find_first_not_of("0123456789") == std::string::npos) return std::stoll(text);
  if (const auto bytes = parse_bytes(text, "")) return bytes->count;
  if (const auto duration = parse_duration_ms(text, "")) return *duration;
  return std::nullopt;
}

std::map<std::string, std::int64_t> defaults_of(const service::Config& config) {
  const service::Options& options = config.options;
  const service::ApiLimits& api = config.api;
  const auto number = [](std::size_t value) { return static_cast<std::int64_t>(value); };
  return {
      {"audit.size", config.audit.size},
      {"audit.files", config.audit.files},
      {"keepAfter", options.keep_after_ms},
      {"devices.scanInterval", options.scan_interval_ms},
      {"devices.lostAfter", options.lost_after_ms},
      {"jobs.uids.first", options.uids.first},
      {"jobs.uids.count", options.uids.count},
      {"jobs.defaults.cpus", options.host_defaults.cpu_milli / 1'000},
      {"jobs.defaults.memory", options.host_defaults.memory.count},
      {"jobs.defaults.processes", options.host_defaults.processes},
      {"jobs.logSize", options.log_bytes_max},
      {"jobs.grace", options.grace_ms},
      {"jobs.leaseGrace", options.lease_grace_ms},
      {"slices.foreignGrace", options.slice_policy.foreign.grace_ms},
      {"limits.jobs", options.jobs_max},
      {"limits.jobsPerTenant", options.jobs_per_tenant_max},
      {"limits.bytesPerTenant", options.bytes_per_tenant_max},
      {"limits.tenants", options.tenants_max},
      {"limits.tokens", options.tokens_max},
      {"limits.eventStreams", number(options.event_streams_max)},
      {"limits.eventStreamsPerTenant", number(options.event_streams_per_tenant_max)},
      {"limits.connections", api.connections},
      {"limits.connectionsPerTenant", api.connections_per_tenant},
      {"limits.connectionsUnknown", api.connections_unknown},
      {"limits.handshakesPerSecond", api.handshakes_per_second},
      {"limits.headerTime", api.header_time_ms},
      {"limits.bodyTime", api.body_time_ms},
      {"limits.idleTime", api.idle_time_ms},
      {"limits.stallTime", api.stall_time_ms},
      {"limits.memoryPerTenant", api.memory_per_tenant},
      {"limits.memory", api.memory},
      {"limits.requestsPerSecond", api.requests_per_second},
      {"limits.requestBurst", api.request_burst},
      {"retention.endedJobs", options.ended_keep_ms},
      {"retention.endedJobsMax", number(options.ended_max)},
      {"retention.journal", options.journal_keep_ms},
      {"retention.snapshotEvery", static_cast<std::int64_t>(options.snapshot_every)},
      {"retention.sweepInterval", options.sweep_interval_ms},
  };
}

service::Config default_config() {
  return service::parse_config("", "tangramd.yaml", "").value();
}

// The fields below `folder` ("" for the top) that the reader of the configuration knows, as it says itself.
Names known_fields(const std::string& folder) {
  const std::string text = folder.empty() ? "nonsense: 1" : folder + ": {nonsense: 1}";
  const auto refused = service::parse_config(text, "tangramd.yaml", "");
  if (refused) return {};
  std::istringstream words(refused.error().hint.substr(std::string("known here: ").size()));
  Names names;
  for (std::string word; std::getline(words, word, ',');) {
    word.erase(0, word.find_first_not_of(' '));
    names.insert(folder.empty() ? word : folder + "." + word);
  }
  return names;
}

// Without it an operator would plan with a limit that the daemon does not have.
TEST(Docs, DefaultsOfTheConfigurationAreThoseOfTheCode) {
  std::map<std::string, std::int64_t> wanted = defaults_of(default_config());
  for (const auto& [field, text] : documented_defaults()) {
    const auto known = wanted.extract(field);
    const auto number = number_of(text);
    if (known.empty()) {
      EXPECT_FALSE(number) << field << ": " << text << " is compared with nothing";
      continue;
    }
    ASSERT_TRUE(number) << field << ": " << text;
    EXPECT_EQ(*number, known.mapped()) << field << ": " << text;
  }
  EXPECT_TRUE(wanted.empty()) << wanted.begin()->first << " has no row";
}

// Without it a limit could be added that nobody learns of.
TEST(Docs, EveryFieldOfTheConfigurationHasItsRow) {
  const std::map<std::string, std::string> rows = documented_defaults();
  for (const char* folder : {"", "audit", "devices", "jobs", "slices", "limits", "retention"}) {
    const Names known = known_fields(folder);
    EXPECT_GT(known.size(), 2U) << folder;
    for (const std::string& field : known) {
      const auto row = rows.lower_bound(field);
      ASSERT_NE(row, rows.end()) << field;
      EXPECT_TRUE(row->first == field || row->first.starts_with(field + ".")) << field;  // or all below it
    }
  }
}

std::string with_commas(std::int64_t number) {
  std::string digits = std::to_string(number);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

std::string seconds(std::int64_t ms) {
  return with_commas(ms / 1'000) + " s";
}

std::string size(std::int64_t bytes) {
  return (bytes >= 1 << 20) ? with_commas(bytes >> 20) + " MiB" : with_commas(bytes >> 10) + " KiB";
}

// What the second column of the table of limits has to say, by the beginning of the first.
std::map<std::string, std::string> bounds_of(const service::Config& config) {
  const service::ApiLimits& api = config.api;
  const net::ServerLimits server;
  const auto number = [](std::size_t value) { return static_cast<std::int64_t>(value); };
  return {
      {"connections in all",
       with_commas(api.connections) + "; of them " + with_commas(api.connections_unknown) +
           " for peers that have not shown who they are, a quarter of those for one address; " +
           with_commas(number(server.connections_reserved)) + " kept free for the operator"},
      {"connections of one tenant, of all operators, of one viewer's token",
       with_commas(api.connections_per_tenant)},
      {"TLS handshakes with one address, with all",
       with_commas(api.handshakes_per_second) + " and " +
           with_commas(api.handshakes_per_second * number(net::HandshakePace::kNetworks)) +
           " a second, twice as many at once after a rest"},
      {"requests of one tenant or viewer",
       with_commas(api.requests_per_second) + " a second, " + with_commas(api.request_burst) +
           " at once after a rest; " + with_commas(kJobsPerRequest) +
           " jobs of a batch count as one request more; the operator has no bound"},
      {"requests and answers of one tenant under way",
       size(api.memory_per_tenant) + ", of all " + size(api.memory)},
      {"from the connect, with the TLS handshake, or the first byte to the end of the header",
       seconds(api.header_time_ms)},
      {"from there to the end of the body", seconds(api.body_time_ms)},
      {"a reader that takes nothing", seconds(api.stall_time_ms)},
      {"between two requests", seconds(api.idle_time_ms)},
      {"a header", size(number(server.header_bytes_max))},
      {"a body of somebody who is not known", size(number(kUnknownBodyBytesMax))},
      {"unfinished jobs: in all, of one tenant",
       with_commas(config.options.jobs_max) + ", " + with_commas(config.options.jobs_per_tenant_max)},
      {"what the daemon keeps of the jobs of one tenant, ended ones too: arguments, environment, labels, and "
       "1 KiB for "
       "each",
       size(config.options.bytes_per_tenant_max)},
      {"streams of events in all, of one tenant",
       with_commas(number(config.options.event_streams_max)) + ", " +
           with_commas(number(config.options.event_streams_per_tenant_max))},
      {"active tokens", with_commas(config.options.tokens_max)},
  };
}

// Without it a client would be written for bounds that are not the daemon's.
TEST(Docs, LimitsOfTheApiAreThoseOfTheCode) {
  const std::string limits = section(page("api.md"), "Limits");
  std::map<std::string, std::string> wanted = bounds_of(default_config());
  std::vector<std::vector<std::string>> rows = rows_of(limits);
  ASSERT_FALSE(rows.empty());
  rows.erase(rows.begin());  // the title
  for (const std::vector<std::string>& cells : rows) {
    const auto bound = wanted.extract(cells.at(0));
    ASSERT_FALSE(bound.empty()) << cells.at(0) << " is compared with nothing";
    EXPECT_EQ(cells.at(1), bound.mapped()) << cells.at(0);
  }
  EXPECT_TRUE(wanted.empty()) << wanted.begin()->first << " has no row";
}

// Without it a client would cut its batches by sizes that the daemon does not take.
TEST(Docs, SizesOfBodiesAreThoseOfTheCode) {
  const auto number = [](std::size_t value) { return static_cast<std::int64_t>(value); };
  const std::string spelling = section(page("api.md"), "Spelling");
  EXPECT_NE(
      spelling.find("- Bodies: " + size(number(wire::kBodyBytesMax)) +
                    " for one submission or one apply (at most " + with_commas(number(wire::kDocumentsMax)) +
                    " documents), " + size(number(wire::kBatchBytesMax)) + " for a batch."),
      std::string::npos);
  EXPECT_NE(page("api.md").find("(at most " + with_commas(number(wire::kBatchItemsMax)) + ")"),
            std::string::npos);
  EXPECT_NE(spelling.find("- `command`: 1 to " + with_commas(number(wire::kArgumentsMax)) + " elements, " +
                          size(number(wire::kProgramBytesMax)) + " in all. `env`: at most " +
                          with_commas(number(wire::kEnvironmentMax)) + " entries, " +
                          size(number(wire::kProgramBytesMax)) + " in all"),
            std::string::npos);
}

}  // namespace
}  // namespace tangram::server
