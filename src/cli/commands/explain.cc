#include <array>

#include "cli/commands/all.h"
#include "cli/session.h"
#include "wire/command_texts.h"
#include "wire/errors.h"
#include "wire/explain.h"
#include "wire/view_texts.h"

namespace tangram::cli {
namespace {

namespace help = wire::help;
namespace say = wire::view;

constexpr Option kCode{.name = "CODE", .about = help::kExplainCode, .completes = Completes::kCode};
constexpr std::array kOptions{kCode};

constexpr std::array kColumns{
    Column{.key = "code", .title = say::kCode, .is_id = true},
    Column{.key = "meaning", .title = say::kMeaning},
    Column{.key = "kind", .title = say::kKind, .extra = true},
    Column{.key = "effect", .title = say::kEffect, .extra = true},
    Column{.key = "remedy", .title = say::kRemedy, .extra = true},
};

std::span<const Column> columns() {
  return kColumns;
}

std::string render_list(const std::vector<wire::CodeEntry>& entries, const Canvas& canvas) {
  Table table(kColumns, canvas);
  for (const wire::CodeEntry& entry : entries) {
    table.add_row({{entry.code, Tone::kBold},
                   {entry.meaning},
                   {std::string(to_string(entry.kind))},
                   entry.effect.empty() ? unknown_cell() : Table::Cell{entry.effect},
                   {entry.remedy}});
  }
  return table.render();
}

std::string render_one(const wire::CodeEntry& entry, const Canvas& canvas) {
  const auto line = [&](const wire::Text& text, std::string_view value) {
    return "  " + hang_text(wire::fill(text, canvas.language, {{"text", value}}), canvas.width, 2) + '\n';
  };
  std::string text = wrap_text(entry.code + ": " + entry.meaning, canvas.width, 2) + '\n';
  if (!entry.effect.empty()) text += line(say::kWhatFollows, entry.effect);
  return text + line(say::kWhatToDo, entry.remedy);
}

Error unknown_code(const std::string& code, wire::Language language) {
  std::vector<std::string> known;
  for (const wire::CodeEntry& entry : wire::code_entries(language)) known.push_back(entry.code);
  const auto suggestion = nearest(code, known);
  return Error{Code::kNotFound,
               "cli.code.unknown",
               wire::fill(say::kNoSuchCode, language, {{"code", code}}),
               suggestion ? wire::fill(say::kExplainNearest, language, {{"code", *suggestion}})
                          : std::string(say::kExplainAll.in(language)),
               {},
               nullptr};
}

int run(Session& session, const Arguments& arguments) {
  const wire::Language language = session.language();
  const std::string code = arguments.text(kCode);
  const std::vector<wire::CodeEntry> entries =
      code.empty() ? wire::code_entries(language) : wire::find_codes(code, language);
  if (entries.empty()) return session.report(unknown_code(code, language));
  const bool one = entries.size() == 1 && entries.front().code == code;
  return session.emit(one ? wire::write(entries.front()) : wire::write(entries), [&](const Canvas& canvas) {
    return one && !canvas.table.is_bare() ? render_one(entries.front(), canvas)
                                          : render_list(entries, canvas);
  });
}

}  // namespace

const Command kExplain{
    .name = "explain",
    .summary = help::kExplain,
    .run = run,
    .options = kOptions,
    .columns = columns,
    .examples =
        "tangram explain quota.npus.exceeded\n"
        "tangram explain quota\n"
        "tangram explain 3\n",
    .offline = true,
};

}  // namespace tangram::cli
