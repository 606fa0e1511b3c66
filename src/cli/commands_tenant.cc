#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <istream>
#include <ostream>
#include <set>

#include "cli/commands.h"
#include "cli/render.h"
#include "wire/errors.h"

namespace tangram::cli {
namespace {

Result<std::string> read_all(std::istream& in, const std::string& name) {
  std::string text;
  std::string buffer(std::size_t{64} << 10, '\0');
  while (in) {
    in.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    text.append(buffer, 0, static_cast<std::size_t>(in.gcount()));
    if (text.size() > wire::kBodyBytesMax) {
      return fail(
          Code::kResourceExhausted, "input.too_large",
          name + " is larger than " + format_bytes(Bytes(static_cast<std::int64_t>(wire::kBodyBytesMax))),
          "apply it in parts");
    }
  }
  if (in.bad()) {
    return fail(Code::kInvalidArgument, "cli.file.unreadable", "cannot read " + name,
                "check the disk and the rights");
  }
  return text;
}

Result<std::string> read_input(Session& session, const std::string& file) {
  if (file == "-") return read_all(session.streams().in, "standard input");
  std::error_code unknown;
  if (std::filesystem::is_directory(file, unknown)) {
    return fail(Code::kInvalidArgument, "cli.file.unreadable", "--file '" + file + "' is a directory",
                "name one of the files in it");
  }
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    return fail(Code::kInvalidArgument, "cli.file.unreadable",
                "--file '" + file + "': cannot open it: " + errno_text(errno),
                "name a file with tenants, or - for standard input");
  }
  return read_all(in, "--file '" + file + "'");
}

// JSON begins with {" or {}; anything else, also YAML's {kind: Tenant}, is YAML.
wire::Format format_of(const std::string& text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t brace = text.find_first_not_of(kSpace);
  if (brace == std::string::npos || text[brace] != '{') return wire::Format::kYaml;
  const std::size_t next = text.find_first_not_of(kSpace, brace + 1);
  const bool json = next != std::string::npos && (text[next] == '"' || text[next] == '}');
  return json ? wire::Format::kJson : wire::Format::kYaml;
}

// The tenant and everything below it, in the list's order.
std::vector<wire::QuotaView> subtree(const std::vector<wire::QuotaView>& all, const std::string& root) {
  std::set<std::string> names{root};
  for (bool grown = true; grown;) {
    grown = false;
    for (const wire::QuotaView& view : all) {
      if (names.contains(view.tenant.parent)) grown = names.insert(view.tenant.name).second || grown;
    }
  }
  std::vector<wire::QuotaView> kept;
  for (const wire::QuotaView& view : all) {
    if (names.contains(view.tenant.name)) kept.push_back(view);
  }
  return kept;
}

}  // namespace

int run_apply(Session& session, const std::string& file) {
  const Result<std::string> text = read_input(session, file);
  if (!text) return session.report(text.error());
  const Result<wire::ApplyAnswer> answer = session.api().apply(*text, format_of(*text));
  if (!answer) {
    const bool about_the_file = answer.error().code == Code::kInvalidArgument && file != "-";
    return session.report(about_the_file ? wrap(file, answer.error()) : answer.error());
  }
  return session.emit(wire::write(*answer),
                      [&](const Canvas& canvas) { return render_apply(*answer, canvas); });
}

int run_queue(Session& session, const QueueOptions& options) {
  client::JobFilter filter;
  filter.tenant = options.tenant;
  filter.all = options.all;
  for (const std::string& label : options.labels) {
    const auto pair = parse_pair(label, "--label", "model=resnet50");
    if (!pair) return session.report(pair.error());
    filter.labels.push_back(*pair);
  }
  if (!options.state.empty()) {
    const Result<JobState> state = wire::parse_job_state(options.state, "--state");
    if (!state) return session.report(state.error());
    filter.state = *state;
    filter.all = filter.all || *state == JobState::kEnded;
  }
  const Result<wire::JobList> jobs = session.api().all_jobs(filter);
  if (!jobs) return session.report(jobs.error());
  QueueQuestion question;
  question.all = filter.all;
  question.filtered = filter.state || !filter.labels.empty() || !filter.tenant.empty();
  if (session.format() == OutputFormat::kTable) {
    // Only for the sentence about an empty queue; the list stands without it.
    if (const auto status = session.api().status(); status && status->devices_available) {
      question.npus_free = status->npus_free;
    }
  }
  return session.emit(wire::write(*jobs),
                      [&](const Canvas& canvas) { return render_queue(jobs->items, question, canvas); });
}

int run_status(Session& session) {
  const Result<wire::StatusView> view = session.api().status();
  if (!view) return session.report(view.error());
  return session.emit(wire::write(*view), [&](const Canvas& canvas) { return render_status(*view, canvas); });
}

int run_quota(Session& session, const std::string& tenant) {
  if (!tenant.empty()) {
    // Asked for by name first: the list cannot tell "not there" from "not yours".
    const Result<wire::QuotaView> view = session.api().tenant(tenant);
    if (!view) return session.report(view.error());
  }
  Result<wire::QuotaList> list = session.api().tenants();
  if (!list) return session.report(list.error());
  if (!tenant.empty()) list->items = subtree(list->items, tenant);
  return session.emit(wire::write(*list),
                      [&](const Canvas& canvas) { return render_quota(list->items, canvas); });
}

int run_delete_tenant(Session& session, const std::string& name) {
  const Result<void> done = session.api().delete_tenant(name);
  if (!done) return session.report(done.error());
  session.say("tenant " + printable(name) + " is deleted");
  return wire::kExitOk;
}

int run_version(Session& session) {
  wire::VersionView client;
  client.version = TANGRAM_VERSION;
  const Result<wire::VersionView> server = session.api().version();
  std::string json = "{\"client\":" + wire::write(client);
  if (server) json += ",\"server\":" + wire::write(*server);
  json += '}';
  const int code = session.emit(json, [&](const Canvas& canvas) {
    return render_version(client, server ? std::optional(*server) : std::nullopt, canvas);
  });
  return server ? code : session.report(server.error());
}

}  // namespace tangram::cli
