#include "kube/api/watch_event.h"

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "base/quote.h"

namespace tangram::kube {
namespace {

using Type = WatchEvent::Type;

std::optional<Type> type_of(std::string_view word) {
  static constexpr std::array<std::pair<std::string_view, Type>, 5> kWords{{{"ADDED", Type::kAdded},
                                                                            {"MODIFIED", Type::kModified},
                                                                            {"DELETED", Type::kDeleted},
                                                                            {"BOOKMARK", Type::kBookmark},
                                                                            {"ERROR", Type::kError}}};
  for (const auto& [known, type] : kWords) {
    if (known == word) return type;
  }
  return std::nullopt;
}

tl::unexpected<Error> invalid(const std::string& why, std::string_view line) {
  return fail(Code::kInternal, "kube.answer.invalid",
              "an event of a watch cannot be understood: " + why + ", in " + quoted(line, 200));
}

}  // namespace

Result<WatchEvent> read_watch_event(JsonReader& reader, std::string_view line) {
  TG_TRY(const json::object* const root, reader.read(line));
  const std::optional<Type> type = type_of(text_at(*root, {"type"}));
  if (!type) return invalid("its type is unknown", line);
  WatchEvent event;
  event.type = *type;
  event.object = object_at(*root, {"object"});
  if (event.object == nullptr) return invalid("it has no object", line);
  if (event.type == Type::kError) return event;
  const ObjectMeta meta = meta_of(*event.object);
  if (meta.resource_version.empty()) return invalid("it has no resource version", line);
  if (event.type == Type::kBookmark) {
    event.initial_events_end =
        text_at(*event.object, {"metadata", "annotations", "k8s.io/initial-events-end"}) == "true";
  } else if (meta.name.empty()) {
    return invalid("its object has no name", line);
  }
  return event;
}

}  // namespace tangram::kube
