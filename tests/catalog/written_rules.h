// The vendor's rules and tables copied out a second time, as they are written there, and legal mixes found by
// trying all: nothing of the product's code or data is used.
#pragma once

#include <string>
#include <vector>

namespace tangram::testing {

struct WrittenTemplate {
  std::string name;
  int cores, memory_mib, cpus, vpc, venc, vdec, jpegd, jpege;
  double pngd;
  bool owns_dvpp = false;
};

struct WrittenChip {
  std::string name;  // of the catalogue
  int cores, memory_mib;
  int cpus, vpc, venc, vdec, jpegd, jpege;  // -1: not checked
  double pngd;
  int most;          // slices
  int of_16_cores;   // at most so many templates of 16 cores; -1: no rule
  bool has_vgroups;  // four, of at least two cores
  std::vector<WrittenTemplate> templates;
};

const std::vector<WrittenChip>& written_chips();

// Counts by template in the order of the chip, then how many single cores have a vGroup to themselves.
using WrittenMix = std::vector<int>;
std::vector<WrittenMix> all_legal_mixes(const WrittenChip& chip);

}  // namespace tangram::testing
