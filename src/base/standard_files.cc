#include "base/standard_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <initializer_list>

namespace tangram {

void occupy_standard_files() {
  for (const int wanted : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(wanted, F_GETFD) >= 0) continue;
    // The lowest free number is this one: those below are taken.
    (void)open("/dev/null", wanted == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace tangram
