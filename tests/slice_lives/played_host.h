// Processes of a host in memory: supervisors, and the programs that they run. They stay when the daemon dies.
// With the crash points of the real runner.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ports/executor.h"
#include "slice_lives/fate.h"

namespace tangram::lives {

class PlayedHost {
 public:
  struct Attempt {
    LaunchSpec spec;
    std::int64_t pid = 0;
    bool alive = true;      // its supervisor waits, or its program runs
    bool released = false;  // the program was executed
    bool touched = false;   // it has used its device
    std::optional<AttemptExit> exit;
    TimeMs lingers_until;  // so long something of an ended one may live
  };

  explicit PlayedHost(Fate& fate) : fate_(fate) {}

  const std::map<AttemptKey, Attempt>& attempts() const { return attempts_; }
  std::vector<AttemptKey> running() const;
  bool may_live(const AttemptKey& key) const;
  // As the driver sees it: true from the first use until the last process is gone.
  bool uses(std::uint32_t slice) const;

  void touch(const AttemptKey& key) { attempts_.at(key).touched = true; }
  // The program ends by itself, or its supervisor dies.
  void end(const AttemptKey& key, Outcome outcome, std::optional<int> status = std::nullopt);
  // Somebody kills a supervisor that waits for its `go`. False: none does.
  bool kill_waiting();
  // Supervisors that have no `go` yet see end of file.
  void daemon_died();
  void reboot();
  // Tells the executor what has happened first. False: nothing has.
  bool step();

  // Called with a program that is about to run.
  std::function<void(const AttemptKey&, const Attempt&)> on_start;

 private:
  friend class PlayedExecutor;
  using Event = std::function<void(const ExecutorSink&)>;

  void tell_exit(const AttemptExit& exit);

  Fate& fate_;
  std::map<AttemptKey, Attempt> attempts_;
  std::int64_t last_pid_ = 1'000;
  std::optional<ExecutorSink> sink_;  // of a daemon that is alive
  std::deque<Event> events_;
};

class PlayedExecutor final : public Executor {
 public:
  explicit PlayedExecutor(PlayedHost& host) : host_(host) {}
  ~PlayedExecutor() override;
  PlayedExecutor(const PlayedExecutor&) = delete;
  PlayedExecutor& operator=(const PlayedExecutor&) = delete;

  Result<void> start(ExecutorSink sink) override;
  Result<SupervisorIdentity> prepare(const LaunchSpec& spec) override;
  Result<void> go(const AttemptKey& key) override;
  Result<void> stop(const AttemptKey& key, StopReason reason) override;
  Result<void> adopt(const AttemptKey& key, const std::optional<SupervisorIdentity>& identity) override;
  Result<void> remove(const AttemptKey& key) override;
  Result<std::vector<AttemptKey>> attempts_on_disk() const override;
  Result<void> set_aside(const AttemptKey& key) override;
  std::string log_path(const AttemptKey& key) const override;
  bool gives_private_devices() const override { return true; }
  std::vector<std::string> missing_walls() const override { return {}; }
  Result<std::optional<AttemptKey>> owner_of(std::int64_t pid) const override;
  bool may_live(const AttemptKey& key) const override { return host_.may_live(key); }

 private:
  PlayedHost& host_;
};

}  // namespace tangram::lives
