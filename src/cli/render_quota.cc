#include <array>
#include <functional>
#include <set>

#include "cli/render.h"
#include "wire/view_texts.h"
#include "wire/words.h"

namespace tangram::cli {
namespace {

namespace say = wire::view;
using wire::Language;

// For people: the tenants as a tree, each with a line for every dimension.
constexpr std::array kTreeColumns{
    Column{.key = "tenant", .title = say::kTenant, .is_id = true},
    Column{.key = "used-limit", .title = say::kUsedOfLimit},
    Column{.key = "left", .title = say::kLeft},
    Column{.key = "bar", .title = say::kBar, .untitled = true},
};

// For programs, and for people who choose columns.
constexpr std::array kColumns{
    Column{.key = "tenant", .title = say::kTenant, .is_id = true},
    Column{.key = "dimension", .title = say::kDimension},
    Column{.key = "used", .title = say::kUsed, .align = Align::kRight},
    Column{.key = "limit", .title = say::kLimit, .align = Align::kRight},
    Column{.key = "left", .title = say::kLeft, .align = Align::kRight},
    Column{.key = "bar", .title = say::kBar, .drawing = true, .untitled = true},
    Column{.key = "parent", .title = say::kParent, .extra = true},
};

// One dimension of one tenant. Some limits each job meets by itself: nothing of them is used up.
struct Line {
  Dimension dimension = Dimension::kNpus;
  std::int64_t limit = kUnlimited;
  std::optional<std::int64_t> used;
};

std::array<Line, 8> lines_of(const wire::QuotaView& view) {
  const Quota& quota = view.tenant.quota;
  const Usage& used = view.used;
  return {{{Dimension::kNpus, quota.npus, used.npus},
           {Dimension::kMemoryPerNpu, quota.memory_per_npu.count, std::nullopt},
           {Dimension::kMemoryTotal, quota.memory_total.count, used.memory_total.count},
           {Dimension::kAiCores, quota.ai_cores, used.ai_cores},
           {Dimension::kRunningJobs, quota.running_jobs, used.running_jobs},
           {Dimension::kRunTime, quota.run_time_ms, std::nullopt},
           {Dimension::kPriorities, 0, std::nullopt},
           {Dimension::kBandwidth, quota.bandwidth_bps, used.bandwidth_bps}}};
}

std::string amount_text(Dimension dimension, std::int64_t amount) {
  switch (dimension) {
    case Dimension::kMemoryPerNpu:
    case Dimension::kMemoryTotal:
      return format_bytes(Bytes(amount));
    case Dimension::kRunTime:
      return format_duration_ms(amount);
    case Dimension::kBandwidth:
      return format_bits_per_second(amount);
    case Dimension::kNpus:
    case Dimension::kAiCores:
    case Dimension::kRunningJobs:
    case Dimension::kPriorities:
      return std::to_string(amount);
  }
  return "-";
}

std::string priorities_text(PrioritySet set, Language language) {
  std::string text;
  for (int i = 0; i < kPriorityCount; ++i) {
    const auto priority = static_cast<Priority>(i);
    if (!set.contains(priority)) continue;
    if (!text.empty()) text += say::kListComma.in(language);
    text += wire::word(priority, language);
  }
  return text.empty() ? std::string(say::kNone.in(language)) : text;
}

std::string limit_text(const wire::QuotaView& view, const Line& line, Language language) {
  if (line.dimension == Dimension::kPriorities)
    return priorities_text(view.tenant.quota.priorities, language);
  if (line.limit >= kUnlimited) return std::string(say::kNoLimit.in(language));
  return amount_text(line.dimension, line.limit);
}

// The limit as a sentence says it: "32GiB per NPU".
std::string bound_text(const wire::QuotaView& view, const Line& line, Language language) {
  std::string text = limit_text(view, line, language);
  if (line.limit >= kUnlimited) return text;
  if (line.dimension == Dimension::kMemoryPerNpu)
    return wire::fill(say::kPerNpu, language, {{"amount", text}});
  if (line.dimension == Dimension::kRunTime) return wire::fill(say::kPerJob, language, {{"amount", text}});
  return text;
}

Table::Cell left_cell(const Line& line, const Canvas& canvas) {
  if (!line.used || line.limit >= kUnlimited) return unknown_cell();
  const std::int64_t left = line.limit - *line.used;
  if (left >= 0) return {amount_text(line.dimension, left), left == 0 ? Tone::kWarning : Tone::kPlain};
  const std::string over = amount_text(line.dimension, -left);
  if (canvas.table.is_for_programs()) return {"-" + over, Tone::kBad};
  return {wire::fill(say::kOver, canvas.language, {{"amount", over}}), Tone::kBad};
}

std::string bar_text(const Line& line) {
  return line.used && line.limit < kUnlimited ? bar(*line.used, line.limit, 10) : "";
}

void add_to_tree(Table& table, const wire::QuotaView& view, std::size_t depth, const Canvas& canvas) {
  const Language language = canvas.language;
  const std::string outer(2 * depth, ' ');
  const std::string inner(2 * depth + 2, ' ');
  const std::string jobs = count_of(view.used.running_jobs, say::kOneJob, say::kJobs, language);
  table.add_row({{outer + printable(view.tenant.name), Tone::kBold},
                 {wire::fill(say::kRunning, language, {{"jobs", jobs}})},
                 {wire::fill(say::kWaiting, language, {{"count", std::to_string(view.queued)}})},
                 {""}});
  for (const Line& line : lines_of(view)) {
    const std::string used = line.used ? amount_text(line.dimension, *line.used) + "/" : "";
    table.add_row({{inner + std::string(wire::word(line.dimension, language))},
                   {used + bound_text(view, line, language)},
                   left_cell(line, canvas),
                   {bar_text(line)}});
  }
  for (const std::string& note : view.notes) {
    table.add_note(wire::fill(say::kNoteLine, language, {{"note", printable(note)}}), inner.size(),
                   Tone::kDim);
  }
}

void add_rows(Table& table, const wire::QuotaView& view, const Canvas& canvas) {
  for (const Line& line : lines_of(view)) {
    const bool unlimited = line.limit >= kUnlimited && canvas.table.is_for_programs();
    table.add_row({{printable(view.tenant.name)},
                   {std::string(wire::word(line.dimension, canvas.language))},
                   line.used ? Table::Cell{amount_text(line.dimension, *line.used)} : unknown_cell(),
                   {unlimited ? "unlimited" : limit_text(view, line, canvas.language)},
                   left_cell(line, canvas),
                   {bar_text(line)},
                   {or_dash(view.tenant.parent)}});
  }
}

}  // namespace

std::span<const Column> quota_columns() {
  return kColumns;
}

std::string render_quota(std::span<const wire::QuotaView> tenants, const Canvas& canvas) {
  const bool flat = canvas.table.is_bare() || canvas.table.wide;
  if (tenants.empty() && !canvas.table.is_bare())
    return wire::fill(say::kNoTenants, canvas.language, {{"command", "tangram apply -f tenants.yaml"}}) +
           '\n';
  std::set<std::string> names;
  for (const wire::QuotaView& view : tenants) names.insert(view.tenant.name);
  Table table(flat ? std::span<const Column>(kColumns) : std::span<const Column>(kTreeColumns), canvas);
  std::set<std::string> shown;
  const std::function<void(const wire::QuotaView&, std::size_t)> show = [&](const wire::QuotaView& view,
                                                                            std::size_t depth) {
    if (!shown.insert(view.tenant.name).second) return;
    if (flat) {
      add_rows(table, view, canvas);
    } else {
      add_to_tree(table, view, depth, canvas);
    }
    for (const wire::QuotaView& child : tenants) {
      if (child.tenant.parent == view.tenant.name) show(child, depth + 1);
    }
  };
  for (const wire::QuotaView& view : tenants) {
    if (view.tenant.parent.empty() || !names.contains(view.tenant.parent)) show(view, 0);
  }
  return table.render();
}

}  // namespace tangram::cli
