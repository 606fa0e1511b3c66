// What jobs of several parts hold, part by part, and what those wait to hold that were observed on NPUs which
// the book has given to somebody else. Private to src/scheduler.
#pragma once

#include <cstdint>
#include <vector>

#include "model/part.h"
#include "queue/wait_queue.h"

namespace tangram {

struct CoreState;

struct HeldPart {
  PartPlace place;
  bool booked = false;  // false: another job has it, or it is not known where it is
};

struct HoldTable {
  std::vector<std::vector<HeldPart>> lists;  // by JobRecord::held
  std::vector<std::uint32_t> free;
  std::int64_t contested = 0;  // parts with NPUs that are not booked
};

// Gives the job what `places` say, one for each of its parts. `require_free`: NPUs that it gets whole are
// healthy and held by nobody. Charges nothing.
void hold(CoreState& state, Handle job, const std::vector<PartPlace>& places, bool require_free);
// From a snapshot: `booked` as it was written.
void hold_again(CoreState& state, Handle job, std::vector<HeldPart> parts);
// Frees what the job holds, if anything; whoever was observed on it gets it. Refunds nothing.
void let_go(CoreState& state, Handle job);

bool has_place(const JobRecord& job);
const std::vector<HeldPart>& held_parts(const CoreState& state, const JobRecord& job);
// Whether the NPUs of the place could be booked for one more job at all.
bool can_be_booked(const CoreState& state, const PartPlace& place);

}  // namespace tangram
