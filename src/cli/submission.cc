#include "cli/submission.h"

#include <charconv>
#include <utility>

#include "base/quote.h"
#include "wire/node.h"
#include "wire/schema.h"

namespace tangram::cli {
namespace {

// Beyond this a number in JSON is no longer exact everywhere.
constexpr std::int64_t kCountMax = 1LL << 53;

// No NPU has more, and the daemon takes no more for one.
constexpr Bytes kMemoryMax = Bytes::gib(std::int64_t{256} * 1024);

tl::unexpected<Error> bad_option(std::string_view option, std::string_view value, std::string_view why,
                                 std::string hint) {
  return fail(Code::kInvalidArgument, "cli.option.invalid",
              std::string(option) + " '" + std::string(value) + "': " + std::string(why), std::move(hint),
              {{"option", std::string(option)}, {"value", std::string(value)}});
}

bool is_environment_name(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  for (const char c : name) {
    const bool letter =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (!letter) return false;
  }
  return true;
}

// "4GiB", "4GiB,2": memory, and AI cores if it is to have more than come with it.
Result<wire::SliceRequest> parse_slice(const SubmitArguments& arguments) {
  for (const auto& [option, value] :
       {std::pair("--npus", &arguments.npus), std::pair("--memory", &arguments.memory),
        std::pair("--share", &arguments.share)}) {
    if (value->empty()) continue;
    return bad_option("--slice", arguments.slice, "cannot stand beside " + std::string(option),
                      "ask for a slice of one NPU, or for whole NPUs");
  }
  if (arguments.slice.starts_with("vir")) {
    return bad_option(
        "--slice", arguments.slice, "names a template; a slice is asked for by its memory",
        "write for example --slice 4GiB or --slice 4GiB,2; tangram fit tells which template that gets");
  }
  wire::SliceRequest slice;
  const std::size_t comma = arguments.slice.find(',');
  TG_TRY(slice.memory, parse_bytes(arguments.slice.substr(0, comma), "--slice"));
  if (slice.memory->count <= 0) {
    return bad_option("--slice", arguments.slice, "must be more than nothing",
                      "write for example --slice 4GiB");
  }
  if (*slice.memory > kMemoryMax) {
    return bad_option("--slice", arguments.slice, "is more than any NPU has",
                      "write a size of at most " + format_bytes(kMemoryMax) + ", for example --slice 4GiB");
  }
  if (comma == std::string::npos) return slice;
  constexpr std::int64_t kCoresMax = 1'000'000;
  const auto cores = parse_count(arguments.slice.substr(comma + 1), "--slice", 1);
  if (!cores || *cores > kCoresMax) {
    return bad_option("--slice", arguments.slice, "has no number of AI cores behind the comma",
                      "write for example --slice 4GiB,2");
  }
  slice.ai_cores = static_cast<std::int32_t>(*cores);
  return slice;
}

Result<void> parse_resources(const SubmitArguments& arguments, wire::JobSubmission& job) {
  if (!arguments.npus.empty()) {
    TG_TRY(job.npus, parse_count(arguments.npus, "--npus", 1));
  }
  if (!arguments.memory.empty()) {
    TG_TRY(job.memory, parse_bytes(arguments.memory, "--memory"));
    if (job.memory->count <= 0) {
      return bad_option("--memory", arguments.memory, "must be more than nothing",
                        "leave --memory out for as much as the NPU and the quota allow");
    }
    if (*job.memory > kMemoryMax) {
      return bad_option(
          "--memory", arguments.memory, "is more than any NPU has",
          "write a size of at most " + format_bytes(kMemoryMax) + ", for example --memory 16GiB");
    }
  }
  if (!arguments.slice.empty()) {
    TG_TRY(job.slice, parse_slice(arguments));
  }
  if (!arguments.share.empty()) job.share = arguments.share;
  if (!arguments.bandwidth.empty()) {
    TG_TRY(job.bandwidth_bps, parse_bits_per_second(arguments.bandwidth, "--bandwidth"));
  }
  if (!arguments.time_limit.empty()) {
    TG_TRY(job.time_limit_ms, parse_duration_ms(arguments.time_limit, "--time-limit"));
    if (*job.time_limit_ms <= 0) {
      return bad_option("--time-limit", arguments.time_limit, "must be more than nothing",
                        "leave --time-limit out for the tenant's maximum");
    }
  }
  if (!arguments.host_cpus.empty()) {
    TG_TRY(job.host.cpu_milli, wire::parse_cpus(arguments.host_cpus, "--host-cpus"));
  }
  if (!arguments.host_memory.empty()) {
    TG_TRY(job.host.memory, parse_bytes(arguments.host_memory, "--host-memory"));
  }
  if (!arguments.host_processes.empty()) {
    TG_TRY(job.host.processes, parse_count(arguments.host_processes, "--host-processes", 1));
  }
  return {};
}

// A name given twice is more likely a slip than a wish, and which one would win is a guess.
Result<void> parse_pairs(const std::vector<std::string>& pairs, std::string_view option,
                         std::string_view example, std::map<std::string, std::string>& into) {
  for (const std::string& text : pairs) {
    TG_TRY(auto pair, parse_pair(text, option, example));
    if (!into.emplace(pair.first, pair.second).second) {
      return bad_option(option, pair.first, "is given twice", "keep one of them");
    }
  }
  return {};
}

// JSON carries nothing else; what is not UTF-8 would reach the job changed.
Result<void> require_text(std::string_view option, std::string_view value) {
  if (is_utf8(value)) return {};
  return fail(
      Code::kInvalidArgument, "cli.option.invalid",
      std::string(option) + ": holds bytes that are not UTF-8, which cannot be handed over as they are",
      "pass them in a file", {{"option", std::string(option)}});
}

Result<void> require_texts(const wire::JobSubmission& job) {
  for (std::size_t i = 0; i < job.command.size(); ++i) {
    TG_TRY_VOID(require_text("argument " + std::to_string(i) + " of the program", job.command[i]));
  }
  for (const auto& [name, value] : job.env) TG_TRY_VOID(require_text("--env " + name, value));
  return require_text("--workdir", job.workdir);
}

// What a job and a lease have in common.
Result<wire::JobSubmission> parse_request(const SubmitArguments& arguments) {
  wire::JobSubmission job;
  job.tenant = arguments.tenant;
  job.name = arguments.name;
  job.no_wait = arguments.no_wait;
  TG_TRY_VOID(parse_resources(arguments, job));
  if (!arguments.priority.empty()) {
    TG_TRY(job.priority, wire::parse_priority(arguments.priority, "--priority"));
  }
  TG_TRY_VOID(parse_pairs(arguments.labels, "--label", "model=resnet50", job.labels));
  return job;
}

}  // namespace

Result<wire::LeaseRequest> parse_lease(const SubmitArguments& arguments) {
  // The vendor's libraries name whole NPUs alone to a process that sees the machine's /dev.
  if (!arguments.slice.empty() && !arguments.command.empty()) {
    return bad_option(
        "--slice", arguments.slice,
        "cannot stand beside a program here, which would find the whole NPU and not its slice",
        "run it as a job, tangram submit --slice; or hold the slice without a program and give its "
        "device to a container");
  }
  return parse_request(arguments);
}

Result<wire::JobSubmission> parse_submission(const SubmitArguments& arguments) {
  TG_TRY(wire::JobSubmission job, parse_request(arguments));
  if (!arguments.restart.empty()) {
    TG_TRY(const wire::Restart restart, wire::parse_restart(arguments.restart, "--restart"));
    job.restart = restart.policy;
    job.restarts_max = restart.restarts_max;
  }
  TG_TRY_VOID(parse_pairs(arguments.env, "--env", "BATCH=32", job.env));
  for (const auto& [name, value] : job.env) {
    if (is_environment_name(name)) continue;
    return bad_option("--env", name, "is no name of an environment variable",
                      "letters, digits and '_', no digit first, for example --env BATCH=32");
  }
  if (!arguments.workdir.empty() && arguments.workdir[0] != '/') {
    return bad_option("--workdir", arguments.workdir, "is not an absolute path",
                      "write --workdir \"$PWD/" + arguments.workdir + "\"");
  }
  job.workdir = arguments.workdir;
  if (arguments.command.empty() || arguments.command[0].empty()) {
    return fail(
        Code::kInvalidArgument, "cli.command.missing", "no program to run is given",
        "put it behind '--', for example: tangram submit --tenant team-a --npus 1 -- python3 train.py");
  }
  job.command = arguments.command;
  TG_TRY_VOID(require_texts(job));
  return job;
}

Result<std::int64_t> parse_count(std::string_view text, std::string_view option, std::int64_t least) {
  std::int64_t count = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), count);
  const std::string hint =
      "write a whole number from " + std::to_string(least) + ", for example " + std::string(option) + " 2";
  if (failure == std::errc::result_out_of_range || count > kCountMax) {
    return bad_option(option, text, "is too large", hint);
  }
  if (failure != std::errc{} || end != text.data() + text.size()) {
    return bad_option(option, text, "is not a whole number", hint);
  }
  if (count < least) return bad_option(option, text, "must be at least " + std::to_string(least), hint);
  return count;
}

Result<std::pair<std::string, std::string>> parse_pair(std::string_view text, std::string_view option,
                                                       std::string_view example) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return bad_option(option, text, "is not of the form name=value",
                      "write for example " + std::string(option) + " " + std::string(example));
  }
  return std::pair{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

}  // namespace tangram::cli
