// /etc/vnpu.cfg: the driver library writes every virtual device into it, and a boot makes them again from it.
// One global file; a damaged one blocks every create.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ascendsim {

struct RecoverEntry {
  std::uint32_t phy_id = 0;
  std::uint32_t vdev_id = 0;
  std::uint32_t card_id = 0;
  std::uint32_t chip_id = 0;
  std::string template_name;
  std::optional<std::uint32_t> vgroup;  // only where it was asked for
};

struct RecoverFile {
  bool enabled = true;  // the vendor's default, also without a file
  std::vector<RecoverEntry> entries;
};

// Nothing for a text that the vendor's library refuses: too large, or not of that form.
std::optional<RecoverFile> parse_recover_file(const std::string& text);
std::string format_recover_file(const RecoverFile& file);

// A path that does not exist is an empty, enabled file. Nothing: not readable, not a plain file, or damaged.
std::optional<RecoverFile> load_recover_file(const std::string& path);
// Replaces it as a whole, after it has reached the disk. Mode 0600.
bool store_recover_file(const std::string& path, const RecoverFile& file);

}  // namespace ascendsim
