#include <algorithm>

#include "ascendsim/npu_smi/format.h"
#include "ascendsim/npu_smi/print.h"

namespace ascendsim::npu_smi {
namespace {

constexpr const char* kHealthTexts[] = {"OK", "Warning", "Alarm", "Critical"};
constexpr int kAiCore = 2;  // DCMI's utilisation type

struct Layout {
  std::size_t column[3];
  int title_width;
  const char* head[2];
  const char* process_head;
};

constexpr Layout k310P = {{31, 17, 54},
                          40,
                          {"| NPU     Name                  | Health          | Power(W)     Temp(C)         "
                           "  Hugepages-Usage(page) |",
                           "| Chip    Device                | Bus-Id          | AICore(%)    "
                           "Memory-Usage(MB)                        |"},
                          "| NPU     Chip                  | Process id      | Process name             | "
                          "Process memory(MB)        |"};
constexpr Layout k910B = {
    {27, 15, 53},
    24,
    {"| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page) |",
     "| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)         |"},
    "| NPU     Chip              | Process id    | Process name             | Process memory(MB)       |"};

std::string rule(const Layout& layout, char fill) {
  std::string line = "+";
  for (const std::size_t width : layout.column) line += std::string(width, fill) + "+";
  return line + "\n";
}

std::size_t inner_width(const Layout& layout) {
  return layout.column[0] + layout.column[1] + layout.column[2] + 2;
}

// A line of free text across all columns.
std::string wide(const Layout& layout, std::string text) {
  text.resize(std::max(text.size(), inner_width(layout)), ' ');
  return "|" + text + "|\n";
}

std::string number(const std::optional<int>& value) {
  return value ? std::to_string(*value) : "NA";
}

std::string watts(const std::optional<int>& deciwatts) {
  std::string text;
  if (!deciwatts) return "NA";
  print(text, "%.1f", *deciwatts / 10.0);
  return text;
}

std::string percent(const Chip& chip, int type) {
  const auto found = chip.percent.find(type);
  // On a split chip the real tool prints 0, too.
  return found == chip.percent.end() ? "0" : std::to_string(found->second);
}

void chip_rows_310p(std::string& out, const Card& card, const Chip& chip) {
  const Memory ddr = chip.ddr.value_or(Memory{});
  print(out, "| %-7d %-22s| %-15s | %-12s %-17s %-6lu/ %-13lu |\n", card.id, chip.name.c_str(),
        health_text(chip).c_str(), watts(chip.deciwatts).c_str(), number(chip.celsius).c_str(),
        ddr.hugepages_used, ddr.hugepages_total);
  print(out, "| %-7d %-22d| %-15s | %-12s %-5lu/ %-32lu |\n", chip.device, chip.logic_id,
        bus_text(chip).c_str(), percent(chip, kAiCore).c_str(), ddr.used_mb, ddr.total_mb);
}

void chip_rows_910b(std::string& out, const Card& card, const Chip& chip) {
  const Memory ddr = chip.ddr.value_or(Memory{});
  const Memory hbm = chip.hbm.value_or(Memory{});
  print(out, "| %-5d %-20s| %-13s | %-11s %-17s %-6lu/ %-13lu |\n", card.id, chip.name.c_str(),
        health_text(chip).c_str(), watts(chip.deciwatts).c_str(), number(chip.celsius).c_str(),
        ddr.hugepages_used, ddr.hugepages_total);
  print(out, "| %-26d| %-13s | %-11s %-5lu/ %-10lu %-6lu/ %-13lu |\n", chip.device, bus_text(chip).c_str(),
        percent(chip, kAiCore).c_str(), ddr.used_mb, ddr.total_mb, hbm.used_mb, hbm.total_mb);
}

void process_rows(std::string& out, const Card& card, const Layout& layout, bool narrow) {
  bool any = false;
  for (const Chip& chip : card.chips) {
    for (const Process& process : chip.processes.value_or(std::vector<Process>{})) {
      any = true;
      const std::string name = process.name.value_or("");
      const std::uint64_t mb = process.bytes >> 20U;
      if (narrow) {
        print(out, "| %-7d %-18d| %-13d | %-24.24s | %-24lu |\n", card.id, chip.device, process.pid,
              name.c_str(), mb);
      } else {
        print(out, "| %-7d %-22d| %-15d | %-24.24s | %-25lu |\n", card.id, chip.device, process.pid,
              name.c_str(), mb);
      }
    }
  }
  if (!any) out += wide(layout, " No running processes found in NPU " + std::to_string(card.id));
}

// A virtual device's name carries its template.
bool in_slice(const Snapshot& snapshot) {
  return std::ranges::any_of(snapshot.cards, [](const Card& card) {
    return std::ranges::any_of(card.chips,
                               [](const Chip& chip) { return chip.name.find("vir") != std::string::npos; });
  });
}

}  // namespace

std::string health_text(const Chip& chip) {
  return chip.health && *chip.health < 4 ? kHealthTexts[*chip.health] : "UNKNOWN";
}

std::string bus_text(const Chip& chip) {
  if (!chip.pcie) return "NA";
  std::string text;
  print(text, "%04X:%02X:%02X.%X", chip.pcie->domain, chip.pcie->bus, chip.pcie->slot, chip.pcie->function);
  return text;
}

std::string format_info(const Snapshot& snapshot) {
  const bool narrow = snapshot.cards.empty() || snapshot.cards[0].chips.empty() ||
                      snapshot.cards[0].chips[0].family == Family::k910B;
  const Layout& layout = narrow ? k910B : k310P;
  std::string out = "+" + std::string(inner_width(layout), '-') + "+\n";
  std::string title;
  print(title, " npu-smi %-*s Version: %s", layout.title_width, snapshot.version.c_str(),
        snapshot.version.c_str());
  out += wide(layout, title) + rule(layout, '-') + layout.head[0] + "\n" + layout.head[1] + "\n" +
         rule(layout, '=');
  for (const Card& card : snapshot.cards) {
    for (std::size_t i = 0; i < card.chips.size(); ++i) {
      if (i > 0) out += rule(layout, '-');
      if (narrow) {
        chip_rows_910b(out, card, card.chips[i]);
      } else {
        chip_rows_310p(out, card, card.chips[i]);
      }
    }
    out += rule(layout, '=');
  }
  if (in_slice(snapshot)) return out;  // no table of processes there
  out += rule(layout, '-') + layout.process_head + "\n" + rule(layout, '=');
  for (const Card& card : snapshot.cards) {
    process_rows(out, card, layout, narrow);
    out += rule(layout, '=');
  }
  return out;
}

}  // namespace ascendsim::npu_smi
