// One client's connection to ascendsimd. Used by libascendcl.so, libdcmi.so and ascendsim-ctl.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "ascendsim/protocol/messages.h"

namespace ascendsim {

// A descriptor that closes itself.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int release();
  void reset();

 private:
  int fd_ = -1;
};

// Where the driver's socket is, seen from the library that holds `address_in_library`: $ASCENDSIM_SOCKET if
// set, otherwise <folder of the library>/../run/ascendsim.sock.
std::string driver_socket_path(const void* address_in_library);

// What a call came to: the transport (`connected` false: ascendsimd is gone and stays gone for this
// connection) and, where it answered, its status.
struct CallResult {
  bool connected = false;
  Status status = Status::kInvalid;

  bool ok() const { return connected && status == Status::kOk; }
};

// Thread-safe: calls are serialized. After fork() the child must not use its parent's connection: it drops
// the copy with `abandon()` and opens its own.
class Connection {
 public:
  // Invalid (see `connected`) when nobody listens there; errno then says why.
  static Connection open(const std::string& path);

  Connection() = default;
  Connection(Connection&& other) noexcept;
  Connection& operator=(Connection&& other) noexcept;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() = default;

  bool connected() const { return socket_.valid(); }
  // For poll(): hang-up means that ascendsimd has gone.
  int descriptor() const { return socket_.get(); }

  // Request without and with a body; `reply` and `records` may be left out with NoBody and nullptr.
  struct NoBody {};
  template <class Body, class Reply, class Record>
  CallResult call(RequestType type, std::uint32_t npu, const Body& body, Reply* reply,
                  std::vector<Record>* records, std::vector<Descriptor>* descriptors = nullptr) {
    static_assert(kIsMessage<Body> && kIsMessage<Reply> && kIsMessage<Record>);
    Exchange exchange;
    exchange.body = std::is_empty_v<Body> ? nullptr : &body;
    exchange.body_bytes = std::is_empty_v<Body> ? 0 : sizeof(Body);
    exchange.reply = std::is_empty_v<Reply> ? nullptr : reply;
    exchange.reply_bytes = std::is_empty_v<Reply> ? 0 : sizeof(Reply);
    exchange.record_bytes = std::is_empty_v<Record> ? 0 : sizeof(Record);
    exchange.descriptors = descriptors;
    const CallResult result = exchange_packets(type, npu, exchange);
    if (result.ok() && records != nullptr) copy_records(exchange, records);
    return result;
  }
  template <class Body, class Reply>
  CallResult call(RequestType type, std::uint32_t npu, const Body& body, Reply* reply) {
    return call<Body, Reply, NoBody>(type, npu, body, reply, nullptr);
  }
  template <class Body>
  CallResult send(RequestType type, std::uint32_t npu, const Body& body) {
    NoBody none;
    return call<Body, NoBody, NoBody>(type, npu, body, &none, nullptr);
  }
  CallResult send(RequestType type, std::uint32_t npu) { return send(type, npu, NoBody{}); }

  void abandon() { socket_.reset(); }

 private:
  struct Exchange {
    const void* body = nullptr;
    std::size_t body_bytes = 0;
    void* reply = nullptr;
    std::size_t reply_bytes = 0;
    std::size_t record_bytes = 0;
    std::vector<Descriptor>* descriptors = nullptr;
    std::vector<unsigned char> records;  // raw, a multiple of record_bytes
  };

  CallResult exchange_packets(RequestType type, std::uint32_t npu, Exchange& exchange);

  template <class Record>
  static void copy_records(const Exchange& exchange, std::vector<Record>* records);

  Descriptor socket_;
  std::mutex mutex_;
};

// Everything about the machine in one piece, as this process may see it.
struct MachineSnapshot {
  MachineReply machine{};
  std::vector<NpuRecord> npus;
};

CallResult query_machine(Connection& connection, MachineSnapshot* snapshot);
// Fails with kNoSuchNpu for an id that is not in the snapshot.
CallResult query_processes(Connection& connection, std::uint32_t logic_id,
                           std::vector<ProcessRecord>* processes);

template <class Record>
void Connection::copy_records(const Exchange& exchange, std::vector<Record>* records) {
  records->resize(exchange.records.size() / sizeof(Record));
  auto* bytes = reinterpret_cast<unsigned char*>(records->data());
  for (std::size_t i = 0; i < records->size() * sizeof(Record); ++i) bytes[i] = exchange.records[i];
}

}  // namespace ascendsim
