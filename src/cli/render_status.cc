#include <algorithm>
#include <array>

#include "cli/render.h"
#include "wire/view_texts.h"
#include "wire/words.h"

namespace tangram::cli {
namespace {

namespace say = wire::view;

constexpr std::array kColumns{
    Column{.key = "npu", .title = say::kNpu, .align = Align::kRight, .is_id = true},
    Column{.key = "chip", .title = say::kChip},
    Column{.key = "health", .title = say::kHealth},
    Column{.key = "mode", .title = say::kMode},
    Column{.key = "core", .title = say::kCore, .align = Align::kRight},
    Column{.key = "hbm", .title = say::kHbm, .drawing = true},
    Column{.key = "tenant", .title = say::kTenant},
    Column{.key = "job", .title = say::kJob},
    Column{.key = "celsius", .title = say::kCelsius, .align = Align::kRight},
    Column{.key = "watt", .title = say::kWatt, .align = Align::kRight},
    Column{.key = "name", .title = say::kName, .extra = true},
    Column{.key = "hbm-used", .title = say::kHbmUsed, .align = Align::kRight, .extra = true},
    Column{.key = "hbm-total", .title = say::kHbmTotal, .align = Align::kRight, .extra = true},
    Column{.key = "ai-cores", .title = say::kAiCores, .align = Align::kRight, .extra = true},
    Column{.key = "note", .title = say::kNote, .extra = true},
};

// What gives way, in this order, when the table is wider than the canvas.
struct Detail {
  bool job_names = true;
  bool bars = true;
};

Table::Cell number_cell(const std::optional<std::int64_t>& value, std::int64_t warning, std::int64_t bad) {
  if (!value) return unknown_cell();
  const Tone tone = *value >= bad ? Tone::kBad : *value >= warning ? Tone::kWarning : Tone::kPlain;
  return {std::to_string(*value), tone};
}

Table::Cell bytes_cell(const std::optional<Bytes>& bytes) {
  return bytes ? Table::Cell{format_bytes(*bytes)} : unknown_cell();
}

Table::Cell health_cell(Health health, wire::Language language) {
  const auto tone = [&] {
    switch (health) {
      case Health::kOk:
        return Tone::kGood;
      case Health::kWarning:
        return Tone::kWarning;
      case Health::kUnknown:
        return Tone::kDim;
      case Health::kAlarm:
      case Health::kCritical:
      case Health::kAbsent:
        return Tone::kBad;
    }
    return Tone::kPlain;
  };
  return {std::string(wire::word(health, language)), tone()};
}

Table::Cell memory_cell(const wire::NpuStatusView& npu, bool with_bar) {
  const std::string used = npu.memory_used ? format_gib(*npu.memory_used) : "-";
  const std::string total = npu.memory_total ? format_gib(*npu.memory_total) : "-";
  const std::string text = used + "/" + total;
  if (!with_bar) return {text, Tone::kPlain};
  constexpr std::size_t kCells = 6;
  const bool known = npu.memory_used && npu.memory_total;
  const std::string graph =
      known ? bar(npu.memory_used->count, npu.memory_total->count, kCells) : std::string(kCells, ' ');
  return {graph + " " + text, Tone::kPlain};
}

std::vector<Table::Cell> row_of(const wire::NpuStatusView& npu, const Detail& detail, const Canvas& canvas) {
  // Where the name has a column of its own, this one is the id's.
  const bool by_name =
      detail.job_names && !npu.job_name.empty() && !canvas.table.is_bare() && !canvas.table.wide;
  std::optional<std::int64_t> watt;
  if (npu.power_milliwatt) watt = (*npu.power_milliwatt + 500) / 1000;
  return {{std::to_string(npu.npu)},
          {or_dash(npu.chip)},
          health_cell(npu.health, canvas.language),
          {std::string(wire::word(npu.mode, canvas.language)),
           npu.mode == NpuMode::kFree ? Tone::kGood : Tone::kPlain},
          number_cell(npu.ai_core_percent, 101, 101),
          memory_cell(npu, detail.bars),
          {or_dash(npu.tenant)},
          {or_dash(by_name ? npu.job_name : npu.job)},
          number_cell(npu.temperature_celsius, 80, 95),
          number_cell(watt, kUnlimited, kUnlimited),
          {or_dash(npu.job_name)},
          bytes_cell(npu.memory_used),
          bytes_cell(npu.memory_total),
          number_cell(npu.ai_cores, kUnlimited, kUnlimited),
          {or_dash(npu.health_note)}};
}

// "vir02 (6GiB) train-001 of team-a, asked for 4GiB". Without tenant and request for whom the job is not.
std::string slice_text(const wire::NpuSliceView& slice, wire::Language language) {
  const std::string shape = or_dash(slice.template_name);
  if (!slice.memory) {
    const std::string id = slice.id ? std::to_string(*slice.id) : std::string();
    const wire::Text& text = !slice.residual ? say::kStrayOnNpu
                             : slice.unseen  ? say::kResidualCheckedOnNpu
                                             : say::kResidualOnNpu;
    return wire::fill(text, language, {{"template", shape}, {"id", id}});
  }
  const std::string size = format_bytes(*slice.memory);
  const std::string job = or_dash(slice.job_name.empty() ? slice.job : slice.job_name);
  if (!slice.slice_requested)
    return wire::fill(say::kSliceOnNpu, language, {{"template", shape}, {"size", size}, {"job", job}});
  return wire::fill(say::kSliceOnNpuOf, language,
                    {{"template", shape},
                     {"size", size},
                     {"job", job},
                     {"tenant", printable(slice.tenant)},
                     {"asked", slice_size(*slice.slice_requested, language)}});
}

// What an NPU is cut into, as far as the caller may know.
std::string slices_text(const wire::NpuStatusView& npu, wire::Language language) {
  std::string text;
  for (const wire::NpuSliceView& slice : npu.slices)
    text.append(text.empty() ? "" : say::kListSemicolon.in(language)).append(slice_text(slice, language));
  return text;
}

Table make_table(const wire::StatusView& view, const Detail& detail, const Canvas& canvas) {
  Table table(kColumns, canvas);
  for (const wire::NpuStatusView& npu : view.npus) {
    table.add_row(row_of(npu, detail, canvas));
    if (npu.health != Health::kOk && !npu.health_note.empty() && !canvas.table.wide) {
      table.add_note(printable(npu.health_note), 5, Tone::kWarning);
    }
    if (npu.slice_requested && !canvas.table.wide) {
      table.add_note(wire::fill(say::kWholeForSlice, canvas.language,
                                {{"asked", slice_request_text(*npu.slice_requested, canvas.language)}}),
                     5, Tone::kPlain);
    }
    if (!npu.slices.empty() && !canvas.table.wide) {
      table.add_note(slices_text(npu, canvas.language), 5, Tone::kPlain);
    }
  }
  return table;
}

std::string footer(const wire::StatusView& view, const Canvas& canvas) {
  const wire::Language language = canvas.language;
  const auto npus = static_cast<std::int64_t>(view.npus.size());
  const std::string line =
      wire::fill(say::kStatusFooter, language,
                 {{"free", std::to_string(view.npus_free)},
                  {"npus", count_of(npus, say::kOneNpu, say::kNpus, language)},
                  {"running", count_of(view.jobs_running, say::kOneJob, say::kJobs, language)},
                  {"queued", std::to_string(view.jobs_queued)},
                  {"driver", or_dash(view.driver_version)}});
  std::string text = wrap_text(line, canvas.width, 2) + '\n';
  const auto cut = std::ranges::count_if(
      view.npus, [](const wire::NpuStatusView& npu) { return npu.mode == NpuMode::kSliced; });
  if (cut > 0) {
    const std::string sentence = wire::fill(
        say::kCutFooter, language,
        {{"npus", count_of(cut, say::kOneNpu, say::kNpus, language)}, {"command", "tangram slices"}});
    text += wrap_text(sentence, canvas.width, 2) + '\n';
  }
  if (view.devices_available && !view.devices_note.empty())
    text += paint(canvas, Tone::kWarning, wrap_text(printable(view.devices_note), canvas.width, 2)) + '\n';
  for (const std::string& wall : view.missing_walls) {
    const std::string sentence = wire::fill(say::kMissingWall, language, {{"wall", printable(wall)}});
    text += paint(canvas, Tone::kWarning, wrap_text(sentence, canvas.width, 2)) + '\n';
  }
  return text;
}

std::string unreachable(const wire::StatusView& view, const Canvas& canvas) {
  const std::string note = view.devices_note.empty() ? std::string(say::kNoReasonKnown.in(canvas.language))
                                                     : printable(view.devices_note);
  const std::string sentence = wire::fill(say::kNpusUnreachable, canvas.language, {{"note", note}});
  return paint(canvas, Tone::kBad, wrap_text(sentence, canvas.width, 2)) + '\n';
}

}  // namespace

std::span<const Column> status_columns() {
  return kColumns;
}

std::string render_status(const wire::StatusView& view, const Canvas& canvas) {
  if (canvas.table.is_bare()) return make_table(view, {true, false}, canvas).render();
  std::string text;
  if (!view.devices_available) text += unreachable(view, canvas);
  if (view.npus.empty()) {
    if (view.devices_available)
      text += wire::fill(say::kNoNpusKnown, canvas.language, {{"command", "npu-smi info"}}) + '\n';
    return text + footer(view, canvas);
  }
  static constexpr std::array<Detail, 3> kDetails{{{true, true}, {false, true}, {false, false}}};
  Table table = make_table(view, kDetails[0], canvas);
  for (std::size_t i = 1; i < kDetails.size() && table.width() > canvas.width && !canvas.table.wide; ++i) {
    table = make_table(view, kDetails[i], canvas);
  }
  return text + table.render() + footer(view, canvas);
}

}  // namespace tangram::cli
