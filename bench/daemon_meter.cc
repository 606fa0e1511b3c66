#include "daemon_meter.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace tangram::bench {
namespace {

double value_of(const std::string& text, std::string_view series) {
  const auto at = text.find('\n' + std::string(series) + ' ');
  if (at == std::string::npos) return 0;
  return std::strtod(text.c_str() + at + 1 + series.size(), nullptr);
}

}  // namespace

DaemonReading& DaemonReading::operator+=(const DaemonReading& other) {
  cpu_seconds += other.cpu_seconds;
  writer_seconds += other.writer_seconds;
  decision_seconds += other.decision_seconds;
  decisions += other.decisions;
  command_seconds += other.command_seconds;
  commands += other.commands;
  records += other.records;
  return *this;
}

DaemonReading DaemonReading::operator-(const DaemonReading& other) const {
  return {cpu_seconds - other.cpu_seconds,
          writer_seconds - other.writer_seconds,
          decision_seconds - other.decision_seconds,
          decisions - other.decisions,
          command_seconds - other.command_seconds,
          commands - other.commands,
          records - other.records};
}

std::string DaemonReading::to_json() const {
  std::array<char, 400> text{};
  const int length = std::snprintf(
      text.data(), text.size(),
      R"({"cpu_seconds":%.6f,"writer_seconds":%.6f,"decision_seconds":%.6f,"decisions":%.0f,)"
      R"("command_seconds":%.6f,"commands":%.0f,"records":%.0f})",
      cpu_seconds, writer_seconds, decision_seconds, decisions, command_seconds, commands, records);
  return {text.data(), static_cast<std::size_t>(length)};
}

void read_cpu(pid_t daemon, DaemonReading& into) {
  std::error_code gone;
  const std::filesystem::path tasks = "/proc/" + std::to_string(daemon) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks, gone)) {
    std::ifstream schedstat(task.path() / "schedstat");
    double nanoseconds = 0;
    schedstat >> nanoseconds;
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    into.cpu_seconds += nanoseconds / 1e9;
    if (name == "writer") into.writer_seconds += nanoseconds / 1e9;
  }
}

void read_metrics(const std::string& text, DaemonReading& into) {
  into.decision_seconds = value_of(text, "tangram_decision_duration_seconds_sum");
  into.decisions = value_of(text, "tangram_decision_duration_seconds_count");
  into.command_seconds = value_of(text, "tangram_command_duration_seconds_sum");
  into.commands = value_of(text, "tangram_command_duration_seconds_count");
  into.records = value_of(text, "tangram_journal_records_total");
}

}  // namespace tangram::bench
