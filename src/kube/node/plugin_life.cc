#include "kube/node/plugin_life.h"

#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "base/log.h"
#include "kube/node/kubelet_link.h"
#include "kube/protocol/names.h"

namespace tangram::kube::node {
namespace {

// Which file a path leads to at this moment; a socket that is made anew is another.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  timespec made{};

  bool is(const FileIdentity& other) const {
    return device == other.device && inode == other.inode && made.tv_sec == other.made.tv_sec &&
           made.tv_nsec == other.made.tv_nsec;
  }
};

std::optional<FileIdentity> identity_of(const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return std::nullopt;
  return FileIdentity{status.st_dev, status.st_ino, status.st_ctim};
}

bool is_same(const std::optional<FileIdentity>& one, const std::optional<FileIdentity>& other) {
  return one.has_value() == other.has_value() && (!one || one->is(*other));
}

// News of a directory: only that there is some.
class DirectoryWatch {
 public:
  explicit DirectoryWatch(const std::string& path) : fd_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
    if (fd_ >= 0) inotify_add_watch(fd_, path.c_str(), IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_DELETE_SELF);
  }
  DirectoryWatch(const DirectoryWatch&) = delete;
  DirectoryWatch& operator=(const DirectoryWatch&) = delete;
  ~DirectoryWatch() {
    if (fd_ >= 0) close(fd_);
  }

  void wait(const net::Interrupt& stop, std::chrono::milliseconds most) const {
    std::array<pollfd, 2> fds{{{stop.fd(), POLLIN, 0}, {fd_, POLLIN, 0}}};
    poll(fds.data(), fds.size(), static_cast<int>(most.count()));
    std::array<char, 4096> events{};
    while (fd_ >= 0 && read(fd_, events.data(), events.size()) > 0) {
    }
  }

 private:
  const int fd_;
};

}  // namespace

std::string endpoint_of(std::string_view resource) {
  if (resource.starts_with(names::kResourcePrefix)) resource.remove_prefix(names::kResourcePrefix.size());
  std::string endpoint = kEndpointPrefix + std::string(resource) + ".sock";
  std::ranges::replace(endpoint, '/', '-');
  return endpoint;
}

void PluginLife::run(const net::Interrupt& stop) {
  std::map<std::string, std::thread> serving;
  while (!stop.raised()) {
    for (const std::string& resource : agent_.resources()) {
      if (serving.contains(resource)) continue;
      serving.emplace(resource, std::thread([this, resource, &stop] { serve(resource, stop); }));
    }
    pollfd raised{stop.fd(), POLLIN, 0};
    poll(&raised, 1, static_cast<int>(options_.rest.count()));
  }
  for (auto& [resource, thread] : serving) thread.join();
}

void PluginLife::serve(const std::string& resource, const net::Interrupt& stop) {
  const std::string kubelet = options_.directory + "/kubelet.sock";
  const std::string endpoint = endpoint_of(resource);
  const std::string own = options_.directory + "/" + endpoint;
  std::string warned;
  while (!stop.raised()) {
    // A watch for each round: the directory itself may be another one.
    const DirectoryWatch watch(options_.directory);
    const std::optional<FileIdentity> registered_at = identity_of(kubelet);
    if (!registered_at) {
      watch.wait(stop, options_.rest);
      continue;
    }
    Result<std::unique_ptr<PluginServer>> server = serve_plugin(agent_, resource, own);
    const Result<void> registered =
        server ? register_plugin(kubelet, endpoint, resource) : Result<void>(fail(server.error()));
    if (!registered) {
      if (std::string text = registered.error().to_string(); text != warned) {
        log::warn(text);
        warned = std::move(text);
      }
      watch.wait(stop, options_.rest);
      continue;
    }
    warned.clear();
    ++registrations_;
    log::info("the kubelet has taken the device plugin of " + resource);
    const std::optional<FileIdentity> listening_at = identity_of(own);
    while (!stop.raised() && is_same(identity_of(kubelet), registered_at) &&
           is_same(identity_of(own), listening_at)) {
      watch.wait(stop, options_.look_period);
    }
  }
}

}  // namespace tangram::kube::node
