#include "service/chip_totals.h"

#include "base/units.h"

namespace tangram::service {
namespace {

constexpr std::int64_t kMilli = 1'000;

}  // namespace

ReportedTotals reported_totals(const SliceResources& total) {
  ReportedTotals reported;
  const auto tell = [&reported](ChipResource resource, const Sample<std::int32_t>& milli,
                                std::int64_t in_a_unit = 1) {
    if (milli.valid) reported[index_of(resource)] = milli.value * in_a_unit / kMilli;
  };
  tell(ChipResource::kAiCores, total.ai_cores_milli);
  tell(ChipResource::kVpc, total.vpc_milli);
  tell(ChipResource::kVenc, total.venc_milli);
  tell(ChipResource::kVdec, total.vdec_milli);
  tell(ChipResource::kJpegd, total.jpegd_milli);
  tell(ChipResource::kJpege, total.jpege_milli);
  tell(ChipResource::kPngdHalves, total.pngd_milli, 2);
  if (total.ai_cpus.valid) reported[index_of(ChipResource::kAiCpus)] = total.ai_cpus.value;
  if (total.memory.valid) reported[index_of(ChipResource::kMemory)] = total.memory.value.count;
  return reported;
}

std::string total_text(ChipResource resource, std::int64_t amount) {
  return resource == ChipResource::kMemory ? format_bytes(Bytes(amount)) : std::to_string(amount);
}

std::string chip_field(ChipResource resource) {
  const bool is_media = index_of(resource) >= index_of(ChipResource::kVpc);
  return (is_media ? "media." : "") + std::string(to_string(resource));
}

}  // namespace tangram::service
