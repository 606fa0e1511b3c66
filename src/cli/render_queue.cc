#include <algorithm>
#include <array>

#include "cli/render.h"
#include "wire/view_texts.h"
#include "wire/words.h"

namespace tangram::cli {
namespace {

namespace say = wire::view;

constexpr std::array kColumns{
    Column{.key = "pos", .title = say::kPosition, .align = Align::kRight},
    Column{.key = "job", .title = say::kJob, .is_id = true},
    Column{.key = "name", .title = say::kName},
    Column{.key = "tenant", .title = say::kTenant},
    Column{.key = "priority", .title = say::kPriority},
    Column{.key = "npus", .title = say::kRequested, .align = Align::kRight},
    Column{.key = "state", .title = say::kState},
    Column{.key = "on", .title = say::kOn},
    Column{.key = "age", .title = say::kAge, .align = Align::kRight},
    Column{.key = "submitted", .title = say::kSubmitted, .extra = true},
    Column{.key = "started", .title = say::kStarted, .extra = true},
    Column{.key = "ended", .title = say::kEnded, .extra = true},
    Column{.key = "attempt", .title = say::kAttempt, .align = Align::kRight, .extra = true},
    Column{.key = "labels", .title = say::kLabels, .extra = true},
    Column{.key = "reason", .title = say::kReason, .extra = true},
    Column{.key = "kind", .title = say::kJobKind, .extra = true},
    Column{.key = "message", .title = say::kMessage, .extra = true},
    Column{.key = "slice", .title = say::kSlice, .extra = true},
};

// Since when the job is in its present state, as far as the view tells.
TimeMs state_since(const wire::JobView& view) {
  if (view.ended_at) return *view.ended_at;
  if (view.started_at && (view.state == JobState::kRunning || view.state == JobState::kStarting)) {
    return *view.started_at;
  }
  return view.submitted_at;
}

bool is_queued(const wire::JobView& view) {
  return view.state == JobState::kReady || view.state == JobState::kWaiting;
}

std::string free_sentence(const QueueQuestion& question, wire::Language language) {
  if (!question.npus_free) return "";
  return count_of(*question.npus_free, say::kOneNpuIsFree, say::kNpusAreFree, language);
}

std::string empty_answer(const QueueQuestion& question, wire::Language language) {
  if (question.filtered) {
    return wire::fill(question.all ? say::kNoMatch : say::kNoUnfinishedMatch, language,
                      {{"command", "tangram queue --all"}});
  }
  if (question.all) {
    return wire::fill(say::kNoJobsYet, language,
                      {{"command", "tangram submit --tenant TENANT --npus 1 -- PROGRAM"}});
  }
  const std::string free = free_sentence(question, language);
  constexpr std::string_view kSubmit = "tangram submit --tenant TENANT -- PROGRAM";
  if (free.empty()) return wire::fill(say::kNoneWaiting, language, {{"command", kSubmit}});
  return wire::fill(say::kNoneWaitingFree, language, {{"free", free}, {"command", kSubmit}});
}

std::string labels_text(const wire::JobView& job) {
  std::string text;
  for (const auto& [key, value] : job.labels)
    text += (text.empty() ? "" : " ") + printable(key) + "=" + printable(value);
  return or_dash(text);
}

// A lease has no program, which is what people want to know of it first. Programs ask for its kind.
std::string name_text(const wire::JobView& view, const Canvas& canvas) {
  std::string name = view.name == view.id ? "" : printable(view.name);
  if (view.kind == wire::JobKind::kLease && !canvas.table.is_for_programs())
    name.append(name.empty() ? "" : " ").append(say::kLeaseMark.in(canvas.language));
  return name.empty() ? "-" : name;
}

// "4GiB", "4GiB,2": as --slice takes it.
std::string size_asked(const wire::SliceRequest& slice, wire::Language language) {
  if (!slice.memory) return slice_size(slice, language);
  const std::string memory = format_bytes(*slice.memory);
  return slice.ai_cores > 0 ? memory + "," + std::to_string(slice.ai_cores) : memory;
}

// Its template; before it has one the size that is asked for; "-" for whole NPUs.
std::string slice_text(const wire::JobView& job, wire::Language language) {
  if (job.slice) return printable(job.slice->template_name);
  if (!job.slice_requested) return "-";
  return job.npus.empty() ? size_asked(*job.slice_requested, language)
                          : std::string(say::kWholeWord.in(language));
}

// A slice is not an NPU: people see in its place what it is of one. Programs find that in a column of its
// own.
std::string npus_text(const wire::JobView& job, const Canvas& canvas) {
  const bool is_part = job.slice || (job.slice_requested && job.npus.empty());
  if (is_part && !canvas.table.is_for_programs()) return slice_text(job, canvas.language);
  return std::to_string(job.npus_requested);
}

std::vector<Table::Cell> row_of(const wire::JobView& job, const Canvas& canvas) {
  const std::string& message = job.reason ? job.reason->message : job.message;
  return {{job.position ? std::to_string(*job.position) : "-"},
          {printable(job.id), Tone::kBold},
          {name_text(job, canvas)},
          {printable(job.tenant)},
          {std::string(wire::word(job.priority, canvas.language))},
          {npus_text(job, canvas)},
          {state_word(job, canvas.language), state_tone(job)},
          {npu_list(job.npus)},
          {format_age(canvas.now.value - state_since(job).value)},
          time_cell(job.submitted_at, canvas),
          time_cell(job.started_at, canvas),
          time_cell(job.ended_at, canvas),
          {job.attempt > 0 ? std::to_string(job.attempt) : "-"},
          {labels_text(job)},
          {job.reason ? printable(job.reason->code) : "-"},
          {std::string(wire::spell_job_kind(job.kind))},
          {or_dash(message)},
          {slice_text(job, canvas.language)}};
}

}  // namespace

std::span<const Column> queue_columns() {
  return kColumns;
}

std::string render_queue(std::span<const wire::JobView> jobs, const QueueQuestion& question,
                         const Canvas& canvas) {
  const bool bare = canvas.table.is_bare();
  if (jobs.empty() && !bare)
    return wrap_text(empty_answer(question, canvas.language), canvas.width, 2) + '\n';
  Table table(kColumns, canvas);
  std::int64_t queued = 0;
  for (const wire::JobView& job : jobs) {
    table.add_row(row_of(job, canvas));
    if (!is_queued(job)) continue;
    ++queued;
    if (job.reason && !canvas.table.wide) table.add_note(printable(job.reason->message), 5, Tone::kWarning);
  }
  std::string text = table.render();
  if (bare || queued > 0 || question.filtered) return text;
  const std::string free = free_sentence(question, canvas.language);
  return text +
         (free.empty() ? std::string(say::kNoneWaitingNow.in(canvas.language))
                       : wire::fill(say::kNoneWaitingNowFree, canvas.language, {{"free", free}})) +
         '\n';
}

}  // namespace tangram::cli
