#include "kube/extender/extender.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/log.h"
#include "net/problem.h"

namespace tangram::kube::extender {
namespace {

using metrics::CallOutcome;
using metrics::Verb;

constexpr std::string_view kFilter = "/filter";
constexpr std::string_view kPrioritize = "/prioritize";
constexpr std::string_view kBind = "/bind";
constexpr std::string_view kNotAdmitted = "kube.pod.not_admitted";
constexpr std::int64_t kFitScoreMax = 100;  // of Fit

net::Response json_answer(std::string body) {
  net::Response response;
  response.headers.set("Content-Type", "application/json");
  response.body = std::move(body);
  return response;
}

net::Response refusal(int status, const Error& error) {
  return net::problem(status, error.reason, error.message, error.hint);
}

// One word for all nodes with the same reason: the scheduler counts equal ones together.
std::string_view why_not(const Fit& fit) {
  if (!fit.reason.empty()) return fit.reason;
  return fit.message.empty() ? std::string_view("NodeUnfitPod") : std::string_view(fit.message);
}

std::string answer_of(const Question& question, const std::vector<Fit>& fits) {
  FilterAnswer answer;
  for (std::size_t i = 0; i < fits.size(); ++i) {
    if (fits[i].fits) {
      answer.fitting.push_back(question.nodes[i]);
    } else {
      (fits[i].unresolvable ? answer.unresolvable : answer.refused)
          .push_back({question.nodes[i], why_not(fits[i])});
    }
  }
  return write_filter(answer);
}

// No node helps, and no preemption.
std::string fits_nowhere(const Question& question, std::string_view why) {
  FilterAnswer answer;
  for (const std::string& node : question.nodes) answer.unresolvable.push_back({node, why});
  return write_filter(answer);
}

Error wants_names() {
  return {Code::kFailedPrecondition,
          "kube.extender.whole_nodes",
          "the scheduler sends whole nodes, and their names are enough",
          "set nodeCacheCapable: true for this extender in the KubeSchedulerConfiguration",
          {},
          nullptr};
}

Error wrong_count() {
  return {Code::kInternal, "kube.extender.mismatch", "the book has answered for other nodes", {}, {},
          nullptr};
}

bool is_refusal(const Error& error) {
  return error.code == Code::kNotNow || error.code == Code::kFailedPrecondition;
}

std::int64_t score_of(const Fit& fit) {
  if (!fit.fits) return 0;
  const std::int64_t score = std::clamp(fit.score, std::int64_t{0}, kFitScoreMax);
  return (score * kScoreMax + kFitScoreMax / 2) / kFitScoreMax;
}

}  // namespace

Extender::Extender(Placer& placer, ApiClient& client, ExtenderOptions options)
    : placer_(placer),
      binder_(placer, client, notes_, std::move(options.bind)),
      binds_(std::max<std::size_t>(options.bind_threads, 2)) {}

Extender::~Extender() {
  finish();
}

void Extender::finish() {
  binds_.finish();
}

bool Extender::is_path(std::string_view path) {
  return path == kFilter || path == kPrioritize || path == kBind;
}

void Extender::handle(const net::Request& request, net::Responder responder) {
  const Clock::time_point begun = Clock::now();
  if (!is_path(request.path)) {
    return responder.send(net::problem(404, "http.path.unknown", "there is no such path here"));
  }
  if (request.method != net::Method::kPost) {
    return responder.send(net::problem(405, "http.method.unsupported", "an extender is called with POST"));
  }
  if (!request.headers.get("Content-Type").value_or("").starts_with("application/json")) {
    return responder.send(
        net::problem(415, "http.content_type.unsupported", "the body must be application/json"));
  }
  if (request.path == kBind) return bind(request, std::move(responder), begun);
  const bool is_filter = request.path == kFilter;
  Outcome outcome = is_filter ? filter(request) : prioritize(request);
  meters_.count(is_filter ? Verb::kFilter : Verb::kPrioritize, outcome.outcome, Clock::now() - begun);
  responder.send(std::move(outcome.response));
}

Extender::Outcome Extender::filter(const net::Request& request) {
  Result<Question> question = read_question(request.body);
  if (!question) return {refusal(400, question.error()), CallOutcome::kFailed};
  if (!question->asks_for_npus) return {json_answer(write_all_pass(*question)), CallOutcome::kOk};
  return filter_known(*question);
}

Extender::Outcome Extender::filter_known(Question& question) {
  if (!question.node_list.is_null()) {
    return {json_answer(write_filter_error(wants_names())), CallOutcome::kFailed};
  }
  const Result<std::vector<Fit>> fits = placer_.filter(question.pod, question.nodes);
  if (!fits && fits.error().reason == kNotAdmitted) {
    return {json_answer(fits_nowhere(question, fits.error().message)), CallOutcome::kRefused};
  }
  if (!fits) return {json_answer(write_filter_error(fits.error())), CallOutcome::kFailed};
  if (fits->size() != question.nodes.size()) {
    return {json_answer(write_filter_error(wrong_count())), CallOutcome::kFailed};
  }
  const bool any = std::any_of(fits->begin(), fits->end(), [](const Fit& fit) { return fit.fits; });
  std::string answer = answer_of(question, *fits);
  // A binding follows only where something fits.
  if (any) notes_.put(question.pod.uid, std::move(question.note));
  return {json_answer(std::move(answer)), any ? CallOutcome::kOk : CallOutcome::kRefused};
}

Extender::Outcome Extender::prioritize(const net::Request& request) {
  const Result<Question> question = read_question(request.body);
  if (!question) return {refusal(400, question.error()), CallOutcome::kFailed};
  std::vector<std::int64_t> scores(question->nodes.size(), 0);
  if (question->asks_for_npus) {
    const Result<std::vector<Fit>> fits = placer_.filter(question->pod, question->nodes);
    // Without scores the scheduler goes by its own.
    if (!fits) return {refusal(503, fits.error()), CallOutcome::kFailed};
    for (std::size_t i = 0; i < fits->size() && i < scores.size(); ++i) scores[i] = score_of((*fits)[i]);
  }
  return {json_answer(write_scores(question->nodes, scores)), CallOutcome::kOk};
}

void Extender::bind(const net::Request& request, net::Responder responder, Clock::time_point begun) {
  const Result<BindCall> call = read_bind(request.body);
  if (!call) {
    meters_.count(Verb::kBind, CallOutcome::kFailed, Clock::now() - begun);
    return responder.send(refusal(400, call.error()));
  }
  binds_.submit(call->pod.space, [this, call = *call, responder = std::move(responder), begun]() mutable {
    const Result<void> bound = binder_.bind(call.pod, call.node);
    if (!bound) {
      log::warn("cannot bind Pod " + call.pod.space + "/" + call.pod.name + " to node " + call.node + ": " +
                bound.error().to_string());
    }
    const CallOutcome failure =
        !bound && is_refusal(bound.error()) ? CallOutcome::kRefused : CallOutcome::kFailed;
    meters_.count(Verb::kBind, bound ? CallOutcome::kOk : failure, Clock::now() - begun);
    responder.send(json_answer(bound ? write_bound() : write_bind_error(bound.error())));
  });
}

}  // namespace tangram::kube::extender
