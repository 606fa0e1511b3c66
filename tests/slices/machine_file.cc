#include "slices/machine_file.h"

#include <fstream>
#include <sstream>

namespace tangram::test {

std::string machine_file(const std::string& name) {
  std::ostringstream raw;
  raw << std::ifstream(std::string(MACHINES) + "/" + name).rdbuf();
  std::string text = raw.str();
  const std::string usual = "create_ms: 300";
  if (const std::size_t at = text.find(usual); at != std::string::npos) {
    text.replace(at, usual.size(), "create_ms: 0");
  } else {
    text += "\nvnpu: {create_ms: 0}\n";
  }
  return text;
}

}  // namespace tangram::test
