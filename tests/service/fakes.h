// Stand-ins for the ports, which outlive a service as a disk, processes and devices outlive a daemon.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
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
  Result<std::optional<Snapshot>> latest_snapshot() override;
  Result<void> compact(TimeMs before) override;

  void set_full(bool full);
  std::vector<StoredRecord> records() const;
  std::vector<std::string> kinds() const;
  std::size_t count(const std::string& kind) const;
  std::uint64_t appends() const;
  bool has_snapshot() const;
  // As if an older copy had been put back.
  void cut(std::size_t count);
  void drop_snapshot();
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
  std::optional<Snapshot> snapshot_;
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

  std::atomic<bool> private_devices{true};
  std::atomic<bool> refuse_prepare{false};
  std::atomic<bool> disk_full{false};
  std::atomic<bool> hold_prepare{false};  // prepare() blocks while it is set
  std::string log_directory;

 private:
  FakeWorld& world_;
};

class FakeDevices final : public Devices {
 public:
  explicit FakeDevices(int npus);
  Result<DeviceScan> scan() override;

  void set_away(bool away);
  void set_health(std::uint32_t physical_id, Health health);
  void remove_npu(std::uint32_t physical_id);
  int scans() const;

 private:
  mutable std::mutex mutex_;
  std::vector<DeviceNpu> npus_;
  bool away_ = false;
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
