#include <array>
#include <csignal>

#include "cli/render.h"
#include "wire/view_texts.h"
#include "wire/words.h"

namespace tangram::cli {
namespace {

namespace say = wire::view;
using wire::Language;

// Long texts go on under their own column.
std::string field(const wire::Text& name, std::string_view value, const Canvas& canvas) {
  constexpr std::size_t kColumn = 14;
  std::string line = std::string(name.in(canvas.language)) + ':';
  const std::size_t used = display_width(line);
  line += std::string(used + 1 > kColumn ? 1 : kColumn - used, ' ');
  return paint(canvas, Tone::kDim, line) + hang_text(value, canvas.width, kColumn) + '\n';
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

std::string time_text(const std::optional<TimeMs>& time) {
  return time ? format_time(*time) : "-";
}

std::string slice_title(const wire::SliceView& slice, Language language) {
  std::string shape = printable(slice.template_name);
  if (!slice.id) return shape;
  return wire::fill(say::kSliceWithId, language, {{"template", shape}, {"id", std::to_string(*slice.id)}});
}

// What became of a request for a slice.
std::string granted_text(const wire::JobView& view, Language language) {
  if (view.npus.empty()) return "-";
  if (!view.slice)
    return view.granted.empty() ? std::string(say::kWholeGranted.in(language)) : printable(view.granted);
  const wire::SliceView& slice = *view.slice;
  const std::string shape = slice_title(slice, language);
  return wire::fill(say::kSliceGranted, language,
                    {{"template", shape},
                     {"npu", std::to_string(view.npus.front())},
                     {"cores", count_of(slice.ai_cores, say::kOneAiCore, say::kAiCoresOf, language)},
                     {"memory", format_bytes(slice.memory)},
                     {"usable", format_bytes(slice.usable_memory)}});
}

std::string request_text(const wire::JobView& view, Language language) {
  std::string text = view.slice_requested ? slice_request_text(*view.slice_requested, language)
                                          : count_of(view.npus_requested, say::kOneNpu, say::kNpus, language);
  if (view.memory_per_npu)
    text += wire::fill(say::kMemoryPerNpu, language, {{"memory", format_bytes(*view.memory_per_npu)}});
  if (view.bandwidth_bps > 0)
    text +=
        wire::fill(say::kBandwidthBooked, language, {{"rate", format_bits_per_second(view.bandwidth_bps)}});
  return text;
}

// What the service says of the end is more exact than what we could make of the numbers.
std::string why_ended(const wire::JobView& view, Language language) {
  if (!view.message.empty()) return printable(view.message);
  if (view.reason) return printable(view.reason->message);
  if (view.signal)
    return wire::fill(say::kEndedBySignal, language, {{"signal", signal_name(*view.signal, language)}});
  if (view.exit_status)
    return wire::fill(say::kExitedWith, language, {{"status", std::to_string(*view.exit_status)}});
  return "";
}

bool is_lease(const wire::JobView& view) {
  return view.kind == wire::JobKind::kLease;
}

std::string_view what_word(const wire::JobView& view, Language language) {
  return (is_lease(view) ? say::kLeaseWord : say::kJobWord).in(language);
}

const wire::Text& ended_text(const wire::JobView& view) {
  if (!view.outcome) return say::kHasEnded;
  switch (*view.outcome) {
    case Outcome::kSucceeded:
      return is_lease(view) ? say::kWasReleased : say::kHasSucceeded;
    case Outcome::kCancelled:
      return say::kWasCancelled;
    case Outcome::kFailed:
      return say::kHasFailed;
    case Outcome::kTimedOut:
      return say::kHasTimedOut;
    case Outcome::kNotStarted:
      return say::kNotStarted;
    case Outcome::kLost:
      return say::kWasLost;
    case Outcome::kDeviceLost:
      return say::kDeviceLost;
    case Outcome::kRefused:
      return say::kWasRefused;
  }
  return say::kHasEnded;
}

std::string because(std::string sentence, const std::string& reason, Language language) {
  if (reason.empty()) return sentence;
  return wire::fill(say::kBecause, language, {{"sentence", sentence}, {"reason", reason}});
}

std::string ended_sentence(const wire::JobView& view, Language language) {
  std::string sentence =
      wire::fill(ended_text(view), language, {{"what", what_word(view, language)}, {"job", job_title(view)}});
  const bool speaks_for_itself = view.outcome == Outcome::kSucceeded || view.outcome == Outcome::kCancelled;
  return speaks_for_itself ? sentence : because(std::move(sentence), why_ended(view, language), language);
}

std::string placed_sentence(const wire::JobView& view, Language language) {
  const std::string job = job_title(view);
  const std::string_view what = what_word(view, language);
  const bool held = is_lease(view) && view.state == JobState::kRunning;
  const std::string_view state = held ? say::kHeld.in(language) : wire::word(view.state, language);
  if (view.npus.empty())
    return wire::fill(say::kStateIs, language, {{"what", what}, {"job", job}, {"state", state}});
  const std::string primary = std::to_string(view.npus[0]);
  if (view.slice) {
    return wire::fill(say::kStateIn, language,
                      {{"what", what},
                       {"job", job},
                       {"state", state},
                       {"slice", slice_title(*view.slice, language)},
                       {"npu", primary}});
  }
  if (view.npus.size() == 1)
    return wire::fill(say::kStateOn, language,
                      {{"what", what}, {"job", job}, {"state", state}, {"npu", primary}});
  std::string npus;
  for (const std::uint32_t npu : view.npus)
    npus.append(npus.empty() ? "" : say::kListComma.in(language)).append(std::to_string(npu));
  return wire::fill(say::kStateOnSeveral, language,
                    {{"what", what}, {"job", job}, {"state", state}, {"npus", npus}, {"primary", primary}});
}

// Of one that is in the queue.
std::string queued_sentence(const wire::JobView& view, Language language) {
  const std::string job = job_title(view);
  const std::string_view what = what_word(view, language);
  const std::string_view state = wire::word(view.state, language);
  if (!view.position)
    return wire::fill(say::kStateIs, language, {{"what", what}, {"job", job}, {"state", state}});
  const std::string position = std::to_string(*view.position);
  return wire::fill(say::kStateAt, language,
                    {{"what", what}, {"job", job}, {"state", state}, {"position", position}});
}

std::string labels_text(const wire::JobView& view) {
  std::string labels;
  for (const auto& [key, value] : view.labels)
    labels += (labels.empty() ? "" : " ") + printable(key) + "=" + printable(value);
  return or_dash(labels);
}

}  // namespace

std::string slice_size(const wire::SliceRequest& slice, Language language) {
  std::string size = slice.memory ? format_bytes(*slice.memory) : std::string();
  if (slice.ai_cores > 0) {
    const std::string cores = count_of(slice.ai_cores, say::kOneAiCore, say::kAiCoresOf, language);
    size.append(size.empty() ? "" : say::kListComma.in(language)).append(cores);
  }
  return size;
}

std::string slice_request_text(const wire::SliceRequest& slice, Language language) {
  return wire::fill(say::kSliceOf, language, {{"size", slice_size(slice, language)}});
}

std::string or_dash(const std::string& text) {
  return text.empty() ? "-" : printable(text);
}

std::string job_title(const wire::JobView& view) {
  if (view.name.empty() || view.name == view.id) return printable(view.id);
  return printable(view.name) + " (" + printable(view.id) + ")";
}

std::string signal_name(std::int64_t signal, Language language) {
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
  return wire::fill(say::kSignalNumber, language, {{"number", std::to_string(signal)}});
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

std::string state_word(const wire::JobView& view, Language language) {
  if (view.state != JobState::kEnded || !view.outcome) return std::string(wire::word(view.state, language));
  std::string word(wire::word(*view.outcome, language));
  if (*view.outcome != Outcome::kFailed) return word;
  if (view.signal) return word + "(" + signal_name(*view.signal, language) + ")";
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

std::string render_state(const wire::JobView& view, Language language) {
  if (view.state == JobState::kEnded) return ended_sentence(view, language);
  if (view.state != JobState::kReady && view.state != JobState::kWaiting)
    return placed_sentence(view, language);
  return because(queued_sentence(view, language), view.reason ? printable(view.reason->message) : "",
                 language);
}

std::string render_granted(const wire::JobView& view, Language language) {
  if (view.granted.empty() || view.state == JobState::kEnded) return {};
  return wire::fill(view.npus.empty() ? say::kWouldGet : say::kGrantedIs, language,
                    {{"what", printable(view.granted)}});
}

std::string render_stopping(const wire::JobView& view, Language language) {
  return wire::fill(say::kBeingStopped, language,
                    {{"what", what_word(view, language)}, {"job", job_title(view)}});
}

std::string render_job(const wire::JobView& view, const Canvas& canvas) {
  const Language language = canvas.language;
  std::string text = wrap_text(render_state(view, language), canvas.width, 2) + '\n';
  const auto add = [&](const wire::Text& name, const std::string& value) {
    text += field(name, value, canvas);
  };
  add(say::kFieldId, printable(view.id));
  add(say::kFieldName, or_dash(view.name));
  if (is_lease(view)) add(say::kFieldKind, std::string(wire::spell_job_kind(view.kind)));
  add(say::kFieldTenant, or_dash(view.tenant));
  add(say::kFieldPriority, std::string(wire::word(view.priority, language)));
  add(say::kFieldState, state_word(view, language));
  add(say::kFieldPosition, view.position ? std::to_string(*view.position) : "-");
  if (view.reason && !view.reason->hint.empty()) add(say::kFieldHint, printable(view.reason->hint));
  add(say::kFieldRequest, request_text(view, language));
  if (view.slice_requested || !view.granted.empty()) add(say::kFieldGranted, granted_text(view, language));
  add(say::kFieldNpus, npu_list(view.npus));
  add(say::kFieldTimeLimit, view.time_limit_ms ? format_duration_ms(*view.time_limit_ms) : "-");
  const std::string restarts = std::to_string(view.restarts);
  add(say::kFieldRestart,
      wire::fill(view.restarts == 1 ? say::kRestartedOnce : say::kRestarted, language,
                 {{"policy", wire::format_restart(view.restart, view.restarts_max)}, {"count", restarts}}));
  add(say::kFieldAttempt, view.attempt > 0 ? std::to_string(view.attempt) : "-");
  add(say::kFieldLabels, labels_text(view));
  add(say::kFieldCommand, view.command.empty() ? "-" : shell_words(view.command));
  add(say::kFieldWorkdir, or_dash(view.workdir));
  add(say::kFieldSubmitted, format_time(view.submitted_at));
  add(say::kFieldStarted, time_text(view.started_at));
  add(say::kFieldEnded, time_text(view.ended_at));
  return text;
}

}  // namespace tangram::cli
