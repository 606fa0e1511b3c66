// Holds device memory until it is killed: holder SOCKET LOGIC_ID MIB. Prints "ready" when it has it.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "ascendsim/protocol/connection.h"

int main(int argument_count, char** arguments) {
  using namespace ascendsim;
  if (argument_count != 4) return 2;
  Connection connection = Connection::open(arguments[1]);
  const auto npu = static_cast<std::uint32_t>(std::strtoul(arguments[2], nullptr, 10));
  AttachReply attached{};
  std::vector<Connection::NoBody>* none = nullptr;
  std::vector<Descriptor> descriptors;
  if (!connection.call(RequestType::kAttach, 0, Connection::NoBody{}, &attached, none, &descriptors).ok())
    return 1;
  OpenDeviceReply device{};
  AllocateReply memory{};
  const AllocateBody body{std::strtoull(arguments[3], nullptr, 10) << 20U, PageSize::k2MiB, 0};
  if (!connection.call(RequestType::kOpenDevice, npu, Connection::NoBody{}, &device).ok()) return 1;
  if (!connection.call(RequestType::kAllocate, npu, body, &memory).ok()) return 1;
  std::puts("ready");
  std::fflush(stdout);
  while (true) pause();
}
