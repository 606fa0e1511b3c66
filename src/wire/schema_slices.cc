// Tables of what is told of slices, of requests that nobody has submitted, and of what is wrong with a
// machine.
#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "wire/codecs.h"
#include "wire/doctor.h"
#include "wire/fit.h"
#include "wire/slices.h"
#include "wire/tables.h"

namespace tangram::wire {
namespace {

constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();

Codec<std::int64_t> count() {
  return int64_range(0, kIntegerMax);
}
Codec<std::int32_t> small_count() {
  return int32_range(0, std::numeric_limits<std::int32_t>::max());
}
Codec<std::uint32_t> number() {
  return uint32_range(0, std::numeric_limits<std::uint32_t>::max());
}

// One of three words.
template <class Word>
Codec<Word> one_of(std::array<Word, 3> words) {
  std::string type;
  std::string schema;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string spelling(to_string(words[i]));
    type += (i == 0 ? "" : i + 1 < words.size() ? ", " : " or ") + spelling;
    schema += (i == 0 ? "\"" : ",\"") + spelling + '"';
  }
  return {type,
          [words, type](Reader& reader, const Node& node, Word& into) {
            const auto* const found = std::find_if(words.begin(), words.end(), [&node](Word word) {
              return node.kind == Node::Kind::kText && node.text == to_string(word);
            });
            if (found == words.end()) return reader.bad_value(node, "input.bad_value", type);
            into = *found;
          },
          [](const Word& from) { return Node::of(std::string(to_string(from))); },
          R"({"type":"string","enum":[)" + schema + "]}"};
}

}  // namespace

std::string_view to_string(SliceStanding standing) {
  switch (standing) {
    case SliceStanding::kHeld:
      return "held";
    case SliceStanding::kResidual:
      return "residual";
    case SliceStanding::kForeign:
      return "foreign";
  }
  return {};
}

std::string_view to_string(FitAnswer answer) {
  switch (answer) {
    case FitAnswer::kNow:
      return "now";
    case FitAnswer::kLater:
      return "later";
    case FitAnswer::kNever:
      return "never";
  }
  return {};
}

std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "error";
    case Severity::kWarning:
      return "warning";
    case Severity::kNotice:
      return "notice";
  }
  return {};
}

const Table<StandingSliceView>& standing_slice_table() {
  using View = StandingSliceView;
  static const Table<View> table{
      "StandingSlice",
      "A slice that stands on an NPU.",
      {
          optional("id", &View::id, number(), "vNPU id of the driver; left out: no look has shown it yet"),
          optional("template", &View::template_name, text(), "left out: not told"),
          required("standing", &View::standing,
                   one_of<SliceStanding>(
                       {SliceStanding::kHeld, SliceStanding::kResidual, SliceStanding::kForeign}),
                   "of a job; nobody's any more; of somebody else than the daemon"),
          optional("aiCores", &View::ai_cores, count(), "AI cores"),
          optional("memory", &View::memory, bytes_text(0), "nominal"),
          optional("usableMemory", &View::usable_memory, bytes_text(0), "what a program inside finds"),
          optional("memoryUsed", &View::memory_used, bytes_text(0), "as the device reports it"),
          optional("vgroup", &View::vgroup, small_count(), "of a 310P"),
          optional("unseen", &View::unseen, boolean(),
                   "of a residual one: the last look at the device does not show it; it is looked for again "
                   "within seconds"),
          optional("tenant", &View::tenant, text(), "who holds it; left out: not for this caller"),
          optional("job", &View::job, text(), "id of its job"),
          optional("jobName", &View::job_name, text(), "its name"),
      },
      nullptr};
  return table;
}

const Table<SliceCutView>& slice_cut_table() {
  using View = SliceCutView;
  static const Table<View> table{
      "SliceCut",
      "A template, and whether one more slice of it can stand beside what is there.",
      {
          required("template", &View::template_name, text(), "as the driver knows it, \"vir04\""),
          shown("aiCores", &View::ai_cores, count(), "AI cores"),
          shown("aiCpus", &View::ai_cpus, count(), "AICPU"),
          shown("memory", &View::memory, bytes_text(0), "nominal: what is charged"),
          shown("usableMemory", &View::usable_memory, bytes_text(0), "what a program inside finds"),
          shown("room", &View::room, count(), "so many more of this template alone"),
          optional("rules", &View::rules, list(object(reason_view_table()), kAny),
                   "that one more would break; left out: there is room"),
      },
      nullptr};
  return table;
}

const Table<SliceMixView>& slice_mix_table() {
  using View = SliceMixView;
  static const Table<View> table{
      "SliceMix",
      "Slices that were asked about, beside those that stand there.",
      {
          required("templates", &View::templates, list(text(), kAny), "as asked"),
          required("legal", &View::legal, boolean(), "whether they can stand there together"),
          optional("rules", &View::rules, list(object(reason_view_table()), kAny), "that the mix breaks"),
      },
      nullptr};
  return table;
}

const Table<NpuSlicesView>& npu_slices_table() {
  using View = NpuSlicesView;
  static const Table<View> table{
      "NpuSlices",
      "How one NPU is cut, and how it could be.",
      {
          required("npu", &View::npu, number(), "physical id: N of /dev/davinciN"),
          optional("card", &View::card, small_count(), "as npu-smi counts it (-i); left out: not known"),
          optional("chipOnCard", &View::chip_on_card, small_count(), "chip on that card (-c)"),
          shown("chip", &View::chip, text(), "model, \"310P3\""),
          optional("model", &View::model, text(),
                   "chip of the catalogue; left out: it knows none, and the NPU is given whole only"),
          shown("health", &View::health, health_word(), "only ok is cut"),
          shown("mode", &View::mode, npu_mode_word(), "what it is used for"),
          optional("aiCores", &View::ai_cores, count(), "AI cores of the chip"),
          optional("memory", &View::memory, bytes_text(0), "device memory"),
          optional("usableMemory", &View::usable_memory, bytes_text(0),
                   "what a program finds that has all of it; left out: not known, or the NPU is cut"),
          optional("tenant", &View::tenant, text(), "who holds it whole; left out: not for this caller"),
          optional("job", &View::job, text(), "id of the job that holds it whole"),
          optional("jobName", &View::job_name, text(), "its name"),
          shown("offered", &View::offered, boolean(), "whether the daemon cuts it for jobs"),
          optional("note", &View::note, text(), "why not, or why nothing can be cut at present"),
          shown("slices", &View::slices, list(object(standing_slice_table()), kAny),
                "those of jobs, then those of nobody and of others"),
          optional("freeAiCores", &View::free_ai_cores, count(),
                   "of no slice; left out: what stands there is no mix of the catalogue"),
          shown("cuts", &View::cuts, list(object(slice_cut_table()), kAny), "the templates of the model"),
          optional("asked", &View::asked, object(slice_mix_table()), "where the parameter cut was given"),
      },
      nullptr};
  return table;
}

const Table<SlicesView>& slices_view_table() {
  static const Table<SlicesView> table{
      "SlicesView",
      "Answer of GET /v1/slices.",
      {
          shown("node", &SlicesView::node, text(), "name of the machine"),
          required("npus", &SlicesView::npus, list(object(npu_slices_table()), kAny), "ascending by id"),
      },
      nullptr};
  return table;
}

const Table<FitView>& fit_view_table() {
  using View = FitView;
  static const Table<View> table{
      "FitView",
      "Answer of GET /v1/fit.",
      {
          required("answer", &View::answer,
                   one_of<FitAnswer>({FitAnswer::kNow, FitAnswer::kLater, FitAnswer::kNever}),
                   "it would start at once, wait, or be refused"),
          required("verdict", &View::verdict, text(), "one sentence"),
          shown("tenant", &View::tenant, text(), "for whom"),
          shown("priority", &View::priority, priority_word(), "class of service"),
          optional("npusRequested", &View::npus_requested, count(), "whole NPUs; left out: a slice"),
          optional("memoryPerNpu", &View::memory_per_npu, bytes_text(0), "need per NPU"),
          optional("sliceRequested", &View::slice_requested, object(slice_request_table()),
                   "left out: whole NPUs"),
          optional("granted", &View::granted, text(), "what it comes to and why, one sentence"),
          optional("npus", &View::npus, list(number(), kAny), "physical ids it would get now"),
          optional("slice", &View::slice, object(slice_view_table()),
                   "what it would get of that NPU; left out: all of it"),
          optional("blockers", &View::blockers, list(object(reason_view_table()), kAny),
                   "the decisive one first"),
          optional("remedies", &View::remedies, list(object(remedy_view_table()), kAny), "what would help"),
          optional("position", &View::position, count(), "it would have in the queue, from 1"),
          shown("queueLength", &View::queue_length, count(), "jobs in the queue"),
          optional("estimatedStart", &View::estimated_start, time_text(), "left out: not known"),
          optional("assumption", &View::assumption, text(), "behind the estimate"),
      },
      nullptr};
  return table;
}

const Table<FindingView>& finding_table() {
  using View = FindingView;
  static const Table<View> table{
      "Finding",
      "Something that is wrong with the machine.",
      {
          required("severity", &View::severity,
                   one_of<Severity>({Severity::kError, Severity::kWarning, Severity::kNotice}),
                   "how much it matters"),
          required("code", &View::code, text(), "stable token, \"doctor.slices.recover\""),
          required("message", &View::message, text(), "one sentence with names and numbers"),
          optional("hint", &View::hint, text(), "what mends it"),
          optional("command", &View::command, text(), "that does it"),
          optional("npu", &View::npu, number(), "physical id"),
          optional("slice", &View::slice, number(), "vNPU id"),
      },
      nullptr};
  return table;
}

const Table<DoctorView>& doctor_view_table() {
  static const Table<DoctorView> table{
      "DoctorView",
      "Answer of GET /v1/doctor.",
      {
          shown("version", &DoctorView::version, text(), "of the daemon"),
          shown("node", &DoctorView::node, text(), "name of the machine"),
          optional("driverVersion", &DoctorView::driver_version, text(), "left out: unknown"),
          required("findings", &DoctorView::findings, list(object(finding_table()), kAny),
                   "the worst first; none: nothing is wrong"),
      },
      nullptr};
  return table;
}

std::string write(const SlicesView& view) {
  return to_json(write_fields(slices_view_table(), view));
}
std::string write(const FitView& view) {
  return to_json(write_fields(fit_view_table(), view));
}
std::string write(const DoctorView& view) {
  return to_json(write_fields(doctor_view_table(), view));
}
Result<SlicesView> read_slices_view(std::string_view json) {
  return read_answer(slices_view_table(), json);
}
Result<FitView> read_fit_view(std::string_view json) {
  return read_answer(fit_view_table(), json);
}
Result<DoctorView> read_doctor_view(std::string_view json) {
  return read_answer(doctor_view_table(), json);
}

}  // namespace tangram::wire
