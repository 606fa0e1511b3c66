#include "runner/attempt_dir.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cerrno>
#include <sstream>

#include "base/crash_point.h"
#include "runner/files.h"

namespace tangram::runner {
namespace {

namespace json = boost::json;

constexpr std::size_t kJobKeyMax = 64;
constexpr std::size_t kRecordMax = 1 << 16;

constexpr std::array kOutcomes = {Outcome::kSucceeded,  Outcome::kFailed,     Outcome::kTimedOut,
                                  Outcome::kCancelled,  Outcome::kNotStarted, Outcome::kLost,
                                  Outcome::kDeviceLost, Outcome::kRefused};

// Paths are any bytes, JSON is UTF-8: what is not printable ASCII stands as a question mark.
std::string printable(std::string_view text) {
  std::string out(text);
  for (char& letter : out) {
    if (letter < ' ' || letter > '~') letter = '?';
  }
  return out;
}

std::string encode(const AttemptExit& record) {
  json::object object;
  object["version"] = 1;
  object["job"] = record.key.job;
  object["attempt"] = record.key.attempt;
  object["outcome"] = std::string(tangram::to_string(record.outcome));
  if (record.exit_status) object["exitStatus"] = *record.exit_status;
  if (record.signal) object["signal"] = *record.signal;
  object["message"] = printable(record.message);
  object["outOfMemory"] = record.out_of_memory;
  return json::serialize(object) + "\n";
}

std::optional<int> optional_int(const json::object& object, const char* name) {
  const json::value* const value = object.if_contains(name);
  if (value == nullptr || !value->is_int64()) return std::nullopt;
  return static_cast<int>(value->get_int64());
}

std::optional<AttemptExit> decode(std::string_view text, const AttemptKey& key) {
  boost::system::error_code error;
  const json::value parsed = json::parse(json::string_view(text.data(), text.size()), error);
  if (error || !parsed.is_object()) return std::nullopt;
  const json::object& object = parsed.get_object();
  const json::value* const outcome = object.if_contains("outcome");
  const json::value* const message = object.if_contains("message");
  const json::value* const out_of_memory = object.if_contains("outOfMemory");
  if (outcome == nullptr || !outcome->is_string()) return std::nullopt;
  const std::string_view name(outcome->get_string().data(), outcome->get_string().size());
  const auto* const found = std::find_if(kOutcomes.begin(), kOutcomes.end(), [&](Outcome candidate) {
    return tangram::to_string(candidate) == name;
  });
  if (found == kOutcomes.end()) return std::nullopt;
  AttemptExit record;
  record.key = key;
  record.outcome = *found;
  record.exit_status = optional_int(object, "exitStatus");
  record.signal = optional_int(object, "signal");
  if (message != nullptr && message->is_string()) record.message = std::string(message->get_string());
  record.out_of_memory = out_of_memory != nullptr && out_of_memory->is_bool() && out_of_memory->get_bool();
  return record;
}

Result<void> sync_directory(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() || fsync(fd.get()) != 0) return fail(system_error("cannot sync " + path, errno));
  return {};
}

}  // namespace

AttemptDir attempt_dir(const std::string& root, const AttemptKey& key) {
  return {root + "/jobs/" + key.job + "/" + std::to_string(key.attempt)};
}

Result<void> check_key(const AttemptKey& key) {
  const bool plain = std::all_of(key.job.begin(), key.job.end(), [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '-';
  });
  if (!plain || key.job.empty() || key.job.size() > kJobKeyMax) {
    return fail(Code::kInvalidArgument, "runner.key.invalid",
                "a job key must be 1 to 64 characters of a-z, 0-9 and '-', not '" +
                    printable(key.job.substr(0, 80)) + "'");
  }
  if (key.attempt < 1) {
    return fail(Code::kInvalidArgument, "runner.key.invalid",
                "an attempt is counted from 1, not " + std::to_string(key.attempt));
  }
  return {};
}

Result<void> write_exit_record(const AttemptDir& dir, const AttemptExit& record) {
  const std::string temporary = dir.exit_record() + ".tmp";
  const UniqueFd fd(open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) return fail(system_error("cannot create " + temporary, errno));
  if (const int error = write_all(fd.get(), encode(record)); error != 0) {
    return fail(system_error("cannot write " + temporary, error));
  }
  if (fsync(fd.get()) != 0) return fail(system_error("cannot sync " + temporary, errno));
  TG_CRASH_POINT("runner.after_exit_tmp");
  if (rename(temporary.c_str(), dir.exit_record().c_str()) != 0) {
    return fail(system_error("cannot rename " + temporary, errno));
  }
  return sync_directory(dir.path);
}

Result<std::optional<AttemptExit>> read_exit_record(const AttemptDir& dir, const AttemptKey& key) {
  Result<std::string> text = read_file(dir.exit_record(), kRecordMax);
  if (!text && text.error().code == Code::kNotFound) return std::optional<AttemptExit>();
  if (!text) return fail(std::move(text).error());
  std::optional<AttemptExit> record = decode(*text, key);
  if (!record) {
    return fail(Code::kDataLoss, "runner.exit_record.format", dir.exit_record() + " is not an exit record");
  }
  return record;
}

Result<void> write_cgroup_list(const AttemptDir& dir, const std::vector<CgroupDir>& dirs) {
  std::string text;
  for (const CgroupDir& group : dirs) {
    text += std::to_string(group.controllers) + (group.unified ? " v2 " : " v1 ") + group.path + "\n";
  }
  const UniqueFd fd(open(dir.cgroup().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) return fail(system_error("cannot create " + dir.cgroup(), errno));
  if (const int error = write_all(fd.get(), text); error != 0) {
    return fail(system_error("cannot write " + dir.cgroup(), error));
  }
  return {};
}

Result<std::vector<CgroupDir>> read_cgroup_list(const AttemptDir& dir, const AttemptKey& key) {
  std::vector<CgroupDir> dirs;
  Result<std::string> text = read_file(dir.cgroup(), kRecordMax);
  if (!text && text.error().code == Code::kNotFound) return dirs;
  if (!text) return fail(std::move(text).error());
  const std::string name = "/" + key.job + "." + std::to_string(key.attempt);
  std::istringstream lines(*text);
  int controllers = 0;
  std::string version;
  std::string path;
  while (lines >> controllers >> version && lines.get() == ' ' && std::getline(lines, path)) {
    if (path.ends_with(name))
      dirs.push_back({path, static_cast<ControllerSet>(controllers), version == "v2"});
  }
  return dirs;
}

}  // namespace tangram::runner
