#include "kube/manager/fit_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wire/texts.h"

namespace tangram::kube::manager {
namespace {

using ::testing::HasSubstr;

// Without this, a reason would reach users as an empty word.
TEST(FitWords, EveryReasonHasOne) {
  for (int n = 1; n <= static_cast<int>(kReasonLast); ++n) {
    EXPECT_NE(hami_word(static_cast<ReasonCode>(n)), "") << n;
  }
}

// Without this, people would read how many NPUs there are, and not what each has against them.
TEST(FitWords, SentencesHaveNumbers) {
  NodeFit fit;
  fit.reason = ReasonCode::kSlotsBusy;
  fit.npus = 3;
  fit.refusing[0] = 2;
  fit.refusing[4] = 1;
  const extender::Fit told = fit_in_words(fit, true, "Ascend310P");
  EXPECT_EQ(told.message,
            "of 3 NPUs of Ascend310P, 2 have memory left, but take no further slice, 1 are not healthy");
  fit.reason = ReasonCode::kNpusNever;
  EXPECT_THAT(fit_in_words(fit, true, "Ascend310P").message, HasSubstr("too few: 3 NPUs"));
  fit.npus = 0;
  EXPECT_EQ(fit_in_words(fit, true, "Ascend910B4").message, "the node has no NPU of Ascend910B4");
  NodeFit good;
  good.fits = true;
  good.score = 70;
  EXPECT_EQ(fit_in_words(good, true, "Ascend310P").score, 70);
  EXPECT_EQ(fit_in_words(good, true, "Ascend310P").reason, "");
  EXPECT_FALSE(fit_in_words(good, false, "Ascend310P").fits) << "a node that is not known";
}

}  // namespace
}  // namespace tangram::kube::manager
