#include "net/interrupt.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

namespace tangram::net {

Interrupt::Interrupt() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Interrupt::~Interrupt() {
  if (fd_ >= 0) close(fd_);
}

void Interrupt::raise() {
  raised_ = true;
  const std::uint64_t one = 1;
  if (fd_ >= 0) (void)!write(fd_, &one, sizeof one);
}

}  // namespace tangram::net
