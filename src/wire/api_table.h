// The calls of the API as data: what a server routes and checks by, and what the OpenAPI document tells. The
// calls themselves stand in one table of src/server; the documents they name are those of schema.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tangram::wire {

enum class ParameterType : std::uint8_t {
  kText,            // any; `least` and `most`: its length
  kInteger,         // from `least` to `most`
  kFlag,            // true or false
  kDuration,        // "30s", from `least` to `most` milliseconds
  kJobState,        // a word of JobState
  kJobId,           // "j-17"
  kLabel,           // KEY=VALUE
  kIdempotencyKey,  // 1 to 128 printable characters without spaces
  kCursor,          // "1042.0"
  kCursorOrOldest,  // that, or "oldest"
  kEventType,       // "job.running", "job.*"
  kBytes,           // "16GiB", more than nothing
  kRate,            // "1Gbps"
  kPriority,        // a word of Priority
};

struct Parameter {
  std::string_view name;
  ParameterType type = ParameterType::kText;
  std::string_view doc = {};
  std::int64_t least = 0;
  std::int64_t most = 0;  // kText: 0 is no bound
  bool repeatable = false;
};

inline constexpr std::string_view kMediaJson = "application/json";
inline constexpr std::string_view kMediaYaml = "application/yaml";
inline constexpr std::string_view kMediaText = "text/plain";
inline constexpr std::string_view kMediaEvents = "text/event-stream";

// A body in one of its forms. `schema` names a document of schema.h; empty: any object of JSON, else any
// text. Of events it is what their data holds.
struct Content {
  std::string_view media;
  std::string_view schema = {};
};

struct AnswerInfo {
  int status = 200;
  std::string_view doc = {};
  std::vector<Content> contents = {};   // none: no body
  std::vector<Parameter> headers = {};  // further ones of the answer
};

struct Operation {
  std::string_view path;  // "/v1/jobs/{job}/why"
  std::string_view id;    // "explainJob": names functions of generated clients, so it never changes
  std::string_view summary;
  std::vector<Parameter> path_parameters = {};
  std::vector<Parameter> query = {};
  std::vector<Parameter> headers = {};
  std::vector<Content> body = {};  // the first form is meant when the client names none
  std::vector<AnswerInfo> answers = {};
  std::vector<int> problems = {};  // statuses of errors of this call, beside those of every call
};

}  // namespace tangram::wire
