#include <algorithm>
#include <chrono>
#include <utility>

#include "client/patience.h"
#include "client/remote.h"
#include "client/sdk/convert.h"
#include "client/sdk/impl.h"

namespace tangram::api {
namespace {

using client::answer;
using client::Patience;
using client::patiently;
using client::to_api;
using client::to_wire;

constexpr milliseconds kPoll{30'000};
constexpr milliseconds kPollLeast{1};
// As a moment of the steady clock it would not fit into its nanoseconds.
constexpr milliseconds kAsGoodAsNever = std::chrono::hours(24 * 36'500);

Result<client::ApiClientOptions> options_for(const ConnectOptions& options) {
  client::RemoteArguments said{.token_file = options.token_file,
                               .ca_file = options.ca_file,
                               .names = {.server = "ConnectOptions::endpoint",
                                         .socket = "ConnectOptions::endpoint",
                                         .ca_file = "ConnectOptions::ca_file"}};
  const bool is_url = options.endpoint.find("://") != std::string::npos;
  (is_url ? said.server : said.socket_path) = options.endpoint;
  if (said.socket_path.starts_with("unix:")) said.socket_path.erase(0, 5);
  auto http = client::resolve_remote(said, client::remote_environment());
  if (!http) return to_api(http.error());
  http->timeout = options.timeout;
  return *http;
}

}  // namespace

Result<Client> Client::connect(const ConnectOptions& options) {
  auto http = options_for(options);
  if (!http) return http.error();
  Client client(std::make_shared<Impl>(*http));
  if (const auto version = client.version(); !version) return version.error();
  return client;
}

Client::Client(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::Client(Client&& other) noexcept = default;
Client& Client::operator=(Client&& other) noexcept = default;
Client::~Client() = default;

Result<std::string> Client::version() const {
  const auto version = impl_->http.version();
  if (!version) return to_api(version.error());
  return version->version;
}

Result<Status> Client::status() const {
  return answer(impl_->http.status());
}

Result<void> Client::put_tenant(const Tenant& tenant) const {
  const auto document = to_wire(tenant);
  if (!document) return to_api(document.error());
  const auto applied = impl_->http.apply(wire::write(*document), wire::Format::kJson);
  if (!applied) return to_api(applied.error());
  return {};
}

Result<TenantStatus> Client::tenant(std::string_view name) const {
  return answer(impl_->http.tenant(name));
}

Result<std::vector<TenantStatus>> Client::tenants() const {
  const auto list = impl_->http.tenants();
  if (!list) return to_api(list.error());
  std::vector<TenantStatus> tenants;
  for (const wire::QuotaView& view : list->items) tenants.push_back(to_api(view));
  return tenants;
}

Result<void> Client::delete_tenant(std::string_view name) const {
  return answer(impl_->http.delete_tenant(name));
}

Result<TenantStatus> Client::set_quota(std::string_view tenant, const Quota& quota) const {
  const auto limits = to_wire(quota);
  if (!limits) return to_api(limits.error());
  return answer(impl_->http.set_quota(tenant, *limits));
}

Result<Job> Client::submit(const JobRequest& request) const {
  const wire::JobSubmission job = to_wire(request);
  const std::string key =
      request.idempotency_key.empty() ? client::make_idempotency_key("cpp-") : request.idempotency_key;
  Patience patience;
  return answer(patiently<wire::JobView>(patience, [&] { return impl_->http.submit(job, key); }));
}

Result<Job> Client::job(std::string_view job) const {
  return answer(impl_->http.job(job));
}

Result<std::vector<Job>> Client::jobs(const JobQuery& query) const {
  const auto list = impl_->http.all_jobs(to_wire(query));
  if (!list) return to_api(list.error());
  std::vector<Job> jobs;
  jobs.reserve(list->items.size());
  for (const wire::JobView& view : list->items) jobs.push_back(to_api(view));
  return jobs;
}

Result<Explanation> Client::why(std::string_view job) const {
  return answer(impl_->http.why(job));
}

Result<Job> Client::cancel(std::string_view job) const {
  return answer(impl_->http.cancel(job));
}

Result<Job> Client::wait(std::string_view job, std::optional<milliseconds> timeout) const {
  using Clock = std::chrono::steady_clock;
  Patience::Deadline end;
  if (timeout && *timeout < kAsGoodAsNever) end = Clock::now() + *timeout;
  const auto left = [&] { return end ? std::chrono::ceil<milliseconds>(*end - Clock::now()) : kPoll; };
  Patience patience;
  patience.answered();  // in connect(): whatever refuses now may pass
  // The name could mean another job by the time this one has ended: the id is asked for once.
  auto view = patiently<wire::JobView>(patience, [&] { return impl_->http.job(job); }, end);
  while (view && view->state != tangram::JobState::kEnded && left().count() > 0) {
    const std::string id = view->id;
    const auto round = [&] { return impl_->http.wait(id, std::clamp(left(), kPollLeast, kPoll)); };
    view = patiently<wire::JobView>(patience, round, end);
  }
  return answer(view);
}

}  // namespace tangram::api
