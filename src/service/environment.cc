#include "service/environment.h"

#include <map>
#include <string_view>

#include "base/invariant.h"
#include "wire/texts.h"

namespace tangram::service {
namespace {

std::string join(const std::vector<std::uint32_t>& numbers) {
  std::string text;
  for (const std::uint32_t number : numbers) {
    if (!text.empty()) text.push_back(',');
    text += std::to_string(number);
  }
  return text;
}

std::vector<std::uint32_t> count_from_zero(std::size_t count) {
  std::vector<std::uint32_t> numbers;
  numbers.reserve(count);
  for (std::size_t i = 0; i < count; ++i) numbers.push_back(static_cast<std::uint32_t>(i));
  return numbers;
}

std::vector<std::uint32_t> physical_ids(const Scheduler& core, const JobStatus& status) {
  std::vector<std::uint32_t> ids;
  for (const NpuView& npu : core.npus()) {
    for (const NpuIndex held : status.npus) {
      if (held == npu.index) ids.push_back(npu.report.physical_id);
    }
  }
  return ids;
}

// Where a slice is cut of, for one that holds a slice.
std::vector<std::uint32_t> told_npus(const LaunchSpec& spec) {
  return spec.slice ? std::vector{spec.slice->physical_id} : spec.npus;
}

// The driver is mounted at its usual place only where a job has mounts of its own.
std::map<std::string, std::string> defaults(const Options& options, bool private_devices,
                                            const std::string& tenant) {
  const std::string& home = options.ascend_home;
  const std::string driver = (private_devices ? home + "/driver" : options.driver_directory) + "/lib64";
  const std::string toolkit = home + "/ascend-toolkit/latest";
  return {
      {"ASCEND_HOME_PATH", toolkit},
      {"ASCEND_TOOLKIT_HOME", toolkit},
      {"ASCEND_OPP_PATH", toolkit + "/opp"},
      {"ASCEND_AICPU_PATH", toolkit},
      {"LD_LIBRARY_PATH", toolkit + "/lib64:" + driver + ":" + driver + "/common:" + driver + "/driver"},
      {"PATH", toolkit + "/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
      {"LANG", "C.UTF-8"},
      {"TMPDIR", "/tmp"},
      {"USER", tenant},
      {"LOGNAME", tenant},
  };
}

}  // namespace

void tell_devices(const LaunchSpec& spec, bool private_devices, std::map<std::string, std::string>& env) {
  const std::vector<std::uint32_t> npus = told_npus(spec);
  env["ASCEND_VISIBLE_DEVICES"] = join(npus);
  const bool counted = private_devices || spec.slice;
  env["ASCEND_RT_VISIBLE_DEVICES"] = join(counted ? count_from_zero(npus.size()) : npus);
  env.erase("ASCEND_VNPU_SPECS");
  if (spec.slice) env["ASCEND_VNPU_SPECS"] = spec.slice->template_name;
}

LaunchSpec make_launch(const State& state, const Options& options, bool private_devices, JobId job) {
  const auto status = state.core().job(job);
  const LiveJob* live = state.live(job);
  TG_ASSERT(status && live != nullptr, "a launch of a job that is not there");
  const auto tenant = state.core().tenant(status->spec.tenant);
  TG_ASSERT(tenant.has_value(), "a job without a tenant");
  const wire::JobProgram& program = *live->program;

  LaunchSpec spec;
  spec.key = {wire::format_job_id(job), status->attempt};
  spec.tenant = tenant->spec.name;
  if (const auto slice = state.slice_of(job)) {
    const SliceEntry& entry = state.slices().at(*slice);
    spec.slice = LaunchSlice{entry.physical_id, *slice, entry.template_name};
  } else {
    TG_ASSERT(!status->slice, "who was given a slice never gets the whole NPU");
    spec.npus = physical_ids(state.core(), *status);
  }
  if (options.own_uid != 0) {
    spec.uid = options.own_uid;
    spec.gid = options.own_uid;
  } else {
    const auto uid = state.uid_of(status->spec.tenant);
    TG_ASSERT(uid && *uid != 0, "a tenant without a uid of its own");
    spec.uid = *uid;
    spec.gid = *uid;
    spec.groups = options.device_groups;
  }
  spec.argv = program.command;
  spec.workdir = program.workdir;
  spec.limits = program.host;
  spec.time_limit_ms = status->spec.time_limit_ms;
  spec.grace_ms = options.grace_ms;
  spec.log_bytes_max = options.log_bytes_max;

  std::map<std::string, std::string> env = defaults(options, private_devices, spec.tenant);
  if (!options.work_home.empty()) env["HOME"] = options.work_home;
  for (const auto& [name, value] : program.env) env[name] = value;
  tell_devices(spec, private_devices, env);
  if (!program.env.contains("ASCEND_DEVICE_ID")) env["ASCEND_DEVICE_ID"] = "0";
  env["TANGRAM_JOB_ID"] = spec.key.job;
  env["TANGRAM_JOB_NAME"] = program.name;
  env["TANGRAM_TENANT"] = spec.tenant;
  env["TANGRAM_ATTEMPT"] = std::to_string(status->attempt);
  env["TANGRAM_NPUS"] = join(told_npus(spec));
  spec.env.assign(env.begin(), env.end());
  return spec;
}

}  // namespace tangram::service
