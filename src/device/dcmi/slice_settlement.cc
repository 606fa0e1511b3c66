#include "device/dcmi/slice_settlement.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "device/dcmi/abi.h"
#include "device/dcmi/abi_vnpu.h"
#include "device/dcmi/codes.h"
#include "device/dcmi/plausible.h"
#include "device/dcmi/slice_entry.h"

namespace tangram::device {
namespace {

std::string npu_text(std::uint32_t physical_id) {
  return "NPU " + std::to_string(physical_id);
}

tl::unexpected<Error> failed(Code code, std::string_view reason, std::string message, std::string hint = {}) {
  return fail(code, std::string(reason), std::move(message), std::move(hint));
}

tl::unexpected<Error> unsettled(std::string message, const Error& cause) {
  Error error = wrap(std::move(message), cause);
  error.reason = slice_reason::kUnsettled;
  error.hint = "the next look at the devices shows what became of it";
  return fail(std::move(error));
}

// How the driver took it, in words.
std::string answer_text(const HelperAnswer& answer) {
  if (answer.kind == AnswerKind::kDone) return "the driver reported success, but the hardware shows none";
  return failure_text(answer.text, answer.code);
}

bool is_made_of(const DeviceSlice& slice, const std::string& template_name) {
  return !slice.template_name.valid || slice.template_name.value == template_name;
}

std::string free_text(const SliceResources& free) {
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "free: " : ", ") + part; };
  if (free.ai_cores_milli.valid) {
    const std::int32_t milli = free.ai_cores_milli.value;
    std::string cores = std::to_string(milli / 1000);
    if (milli % 1000 != 0) cores += "." + std::to_string(milli % 1000 / 100);
    add(cores + (cores == "1" ? " AI core" : " AI cores"));
  }
  if (free.ai_cpus.valid) add(std::to_string(free.ai_cpus.value) + " AI CPUs");
  if (free.memory.valid) add(format_bytes(free.memory.value));
  return text.empty() ? "what is free is not known" : text;
}

tl::unexpected<Error> refused_create(const SliceOrder& order, const HelperAnswer& answer,
                                     const DeviceSlicing& after) {
  const std::string text = npu_text(order.physical_id) + " was not cut into a " + order.template_name + ": " +
                           answer_text(answer) + "; " + free_text(after.free);
  if (answer.kind != AnswerKind::kDone && answer.code == abi::kFile) {
    return failed(Code::kFailedPrecondition, slice_reason::kFileUnusable, text,
                  "the driver cannot use the file in which it remembers slices, or its lock: tangram doctor "
                  "says more");
  }
  const TemplateNeed need = need_of(order.template_name);
  const auto lacks = [](const Sample<std::int32_t>& free, std::int32_t wanted) {
    return free.valid && free.value < wanted;
  };
  if (lacks(after.free.ai_cores_milli, need.ai_cores * 1000) || lacks(after.free.ai_cpus, need.ai_cpus)) {
    return failed(Code::kNotNow, slice_reason::kNoCapacity, text);
  }
  return failed(Code::kFailedPrecondition, slice_reason::kRefused, text,
                "either this board does not have the template (npu-smi info -t template-info), or something "
                "else that it needs is taken (npu-smi info -t info-vnpu)");
}

// Without an id in the order, only one new slice of that template can be told to be the ordered one.
const DeviceSlice* find_made(const SliceOrder& order, const DeviceSlicing& before, const DeviceSlicing& after,
                             const HelperAnswer& answer, std::vector<const DeviceSlice*>& fresh) {
  for (const DeviceSlice& slice : after.slices.value) {
    const bool is_new = find_slice(before, slice.id) == nullptr;
    if (is_new && is_made_of(slice, order.template_name)) fresh.push_back(&slice);
  }
  if (answer.kind != AnswerKind::kDone) return nullptr;
  const auto told = static_cast<std::uint32_t>(answer.numbers.empty() ? 0 : answer.numbers.front());
  for (const DeviceSlice* slice : fresh) {
    if (slice->id == told) return slice;
  }
  return fresh.size() == 1 ? fresh.front() : nullptr;
}

}  // namespace

Result<void> check_slice_id(std::uint32_t physical_id, std::uint32_t id) {
  if (is_slice_id(physical_id, id)) return {};
  const std::uint32_t first = first_slice_id(physical_id);
  return failed(Code::kInvalidArgument, slice_reason::kInvalid,
                "slice " + std::to_string(id) + " cannot be one of " + npu_text(physical_id) +
                    "; its slices are " + std::to_string(first) + " to " +
                    std::to_string(first + kSlicesPerNpuMax - 1));
}

Result<void> check_order(const SliceOrder& order) {
  if (!is_template_name(order.template_name)) {
    return failed(Code::kInvalidArgument, slice_reason::kInvalid,
                  "a template's name is 1 to " + std::to_string(abi::kTemplateNameMax) +
                      " letters, digits and underscores");
  }
  if (order.id) TG_TRY_VOID(check_slice_id(order.physical_id, *order.id));
  return {};
}

Result<void> check_refusal(const HelperAnswer& answer, const std::string& what) {
  if (answer.kind == AnswerKind::kDone) return {};
  const std::string text = what + ": " + failure_text(answer.text, answer.code);
  if (is_unsupported(answer.code)) {
    return failed(Code::kUnimplemented, slice_reason::kUnsupported, text,
                  "this driver does not do that on this chip");
  }
  if (answer.code == abi::kNotPermitted) {
    return failed(Code::kPermissionDenied, slice_reason::kNotPermitted, text,
                  "run tangramd as root on the host; slices are cut in container mode only "
                  "(npu-smi set -t vnpu-mode -d 0)");
  }
  return {};
}

Result<DeviceSlice> settle_create(const SliceOrder& order, const DeviceSlicing& before,
                                  const Result<HelperAnswer>& answer, const Result<DeviceSlicing>& after) {
  const std::string what = "cutting " + npu_text(order.physical_id) + " into a " + order.template_name;
  if (!after) return unsettled(what + " was not confirmed", answer ? after.error() : answer.error());
  if (order.id) {
    const DeviceSlice* slice = find_slice(*after, *order.id);
    if (slice != nullptr && is_made_of(*slice, order.template_name)) return *slice;
    if (slice != nullptr) {
      return unsettled(
          what, Error{Code::kAborted,
                      {},
                      "slice " + std::to_string(slice->id) + " has become a " + slice->template_name.value,
                      {},
                      {},
                      nullptr});
    }
    if (!answer) return unsettled(what + " was cut off", answer.error());
    return refused_create(order, *answer, *after);
  }
  if (!answer) return unsettled(what + " was cut off", answer.error());
  std::vector<const DeviceSlice*> fresh;
  if (const DeviceSlice* made = find_made(order, before, *after, *answer, fresh)) return *made;
  if (!fresh.empty()) {
    return unsettled(what + ", while slice " + std::to_string(fresh.front()->id) + " came into being",
                     Error{Code::kAborted, {}, answer_text(*answer), {}, {}, nullptr});
  }
  return refused_create(order, *answer, *after);
}

Result<void> settle_destroy(std::uint32_t physical_id, std::uint32_t id, const Result<HelperAnswer>& answer,
                            const Result<DeviceSlicing>& after) {
  const std::string name = "slice " + std::to_string(id) + " of " + npu_text(physical_id);
  if (!after) {
    return unsettled("returning " + name + " was not confirmed", answer ? after.error() : answer.error());
  }
  if (find_slice(*after, id) == nullptr) return {};
  if (!answer) return unsettled("returning " + name + " was cut off", answer.error());
  if (answer->kind == AnswerKind::kDone) {
    return failed(Code::kFailedPrecondition, slice_reason::kRefused,
                  name + " is still there, although the driver reported success",
                  "see whether the driver can write /etc/vnpu.cfg");
  }
  const std::string text = name + " was not returned: " + failure_text(answer->text, answer->code);
  if (answer->code == abi::kInvalidParameter || answer->code == abi::kOccupied ||
      answer->code == abi::kNotInContainer) {
    return failed(Code::kFailedPrecondition, slice_reason::kInUse,
                  text + "; so the driver answers while a process uses it");
  }
  return failed(Code::kFailedPrecondition, slice_reason::kRefused, text);
}

Result<void> settle_switch(const std::string& what, bool on, const Result<HelperAnswer>& answer,
                           const Result<Field<bool>>& after) {
  if (after && after->valid && after->value == on) return {};
  if (!answer) return unsettled(what + " was cut off", answer.error());
  if (!after) return unsettled(what + " was not confirmed", after.error());
  const bool done = answer->kind == AnswerKind::kDone;
  if (done && !after->valid) return {};  // a driver that takes the setting and cannot tell it
  return failed(Code::kFailedPrecondition, slice_reason::kRefused,
                what + " had no effect: " +
                    (done ? "the driver reported success, but keeps the old setting"
                          : failure_text(answer->text, answer->code)));
}

const DeviceSlice* find_slice(const DeviceSlicing& slicing, std::uint32_t id) {
  const std::vector<DeviceSlice>& slices = slicing.slices.value;
  const auto found =
      std::find_if(slices.begin(), slices.end(), [id](const DeviceSlice& slice) { return slice.id == id; });
  return found == slices.end() ? nullptr : &*found;
}

TemplateNeed need_of(const std::string& template_name) {
  constexpr std::string_view kPrefix = "vir";
  TemplateNeed need;
  if (!template_name.starts_with(kPrefix)) return need;
  const char* const end = template_name.data() + template_name.size();
  const auto cores = std::from_chars(template_name.data() + kPrefix.size(), end, need.ai_cores);
  if (cores.ec != std::errc() || need.ai_cores > 1000) return {};
  need.ai_cpus = 1;
  if (cores.ptr == end || *cores.ptr != '_') return need;
  std::int32_t cpus = 0;
  const auto suffix = std::from_chars(cores.ptr + 1, end, cpus);
  if (suffix.ec == std::errc() && suffix.ptr != end && *suffix.ptr == 'c') need.ai_cpus = cpus;
  return need;
}

}  // namespace tangram::device
