// Which file the first word of a command means where the caller stands.
#pragma once

#include <string>
#include <string_view>

namespace tangram::cli {

// What a shell would run. A bare name: the first executable regular file of that name in the absolute
// directories of `search_path` ("/usr/local/bin:/usr/bin"). A relative path: below `directory`. Anything
// else, and a bare name that is found nowhere, comes back as it is: the job may see files that the caller
// does not. Reads the file system; thread-safe.
std::string find_program(const std::string& word, std::string_view search_path, const std::string& directory);

}  // namespace tangram::cli
