#include "ascendsim/vnpu/recover_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <sstream>
#include <tuple>

#include "ascendsim/protocol/connection.h"

namespace ascendsim {
namespace {

constexpr std::size_t kFileBytesMax = std::size_t{4} << 20;
constexpr std::size_t kLineBytesMax = 256;
constexpr char kMode[] = "vnpu_config_recover:";
constexpr char kStart[] = "[vnpu-config start]";
constexpr char kEnd[] = "[vnpu-config end]";

std::optional<RecoverEntry> parse_line(const std::string& line) {
  RecoverEntry entry;
  std::array<char, 32> name{};
  int used = 0;
  const int fields =
      std::sscanf(line.c_str(), "%u:%u:npu-smi set -t create-vnpu -i %u -c %u -f %31s -v %*u%n",
                  &entry.phy_id, &entry.vdev_id, &entry.card_id, &entry.chip_id, name.data(), &used);
  if (fields != 5 || used == 0) return std::nullopt;
  entry.template_name = name.data();
  std::uint32_t vgroup = 0;
  if (std::sscanf(line.c_str() + used, " -g %u", &vgroup) == 1) entry.vgroup = vgroup;
  return entry;
}

std::string format_line(const RecoverEntry& entry) {
  std::string line = std::to_string(entry.phy_id) + ":" + std::to_string(entry.vdev_id) +
                     ":npu-smi set -t create-vnpu -i " + std::to_string(entry.card_id) + " -c " +
                     std::to_string(entry.chip_id) + " -f " + entry.template_name + " -v " +
                     std::to_string(entry.vdev_id);
  if (entry.vgroup) line += " -g " + std::to_string(*entry.vgroup);
  return line + "\n";
}

std::optional<std::string> read_all(int fd) {
  std::string text;
  std::array<char, 65536> chunk{};
  ssize_t got = 0;
  while ((got = read(fd, chunk.data(), chunk.size())) > 0) {
    text.append(chunk.data(), static_cast<std::size_t>(got));
    if (text.size() > kFileBytesMax) return std::nullopt;
  }
  if (got < 0) return std::nullopt;
  return text;
}

}  // namespace

std::optional<RecoverFile> parse_recover_file(const std::string& text) {
  if (text.size() > kFileBytesMax) return std::nullopt;
  RecoverFile file;
  std::istringstream lines(text);
  std::string line;
  if (!std::getline(lines, line)) return file;  // empty: as if it were not there
  if (line != std::string(kMode) + "enable" && line != std::string(kMode) + "disable") return std::nullopt;
  file.enabled = line.ends_with(":enable");
  if (!std::getline(lines, line) || line != kStart) return std::nullopt;
  while (std::getline(lines, line) && line != kEnd) {
    const auto entry = line.size() <= kLineBytesMax ? parse_line(line) : std::nullopt;
    if (!entry) return std::nullopt;
    file.entries.push_back(*entry);
  }
  return line == kEnd ? std::optional<RecoverFile>(file) : std::nullopt;
}

std::string format_recover_file(const RecoverFile& file) {
  std::vector<RecoverEntry> sorted = file.entries;
  std::ranges::sort(sorted, [](const RecoverEntry& a, const RecoverEntry& b) {
    return std::tie(a.phy_id, a.vdev_id) < std::tie(b.phy_id, b.vdev_id);
  });
  std::string text = std::string(kMode) + (file.enabled ? "enable\n" : "disable\n") + kStart + "\n";
  for (const RecoverEntry& entry : sorted) text += format_line(entry);
  return text + kEnd + "\n";
}

std::optional<RecoverFile> load_recover_file(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.valid()) return errno == ENOENT ? std::optional<RecoverFile>(RecoverFile{}) : std::nullopt;
  struct stat status{};
  if (fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  const auto text = read_all(file.get());
  return text ? parse_recover_file(*text) : std::nullopt;
}

bool store_recover_file(const std::string& path, const RecoverFile& file) {
  const std::string text = format_recover_file(file);
  const std::string temporary = path + ".new";
  const Descriptor out(open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!out.valid()) return false;
  const bool written = write(out.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                       fsync(out.get()) == 0 && rename(temporary.c_str(), path.c_str()) == 0;
  if (!written) unlink(temporary.c_str());
  return written;
}

}  // namespace ascendsim
