// Texts that are kept in files: TANGRAM_UPDATE_GOLDEN=1 writes them anew.
#pragma once

#include <string>

namespace tangram::cli {

// `text` is what golden/<name>.txt holds.
void expect_as_kept(const std::string& name, const std::string& text);

}  // namespace tangram::cli
