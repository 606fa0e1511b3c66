// An attempt's output on its way to a reader, as fast as the reader takes it. No thread waits for either
// side.
#pragma once

#include <cstdint>
#include <optional>

#include "net/server.h"
#include "server/parameters.h"
#include "service/service.h"

namespace tangram::server {

struct LogQuery {
  std::optional<std::int32_t> attempt;
  std::int64_t offset = 0;
  bool follow = false;
};

LogQuery read_log_query(const Parameters& parameters);

// Sends the file from the offset on; with `follow` until the attempt has ended and everything is sent. A job
// that has not started has no output yet.
void stream_log(service::Service& service, const service::AttemptLog& log, const LogQuery& query,
                net::Responder responder);

}  // namespace tangram::server
