#include "cli/man_page.h"

#include "cli/command.h"
#include "cli/daemon_options.h"
#include "cli/help.h"
#include "cli/roff.h"
#include "wire/command_texts.h"
#include "wire/explain.h"

namespace tangram::cli {
namespace {

namespace help = wire::help;
using wire::Language;

RoffPage page_of(std::string_view name, int section, const wire::Text& about, Language language,
                 std::string_view version) {
  RoffPage page(name, section, std::string("Tangram ").append(version), help::kManual.in(language));
  page.heading(help::kManName.in(language));
  page.paragraph(std::string(name).append(" - ").append(about.in(language)));
  page.heading(help::kManSynopsis.in(language));
  return page;
}

void add_options(RoffPage& page, std::span<const Option> options, Language language) {
  for (const Option& option : options) page.tagged(spelling_of(option), option.about.in(language));
}

void add_command(RoffPage& page, const Command& command, Language language) {
  page.subheading(std::string("tangram ").append(command.name));
  page.paragraph(command.summary.in(language));
  page.example(usage_of(command));
  add_options(page, command.options, language);
  if (command.program != nullptr) page.tagged("PROGRAM", command.program->in(language));
  if (command.columns != nullptr) {
    std::string names;
    for (const Column& column : command.columns()) names.append(names.empty() ? "" : ", ").append(column.key);
    page.tagged(help::kColumns.in(language), names);
  }
  if (command.more != nullptr) page.paragraph(command.more->in(language));
  if (command.examples.empty()) return;
  page.paragraph(help::kExamples.in(language));
  page.example(command.examples);
}

void add_exit_codes(RoffPage& page, Language language) {
  page.heading(help::kManExit.in(language));
  for (const wire::CodeEntry& entry : wire::code_entries(language)) {
    if (entry.kind == wire::CodeEntry::Kind::kExitCode) page.tagged(entry.code, entry.meaning);
  }
}

}  // namespace

std::string man_page_of_tangram(Language language, std::string_view version) {
  RoffPage page = page_of("tangram", 1, help::kProgram, language, version);
  page.synopsis("tangram", "[OPTIONS] COMMAND");
  page.heading(help::kManDescription.in(language));
  page.paragraph(help::kManWhat.in(language));
  page.paragraph(help::kManStreams.in(language));
  page.heading(help::kGlobalOptions.in(language));
  add_options(page, global_options(), language);
  page.heading(help::kTableOptions.in(language));
  add_options(page, table_options(), language);
  page.heading(help::kCommands.in(language));
  for (const Command* command : commands()) add_command(page, *command, language);
  page.heading(help::kManEnvironment.in(language));
  page.tagged("TANGRAM_SOCKET", help::kManSocketVariable.in(language));
  page.tagged("TANGRAM_SERVER", help::kManServerVariable.in(language));
  page.tagged("TANGRAM_TOKEN", help::kManTokenVariable.in(language));
  page.tagged("TANGRAM_CA_FILE", help::kManCaVariable.in(language));
  page.tagged("LC_ALL, LC_MESSAGES, LANG", help::kManLocaleVariables.in(language));
  page.tagged("NO_COLOR", help::kManNoColor.in(language));
  add_exit_codes(page, language);
  page.heading(help::kManSeeAlso.in(language));
  page.paragraph("tangramd(8)");
  return page.text();
}

std::string man_page_of_tangramd(Language language, std::string_view version) {
  RoffPage page = page_of("tangramd", 8, help::kDaemon, language, version);
  page.synopsis("tangramd", "[OPTIONS]");
  page.heading(help::kManDescription.in(language));
  page.paragraph(help::kDaemonWhat.in(language));
  page.heading(help::kOptions.in(language));
  add_options(page, daemon::kOptions, language);
  page.heading(help::kManFiles.in(language));
  page.tagged("/etc/tangram/tangramd.yaml", help::kDaemonFileConfig.in(language));
  page.tagged("/run/tangram/tangram.sock", help::kDaemonFileSocket.in(language));
  page.tagged("/var/lib/tangram/", help::kDaemonFileState.in(language));
  page.tagged("/var/log/tangram/audit.log", help::kDaemonFileAudit.in(language));
  page.heading(help::kManSignals.in(language));
  page.tagged("SIGTERM, SIGINT", help::kDaemonSignals.in(language));
  page.tagged("SIGHUP", help::kDaemonReload.in(language));
  add_exit_codes(page, language);
  page.heading(help::kManSeeAlso.in(language));
  page.paragraph("tangram(1), systemd(1), npu-smi(8)");
  return page.text();
}

}  // namespace tangram::cli
