// A service whose NPUs can be cut.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "service/harness.h"

namespace tangram::service::testing {

// So many 310P3 that can be cut, and policies that need no patience.
struct Sliced : Machine {
  explicit Sliced(int npus = 1) : Machine(npus) {
    for (int i = 0; i < npus; ++i) devices.set_npu(npu_310p3(static_cast<std::uint32_t>(i)));
    options.slice_policy.late_ms = 0;
    options.slice_policy.create_pause_ms = 1;
    options.slice_policy.return_pause_ms = 5;
    options.slice_policy.look_pause_ms = 5;
  }

  std::string slice(const std::string& memory, const std::string& more = "") {
    return submitted(submit(R"({"tenant":"team-a","command":["/bin/true"],"slice":{"memory":")" + memory +
                            R"("})" + more + "}"));
  }
  std::string submitted(const Answer& answer) {
    const auto view = wire::read_job_view(answer.body);
    EXPECT_TRUE(view) << answer.body;
    return view ? view->id : std::string();
  }
  void finish(const std::string& job) { world.finish(key(job), Outcome::kSucceeded, 0); }
  std::string reason(const std::string& job) {
    const wire::JobView now = view(job);
    return now.reason ? now.reason->code : std::string();
  }
  bool waits_for(const std::string& job, const std::string& code) {
    return eventually([&] { return reason(job) == code; });
  }
  // Neither on the devices nor in the book.
  bool is_clean() {
    return eventually([&] {
      const wire::StatusView now = service->status(kOperator);
      const bool none = std::all_of(now.npus.begin(), now.npus.end(),
                                    [](const wire::NpuStatusView& npu) { return npu.slices.empty(); });
      return none && devices.slices().empty();
    });
  }
};

}  // namespace tangram::service::testing
