#include "wire/errors.h"

#include <algorithm>
#include <array>
#include <optional>

#include "wire/codecs.h"
#include "wire/problem.h"

namespace tangram::wire {
namespace {

struct CodeRow {
  Code code;
  int status;
  int exit_code;
  std::string_view title;
};

constexpr std::array<CodeRow, 15> kCodes = {{
    {Code::kInvalidArgument, 400, kExitBadInput, "Bad input"},
    {Code::kNotFound, 404, kExitNotFound, "Not found"},
    {Code::kAlreadyExists, 409, kExitConflict, "Already exists"},
    {Code::kPermissionDenied, 403, kExitNotAllowed, "Not permitted"},
    {Code::kUnauthenticated, 401, kExitNotAllowed, "Caller not known"},
    {Code::kFailedPrecondition, 409, kExitConflict, "Conflict with the present state"},
    {Code::kPolicyRefused, 422, kExitRefused, "Refused by quota or policy"},
    {Code::kNotNow, 409, kExitNo, "Not possible at present"},
    {Code::kResourceExhausted, 429, kExitUnavailable, "Limit of the service reached"},
    {Code::kAborted, 409, kExitConflict, "Lost a race"},
    {Code::kUnavailable, 503, kExitUnavailable, "Not available"},
    {Code::kDeadlineExceeded, 504, kExitUnavailable, "Too slow"},
    {Code::kDataLoss, 500, kExitUnavailable, "Data lost"},
    {Code::kUnimplemented, 501, kExitRefused, "Not supported by this version"},
    {Code::kInternal, 500, kExitBug, "Bug in the service"},
}};

const CodeRow& row_of(Code code) {
  for (const CodeRow& row : kCodes) {
    if (row.code == code) return row;
  }
  return kCodes.back();
}

std::optional<Code> code_named(std::string_view name) {
  for (const CodeRow& row : kCodes) {
    if (to_string(row.code) == name) return row.code;
  }
  return std::nullopt;
}

std::string code_schema() {
  std::string words;
  for (const CodeRow& row : kCodes) {
    words += (words.empty() ? "\"" : ",\"") + std::string(to_string(row.code)) + '"';
  }
  return R"({"enum":[)" + words + "]}";
}

Error error_of_status(int status, std::string_view body) {
  Error error;
  error.code = code_of_status(status);
  error.reason = "http." + std::to_string(status);
  error.message = "the service answered " + std::to_string(status);
  if (!body.empty()) error.message += ": " + quoted(body, 200);
  return error;
}

}  // namespace

int http_status(const Error& error) {
  if (error.code == Code::kResourceExhausted && error.reason == "input.too_large") return 413;
  if (error.reason == "http.method.unsupported") return 405;
  if (error.reason == "events.cursor.gone") return 410;
  if (error.reason == "http.content_type.unsupported") return 415;
  if (error.reason == "http.content_encoding.unsupported") return 415;
  if (error.reason == "http.expectation.unsupported") return 417;
  return row_of(error.code).status;
}

int exit_code(const Error& error) {
  if (error.code == Code::kNotNow && error.reason.starts_with("quota.")) return kExitRefused;
  return row_of(error.code).exit_code;
}

Code code_of_status(int status) {
  switch (status) {
    case 401:
      return Code::kUnauthenticated;
    case 403:
      return Code::kPermissionDenied;
    case 404:
      return Code::kNotFound;
    case 408:
    case 504:
      return Code::kDeadlineExceeded;
    case 409:
    case 410:
      return Code::kFailedPrecondition;
    case 413:
    case 429:
      return Code::kResourceExhausted;
    case 422:
      return Code::kPolicyRefused;
    case 501:
      return Code::kUnimplemented;
    default:
      return status >= 400 && status < 500 ? Code::kInvalidArgument : Code::kUnavailable;
  }
}

std::string_view status_meaning(int status) {
  switch (status) {
    case 405:
      return "Method not offered here";
    case 409:
      return "Conflict with the present state";
    case 413:
      return "Body too large";
    case 415:
      return "Type of the body not read here";
    case 417:
      return "Expectation not met here";
    case 431:
      return "Header too large";
    default:
      for (const CodeRow& row : kCodes) {
        if (row.status == status) return row.title;
      }
      return "Error";
  }
}

Node problem_node(const Error& error) {
  Node node = Node::object();
  node.add("type", Node::of(std::string("about:blank")));
  node.add("title", Node::of(std::string(row_of(error.code).title)));
  node.add("status", Node::of(std::int64_t{http_status(error)}));
  node.add("code", Node::of(std::string(to_string(error.code))));
  node.add("detail", Node::of(error.to_string()));
  node.add("reason", Node::of(error.reason));
  if (!error.hint.empty()) node.add("hint", Node::of(error.hint));
  if (!error.details.empty()) node.add("details", details_map().write(error.details));
  return node;
}

Error read_problem_node(Reader& reader, const Node& node) {
  Error error;
  if (node.kind != Node::Kind::kObject) {
    reader.wrong_type(node, "a problem document");
    return error;
  }
  const auto take_text = [&](std::string_view name, std::string& into) {
    const Node* value = node.find(name);
    const PathScope scope(reader, name);
    if (value != nullptr) text().read(reader, *value, into);
  };
  const Node* status = node.find("status");
  if (status != nullptr && status->kind == Node::Kind::kInt) {
    error.code = code_of_status(static_cast<int>(std::clamp<std::int64_t>(status->integer, 0, 999)));
  }
  std::string code;
  take_text("code", code);
  error.code = code_named(code).value_or(error.code);
  take_text("detail", error.message);
  take_text("reason", error.reason);
  take_text("hint", error.hint);
  if (const Node* details = node.find("details"); details != nullptr) {
    const PathScope scope(reader, "details");
    details_map().read(reader, *details, error.details);
  }
  return error;
}

DocumentInfo problem_info() {
  const std::string any = text().schema;
  const std::string status = R"({"type":"integer","minimum":400,"maximum":599})";
  return {"Problem",
          "Every error, as application/problem+json.",
          {{"type", "string", true, "always about:blank", R"({"const":"about:blank"})"},
           {"title", "string", true, "the class of the error", any},
           {"status", "integer", true, "the HTTP status", status},
           {"code", "string", true, "the class for machines, \"policy_refused\"", code_schema()},
           {"detail", "string", true, "one sentence with names and numbers", any},
           {"reason", "string", true, "stable token, \"quota.npus.above_limit\"", any},
           {"hint", "string", false, "what to do next", any},
           {"details", "object of strings and integers", false,
            "the numbers, and field, line, column of bad input", details_map().schema}}};
}

std::string write_problem(const Error& error) {
  return to_json(problem_node(error));
}

Error read_problem(int status, std::string_view body) {
  const Result<Node> node = parse_json(body, kBodyBytesMax);
  if (!node || node->kind != Node::Kind::kObject || node->find("detail") == nullptr) {
    return error_of_status(status, body);
  }
  Reader reader(Reading::kTolerant);
  Error error = read_problem_node(reader, *node);
  if (!reader.ok()) return error_of_status(status, body);
  if (node->find("code") == nullptr && node->find("status") == nullptr) error.code = code_of_status(status);
  return error;
}

}  // namespace tangram::wire
