#include "kube/manager/gate_keeper.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/log.h"
#include "kube/admission/patch.h"
#include "kube/manager/pod_reference.h"
#include "kube/protocol/names.h"
#include "wire/schema.h"

namespace tangram::kube::manager {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kIdle{1'000};
constexpr std::size_t kRefusalsMax = 10'000;
// The same Pod, read again each time, and still not as it was read: somebody refuses it in the guise of that.
constexpr int kConflictsMax = 8;

json::object operation(const char* what, const std::string& path) {
  return json::object{{"op", what}, {"path", path}};
}

json::object operation(const char* what, const std::string& path, std::string_view value) {
  json::object made = operation(what, path);
  made["value"] = value;
  return made;
}

std::string annotation_path(std::string_view key) {
  return "/metadata/annotations/" + admission::pointer_segment(key);
}

std::string text_of_now(Timing& timing) {
  const auto now = std::chrono::duration_cast<milliseconds>(timing.wall().time_since_epoch());
  return wire::format_time(TimeMs(now.count()));
}

// A refusal that would be the same the next time, and of which it is certain that nothing was changed.
bool is_for_good(Failure failure) {
  switch (failure) {
    case Failure::kUnauthorized:
    case Failure::kForbidden:
    case Failure::kOther:
    case Failure::kAlreadyExists:
    case Failure::kGone:
    case Failure::kBudget:
      return true;
    case Failure::kNotFound:
    case Failure::kConflict:
    case Failure::kInvalid:
    case Failure::kTooManyRequests:
    case Failure::kUnavailable:
    case Failure::kTimeout:
    case Failure::kConnection:
    case Failure::kInterrupted:
    case Failure::kUnreadable:
      return false;
  }
  return false;
}

}  // namespace

GateKeeper::GateKeeper(ApiClient& client, ClusterBook& book, std::function<bool()> leads, GateOptions options,
                       EventRecorder* events)
    : client_(client), book_(book), leads_(std::move(leads)), options_(options), events_(events) {}

milliseconds GateKeeper::step(const net::Interrupt& stop) {
  book_.expire();
  const milliseconds now = client_.timing().now();
  std::vector<Retry> due;
  for (auto at = retries_.begin(); at != retries_.end();) {
    if (at->second.due > now) {
      ++at;
      continue;
    }
    due.push_back(std::move(at->second));
    at = retries_.erase(at);
  }
  for (Retry& retry : due) open(std::move(retry), stop);
  while (!stop.raised() && leads_()) {
    const std::vector<Opening> openings = book_.admit(options_.batch);
    for (const Opening& opening : openings) open({opening, 0, {}, false}, stop);
    if (openings.size() < options_.batch) break;
  }
  milliseconds rest = kIdle;
  for (const auto& [uid, retry] : retries_) {
    rest = std::min(rest, std::max(retry.due - client_.timing().now(), milliseconds(0)));
  }
  return rest;
}

void GateKeeper::open(Retry retry, const net::Interrupt& stop) {
  // Twice at most in one turn: a Pod that changes faster than it can be read waits for the next.
  for (int round = 0; round < 2; ++round) {
    if (stop.raised() || !leads_()) return again(std::move(retry), true);
    if (retry.look) {
      const Result<bool> closed = look(retry.opening, stop);
      if (!closed) return settle(std::move(retry), closed.error());
      if (!*closed) return;
      retry.look = false;
      if (!leads_()) return again(std::move(retry), true);
    }
    ++retry.tries;
    const Result<void> done = patch(retry.opening, stop);
    if (done) {
      ++opened_;
      refusals_.erase(retry.opening.pod.uid);
      book_.opened(retry.opening.pod);
      return;
    }
    const Failure failure = failure_of(done.error());
    const bool another = failure == Failure::kInvalid || failure == Failure::kConflict;
    if (!another) return settle(std::move(retry), done.error());
    ++conflicts_;
    if (retry.tries >= kConflictsMax) return refuse(retry, done.error());
    retry.look = true;
  }
  again(std::move(retry), true);
}

Result<void> GateKeeper::patch(const Opening& opening, const net::Interrupt& stop) {
  json::array operations;
  operations.push_back(operation("test", "/metadata/uid", opening.pod.uid));
  operations.push_back(operation("test", annotation_path(names::kGranted), opening.granted));
  if (!opening.tenant.empty()) {
    operations.push_back(operation(
        "test", "/metadata/labels/" + admission::pointer_segment(names::kTenantLabel), opening.tenant));
  }
  if (opening.gate) {
    const std::string gate = "/spec/schedulingGates/" + std::to_string(*opening.gate);
    operations.push_back(operation("test", gate + "/name", names::kGate));
    operations.push_back(operation("remove", gate));
  }
  operations.push_back(operation("add", annotation_path(names::kAdmitted), text_of_now(client_.timing())));
  CallOptions call;
  call.interrupt = &stop;
  call.timeout = options_.call;
  TG_TRY([[maybe_unused]] const std::string now,
         client_.json_patch({resources::pods(), opening.pod.space, opening.pod.name}, operations, {}, call));
  return {};
}

Result<bool> GateKeeper::look(Opening& opening, const net::Interrupt& stop) {
  CallOptions call;
  call.interrupt = &stop;
  call.timeout = options_.call;
  const auto text = client_.get({resources::pods(), opening.pod.space, opening.pod.name}, call);
  if (!text && failure_of(text.error()) == Failure::kNotFound) {
    book_.remove_pod(opening.pod);
    return false;
  }
  if (!text) return fail(text.error());
  TG_TRY(const json::object object, parse_object(*text));
  std::optional<PodFacts> facts = read_pod_facts(object);
  if (!facts || facts->ref.uid != opening.pod.uid) {
    // The one of its name now is another, which the watch brings.
    book_.remove_pod(opening.pod);
    return false;
  }
  const bool gone = facts->ended || (facts->going && facts->node.empty());
  const bool closed = !gone && !facts->open() && facts->node.empty();
  if (closed && (facts->granted != opening.granted || facts->tenant != opening.tenant)) {
    // What was charged is not what it asks for by now: from the beginning.
    book_.remove_pod(opening.pod);
    book_.put_pod(std::move(*facts));
    return false;
  }
  opening.gate = facts->gate;
  if (!closed) book_.put_pod(std::move(*facts));
  return closed;
}

void GateKeeper::settle(Retry retry, const Error& error) {
  const Failure failure = failure_of(error);
  if (failure == Failure::kNotFound) {
    book_.remove_pod(retry.opening.pod);
    return;
  }
  ++failed_;
  if (!is_for_good(failure)) return again(std::move(retry), true);
  refuse(retry, error);
}

void GateKeeper::refuse(const Retry& retry, const Error& error) {
  if (refusals_.size() >= kRefusalsMax) refusals_.clear();
  const int refusals = ++refusals_[retry.opening.pod.uid];
  log::warn("cannot open the gate of Pod " + key_of(retry.opening.pod) + ": " + error.to_string());
  if (events_ != nullptr) {
    events_->record({reference_of(retry.opening.pod), true, "GateNotOpened", "Admit", error.message});
  }
  book_.take_back(retry.opening.pod, error, rest_after(refusals));
}

void GateKeeper::again(Retry retry, bool look) {
  retry.look = look;
  retry.due = client_.timing().now() + rest_after(retry.tries);
  std::string uid = retry.opening.pod.uid;
  retries_.insert_or_assign(std::move(uid), std::move(retry));
}

milliseconds GateKeeper::rest_after(int tries) const {
  milliseconds rest = options_.retry_first;
  for (int i = 1; i < tries && rest < options_.retry_most; ++i) rest *= 2;
  return std::min(rest, options_.retry_most);
}

}  // namespace tangram::kube::manager
