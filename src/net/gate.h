// Who may come in: what a server asks about each connection and each request before it spends anything on it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "net/http.h"

namespace tangram::net {

// Whose connections are counted together, and whose requests take turns with those of others.
struct Share {
  std::string name;         // "tenant 3"; unique among shares
  bool privileged = false;  // may use the connections that are kept free for such

  friend bool operator==(const Share&, const Share&) = default;
};

// What becomes of a request whose header is read.
struct Admission {
  std::optional<Response> refusal;  // answer this; the body is not read
  // Whose connection it is from now on; none: still nobody's, and it is closed after the answer.
  std::optional<Share> share;
  std::size_t body_bytes_max = 0;  // what the gate allows; never more than ServerLimits does
  // What the gate knows of the caller, for the handler: Request::identity.
  std::shared_ptr<const void> identity;
  // Called once, on the I/O thread: with the status of the answer when it leaves, with 0 when there was
  // nobody left to answer. May be empty.
  std::function<void(int status)> answered;
};

// All calls on the I/O thread: they must not block.
class Gate {
 public:
  Gate() = default;
  virtual ~Gate() = default;
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Whose connection it is before it has said a word; none: nobody's yet.
  virtual std::optional<Share> share_of(const Peer& peer) = 0;
  // `head` has no body yet.
  virtual Admission admit(const Request& head) = 0;
};

// Lets everybody in: one share for each uid of a Unix socket and each address of TCP; root and the own uid
// are privileged.
std::unique_ptr<Gate> make_open_gate();

}  // namespace tangram::net
