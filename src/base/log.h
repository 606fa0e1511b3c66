// Leveled log lines on standard error, where systemd or a terminal picks them up. The core never includes
// this. Never pass a secret: values of environment variables, tokens and job arguments stay out of the log.
#pragma once

#include <string_view>

namespace tangram::log {

enum class Level { kDebug, kInfo, kWarn, kError };

// Thread-safe. `program` stands at the front of each line. Call once from main().
void start(std::string_view program, Level level);

void debug(std::string_view message);
void info(std::string_view message);
void warn(std::string_view message);
void error(std::string_view message);

}  // namespace tangram::log
