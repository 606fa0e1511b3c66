#include <algorithm>
#include <array>

#include "cli/commands/all.h"
#include "cli/event_printer.h"
#include "cli/session.h"
#include "wire/command_texts.h"
#include "wire/errors.h"

namespace tangram::cli {
namespace {

namespace help = wire::help;

constexpr Option kSubject{.name = "SUBJECT",
                          .about = help::kHistorySubject,
                          .required = true,
                          .completes = Completes::kJobOrTenant};
constexpr Option kLast{.name = "--last", .about = help::kHistoryLast, .value = "COUNT"};
constexpr std::array kOptions{kSubject, kLast};

bool is_number(const std::string& text) {
  return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// Which only a job can be called.
bool is_job(const std::string& subject) {
  return subject.starts_with("j-") || subject.find('/') != std::string::npos;
}

// Any other name is a tenant if there is one, else a job.
Result<client::EventQuery> query_of(Session& session, const std::string& subject) {
  client::EventQuery query;
  if (is_number(subject)) {
    TG_TRY(query.npu, parse_npu(subject, "NPU"));
    return query;
  }
  if (!is_job(subject)) {
    const auto tenant = patiently<wire::QuotaView>(session, [&] { return session.api().tenant(subject); });
    if (tenant) {
      query.tenant = subject;
      return query;
    }
    if (tenant.error().code != Code::kNotFound) return fail(tenant.error());
  }
  query.job = subject;
  return query;
}

Result<void> show(Session& session, const Arguments& arguments) {
  const std::string subject = arguments.text(kSubject);
  TG_TRY(const std::optional<std::size_t> last, parse_last(arguments.text(kLast)));
  TG_TRY(const client::EventQuery query, query_of(session, subject));
  std::string cursor("oldest");
  Result<void> shown = last ? print_last(session, query, *last, cursor) : print_all(session, query, cursor);
  if (!shown && shown.error().reason == "job.unknown" && !is_job(subject)) {
    return fail(Code::kNotFound, "job.unknown", "no tenant and no job " + subject,
                "`tangram quota` lists the tenants, `tangram queue --all` the jobs", {{"job", subject}});
  }
  return shown;
}

int run(Session& session, const Arguments& arguments) {
  const Result<void> done = show(session, arguments);
  return done ? wire::kExitOk : session.report(done.error());
}

}  // namespace

const Command kHistory{
    .name = "history",
    .summary = help::kHistory,
    .run = run,
    .options = kOptions,
    .examples =
        "tangram history j-17\n"
        "tangram history team-a --last 50\n"
        "tangram history 3\n",
    .more = &help::kHistoryMore,
};

}  // namespace tangram::cli
