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

constexpr std::int64_t kInt32Max = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();

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
       Access::kAnyone,
       {.path = "/v1/version",
        .id = "getVersion",
        .summary = "Versions of the daemon and of the API",
        .answers = {json(200, "VersionView", "the versions")}},
       get_version},
      {Method::kGet,
       Access::kAnyone,
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
       Access::kMonitor,
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
       Access::kKnown,
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
                  {"offset", ParameterType::kInteger, "begin at this byte of the log as it is now", 0,
                   kInt64Max},
                  {"follow", ParameterType::kFlag, "go on until the attempt ends"}},
        .answers = {{.status = 200,
                     .doc = "the output",
                     .contents = {{kMediaText}},
                     .headers = {{"Tangram-Log-Offset", ParameterType::kInteger, "offset of the first byte",
                                  0, kInt64Max}}}},
        .problems = {404, 409}},
       get_logs},
      {Method::kPost,
       Access::kKnown,
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
       Access::kKnown,
       {.path = "/v1/leases",
        .id = "holdNewLease",
        .summary = "Hold NPUs without a program, as long as the answer is read",
        .body = {{kMediaJson, "LeaseRequest"}},
        .answers = {{.status = 200, .doc = kStream, .contents = {{kMediaEvents}}}},
        .problems = {403, 404, 409, 422, 501}},
       post_leases},
      {Method::kPost,
       Access::kKnown,
       {.path = "/v1/leases/{job}/hold",
        .id = "holdLease",
        .summary = "Take a lease up again on this connection",
        .path_parameters = {kJob},
        .body = {{kMediaJson, "LeaseToken"}},
        .answers = {{.status = 200, .doc = kStream, .contents = {{kMediaEvents}}}},
        .problems = {403, 404, 409}},
       post_hold},
      {Method::kPost,
       Access::kKnown,
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

}  // namespace

const std::vector<Route>& routes() {
  static const std::vector<Route> table = [] {
    std::vector<Route> all;
    for (const auto& part :
         {about_the_daemon(), about_tenants(), about_all_jobs(), about_one_job(), about_leases()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  return table;
}

}  // namespace tangram::server
