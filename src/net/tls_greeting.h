// The first words of a client of TLS, looked at before anything is spent on it.
#pragma once

#include <sys/socket.h>

#include <array>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/socket_base.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstddef>

#include "net/listen.h"
#include "net/socket_stream.h"

namespace tangram::net {

// Of a record of TLS: its type, two bytes of version, two of length.
inline constexpr int kRecordHeadBytes = 5;
inline constexpr unsigned char kHandshakeRecord = 22;
inline constexpr unsigned char kClientHello = 1;
// Its type and length, version, random, and lists of one entry or none. No client sends it in pieces.
inline constexpr std::size_t kClientHelloBytesMin = 4 + 2 + 32 + 1 + 4 + 2;
inline constexpr std::size_t kRecordBytesMax = kRecordHeadBytes + 16'384 + 2'048;

inline bool is_letter(unsigned char byte) {
  return byte >= 'A' && byte <= 'Z';
}

// True when the first record of TLS is there as a whole and is a client's greeting, or when somebody speaks
// plainly. Nothing is spent on a
// peer before that: the kernel does not even wake us for one that sends byte by byte.
inline boost::asio::awaitable<bool> greeting_arrives(SocketStream::Socket& socket) {
  namespace asio = boost::asio;
  const int fd = socket.native_handle();
  std::array<unsigned char, kRecordHeadBytes + 1> head{};
  for (const bool whole : {false, true}) {
    const std::size_t length = kRecordHeadBytes + (whole ? std::size_t{head[3]} * 256 + head[4] : 0);
    if (whole && length < kRecordHeadBytes + kClientHelloBytesMin) co_return false;
    // No record is longer, and the kernel could not wake us for more than its buffer holds.
    if (length > kRecordBytesMax) co_return false;
    boost::system::error_code error;
    while (!error && arrived(fd) < length) {
      want_bytes(fd, length);
      co_await socket.async_wait(asio::socket_base::wait_read,
                                 asio::redirect_error(asio::use_awaitable, error));
      if (has_hung_up(fd)) co_return false;
    }
    const ssize_t looked_at = kRecordHeadBytes + (whole ? 1 : 0);
    const auto wanted = static_cast<std::size_t>(looked_at);
    if (error || recv(fd, head.data(), wanted, MSG_PEEK) != looked_at) co_return false;
    if (head[0] != kHandshakeRecord) break;
  }
  want_bytes(fd, 1);
  if (head[0] == kHandshakeRecord) co_return head[kRecordHeadBytes] == kClientHello;
  co_return is_letter(head[0]);
}

}  // namespace tangram::net
