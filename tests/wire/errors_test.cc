#include "wire/errors.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace tangram::wire {
namespace {

struct Row {
  Code code;
  int status;
  int exit_code;
};

constexpr std::array<Row, 15> kRows = {{{Code::kInvalidArgument, 400, 2},
                                        {Code::kNotFound, 404, 4},
                                        {Code::kAlreadyExists, 409, 7},
                                        {Code::kPermissionDenied, 403, 5},
                                        {Code::kUnauthenticated, 401, 5},
                                        {Code::kFailedPrecondition, 409, 7},
                                        {Code::kPolicyRefused, 422, 3},
                                        {Code::kNotNow, 409, 1},
                                        {Code::kResourceExhausted, 429, 6},
                                        {Code::kAborted, 409, 7},
                                        {Code::kUnavailable, 503, 6},
                                        {Code::kDeadlineExceeded, 504, 6},
                                        {Code::kDataLoss, 500, 6},
                                        {Code::kUnimplemented, 501, 3},
                                        {Code::kInternal, 500, 70}}};

Error error_of(Code code, std::string reason = "some.reason") {
  return Error{code,   std::move(reason), "a message", "a hint", {{"used", std::int64_t{4}}, {"tenant", "a"}},
               nullptr};
}

// Without it scripts could not rely on exit codes, nor proxies on statuses.
TEST(Errors, StatusAndExitCodeOfEveryCode) {
  for (const Row& row : kRows) {
    EXPECT_EQ(http_status(error_of(row.code)), row.status) << to_string(row.code);
    EXPECT_EQ(exit_code(error_of(row.code)), row.exit_code) << to_string(row.code);
  }
}

// Without it `--no-wait` could not tell "busy just now" (1) from "over the quota" (3).
TEST(Errors, NotNowByQuotaIsARefusal) {
  EXPECT_EQ(exit_code(error_of(Code::kNotNow, "capacity.npus.busy")), kExitNo);
  EXPECT_EQ(exit_code(error_of(Code::kNotNow, "quota.npus.exceeded")), kExitRefused);
}

// Without it a body that is too large would look like a client that sends too often.
TEST(Errors, TooLargeIs413) {
  const Error error = error_of(Code::kResourceExhausted, "input.too_large");
  EXPECT_EQ(http_status(error), 413);
  EXPECT_EQ(exit_code(error), kExitUnavailable);
}

// Without it a client could not tell a cursor that is too old from a conflict that passes.
TEST(Errors, AGoneCursorIs410) {
  const Error error = error_of(Code::kFailedPrecondition, "events.cursor.gone");
  EXPECT_EQ(http_status(error), 410);
  EXPECT_EQ(exit_code(error), kExitConflict);
  EXPECT_EQ(code_of_status(410), Code::kFailedPrecondition);
}

// Without it the client would show, and act on, another error than the one the service had.
TEST(Errors, ProblemRoundTrips) {
  for (const Row& row : kRows) {
    const Error error = error_of(row.code);
    const Error back = read_problem(row.status, write_problem(error));
    EXPECT_EQ(back.code, error.code);
    EXPECT_EQ(back.reason, error.reason);
    EXPECT_EQ(back.message, error.message);
    EXPECT_EQ(back.hint, error.hint);
    EXPECT_EQ(back.details, error.details);
  }
}

// Without it the document could change under clients in other languages.
TEST(Errors, GoldenProblem) {
  const Error error = wrap("cannot submit", error_of(Code::kPolicyRefused, "quota.npus.above_limit"));
  EXPECT_EQ(
      write_problem(error),
      R"({"type":"about:blank","title":"Refused by quota or policy","status":422,"code":"policy_refused",)"
      R"("detail":"cannot submit: a message","reason":"quota.npus.above_limit","hint":"a hint",)"
      R"("details":{"used":4,"tenant":"a"}})");
}

// Without it a proxy's error page or a broken daemon would crash the client or be shown as success.
TEST(Errors, AnswersThatAreNoProblem) {
  const Error page = read_problem(502, "<html>\x1b[2J bad gateway" + std::string(10'000, 'x'));
  EXPECT_EQ(page.code, Code::kUnavailable);
  EXPECT_EQ(page.reason, "http.502");
  EXPECT_LT(page.message.size(), 400U);
  EXPECT_EQ(page.message.find('\x1b'), std::string::npos);
  EXPECT_EQ(read_problem(404, "").code, Code::kNotFound);
  EXPECT_EQ(read_problem(500, "[]").code, Code::kUnavailable);
  EXPECT_EQ(read_problem(403, R"({"detail":7})").code, Code::kPermissionDenied);
  EXPECT_EQ(read_problem(409, R"({"detail":"x","status":409,"code":"from_the_future"})").code,
            Code::kFailedPrecondition);
  EXPECT_EQ(read_problem(429, R"({"detail":"slow down"})").code, Code::kResourceExhausted);
}

}  // namespace
}  // namespace tangram::wire
