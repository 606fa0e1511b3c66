// The answers of the service as text for people. Pure functions of the view and the canvas: no clock, no
// terminal, no environment. Usual answers fit 80 columns; ids and names are never cut; what is not known is
// "-", never 0. Sentences (reasons, verdicts, remedies) come from the service and are shown as they come.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/table.h"
#include "cli/text.h"
#include "wire/doctor.h"
#include "wire/event.h"
#include "wire/fit.h"
#include "wire/schema.h"
#include "wire/slices.h"
#include "wire/tokens.h"
#include "wire/types.h"

namespace tangram::cli {

std::span<const Column> status_columns();
std::string render_status(const wire::StatusView& view, const Canvas& canvas);

// Each NPU as tiles, the slices on it, and what could be cut next. A bare or wide table has a row for each
// slice.
std::span<const Column> slices_columns();
std::string render_slices(const wire::SlicesView& view, const Canvas& canvas);

std::string render_fit(const wire::FitView& view, const Canvas& canvas);

std::span<const Column> doctor_columns();
std::string render_doctor(const wire::DoctorView& view, const Canvas& canvas);

// What `tangram queue` asked for, so that an empty answer can say why it may be empty.
struct QueueQuestion {
  bool all = false;
  bool filtered = false;
  std::optional<std::int64_t> npus_free;  // absent: not known
};
std::span<const Column> queue_columns();
std::string render_queue(std::span<const wire::JobView> jobs, const QueueQuestion& question,
                         const Canvas& canvas);

// The form: verdict, ranked blockers, remedies with their replay, position, estimate with its assumption.
std::string render_why(const wire::WhyView& view, const Canvas& canvas);

// A bare table has a row for each tenant and dimension.
std::span<const Column> quota_columns();
// Children under their parents; a parent that is not in the list makes its children roots.
std::string render_quota(std::span<const wire::QuotaView> tenants, const Canvas& canvas);

std::string render_job(const wire::JobView& view, const Canvas& canvas);
std::string render_apply(const wire::ApplyAnswer& answer, const Canvas& canvas);
std::string render_version(const wire::VersionView& client, const std::optional<wire::VersionView>& server,
                           const Canvas& canvas);

// One line: time, type, and what has happened.
std::string render_event(const wire::EventView& event, const Canvas& canvas);

std::span<const Column> token_columns();
std::string render_tokens(std::span<const wire::TokenView> tokens, const Canvas& canvas);
// One sentence without a full stop: "token t-3 (ci) of role tenant for team-a, good until …".
std::string render_token(const wire::TokenView& token, wire::Language language);

// One line: "job train-001 (j-17) is running on NPUs 0, 1 (primary device: NPU 0)".
std::string render_state(const wire::JobView& view, wire::Language language);

// One line: what it was given, or what one that waits for a slice would get; empty: that is not told.
std::string render_granted(const wire::JobView& view, wire::Language language);

// Of one that was cancelled while it runs: "job train-001 (j-15) is being stopped".
std::string render_stopping(const wire::JobView& view, wire::Language language);

// "tangram: message" and, indented, the hint.
std::string render_error(const Error& error, const Canvas& canvas);

// ---- words that several answers share

// "train-001 (j-17)", or "j-17" for a job without a name of its own.
std::string job_title(const wire::JobView& view);

// "waiting", "running", "succeeded", "failed(3)", "failed(SIGSEGV)".
std::string state_word(const wire::JobView& view, wire::Language language);
Tone state_tone(const wire::JobView& view);

// "0,1", "0-3,7"; "-" for none.
std::string npu_list(std::span<const std::uint32_t> npus);

// "SIGKILL" for 9; "signal 63" for one without a usual name.
std::string signal_name(std::int64_t signal, wire::Language language);

// "4GiB, 2 AI cores"; "a slice of …"
std::string slice_size(const wire::SliceRequest& slice, wire::Language language);
std::string slice_request_text(const wire::SliceRequest& slice, wire::Language language);

// The text, or "-" for none.
std::string or_dash(const std::string& text);

}  // namespace tangram::cli
