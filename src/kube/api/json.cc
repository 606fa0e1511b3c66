#include "kube/api/json.h"

#include <boost/json/parse.hpp>
#include <boost/json/parse_options.hpp>
#include <utility>

#include "base/quote.h"

namespace tangram::kube {
namespace {

json::parse_options options() {
  json::parse_options deep;
  deep.max_depth = kJsonDepthMax;
  return deep;
}

tl::unexpected<Error> invalid(std::string_view text, const std::string& why) {
  return fail(Code::kInternal, "kube.answer.invalid",
              "what the API server sent is no JSON object: " + why + ", in " + quoted(text, 100),
              "look whether a proxy stands between, and whether the address is that of the API server");
}

}  // namespace

const json::value* find(const json::object& object, JsonPath path) {
  const json::object* at = &object;
  const json::value* found = nullptr;
  for (const std::string_view key : path) {
    if (at == nullptr) return nullptr;
    found = at->if_contains(key);
    if (found == nullptr) return nullptr;
    at = found->if_object();
  }
  return found;
}

std::string_view text_at(const json::object& object, JsonPath path) {
  const json::value* const value = find(object, path);
  const json::string* const text = value != nullptr ? value->if_string() : nullptr;
  return text != nullptr ? std::string_view(text->data(), text->size()) : std::string_view();
}

std::optional<std::int64_t> number_at(const json::object& object, JsonPath path) {
  const json::value* const value = find(object, path);
  const std::int64_t* const number = value != nullptr ? value->if_int64() : nullptr;
  return number != nullptr ? std::optional(*number) : std::nullopt;
}

bool flag_at(const json::object& object, JsonPath path) {
  const json::value* const value = find(object, path);
  const bool* const flag = value != nullptr ? value->if_bool() : nullptr;
  return flag != nullptr && *flag;
}

const json::object* object_at(const json::object& object, JsonPath path) {
  const json::value* const value = find(object, path);
  return value != nullptr ? value->if_object() : nullptr;
}

const json::array* array_at(const json::object& object, JsonPath path) {
  const json::value* const value = find(object, path);
  return value != nullptr ? value->if_array() : nullptr;
}

ObjectMeta meta_of(const json::object& object) {
  const json::object* const metadata = object_at(object, {"metadata"});
  if (metadata == nullptr) return {};
  return {text_at(*metadata, {"namespace"}), text_at(*metadata, {"name"}), text_at(*metadata, {"uid"}),
          text_at(*metadata, {"resourceVersion"})};
}

Result<json::object> parse_object(std::string_view text) {
  json::error_code error;
  json::value value = json::parse(text, error, {}, options());
  if (error) return invalid(text, error.message());
  if (json::object* const object = value.if_object()) return std::move(*object);
  return invalid(text, "it is another kind of value");
}

Result<json::array> parse_array(std::string_view text) {
  json::error_code error;
  json::value value = json::parse(text, error, {}, options());
  if (error) return invalid(text, error.message());
  if (json::array* const array = value.if_array()) return std::move(*array);
  return invalid(text, "it is another kind of value");
}

JsonReader::JsonReader()
    : buffer_(std::make_unique<unsigned char[]>(kBufferBytes)),
      memory_(buffer_.get(), kBufferBytes),
      parser_({}, options()) {}

JsonReader::~JsonReader() = default;

Result<const json::object*> JsonReader::read(std::string_view text) {
  value_.reset();
  parser_.reset(json::storage_ptr());
  memory_.release();
  parser_.reset(json::storage_ptr(&memory_));
  json::error_code error;
  parser_.write(text.data(), text.size(), error);
  if (error) return invalid(text, error.message());
  value_.emplace(parser_.release());
  if (const json::object* const object = value_->if_object()) return object;
  return invalid(text, "it is another kind of value");
}

}  // namespace tangram::kube
