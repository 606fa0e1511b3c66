// Carries what the API says into a book: Tenants, namespaces, ChipModels, nodes, and the Pods that admission
// let in, each kind by a reflector with a thread of its own. The book is complete when all kinds have been
// read. An object that cannot be read is as if it were not there, with a line in the log.
//
// Each begins with a list of its own that is not older than the moment at which it was asked for, so a Feed
// that is made when a leadership begins sees everything that the leader before has done.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "kube/api/client.h"
#include "kube/api/object_sink.h"
#include "kube/api/reflector.h"
#include "kube/manager/book.h"
#include "net/interrupt.h"

namespace tangram::kube::manager {

class Feed {
 public:
  // Both must outlive it. Begins at once.
  Feed(ApiClient& client, ClusterBook& book, bool watch_list);
  ~Feed();  // waits for its threads
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

 private:
  struct Kind;

  void follow_tenants();
  void follow_namespaces();
  void follow_chips();
  void follow_nodes();
  void follow_pods();
  void add(Selection selection, std::unique_ptr<ObjectSink> sink);
  // Of one kind, each time that all of it has been told.
  std::function<void()> synced(std::size_t kind);

  ApiClient& client_;
  ClusterBook& book_;
  const bool watch_list_;
  net::Interrupt stop_;
  std::mutex mutex_;
  std::vector<bool> synced_;
  std::vector<std::unique_ptr<Kind>> kinds_;
};

}  // namespace tangram::kube::manager
