// Overviews of all cards: -l, -m, -t topo.
#include "ascendsim/npu_smi/format.h"
#include "ascendsim/npu_smi/print.h"

namespace ascendsim::npu_smi {
namespace {

// By DCMI's topology type.
constexpr const char* kLinkTexts[] = {"X", "SYS", "PHB", "HCCS", "PXB", "PIX", "SIO", "HCCS_SW", "UB"};

const char* link_text(const std::optional<int>& type) {
  return type && *type >= 0 && *type < 9 ? kLinkTexts[*type] : "NA";
}

constexpr const char* kLegend =
    "Legend:\n\n"
    "  X    = the NPU itself\n"
    "  SYS  = over PCIe and the link between NUMA nodes\n"
    "  PHB  = over PCIe and a host bridge\n"
    "  PIX  = over one PCIe switch\n"
    "  PXB  = over several PCIe switches\n"
    "  HCCS = over HCCS\n"
    "  NA   = not known\n";

}  // namespace

std::string format_list(const Snapshot& snapshot) {
  const bool cards_count = !snapshot.cards.empty() && !snapshot.cards[0].chips.empty() &&
                           snapshot.cards[0].chips[0].family == Family::k310P;
  std::string out;
  print_key(out, cards_count ? "Card Count" : "Total Count", static_cast<long long>(snapshot.cards.size()));
  out += '\n';
  for (const Card& card : snapshot.cards) {
    print_key(out, "NPU ID", card.id);
    if (cards_count && card.label) {
      print_key(out, "Product Name", card.label->product);
      print_key(out, "Serial Number", card.label->serial);
    }
    print_key(out, "Chip Count", static_cast<long long>(card.chips.size()));
    out += '\n';
  }
  return out;
}

std::string format_map(const Snapshot& snapshot) {
  std::string out;
  print(out, "\t%-30s %-30s %-30s %-30s\n", "NPU ID", "Chip ID", "Chip Logic ID", "Chip Name");
  for (const Card& card : snapshot.cards) {
    for (const Chip& chip : card.chips) {
      const std::string name = chip.type + " " + chip.name;
      print(out, "\t%-30d %-30d %-30d %-30s\n", card.id, chip.device, chip.logic_id, name.c_str());
    }
    if (card.mcu_device >= 0) print(out, "\t%-30d %-30d %-30s %-30s\n", card.id, card.mcu_device, "-", "Mcu");
  }
  return out;
}

std::string format_topology(const Topology& topology) {
  std::string out = "\t   ";
  for (const int npu : topology.npus) print(out, "NPU%-8d", npu);
  out += "CPU Affinity\n";
  for (std::size_t row = 0; row < topology.npus.size(); ++row) {
    print(out, "NPU%-8d", topology.npus[row]);
    for (const auto& type : topology.links[row]) print(out, "%-11s", link_text(type));
    out += topology.cpus[row].empty() ? "NA\n" : topology.cpus[row] + "\n";
  }
  return out + "\n" + kLegend;
}

}  // namespace ascendsim::npu_smi
