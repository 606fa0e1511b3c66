// Drives the core and the oracle with the same random records and compares them after each.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/oracle.h"
#include "scheduler/scheduler.h"

namespace tangram::testing {

// One random step; the numbers are taken modulo what there is.
struct Step {
  std::uint32_t kind = 0;
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint32_t c = 0;
};

class Lockstep {
 public:
  using Applied = std::pair<std::variant<Input, Decision>, std::int64_t>;

  enum class Hardware : std::uint8_t {
    kOneKind,  // a homogeneous cluster
    kMixed,    // chip models, memories and node sizes are mixed
    kCut,      // of two models that can be cut, some only now and then, and with slices of strangers
  };
  explicit Lockstep(Hardware hardware);

  void take(const Step& step);

  // Each throws (through RC_ASSERT) what is wrong.
  void check_books() const;
  void check_bytes() const;
  void check_recovery() const;
  void check_redecision() const;
  void check_explanations(std::uint32_t pick) const;

  const Scheduler& core() const { return core_; }
  std::int64_t strict_rounds = 0;  // rounds in which starts were compared exactly
  std::int64_t starts_seen = 0;
  std::int64_t slices_seen = 0;

 private:
  void input(const Input& input);
  void change_node(const Step& step);
  void change_tree(const Step& step);
  void observe(const Step& step);
  void observe_slice(const Step& step);
  void ask_slice(JobSpec& job, const Step& step) const;
  NpuReport cut_npu(std::uint32_t node, std::uint32_t id) const;
  void settle();
  void check_reasons(const std::map<std::uint64_t, Oracle::Verdict>& verdicts) const;
  void check_remedy(JobId job, const Remedy& remedy) const;
  bool starts_in(Scheduler fork, JobId job, TimeMs at) const;
  NodeReported report(std::uint32_t node) const;
  JobSpec random_job(const Step& step);
  Quota random_quota(const Step& step) const;

  Scheduler core_;
  Oracle oracle_;
  std::int64_t now_ = 1'000'000;
  std::uint64_t next_job_ = 1;
  Hardware hardware_;
  std::map<std::uint64_t, Health> health_;  // node * 100 + physical id, where it is not kOk
  std::map<std::uint32_t, bool> node_is_away_;
  std::map<std::uint64_t, std::vector<StraySlice>> strays_;  // likewise
  std::map<std::uint64_t, bool> is_not_cut_;
  std::vector<Applied> history_;
  bool limits_may_break_ = false;
  std::map<std::pair<std::uint32_t, std::size_t>, std::int64_t>
      excess_;  // tenant and dimension above its limit
};

}  // namespace tangram::testing
