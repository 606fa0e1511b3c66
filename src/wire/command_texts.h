// The words of the command line's help, completion and man page, in both languages. A command's own file
// refers to them by name; what they stand for is in src/cli.
#pragma once

#include "wire/language.h"

namespace tangram::wire::help {

inline constexpr Text kProgram{"share the Ascend NPUs of a machine among tenants",
                               "在多个租户之间共享一台机器的昇腾 NPU"};
inline constexpr Text kUsage{"Usage: ", "用法："};
inline constexpr Text kCommands{"Commands:", "命令："};
inline constexpr Text kArguments{"Arguments:", "参数："};
inline constexpr Text kOptions{"Options:", "选项："};
inline constexpr Text kTableOptions{"Options of the table:", "表格选项："};
inline constexpr Text kGlobalOptions{"Global options:", "全局选项："};
inline constexpr Text kExamples{"Examples:", "示例："};
inline constexpr Text kColumns{"Columns:", "列："};
inline constexpr Text kMore{
    "Exit codes: 0 ok, 1 no, 2 bad input, 3 refused by quota or policy, 4 not found, 5 not allowed, 6 daemon "
    "unreachable or overloaded, 7 conflict, 70 bug. More: tangram COMMAND --help",
    "退出码：0 成功，1 否，2 输入有误，3 被配额或策略拒绝，4 不存在，5 不允许，6 守护进程不可用或过载，7 "
    "冲突，70 "
    "程序缺陷。更多：tangram COMMAND --help"};

// Global options.
inline constexpr Text kSocket{"socket of tangramd (default: TANGRAM_SOCKET, /run/tangram/tangram.sock)",
                              "tangramd 的套接字（默认：TANGRAM_SOCKET，/run/tangram/tangram.sock）"};
inline constexpr Text kServer{"https://HOST:PORT of a tangramd elsewhere (default: TANGRAM_SERVER)",
                              "其他机器上的 tangramd：https://HOST:PORT（默认：TANGRAM_SERVER）"};
inline constexpr Text kTokenFile{
    "file with the token that says who asks, mode 600 (default: the token in TANGRAM_TOKEN)",
    "存放调用者令牌的文件，权限为 600（默认：TANGRAM_TOKEN 中的令牌）"};
inline constexpr Text kCaFile{
    "PEM file of the authority that signed the server's certificate (default: TANGRAM_CA_FILE)",
    "签发服务器证书的机构的 PEM 文件（默认：TANGRAM_CA_FILE）"};
inline constexpr Text kOutput{"table (default), wide, csv, json or yaml",
                              "table（默认）、wide、csv、json 或 yaml"};
inline constexpr Text kLang{"en or zh (default: by LC_ALL, LC_MESSAGES, LANG)",
                            "en 或 zh（默认：按 LC_ALL、LC_MESSAGES、LANG）"};
inline constexpr Text kHelp{"show this help, and exit", "显示帮助并退出"};

// Options of every command that shows a table.
inline constexpr Text kColumnsOption{"only these columns, in this order; the names are below",
                                     "只显示这些列，按此顺序；列名见下"};
inline constexpr Text kNoHeaders{"rows alone, for scripts", "只输出数据行，供脚本使用"};
inline constexpr Text kQuiet{"ids alone, one a line", "只输出标识，每行一个"};

// Arguments that several commands take.
inline constexpr Text kJob{"id, name or tenant/name", "任务编号、名称或 租户/名称"};
inline constexpr Text kTenantName{"the tenant", "租户"};

inline constexpr Text kSubmit{"submit a job: a program and the NPUs that it needs",
                              "提交任务：程序及其所需的 NPU"};
inline constexpr Text kSubmitMore{
    "The job's id goes to standard output. With --wait the exit code is the job's exit status, 128+n when "
    "signal n ended it, and 1 when it timed out, was cancelled or lost.",
    "任务编号写到标准输出。使用 --wait 时，退出码为任务的退出状态；被信号 n 终止时为 "
    "128+n；超时、被取消或丢失时为 1。"};
inline constexpr Text kSubmitProgram{"what to run, with its own arguments, behind --",
                                     "要运行的程序及其参数，写在 -- 之后"};
inline constexpr Text kSubmitTenant{"on whose quota; a tenant's own user may leave it out",
                                    "占用哪个租户的配额；租户自己的用户可省略"};
inline constexpr Text kSubmitName{"unique among the tenant's unfinished jobs", "在该租户未结束的任务中唯一"};
inline constexpr Text kSubmitNpus{"how many whole NPUs (default 1)", "整个 NPU 的个数（默认 1）"};
inline constexpr Text kSubmitMemory{"device memory needed on each NPU, for example 16GiB",
                                    "每个 NPU 所需的设备内存，例如 16GiB"};
inline constexpr Text kSubmitSlice{"a slice of one NPU instead: memory, AI cores",
                                   "改为请求一个 NPU 的切片：内存、AI Core"};
inline constexpr Text kSubmitShare{"a share of one NPU", "共享一个 NPU 的一部分"};
inline constexpr Text kSubmitBandwidth{"network bandwidth to book, for example 1Gbps",
                                       "预订的网络带宽，例如 1Gbps"};
inline constexpr Text kSubmitPriority{"high, normal (default) or low", "high、normal（默认）或 low"};
inline constexpr Text kSubmitTimeLimit{"stop it after this time, for example 1h30m",
                                       "超过此时长即停止，例如 1h30m"};
inline constexpr Text kSubmitLabel{"k=v, free to choose; may be repeated", "k=v，自由选取；可重复"};
inline constexpr Text kSubmitEnv{"NAME=VALUE for the program; may be repeated",
                                 "程序的环境变量 NAME=VALUE；可重复"};
inline constexpr Text kSubmitWorkdir{"absolute path (default: a directory of the job's own)",
                                     "绝对路径（默认：任务自己的目录）"};
inline constexpr Text kSubmitRestart{"never (default), on-lost, or on-failure:N",
                                     "never（默认）、on-lost 或 on-failure:N"};
inline constexpr Text kSubmitNoWait{"refuse the job when it cannot start at once",
                                    "不能立即启动时拒绝该任务"};
inline constexpr Text kSubmitHostCpus{"cores of the host, for example 0.5 or 4",
                                      "主机 CPU 核数，例如 0.5 或 4"};
inline constexpr Text kSubmitHostMemory{"memory of the host, for example 8GiB", "主机内存，例如 8GiB"};
inline constexpr Text kSubmitHostProcesses{"processes and threads at most", "进程和线程数上限"};
inline constexpr Text kSubmitWait{"return when the job has ended, with its exit status",
                                  "任务结束后返回，并给出其退出状态"};
inline constexpr Text kSubmitIdempotencyKey{"the same key never submits twice", "同一个键不会提交两次"};

inline constexpr Text kLease{"hold NPUs for a program of this session, or until Ctrl-C",
                             "为当前会话中的程序持有 NPU，或持有到按下 Ctrl-C"};
inline constexpr Text kLeaseMore{
    "The program runs here, as you, with ASCEND_RT_VISIBLE_DEVICES set to the NPUs; they are given back when "
    "it ends, and also when this command is killed. The exit code is the program's. A slice is held without "
    "a program, for a container: its device is vdavinci<id> in the daemon's devices.directory (/dev), to be "
    "given to the container as /dev/davinci<id>; 'tangram describe' tells the id.",
    "程序以您的身份在此运行，ASCEND_RT_VISIBLE_DEVICES 设为所持有的 "
    "NPU；程序结束或本命令被杀死时归还。退出码为程序的退出码。切片只能不带程序持有，供容器使用：其设备为守护"
    "进程 "
    "devices.directory（/dev）中的 vdavinci<编号>，在容器中应为 /dev/davinci<编号>；编号见 tangram "
    "describe。"};
inline constexpr Text kLeaseProgram{"what to run here while the NPUs are held, behind --",
                                    "持有 NPU 期间在此运行的程序，写在 -- 之后"};

inline constexpr Text kWait{"wait until jobs have ended; the exit code is the first bad one's",
                            "等待任务结束；退出码取第一个失败的任务"};
inline constexpr Text kWaitTimeout{"give up after this time, with exit code 1", "超过此时长放弃，退出码为 1"};

inline constexpr Text kWhy{"why a job waits, and what would start it", "任务为何等待，以及怎样才能启动"};
inline constexpr Text kDescribe{"everything about one job", "一个任务的全部信息"};

inline constexpr Text kLogs{"what a job has printed", "任务的输出"};
inline constexpr Text kLogsFollow{"go on until the job ends", "持续输出直到任务结束"};
inline constexpr Text kLogsAttempt{"of a job that was restarted (default: the last one)",
                                   "重启过的任务的第几次尝试（默认：最后一次）"};

inline constexpr Text kCancel{"take jobs out of the queue, or stop them", "将任务移出队列，或停止任务"};
inline constexpr Text kStatus{"one line for each NPU: health, use, who holds it",
                              "每个 NPU 一行：健康状态、用量、占用者"};

inline constexpr Text kSlices{"how the NPUs are cut, drawn, and how they could be",
                              "图示各 NPU 的切分情况及可再切出的切片"};
inline constexpr Text kSlicesNpu{"physical id: this NPU alone (default: all)",
                                 "物理编号：只显示该 NPU（默认：全部）"};
inline constexpr Text kSlicesCut{
    "could a slice of this template be cut as well, and which rule forbids it; may be repeated",
    "能否再切出该模板的切片，以及哪条规则不允许；可重复"};
inline constexpr Text kSlicesMore{
    "A cell is an AI core, a tile a slice: '!' is nobody's and not returned yet, '?' somebody else's, '.' "
    "free, '#' in use whole. With --cut the exit code is 1 where no NPU can have these slices.",
    "一格为一个 AI Core，一块为一个切片：“!”为无主且尚未回收，“?”为他人所有，“.”为空闲，“#”为整个占用。使用 "
    "--cut 时，若没有 NPU 能切出这些切片，退出码为 1。"};
inline constexpr Text kFit{"would this job start now, with what, and else why not",
                           "该任务能否立即启动、将得到什么，否则原因为何"};
inline constexpr Text kFitMore{
    "Nothing is submitted: the daemon decides on a copy of its state. Exit codes: 0 it would start now, 1 it "
    "would wait, 3 it would be refused.",
    "不会提交任何任务：守护进程在其状态的副本上做出决定。退出码：0 可立即启动，1 需要等待，3 会被拒绝。"};
inline constexpr Text kDoctor{"what is wrong with the machine, and the commands that mend it",
                              "机器有哪些问题，以及用什么命令修复"};
inline constexpr Text kDoctorMore{
    "For the operator and viewers. Exit codes: 0 nothing found, 1 something found, 6 no daemon answers.",
    "供管理员和只读用户使用。退出码：0 没有问题，1 发现问题，6 守护进程没有响应。"};

inline constexpr Text kQueue{"jobs that wait and run, in their order, with the reason",
                             "按顺序列出等待和运行中的任务及原因"};
inline constexpr Text kQueueAll{"ended jobs too", "也列出已结束的任务"};
inline constexpr Text kQueueTenant{"only this tenant's jobs", "只列出该租户的任务"};
inline constexpr Text kQueueLabel{"k=v; only jobs with this label; may be repeated",
                                  "k=v；只列出带此标签的任务；可重复"};
inline constexpr Text kQueueState{"ready, waiting, starting, running or ended",
                                  "ready、waiting、starting、running 或 ended"};

inline constexpr Text kQueueWatch{"show it again whenever something changes", "有变化时重新显示"};

inline constexpr Text kEvents{"what changes: jobs, tenants, NPUs, the daemon",
                              "任务、租户、NPU 和守护进程的变化"};
inline constexpr Text kEventsFollow{"go on with what happens from now on", "持续输出此后的变化"};
inline constexpr Text kEventsAfter{"a cursor, or oldest; all events behind it",
                                   "游标，或 oldest；输出其后的所有事件"};
inline constexpr Text kEventsLast{"the last so many first (default 20 without --follow)",
                                  "先输出最近的若干个（不带 --follow 时默认 20）"};
inline constexpr Text kEventsTenant{"only of this tenant and those below it",
                                    "只输出该租户及其下级租户的事件"};
inline constexpr Text kEventsJob{"only of this job", "只输出该任务的事件"};
inline constexpr Text kEventsNpu{"only of this NPU", "只输出该 NPU 的事件"};
inline constexpr Text kEventsType{"only of this type, for example job.ended or npu.*; may be repeated",
                                  "只输出该类型的事件，例如 job.ended 或 npu.*；可重复"};
inline constexpr Text kEventsMore{
    "Each event has a cursor; --after goes on behind it. With -o json each event is one line.",
    "每个事件都有游标；--after 从其后继续。使用 -o json 时每个事件一行。"};

inline constexpr Text kHistory{"what has happened to a job, in a tenant, or to an NPU",
                               "任务、租户或 NPU 的历史"};
inline constexpr Text kHistorySubject{"JOB, TENANT or NPU", "任务、租户或 NPU"};
inline constexpr Text kHistoryLast{"only the last so many events", "只输出最近的若干个事件"};
inline constexpr Text kHistoryMore{
    "A number is an NPU. A name is a tenant if there is one, else a job; tenant/name is a job.",
    "数字表示 NPU。名称优先表示租户，没有该租户时表示任务；租户/名称 表示任务。"};

inline constexpr Text kQuota{"each tenant's limits, what it uses and what is left",
                             "各租户的上限、用量和余量"};
inline constexpr Text kQuotaTenant{"with everything below it (default: all)", "连同其下级租户（默认：全部）"};

inline constexpr Text kApply{"create or change what a YAML or JSON file describes",
                             "按 YAML 或 JSON 文件创建或更改"};
inline constexpr Text kApplyFile{"the file, or - for standard input", "文件；- 表示标准输入"};

inline constexpr Text kTenantGroup{"manage tenants (create and change them with apply)",
                                   "管理租户（用 apply 创建和更改）"};
inline constexpr Text kTenantDelete{"delete a tenant that has no jobs and no children",
                                    "删除没有任务和下级租户的租户"};

inline constexpr Text kTokenGroup{"manage the tokens that open the API over the network",
                                  "管理通过网络访问 API 的令牌"};
inline constexpr Text kTokenCreate{"create a token; it is printed this once only", "创建令牌；只显示这一次"};
inline constexpr Text kTokenName{"unique among active tokens", "在有效令牌中唯一"};
inline constexpr Text kTokenRole{
    "operator (everything), tenant (one tenant), or viewer (reads everything, changes nothing)",
    "operator（全部权限）、tenant（一个租户）或 viewer（只读全部）"};
inline constexpr Text kTokenTenant{"of role tenant: for whom it acts", "角色为 tenant 时：代表哪个租户"};
inline constexpr Text kTokenLifetime{"how long it is good for, or never (default 90d)",
                                     "有效时长，或 never 表示永不过期（默认 90d）"};
inline constexpr Text kTokenOut{"write it to this file, mode 600, and print the id",
                                "写入此文件（权限为 600），并输出编号"};
inline constexpr Text kTokenList{"every token with its state; never the secret",
                                 "所有令牌及其状态；不显示密钥"};
inline constexpr Text kTokenRotate{"give a token a new secret and a new lifetime",
                                   "为令牌更换密钥并重新计算有效期"};
inline constexpr Text kToken{"id or name", "令牌编号或名称"};
inline constexpr Text kTokenGrace{"how long the old secret goes on (default: not at all)",
                                  "旧密钥继续有效的时长（默认：立即失效）"};
inline constexpr Text kTokenNewLifetime{"counted from now, or never (default: as before)",
                                        "从现在起计算的有效时长，或 never（默认：与之前相同）"};
inline constexpr Text kTokenRevoke{"end tokens for ever, at once", "立即并永久吊销令牌"};

inline constexpr Text kExplain{"what a reason, an error or an exit code means, and what to do",
                               "原因、错误或退出码的含义及处理办法"};
inline constexpr Text kExplainCode{
    "a reason (quota.npus.exceeded), all below one (quota), a class (not_found) or an exit code (default: "
    "all)",
    "原因（quota.npus.exceeded）、某一类原因（quota）、错误类别（not_found）或退出码（默认：全部）"};

inline constexpr Text kCompletion{"the script with which a shell completes these commands",
                                  "供 shell 补全这些命令的脚本"};
inline constexpr Text kCompletionShell{"bash, zsh or fish", "bash、zsh 或 fish"};

inline constexpr Text kVersion{"versions of this program and of tangramd", "本程序与 tangramd 的版本"};

// ---- tangramd
inline constexpr Text kDaemon{"the daemon that shares the NPUs of this machine among tenants",
                              "在多个租户之间共享本机 NPU 的守护进程"};
inline constexpr Text kDaemonWhat{
    "Shares the NPUs of this machine among tenants until SIGTERM; jobs run on. It keeps what it has "
    "acknowledged "
    "in a journal, and finds running jobs again when it starts. Tenants and jobs are managed with "
    "tangram(1).",
    "在多个租户之间共享本机的 NPU，直到收到 "
    "SIGTERM；任务继续运行。已确认的内容都保存在账本中，启动时会重新接管运行中的任务。租户和任务用 "
    "tangram(1) 管理。"};
inline constexpr Text kDaemonRoot{
    "keep everything below DIR: etc/tangramd.yaml, run/tangram.sock, lib/, log/",
    "将一切放在 DIR 之下：etc/tangramd.yaml、run/tangram.sock、lib/、log/"};
inline constexpr Text kDaemonConfig{"read this configuration instead of etc/tangramd.yaml",
                                    "读取此配置文件而不是 etc/tangramd.yaml"};
inline constexpr Text kDaemonCheckConfig{"say whether the configuration can be used, and exit",
                                         "检查配置文件是否可用并退出"};
inline constexpr Text kDaemonVersion{"print the version, and exit", "显示版本并退出"};
inline constexpr Text kDaemonFileConfig{"the configuration; without it the defaults hold",
                                        "配置文件；没有时使用默认值"};
inline constexpr Text kDaemonFileSocket{"the socket of the API", "API 的套接字"};
inline constexpr Text kDaemonFileState{"the journal, and the directories of jobs", "账本以及任务目录"};
inline constexpr Text kDaemonFileAudit{"who has asked for what over the API", "通过 API 的请求及其调用者"};
inline constexpr Text kDaemonReload{"read certificates and their keys again", "重新读取证书及其密钥"};
inline constexpr Text kDaemonSignals{"end the daemon; jobs run on, and are found again by the next start",
                                     "结束守护进程；任务继续运行，下次启动时重新接管"};

// ---- manual pages
inline constexpr Text kManual{"Tangram Manual", "Tangram 手册"};
inline constexpr Text kManName{"NAME", "名称"};
inline constexpr Text kManSynopsis{"SYNOPSIS", "概要"};
inline constexpr Text kManDescription{"DESCRIPTION", "描述"};
inline constexpr Text kManEnvironment{"ENVIRONMENT", "环境变量"};
inline constexpr Text kManExit{"EXIT STATUS", "退出码"};
inline constexpr Text kManFiles{"FILES", "文件"};
inline constexpr Text kManSignals{"SIGNALS", "信号"};
inline constexpr Text kManSeeAlso{"SEE ALSO", "另见"};
inline constexpr Text kManWhat{
    "Asks the daemon tangramd(8), of this machine or over the network, to run jobs on NPUs, and shows who "
    "holds what, why a job waits, and what "
    "would "
    "start it. A job is named by its id (j-17), its name, or tenant/name.",
    "请求本机或网络上的守护进程 tangramd(8) 在 NPU "
    "上运行任务，并显示占用情况、任务等待的原因以及怎样才能启动。任务用任务编号（j-17）、名称或 "
    "租户/名称 表示。"};
inline constexpr Text kManStreams{
    "Standard output carries data, standard error talk. What is not known is -, never 0. Rows that programs "
    "read "
    "(--no-headers, --quiet, -o csv) are in English in every locale.",
    "标准输出为数据，标准错误为说明。未知的值显示为 -，而不是 "
    "0。供程序读取的数据行（--no-headers、--quiet、-o "
    "csv）在任何语言环境下都使用英文。"};
inline constexpr Text kManSocketVariable{"the socket of tangramd, unless --socket names another",
                                         "tangramd 的套接字；--socket 优先"};
inline constexpr Text kManServerVariable{
    "https://HOST:PORT of a tangramd elsewhere, unless --server or --socket says another",
    "其他机器上的 tangramd：https://HOST:PORT；--server 和 --socket 优先"};
inline constexpr Text kManTokenVariable{"the token that says who asks, unless there is a --token-file",
                                        "调用者的令牌；--token-file 优先"};
inline constexpr Text kManCaVariable{
    "PEM file of the authority that signed the server's certificate, unless there is a --ca-file",
    "签发服务器证书的机构的 PEM 文件；--ca-file 优先"};
inline constexpr Text kManLocaleVariables{"the first that is set names the language: zh means Chinese",
                                          "第一个已设置的变量决定语言：zh 表示中文"};
inline constexpr Text kManNoColor{"if set, no colours", "设置后不使用颜色"};

}  // namespace tangram::wire::help
