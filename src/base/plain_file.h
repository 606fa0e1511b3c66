// Files that somebody else may have put where a small plain one belongs: a pipe, whose opening waits for
// ever, a device, a directory, a file without end, a link to another file.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>

#include "base/result.h"

namespace tangram {

struct PlainFile {
  std::string text;
  mode_t mode = 0;
};

// open(2) with `flags`, and for a new file `mode`; never waits, and the descriptor, which is the caller's to
// close, is of a plain file. Links are followed, unless `flags` holds O_NOFOLLOW. Errors: "system.errno", and
// kInvalidArgument "file.not_plain"; `what` stands in front of why: "cannot read /a/b: it is a pipe, not a
// plain file".
Result<int> open_plain_file(const std::string& what, const std::string& path, int flags, mode_t mode = 0);

// The whole file. Errors: as above, and kInvalidArgument "file.too_large".
Result<PlainFile> read_plain_file(const std::string& what, const std::string& path, std::size_t bytes_max);

}  // namespace tangram
