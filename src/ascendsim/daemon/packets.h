// Requests out of packets, and answers into them.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "ascendsim/daemon/driver.h"
#include "ascendsim/protocol/messages.h"

namespace ascendsim {

template <std::size_t size>
void copy_text(char (&to)[size], const std::string& from) {
  const std::size_t length = std::min(from.size(), size - 1);
  std::memcpy(to, from.data(), length);
  std::memset(to + length, 0, size - length);
}

template <class T>
void append(Reply* reply, const T& part) {
  static_assert(kIsMessage<T>);
  const auto* bytes = reinterpret_cast<const unsigned char*>(&part);
  reply->packet.insert(reply->packet.end(), bytes, bytes + sizeof part);
}

inline void answer_status(Reply* reply, Status status) {
  append(reply, ReplyHeader{kMagic, status, 0, 0});
}

template <class Body>
void answer(Reply* reply, Status status, const Body& body) {
  answer_status(reply, status);
  if (status == Status::kOk) append(reply, body);
}

template <class Record>
void answer_records(Reply* reply, const std::vector<Record>& records) {
  append(reply, ReplyHeader{kMagic, Status::kOk, static_cast<std::uint32_t>(records.size()), sizeof(Record)});
  for (const Record& record : records) append(reply, record);
}

template <class Body>
Body read_body(const unsigned char* packet) {
  Body body;
  std::memcpy(&body, packet + sizeof(RequestHeader), sizeof body);
  return body;
}

}  // namespace ascendsim
