#include "cli/find_program.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace tangram::cli {
namespace {

bool all_may_execute(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    struct stat status{};
    if (stat(path.substr(0, end).c_str(), &status) != 0 || (status.st_mode & S_IXOTH) == 0) return false;
    if (end == std::string::npos) return true;
  }
}

// No job runs as root: what only root may execute is not what root means to submit.
bool is_executable(const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  return geteuid() == 0 ? all_may_execute(path) : access(path.c_str(), X_OK) == 0;
}

std::string find_on_path(const std::string& name, std::string_view search_path) {
  while (!search_path.empty()) {
    const std::size_t end = std::min(search_path.find(':'), search_path.size());
    const std::string directory(search_path.substr(0, end));
    search_path.remove_prefix(std::min(end + 1, search_path.size()));
    // A relative directory means another place inside the job.
    if (directory.empty() || directory[0] != '/') continue;
    std::string path = directory;
    path.append(1, '/').append(name);
    if (is_executable(path)) return path;
  }
  return name;
}

}  // namespace

std::string find_program(const std::string& word, std::string_view search_path,
                         const std::string& directory) {
  if (word.empty() || word[0] == '/') return word;
  if (word.find('/') == std::string::npos) return find_on_path(word, search_path);
  return (std::filesystem::path(directory) / word).lexically_normal().string();
}

}  // namespace tangram::cli
