#include "kube/api/failure.h"

#include <gtest/gtest.h>

#include "kube_api/api_server.h"

namespace tangram::kube {
namespace {

using std::chrono::milliseconds;

Error from(int status, const std::string& body, net::Headers headers = {}) {
  return failure_from_answer(net::Response{status, std::move(headers), body}, "patch pods team-a/train-0");
}

// Without this, callers could not tell "read again" from "try later" from "never".
TEST(Failure, TellsTheAnswersApart) {
  struct Case {
    int status;
    std::string reason;
    Failure expected;
    Code code;
  };
  for (const Case& test : {Case{400, "BadRequest", Failure::kOther, Code::kInvalidArgument},
                           Case{401, "Unauthorized", Failure::kUnauthorized, Code::kUnauthenticated},
                           Case{403, "Forbidden", Failure::kForbidden, Code::kPermissionDenied},
                           Case{404, "NotFound", Failure::kNotFound, Code::kNotFound},
                           Case{405, "MethodNotAllowed", Failure::kOther, Code::kInvalidArgument},
                           Case{409, "AlreadyExists", Failure::kAlreadyExists, Code::kAlreadyExists},
                           Case{409, "Conflict", Failure::kConflict, Code::kAborted},
                           Case{410, "Expired", Failure::kGone, Code::kAborted},
                           Case{410, "Gone", Failure::kGone, Code::kAborted},
                           Case{413, "RequestEntityTooLarge", Failure::kOther, Code::kInvalidArgument},
                           Case{422, "Invalid", Failure::kInvalid, Code::kInvalidArgument},
                           Case{429, "TooManyRequests", Failure::kTooManyRequests, Code::kResourceExhausted},
                           Case{500, "InternalError", Failure::kUnavailable, Code::kUnavailable},
                           Case{503, "ServiceUnavailable", Failure::kUnavailable, Code::kUnavailable},
                           Case{504, "Timeout", Failure::kTimeout, Code::kDeadlineExceeded}}) {
    const Error error = from(test.status, status_body(test.status, test.reason, "because of this"));
    EXPECT_EQ(failure_of(error), test.expected) << test.status;
    EXPECT_EQ(error.reason, reason_of(test.expected));
    EXPECT_EQ(error.code, test.code) << test.status;
    EXPECT_NE(error.message.find("patch pods team-a/train-0"), std::string::npos) << error.message;
    EXPECT_NE(error.message.find("because of this"), std::string::npos) << error.message;
  }
  EXPECT_EQ(failure_of(Error{Code::kInternal, "quota.npus.exceeded", "", "", {}, nullptr}), Failure::kOther);
}

// Without this, an eviction that a budget forbids would be tried again as if the server were busy.
TEST(Failure, KnowsABudgetFromABusyServer) {
  const std::string budget =
      R"({"causes":[{"reason":"Other"},{"reason":"DisruptionBudget","message":"needs 2 healthy pods"}]})";
  EXPECT_EQ(failure_of(from(429, status_body(429, "TooManyRequests", "no", budget))), Failure::kBudget);
  EXPECT_TRUE(is_transient(Failure::kBudget));
  EXPECT_FALSE(is_transient(Failure::kConflict));
}

// Without this, a client would come back too early, or a mistake of a server would silence it for days.
TEST(Failure, HearsWhenToComeBack) {
  const auto after = [](const Error& error) { return retry_after(error).value_or(milliseconds(-1)).count(); };
  EXPECT_EQ(after(from(429, "", {{"Retry-After", "3"}})), 3'000);
  EXPECT_EQ(after(from(429, status_body(429, "", "", R"({"retryAfterSeconds":2})"))), 2'000);
  EXPECT_EQ(after(from(429, status_body(429, "", "", R"({"retryAfterSeconds":2})"), {{"Retry-After", "9"}})),
            9'000);
  EXPECT_EQ(after(from(429, "", {{"Retry-After", "99999999999"}})), 300'000);
  EXPECT_EQ(after(from(429, "", {{"Retry-After", "Fri, 31 Dec 1999 23:59:59 GMT"}})), -1);
  EXPECT_EQ(after(from(429, "", {{"Retry-After", "-4"}})), -1);
  EXPECT_EQ(after(from(503, status_body(503, "", "", R"({"retryAfterSeconds":"x"})"))), -1);
}

// Without this, the page of a load balancer would hide which answer it was, or end up whole in the log.
TEST(Failure, ShowsAnyAnswerInOneBoundedLine) {
  for (const std::string& body : {std::string("<html>\n<b>bad\x01 gateway</b>"), std::string(),
                                  std::string(100'000, '\xff'), std::string(R"({"kind":"Pod"})")}) {
    const Error error = from(502, body);
    EXPECT_EQ(failure_of(error), Failure::kUnavailable);
    EXPECT_LT(error.message.size(), 4'000U);
    EXPECT_EQ(error.message.find('\n'), std::string::npos);
    EXPECT_EQ(error.message.find('\x01'), std::string::npos);
  }
}

// Without this, an ERROR in the middle of a watch would be worth less than the same answer to a request.
TEST(Failure, ReadsAStatusInAStream) {
  const auto status = parse_object(status_body(410, "Expired", "The resourceVersion is too old"));
  EXPECT_EQ(failure_of(failure_from_status(*status, "watch pods")), Failure::kGone);
  const auto odd = parse_object(R"({"kind":"Status","reason":"Expired"})");
  EXPECT_EQ(failure_of(failure_from_status(*odd, "watch pods")), Failure::kGone);
  const auto nothing = parse_object("{}");
  EXPECT_EQ(failure_of(failure_from_status(*nothing, "watch pods")), Failure::kUnavailable);
}

// Without this, a broken network would look like a refusal.
TEST(Failure, TellsTheWayFromTheServer) {
  const auto of = [](const char* reason) {
    return failure_of(
        failure_from_way(Error{Code::kInternal, reason, "x", "", {}, nullptr}, "get pods", "here"));
  };
  EXPECT_EQ(of("client.timeout"), Failure::kTimeout);
  EXPECT_EQ(of("client.interrupted"), Failure::kInterrupted);
  EXPECT_EQ(of("client.unreachable"), Failure::kConnection);
  EXPECT_EQ(of("client.connection_lost"), Failure::kConnection);
  EXPECT_EQ(of("client.tls.untrusted"), Failure::kConnection);
  EXPECT_EQ(of("client.answer.too_large"), Failure::kUnreadable);
  EXPECT_EQ(of("client.request.invalid"), Failure::kOther);
}

}  // namespace
}  // namespace tangram::kube
