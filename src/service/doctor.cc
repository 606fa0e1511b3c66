#include "service/doctor.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <utility>

#include "base/quote.h"
#include "service/chip_totals.h"
#include "service/npu_cuts.h"
#include "wire/doctor_texts.h"
#include "wire/sentences.h"
#include "wire/slice_words.h"
#include "wire/texts.h"
#include "wire/words.h"

namespace tangram::service {
namespace {

namespace say = wire::doctor;
using wire::FindingView;
using wire::Language;
using wire::Severity;

constexpr std::string_view kInstallDriver = "./Ascend-hdk-*-npu-driver_*.run --full --install-for-all";
constexpr std::string_view kUpgradeDriver = "./Ascend-hdk-*-npu-driver_*.run --upgrade";

class Diagnosis {
 public:
  Diagnosis(const State& state, const Options& options, const DeviceReadings& readings, Language language)
      : core_(state.core()),
        options_(options),
        own_slices_(own_slices(state)),
        readings_(readings),
        language_(language),
        rules_(state.core().catalog()) {}

  void look_at_driver() {
    if (!readings_.available) {
      const bool library = readings_.reason.starts_with("device.library.");
      add(Severity::kError, library ? "doctor.library" : "doctor.driver.away",
          wire::fill(library ? say::kNoLibrary : say::kDriverAway, language_,
                     {{"why", told(readings_.note)}}),
          library ? std::string(kInstallDriver) : std::string("npu-smi info"));
      return;
    }
    if (readings_.npus.empty()) {
      add(Severity::kError, "doctor.npus.none", std::string(say::kNoNpus.in(language_)), "npu-smi info -l");
    }
    if (readings_.driver.kind != DriverStanding::Kind::kSupported) {
      const bool old = readings_.driver.kind == DriverStanding::Kind::kBelow;
      add(old ? Severity::kWarning : Severity::kNotice, old ? "doctor.driver.old" : "doctor.driver.unknown",
          told(readings_.driver.note), std::string(kUpgradeDriver));
    }
    if (readings_.slices_for_containers.valid && !readings_.slices_for_containers.value) {
      add(Severity::kError, "doctor.slices.mode", std::string(say::kForMachines.in(language_)),
          "npu-smi set -t vnpu-mode -d 0");
    }
    if (readings_.slices_recover.valid && readings_.slices_recover.value) {
      add(Severity::kWarning, "doctor.slices.recover", std::string(say::kRecovers.in(language_)),
          "npu-smi set -t vnpu-cfg-recover -d 0");
    }
  }

  // A file of the driver's that nobody thinks of: while it is damaged or cannot be written, every cut fails.
  void look_at_recover_file() {
    const RecoverFile& file = readings_.recover_file;
    switch (file.state) {
      case RecoverFile::State::kUnknown:
      case RecoverFile::State::kSound:
        look_at_unusable_file();
        return;
      case RecoverFile::State::kDamaged:
        add(Severity::kError, "doctor.recover.damaged",
            wire::fill(say::kFileDamaged, language_, {{"path", file.path}, {"why", told(file.why)}}),
            "mv " + file.path + " " + file.path + ".damaged");
        return;
      case RecoverFile::State::kNotPlain:
        add(Severity::kWarning, "doctor.recover.not_plain",
            wire::fill(say::kFileNotPlain, language_, {{"why", told(file.why)}}),
            "mv " + file.path + " " + file.path + ".away");
        return;
      case RecoverFile::State::kExposed:
        add(Severity::kWarning, "doctor.recover.exposed",
            wire::fill(say::kFileExposed, language_, {{"path", file.path}, {"why", told(file.why)}}),
            "chown " + std::to_string(options_.own_uid) + " " + file.path + " && chmod 600 " + file.path);
        look_at_unusable_file();
        return;
      case RecoverFile::State::kLockUnusable:
        add(Severity::kError, "doctor.recover.lock",
            wire::fill(say::kLockUnusable, language_, {{"why", told(file.why)}}),
            "mv " + file.lock + " " + file.lock + ".away");
        return;
      case RecoverFile::State::kUnwritable:
        add(Severity::kError, "doctor.recover.unwritable",
            wire::fill(say::kFileUnwritable, language_, {{"path", file.path}, {"why", told(file.why)}}),
            file.error_number == EROFS ? "mount -o remount,rw \"$(findmnt -no TARGET -T " + file.path + ")\""
            : file.error_number == EPERM ? "chattr -i " + file.path
                                         : proper_start());
        return;
    }
  }

  void look_at_npus() {
    if (!readings_.available) return;
    for (const NpuView& npu : core_.npus()) {
      look_at_health(npu);
      const DeviceNpu* reading = find_reading(readings_, npu.report.physical_id);
      if (reading == nullptr || npu.report.health == Health::kAbsent) continue;
      look_at_board(npu, *reading);
      const NpuCuts cuts = look_at_cuts(own_slices_, rules_, npu, reading);
      look_at_refusal(npu, *reading, cuts);
      look_at_slices(npu, *reading, cuts);
      if (cuts.chip == kNoChip) continue;
      look_at_mix(npu, *reading, cuts);
      compare_totals(npu, *reading, rules_.model(cuts.chip));
    }
  }

  // A mistake in what a described chip matches, or a file of another machine's.
  void look_at_described_chips() {
    if (!readings_.available || readings_.npus.empty()) return;
    for (const ChipModel& chip : options_.chips) {
      const auto is_it = [&chip](const DeviceNpu& reading) { return may_be(chip, reading); };
      if (std::ranges::any_of(readings_.npus, is_it)) continue;
      add(Severity::kNotice, "doctor.catalogue.unused",
          wire::fill(say::kUnusedChip, language_, {{"chip", quoted(chip.name)}}),
          "npu-smi info -t board" + place_of(readings_.npus.front()));
    }
  }

  void look_at_daemon(const DaemonTroubles& troubles) {
    if (!troubles.journal) return;
    FindingView& finding =
        add(Severity::kError, "doctor.journal",
            wire::fill(say::kNoRecords, language_, {{"why", told(troubles.journal->to_string())}}),
            std::string(say::kShowLog));
    if (!troubles.journal->hint.empty()) finding.hint = told(troubles.journal->hint);
  }

  void look_at_walls(const MachineWalls& walls) {
    if (!walls.private_devices) {
      add(Severity::kError, "doctor.devices.shared", std::string(say::kSharedDevices.in(language_)),
          proper_start());
    }
    look_at_device_nodes(walls);
    for (const std::string& wall : walls.missing)
      add(Severity::kWarning, "doctor.wall", told(wall), proper_start());
  }

  std::vector<FindingView> findings() && {
    std::stable_sort(findings_.begin(), findings_.end(),
                     [](const FindingView& a, const FindingView& b) { return a.severity < b.severity; });
    return std::move(findings_);
  }

 private:
  // The driver knows of a fault that the daemon does not see.
  void look_at_unusable_file() {
    if (!readings_.unusable_file) return;
    const std::string& file = readings_.recover_file.path;
    const std::string& lock = readings_.recover_file.lock;
    const std::string path = file.empty() ? "/etc/vnpu.cfg" : file;
    const std::string folder = lock.empty() ? "/run/vnpu_cfg_lock" : lock.substr(0, lock.rfind('/'));
    add(Severity::kError, "doctor.recover.unusable",
        wire::fill(say::kFileUnusable, language_,
                   {{"path", path}, {"why", told(readings_.unusable_file->why)}}),
        "ls -la " + path + "* " + folder + "; df -h " + path.substr(0, path.rfind('/')) + " " + folder +
            "; cat " + path);
  }

  std::string told(std::string_view english) const { return wire::translated(english, language_); }

  FindingView& add(Severity severity, std::string_view code, std::string message, std::string command) {
    FindingView& finding = findings_.emplace_back();
    finding.severity = severity;
    finding.code = code;
    finding.message = std::move(message);
    finding.command = std::move(command);
    if (const wire::ReasonText* text = wire::find_reason(code))
      finding.hint = language_ == Language::kChinese ? text->chinese_hint : text->english_hint;
    return finding;
  }

  // What gives the daemon the rights that it lacks.
  std::string proper_start() const {
    return std::string(options_.own_uid == 0 ? say::kRestartDaemon : say::kRunAsRoot);
  }

  // Whether the chip is described for the NPU. What the driver does not tell may be as described.
  static bool may_be(const ChipModel& chip, const DeviceNpu& reading) {
    if (reading.chip.empty() || !reading.memory_total.valid) return true;
    ChipMatch match = chip.match;
    ChipIdentity identity;
    identity.chip = reading.chip;
    identity.memory = reading.memory_total.value;
    identity.ai_cores = reading.ai_cores.valid ? reading.ai_cores.value : match.ai_cores;
    identity.chips_on_card = reading.chips_on_card > 0 ? reading.chips_on_card : match.chips_on_card;
    if (reading.board_id.valid) {
      identity.board = reading.board_id.value;
    } else {
      match.boards.clear();
    }
    return matches(match, identity);
  }

  // " -i 7 -c 0": how the vendor's tool names it.
  static std::string place_of(const DeviceNpu& reading) {
    return " -i " + std::to_string(reading.card_id) + " -c " + std::to_string(reading.chip_id);
  }

  void look_at_health(const NpuView& npu) {
    const Health health = npu.report.health;
    if (health == Health::kOk) return;
    const DeviceNpu* reading = find_reading(readings_, npu.report.physical_id);
    const std::string id = std::to_string(npu.report.physical_id);
    const std::string why = reading == nullptr ? std::string() : told(reading->health_note);
    const bool soft = health == Health::kWarning || health == Health::kUnknown;
    FindingView& finding =
        add(soft ? Severity::kWarning : Severity::kError, "doctor.npu.health",
            wire::fill(
                say::kNpuNotOk, language_,
                {{"npu", id}, {"health", wire::word(health, language_)}, {"why", why.empty() ? "-" : why}}),
            reading == nullptr ? std::string("npu-smi info -l")
            : soft             ? "npu-smi info -t health" + place_of(*reading)
                               : "npu-smi set -t reset" + place_of(*reading));
    finding.npu = npu.report.physical_id;
  }

  void look_at_board(const NpuView& npu, const DeviceNpu& reading) {
    const DeviceSlicing& slicing = reading.slicing;
    if (slicing.note.empty() || slicing.support == SliceSupport::kNotCut) return;
    if (slicing.support == SliceSupport::kListed && slicing.slices.valid) return;
    const std::string id = std::to_string(npu.report.physical_id);
    FindingView& finding =
        add(slicing.slices.valid ? Severity::kNotice : Severity::kWarning,
            slicing.slices.valid ? "doctor.board.unknown" : "doctor.slices.unreadable",
            wire::fill(say::kUnknownBoard, language_, {{"npu", id}, {"why", told(slicing.note)}}),
            (slicing.slices.valid ? "npu-smi info -t template-info" : "npu-smi info -t info-vnpu") +
                place_of(reading));
    finding.npu = npu.report.physical_id;
  }

  // What mends it depends on what the driver has said, and on the chip.
  std::string cure_of(const CutRefusal& refusal, const DeviceNpu& reading, const NpuCuts& cuts) const {
    if (refusal.reason == slice_reason::kUnsupported) return std::string(kUpgradeDriver);
    if (refusal.reason != slice_reason::kNotPermitted)
      return "npu-smi info -t template-info" + place_of(reading);
    // The two dies of a module are one device until they are told apart.
    const bool is_module = cuts.chip != kNoChip && rules_.model(cuts.chip).needs_probe;
    return is_module ? std::string(say::kSeparateDies) : proper_start();
  }

  void look_at_refusal(const NpuView& npu, const DeviceNpu& reading, const NpuCuts& cuts) {
    const auto refusal = readings_.refusals.find(npu.report.physical_id);
    if (refusal == readings_.refusals.end()) return;
    const bool not_permitted = refusal->second.reason == slice_reason::kNotPermitted;
    const std::string id = std::to_string(npu.report.physical_id);
    FindingView& finding =
        add(Severity::kError, not_permitted ? "doctor.slices.not_permitted" : "doctor.slices.refused",
            wire::fill(say::kRefused, language_, {{"npu", id}, {"why", told(refusal->second.why)}}),
            cure_of(refusal->second, reading, cuts));
    finding.npu = npu.report.physical_id;
  }

  void look_at_device_nodes(const MachineWalls& walls) {
    if (walls.closed_devices.empty()) return;
    const ClosedDevice& first = walls.closed_devices.front();
    std::string paths;
    for (const ClosedDevice& node : walls.closed_devices) paths += (paths.empty() ? "" : " ") + node.path;
    std::array<char, 8> mode{};
    std::snprintf(mode.data(), mode.size(), "%04o", first.mode);
    add(Severity::kError, "doctor.devices.closed",
        wire::fill(say::kClosedDevices, language_,
                   {{"user", std::to_string(walls.closed_to)},
                    {"paths", paths},
                    {"owner", std::to_string(first.owner)},
                    {"group", first.group.empty() ? "-" : std::string_view(first.group)},
                    {"mode", mode.data()}}),
        opening_command(walls.closed_devices, walls.closed_to, options_));
  }

  void look_at_slices(const NpuView& npu, const DeviceNpu& reading, const NpuCuts& cuts) {
    for (const CutSlice& slice : cuts.slices) {
      if (slice.standing == wire::SliceStanding::kHeld || !slice.id) continue;
      const bool residual = slice.standing == wire::SliceStanding::kResidual;
      const std::string id = std::to_string(*slice.id);
      const std::string npu_id = std::to_string(npu.report.physical_id);
      if (is_unseen(slice, &reading)) {
        FindingView& checked = add(Severity::kNotice, "doctor.slices.checked",
                                   wire::fill(say::kChecked, language_, {{"slice", id}, {"npu", npu_id}}),
                                   "tangram slices " + npu_id);
        checked.npu = npu.report.physical_id;
        checked.slice = slice.id;
        continue;
      }
      FindingView& finding = add(
          residual ? Severity::kWarning : Severity::kNotice,
          residual ? "doctor.slices.residual" : "doctor.slices.foreign",
          wire::fill(residual ? say::kResidual : say::kForeign, language_,
                     {{"slice", id},
                      {"template", slice.template_name.empty() ? "-" : std::string_view(slice.template_name)},
                      {"npu", npu_id}}),
          "npu-smi set -t destroy-vnpu" + place_of(reading) + " -v " + id);
      finding.npu = npu.report.physical_id;
      finding.slice = slice.id;
    }
  }

  // Why the catalogue has no such state.
  std::string why_no_mix(const ChipModel& chip, const NpuCuts& cuts) const {
    for (const CutSlice& slice : cuts.slices) {
      if (find_template(chip, slice.template_name) < chip.templates.size()) continue;
      const std::string name = slice.template_name.empty() ? "-" : slice.template_name;
      return wire::fill(say::kUnknownTemplate, language_, {{"template", name}});
    }
    const std::vector<SliceViolation> broken = why_illegal(chip, cuts.mix);
    if (broken.empty()) return std::string(say::kVgroupsUnclear.in(language_));
    return wire::make_rule(chip, broken.front(), language_).message;
  }

  void look_at_mix(const NpuView& npu, const DeviceNpu& reading, const NpuCuts& cuts) {
    if (cuts.state != kNoState) return;
    const ChipModel& chip = rules_.model(cuts.chip);
    std::string templates;
    std::optional<std::uint32_t> strange;  // the last that is no job's: the first to go
    for (const CutSlice& slice : cuts.slices) {
      if (!templates.empty()) templates += language_ == Language::kChinese ? "、" : ", ";
      templates += slice.template_name.empty() ? "-" : slice.template_name;
      if (slice.standing != wire::SliceStanding::kHeld && slice.id) strange = slice.id;
    }
    const std::string id = std::to_string(npu.report.physical_id);
    FindingView& finding = add(
        Severity::kWarning, "doctor.slices.illegal",
        wire::fill(
            say::kIllegal, language_,
            {{"npu", id}, {"templates", templates}, {"model", chip.name}, {"why", why_no_mix(chip, cuts)}}),
        strange ? "npu-smi set -t destroy-vnpu" + place_of(reading) + " -v " + std::to_string(*strange)
                : "tangram slices " + id);
    finding.npu = npu.report.physical_id;
    finding.slice = strange;
  }

  void compare_totals(const NpuView& npu, const DeviceNpu& reading, const ChipModel& chip) {
    const ReportedTotals reported = reported_totals(reading.slicing.total);
    for (const ChipDifference& difference : differences(chip, reported)) {
      const std::string id = std::to_string(npu.report.physical_id);
      const std::string resource = wire::word(difference.resource, language_);
      FindingView& finding =
          add(Severity::kWarning, kCatalogueDiffers,
              wire::fill(say::kDiffers, language_,
                         {{"npu", id},
                          {"reported", total_text(difference.resource, difference.reported)},
                          {"resource", resource},
                          {"expected", total_text(difference.resource, difference.expected)},
                          {"model", chip.name}}),
              "npu-smi info -t info-vnpu" + place_of(reading));
      finding.npu = npu.report.physical_id;
    }
  }

  const Scheduler& core_;
  const Options& options_;
  const OwnSlices own_slices_;
  const DeviceReadings& readings_;
  const Language language_;
  const CutRules rules_;
  std::vector<FindingView> findings_;
};

}  // namespace

wire::DoctorView make_diagnosis(const State& state, const Options& options, const DeviceReadings& readings,
                                const MachineWalls& walls, const DaemonTroubles& troubles,
                                Language language) {
  Diagnosis diagnosis(state, options, readings, language);
  diagnosis.look_at_daemon(troubles);
  diagnosis.look_at_driver();
  diagnosis.look_at_recover_file();
  diagnosis.look_at_npus();
  diagnosis.look_at_described_chips();
  diagnosis.look_at_walls(walls);
  wire::DoctorView view;
  view.version = options.version;
  view.node = options.node;
  view.driver_version = readings.driver_version;
  view.findings = std::move(diagnosis).findings();
  return view;
}

}  // namespace tangram::service
