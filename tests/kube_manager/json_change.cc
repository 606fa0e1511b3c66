#include "kube_manager/json_change.h"

#include <charconv>
#include <string>
#include <string_view>

namespace tangram::kube::manager {
namespace {

std::string unescaped(std::string_view segment) {
  std::string text;
  for (std::size_t i = 0; i < segment.size(); ++i) {
    if (segment[i] == '~' && i + 1 < segment.size()) {
      text += segment[++i] == '1' ? '/' : '~';
    } else {
      text += segment[i];
    }
  }
  return text;
}

bool index_in(const json::array& array, const std::string& text, std::size_t& index) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  return error == std::errc() && end == text.data() + text.size() && index < array.size();
}

json::value* child_of(json::value& value, const std::string& key) {
  if (json::object* const object = value.if_object()) return object->if_contains(key);
  std::size_t index = 0;
  if (json::array* const array = value.if_array(); array != nullptr && index_in(*array, key, index)) {
    return &(*array)[index];
  }
  return nullptr;
}

bool change(json::value& parent, const std::string& key, std::string_view what, const json::value* value) {
  json::value* const there = child_of(parent, key);
  if (what == "test") return there != nullptr && value != nullptr && *there == *value;
  if (what == "replace" || (what == "add" && there != nullptr && parent.is_object())) {
    if (there == nullptr || value == nullptr) return false;
    *there = *value;
    return true;
  }
  if (what == "remove") {
    if (there == nullptr) return false;
    std::size_t index = 0;
    if (json::array* const array = parent.if_array()) {
      if (!index_in(*array, key, index)) return false;
      array->erase(array->begin() + static_cast<std::ptrdiff_t>(index));
    } else {
      parent.as_object().erase(key);
    }
    return true;
  }
  if (what != "add" || value == nullptr || !parent.is_object()) return false;
  parent.as_object()[key] = *value;
  return true;
}

}  // namespace

bool apply_json_patch(json::object& object, const json::array& operations) {
  json::value whole = object;
  for (const json::value& operation : operations) {
    const json::object& one = operation.as_object();
    std::string_view path = text_at(one, {"path"});
    json::value* at = &whole;
    while (at != nullptr && !path.empty()) {
      path.remove_prefix(1);
      const std::size_t end = path.find('/');
      const std::string key = unescaped(path.substr(0, end));
      if (end == std::string_view::npos) {
        if (!change(*at, key, text_at(one, {"op"}), one.if_contains("value"))) return false;
        break;
      }
      path.remove_prefix(end);
      at = child_of(*at, key);
    }
    if (at == nullptr) return false;
  }
  object = whole.as_object();
  return true;
}

void merge(json::object& object, const json::object& patch) {
  for (const json::key_value_pair& member : patch) {
    if (member.value().is_null()) {
      object.erase(member.key());
    } else if (const json::object* const inner = member.value().if_object()) {
      json::value& into = object[member.key()];
      if (!into.is_object()) into.emplace_object();
      merge(into.as_object(), *inner);
    } else {
      object[member.key()] = member.value();
    }
  }
}

void merge_status(json::object& status, const json::object& applied) {
  for (const json::key_value_pair& member : applied) {
    if (member.key() != "conditions" || !status.contains("conditions")) {
      status[member.key()] = member.value();
      continue;
    }
    json::array& conditions = status["conditions"].as_array();
    for (const json::value& condition : member.value().as_array()) {
      const std::string_view type = text_at(condition.as_object(), {"type"});
      json::value* same = nullptr;
      for (json::value& other : conditions) {
        if (text_at(other.as_object(), {"type"}) == type) same = &other;
      }
      if (same != nullptr) {
        *same = condition;
      } else {
        conditions.push_back(condition);
      }
    }
  }
}

}  // namespace tangram::kube::manager
