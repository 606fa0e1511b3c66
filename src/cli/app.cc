#include "cli/app.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <functional>
#include <memory>

#include "cli/commands.h"
#include "cli/render.h"
#include "wire/errors.h"

namespace tangram::cli {
namespace {

using Arguments = std::vector<std::string>;

constexpr std::string_view kDefaultSocket = "/run/tangram/tangram.sock";

struct GlobalOptions {
  std::string socket_path;
  std::string output = "table";
};

// Everything that CLI11 writes into, and what to run with it.
struct CommandLine {
  GlobalOptions globals;
  std::string file;
  SubmitOptions submit;
  LeaseOptions lease;
  WaitOptions wait;
  QueueOptions queue;
  LogsOptions logs;
  std::string job;
  std::vector<std::string> jobs;
  std::string tenant;
  std::function<int(Session&)> action;
};

// The library's own help does not know of what stands behind "--".
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string usage = CLI::Formatter::make_usage(app, std::move(name));
    const std::string& program = app->get_name();
    if (program != "submit" && program != "lease") return usage;
    usage.erase(usage.find_last_not_of('\n') + 1);
    return usage + (program == "submit" ? " -- PROGRAM [ARGUMENT...]\n" : " [-- PROGRAM [ARGUMENT...]]\n");
  }

  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_positional()) return option->get_required() ? "" : " (optional)";
    return option->get_type_size() == 0 ? "" : " " + option->get_type_name();
  }
};

tl::unexpected<Error> usage_error(std::string message, std::string hint) {
  return fail(Code::kInvalidArgument, "cli.usage", std::move(message), std::move(hint));
}

// An empty word is mostly a shell variable that is not set, and would otherwise mean "not given".
std::string refuse_empty(const std::string& text) {
  return text.empty() ? "must not be empty" : "";
}

CLI::Option* add_text(CLI::App* app, const std::string& name, std::string& target, const std::string& about) {
  return app->add_option(name, target, about)->check(CLI::Validator(refuse_empty, ""))->type_name("VALUE");
}

CLI::Option* add_list(CLI::App* app, const std::string& name, Arguments& target, const std::string& about) {
  return app->add_option(name, target, about)
      ->allow_extra_args(false)
      ->check(CLI::Validator(refuse_empty, ""))
      ->type_name("VALUE");
}

void add_globals(CLI::App* app, GlobalOptions& globals) {
  add_text(app, "--socket", globals.socket_path,
           "socket of tangramd (default: TANGRAM_SOCKET, " + std::string(kDefaultSocket) + ")")
      ->group("Global options")
      ->type_name("PATH");
  add_text(app, "-o,--output", globals.output, "table, json or yaml")
      ->group("Global options")
      ->type_name("FORMAT");
}

CLI::App* add_command(CLI::App* parent, CommandLine& line, const std::string& name, const std::string& about,
                      const std::string& examples, std::function<int(Session&)> action) {
  CLI::App* app = parent->add_subcommand(name, about);
  add_globals(app, line.globals);
  if (!examples.empty()) app->footer("Examples:\n" + examples);
  app->callback([&line, run = std::move(action)] { line.action = run; });
  return app;
}

// What a job and a lease have in common.
void add_request(CLI::App* app, SubmitArguments& job) {
  add_text(app, "--tenant", job.tenant, "on whose quota; a tenant's own user may leave it out");
  add_text(app, "--name", job.name, "unique among the tenant's unfinished jobs");
  add_text(app, "--npus", job.npus, "how many whole NPUs (default 1)");
  add_text(app, "--memory", job.memory, "device memory needed on each NPU, for example 16GiB");
  add_text(app, "--slice", job.slice, "a slice of one NPU: MEMORY[,CORES]");
  add_text(app, "--share", job.share, "a share of one NPU");
  add_text(app, "--bandwidth", job.bandwidth, "network bandwidth to book, for example 1Gbps");
  add_text(app, "--priority", job.priority, "high, normal (default) or low");
  add_text(app, "--time-limit", job.time_limit, "stop it after this time, for example 1h30m");
  add_list(app, "--label", job.labels, "k=v, free to choose; may be repeated");
  app->add_flag("--no-wait", job.no_wait, "refuse the job when it cannot start at once");
}

void add_lease(CLI::App* root, CommandLine& line) {
  CLI::App* app = add_command(root, line, "lease", "Hold NPUs for a program of this session, or until Ctrl-C",
                              "  tangram lease --tenant team-a --npus 2 -- python3 notebook.py\n"
                              "  tangram lease --tenant team-a\n"
                              "The program runs here, as you, with ASCEND_RT_VISIBLE_DEVICES set to the "
                              "NPUs; they are given back when it\n"
                              "ends, and also when this command is killed. The exit code is the program's.\n",
                              [&line](Session& session) { return run_lease(session, line.lease); });
  add_request(app, line.lease.request);
}

void add_submit(CLI::App* root, CommandLine& line) {
  CLI::App* app = add_command(
      root, line, "submit", "Submit a job: a program and the NPUs that it needs",
      "  tangram submit --tenant team-a --npus 2 -- python3 train.py --epochs 3\n"
      "  tangram submit --tenant team-b --memory 16GiB --time-limit 1h --wait -- ./infer\n"
      "The job's id goes to standard output. With --wait the exit code is the job's exit status, 128+n when\n"
      "signal n ended it, and 1 when it timed out, was cancelled or lost.\n",
      [&line](Session& session) { return run_submit(session, line.submit); });
  SubmitArguments& job = line.submit.job;
  add_request(app, job);
  add_list(app, "--env", job.env, "NAME=VALUE for the program; may be repeated");
  add_text(app, "--workdir", job.workdir, "absolute path (default: a directory of the job's own)");
  add_text(app, "--restart", job.restart, "never (default), on-lost, or on-failure:N");
  add_text(app, "--host-cpus", job.host_cpus, "cores of the host, for example 0.5 or 4");
  add_text(app, "--host-memory", job.host_memory, "memory of the host, for example 8GiB");
  add_text(app, "--host-processes", job.host_processes, "processes and threads at most");
  app->add_flag("--wait", line.submit.wait, "return when the job has ended, with its exit status");
  add_text(app, "--idempotency-key", line.submit.idempotency_key, "the same key never submits twice");
}

void add_job_commands(CLI::App* root, CommandLine& line) {
  CLI::App* wait =
      add_command(root, line, "wait", "Wait until jobs have ended; the exit code is the first bad one's",
                  "  tangram wait j-17 j-18\n  tangram wait team-a/train-001 --timeout 10m\n",
                  [&line](Session& session) { return run_wait(session, line.wait); });
  add_list(wait, "JOB", line.wait.jobs, "id, name or tenant/name")->allow_extra_args(true)->required();
  add_text(wait, "--timeout", line.wait.timeout, "give up after this time, with exit code 1");

  CLI::App* why =
      add_command(root, line, "why", "Why a job waits, and what would start it", "  tangram why train-017\n",
                  [&line](Session& session) { return run_why(session, line.job); });
  add_text(why, "JOB", line.job, "id, name or tenant/name")->required();

  CLI::App* describe =
      add_command(root, line, "describe", "Everything about one job", "  tangram describe j-17\n",
                  [&line](Session& session) { return run_describe(session, line.job); });
  add_text(describe, "JOB", line.job, "id, name or tenant/name")->required();

  CLI::App* logs = add_command(root, line, "logs", "What a job has printed",
                               "  tangram logs j-17\n  tangram logs -f team-a/train-001\n",
                               [&line](Session& session) { return run_logs(session, line.logs); });
  add_text(logs, "JOB", line.logs.job, "id, name or tenant/name")->required();
  logs->add_flag("-f,--follow", line.logs.follow, "go on until the job ends");
  add_text(logs, "--attempt", line.logs.attempt, "of a job that was restarted (default: the last one)");

  CLI::App* cancel = add_command(root, line, "cancel", "Take jobs out of the queue, or stop them",
                                 "  tangram cancel j-17 j-18\n",
                                 [&line](Session& session) { return run_cancel(session, line.jobs); });
  add_list(cancel, "JOB", line.jobs, "id, name or tenant/name")->allow_extra_args(true)->required();
}

void add_machine_commands(CLI::App* root, CommandLine& line) {
  add_command(root, line, "status", "One line for each NPU: health, use, who holds it", "  tangram status\n",
              [](Session& session) { return run_status(session); });

  CLI::App* queue =
      add_command(root, line, "queue", "Jobs that wait and run, in their order, with the reason",
                  "  tangram queue\n  tangram queue --all --tenant team-a --label model=resnet50\n",
                  [&line](Session& session) { return run_queue(session, line.queue); });
  queue->add_flag("--all", line.queue.all, "ended jobs too");
  add_text(queue, "--tenant", line.queue.tenant, "only this tenant's jobs");
  add_list(queue, "--label", line.queue.labels, "k=v; only jobs with this label; may be repeated");
  add_text(queue, "--state", line.queue.state, "ready, waiting, starting, running or ended");

  CLI::App* quota = add_command(root, line, "quota", "Each tenant's limits, what it uses and what is left",
                                "  tangram quota\n  tangram quota team-a\n",
                                [&line](Session& session) { return run_quota(session, line.tenant); });
  add_text(quota, "TENANT", line.tenant, "with everything below it (default: all)");

  CLI::App* apply = add_command(root, line, "apply", "Create or change what a YAML or JSON file describes",
                                "  tangram apply -f tenants.yaml\n  tangram apply -f - < tenants.yaml\n",
                                [&line](Session& session) { return run_apply(session, line.file); });
  add_text(apply, "-f,--file", line.file, "the file, or - for standard input")->required()->type_name("FILE");

  CLI::App* tenant = root->add_subcommand("tenant", "Manage tenants (create and change them with apply)");
  tenant->require_subcommand(1, 1);
  CLI::App* remove = add_command(tenant, line, "delete", "Delete a tenant that has no jobs and no children",
                                 "  tangram tenant delete team-b\n", [&line](Session& session) {
                                   return run_delete_tenant(session, line.tenant);
                                 });
  add_text(remove, "NAME", line.tenant, "the tenant")->required();

  add_command(root, line, "version", "Versions of this program and of tangramd", "",
              [](Session& session) { return run_version(session); });
}

void build(CLI::App& root, CommandLine& line) {
  root.name("tangram");
  root.formatter(std::make_shared<HelpFormatter>());
  root.require_subcommand(1, 1);
  root.footer(
      "Exit codes: 0 ok, 1 no, 2 bad input, 3 refused by quota or policy, 4 not found, 5 not allowed,\n"
      "6 daemon unreachable or overloaded, 7 conflict, 70 bug.  More: tangram COMMAND --help\n");
  add_globals(&root, line.globals);
  add_submit(&root, line);
  add_lease(&root, line);
  add_job_commands(&root, line);
  add_machine_commands(&root, line);
}

Arguments names_of(const CLI::App& app) {
  Arguments names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(sub->get_name());
  return names;
}

std::string full_name(const CLI::App& app) {
  std::string name = app.get_name();
  for (const CLI::App* parent = app.get_parent(); parent != nullptr; parent = parent->get_parent()) {
    name.insert(0, parent->get_name() + " ");
  }
  return name;
}

// The word in the place of a command that is none, if there is one: "tangram statsu", "tangram tenant
// remove".
Result<void> check_command(const CLI::App& root, const Arguments& arguments) {
  const CLI::App* app = &root;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--socket" || word == "-o" || word == "--output") {
      ++i;
      continue;
    }
    if (word.starts_with("-")) continue;
    const Arguments names = names_of(*app);
    if (names.empty()) return {};
    if (std::ranges::find(names, word) == names.end()) {
      const std::string command = full_name(*app);
      const auto suggestion = nearest(word, names);
      std::string hint = suggestion ? "did you mean: " : "see: ";
      hint.append(command).append(" ").append(suggestion.value_or("--help"));
      std::string message = "'";
      message.append(word).append("' is no command of ").append(command);
      return usage_error(message, std::move(hint));
    }
    app = app->get_subcommand(word);
  }
  const bool wants_help = std::ranges::any_of(
      arguments, [](const std::string& word) { return word == "-h" || word == "--help"; });
  const Arguments names = names_of(*app);
  if (names.empty() || wants_help) return {};
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return usage_error(full_name(*app) + " needs a command",
                     "one of: " + list + "; see " + full_name(*app) + " --help");
}

const CLI::App& chosen(const CLI::App& root) {
  const CLI::App* app = &root;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return *app;
}

Error unexpected_word(const CLI::App& app, const std::string& word) {
  const std::string command = full_name(app);
  Error error{Code::kInvalidArgument, "cli.usage", "", "see: " + command + " --help", {}, nullptr};
  if (!word.starts_with("-")) {
    error.message = "'" + word + "' is one word too many for " + command;
    if (app.get_name() == "submit" || app.get_name() == "lease")
      error.hint = "put the program behind '--', for example: " + command + " -- " + word;
    return error;
  }
  const std::string option = word.substr(0, word.find('='));
  error.message = "'" + option + "' is no option of " + command;
  Arguments names;
  for (const CLI::Option* known : app.get_options()) {
    for (const std::string& name : known->get_lnames()) names.push_back("--" + name);
  }
  if (const auto suggestion = nearest(option, names)) error.hint = "did you mean " + *suggestion + "?";
  return error;
}

Error parse_failure(const CLI::App& root, const CLI::ParseError& failure) {
  const CLI::App& app = chosen(root);
  const Arguments rest = root.remaining(true);
  const bool surplus = failure.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  if (surplus && !rest.empty()) return unexpected_word(app, rest.front());
  return Error{
      Code::kInvalidArgument, "cli.usage", failure.what(), "see: " + full_name(app) + " --help", {}, nullptr};
}

Result<OutputFormat> parse_output(const std::string& text) {
  if (text == "table") return OutputFormat::kTable;
  if (text == "json") return OutputFormat::kJson;
  if (text == "yaml") return OutputFormat::kYaml;
  return usage_error("--output '" + text + "': is no format", "write table, json or yaml");
}

// Splits at the first "--": what stands behind it is the job's and none of our options.
void split_program(const Arguments& arguments, Arguments& own, Arguments& program) {
  const auto dashes = std::ranges::find(arguments, "--");
  own.assign(arguments.begin(), dashes);
  if (dashes != arguments.end()) program.assign(dashes + 1, arguments.end());
}

int run_parsed(CommandLine& line, const Environment& environment, Streams& streams, OutputFormat format) {
  client::ApiClientOptions options;
  options.socket_path = kDefaultSocket;
  if (!environment.socket_path.empty()) options.socket_path = environment.socket_path;
  if (!line.globals.socket_path.empty()) options.socket_path = line.globals.socket_path;
  client::ApiClient api(options);
  Session session(streams, api, format);
  return line.action(session);
}

int run_checked(const Arguments& arguments, const Environment& environment, Streams& streams) {
  const auto report = [&](const Error& error) {
    streams.err << render_error(error, {streams.width, streams.colour_err, {}}) << std::flush;
    return wire::exit_code(error);
  };
  CommandLine line;
  CLI::App root("Tangram shares the Ascend NPUs of a machine among tenants.");
  build(root, line);
  Arguments own;
  Arguments program;
  split_program(arguments, own, program);
  if (const Result<void> known = check_command(root, own); !known) return report(known.error());
  try {
    root.parse(Arguments(own.rbegin(), own.rend()));
  } catch (const CLI::ParseError& failure) {
    if (failure.get_exit_code() == 0) {
      const CLI::App& app = chosen(root);
      streams.out << app.help(app.get_parent() == nullptr ? "" : full_name(*app.get_parent())) << std::flush;
      return wire::kExitOk;
    }
    return report(parse_failure(root, failure));
  }
  const std::string& command = chosen(root).get_name();
  if (!program.empty() && command != "submit" && command != "lease") {
    return report(unexpected_word(chosen(root), program.front()));
  }
  (command == "lease" ? line.lease.command : line.submit.job.command) = std::move(program);
  const Result<OutputFormat> format = parse_output(line.globals.output);
  if (!format) return report(format.error());
  return run_parsed(line, environment, streams, *format);
}

}  // namespace

int run(const Arguments& arguments, const Environment& environment, Streams& streams) {
  try {
    return run_checked(arguments, environment, streams);
  } catch (const std::exception& failure) {
    streams.err << "tangram: this is a bug: " << failure.what() << std::endl;
    return wire::kExitBug;
  }
}

}  // namespace tangram::cli
