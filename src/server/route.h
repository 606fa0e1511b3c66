// The one table of the API's calls. The server dispatches from it, checks parameters and the caller's rights
// by it, and makes the OpenAPI document of it, so that none of them can drift apart. Private to src/server.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "net/http.h"
#include "wire/api_table.h"

namespace tangram::server {

struct Exchange;

// Who may make a call. What each caller sees of the answer is the service's to say.
enum class Access : std::uint8_t {
  kAnybody,   // also a caller who is not known
  kKnown,     // the operator and viewers, and tenants for what is theirs
  kWriters,   // the same without viewers, who change nothing
  kOverview,  // those who watch over all tenants: the operator and viewers
  kOperator,  // the operator alone
};

struct Route {
  net::Method method = net::Method::kGet;
  Access access = Access::kOperator;
  wire::Operation operation;
  void (*call)(Exchange&) = nullptr;
};

// In the order of the OpenAPI document. A placeholder stands for one segment of a path, and the calls of
// earlier lines win.
const std::vector<Route>& routes();

// The calls of the table as the OpenAPI 3.1 document describes them, made once.
const std::string& openapi_document();

}  // namespace tangram::server
