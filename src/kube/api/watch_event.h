// One line of a watch. Pure.
// Source: k8s.io/apimachinery meta/v1 WatchEvent; API concepts, "Watch bookmarks" and "Streaming lists".
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "kube/api/json.h"

namespace tangram::kube {

struct WatchEvent {
  enum class Type : std::uint8_t { kAdded, kModified, kDeleted, kBookmark, kError };

  Type type = Type::kError;
  // The object; of a bookmark little more than its resource version, of an error a Status. Lives as long as
  // the reader's last answer.
  const json::object* object = nullptr;
  bool initial_events_end = false;  // of a bookmark: all that was there at the start has been sent
};

// Errors: "kube.answer.invalid" for what is no event: no JSON, an unknown type, an object without name or
// resource version.
Result<WatchEvent> read_watch_event(JsonReader& reader, std::string_view line);

}  // namespace tangram::kube
