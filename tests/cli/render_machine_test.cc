// What people see of slices, of a request that is only tried, and of what is wrong with a machine: letter by
// letter against golden/, and by what must hold at every width.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/golden.h"
#include "cli/locale.h"
#include "cli/render.h"
#include "cli/tiles.h"

namespace tangram::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using wire::SliceStanding;

Canvas canvas(std::size_t width = 80, bool unicode = false) {
  return {width, false, TimeMs(1'796'000'000'000), wire::Language::kEnglish, {}, unicode};
}

void expect_golden(const std::string& name, const std::string& text, std::size_t width = 80) {
  expect_as_kept(name, text);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const bool command = line.starts_with("  $ ") || line.starts_with("       $ ");
    EXPECT_TRUE(command || display_width(line) <= width) << line;
  }
}

wire::StandingSliceView slice(std::uint32_t id, const std::string& name, std::int64_t cores,
                              SliceStanding standing) {
  wire::StandingSliceView view;
  view.id = id;
  view.template_name = name;
  view.standing = standing;
  view.ai_cores = cores;
  view.memory = Bytes::gib(3 * cores);
  view.usable_memory = Bytes::mib(21'527 * cores / 8);
  return view;
}

wire::NpuSlicesView cut_npu() {
  wire::NpuSlicesView npu;
  npu.chip = "310P3";
  npu.model = "310P (24 GiB)";
  npu.health = Health::kOk;
  npu.mode = NpuMode::kSliced;
  npu.ai_cores = 8;
  npu.memory = Bytes::mib(21'527);
  npu.offered = true;
  npu.slices = {slice(100, "vir04", 4, SliceStanding::kHeld), slice(101, "vir01", 1, SliceStanding::kHeld),
                slice(102, "vir01", 1, SliceStanding::kResidual),
                slice(103, "vir01", 1, SliceStanding::kForeign)};
  npu.slices[0].tenant = "team-a";
  npu.slices[0].job = "j-7";
  npu.slices[0].job_name = "answers";
  npu.free_ai_cores = 1;
  const wire::ReasonView cores{"slice.rule.resource", "AI cores: 2 needed, 1 of 8 left", "", {}};
  npu.cuts = {{"vir01", 1, 1, Bytes::gib(3), Bytes::mib(2690), 1, {}},
              {"vir02", 2, 2, Bytes::gib(6), Bytes::mib(5381), 0, {cores}},
              {"vir02_1c", 2, 1, Bytes::gib(6), Bytes::mib(5381), 0, {cores}}};
  return npu;
}

wire::SlicesView machine() {
  wire::NpuSlicesView whole;
  whole.npu = 1;
  whole.chip = "310P3";
  whole.mode = NpuMode::kWhole;
  whole.ai_cores = 8;
  whole.memory = Bytes::mib(21'527);
  whole.tenant = "team-b";
  whole.job = "j-9";
  whole.note = "NPU 1 is in use whole; it can be cut once that job has ended";
  return {"node-1", {cut_npu(), whole}};
}

// Without it nobody could tell at a glance what is free, whose each slice is, and what fits next.
TEST(RenderSlices, Golden) {
  expect_golden("slices", render_slices(machine(), canvas()));
  expect_golden("slices_unicode", render_slices(machine(), canvas(80, true)));
  Canvas chinese = canvas();
  chinese.language = wire::Language::kChinese;
  expect_golden("zh_slices", render_slices(machine(), chinese));
}

// Without it what a program finds on the whole of an NPU would be told nowhere, and a slice that is long gone
// be taken for one that takes room for good.
TEST(RenderSlices, TellsUsableMemoryAndWhatIsBeingChecked) {
  wire::NpuSlicesView npu = cut_npu();
  npu.slices = {slice(102, "vir01", 1, SliceStanding::kResidual)};
  npu.slices[0].unseen = true;
  npu.usable_memory = Bytes::mib(19'722);
  const std::string text = render_slices({"node-1", {npu}}, canvas(200));
  EXPECT_THAT(text, HasSubstr("21527MiB (19722MiB usable), sliced"));
  EXPECT_THAT(text, HasSubstr("residual, and being checked"));
  EXPECT_THAT(text, HasSubstr("next, one of: 1 x vir01 (3GiB, 1 AI core)"));
}

// Without it "no" would stand there without the rule that says so.
TEST(RenderSlices, TellsTheRuleOfACutThatWasAskedFor) {
  wire::NpuSlicesView npu = cut_npu();
  npu.asked = wire::SliceMixView{{"vir04", "vir01"}, false, npu.cuts[1].rules};
  const std::string text = render_slices({"node-1", {npu}}, canvas());
  EXPECT_THAT(text, HasSubstr("no: vir04, vir01 cannot be cut"));
  EXPECT_THAT(text, HasSubstr("AI cores: 2 needed, 1 of 8 left [slice.rule.resource]"));
  EXPECT_EQ(text.find("next"), std::string::npos);
}

// Without it a script would have to read a drawing.
TEST(RenderSlices, IsATableWhereOneIsAskedFor) {
  Canvas csv = canvas();
  csv.table = {.headers = false, .csv = true};
  EXPECT_THAT(render_slices(machine(), csv), HasSubstr("0,102,vir01,residual,1,3GiB,2690MiB,,,,,,310P3"));
  Canvas ids = canvas();
  ids.table.ids = true;
  EXPECT_EQ(render_slices(machine(), ids), "100\n101\n102\n103\n");
}

// Without it a drawing would break on a small terminal: no line is wider than asked, and every core is drawn.
TEST(Tiles, FitEveryWidth) {
  const std::vector<Tile> tiles{{12, 'A', ' '}, {1, 'B', '!'}, {6, 'C', '?'}, {13, '.', ' '}};
  for (std::size_t width = 3; width <= 120; ++width) {
    std::size_t cores = 0;
    for (const std::string& line : draw_tiles(tiles, width, canvas(width))) {
      EXPECT_LE(display_width(line), width);
      for (const char c : line) cores += c == 'A' || c == 'B' || c == 'C' || c == '.' ? 1 : 0;
    }
    EXPECT_EQ(cores, 32U) << "at width " << width;
  }
}

// Without it who has no UTF-8 would read signs that their terminal does not know.
TEST(Tiles, AreAsciiUnlessMoreIsKnown) {
  const std::vector<Tile> tiles{{2, 'A', '!'}, {1, '.', ' '}};
  EXPECT_THAT(draw_tiles(tiles, 40, canvas()), ElementsAre("+----+--+", "|A!A!|. |", "+----+--+"));
  EXPECT_THAT(draw_tiles(tiles, 40, canvas(40, true)), ElementsAre("┌────┬──┐", "│A!A!│. │", "└────┴──┘"));
  EXPECT_TRUE(is_utf8("en_US.UTF-8"));
  EXPECT_TRUE(is_utf8("C.utf8@x"));
  EXPECT_FALSE(is_utf8("zh_CN.GB18030"));
  EXPECT_FALSE(is_utf8("POSIX"));
}

// Without it whoever asks beforehand would not see what they would get, or what has to end.
TEST(RenderFit, Golden) {
  wire::FitView now;
  now.answer = wire::FitAnswer::kNow;
  now.verdict = "it would start now, on NPU 0";
  now.granted =
      "vir02: 2 AI cores, 6GiB nominal, 5381MiB for the program; the smallest template that holds 4GiB";
  expect_golden("fit_now", render_fit(now, canvas()));
  wire::FitView later = now;
  later.answer = wire::FitAnswer::kLater;
  later.tenant = "team-a";
  later.verdict = "it would wait: the job needs 4GiB; of 1 that would do, 0 free";
  later.blockers = {{"capacity.memory.busy", "the job needs 4GiB; of 1 that would do, 0 free", "", {}}};
  later.remedies = {{"answers ends or is cancelled", "tangram cancel j-7", true}};
  later.position = 1;
  later.queue_length = 1;
  expect_golden("fit_later", render_fit(later, canvas()));
  wire::FitView never;
  never.answer = wire::FitAnswer::kNever;
  never.verdict = "it would be refused: the job asks for 2 NPUs, but tenant team-a is limited to 1";
  never.blockers = {{"quota.npus.above_limit", never.verdict, "ask for at most 1", {}}};
  expect_golden("fit_never", render_fit(never, canvas()));
}

wire::DoctorView sick_machine() {
  wire::DoctorView view;
  view.node = "node-1";
  view.driver_version = "22.0.4";
  view.findings = {{wire::Severity::kError,
                    "doctor.slices.mode",
                    "the driver cuts for virtual machines: no job can get a slice",
                    "set the mode of the machine to containers",
                    "npu-smi set -t vnpu-mode -d 0",
                    {},
                    {}},
                   {wire::Severity::kWarning, "doctor.slices.residual",
                    "slice 101 (vir02) of NPU 0 is nobody's, and its room is not offered", "",
                    "npu-smi set -t destroy-vnpu -i 7 -c 0 -v 101", 0, 101}};
  return view;
}

// Without it a finding would be read without the command that mends it.
TEST(RenderDoctor, Golden) {
  expect_golden("doctor", render_doctor(sick_machine(), canvas()));
  wire::DoctorView well = sick_machine();
  well.findings.clear();
  EXPECT_EQ(render_doctor(well, canvas()), "nothing is wrong with node-1; driver 22.0.4\n");
  Canvas csv = canvas();
  csv.table = {.headers = false, .csv = true};
  EXPECT_THAT(render_doctor(sick_machine(), csv), HasSubstr("warning,doctor.slices.residual,0,101,"));
}

}  // namespace
}  // namespace tangram::cli
