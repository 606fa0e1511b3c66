// What the daemon's configuration says about the service; see docs/configuration.md for the fields' names and
// meaning. Plain values with the documented defaults.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "catalog/chip.h"
#include "model/tenant.h"
#include "ports/executor.h"
#include "service/pace.h"
#include "service/slice_book.h"

namespace tangram::service {

struct UidRange {
  std::uint32_t first = 200'000;
  std::uint32_t count = 10'000;
};

// Of the group that jobs are in besides their own, as the configuration has it. A group of that name may not
// exist.
struct DeviceGroupSetting {
  std::string name = "HwHiAiUser";
  std::string file;          // the configuration
  bool has_section = false;  // it has a section `devices`
};

struct Options {
  std::string version = "0.1.0";
  std::string node = "localhost";

  // Scheduling.
  std::int64_t keep_after_ms = 600'000;       // SettingsChanged::keep_after_ms
  std::vector<ChipModel> chips;               // described by the operator, in front of the built-in ones
  bool slice_variants = true;                 // SettingsChanged::slice_variants
  SliceCount slice_count = SliceCount::kOne;  // SettingsChanged::slice_count
  SlicePolicy slice_policy;
  std::int64_t scan_interval_ms = 2'000;
  // An NPU that was lost (absent, critical, driver away) in every look for so long: the job that holds it is
  // stopped.
  std::int64_t lost_after_ms = 1'500;
  // How long the end of a failed job may wait for a look at its NPUs, which tells a lost device from a faulty
  // program.
  std::int64_t failure_scan_wait_ms = 2'000;

  // Bounds.
  std::size_t commands_max = 4'096;      // waiting for the writer; more are refused
  std::size_t group_commands_max = 512;  // committed together
  std::int64_t jobs_max = 100'000;       // unfinished, of all tenants
  std::int64_t jobs_per_tenant_max = 50'000;
  std::int64_t bytes_per_tenant_max = 256LL << 20;  // of its jobs, as State::bytes_by_tenant() counts
  std::int64_t tenants_max = 10'000;
  std::int64_t tokens_max = 1'000;  // active
  std::size_t effect_threads = 4;
  std::size_t event_streams_max = 256;  // open at once; of them those of one tenant:
  std::size_t event_streams_per_tenant_max = 32;
  // Silence of an event stream between two signs of life, and between two looks at whether its caller may
  // still read.
  std::int64_t event_silence_ms = 10'000;

  // Retention.
  std::int64_t ended_keep_ms = 7LL * 24 * 3'600'000;
  std::size_t ended_max = 10'000;
  std::int64_t journal_keep_ms = 90LL * 24 * 3'600'000;
  std::uint64_t snapshot_every = 20'000;  // records
  std::int64_t sweep_interval_ms = 60'000;

  // Jobs.
  UidRange uids;
  uid_t own_uid = 0;                 // of the daemon; not 0: every job runs as this user
  std::vector<gid_t> device_groups;  // groups that may open the device nodes
  DeviceGroupSetting device_group;   // where that is set
  HostLimits host_defaults{4'000, Bytes::gib(16), 4'096};
  std::int64_t log_bytes_max = 64LL << 20;
  std::int64_t grace_ms = 10'000;
  // How long a lease outlives a connection that broke, or a restart of the daemon.
  std::int64_t lease_grace_ms = 10'000;
  std::string ascend_home = "/usr/local/Ascend";
  std::string driver_directory = "/usr/local/Ascend/driver";  // on the host
  std::string device_directory = "/dev";                      // on the host
  std::string work_home;                                      // HOME of a job; empty: its work directory

  Pace pace;  // never configured
};

}  // namespace tangram::service
