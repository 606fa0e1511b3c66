#include <array>
#include <csignal>

#include "cli/render.h"

namespace tangram::cli {
namespace {

// Long texts go on under their own column.
std::string field(std::string_view name, std::string_view value, const Canvas& canvas) {
  constexpr std::size_t kColumn = 14;
  std::string line = std::string(name) + ':';
  line.resize(std::max(line.size() + 1, kColumn), ' ');
  const std::size_t room = canvas.width > kColumn + 20 ? canvas.width - kColumn : 20;
  std::string text = paint(canvas, Tone::kDim, line);
  for (const char c : wrap_text(value, room, 0)) {
    text += c;
    if (c == '\n') text += std::string(kColumn, ' ');
  }
  return text + '\n';
}

// The command as a shell would take it.
std::string shell_words(std::span<const std::string> words) {
  constexpr std::string_view kSafe =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,@%+";
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    if (!word.empty() && word.find_first_not_of(kSafe) == std::string::npos) {
      text += word;
      continue;
    }
    text += '\'';
    for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += '\'';
  }
  return printable(text);
}

std::string or_dash(const std::string& text) {
  return text.empty() ? "-" : printable(text);
}

std::string time_text(const std::optional<TimeMs>& time) {
  return time ? format_time(*time) : "-";
}

std::string request_text(const wire::JobView& view) {
  std::string text = count_of(view.npus_requested, "NPU");
  if (view.memory_per_npu) text += ", " + format_bytes(*view.memory_per_npu) + " per NPU";
  if (view.bandwidth_bps > 0) text += ", " + format_bits_per_second(view.bandwidth_bps) + " booked";
  return text;
}

// What the service says of the end is more exact than what we could make of the numbers.
std::string ended_because(const wire::JobView& view) {
  if (!view.message.empty()) return ": " + printable(view.message);
  if (view.reason) return ": " + printable(view.reason->message);
  if (view.signal) return ": ended by " + signal_name(*view.signal);
  if (view.exit_status) return ": exited with status " + std::to_string(*view.exit_status);
  return "";
}

bool is_lease(const wire::JobView& view) {
  return view.kind == wire::JobKind::kLease;
}

std::string ended_sentence(const wire::JobView& view) {
  if (!view.outcome) return "has ended" + ended_because(view);
  switch (*view.outcome) {
    case Outcome::kSucceeded:
      return is_lease(view) ? "was released" : "has succeeded";
    case Outcome::kCancelled:
      return "was cancelled";
    case Outcome::kFailed:
      return "has failed" + ended_because(view);
    case Outcome::kTimedOut:
      return "has timed out" + ended_because(view);
    case Outcome::kNotStarted:
      return "could not be started" + ended_because(view);
    case Outcome::kLost:
      return "was lost" + ended_because(view);
    case Outcome::kDeviceLost:
      return "has lost its NPUs" + ended_because(view);
    case Outcome::kRefused:
      return "was refused" + ended_because(view);
  }
  return "has ended";
}

}  // namespace

std::string job_title(const wire::JobView& view) {
  if (view.name.empty() || view.name == view.id) return printable(view.id);
  return printable(view.name) + " (" + printable(view.id) + ")";
}

std::string signal_name(std::int64_t signal) {
  struct Name {
    int number;
    std::string_view name;
  };
  static constexpr std::array<Name, 13> kNames{{{SIGHUP, "SIGHUP"},
                                                {SIGINT, "SIGINT"},
                                                {SIGQUIT, "SIGQUIT"},
                                                {SIGILL, "SIGILL"},
                                                {SIGABRT, "SIGABRT"},
                                                {SIGBUS, "SIGBUS"},
                                                {SIGFPE, "SIGFPE"},
                                                {SIGKILL, "SIGKILL"},
                                                {SIGSEGV, "SIGSEGV"},
                                                {SIGPIPE, "SIGPIPE"},
                                                {SIGALRM, "SIGALRM"},
                                                {SIGTERM, "SIGTERM"},
                                                {SIGSYS, "SIGSYS"}}};
  for (const Name& entry : kNames) {
    if (entry.number == signal) return std::string(entry.name);
  }
  return "signal " + std::to_string(signal);
}

std::string npu_list(std::span<const std::uint32_t> npus) {
  if (npus.empty()) return "-";
  std::string text;
  for (std::size_t first = 0; first < npus.size();) {
    std::size_t last = first;
    while (last + 1 < npus.size() && npus[last + 1] == npus[last] + 1) ++last;
    // Two neighbours read better one by one.
    if (last == first + 1) last = first;
    if (first > 0) text += ',';
    text += std::to_string(npus[first]);
    if (last > first) text += "-" + std::to_string(npus[last]);
    first = last + 1;
  }
  return text;
}

std::string state_word(const wire::JobView& view) {
  if (view.state != JobState::kEnded || !view.outcome) return std::string(to_string(view.state));
  std::string word(to_string(*view.outcome));
  if (*view.outcome != Outcome::kFailed) return word;
  if (view.signal) return word + "(" + signal_name(*view.signal) + ")";
  if (view.exit_status) return word + "(" + std::to_string(*view.exit_status) + ")";
  return word;
}

Tone state_tone(const wire::JobView& view) {
  switch (view.state) {
    case JobState::kReady:
    case JobState::kStarting:
      return Tone::kPlain;
    case JobState::kWaiting:
      return Tone::kWarning;
    case JobState::kRunning:
      return Tone::kGood;
    case JobState::kEnded:
      return view.outcome == Outcome::kSucceeded ? Tone::kPlain : Tone::kBad;
  }
  return Tone::kPlain;
}

std::string render_state(const wire::JobView& view) {
  std::string text = (is_lease(view) ? "lease " : "job ") + job_title(view) + " ";
  if (view.state == JobState::kEnded) return text + ended_sentence(view);
  const bool held = is_lease(view) && view.state == JobState::kRunning;
  text += held ? "is held" : "is " + std::string(to_string(view.state));
  const bool queued = view.state == JobState::kReady || view.state == JobState::kWaiting;
  if (queued) {
    if (view.position) text += " at position " + std::to_string(*view.position);
    return view.reason ? text + ": " + printable(view.reason->message) : text;
  }
  if (view.npus.empty()) return text;
  text += view.npus.size() == 1 ? " on NPU " : " on NPUs ";
  for (std::size_t i = 0; i < view.npus.size(); ++i)
    text += (i > 0 ? ", " : "") + std::to_string(view.npus[i]);
  if (view.npus.size() > 1) text += " (primary device: NPU " + std::to_string(view.npus[0]) + ")";
  return text;
}

std::string render_job(const wire::JobView& view, const Canvas& canvas) {
  std::string text = wrap_text(render_state(view), canvas.width, 2) + '\n';
  const auto add = [&](std::string_view name, const std::string& value) {
    text += field(name, value, canvas);
  };
  add("id", printable(view.id));
  add("name", or_dash(view.name));
  if (is_lease(view)) add("kind", std::string(wire::spell_job_kind(view.kind)));
  add("tenant", or_dash(view.tenant));
  add("priority", std::string(to_string(view.priority)));
  add("state", state_word(view));
  add("position", view.position ? std::to_string(*view.position) : "-");
  if (view.reason && !view.reason->hint.empty()) add("hint", printable(view.reason->hint));
  add("request", request_text(view));
  add("NPUs", npu_list(view.npus));
  add("time limit", view.time_limit_ms ? format_duration_ms(*view.time_limit_ms) : "-");
  add("restart", wire::format_restart(view.restart, view.restarts_max) + ", restarted " +
                     count_of(view.restarts, "time"));
  add("attempt", view.attempt > 0 ? std::to_string(view.attempt) : "-");
  std::string labels;
  for (const auto& [key, value] : view.labels) {
    labels += (labels.empty() ? "" : " ") + printable(key) + "=" + printable(value);
  }
  add("labels", labels.empty() ? "-" : labels);
  add("command", view.command.empty() ? "-" : shell_words(view.command));
  add("workdir", or_dash(view.workdir));
  add("submitted", format_time(view.submitted_at));
  add("started", time_text(view.started_at));
  add("ended", time_text(view.ended_at));
  return text;
}

}  // namespace tangram::cli
