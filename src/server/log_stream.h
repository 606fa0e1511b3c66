// An attempt's output on its way to a reader, as fast as the reader takes it. No thread waits for either
// side.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "net/server.h"
#include "server/parameters.h"
#include "service/service.h"

namespace tangram::server {

enum class LogForm : std::uint8_t {
  kText,    // the bytes as they are
  kEvents,  // server-sent events with the position behind each piece as id, so that a reader can go on
            // exactly there
};

struct LogQuery {
  std::optional<std::int32_t> attempt;
  std::int64_t offset = 0;  // a position, see LogReader
  bool follow = false;
  LogForm form = LogForm::kText;
};

LogQuery read_log_query(const Parameters& parameters, const net::Request& request);

// Sends the output from the offset on; with `follow` until the attempt has ended and everything is sent. A
// job that has not started has no output yet.
// `may_go_on` is asked now and then: whether the caller is still one that may read. The error ends the
// stream, as an event in `language` where it has events.
void stream_log(service::Service& service, const service::AttemptLog& log, const LogQuery& query,
                std::function<Result<void>()> may_go_on, wire::Language language, net::Responder responder);

}  // namespace tangram::server
