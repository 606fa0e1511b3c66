// What the containers of a Pod have to have at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/cluster.h"
#include "scheduler/shared_parts.h"

namespace tangram::testing {
namespace {

using ::testing::ElementsAre;

ContainerAsk app(Part part) {
  return {std::move(part), false, false};
}
ContainerAsk init(Part part) {
  return {std::move(part), true, false};
}
ContainerAsk sidecar(Part part) {
  return {std::move(part), true, true};
}

// Without this, a Pod would be charged for containers that never run at the same time.
TEST(SharedParts, InitContainersUseWhatTheOthersGet) {
  const std::vector<ContainerAsk> containers = {init(slice_part(6144, 2)), init(slice_part(3072, 1)),
                                                app(slice_part(12'288, 4)), app(slice_part(3072, 1))};
  const SharedParts shared = share_parts(containers);
  EXPECT_THAT(shared.parts, ElementsAre(slice_part(12'288, 4), slice_part(3072, 1)));
  EXPECT_THAT(shared.part_for, ElementsAre(0, 1, 0, 1)) << "the smallest that holds it";
}

// Without this, an init container that needs more than the others would get too little.
TEST(SharedParts, TheLargerOfBothIsTaken) {
  const std::vector<ContainerAsk> containers = {init(slice_part(12'288, 4)), app(slice_part(3072, 1)),
                                                app(slice_part(6144, 2)), init(whole_part(2)),
                                                app(whole_part(1))};
  const SharedParts shared = share_parts(containers);
  EXPECT_THAT(shared.parts, ElementsAre(slice_part(3072, 1), slice_part(12'288, 4), whole_part(2)));
  EXPECT_THAT(shared.part_for, ElementsAre(1, 0, 1, 2, 2));
}

// Without this, a container that goes on running would be given what another one still uses.
TEST(SharedParts, SidecarsShareWithNobody) {
  const std::vector<ContainerAsk> containers = {sidecar(slice_part(12'288, 4)), init(slice_part(6144, 2)),
                                                init(slice_part(3072, 1)), app(whole_part())};
  const SharedParts shared = share_parts(containers);
  EXPECT_THAT(shared.parts, ElementsAre(slice_part(12'288, 4), whole_part(), slice_part(6144, 2)));
  EXPECT_THAT(shared.part_for, ElementsAre(0, 2, 2, 1))
      << "init containers follow each other on one of their own";
}

// Without this, a container could be given the slice of another model of chip.
TEST(SharedParts, ModelsAreNotMixed) {
  const std::vector<ContainerAsk> containers = {init(slice_part(3072, 1, "910B4")),
                                                app(slice_part(12'288, 4))};
  const SharedParts shared = share_parts(containers);
  EXPECT_THAT(shared.parts, ElementsAre(slice_part(12'288, 4), slice_part(3072, 1, "910B4")));
  EXPECT_THAT(share_parts({}).parts, ElementsAre());
}

}  // namespace
}  // namespace tangram::testing
