#include <algorithm>
#include <array>

#include "cli/command.h"
#include "cli/commands/all.h"
#include "cli/global_options.h"
#include "wire/command_texts.h"

namespace tangram::cli {
namespace {

// As the help shows them: first what a tenant does every day, then the machine's, then the rest.
constexpr std::array kCommands{
    &kSubmit,      &kLease,       &kFit,    &kWait,         &kWhy,         &kDescribe,
    &kLogs,        &kCancel,      &kStatus, &kSlices,       &kQueue,       &kQuota,
    &kEvents,      &kHistory,     &kApply,  &kTenantDelete, &kTokenCreate, &kTokenList,
    &kTokenRotate, &kTokenRevoke, &kDoctor, &kExplain,      &kCompletion,  &kVersion,
};

constexpr std::array kGroups{
    CommandGroup{"tenant", wire::help::kTenantGroup},
    CommandGroup{"token", wire::help::kTokenGroup},
};

}  // namespace

std::span<const Command* const> commands() {
  return kCommands;
}

std::span<const CommandGroup> command_groups() {
  return kGroups;
}

std::span<const Option> global_options() {
  return kGlobalOptions;
}

std::span<const Option> table_options() {
  return kTableOptions;
}

const Command* find_command(std::string_view name) {
  const auto found = std::ranges::find_if(kCommands, [&](const Command* one) { return one->name == name; });
  return found == kCommands.end() ? nullptr : *found;
}

const CommandGroup* find_group(std::string_view name) {
  const auto found = std::ranges::find_if(kGroups, [&](const CommandGroup& one) { return one.name == name; });
  return found == kGroups.end() ? nullptr : &*found;
}

std::vector<const Option*> options_of(const Command* command) {
  std::vector<const Option*> all;
  const auto add = [&](std::span<const Option> options) {
    for (const Option& option : options) all.push_back(&option);
  };
  if (command != nullptr) add(command->options);
  if (command != nullptr && command->columns != nullptr) add(table_options());
  add(global_options());
  return all;
}

}  // namespace tangram::cli
