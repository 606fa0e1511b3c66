// Mounts that nobody outside sees.
#pragma once

#include "base/result.h"

namespace tangram::runner {

// Cuts the mounts of the calling process off from all others, in both directions; the process must have its
// own mount namespace. Where its root directory is no mount point (a plain chroot), the root directory is
// changed to a private copy of the same tree, and descriptors opened before lead out of it. Needs /proc.
Result<void> make_mounts_private();

}  // namespace tangram::runner
