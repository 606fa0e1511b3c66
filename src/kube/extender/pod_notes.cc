#include "kube/extender/pod_notes.h"

#include "kube/protocol/container_request.h"
#include "kube/protocol/names.h"

namespace tangram::kube::extender {
namespace {

constexpr std::size_t kContainersMax = 512;  // as admission takes

void add_names(const json::object& pod, std::string_view kind, std::vector<std::string>& names) {
  const json::array* const list = array_at(pod, {"spec", kind});
  if (list == nullptr) return;
  for (const json::value& value : *list) {
    const json::object* const container = value.if_object();
    if (names.size() >= kContainersMax) return;
    names.emplace_back(container != nullptr ? text_at(*container, {"name"}) : std::string_view());
  }
}

}  // namespace

PodNote note_of(const json::object& pod) {
  PodNote note;
  add_names(pod, "initContainers", note.containers);
  add_names(pod, "containers", note.containers);
  const std::string_view granted = text_at(pod, {"metadata", "annotations", names::kGranted});
  if (granted.size() <= kAnnotationBytesMax) note.granted = granted;
  return note;
}

void PodNotes::put(const std::string& uid, PodNote note) {
  const std::lock_guard lock(mutex_);
  if (const auto at = by_uid_.find(uid); at != by_uid_.end()) {
    at->second->second = std::move(note);
    order_.splice(order_.begin(), order_, at->second);
    return;
  }
  order_.emplace_front(uid, std::move(note));
  by_uid_.emplace(uid, order_.begin());
  if (order_.size() <= most_) return;
  by_uid_.erase(order_.back().first);
  order_.pop_back();
}

std::optional<PodNote> PodNotes::find(std::string_view uid) const {
  const std::lock_guard lock(mutex_);
  const auto at = by_uid_.find(uid);
  return at == by_uid_.end() ? std::nullopt : std::optional(at->second->second);
}

void PodNotes::forget(std::string_view uid) {
  const std::lock_guard lock(mutex_);
  const auto at = by_uid_.find(uid);
  if (at == by_uid_.end()) return;
  order_.erase(at->second);
  by_uid_.erase(at);
}

std::size_t PodNotes::size() const {
  const std::lock_guard lock(mutex_);
  return order_.size();
}

}  // namespace tangram::kube::extender
