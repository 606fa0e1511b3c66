// Holds a lease until it is killed, or until its standard input ends: then it gives the NPUs back.
#include <tangram/client.h>

#include <cstdlib>
#include <iostream>
#include <string>

namespace tg = tangram::api;

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto client = tg::Client::connect();
  if (!client) {
    std::cerr << client.error().reason << ": " << client.error().message << std::endl;
    return 1;
  }
  tg::LeaseRequest request;
  request.tenant = argv[1];
  request.npus = std::atoi(argv[2]);
  auto lease = client->allocate(request, std::chrono::seconds(1));
  if (!lease) {
    std::cerr << lease.error().reason << ": " << lease.error().message << std::endl;
    return 1;
  }
  std::cout << lease->id() << " holds " << lease->visible_devices() << std::endl;
  std::string line;
  std::getline(std::cin, line);
  if (const auto released = lease->release(); !released) {
    std::cerr << released.error().message << std::endl;
    return 1;
  }
  std::cout << "released" << std::endl;
  return 0;
}
