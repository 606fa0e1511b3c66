#include "device/dcmi/slice_commands.h"

#include <string>
#include <utility>

#include "base/invariant.h"
#include "device/dcmi/abi_vnpu.h"
#include "device/dcmi/slice_entry.h"
#include "device/dcmi/slice_settlement.h"

namespace tangram::device {
namespace {

HelperRequest request_of(Operation operation, NpuAddress at, std::uint32_t number = 0) {
  HelperRequest request;
  request.operation = operation;
  request.address = at;
  request.number = number;
  return request;
}

std::string npu_text(std::uint32_t physical_id) {
  return "NPU " + std::to_string(physical_id);
}

std::string on_or_off(bool on) {
  return on ? "on" : "off";
}

}  // namespace

// A question, which may be asked of a new helper when the one before was lost.
Result<HelperAnswer> SliceCommands::ask(const HelperRequest& request) {
  TG_TRY_VOID(session_.ensure(std::chrono::steady_clock::now() + options_.init_deadline));
  return session_.ask(request, options_.call_deadline);
}

Result<DeviceSlicing> SliceCommands::look(NpuAddress at, std::uint32_t physical_id) {
  TG_TRY(const HelperAnswer answer, ask(request_of(Operation::kReadSlices, at)));
  DeviceSlicing slicing = slicing_of(answer.slicing, std::chrono::steady_clock::now());
  if (slicing.slices.valid) return slicing;
  const std::string text = "the slices of " + npu_text(physical_id) + " cannot be read: " + slicing.note;
  if (is_unsupported(answer.slicing.vnpus.code)) {
    return fail(Code::kUnimplemented, std::string(slice_reason::kUnsupported), text,
                "this driver cannot cut this chip; it is handed out whole");
  }
  return fail(Code::kUnavailable, std::string(kUnreadable), text);
}

Result<DeviceSlice> SliceCommands::create(NpuAddress at, const SliceOrder& order) {
  TG_TRY(const DeviceSlicing before, look(at, order.physical_id));
  if (order.id && find_slice(before, *order.id) != nullptr) {
    return fail(Code::kAlreadyExists, std::string(slice_reason::kExists),
                npu_text(order.physical_id) + " already has a slice " + std::to_string(*order.id));
  }
  if (before.slices.value.size() >= kSlicesPerNpuMax) {
    return fail(Code::kNotNow, std::string(slice_reason::kNoCapacity),
                npu_text(order.physical_id) + " already has " + std::to_string(kSlicesPerNpuMax) + " slices");
  }
  HelperRequest request = request_of(Operation::kCreateSlice, at, order.id.value_or(abi::kVnpuIdAuto));
  request.texts = {order.template_name};
  request.vgroup = order.vgroup;
  const auto answer = session_.ask(request, options_.command_deadline);
  if (answer) {
    TG_TRY_VOID(
        check_refusal(*answer, "cutting " + npu_text(order.physical_id) + " into a " + order.template_name));
  }
  return settle_create(order, before, answer, look(at, order.physical_id));
}

Result<void> SliceCommands::destroy(NpuAddress at, std::uint32_t physical_id, std::uint32_t id) {
  TG_TRY(const DeviceSlicing before, look(at, physical_id));
  const DeviceSlice* slice = find_slice(before, id);
  if (slice == nullptr) return {};
  const std::string name = "slice " + std::to_string(id) + " of " + npu_text(physical_id);
  if (slice->container_used.valid && slice->container_used.value) {
    return fail(Code::kFailedPrecondition, std::string(slice_reason::kInUse),
                name + " is in use by a container");
  }
  const auto answer = session_.ask(request_of(Operation::kDestroySlice, at, id), options_.command_deadline);
  if (answer) TG_TRY_VOID(check_refusal(*answer, "returning " + name));
  return settle_destroy(physical_id, id, answer, look(at, physical_id));
}

// The helper waits for the lock about as long as a command may take.
Result<void> SliceCommands::forget(NpuAddress at, std::uint32_t physical_id, std::uint32_t id) {
  TG_ASSERT(options_.machine_root.has_value(), "it is known where the driver remembers slices");
  TG_TRY_VOID(session_.ensure(std::chrono::steady_clock::now() + options_.init_deadline));
  HelperRequest request = request_of(Operation::kForgetSlice, at, id);
  request.texts = {*options_.machine_root};
  TG_TRY(const HelperAnswer answer, session_.ask(request, options_.command_deadline));
  if (answer.kind == AnswerKind::kDone) return {};
  return fail(Code::kUnavailable, std::string(slice_reason::kNotForgotten),
              "the driver remembers slice " + std::to_string(id) + " of " + npu_text(physical_id) +
                  " and would cut it again, if its recover mode were turned on: " + answer.text,
              "tangram doctor says what is wrong with the file");
}

Result<void> SliceCommands::set_slices_recover(bool on) {
  const std::string what = "turning the recovery of slices " + on_or_off(on);
  session_.begin();
  TG_TRY_VOID(session_.ensure(std::chrono::steady_clock::now() + options_.init_deadline));
  const auto answer =
      session_.ask(request_of(Operation::kSetSlicesRecover, {}, on ? 1 : 0), options_.command_deadline);
  if (answer) TG_TRY_VOID(check_refusal(*answer, what));
  const auto after = ask(request_of(Operation::kReadModes, {}));
  return settle_switch(what, on, answer,
                       after.map([](const HelperAnswer& now) { return now.modes.slices_recover; }));
}

Result<void> SliceCommands::set_device_share(NpuAddress at, std::uint32_t physical_id, bool on) {
  const std::string what = "turning device sharing of " + npu_text(physical_id) + " " + on_or_off(on);
  TG_TRY_VOID(session_.ensure(std::chrono::steady_clock::now() + options_.init_deadline));
  const auto answer =
      session_.ask(request_of(Operation::kSetDeviceShare, at, on ? 1 : 0), options_.command_deadline);
  if (answer) TG_TRY_VOID(check_refusal(*answer, what));
  const auto after = ask(request_of(Operation::kReadSlices, at));
  return settle_switch(what, on, answer,
                       after.map([](const HelperAnswer& now) { return now.slicing.device_share; }));
}

}  // namespace tangram::device
