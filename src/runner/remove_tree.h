// Removes what a stranger has left behind: names, depth and links of the tree are the tenant's choice.
#pragma once

#include <string>

#include "base/result.h"

namespace tangram::runner {

// Removes `path` and everything below it. Follows no symbolic link, needs a few descriptors however deep the
// tree is, and stops with kAborted ("runner.tree.moved") when a directory is moved away meanwhile, rather
// than go on at another place. What does not exist is no error.
Result<void> remove_tree(const std::string& path);

}  // namespace tangram::runner
