#include "runner/private_mounts.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "runner/files.h"

namespace tangram::runner {
namespace {

constexpr unsigned long kPrivate = MS_REC | MS_PRIVATE;

Result<void> failed(const char* step) {
  return fail(system_error(std::string("cannot make mounts private: ") + step, errno));
}

// A mount that holds a directory somewhere in its middle cannot be named from inside that directory, and a
// mount on the directory would be seen outside. /proc is a mount of its own: below it there is room for a
// copy.
Result<void> move_to_private_copy() {
  if (mount(nullptr, "/proc", nullptr, kPrivate, nullptr) != 0) return failed("/proc");
  if (mount("tmpfs", "/proc", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=64k,nr_inodes=16") != 0) {
    return failed("a directory in memory");
  }
  if (mkdir("/proc/root", 0755) != 0) return failed("a directory");
  if (mount("/", "/proc/root", nullptr, MS_BIND | MS_REC, nullptr) != 0) return failed("a copy of /");
  if (mount(nullptr, "/proc/root", nullptr, kPrivate, nullptr) != 0) return failed("the copy of /");
  if (chdir("/proc/root") != 0 || chroot(".") != 0 || chdir("/") != 0) {
    return failed("the way into the copy of /");
  }
  if (umount2("/proc", MNT_DETACH) != 0) return failed("the copy of the directory in memory");
  return {};
}

}  // namespace

Result<void> make_mounts_private() {
  if (mount(nullptr, "/", nullptr, kPrivate, nullptr) == 0) return {};
  if (errno != EINVAL) return failed("/");
  return move_to_private_copy();
}

}  // namespace tangram::runner
