// Jobs: submit, list, show, explain, wait, logs, cancel.
#include <algorithm>
#include <chrono>

#include "server/exchange.h"
#include "server/log_stream.h"
#include "server/parameters.h"

namespace tangram::server {
namespace {

constexpr std::int64_t kWaitMsMax = 60'000;
constexpr std::int64_t kWaitMsDefault = 30'000;
constexpr std::int64_t kPageMax = 1'000;
constexpr std::size_t kKeyLengthMax = 128;

Result<std::string> idempotency_key(const net::Request& request) {
  const auto key = request.headers.get("Idempotency-Key");
  if (!key) return std::string();
  const bool printable = std::all_of(key->begin(), key->end(), [](char c) { return c > ' ' && c <= '~'; });
  if (key->empty() || key->size() > kKeyLengthMax || !printable) {
    return fail(Code::kInvalidArgument, "input.bad_value",
                "Idempotency-Key must be 1 to 128 printable characters without spaces", "a UUID does well");
  }
  return std::string(*key);
}

// FNV-1a with the length. It only tells a client's own requests apart, so nobody gains by a collision.
std::string hash_of(std::string_view body) {
  std::uint64_t hash = 14'695'981'039'346'656'037ULL;
  for (const char byte : body) {
    hash ^= static_cast<unsigned char>(byte);
    hash *= 1'099'511'628'211ULL;
  }
  return std::to_string(body.size()) + "-" + std::to_string(hash);
}

Result<service::SubmitRequest> read_submit(const net::Request& request) {
  service::SubmitRequest submit;
  const auto type = request.headers.get("Content-Type");
  if (type && type->substr(0, type->find(';')) != "application/json") {
    return fail(Code::kInvalidArgument, "http.content_type.unsupported",
                "Content-Type " + std::string(type->substr(0, 64)) + " is not read here",
                "send application/json");
  }
  TG_TRY(submit.idempotency_key, idempotency_key(request));
  TG_TRY(submit.submissions, wire::read_submissions(request.body));
  submit.request_hash = hash_of(request.body);
  return submit;
}

Result<service::JobQuery> read_query(const net::Query& query) {
  TG_TRY_VOID(check_parameters(query, {"tenant", "label", "state", "all", "limit", "after"}, "label"));
  service::JobQuery jobs;
  jobs.tenant = text_parameter(query, "tenant");
  jobs.after = text_parameter(query, "after");
  TG_TRY(jobs.all, flag_parameter(query, "all"));
  TG_TRY(const auto limit, number_parameter(query, "limit", 1, kPageMax));
  jobs.limit = static_cast<std::size_t>(limit.value_or(kPageMax));
  for (const std::string_view label : query.all("label")) {
    const auto equals = label.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      return fail(Code::kInvalidArgument, "input.bad_value",
                  "label: \"" + std::string(label.substr(0, 64)) + "\" is not KEY=VALUE");
    }
    jobs.labels.emplace_back(label.substr(0, equals), label.substr(equals + 1));
  }
  if (const auto state = query.get("state")) {
    TG_TRY(const JobState parsed, wire::parse_job_state(*state, "state"));
    jobs.states.push_back(parsed);
    // Ended jobs are asked for by name here, so they need not be asked for twice.
    jobs.all = jobs.all || parsed == JobState::kEnded;
  }
  return jobs;
}

Result<std::chrono::milliseconds> read_timeout(const net::Query& query) {
  TG_TRY_VOID(check_parameters(query, {"timeout"}));
  const auto text = query.get("timeout");
  if (!text) return std::chrono::milliseconds(kWaitMsDefault);
  TG_TRY(const std::int64_t timeout_ms, parse_duration_ms(*text, "timeout"));
  if (timeout_ms > kWaitMsMax) {
    return fail(
        Code::kInvalidArgument, "input.out_of_range",
        "timeout: " + format_duration_ms(timeout_ms) + " is more than " + format_duration_ms(kWaitMsMax),
        "wait again when the time is over");
  }
  return std::chrono::milliseconds(timeout_ms);
}

}  // namespace

void post_jobs(Exchange& exchange) {
  auto submit = read_submit(exchange.request);
  if (!submit) {
    exchange.responder.send(problem_response(submit.error()));
    return;
  }
  exchange.service.submit(exchange.caller, std::move(*submit),
                          [responder = exchange.responder](service::Answer answer) mutable {
                            responder.send(json_response(answer.status, std::move(answer.body)));
                          });
}

void get_jobs(Exchange& exchange) {
  const auto query = read_query(exchange.request.query);
  exchange.responder.send(query ? respond(200, exchange.service.jobs(exchange.caller, *query))
                                : problem_response(query.error()));
}

void get_job(Exchange& exchange) {
  exchange.responder.send(respond(200, exchange.service.job(exchange.caller, exchange.parts.front())));
}

void get_why(Exchange& exchange) {
  exchange.responder.send(respond(200, exchange.service.why(exchange.caller, exchange.parts.front())));
}

void get_wait(Exchange& exchange) {
  const auto timeout = read_timeout(exchange.request.query);
  if (!timeout) {
    exchange.responder.send(problem_response(timeout.error()));
    return;
  }
  auto answer_now =
      exchange.service.wait(exchange.caller, exchange.parts.front(), *timeout,
                            [responder = exchange.responder](const Result<wire::JobView>& job) mutable {
                              responder.send(respond(200, job));
                            });
  exchange.responder.on_cancel(std::move(answer_now));
}

void get_logs(Exchange& exchange) {
  const auto question = read_log_query(exchange.request.query);
  if (!question) {
    exchange.responder.send(problem_response(question.error()));
    return;
  }
  const auto log = exchange.service.log(exchange.caller, exchange.parts.front(), question->attempt);
  if (!log) {
    exchange.responder.send(problem_response(log.error()));
    return;
  }
  stream_log(exchange.service, *log, *question, exchange.responder);
}

void post_cancel(Exchange& exchange) {
  exchange.service.cancel(exchange.caller, exchange.parts.front(),
                          [responder = exchange.responder](const Result<wire::JobView>& job) mutable {
                            responder.send(respond(202, job));
                          });
}

}  // namespace tangram::server
