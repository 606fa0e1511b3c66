// Every class of bad input, with the exact path, place and remedy that the client is told.
#include <gtest/gtest.h>

#include <string>

#include "wire/schema.h"

namespace tangram::wire {
namespace {

std::string detail(const Error& error, std::string_view key) {
  for (const auto& [name, value] : error.details) {
    if (name != key) continue;
    if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
    return std::get<std::string>(value);
  }
  return {};
}

struct JsonCase {
  const char* name;
  const char* body;
  const char* reason;
  const char* message;  // the whole of it
};

class BadSubmission : public testing::TestWithParam<JsonCase> {};

// Without it a client would have to guess which field of a submission is wrong, and what would be right.
TEST_P(BadSubmission, NamesFieldValueAndRemedy) {
  const auto result = read_job_submission(GetParam().body);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kInvalidArgument);
  EXPECT_EQ(result.error().reason, GetParam().reason);
  EXPECT_EQ(result.error().message, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadSubmission,
    testing::Values(
        JsonCase{"unknown_near", R"({"command":["x"],"npu":2})", "input.unknown_field",
                 "npu is not a field of JobSubmission (did you mean \"npus\"?)"},
        JsonCase{
            "unknown_near_and_missing", R"({"comand":["x"]})", "input.unknown_field",
            "comand is not a field of JobSubmission (did you mean \"command\"?); command is missing: the "
            "program and its arguments; at most 1024 elements, 128 KiB in all"},
        JsonCase{"minus_zero", R"({"command":["x"],"npus":-0.0})", "input.out_of_range",
                 "npus must be a whole number from 1 to 4096, not the number -0.0"},
        JsonCase{"unknown_far", R"({"command":["x"],"colour":2})", "input.unknown_field",
                 "colour is not a field of JobSubmission"},
        JsonCase{"unknown_nested", R"({"command":["x"],"host":{"cpu":2}})", "input.unknown_field",
                 "host.cpu is not a field of HostLimits (did you mean \"cpus\"?)"},
        JsonCase{"missing", R"({"npus":2})", "input.missing_field",
                 "command is missing: the program and its arguments; at most 1024 elements, 128 KiB in all"},
        JsonCase{"not_object", "[1,2]", "input.wrong_type",
                 "the document must be an object (JobSubmission), not a list of 2"},
        JsonCase{"text_for_number", R"({"command":["x"],"npus":"four"})", "input.wrong_type",
                 "npus must be a whole number from 1 to 4096, not \"four\""},
        JsonCase{"fraction", R"({"command":["x"],"npus":1.5})", "input.wrong_type",
                 "npus must be a whole number from 1 to 4096, not the number 1.5"},
        JsonCase{"negative", R"({"command":["x"],"npus":-1})", "input.out_of_range",
                 "npus must be a whole number from 1 to 4096, not the number -1"},
        JsonCase{"zero", R"({"command":["x"],"npus":0})", "input.out_of_range",
                 "npus must be a whole number from 1 to 4096, not the number 0"},
        JsonCase{"overflow_uint64", R"({"command":["x"],"npus":18446744073709551615})", "input.out_of_range",
                 "npus must be a whole number from 1 to 4096, not the number 18446744073709551615"},
        JsonCase{"overflow_all", R"({"command":["x"],"npus":99999999999999999999999999})",
                 "input.out_of_range",
                 "npus must be a whole number from 1 to 4096, not the number 99999999999999999999999999"},
        JsonCase{"null", R"({"command":["x"],"npus":null})", "input.wrong_type",
                 "npus must be a whole number from 1 to 4096, not empty (null)"},
        JsonCase{"enum", R"({"command":["x"],"priority":"urgent"})", "input.bad_value",
                 "priority must be high, normal or low, not \"urgent\""},
        JsonCase{
            "memory_no_unit", R"({"command":["x"],"memory":16})", "input.wrong_type",
            "memory must be an amount with a unit, for example \"16GiB\" or \"512MiB\", not the number 16"},
        JsonCase{"memory_unit", R"({"command":["x"],"memory":"16GB"})", "input.bad_value",
                 "memory must be an amount with a unit, for example \"16GiB\" or \"512MiB\", not \"16GB\""},
        JsonCase{"memory_overflow", R"({"command":["x"],"memory":"9999999999TiB"})", "input.bad_value",
                 "memory must be an amount with a unit, for example \"16GiB\" or \"512MiB\", not "
                 "\"9999999999TiB\""},
        JsonCase{"time_limit", R"({"command":["x"],"timeLimit":"soon"})", "input.bad_value",
                 "timeLimit must be a duration with a unit, for example \"90s\", \"15m\" or \"24h\", not "
                 "\"soon\""},
        JsonCase{"time_limit_zero", R"({"command":["x"],"timeLimit":"0s"})", "input.out_of_range",
                 "timeLimit must be at least 1ms, not \"0s\""},
        JsonCase{"bandwidth", R"({"command":["x"],"bandwidth":"10GB"})", "input.bad_value",
                 "bandwidth must be a rate with a unit, for example \"10Gbps\" or \"500Mbps\", not \"10GB\""},
        JsonCase{"restart", R"({"command":["x"],"restart":"always"})", "input.bad_value",
                 "restart must be never, on-lost or on-failure:N with N from 0 to 1000, not \"always\""},
        JsonCase{
            "restart_count", R"({"command":["x"],"restart":"on-failure:1001"})", "input.bad_value",
            "restart must be never, on-lost or on-failure:N with N from 0 to 1000, not \"on-failure:1001\""},
        JsonCase{
            "name", R"({"command":["x"],"name":"Train_1"})", "input.bad_value",
            "name must be lower-case letters, digits and inner '-', at most 63 characters, not \"Train_1\""},
        JsonCase{"name_like_id", R"({"command":["x"],"name":"j-17"})", "input.reserved",
                 "name \"j-17\" looks like the id of a job and would be taken for one"},
        JsonCase{"empty_command", R"({"command":[]})", "input.bad_value",
                 "command must name a program as its first element"},
        JsonCase{"empty_program", R"({"command":["","x"]})", "input.bad_value",
                 "command must name a program as its first element"},
        JsonCase{"argument_type", R"({"command":["x",5]})", "input.wrong_type",
                 "command[1] must be a text, not a number or truth value"},
        JsonCase{"argument_nul", R"({"command":["a\u0000b"]})", "input.bad_value",
                 "command[0] holds a NUL byte, which no program could be given"},
        JsonCase{"env_name", R"({"command":["x"],"env":{"1A":"x"}})", "input.bad_value",
                 "env.1A is no name of an environment variable: letters, digits and '_', not starting with a "
                 "digit"},
        JsonCase{"env_slice", R"({"command":["x"],"env":{"ASCEND_VNPU_SPECS":"vir04"}})", "input.reserved",
                 "env.ASCEND_VNPU_SPECS is set by the daemon to what the job was given; a submission cannot "
                 "choose it"},
        JsonCase{"share_beside_slice", R"({"command":["x"],"slice":{"memory":"4GiB"},"share":"half"})",
                 "input.bad_value", "share cannot stand beside slice"},
        JsonCase{"no_cores_of_a_slice", R"({"command":["x"],"slice":{"memory":"4GiB","aiCores":0}})",
                 "input.out_of_range",
                 "slice.aiCores must be a whole number from 1 to 1000000, not the number 0"},
        JsonCase{"env_devices", R"({"command":["x"],"env":{"ASCEND_RT_VISIBLE_DEVICES":"0,1"}})",
                 "input.reserved",
                 "env.ASCEND_RT_VISIBLE_DEVICES is set by the daemon to what the job was given; a submission "
                 "cannot "
                 "choose it"},
        JsonCase{
            "env_tangram", R"({"command":["x"],"env":{"TANGRAM_JOB":"0"}})", "input.reserved",
            "env.TANGRAM_JOB is set by the daemon to what the job was given; a submission cannot choose it"},
        JsonCase{"label", R"({"command":["x"],"labels":{"a b":"x"}})", "input.bad_value",
                 "labels.\"a b\" must have a key of 1 to 63 and a value of at most 63 characters of A-Z a-z "
                 "0-9 . _ - /"},
        JsonCase{"workdir", R"({"command":["x"],"workdir":"home"})", "input.bad_value",
                 "workdir must be an absolute path, not \"home\""},
        JsonCase{"cpus", R"({"command":["x"],"host":{"cpus":0.0001}})", "input.out_of_range",
                 "host.cpus must be a number of cores from 0.001 to 1000000, in steps of 0.001, not the "
                 "number 0.0001"},
        JsonCase{"duplicate", R"({"command":["x"],"npus":1,"npus":2})", "input.duplicate_key",
                 "npus is given twice"},
        JsonCase{"duplicate_env", R"({"command":["x"],"env":{"A":"1","A":"2"}})", "input.duplicate_key",
                 "env.A is given twice"},
        JsonCase{"syntax", "{\n  \"npus\": 2,\n  oops\n}", "input.syntax",
                 "line 3, column 3: not valid JSON: syntax error"},
        JsonCase{"cut", R"({"command":["x")", "input.syntax",
                 "line 1, column 16: not valid JSON: incomplete JSON"},
        JsonCase{"empty", "", "input.syntax", "line 1, column 1: not valid JSON: incomplete JSON"},
        JsonCase{"trailing", R"({"command":["x"]} x)", "input.syntax",
                 "line 1, column 19: not valid JSON: extra data"},
        JsonCase{"two_problems", R"({"command":["x"],"npus":-1,"priority":"x"})", "input.out_of_range",
                 "npus must be a whole number from 1 to 4096, not the number -1; priority must be high, "
                 "normal or "
                 "low, not \"x\""}),
    [](const auto& test) { return test.param.name; });

// Without it "no cores" would be refused in one place, and in another be read as "any number of them".
TEST(BadInput, NoCoresOfASliceAreRefusedWhereverTheyAreWritten) {
  const std::string job = R"({"tenant":"a","command":["x"],"slice":{"memory":"4GiB","aiCores":0}})";
  const std::string alone = R"({"tenant":"a","command":["x"],"slice":{"aiCores":0}})";
  for (const std::string& body : {job, alone}) {
    const auto single = read_job_submission(body);
    ASSERT_FALSE(single);
    EXPECT_EQ(single.error().reason, "input.out_of_range");
    const auto batch = read_submissions(R"({"items":[)" + body + "]}");
    ASSERT_TRUE(batch);
    ASSERT_FALSE(batch->items.at(0));
    EXPECT_EQ(batch->items[0].error().reason, "input.out_of_range");
  }
  EXPECT_EQ(read_lease_request(R"({"tenant":"a","slice":{"memory":"4GiB","aiCores":0}})").error().reason,
            "input.out_of_range");
  const std::string head = "apiVersion: tangram.dev/v1\nkind: Job\n";
  const auto yaml = read_documents(
      head + "spec: {tenant: a, command: [x], slice: {memory: 4GiB, aiCores: 0}}\n", Format::kYaml);
  ASSERT_FALSE(yaml);
  EXPECT_EQ(yaml.error().reason, "input.out_of_range");
  const auto json =
      read_documents(R"({"apiVersion":"tangram.dev/v1","kind":"Job","spec":)" + job + "}", Format::kJson);
  ASSERT_FALSE(json);
  EXPECT_EQ(json.error().reason, "input.out_of_range");
}

// Without it the machine-readable half of an error would be missing, and a dialog could not mark the field.
TEST(BadInput, DetailsNameFieldAndValue) {
  const auto result = read_job_submission(R"({"command":["x"],"priority":"hihg"})");
  ASSERT_FALSE(result);
  EXPECT_EQ(detail(result.error(), "field"), "priority");
  EXPECT_EQ(detail(result.error(), "value"), "hihg");
  EXPECT_EQ(result.error().hint, "did you mean \"high\"?");
}

// Without it tokens and passwords in a job's environment or arguments would end up in error answers and logs.
TEST(BadInput, SecretsAreNotRepeated) {
  for (const char* body :
       {R"({"command":["x"],"env":{"TOKEN":["hunter2"]}})", R"({"command":["x"],"env":"hunter2"})",
        R"({"command":"hunter2"})", R"({"command":["x"],"env":{"TOKEN":"hunter2\u0000"}})",
        R"({"command":["x"],"env":{"TANGRAM_TOKEN":"hunter2"}})"}) {
    const auto result = read_job_submission(body);
    ASSERT_FALSE(result) << body;
    EXPECT_EQ(result.error().to_string().find("hunter2"), std::string::npos) << result.error().to_string();
    for (const auto& [key, value] : result.error().details) {
      if (const auto* text = std::get_if<std::string>(&value)) {
        EXPECT_EQ(text->find("hunter2"), std::string::npos) << key;
      }
    }
  }
}

// Without it a stranger could make the daemon copy any amount of text into messages and logs.
TEST(BadInput, LongValuesAreCutInMessages) {
  const auto value =
      read_job_submission(R"({"command":["x"],"priority":")" + std::string(100'000, 'x') + "\"}");
  ASSERT_FALSE(value);
  EXPECT_LT(value.error().message.size(), 300U);
  const auto field = read_job_submission(R"({"command":["x"],")" + std::string(100'000, 'x') + "\":1}");
  ASSERT_FALSE(field);
  EXPECT_LT(field.error().message.size(), 300U);
  const auto number = read_job_submission(R"({"command":["x"],"npus":)" + std::string(100'000, '9') + "}");
  ASSERT_FALSE(number);
  EXPECT_LT(number.error().message.size(), 300U);
}

// Without it terminals could be driven by escape sequences that a job's name carries into an error.
TEST(BadInput, ControlCharactersAreEscaped) {
  const auto result = read_job_submission(R"({"command":["x"],"name":"\u001b[2J"})");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message.find('\x1b'), std::string::npos);
  EXPECT_NE(result.error().message.find("\\u001b"), std::string::npos);
}

// Without it the parser would guess another encoding, and bring bytes that are no text into names and
// messages.
TEST(BadInput, TextsOfAnotherEncodingAreRefused) {
  using namespace std::string_view_literals;
  for (const std::string_view text :
       {"k\0i\0n\0d\0:\0 \0\x00\xd8\n\0"sv, "kind: a\0b\n"sv, "\xff\xfek\0:\0 \0a\0"sv}) {
    const auto result = read_documents(text, Format::kYaml);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().reason, "input.syntax");
    EXPECT_TRUE(result.error().message.find("NUL") != std::string::npos ||
                result.error().message.find("UTF-8") != std::string::npos)
        << result.error().message;
  }
}

std::string many(std::size_t count, const std::string& piece) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += (i > 0 ? "," : "") + piece;
  return text;
}

// Without these a submission at its limit could be refused, or one beyond it exhaust what execve takes.
TEST(Limits, ArgumentsAtAndBeyond) {
  EXPECT_TRUE(read_job_submission(R"({"command":[)" + many(1'024, "\"x\"") + "]}"));
  const auto many_arguments = read_job_submission(R"({"command":[)" + many(1'025, "\"x\"") + "]}");
  ASSERT_FALSE(many_arguments);
  EXPECT_EQ(many_arguments.error().reason, "input.too_many");
  EXPECT_EQ(many_arguments.error().message, "command has 1025 entries; at most 1024 are allowed");

  EXPECT_TRUE(read_job_submission(R"({"command":[")" + std::string(131'071, 'x') + "\"]}"));
  const auto long_argument = read_job_submission(R"({"command":[")" + std::string(131'072, 'x') + "\"]}");
  ASSERT_FALSE(long_argument);
  EXPECT_EQ(long_argument.error().reason, "input.too_long");
  EXPECT_EQ(long_argument.error().message, "command has 131073 bytes in all; at most 131072 are allowed");
}

// Without this, an environment of any size could be sent and journaled.
TEST(Limits, EnvironmentAtAndBeyond) {
  const auto body = [](int count) {
    std::string text = R"({"command":["x"],"env":{)";
    for (int i = 0; i < count; ++i) text += (i > 0 ? ",\"V" : "\"V") + std::to_string(i) + "\":\"\"";
    return text + "}}";
  };
  EXPECT_TRUE(read_job_submission(body(1'024)));
  const auto result = read_job_submission(body(1'025));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "env has 1025 entries; at most 1024 are allowed");
  const auto large =
      read_job_submission(R"({"command":["x"],"env":{"A":")" + std::string(131'070, 'x') + "\"}}");
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().message, "env has 131073 bytes in all; at most 131072 are allowed");
}

// Without this, a name could hold what breaks a path, a table or a file name.
TEST(Limits, NamesAndLabels) {
  EXPECT_TRUE(check_name(std::string(63, 'a'), "name"));
  for (const std::string& bad : {std::string(64, 'a'), std::string(), std::string("-a"), std::string("a-"),
                                 std::string("a.b"), std::string("a\0b", 3), std::string("é")}) {
    EXPECT_FALSE(check_name(bad, "name")) << bad;
  }
  EXPECT_TRUE(check_label("team/model.v1", "", "label"));
  EXPECT_FALSE(check_label("", "x", "label"));
  EXPECT_FALSE(check_label("a", std::string(64, 'a'), "label"));
  std::string body = R"({"command":["x"],"labels":{)";
  for (int i = 0; i < 33; ++i) body += (i > 0 ? ",\"l" : "\"l") + std::to_string(i) + "\":\"\"";
  const auto result = read_job_submission(body + "}}");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "labels has 33 entries; at most 32 are allowed");
}

// Without it one wrong item would take the whole batch down, or be reported as the wrong one.
TEST(Batch, EachItemIsJudgedByItself) {
  const auto result = read_submissions(
      R"({"items":[{"command":["x"]},{"command":["x"],"npus":-1},{"command":["y"],"env":{"1":"x"}},7]})");
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_TRUE(result->batch);
  ASSERT_EQ(result->items.size(), 4U);
  EXPECT_TRUE(result->items[0]);
  EXPECT_EQ(result->items[1].error().message,
            "items[1].npus must be a whole number from 1 to 4096, not the number -1");
  EXPECT_EQ(detail(result->items[2].error(), "field"), "items[2].env.1");
  EXPECT_EQ(result->items[3].error().message, "items[3] must be an object (JobSubmission), not the number 7");
}

// Without it a batch could be of any length, or hide further fields that are silently dropped.
TEST(Batch, TheEnvelopeIsChecked) {
  EXPECT_EQ(read_submissions(R"({"items":[]})").error().message,
            "items has 0 entries; 1 to 1000 are allowed");
  EXPECT_EQ(read_submissions(R"({"items":[)" + many(1'001, "{}") + "]}").error().reason, "input.too_many");
  EXPECT_EQ(read_submissions(R"({"items":{}})").error().message, "items must be a list, not an object");
  EXPECT_EQ(read_submissions(R"({"items":[{}],"tenant":"a"})").error().reason, "input.unknown_field");
  const auto single = read_submissions(R"({"command":["x"]})");
  ASSERT_TRUE(single);
  EXPECT_FALSE(single->batch);
}

struct YamlCase {
  const char* name;
  const char* text;
  const char* reason;
  const char* message;
};

class BadYaml : public testing::TestWithParam<YamlCase> {};

// Without it an operator would have to find the wrong line of a file of hundreds of documents by eye.
TEST_P(BadYaml, NamesDocumentLineAndColumn) {
  const auto result = read_documents(GetParam().text, Format::kYaml);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().reason, GetParam().reason);
  EXPECT_EQ(result.error().message, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadYaml,
    testing::Values(
        YamlCase{"value",
                 "apiVersion: tangram.dev/v1\nkind: Tenant\nmetadata:\n  name: a\nspec:\n  quota:\n    npus: "
                 "four\n",
                 "input.wrong_type",
                 "document 1 (line 1): line 7, column 11: spec.quota.npus must be a whole number from 0 to "
                 "1000000, not "
                 "\"four\""},
        YamlCase{"negative",
                 "apiVersion: tangram.dev/v1\nkind: Tenant\nmetadata: {name: a}\nspec: {quota: {npus: -4}}\n",
                 "input.out_of_range",
                 "document 1 (line 1): line 4, column 22: spec.quota.npus must be a whole number from 0 to "
                 "1000000, not "
                 "the number -4"},
        YamlCase{
            "second",
            "apiVersion: tangram.dev/v1\nkind: Tenant\nmetadata: {name: a}\n---\napiVersion: "
            "tangram.dev/v1\nkind: Tenant\nmetadata: {name: b}\nspec:\n  quoat: {}\n",
            "input.unknown_field",
            "document 2 (line 5): line 9, column 3: spec.quoat is not a field of TenantSpec (did you mean "
            "\"quota\"?)"},
        YamlCase{"kind", "apiVersion: tangram.dev/v1\nkind: Pod\n", "input.bad_value",
                 "document 1 (line 1): line 2, column 7: kind must be Tenant or Job, not \"Pod\""},
        YamlCase{"no_kind", "apiVersion: tangram.dev/v1\n", "input.missing_field",
                 "document 1 (line 1): line 1, column 1: kind is missing: what the document describes"},
        YamlCase{"version", "apiVersion: tangram.dev/v2\nkind: Tenant\nmetadata: {name: a}\n",
                 "input.bad_value",
                 "document 1 (line 1): line 1, column 13: apiVersion must be \"tangram.dev/v1\", not "
                 "\"tangram.dev/v2\""},
        YamlCase{"duplicate", "apiVersion: tangram.dev/v1\nkind: Tenant\nmetadata:\n  name: a\n  name: b\n",
                 "input.duplicate_key",
                 "document 1 (line 1): line 5, column 3: metadata.name is given twice"},
        YamlCase{"indentation", "apiVersion: tangram.dev/v1\nkind: Tenant\n metadata:\n", "input.syntax",
                 "line 3, column 10: not valid YAML: illegal map value"},
        YamlCase{"tab", "kind: Tenant\nspec:\n\tquota: 1\n", "input.syntax",
                 "line 3, column 7: not valid YAML: illegal map value"},
        YamlCase{"alias", "kind: *nothing\n", "input.syntax",
                 "line 1, column 7: not valid YAML: the referenced anchor is not defined"},
        YamlCase{"tag", "kind: !!binary aGk=\n", "input.syntax",
                 "line 1, column 7: the tag \"tag:yaml.org,2002:binary\" is not known here"},
        YamlCase{"complex_key", "? [a, b]\n: 1\n", "input.syntax",
                 "line 1, column 3: a field name must be a text, not a list or a mapping"},
        YamlCase{"empty_list_as_key", "{[]: 1}", "input.syntax",
                 "line 1, column 2: a field name must be a text, not a list or a mapping"},
        YamlCase{"empty_key", "? \n: 1\n", "input.syntax", "line 2, column 1: a field name must be a text"},
        YamlCase{"keys_too_deep", "{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{", "input.too_deep",
                 "line 1, column 32: values are nested more than 32 deep"},
        YamlCase{"nothing", "# only a comment\n---\n---\n", "input.missing_field",
                 "there is no document in the text"},
        YamlCase{"twice",
                 "apiVersion: tangram.dev/v1\nkind: Tenant\nmetadata: {name: a}\n---\napiVersion: "
                 "tangram.dev/v1\nkind: Tenant\nmetadata: {name: a}\n",
                 "input.duplicate_key",
                 "document 2 (line 5): metadata.name: Tenant a is described twice in one apply"},
        YamlCase{
            "root_uid",
            "apiVersion: tangram.dev/v1\nkind: Tenant\nmetadata: {name: a}\nspec:\n  members: [1000, 0]\n",
            "input.out_of_range",
            "document 1 (line 1): line 5, column 19: spec.members[1] must be a whole number from 1 to "
            "4294967294, "
            "not the number 0"},
        YamlCase{"priorities",
                 "apiVersion: tangram.dev/v1\nkind: Tenant\nmetadata: {name: a}\nspec: {quota: {priorities: "
                 "[hgih]}}\n",
                 "input.bad_value",
                 "document 1 (line 1): line 4, column 29: spec.quota.priorities[0] must be high, normal or "
                 "low, not "
                 "\"hgih\""}),
    [](const auto& test) { return test.param.name; });

// Without it the path of a JSON apply would not lead to the document at fault.
TEST(BadJsonDocuments, PathsCountItems) {
  const auto result = read_documents(
      R"({"items":[{"apiVersion":"tangram.dev/v1","kind":"Tenant","metadata":{"name":"a"},"spec":{"quota":{"npus":"x"}}}]})",
      Format::kJson);
  ASSERT_FALSE(result);
  EXPECT_EQ(detail(result.error(), "field"), "items[0].spec.quota.npus");
}

}  // namespace
}  // namespace tangram::wire
