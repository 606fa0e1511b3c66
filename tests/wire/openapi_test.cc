// The OpenAPI document as machines read it; that the daemon does what it says is tested end to end.
#include "wire/openapi.h"

#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>

#include "wire/node.h"
#include "wire/schema.h"

namespace tangram::wire {
namespace {

Operation operation() {
  return {.path = "/v1/things/{thing}",
          .id = "putThing",
          .summary = "Put a thing",
          .path_parameters = {{"thing", ParameterType::kText, "which", 1}},
          .query = {{"limit", ParameterType::kInteger, "so many", 1, 10},
                    {"label", ParameterType::kLabel, "with it", 0, 0, true}},
          .headers = {{"Idempotency-Key", ParameterType::kIdempotencyKey, "once"}},
          .body = {{kMediaJson, "Submission"}},
          .answers = {{.status = 200, .doc = "done", .contents = {{kMediaJson, "QuotaView"}}}}};
}

Node document_of(const Operation& of) {
  const std::vector<Call> calls{{"PUT", &of, "the operator", {400, 409}}};
  const auto node = parse_json(write_openapi("1.2.3", calls), kAnswerBytesMax);
  EXPECT_TRUE(node) << node.error().to_string();
  return node ? *node : Node();
}

const Node& at(const Node& node, std::initializer_list<std::string_view> path) {
  static const Node nothing;
  const Node* here = &node;
  for (const std::string_view key : path) {
    here = here->find(key);
    if (here == nullptr) {
      ADD_FAILURE() << "there is no " << key;
      return nothing;
    }
  }
  return *here;
}

void collect_references(const Node& node, std::set<std::string>& found) {
  if (const Node* target = node.kind == Node::Kind::kObject ? node.find("$ref") : nullptr)
    found.insert(target->text);
  for (const Node& item : node.items) collect_references(item, found);
  for (const Member& member : node.members) collect_references(member.value, found);
}

// Without it a generated client would have a field of no type, or the daemon would end when it is asked.
TEST(OpenApi, EveryFieldHasASchema) {
  for (const DocumentInfo& document : documents()) {
    for (const FieldInfo& field : document.fields) {
      const auto schema = parse_json(field.schema, kBodyBytesMax);
      ASSERT_TRUE(schema) << document.name << '.' << field.name << ": " << field.schema;
      EXPECT_FALSE(schema->members.empty()) << document.name << '.' << field.name;
    }
  }
}

// Without it a generated client would take a stream for one text, and not know what its events hold.
TEST(OpenApi, AStreamIsDescribedByItsEvents) {
  Operation of = operation();
  of.answers = {{.status = 200, .doc = "for ever", .contents = {{kMediaEvents, "Event"}, {kMediaText}}}};
  const Node document = document_of(of);
  const Node& contents = at(document, {"paths", "/v1/things/{thing}", "put", "responses", "200", "content"});
  const Node& event = at(contents, {"text/event-stream", "schema"});
  EXPECT_EQ(at(event, {"type"}).text, "object");
  EXPECT_EQ(at(event, {"properties", "data", "contentSchema", "$ref"}).text, "#/components/schemas/Event");
  at(document, {"components", "schemas", "Event"});
  EXPECT_EQ(at(contents, {"text/plain", "schema", "type"}).text, "string");
}

// Without it a tool could not read the document at all.
TEST(OpenApi, ReferencesLeadSomewhere) {
  const Operation of = operation();
  const Node document = document_of(of);
  std::set<std::string> references;
  collect_references(document, references);
  EXPECT_TRUE(references.contains("#/components/schemas/Quota"));
  EXPECT_TRUE(references.contains("#/components/responses/Problem409"));
  for (const std::string& reference : references) {
    const std::string rest = reference.substr(std::string("#/components/").size());
    const auto slash = rest.find('/');
    at(document, {"components", rest.substr(0, slash), rest.substr(slash + 1)});
  }
}

// Without it a misspelt field would pass a client's check and be refused, or a new field of an answer would
// fail it.
TEST(OpenApi, OnlyWhatClientsSendIsClosed) {
  const Operation of = operation();
  const Node document = document_of(of);
  EXPECT_FALSE(at(document, {"components", "schemas", "JobSubmission", "additionalProperties"}).truth);
  EXPECT_EQ(at(document, {"components", "schemas", "QuotaView"}).find("additionalProperties"), nullptr);
  EXPECT_EQ(at(document, {"components", "schemas"}).find("VersionView"), nullptr) << "no call names it";
}

// Without it calls of generated clients would miss their parameters.
TEST(OpenApi, CallsHaveTheirParameters) {
  const Operation of = operation();
  const Node document = document_of(of);
  EXPECT_EQ(at(document, {"openapi"}).text, "3.1.0");
  EXPECT_EQ(at(document, {"info", "version"}).text, "1.2.3");
  const Node& call = at(document, {"paths", "/v1/things/{thing}", "put"});
  const auto& parameters = at(call, {"parameters"}).items;
  ASSERT_EQ(parameters.size(), 4U);
  EXPECT_EQ(at(parameters[0], {"in"}).text, "path");
  EXPECT_TRUE(at(parameters[0], {"required"}).truth);
  EXPECT_EQ(at(parameters[1], {"schema", "maximum"}).integer, 10);
  EXPECT_EQ(at(parameters[2], {"schema", "type"}).text, "array");
  EXPECT_EQ(at(parameters[3], {"in"}).text, "header");
  at(call, {"responses", "200", "content", "application/json", "schema"});
  at(call, {"responses", "409"});
}

// Without it a generated client would send its token nowhere, or ask for one where nobody needs it.
TEST(OpenApi, TellsWhereATokenIsNeeded) {
  const Operation of = operation();
  Operation open = operation();
  open.path = "/v1/open";
  const std::vector<Call> calls{{"PUT", &of, "the operator", {400}}, {"GET", &open, "anyone", {400}, true}};
  const auto document = parse_json(write_openapi("1", calls), kAnswerBytesMax);
  ASSERT_TRUE(document);
  ASSERT_EQ(at(*document, {"security"}).items.size(), 1U);
  at(at(*document, {"security"}).items[0], {"token"});
  EXPECT_EQ(at(*document, {"components", "securitySchemes", "token", "type"}).text, "http");
  EXPECT_EQ(at(*document, {"components", "securitySchemes", "token", "scheme"}).text, "bearer");
  EXPECT_EQ(at(*document, {"paths", "/v1/things/{thing}", "put"}).find("security"), nullptr);
  EXPECT_TRUE(at(*document, {"paths", "/v1/open", "get", "security"}).items.empty());
}

std::string pattern_of(std::string_view document_name, std::string_view field_name) {
  for (const DocumentInfo& document : documents()) {
    for (const FieldInfo& field : document.fields) {
      if (document.name == document_name && field.name == field_name) {
        return parse_json(field.schema, kBodyBytesMax)->find("pattern")->text;
      }
    }
  }
  return "";
}

struct Spelling {
  const char* field;
  const char* value;
  bool right;
};

class Patterns : public ::testing::TestWithParam<Spelling> {};

// Without it the document would allow what a submission is refused for, or refuse what the daemon itself
// writes.
TEST_P(Patterns, AgreeWithTheReader) {
  const auto& [field, value, right] = GetParam();
  EXPECT_EQ(std::regex_search(value, std::regex(pattern_of("JobSubmission", field))), right)
      << field << ' ' << value;
  const std::string json = R"({"command":["x"],")" + std::string(field) + R"(":")" + value + "\"}";
  EXPECT_EQ(read_job_submission(json).has_value(), right) << json;
}

INSTANTIATE_TEST_SUITE_P(
    All, Patterns,
    ::testing::Values(Spelling{"memory", "32GiB", true}, Spelling{"memory", "1B", true},
                      Spelling{"memory", "0B", false}, Spelling{"memory", "32", false},
                      Spelling{"memory", "32GB", false}, Spelling{"memory", "99TiB", true},
                      Spelling{"memory", "99999999TiB", false}, Spelling{"memory", "-1GiB", false},
                      Spelling{"timeLimit", "24h", true}, Spelling{"timeLimit", "1d2h3m4s5ms", true},
                      Spelling{"timeLimit", "250ms", true}, Spelling{"timeLimit", "3599d", true},
                      Spelling{"timeLimit", "9999d", false}, Spelling{"timeLimit", "0s", false},
                      Spelling{"timeLimit", "", false}, Spelling{"timeLimit", "24", false},
                      Spelling{"bandwidth", "10Gbps", true}, Spelling{"bandwidth", "0bps", true},
                      Spelling{"bandwidth", "10GBps", false}, Spelling{"name", "train-001", true},
                      Spelling{"name", "a", true}, Spelling{"name", "-a", false},
                      Spelling{"name", "a-", false}, Spelling{"name", "A", false},
                      Spelling{"restart", "never", true}, Spelling{"restart", "on-failure:1000", true},
                      Spelling{"restart", "on-failure:1001", false},
                      Spelling{"restart", "on-failure:", false}, Spelling{"restart", "always", false},
                      Spelling{"workdir", "/data", true}, Spelling{"workdir", "data", false}));

}  // namespace
}  // namespace tangram::wire
