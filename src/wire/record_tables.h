// Tables of the parts of journal records. Private to wire.
#pragma once

#include <cstdint>
#include <limits>

#include "wire/codecs.h"
#include "wire/record.h"
#include "wire/table.h"

namespace tangram::wire {

inline constexpr std::size_t kAnyCount = std::numeric_limits<std::size_t>::max();

Codec<std::int64_t> any_int64();
Codec<std::int32_t> any_int32();
Codec<std::uint32_t> any_uint32();

const Table<TenantSpec>& tenant_spec_record_table();
const Table<JobSpec>& job_spec_record_table();
const Table<SlicePlacement>& slice_record_table();
const Table<NpuReport>& npu_report_record_table();
const Table<JobProgram>& program_record_table();
const Table<TenantExtras>& extras_record_table();
const Table<SupervisorIdentity>& supervisor_record_table();

}  // namespace tangram::wire
