// What the library knows of the simulated driver: the connection and the table of chips that dcmi_init made.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
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

  // One request about a chip of the table. What `answer` holds then is the driver's word.
  template <class Body, class Answer>
  int ask(int card, int device, RequestType type, const Body& body, Answer* answer) {
    return ask<Body, Answer, Connection::NoBody>(card, device, type, body, answer, nullptr);
  }
  template <class Body, class Answer, class Record>
  int ask(int card, int device, RequestType type, const Body& body, Answer* answer,
          std::vector<Record>* records) {
    const std::lock_guard lock(mutex_);
    NpuRecord now{};
    if (const int code = read_locked(card, device, &now); code != 0) return code;
    return code_of(connection_.call<Body, Answer, Record>(type, now.logic_id, body, answer, records));
  }
  template <class Body>
  int tell(int card, int device, RequestType type, const Body& body) {
    Connection::NoBody none;
    return ask(card, device, type, body, &none);
  }

  // Events of a serial above `after`, over a connection of their own: a hung chip does not hold them up.
  int fault_events(std::uint64_t after, FaultEventsReply* reply, std::vector<FaultRecord>* faults);
  int faults(int card, int device, std::vector<FaultRecord>* list);
  // Where dcmi_get_fault_event goes on.
  std::uint64_t event_cursor() const { return event_cursor_; }
  void set_event_cursor(std::uint64_t serial) { event_cursor_ = serial; }

  int processes(int card, int device, std::vector<ProcessRecord>* list);
  int driver_version(std::string* version);

 private:
  int find_locked(int card, int device, NpuRecord* entry) const;
  int read_locked(int card, int device, NpuRecord* now);
  static int code_of(const CallResult& result);
  // What an injected fault makes of a call: it takes longer, or does not return.
  int stall_locked(const NpuRecord& entry);
  // After fork() the parent's connection is not the child's to use.
  void adopt_process_locked();
  int query_locked();

  std::mutex mutex_;
  std::mutex events_mutex_;
  Connection events_connection_;
  // Where dcmi_init found the driver: the thread of subscriptions must not read the environment, which
  // belongs to the program.
  std::string events_path_;
  std::atomic<std::uint64_t> event_cursor_{0};
  pid_t owner_ = 0;
  bool initialised_ = false;
  Connection connection_;
  MachineSnapshot at_init_;
  MachineSnapshot now_;
};

// Families that answer differently.
bool has_hbm(const NpuRecord& npu);

// Where the machine's files are: the folder above the driver's, which holds etc/ and run/.
std::string machine_root();

}  // namespace ascendsim::dcmi
