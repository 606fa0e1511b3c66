#include "slice_lives/world.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "base/crash_point.h"
#include "wire/schema.h"
#include "wire/texts.h"

namespace tangram::lives {
namespace {

using service::Caller;

constexpr std::size_t kExecutorEvents = 8;
constexpr int kTurnsBetweenAgreements = 60;
constexpr int kDepthMax = 2;
constexpr int kQuietSteps = 20'000;

const Caller kOperator = [] {
  Caller caller;
  caller.kind = Caller::Kind::kOperator;
  return caller;
}();

std::vector<ChipKind> chips_for(std::uint64_t seed) {
  switch (seed % 3) {
    case 0:
      return {chip_310p3(), chip_310p3()};
    case 1:
      return {chip_910b4(), chip_910b4()};
    default:
      return {chip_310p3(), chip_910b2()};
  }
}

service::Options options_for(std::uint64_t seed) {
  service::Options options;
  options.node = "node-1";
  options.own_uid = 1'000;
  options.sweep_interval_ms = 2'000;
  options.ended_keep_ms = 5'000;
  options.ended_max = 20;
  options.snapshot_every = 40;
  options.slice_variants = seed % 5 != 0;
  options.slice_policy.foreign = {seed % 2 == 0, 20'000, 2};
  options.slice_policy.forbid_recover = seed % 4 != 0;
  options.pace.threads = false;
  return options;
}

}  // namespace

World::World(std::uint64_t seed, std::vector<std::string> points)
    : fate_(seed), points_(std::move(points)), options_(options_for(seed)), chips_(chips_for(seed)) {
  options_.pace.now = [this] { return service::Pace::Time(std::chrono::milliseconds(fate_.now().value)); };
  machine_ = std::make_unique<PlayedMachine>(fate_, host_, journal_, options_.slice_policy, chips_);
  host_.on_start = [this](const AttemptKey& key, const PlayedHost::Attempt& attempt) {
    check_start(key, attempt);
  };
  journal_.on_returned = [this](std::uint32_t id, const PlayedJournal::Slice& slice) {
    const auto there = machine_->slices().find(id);
    if (there != machine_->slices().end() && there->second.made_for == slice.attempt)
      fate_.broken("returned, and still there: slice " + std::to_string(id));
  };
  fate_.meanwhile = [this] { meanwhile(); };
  on_crash_point([this](std::string_view point) { fate_.pass(point); });
  arm();
  start_daemon();
  put_tenant();
}

World::~World() {
  on_crash_point(nullptr);
}

// ---- the daemon

void World::guarded(const std::function<void()>& act) {
  try {
    act();
  } catch (const DaemonDied&) {
    drop_daemon();
    start_daemon();
  }
}

void World::start_daemon() {
  while (true) {
    try {
      journal_.open();
      executor_ = std::make_unique<PlayedExecutor>(host_);
      service_ = std::make_unique<service::Service>(options_, journal_, *executor_, *machine_, clock_);
      machine_->daemon_started();
      const auto started = service_->start();
      if (!started) fate_.broken("the daemon does not start: " + started.error().to_string());
      ready_ = true;
      return;
    } catch (const DaemonDied&) {
      drop_daemon();
    }
  }
}

// Nothing that it had in memory is left.
void World::drop_daemon() {
  ready_ = false;
  at_work_ = {};
  depth_ = 0;
  leases_.clear();  // those who hold them do not come back
  service_.reset();
  executor_.reset();
  host_.daemon_died();
  fate_.note("daemon died");
  fate_.advance(static_cast<std::int64_t>(fate_.pick(2'000)));
  machine_->let_pass();
}

void World::reboot() {
  drop_daemon();
  host_.reboot();
  machine_->reboot();
  start_daemon();
}

// ---- steps

bool World::may_step(std::size_t part) const {
  if (at_work_[part]) return false;
  // Calls of the devices wait for each other.
  const auto slices = static_cast<std::size_t>(Part::kSlices);
  const auto watch = static_cast<std::size_t>(Part::kWatch);
  return (part != slices && part != watch) || (!at_work_[slices] && !at_work_[watch]);
}

bool World::step(std::size_t part) {
  if (!ready_ || !may_step(part)) return false;
  at_work_[part] = true;  // a death clears all of them
  const bool moved = part == kExecutorEvents ? host_.step() : service_->step(static_cast<Part>(part));
  at_work_[part] = false;
  if (moved) fate_.note(std::string("step ") + static_cast<char>('0' + part));
  return moved;
}

// A part is blocked in a call; time passes, and the others go on.
void World::meanwhile() {
  if (fate_.calm || depth_ >= kDepthMax) return;
  ++depth_;
  fate_.advance(static_cast<std::int64_t>(fate_.pick(120)));
  for (std::uint64_t i = fate_.pick(4); i > 0; --i) (void)step(fate_.pick(kParts));
  --depth_;
}

// Until nobody has anything more to do at this instant.
void World::quiesce() {
  for (int steps = 0; steps < kQuietSteps; ++steps) {
    bool moved = false;
    for (std::size_t part = 0; part < kParts; ++part) moved = step(part) || moved;
    if (!moved) return;
  }
  fate_.broken("the daemon never rests");
}

void World::live(int slices) {
  while (journal_.ordered() < slices && fate_.wrong().empty()) {
    turn();
    if (++turns_ % kTurnsBetweenAgreements == 0) agree();
  }
}

void World::turn() {
  guarded([this] {
    something_happens();
    for (std::uint64_t i = fate_.pick(12); i > 0; --i) (void)step(fate_.pick(kParts));
  });
  fate_.advance(static_cast<std::int64_t>(fate_.pick(400)));
  machine_->let_pass();
  fate_.turn();
}

// ---- what happens

void World::something_happens() {
  switch (fate_.pick(24)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
      submit();
      return;
    case 5:
      lease();
      return;
    case 6:
    case 7:
    case 8:
      end_one();
      return;
    case 9:
      let_go();
      return;
    case 10:
      cancel_one();
      return;
    case 11:
    case 12:
      for (const AttemptKey& key : host_.running()) {
        if (fate_.pick(2) == 0) host_.touch(key);
      }
      return;
    case 13:
      machine_->cut_by_another();
      return;
    case 14:
      machine_->uncut_by_another();
      return;
    case 15:
      machine_->use_by_another();
      return;
    case 16:
      machine_->befall();
      return;
    case 17:
    case 18:
      machine_->mend();
      return;
    case 19:
    case 20:
      arm();
      return;
    case 21:
      if (!fate_.happens("daemon killed between two steps", 6)) return;
      throw DaemonDied();
    case 22:
      if (fate_.pick(5) == 0) reboot();
      return;
    default:
      if (fate_.pick(3) == 0 && host_.kill_waiting()) ++fate_.faults["supervisor killed before its go"];
      return;
  }
}

void World::arm() {
  if (!points_.empty()) fate_.arm(points_[fate_.pick(points_.size())], 40);
}

void World::submit() {
  const ChipKind& kind = chips_[fate_.pick(chips_.size())];
  if (fate_.pick(20) == 0) {
    submit_whole(1);
    return;
  }
  const std::string& memory = kind.sizes[fate_.pick(kind.sizes.size())];
  service::SubmitRequest request;
  request.submissions = *wire::read_submissions(
      R"({"tenant":"team","command":["/bin/true"],"slice":{"memory":")" + memory + "\"}}");
  service_->submit(kOperator, std::move(request), [](const service::Answer&) {});
}

// A job without a program: somebody holds it as long as its connection lives.
void World::lease() {
  const ChipKind& kind = chips_[fate_.pick(chips_.size())];
  const std::string& memory = kind.sizes[fate_.pick(kind.sizes.size())];
  const auto request = wire::read_lease_request(R"({"tenant":"team","slice":{"memory":")" + memory + "\"}}");
  service_->lease(kOperator, *request, {nullptr, true}, [this](const Result<service::HeldLease>& held) {
    if (held) leases_.push_back(*held);
  });
}

void World::let_go() {
  if (leases_.empty()) return;
  service_->let_go(leases_.front());
  leases_.erase(leases_.begin());
}

void World::submit_whole(std::size_t npus) {
  service::SubmitRequest request;
  request.submissions = *wire::read_submissions(R"({"tenant":"team","command":["/bin/true"],"npus":)" +
                                                std::to_string(npus) + "}");
  service_->submit(kOperator, std::move(request), [](const service::Answer&) {});
}

// Most often one whose slice is being cut: what is cut off then may come when nobody wants it any more.
void World::cancel_one() {
  std::vector<JobId> jobs;
  for (const auto& [id, slice] : journal_.slices()) {
    if (!slice.made && !slice.ended) jobs.push_back(slice.job);
  }
  if (jobs.empty()) jobs.assign(journal_.unfinished().begin(), journal_.unfinished().end());
  if (jobs.empty()) return;
  const std::string job = wire::format_job_id(jobs[fate_.pick(jobs.size())]);
  service_->cancel(kOperator, job, [](const Result<wire::JobView>&) {});
}

void World::end_one() {
  const std::vector<AttemptKey> running = host_.running();
  if (running.empty()) return;
  const AttemptKey key = running[fate_.pick(running.size())];
  for (const char* const point : {"supervise.after_exec", "supervise.before_exit_record"}) {
    if (!fate_.dies_at(point, 40)) continue;
    host_.end(key, Outcome::kLost);
    return;
  }
  if (fate_.dies_at("runner.after_exit_tmp", 40)) {
    host_.end(key, Outcome::kLost);
    throw DaemonDied();
  }
  (void)fate_.dies_at("supervise.after_exit_record", 40);  // what it wrote is all that counts
  const bool failed = fate_.pick(4) == 0;
  host_.end(key, failed ? Outcome::kFailed : Outcome::kSucceeded, failed ? 1 : 0);
}

void World::put_tenant() {
  while (true) {
    guarded([this] {
      quiesce();
      if (service_->tenant(kOperator, "team")) return;
      auto documents = wire::read_documents(
          "apiVersion: tangram.dev/v1\nkind: Tenant\nmetadata: {name: team}\nspec: {quota: {npus: 1000}}\n",
          wire::Format::kYaml);
      service_->apply(kOperator, std::move(*documents), [](const Result<wire::ApplyAnswer>&) {});
      quiesce();
    });
    if (service_->tenant(kOperator, "team")) return;
    fate_.advance(1'000);
  }
}

// ---- rules

void World::check_start(const AttemptKey& key, const PlayedHost::Attempt& attempt) {
  if (attempt.spec.slice) {
    const auto slice = machine_->slices().find(attempt.spec.slice->id);
    const bool is_its_own = slice != machine_->slices().end() && slice->second.made_for == key &&
                            machine_->template_of(slice->first) == attempt.spec.slice->template_name;
    if (!is_its_own && !machine_->has_lost(key))
      fate_.broken(key.job + " starts in a slice that is not there or not its own");
  }
  for (const AttemptKey& other : host_.running()) {
    if (other == key) continue;
    const LaunchSpec& spec = host_.attempts().at(other).spec;
    const bool same_slice = attempt.spec.slice && spec.slice == attempt.spec.slice;
    const auto holds = [](const LaunchSpec& one, std::uint32_t npu) {
      return std::find(one.npus.begin(), one.npus.end(), npu) != one.npus.end() ||
             (one.slice && one.slice->physical_id == npu);
    };
    const bool same_npu = std::any_of(attempt.spec.npus.begin(), attempt.spec.npus.end(),
                                      [&](std::uint32_t npu) { return holds(spec, npu); });
    if (same_slice || same_npu) fate_.broken(key.job + " starts on what " + other.job + " has");
  }
}

// What was cut off works now, or never will, and what was left of processes is gone. Nobody dies any more.
void World::calm_down() {
  fate_.calm = true;
  machine_->mend();
  fate_.advance(options_.slice_policy.late_ms);
  machine_->let_pass();
}

// All is well from now on: after two looks the hardware and the books say the same. A slice of another's that
// goes back by the second one, when its grace is over, is seen to be gone by the next.
void World::agree() {
  calm_down();
  for (int looks = 0; looks < 2 || machine_->foreign_returned_at() == fate_.now(); ++looks) {
    fate_.advance(options_.slice_policy.pause_ms_max);
    quiesce();
  }
  check_books();
  ++agreements_;
  fate_.calm = false;
}

void World::check_books() {
  for (const auto& [id, slice] : machine_->slices()) {
    if (!slice.made_for) continue;
    const auto entry = journal_.slices().find(id);
    if (entry == journal_.slices().end() || entry->second.attempt != *slice.made_for) {
      fate_.broken("slice " + std::to_string(id) + " of " + slice.made_for->job + " is nobody's, and stays");
    }
  }
  for (const auto& [id, slice] : journal_.slices()) {
    const std::string name = "slice " + std::to_string(id) + " of " + slice.attempt.job;
    if (slice.ended) fate_.broken(name + " is not returned");
    const auto there = machine_->slices().find(id);
    const bool is_there = there != machine_->slices().end() && there->second.made_for == slice.attempt;
    // An order that the driver refuses, for others stand in its place, is tried a few times more.
    if (slice.made && !is_there) fate_.broken(name + " is not there");
    if (!slice.made && is_there) fate_.broken(name + " is there, and not made");
  }
  for (const wire::NpuStatusView& npu : service_->status(kOperator).npus) check_strays(npu);
}

// What is kept out of an NPU's capacity are the slices of others, and nothing else.
void World::check_strays(const wire::NpuStatusView& npu) {
  std::set<std::uint32_t> shown;
  for (const wire::NpuSliceView& slice : npu.slices) {
    if (!slice.job.empty() || !slice.id) continue;
    // The trace of a refusal: for some seconds nothing is offered of the NPU.
    if (slice.template_name.empty()) return;
    shown.insert(*slice.id);
  }
  std::set<std::uint32_t> foreign;
  for (const auto& [id, slice] : machine_->slices()) {
    if (!slice.made_for && is_slice_id(npu.npu, id)) foreign.insert(id);
  }
  if (shown != foreign)
    fate_.broken("not the slices of others are kept out of NPU " + std::to_string(npu.npu));
}

void World::end() {
  if (!fate_.wrong().empty()) return;
  calm_down();
  for (int rounds = 0; rounds < 20 && !journal_.unfinished().empty(); ++rounds) {
    for (const JobId job : std::set(journal_.unfinished())) {
      service_->cancel(kOperator, wire::format_job_id(job), [](const Result<wire::JobView>&) {});
    }
    quiesce();
    fate_.advance(1'000);
  }
  if (!journal_.unfinished().empty()) fate_.broken("a job does not end");
  machine_->remove_others();
  agree();
  if (!machine_->slices().empty() || !journal_.slices().empty()) fate_.broken("a slice is left");
  fate_.calm = true;
  check_offers();
}

// No capacity is lost: a job can have each NPU whole, all of them at once.
void World::check_offers() {
  for (std::size_t i = 0; i < machine_->npus(); ++i) submit_whole(1);
  quiesce();
  std::set<std::uint32_t> given;
  for (const AttemptKey& key : host_.running()) {
    const std::vector<std::uint32_t>& npus = host_.attempts().at(key).spec.npus;
    given.insert(npus.begin(), npus.end());
  }
  if (given.size() != machine_->npus()) fate_.broken("an NPU is not offered any more");
}

}  // namespace tangram::lives
