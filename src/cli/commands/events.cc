#include <array>

#include "cli/commands/all.h"
#include "cli/event_printer.h"
#include "cli/session.h"
#include "wire/command_texts.h"
#include "wire/errors.h"

namespace tangram::cli {
namespace {

namespace help = wire::help;

constexpr std::size_t kLastDefault = 20;

constexpr Option kFollow{.name = "--follow", .about = help::kEventsFollow, .letter = 'f'};
constexpr Option kAfter{.name = "--after", .about = help::kEventsAfter, .value = "CURSOR"};
constexpr Option kLast{.name = "--last", .about = help::kEventsLast, .value = "COUNT"};
constexpr Option kTenant{
    .name = "--tenant", .about = help::kEventsTenant, .value = "TENANT", .completes = Completes::kTenant};
constexpr Option kJob{
    .name = "--job", .about = help::kEventsJob, .value = "JOB", .completes = Completes::kAnyJob};
constexpr Option kNpu{.name = "--npu", .about = help::kEventsNpu, .value = "NPU"};
constexpr Option kType{.name = "--type",
                       .about = help::kEventsType,
                       .value = "TYPE",
                       .repeatable = true,
                       .completes = Completes::kEventType};
constexpr std::array kOptions{kFollow, kAfter, kLast, kTenant, kJob, kNpu, kType};

Result<client::EventQuery> read_query(const Arguments& arguments) {
  client::EventQuery query;
  query.tenant = arguments.text(kTenant);
  query.job = arguments.text(kJob);
  if (arguments.has(kNpu)) {
    TG_TRY(query.npu, parse_npu(arguments.text(kNpu), kNpu.name));
  }
  query.types = arguments.list(kType);
  return query;
}

Result<void> show(Session& session, const Arguments& arguments) {
  TG_TRY(const client::EventQuery query, read_query(arguments));
  TG_TRY(const std::optional<std::size_t> last, parse_last(arguments.text(kLast)));
  if (last && arguments.has(kAfter)) {
    return fail(Code::kInvalidArgument, "cli.usage", "--last and --after exclude each other",
                "leave one out");
  }
  std::string cursor = arguments.text(kAfter);
  if (arguments.has(kFollow)) {
    if (last) TG_TRY_VOID(print_last(session, query, *last, cursor));
    return print_following(session, query, cursor);
  }
  if (!cursor.empty()) return print_all(session, query, cursor);
  return print_last(session, query, last.value_or(kLastDefault), cursor);
}

int run(Session& session, const Arguments& arguments) {
  const Result<void> done = show(session, arguments);
  return done ? wire::kExitOk : session.report(done.error());
}

}  // namespace

const Command kEvents{
    .name = "events",
    .summary = help::kEvents,
    .run = run,
    .options = kOptions,
    .examples =
        "tangram events\n"
        "tangram events -f --tenant team-a --type 'job.*'\n"
        "tangram events -f --after 1042.0 -o json\n",
    .more = &help::kEventsMore,
};

}  // namespace tangram::cli
