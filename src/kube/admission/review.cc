#include "kube/admission/review.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <utility>

#include "base/quote.h"
#include "kube/admission/marks.h"
#include "kube/admission/pod.h"
#include "kube/admission/pod_rules.h"
#include "kube/api/json.h"
#include "net/base64.h"

namespace tangram::kube::admission {
namespace {

constexpr std::string_view kApiVersion = "admission.k8s.io/v1";
constexpr std::size_t kUidBytesMax = 128;
constexpr std::size_t kMessageBytesMax = 2'000;
constexpr std::size_t kWarningsMax = 16;
constexpr std::size_t kWarningBytesMax = 250;  // the API server cuts after 256

tl::unexpected<Error> no_review(const std::string& what) {
  return fail(Code::kInvalidArgument, "admission.review.invalid", "the body is no AdmissionReview: " + what,
              "this address is for the API server's webhook, with admissionReviewVersions [\"v1\"]");
}

struct Question {
  std::string uid;
  std::string operation;
  std::string subresource;
  std::string space;
  std::string user;
  const json::object* object = nullptr;
  const json::object* old_object = nullptr;
};

Result<Question> question_of(const json::object& review) {
  if (text_at(review, {"apiVersion"}) != kApiVersion) {
    return no_review("its apiVersion must be " + std::string(kApiVersion));
  }
  const json::object* const request = object_at(review, {"request"});
  if (request == nullptr) return no_review("it has no request");
  Question question;
  question.uid = text_at(*request, {"uid"});
  if (question.uid.empty() || question.uid.size() > kUidBytesMax) return no_review("its request has no uid");
  question.operation = text_at(*request, {"operation"});
  question.subresource = text_at(*request, {"subResource"});
  question.space = text_at(*request, {"namespace"});
  question.user = text_at(*request, {"userInfo", "username"});
  const bool is_pod = text_at(*request, {"resource", "resource"}) == "pods" &&
                      text_at(*request, {"resource", "group"}).empty();
  if (is_pod) {
    question.object = object_at(*request, {"object"});
    question.old_object = object_at(*request, {"oldObject"});
  }
  return question;
}

Result<Admitted> judge(const Settings& settings, const Cluster& cluster, const Question& question) {
  if (question.object == nullptr) {
    return fail(Code::kInvalidArgument, "admission.review.invalid",
                "the review holds no Pod, and this webhook is for Pods alone",
                "correct the rules of the webhook's configuration");
  }
  TG_TRY(const PodView pod, read_pod(*question.object));
  if (question.operation == "CREATE" && question.subresource.empty()) {
    return admit_pod(settings, cluster, question.space, pod);
  }
  if (question.operation != "UPDATE" || question.old_object == nullptr) {
    return fail(Code::kInvalidArgument, "admission.review.invalid",
                "this webhook is for CREATE and UPDATE of Pods, not for " + quoted(question.operation) +
                    " of " + quoted("pods/" + question.subresource),
                "correct the rules of the webhook's configuration");
  }
  const auto& trusted = settings.trusted;
  if (std::find(trusted.begin(), trusted.end(), question.user) != trusted.end()) return Admitted{};
  TG_TRY(const PodView before, read_pod(*question.old_object));
  TG_TRY_VOID(check_marks_kept(before, pod));
  return Admitted{};
}

// What the API server tells whoever asked: status and word of metav1.Status.
std::pair<int, std::string_view> status_of(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
    case Code::kUnimplemented:
      return {422, "Invalid"};
    case Code::kNotNow:
    case Code::kUnavailable:
    case Code::kDeadlineExceeded:
    case Code::kAborted:
      return {503, "ServiceUnavailable"};
    case Code::kResourceExhausted:
      return {429, "TooManyRequests"};
    case Code::kInternal:
    case Code::kDataLoss:
      return {500, "InternalError"};
    case Code::kNotFound:
    case Code::kAlreadyExists:
    case Code::kPermissionDenied:
    case Code::kUnauthenticated:
    case Code::kFailedPrecondition:
    case Code::kPolicyRefused:
      return {403, "Forbidden"};
  }
  return {500, "InternalError"};
}

json::object refusal(const Error& error) {
  std::string message = error.to_string();
  if (!error.hint.empty()) message += "; " + error.hint;
  message = std::string(cut_text(message, kMessageBytesMax)) + " (" + error.reason + ")";
  const auto [status, word] = status_of(error.code);
  json::object body{{"code", status}, {"message", std::move(message)}, {"reason", word}};
  json::object response{{"allowed", false}};
  response["status"] = std::move(body);
  return response;
}

json::object consent(const Admitted& admitted) {
  json::object response{{"allowed", true}};
  if (!admitted.patch.empty()) {
    response["patchType"] = "JSONPatch";
    response["patch"] = net::encode_base64(json::serialize(admitted.patch));
  }
  json::array warnings;
  for (const std::string& warning : admitted.warnings) {
    if (warnings.size() < kWarningsMax)
      warnings.push_back(json::value(std::string(cut_text(warning, kWarningBytesMax))));
  }
  if (!warnings.empty()) response["warnings"] = std::move(warnings);
  if (!admitted.granted.empty()) response["auditAnnotations"] = json::object{{"granted", admitted.granted}};
  return response;
}

}  // namespace

Result<std::string> answer_review(const Settings& settings, const Cluster& cluster, std::string_view body) {
  if (body.size() > kReviewBytesMax) return no_review("it is longer than 8 MiB");
  const Result<json::object> review = parse_object(body);
  if (!review) return no_review("it is no JSON object");
  TG_TRY(const Question question, question_of(*review));
  const Result<Admitted> admitted = judge(settings, cluster, question);
  json::object response = admitted ? consent(*admitted) : refusal(admitted.error());
  response["uid"] = question.uid;
  json::object answer{{"apiVersion", kApiVersion}, {"kind", "AdmissionReview"}};
  answer["response"] = std::move(response);
  return json::serialize(answer);
}

}  // namespace tangram::kube::admission
