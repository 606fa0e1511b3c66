// What the command line says by itself, in both languages: errors, empty answers, states. Sentences about
// tenants, jobs and NPUs that the service makes are in texts.h.
#pragma once

#include "wire/language.h"

namespace tangram::wire::say {

// ---- the command line that cannot be understood
inline constexpr Text kNoSuchCommand{"'{word}' is no command of {command}", "“{word}” 不是 {command} 的命令"};
inline constexpr Text kNeedsCommand{"{command} needs a command", "{command} 需要一个命令"};
inline constexpr Text kOneOf{"one of: {names}; see {command} --help", "可选：{names}；参见 {command} --help"};
inline constexpr Text kDidYouMean{"did you mean: {text}", "您是不是要：{text}"};
inline constexpr Text kGiveToken{
    "give one with --token-file or TANGRAM_TOKEN; the operator makes them with tangram token create",
    "用 --token-file 或 TANGRAM_TOKEN 提供令牌；由管理员用 tangram token create 创建"};
inline constexpr Text kSeeHelp{"see: {command} --help", "参见：{command} --help"};
inline constexpr Text kNoSuchOption{"'{word}' is no option of {command}", "“{word}” 不是 {command} 的选项"};
inline constexpr Text kNeedsValue{"{option} needs a value", "{option} 需要一个值"};
inline constexpr Text kValueBeforeDashes{"write {option} {value} in front of '--'",
                                         "请将 {option} {value} 写在“--”之前"};
inline constexpr Text kEmptyValue{"{option} must not be empty", "{option} 不能为空"};
inline constexpr Text kEmptyValueHint{
    "is a variable of the shell not set? leave {option} out for its default",
    "是否有未设置的 shell 变量？省略 {option} 即使用默认值"};
inline constexpr Text kTakesNoValue{"{option} takes no value", "{option} 不带值"};
inline constexpr Text kGivenTwice{"{option} is given twice", "{option} 重复给出"};
inline constexpr Text kKeepOne{"keep one of them", "只保留一个"};
inline constexpr Text kMissing{"{name} is missing", "缺少 {name}"};
inline constexpr Text kSurplusWord{"'{word}' is one word too many for {command}",
                                   "{command} 多了一个词“{word}”"};
inline constexpr Text kProgramBehindDashes{"put the program behind '--', for example: {command} -- {word}",
                                           "将程序写在“--”之后，例如：{command} -- {word}"};
inline constexpr Text kNoSuchChoice{"{option} must be one of {choices}, not '{value}'",
                                    "{option} 必须是 {choices} 之一，而不是“{value}”"};

// ---- tables
inline constexpr Text kNoSuchColumn{"--columns: there is no column '{column}'",
                                    "--columns：没有名为“{column}”的列"};
inline constexpr Text kColumnsAre{"the columns are: {columns}", "可用的列：{columns}"};
inline constexpr Text kNoTable{"tangram {command} shows no table, so -o csv says nothing",
                               "tangram {command} 不输出表格，因此 -o csv 无意义"};
inline constexpr Text kTakeJson{"take -o json", "请用 -o json"};
inline constexpr Text kOnlyForTables{"{option} is for tables, and -o {format} prints the whole document",
                                     "{option} 用于表格，而 -o {format} 输出完整文档"};
inline constexpr Text kLeaveOneOut{"leave one of them out, for example {option}",
                                   "去掉其中之一，例如 {option}"};
inline constexpr Text kIdsOrColumns{"--quiet prints ids alone, and --columns asks for more",
                                    "--quiet 只输出标识，而 --columns 要求更多内容"};

// ---- talk
inline constexpr Text kDaemonAway{"tangramd does not answer; waiting for it to come back",
                                  "tangramd 没有响应；正在等待其恢复"};
inline constexpr Text kDaemonBusy{"tangramd asks for patience: {reason}; trying again",
                                  "tangramd 暂时无法处理：{reason}；正在重试"};
inline constexpr Text kLeaseWaitsForDaemon{
    "tangramd does not answer; the lease is taken up again when it is back",
    "tangramd 没有响应；待其恢复后重新接管租约"};
inline constexpr Text kLeaseLost{"lease {lease} is lost: {reason}", "租约 {lease} 已丢失：{reason}"};
inline constexpr Text kLeaseToRelease{"lease {lease} is to be released: {reason}",
                                      "租约 {lease} 需要释放：{reason}"};
inline constexpr Text kTokenShownOnce{"{token}; it is shown this once only:", "{token}；只显示这一次："};
inline constexpr Text kTokenIsIn{"{token}, is in {file}", "{token}，已写入 {file}"};
inline constexpr Text kTokenSecretLost{"the secret of {token} is lost: {command}",
                                       "{token} 的密钥已丢失：{command}"};
inline constexpr Text kTenantDeleted{"tenant {tenant} is deleted", "租户 {tenant} 已删除"};
inline constexpr Text kBug{"this is a bug: {what}", "程序缺陷：{what}"};

}  // namespace tangram::wire::say
