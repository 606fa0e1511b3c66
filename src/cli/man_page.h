// The manual pages, from the tables of commands, options and codes. Pure functions; the text is UTF-8.
#pragma once

#include <string>
#include <string_view>

#include "wire/language.h"

namespace tangram::cli {

std::string man_page_of_tangram(wire::Language language, std::string_view version);   // tangram(1)
std::string man_page_of_tangramd(wire::Language language, std::string_view version);  // tangramd(8)

}  // namespace tangram::cli
