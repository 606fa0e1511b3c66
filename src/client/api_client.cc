#include "client/api_client.h"

#include <charconv>
#include <limits>
#include <utility>

#include "client/patience.h"
#include "net/base64.h"
#include "net/client.h"
#include "net/server_events.h"
#include "wire/errors.h"

namespace tangram::client {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kLeases = "/v1/leases/";
constexpr std::string_view kIdempotencyKey = "Idempotency-Key";
constexpr std::string_view kEventStream = "text/event-stream";
// The service gives a sign of life much more often.
constexpr milliseconds kSilenceMax{45'000};

// The server says something every five seconds.
constexpr milliseconds kLeaseSilence{20'000};

// tenant/name is one segment: its slash is escaped.
std::string job_path(std::string_view job, std::string_view action, std::string_view folder = "/v1/jobs/") {
  std::string path = std::string(folder) + net::encode_segment(job);
  if (!action.empty()) path.append("/").append(action);
  return path;
}

Result<void> require_name(std::string_view name, std::string_view what) {
  if (!name.empty()) return {};
  return fail(Code::kInvalidArgument, "client.name.empty",
              "the name of the " + std::string(what) + " is empty");
}

net::Query query_of(const EventQuery& events) {
  net::Query query;
  if (!events.tenant.empty()) query.add("tenant", events.tenant);
  if (!events.job.empty()) query.add("job", events.job);
  if (events.npu) query.add("npu", std::to_string(*events.npu));
  for (const std::string& type : events.types) query.add("type", type);
  return query;
}

// What a stream ends with that the server may not go on with: no status of HTTP is left for it.
Error problem_in(const net::ServerEvent& event) {
  return wire::read_problem(500, event.data);
}

// The Error of an answer that is none. How long the server wants to be left alone stands beside the problem;
// a date there (nobody of ours sends one) is passed over.
Error problem_of(const net::Response& response) {
  Error error = wire::read_problem(response.status, response.body);
  const std::string_view text = response.headers.get("Retry-After").value_or("");
  std::uint32_t seconds = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (text.empty() || problem == std::errc::invalid_argument || end != text.data() + text.size())
    return error;
  // Longer than can be counted is as long as can be, not no time at all.
  if (problem == std::errc::result_out_of_range) seconds = std::numeric_limits<std::uint32_t>::max();
  std::erase_if(error.details, [](const auto& detail) { return detail.first == kRetryAfterMs; });
  error.details.emplace_back(kRetryAfterMs, std::int64_t{seconds} * 1'000);
  return error;
}

// Behind a piece of a log. One that lies before what was read would have its reader take the same bytes again
// and again.
Result<std::int64_t> log_position(std::string_view id, std::int64_t before) {
  if (id.empty()) return before;
  std::int64_t position = 0;
  const auto [end, problem] = std::from_chars(id.data(), id.data() + id.size(), position);
  if (problem == std::errc{} && end == id.data() + id.size() && position >= before) return position;
  return fail(Code::kInternal, "client.answer.invalid", "the service's log goes back to where it was read");
}

Error stream_ended() {
  return {
      Code::kUnavailable, "client.connection_lost", "the daemon ended the stream", "ask again", {}, nullptr};
}

}  // namespace

struct ApiClient::Impl {
  Impl(net::ClientOptions http_options, const ApiClientOptions& options)
      : http(std::move(http_options)), timeout(options.timeout), language(options.language) {}

  net::HttpClient http;
  milliseconds timeout;
  wire::Language language;

  net::ClientRequest make_request(std::string path) const {
    net::ClientRequest request;
    request.path = std::move(path);
    request.headers.add("Accept-Language", std::string(wire::language_tag(language)));
    return request;
  }

  // The body of an answer, or the Error that it carries.
  Result<std::string> call(const net::ClientRequest& request, milliseconds extra = milliseconds(0)) {
    TG_TRY(net::Response response, http.request(request, timeout + extra));
    if (response.status >= 200 && response.status <= 299) return std::move(response.body);
    return fail(problem_of(response));
  }

  Result<std::string> get(std::string path, net::Query query = {}, milliseconds extra = milliseconds(0)) {
    net::ClientRequest get_request = make_request(std::move(path));
    get_request.query = std::move(query);
    return call(get_request, extra);
  }

  net::ClientRequest with_body(net::Method method, std::string path, std::string body,
                               std::string_view content_type) const {
    net::ClientRequest request = make_request(std::move(path));
    request.method = method;
    if (!content_type.empty()) request.headers.add("Content-Type", std::string(content_type));
    request.body = std::move(body);
    return request;
  }

  // An event stream, until its end or until `on_event` wants no more. `on_sign`, which may be empty, is
  // called for whatever comes, also when it is no event.
  Result<void> events(const net::ClientRequest& request, milliseconds silence,
                      const std::function<Result<bool>(const net::ServerEvent&)>& on_event,
                      const std::function<void()>& on_sign = {}) {
    net::ServerEventReader reader;
    std::optional<Error> problem;
    TG_TRY(const net::Response head, http.stream(request, timeout, silence, [&](std::string_view piece) {
      if (on_sign) on_sign();
      const Result<bool> fed = reader.feed(piece, [&](const net::ServerEvent& event) {
        const Result<bool> more = on_event(event);
        if (!more) problem = more.error();
        return more.value_or(false);
      });
      if (!fed) problem = fed.error();
      return fed.value_or(false);
    }));
    if (head.status < 200 || head.status > 299) return fail(problem_of(head));
    if (problem) return fail(*std::move(problem));
    return {};
  }

  Result<void> lease_events(net::ClientRequest request, const net::Interrupt* interrupt,
                            const std::function<bool(const wire::LeaseView&)>& on_event) {
    request.interrupt = interrupt;
    return events(request, kLeaseSilence, [&](const net::ServerEvent& event) -> Result<bool> {
      if (event.name == "problem") return fail(problem_in(event));
      if (event.name != "lease") return true;
      TG_TRY(const wire::LeaseView view, wire::read_lease_view(event.data));
      return on_event(view);
    });
  }

  Result<std::string> post(std::string path, std::string body, std::string_view content_type,
                           std::string_view idempotency_key = {}) {
    net::ClientRequest request =
        with_body(net::Method::kPost, std::move(path), std::move(body), content_type);
    if (!idempotency_key.empty())
      request.headers.add(std::string(kIdempotencyKey), std::string(idempotency_key));
    return call(request);
  }
};

ApiClient::ApiClient(const ApiClientOptions& options) {
  net::ClientOptions http;
  http.socket_path = options.socket_path;
  http.host = options.host;
  http.port = options.port;
  http.tls = options.tls;
  http.ca_file = options.ca_file;
  http.ca_option = options.names.ca_file + " or TANGRAM_CA_FILE";
  http.bearer_token = options.token;
  http.unreachable_hint =
      options.host.empty()
          ? "start tangramd, or name its socket with " + options.names.socket + " or TANGRAM_SOCKET"
          : "check " + options.names.server + ", and `listen` in the daemon's configuration";
  http.body_bytes_max = wire::kAnswerBytesMax;
  impl_ = std::make_unique<Impl>(std::move(http), options);
}

ApiClient::~ApiClient() = default;

Result<wire::VersionView> ApiClient::version() {
  return impl_->get("/v1/version").and_then(wire::read_version_view);
}

Result<wire::StatusView> ApiClient::status() {
  return impl_->get("/v1/status").and_then(wire::read_status_view);
}

Result<wire::SlicesView> ApiClient::slices(const SlicesRequest& request) {
  net::Query query;
  if (request.npu) query.add("npu", std::to_string(*request.npu));
  for (const std::string& shape : request.cut) query.add("cut", shape);
  return impl_->get("/v1/slices", std::move(query)).and_then(wire::read_slices_view);
}

Result<wire::FitView> ApiClient::fit(const wire::LeaseRequest& request) {
  net::Query query;
  if (!request.tenant.empty()) query.add("tenant", request.tenant);
  if (request.slice) {
    if (request.slice->memory) query.add("sliceMemory", format_bytes(*request.slice->memory));
    if (request.slice->ai_cores > 0) query.add("sliceAiCores", std::to_string(request.slice->ai_cores));
  } else {
    query.add("npus", std::to_string(request.npus));
    if (request.memory) query.add("memory", format_bytes(*request.memory));
  }
  if (request.bandwidth_bps > 0) query.add("bandwidth", format_bits_per_second(request.bandwidth_bps));
  query.add("priority", std::string(to_string(request.priority)));
  if (request.time_limit_ms) query.add("timeLimit", format_duration_ms(*request.time_limit_ms));
  return impl_->get("/v1/fit", std::move(query)).and_then(wire::read_fit_view);
}

Result<wire::DoctorView> ApiClient::diagnose() {
  return impl_->get("/v1/doctor").and_then(wire::read_doctor_view);
}

Result<wire::ApplyAnswer> ApiClient::apply(std::string_view documents, wire::Format format) {
  const std::string_view type = format == wire::Format::kYaml ? "application/yaml" : kJson;
  return impl_->post("/v1/apply", std::string(documents), type).and_then(wire::read_apply_answer);
}

Result<wire::QuotaList> ApiClient::tenants() {
  return impl_->get("/v1/tenants").and_then(wire::read_quota_list);
}

Result<wire::QuotaView> ApiClient::tenant(std::string_view name) {
  TG_TRY_VOID(require_name(name, "tenant"));
  return impl_->get("/v1/tenants/" + net::encode_segment(name)).and_then(wire::read_quota_view);
}

Result<void> ApiClient::delete_tenant(std::string_view name) {
  TG_TRY_VOID(require_name(name, "tenant"));
  net::ClientRequest request = impl_->make_request("/v1/tenants/" + net::encode_segment(name));
  request.method = net::Method::kDelete;
  TG_TRY_VOID(impl_->call(request));
  return {};
}

Result<wire::QuotaView> ApiClient::set_quota(std::string_view name, const Quota& quota) {
  TG_TRY_VOID(require_name(name, "tenant"));
  const std::string path = "/v1/tenants/" + net::encode_segment(name) + "/quota";
  return impl_->call(impl_->with_body(net::Method::kPut, path, wire::write(quota), kJson))
      .and_then(wire::read_quota_view);
}

Result<wire::JobView> ApiClient::submit(const wire::JobSubmission& submission,
                                        std::string_view idempotency_key) {
  return impl_->post("/v1/jobs", wire::write(submission), kJson, idempotency_key)
      .and_then(wire::read_job_view);
}

Result<wire::SubmitAnswer> ApiClient::submit_all(std::span<const wire::JobSubmission> submissions,
                                                 std::string_view idempotency_key) {
  return impl_->post("/v1/jobs", wire::write_batch(submissions), kJson, idempotency_key)
      .and_then(wire::read_submit_answer);
}

Result<wire::JobList> ApiClient::jobs(const JobFilter& filter) {
  net::Query query;
  if (!filter.tenant.empty()) query.add("tenant", filter.tenant);
  for (const auto& [key, value] : filter.labels)
    query.add("label", std::string(key).append("=").append(value));
  if (filter.state) query.add("state", std::string(to_string(*filter.state)));
  if (filter.all) query.add("all", "true");
  if (filter.limit > 0) query.add("limit", std::to_string(filter.limit));
  if (!filter.after.empty()) query.add("after", filter.after);
  return impl_->get("/v1/jobs", std::move(query)).and_then(wire::read_job_list);
}

Result<wire::JobList> ApiClient::all_jobs(const JobFilter& filter) {
  JobFilter page_filter = filter;
  wire::JobList all;
  while (true) {
    TG_TRY(wire::JobList page, jobs(page_filter));
    for (wire::JobView& view : page.items) all.items.push_back(std::move(view));
    if (page.next.empty()) return all;
    // A cursor that does not move would ask for the same page for ever.
    if (page.next == page_filter.after) {
      return fail(Code::kInternal, "client.answer.invalid", "the service's list of jobs does not end");
    }
    page_filter.after = page.next;
  }
}

Result<wire::JobView> ApiClient::job(std::string_view job) {
  TG_TRY_VOID(require_name(job, "job"));
  return impl_->get(job_path(job, "")).and_then(wire::read_job_view);
}

Result<wire::WhyView> ApiClient::why(std::string_view job) {
  TG_TRY_VOID(require_name(job, "job"));
  return impl_->get(job_path(job, "why")).and_then(wire::read_why_view);
}

Result<wire::JobView> ApiClient::cancel(std::string_view job) {
  TG_TRY_VOID(require_name(job, "job"));
  return impl_->post(job_path(job, "cancel"), {}, {}).and_then(wire::read_job_view);
}

Result<wire::JobView> ApiClient::wait(std::string_view job, milliseconds timeout) {
  TG_TRY_VOID(require_name(job, "job"));
  net::Query query;
  query.add("timeout", format_duration_ms(timeout.count()));
  return impl_->get(job_path(job, "wait"), std::move(query), timeout).and_then(wire::read_job_view);
}

Result<wire::TokenList> ApiClient::tokens() {
  return impl_->get("/v1/tokens").and_then(wire::read_token_list);
}

Result<wire::TokenView> ApiClient::create_token(const wire::TokenRequest& request) {
  return impl_->post("/v1/tokens", wire::write(request), kJson).and_then(wire::read_token_view);
}

Result<wire::TokenView> ApiClient::rotate_token(std::string_view token, const wire::TokenRotation& rotation) {
  TG_TRY_VOID(require_name(token, "token"));
  return impl_->post("/v1/tokens/" + net::encode_segment(token) + "/rotate", wire::write(rotation), kJson)
      .and_then(wire::read_token_view);
}

Result<wire::TokenView> ApiClient::revoke_token(std::string_view token) {
  TG_TRY_VOID(require_name(token, "token"));
  return impl_->post("/v1/tokens/" + net::encode_segment(token) + "/revoke", {}, {})
      .and_then(wire::read_token_view);
}

Result<void> ApiClient::lease(const wire::LeaseRequest& request, const net::Interrupt* interrupt,
                              const std::function<bool(const wire::LeaseView&)>& on_event) {
  return impl_->lease_events(
      impl_->with_body(net::Method::kPost, "/v1/leases", wire::write_lease_request(request), kJson),
      interrupt, on_event);
}

Result<void> ApiClient::hold(std::string_view job, const wire::LeaseToken& token,
                             const net::Interrupt* interrupt,
                             const std::function<bool(const wire::LeaseView&)>& on_event) {
  TG_TRY_VOID(require_name(job, "lease"));
  return impl_->lease_events(
      impl_->with_body(net::Method::kPost, job_path(job, "hold", kLeases), wire::write(token), kJson),
      interrupt, on_event);
}

Result<wire::JobView> ApiClient::release(std::string_view job, const wire::LeaseToken& token) {
  TG_TRY_VOID(require_name(job, "lease"));
  return impl_->post(job_path(job, "release", kLeases), wire::write(token), kJson)
      .and_then(wire::read_job_view);
}

Result<void> ApiClient::logs(std::string_view job, LogRequest& request,
                             const std::function<bool(std::string_view)>& on_chunk) {
  TG_TRY_VOID(require_name(job, "job"));
  net::ClientRequest http_request = impl_->make_request(job_path(job, "logs"));
  if (request.attempt) http_request.query.add("attempt", std::to_string(*request.attempt));
  if (request.offset > 0) http_request.query.add("offset", std::to_string(request.offset));
  if (!request.follow) {
    TG_TRY(const net::Response response,
           impl_->http.stream(http_request, impl_->timeout, impl_->timeout, on_chunk));
    if (response.status >= 200 && response.status <= 299) return {};
    return fail(problem_of(response));
  }
  http_request.query.add("follow", "true");
  http_request.headers.add("Accept", std::string(kEventStream));
  bool complete = false;
  const auto on_event = [&](const net::ServerEvent& event) -> Result<bool> {
    if (event.name == "problem") return fail(problem_in(event));
    complete = event.name == "end";
    if (complete) return false;
    TG_TRY(const std::string bytes, net::decode_base64(event.data));
    TG_TRY(const std::int64_t behind, log_position(event.id, request.offset));
    complete = !on_chunk(bytes);
    request.offset = behind;
    return !complete;
  };
  TG_TRY_VOID(impl_->events(http_request, kSilenceMax, on_event, [&] { on_chunk({}); }));
  if (!complete) return fail(stream_ended());
  return {};
}

Result<wire::EventList> ApiClient::history(const HistoryRequest& request) {
  net::Query query = query_of(request.query);
  if (!request.after.empty()) query.add("after", request.after);
  if (!request.before.empty()) query.add("before", request.before);
  if (request.newest) query.add("newest", "true");
  if (request.limit > 0) query.add("limit", std::to_string(request.limit));
  return impl_->get("/v1/history", std::move(query)).and_then(wire::read_event_list);
}

Result<void> ApiClient::follow_events(const EventQuery& query, std::string& cursor,
                                      const std::function<bool(std::span<const FollowedEvent>)>& on_events,
                                      const net::Interrupt* interrupt) {
  net::ClientRequest request;
  request.interrupt = interrupt;
  request.path = "/v1/events";
  request.query = query_of(query);
  if (!cursor.empty()) request.query.add("after", cursor);
  net::ServerEventReader reader;
  Result<bool> go_on = true;
  std::vector<FollowedEvent> followed;
  const auto take = [&](const net::ServerEvent& event) {
    const bool is_problem = event.name == "problem";
    auto view = is_problem ? fail(problem_in(event)) : wire::read_event_view(event.data);
    if (view) {
      followed.push_back({std::move(*view), event.data});
    } else {
      go_on = fail(view.error());
    }
    return view.has_value();
  };
  const auto on_piece = [&](std::string_view piece) {
    followed.clear();
    const Result<bool> fed = reader.feed(piece, take);
    if (!fed) go_on = fail(fed.error());
    if (!go_on) return false;
    go_on = on_events(followed);
    if (!reader.last_id().empty()) cursor = reader.last_id();
    return *go_on;
  };
  TG_TRY(const net::Response head, impl_->http.stream(request, impl_->timeout, kSilenceMax, on_piece));
  if (head.status < 200 || head.status > 299) return fail(problem_of(head));
  if (!go_on) return fail(go_on.error());
  if (*go_on) return fail(stream_ended());
  return {};
}

}  // namespace tangram::client
