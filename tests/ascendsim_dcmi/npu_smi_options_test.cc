#include "ascendsim/npu_smi/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ascendsim::npu_smi {
namespace {

using testing::StartsWith;

// Without it `-i 3x` or `-i -1` would quietly ask about another card.
TEST(NpuSmiOptions, NumbersAreWholeNumbers) {
  for (const char* wrong : {"3x", "-1", "", "99999999999", " 1"}) {
    EXPECT_THAT(parse_options({"info", "-t", "board", "-i", wrong}).complaint,
                StartsWith("Error parameter of -i"))
        << wrong;
  }
  const ParsedOptions good = parse_options({"info", "-t", "board", "-i", "3", "-c", "1"});
  EXPECT_EQ(good.complaint, "");
  EXPECT_EQ(good.options.card, 3);
  EXPECT_EQ(good.options.chip, 1);
  EXPECT_EQ(good.options.type, "board");
}

// Without it an option at the end without its value would read past the arguments.
TEST(NpuSmiOptions, MissingValueIsRefused) {
  EXPECT_THAT(parse_options({"info", "-t"}).complaint, StartsWith("Must input parameter of -t."));
}

// Without it the forms of the documentation would not be told apart.
TEST(NpuSmiOptions, FormsAreToldApart) {
  EXPECT_EQ(parse_options({"info"}).options.action, Action::kInfo);
  EXPECT_EQ(parse_options({"info", "-l"}).options.action, Action::kList);
  EXPECT_EQ(parse_options({"info", "-m"}).options.action, Action::kMap);
  EXPECT_EQ(parse_options({"-v"}).options.action, Action::kVersion);
  EXPECT_EQ(parse_options({}).options.action, Action::kHelp);
  EXPECT_EQ(parse_options({"info", "--what"}).complaint, "Command or option is not found.\n");
}

}  // namespace
}  // namespace ascendsim::npu_smi
