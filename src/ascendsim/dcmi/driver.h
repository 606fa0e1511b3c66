// What the library knows of the simulated driver: the connection and the table of chips that dcmi_init made.
#pragma once

#include <sys/types.h>

#include <mutex>
#include <optional>
#include <vector>

#include "ascendsim/protocol/connection.h"

namespace ascendsim::dcmi {

// As in the real library the table is static: a call about a chip of the table asks the driver anew, but
// chips that came after dcmi_init are not seen before another dcmi_init. A driver that went away (end of
// file) stays away for this table: dcmi_init connects again. Thread-safe.
class Driver {
 public:
  static Driver& instance();

  // DCMI codes: 0, or -8005 when no driver listens.
  int init();

  // The table, empty before init.
  std::vector<NpuRecord> table();

  // The entry of the table. -8005 before init, -8001 for a card number out of range, -8007 for an unknown
  // one.
  int find(int card, int device, NpuRecord* entry);

  // As find, with the present values. -8012 when the driver or the chip has gone, -8008 when it is not
  // listed.
  int read(int card, int device, NpuRecord* now);

  int processes(int card, int device, std::vector<ProcessRecord>* list);
  int driver_version(std::string* version);

 private:
  int find_locked(int card, int device, NpuRecord* entry) const;
  // After fork() the parent's connection is not the child's to use.
  void adopt_process_locked();
  int query_locked();

  std::mutex mutex_;
  pid_t owner_ = 0;
  bool initialised_ = false;
  Connection connection_;
  MachineSnapshot at_init_;
  MachineSnapshot now_;
};

// Families that answer differently.
bool has_hbm(const NpuRecord& npu);

}  // namespace ascendsim::dcmi
