#include "cli/find_program.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace tangram::cli {
namespace {

bool is_executable(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(path.c_str(), X_OK) == 0;
}

std::string find_on_path(const std::string& name, std::string_view search_path) {
  while (!search_path.empty()) {
    const std::size_t end = std::min(search_path.find(':'), search_path.size());
    const std::string directory(search_path.substr(0, end));
    search_path.remove_prefix(std::min(end + 1, search_path.size()));
    // A relative directory means another place inside the job.
    if (directory.empty() || directory[0] != '/') continue;
    std::string path = directory + '/' + name;
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
