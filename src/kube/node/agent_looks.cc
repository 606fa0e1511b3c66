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

// A Pod's UID as the kubelet's cgroup drivers write it: "pod1234-…" or, for systemd, "pod1234_…".
bool names_pod(const std::string& cgroups, const std::string& uid) {
  std::string underscored = uid;
  std::ranges::replace(underscored, '-', '_');
  return cgroups.find("pod" + uid) != std::string::npos ||
         cgroups.find("pod" + underscored) != std::string::npos;
}

std::string resource_of(const MachineFacts& facts) {
  for (const NpuFacts& npu : facts.npus) {
    const std::string word = common_word_of(npu.chip);
    if (!word.empty()) return names::resource(word);
  }
  return {};
}

}  // namespace

std::string Agent::resource() const {
  const std::lock_guard lock(mutex_);
  return resource_;
}

Offer Agent::offer() const {
  const std::lock_guard lock(mutex_);
  return offer_;
}

Offer Agent::wait_offer(std::uint64_t version, std::chrono::milliseconds most) const {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, most, [&] { return stopping_ || offer_.version != version; });
  return offer_;
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
      note_facts(facts_of(*scan, options_.facts, book_, facts_));
      ground_ = ground_of(facts_, *scan);
      readings_ = scan->npus;
    } else {
      note_facts(without_driver(facts_, scan.error().message));
      readings_.clear();
    }
  }
  if (scan) keeper_->look(began, std::move(*scan));
}

void Agent::note_facts(MachineFacts facts) {
  const bool known = inventory_json(facts) == inventory_json(facts_);
  facts_ = std::move(facts);
  if (known && offer_.version > 0) return;
  facts_untold_ = true;
  if (resource_.empty()) resource_ = resource_of(facts_);
  std::vector<OfferedShare> shares;
  for (const NpuFacts& npu : facts_.npus) {
    const std::string word = common_word_of(npu.chip);
    // Of chips that are called otherwise, only those that the operator has named the resource for.
    if (options_.resource.empty() && names::resource(word) != resource_) continue;
    const auto numa = numa_node_of(options_.sysfs, npu.pcie_address);
    for (std::uint32_t i = 0; i < npu.shares; ++i) {
      shares.push_back({id_of({npu.uuid, i}), npu.healthy, numa});
    }
  }
  if (shares == offer_.shares && offer_.version > 0) return;
  offer_.shares = std::move(shares);
  ++offer_.version;
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
  for (const Handed& entry : before) {
    if (!entry.slice && std::ranges::find(book_.entries(), entry) == book_.entries().end())
      clear_places(entry);
  }
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
    }
    containers.push_back(std::move(one));
  }
  return json::serialize(json::object{{"containers", std::move(containers)}});
}

void Agent::tell() {
  MachineFacts facts;
  bool tell_facts = false;
  std::vector<std::pair<ContainerRef, std::string>> handed;
  {
    const std::lock_guard lock(mutex_);
    tell_facts = std::exchange(facts_untold_, false);
    facts = facts_;
    for (const auto& [uid, who] : std::exchange(untold_, {})) handed.emplace_back(who, allocated_of(uid));
  }
  if (tell_facts && sink_.facts) {
    if (const Result<void> told = sink_.facts(facts); !told) {
      log::warn("the node's annotations: " + told.error().to_string());
      const std::lock_guard lock(mutex_);
      facts_untold_ = true;
    }
  }
  for (const auto& [who, allocated] : handed) {
    const Result<void> told = sink_.handed ? sink_.handed(who, allocated) : Result<void>();
    if (told) continue;
    log::warn("the annotation of Pod " + who.space + "/" + who.pod + ": " + told.error().to_string());
    if (told.error().reason == "kube.not_found" || told.error().reason == "kube.conflict") continue;
    const std::lock_guard lock(mutex_);
    untold_.try_emplace(who.uid, who);
  }
}

}  // namespace tangram::kube::node
