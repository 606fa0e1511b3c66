// The agent's own thread: looks at the machine, ends what nobody has any more, and tells the cluster.
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/log.h"
#include "kube/node/agent.h"
#include "kube/node/inventory.h"
#include "kube/node/metrics.h"
#include "kube/protocol/names.h"

namespace tangram::kube::node {
namespace {

using State = Handed::State;

// Of HAMi's bind-phase.
constexpr std::string_view kAllocating = "allocating";
constexpr std::string_view kSuccess = "success";

const NodePod* find_pod(const std::vector<NodePod>& pods, const std::string& uid) {
  const auto at = std::ranges::find(pods, uid, &NodePod::uid);
  return at == pods.end() ? nullptr : &*at;
}

// A Pod's UID as the kubelet's cgroup drivers write it: "pod1234-…" or, for systemd, "pod1234_…".
bool names_pod(const std::string& cgroups, const std::string& uid) {
  std::string underscored = uid;
  std::ranges::replace(underscored, '-', '_');
  return cgroups.find("pod" + uid) != std::string::npos ||
         cgroups.find("pod" + underscored) != std::string::npos;
}

}  // namespace

void Agent::set_rules(FactRules rules) {
  const std::lock_guard lock(mutex_);
  if (rules == rules_) return;
  rules_ = std::move(rules);
  look_due_ = true;
  changed_.notify_all();
}

std::vector<std::string> Agent::resources() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> resources;
  for (const auto& [resource, shares] : offers_) resources.push_back(resource);
  return resources;
}

Offer Agent::offer(const std::string& resource) const {
  const std::lock_guard lock(mutex_);
  return offer_of(resource);
}

Offer Agent::offer_of(const std::string& resource) const {
  const auto at = offers_.find(resource);
  return {version_, at == offers_.end() ? std::vector<OfferedShare>() : at->second};
}

Offer Agent::wait_offer(const std::string& resource, std::uint64_t version,
                        std::chrono::milliseconds most) const {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, most, [&] { return stopping_ || version_ != version; });
  return offer_of(resource);
}

std::vector<Handed> Agent::entries() const {
  const std::lock_guard lock(mutex_);
  return book_.entries();
}

MachineFacts Agent::facts() const {
  const std::lock_guard lock(mutex_);
  return facts_;
}

std::string Agent::metrics() const {
  const std::lock_guard lock(mutex_);
  return metrics_text(facts_, readings_, book_.entries());
}

void Agent::look_now() {
  const std::lock_guard lock(mutex_);
  look_due_ = true;
  changed_.notify_all();
}

void Agent::tell_again() {
  const std::lock_guard lock(mutex_);
  facts_untold_ = look_due_ = true;
  changed_.notify_all();
}

std::optional<std::set<std::int64_t>> Agent::own_processes(const DeviceScan& scan) const {
  std::set<std::string> uids;
  {
    const std::lock_guard lock(mutex_);
    for (const Handed& entry : book_.entries()) uids.insert(entry.who.uid);
  }
  std::set<std::int64_t> own;
  for (const DeviceNpu& npu : scan.npus) {
    if (!npu.processes.valid) continue;
    for (const DeviceProcess& process : npu.processes.value) {
      std::ifstream file(options_.proc + "/" + std::to_string(process.pid) + "/cgroup");
      const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
      if (std::ranges::any_of(uids, [&text](const std::string& uid) { return names_pod(text, uid); })) {
        own.insert(process.pid);
      }
    }
  }
  return own;
}

void Agent::run() {
  while (true) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, options_.scan_period, [this] { return stopping_ || look_due_; });
      if (stopping_) return;
      look_due_ = false;
    }
    look();
    sweep();
    tell();
  }
}

void Agent::look() {
  const service::LookStart began = keeper_->begin_look();
  Result<DeviceScan> scan = devices_.scan();
  {
    const std::lock_guard lock(mutex_);
    if (scan) {
      note_facts(with_notes(facts_of(*scan, rules_, book_, facts_)));
      ground_ = ground_of(facts_, *scan);
      readings_ = scan->npus;
      note_found(ground_.slices);
    } else {
      note_facts(without_driver(facts_, scan.error().message));
      readings_.clear();
    }
  }
  if (scan) keeper_->look(began, std::move(*scan));
}

MachineFacts Agent::with_notes(MachineFacts facts) const {
  facts.conditions.insert(facts.conditions.end(), notes_.begin(), notes_.end());
  return facts;
}

// A slice that one look did not show is there again.
void Agent::note_found(const std::set<std::uint32_t>& seen) {
  for (const Handed& entry : book_.entries()) {
    if (!entry.slice || !seen.contains(entry.slice_id) || lost_.erase(entry.slice_id) == 0) continue;
    log::info("slice " + std::to_string(entry.slice_id) + " of " + entry.who.to_string() + " is there again");
    untold_.insert_or_assign(entry.who.uid, entry.who);
  }
}

void Agent::note_facts(MachineFacts facts) {
  const bool known = version_ > 0 && inventory_of(facts) == inventory_of(facts_);
  facts_ = std::move(facts);
  if (known) return;
  facts_untold_ = true;
  std::map<std::string, std::vector<OfferedShare>> offers;
  // One whose last NPU is gone is offered no times, and not forgotten: the kubelet still has it.
  for (const auto& [resource, shares] : offers_) offers.try_emplace(resource);
  for (const NpuFacts& npu : facts_.npus) {
    if (npu.excluded || npu.resource.empty()) continue;
    const auto numa = numa_node_of(options_.sysfs, npu.pcie_address);
    for (std::uint32_t i = 0; i < npu.shares; ++i) {
      offers[npu.resource].push_back({id_of({npu.uuid, i}), npu.healthy, numa});
    }
  }
  if (version_ > 0 && offers == offers_) return;
  offers_ = std::move(offers);
  ++version_;
  changed_.notify_all();
}

void Agent::sweep() {
  std::uint64_t begun = 0;
  {
    const std::lock_guard lock(mutex_);
    if (book_.entries().empty()) return;
    begun = begun_;
  }
  const Result<KubeletView> view = kubelet_.view();
  const Result<std::vector<NodePod>> pods = pods_.pods();
  if (!view || !pods) return;
  const std::lock_guard lock(mutex_);
  // What began meanwhile is not in what was read.
  if (begun != begun_) return;
  const std::vector<Handed> before = book_.entries();
  const std::vector<std::uint32_t> slices = book_.sweep(*pods, *view);
  if (slices.empty() && book_.entries().size() == before.size()) return;
  clear_ended(before);
  for (const std::uint32_t slice : slices) {
    log::info("slice " + std::to_string(slice) + " of " + book_.find(slice)->who.to_string() +
              " is given back");
  }
  give_back(slices);
  changed_.notify_all();
}

std::string Agent::allocated_of(const std::string& uid) const {
  json::array containers;
  for (const Handed& entry : book_.entries()) {
    if (entry.who.uid != uid || entry.state != Handed::State::kHeld) continue;
    json::array npus;
    for (const std::uint32_t npu : entry.npus) npus.emplace_back(std::int64_t{npu});
    json::object one{{"container", entry.who.container}, {"npus", std::move(npus)}};
    if (entry.slice) {
      one["slice"] = std::int64_t{entry.slice_id};
      one["template"] = entry.template_name;
      if (lost_.contains(entry.slice_id)) one["lost"] = true;
    }
    containers.push_back(std::move(one));
  }
  return json::serialize(json::object{{"containers", std::move(containers)}});
}

// Whether as many have theirs as run side by side. By number: the place of an init container is that of one
// that comes after it, and which of the two is meant may not be told apart where both were given the same.
bool Agent::has_all(const NodePod& pod) const {
  const auto runs = std::ranges::count_if(pod.containers, [](const PodContainer& container) {
    return !container.init && container.grant.has_value();
  });
  const auto held = std::ranges::count_if(book_.entries(), [&pod](const Handed& entry) {
    return entry.who.uid == pod.uid && entry.state == State::kHeld;
  });
  return held > 0 && held >= runs;
}

void Agent::tell() {
  tell_facts();
  tell_pods();
}

void Agent::tell_facts() {
  MachineFacts facts;
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(facts_untold_, false)) return;
    facts = facts_;
  }
  const Result<void> told = sink_.facts ? sink_.facts(facts) : Result<void>();
  if (told) return;
  log::warn("the node's annotations: " + told.error().to_string());
  const std::lock_guard lock(mutex_);
  facts_untold_ = true;
}

void Agent::tell_pods() {
  const Result<std::vector<NodePod>> pods = pods_.pods();
  std::vector<std::pair<ContainerRef, PodNote>> news;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [uid, who] : std::exchange(untold_, {})) {
      PodNote note{allocated_of(uid), {}};
      const NodePod* const pod = pods ? find_pod(*pods, uid) : nullptr;
      // HAMi's plugin says so after the first container already; whoever waits for it would go on too early.
      if (pod != nullptr && pod->bind_phase == kAllocating && has_all(*pod)) note.bind_phase = kSuccess;
      news.emplace_back(who, std::move(note));
    }
  }
  for (const auto& [who, note] : news) {
    const Result<void> told = sink_.handed ? sink_.handed(who, note) : Result<void>();
    if (told) continue;
    log::warn("the annotation of Pod " + who.space + "/" + who.pod + ": " + told.error().to_string());
    if (told.error().reason == "kube.not_found" || told.error().reason == "kube.conflict") continue;
    const std::lock_guard lock(mutex_);
    untold_.try_emplace(who.uid, who);
  }
}

}  // namespace tangram::kube::node
