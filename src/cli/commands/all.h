// Every command, each in a file of its own. The order of the help is in command_table.cc.
#pragma once

#include "cli/command.h"

namespace tangram::cli {

extern const Command kApply;
extern const Command kCancel;
extern const Command kCompletion;
extern const Command kDescribe;
extern const Command kDoctor;
extern const Command kEvents;
extern const Command kExplain;
extern const Command kFit;
extern const Command kHistory;
extern const Command kLease;
extern const Command kLogs;
extern const Command kQueue;
extern const Command kQuota;
extern const Command kSlices;
extern const Command kStatus;
extern const Command kSubmit;
extern const Command kTenantDelete;
extern const Command kTokenCreate;
extern const Command kTokenList;
extern const Command kTokenRevoke;
extern const Command kTokenRotate;
extern const Command kVersion;
extern const Command kWait;
extern const Command kWhy;

}  // namespace tangram::cli
