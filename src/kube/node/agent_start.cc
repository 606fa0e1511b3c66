// How the agent takes up what the one before has left: by its ledger, or by all that can be seen without one.
#include <algorithm>
#include <utility>

#include "base/log.h"
#include "kube/node/agent.h"
#include "kube/node/rebuild.h"

namespace tangram::kube::node {

using State = Handed::State;

Agent::Agent(AgentOptions options, Devices& devices, PodSource& pods, KubeletSource& kubelet, AgentSink sink)
    : options_(std::move(options)),
      devices_(devices, [this](std::uint32_t npu, std::uint32_t slice) { return may_return(npu, slice); }),
      pods_(pods),
      kubelet_(kubelet),
      sink_(std::move(sink)),
      ledger_(options_.state_directory + "/slices.json"),
      tree_(options_.share_directory, options_.devices),
      rules_(options_.facts) {}

Agent::~Agent() {
  stop();
}

service::OwnSlice Agent::own_slice_of(const Handed& handed) {
  service::OwnSlice own;
  own.attempt = {handed.who.uid, 1};
  own.physical_id = handed.npus.front();
  own.id = handed.slice_id;
  own.template_name = handed.template_name;
  own.vgroup = handed.vgroup;
  switch (handed.state) {
    case State::kOrdered:
      own.state = service::BookedSlice::State::kOrdered;
      break;
    case State::kHeld:
      own.state = service::BookedSlice::State::kHeld;
      break;
    case State::kEnded:
      own.state = service::BookedSlice::State::kEnded;
      break;
  }
  return own;
}

Result<void> Agent::start() {
  TG_TRY(std::vector<Handed> entries, recall());
  std::vector<service::OwnSlice> own;
  std::vector<std::string> shares;
  for (const Handed& entry : entries) {
    if (entry.slice) own.push_back(own_slice_of(entry));
    // In the places of the others nothing may stand that a container could take.
    if (entry.state == State::kHeld) shares.insert(shares.end(), entry.ids.begin(), entry.ids.end());
  }
  tree_.keep_only(shares);
  book_ = HandOut(std::move(entries));
  service::SlicePolicy policy = options_.slices;
  if (policy.foreign.reclaim && !may_reclaim()) {
    log::warn("slices that nobody here made are left alone: the ledger does not have all that Pods hold");
    policy.foreign.reclaim = false;
  }
  service::SliceQuestions questions{[](const AttemptKey&) { return false; },
                                    [this](const DeviceScan& scan) { return own_processes(scan); }};
  service::SliceSink told{[this](const service::SliceEvent& event) { on_slice(event); }, {}};
  keeper_ = std::make_unique<service::SliceKeeper>(devices_, std::move(questions), std::move(told), policy);
  keeper_->start(own);
  look();
  sweep();
  thread_ = std::thread([this] { run(); });
  return {};
}

void Agent::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  if (keeper_) keeper_->stop();
}

Result<std::vector<Handed>> Agent::recall() {
  Result<std::optional<std::vector<Handed>>> read = ledger_.read();
  if (read && *read) return std::move(**read);
  if (read) {
    // Nothing stands anywhere: the first start on this machine. The places are gone with a boot, and so are
    // the slices.
    if (tree_.contents().empty()) return std::vector<Handed>();
    return recall_without_ledger(false);
  }
  if (read.error().code != Code::kDataLoss) return fail(read.error());
  log::error(read.error().to_string());
  return recall_without_ledger(true);
}

Result<std::vector<Handed>> Agent::recall_without_ledger(bool damaged) {
  TG_TRY(const KubeletView view, kubelet_.view());
  TG_TRY(const std::vector<NodePod> pods, pods_.fresh());
  TG_TRY(const DeviceScan scan, devices_.scan());
  Rebuilt rebuilt = rebuild(view, pods, tree_.contents(), scan);
  if (damaged) ledger_.set_aside();
  TG_TRY_VOID(ledger_.write(rebuilt.entries));
  rebuilt_ = true;
  notes_.push_back(
      std::string("the agent's ledger was ") + (damaged ? "damaged" : "gone") +
      " and was made anew from the kubelet's record, the containers' devices and the hardware: " +
      std::to_string(rebuilt.entries.size()) + " containers found, " +
      std::to_string(rebuilt.unclear.size()) + " not clear");
  log::warn(notes_.back());
  for (const std::string& unclear : rebuilt.unclear) log::warn(unclear);
  return std::move(rebuilt.entries);
}

// A ledger that was lost must not make the slices of idle Pods nobody's.
bool Agent::may_reclaim() {
  const Result<KubeletView> view = kubelet_.view();
  if (rebuilt_ || !view || !view->recorded) return false;
  return std::ranges::all_of(*view->recorded, [this](const Recorded& held) {
    return std::ranges::any_of(book_.entries(), [&held](const Handed& entry) {
      return entry.who.uid == held.uid && entry.who.container == held.container;
    });
  });
}

bool Agent::may_return(std::uint32_t npu, std::uint32_t slice) const {
  const std::lock_guard lock(mutex_);
  return !rules_.excluded.contains(npu) || book_.find(slice) != nullptr;
}

}  // namespace tangram::kube::node
