#include "ascendsim/dcmi/recover.h"

#include <fcntl.h>
#include <unistd.h>

#include "ascendsim/dcmi/dcmi_interface_api.h"
#include "ascendsim/dcmi/driver.h"

namespace ascendsim::dcmi {
namespace {

constexpr int kLockTries = 500;
constexpr useconds_t kLockPauseMicroseconds = 10'000;

std::string recover_path() {
  return machine_root() + "/etc/vnpu.cfg";
}

Descriptor take_lock() {
  const std::string path = machine_root() + "/run/vnpu_cfg_lock/vnpu_cfg_lock_flag";
  Descriptor lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.valid()) return lock;
  struct flock whole{};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  for (int i = 0; i < kLockTries; ++i) {
    if (fcntl(lock.get(), F_SETLK, &whole) == 0) return lock;
    usleep(kLockPauseMicroseconds);
  }
  return {};
}

}  // namespace

int change_recover_file(const std::function<bool(RecoverFile&)>& change) {
  const Descriptor lock = take_lock();
  if (!lock.valid()) return DCMI_ERR_CODE_FILE_OPERATE_FAIL;
  auto file = load_recover_file(recover_path());
  if (!file) return DCMI_ERR_CODE_FILE_OPERATE_FAIL;
  if (!change(*file)) return DCMI_OK;
  return store_recover_file(recover_path(), *file) ? DCMI_OK : DCMI_ERR_CODE_FILE_OPERATE_FAIL;
}

int read_recover_file(RecoverFile* file) {
  auto read = load_recover_file(recover_path());
  if (!read) return DCMI_ERR_CODE_FILE_OPERATE_FAIL;
  *file = std::move(*read);
  return DCMI_OK;
}

}  // namespace ascendsim::dcmi
