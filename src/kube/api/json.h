// Reading the API's JSON: one object at a time, into memory that is used again. What is kept of an object is
// what an extractor copies out of it; a tree of it (some 40 KB for a Pod) lives only during the call.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parser.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tangram::kube {

namespace json = boost::json;

// Deeper than any object of the API (a schema of a custom resource comes to about 40).
inline constexpr std::size_t kJsonDepthMax = 96;

using JsonPath = std::initializer_list<std::string_view>;

// Null when it is not there, or something on the way is no object.
const json::value* find(const json::object& object, JsonPath path);
// Empty when it is not there or is something else. The view lives as long as the object.
std::string_view text_at(const json::object& object, JsonPath path);
std::optional<std::int64_t> number_at(const json::object& object, JsonPath path);
bool flag_at(const json::object& object, JsonPath path);  // false when it is not there
const json::object* object_at(const json::object& object, JsonPath path);
const json::array* array_at(const json::object& object, JsonPath path);

// What every object says of itself, as views into it. A resource version is opaque: it is only compared for
// equality and sent back.
struct ObjectMeta {
  std::string_view space;  // namespace
  std::string_view name;
  std::string_view uid;
  std::string_view resource_version;
};
ObjectMeta meta_of(const json::object& object);

// kInternal "kube.answer.invalid" for what is no JSON object. For single documents; see JsonReader for many.
Result<json::object> parse_object(std::string_view text);
// The same for a JSON list.
Result<json::array> parse_array(std::string_view text);

// Not thread-safe.
class JsonReader {
 public:
  JsonReader();
  ~JsonReader();
  JsonReader(const JsonReader&) = delete;
  JsonReader& operator=(const JsonReader&) = delete;

  // Valid until the next call. Errors as parse_object().
  Result<const json::object*> read(std::string_view text);

 private:
  static constexpr std::size_t kBufferBytes = std::size_t{128} * 1024;

  std::unique_ptr<unsigned char[]> buffer_;
  json::monotonic_resource memory_;
  json::parser parser_;
  std::optional<json::value> value_;
};

}  // namespace tangram::kube
