// The shipped descriptions of machines, with cuts that take no time.
#pragma once

#include <string>

namespace tangram::test {

std::string machine_file(const std::string& name);  // "one-310p3.yaml"

}  // namespace tangram::test
