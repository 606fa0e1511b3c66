// Virtual devices as npu-smi shows them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ascendsim/npu_smi/snapshot.h"
#include "ascendsim/vnpu/templates.h"

namespace ascendsim::npu_smi {

// What is left and what there is; nothing where the driver does not say.
struct Amount {
  std::optional<double> left;
  std::optional<double> total;
};

struct VnpuRow {
  unsigned int id = 0;
  std::optional<unsigned int> vgroup;
  std::uint64_t container_id = 0;
  unsigned int status = 0;  // 1: a container uses it
  std::string template_name;
};

struct VnpuChip {
  Amount ai_cores;
  Amount memory_mb;
  Amount ai_cpus;
  Amount vpc;
  Amount venc;
  Amount vdec;
  Amount jpegd;
  Amount jpege;
  Amount pngd;
  std::vector<VnpuRow> rows;
};

// How the tool of this release prints the tables.
struct VnpuStyle {
  bool rows_apart = true;    // rules between the rows of virtual devices
  char template_rule = '|';  // what the rule under the templates' heading begins and ends with
};
VnpuStyle vnpu_style(const std::string& driver_version);

std::string format_vnpus(const VnpuChip& chip, Family family, const VnpuStyle& style);
std::string format_templates(const VnpuBoard& board, const VnpuStyle& style);

// Its driver's tables; the tool has them as well.
VnpuBoard board_of(const Chip& chip);
// The tool's own look at what is left, before it asks the driver. Empty: go on.
std::string shortage(const VnpuChip& chip, const VnpuTemplate& shape, bool media_counts);

}  // namespace ascendsim::npu_smi
