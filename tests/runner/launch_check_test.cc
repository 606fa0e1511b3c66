#include "runner/launch_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tangram::runner {
namespace {

using testing::HasSubstr;

LaunchSpec good() {
  LaunchSpec spec;
  spec.key = {"j-1", 1};
  spec.tenant = "alice";
  spec.uid = spec.gid = 41001;
  spec.argv = {"true"};
  spec.env = {{"PATH", "/bin"}};
  return spec;
}

LaunchSpec in_slice() {
  LaunchSpec spec = good();
  spec.slice = {2, 133, "vir04_3c"};
  spec.env.emplace_back("ASCEND_VNPU_SPECS", "vir04_3c");
  return spec;
}

std::string refusal(const LaunchSpec& spec) {
  const Result<void> checked = check_launch(spec, true);
  if (checked) return "";
  EXPECT_EQ(checked.error().reason, "runner.launch.invalid");
  return checked.error().message;
}

// Without this, what is refused below could be refused for another reason.
TEST(LaunchCheck, WholeNpusOrASliceAreFine) {
  EXPECT_EQ(refusal(good()), "");
  EXPECT_EQ(refusal(in_slice()), "");
  LaunchSpec whole = good();
  whole.npus = {0, 3};
  EXPECT_EQ(refusal(whole), "");
}

// Without this, a mistake of the daemon would hand out a slice together with the NPU that it is cut of.
TEST(LaunchCheck, ASliceStandsAlone) {
  LaunchSpec spec = in_slice();
  spec.npus = {2};
  EXPECT_THAT(refusal(spec), HasSubstr("either whole NPUs or a slice"));
  spec.npus = {3};
  EXPECT_THAT(refusal(spec), HasSubstr("either whole NPUs or a slice"));
}

// Without this, a number that went astray would name a node of another tenant, or all slices of a chip.
TEST(LaunchCheck, ASliceIsOneOfItsNpu) {
  for (const std::uint32_t id : {0U, 2U, 131U, 148U, 65535U}) {
    LaunchSpec spec = in_slice();
    spec.slice->id = id;
    EXPECT_THAT(refusal(spec), HasSubstr("there can be no slice " + std::to_string(id))) << id;
  }
  LaunchSpec spec = in_slice();
  for (const std::uint32_t id : {132U, 147U}) {
    spec.slice->id = id;
    EXPECT_EQ(refusal(spec), "") << id;
  }
}

// Without this, a name that is none would reach the environment of a program.
TEST(LaunchCheck, ATemplateHasAName) {
  for (const std::string& name : {std::string(), std::string("vir04,vir01"), std::string("vir 4"),
                                  std::string(32, 'v'), std::string("vir04\0", 6)}) {
    LaunchSpec spec = in_slice();
    spec.slice->template_name = name;
    EXPECT_NE(refusal(spec), "") << name;
  }
}

// Without this, a tenant's own variable would tell its program, or a container runtime, of a slice it does
// not hold.
TEST(LaunchCheck, TheEnvironmentTellsTheTruthOnce) {
  LaunchSpec spec = in_slice();
  spec.env.back().second = "vir04";
  EXPECT_THAT(refusal(spec), HasSubstr("which the job does not hold"));
  spec = in_slice();
  spec.slice.reset();
  EXPECT_THAT(refusal(spec), HasSubstr("which the job does not hold"));
  spec = in_slice();
  spec.env.emplace_back("ASCEND_VNPU_SPECS", "vir04_3c");
  EXPECT_THAT(refusal(spec), HasSubstr("names ASCEND_VNPU_SPECS twice"));
  spec = good();
  spec.env.emplace_back("PATH", "/usr/bin");
  EXPECT_THAT(refusal(spec), HasSubstr("names PATH twice"));
}

}  // namespace
}  // namespace tangram::runner
