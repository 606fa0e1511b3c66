// What a binding has to know of a Pod that its call does not say: kube-scheduler sends the whole Pod when it
// asks for nodes, and names alone when it binds.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/api/json.h"

namespace tangram::kube::extender {

struct PodNote {
  std::vector<std::string> containers;  // init containers first, each in the order of the Pod
  std::string granted;                  // the annotation, as it stands there

  friend bool operator==(const PodNote&, const PodNote&) = default;
};

// Of any JSON; what is no Pod gives an empty note.
PodNote note_of(const json::object& pod);

// Remembers the latest `most` Pods by uid. Thread-safe.
class PodNotes {
 public:
  explicit PodNotes(std::size_t most = 16'384) : most_(most) {}

  void put(const std::string& uid, PodNote note);
  std::optional<PodNote> find(std::string_view uid) const;
  void forget(std::string_view uid);
  std::size_t size() const;

 private:
  using Order = std::list<std::pair<std::string, PodNote>>;  // the latest first

  const std::size_t most_;
  mutable std::mutex mutex_;
  Order order_;
  std::map<std::string, Order::iterator, std::less<>> by_uid_;
};

}  // namespace tangram::kube::extender
