#include "ascendsim/npu_smi/print.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace ascendsim::npu_smi {

void print(std::string& out, const char* format, ...) {
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(&line[0], sizeof line, format, arguments);
  va_end(arguments);
  if (length > 0) out.append(&line[0], std::min(static_cast<std::size_t>(length), sizeof line - 1));
}

void print_key(std::string& out, const char* key, const std::string& value) {
  print(out, "\t%-30s : %s\n", key, value.c_str());
}

void print_key(std::string& out, const char* key, long long value) {
  print_key(out, key, std::to_string(value));
}

}  // namespace ascendsim::npu_smi
