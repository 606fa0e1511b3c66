// Which records can follow upon a state. What apply() takes for granted of the service's own records must be
// asked of those that come from a file.
#include <limits>
#include <string>
#include <type_traits>

#include "ports/device_slices.h"
#include "service/state.h"

namespace tangram::service {
namespace {

tl::unexpected<Error> wrong(std::string what) {
  return fail(Code::kDataLoss, "record.impossible", std::move(what));
}

Result<void> check_time(const char* name, TimeMs time) {
  if (time.value >= 0 && time < TimeMs::never()) return {};
  return wrong(std::string(name) + " is " + std::to_string(time.value) + " ms after 1970, which is no time");
}

Result<void> check_time(const char* name, const std::optional<TimeMs>& time) {
  return time ? check_time(name, *time) : Result<void>();
}

Result<void> check_lifetime(wire::Lifetime lifetime) {
  if (lifetime.ms >= 0 && lifetime.ms <= kUnlimited) return {};
  return wrong("a token's lifetime is " + std::to_string(lifetime.ms) + " ms");
}

}  // namespace

class RecordCheck {
 public:
  explicit RecordCheck(const State& state) : state_(state) {}

  template <class Record>
  Result<void> operator()(const Record& record) const {
    TG_TRY_VOID(check_own(record));
    if constexpr (requires { record.input; }) {
      return state_.core().check_recorded(Input(record.input));
    } else if constexpr (std::is_constructible_v<Input, Record>) {
      return state_.core().check_recorded(Input(record));
    } else if constexpr (std::is_constructible_v<Decision, Record>) {
      return state_.core().check_recorded(Decision(record));
    }
    return {};
  }

 private:
  template <class Record>
  Result<void> check_own(const Record& /*record*/) const {
    return {};
  }

  // An end has to be told of what ran, and nothing here knows of that.
  Result<void> check_own(const AllocationObserved& record) const {
    return wrong("job j-" + std::to_string(record.spec.id.value) + " has no program");
  }

  Result<void> check_own(const wire::TenantPutRecord& record) const {
    if (record.extras.allocated_uid != std::numeric_limits<std::uint32_t>::max()) return {};
    return wrong("the uid of a tenant is no uid");
  }

  Result<void> check_own(const wire::TokenCreated& record) const {
    if (record.id < state_.next_token_id()) {
      return wrong("token t-" + std::to_string(record.id) + " is not a new token");
    }
    TG_TRY_VOID(check_lifetime(record.lifetime));
    return check_time("the end of a token", record.expires_at);
  }

  Result<void> check_own(const wire::TokenRotated& record) const {
    TG_TRY_VOID(check_token(record.id));
    TG_TRY_VOID(check_lifetime(record.lifetime));
    TG_TRY_VOID(check_time("the end of a token", record.expires_at));
    return check_time("the end of a token's old secret", record.old_secret_until);
  }

  Result<void> check_own(const wire::TokenRevoked& record) const { return check_token(record.id); }

  Result<void> check_own(const wire::SliceOrdered& record) const {
    const std::string name = "slice " + std::to_string(record.slice);
    const auto status = state_.core().job(record.job);
    const bool given = status && status->attempt == record.attempt && status->slice &&
                       status->npus.size() == 1 && is_active(*status) && !state_.slice_of(record.job);
    if (!given) return wrong(name + " is of no attempt that was given one");
    const SlicePlacement& slice = *status->slice;
    if (slice.template_name != record.template_name || slice.vgroup != record.vgroup) {
      return wrong(name + " is another than its attempt was given");
    }
    const auto npu = state_.core().npu(status->npus.front());
    if (!npu || npu->report.physical_id != record.npu || !is_slice_id(record.npu, record.slice)) {
      return wrong(name + " cannot be one of NPU " + std::to_string(record.npu));
    }
    if (state_.slices().contains(record.slice)) return wrong(name + " has not been returned yet");
    return {};
  }

  Result<void> check_own(const wire::SliceMade& record) const {
    TG_TRY(const SliceEntry* const entry, find_slice(record));
    if (!entry->made && !entry->ended) return {};
    return wrong("slice " + std::to_string(record.slice) + " has been made, or has ended, before");
  }

  Result<void> check_own(const wire::SliceReturned& record) const {
    TG_TRY(const SliceEntry* const entry, find_slice(record));
    if (entry->ended) return {};
    return wrong("slice " + std::to_string(record.slice) + " is held");
  }

  template <class Record>
  Result<const SliceEntry*> find_slice(const Record& record) const {
    const auto found = state_.slices().find(record.slice);
    if (found != state_.slices().end() && found->second.job == record.job &&
        found->second.attempt == record.attempt) {
      return &found->second;
    }
    return wrong("slice " + std::to_string(record.slice) + " was not ordered for that attempt");
  }

  static bool is_active(const JobStatus& status) {
    return status.state == JobState::kStarting || status.state == JobState::kRunning;
  }

  Result<void> check_token(std::uint64_t id) const {
    if (state_.tokens().contains(id)) return {};
    return wrong("token t-" + std::to_string(id) + " does not exist");
  }

  const State& state_;
};

Result<void> State::check(const wire::JournalRecord& record, TimeMs at) const {
  Result<void> checked = check_time("its time", at);
  if (checked) checked = std::visit(RecordCheck(*this), record);
  if (checked) return {};
  Error error =
      wrap("the " + std::string(wire::record_kind(record)) + " record cannot follow upon those before it",
           std::move(checked).error());
  error.code = Code::kDataLoss;
  error.reason = "record.impossible";
  error.hint =
      "the journal is damaged or was changed by hand: put a backup of the state directory in its place";
  return fail(std::move(error));
}

}  // namespace tangram::service
