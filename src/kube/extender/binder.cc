#include "kube/extender/binder.h"

#include <optional>
#include <utility>

#include "base/log.h"
#include "kube/api/failure.h"
#include "kube/extender/bind_patch.h"
#include "kube/protocol/names.h"

namespace tangram::kube::extender {
namespace {

ObjectName object_of(const PodRef& pod) {
  return {resources::pods(), pod.space, pod.name};
}

std::string name_of(const PodRef& pod) {
  return pod.space + "/" + pod.name;
}

tl::unexpected<Error> gone(const PodRef& pod) {
  return fail(Code::kNotFound, "kube.pod.unknown", "Pod " + name_of(pod) + " is not there any more");
}

tl::unexpected<Error> elsewhere(const PodRef& pod, const std::string& node) {
  return fail(Code::kFailedPrecondition, "kube.bind.elsewhere",
              "Pod " + name_of(pod) + " is bound to node " + node + " already");
}

// Whether it is not known what has become of a write.
bool is_unknown(const Error& error) {
  switch (failure_of(error)) {
    case Failure::kUnavailable:
    case Failure::kTimeout:
    case Failure::kConnection:
    case Failure::kInterrupted:
    case Failure::kUnreadable:
    case Failure::kOther:
      return true;
    case Failure::kUnauthorized:
    case Failure::kForbidden:
    case Failure::kNotFound:
    case Failure::kAlreadyExists:
    case Failure::kConflict:
    case Failure::kGone:
    case Failure::kInvalid:
    case Failure::kTooManyRequests:
    case Failure::kBudget:
      return false;
  }
  return true;
}

}  // namespace

// Of one Pod there is one call at a time.
class Binder::Turn {
 public:
  Turn(Binder& binder, std::string uid) : binder_(binder), uid_(std::move(uid)) {
    const std::lock_guard lock(binder_.mutex_);
    is_first_ = binder_.in_work_.insert(uid_).second;
  }
  ~Turn() {
    if (!is_first_) return;
    const std::lock_guard lock(binder_.mutex_);
    binder_.in_work_.erase(uid_);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  bool is_first() const { return is_first_; }

 private:
  Binder& binder_;
  const std::string uid_;
  bool is_first_ = false;
};

Binder::Binder(Placer& placer, ApiClient& client, PodNotes& notes, BinderOptions options)
    : placer_(placer), client_(client), notes_(notes), options_(std::move(options)) {}

CallOptions Binder::call() const {
  CallOptions options;
  options.timeout = options_.call;
  return options;
}

Result<void> Binder::bind(const PodRef& pod, const std::string& node) {
  const Turn turn(*this, pod.uid);
  if (!turn.is_first()) {
    return fail(Code::kAborted, "kube.bind.in_progress", "Pod " + name_of(pod) + " is being bound already",
                "it is tried again");
  }
  Result<void> bound = bind_alone(pod, node);
  // The next call is about something that has happened since.
  notes_.forget(pod.uid);
  return bound;
}

Result<void> Binder::bind_alone(const PodRef& pod, const std::string& node) {
  std::optional<PodNote> note = notes_.find(pod.uid);
  if (!note) {
    // Another process was asked for nodes, or this call is a repetition.
    TG_TRY(Look seen, look(pod));
    if (seen.node == node && !seen.allocation.empty()) return {};
    if (!seen.node.empty()) {
      return elsewhere(pod, seen.node);
    }
    note = std::move(seen.note);
  }
  TG_TRY(const Reservation reservation, placer_.reserve(pod, node));
  if (Result<void> written = annotate(pod, reservation, *note); !written) {
    placer_.drop(pod);
    return written;
  }
  return bind_annotated(pod, reservation);
}

Result<Binder::Look> Binder::look(const PodRef& pod) const {
  const Result<std::string> text = client_.get(object_of(pod), call());
  if (!text && failure_of(text.error()) == Failure::kNotFound) return gone(pod);
  if (!text) return fail(text.error());
  TG_TRY(const json::object object, parse_object(*text));
  if (meta_of(object).uid != pod.uid) return gone(pod);
  Look seen;
  seen.node = text_at(object, {"spec", "nodeName"});
  seen.allocation = text_at(object, {"metadata", "annotations", names::kAllocation});
  seen.note = note_of(object);
  return seen;
}

Result<void> Binder::check_leads() const {
  if (!options_.leads || options_.leads()) return {};
  return fail(Code::kUnavailable, "kube.book.not_ready", "another process leads by now", "it is tried again");
}

Result<void> Binder::annotate(const PodRef& pod, const Reservation& reservation, const PodNote& note) {
  TG_TRY_VOID(check_leads());
  const json::array patch = bind_patch(pod, reservation, note, client_.timing().wall());
  const auto written = client_.json_patch(object_of(pod), patch, {}, call());
  if (written) return {};
  const Failure failure = failure_of(written.error());
  if (failure == Failure::kNotFound) return gone(pod);
  if (failure == Failure::kInvalid) {
    return fail(wrap("Pod " + name_of(pod) + " is another one by now, or its gate was never opened",
                     written.error()));
  }
  return fail(written.error());
}

Result<void> Binder::bind_annotated(const PodRef& pod, const Reservation& reservation) {
  if (Result<void> leads = check_leads(); !leads) {
    // What stands in the Pod is for the new leader to see.
    placer_.drop(pod);
    return leads;
  }
  Result<void> bound = client_.bind(pod.space, pod.name, pod.uid, reservation.allocation.node, call());
  if (bound) return {};
  return settle(pod, reservation, bound.error());
}

Result<void> Binder::settle(const PodRef& pod, const Reservation& reservation, Error error) {
  const bool unknown = is_unknown(error);
  const Result<Look> seen = look(pod);
  if (!seen && seen.error().reason == "kube.pod.unknown") {
    placer_.drop(pod);
    return fail(seen.error());
  }
  if (seen && seen->node == reservation.allocation.node) return {};
  if (seen && !seen->node.empty()) {
    take_back(pod, reservation);
    return elsewhere(pod, seen->node);
  }
  if (!seen && unknown) {
    return fail(Code::kUnavailable, "kube.bind.unsettled",
                "it is not known whether Pod " + name_of(pod) + " is bound: " + error.to_string(),
                "its place is kept until the Pod is seen again");
  }
  // It is not bound. What may still be on its way keeps the allocation to be found by; a refusal is final.
  if (unknown) {
    placer_.drop(pod);
  } else {
    take_back(pod, reservation);
  }
  return fail(
      wrap("cannot bind Pod " + name_of(pod) + " to node " + reservation.allocation.node, std::move(error)));
}

void Binder::take_back(const PodRef& pod, const Reservation& reservation) {
  if (check_leads()) {
    const auto taken = client_.json_patch(object_of(pod), unbind_patch(pod, reservation), {}, call());
    if (!taken) log::warn("the allocation of Pod " + name_of(pod) + " stays: " + taken.error().to_string());
  }
  placer_.drop(pod);
}

}  // namespace tangram::kube::extender
