// Virtual devices and templates: `npu-smi info -t info-vnpu`, `-t template-info`.
#include <algorithm>
#include <cstdlib>

#include "ascendsim/npu_smi/print.h"
#include "ascendsim/npu_smi/vnpu.h"

namespace ascendsim::npu_smi {
namespace {

constexpr std::size_t kVnpuWidth = 79;
constexpr std::size_t kTemplateWidth = 90;
constexpr int kNewStyleRelease = 23;

std::string rule(std::size_t width) {
  return "+" + std::string(width, '-') + "+\n";
}

std::string line(std::size_t width, std::string text) {
  text.resize(width, ' ');
  return "|" + text + "|\n";
}

std::string number(const std::optional<double>& value) {
  return value ? std::to_string(static_cast<long long>(*value)) : "NA";
}

std::string pair(const Amount& amount) {
  return number(amount.left) + "/" + number(amount.total);
}

std::optional<double> in_gb(const std::optional<double>& mb) {
  return mb ? std::optional<double>(static_cast<double>(static_cast<std::uint64_t>(*mb) >> 10U))
            : std::nullopt;
}

// The total of a 910B is shown as what is printed on the box.
Amount memory_gb(const Amount& mb, Family family) {
  Amount gb{in_gb(mb.left), in_gb(mb.total)};
  if (family == Family::k910B && gb.total) gb.total = *gb.total <= 32 ? 32 : 64;
  return gb;
}

int shown(float units) {
  return static_cast<int>(std::max(units, 0.0F));
}

bool lacks(const Amount& amount, float need) {
  return amount.left && *amount.left < static_cast<double>(need);
}

}  // namespace

VnpuStyle vnpu_style(const std::string& driver_version) {
  const bool recent = std::atoi(driver_version.c_str()) >= kNewStyleRelease;
  return recent ? VnpuStyle{} : VnpuStyle{false, '+'};
}

VnpuBoard board_of(const Chip& chip) {
  const std::uint64_t mb = chip.hbm ? chip.hbm->total_mb : chip.ddr ? chip.ddr->total_mb : 0;
  return vnpu_board(chip.name, chip.board ? chip.board->board_id : 0, chip.aicore_count, 0,
                    static_cast<std::uint32_t>(mb));
}

std::string format_vnpus(const VnpuChip& chip, Family family, const VnpuStyle& style) {
  std::string out = rule(kVnpuWidth);
  out += line(kVnpuWidth, " NPU resource static info as follow:");
  out += line(kVnpuWidth, " Format:Free/Total                   NA: Currently, query is not supported.");
  out += line(kVnpuWidth, " AICORE    Memory    AICPU    VPC    VENC    VDEC    JPEGD    JPEGE    PNGD");
  out += line(kVnpuWidth, "            GB");
  out += "|" + std::string(kVnpuWidth, '=') + "|\n";
  print(out, "| %-9s %-9s %-8s %-6s %-7s %-7s %-8s %-8s %-8s|\n", pair(chip.ai_cores).c_str(),
        pair(memory_gb(chip.memory_mb, family)).c_str(), pair(chip.ai_cpus).c_str(), pair(chip.vpc).c_str(),
        pair(chip.venc).c_str(), pair(chip.vdec).c_str(), pair(chip.jpegd).c_str(), pair(chip.jpege).c_str(),
        pair(chip.pngd).c_str());
  out += rule(kVnpuWidth);
  out += line(kVnpuWidth, " Total number of vnpu: " + std::to_string(chip.rows.size()));
  out += rule(kVnpuWidth);
  out += line(kVnpuWidth, "  Vnpu ID  |  Vgroup ID     |  Container ID  |  Status  |  Template Name");
  out += rule(kVnpuWidth);
  for (const VnpuRow& row : chip.rows) {
    std::string container;
    print(container, "%012llx", static_cast<unsigned long long>(row.container_id));
    const std::string vgroup = row.vgroup ? std::to_string(*row.vgroup) : "NA";
    print(out, "|  %-4u     |  %-12s  |  %-12s  |  %-2u      |  %-15s     |\n", row.id, vgroup.c_str(),
          container.c_str(), row.status, row.template_name.c_str());
    if (style.rows_apart) out += rule(kVnpuWidth);
  }
  if (!style.rows_apart && !chip.rows.empty()) out += rule(kVnpuWidth);
  return out;
}

std::string format_templates(const VnpuBoard& board, const VnpuStyle& style) {
  std::string out = rule(kTemplateWidth);
  out += line(kTemplateWidth, "NPU instance template info is:");
  out += line(kTemplateWidth,
              "Name                AICORE    Memory    AICPU     VPC            VENC           JPEGD");
  out += line(kTemplateWidth,
              "                               GB                 PNGD           VDEC           JPEGE");
  out += style.template_rule + std::string(kTemplateWidth, '=') + style.template_rule + "\n";
  for (const VnpuTemplate& shape : board.templates) {
    const MediaUnits& media = shape.media;
    print(out, "|%-19s %-9u %-9u %-9g %-14d %-14d %-10d|\n", std::string(shape.name).c_str(), shape.ai_cores,
          board.nominal_memory_mb(shape) >> 10U, static_cast<double>(shape.ai_cpus), shown(media.vpc),
          shown(media.venc), shown(media.jpegd));
    print(out, "|%-49s %-14g %-14d %-10d|\n", "", static_cast<double>(std::max(media.pngd, 0.0F)),
          shown(media.vdec), shown(media.jpege));
    out += rule(kTemplateWidth);
  }
  return out;
}

std::string shortage(const VnpuChip& chip, const VnpuTemplate& shape, bool media_counts) {
  std::string text;
  const MediaUnits& media = shape.media;
  if (lacks(chip.ai_cores, static_cast<float>(shape.ai_cores))) {
    print(text, "Insufficient number of cores available, unallocated cores number:%f.",
          chip.ai_cores.left.value_or(0));
  } else if (lacks(chip.ai_cpus, static_cast<float>(shape.ai_cpus))) {
    print(text, "Insufficient number of AICPU available, unallocated AICPU number:%.0f.",
          chip.ai_cpus.left.value_or(0));
  } else if (media_counts &&
             (lacks(chip.vpc, media.vpc) || lacks(chip.venc, media.venc) || lacks(chip.vdec, media.vdec) ||
              lacks(chip.jpegd, media.jpegd) || lacks(chip.jpege, media.jpege))) {
    print(
        text,
        "Insufficient number of DVPP available, unallocated DVPP number:VPC:%f, VENC:%f, VDEC:%f, JPEGD:%f, "
        "JPEGE:%f.",
        chip.vpc.left.value_or(-1), chip.venc.left.value_or(-1), chip.vdec.left.value_or(-1),
        chip.jpegd.left.value_or(-1), chip.jpege.left.value_or(-1));
  }
  return text;
}

}  // namespace ascendsim::npu_smi
