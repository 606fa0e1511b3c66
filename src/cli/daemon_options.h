// The options of tangramd. They stand beside those of the command line, because the same code makes their
// help and their manual page.
#pragma once

#include <array>

#include "cli/command.h"
#include "wire/command_texts.h"

namespace tangram::cli::daemon {

inline constexpr Option kRoot{
    .name = "--root", .about = wire::help::kDaemonRoot, .value = "DIR", .completes = Completes::kDirectory};
inline constexpr Option kConfig{
    .name = "--config", .about = wire::help::kDaemonConfig, .value = "FILE", .completes = Completes::kFile};
inline constexpr Option kCheckConfig{.name = "--check-config", .about = wire::help::kDaemonCheckConfig};
inline constexpr Option kVersion{.name = "--version", .about = wire::help::kDaemonVersion};
inline constexpr Option kHelp{.name = "--help", .about = wire::help::kHelp, .letter = 'h'};

inline constexpr std::array kOptions{kRoot, kConfig, kCheckConfig, kVersion, kHelp};

}  // namespace tangram::cli::daemon
