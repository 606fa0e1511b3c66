#include "kube/api/client.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <utility>

#include "net/client.h"
#include "net/line_splitter.h"

namespace tangram::kube {

// One request, as it can be sent again.
struct ApiClient::Ask {
  net::Method method = net::Method::kGet;
  std::string path;
  std::string what;  // "get pods team-a/train-0", for messages
  net::Query query{};
  std::string body{};
  std::string content_type{};
  std::string accept = "application/json";

  bool reads() const { return method == net::Method::kGet; }
};

namespace {

using std::chrono::milliseconds;

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kMetadataList =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=1,application/json";
constexpr std::string_view kMetadata =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=1,application/json";

net::Query query_of(const Selection& selection) {
  net::Query query;
  if (!selection.label_selector.empty()) query.add("labelSelector", selection.label_selector);
  if (!selection.field_selector.empty()) query.add("fieldSelector", selection.field_selector);
  return query;
}

std::string_view word_of(Propagation propagation) {
  switch (propagation) {
    case Propagation::kDefault:
      return {};
    case Propagation::kBackground:
      return "Background";
    case Propagation::kForeground:
      return "Foreground";
    case Propagation::kOrphan:
      return "Orphan";
  }
  return {};
}

json::object preconditions_of(const Preconditions& only_if) {
  json::object conditions;
  if (!only_if.uid.empty()) conditions["uid"] = only_if.uid;
  if (!only_if.resource_version.empty()) conditions["resourceVersion"] = only_if.resource_version;
  return conditions;
}

// Whether the same request should be sent again: the server has not begun with it, or it changes nothing.
bool may_repeat(const Error& error, bool reads) {
  const Failure failure = failure_of(error);
  if (failure == Failure::kTooManyRequests) return true;
  const bool asked_to = failure == Failure::kUnavailable && retry_after(error).has_value() &&
                        std::any_of(error.details.begin(), error.details.end(), [](const auto& detail) {
                          return detail.first == "status" && detail.second == DetailValue(std::int64_t{503});
                        });
  if (asked_to) return true;
  return reads && (failure == Failure::kUnavailable || failure == Failure::kConnection);
}

Error unreadable(std::string message) {
  return {Code::kInternal, "kube.answer.invalid", std::move(message), "", {}, nullptr};
}

}  // namespace

ApiClient::ApiClient(ClientSettings settings, std::shared_ptr<Timing> timing,
                     std::unique_ptr<Credentials> credentials)
    : settings_(std::move(settings)), timing_(std::move(timing)), credentials_(std::move(credentials)) {}

ApiClient::~ApiClient() = default;

Result<std::unique_ptr<ApiClient>> ApiClient::open(ClusterConfig config, ClientSettings settings,
                                                   std::shared_ptr<Timing> timing) {
  TG_TRY(auto credentials, Credentials::open(std::move(config), settings.answer_bytes_max, timing));
  return std::unique_ptr<ApiClient>(
      new ApiClient(std::move(settings), std::move(timing), std::move(credentials)));
}

// ---- sending

net::ClientRequest ApiClient::request_of(const Ask& ask, const Session& session,
                                         const net::Interrupt* interrupt) const {
  net::ClientRequest request;
  request.method = ask.method;
  request.path = config().path_prefix + ask.path;
  request.query = ask.query;
  request.body = ask.body;
  request.interrupt = interrupt;
  request.headers.set("Accept", ask.accept);
  request.headers.set("User-Agent", settings_.user_agent);
  if (!ask.content_type.empty()) request.headers.set("Content-Type", ask.content_type);
  if (!session.token.empty()) request.headers.set("Authorization", "Bearer " + session.token);
  return request;
}

Result<net::Response> ApiClient::try_once(const Ask& ask, const Session& session,
                                          const net::Interrupt* interrupt, milliseconds timeout) const {
  auto answer = session.http->request(request_of(ask, session, interrupt), timeout);
  if (!answer) return fail(failure_from_way(answer.error(), ask.what, config().server()));
  if (answer->status < 200 || answer->status > 299) return fail(failure_from_answer(*answer, ask.what));
  return answer;
}

Result<std::string> ApiClient::call(const Ask& ask, const CallOptions& options) {
  const milliseconds deadline = timing_->now() + options.timeout.value_or(settings_.timeout);
  Backoff backoff(settings_.rests, *timing_);
  std::shared_ptr<const Session> session = credentials_->current();
  bool read_again = false;
  for (int tries = 1;; ++tries) {
    const milliseconds left = std::max(deadline - timing_->now(), milliseconds(1));
    auto answer = try_once(ask, *session, options.interrupt, left);
    if (answer) return std::move(answer->body);
    const Error& error = answer.error();
    if (failure_of(error) == Failure::kUnauthorized && !std::exchange(read_again, true)) {
      if (auto renewed = credentials_->after_refusal(session)) {
        session = std::move(renewed);
        continue;
      }
    }
    if (tries >= settings_.tries_max || !may_repeat(error, ask.reads())) return fail(error);
    const milliseconds rest = backoff.next(retry_after(error).value_or(milliseconds(0)));
    if (timing_->now() + rest >= deadline || !timing_->rest(rest, options.interrupt)) return fail(error);
    session = credentials_->current();
  }
}

// ---- reading

Result<std::string> ApiClient::get(const ObjectName& object, const CallOptions& options) {
  TG_TRY(std::string path, path_of(object));
  return call({net::Method::kGet, std::move(path), "get " + object.to_string()}, options);
}

Result<std::string> ApiClient::get_path(const std::string& path, const CallOptions& options) {
  return call({net::Method::kGet, path, "get " + path}, options);
}

Result<std::string> ApiClient::list(const ListQuery& query,
                                    const std::function<Result<void>(const json::object&)>& on_item,
                                    const CallOptions& options) {
  const Selection& selection = query.selection;
  TG_TRY(const std::string path, path_of(selection.resource, selection.space));
  std::string go_on;
  std::string version;
  do {
    Ask ask{net::Method::kGet, path, "list " + selection.resource.plural};
    ask.query = query_of(selection);
    if (selection.metadata_only) ask.accept = kMetadataList;
    if (query.limit > 0) ask.query.add("limit", std::to_string(query.limit));
    if (!go_on.empty()) {
      // The token says which state of the cluster is read on.
      ask.query.add("continue", go_on);
    } else if (!query.resource_version.empty()) {
      ask.query.add("resourceVersion", query.resource_version);
    }
    TG_TRY_VOID(list_page(ask, options, go_on, version, on_item));
  } while (!go_on.empty());
  return version;
}

Result<void> ApiClient::list_page(const Ask& ask, const CallOptions& options, std::string& go_on,
                                  std::string& version,
                                  const std::function<Result<void>(const json::object&)>& on_item) {
  TG_TRY(const std::string text, call(ask, options));
  JsonReader reader;
  TG_TRY(const json::object* const page, reader.read(text));
  const json::array* const items = array_at(*page, {"items"});
  const std::string_view of_page = text_at(*page, {"metadata", "resourceVersion"});
  // An empty list has "items": null with some servers.
  if (of_page.empty() || !page->contains("items"))
    return fail(unreadable("the answer to " + ask.what + " is no list"));
  const std::string token(text_at(*page, {"metadata", "continue"}));
  if (!token.empty() && token == go_on) return fail(unreadable("the list of " + ask.what + " never ends"));
  version = std::string(of_page);
  go_on = token;
  if (items == nullptr) return {};
  for (const json::value& item : *items) {
    if (!item.is_object()) return fail(unreadable("the answer to " + ask.what + " lists what is no object"));
    TG_TRY_VOID(on_item(item.get_object()));
  }
  return {};
}

Result<void> ApiClient::watch(const WatchQuery& query, milliseconds silence,
                              const std::function<Result<bool>(std::string_view line)>& on_line,
                              const net::Interrupt* interrupt) {
  const Selection& selection = query.selection;
  TG_TRY(std::string path, path_of(selection.resource, selection.space));
  Ask ask{net::Method::kGet, std::move(path), "watch " + selection.resource.plural};
  ask.query = query_of(selection);
  if (selection.metadata_only) ask.accept = kMetadata;
  ask.query.add("watch", "1");
  ask.query.add("allowWatchBookmarks", "true");
  ask.query.add("timeoutSeconds", std::to_string(query.open_for.count()));
  if (!query.resource_version.empty()) ask.query.add("resourceVersion", query.resource_version);
  if (query.initial_events) {
    ask.query.add("sendInitialEvents", "true");
    ask.query.add("resourceVersionMatch", "NotOlderThan");
  }
  const std::shared_ptr<const Session> session = credentials_->current();
  auto watched = watch_once(ask, *session, silence, on_line, interrupt);
  if (watched || failure_of(watched.error()) != Failure::kUnauthorized) return watched;
  const auto renewed = credentials_->after_refusal(session);
  return renewed ? watch_once(ask, *renewed, silence, on_line, interrupt) : watched;
}

Result<void> ApiClient::watch_once(const Ask& ask, const Session& session, milliseconds silence,
                                   const std::function<Result<bool>(std::string_view line)>& on_line,
                                   const net::Interrupt* interrupt) const {
  net::LineSplitter splitter(settings_.watch_line_bytes_max);
  std::optional<Error> fault;
  const auto on_piece = [&](std::string_view piece) {
    const auto verdict = splitter.take(piece, [&](std::string_view line) {
      auto more = on_line(line);
      if (more) return *more;
      fault = std::move(more).error();
      return false;
    });
    if (verdict == net::LineSplitter::Verdict::kTooLong) {
      fault = unreadable("an event of " + ask.what + " has more than " +
                         std::to_string(settings_.watch_line_bytes_max) + " bytes");
    }
    return verdict == net::LineSplitter::Verdict::kMore;
  };
  const auto answer =
      session.http->stream(request_of(ask, session, interrupt), settings_.timeout, silence, on_piece);
  if (fault) return fail(std::move(*fault));
  if (!answer) return fail(failure_from_way(answer.error(), ask.what, config().server()));
  if (answer->status < 200 || answer->status > 299) return fail(failure_from_answer(*answer, ask.what));
  return {};
}

// ---- writing

Result<std::string> ApiClient::create(const Resource& resource, std::string_view space, std::string body,
                                      const CallOptions& options) {
  TG_TRY(std::string path, path_of(resource, space));
  Ask ask{net::Method::kPost, std::move(path), "create " + resource.plural};
  ask.query.add("fieldManager", settings_.field_manager);
  ask.body = std::move(body);
  ask.content_type = kJson;
  return call(ask, options);
}

Result<std::string> ApiClient::apply(const ObjectName& object, std::string body, bool force,
                                     const CallOptions& options) {
  TG_TRY(std::string path, path_of(object));
  Ask ask{net::Method::kPatch, std::move(path), "apply " + object.to_string()};
  ask.query.add("fieldManager", settings_.field_manager);
  if (force) ask.query.add("force", "true");
  ask.body = std::move(body);
  ask.content_type = "application/apply-patch+yaml";  // of which JSON is a part
  return call(ask, options);
}

Result<std::string> ApiClient::merge_patch(const ObjectName& object, json::object patch,
                                           std::string_view resource_version, const CallOptions& options) {
  TG_TRY(std::string path, path_of(object));
  if (!resource_version.empty()) {
    json::value& metadata = patch["metadata"];
    if (!metadata.is_object()) metadata.emplace_object();
    metadata.get_object()["resourceVersion"] = resource_version;
  }
  Ask ask{net::Method::kPatch, std::move(path), "patch " + object.to_string()};
  ask.query.add("fieldManager", settings_.field_manager);
  ask.body = json::serialize(patch);
  ask.content_type = "application/merge-patch+json";
  return call(ask, options);
}

Result<std::string> ApiClient::json_patch(const ObjectName& object, const json::array& operations,
                                          std::string_view resource_version, const CallOptions& options) {
  TG_TRY(std::string path, path_of(object));
  json::array all;
  if (!resource_version.empty()) {
    // Not "test": that would be 422 like any other fault of a patch, while a version that is not the
    // object's own makes the update a conflict.
    all.push_back(
        json::object{{"op", "replace"}, {"path", "/metadata/resourceVersion"}, {"value", resource_version}});
  }
  all.insert(all.end(), operations.begin(), operations.end());
  Ask ask{net::Method::kPatch, std::move(path), "patch " + object.to_string()};
  ask.query.add("fieldManager", settings_.field_manager);
  ask.body = json::serialize(all);
  ask.content_type = "application/json-patch+json";
  return call(ask, options);
}

Result<void> ApiClient::remove(const ObjectName& object, const RemoveOptions& how,
                               const CallOptions& options) {
  TG_TRY(std::string path, path_of(object));
  json::object body{{"apiVersion", "v1"}, {"kind", "DeleteOptions"}};
  if (json::object conditions = preconditions_of(how.only_if); !conditions.empty())
    body["preconditions"] = std::move(conditions);
  if (const auto word = word_of(how.propagation); !word.empty()) body["propagationPolicy"] = word;
  if (how.grace_seconds) body["gracePeriodSeconds"] = *how.grace_seconds;
  Ask ask{net::Method::kDelete, std::move(path), "delete " + object.to_string()};
  ask.body = json::serialize(body);
  ask.content_type = kJson;
  TG_TRY([[maybe_unused]] const std::string answer, call(ask, options));
  return {};
}

Result<void> ApiClient::evict(std::string_view space, std::string_view pod, std::string_view uid,
                              std::optional<int> grace_seconds, const CallOptions& options) {
  const ObjectName object{resources::pods(), std::string(space), std::string(pod), "eviction"};
  TG_TRY(std::string path, path_of(object));
  json::object how;
  if (!uid.empty()) how["preconditions"] = json::object{{"uid", uid}};
  if (grace_seconds) how["gracePeriodSeconds"] = *grace_seconds;
  Ask ask{net::Method::kPost, std::move(path), "evict " + object.to_string()};
  ask.body = json::serialize(json::object{{"apiVersion", "policy/v1"},
                                          {"kind", "Eviction"},
                                          {"metadata", json::object{{"name", pod}, {"namespace", space}}},
                                          {"deleteOptions", std::move(how)}});
  ask.content_type = kJson;
  TG_TRY([[maybe_unused]] const std::string answer, call(ask, options));
  return {};
}

Result<void> ApiClient::bind(std::string_view space, std::string_view pod, std::string_view uid,
                             std::string_view node, const CallOptions& options) {
  const ObjectName object{resources::pods(), std::string(space), std::string(pod), "binding"};
  TG_TRY(std::string path, path_of(object));
  json::object metadata{{"name", pod}, {"namespace", space}};
  if (!uid.empty()) metadata["uid"] = uid;
  Ask ask{net::Method::kPost, std::move(path), "bind " + object.to_string()};
  ask.body = json::serialize(
      json::object{{"apiVersion", "v1"},
                   {"kind", "Binding"},
                   {"metadata", std::move(metadata)},
                   {"target", json::object{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}}}});
  ask.content_type = kJson;
  TG_TRY([[maybe_unused]] const std::string answer, call(ask, options));
  return {};
}

}  // namespace tangram::kube
