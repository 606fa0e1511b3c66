// Jobs of several parts: their lists of parts, each kept once, and what they demand and charge. Private to
// src/scheduler.
#pragma once

#include <cstdint>
#include <vector>

#include "model/part.h"
#include "queue/wait_queue.h"
#include "quota/amounts.h"

namespace tangram {

struct CoreState;

class PartsTable {
 public:
  // The handle of that list, with one user more.
  std::uint32_t use(const std::vector<Part>& parts);
  void drop(std::uint32_t handle);  // one user less; without any it is forgotten

  const std::vector<Part>& parts(std::uint32_t handle) const { return lists_[handle].parts; }
  // Never given to another list, as handles are.
  std::uint64_t serial(std::uint32_t handle) const { return lists_[handle].serial; }

 private:
  struct List {
    std::vector<Part> parts;
    std::uint64_t hash = 0;
    std::uint64_t serial = 0;
    std::int64_t users = 0;
  };

  std::vector<List> lists_;
  std::vector<std::uint32_t> free_;
  std::uint64_t next_serial_ = 0;
};

// The request that stands for the parts under that handle, and the one part that stands for a request
// without.
Request request_of(const std::vector<Part>& parts, std::uint32_t handle);
Part part_of(const Request& request);
// Of any job: its own list, or the part that stands for its request.
std::vector<Part> parts_of(const CoreState& state, const JobSpec& spec);

// The least and the most that a job may charge, wherever on the hardware at hand it is placed; what its parts
// say of themselves where no NPU is known that would do.
struct ChargeRange {
  Amounts least{};
  Amounts most{};
};
ChargeRange charge_range(const CoreState& state, const std::vector<Part>& parts, std::int64_t bandwidth_bps);
Demand demand_of_parts(const CoreState& state, const Request& request, std::int64_t bandwidth_bps);

// What is charged at admission: the most, so that no place costs more, or the least where a quota does not
// allow that.
Amounts admission_charge(const CoreState& state, const JobSpec& spec);
// What a job comes to in these places, one for each part.
Amounts charge_of_places(const CoreState& state, const JobSpec& spec, const std::vector<Part>& parts,
                         const std::vector<PartPlace>& places);
// How much `wanted` is above what is charged already, in each dimension.
Amounts above(const Amounts& wanted, const Amounts& charged);

}  // namespace tangram
