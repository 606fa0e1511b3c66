// The options that every command takes, before or behind its name.
#pragma once

#include <array>

#include "cli/command.h"
#include "wire/command_texts.h"

namespace tangram::cli {

inline constexpr std::array<std::string_view, 5> kFormats{"table", "wide", "csv", "json", "yaml"};
inline constexpr std::array<std::string_view, 2> kLanguages{"en", "zh"};

inline constexpr Option kSocketOption{
    .name = "--socket", .about = wire::help::kSocket, .value = "PATH", .completes = Completes::kFile};
inline constexpr Option kServerOption{.name = "--server", .about = wire::help::kServer, .value = "URL"};
inline constexpr Option kTokenFileOption{
    .name = "--token-file", .about = wire::help::kTokenFile, .value = "FILE", .completes = Completes::kFile};
inline constexpr Option kCaFileOption{
    .name = "--ca-file", .about = wire::help::kCaFile, .value = "FILE", .completes = Completes::kFile};
inline constexpr Option kOutputOption{.name = "--output",
                                      .about = wire::help::kOutput,
                                      .value = "FORMAT",
                                      .letter = 'o',
                                      .completes = Completes::kChoice,
                                      .choices = kFormats};
inline constexpr Option kLangOption{.name = "--lang",
                                    .about = wire::help::kLang,
                                    .value = "LANGUAGE",
                                    .completes = Completes::kChoice,
                                    .choices = kLanguages};
inline constexpr Option kHelpOption{.name = "--help", .about = wire::help::kHelp, .letter = 'h'};

// Of commands that show a table.
inline constexpr Option kColumnsOption{.name = "--columns",
                                       .about = wire::help::kColumnsOption,
                                       .value = "NAMES",
                                       .completes = Completes::kColumns};
inline constexpr Option kNoHeadersOption{.name = "--no-headers", .about = wire::help::kNoHeaders};
inline constexpr Option kQuietOption{.name = "--quiet", .about = wire::help::kQuiet, .letter = 'q'};

inline constexpr std::array kTableOptions{kColumnsOption, kNoHeadersOption, kQuietOption};
inline constexpr std::array kGlobalOptions{kSocketOption, kServerOption, kTokenFileOption, kCaFileOption,
                                           kOutputOption, kLangOption,   kHelpOption};

}  // namespace tangram::cli
