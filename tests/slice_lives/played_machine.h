// The NPUs of a node in memory: what their driver and firmware allow (the rules of the simulated machine),
// what is in use, and what can befall a call. It answers as the vendor's library does, and the product's own
// settlement makes of that what the service is told.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ascendsim/daemon/vnpu_book.h"
#include "device/dcmi/helper_protocol.h"
#include "ports/devices.h"
#include "service/slice_book.h"
#include "slice_lives/fate.h"
#include "slice_lives/played_host.h"
#include "slice_lives/played_journal.h"

namespace tangram::lives {

struct ChipKind {
  std::string chip;
  std::uint32_t board_id = 0;
  std::int32_t ai_cores = 0;
  std::uint32_t ai_cpus = 0;
  std::int64_t memory_mib = 0;
  // What others cut of it: never given to a request, so that whose a slice is can be told. Empty: nothing.
  std::string foreign_template;
  std::vector<std::string> sizes;  // that are asked for
};

const ChipKind& chip_310p3();
const ChipKind& chip_910b2();
const ChipKind& chip_910b4();

class PlayedMachine final : public Devices {
 public:
  // A slice of the hardware, beside what the rules know of it.
  struct Standing {
    std::optional<AttemptKey> made_for;  // none: another manager's
    bool used = false;                   // by a container of that manager's
  };

  PlayedMachine(Fate& fate, const PlayedHost& host, const PlayedJournal& journal,
                const service::SlicePolicy& policy, const std::vector<ChipKind>& chips);

  Result<DeviceScan> scan() override;
  Result<DeviceSlice> create_slice(const SliceOrder& order) override;
  Result<void> destroy_slice(std::uint32_t physical_id, std::uint32_t id) override;
  Result<void> set_slices_recover(bool on) override;
  Result<void> set_device_share(std::uint32_t physical_id, bool on) override;

  // What is on the hardware, by id.
  const std::map<std::uint32_t, Standing>& slices() const { return slices_; }
  std::string template_of(std::uint32_t id) const;  // empty: there is none
  // Whether the slice that was made for it has gone by no return.
  bool has_lost(const AttemptKey& attempt) const { return lost_.contains(attempt); }
  TimeMs foreign_returned_at() const { return foreign_returned_at_; }  // by the daemon, the last
  std::size_t npus() const { return npus_.size(); }

  // ---- what befalls it
  void let_pass();  // calls that were cut off take effect when it is their time
  void befall();    // one of the faults that last
  void mend();      // none of them lasts any longer
  void cut_by_another();
  void uncut_by_another();
  void use_by_another();
  void reboot();
  void remove_others();  // all of the other manager's go
  void daemon_started();

 private:
  struct Npu {
    std::uint32_t physical_id = 0;
    ChipKind kind;
    ascendsim::VnpuBook book;
    bool unreadable = false;  // its slices
    bool hung = false;        // every call about it
    bool absent = false;
    bool stranger = false;  // a process of the host uses it
  };
  // A call that was cut off, and works later.
  struct Late {
    TimeMs at;
    std::uint32_t physical_id = 0;
    std::uint32_t id = 0;
    std::optional<SliceOrder> order;  // none: a return
    std::optional<AttemptKey> attempt;
  };
  using Answer = Result<device::HelperAnswer>;

  Npu* find(std::uint32_t physical_id);
  Npu& any() { return npus_[fate_.pick(npus_.size())]; }
  DeviceSlicing slicing_of(const Npu& npu) const;
  DeviceNpu shown(const Npu& npu) const;
  Result<DeviceSlicing> look(const Npu& npu) const;
  bool is_in_use(std::uint32_t id) const;

  Answer call_create(Npu& npu, const SliceOrder& order);
  Answer call_destroy(Npu& npu, std::uint32_t id);
  bool cut(Npu& npu, const SliceOrder& order, const std::optional<AttemptKey>& attempt);
  void erase(Npu& npu, std::uint32_t id);
  void reset(Npu& npu);
  std::optional<AttemptKey> orderer_of(const SliceOrder& order) const;
  void check_destroy(std::uint32_t id, bool late);
  void check_late(const Late& one) const;
  TimeMs late_time() { return fate_.in(1 + static_cast<std::int64_t>(fate_.pick(kLateMsMax))); }

  // A driver takes so long at most for what it was told before it was cut off.
  static constexpr std::uint64_t kLateMsMax = 4'000;

  Fate& fate_;
  const PlayedHost& host_;
  const PlayedJournal& journal_;
  const service::SlicePolicy& policy_;
  std::vector<Npu> npus_;
  std::map<std::uint32_t, Standing> slices_;
  std::vector<Late> late_;
  bool recovers_ = true;
  std::map<std::uint32_t, SliceOrder> recover_file_;
  bool away_ = false;
  std::set<AttemptKey> lost_;
  TimeMs daemon_since_;
  TimeMs foreign_returned_at_;
  // Since when another's slice may have been seen without a break by this daemon, by id and template.
  std::map<std::pair<std::uint32_t, std::string>, TimeMs> foreign_since_;
};

}  // namespace tangram::lives
