#include "kube/protocol/fields.h"

#include <utility>

#include "base/quote.h"
#include "kube/protocol/container_request.h"

namespace tangram::kube::protocol {

tl::unexpected<Error> bad_field(std::string_view where, std::string_view field, std::string_view wanted) {
  return fail(Code::kInvalidArgument, "kube.annotation.invalid",
              "field " + quoted(field) + " in " + std::string(where) + " must be " + std::string(wanted),
              "only Tangram's own parts write this annotation; remove it from what you apply");
}

Result<json::array> read_list(std::string_view text, std::string_view name, std::size_t most) {
  if (text.size() > kAnnotationBytesMax) {
    return bad_field(name, "value", "at most " + std::to_string(kAnnotationBytesMax) + " bytes long");
  }
  Result<json::array> list = parse_array(text);
  if (!list) return bad_field(name, "value", "a JSON list");
  if (list->size() > most) {
    return bad_field(name, "value", "a list of at most " + std::to_string(most) + " entries");
  }
  return list;
}

Result<const json::object*> object_of(const json::value& value, std::string_view where) {
  if (const json::object* const object = value.if_object()) return object;
  return bad_field(where, "entry", "a JSON object");
}

Result<std::string> text_field(const json::object& object, std::string_view where, std::string_view field,
                               bool required) {
  const json::value* const value = object.if_contains(field);
  if (value == nullptr) {
    if (required) return bad_field(where, field, "there");
    return std::string();
  }
  const json::string* const text = value->if_string();
  const bool good = text != nullptr && text->size() <= kTextBytesMax && (!required || !text->empty());
  if (!good) return bad_field(where, field, "a text of at most 1024 bytes");
  return std::string(text->data(), text->size());
}

Result<std::int64_t> number_field(const json::object& object, std::string_view where, std::string_view field,
                                  std::int64_t absent, std::int64_t most) {
  const json::value* const value = object.if_contains(field);
  if (value == nullptr) return absent;
  const std::int64_t* const number = value->if_int64();
  if (number == nullptr || *number < 0 || *number > most) {
    return bad_field(where, field, "a whole number from 0 to " + std::to_string(most));
  }
  return *number;
}

Result<bool> flag_field(const json::object& object, std::string_view where, std::string_view field) {
  const json::value* const value = object.if_contains(field);
  if (value == nullptr) return false;
  if (const bool* const flag = value->if_bool()) return *flag;
  return bad_field(where, field, "true or false");
}

}  // namespace tangram::kube::protocol
