// Jobs: submit, list, show, explain, wait, logs, cancel.
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "server/exchange.h"
#include "server/gate.h"
#include "server/log_stream.h"

namespace tangram::server {
namespace {

constexpr std::int64_t kWaitMsDefault = 30'000;
constexpr std::int64_t kPageDefault = 1'000;

// FNV-1a with the length. It only tells a client's own requests apart, so nobody gains by a collision.
std::string hash_of(std::string_view body) {
  std::uint64_t hash = 14'695'981'039'346'656'037ULL;
  for (const char byte : body) {
    hash ^= static_cast<unsigned char>(byte);
    hash *= 1'099'511'628'211ULL;
  }
  return std::to_string(body.size()) + "-" + std::to_string(hash);
}

Result<service::SubmitRequest> read_submit(const Exchange& exchange) {
  service::SubmitRequest submit;
  TG_TRY(submit.submissions, wire::read_submissions(exchange.request.body));
  submit.idempotency_key = exchange.parameters.text("Idempotency-Key");
  submit.request_hash = hash_of(exchange.request.body);
  return submit;
}

Result<service::JobQuery> read_query(const Parameters& parameters) {
  service::JobQuery jobs;
  jobs.tenant = parameters.text("tenant");
  jobs.after = parameters.text("after");
  jobs.all = parameters.flag("all");
  jobs.limit = static_cast<std::size_t>(parameters.number("limit").value_or(kPageDefault));
  for (const std::string& label : parameters.texts("label")) {
    const auto equals = label.find('=');
    jobs.labels.emplace_back(label.substr(0, equals), label.substr(equals + 1));
  }
  if (const std::string state = parameters.text("state"); !state.empty()) {
    TG_TRY(const JobState parsed, wire::parse_job_state(state, "state"));
    jobs.states.push_back(parsed);
    // Ended jobs are asked for by name here, so they need not be asked for twice.
    jobs.all = jobs.all || parsed == JobState::kEnded;
  }
  return jobs;
}

// Answers at once when the caller may no longer wait; asked as often as a silent stream asks. A wait that
// has been answered, or whose client went away, is forgotten with the next question.
struct WaitCheck {
  service::Service& service;
  const std::function<Result<void>()> may_go_on;
  std::atomic<bool> is_over = false;
  std::function<void()> answer_now = {};
};

void check_later(const std::shared_ptr<WaitCheck>& check) {
  check->service.call_after(check->service.event_silence(), [check] {
    if (check->is_over) return;
    if (!check->may_go_on()) return check->answer_now();
    check_later(check);
  });
}

}  // namespace

void post_jobs(Exchange& exchange) {
  auto submit = read_submit(exchange);
  if (!submit) {
    exchange.responder.send(problem_response(submit.error(), exchange.caller.language));
    return;
  }
  const auto jobs = static_cast<std::int64_t>(submit->submissions.items.size());
  if (exchange.limiter != nullptr && !exchange.caller.is_operator()) {
    exchange.limiter->charge(share_name(exchange.caller), jobs / kJobsPerRequest);
  }
  exchange.service.submit(
      exchange.caller, std::move(*submit),
      [responder = exchange.responder, language = exchange.caller.language](service::Answer answer) mutable {
        responder.send(json_response(answer.status, std::move(answer.body), language));
      });
}

void get_jobs(Exchange& exchange) {
  const auto query = read_query(exchange.parameters);
  exchange.responder.send(
      query ? respond(200, exchange.service.jobs(exchange.caller, *query), exchange.caller.language)
            : problem_response(query.error(), exchange.caller.language));
}

void get_job(Exchange& exchange) {
  exchange.responder.send(
      respond(200, exchange.service.job(exchange.caller, exchange.parts.front()), exchange.caller.language));
}

void get_why(Exchange& exchange) {
  exchange.responder.send(
      respond(200, exchange.service.why(exchange.caller, exchange.parts.front()), exchange.caller.language));
}

void get_wait(Exchange& exchange) {
  const std::chrono::milliseconds timeout(exchange.parameters.number("timeout").value_or(kWaitMsDefault));
  const auto check = std::make_shared<WaitCheck>(exchange.service, still_the_same(exchange));
  // Whoever may not ask any more is told nothing, also when the job ends before anybody looked.
  auto answer_now = exchange.service.wait(
      exchange.caller, exchange.parts.front(), timeout,
      [check, responder = exchange.responder,
       language = exchange.caller.language](const Result<wire::JobView>& job) mutable {
        check->is_over = true;
        const Result<void> allowed = check->may_go_on();
        responder.send(allowed ? respond(200, job, language) : problem_response(allowed.error(), language));
      });
  check->answer_now = answer_now;
  exchange.responder.on_cancel(std::move(answer_now));
  if (timeout > exchange.service.event_silence()) check_later(check);
}

void get_logs(Exchange& exchange) {
  const LogQuery question = read_log_query(exchange.parameters, exchange.request);
  const auto log = exchange.service.log(exchange.caller, exchange.parts.front(), question.attempt);
  if (!log) {
    exchange.responder.send(problem_response(log.error(), exchange.caller.language));
    return;
  }
  stream_log(exchange.service, *log, question, still_the_same(exchange), exchange.caller.language,
             exchange.responder);
}

void post_cancel(Exchange& exchange) {
  exchange.service.cancel(
      exchange.caller, exchange.parts.front(),
      [responder = exchange.responder, language = exchange.caller.language](
          const Result<wire::JobView>& job) mutable { responder.send(respond(202, job, language)); });
}

}  // namespace tangram::server
