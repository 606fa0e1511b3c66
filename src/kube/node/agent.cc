#include "kube/node/agent.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace tangram::kube::node {
namespace {

using State = Handed::State;
using Kind = HandOutStep::Kind;

// Whether another answer of the API server may settle it.
bool is_worth_asking(const Error& error) {
  return error.reason == "node.pod.unknown" || error.reason == "node.pod.unsettled";
}

}  // namespace

// ---- what the kubelet asks

AllocateAnswer Agent::allocate(const std::vector<std::string>& ids) const {
  AllocateAnswer answer;
  for (const std::string& node : tree_.common_nodes()) {
    answer.devices.push_back({node, "/dev/" + node.substr(node.rfind('/') + 1)});
  }
  for (const std::string& id : ids) answer.devices.push_back({tree_.path_of(id), "/dev"});
  answer.mounts = options_.mounts;
  // The vendor's runtime, where it is the node's, would add what an image asks for by itself.
  answer.environment.emplace("ASCEND_VISIBLE_DEVICES", "void");
  return answer;
}

std::vector<std::string> Agent::prefer(const std::vector<std::string>& available,
                                       const std::vector<std::string>& must, std::size_t size) {
  std::vector<std::string> expected;
  const auto pods = pods_.pods();
  const std::lock_guard lock(mutex_);
  const auto has_entry = [this](const NodePod& pod, const PodContainer& container) {
    return std::ranges::any_of(book_.entries(), [&](const Handed& entry) {
      return entry.who.uid == pod.uid && entry.who.container == container.name;
    });
  };
  for (const NodePod& pod : pods ? *pods : std::vector<NodePod>()) {
    for (const PodContainer& container : pod.containers) {
      const Grant* grant = container.grant ? &*container.grant : nullptr;
      const bool waits = !pod.ended && grant != nullptr && grant->npus.size() == size;
      if (!expected.empty() || !waits || has_entry(pod, container)) continue;
      for (const NpuRef& npu : grant->npus) expected.push_back(npu.uuid);
    }
  }
  return prefer_shares(available, must, size, expected);
}

Result<Agent::Start> Agent::find_start(const ShareIds& ids) {
  TG_TRY(KubeletView view, kubelet_.view());
  const GivenBefore given = [this, &ids](const ContainerRef& who) {
    const std::lock_guard lock(mutex_);
    return book_.given(who, ids);
  };
  Result<std::vector<NodePod>> pods = pods_.pods();
  if (!pods) pods = pods_.fresh();
  if (!pods) return fail(pods.error());
  Result<ContainerRef> who = who_starts(ids, view, *pods, given);
  if (!who && is_worth_asking(who.error())) {
    pods = pods_.fresh();
    if (!pods) return fail(pods.error());
    who = who_starts(ids, view, *pods, given);
  }
  if (!who) return fail(who.error());
  const auto pod = std::ranges::find(*pods, who->uid, &NodePod::uid);
  if (!pod->problem.empty()) {
    return fail(Code::kFailedPrecondition, "node.grant.missing", name_of(*pod) + ": " + pod->problem);
  }
  return Start{*who, find_container(*pod, who->container)->grant, std::move(view)};
}

Result<void> Agent::pre_start(std::vector<std::string> ids) {
  std::ranges::sort(ids);
  const Clock::time_point deadline = Clock::now() + options_.start_wait;
  TG_TRY(const Start start, find_start(ids));
  const Result<void> done = pre_start_until(ids, start, deadline);
  if (!done) log::warn(start.who.to_string() + " does not start: " + done.error().to_string());
  return done;
}

Result<void> Agent::pre_start_until(const ShareIds& ids, const Start& start, Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  std::optional<std::uint32_t> ordered;
  while (true) {
    if (stopping_) return fail(Code::kUnavailable, "node.stopping", "the agent is being stopped");
    if (ordered) {
      if (const auto refused = refused_.extract(*ordered)) return fail(refused.mapped());
    }
    ++begun_;
    end_lost(start.who);
    const Grant* grant = start.grant ? &*start.grant : nullptr;
    const std::vector<Handed> before = book_.entries();
    TG_TRY(const HandOutStep step, book_.begin(start.who, ids, grant, ground_, start.view));
    clear_ended(before);
    if (!step.end.empty()) give_back(step.end);
    if (step.kind == Kind::kMake || step.kind == Kind::kKeep) {
      TG_TRY_VOID(keep(step));
      if (step.kind == Kind::kMake) ordered = step.handed.slice_id;
      continue;
    }
    if (step.kind == Kind::kReady) {
      TG_TRY_VOID(tree_.publish(step.handed));
      untold_.insert_or_assign(start.who.uid, start.who);
      look_due_ = true;
      changed_.notify_all();
      return {};
    }
    if (Clock::now() >= deadline) {
      return fail(Code::kDeadlineExceeded, "node.slice.pending",
                  "what " + start.who.to_string() + " was given is not there yet");
    }
    changed_.wait_until(lock, deadline);
  }
}

Result<void> Agent::keep(const HandOutStep& step) {
  if (Result<void> written = ledger_.write(book_.entries()); !written) {
    book_.undo(step.handed);
    return written;
  }
  if (step.kind == Kind::kMake) {
    refused_.erase(step.handed.slice_id);
    keeper_->make(own_slice_of(step.handed));
  }
  return {};
}

// Ending is not written first: an entry that a crash brings back is swept again.
void Agent::give_back(const std::vector<std::uint32_t>& slices) {
  if (const Result<void> written = ledger_.write(book_.entries()); !written) {
    log::warn(written.error().to_string());
  }
  for (const std::uint32_t slice : slices) keeper_->give_back(slice);
}

// ---- what becomes of slices

void Agent::clear_ended(const std::vector<Handed>& before) {
  const auto lives = [this](const Handed& handed) {
    return std::ranges::any_of(book_.entries(), [&handed](const Handed& entry) {
      return entry.state != State::kEnded && entry.who == handed.who && entry.ids == handed.ids &&
             entry.slice_id == handed.slice_id;
    });
  };
  for (const Handed& handed : before) {
    if (handed.state != State::kEnded && !lives(handed)) clear_places(handed);
  }
}

// At once: a kubelet that has just started may start a container without asking, and what is in its places
// then must not be what another one had.
void Agent::clear_places(const Handed& handed) {
  for (const std::string& id : handed.ids) {
    const bool used = std::ranges::any_of(book_.entries(), [&](const Handed& entry) {
      return entry.state == State::kHeld && std::ranges::find(entry.ids, id) != entry.ids.end();
    });
    if (used) continue;
    if (const Result<void> cleared = tree_.clear(id); !cleared) log::warn(cleared.error().to_string());
  }
}

// One look in which the driver does not show it takes nothing from a container that runs: it may be there in
// the next one, and returned while its holder sleeps it would be gone for good.
void Agent::on_lost(const Handed& handed) {
  log::warn("slice " + std::to_string(handed.slice_id) + " of " + handed.who.to_string() +
            " is not on the hardware any more; the container gets another one when it starts again");
  lost_.insert(handed.slice_id);
  untold_.insert_or_assign(handed.who.uid, handed.who);
}

void Agent::end_lost(const ContainerRef& who) {
  for (const Handed& entry : std::vector<Handed>(book_.entries())) {
    if (entry.who != who || entry.state != State::kHeld || !lost_.contains(entry.slice_id)) continue;
    book_.not_made(entry.slice_id);
    clear_places(entry);
    give_back({entry.slice_id});
  }
}

void Agent::on_slice(const service::SliceEvent& event) {
  const std::lock_guard lock(mutex_);
  const std::uint32_t id = event.slice.id;
  switch (event.kind) {
    case service::SliceEvent::Kind::kMade:
      book_.made(id);
      ground_.slices.insert(id);
      break;
    case service::SliceEvent::Kind::kNotMade:
      book_.not_made(id);
      if (event.error) refused_.insert_or_assign(id, *event.error);
      break;
    case service::SliceEvent::Kind::kLost:
      if (const Handed* handed = book_.find(id)) on_lost(*handed);
      break;
    case service::SliceEvent::Kind::kReturned:
      if (const Handed* handed = book_.find(id)) clear_places(*handed);
      book_.returned(id);
      lost_.erase(id);
      ground_.slices.erase(id);
      break;
  }
  if (const Result<void> written = ledger_.write(book_.entries()); !written) {
    log::warn(written.error().to_string());
  }
  look_due_ = true;
  changed_.notify_all();
}

}  // namespace tangram::kube::node
