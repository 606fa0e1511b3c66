#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runner/files.h"
#include "runner/job_init.h"

namespace tangram::runner {
namespace {

struct Relation {
  pid_t pid = 0;
  pid_t parent = 0;
};

struct DirCloser {
  void operator()(DIR* directory) const { closedir(directory); }
};

std::vector<Relation> all_processes() {
  std::vector<Relation> all;
  const std::unique_ptr<DIR, DirCloser> proc(opendir("/proc"));
  if (!proc) return all;
  while (const dirent* const entry = readdir(proc.get())) {
    Relation relation;
    const char* const name = entry->d_name;
    if (std::from_chars(name, name + std::strlen(name), relation.pid).ec != std::errc()) continue;
    const Result<std::string> stat = read_file("/proc/" + std::string(name) + "/stat", 8192);
    if (!stat) continue;
    // "17 (any name) S 1 …": the parent follows the state.
    const std::size_t after_name = stat->rfind(") ");
    if (after_name == std::string::npos || after_name + 4 >= stat->size()) continue;
    std::from_chars(stat->data() + after_name + 4, stat->data() + stat->size(), relation.parent);
    all.push_back(relation);
  }
  return all;
}

}  // namespace

bool signal_descendants(int signal_number) {
  const std::vector<Relation> all = all_processes();
  std::set<pid_t> family = {getpid()};
  for (bool grown = true; grown;) {
    grown = false;
    for (const Relation& relation : all) {
      if (family.contains(relation.parent) && family.insert(relation.pid).second) grown = true;
    }
  }
  family.erase(getpid());
  // A stopped process cannot fork away from the signal that follows.
  if (signal_number == SIGKILL) {
    for (const pid_t pid : family) kill(pid, SIGSTOP);
  }
  for (const pid_t pid : family) kill(pid, signal_number);
  return !family.empty();
}

}  // namespace tangram::runner
