#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <string>

namespace tangram::log {
namespace {

// %e adds milliseconds; the level comes after the program so that columns line up.
constexpr const char* kPattern = "%Y-%m-%dT%H:%M:%S.%e %n %l %v";

std::shared_ptr<spdlog::logger>& logger() {
  static std::shared_ptr<spdlog::logger> instance = [] {
    auto made =
        std::make_shared<spdlog::logger>("tangram", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern(kPattern);
    return made;
  }();
  return instance;
}

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::kDebug:
      return spdlog::level::debug;
    case Level::kInfo:
      return spdlog::level::info;
    case Level::kWarn:
      return spdlog::level::warn;
    case Level::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

// Messages carry words of strangers: no line break may forge a line, no escape code reach a terminal. The
// second form of control characters is that of UTF-8, C2 80 to C2 9F.
std::string one_line(std::string_view message) {
  std::string line(message);
  for (std::size_t i = 0; i < line.size(); ++i) {
    const auto byte = static_cast<unsigned char>(line[i]);
    const auto before = static_cast<unsigned char>(i > 0 ? line[i - 1] : '\0');
    if (byte < 0x20 || byte == 0x7F || (before == 0xC2 && byte < 0xA0)) line[i] = '?';
  }
  return line;
}

void write(spdlog::level::level_enum level, std::string_view message) {
  if (!logger()->should_log(level)) return;
  const std::string line = one_line(message);
  logger()->log(level, spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace

void start(std::string_view program, Level level) {
  auto made = std::make_shared<spdlog::logger>(std::string(program),
                                               std::make_shared<spdlog::sinks::stderr_sink_mt>());
  made->set_pattern(kPattern);
  made->set_level(to_spdlog(level));
  made->flush_on(spdlog::level::info);
  logger() = std::move(made);
}

void debug(std::string_view message) {
  write(spdlog::level::debug, message);
}
void info(std::string_view message) {
  write(spdlog::level::info, message);
}
void warn(std::string_view message) {
  write(spdlog::level::warn, message);
}
void error(std::string_view message) {
  write(spdlog::level::err, message);
}

}  // namespace tangram::log
