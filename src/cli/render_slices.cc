#include <algorithm>
#include <array>

#include "cli/render.h"
#include "cli/tiles.h"
#include "wire/slice_texts.h"
#include "wire/view_texts.h"
#include "wire/words.h"

namespace tangram::cli {
namespace {

namespace say = wire::view;
using wire::SliceStanding;

constexpr std::array kColumns{
    Column{.key = "npu", .title = say::kNpu, .align = Align::kRight},
    Column{.key = "slice", .title = say::kSlice, .align = Align::kRight, .is_id = true},
    Column{.key = "template", .title = say::kTemplate},
    Column{.key = "standing", .title = say::kStanding},
    Column{.key = "ai-cores", .title = say::kAiCores, .align = Align::kRight},
    Column{.key = "memory", .title = say::kMemoryNominal, .align = Align::kRight},
    Column{.key = "usable", .title = say::kMemoryUsable, .align = Align::kRight},
    Column{.key = "used", .title = say::kHbmUsed, .align = Align::kRight},
    Column{.key = "tenant", .title = say::kTenant},
    Column{.key = "job", .title = say::kJob},
    Column{.key = "name", .title = say::kName},
    Column{.key = "vgroup", .title = say::kVgroup, .align = Align::kRight, .sparse = true},
    Column{.key = "chip", .title = say::kChip},
};

std::string or_dash_number(const std::optional<std::int64_t>& number) {
  return number ? std::to_string(*number) : "-";
}

std::string or_dash_bytes(const std::optional<Bytes>& bytes) {
  return bytes ? format_bytes(*bytes) : "-";
}

Table::Cell cell_of(bool known, const std::string& text) {
  return known ? Table::Cell{text} : unknown_cell();
}

std::string table_of(const wire::SlicesView& view, const Canvas& canvas) {
  Table table(kColumns, canvas);
  for (const wire::NpuSlicesView& npu : view.npus) {
    for (const wire::StandingSliceView& slice : npu.slices) {
      table.add_row({{std::to_string(npu.npu)},
                     cell_of(slice.id.has_value(), std::to_string(slice.id.value_or(0))),
                     {or_dash(slice.template_name)},
                     {std::string(wire::word(slice.standing, canvas.language))},
                     cell_of(slice.ai_cores.has_value(), or_dash_number(slice.ai_cores)),
                     cell_of(slice.memory.has_value(), or_dash_bytes(slice.memory)),
                     cell_of(slice.usable_memory.has_value(), or_dash_bytes(slice.usable_memory)),
                     cell_of(slice.memory_used.has_value(), or_dash_bytes(slice.memory_used)),
                     {or_dash(slice.tenant)},
                     {or_dash(slice.job)},
                     {or_dash(slice.job_name)},
                     cell_of(slice.vgroup.has_value(), std::to_string(slice.vgroup.value_or(0))),
                     {or_dash(npu.chip)}});
    }
  }
  return table.render();
}

// 'A' to 'Z': no NPU has more than 16 slices.
char letter_of(std::size_t index) {
  return static_cast<char>('A' + index % 26);
}

Tone tone_of(SliceStanding standing) {
  switch (standing) {
    case SliceStanding::kHeld:
      return Tone::kPlain;
    case SliceStanding::kResidual:
      return Tone::kWarning;
    case SliceStanding::kForeign:
      return Tone::kDim;
  }
  return Tone::kPlain;
}

char mark_of(SliceStanding standing) {
  switch (standing) {
    case SliceStanding::kHeld:
      return ' ';
    case SliceStanding::kResidual:
      return '!';
    case SliceStanding::kForeign:
      return '?';
  }
  return ' ';
}

std::vector<Tile> tiles_of(const wire::NpuSlicesView& npu) {
  std::vector<Tile> tiles;
  std::int64_t free = npu.ai_cores.value_or(0);
  for (std::size_t i = 0; i < npu.slices.size(); ++i) {
    const wire::StandingSliceView& slice = npu.slices[i];
    const std::int64_t cores = slice.ai_cores.value_or(1);
    tiles.push_back({cores, letter_of(i), mark_of(slice.standing), tone_of(slice.standing)});
    free -= cores;
  }
  if (npu.mode == NpuMode::kWhole && tiles.empty()) {
    tiles.push_back({free, '#', '#', Tone::kPlain});
  } else if (free > 0) {
    tiles.push_back({free, '.', ' ', Tone::kGood});
  }
  return tiles;
}

std::string cores_text(const std::optional<std::int64_t>& cores, wire::Language language) {
  return cores ? count_of(*cores, say::kOneAiCore, say::kAiCoresOf, language) : "-";
}

// "train-001 (j-7) of team-a"
std::string holder_text(const std::string& tenant, const std::string& job, const std::string& name,
                        wire::Language language) {
  if (job.empty()) return std::string(say::kOfAnother.in(language));
  const std::string title = name.empty() || name == job ? job : name + " (" + job + ")";
  return wire::fill(say::kJobOfTenant, language, {{"job", title}, {"tenant", or_dash(tenant)}});
}

std::string legend(char letter, const wire::StandingSliceView& slice, const Canvas& canvas) {
  const wire::Language language = canvas.language;
  const std::string id = slice.id ? std::to_string(*slice.id) : "-";
  const std::string whose = slice.standing == SliceStanding::kHeld
                                ? holder_text(slice.tenant, slice.job, slice.job_name, language)
                            : slice.unseen ? std::string(say::kResidualChecked.in(language))
                                           : std::string(wire::word(slice.standing, language));
  const std::string line = wire::fill(say::kSliceLegend, language,
                                      {{"template", or_dash(slice.template_name)},
                                       {"id", id},
                                       {"cores", cores_text(slice.ai_cores, language)},
                                       {"memory", or_dash_bytes(slice.memory)},
                                       {"usable", or_dash_bytes(slice.usable_memory)},
                                       {"whose", whose}});
  const std::string head = std::string("  ") + letter + mark_of(slice.standing) + ' ';
  return paint(canvas, tone_of(slice.standing),
               head + hang_text(printable(line), canvas.width, head.size())) +
         '\n';
}

// Puts `item` behind what the list has, with the mark between them.
void append(std::string& list, const wire::Text& mark, std::string_view item, wire::Language language) {
  if (!list.empty()) list += mark.in(language);
  list += item;
}

std::string memory_text(const wire::NpuSlicesView& npu, wire::Language language) {
  std::string memory = or_dash_bytes(npu.memory);
  if (!npu.usable_memory || npu.usable_memory == npu.memory) return memory;
  return wire::fill(say::kMemoryWithUsable, language,
                    {{"memory", memory}, {"usable", format_bytes(*npu.usable_memory)}});
}

std::string title(const wire::NpuSlicesView& npu, const Canvas& canvas) {
  const wire::Language language = canvas.language;
  std::string line = wire::fill(say::kSlicesTitle, language,
                                {{"npu", std::to_string(npu.npu)},
                                 {"chip", or_dash(npu.chip)},
                                 {"cores", cores_text(npu.ai_cores, language)},
                                 {"memory", memory_text(npu, language)},
                                 {"mode", wire::word(npu.mode, language)}});
  if (npu.mode == NpuMode::kWhole)
    append(line, say::kListComma, holder_text(npu.tenant, npu.job, npu.job_name, language), language);
  return paint(canvas, Tone::kBold, wrap_text(printable(line), canvas.width, 2)) + '\n';
}

std::string said(const std::string& sentence, Tone tone, const Canvas& canvas) {
  return paint(canvas, tone, "  " + hang_text(printable(sentence), canvas.width, 2)) + '\n';
}

// The first rule that is broken, and how many others; --cut names them all.
std::string first_rule(const std::vector<wire::ReasonView>& rules, wire::Language language) {
  if (rules.size() < 2) return rules.empty() ? "-" : rules.front().message;
  return wire::fill(say::kAndMoreRules, language,
                    {{"rule", rules.front().message}, {"count", std::to_string(rules.size() - 1)}});
}

// What fits next, and what does not by which rule. Templates that break the same rules stand together.
std::string cuts_text(const wire::NpuSlicesView& npu, const Canvas& canvas) {
  const wire::Language language = canvas.language;
  std::string next;
  std::vector<std::pair<std::string, std::string>> refused;
  for (const wire::SliceCutView& cut : npu.cuts) {
    if (cut.room > 0) {
      const std::string one = wire::fill(say::kCutWithSize, language,
                                         {{"count", std::to_string(cut.room)},
                                          {"template", cut.template_name},
                                          {"memory", format_bytes(cut.memory)},
                                          {"cores", cores_text(cut.ai_cores, language)}});
      append(next, say::kListComma, one, language);
      continue;
    }
    const std::string rules = first_rule(cut.rules, language);
    const auto same = std::ranges::find(refused, rules, &std::pair<std::string, std::string>::second);
    if (same == refused.end()) {
      refused.emplace_back(cut.template_name, rules);
    } else {
      append(same->first, say::kListComma, cut.template_name, language);
    }
  }
  std::string text;
  if (!next.empty())
    text += said(wire::fill(say::kNextCuts, language, {{"cuts", next}}), Tone::kGood, canvas);
  // One thing that stands in the way of all is said by the note.
  if (next.empty() && refused.size() < 2 && !npu.note.empty()) return text;
  for (const auto& [templates, rules] : refused)
    text += said(wire::fill(say::kNotCut, language, {{"templates", templates}, {"rules", rules}}),
                 Tone::kPlain, canvas);
  return text;
}

std::string mix_text(const wire::SliceMixView& mix, const Canvas& canvas) {
  const wire::Language language = canvas.language;
  std::string templates;
  for (const std::string& name : mix.templates) append(templates, say::kListComma, name, language);
  if (mix.legal)
    return said(wire::fill(say::kCutIsLegal, language, {{"templates", templates}}), Tone::kGood, canvas);
  std::string text =
      said(wire::fill(say::kCutIsIllegal, language, {{"templates", templates}}), Tone::kBad, canvas);
  for (const wire::ReasonView& rule : mix.rules) {
    const std::string line = printable(rule.message) + " [" + printable(rule.code) + "]";
    text += "    " + hang_text(line, canvas.width, 4) + '\n';
  }
  return text;
}

std::string render_npu(const wire::NpuSlicesView& npu, const Canvas& canvas) {
  std::string text = title(npu, canvas);
  constexpr std::size_t kIndent = 2;
  const std::size_t width = canvas.width > kIndent ? canvas.width - kIndent : canvas.width;
  for (const std::string& line : draw_tiles(tiles_of(npu), width, canvas))
    text += std::string(kIndent, ' ') + line + '\n';
  for (std::size_t i = 0; i < npu.slices.size(); ++i) text += legend(letter_of(i), npu.slices[i], canvas);
  if (!npu.note.empty()) text += said(npu.note, Tone::kWarning, canvas);
  return text + (npu.asked ? mix_text(*npu.asked, canvas) : cuts_text(npu, canvas));
}

}  // namespace

std::span<const Column> slices_columns() {
  return kColumns;
}

std::string render_slices(const wire::SlicesView& view, const Canvas& canvas) {
  if (canvas.table.is_bare() || canvas.table.wide) return table_of(view, canvas);
  if (view.npus.empty())
    return wire::fill(say::kNoNpusKnown, canvas.language, {{"command", "npu-smi info"}}) + '\n';
  std::string text;
  for (const wire::NpuSlicesView& npu : view.npus)
    text += (text.empty() ? "" : "\n") + render_npu(npu, canvas);
  return text;
}

}  // namespace tangram::cli
