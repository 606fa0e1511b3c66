// What a job and a lease are asked for with.
#pragma once

#include <array>
#include <utility>

#include "cli/command.h"
#include "cli/submission.h"
#include "wire/command_texts.h"

namespace tangram::cli {
namespace request {

namespace help = wire::help;

inline constexpr std::array<std::string_view, 3> kPriorities{"high", "normal", "low"};

inline constexpr Option kTenant{
    .name = "--tenant", .about = help::kSubmitTenant, .value = "TENANT", .completes = Completes::kTenant};
inline constexpr Option kName{.name = "--name", .about = help::kSubmitName, .value = "NAME"};
inline constexpr Option kNpus{.name = "--npus", .about = help::kSubmitNpus, .value = "COUNT"};
inline constexpr Option kMemory{.name = "--memory", .about = help::kSubmitMemory, .value = "SIZE"};
inline constexpr Option kSlice{.name = "--slice", .about = help::kSubmitSlice, .value = "MEMORY[,CORES]"};
inline constexpr Option kShare{.name = "--share", .about = help::kSubmitShare, .value = "SHARE"};
inline constexpr Option kBandwidth{.name = "--bandwidth", .about = help::kSubmitBandwidth, .value = "RATE"};
inline constexpr Option kPriority{.name = "--priority",
                                  .about = help::kSubmitPriority,
                                  .value = "PRIORITY",
                                  .completes = Completes::kChoice,
                                  .choices = kPriorities};
inline constexpr Option kTimeLimit{.name = "--time-limit", .about = help::kSubmitTimeLimit, .value = "TIME"};
inline constexpr Option kLabel{
    .name = "--label", .about = help::kSubmitLabel, .value = "KEY=VALUE", .repeatable = true};
inline constexpr Option kNoWait{.name = "--no-wait", .about = help::kSubmitNoWait};

}  // namespace request

inline constexpr std::array kRequestOptions{request::kTenant,    request::kName,     request::kNpus,
                                            request::kMemory,    request::kSlice,    request::kShare,
                                            request::kBandwidth, request::kPriority, request::kLabel,
                                            request::kTimeLimit, request::kNoWait};

// Two lists of options as one.
template <std::size_t kFirst, std::size_t kSecond>
constexpr std::array<Option, kFirst + kSecond> joined(const std::array<Option, kFirst>& first,
                                                      const std::array<Option, kSecond>& second) {
  return [&]<std::size_t... kI, std::size_t... kJ>(std::index_sequence<kI...>, std::index_sequence<kJ...>) {
    return std::array<Option, kFirst + kSecond>{first[kI]..., second[kJ]...};
  }(std::make_index_sequence<kFirst>(), std::make_index_sequence<kSecond>());
}

// The values of those options.
SubmitArguments request_arguments(const Arguments& arguments);

}  // namespace tangram::cli
