// "Would it fit" against what becomes of the same job when it is submitted.
#include "service/fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "service/cut_node.h"

namespace tangram::service::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using wire::FitAnswer;

wire::LeaseRequest slice_of(std::int64_t memory_mib, std::int32_t cores = 0) {
  wire::LeaseRequest request;
  request.tenant = "team";
  request.slice = wire::SliceRequest{Bytes::mib(memory_mib), cores};
  return request;
}

wire::LeaseRequest whole(std::int64_t npus = 1) {
  wire::LeaseRequest request;
  request.tenant = "team";
  request.npus = npus;
  return request;
}

Result<wire::FitView> ask(const CutNode& node, const wire::LeaseRequest& request,
                          const Caller& caller = kOperator) {
  TG_TRY(FitQuestion question, resolve_fit(node.state, node.options, caller, request, [&node] {
           return std::make_shared<const Scheduler>(node.state.core());
         }));
  question.readings = node.readings;
  return make_fit(question, names_of(node.state, caller), node.now, wire::Language::kEnglish);
}

wire::FitView fit(const CutNode& node, const wire::LeaseRequest& request) {
  const auto view = ask(node, request);
  if (view) return *view;
  ADD_FAILURE() << view.error().to_string();
  return {};
}

// Without it what a request is rounded up to would be learnt after it runs, and not why.
TEST(Fit, SaysWhatWouldBeGrantedAndWhy) {
  const CutNode node;
  const wire::FitView rounded = fit(node, slice_of(4096));
  EXPECT_EQ(rounded.answer, FitAnswer::kNow);
  EXPECT_EQ(rounded.verdict, "it would start now, on NPU 0");
  EXPECT_THAT(rounded.npus, ElementsAre(0U));
  ASSERT_TRUE(rounded.slice.has_value());
  EXPECT_EQ(rounded.slice->template_name, "vir02");
  EXPECT_EQ(
      rounded.granted,
      "vir02: 2 AI cores, 6GiB nominal, 5381MiB for the program; the smallest template that holds 4GiB");
  EXPECT_THAT(fit(node, slice_of(3072)).granted, HasSubstr("just what is asked for, though a program finds"));
  EXPECT_THAT(fit(node, slice_of(1024, 3)).granted, HasSubstr("vir04: 4 AI cores"));
  const wire::FitView large = fit(node, slice_of(13'000));
  EXPECT_EQ(large.answer, FitAnswer::kNow);
  EXPECT_FALSE(large.slice.has_value());
  EXPECT_EQ(
      large.granted,
      "a whole NPU of 310P3: 21527MiB, 8 AI cores; no template holds 13000MiB, the largest is vir04 with "
      "12GiB and 4 AI cores");
  EXPECT_EQ(fit(node, whole()).granted, "the whole NPU: 310P3, 21527MiB, 8 AI cores");
}

// Without it a program would find less on an NPU of its own than anybody had said.
TEST(Fit, SaysWhatAProgramFindsOnAWholeNpu) {
  CutNode node;
  DeviceNpu& npu = node.readings.npus[0];
  npu.memory_used = Sample<Bytes>::known(Bytes::mib(1805));
  EXPECT_EQ(fit(node, whole()).granted, "the whole NPU: 310P3, 21527MiB, 8 AI cores")
      << "what runs there is not known";
  npu.processes = Sample<std::vector<DeviceProcess>>::known({});
  EXPECT_EQ(fit(node, whole()).granted,
            "the whole NPU: 310P3, 21527MiB, 8 AI cores, 19722MiB for the program");
  npu.memory_used = Sample<Bytes>::known(Bytes::mib(1805 + 4096));
  npu.processes.value = {{17, Bytes::mib(4096)}};
  EXPECT_THAT(fit(node, slice_of(13'000)).granted,
              HasSubstr("19722MiB for the program; no template holds 13000MiB"));
  EXPECT_THAT(fit(node, slice_of(20'000)).granted,
              HasSubstr("though a program finds less than the 20000MiB that are asked for"));
  EXPECT_THAT(fit(node, slice_of(1024)).granted, HasSubstr("vir01: 1 AI core,")) << "one is no plural";
  node.readings.idle_use[0] = Bytes::mib(1800);
  EXPECT_THAT(fit(node, whole()).granted, HasSubstr("19727MiB for the program"))
      << "measured while it was idle";
}

// Without it the sizes told could be those of another board, whose templates have the same names.
TEST(Fit, TellsTheBoardThatWouldBeGiven) {
  CutNode node;
  NpuReport large = node.report.npus[0];
  large.physical_id = 1;
  large.memory = Bytes::mib(43'054);
  large.template_set = "310P (48 GiB)";
  node.report.npus.push_back(large);
  node.apply(NodeReported{node.report});
  node.submit(13'000, 0, "the whole small one");
  const wire::FitView view = fit(node, slice_of(1024));
  ASSERT_TRUE(view.slice.has_value());
  ASSERT_THAT(view.npus, ElementsAre(1U));
  EXPECT_EQ(view.slice->memory, Bytes::gib(6));
  EXPECT_THAT(view.granted, HasSubstr("vir01: 1 AI core")) << view.granted;
  EXPECT_THAT(view.granted, HasSubstr("6GiB nominal"));
}

// Without it somebody would wait for a reason that nobody had told before.
TEST(Fit, SaysWhatWouldHaveToEnd) {
  CutNode node;
  const JobId holder = node.submit(7000, 0, "holder");
  const wire::FitView view = fit(node, whole());
  EXPECT_EQ(view.answer, FitAnswer::kLater);
  ASSERT_FALSE(view.blockers.empty());
  EXPECT_EQ(view.blockers.front().code, "capacity.memory.busy");
  EXPECT_EQ(view.verdict, "it would wait: " + view.blockers.front().message);
  ASSERT_FALSE(view.remedies.empty());
  EXPECT_EQ(view.remedies.front().command, "tangram cancel " + wire::format_job_id(holder));
  EXPECT_TRUE(view.remedies.front().starts);
  EXPECT_EQ(view.position, 1);
  EXPECT_EQ(view.queue_length, 1) << "with the one that is asked about";
  EXPECT_EQ(node.state.core().queue_length(), 0U) << "nothing was submitted";
}

// Without it several NPUs would read as one.
TEST(Fit, NamesSeveralNpus) {
  CutNode node;
  NpuReport second = node.report.npus[0];
  second.physical_id = 1;
  node.report.npus.push_back(second);
  node.apply(NodeReported{node.report});
  EXPECT_EQ(fit(node, whole(2)).verdict, "it would start now, on NPUs 0, 1");
}

// Without it what can never be would look like something to wait for.
TEST(Fit, SaysWhatCanNeverBe) {
  Quota quota;
  quota.npus = 1;
  CutNode node(quota);
  const wire::FitView large = fit(node, slice_of(24'576));
  EXPECT_EQ(large.answer, FitAnswer::kNever);
  EXPECT_THAT(large.verdict, HasSubstr("21527MiB"));
  const wire::FitView many = fit(node, whole(2));
  EXPECT_EQ(many.answer, FitAnswer::kNever);
  EXPECT_EQ(many.blockers.at(0).code, "capacity.npus.never");
  EXPECT_EQ(many.npus_requested, 2);
  node.report.npus[0].cuttable = false;
  node.apply(NodeReported{node.report});
  EXPECT_EQ(fit(node, slice_of(1024)).blockers.at(0).code, "request.slice.unsupported");
}

// Without it a tenant could try out the quota of another, or learn that it exists.
TEST(Fit, IsAskedForOneselfAlone) {
  const CutNode node;
  EXPECT_TRUE(ask(node, whole(), node.as("team")));
  const auto foreign = ask(node, whole(), node.as("other"));
  const auto unknown = [&] {
    wire::LeaseRequest request = whole();
    request.tenant = "nobody";
    return ask(node, request, node.as("other"));
  }();
  ASSERT_FALSE(foreign);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(foreign.error().reason, unknown.error().reason);
  wire::LeaseRequest own = whole();
  own.tenant.clear();
  EXPECT_EQ(ask(node, own, node.as("other"))->tenant, "other");
  EXPECT_TRUE(ask(node, whole(), caller_of(Caller::Kind::kViewer)));
}

// Without it the answer would be a second opinion: whatever holds the NPU, the same job submitted at that
// moment gets just what was said.
RC_GTEST_PROP(FitProperty, TheSameJobGetsWhatWasSaid, ()) {
  CutNode node;
  const auto jobs = *rc::gen::inRange(0, 7);
  for (int i = 0; i < jobs; ++i)
    node.submit(*rc::gen::element<std::int64_t>(1024, 3073, 7000, 13'000), *rc::gen::inRange(0, 3));
  const std::int64_t memory = *rc::gen::inRange<std::int64_t>(1, 21'528);
  const std::int32_t cores = *rc::gen::inRange(0, 9);
  const auto said = ask(node, slice_of(memory, cores));
  RC_ASSERT(said.has_value());
  RC_ASSERT(said->answer != FitAnswer::kNever);
  const std::string given = node.given(node.submit(memory, cores));
  if (said->answer == FitAnswer::kLater) {
    RC_ASSERT(given.empty());
    RC_ASSERT(!said->blockers.empty());
  } else {
    RC_ASSERT(given == (said->slice ? said->slice->template_name : "whole"));
  }
}

}  // namespace
}  // namespace tangram::service::testing
