// What an Error is to HTTP and to the shell, and its form on the wire: application/problem+json (RFC 9457).
// Thread-safe: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/result.h"

namespace tangram::wire {

// Exit codes of the programs.
inline constexpr int kExitOk = 0;
inline constexpr int kExitNo =
    1;  // the answer is no: not startable now, the job failed, the diff is not empty
inline constexpr int kExitBadInput = 2;
inline constexpr int kExitRefused = 3;  // by quota or policy
inline constexpr int kExitNotFound = 4;
inline constexpr int kExitNotAllowed = 5;   // not known, or not permitted
inline constexpr int kExitUnavailable = 6;  // not reachable, 413, 429, 5xx
inline constexpr int kExitConflict = 7;
inline constexpr int kExitBug = 70;

// 400, 401, 403, 404, 405, 409, 410, 413, 415, 417, 422, 429, 500, 501, 503 or 504.
int http_status(const Error& error);

int exit_code(const Error& error);

// What a status of an error means here, for people: "Bad input".
std::string_view status_meaning(int status);

// For an answer that carries no problem document (a proxy, a broken daemon).
Code code_of_status(int status);

// {"type","title","status","code","detail","reason","hint","details"}; causes are folded into the detail.
std::string write_problem(const Error& error);

// The Error of an answer. A body that is no problem document gives an Error made from the status alone, with
// the first bytes of the body in its message.
Error read_problem(int status, std::string_view body);

}  // namespace tangram::wire
