// What the server writes is what the client reads.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "wire/event.h"
#include "wire/generators.h"
#include "wire/schema.h"

namespace tangram::wire {
namespace {

template <class T>
void check_round_trip(const T& value, Result<T> (*read)(std::string_view)) {
  const std::string json = write(value);
  const Result<T> back = read(json);
  if (!back) RC_FAIL(back.error().to_string() + " in " + json);
  RC_ASSERT(*back == value);
  RC_ASSERT(write(*back) == json);
}

// Without it a submission would reach the service as another job than the one the user typed.
RC_GTEST_PROP(RoundTrip, JobSubmission, ()) {
  check_round_trip(test::submission(), read_job_submission);
}

// Without it `tangram describe` would show something else than what the service said.
RC_GTEST_PROP(RoundTrip, JobView, ()) {
  check_round_trip(test::job_view(), read_job_view);
}
// Without it a holder would be told of another lease than the one it has, or could not ask for what it needs.
RC_GTEST_PROP(RoundTrip, Leases, ()) {
  check_round_trip(test::lease_view(), read_lease_view);
  check_round_trip(LeaseToken{*test::name_gen()}, read_lease_token);
  check_round_trip(test::quota(), read_quota);
  LeaseRequest asked = test::submission();
  const Result<LeaseRequest> back = read_lease_request(write_lease_request(asked));
  RC_ASSERT(back.has_value());
  // A program is none of its fields.
  asked.restart = RestartPolicy::kNever;
  asked.restarts_max = 0;
  asked.command.clear();
  asked.env.clear();
  asked.workdir.clear();
  asked.host = {};
  RC_ASSERT(*back == asked);
}
// Without it `tangram status` would show another machine than the one at hand.
RC_GTEST_PROP(RoundTrip, StatusView, ()) {
  check_round_trip(test::status_view(), read_status_view);
}
// Without it `tangram quota` would show other limits than those that bind.
RC_GTEST_PROP(RoundTrip, QuotaView, ()) {
  check_round_trip(test::quota_view(), read_quota_view);
}
// Without it `tangram why` would lose blockers, remedies or the estimate.
RC_GTEST_PROP(RoundTrip, WhyView, ()) {
  check_round_trip(test::why_view(), read_why_view);
}
// Without it `tangram events` would show something else than what has happened.
RC_GTEST_PROP(RoundTrip, Events, ()) {
  const EventView first = test::event_view();
  const EventView second = test::event_view();
  check_round_trip(first, read_event_view);
  const EventList list{{first, second}, "7.0"};
  check_round_trip(list, read_event_list);
  // Put together from events that are written already, it is the same text.
  RC_ASSERT(write_event_list(std::vector{write(first), write(second)}, "7.0") == write(list));
  RC_ASSERT(write_event_list({}, "") == write(EventList{}));
}
// Without it a token could be created with other rights, or for another time, than the operator asked for.
RC_GTEST_PROP(RoundTrip, Tokens, ()) {
  check_round_trip(test::token_request(), read_token_request);
  check_round_trip(test::token_rotation(), read_token_rotation);
  check_round_trip(test::token_view(), read_token_view);
  check_round_trip(TokenList{{test::token_view(), test::token_view()}}, read_token_list);
}
// Without it the drawing of an NPU, or what is wrong with it, would not be what the daemon found.
RC_GTEST_PROP(RoundTrip, Machine, ()) {
  check_round_trip(test::slices_view(), read_slices_view);
  check_round_trip(test::fit_view(), read_fit_view);
  check_round_trip(test::doctor_view(), read_doctor_view);
}
// Without it a page of a list could lose entries or its cursor.
RC_GTEST_PROP(RoundTrip, Lists, ()) {
  check_round_trip(JobList{{test::job_view(), test::job_view()}, "j-9"}, read_job_list);
  check_round_trip(QuotaList{{test::quota_view()}}, read_quota_list);
  check_round_trip(ApplyAnswer{{{"Tenant", *test::name_gen(), "created"}}}, read_apply_answer);
  check_round_trip(VersionView{*test::text_gen(), "v1"}, read_version_view);
}

// Without it `-o yaml` output could not be fed back to `apply`, and YAML and JSON would mean different
// things.
RC_GTEST_PROP(RoundTrip, DocumentsAsJsonAndAsYaml, ()) {
  Document document;
  if (*rc::gen::arbitrary<bool>()) {
    document.value = test::tenant_doc();
  } else {
    document.value = test::submission();
  }
  const std::string json = write(document);
  const Result<std::vector<Document>> from_json = read_documents(json, Format::kJson);
  if (!from_json) RC_FAIL(from_json.error().to_string() + " in " + json);
  RC_ASSERT(from_json->size() == 1U);
  RC_ASSERT(from_json->front().value == document.value);

  const Result<std::string> yaml = to_yaml(json);
  RC_ASSERT(yaml.has_value());
  const Result<std::vector<Document>> from_yaml = read_documents(*yaml, Format::kYaml);
  if (!from_yaml) RC_FAIL(from_yaml.error().to_string() + " in " + *yaml);
  RC_ASSERT(from_yaml->front().value == document.value);
}

// Without it an answer to a batch could lose which job was refused, and why.
RC_GTEST_PROP(RoundTrip, SubmitAnswer, ()) {
  SubmitAnswer answer;
  const JobView job = test::job_view();
  const Error error{Code::kPolicyRefused, "quota.npus.above_limit", *test::text_gen(),
                    "ask for less",       test::details(),          nullptr};
  answer.items.emplace_back(job);
  answer.items.emplace_back(fail(error));
  const Result<SubmitAnswer> back = read_submit_answer(write(answer));
  RC_ASSERT(back.has_value());
  RC_ASSERT(back->items.size() == 2U);
  RC_ASSERT(back->items[0].value() == job);
  RC_ASSERT(back->items[1].error().code == error.code);
  RC_ASSERT(back->items[1].error().message == error.message);
  RC_ASSERT(back->items[1].error().details == error.details);
}

// Without it a client of an older version would fail on the first field that a newer service adds.
TEST(RoundTrip, AnswersMayHaveUnknownFields) {
  const auto view = read_version_view(R"({"version":"1","api":"v1","built":{"by":["x"]}})");
  ASSERT_TRUE(view) << view.error().to_string();
  EXPECT_EQ(view->version, "1");
  const auto missing = read_version_view("{}");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().reason, "input.missing_field");
}

}  // namespace
}  // namespace tangram::wire
