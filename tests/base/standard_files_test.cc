#include "base/standard_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace tangram {
namespace {

// What a process without standard files sees, as exit status.
int check_without_standard_files() {
  for (const int fd : {0, 1, 2}) close(fd);
  occupy_standard_files();
  const int next = open("/dev/null", O_RDWR);
  if (next <= 2) return 10;
  if (write(1, "x", 1) >= 0 || errno != EBADF) return 11;
  if (write(2, "x", 1) >= 0 || errno != EBADF) return 12;
  char byte = 0;
  if (read(0, &byte, 1) >= 0 || errno != EBADF) return 13;
  return 0;
}

// Without this, a daemon started with closed descriptors would write its log into its journal's lock, and a
// command's answer would go into its connection and count as told.
TEST(StandardFiles, ClosedOnesAreOccupied) {
  const pid_t child = fork();
  if (child == 0) _exit(check_without_standard_files());
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// Without this, open ones would be taken away.
TEST(StandardFiles, OpenOnesStayAsTheyAre) {
  const int flags = fcntl(1, F_GETFL);
  occupy_standard_files();
  EXPECT_EQ(fcntl(1, F_GETFL), flags);
}

}  // namespace
}  // namespace tangram
