// Small helpers over files and descriptors that the supervisor and the executor share.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "runner/unique_fd.h"

namespace tangram::runner {

// At most `bytes_max` bytes of a file; more is an error. Meant for files of the kernel and for own records.
Result<std::string> read_file(const std::string& path, std::size_t bytes_max = 1 << 20);

// The same from the start of an open file.
Result<std::string> read_fd(int fd, std::size_t bytes_max);

// One write(2) of `text` into a control file of the kernel (created where it is missing, as in a fixture
// tree).
Result<void> write_control(const std::string& path, std::string_view text);

// Writes all of it; the errno of the first failure, or 0.
int write_all(int fd, std::string_view text);

// Lets everybody pass through the directory, and list no more than before.
Result<void> allow_passage(const std::string& path);

// mkdir, where an existing directory is fine too.
Result<void> make_directory(const std::string& path, mode_t mode);

// mkdir -p; new components get `mode`.
Result<void> make_directories(const std::string& path, mode_t mode);

// Takes an exclusive lock on `path` (created where missing). nullopt: another process holds it.
Result<std::optional<UniqueFd>> try_lock(const std::string& path);

// Milliseconds since boot, suspended time included.
std::int64_t boot_time_ms();

// The id of this boot of the machine, without the line end.
Result<std::string> read_boot_id();

// Field 22 of /proc/<pid>/stat; kNotFound when there is no such process.
Result<std::uint64_t> read_start_ticks(pid_t pid);

// pidfd_open(2); the caller must know that `pid` is not reused meanwhile.
Result<UniqueFd> open_pidfd(pid_t pid);

}  // namespace tangram::runner
