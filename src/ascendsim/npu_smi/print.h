// printf into a string: the real tool's formats are printf formats, kept in that form.
#pragma once

#include <string>

namespace ascendsim::npu_smi {

[[gnu::format(printf, 2, 3)]] void print(std::string& out, const char* format, ...);

// "\tKey                            : value\n"
void print_key(std::string& out, const char* key, const std::string& value);
void print_key(std::string& out, const char* key, long long value);

}  // namespace ascendsim::npu_smi
