#include "kube_extender/support.h"

#include <boost/json/serialize.hpp>
#include <cstdlib>

#include "kube/protocol/names.h"

namespace tangram::kube::extender {

Fit fitting(std::int64_t score) {
  Fit fit;
  fit.fits = true;
  fit.score = score;
  return fit;
}

Fit refusing(std::string reason, bool unresolvable) {
  Fit fit;
  fit.reason = std::move(reason);
  fit.unresolvable = unresolvable;
  return fit;
}

Result<std::vector<Fit>> FakePlacer::filter(const PodRef& /*pod*/, std::span<const std::string> nodes) const {
  const std::lock_guard lock(mutex_);
  calls_.push_back("filter " + std::to_string(nodes.size()));
  if (refusal_) return fail(*refusal_);
  std::vector<Fit> all;
  for (const std::string& node : nodes) {
    const auto at = fits_.find(node);
    all.push_back(at == fits_.end() ? fitting() : at->second);
  }
  return all;
}

Result<Reservation> FakePlacer::reserve(const PodRef& pod, const std::string& node) {
  std::function<void()> hook;
  {
    const std::lock_guard lock(mutex_);
    calls_.push_back("reserve " + pod.name + " " + node);
    if (refusal_) return fail(*refusal_);
    hook = on_reserve_;
  }
  if (hook) hook();
  Reservation made = reservation;
  made.allocation.node = node;
  return made;
}

void FakePlacer::answer(const std::string& node, Fit fit) {
  const std::lock_guard lock(mutex_);
  fits_.insert_or_assign(node, std::move(fit));
}

void FakePlacer::refuse(Error error) {
  const std::lock_guard lock(mutex_);
  refusal_ = std::move(error);
}

void FakePlacer::accept() {
  const std::lock_guard lock(mutex_);
  refusal_.reset();
}

void FakePlacer::on_reserve(std::function<void()> hook) {
  const std::lock_guard lock(mutex_);
  on_reserve_ = std::move(hook);
}

void FakePlacer::drop(const PodRef& pod) {
  const std::lock_guard lock(mutex_);
  calls_.push_back("drop " + pod.name);
}

std::vector<std::string> FakePlacer::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

PodRef train() {
  return {"team-a", "train", "u-1"};
}

Reservation slice_reservation() {
  Reservation made;
  made.allocation.node = "n1";
  made.allocation.time = "2026-01-31T08:00:00.000Z";
  made.allocation.containers = {{"main", GrantKind::kSlice, "vir02_1c", {{"AA-BB", 3}}}};
  made.chip_word = "Ascend310P";
  return made;
}

std::string granted_slice() {
  ContainerGrant grant;
  grant.request.container = "main";
  grant.request.resource = "huawei.com/Ascend310P";
  grant.request.memory_mib = 6144;
  grant.kind = GrantKind::kSlice;
  grant.template_name = "vir02";
  return write_grants(std::vector<ContainerGrant>{grant});
}

json::object train_pod(std::string_view node) {
  json::object main{{"name", "main"}};
  main["resources"] = json::object{
      {"limits", json::object{{"huawei.com/Ascend310P", "1"}, {"huawei.com/Ascend310P-memory", "6144"}}}};
  json::array containers;
  containers.push_back(json::object{{"name", "side"}});
  containers.push_back(std::move(main));
  json::object spec;
  spec["containers"] = std::move(containers);
  if (!node.empty()) spec["nodeName"] = std::string(node);
  json::object metadata{{"name", "train"}, {"namespace", "team-a"}, {"uid", "u-1"}};
  metadata["labels"] = json::object{{"tangram.dev/managed", "true"}};
  metadata["annotations"] = json::object{{"tangram.dev/granted", granted_slice()}};
  json::object pod;
  pod["metadata"] = std::move(metadata);
  pod["spec"] = std::move(spec);
  return pod;
}

// ---- the API server

PodServer::PodServer() {
  server_ = std::make_unique<ApiServer>(
      [this](const SeenRequest& request, Conversation& conversation) { answer(request, conversation); });
  auto opened = ApiClient::open(server_->config(), {}, timing_);
  if (!opened) std::abort();
  client_ = std::move(*opened);
}

void PodServer::spoil(std::string method, int status, bool carried_out) {
  const std::lock_guard lock(mutex_);
  spoilt_[std::move(method)].push_back({status, carried_out});
}

void PodServer::set_uid(std::string uid) {
  const std::lock_guard lock(mutex_);
  uid_ = std::move(uid);
}

void PodServer::bind_to(std::string node) {
  const std::lock_guard lock(mutex_);
  node_ = std::move(node);
}

std::string PodServer::bound_to() const {
  const std::lock_guard lock(mutex_);
  return node_;
}

std::string PodServer::allocation() const {
  const std::lock_guard lock(mutex_);
  return allocation_;
}

void PodServer::answer(const SeenRequest& request, Conversation& conversation) {
  std::unique_lock lock(mutex_);
  auto& queue = spoilt_[request.method];
  if (!queue.empty()) {
    const Spoilt spoilt = queue.front();
    queue.pop_front();
    if (spoilt.carried_out) carry_out(request);
    lock.unlock();
    if (spoilt.status == 0) return conversation.cut();
    return conversation.answer(spoilt.status, status_body(spoilt.status, "Spoilt", "as the test wants it"));
  }
  const auto [status, body] = carry_out(request);
  lock.unlock();
  conversation.answer(status, body);
}

std::pair<int, std::string> PodServer::carry_out(const SeenRequest& request) {
  if (request.method == "GET") return {200, pod_text()};
  if (request.method == "POST") {
    const json::object binding = parse_object(request.body).value_or(json::object{});
    if (!node_.empty() || text_at(binding, {"metadata", "uid"}) != uid_) {
      return {409, status_body(409, "Conflict", "pod train is already assigned to a node")};
    }
    node_ = text_at(binding, {"target", "name"});
    return {201, "{}"};
  }
  for (const json::value& value : parse_array(request.body).value_or(json::array{})) {
    const json::object& operation = value.as_object();
    const std::string_view path = text_at(operation, {"path"});
    if (path == "/metadata/uid" && text_at(operation, {"value"}) != uid_) {
      return {422, status_body(422, "Invalid", "the server rejected our request")};
    }
    if (path != "/metadata/annotations/tangram.dev~1allocation") continue;
    if (text_at(operation, {"op"}) == "add") allocation_ = text_at(operation, {"value"});
    if (text_at(operation, {"op"}) == "remove") allocation_.clear();
  }
  return {200, pod_text()};
}

std::string PodServer::pod_text() const {
  json::object pod = train_pod(node_);
  json::object& metadata = pod["metadata"].as_object();
  metadata["uid"] = uid_;
  if (!allocation_.empty()) metadata["annotations"].as_object()["tangram.dev/allocation"] = allocation_;
  return json::serialize(pod);
}

std::vector<std::string> PodServer::calls() const {
  std::vector<std::string> all;
  for (const SeenRequest& request : server_->requests()) {
    all.push_back(request.method + (request.path.ends_with("/binding") ? " binding" : ""));
  }
  return all;
}

std::vector<std::string> PodServer::bodies(std::string_view method) const {
  std::vector<std::string> all;
  for (const SeenRequest& request : server_->requests()) {
    if (request.method == method) all.push_back(request.body);
  }
  return all;
}

}  // namespace tangram::kube::extender
