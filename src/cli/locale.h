// The language that the process's environment asks for.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>

namespace tangram::cli {

// LC_ALL, else LC_MESSAGES, else LANG, as POSIX has it; an empty variable counts as not set. Not thread-safe,
// as getenv(3) is not: for main().
inline std::string locale_of_messages() {
  for (const char* name : {"LC_ALL", "LC_MESSAGES", "LANG"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && value[0] != '\0') return value;
  }
  return {};
}

// The same for LC_CTYPE: which letters there are.
inline std::string locale_of_letters() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && value[0] != '\0') return value;
  }
  return {};
}

// "en_US.UTF-8", "C.utf8": how a locale names its encoding.
inline bool is_utf8(std::string_view locale) {
  const std::size_t dot = locale.find('.');
  if (dot == std::string_view::npos) return false;
  const std::string_view encoding = locale.substr(dot + 1, locale.find('@') - dot - 1);
  return encoding == "UTF-8" || encoding == "utf8" || encoding == "UTF8" || encoding == "utf-8";
}

}  // namespace tangram::cli
