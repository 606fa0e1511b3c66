#include "kube/node/share.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tangram::kube::node {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

constexpr const char* kUuid = "1A000000-00000001-0000000A-0000000B-0000000C";

// Without it the kubelet's ids could not be led back to an NPU, and shares of strangers would be taken for
// ours.
TEST(Share, IdsNameTheNpuAndTheShareAndNothingElseIsOne) {
  EXPECT_EQ(id_of({kUuid, 6}), std::string(kUuid) + "-6");
  EXPECT_LE(id_of({kUuid, kSharesMax - 1}).size(), 63U);
  const auto share = parse_share(std::string(kUuid) + "-12");
  ASSERT_TRUE(share);
  EXPECT_EQ(share->npu, kUuid);
  EXPECT_EQ(share->number, 12U);
  for (const char* const wrong : {"", "-", "-1", "a", "a-", "a-x", "a-01", "a--", "a-1000", "a-+1"}) {
    EXPECT_FALSE(parse_share(wrong)) << wrong;
  }
  EXPECT_EQ(parse_share("npu-3-0")->npu, "npu-3");
}

// Without it an id from a damaged file would lead out of the directory of shares, and that place be emptied.
TEST(Share, AnIdIsNoWayOutOfADirectory) {
  EXPECT_TRUE(is_share_id("npu-3-0"));
  for (const char* const wrong : {"", ".", "..", "a", "../a-1", "/a-1", "a/b-1"}) {
    EXPECT_FALSE(is_share_id(wrong)) << wrong;
  }
  EXPECT_FALSE(is_share_id(std::string_view("a\0-1", 4)));
}

// Without it a 310P3 would not show the seven that its users count on.
TEST(Share, AnNpuIsOfferedAsOftenAsItsSmallestTemplateFits) {
  EXPECT_EQ(shares_of(Bytes::mib(21527), Bytes::mib(3072), {}), 7U);
  EXPECT_EQ(shares_of(Bytes::mib(65536), Bytes::mib(16384), {}), 4U);
  EXPECT_EQ(shares_of(Bytes::mib(32768), std::nullopt, {}), 1U);
  EXPECT_EQ(shares_of(Bytes(), Bytes::mib(3072), {}), 1U);
  EXPECT_EQ(shares_of(Bytes::mib(21527), Bytes::mib(3072), 4), 4U);
  EXPECT_EQ(shares_of(Bytes::mib(21527), Bytes::mib(3072), 5000), kSharesMax);
}

// Without it the kubelet would show a Pod shares of another NPU than it has, and the choice would be its own.
TEST(Share, PreferredAreTheOnesThatMustBeThenThoseOfTheExpectedNpus) {
  const std::vector<std::string> available{"a-0", "a-1", "b-2", "b-10", "c-0"};
  EXPECT_THAT(prefer_shares(available, {}, 1, {"b"}), ElementsAre("b-2"));
  EXPECT_THAT(prefer_shares(available, {"a-1"}, 2, {"b"}), ElementsAre("a-1", "b-2"));
  EXPECT_THAT(prefer_shares(available, {}, 2, {"b", "a"}), ElementsAre("b-2", "a-0"));
}

// Without it each NPU would be broken into although another is already.
TEST(Share, WithoutExpectationTheNpuWithTheFewestFreeSharesIsTakenFirst) {
  const std::vector<std::string> available{"a-0", "a-1", "a-2", "b-2", "b-10"};
  EXPECT_THAT(prefer_shares(available, {}, 1, {}), ElementsAre("b-2"));
  EXPECT_THAT(prefer_shares(available, {}, 3, {"gone"}), ElementsAre("b-2", "b-10", "a-0"));
  EXPECT_THAT(prefer_shares(available, {}, 9, {}), UnorderedElementsAre("a-0", "a-1", "a-2", "b-2", "b-10"));
  EXPECT_THAT(prefer_shares(available, {"a-0", "a-1"}, 1, {}), ElementsAre("a-0"));
}

}  // namespace
}  // namespace tangram::kube::node
