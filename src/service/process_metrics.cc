#include <dirent.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "service/metrics.h"

namespace tangram::service {
namespace {

using wire::Metric;

// proc(5): fields of /proc/<pid>/stat by their number there; the second may hold blanks, but ends with ")".
constexpr int kUserTicks = 14;
constexpr int kSystemTicks = 15;
constexpr int kStartTicks = 22;
constexpr int kResidentPages = 24;

std::vector<double> read_stat() {
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  const auto end = line.rfind(')');
  std::vector<double> fields(3, 0.0);  // so that the index is the number in proc(5)
  if (end == std::string::npos) return {};
  std::istringstream rest(line.substr(end + 1));
  std::string word;
  rest >> word;  // the state, field 3, is a letter
  fields.push_back(0.0);
  for (double value = 0.0; rest >> value;) fields.push_back(value);
  return fields;
}

// When the machine was started, in seconds since the epoch.
double boot_time() {
  std::ifstream file("/proc/stat");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    double value = 0.0;
    if (words >> name >> value && name == "btime") return value;
  }
  return 0.0;
}

std::optional<double> open_files() {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir("/proc/self/fd"), closedir);
  if (!directory) return std::nullopt;
  double count = -1.0;  // the directory's own
  while (const dirent* entry = readdir(directory.get())) {
    if (entry->d_name[0] != '.') ++count;
  }
  return count;
}

}  // namespace

void add_process_metrics(MetricFamilies& families) {
  families.add(Metric::kProcessFiles, open_files(), {});
  const std::vector<double> stat = read_stat();
  if (stat.size() <= kResidentPages) return;
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  families.add(Metric::kProcessCpu, (stat[kUserTicks] + stat[kSystemTicks]) / ticks);
  families.add(Metric::kProcessMemory, stat[kResidentPages] * static_cast<double>(sysconf(_SC_PAGESIZE)));
  families.add(Metric::kProcessStart, boot_time() + stat[kStartTicks] / ticks);
}

}  // namespace tangram::service
