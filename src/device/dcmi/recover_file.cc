#include "device/dcmi/recover_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <optional>
#include <thread>
#include <utility>

namespace tangram::device {
namespace {

constexpr std::string_view kModePrefix = "vnpu_config_recover:";
constexpr std::string_view kStart = "[vnpu-config start]";
constexpr std::string_view kEnd = "[vnpu-config end]";
constexpr std::string_view kCommand = "npu-smi set -t create-vnpu -i ";
constexpr std::size_t kTemplateNameMost = 31;
constexpr std::chrono::milliseconds kLockPause{10};

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int fd_;
};

tl::unexpected<Error> damaged(std::string what) {
  return fail(Code::kDataLoss, "device.recover.damaged", std::move(what));
}

tl::unexpected<Error> not_plain(std::string what) {
  return fail(Code::kFailedPrecondition, "device.recover.not_plain", std::move(what));
}

tl::unexpected<Error> unwritable(const std::string& path, int error_number) {
  return fail(Code::kUnavailable, "device.recover.unwritable",
              path + " cannot be written: " + errno_text(error_number));
}

std::string_view folder_of(std::string_view path) {
  return path.substr(0, path.rfind('/'));
}

// ---- the text

bool take(std::string_view& rest, std::string_view text) {
  if (!rest.starts_with(text)) return false;
  rest.remove_prefix(text.size());
  return true;
}

std::optional<std::uint32_t> take_number(std::string_view& rest) {
  std::uint32_t number = 0;
  const auto [end, failed] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (failed != std::errc()) return std::nullopt;
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  return number;
}

bool take_template(std::string_view& rest) {
  const std::size_t end = rest.find(' ');
  if (end == std::string_view::npos || end == 0 || end > kTemplateNameMost) return false;
  const std::string_view name = rest.substr(0, end);
  rest.remove_prefix(end);
  return std::ranges::all_of(
      name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.'; });
}

struct Slice {
  std::uint32_t physical_id = 0;
  std::uint32_t id = 0;

  friend bool operator==(const Slice&, const Slice&) = default;
};

// "0:100:npu-smi set -t create-vnpu -i 7 -c 0 -f vir04 -v 100", perhaps with " -g 2". The whole of it: the
// vendor's library refuses the file for a line that is cut short, and a boot runs what is behind one.
std::optional<Slice> slice_of(std::string_view line) {
  const auto physical_id = take_number(line);
  if (!physical_id || !take(line, ":")) return std::nullopt;
  const auto id = take_number(line);
  if (!id || !take(line, ":") || !take(line, kCommand)) return std::nullopt;
  if (!take_number(line) || !take(line, " -c ") || !take_number(line)) return std::nullopt;
  if (!take(line, " -f ") || !take_template(line)) return std::nullopt;
  if (!take(line, " -v ") || !take_number(line)) return std::nullopt;
  if (take(line, " -g ") && !take_number(line)) return std::nullopt;
  if (!line.empty()) return std::nullopt;
  return Slice{*physical_id, *id};
}

bool is_mode(std::string_view line) {
  if (!line.starts_with(kModePrefix)) return false;
  line.remove_prefix(kModePrefix.size());
  return line == "enable" || line == "disable";
}

// ---- the file

struct Content {
  std::string text;
  struct stat status{};
};

// None: there is no file.
Result<std::optional<Content>> read_file(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.valid() && errno == ENOENT) return std::nullopt;
  if (!file.valid() && errno == ELOOP) return not_plain(path + " is a symbolic link");
  if (!file.valid()) return unwritable(path, errno);
  Content content;
  if (fstat(file.get(), &content.status) != 0) return unwritable(path, errno);
  if (!S_ISREG(content.status.st_mode)) return not_plain(path + " is no plain file");
  std::array<char, 16'384> chunk{};
  ssize_t got = 0;
  while ((got = read(file.get(), chunk.data(), chunk.size())) != 0) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unwritable(path, errno);
    content.text.append(chunk.data(), static_cast<std::size_t>(got));
    if (content.text.size() > kRecoverFileBytesMax) return damaged(path + " is larger than 4 MiB");
  }
  return content;
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// By rename: a boot that reads it meanwhile finds the old or the new one.
Result<void> replace_file(const std::string& path, const struct stat& status, std::string_view text) {
  const std::string temporary = path + ".tangram";
  unlink(temporary.c_str());
  const Descriptor file(open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) return unwritable(temporary, errno);
  const bool done = write_all(file.get(), text) && fchown(file.get(), status.st_uid, status.st_gid) == 0 &&
                    fchmod(file.get(), status.st_mode & 07777U) == 0 && fsync(file.get()) == 0 &&
                    rename(temporary.c_str(), path.c_str()) == 0;
  const int error_number = errno;
  if (!done) {
    unlink(temporary.c_str());
    return unwritable(path, error_number);
  }
  const Descriptor folder(open(std::string(folder_of(path)).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.valid()) fsync(folder.get());
  return {};
}

// `kind`: F_RDLCK or F_WRLCK. The vendor's library takes a lock of the process with F_SETLK. One of the open
// file (F_OFD_SETLK) excludes it all the same, and stays when that library, in this very process, closes a
// descriptor of its own.
Result<Descriptor> take_lock(const std::string& path, short kind, std::chrono::milliseconds patience) {
  Descriptor lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!lock.valid() && errno == ELOOP) return not_plain(path + " is a symbolic link");
  if (!lock.valid() && errno == EISDIR) return not_plain(path + " is a directory");
  if (!lock.valid()) return unwritable(path, errno);
  struct stat status{};
  if (fstat(lock.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return not_plain(path + " is no plain file");
  const auto end = std::chrono::steady_clock::now() + patience;
  struct flock whole{};
  whole.l_type = kind;
  whole.l_whence = SEEK_SET;
  while (fcntl(lock.get(), F_OFD_SETLK, &whole) != 0) {
    if (std::chrono::steady_clock::now() >= end) {
      return fail(Code::kUnavailable, "device.recover.locked",
                  "another process holds the lock " + path + " of the driver's memory of slices");
    }
    std::this_thread::sleep_for(kLockPause);
  }
  return lock;
}

// How others than root, or than the daemon's own user where it is not root, come by the file; empty: not.
std::string exposure_of(const struct stat& status) {
  if (status.st_uid != 0 && status.st_uid != geteuid()) {
    return "it belongs to user " + std::to_string(status.st_uid);
  }
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) == 0) return {};
  std::array<char, 8> mode{};
  std::snprintf(mode.data(), mode.size(), "%04o", status.st_mode & 07777U);
  return std::string("its mode is ") + mode.data();
}

// Also a link that leads nowhere.
bool exists(const std::string& path) {
  struct stat status{};
  return lstat(path.c_str(), &status) == 0 || errno != ENOENT;
}

// Why the file, or a new one in its folder, cannot be written; 0: it can be.
int write_error(const std::string& file, bool exists) {
  if (exists && faccessat(AT_FDCWD, file.c_str(), W_OK, AT_EACCESS) != 0) return errno;
  if (faccessat(AT_FDCWD, std::string(folder_of(file)).c_str(), W_OK | X_OK, AT_EACCESS) != 0) return errno;
  return 0;
}

}  // namespace

RecoverPlaces recover_places(const std::string& machine_root) {
  return {machine_root + "/etc/vnpu.cfg", machine_root + "/run/vnpu_cfg_lock/vnpu_cfg_lock_flag"};
}

Result<std::string> without_slice(std::string_view text, std::uint32_t physical_id, std::uint32_t id) {
  std::string kept;
  kept.reserve(text.size());
  std::size_t number = 0;
  bool has_ended = false;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    const std::string_view with_end = rest.substr(0, end == std::string_view::npos ? end : end + 1);
    rest.remove_prefix(with_end.size());
    ++number;
    const std::optional<Slice> slice = slice_of(line);
    const bool is_known = number == 1   ? is_mode(line)
                          : number == 2 ? line == kStart
                          : has_ended   ? line.empty()
                                        : line == kEnd || slice.has_value();
    if (!is_known || line.size() > kRecoverLineBytesMax) {
      return damaged("line " + std::to_string(number) + " is none that the vendor's library writes");
    }
    if (number > 2 && line == kEnd) has_ended = true;
    if (slice != Slice{physical_id, id}) kept += with_end;
  }
  if (!text.empty() && !has_ended) return damaged("its end is missing");
  return kept;
}

RecoverFile look_at_recover_file(const RecoverPlaces& places) {
  RecoverFile seen;
  const auto lock = take_lock(places.lock, F_RDLCK, std::chrono::milliseconds(0));
  if (!lock && lock.error().reason == "device.recover.locked") return seen;
  const auto content = read_file(places.file);
  if (!content) {
    const Error& error = content.error();
    if (error.reason == "device.recover.damaged")
      return {RecoverFile::State::kDamaged, {}, error.message, 0, {}};
    if (error.reason == "device.recover.not_plain")
      return {RecoverFile::State::kNotPlain, {}, error.message, 0, {}};
    return {RecoverFile::State::kUnwritable, {}, error.message, EACCES, {}};
  }
  if (const auto& there = *content) {
    if (const auto text = without_slice(there->text, 0, 0); !text)
      return {RecoverFile::State::kDamaged, {}, text.error().message, 0, {}};
  }
  if (const int error_number = write_error(places.file, content->has_value())) {
    return {RecoverFile::State::kUnwritable, {}, errno_text(error_number), error_number, {}};
  }
  // Without its folder nothing is wrong: the vendor's library makes it.
  if (!lock && exists(places.lock))
    return {RecoverFile::State::kLockUnusable, {}, lock.error().message, 0, {}};
  if (const auto& there = *content) {
    if (std::string why = exposure_of(there->status); !why.empty())
      return {RecoverFile::State::kExposed, {}, std::move(why), 0, {}};
  }
  seen.state = RecoverFile::State::kSound;
  return seen;
}

Result<void> forget_slice(const RecoverPlaces& places, std::uint32_t physical_id, std::uint32_t id,
                          const std::function<bool()>& is_there, std::chrono::milliseconds patience) {
  if (!exists(places.file) && !exists(std::string(folder_of(places.lock)))) return {};  // never written here
  TG_TRY(const Descriptor lock, take_lock(places.lock, F_WRLCK, patience));
  TG_TRY(const std::optional<Content> content, read_file(places.file));
  if (!content || content->text.empty()) {
    // The vendor's library moves the file there while it writes, and takes it back where that was cut off.
    const std::string kept = places.file + ".bak";
    if (exists(kept)) return damaged(places.file + " is empty or away, and " + kept + " holds what it was");
    return {};
  }
  auto kept = without_slice(content->text, physical_id, id);
  if (!kept) return fail(wrap(places.file + " is damaged", kept.error()));
  if (*kept == content->text || is_there()) return {};
  return replace_file(places.file, content->status, *kept);
}

}  // namespace tangram::device
