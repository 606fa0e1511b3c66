#include "kube_manager/fake_cluster.h"

#include <boost/json/serialize.hpp>
#include <chrono>

#include "kube_manager/json_change.h"

namespace tangram::kube::manager {
namespace {

// "/api/v1/pods" and "/api/v1/namespaces/team-a/pods/p-0": of which kind.
std::string collection_of(const std::string& path) {
  const std::string above = path.substr(0, path.rfind('/'));
  const std::size_t spaces = above.find("/namespaces/");
  if (spaces == std::string::npos) return above;
  return above.substr(0, spaces) + above.substr(above.rfind('/'));
}

std::string path_of_object(const json::object& object) {
  const std::string_view kind = text_at(object, {"kind"});
  const std::string name(text_at(object, {"metadata", "name"}));
  const std::string space(text_at(object, {"metadata", "namespace"}));
  if (kind == "Pod") return pod_path(name, space);
  if (kind == "Node") return "/api/v1/nodes/" + name;
  if (kind == "Namespace") return "/api/v1/namespaces/" + name;
  if (kind == "Tenant") return "/apis/tangram.dev/v1/tenants/" + name;
  std::abort();
}

std::pair<int, std::string> refusal(int status, std::string_view reason, std::string_view message) {
  return {status, status_body(status, reason, message)};
}

}  // namespace

std::string pod_path(std::string_view name, std::string_view space) {
  return "/api/v1/namespaces/" + std::string(space) + "/pods/" + std::string(name);
}

FakeCluster::FakeCluster()
    : server_(std::make_unique<ApiServer>([this](const SeenRequest& request, Conversation& conversation) {
        handle(request, conversation);
      })) {}

FakeCluster::~FakeCluster() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  server_.reset();
}

std::unique_ptr<ApiClient> FakeCluster::client(std::shared_ptr<Timing> timing) const {
  ClientSettings settings;
  settings.tries_max = 1;
  return std::move(*ApiClient::open(server_->config(), settings, std::move(timing)));
}

void FakeCluster::store(const std::string& path, json::object object, const char* type) {
  object["metadata"].as_object()["resourceVersion"] = std::to_string(++version_);
  changes_.push_back({type, path, json::serialize(object)});
  objects_.insert_or_assign(path, std::move(object));
  changed_.notify_all();
}

void FakeCluster::put(json::object object) {
  const std::lock_guard lock(mutex_);
  const std::string path = path_of_object(object);
  const char* const type = objects_.contains(path) ? "MODIFIED" : "ADDED";
  store(path, std::move(object), type);
}

void FakeCluster::edit(const std::string& path, const std::function<void(json::object&)>& change) {
  const std::lock_guard lock(mutex_);
  json::object object = objects_.at(path);
  change(object);
  store(path, std::move(object), "MODIFIED");
}

void FakeCluster::remove(const std::string& path) {
  const std::lock_guard lock(mutex_);
  json::object last = objects_.at(path);
  store(path, std::move(last), "DELETED");
  objects_.erase(path);
}

std::optional<json::object> FakeCluster::get(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  const auto at = objects_.find(path);
  return at == objects_.end() ? std::nullopt : std::optional(at->second);
}

void FakeCluster::set_refuse(Refuse refuse) {
  const std::lock_guard lock(mutex_);
  refuse_ = std::move(refuse);
}

void FakeCluster::set_lose(Lose lose) {
  const std::lock_guard lock(mutex_);
  lose_ = std::move(lose);
}

void FakeCluster::set_before(std::function<void(const SeenRequest&)> before) {
  const std::lock_guard lock(mutex_);
  before_ = std::move(before);
}

std::size_t FakeCluster::writes(std::string_view path_end) const {
  std::size_t count = 0;
  for (const SeenRequest& request : server_->requests()) {
    if (request.method != "GET" && request.path.ends_with(path_end)) ++count;
  }
  return count;
}

void FakeCluster::handle(const SeenRequest& request, Conversation& conversation) {
  std::function<void(const SeenRequest&)> before;
  Refuse refuse;
  {
    const std::lock_guard lock(mutex_);
    before = before_;
    refuse = refuse_;
  }
  if (before) before(request);
  if (refuse) {
    if (const auto answer = refuse(request)) return conversation.answer(answer->first, answer->second);
  }
  carry_out(request, conversation);
}

void FakeCluster::carry_out(const SeenRequest& request, Conversation& conversation) {
  if (request.method == "GET" && !request.parameter("watch").empty()) return watch(request, conversation);
  std::pair<int, std::string> answer;
  bool lost = false;
  {
    const std::unique_lock lock(mutex_);
    if (request.method == "GET") {
      const auto at = objects_.find(request.path);
      if (at != objects_.end()) {
        answer = {200, json::serialize(at->second)};
      } else if (request.path.find("/pods/") != std::string::npos ||
                 request.path.find("/leases/") != std::string::npos) {
        answer = refusal(404, "NotFound", "there is none");
      } else {
        return list(request, conversation);
      }
    } else {
      answer = write(request);
    }
    lost = lose_ && lose_(request);
  }
  if (lost) return conversation.cut();
  conversation.answer(answer.first, answer.second);
}

void FakeCluster::list(const SeenRequest& request, Conversation& conversation) {
  std::string items;
  for (const auto& [path, object] : objects_) {
    if (collection_of(path) != request.path) continue;
    if (!items.empty()) items += ',';
    items += json::serialize(object);
  }
  conversation.answer(200, R"({"metadata":{"resourceVersion":")" + std::to_string(version_) +
                               R"("},"items":[)" + items + "]}");
}

void FakeCluster::watch(const SeenRequest& request, Conversation& conversation) {
  conversation.begin_stream();
  const int from = std::stoi(request.parameter("resourceVersion"));
  std::unique_lock lock(mutex_);
  // A change of the version N is number N - 101.
  auto next = static_cast<std::size_t>(from - 100);
  while (!stopping_ && !conversation.ended()) {
    if (next == changes_.size()) {
      changed_.wait_for(lock, std::chrono::milliseconds(50));
      continue;
    }
    const Change change = changes_[next++];
    if (collection_of(change.path) != request.path) continue;
    lock.unlock();
    conversation.line(event_line(change.type, change.text));
    lock.lock();
  }
}

std::pair<int, std::string> FakeCluster::write(const SeenRequest& request) {
  if (request.method == "PATCH") {
    const bool status = request.path.ends_with("/status");
    return patch(request, status ? request.path.substr(0, request.path.size() - 7) : request.path, status);
  }
  json::object body = parse_object(request.body).value_or(json::object());
  if (request.path.ends_with("/events")) return {201, request.body};
  const std::string path = request.path + "/" + std::string(text_at(body, {"metadata", "name"}));
  if (request.method != "POST") return refusal(405, "MethodNotAllowed", "not here");
  if (objects_.contains(path)) return refusal(409, "AlreadyExists", "there is one");
  store(path, std::move(body), "ADDED");
  return {201, json::serialize(objects_.at(path))};
}

std::pair<int, std::string> FakeCluster::patch(const SeenRequest& request, const std::string& path,
                                               bool status) {
  const auto at = objects_.find(path);
  if (at == objects_.end()) return refusal(404, "NotFound", "there is none");
  json::object object = at->second;
  const std::string type = request.header("Content-Type");
  if (type == "application/json-patch+json") {
    const auto operations = parse_array(request.body);
    if (!operations || !apply_json_patch(object, *operations)) {
      return refusal(422, "Invalid", "the patch does not hold");
    }
  } else {
    json::object body = parse_object(request.body).value_or(json::object());
    for (const std::string_view field : {"uid", "resourceVersion"}) {
      const std::string_view wanted = text_at(body, {"metadata", field});
      if (!wanted.empty() && wanted != text_at(object, {"metadata", field})) {
        return refusal(409, "Conflict", "it is another one");
      }
    }
    if (status) {
      json::value& into = object["status"];
      if (!into.is_object()) into.emplace_object();
      merge_status(into.as_object(), body["status"].as_object());
    } else {
      merge(object, body);
    }
  }
  store(path, std::move(object), "MODIFIED");
  return {200, json::serialize(objects_.at(path))};
}

}  // namespace tangram::kube::manager
