// The OpenAPI 3.1 document: calls and documents as machines read them. Thread-safe: pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wire/api_table.h"

namespace tangram::wire {

// A call as a server offers it.
struct Call {
  std::string_view method;     // "GET"
  const Operation* operation;  // not null
  std::string_view who;        // may make it, for people
  std::vector<int> problems;   // every status of an error
  bool is_public = false;      // nobody needs a token for it
};

// JSON. `version` is that of the daemon. Every document that a call names, directly or inside of another,
// must be one of schema.h, or "Submission", "BatchAnswer", "Document" or "Documents", which stand for the
// forms of a body that has several.
std::string write_openapi(std::string_view version, std::span<const Call> calls);

}  // namespace tangram::wire
