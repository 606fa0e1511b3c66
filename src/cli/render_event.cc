#include <algorithm>
#include <utility>

#include "cli/render.h"
#include "wire/event.h"
#include "wire/event_texts.h"
#include "wire/sentences.h"
#include "wire/texts.h"
#include "wire/view_texts.h"
#include "wire/words.h"

namespace tangram::cli {
namespace {

namespace say = wire::event;
using wire::EventType;

// One event in words.
class Narrator {
 public:
  Narrator(const wire::EventView& event, wire::Language language) : event_(event), language_(language) {}

  std::string sentence() const {
    const auto type = type_of();
    return type ? sentence_of(*type) : unknown();
  }

 private:
  std::string fill(const wire::Text& text, wire::Places places) const {
    return wire::fill(text, language_, places);
  }

  std::optional<EventType> type_of() const {
    for (const EventType type : wire::event_types()) {
      if (wire::to_string(type) == event_.type) return type;
    }
    return std::nullopt;
  }

  // "train-001 (j-17) of team-a".
  std::string title() const {
    std::string title = printable(event_.job);
    if (!event_.job_name.empty() && event_.job_name != event_.job)
      title = printable(event_.job_name) + " (" + title + ")";
    if (event_.tenant.empty()) return fill(say::kTitle, {{"job", title}});
    return fill(say::kTitleOf, {{"job", title}, {"tenant", printable(event_.tenant)}});
  }

  std::string job() const { return fill(say::kJob, {{"title", title()}}); }
  std::string about_job(const wire::Text& text) const { return fill(text, {{"job", job()}}); }
  std::string about_tenant(const wire::Text& text) const {
    return fill(text, {{"tenant", printable(event_.tenant)}});
  }

  std::string npu() const {
    std::string text = "NPU " + (event_.npu ? std::to_string(*event_.npu) : "-");
    if (!event_.chip.empty()) text += " (" + printable(event_.chip) + ")";
    return text;
  }

  std::string slice() const {
    return fill(say::kSlice, {{"slice", event_.slice ? std::to_string(*event_.slice) : "-"},
                              {"template", printable(event_.template_name)},
                              {"npu", npu()}});
  }

  std::string on_npus() const {
    if (event_.npus.empty()) return "";
    if (!event_.template_name.empty()) {
      return fill(say::kInSlice,
                  {{"template", printable(event_.template_name)}, {"npus", npu_list(event_.npus)}});
    }
    return fill(event_.npus.size() > 1 ? say::kOnNpus : say::kOnNpu, {{"npus", npu_list(event_.npus)}});
  }

  // An NPU that changes hands, or the part of it that a job has.
  std::string of_npu(const wire::Text& whole, const wire::Text& part) const {
    if (event_.template_name.empty()) return fill(whole, {{"npu", npu()}, {"job", job()}});
    return fill(part, {{"template", printable(event_.template_name)}, {"npu", npu()}, {"job", job()}});
  }

  std::string attempt() const {
    if (event_.attempt <= 1) return "";
    return fill(say::kAttempt, {{"attempt", std::to_string(event_.attempt)}});
  }

  // The sentence with its reason, which the event has in English.
  std::string because(std::string sentence) const {
    std::string reason = wire::translated(event_.message, language_);
    if (reason.empty() && event_.reason) reason = wire::localised(*event_.reason, language_).message;
    if (reason.empty()) return sentence;
    return fill(wire::view::kBecause, {{"sentence", sentence}, {"reason", printable(reason)}});
  }

  std::string health(const std::optional<Health>& health) const {
    return health ? std::string(wire::word(*health, language_)) : "-";
  }

  std::string outcome() const {
    if (!event_.outcome) return std::string(wire::word(JobState::kEnded, language_));
    std::string text(wire::word(*event_.outcome, language_));
    std::ranges::replace(text, '-', ' ');
    return text;
  }

  std::string submitted() const {
    const std::string wanted = event_.slice_requested ? slice_request_text(*event_.slice_requested, language_)
                                                      : count_of(event_.npus_requested, wire::view::kOneNpu,
                                                                 wire::view::kNpus, language_);
    std::string text = fill(say::kWants, {{"job", job()}, {"npus", wanted}});
    if (event_.priority)
      text += fill(say::kPriority, {{"priority", wire::word(*event_.priority, language_)}});
    if (event_.state != JobState::kWaiting) return text;
    return because(text + std::string(say::kItWaits.in(language_)));
  }

  std::string waiting() const {
    if (event_.jobs <= 1) return because(about_job(say::kWaits));
    const std::string jobs = count_of(event_.jobs, wire::view::kOneJob, wire::view::kJobs, language_);
    return because(fill(say::kAlikeWait, {{"jobs", jobs}, {"title", title()}}));
  }

  std::string ended() const {
    const std::string text =
        fill(say::kHasEnded, {{"job", job()}, {"attempt", attempt()}, {"outcome", outcome()}});
    // A job that was cancelled has no more to say than that.
    const bool said =
        event_.outcome && event_.message == wire::word(*event_.outcome, wire::Language::kEnglish);
    return event_.outcome == Outcome::kSucceeded || said ? text : because(text);
  }

  std::string requeued() const {
    return because(
        fill(say::kRequeued,
             {{"job", job()}, {"attempt", std::to_string(event_.attempt)}, {"outcome", outcome()}}));
  }

  std::string stopping() const {
    std::string text = about_job(say::kStopping);
    if (event_.by_uid) text += fill(say::kByUid, {{"uid", std::to_string(*event_.by_uid)}});
    if (!event_.by_token.empty()) text += fill(say::kByToken, {{"token", printable(event_.by_token)}});
    return text;
  }

  std::string changed() const {
    std::string text = about_tenant(say::kTenantChanged);
    std::string fields;
    for (const std::string& field : event_.changed)
      fields.append(fields.empty() ? "" : wire::view::kListComma.in(language_)).append(printable(field));
    if (fields.empty()) return text;
    return fill(wire::view::kBecause, {{"sentence", text}, {"reason", fields}});
  }

  // Of a newer daemon.
  std::string unknown() const { return event_.job.empty() ? printable(event_.tenant) : job(); }

  std::string sentence_of(EventType type) const {
    switch (type) {
      case EventType::kJobSubmitted:
        return submitted();
      case EventType::kJobWaiting:
        return waiting();
      case EventType::kJobStarting:
        return about_job(say::kStarting) + on_npus() + attempt();
      case EventType::kJobRunning:
        return about_job(say::kRuns) + on_npus() + attempt();
      case EventType::kJobStopping:
        return stopping();
      case EventType::kJobRequeued:
        return requeued();
      case EventType::kJobEnded:
        return ended();
      case EventType::kJobRefused:
        return because(about_job(say::kRefused));
      case EventType::kJobForgotten:
        return about_job(say::kForgotten);
      case EventType::kTenantCreated:
        return about_tenant(say::kTenantCreated);
      case EventType::kTenantChanged:
        return changed();
      case EventType::kTenantDeleted:
        return about_tenant(say::kTenantDeleted);
      case EventType::kNpuAppeared:
        return fill(say::kNpuAppeared, {{"npu", npu()}, {"health", health(event_.health)}});
      case EventType::kNpuGone:
        return fill(say::kNpuGone, {{"npu", npu()}, {"health", health(event_.health_before)}});
      case EventType::kNpuHealth:
        return fill(
            say::kNpuHealth,
            {{"npu", npu()}, {"before", health(event_.health_before)}, {"now", health(event_.health)}});
      case EventType::kNpuAllocated:
        return of_npu(say::kNpuAllocated, say::kPartAllocated);
      case EventType::kNpuReleased:
        return of_npu(say::kNpuReleased, say::kPartReleased);
      case EventType::kSliceMade:
        return fill(say::kSliceMade, {{"what", slice()}, {"job", job()}});
      case EventType::kSliceReturned:
        return fill(say::kSliceReturned, {{"what", slice()}});
      case EventType::kDaemonStarted:
        return fill(say::kDaemonStarted, {{"version", printable(event_.version)}});
    }
    return unknown();
  }

  const wire::EventView& event_;
  const wire::Language language_;
};

Tone tone_of(const wire::EventView& event) {
  const bool is_bad_end =
      event.outcome && *event.outcome != Outcome::kSucceeded && *event.outcome != Outcome::kCancelled;
  if (event.type == "job.ended") return is_bad_end ? Tone::kBad : Tone::kGood;
  if (event.type == "job.refused" || event.type == "npu.gone") return Tone::kBad;
  if (event.type == "job.waiting" || event.type == "job.requeued") return Tone::kWarning;
  if (event.type == "npu.health") return event.health == Health::kOk ? Tone::kGood : Tone::kWarning;
  return Tone::kPlain;
}

}  // namespace

std::string render_event(const wire::EventView& event, const Canvas& canvas) {
  constexpr std::size_t kTypeWidth = 15;
  std::string type = printable(event.type);
  type.resize(std::max(kTypeWidth, type.size()), ' ');
  return paint(canvas, Tone::kDim, format_time(event.at)) + "  " + paint(canvas, tone_of(event), type) + " " +
         Narrator(event, canvas.language).sentence() + '\n';
}

}  // namespace tangram::cli
