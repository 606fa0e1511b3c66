// The library's part in /etc/vnpu.cfg: a line for each virtual device it makes, under the vendor's lock.
#pragma once

#include <functional>

#include "ascendsim/vnpu/recover_file.h"

namespace ascendsim::dcmi {

// Reads the file, lets `change` change it, and writes it if that says so. DCMI codes: 0; -8014 when another
// process holds the lock for five seconds, or the file is damaged or cannot be written.
int change_recover_file(const std::function<bool(RecoverFile&)>& change);

// The file as it is; -8014 as above.
int read_recover_file(RecoverFile* file);

}  // namespace ascendsim::dcmi
