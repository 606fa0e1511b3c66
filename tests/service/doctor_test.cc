// What is wrong with a machine: each finding from the state of things that causes it, and nothing from a
// machine that is well.
#include "service/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "service/cut_node.h"
#include "wire/texts.h"

namespace tangram::service::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using wire::FindingView;
using wire::Severity;

std::vector<FindingView> find(const CutNode& node, const MachineWalls& walls = {},
                              wire::Language language = wire::Language::kEnglish,
                              const DaemonTroubles& troubles = {}) {
  return make_diagnosis(node.state, node.options, node.readings, walls, troubles, language).findings;
}

// The one finding that there is.
FindingView only(const CutNode& node, const MachineWalls& walls = {}) {
  const std::vector<FindingView> findings = find(node, walls);
  EXPECT_EQ(findings.size(), 1U);
  for (const FindingView& finding : findings) {
    EXPECT_NE(wire::find_reason(finding.code), nullptr) << finding.code << " cannot be explained";
    EXPECT_FALSE(finding.hint.empty()) << finding.code;
    EXPECT_FALSE(finding.command.empty()) << finding.code;
  }
  return findings.empty() ? FindingView() : findings.front();
}

// Without it a daemon that can accept nothing would pass for one that is well.
TEST(Doctor, TellsThatTheJournalTakesNoRecords) {
  const CutNode node;
  DaemonTroubles troubles;
  troubles.journal =
      Error{Code::kUnavailable, "journal.append", "cannot append: disk is full", "", {}, nullptr};
  const std::vector<FindingView> findings = find(node, {}, wire::Language::kEnglish, troubles);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].code, "doctor.journal");
  EXPECT_EQ(findings[0].severity, Severity::kError);
  EXPECT_THAT(findings[0].message, HasSubstr("takes no records"));
  EXPECT_THAT(findings[0].message, HasSubstr("disk is full"));
  EXPECT_THAT(findings[0].hint, HasSubstr("make room"));
}

// Without it an alarm would come from a machine that is well, and nobody would listen to the next one.
TEST(Doctor, FindsNothingWhereNothingIsWrong) {
  CutNode node;
  node.readings.slices_recover = Sample<bool>::known(false);
  node.readings.slices_for_containers = Sample<bool>::known(true);
  node.submit(4096);
  node.show(100, "vir02", 0);
  EXPECT_TRUE(find(node).empty()) << find(node).front().message;
}

// Without it an operator would be told to destroy an id that stands for no slice, and may be a job's a moment
// later.
TEST(Doctor, OffersNoCommandAgainstARefusedCut) {
  CutNode node;
  node.readings.slices_recover = Sample<bool>::known(false);
  node.readings.slices_for_containers = Sample<bool>::known(true);
  node.report.npus[0].strays = {StraySlice{100, "", kNoVgroup, true}};
  node.apply(NodeReported{node.report});
  for (const FindingView& finding : find(node))
    EXPECT_EQ(finding.command.find("destroy-vnpu"), std::string::npos);
}

// Without it a machine without the vendor's library would only seem to have no NPUs.
TEST(Doctor, TellsAMissingLibraryFromADriverThatIsAway) {
  CutNode node;
  node.readings = {};
  node.readings.reason = "device.library.missing";
  node.readings.note = "no libdcmi.so could be loaded; searched /x";
  EXPECT_EQ(only(node).code, "doctor.library");
  EXPECT_THAT(only(node).message, HasSubstr("/x"));
  EXPECT_EQ(only(node).severity, Severity::kError);
  node.readings.reason = "device.driver.away";
  EXPECT_EQ(only(node).code, "doctor.driver.away");
}

// Without it an old driver, the trap of recovered slices and the mode for machines would be found by their
// harm.
TEST(Doctor, FindsWhatIsSetWrongInTheDriver) {
  CutNode node;
  node.readings.driver = {DriverStanding::Kind::kBelow, "driver 22.0.4 is older than 25.5"};
  EXPECT_EQ(only(node).code, "doctor.driver.old");
  EXPECT_THAT(only(node).message, HasSubstr("22.0.4"));
  node.readings.driver = {DriverStanding::Kind::kSupported, {}};
  node.readings.slices_recover = Sample<bool>::known(true);
  EXPECT_EQ(only(node).code, "doctor.slices.recover");
  EXPECT_EQ(only(node).command, "npu-smi set -t vnpu-cfg-recover -d 0");
  node.readings.slices_recover = Sample<bool>{};
  node.readings.slices_for_containers = Sample<bool>::known(false);
  EXPECT_EQ(only(node).code, "doctor.slices.mode");
  EXPECT_EQ(only(node).command, "npu-smi set -t vnpu-mode -d 0");
}

// Without it an operator would be told to destroy what is gone, each time the daemon starts.
TEST(Doctor, OffersNoCommandAgainstALeftoverThatIsGone) {
  CutNode node;
  node.end(node.submit(4096));
  EXPECT_EQ(only(node).code, "doctor.slices.checked");
  EXPECT_EQ(only(node).severity, Severity::kNotice);
  EXPECT_EQ(only(node).command, "tangram slices 0");
  EXPECT_EQ(only(node).slice, 100U);
}

// Without it capacity that a leftover takes would be missing, and nobody could say what frees it.
TEST(Doctor, FindsSlicesThatAreNobodys) {
  CutNode node;
  const JobId left = node.submit(4096);
  node.show(100, "vir02", 0);
  node.end(left);
  const FindingView residual = only(node);
  EXPECT_EQ(residual.code, "doctor.slices.residual");
  EXPECT_EQ(residual.severity, Severity::kWarning);
  EXPECT_EQ(residual.command, "npu-smi set -t destroy-vnpu -i 7 -c 0 -v 100");
  EXPECT_EQ(residual.npu, 0U);
  EXPECT_EQ(residual.slice, 100U);
  CutNode other;
  other.show(102, "vir01", 0, false);
  EXPECT_EQ(only(other).code, "doctor.slices.foreign");
}

// Without it an NPU that is never cut again would not be told from one that is full.
TEST(Doctor, FindsAMixThatTheCatalogueDoesNotKnow) {
  CutNode node;
  node.show(100, "vir04", 0);
  node.show(101, "vir04", 1);
  const std::vector<FindingView> findings = find(node);
  const auto found = std::find_if(findings.begin(), findings.end(),
                                  [](const FindingView& f) { return f.code == "doctor.slices.illegal"; });
  ASSERT_NE(found, findings.end());
  EXPECT_THAT(found->message, HasSubstr("AICPU: 8 needed, and the chip has 7"));
  EXPECT_EQ(found->command, "npu-smi set -t destroy-vnpu -i 7 -c 0 -v 101");
  CutNode strange;
  strange.show(100, "vir16", 0);
  EXPECT_THAT(find(strange).front().message, HasSubstr("vir16 is no template of it"));
}

// Without it a chip that is described wrongly would be cut into what it has not.
TEST(Doctor, FindsAChipThatIsNotAsTheCatalogueSays) {
  CutNode node;
  node.readings.npus[0].slicing.total.ai_cores_milli = Sample<std::int32_t>::known(10'000);
  EXPECT_EQ(only(node).code, "doctor.catalogue");
  EXPECT_EQ(only(node).message, "NPU 0 has 10 AI cores, and the catalogue says 8 for 310P (24 GiB)");
  node.readings.npus[0].slicing.total.ai_cores_milli = Sample<std::int32_t>::known(8'000);
  node.readings.npus[0].slicing.total.jpegd_milli = Sample<std::int32_t>::known(20'000);
  EXPECT_EQ(only(node).message,
            "NPU 0 has 20 media engines jpegd, and the catalogue says 16 for 310P (24 GiB)");
  node.readings.npus[0].slicing.total.jpegd_milli = {};
  node.readings.npus[0].slicing.total.memory = Sample<Bytes>::known(Bytes::gib(16));
  EXPECT_EQ(only(node).message, "NPU 0 has 16GiB memory, and the catalogue says 21526MiB for 310P (24 GiB)");
  node.readings.npus[0].slicing.total.memory = {};
  node.readings.npus[0].slicing.support = SliceSupport::kUnknown;
  node.readings.npus[0].slicing.note = "board 0x99 of 310P3 is not in the support table";
  EXPECT_EQ(only(node).code, "doctor.board.unknown");
  EXPECT_THAT(only(node).message, HasSubstr("0x99"));
  node.readings.npus[0].slicing.slices.valid = false;
  EXPECT_EQ(only(node).code, "doctor.slices.unreadable");
}

// Without it a description with a mistake in what it matches would do nothing, and nobody would say so.
TEST(Doctor, FindsADescribedChipThatMatchesNoNpu) {
  CutNode node;
  node.readings.npus[0].board_id = Sample<std::uint32_t>::known(0x43);
  ChipModel own = Catalog::builtin()->chips().front().model;
  own.name = "mine";
  own.match = ChipMatch();
  own.match.chips = {"310P3"};
  own.match.boards = {0x44};
  node.options.chips = {own};
  EXPECT_EQ(only(node).code, "doctor.catalogue.unused");
  EXPECT_EQ(only(node).severity, Severity::kNotice);
  EXPECT_EQ(only(node).message, "chip \"mine\" of slices.chips matches no NPU of this machine");
  EXPECT_EQ(only(node).command, "npu-smi info -t board -i 7 -c 0");
  node.readings.npus[0].board_id = {};
  EXPECT_TRUE(find(node).empty()) << "the driver does not tell the board";
  node.readings.npus[0].board_id = Sample<std::uint32_t>::known(0x44);
  EXPECT_TRUE(find(node).empty());
}

// Without it "no slice can be had" would be the end of it: what the driver refuses, and what mends that,
// differ.
TEST(Doctor, FindsWhyADriverRefusesToCut) {
  CutNode node;
  node.readings.refusals[0] = {std::string(slice_reason::kNotPermitted), "cutting NPU 0 into a vir01: no"};
  const FindingView denied = only(node);
  EXPECT_EQ(denied.code, "doctor.slices.not_permitted");
  EXPECT_EQ(denied.severity, Severity::kError);
  EXPECT_EQ(denied.npu, 0U);
  EXPECT_THAT(denied.message, HasSubstr("NPU 0 is not cut, for its driver has refused to: cutting NPU 0"));
  EXPECT_EQ(denied.command, "systemctl restart tangram");
  node.readings.refusals[0].reason = slice_reason::kUnsupported;
  EXPECT_EQ(only(node).code, "doctor.slices.refused");
  EXPECT_THAT(only(node).command, HasSubstr("--upgrade"));
  node.readings.refusals[0].reason = slice_reason::kRefused;
  EXPECT_EQ(only(node).command, "npu-smi info -t template-info -i 7 -c 0");
  // A module with two dies.
  node.readings.refusals[0].reason = slice_reason::kNotPermitted;
  node.report.npus[0].chip = node.readings.npus[0].chip = "Ascend910";
  node.report.npus[0].template_set.clear();
  node.report.npus[0].memory = Bytes::gib(64);
  node.report.npus[0].ai_cores = 20;
  node.readings.npus[0].board_id = Sample<std::uint32_t>::known(0xb0);
  node.apply(NodeReported{node.report});
  EXPECT_EQ(only(node).command, "npu-smi set -t multi-die-policy -d 1");
}

// Without it every cut would fail with a code that says nothing of a file.
TEST(Doctor, FindsADamagedOrClosedFileOfTheDriver) {
  CutNode node;
  RecoverFile& file = node.readings.recover_file;
  file = {RecoverFile::State::kSound, "/etc/vnpu.cfg", {}, 0, {}};
  EXPECT_TRUE(find(node).empty());
  file = {RecoverFile::State::kDamaged, "/etc/vnpu.cfg", "its end is missing", 0, {}};
  EXPECT_EQ(only(node).code, "doctor.recover.damaged");
  EXPECT_THAT(only(node).message, HasSubstr("/etc/vnpu.cfg, is damaged"));
  EXPECT_EQ(only(node).command, "mv /etc/vnpu.cfg /etc/vnpu.cfg.damaged");
  file = {RecoverFile::State::kNotPlain, "/etc/vnpu.cfg", "/etc/vnpu.cfg is a symbolic link", 0, {}};
  EXPECT_EQ(only(node).code, "doctor.recover.not_plain");
  EXPECT_EQ(only(node).severity, Severity::kWarning) << "the driver may follow it";
  EXPECT_THAT(only(node).message, HasSubstr("/etc/vnpu.cfg is a symbolic link"));
  EXPECT_THAT(only(node).message, Not(HasSubstr("damaged")));
  EXPECT_EQ(only(node).command, "mv /etc/vnpu.cfg /etc/vnpu.cfg.away");
  file = {RecoverFile::State::kExposed, "/etc/vnpu.cfg", "its mode is 0666", 0, {}};
  EXPECT_EQ(only(node).code, "doctor.recover.exposed");
  EXPECT_THAT(only(node).message, HasSubstr("its mode is 0666"));
  EXPECT_EQ(only(node).command, "chown 0 /etc/vnpu.cfg && chmod 600 /etc/vnpu.cfg");
  file = {RecoverFile::State::kUnwritable, "/etc/vnpu.cfg", "Operation not permitted", EPERM, {}};
  EXPECT_EQ(only(node).code, "doctor.recover.unwritable");
  EXPECT_EQ(only(node).command, "chattr -i /etc/vnpu.cfg");
  file.error_number = EROFS;
  EXPECT_THAT(only(node).command, HasSubstr("remount,rw"));
  file.error_number = EACCES;
  EXPECT_EQ(only(node).command, "systemctl restart tangram");
}

// Without it an operator would read the driver's number, -8014, and find a file that looks well.
TEST(Doctor, FindsAFileThatTheDriverAloneCannotUse) {
  CutNode node;
  RecoverFile& file = node.readings.recover_file;
  file = {RecoverFile::State::kLockUnusable, "/etc/vnpu.cfg", "/run/x/flag is a directory", 0, "/run/x/flag"};
  EXPECT_EQ(only(node).code, "doctor.recover.lock");
  EXPECT_THAT(only(node).message, HasSubstr("/run/x/flag is a directory"));
  EXPECT_EQ(only(node).command, "mv /run/x/flag /run/x/flag.away");
  file = {RecoverFile::State::kSound, "/etc/vnpu.cfg", {}, 0, "/run/x/flag"};
  node.readings.unusable_file = CutRefusal{std::string(slice_reason::kFileUnusable), "answered -8014"};
  EXPECT_EQ(only(node).code, "doctor.recover.unusable");
  EXPECT_EQ(only(node).severity, Severity::kError);
  EXPECT_THAT(only(node).message, HasSubstr("cannot use its memory of slices, /etc/vnpu.cfg"));
  EXPECT_THAT(only(node).message, HasSubstr("answered -8014"));
  EXPECT_EQ(only(node).command, "ls -la /etc/vnpu.cfg* /run/x; df -h /etc /run/x; cat /etc/vnpu.cfg");
  file.state = RecoverFile::State::kDamaged;
  EXPECT_EQ(only(node).code, "doctor.recover.damaged") << "that says it already";
}

// Without it a user's own daemon would be told to restart a unit, which gives it nothing.
TEST(Doctor, TellsADaemonWithoutRootToRunAsRoot) {
  CutNode node;
  const MachineWalls walls{{"no root: all jobs run as user id 1000"}, true};
  EXPECT_EQ(only(node, walls).command, "systemctl restart tangram");
  node.options.own_uid = 1000;
  EXPECT_EQ(only(node, walls).command, "sudo systemctl enable --now tangram");
}

// Without it jobs would fail one after another on a machine that looks well.
TEST(Doctor, FindsDeviceNodesThatJobsCannotOpen) {
  CutNode node;
  node.options.own_uid = 5000;
  MachineWalls walls;
  walls.closed_to = 5000;
  walls.closed_devices = {{"/dev/davinci_manager", 1000, "HwHiAiUser", 0660},
                          {"/dev/davinci0", 1000, "HwHiAiUser", 0660}};
  EXPECT_EQ(only(node, walls).code, "doctor.devices.closed");
  EXPECT_EQ(only(node, walls).message,
            "jobs run as user 5000 and cannot open /dev/davinci_manager /dev/davinci0 (owner 1000, group "
            "HwHiAiUser, mode 0660)");
  EXPECT_EQ(only(node, walls).command, "usermod -aG HwHiAiUser \"$(id -nu 5000)\"");
  walls.closed_devices[0].mode = walls.closed_devices[1].mode = 0600;
  EXPECT_EQ(only(node, walls).command, "chmod a+rw /dev/davinci_manager /dev/davinci0");
}

// Without it what the devices say would stand in English among Chinese sentences.
TEST(Doctor, SpeaksOneLanguage) {
  CutNode node;
  node.readings.driver = {
      DriverStanding::Kind::kBelow,
      "driver 22.0.4 is older than 25.5, the oldest that is supported: what it offers is used, "
      "without promise; upgrade it"};
  node.readings.npus[0].slicing.support = SliceSupport::kUnknown;
  node.readings.npus[0].slicing.note = "board 0x99 of 310P3 is not in the support table";
  node.show(101, "vir02", 0, true);
  for (const FindingView& finding :
       find(node, {{"no control group for devices: only the job's own /dev keeps it from other NPUs"}, false},
            wire::Language::kChinese)) {
    EXPECT_EQ(finding.message.find(" the "), std::string::npos) << finding.message;
    EXPECT_EQ(finding.message.find(" is "), std::string::npos) << finding.message;
    EXPECT_EQ(finding.hint.find(" the "), std::string::npos) << finding.hint;
  }
}

// Without it an operator would not learn that tenants are less apart than promised, or why no slice is given.
TEST(Doctor, FindsMissingWallsAndSharedDevices) {
  const CutNode node;
  const FindingView wall = only(node, {{"no root: all jobs run as user id 5"}, true});
  EXPECT_EQ(wall.code, "doctor.wall");
  EXPECT_THAT(wall.message, HasSubstr("no root"));
  EXPECT_EQ(only(node, {{}, false}).code, "doctor.devices.shared");
}

// Without it the worst would stand last, where nobody looks.
TEST(Doctor, PutsTheWorstFirst) {
  CutNode node;
  node.show(102, "vir01", 0, false);
  node.readings.slices_recover = Sample<bool>::known(true);
  node.report.npus[0].health = Health::kCritical;
  node.apply(NodeReported{node.report});
  const std::vector<FindingView> findings = find(node, {{"no root: x"}, true});
  ASSERT_GE(findings.size(), 4U);
  EXPECT_EQ(findings.front().code, "doctor.npu.health");
  EXPECT_EQ(findings.front().command, "npu-smi set -t reset -i 7 -c 0");
  EXPECT_TRUE(std::is_sorted(findings.begin(), findings.end(),
                             [](const auto& a, const auto& b) { return a.severity < b.severity; }));
}

}  // namespace
}  // namespace tangram::service::testing
