// Every call there is.
#include <limits>

#include "server/exchange.h"
#include "server/route.h"

namespace tangram::server {
namespace {

using net::Method;
using wire::AnswerInfo;
using wire::kMediaEvents;
using wire::kMediaJson;
using wire::kMediaText;
using wire::kMediaYaml;
using wire::Parameter;
using wire::ParameterType;

constexpr std::int64_t kUint32Max = std::numeric_limits<std::uint32_t>::max();
constexpr std::int64_t kInt32Max = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();

constexpr std::int64_t kTemplateLengthMax = 64;
constexpr std::int64_t kCoresMax = 1'000'000;

constexpr Parameter kJob{
    "job", ParameterType::kText,
    "id (j-17), tenant/name with the slash escaped, or a name: the unfinished job of that "
    "name, else the latest",
    1};
constexpr Parameter kTenant{"name", ParameterType::kText, "of the tenant", 1};

AnswerInfo json(int status, std::string_view schema, std::string_view doc) {
  return {.status = status, .doc = doc, .contents = {{kMediaJson, schema}}};
}

std::vector<Route> about_the_daemon() {
  return {
      {Method::kGet,
       Access::kAnybody,
       {.path = "/v1/version",
        .id = "getVersion",
        .summary = "Versions of the daemon and of the API",
        .answers = {json(200, "VersionView", "the versions")}},
       get_version},
      {Method::kGet,
       Access::kAnybody,
       {.path = "/v1/openapi.json",
        .id = "getOpenapi",
        .summary = "This document",
        .answers = {json(200, {}, "OpenAPI 3.1")}},
       get_openapi},
      {Method::kGet,
       Access::kKnown,
       {.path = "/v1/status",
        .id = "getStatus",
        .summary = "The NPUs, what holds them, length of the queue; a tenant sees names of its own jobs only",
        .answers = {json(200, "StatusView", "the state at this moment")}},
       get_status},
      {Method::kGet,
       Access::kKnown,
       {.path = "/v1/slices",
        .id = "getSlices",
        .summary = "How the NPUs are cut, and how they could be; a tenant sees names of its own jobs only",
        .query = {{"npu", ParameterType::kInteger, "this NPU alone: its physical id", 0, kUint32Max},
                  {"cut", ParameterType::kText,
                   "could a slice of this template be cut beside what stands there? All together", 1,
                   kTemplateLengthMax, true}},
        .answers = {json(200, "SlicesView", "the NPUs")},
        .problems = {404}},
       get_slices},
      {Method::kGet,
       Access::kKnown,
       {.path = "/v1/fit",
        .id = "wouldFit",
        .summary = "Whether a job would start now, what it would be given, and else what is in its way",
        .query = {{"tenant", ParameterType::kText, "on whose quota; a tenant asks for itself", 1},
                  {"npus", ParameterType::kInteger, "whole NPUs; left out: 1", 1, kNpusPerJobMax},
                  {"memory", ParameterType::kBytes, "need per NPU"},
                  {"sliceMemory", ParameterType::kBytes, "a slice of one NPU, instead of npus and memory"},
                  {"sliceAiCores", ParameterType::kInteger, "of the slice", 1, kCoresMax},
                  {"bandwidth", ParameterType::kRate, "to book"},
                  {"priority", ParameterType::kPriority, "left out: normal"},
                  {"timeLimit", ParameterType::kDuration, "left out: the tenant's maximum", 1, kInt64Max}},
        .answers = {json(200, "FitView", "what would become of it")},
        .problems = {403, 404}},
       get_fit},
      {Method::kGet,
       Access::kOverview,
       {.path = "/v1/doctor",
        .id = "diagnose",
        .summary = "What is wrong with the machine, and the commands that mend it",
        .answers = {json(200, "DoctorView", "what was found")}},
       get_doctor},
      {Method::kGet,
       Access::kOverview,
       {.path = "/metrics",
        .id = "getMetrics",
        .summary = "Every metric of docs/metrics.md in the text format of Prometheus",
        .answers = {{.status = 200, .doc = "the metrics at this moment", .contents = {{kMediaText}}}}},
       get_metrics},
  };
}

std::vector<Route> about_tenants() {
  return {
      {Method::kPost,
       Access::kOperator,
       {.path = "/v1/apply",
        .id = "apply",
        .summary = "Make tenants and jobs as the documents say; all or nothing",
        .body = {{kMediaYaml, "Document"}, {kMediaJson, "Documents"}},
        .answers = {json(200, "ApplyAnswer", "what became of each document")},
        .problems = {404, 409, 422, 501}},
       post_apply},
      {Method::kGet,
       Access::kKnown,
       {.path = "/v1/tenants",
        .id = "listTenants",
        .summary = "Limits and use of the tenants that the caller may see",
        .answers = {json(200, "QuotaList", "the tenants")}},
       get_tenants},
      {Method::kGet,
       Access::kKnown,
       {.path = "/v1/tenants/{name}",
        .id = "getTenant",
        .summary = "Limits and use of one tenant",
        .path_parameters = {kTenant},
        .answers = {json(200, "QuotaView", "the tenant")},
        .problems = {404}},
       get_tenant},
      {Method::kPut,
       Access::kOperator,
       {.path = "/v1/tenants/{name}/quota",
        .id = "setQuota",
        .summary = "Replace all limits of a tenant; the rest of it stays",
        .path_parameters = {kTenant},
        .body = {{kMediaJson, "Quota"}},
        .answers = {json(200, "QuotaView", "the tenant with its new limits")},
        .problems = {404}},
       put_quota},
      {Method::kDelete,
       Access::kOperator,
       {.path = "/v1/tenants/{name}",
        .id = "deleteTenant",
        .summary = "Remove a tenant that has no jobs and no children",
        .path_parameters = {kTenant},
        .answers = {{.status = 204, .doc = "it is gone"}},
        .problems = {404, 409}},
       delete_tenant},
  };
}

std::vector<Route> about_all_jobs() {
  return {
      {Method::kPost,
       Access::kWriters,
       {.path = "/v1/jobs",
        .id = "submitJobs",
        .summary = "Submit one job, or up to 1,000 of which each is right or wrong by itself",
        .headers = {{"Idempotency-Key", ParameterType::kIdempotencyKey,
                     "a repeat with this key gets the first answer and submits nothing"}},
        .body = {{kMediaJson, "Submission"}},
        .answers = {json(200, "BatchAnswer", "one item for each of a batch, in its order"),
                    json(201, "JobView", "the one job")},
        .problems = {403, 404, 409, 422, 501}},
       post_jobs},
      {Method::kGet,
       Access::kKnown,
       {.path = "/v1/jobs",
        .id = "listJobs",
        .summary = "Jobs that the caller may see, unfinished ones in the order of the queue",
        .query = {{"tenant", ParameterType::kText, "of this tenant and its subtree"},
                  {"label", ParameterType::kLabel, "with this label; may stand more than once", 0, 0, true},
                  {"state", ParameterType::kJobState, "in this state"},
                  {"all", ParameterType::kFlag, "ended ones too, by id"},
                  {"limit", ParameterType::kInteger, "so many at most; left out: 1000", 1, 1'000},
                  {"after", ParameterType::kJobId, "go on behind this one: next of the answer before"}},
        .answers = {json(200, "JobList", "the jobs")},
        .problems = {404}},
       get_jobs},
  };
}

std::vector<Route> about_one_job() {
  return {
      {Method::kGet,
       Access::kKnown,
       {.path = "/v1/jobs/{job}",
        .id = "getJob",
        .summary = "One job",
        .path_parameters = {kJob},
        .answers = {json(200, "JobView", "the job")},
        .problems = {404, 409}},
       get_job},
      {Method::kGet,
       Access::kKnown,
       {.path = "/v1/jobs/{job}/why",
        .id = "explainJob",
        .summary = "What a job waits for, and what would let it start",
        .path_parameters = {kJob},
        .answers = {json(200, "WhyView", "the explanation")},
        .problems = {404, 409}},
       get_why},
      {Method::kGet,
       Access::kKnown,
       {.path = "/v1/jobs/{job}/wait",
        .id = "waitForJob",
        .summary = "The job, when it has ended or the time is over",
        .path_parameters = {kJob},
        .query = {{"timeout", ParameterType::kDuration, "at most 60s; left out: 30s", 0, 60'000}},
        .answers = {json(200, "JobView", "the job, which may run on")},
        .problems = {404, 409}},
       get_wait},
      {Method::kGet,
       Access::kKnown,
       {.path = "/v1/jobs/{job}/logs",
        .id = "readLog",
        .summary = "The output of one attempt of a job",
        .path_parameters = {kJob},
        .query = {{"attempt", ParameterType::kInteger, "left out: the present or last one", 1, kInt32Max},
                  {"offset", ParameterType::kInteger, "begin at this byte of the output", 0, kInt64Max},
                  {"follow", ParameterType::kFlag, "go on until the attempt ends"}},
        .answers =
            {{.status = 200,
              .doc =
                  "the output, as it is or as server-sent events: base64 in data, the offset behind it in id",
              .contents = {{kMediaText}, {kMediaEvents}},
              .headers = {{"Tangram-Log-Offset", ParameterType::kInteger, "offset of the first byte", 0,
                           kInt64Max}}}},
        .problems = {404, 409}},
       get_logs},
      {Method::kPost,
       Access::kWriters,
       {.path = "/v1/jobs/{job}/cancel",
        .id = "cancelJob",
        .summary = "Let a job end: SIGTERM, after a grace SIGKILL",
        .path_parameters = {kJob},
        .answers = {json(202, "JobView", "the job, which is ending")},
        .problems = {404, 409}},
       post_cancel},
  };
}

constexpr std::string_view kStream =
    "events named lease, for as long as the lease lives and this connection holds it; the data is a "
    "LeaseView";

std::vector<Route> about_leases() {
  return {
      {Method::kPost,
       Access::kWriters,
       {.path = "/v1/leases",
        .id = "holdNewLease",
        .summary = "Hold NPUs without a program, as long as the answer is read",
        .body = {{kMediaJson, "LeaseRequest"}},
        .answers = {{.status = 200, .doc = kStream, .contents = {{kMediaEvents, "LeaseView"}}}},
        .problems = {403, 404, 409, 422, 501}},
       post_leases},
      {Method::kPost,
       Access::kWriters,
       {.path = "/v1/leases/{job}/hold",
        .id = "holdLease",
        .summary = "Take a lease up again on this connection",
        .path_parameters = {kJob},
        .body = {{kMediaJson, "LeaseToken"}},
        .answers = {{.status = 200, .doc = kStream, .contents = {{kMediaEvents, "LeaseView"}}}},
        .problems = {403, 404, 409}},
       post_hold},
      {Method::kPost,
       Access::kWriters,
       {.path = "/v1/leases/{job}/release",
        .id = "releaseLease",
        .summary = "Give the NPUs of a lease back",
        .path_parameters = {kJob},
        .body = {{kMediaJson, "LeaseToken"}},
        .answers = {json(200, "JobView", "the lease, which has ended")},
        .problems = {403, 404, 409}},
       post_release},
  };
}

std::vector<Parameter> event_filters() {
  return {{"tenant", ParameterType::kText, "of this tenant and its subtree"},
          {"job", ParameterType::kText, "of this job, and why its like wait while it waits"},
          {"npu", ParameterType::kInteger, "of this NPU: its physical id", 0, kUint32Max},
          {"type", ParameterType::kEventType, "of this type; may stand more than once", 0, 0, true}};
}

std::vector<Parameter> with(std::vector<Parameter> some, std::initializer_list<Parameter> more) {
  some.insert(some.end(), more);
  return some;
}

std::vector<Route> about_events() {
  return {
      {Method::kGet,
       Access::kKnown,
       {.path = "/v1/events",
        .id = "followEvents",
        .summary = "Everything that changes, as it changes; a tenant gets what is its own",
        .query = with(event_filters(), {{"after", ParameterType::kCursorOrOldest,
                                         "begin behind this event; left out: with what comes now"}}),
        .headers = {{"Last-Event-ID", ParameterType::kCursor, "as after, and goes before it"}},
        .answers = {{.status = 200,
                     .doc = "server-sent events without end: the cursor as id, an Event as data",
                     .contents = {{kMediaEvents, "Event"}}}},
        .problems = {404, 409, 410}},
       get_events},
      {Method::kGet,
       Access::kKnown,
       {.path = "/v1/history",
        .id = "listEvents",
        .summary = "Events of the past by pages; a page may be short and still have a next one",
        .query = with(event_filters(),
                      {{"after", ParameterType::kCursor, "only behind this event"},
                       {"before", ParameterType::kCursor, "only before this event"},
                       {"newest", ParameterType::kFlag, "the newest first, going back"},
                       {"limit", ParameterType::kInteger, "so many at most; left out: 1000", 1, 1'000}}),
        .answers = {json(200, "EventList", "the events")},
        .problems = {404, 409, 410}},
       get_history},
  };
}

constexpr Parameter kToken{"token", ParameterType::kText, "id (t-3) or name of the token", 1};

std::vector<Route> about_tokens() {
  return {
      {Method::kGet,
       Access::kOverview,
       {.path = "/v1/tokens",
        .id = "listTokens",
        .summary = "The tokens that open the API over the network; never their secrets",
        .answers = {json(200, "TokenList", "the tokens")}},
       get_tokens},
      {Method::kPost,
       Access::kOperator,
       {.path = "/v1/tokens",
        .id = "createToken",
        .summary = "Make a token; this answer alone holds its secret",
        .body = {{kMediaJson, "TokenRequest"}},
        .answers = {json(201, "TokenView", "the token with its secret")},
        .problems = {404, 409}},
       post_tokens},
      {Method::kPost,
       Access::kOperator,
       {.path = "/v1/tokens/{token}/rotate",
        .id = "rotateToken",
        .summary = "Give a token a new secret and a new lifetime",
        .path_parameters = {kToken},
        .body = {{kMediaJson, "TokenRotation"}},
        .answers = {json(200, "TokenView", "the token with its new secret")},
        .problems = {404, 409}},
       post_rotate},
      {Method::kPost,
       Access::kOperator,
       {.path = "/v1/tokens/{token}/revoke",
        .id = "revokeToken",
        .summary = "End a token at once and for ever",
        .path_parameters = {kToken},
        .answers = {json(200, "TokenView", "the token, which opens nothing any more")},
        .problems = {404}},
       post_revoke},
  };
}

}  // namespace

const std::vector<Route>& routes() {
  static const std::vector<Route> table = [] {
    std::vector<Route> all;
    for (const auto& part : {about_the_daemon(), about_tenants(), about_all_jobs(), about_one_job(),
                             about_leases(), about_events(), about_tokens()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  return table;
}

}  // namespace tangram::server
