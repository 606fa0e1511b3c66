#include "device/dcmi_devices.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/invariant.h"
#include "base/log.h"
#include "device/dcmi/codes.h"
#include "device/dcmi/helper_process.h"
#include "device/dcmi/npu_entry.h"

namespace tangram::device {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kStuckHelpersMax = 8;

// Where drivers install the library: with the tool set, with the driver (two layouts), else the loader's
// search.
const std::vector<std::string>& default_library_paths() {
  static const std::vector<std::string> paths = {"/usr/local/dcmi/libdcmi.so",
                                                 "/usr/local/Ascend/driver/lib64/driver/libdcmi.so",
                                                 "/usr/local/Ascend/driver/lib64/libdcmi.so", "libdcmi.so"};
  return paths;
}

// Patience with something whose calls hang: an NPU, or a card that cannot even say how many chips it has.
struct Backoff {
  int hangs = 0;
  Clock::time_point retry_at{};
  std::string reason;

  bool resting(Clock::time_point now) const { return hangs > 0 && now < retry_at; }

  void hung(std::string why, const DcmiOptions& options) {
    const int doublings = std::min(hangs, 16);
    ++hangs;
    const auto pause =
        std::min<milliseconds>(options.hang_backoff * (1LL << doublings), options.hang_backoff_max);
    retry_at = Clock::now() + pause;
    reason = std::move(why) + "; asked again after " + std::to_string(pause.count()) + " ms";
  }
};

struct Card {
  std::vector<std::int32_t> devices;  // as last listed
  Backoff backoff;
};

struct Npu {
  std::optional<NpuIdentity> identity;  // as last known
  bool identity_checked = false;  // by the helper that runs now, or since the driver was last seen whole
  std::string unreadable;         // why it has no identity
  Sample<Bytes> memory_total;     // as last known: an NPU that hangs keeps its size
  Backoff backoff;
  bool listed = false;
};

class DcmiDevices final : public Devices {
 public:
  explicit DcmiDevices(DcmiOptions options) : options_(std::move(options)) {
    // A budget that cannot hold a start and a question would never ask anything.
    options_.scan_budget =
        std::max(options_.scan_budget, options_.init_deadline + 2 * options_.call_deadline);
  }

  Result<DeviceScan> scan() override {
    const Deadline end = Clock::now() + options_.scan_budget;
    renew_helper(end);
    const bool helper_is_old = helper_ != nullptr;
    auto found = look(end);
    // A driver that restarted leaves the old helper with the tables of the old one; a new helper sees the new
    // one.
    if (helper_is_old && (!found || all_lost_)) {
      forget_helper();
      found = look(end);
    }
    if (!found) {
      forget_helper();
      return found;
    }
    ill_ = std::any_of(found->npus.begin(), found->npus.end(),
                       [](const DeviceNpu& npu) { return npu.health != Health::kOk; });
    return found;
  }

 private:
  Result<DeviceScan> look(Deadline end) {
    all_lost_ = false;
    open_failure_.reset();
    TG_TRY_VOID(list(end));
    DeviceScan scan;
    read_all(end, scan);
    scan.driver_version = driver_version_;
    if (scan.npus.empty() && !npus_.empty()) {
      return fail(Code::kUnavailable, "device.npu.unreadable",
                  "no NPU could be identified: " + npus_.begin()->second.unreadable);
    }
    std::sort(scan.npus.begin(), scan.npus.end(),
              [](const DeviceNpu& a, const DeviceNpu& b) { return a.physical_id < b.physical_id; });
    return scan;
  }

  void forget_helper() {
    helper_.reset();
    for (auto& [at, npu] : npus_) npu.identity_checked = false;
  }

  // Within one look a start that failed is not tried again for each NPU that is left.
  Result<void> ensure_helper(Deadline end) {
    if (helper_) return {};
    if (open_failure_) return fail(*open_failure_);
    auto opened = open_helper(end);
    if (!opened) {
      open_failure_ = opened.error();
      return fail(opened.error());
    }
    helper_ = std::move(*opened);
    return {};
  }

  // A new helper replaces the old one only once it works.
  void renew_helper(Deadline end) {
    const milliseconds period = ill_ ? options_.reinit_period_ill : options_.reinit_period;
    if (!helper_ || Clock::now() < opened_at_ + period) return;
    if (auto fresh = open_helper(end)) {
      forget_helper();
      helper_ = std::move(*fresh);
    }
  }

  Result<std::unique_ptr<HelperProcess>> open_helper(Deadline end) {
    if (const std::size_t stuck = stuck_helper_count(); stuck >= kStuckHelpersMax) {
      return fail(Code::kUnavailable, "device.helper.stuck",
                  std::to_string(stuck) + " helpers hang in the driver and cannot be killed",
                  "reset the NPUs or restart the machine");
    }
    opened_at_ = Clock::now();
    TG_TRY(auto helper, HelperProcess::start(options_.helper_path));
    HelperRequest request;
    request.operation = Operation::kOpen;
    request.texts = options_.library_path.empty() ? default_library_paths()
                                                  : std::vector<std::string>{options_.library_path};
    TG_TRY(const HelperAnswer answer,
           helper->call(request, std::min(end, Clock::now() + options_.init_deadline)));
    if (answer.kind == AnswerKind::kFailed && answer.code == 0) {
      return fail(Code::kUnavailable, "device.library.missing", answer.text,
                  "install the Ascend driver, or name its libdcmi.so in the configuration");
    }
    if (answer.kind == AnswerKind::kFailed) {
      return fail(Code::kUnavailable, "device.driver.away", failure_text(answer.text, answer.code),
                  "see whether the driver is loaded (npu-smi info); tried again at the next look");
    }
    driver_version_ = answer.driver_version;
    return helper;
  }

  // One question. After an error the helper is gone.
  Result<HelperAnswer> ask(Operation operation, NpuAddress at) {
    TG_ASSERT(helper_, "ensure_helper comes before a question");
    HelperRequest request;
    request.operation = operation;
    request.address = at;
    auto answer = helper_->call(request, Clock::now() + options_.call_deadline);
    if (!answer) {
      log::warn("dcmi: " + answer.error().to_string() + " (card " + std::to_string(at.card) + ", chip " +
                std::to_string(at.device) + "); the helper is replaced");
      helper_.reset();
    }
    return answer;
  }

  // Brings cards_ and npus_ up to date. A card that does not answer keeps the chips it had.
  Result<void> list(Deadline end) {
    TG_TRY_VOID(ensure_helper(end));
    TG_TRY(const HelperAnswer answer, ask(Operation::kListCards, {}));
    if (answer.kind == AnswerKind::kFailed) {
      return fail(Code::kUnavailable, "device.driver.away", failure_text(answer.text, answer.code));
    }
    const std::set<std::int32_t> ids(answer.numbers.begin(), answer.numbers.end());
    std::erase_if(cards_, [&ids](const auto& entry) { return !ids.contains(entry.first); });
    for (auto& [at, npu] : npus_) npu.listed = false;
    for (const std::int32_t id : ids) {
      Card& card = cards_[id];
      if (!card.backoff.resting(Clock::now()) && ensure_helper(end)) list_card(id, card);
      for (const std::int32_t device : card.devices) npus_[{id, device}].listed = true;
    }
    return {};
  }

  void list_card(std::int32_t id, Card& card) {
    const auto answer = ask(Operation::kListDevices, {id, 0});
    if (!answer) {
      card.backoff.hung(answer.error().message, options_);
      return;
    }
    card.backoff = {};
    if (answer->kind == AnswerKind::kDone) card.devices = answer->numbers;
  }

  // Those that answered well last time come first, so that a hung NPU costs the others nothing.
  std::vector<NpuAddress> reading_order() const {
    std::vector<NpuAddress> order;
    for (const auto& [at, npu] : npus_) {
      if (npu.listed) order.push_back(at);
    }
    std::stable_sort(order.begin(), order.end(), [this](NpuAddress a, NpuAddress b) {
      return npus_.at(a).backoff.retry_at < npus_.at(b).backoff.retry_at;
    });
    return order;
  }

  void read_all(Deadline end, DeviceScan& scan) {
    std::set<std::uint32_t> taken;
    std::size_t read = 0;
    std::size_t lost = 0;
    for (const NpuAddress at : reading_order()) {
      Npu& npu = npus_.at(at);
      const auto telemetry = read_npu(at, npu, end);
      if (telemetry) ++read;
      if (telemetry && is_driver_lost(*telemetry)) ++lost;
      if (!npu.identity || !taken.insert(npu.identity->phy_id.value).second) continue;
      DeviceNpu entry = entry_of(at, *npu.identity);
      if (telemetry) {
        fill_telemetry(*telemetry, entry);
      } else {
        entry.health_note = telemetry.error().message;
      }
      if (entry.memory_total.valid) npu.memory_total = entry.memory_total;
      entry.memory_total = npu.memory_total;
      scan.npus.push_back(std::move(entry));
    }
    all_lost_ = read > 0 && lost == read;
    add_vanished(taken, scan);
  }

  // NPUs that were there once and are no longer listed, unless another one bears their number now.
  void add_vanished(const std::set<std::uint32_t>& taken, DeviceScan& scan) {
    std::erase_if(npus_, [&taken](const auto& item) {
      const Npu& npu = item.second;
      return !npu.listed && (!npu.identity || taken.contains(npu.identity->phy_id.value));
    });
    for (const auto& [at, npu] : npus_) {
      if (npu.listed || !npu.identity) continue;
      DeviceNpu entry = entry_of(at, *npu.identity);
      entry.health = Health::kAbsent;
      entry.health_note = "the driver does not list this NPU any more";
      entry.memory_total = npu.memory_total;
      scan.npus.push_back(std::move(entry));
    }
  }

  Result<NpuTelemetry> read_npu(NpuAddress at, Npu& npu, Deadline end) {
    if (npu.backoff.resting(Clock::now()))
      return fail(Code::kUnavailable, "device.npu.hung", npu.backoff.reason);
    if (Clock::now() + options_.call_deadline > end) {
      return fail(Code::kDeadlineExceeded, "device.npu.not_asked",
                  "not asked: other NPUs used up the time of this look");
    }
    TG_TRY_VOID(ensure_helper(end));
    auto telemetry = identify_and_read(at, npu);
    if (!telemetry) {
      npu.backoff.hung(telemetry.error().message, options_);
      return fail(Code::kUnavailable, "device.npu.hung", npu.backoff.reason);
    }
    npu.backoff = {};
    return telemetry;
  }

  Result<NpuTelemetry> identify_and_read(NpuAddress at, Npu& npu) {
    if (!npu.identity_checked) {
      TG_TRY(HelperAnswer answer, ask(Operation::kIdentify, at));
      const Field<std::uint32_t>& phy_id = answer.identity.phy_id;
      npu.identity_checked = phy_id.valid;
      if (phy_id.valid) {
        npu.identity = std::move(answer.identity);
      } else {
        npu.unreadable = failure_text("the call for the physical id", phy_id.code);
      }
    }
    TG_TRY(HelperAnswer answer, ask(Operation::kRead, at));
    return std::move(answer.telemetry);
  }

  DcmiOptions options_;
  std::unique_ptr<HelperProcess> helper_;
  Clock::time_point opened_at_{};
  std::optional<Error> open_failure_;  // of this look
  std::string driver_version_;
  std::map<std::int32_t, Card> cards_;
  std::map<NpuAddress, Npu> npus_;
  bool all_lost_ = false;
  bool ill_ = false;
};

}  // namespace

std::unique_ptr<Devices> make_dcmi_devices(DcmiOptions options) {
  return std::make_unique<DcmiDevices>(std::move(options));
}

}  // namespace tangram::device
