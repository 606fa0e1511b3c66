#include <array>

#include "cli/render.h"

namespace tangram::cli {
namespace {

// What gives way, in this order, when the table is wider than the canvas.
struct Detail {
  bool job_names = true;
  bool bars = true;
};

Table::Cell number_cell(const std::optional<std::int64_t>& value, std::string_view unit, std::int64_t warning,
                        std::int64_t bad) {
  if (!value) return {"-", Tone::kDim};
  const Tone tone = *value >= bad ? Tone::kBad : *value >= warning ? Tone::kWarning : Tone::kPlain;
  return {std::to_string(*value) + std::string(unit), tone};
}

Table::Cell health_cell(Health health) {
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
  return {std::string(to_string(health)), tone()};
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

Table make_table(const wire::StatusView& view, const Detail& detail) {
  Table table({{"NPU", Align::kRight},
               {"CHIP"},
               {"HEALTH"},
               {"MODE"},
               {"CORE%", Align::kRight},
               {"HBM GiB"},
               {"TENANT"},
               {"JOB"},
               {"°C", Align::kRight},
               {"W", Align::kRight}});
  for (const wire::NpuStatusView& npu : view.npus) {
    std::string job = npu.job;
    if (detail.job_names && !npu.job_name.empty()) job = npu.job_name;
    std::optional<std::int64_t> watt;
    if (npu.power_milliwatt) watt = (*npu.power_milliwatt + 500) / 1000;
    table.add_row(
        {{std::to_string(npu.npu)},
         {npu.chip.empty() ? "-" : printable(npu.chip)},
         health_cell(npu.health),
         {std::string(to_string(npu.mode)), npu.mode == NpuMode::kFree ? Tone::kGood : Tone::kPlain},
         number_cell(npu.ai_core_percent, "", 101, 101),
         memory_cell(npu, detail.bars),
         {npu.tenant.empty() ? "-" : printable(npu.tenant)},
         {job.empty() ? "-" : printable(job)},
         number_cell(npu.temperature_celsius, "", 80, 95),
         number_cell(watt, "", kUnlimited, kUnlimited)});
    if (npu.health != Health::kOk && !npu.health_note.empty()) {
      table.add_note(printable(npu.health_note), 5, Tone::kWarning);
    }
  }
  return table;
}

std::string footer(const wire::StatusView& view, const Canvas& canvas) {
  const std::string driver = view.driver_version.empty() ? "-" : printable(view.driver_version);
  const std::string line = std::to_string(view.npus_free) + " of " +
                           count_of(static_cast<std::int64_t>(view.npus.size()), "NPU") + " free · " +
                           count_of(view.jobs_running, "job") + " running, " +
                           std::to_string(view.jobs_queued) + " in the queue · driver " + driver;
  std::string text = wrap_text(line, canvas.width, 2) + '\n';
  for (const std::string& wall : view.missing_walls) {
    text +=
        paint(canvas, Tone::kWarning, wrap_text("missing wall: " + printable(wall), canvas.width, 2)) + '\n';
  }
  return text;
}

}  // namespace

std::string render_status(const wire::StatusView& view, const Canvas& canvas) {
  std::string text;
  if (!view.devices_available) {
    const std::string note = view.devices_note.empty() ? "no reason is known" : printable(view.devices_note);
    text += paint(canvas, Tone::kBad, wrap_text("NPUs are not reachable: " + note, canvas.width, 2)) + '\n';
  }
  if (view.npus.empty()) {
    if (view.devices_available) {
      text += "No NPUs are known on this machine. See what the driver says: npu-smi info\n";
    }
    return text + footer(view, canvas);
  }
  static constexpr std::array<Detail, 3> kDetails{{{true, true}, {false, true}, {false, false}}};
  Table table = make_table(view, kDetails[0]);
  for (std::size_t i = 1; i < kDetails.size() && table.width() > canvas.width; ++i) {
    table = make_table(view, kDetails[i]);
  }
  return text + table.render(canvas) + footer(view, canvas);
}

}  // namespace tangram::cli
