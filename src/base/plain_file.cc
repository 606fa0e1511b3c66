#include "base/plain_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <string_view>

#include "base/units.h"

namespace tangram {
namespace {

std::string_view kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISLNK(mode)) return "a symbolic link";
  return "a device";
}

tl::unexpected<Error> not_plain(const std::string& what, mode_t mode) {
  return fail(Code::kInvalidArgument, "file.not_plain",
              what + ": it is " + std::string(kind_of(mode)) + ", not a plain file",
              "put a plain file in its place, or name another");
}

// Of what could not be opened: the system's words for a link, a pipe nobody reads and a socket name none of
// them.
tl::unexpected<Error> unopened(const std::string& what, const std::string& path, int flags, int number) {
  struct stat info{};
  const bool is_odd = number == ELOOP || number == ENXIO || number == EISDIR || number == ENODEV;
  const int looked = (flags & O_NOFOLLOW) != 0 ? lstat(path.c_str(), &info) : stat(path.c_str(), &info);
  if (is_odd && looked == 0 && !S_ISREG(info.st_mode)) return not_plain(what, info.st_mode);
  return fail(system_error(what, number));
}

}  // namespace

Result<int> open_plain_file(const std::string& what, const std::string& path, int flags, mode_t mode) {
  const int fd = open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, mode);
  if (fd < 0) return unopened(what, path, flags, errno);
  struct stat info{};
  const int failed = fstat(fd, &info) == 0 ? 0 : errno;
  if (failed == 0 && S_ISREG(info.st_mode)) return fd;
  close(fd);
  if (failed != 0) return fail(system_error(what, failed));
  return not_plain(what, info.st_mode);
}

Result<PlainFile> read_plain_file(const std::string& what, const std::string& path, std::size_t bytes_max) {
  TG_TRY(const int fd, open_plain_file(what, path, O_RDONLY));
  PlainFile file;
  struct stat info{};
  if (fstat(fd, &info) == 0) file.mode = info.st_mode;
  std::array<char, 16'384> piece{};
  ssize_t count = 0;
  while (file.text.size() <= bytes_max && (count = read(fd, piece.data(), piece.size())) != 0) {
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) break;
    file.text.append(piece.data(), static_cast<std::size_t>(count));
  }
  const int number = errno;
  close(fd);
  if (count < 0) return fail(system_error(what, number));
  if (file.text.size() <= bytes_max) return file;
  return fail(Code::kInvalidArgument, "file.too_large",
              what + ": it is larger than " + format_bytes(Bytes(static_cast<std::int64_t>(bytes_max))));
}

}  // namespace tangram
