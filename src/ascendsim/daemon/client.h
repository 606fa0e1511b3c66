// One connected process, as ascendsimd knows it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "ascendsim/daemon/access.h"
#include "ascendsim/daemon/ledger.h"
#include "ascendsim/protocol/connection.h"
#include "ascendsim/protocol/ring.h"

namespace ascendsim {

// The mapping of one client's rings.
class RingMapping {
 public:
  RingMapping() = default;
  RingMapping(const RingMapping&) = delete;
  RingMapping& operator=(const RingMapping&) = delete;
  ~RingMapping();

  // False when memory is short; `memory` is then invalid.
  bool create(Descriptor* memory);
  SharedRings* get() const { return rings_; }

 private:
  SharedRings* rings_ = nullptr;
};

struct Client {
  ClientId id = 0;
  pid_t pid = 0;  // in our PID namespace
  uid_t uid = 0;
  Descriptor socket;
  Descriptor process;  // a pidfd: readable when the process has died, even if a child still holds the socket
  Descriptor bell;
  RingMapping rings;
  bool doomed = false;  // broke the protocol, or has died: to be removed
  bool ring_bell = false;

  bool in_container = false;
  bool privileged = false;
  bool shut_out = false;  // another container holds a device that this one would have to share
  std::uint64_t access_checked_ns = 0;
  std::vector<std::uint32_t> npus;                 // logic id -> unit, see Driver
  std::set<std::uint32_t> open;                    // units
  std::map<std::uint32_t, std::uint32_t> streams;  // id -> unit
  std::uint32_t next_stream = 1;

  // What we believe of the rings; the shared copies may say anything.
  std::uint64_t tasks_read = 0;
  std::uint64_t notices_written = 0;
  std::uint64_t last_task = 0;
  std::uint64_t last_submitted_ns = 0;
  std::uint32_t unfinished = 0;
};

}  // namespace ascendsim
