// The invariants of the core under random sequences of records. A failure prints the seed; RC_PARAMS="seed=…"
// runs it again.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "scheduler/lockstep.h"

namespace rc {

template <>
struct Arbitrary<tangram::testing::Step> {
  static Gen<tangram::testing::Step> arbitrary() {
    using tangram::testing::Step;
    const auto number = gen::inRange<std::uint32_t>(0, 4096);
    return gen::build<Step>(gen::set(&Step::kind, gen::inRange<std::uint32_t>(0, 20)),
                            gen::set(&Step::a, number), gen::set(&Step::b, number),
                            gen::set(&Step::c, number));
  }
};

}  // namespace rc

namespace tangram::testing {

void showValue(const Step& step, std::ostream& os) {  // NOLINT(readability-identifier-naming)
  os << "{" << step.kind << "," << step.a << "," << step.b << "," << step.c << "}";
}

namespace {

std::vector<Step> steps(std::size_t count) {
  return *rc::gen::container<std::vector<Step>>(count, rc::gen::arbitrary<Step>());
}

void run(Lockstep::Hardware hardware) {
  Lockstep lockstep(hardware);
  const std::vector<Step> story =
      steps(*rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::size_t>(0, 150)));
  std::uint32_t count = 0;
  for (const Step& step : story) {
    lockstep.take(step);
    lockstep.check_books();
    if (++count % 8 == 0) lockstep.check_bytes();
    if (count % 4 == 0) lockstep.check_explanations(step.b);
  }
  lockstep.check_bytes();
  lockstep.check_recovery();
  lockstep.check_redecision();
  RC_ASSERT(lockstep.strict_rounds > 0);
  RC_CLASSIFY(lockstep.slices_seen > 10, "more than ten slices given");
}

// Without this, an NPU could be given twice, a charge lost, or a job served out of turn on a cluster of one
// kind.
RC_GTEST_PROP(SchedulerProperty, AgreesWithTheOracleOnOneKind, ()) {
  run(Lockstep::Hardware::kOneKind);
}

// Without this, the same could happen where memory sizes, chip models and node sizes are mixed.
RC_GTEST_PROP(SchedulerProperty, AgreesWithTheOracleOnMixedKinds, ()) {
  run(Lockstep::Hardware::kMixed);
}

// Without this, an NPU could be cut beyond what it has, held whole and cut at once, or a slice be lost or
// charged twice, through any life of slices and whole NPUs beside those of strangers.
RC_GTEST_PROP(SchedulerProperty, AgreesWithTheOracleOnNpusThatAreCut, ()) {
  run(Lockstep::Hardware::kCut);
}

}  // namespace
}  // namespace tangram::testing
