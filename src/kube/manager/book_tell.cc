// What the book tells of Pods and Tenants.
#include <algorithm>
#include <utility>

#include "kube/manager/book_state.h"
#include "wire/texts.h"

namespace tangram::kube::manager {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTellAgain{60'000};  // the same reason with other numbers
constexpr milliseconds kTryAgain{5'000};    // after a note that could not be written
constexpr const char* kAdmittedReason = "Admitted";

// "quota.npus.exceeded" as a condition's reason: "QuotaNpusExceeded".
std::string camel_case(std::string_view token) {
  std::string word;
  bool begins = true;
  for (const char c : token) {
    if (c == '.' || c == '_') {
      begins = true;
      continue;
    }
    word += begins && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    begins = false;
  }
  return word;
}

std::string_view reason_of(std::string_view told) {
  return told.substr(0, told.find('\n'));
}

std::string told_of(const PodNote& note) {
  return note.reason + '\n' + note.message;
}

}  // namespace

std::string_view to_string(PodStage stage) {
  switch (stage) {
    case PodStage::kQueued:
      return "queued";
    case PodStage::kOpening:
      return "opening";
    case PodStage::kAdmitted:
      return "admitted";
    case PodStage::kReserved:
      return "reserved";
    case PodStage::kBound:
      return "bound";
  }
  return "unknown";
}

PodNote BookState::waiting_note(const Entry& entry, const JobStatus& status) const {
  wire::Names names;
  names.tenant = [this](TenantId id) {
    const auto view = core_.tenant(id);
    return view ? view->spec.name : std::string();
  };
  names.job = [this](JobId job) {
    const auto at = by_job_.find(job.value);
    return at == by_job_.end() ? std::string() : key_of(at->second->facts.ref);
  };
  const auto blocker = core_.blocker(status.spec, status.reason);
  const wire::ReasonView view =
      blocker ? wire::make_reason(status.spec, *blocker, names, wire::Language::kEnglish)
              : wire::make_reason(status.reason, wire::Language::kEnglish);
  return {entry.facts.ref, false, camel_case(token(status.reason)), view.message};
}

// None: there is nothing new to tell.
std::optional<PodNote> BookState::note_for(const Entry& entry, Milliseconds after, Milliseconds now) const {
  const bool tried = entry.told_at.count() != 0;
  if (entry.stage >= Stage::kAdmitted) {
    const bool told_otherwise = !entry.told.empty() && reason_of(entry.told) != kAdmittedReason;
    if (!told_otherwise || (tried && now < entry.told_at + kTryAgain)) return std::nullopt;
    return PodNote{entry.facts.ref, true, kAdmittedReason, "its tenant's quota holds what it asks for"};
  }
  if (entry.stage == Stage::kOpening || now < entry.seen + after) return std::nullopt;
  if (entry.stage == Stage::kUnfit) {
    PodNote note{entry.facts.ref, false, camel_case(entry.problem_reason), entry.problem};
    if (told_of(note) == entry.told || (tried && now < entry.told_at + kTryAgain)) return std::nullopt;
    return note;
  }
  const auto status = core_.job(entry.job);
  if (!status || status->reason == ReasonCode::kNone) return std::nullopt;
  const bool other_reason = reason_of(entry.told) != camel_case(token(status->reason));
  if (tried && now < entry.told_at + (other_reason ? kTryAgain : kTellAgain)) return std::nullopt;
  PodNote note = waiting_note(entry, *status);
  if (told_of(note) == entry.told) return std::nullopt;
  return note;
}

std::vector<PodNote> BookState::notes(Milliseconds after, std::size_t most) {
  std::vector<PodNote> notes;
  if (!complete_) return notes;
  const Milliseconds now = timing_.now();
  for (auto& [key, entry] : pods_) {
    if (notes.size() == most) break;
    std::optional<PodNote> note = note_for(entry, after, now);
    if (!note) continue;
    entry.told = told_of(*note);
    entry.told_at = now;
    notes.push_back(std::move(*note));
  }
  return notes;
}

void BookState::not_told(const extender::PodRef& pod, bool tried) {
  Entry* const entry = find(pod);
  if (entry == nullptr) return;
  entry->told = entry->facts.told;
  if (!tried) entry->told_at = Milliseconds();
}

std::vector<TenantUse> BookState::tenants() const {
  std::vector<TenantUse> uses;
  if (!complete_) return uses;
  uses.reserve(tenants_.size());
  for (const auto& [name, doc] : tenants_) {
    const auto id = core_.find_tenant(name);
    if (!id) continue;
    const auto view = core_.tenant(*id);
    const auto closed = closed_.find(name);
    uses.push_back({name, view->used, core_.effective_quota(*id), view->queued, 0,
                    closed == closed_.end() ? std::string() : closed->second});
  }
  return uses;
}

BookCounts BookState::counts() const {
  BookCounts counts;
  counts.expired = expired_;
  counts.rebuilt = rebuilt_;
  for (const auto& [name, node] : nodes_) {
    ++counts.nodes;
    if (!node.unusable.empty()) continue;
    counts.npus += std::count_if(node.inventory.npus.begin(), node.inventory.npus.end(),
                                 [](const NodeNpu& npu) { return npu.healthy; });
  }
  for (const auto& [key, entry] : pods_) {
    switch (entry.stage) {
      case Stage::kUnfit:
      case Stage::kQueued:
        ++counts.queued;
        break;
      case Stage::kOpening:
      case Stage::kAdmitted:
        ++counts.waiting;
        break;
      case Stage::kReserved:
      case Stage::kBound:
        ++counts.placed;
        break;
    }
  }
  return counts;
}

}  // namespace tangram::kube::manager
