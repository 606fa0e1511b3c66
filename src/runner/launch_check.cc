#include "runner/launch_check.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "ports/device_slices.h"
#include "runner/attempt_dir.h"

namespace tangram::runner {
namespace {

tl::unexpected<Error> refuse(const std::string& message) {
  return fail(Code::kInvalidArgument, "runner.launch.invalid", message);
}

bool has_nul(const std::string& text) {
  return text.find('\0') != std::string::npos;
}

Result<void> check_program(const LaunchSpec& spec) {
  if (spec.argv.empty() || spec.argv.front().empty())
    return refuse("the command is empty: name a program to run");
  if (std::any_of(spec.argv.begin(), spec.argv.end(), has_nul))
    return refuse("an argument holds a NUL character");
  std::set<std::string_view> names;
  for (const auto& [name, value] : spec.env) {
    if (name.empty() || has_nul(name) || name.find('=') != std::string::npos) {
      return refuse("the environment holds an empty name, or one with '=' or NUL");
    }
    if (has_nul(value))
      return refuse("the value of the environment variable " + name + " holds a NUL character");
    // Which of the two counts would be the program's choice.
    if (!names.insert(name).second) return refuse("the environment names " + name + " twice");
  }
  if (has_nul(spec.workdir) || (!spec.workdir.empty() && spec.workdir.front() != '/')) {
    return refuse("the work directory must be an absolute path, not '" + spec.workdir + "'");
  }
  return {};
}

Result<void> check_identity(const LaunchSpec& spec) {
  if (spec.uid == 0) return refuse("the tenant " + spec.tenant + " has user id 0: jobs never run as root");
  const bool root_group = std::find(spec.groups.begin(), spec.groups.end(), gid_t{0}) != spec.groups.end();
  if (spec.gid == 0 || root_group) {
    return refuse("the tenant " + spec.tenant + " has group id 0: jobs never run in root's group");
  }
  return {};
}

bool is_template_name(const std::string& name) {
  constexpr std::size_t kBytesMax = 31;  // of the driver's own field
  return !name.empty() && name.size() <= kBytesMax && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

Result<void> check_slice(const LaunchSpec& spec, const LaunchSlice& slice) {
  const std::string name =
      "slice " + std::to_string(slice.id) + " of NPU " + std::to_string(slice.physical_id);
  if (!spec.npus.empty()) return refuse("a job has either whole NPUs or a slice, not both: " + name);
  if (!is_slice_id(slice.physical_id, slice.id)) return refuse("there can be no " + name);
  if (!is_template_name(slice.template_name))
    return refuse("'" + slice.template_name + "' is not the name of a template: " + name);
  return {};
}

// What the container runtime would cut is what the job holds, or it is not said.
Result<void> check_told_slice(const LaunchSpec& spec) {
  for (const auto& [name, value] : spec.env) {
    if (name != "ASCEND_VNPU_SPECS") continue;
    if (!spec.slice || spec.slice->template_name != value)
      return refuse("the environment tells of a slice " + value + ", which the job does not hold");
  }
  return {};
}

Result<void> check_positive(std::int64_t value, const char* field) {
  if (value > 0) return {};
  return refuse(std::string(field) + " must be positive, not " + std::to_string(value));
}

}  // namespace

Result<void> check_launch(const LaunchSpec& spec, bool as_root) {
  TG_TRY_VOID(check_key(spec.key));
  TG_TRY_VOID(check_program(spec));
  if (as_root) TG_TRY_VOID(check_identity(spec));
  if (spec.slice) TG_TRY_VOID(check_slice(spec, *spec.slice));
  TG_TRY_VOID(check_told_slice(spec));
  TG_TRY_VOID(check_positive(spec.limits.cpu_milli, "the cpu limit (thousandths of a core)"));
  TG_TRY_VOID(check_positive(spec.limits.memory.count, "the memory limit (bytes)"));
  TG_TRY_VOID(check_positive(spec.limits.processes, "the process limit"));
  TG_TRY_VOID(check_positive(spec.time_limit_ms, "the time limit (ms)"));
  TG_TRY_VOID(check_positive(spec.log_bytes_max, "the log limit (bytes)"));
  if (spec.grace_ms < 0)
    return refuse("the grace must not be negative, but is " + std::to_string(spec.grace_ms));
  return {};
}

}  // namespace tangram::runner
