// Stand-ins for the ports, which outlive a service as a disk, processes and devices outlive a daemon.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ports/devices.h"
#include "ports/executor.h"
#include "ports/store.h"
#include "service/clock.h"

namespace tangram::service::testing {

// A journal in memory. Thread-safe, so that a test may look while the writer writes.
class FakeStore final : public Store {
 public:
  Result<std::uint64_t> append(std::span<const NewRecord> records) override;
  Result<void> read_after(std::uint64_t sequence,
                          const std::function<Result<void>(const StoredRecord&)>& visit) override;
  Result<void> save_snapshot(const Snapshot& snapshot) override;
  Result<std::optional<Snapshot>> snapshot_before(std::uint64_t sequence) override;
  Result<void> compact(TimeMs before) override;
  Result<StoredEvents> read_events(const EventRange& range) override;

  // Events of records up to this one are dropped, as by a compaction.
  void lose_events(std::uint64_t through);
  std::vector<StoredEvent> events() const;
  // How often somebody read events.
  int event_reads() const;
  void set_full(bool full);
  std::vector<StoredRecord> records() const;
  std::vector<std::string> kinds() const;
  std::size_t count(const std::string& kind) const;
  std::uint64_t appends() const;
  bool has_snapshot() const;
  std::uint64_t snapshots() const;  // how many were saved
  // As if an older copy had been put back.
  void cut(std::size_t count);
  void drop_snapshot();
  // The body of the newest snapshot becomes something else.
  void damage_snapshot();
  // As if a compaction had dropped the records up to this one.
  void lose_records(std::uint64_t through);
  // What the daemon never wrote.
  void inject(const NewRecord& record);
  // The daemon dies when so many records are durable: nothing more is kept, not even the rest of a group.
  void die_after(std::size_t count);
  bool dead() const;
  void revive();

 private:
  mutable std::mutex mutex_;
  bool full_ = false;
  bool dead_ = false;
  std::optional<std::size_t> records_max_;
  std::uint64_t appends_ = 0;
  std::vector<StoredRecord> records_;
  std::vector<StoredEvent> events_;
  std::uint64_t events_lost_ = 0;
  std::uint64_t records_lost_ = 0;
  int event_reads_ = 0;
  std::vector<Snapshot> snapshots_kept_;  // the newest first
  std::uint64_t snapshots_ = 0;
};

// The processes of a machine. They stay when the daemon that started them goes.
class FakeWorld {
 public:
  struct Process {
    LaunchSpec spec;
    bool released = false;
    bool alive = true;
    std::optional<AttemptExit> exit;
    std::vector<StopReason> stops;
    bool removed = false;
  };

  // What becomes of supervisors that wait for their `go` when the daemon dies.
  void daemon_died();
  // The program of the attempt ends by itself; tells the executor that is alive, if one is.
  void finish(const AttemptKey& key, Outcome outcome, int exit_status);
  // Its supervisor is killed before the `go` reached it.
  void lose_before_go(const AttemptKey& key);
  std::optional<Process> process(const AttemptKey& key) const;
  std::vector<AttemptKey> keys() const;
  // How many attempts of the job executed its program.
  int executions(const std::string& job) const;
  // No NPU was ever held by two living programs.
  bool overlap_seen() const;

 private:
  friend class FakeExecutor;
  mutable std::mutex mutex_;
  std::map<AttemptKey, Process> processes_;
  ExecutorSink sink_;
  bool connected_ = false;
  bool overlap_ = false;
};

class FakeExecutor final : public Executor {
 public:
  explicit FakeExecutor(FakeWorld& world) : world_(world) {}
  ~FakeExecutor() override;
  FakeExecutor(const FakeExecutor&) = delete;
  FakeExecutor& operator=(const FakeExecutor&) = delete;

  Result<void> start(ExecutorSink sink) override;
  Result<SupervisorIdentity> prepare(const LaunchSpec& spec) override;
  Result<void> go(const AttemptKey& key) override;
  Result<void> stop(const AttemptKey& key, StopReason reason) override;
  Result<void> adopt(const AttemptKey& key, const std::optional<SupervisorIdentity>& identity) override;
  Result<void> remove(const AttemptKey& key) override;
  Result<std::vector<AttemptKey>> attempts_on_disk() const override;
  Result<void> set_aside(const AttemptKey& key) override;
  std::string log_path(const AttemptKey& key) const override;
  bool gives_private_devices() const override { return private_devices; }
  std::vector<std::string> missing_walls() const override { return {"a wall"}; }
  Result<std::optional<AttemptKey>> owner_of(std::int64_t pid) const override;
  bool may_live(const AttemptKey& key) const override;

  std::atomic<bool> private_devices{true};
  std::atomic<bool> refuse_prepare{false};
  std::atomic<bool> disk_full{false};
  std::atomic<bool> ignore_stop{false};
  std::atomic<bool> hold_prepare{false};  // prepare() blocks while it is set
  std::string log_directory;
  // What is asked of a log waits so long, as for a slow disk; while logs are held, as for one that stands
  // still.
  std::atomic<int> log_delay_ms{0};
  std::atomic<bool> hold_logs{false};
  mutable std::atomic<int> held_logs{0};  // that wait now
  void set_owner(std::int64_t pid, const AttemptKey& key);
  std::atomic<bool> tells_owners{true};

 private:
  FakeWorld& world_;
  mutable std::mutex owners_mutex_;
  std::map<std::int64_t, AttemptKey> owners_;
};

// One that can be cut.
DeviceNpu npu_310p3(std::uint32_t physical_id);

class FakeDevices final : public Devices {
 public:
  explicit FakeDevices(int npus);
  Result<DeviceScan> scan() override;
  Result<DeviceSlice> create_slice(const SliceOrder& order) override;
  Result<void> destroy_slice(std::uint32_t physical_id, std::uint32_t id) override;
  Result<void> forget_slice(std::uint32_t physical_id, std::uint32_t id) override;
  Result<void> set_slices_recover(bool on) override;
  Result<void> set_device_share(std::uint32_t physical_id, bool on) override;

  void set_driver(const std::string& version, const DriverStanding& standing);
  void set_away(bool away);
  void set_scan_time(std::chrono::milliseconds time);  // that each scan takes
  void set_npu(const DeviceNpu& npu);                  // in the place of the one with its physical id
  // No slice can be cut of these NPUs, for a reason of slice_reason.
  void refuse_create(const std::set<std::uint32_t>& physical_ids,
                     std::string_view reason = slice_reason::kNoCapacity);
  void refuse_destroy(bool refuse);
  void drop_slices();  // as a reboot does
  void refuse_forget(bool refuse);
  std::vector<std::uint32_t> forgotten() const;  // in their order
  bool slices_recover() const;
  void set_recover(bool on);
  void set_for_containers(bool on);
  std::vector<DeviceSlice> slices() const;
  void set_health(std::uint32_t physical_id, Health health);
  void remove_npu(std::uint32_t physical_id);
  int scans() const;

 private:
  mutable std::mutex mutex_;
  std::vector<DeviceNpu> npus_;
  std::string driver_version_ = "24.1.0";
  DriverStanding driver_;
  std::set<std::uint32_t> refuse_create_;
  std::string refusal_;
  bool refuse_destroy_ = false;
  bool refuse_forget_ = false;
  std::vector<std::uint32_t> forgotten_;
  bool slices_recover_ = true;
  bool for_containers_ = true;
  bool away_ = false;
  std::chrono::milliseconds scan_time_{0};
  int scans_ = 0;
};

class ManualClock final : public Clock {
 public:
  TimeMs now() override { return TimeMs(now_.load()); }
  void continue_from(TimeMs time) override;
  void advance(std::int64_t ms) { now_ += ms; }

 private:
  std::atomic<std::int64_t> now_{1'700'000'000'000};
};

}  // namespace tangram::service::testing
