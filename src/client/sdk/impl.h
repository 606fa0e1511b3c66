// What stands behind the objects of include/tangram/client.h. Private to src/client/sdk.
#pragma once

#include <memory>

#include "client/api_client.h"
#include "client/lease_keeper.h"
#include "tangram/client.h"

namespace tangram::api {

struct Client::Impl {
  explicit Impl(const client::ApiClientOptions& options) : http(options) {}

  client::ApiClient http;
};

// Whichever of a client and its leases lives longer keeps the connections.
struct Lease::Impl {
  std::shared_ptr<Client::Impl> client;
  std::unique_ptr<client::LeaseKeeper> keeper;
};

}  // namespace tangram::api
