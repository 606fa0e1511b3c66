// Keeps of each object only what an extractor takes out of it, and tells what has changed: added, updated,
// deleted, synced. Behind a reflector it sees every object exactly as often as it changed, whatever happens
// to the connection: what a new list repeats is not told again.
//
// Not thread-safe: belongs to the thread that runs its reflector; the handlers run there as well.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "kube/api/object_sink.h"

namespace tangram::kube {

// T: small, movable. With operator== an update that changes nothing of it is not told.
template <class T>
class ObjectCache final : public ObjectSink {
 public:
  // Nothing: the object is of no interest (any more), as if it were not there.
  using Extract = std::function<std::optional<T>(const json::object&)>;

  // `key` is "namespace/name", or "name" of what has no namespace. Each may be empty.
  struct Handlers {
    std::function<void(const std::string& key, const T& now)> on_add{};
    std::function<void(const std::string& key, const T& before, const T& now)> on_update{};
    // Also for an object that was deleted and made anew under its name, before on_add.
    std::function<void(const std::string& key, const T& last)> on_delete{};
    // All that existed at one moment has been told; again after each new list.
    std::function<void()> on_synced{};
  };

  ObjectCache(Extract extract, Handlers handlers, std::size_t objects_max = 200'000)
      : extract_(std::move(extract)), handlers_(std::move(handlers)), objects_max_(objects_max) {}

  const T* find(std::string_view key) const {
    const auto at = entries_.find(key);
    return at != entries_.end() ? &at->second.value : nullptr;
  }
  std::size_t size() const { return entries_.size(); }

  static std::string key_of(const ObjectMeta& meta) {
    std::string key(meta.space);
    if (!key.empty()) key += '/';
    return key += meta.name;
  }

  void begin_replace() override { ++round_; }

  void end_replace() override {
    for (auto at = entries_.begin(); at != entries_.end();) {
      at = at->second.round == round_ ? std::next(at) : drop(at);
    }
    if (handlers_.on_synced) handlers_.on_synced();
  }

  // Errors: kResourceExhausted "kube.cache.full".
  Result<void> put(const ObjectMeta& meta, const json::object& object) override {
    const std::string key = key_of(meta);
    auto at = entries_.find(key);
    if (at != entries_.end() && at->second.version == meta.resource_version && at->second.uid == meta.uid) {
      at->second.round = round_;
      return {};
    }
    std::optional<T> now = extract_(object);
    const bool another = at != entries_.end() && at->second.uid != meta.uid;
    if (at != entries_.end() && (another || !now)) {
      drop(at);
      at = entries_.end();
    }
    if (!now) return {};
    if (at == entries_.end()) return add(key, meta, std::move(*now));
    update(*at, meta, std::move(*now));
    return {};
  }

  void remove(const ObjectMeta& meta, const json::object& /*object*/) override {
    const auto at = entries_.find(key_of(meta));
    if (at != entries_.end() && at->second.uid == meta.uid) drop(at);
  }

 private:
  struct Entry {
    T value;
    std::string uid;
    std::string version;
    std::uint32_t round = 0;  // of the replace in which it was seen last
  };
  using Entries = std::map<std::string, Entry, std::less<>>;

  Result<void> add(const std::string& key, const ObjectMeta& meta, T value) {
    if (entries_.size() >= objects_max_) {
      return fail(Code::kResourceExhausted, "kube.cache.full",
                  "there are more than " + std::to_string(objects_max_) + " objects of one kind",
                  "narrow the selector, or allow more");
    }
    const auto at = entries_
                        .emplace(key, Entry{std::move(value), std::string(meta.uid),
                                            std::string(meta.resource_version), round_})
                        .first;
    if (handlers_.on_add) handlers_.on_add(at->first, at->second.value);
    return {};
  }

  void update(typename Entries::value_type& held, const ObjectMeta& meta, T now) {
    Entry& entry = held.second;
    entry.version = meta.resource_version;
    entry.round = round_;
    if constexpr (std::equality_comparable<T>) {
      if (entry.value == now) return;
    }
    const T before = std::exchange(entry.value, std::move(now));
    if (handlers_.on_update) handlers_.on_update(held.first, before, entry.value);
  }

  typename Entries::iterator drop(typename Entries::iterator at) {
    const auto node = entries_.extract(at++);
    if (handlers_.on_delete) handlers_.on_delete(node.key(), node.mapped().value);
    return at;
  }

  const Extract extract_;
  const Handlers handlers_;
  const std::size_t objects_max_;
  Entries entries_;
  std::uint32_t round_ = 0;
};

}  // namespace tangram::kube
