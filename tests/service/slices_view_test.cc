// How the NPUs are cut, as the API tells it, against the core that cuts them.
#include "service/slices_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "service/cut_node.h"

namespace tangram::service::testing {
namespace {

using ::testing::HasSubstr;
using wire::SliceStanding;

wire::NpuSlicesView look(const CutNode& node, const SlicesQuery& query = {},
                         const Caller& caller = kOperator) {
  const auto view = make_slices(node.state, node.options, caller, node.readings, true, query);
  if (!view || view->npus.size() != 1) {
    ADD_FAILURE() << "one NPU is there";
    return {};
  }
  return view->npus.front();
}

SlicesQuery asking(std::vector<std::string> templates) {
  SlicesQuery query;
  query.cut = std::move(templates);
  return query;
}

// Without it a reader would take the 0 that a driver tells of every chip for a group that there is.
TEST(SlicesView, TellsVgroupsOfChipsThatHaveThem) {
  CutNode node;
  node.show(100, "vir02", 0, false);
  ASSERT_EQ(look(node).slices.size(), 1U);
  EXPECT_EQ(look(node).slices[0].vgroup, 0);
  const auto& chips = Catalog::builtin()->chips();
  const auto without = std::find_if(chips.begin(), chips.end(), [](const Catalog::Chip& chip) {
    return chip.model.vgroups == 0 && !chip.model.templates.empty();
  });
  ASSERT_NE(without, chips.end());
  node.report.npus[0].template_set = without->model.name;
  node.apply(NodeReported{node.report});
  ASSERT_EQ(look(node).slices.size(), 1U);
  EXPECT_EQ(look(node).slices[0].vgroup, std::nullopt);
  const auto status = make_status(node.state, node.options, kOperator, node.readings, {});
  ASSERT_EQ(status.npus.size(), 1U);
  ASSERT_EQ(status.npus[0].slices.size(), 1U);
  EXPECT_EQ(status.npus[0].slices[0].vgroup, std::nullopt);
}

std::int64_t room_for(const wire::NpuSlicesView& npu, const std::string& name) {
  for (const wire::SliceCutView& cut : npu.cuts) {
    if (cut.template_name == name) return cut.room;
  }
  ADD_FAILURE() << name << " is not among the cuts";
  return -1;
}

// Without it an operator could not tell from the drawing what an NPU has room for.
TEST(SlicesView, AnUncutNpuShowsWhatItsTableSays) {
  const CutNode node;
  const wire::NpuSlicesView npu = look(node);
  EXPECT_EQ(npu.model, "310P (24 GiB)");
  EXPECT_EQ(npu.card, 7);
  EXPECT_TRUE(npu.offered);
  EXPECT_EQ(npu.note, "");
  EXPECT_EQ(npu.free_ai_cores, 8);
  EXPECT_TRUE(npu.slices.empty());
  EXPECT_EQ(room_for(npu, "vir01"), 7);
  EXPECT_EQ(room_for(npu, "vir02"), 3);
  EXPECT_EQ(room_for(npu, "vir02_1c"), 4);
  EXPECT_EQ(room_for(npu, "vir04"), 1);
  EXPECT_EQ(room_for(npu, "vir04_3c"), 2);
}

// Without it a leftover would look like somebody's work, or a stranger's slice like a leftover.
TEST(SlicesView, TellsSlicesOfJobsFromLeftoversAndStrangers) {
  CutNode node;
  node.submit(4096, 0, "train-001");
  node.show(100, "vir02", 0);
  const JobId left = node.submit(1024);
  node.show(101, "vir01", 1);
  node.end(left);
  node.show(102, "vir01", 1, false);
  node.show(103, "vir01", 2);  // the core has not been told of it
  node.readings.npus[0].slicing.slices.value[0].memory_used = Sample<Bytes>::known(Bytes::mib(77));
  const wire::NpuSlicesView npu = look(node);
  EXPECT_EQ(npu.mode, NpuMode::kSliced);
  ASSERT_EQ(npu.slices.size(), 4U);
  EXPECT_EQ(npu.slices[0].standing, SliceStanding::kHeld);
  EXPECT_EQ(npu.slices[0].id, 100U);
  EXPECT_EQ(npu.slices[0].job_name, "train-001");
  EXPECT_EQ(npu.slices[0].memory, Bytes::mib(6144));
  EXPECT_EQ(npu.slices[0].usable_memory, Bytes::mib(5381));
  EXPECT_EQ(npu.slices[0].memory_used, Bytes::mib(77));
  EXPECT_EQ(npu.slices[1].standing, SliceStanding::kResidual);
  EXPECT_EQ(npu.slices[1].id, 101U);
  EXPECT_EQ(npu.slices[2].standing, SliceStanding::kForeign);
  EXPECT_EQ(npu.slices[3].standing, SliceStanding::kForeign);
  EXPECT_EQ(npu.slices[3].id, 103U);
  EXPECT_EQ(npu.slices[3].ai_cores, 1);
}

// Without it a tenant could read from the drawing what others run.
TEST(SlicesView, ATenantSeesNamesOfItsOwnJobsOnly) {
  CutNode node;
  node.submit(4096, 0, "secret");
  const auto own = look(node, {}, node.as("team")).slices.at(0);
  EXPECT_EQ(std::tie(own.tenant, own.job_name), std::make_tuple("team", "secret"));
  const auto others = look(node, {}, node.as("other")).slices.at(0);
  EXPECT_EQ(std::tie(others.tenant, others.job, others.job_name), std::make_tuple("", "", ""));
  EXPECT_EQ(others.template_name, "vir02") << "that it is there is no secret";
}

// Without it "no" would come without the rule, and nobody could learn what to ask for instead.
TEST(SlicesView, NamesTheRuleThatForbidsACut) {
  CutNode node;
  node.show(100, "vir04", 0);
  const auto both = look(node, asking({"vir02", "vir02"})).asked;
  ASSERT_TRUE(both.has_value());
  EXPECT_FALSE(both->legal);
  ASSERT_FALSE(both->rules.empty());
  EXPECT_EQ(both->rules[0].code, "slice.rule.resource");
  EXPECT_EQ(both->rules[0].message, "AICPU: 4 needed, 3 of 7 left");
  EXPECT_TRUE(look(node, asking({"vir02", "vir02_1c"})).asked->legal) << "the leaner variant fits";
  const auto strange = look(node, asking({"vir99"})).asked;
  EXPECT_EQ(strange->rules.at(0).code, "slice.rule.no_template");
  EXPECT_THAT(strange->rules.at(0).message, HasSubstr("vir04_3c"));
}

// Without it `--cut` would say yes to a template that no job ever gets, however long it waits.
TEST(SlicesView, ATemplateThatIsNeverGivenIsNoAnswer) {
  const CutNode node;
  const auto asked = look(node, asking({"vir04_4c_dvpp"})).asked;
  EXPECT_FALSE(asked->legal);
  ASSERT_EQ(asked->rules.size(), 1U);
  EXPECT_EQ(asked->rules[0].code, "slice.rule.not_given");
  EXPECT_EQ(asked->rules[0].message,
            "no request is ever given vir04_4c_dvpp; of 310P (24 GiB) there are: vir01, vir02, vir02_1c, "
            "vir04, vir04_3c");
  EXPECT_FALSE(asked->rules[0].hint.empty());
  const auto strange = look(node, asking({"vir99"})).asked;
  EXPECT_EQ(strange->rules.at(0).message.find("ndvpp"), std::string::npos) << "it would not be given either";
}

// Without it a rule would tell sums, and nobody see what is asked for too much and what there is.
TEST(SlicesView, RulesTellWhatIsNeededAndWhatIsLeft) {
  CutNode node;
  node.show(100, "vir04", 0);
  node.show(101, "vir01", 1);
  const wire::NpuSlicesView npu = look(node);
  const auto cut = std::find_if(npu.cuts.begin(), npu.cuts.end(),
                                [](const wire::SliceCutView& one) { return one.template_name == "vir04"; });
  ASSERT_NE(cut, npu.cuts.end());
  ASSERT_FALSE(cut->rules.empty());
  EXPECT_EQ(cut->rules[0].message, "AI cores: 4 needed, 3 of 8 left");
  EXPECT_EQ(cut->rules[0].details, (Details{{"needed", std::int64_t{4}},
                                            {"available", std::int64_t{8}},
                                            {"resource", std::string("aiCores")},
                                            {"left", std::int64_t{3}}}));
  EXPECT_EQ(look(node, asking({"vir02", "vir01"})).asked->rules.at(0).message,
            "AICPU: 3 needed, 2 of 7 left");
}

// Without it what is left of a daemon that was stopped would be shown as in the way, with a command that
// finds nothing, until nothing of it can come any more.
TEST(SlicesView, ALeftoverThatNoLookShowsIsBeingChecked) {
  CutNode node;
  const JobId left = node.submit(1024);
  node.end(left);
  const auto in_status = [&node] {
    return make_status(node.state, node.options, kOperator, node.readings, {}).npus.at(0).slices.at(0);
  };
  ASSERT_EQ(look(node).slices.size(), 1U);
  EXPECT_EQ(look(node).slices[0].standing, SliceStanding::kResidual);
  EXPECT_TRUE(look(node).slices[0].unseen);
  EXPECT_TRUE(in_status().residual);
  EXPECT_TRUE(in_status().unseen);
  node.readings.npus[0].slicing.slices.valid = false;
  EXPECT_FALSE(look(node).slices.at(0).unseen) << "no look has told";
  EXPECT_FALSE(in_status().unseen);
  node.readings.npus[0].slicing.slices.valid = true;
  node.show(100, "vir01", 0);
  EXPECT_FALSE(look(node).slices.at(0).unseen);
  EXPECT_FALSE(in_status().unseen);
}

// Without it a slice would be promised beside a program that has the whole NPU.
TEST(SlicesView, AnNpuThatIsHeldWholeIsNotCut) {
  CutNode node;
  EXPECT_EQ(node.given(node.submit(13'000)), "whole");
  const wire::NpuSlicesView npu = look(node, asking({"vir01"}));
  EXPECT_EQ(npu.free_ai_cores, 0);
  EXPECT_EQ(room_for(npu, "vir01"), 0);
  EXPECT_EQ(npu.asked->rules.at(0).code, "slice.rule.whole");
  EXPECT_THAT(npu.note, HasSubstr("in use whole"));
}

// Without it the cause of "nothing can be cut" would be a guess.
TEST(SlicesView, SaysWhyNothingIsCut) {
  CutNode node;
  node.readings.slices_for_containers = Sample<bool>::known(false);
  EXPECT_THAT(look(node).note, HasSubstr("virtual machines"));
  node.readings.npus[0].slicing.slices.valid = false;
  node.readings.npus[0].slicing.note = "the call is not there";
  EXPECT_THAT(look(node).note, HasSubstr("the call is not there"));
  CutNode strange;
  strange.show(100, "vir16", 0);
  EXPECT_THAT(look(strange).note, HasSubstr("no mix"));
  EXPECT_FALSE(look(strange).free_ai_cores.has_value());
  CutNode unknown;
  unknown.report.npus[0].template_set.clear();
  unknown.report.npus[0].chip = "950";
  unknown.apply(NodeReported{unknown.report});
  EXPECT_THAT(look(unknown).note, HasSubstr("whole only"));
  EXPECT_TRUE(look(unknown).cuts.empty());
}

// Without it `--cut` would call legal what the daemon cuts for nobody, and scripts would submit and wait.
TEST(SlicesView, NothingIsLegalWhereNothingIsCut) {
  const auto expect_none = [](const CutNode& node, const std::string& why) {
    const wire::NpuSlicesView npu = look(node, asking({"vir01"}));
    ASSERT_TRUE(npu.asked.has_value());
    EXPECT_FALSE(npu.asked->legal) << why;
    ASSERT_FALSE(npu.asked->rules.empty());
    EXPECT_EQ(npu.asked->rules.front().code, "slice.rule.unavailable");
    EXPECT_THAT(npu.asked->rules.front().message, HasSubstr(why));
    for (const wire::SliceCutView& cut : npu.cuts) EXPECT_EQ(cut.room, 0) << cut.template_name;
  };
  CutNode machines;
  machines.readings.slices_for_containers = Sample<bool>::known(false);
  expect_none(machines, "virtual machines");
  CutNode unread;
  unread.readings.npus[0].slicing.slices.valid = false;
  unread.readings.npus[0].slicing.note = "the call is not there";
  expect_none(unread, "the call is not there");
  CutNode sick;
  sick.report.npus[0].health = Health::kAlarm;
  sick.apply(NodeReported{sick.report});
  expect_none(sick, "not healthy");
  CutNode never;
  never.report.npus[0].cuttable = false;
  never.readings.npus[0].slicing.support = SliceSupport::kNotCut;
  never.apply(NodeReported{never.report});
  expect_none(never, "no driver cuts 310P3");
}

// Without it the place that is held after a refused cut would be drawn as a stranger's slice, with the
// command that destroys whatever gets its id next.
TEST(SlicesView, ARefusedCutIsNoSlice) {
  CutNode node;
  node.report.npus[0].strays = {StraySlice{100, "", kNoVgroup, true}};
  node.apply(NodeReported{node.report});
  const wire::NpuSlicesView npu = look(node, asking({"vir01"}));
  EXPECT_TRUE(npu.slices.empty());
  EXPECT_THAT(npu.note, HasSubstr("has just refused a cut"));
  EXPECT_FALSE(npu.asked->legal);
}

// Without it `tangram slices 9` would print nothing and succeed.
TEST(SlicesView, AnNpuThatIsNotThereIsAnError) {
  const CutNode node;
  SlicesQuery ninth;
  ninth.npu = 9;
  const auto view = make_slices(node.state, node.options, kOperator, node.readings, true, ninth);
  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().reason, "npu.unknown");
}

// Without it what the view offers and what the core gives could drift apart: whatever stands there, a
// template has room exactly if asking for it is legal, and a rule is named exactly if it has none.
RC_GTEST_PROP(SlicesViewProperty, RoomRulesAndQuestionsAgree, ()) {
  CutNode node;
  const auto jobs = *rc::gen::inRange(0, 8);
  for (int i = 0; i < jobs; ++i)
    node.submit(*rc::gen::element<std::int64_t>(1024, 3073, 7000), *rc::gen::inRange(0, 3));
  const wire::NpuSlicesView npu = look(node);
  for (const wire::SliceCutView& cut : npu.cuts) {
    RC_ASSERT((cut.room > 0) == cut.rules.empty());
    std::vector<std::string> all(static_cast<std::size_t>(cut.room), cut.template_name);
    RC_ASSERT(all.empty() || look(node, asking(all)).asked->legal);
    all.push_back(cut.template_name);
    const auto one_more = look(node, asking(all)).asked;
    RC_ASSERT(!one_more->legal);
    RC_ASSERT(!one_more->rules.empty());
  }
}

}  // namespace
}  // namespace tangram::service::testing
