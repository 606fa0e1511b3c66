// A node with its daemon, its users and its misfortunes, in one thread and in time of its own. The daemon is
// the service as it is, step by step; journal, host and machine around it are played, and outlive it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "service/fakes.h"
#include "service/service.h"
#include "slice_lives/fate.h"
#include "slice_lives/played_host.h"
#include "slice_lives/played_journal.h"
#include "slice_lives/played_machine.h"

namespace tangram::lives {

class FateClock final : public service::Clock {
 public:
  explicit FateClock(const Fate& fate) : fate_(fate) {}
  TimeMs now() override { return fate_.now(); }
  void continue_from(TimeMs /*time*/) override {}

 private:
  const Fate& fate_;
};

class World {
 public:
  // `points`: the crash points at which the daemon is killed.
  World(std::uint64_t seed, std::vector<std::string> points);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Until so many slices have been ordered, or a rule is broken.
  void live(int slices);
  // All is well again and everybody leaves; then the whole machine can be given. Broken rules are told by
  // fate().
  void end();

  const Fate& fate() const { return fate_; }
  const PlayedJournal& journal() const { return journal_; }
  int agreements() const { return agreements_; }

 private:
  using Part = service::Service::Part;
  static constexpr std::size_t kParts = 9;  // those of the service, and the executor's events

  void turn();
  void guarded(const std::function<void()>& act);
  void start_daemon();
  void drop_daemon();
  void reboot();

  bool step(std::size_t part);
  bool may_step(std::size_t part) const;
  void meanwhile();
  void quiesce();

  void something_happens();
  void submit();
  void submit_whole(std::size_t npus);
  void lease();
  void let_go();
  void cancel_one();
  void end_one();
  void arm();
  void put_tenant();

  void calm_down();
  void agree();
  void check_books();
  void check_strays(const wire::NpuStatusView& npu);
  void check_offers();
  void check_start(const AttemptKey& key, const PlayedHost::Attempt& attempt);

  Fate fate_;
  const std::vector<std::string> points_;
  service::Options options_;
  FateClock clock_{fate_};
  PlayedJournal journal_{fate_};
  PlayedHost host_{fate_};
  std::vector<ChipKind> chips_;
  std::unique_ptr<PlayedMachine> machine_;
  std::unique_ptr<PlayedExecutor> executor_;
  std::unique_ptr<service::Service> service_;
  std::vector<service::HeldLease> leases_;  // by a connection that lives
  bool ready_ = false;                      // the daemon has started
  std::array<bool, kParts> at_work_{};
  int depth_ = 0;
  int turns_ = 0;
  int agreements_ = 0;
};

}  // namespace tangram::lives
