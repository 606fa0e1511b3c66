// Events on standard output: a line of text, of JSON, or a document of YAML for each.
#pragma once

#include <optional>
#include <string>

#include "cli/session.h"
#include "client/api_client.h"
#include "wire/event.h"

namespace tangram::cli {

// The value of --npu or NPU, of --last. Errors: kInvalidArgument "cli.option.invalid".
Result<std::uint32_t> parse_npu(const std::string& text, std::string_view option);
Result<std::optional<std::size_t>> parse_last(const std::string& text);  // empty: none

// Each of these fails with "cli.output.failed" when nobody reads any more.

// All events from `after` on ("oldest", or empty: from the first that is kept), in their order. `after` moves
// on with them.
Result<void> print_all(Session& session, const client::EventQuery& query, std::string& after);

// The last so many, in their order. `after` becomes the cursor behind them.
Result<void> print_last(Session& session, const client::EventQuery& query, std::size_t count,
                        std::string& after);

// What comes behind `cursor`, through restarts of the daemon. Ends with an error only.
Result<void> print_following(Session& session, const client::EventQuery& query, std::string cursor);

}  // namespace tangram::cli
