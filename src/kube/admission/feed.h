// Carries what the API says into what admission asks: Tenants, namespaces, ResourceQuotas and the Pods that
// admission let in go into a Directory, ChipModels into the settings. Each kind has a reflector with a thread
// of its own. An object that cannot be read is as if it were not there, with a line in the log: for a Tenant
// that means no NPUs for its namespaces.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "kube/admission/directory.h"
#include "kube/admission/review.h"
#include "kube/api/client.h"
#include "kube/api/reflector.h"
#include "net/interrupt.h"
#include "wire/cluster.h"

namespace tangram::kube::admission {

// The settings with the chips that operators have described in front of the built-in ones: theirs win where
// a resource is the same, and of two the first by name. Thread-safe.
class SettingsBook {
 public:
  explicit SettingsBook(Settings settings);

  void put_chip(const std::string& name, wire::NpuResource resource);
  void remove_chip(const std::string& name);
  std::shared_ptr<const Settings> current() const;

 private:
  void rebuild();

  const Settings base_;
  mutable std::mutex mutex_;
  std::map<std::string, wire::NpuResource> chips_;
  std::shared_ptr<const Settings> current_;
};

class Feed {
 public:
  struct Options {
    bool watch_list = true;  // as of ReflectorOptions
  };

  // `client` must outlive it. Begins at once; the directory is ready when all kinds have been read.
  Feed(ApiClient& client, std::shared_ptr<Directory> directory, std::shared_ptr<SettingsBook> settings,
       Options options);
  Feed(ApiClient& client, std::shared_ptr<Directory> directory, std::shared_ptr<SettingsBook> settings);
  ~Feed();  // waits for its threads
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

 private:
  struct Kind;

  void follow_tenants();
  void follow_namespaces();
  void follow_quotas();
  void follow_pods();
  void follow_chips();
  void add(std::unique_ptr<Kind> kind);
  // Of one kind, each time that all of it has been told.
  std::function<void()> synced(std::size_t kind);

  ApiClient& client_;
  const std::shared_ptr<Directory> directory_;
  const std::shared_ptr<SettingsBook> settings_;
  const Options options_;
  net::Interrupt stop_;
  std::mutex mutex_;
  std::vector<bool> synced_;
  std::vector<std::unique_ptr<Kind>> kinds_;
};

// What a Pod uses of its namespace's quotas, by its annotation; nothing when it has ended. For Feed, and for
// whoever keeps a book of its own.
QuotaLimits quota_use_of(const json::object& pod);

}  // namespace tangram::kube::admission
