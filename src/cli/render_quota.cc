#include <functional>
#include <set>

#include "cli/render.h"

namespace tangram::cli {
namespace {

constexpr std::string_view kNoLimit = "no limit";

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

// Used, limit and what is left of a dimension that jobs consume.
void add_consumed(Table& table, const std::string& indent, Dimension dimension, std::int64_t used,
                  std::int64_t limit) {
  const bool bounded = limit < kUnlimited;
  const std::int64_t left = limit - used;
  const std::string limit_text = bounded ? amount_text(dimension, limit) : std::string(kNoLimit);
  std::string left_text = "-";
  Tone tone = bounded ? Tone::kPlain : Tone::kDim;
  if (bounded && left < 0) {
    left_text = amount_text(dimension, -left) + " over";
    tone = Tone::kBad;
  } else if (bounded) {
    left_text = amount_text(dimension, left);
    if (left == 0) tone = Tone::kWarning;
  }
  table.add_row({{indent + std::string(to_string(dimension))},
                 {amount_text(dimension, used) + "/" + limit_text},
                 {left_text, tone},
                 {bounded ? bar(used, limit, 10) : ""}});
}

// A limit that each job meets by itself: nothing is used up.
void add_static(Table& table, const std::string& indent, Dimension dimension, const std::string& limit,
                std::string_view per) {
  table.add_row(
      {{indent + std::string(to_string(dimension))}, {limit + std::string(per)}, {"-", Tone::kDim}, {""}});
}

std::string priorities_text(PrioritySet set) {
  std::string text;
  for (int i = 0; i < kPriorityCount; ++i) {
    const auto priority = static_cast<Priority>(i);
    if (!set.contains(priority)) continue;
    if (!text.empty()) text += ", ";
    text += to_string(priority);
  }
  return text.empty() ? "none" : text;
}

void add_tenant(Table& table, const wire::QuotaView& view, std::size_t depth) {
  const std::string outer(2 * depth, ' ');
  const std::string inner(2 * depth + 2, ' ');
  const Quota& quota = view.tenant.quota;
  table.add_row({{outer + printable(view.tenant.name), Tone::kBold},
                 {count_of(view.used.running_jobs, "job") + " running"},
                 {std::to_string(view.queued) + " waiting"},
                 {""}});
  add_consumed(table, inner, Dimension::kNpus, view.used.npus, quota.npus);
  add_static(table, inner, Dimension::kMemoryPerNpu,
             quota.memory_per_npu.is_unlimited() ? std::string(kNoLimit) : format_bytes(quota.memory_per_npu),
             quota.memory_per_npu.is_unlimited() ? "" : " per NPU");
  add_consumed(table, inner, Dimension::kMemoryTotal, view.used.memory_total.count, quota.memory_total.count);
  add_consumed(table, inner, Dimension::kAiCores, view.used.ai_cores, quota.ai_cores);
  add_consumed(table, inner, Dimension::kRunningJobs, view.used.running_jobs, quota.running_jobs);
  add_static(table, inner, Dimension::kRunTime,
             quota.run_time_ms >= kUnlimited ? std::string(kNoLimit) : format_duration_ms(quota.run_time_ms),
             quota.run_time_ms >= kUnlimited ? "" : " per job");
  add_static(table, inner, Dimension::kPriorities, priorities_text(quota.priorities), "");
  add_consumed(table, inner, Dimension::kBandwidth, view.used.bandwidth_bps, quota.bandwidth_bps);
  for (const std::string& note : view.notes)
    table.add_note("note: " + printable(note), inner.size(), Tone::kDim);
}

}  // namespace

std::string render_quota(std::span<const wire::QuotaView> tenants, const Canvas& canvas) {
  if (tenants.empty()) return "No tenants yet. Create some: tangram apply -f tenants.yaml\n";
  std::set<std::string> names;
  for (const wire::QuotaView& view : tenants) names.insert(view.tenant.name);
  Table table({{"TENANT"}, {"USED/LIMIT"}, {"LEFT"}, {""}});
  std::set<std::string> shown;
  const std::function<void(const wire::QuotaView&, std::size_t)> show = [&](const wire::QuotaView& view,
                                                                            std::size_t depth) {
    if (!shown.insert(view.tenant.name).second) return;
    add_tenant(table, view, depth);
    for (const wire::QuotaView& child : tenants) {
      if (child.tenant.parent == view.tenant.name) show(child, depth + 1);
    }
  };
  for (const wire::QuotaView& view : tenants) {
    if (view.tenant.parent.empty() || !names.contains(view.tenant.parent)) show(view, 0);
  }
  return table.render(canvas);
}

}  // namespace tangram::cli
