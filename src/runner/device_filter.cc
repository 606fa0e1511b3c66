#include "runner/device_filter.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "runner/unique_fd.h"

namespace tangram::runner {
namespace {

bpf_insn load_field(std::uint8_t to, std::int16_t offset) {
  bpf_insn instruction{};
  instruction.code = BPF_LDX | BPF_MEM | BPF_W;
  instruction.dst_reg = to & 0xF;
  instruction.src_reg = BPF_REG_1;
  instruction.off = offset;
  return instruction;
}

bpf_insn with_constant(int code, std::uint8_t reg, std::int16_t jump, std::uint32_t constant) {
  bpf_insn instruction{};
  instruction.code = static_cast<std::uint8_t>(code);
  instruction.dst_reg = reg & 0xF;
  instruction.off = jump;
  instruction.imm = static_cast<std::int32_t>(constant);
  return instruction;
}

void append_verdict(std::vector<bpf_insn>& program, bool allowed) {
  program.push_back(with_constant(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, allowed ? 1 : 0));
  program.push_back(with_constant(BPF_JMP | BPF_EXIT, 0, 0, 0));
}

// The context is struct bpf_cgroup_dev_ctx: the low half of access_type is the kind of the node.
std::vector<bpf_insn> filter_program(const std::vector<DeviceNumber>& devices) {
  std::vector<bpf_insn> program;
  program.push_back(load_field(BPF_REG_2, offsetof(bpf_cgroup_dev_ctx, access_type)));
  program.push_back(load_field(BPF_REG_3, offsetof(bpf_cgroup_dev_ctx, major)));
  program.push_back(load_field(BPF_REG_4, offsetof(bpf_cgroup_dev_ctx, minor)));
  program.push_back(with_constant(BPF_ALU64 | BPF_AND | BPF_K, BPF_REG_2, 0, 0xFFFF));
  program.push_back(with_constant(BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_2, 2, BPF_DEVCG_DEV_CHAR));
  append_verdict(program, false);
  for (const DeviceNumber& device : devices) {
    const bool any_minor = device.minor == DeviceNumber::kAnyMinor;
    program.push_back(with_constant(BPF_JMP | BPF_JNE | BPF_K, BPF_REG_3, any_minor ? 2 : 3, device.major));
    if (!any_minor) program.push_back(with_constant(BPF_JMP | BPF_JNE | BPF_K, BPF_REG_4, 2, device.minor));
    append_verdict(program, true);
  }
  append_verdict(program, false);
  return program;
}

long bpf(int command, bpf_attr& attributes) {
  return syscall(SYS_bpf, command, &attributes, sizeof attributes);
}

std::uint64_t address(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

}  // namespace

const std::vector<DeviceNumber>& standard_devices() {
  static const std::vector<DeviceNumber> devices = {{1, 3}, {1, 5}, {1, 7}, {1, 8},
                                                    {1, 9}, {5, 0}, {5, 2}, {136, DeviceNumber::kAnyMinor}};
  return devices;
}

std::string v1_rule(DeviceNumber device) {
  const std::string minor = device.minor == DeviceNumber::kAnyMinor ? "*" : std::to_string(device.minor);
  return "c " + std::to_string(device.major) + ":" + minor + " rw";
}

Result<void> attach_device_filter(const std::string& path, const std::vector<DeviceNumber>& devices) {
  const UniqueFd group(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!group.valid()) return fail(system_error("cannot open " + path, errno));
  const std::vector<bpf_insn> program = filter_program(devices);
  const char license[] = "Apache-2.0";
  bpf_attr load{};
  load.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
  load.insns = address(program.data());
  load.insn_cnt = static_cast<std::uint32_t>(program.size());
  load.license = address(license);
  const UniqueFd filter(static_cast<int>(bpf(BPF_PROG_LOAD, load)));
  if (!filter.valid()) return fail(system_error("cannot load a device filter", errno));
  bpf_attr attach{};
  attach.target_fd = static_cast<std::uint32_t>(group.get());
  attach.attach_bpf_fd = static_cast<std::uint32_t>(filter.get());
  attach.attach_type = BPF_CGROUP_DEVICE;
  attach.attach_flags = BPF_F_ALLOW_MULTI;
  if (bpf(BPF_PROG_ATTACH, attach) != 0)
    return fail(system_error("cannot attach a device filter to " + path, errno));
  return {};
}

}  // namespace tangram::runner
