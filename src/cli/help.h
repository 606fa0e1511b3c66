// What --help shows, from the tables of cli/command.h. Pure functions.
#pragma once

#include <cstddef>
#include <string>

#include "cli/command.h"

namespace tangram::cli {

std::string help_of_all(wire::Language language, std::size_t width);
std::string help_of(const CommandGroup& group, wire::Language language, std::size_t width);
std::string help_of(const Command& command, wire::Language language, std::size_t width);

// A title, and two columns: how an option is written, and what it is.
std::string help_of_options(std::string_view title, std::span<const Option> options, wire::Language language,
                            std::size_t width);

// "tangram apply [OPTIONS] -f FILE", "tangram submit [OPTIONS] -- PROGRAM [ARGUMENT...]".
std::string usage_of(const Command& command);

// "-f, --file FILE"; the bare name of a positional argument.
std::string spelling_of(const Option& option);

}  // namespace tangram::cli
