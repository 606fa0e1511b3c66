// Metrics of slices, from a state and a look.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "service/cut_node.h"
#include "service/metrics.h"

namespace tangram::service::testing {
namespace {

// Series of the exposition by name with labels.
std::map<std::string, double> scrape(const CutNode& node) {
  const MetricsState state = metrics_state(node.state);
  DeviceLook look;
  look.readings = node.readings;
  const Meters meters;
  MetricFamilies families;
  const MetricsSource source{node.options, state, look, meters, {}, 0, {}, {}};
  add_metrics(source, families);
  std::map<std::string, double> samples;
  std::istringstream lines(families.text());
  for (std::string line; std::getline(lines, line);) {
    const std::size_t space = line.rfind(' ');
    if (!line.starts_with('#') && space != std::string::npos)
      samples[line.substr(0, space)] = std::stod(line.substr(space + 1));
  }
  return samples;
}

std::string slices_of(const std::string& shape, const std::string& standing) {
  return R"(tangram_npu_slices{node="node-1",npu="0",template=")" + shape + R"(",standing=")" + standing +
         R"("})";
}
std::string room_of(const std::string& shape) {
  return R"(tangram_npu_slice_room{node="node-1",npu="0",template=")" + shape + R"("})";
}

// Without it an alert about leftovers, or a board of what still fits, could not be made.
TEST(SliceMetrics, RoomAndSlicesAreCountedByTemplate) {
  CutNode node;
  auto samples = scrape(node);
  EXPECT_EQ(samples.at(room_of("vir01")), 7);
  EXPECT_EQ(samples.at(room_of("vir04")), 1);
  EXPECT_EQ(samples.at(slices_of("vir01", "residual")), 0) << "it does not appear out of nothing";
  node.submit(7000);
  node.show(100, "vir04", 0);
  const JobId left = node.submit(1024);
  node.show(101, "vir01", 1);
  node.end(left);
  samples = scrape(node);
  EXPECT_EQ(samples.at(slices_of("vir04", "held")), 1);
  EXPECT_EQ(samples.at(slices_of("vir01", "residual")), 1);
  EXPECT_EQ(samples.at(slices_of("vir01", "foreign")), 0);
  EXPECT_EQ(samples.at(room_of("vir04")), 0);
  EXPECT_EQ(samples.at(room_of("vir01")), 2);
}

// Without it room would be promised on an NPU that nobody cuts, or that is in use whole.
TEST(SliceMetrics, ThereIsNoRoomWhereNothingIsCut) {
  CutNode node;
  node.submit(13'000);
  EXPECT_EQ(scrape(node).at(room_of("vir01")), 0);
  CutNode uncut;
  uncut.report.npus[0].cuttable = false;
  uncut.apply(NodeReported{uncut.report});
  EXPECT_EQ(scrape(uncut).at(room_of("vir01")), 0);
  uncut.report.npus[0].template_set.clear();
  uncut.report.npus[0].chip = "950";
  uncut.apply(NodeReported{uncut.report});
  EXPECT_FALSE(scrape(uncut).contains(room_of("vir01")));
}

// Without it a small slice would be shown as a whole NPU, or its job not at all.
TEST(SliceMetrics, AJobIsCountedByItsSlice) {
  CutNode node;
  const std::string small = wire::format_job_id(node.submit(1024));
  const std::string middle = wire::format_job_id(node.submit(4096));
  const auto samples = scrape(node);
  const auto allocated = [&](const std::string& job) {
    return samples.at(R"(tangram_job_memory_allocated_bytes{tenant="team",job_id=")" + job + R"("})");
  };
  EXPECT_EQ(allocated(small), static_cast<double>(Bytes::mib(3072).count));
  EXPECT_EQ(allocated(middle), static_cast<double>(Bytes::mib(6144).count));
  EXPECT_EQ(samples.at(R"(tangram_npu_memory_allocated_bytes{node="node-1",npu="0"})"),
            static_cast<double>(Bytes::mib(9216).count));
  EXPECT_EQ(
      samples.at(R"(tangram_npu_lease_info{node="node-1",npu="0",tenant="team",job_id=")" + small + R"("})"),
      1);
}

}  // namespace
}  // namespace tangram::service::testing
