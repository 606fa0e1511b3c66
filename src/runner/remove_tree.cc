#include "runner/remove_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "runner/unique_fd.h"

namespace tangram::runner {
namespace {

constexpr int kOpenDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr int kNotEmptyTriesMax = 100;

struct Identity {
  dev_t device = 0;
  ino_t inode = 0;

  friend bool operator==(const Identity&, const Identity&) = default;
};

// A directory that was entered, and where it hangs.
struct Entered {
  Identity parent;
  std::string name;
};

Result<Identity> identity_of(int fd) {
  struct stat info{};
  if (fstat(fd, &info) != 0) return fail(system_error("cannot look at a directory", errno));
  return Identity{info.st_dev, info.st_ino};
}

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

// Unlinks files until it meets a directory, whose name it returns. nullopt: nothing is left.
Result<std::optional<std::string>> remove_files(int fd) {
  UniqueFd copy(openat(fd, ".", kOpenDirectory));
  const std::unique_ptr<DIR, CloseDirectory> listing(copy.valid() ? fdopendir(copy.get()) : nullptr);
  if (!listing) return fail(system_error("cannot list a directory", errno));
  (void)copy.release();
  for (;;) {
    errno = 0;
    const dirent* const entry = readdir(listing.get());
    if (entry == nullptr && errno != 0) return fail(system_error("cannot list a directory", errno));
    if (entry == nullptr) return std::optional<std::string>();
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (unlinkat(fd, entry->d_name, 0) == 0 || errno == ENOENT) continue;
    if (errno == EISDIR) return std::optional<std::string>(name);
    return fail(system_error("cannot remove a file", errno));
  }
}

Result<UniqueFd> go_up(int from, const Identity& parent) {
  UniqueFd up(openat(from, "..", kOpenDirectory));
  if (!up.valid()) return fail(system_error("cannot go back up", errno));
  TG_TRY(const Identity found, identity_of(up.get()));
  if (found == parent) return up;
  return fail(Code::kAborted, "runner.tree.moved", "a directory was moved away while it was removed");
}

// Leaves the directory itself.
Result<void> empty_directory(UniqueFd fd) {
  std::vector<Entered> path;
  int not_empty = 0;
  for (;;) {
    TG_TRY(std::optional<std::string> inner, remove_files(fd.get()));
    if (inner) {
      TG_TRY(const Identity here, identity_of(fd.get()));
      UniqueFd down(openat(fd.get(), inner->c_str(), kOpenDirectory));
      if (!down.valid()) return fail(system_error("cannot enter a directory", errno));
      path.push_back({here, std::move(*inner)});
      fd = std::move(down);
      continue;
    }
    if (path.empty()) return {};
    TG_TRY(UniqueFd up, go_up(fd.get(), path.back().parent));
    if (unlinkat(up.get(), path.back().name.c_str(), AT_REMOVEDIR) != 0) {
      // Somebody still writes here: then what is new goes too, but not for ever.
      if (errno != ENOTEMPTY || ++not_empty > kNotEmptyTriesMax) {
        return fail(system_error("cannot remove a directory", errno));
      }
      continue;
    }
    path.pop_back();
    fd = std::move(up);
  }
}

}  // namespace

Result<void> remove_tree(const std::string& path) {
  UniqueFd fd(open(path.c_str(), kOpenDirectory));
  if (!fd.valid()) {
    const int error = errno;
    if (error == ENOENT) return {};
    const bool no_directory = error == ENOTDIR || error == ELOOP;
    if (no_directory && unlink(path.c_str()) == 0) return {};
    return fail(system_error("cannot remove " + path, no_directory ? errno : error));
  }
  if (Result<void> emptied = empty_directory(std::move(fd)); !emptied) {
    return fail(wrap("cannot remove " + path, std::move(emptied).error()));
  }
  if (rmdir(path.c_str()) != 0) return fail(system_error("cannot remove " + path, errno));
  return {};
}

}  // namespace tangram::runner
