// What is wrong with a machine, and the command that mends it. Same rules of reading and writing as schema.h.
// Thread-safe: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/types.h"

namespace tangram::wire {

enum class Severity : std::uint8_t {
  kError,    // jobs do not get what the machine has
  kWarning,  // something will go wrong, or protects less than it should
  kNotice,   // to know
};
std::string_view to_string(Severity severity);  // "error", "warning", "notice"

struct FindingView {
  Severity severity = Severity::kNotice;
  std::string code;                    // stable token, for `tangram explain`
  std::string message;                 // what is wrong, one sentence with names and numbers
  std::string hint;                    // what mends it, one sentence
  std::string command;                 // that does it, to be copied; empty: no command alone does
  std::optional<std::uint32_t> npu;    // physical id
  std::optional<std::uint32_t> slice;  // vNPU id

  friend bool operator==(const FindingView&, const FindingView&) = default;
};

struct DoctorView {
  std::string version;  // of the daemon
  std::string node;
  std::string driver_version;         // empty: unknown
  std::vector<FindingView> findings;  // the worst first

  friend bool operator==(const DoctorView&, const DoctorView&) = default;
};

std::string write(const DoctorView& view);
Result<DoctorView> read_doctor_view(std::string_view json);

}  // namespace tangram::wire
