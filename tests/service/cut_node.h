// A node with one 310P3 that can be cut, as records make it, and what a look at it shows. No service runs.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "service/harness.h"
#include "service/views.h"
#include "service/writer.h"

namespace tangram::service::testing {

class CutNode {
 public:
  explicit CutNode(Quota quota = {}) {
    options.node = "node-1";
    report.node = "node-1";
    report.npus = {NpuReport{0, "310P3", Bytes::mib(21'527), 8, Health::kOk, true, "310P (24 GiB)", {}}};
    apply(NodeReported{report});
    wire::TenantPutRecord team{{state.core().next_tenant_id(), {"team", "", quota}}, {}};
    apply(team);
    apply(wire::TenantPutRecord{{state.core().next_tenant_id(), {"other", "", {}}}, {}});
    readings.available = true;
    readings.driver_version = "25.5.0";
    readings.driver.kind = DriverStanding::Kind::kSupported;
    DeviceNpu& npu = readings.npus.emplace_back();
    npu.card_id = 7;
    npu.chip = "310P3";
    npu.health = Health::kOk;
    npu.ai_cores = Sample<std::int32_t>::known(8);
    npu.memory_total = Sample<Bytes>::known(Bytes::mib(21'527));
    npu.slicing.support = SliceSupport::kListed;
    npu.slicing.slices.valid = true;
  }

  void apply(const wire::JournalRecord& record) { state.apply(record, now); }

  TenantId tenant(const std::string& name) const { return state.core().find_tenant(name).value(); }
  Caller as(const std::string& name) const { return caller_of(Caller::Kind::kTenant, 1000, tenant(name)); }

  // A job of "team" that asks for a slice, decided by the core.
  JobId submit(std::int64_t memory_mib, std::int32_t cores = 0, const std::string& name = "work") {
    wire::JobSubmittedRecord record;
    record.input.spec.id = state.next_job_id();
    record.input.spec.tenant = tenant("team");
    record.input.spec.request = {RequestKind::kSlice, 1, Bytes::mib(memory_mib), cores, 0};
    record.program.name = name;
    const JobId id = record.input.spec.id;
    apply(record);
    decide();
    return id;
  }
  void decide() {
    Transaction transaction(state, now, 0);
    transaction.decide();
  }
  // Its slice stays behind, and is shown no longer than the device does.
  void end(JobId job) {
    Transaction transaction(state, now, 0);
    wire::AttemptEndedRecord record;
    record.input = {job, 1, Outcome::kSucceeded, false};
    transaction.record(record);
  }
  // "vir02", "whole", or "" for one that waits.
  std::string given(JobId job) const {
    const auto status = state.core().job(job);
    if (!status || status->npus.empty()) return {};
    return status->slice ? status->slice->template_name : "whole";
  }

  // The device shows a slice; with `stray` the core was told of it as of one that is no job's.
  void show(std::uint32_t id, const std::string& name, std::int32_t vgroup,
            const std::optional<bool>& residual = std::nullopt) {
    DeviceSlice slice;
    slice.id = id;
    slice.template_name = Sample<std::string>::known(name);
    slice.vgroup_id = Sample<std::uint32_t>::known(static_cast<std::uint32_t>(vgroup));
    readings.npus[0].slicing.slices.value.push_back(slice);
    if (!residual) return;
    report.npus[0] = state.core().npu(NpuIndex(0))->report;
    report.npus[0].strays.push_back({id, name, vgroup, *residual});
    apply(NodeReported{report});
  }

  Options options;
  State state;
  NodeReported report;
  DeviceReadings readings;
  TimeMs now{1'000};
};

}  // namespace tangram::service::testing
