#include "quota/tenant_tree.h"

#include <algorithm>

#include "base/invariant.h"

namespace tangram {

void TenantTree::put(TenantId id, const TenantSpec& spec) {
  const bool is_new = id == next_id();
  TG_ASSERT(is_new || exists(id), "a tenant is put under its own or the next id");
  TenantId parent;
  if (!spec.parent.empty()) {
    const std::optional<TenantId> found = find(spec.parent);
    TG_ASSERT(found.has_value(), "the parent exists");
    parent = *found;
    TG_ASSERT(is_new || !is_below(parent, id), "a tree has no cycle");
  }
  if (is_new) {
    accounts_.emplace_back();
    specs_.emplace_back();
    accounts_[id.value].exists = true;
    const auto place =
        std::lower_bound(by_name_.begin(), by_name_.end(), spec.name,
                         [this](TenantId a, const auto& name) { return specs_[a.value].name < name; });
    TG_ASSERT(place == by_name_.end() || specs_[place->value].name != spec.name, "a name is used once");
    by_name_.insert(place, id);
  } else {
    TG_ASSERT(specs_[id.value].name == spec.name, "a tenant keeps its name");
  }
  Account& account = accounts_[id.value];
  if (is_new || account.parent != parent) {
    TG_ASSERT(account.live_jobs == 0, "a tenant with jobs is not moved");
    if (account.parent.valid()) --accounts_[account.parent.value].children;
    if (parent.valid()) ++accounts_[parent.value].children;
    account.parent = parent;
  }
  account.limit = limits_of(spec.quota);
  account.memory_per_npu = spec.quota.memory_per_npu;
  account.priorities = spec.quota.priorities;
  specs_[id.value] = spec;
}

std::optional<TenantTree> TenantTree::restore(const std::vector<std::optional<TenantSpec>>& specs) {
  TenantTree tree;
  tree.accounts_.resize(specs.size());
  tree.specs_.resize(specs.size());
  for (std::uint32_t i = 0; i < specs.size(); ++i) {
    const std::optional<TenantSpec>& spec = specs[i];
    if (!spec) continue;
    tree.specs_[i] = *spec;
    tree.by_name_.emplace_back(i);
    Account& account = tree.accounts_[i];
    account.exists = true;
    account.limit = limits_of(spec->quota);
    account.memory_per_npu = spec->quota.memory_per_npu;
    account.priorities = spec->quota.priorities;
  }
  const auto name = [&tree](TenantId id) -> const std::string& { return tree.specs_[id.value].name; };
  std::sort(tree.by_name_.begin(), tree.by_name_.end(),
            [&](TenantId a, TenantId b) { return name(a) < name(b); });
  const auto twin = std::adjacent_find(tree.by_name_.begin(), tree.by_name_.end(),
                                       [&](TenantId a, TenantId b) { return name(a) == name(b); });
  if (twin != tree.by_name_.end()) return std::nullopt;
  for (const TenantId id : tree.by_name_) {
    if (tree.specs_[id.value].parent.empty()) continue;
    const std::optional<TenantId> parent = tree.find(tree.specs_[id.value].parent);
    if (!parent) return std::nullopt;
    tree.accounts_[id.value].parent = *parent;
    ++tree.accounts_[parent->value].children;
  }
  for (const TenantId id : tree.by_name_) {
    std::int32_t depth = 0;
    for (TenantId at = id; at.valid(); at = tree.parent(at)) {
      if (++depth > kDepthMax) return std::nullopt;
    }
  }
  return tree;
}

void TenantTree::remove(TenantId id) {
  TG_ASSERT(exists(id), "only an existing tenant is removed");
  Account& account = accounts_[id.value];
  TG_ASSERT(account.live_jobs == 0 && account.children == 0, "only an idle tenant is removed");
  if (account.parent.valid()) --accounts_[account.parent.value].children;
  by_name_.erase(std::find(by_name_.begin(), by_name_.end(), id));
  account = Account{};
  specs_[id.value] = TenantSpec{};
}

std::optional<TenantId> TenantTree::find(std::string_view name) const {
  const auto place =
      std::lower_bound(by_name_.begin(), by_name_.end(), name,
                       [this](TenantId a, std::string_view b) { return specs_[a.value].name < b; });
  if (place == by_name_.end() || specs_[place->value].name != name) return std::nullopt;
  return *place;
}

bool TenantTree::is_below(TenantId id, TenantId ancestor) const {
  for (TenantId at = id; at.valid(); at = parent(at)) {
    if (at == ancestor) return true;
  }
  return false;
}

std::int32_t TenantTree::depth(TenantId id) const {
  std::int32_t depth = 0;
  for (TenantId at = id; at.valid(); at = parent(at)) ++depth;
  return depth;
}

std::int32_t TenantTree::height(TenantId id) const {
  const std::int32_t base = depth(id);
  std::int32_t height = 1;
  for (const TenantId other : by_name_) {
    if (is_below(other, id)) height = std::max(height, depth(other) - base + 1);
  }
  return height;
}

Quota TenantTree::effective_quota(TenantId id) const {
  TG_ASSERT(exists(id), "the tenant exists");
  Quota tightest;
  for (TenantId at = id; at.valid(); at = parent(at)) {
    const Quota& own = specs_[at.value].quota;
    tightest.npus = std::min(tightest.npus, own.npus);
    tightest.memory_per_npu = std::min(tightest.memory_per_npu, own.memory_per_npu);
    tightest.memory_total = std::min(tightest.memory_total, own.memory_total);
    tightest.ai_cores = std::min(tightest.ai_cores, own.ai_cores);
    tightest.running_jobs = std::min(tightest.running_jobs, own.running_jobs);
    tightest.run_time_ms = std::min(tightest.run_time_ms, own.run_time_ms);
    tightest.priorities.bits = static_cast<std::uint8_t>(tightest.priorities.bits & own.priorities.bits);
    tightest.bandwidth_bps = std::min(tightest.bandwidth_bps, own.bandwidth_bps);
  }
  return tightest;
}

std::optional<QuotaBlock> TenantTree::first_block(TenantId id, const Amounts& amounts) const {
  for (TenantId at = id; at.valid(); at = parent(at)) {
    const Account& account = accounts_[at.value];
    for (const Countable countable : kCountables) {
      const std::size_t i = index_of(countable);
      // Nothing asked is never too much, even of a limit that was lowered below the use.
      if (amounts[i] > 0 && account.used[i] + amounts[i] > account.limit[i]) return QuotaBlock{at, countable};
    }
  }
  return std::nullopt;
}

void TenantTree::charge(TenantId id, const Amounts& amounts) {
  TG_ASSERT(exists(id), "only an existing tenant is charged");
  for (TenantId at = id; at.valid(); at = parent(at)) {
    for (std::size_t i = 0; i < kCountableCount; ++i) {
      TG_ASSERT(amounts[i] >= 0, "a charge is not negative");
      accounts_[at.value].used[i] += amounts[i];
    }
  }
}

void TenantTree::refund(TenantId id, const Amounts& amounts) {
  TG_ASSERT(exists(id), "only an existing tenant is refunded");
  for (TenantId at = id; at.valid(); at = parent(at)) {
    for (std::size_t i = 0; i < kCountableCount; ++i) {
      accounts_[at.value].used[i] -= amounts[i];
      TG_ASSERT(accounts_[at.value].used[i] >= 0, "a tenant's use is not negative");
    }
  }
}

void TenantTree::count_jobs(TenantId id, std::int64_t live, std::int64_t queued) {
  TG_ASSERT(exists(id), "only an existing tenant has jobs");
  for (TenantId at = id; at.valid(); at = parent(at)) {
    Account& account = accounts_[at.value];
    account.live_jobs += live;
    account.queued_jobs += queued;
    TG_ASSERT(account.live_jobs >= account.queued_jobs && account.queued_jobs >= 0, "job counts balance");
  }
}

}  // namespace tangram
