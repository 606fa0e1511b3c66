// What the options of tables ask for.
#pragma once

#include "base/result.h"
#include "cli/command.h"

namespace tangram::cli {

// kInvalidArgument "cli.usage" when a column is not one of the command's, or the options contradict each
// other or the format.
Result<TableView> read_table_view(const Command& command, const Arguments& arguments,
                                  wire::Language language);

}  // namespace tangram::cli
