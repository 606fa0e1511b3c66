// A program for the crash tests: owns a journal and works on it until it is killed.
//
//   journal_writer DIR write     appends batches for ever, a snapshot after every tenth; writes the sequence
//   of the last
//                                acknowledged record to standard output, as eight bytes, after each batch
//   journal_writer DIR compact   compacts all that the snapshot holds
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "journal/journal.h"

namespace tangram::journal {
namespace {

int write_for_ever(Journal& journal) {
  for (int round = 0;; ++round) {
    const std::uint64_t count = static_cast<std::uint64_t>(round) % 7 + 1;
    std::vector<NewRecord> batch;
    for (std::uint64_t i = 1; i <= count; ++i) {
      batch.push_back({TimeMs(round), "test", "body " + std::to_string(journal.last_sequence() + i)});
    }
    if (!journal.append(batch)) return 3;
    const std::uint64_t last = journal.last_sequence();
    if (write(STDOUT_FILENO, &last, sizeof last) != sizeof last) return 4;
    if (round % 10 == 9 && !journal.save_snapshot({last, "snapshot " + std::to_string(last)})) return 5;
  }
}

int run(const std::string& directory, std::string_view mode) {
  auto journal = Journal::open(directory);
  if (!journal) return 2;
  if (mode == "write") return write_for_ever(**journal);
  return (*journal)->compact(TimeMs(std::numeric_limits<std::int64_t>::max())) ? 0 : 6;
}

}  // namespace
}  // namespace tangram::journal

int main(int argc, char** argv) {
  if (argc != 3) return 1;
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // never outlives its test
  return tangram::journal::run(argv[1], argv[2]);
}
