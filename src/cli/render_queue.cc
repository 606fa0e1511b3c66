#include "cli/render.h"

namespace tangram::cli {
namespace {

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

// A lease has no program, which is what one wants to know of it first.
std::string name_cell(const wire::JobView& view) {
  std::string name = view.name.empty() || view.name == view.id ? "" : printable(view.name);
  if (view.kind == wire::JobKind::kLease) name += name.empty() ? "(lease)" : " (lease)";
  return name.empty() ? "-" : name;
}

std::string free_sentence(const QueueQuestion& question) {
  if (!question.npus_free) return "";
  return count_of(*question.npus_free, "NPU") + (*question.npus_free == 1 ? " is free" : " are free");
}

std::string empty_answer(const QueueQuestion& question) {
  if (question.filtered) {
    return std::string("No ") + (question.all ? "" : "unfinished ") +
           "job matches. See all of them: tangram queue --all\n";
  }
  if (question.all) return "No jobs yet. Start one: tangram submit --tenant TENANT --npus 1 -- PROGRAM\n";
  const std::string free = free_sentence(question);
  return "No jobs are waiting. " + (free.empty() ? "Start one: " : free + "; start one: ") +
         "tangram submit --tenant TENANT -- PROGRAM\n";
}

}  // namespace

std::string render_queue(std::span<const wire::JobView> jobs, const QueueQuestion& question,
                         const Canvas& canvas) {
  if (jobs.empty()) return wrap_text(empty_answer(question), canvas.width, 2);
  Table table({{"POS", Align::kRight},
               {"JOB"},
               {"NAME"},
               {"TENANT"},
               {"PRIORITY"},
               {"NPUS", Align::kRight},
               {"STATE"},
               {"ON"},
               {"AGE", Align::kRight}});
  std::int64_t queued = 0;
  for (const wire::JobView& job : jobs) {
    table.add_row({{job.position ? std::to_string(*job.position) : "-"},
                   {printable(job.id), Tone::kBold},
                   {name_cell(job)},
                   {printable(job.tenant)},
                   {std::string(to_string(job.priority))},
                   {std::to_string(job.npus_requested)},
                   {state_word(job), state_tone(job)},
                   {npu_list(job.npus)},
                   {format_age(canvas.now.value - state_since(job).value)}});
    if (is_queued(job)) {
      ++queued;
      if (job.reason) table.add_note(printable(job.reason->message), 5, Tone::kWarning);
    }
  }
  std::string text = table.render(canvas);
  if (queued == 0 && !question.filtered) {
    const std::string free = free_sentence(question);
    text += "No jobs are waiting" + (free.empty() ? "." : "; " + free + ".") + '\n';
  }
  return text;
}

}  // namespace tangram::cli
