#include "runner/job_exec.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runner/files.h"

namespace tangram::runner {
namespace {

constexpr rlim_t kOpenFilesMax = 65536;

[[noreturn]] void give_up(int errors, const std::string& text) {
  (void)write_all(errors, text.substr(0, 900));
  _exit(127);
}

[[noreturn]] void give_up_errno(int errors, const std::string& what) {
  give_up(errors, what + ": " + errno_text(errno));
}

void join_groups(const ExecPlan& plan) {
  for (const UniqueFd& file : plan.join) {
    if (write(file.get(), "0", 1) != 1) give_up_errno(plan.errors, "cannot join the job's control group");
  }
}

void reset_signals() {
  struct sigaction action{};
  action.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) sigaction(number, &action, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

void set_limits() {
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_max = std::min(files.rlim_max, kOpenFilesMax);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

void drop_capabilities(int errors) {
  for (int capability = 0; prctl(PR_CAPBSET_READ, capability) >= 0; ++capability) {
    if (prctl(PR_CAPBSET_DROP, capability) != 0) give_up_errno(errors, "cannot drop capabilities");
  }
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

void take_identity(const SuperviseSpec& spec, int errors) {
  const LaunchSpec& launch = spec.launch;
  // A fresh session keyring: the daemon's must not be inherited. Kernels without keyrings have none to leak.
  syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr);
  drop_capabilities(errors);
  if (setgroups(launch.groups.size(), launch.groups.data()) != 0 ||
      setresgid(launch.gid, launch.gid, launch.gid) != 0 ||
      setresuid(launch.uid, launch.uid, launch.uid) != 0) {
    give_up_errno(errors, "cannot take the user id " + std::to_string(launch.uid));
  }
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  if (syscall(SYS_capset, &header, none) != 0) give_up_errno(errors, "cannot drop capabilities");
}

void connect_standard_streams(const ExecPlan& plan) {
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null < 0) give_up_errno(plan.errors, "cannot open /dev/null");
  if (dup2(null, 0) < 0 || dup2(plan.output, 1) < 0 || dup2(plan.output, 2) < 0) {
    give_up_errno(plan.errors, "cannot connect the output");
  }
  // The pipe for errors is closed by exec too; nothing of ours gets through.
  syscall(SYS_close_range, 3U, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */);
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  all.reserve(texts.size() + 1);
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

std::string cannot_execute(const SuperviseSpec& spec, int error) {
  const std::string& program = spec.launch.argv[0];
  std::string text = "cannot execute " + program + ": " + errno_text(error);
  const bool private_tmp = program.starts_with("/tmp/") || program.starts_with("/var/tmp/");
  if (error != ENOENT) return text;
  if (program.starts_with('/') && access(program.c_str(), F_OK) == 0) {
    return "cannot execute " + program + ": the interpreter that it names does not exist";
  }
  if (spec.walls.namespaces && private_tmp) text += " (each job has a /tmp of its own)";
  return text;
}

}  // namespace

Result<std::vector<UniqueFd>> open_join_files(const SuperviseSpec& spec) {
  std::vector<UniqueFd> files;
  for (const std::string& path : Cgroup(spec.cgroup).join_files()) {
    UniqueFd file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file.valid()) return fail(system_error("cannot open " + path, errno));
    files.push_back(std::move(file));
  }
  return files;
}

std::vector<std::string> job_environment(const SuperviseSpec& spec) {
  const AttemptDir dir{spec.dir};
  std::vector<std::string> environment;
  const auto add = [&environment](const std::string& name, const std::string& value) {
    environment.emplace_back(name).append("=").append(value);
  };
  for (const auto& [name, value] : spec.launch.env) add(name, value);
  const auto add_missing = [&](const std::string& name, const std::string& value) {
    const bool present = std::any_of(spec.launch.env.begin(), spec.launch.env.end(),
                                     [&](const auto& entry) { return entry.first == name; });
    if (!present) add(name, value);
  };
  add_missing("HOME", dir.work());
  add_missing("TANGRAM_JOB_DIR", dir.work());
  add_missing("TMPDIR", spec.walls.namespaces ? "/tmp" : dir.tmp());
  return environment;
}

void execute_program(const SuperviseSpec& spec, const ExecPlan& plan) {
  const std::string workdir = spec.launch.workdir.empty() ? AttemptDir{spec.dir}.work() : spec.launch.workdir;
  std::vector<std::string> arguments = spec.launch.argv;
  std::vector<std::string> environment = job_environment(spec);
  setsid();
  join_groups(plan);
  // The supervisor asked the kernel to spare it; its job has no such claim.
  (void)write_control("/proc/self/oom_score_adj", "0");
  reset_signals();
  set_limits();
  connect_standard_streams(plan);
  if (spec.walls.user) take_identity(spec, plan.errors);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    give_up_errno(plan.errors, "cannot give up new privileges");
  umask(077);
  if (chdir(workdir.c_str()) != 0) give_up_errno(plan.errors, "cannot use the work directory " + workdir);
  std::vector<char*> argument_pointers = pointers(arguments);
  std::vector<char*> environment_pointers = pointers(environment);
  environ = environment_pointers.data();
  execvp(argument_pointers[0], argument_pointers.data());
  give_up(plan.errors, cannot_execute(spec, errno));
}

}  // namespace tangram::runner
