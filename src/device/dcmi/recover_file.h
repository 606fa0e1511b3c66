// /etc/vnpu.cfg, the vendor's own memory of vNPUs. While its recover mode is on, libdcmi writes a line for
// each one that it cuts, takes the line out when it destroys it, and a boot cuts all of them again. Turning
// the mode off takes all lines out. While it is off the library does neither, so that a line that got there
// otherwise stays, and comes true when somebody turns the mode on.
//
// Format, lock and limits: the vendor's open driver (libdcmi, vnpu_config_recover.sh). Used by the helper
// process, beside the vendor's library, which holds the same lock for the same time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "ports/device_slices.h"

namespace tangram::device {

inline constexpr std::size_t kRecoverFileBytesMax = std::size_t{4} << 20U;
inline constexpr std::size_t kRecoverLineBytesMax = 256;
inline constexpr std::chrono::milliseconds kRecoverLockPatience{5'000};

struct RecoverPlaces {
  std::string file;
  std::string lock;  // of fcntl(2), F_SETLK
};
// `machine_root`: what holds the machine's etc and run; "" on a machine of its own.
RecoverPlaces recover_places(const std::string& machine_root);

// The text without the line of that vNPU; the same text if there is none. kDataLoss "device.recover.damaged",
// with the number of the line, for a text that the vendor's library refuses. Pure.
Result<std::string> without_slice(std::string_view text, std::uint32_t physical_id, std::uint32_t id);

// As far as that can be told without changing it; kUnknown while somebody holds the lock. `path` is left
// empty.
RecoverFile look_at_recover_file(const RecoverPlaces& places);

// Takes the line of that vNPU out, unless `is_there` says, asked under the lock, that it stands on the
// hardware. The file is replaced as a whole and keeps its owner and mode. No file, or no such line: nothing
// is done. A damaged file, and what is no plain file, is left alone. Errors: "device.recover.damaged",
// "device.recover.not_plain", "device.recover.locked" (by another process, for `patience`),
// "device.recover.unwritable".
Result<void> forget_slice(const RecoverPlaces& places, std::uint32_t physical_id, std::uint32_t id,
                          const std::function<bool()>& is_there,
                          std::chrono::milliseconds patience = kRecoverLockPatience);

}  // namespace tangram::device
