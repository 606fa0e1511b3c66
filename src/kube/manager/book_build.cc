// Tenants, chips and nodes, and the core's state made anew from all facts.
#include <algorithm>
#include <tuple>
#include <utility>

#include "base/log.h"
#include "kube/manager/book_state.h"

namespace tangram::kube::manager {

BookState::BookState(const BookOptions& options, Timing& timing)
    : options_(options), timing_(timing), chips_(Chips::builtin()) {}

TimeMs BookState::core_now() const {
  using std::chrono::milliseconds;
  return TimeMs(std::chrono::duration_cast<milliseconds>(timing_.wall().time_since_epoch()).count());
}

// A Pod waits since it was made, by whichever clock is behind.
TimeMs BookState::core_time(const PodFacts& facts) const {
  return std::min(TimeMs(facts.created_ms), core_now());
}

void BookState::put_tenant(wire::ClusterTenant tenant) {
  std::string name = tenant.tenant.name;
  tenants_.insert_or_assign(std::move(name), std::move(tenant));
  if (complete_) rebuild();
}

void BookState::remove_tenant(std::string_view name) {
  const auto at = tenants_.find(name);
  if (at == tenants_.end()) return;
  tenants_.erase(at);
  if (complete_) rebuild();
}

void BookState::put_chip(wire::ClusterChip chip) {
  std::string name = chip.name;
  chip_docs_.insert_or_assign(std::move(name), std::move(chip));
  set_chips();
}

void BookState::remove_chip(std::string_view name) {
  const auto at = chip_docs_.find(name);
  if (at == chip_docs_.end()) return;
  chip_docs_.erase(at);
  set_chips();
}

void BookState::set_chips() {
  auto chips = Chips::with(chip_docs_);
  if (!chips) {
    // Better all as it was than none of the cluster's NPUs.
    log::warn("ChipModels are not used as they are: " + chips.error().to_string());
    return;
  }
  chips_ = std::move(*chips);
  if (complete_) rebuild();
}

void BookState::put_node(NodeFacts node) {
  const std::string name = node.name;
  const NodeFacts& held = nodes_.insert_or_assign(name, std::move(node)).first->second;
  if (!complete_) return;
  // NPUs that Pods hold and that were not known until now must not look free for a moment.
  const bool awaited = std::any_of(pods_.begin(), pods_.end(), [&](const auto& pod) {
    const Entry& entry = pod.second;
    return entry.unresolved && (entry.facts.node == name || entry.place.node == name);
  });
  if (awaited) return rebuild();
  report(held, core_now());
}

void BookState::remove_node(std::string_view name) {
  const auto at = nodes_.find(name);
  if (at == nodes_.end()) return;
  const NodeFacts gone{std::string(name), "it is gone", {}};
  nodes_.erase(at);
  if (complete_) report(gone, core_now());
}

void BookState::report(const NodeFacts& node, TimeMs at) {
  NodeReported reported;
  reported.node = node.name;
  for (const NodeNpu& npu : node.inventory.npus) {
    reported.npus.push_back(chips_->report_of(npu, node.unusable.empty()));
  }
  if (const auto good = core_.check(Input(reported)); !good) {
    log::warn("node " + node.name + " cannot be used: " + good.error().to_string());
    return;
  }
  core_.apply(Input(reported), at);
  room_ = true;
}

void BookState::complete() {
  if (std::exchange(complete_, true)) return;
  rebuild();
}

void BookState::plant_tenants() {
  std::set<std::string> charged;
  for (const auto& [key, entry] : pods_) charged.insert(tenant_of(entry));
  closed_.clear();
  for (const ForestTenant& tenant : forest_of(tenants_, charged)) {
    if (!tenant.closed.empty()) closed_.emplace(tenant.spec.name, tenant.closed);
    TenantPut put{core_.next_tenant_id(), tenant.spec};
    if (const auto good = core_.check(Input(put)); !good) {
      log::warn("Tenant " + tenant.spec.name + " cannot be used: " + good.error().to_string());
      // Its Pods are charged all the same.
      closed_.insert_or_assign(tenant.spec.name, good.error().message);
      put.spec.parent.clear();
      put.spec.quota = Quota();
      put.spec.quota.running_jobs = 0;
      if (!core_.check(Input(put))) continue;
    }
    core_.apply(Input(put), TimeMs());
  }
}

void BookState::rebuild() {
  ++rebuilt_;
  core_ = Scheduler(chips_->catalog());
  next_job_ = 1;
  by_job_.clear();
  SettingsChanged settings;
  settings.keep_after_ms = options_.keep_after.count();
  settings.slice_count = options_.slice_count;
  settings.places_elsewhere = true;
  // All before the first Pod, whenever that was made: the core's clock never goes back.
  core_.apply(Input(settings), TimeMs());

  std::vector<Entry*> entries;
  entries.reserve(pods_.size());
  for (auto& [key, entry] : pods_) {
    entry.job = JobId();
    entry.unresolved = false;
    entry.parts = parts_of(entry.facts.needs, *chips_);
    entries.push_back(&entry);
  }
  std::sort(entries.begin(), entries.end(), [](const Entry* a, const Entry* b) {
    return std::tie(a->facts.created_ms, a->facts.ref.space, a->facts.ref.name, a->facts.ref.uid) <
           std::tie(b->facts.created_ms, b->facts.ref.space, b->facts.ref.name, b->facts.ref.uid);
  });
  plant_tenants();
  for (const auto& [name, node] : nodes_) report(node, TimeMs());
  for (Entry* const entry : entries) enter(*entry);
  room_ = true;
}

void BookState::expire() {
  const Milliseconds now = timing_.now();
  std::vector<std::string> due;
  for (const std::string& key : timed_) {
    if (pods_.find(key)->second.until <= now) due.push_back(key);
  }
  bool again = false;
  for (const std::string& key : due) {
    Entry& entry = pods_.find(key)->second;
    if (entry.stage == Stage::kReserved) {
      unreserve(entry);
      refused_.insert(key);
      ++expired_;
    } else {
      // Back to its own place in the queue, which is not the end of it.
      again = true;
    }
  }
  if (again && complete_) rebuild();
}

}  // namespace tangram::kube::manager
