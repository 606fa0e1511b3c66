// The tenant tree and its book of use: what each subtree holds, charged and refunded along the path to the
// top. Not thread-safe; copied as a whole. Wrong ids and unbalanced books are programmer errors.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "model/ids.h"
#include "model/tenant.h"
#include "quota/amounts.h"

namespace tangram {

// The first limit on the path to the top that a charge would break.
struct QuotaBlock {
  TenantId tenant;
  Countable countable = Countable::kNpus;
};

class TenantTree {
 public:
  static constexpr std::int32_t kDepthMax = 16;

  // Creates (`id` == next_id()) or replaces. The parent must exist, and a move must find no live jobs below.
  void put(TenantId id, const TenantSpec& spec);
  // All tenants by id, ids that were given up as nullopt. Nothing if names repeat, a parent is missing, or
  // there is a cycle.
  static std::optional<TenantTree> restore(const std::vector<std::optional<TenantSpec>>& specs);
  // The tenant must have neither children nor jobs. Its id is not used again.
  void remove(TenantId id);

  TenantId next_id() const { return TenantId(static_cast<std::uint32_t>(accounts_.size())); }
  std::size_t size() const { return accounts_.size(); }  // of ids ever given
  std::size_t count() const { return by_name_.size(); }  // of tenants there are
  bool exists(TenantId id) const { return id.value < accounts_.size() && accounts_[id.value].exists; }
  std::optional<TenantId> find(std::string_view name) const;

  const TenantSpec& spec(TenantId id) const { return specs_[id.value]; }
  TenantId parent(TenantId id) const { return accounts_[id.value].parent; }  // invalid at the top
  const Amounts& limit(TenantId id) const { return accounts_[id.value].limit; }
  const Amounts& used(TenantId id) const { return accounts_[id.value].used; }
  bool allows(TenantId id, Priority priority) const {
    return accounts_[id.value].priorities.contains(priority);
  }
  Bytes memory_per_npu(TenantId id) const { return accounts_[id.value].memory_per_npu; }
  bool has_children(TenantId id) const { return accounts_[id.value].children > 0; }
  std::int64_t live_jobs(TenantId id) const { return accounts_[id.value].live_jobs; }  // of the subtree
  std::int64_t queued_jobs(TenantId id) const { return accounts_[id.value].queued_jobs; }
  bool is_below(TenantId id, TenantId ancestor) const;  // or the same
  std::int32_t depth(TenantId id) const;                // 1 at the top
  std::int32_t height(TenantId id) const;               // 1 for a leaf

  // The tightest of each limit on the path.
  Quota effective_quota(TenantId id) const;

  // Whether `amounts` more would fit every limit on the path; if not, the block nearest to the tenant.
  std::optional<QuotaBlock> first_block(TenantId id, const Amounts& amounts) const;

  // What is left of one limit of one tenant; negative when it was lowered below the use.
  std::int64_t headroom(TenantId id, Countable countable) const {
    const Account& account = accounts_[id.value];
    return account.limit[index_of(countable)] - account.used[index_of(countable)];
  }

  void charge(TenantId id, const Amounts& amounts);
  void refund(TenantId id, const Amounts& amounts);
  void count_jobs(TenantId id, std::int64_t live, std::int64_t queued);  // differences, along the path

 private:
  struct Account {
    Amounts limit{};
    Amounts used{};
    Bytes memory_per_npu;
    std::int64_t live_jobs = 0;
    std::int64_t queued_jobs = 0;
    TenantId parent;
    std::int32_t children = 0;
    PrioritySet priorities;
    bool exists = false;
  };

  std::vector<Account> accounts_;  // by id; the part that decisions read
  std::vector<TenantSpec> specs_;  // by id
  std::vector<TenantId> by_name_;  // existing ones
};

}  // namespace tangram
