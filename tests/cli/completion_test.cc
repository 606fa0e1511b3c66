#include "cli/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tangram::cli {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using Words = std::vector<std::string>;

class CompletionTest : public ::testing::Test {
 protected:
  Completion at(const Words& words) {
    const NameSource source{[&](Jobs which) {
                              ++asked;
                              std::vector<KnownName> jobs{{"j-17", "team-a, waiting"}, {"train", "j-17"}};
                              if (which == Jobs::kAll) jobs.push_back({"j-3", "team-a, succeeded"});
                              return jobs;
                            },
                            [&] {
                              ++asked;
                              return std::vector<KnownName>{{"team-a", ""}, {"team-b", ""}};
                            },
                            [&] {
                              ++asked;
                              return std::vector<KnownName>{{"ci", ""}, {"dashboard", ""}};
                            }};
    return complete(words, wire::Language::kEnglish, source);
  }

  Words names(const Words& words) {
    Words all;
    for (const KnownName& one : at(words).candidates) all.push_back(one.name);
    return all;
  }

  int asked = 0;
};

// Without it TAB would offer words that the command line does not take, or leave out some that it takes.
TEST_F(CompletionTest, OffersWhatTheTableHas) {
  EXPECT_THAT(names({""}), IsSupersetOf(Words{"queue", "submit", "tenant", "completion"}));
  EXPECT_THAT(names({""}), Not(Contains("tenant delete")));
  EXPECT_THAT(names({"qu"}), ElementsAre("queue", "quota"));
  EXPECT_THAT(names({"tenant", ""}), ElementsAre("delete"));
  EXPECT_THAT(names({"queue", "--"}),
              IsSupersetOf(Words{"--all", "--tenant", "--columns", "--output", "--lang"}));
  EXPECT_THAT(names({"wait", "--"}), Not(Contains("--columns")));
  EXPECT_THAT(names({"--"}), IsSupersetOf(Words{"--socket", "--output"}));
  EXPECT_THAT(names({"queue", "--all", "--al"}), IsEmpty()) << "once is enough";
  EXPECT_THAT(names({"queue", "--label", "a=b", "--la"}), Contains("--label"));
  EXPECT_EQ(asked, 0) << "the daemon is not needed for that";
}

// Without it every candidate would be a bare word, and nobody would learn what it does.
TEST_F(CompletionTest, SaysWhatACandidateIs) {
  ASSERT_EQ(at({"statu"}).candidates.size(), 1U);
  EXPECT_NE(at({"statu"}).candidates[0].about.find("NPU"), std::string::npos);
}

// Without it the values of options would have to be looked up.
TEST_F(CompletionTest, ValuesOfOptions) {
  EXPECT_THAT(names({"queue", "--state", "r"}), ElementsAre("ready", "running"));
  EXPECT_THAT(names({"queue", "--state=r"}), ElementsAre("--state=ready", "--state=running"));
  EXPECT_THAT(names({"status", "-o", "j"}), ElementsAre("json"));
  EXPECT_THAT(names({"queue", "--tenant", ""}), ElementsAre("team-a", "team-b"));
  EXPECT_THAT(names({"queue", "--tenant=team-b"}), ElementsAre("--tenant=team-b"));
  EXPECT_THAT(names({"queue", "--columns", "job,na"}), ElementsAre("job,name"));
  EXPECT_THAT(names({"queue", "--columns", "job,jo"}), IsEmpty());
  EXPECT_THAT(names({"completion", ""}), ElementsAre("bash", "zsh", "fish"));
  EXPECT_THAT(names({"explain", "quota.npus"}), ElementsAre("quota.npus.exceeded", "quota.npus.above_limit"));
  EXPECT_THAT(names({"submit", "--npus", ""}), IsEmpty());
  EXPECT_TRUE(at({"apply", "-f", ""}).files);
  EXPECT_TRUE(at({"submit", "--workdir", ""}).directories);
}

// Without it jobs that have ended would be offered to cancel, or those be missing whose logs are wanted.
TEST_F(CompletionTest, JobsAsTheCommandNeedsThem) {
  EXPECT_THAT(names({"cancel", ""}), ElementsAre("j-17", "train"));
  EXPECT_THAT(names({"cancel", "j-17", ""}), ElementsAre("train")) << "given already";
  EXPECT_THAT(names({"logs", "j-"}), ElementsAre("j-17", "j-3"));
  EXPECT_THAT(names({"describe", "j-17", ""}), IsEmpty());
}

// Without it the words for what is followed would have to be looked up.
TEST_F(CompletionTest, EventsAndWhatHasAHistory) {
  EXPECT_THAT(names({"events", "--type", "npu."}),
              IsSupersetOf(Words{"npu.*", "npu.health", "npu.allocated", "npu.released"}));
  EXPECT_THAT(names({"events", "--job", "j-"}), ElementsAre("j-17", "j-3"));
  EXPECT_THAT(names({"history", ""}), ElementsAre("team-a", "team-b", "j-17", "train", "j-3"));
  EXPECT_THAT(names({"queue", "--w"}), ElementsAre("--watch"));
}

// Without it a token would have to be looked up before it can be rotated or revoked.
TEST_F(CompletionTest, TokensAndTheirRoles) {
  EXPECT_THAT(names({"token", "r"}), ElementsAre("rotate", "revoke"));
  EXPECT_THAT(names({"token", "rotate", ""}), ElementsAre("ci", "dashboard"));
  EXPECT_THAT(names({"token", "revoke", "ci", ""}), ElementsAre("dashboard"));
  EXPECT_THAT(names({"token", "create", "x", "--role", ""}), ElementsAre("operator", "tenant", "viewer"));
  EXPECT_THAT(names({"token", "create", ""}), IsEmpty()) << "a new name is nobody's yet";
  EXPECT_TRUE(at({"status", "--token-file", ""}).files);
}

// Without it TAB behind "--" would offer our options to the job's program.
TEST_F(CompletionTest, BehindTheDashesStandsTheProgram) {
  EXPECT_TRUE(at({"submit", "--", ""}).files);
  EXPECT_TRUE(at({"submit", "--", "python3", "--te"}).files);
  EXPECT_THAT(at({"submit", "--", "python3", "--te"}).candidates, IsEmpty());
  EXPECT_THAT(names({"submit", ""}), ElementsAre("--"));
}

// Without it one wrong word would end all completion behind it.
TEST_F(CompletionTest, GoesOnBehindAWordThatIsWrong) {
  EXPECT_THAT(names({"queue", "--nonsense", "--sta"}), ElementsAre("--state"));
  EXPECT_THAT(names({"nonsense", "qu"}), ElementsAre("queue", "quota"));
}

// Without it a daemon that is away would make TAB print an error into the line.
TEST(CompletionLines, ADaemonThatIsAwayHasNoNames) {
  EXPECT_EQ(completion_lines({"cancel", ""}, {{"/nonexistent/tangram.sock"}}), ":none\n");
  EXPECT_EQ(completion_lines({"apply", "-f", ""}, {{"/nonexistent/tangram.sock"}}), ":files\n");
  EXPECT_EQ(completion_lines({}, {}).substr(0, 7), "submit\t");
  // A token file that cannot be read is said to be so when the line is run.
  EXPECT_EQ(completion_lines({"--token-file", "/nonexistent/t", "cancel", ""}, {}), ":none\n");
}

}  // namespace
}  // namespace tangram::cli
