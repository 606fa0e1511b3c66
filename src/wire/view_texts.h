// The words of tables and answers on the command line, in both languages.
#pragma once

#include "wire/language.h"

namespace tangram::wire::view {

// ---- counts
inline constexpr Text kOneJob{"{count} job", "{count} 个任务"};
inline constexpr Text kJobs{"{count} jobs", "{count} 个任务"};
inline constexpr Text kOneNpu{"{count} NPU", "{count} 个 NPU"};
inline constexpr Text kNpus{"{count} NPUs", "{count} 个 NPU"};
inline constexpr Text kOneNpuIsFree{"{count} NPU is free", "{count} 个 NPU 空闲"};
inline constexpr Text kNpusAreFree{"{count} NPUs are free", "{count} 个 NPU 空闲"};

// ---- titles of columns
inline constexpr Text kPosition{"POS", "位置"};
inline constexpr Text kJob{"JOB", "任务"};
inline constexpr Text kName{"NAME", "名称"};
inline constexpr Text kTenant{"TENANT", "租户"};
inline constexpr Text kParent{"PARENT", "上级租户"};
inline constexpr Text kPriority{"PRIORITY", "优先级"};
inline constexpr Text kRequested{"NPUS", "NPU 数"};
inline constexpr Text kState{"STATE", "状态"};
inline constexpr Text kOn{"ON", "所在 NPU"};
inline constexpr Text kAge{"AGE", "时长"};
inline constexpr Text kReason{"REASON", "原因"};
inline constexpr Text kMessage{"MESSAGE", "说明"};
inline constexpr Text kSubmitted{"SUBMITTED", "提交时间"};
inline constexpr Text kStarted{"STARTED", "启动时间"};
inline constexpr Text kEnded{"ENDED", "结束时间"};
inline constexpr Text kAttempt{"ATTEMPT", "尝试"};
inline constexpr Text kLabels{"LABELS", "标签"};
inline constexpr Text kNpu{"NPU", "NPU"};
inline constexpr Text kChip{"CHIP", "芯片"};
inline constexpr Text kHealth{"HEALTH", "健康状态"};
inline constexpr Text kMode{"MODE", "使用方式"};
inline constexpr Text kCore{"CORE%", "利用率%"};
inline constexpr Text kHbm{"HBM GiB", "HBM GiB"};
inline constexpr Text kHbmUsed{"HBM USED", "HBM 已用"};
inline constexpr Text kHbmTotal{"HBM TOTAL", "HBM 总量"};
inline constexpr Text kAiCores{"AI CORES", "AI Core 数"};
inline constexpr Text kCelsius{"°C", "°C"};
inline constexpr Text kWatt{"W", "W"};
inline constexpr Text kNote{"NOTE", "备注"};
inline constexpr Text kUsedOfLimit{"USED/LIMIT", "用量/上限"};
inline constexpr Text kDimension{"DIMENSION", "维度"};
inline constexpr Text kUsed{"USED", "用量"};
inline constexpr Text kLimit{"LIMIT", "上限"};
inline constexpr Text kLeft{"LEFT", "余量"};
inline constexpr Text kBar{"BAR", "图示"};

inline constexpr Text kSlice{"SLICE", "切片"};
inline constexpr Text kTemplate{"TEMPLATE", "模板"};
inline constexpr Text kStanding{"STANDING", "归属"};
inline constexpr Text kMemoryNominal{"NOMINAL", "标称内存"};
inline constexpr Text kMemoryUsable{"USABLE", "可用内存"};
inline constexpr Text kVgroup{"VGROUP", "vGroup"};
inline constexpr Text kSeverity{"SEVERITY", "级别"};
inline constexpr Text kCommand{"COMMAND", "命令"};

// ---- slices
inline constexpr Text kSlicesTitle{"NPU {npu}: {chip}, {cores}, {memory}, {mode}",
                                   "NPU {npu}：{chip}，{cores}，{memory}，{mode}"};
inline constexpr Text kSliceLegend{
    "{template}, slice {id}: {cores}, {memory} nominal, {usable} usable; {whose}",
    "{template}，切片 {id}：{cores}，标称 {memory}，可用 {usable}；{whose}"};
inline constexpr Text kOfAnother{"of a job that is not yours", "属于他人的任务"};
inline constexpr Text kJobOfTenant{"{job} of {tenant}", "{tenant} 的 {job}"};
inline constexpr Text kNextCuts{"next, one of: {cuts}", "可再切出（任选其一）：{cuts}"};
inline constexpr Text kNotCut{"not {templates}: {rules}", "不可切出 {templates}：{rules}"};
inline constexpr Text kCutIsLegal{"yes: {templates} can be cut beside what stands there",
                                  "可以：{templates} 可在现有切片之外切出"};
inline constexpr Text kCutIsIllegal{"no: {templates} cannot be cut beside what stands there",
                                    "不可以：{templates} 不能在现有切片之外切出"};
inline constexpr Text kCutWithSize{"{count} x {template} ({memory}, {cores})",
                                   "{count} x {template}（{memory}、{cores}）"};
inline constexpr Text kMemoryWithUsable{"{memory} ({usable} usable)", "{memory}（可用 {usable}）"};
inline constexpr Text kResidualChecked{"residual, and being checked: the last look does not show it",
                                       "残留，正在确认：最近一次查看没有看到它"};
inline constexpr Text kListComma{", ", "、"};
inline constexpr Text kListSemicolon{"; ", "；"};
inline constexpr Text kAndMoreRules{"{rule} (more rules: {count})", "{rule}（另有 {count} 条）"};

// ---- fit, doctor
inline constexpr Text kWouldGet{"would get: {what}", "将得到：{what}"};
inline constexpr Text kGrantedIs{"granted: {what}", "分配：{what}"};
inline constexpr Text kNothingFound{"nothing is wrong with {node}; driver {driver}",
                                    "{node} 没有发现问题；驱动 {driver}"};
inline constexpr Text kFindings{"found: errors {errors}, warnings {warnings}, notices {notices}",
                                "发现：错误 {errors}，警告 {warnings}，提示 {notices}"};

// ---- the queue
inline constexpr Text kNoMatch{"No job matches. See all of them: {command}",
                               "没有符合条件的任务。查看全部：{command}"};
inline constexpr Text kNoUnfinishedMatch{"No unfinished job matches. See all of them: {command}",
                                         "没有符合条件的未结束任务。查看全部：{command}"};
inline constexpr Text kNoJobsYet{"No jobs yet. Start one: {command}", "还没有任务。提交一个：{command}"};
inline constexpr Text kNoneWaiting{"No jobs are waiting. Start one: {command}",
                                   "没有任务在等待。提交一个：{command}"};
inline constexpr Text kNoneWaitingFree{"No jobs are waiting. {free}; start one: {command}",
                                       "没有任务在等待。{free}；提交一个：{command}"};
inline constexpr Text kNoneWaitingNow{"No jobs are waiting.", "没有任务在等待。"};
inline constexpr Text kNoneWaitingNowFree{"No jobs are waiting; {free}.", "没有任务在等待；{free}。"};

// ---- the state of one job
inline constexpr Text kJobWord{"job", "任务"};
inline constexpr Text kLeaseWord{"lease", "租约"};
inline constexpr Text kHeld{"held", "持有中"};
inline constexpr Text kStateIs{"{what} {job} is {state}", "{what} {job} {state}"};
inline constexpr Text kStateAt{"{what} {job} is {state} at position {position}",
                               "{what} {job} {state}，队列位置 {position}"};
inline constexpr Text kStateOn{"{what} {job} is {state} on NPU {npu}",
                               "{what} {job} {state}，位于 NPU {npu}"};
inline constexpr Text kStateIn{"{what} {job} is {state} in {slice} of NPU {npu}",
                               "{what} {job} {state}，位于 NPU {npu} 的 {slice}"};
inline constexpr Text kStateOnSeveral{
    "{what} {job} is {state} on NPUs {npus} (primary device: NPU {primary})",
    "{what} {job} {state}，位于 NPU {npus}（主设备：NPU {primary}）"};
inline constexpr Text kBecause{"{sentence}: {reason}", "{sentence}：{reason}"};
inline constexpr Text kHasEnded{"{what} {job} has ended", "{what} {job} 已结束"};
inline constexpr Text kHasSucceeded{"{what} {job} has succeeded", "{what} {job} 已成功"};
inline constexpr Text kWasReleased{"{what} {job} was released", "{what} {job} 已释放"};
inline constexpr Text kWasCancelled{"{what} {job} was cancelled", "{what} {job} 已取消"};
inline constexpr Text kHasFailed{"{what} {job} has failed", "{what} {job} 已失败"};
inline constexpr Text kHasTimedOut{"{what} {job} has timed out", "{what} {job} 已超时"};
inline constexpr Text kNotStarted{"{what} {job} could not be started", "{what} {job} 未能启动"};
inline constexpr Text kWasLost{"{what} {job} was lost", "{what} {job} 已丢失"};
inline constexpr Text kDeviceLost{"{what} {job} has lost its NPUs", "{what} {job} 失去了所持有的 NPU"};
inline constexpr Text kWasRefused{"{what} {job} was refused", "{what} {job} 被拒绝"};
inline constexpr Text kEndedBySignal{"ended by {signal}", "被信号 {signal} 终止"};
inline constexpr Text kExitedWith{"exited with status {status}", "退出状态为 {status}"};
inline constexpr Text kSignalNumber{"signal {number}", "{number}"};
inline constexpr Text kBeingStopped{"{what} {job} is being stopped", "正在停止{what} {job}"};
inline constexpr Text kLeaseMark{"(lease)", "（租约）"};

// ---- the fields of one job
inline constexpr Text kFieldKind{"kind", "类型"};
inline constexpr Text kFieldId{"id", "任务编号"};
inline constexpr Text kFieldName{"name", "名称"};
inline constexpr Text kFieldTenant{"tenant", "租户"};
inline constexpr Text kFieldPriority{"priority", "优先级"};
inline constexpr Text kFieldState{"state", "状态"};
inline constexpr Text kFieldPosition{"position", "队列位置"};
inline constexpr Text kFieldHint{"hint", "提示"};
inline constexpr Text kFieldRequest{"request", "请求"};
inline constexpr Text kFieldNpus{"NPUs", "NPU"};
inline constexpr Text kFieldTimeLimit{"time limit", "运行时限"};
inline constexpr Text kFieldRestart{"restart", "重启策略"};
inline constexpr Text kFieldAttempt{"attempt", "尝试"};
inline constexpr Text kFieldLabels{"labels", "标签"};
inline constexpr Text kFieldCommand{"command", "命令"};
inline constexpr Text kFieldWorkdir{"workdir", "工作目录"};
inline constexpr Text kFieldSubmitted{"submitted", "提交时间"};
inline constexpr Text kFieldStarted{"started", "启动时间"};
inline constexpr Text kFieldEnded{"ended", "结束时间"};
inline constexpr Text kFieldGranted{"granted", "分配"};
inline constexpr Text kSliceOf{"a slice of {size}", "一个切片（{size}）"};
inline constexpr Text kOneAiCore{"{count} AI core", "{count} 个 AI Core"};
inline constexpr Text kAiCoresOf{"{count} AI cores", "{count} 个 AI Core"};
inline constexpr Text kSliceGranted{"{template} of NPU {npu}: {cores}, {memory} nominal, {usable} usable",
                                    "NPU {npu} 的 {template}：{cores}，标称 {memory}，可用 {usable}"};
inline constexpr Text kWholeGranted{"the whole NPU: no template is large enough",
                                    "整个 NPU：没有足够大的模板"};
// "vir04 (slice 212)".
inline constexpr Text kSliceWithId{"{template} (slice {id})", "{template}（切片 {id}）"};
inline constexpr Text kSliceOnNpu{"{template} ({size}) {job}", "{template}（{size}）{job}"};
inline constexpr Text kSliceOnNpuOf{"{template} ({size}) {job} of {tenant}, asked for {asked}",
                                    "{template}（{size}）{tenant} 的 {job}，请求 {asked}"};
inline constexpr Text kWholeForSlice{"whole, where {asked} was asked for: no template is large enough",
                                     "请求的是{asked}：没有足够大的模板，分配了整个 NPU"};
inline constexpr Text kResidualOnNpu{"{template} (slice {id}): nobody's, not returned yet",
                                     "{template}（切片 {id}）：无主，尚未回收"};
inline constexpr Text kResidualCheckedOnNpu{
    "{template} (slice {id}): nobody's, and being checked: the last look does not show it",
    "{template}（切片 {id}）：无主，正在确认：最近一次查看没有看到它"};
inline constexpr Text kWholeWord{"whole", "整个"};
inline constexpr Text kStrayOnNpu{"{template} (slice {id}): of somebody else",
                                  "{template}（切片 {id}）：属于他人"};
inline constexpr Text kMemoryPerNpu{", {memory} per NPU", "，每个 NPU {memory}"};
inline constexpr Text kBandwidthBooked{", {rate} booked", "，预订带宽 {rate}"};
inline constexpr Text kRestartedOnce{"{policy}, restarted {count} time", "{policy}，已重启 {count} 次"};
inline constexpr Text kRestarted{"{policy}, restarted {count} times", "{policy}，已重启 {count} 次"};

// ---- why
inline constexpr Text kWouldStartIf{"would start if:", "满足以下任一条件即可启动："};
inline constexpr Text kReplayedStarts{"[replayed: starts]", "[推演：可启动]"};
inline constexpr Text kReplayedWaits{"[replayed: still waits]", "[推演：仍需等待]"};
inline constexpr Text kEstimate{"estimate: starts at {time} (in {wait})",
                                "预计启动时间：{time}（{wait} 后）"};
inline constexpr Text kAssumes{"assumes: {assumption}", "前提：{assumption}"};
inline constexpr Text kEstimateUnknown{"estimate: unknown", "预计启动时间：未知"};
inline constexpr Text kPositionOf{"position {position} of {length} · see also: {commands}",
                                  "队列位置 {position}，共 {length} 个 · 另见：{commands}"};
inline constexpr Text kClassQuota{"quota", "配额"};
inline constexpr Text kClassCapacity{"capacity", "容量"};
inline constexpr Text kClassRequest{"request", "请求"};

// ---- the machine
inline constexpr Text kNpusUnreachable{"NPUs are not reachable: {note}", "无法访问 NPU：{note}"};
inline constexpr Text kNoReasonKnown{"no reason is known", "原因未知"};
inline constexpr Text kNoNpusKnown{"No NPUs are known on this machine. See what the driver says: {command}",
                                   "本机没有已知的 NPU。查看驱动信息：{command}"};
inline constexpr Text kStatusFooter{
    "{free} of {npus} free · {running} running, {queued} in the queue · driver {driver}",
    "共 {npus}，空闲 {free} 个 · {running}运行中，{queued} 个在队列中 · 驱动 {driver}"};
inline constexpr Text kCutFooter{"in slices: {npus}; what is left there: {command}",
                                 "已切分：{npus}；剩余部分：{command}"};
inline constexpr Text kMissingWall{"missing wall: {wall}", "缺少隔离墙：{wall}"};

// ---- quotas
inline constexpr Text kNoTenants{"No tenants yet. Create some: {command}", "还没有租户。创建租户：{command}"};
inline constexpr Text kNoLimit{"no limit", "不限"};
inline constexpr Text kOver{"{amount} over", "超出 {amount}"};
inline constexpr Text kPerNpu{"{amount} per NPU", "每个 NPU {amount}"};
inline constexpr Text kPerJob{"{amount} per job", "每个任务 {amount}"};
inline constexpr Text kNone{"none", "无"};
inline constexpr Text kRunning{"{jobs} running", "{jobs}运行中"};
inline constexpr Text kWaiting{"{count} waiting", "{count} 个等待"};
inline constexpr Text kNoteLine{"note: {note}", "备注：{note}"};

// ---- tokens
inline constexpr Text kTokenId{"ID", "编号"};
inline constexpr Text kRole{"ROLE", "角色"};
inline constexpr Text kExpires{"EXPIRES", "有效期"};
inline constexpr Text kLastUsed{"LAST USED", "最近使用"};
inline constexpr Text kCreatedAt{"CREATED", "创建时间"};
inline constexpr Text kCreatedBy{"CREATED BY", "创建者"};
inline constexpr Text kRotatedAt{"ROTATED", "轮换时间"};
inline constexpr Text kRevokedAt{"REVOKED", "吊销时间"};
inline constexpr Text kOldSecretUntil{"OLD SECRET UNTIL", "旧密钥有效至"};
inline constexpr Text kNever{"never", "永不过期"};
inline constexpr Text kInTime{"in {time}", "{time} 后"};
inline constexpr Text kTimeAgo{"{time} ago", "{time} 前"};
inline constexpr Text kNoTokens{"No tokens yet. Make one: {command}", "还没有令牌。创建令牌：{command}"};
inline constexpr Text kOldSecret{"the secret before the last rotation is accepted until {time}",
                                 "上次轮换之前的密钥有效至 {time}"};
inline constexpr Text kTokenIs{"token {token} of role {role}", "令牌 {token}，角色为{role}"};
inline constexpr Text kTokenFor{" for {tenant}", "，所属租户 {tenant}"};
inline constexpr Text kTokenUntil{", good until {time}", "，有效期至 {time}"};
inline constexpr Text kTokenForEver{", without an end", "，永不过期"};
inline constexpr Text kTokenAbout{"{role}, {state}", "{role}，{state}"};

// ---- explain
inline constexpr Text kCode{"CODE", "代码"};
inline constexpr Text kMeaning{"MEANING", "含义"};
inline constexpr Text kKind{"KIND", "类别"};
inline constexpr Text kJobKind{"KIND", "类型"};
inline constexpr Text kEffect{"EFFECT", "结果"};
inline constexpr Text kRemedy{"REMEDY", "处理办法"};
inline constexpr Text kWhatFollows{"what follows: {text}", "结果：{text}"};
inline constexpr Text kWhatToDo{"what to do: {text}", "处理办法：{text}"};
inline constexpr Text kNoSuchCode{"there is no code '{code}'", "没有代码“{code}”"};
inline constexpr Text kExplainNearest{"did you mean: tangram explain {code}",
                                      "您是不是要：tangram explain {code}"};
inline constexpr Text kExplainAll{"tangram explain lists all of them", "tangram explain 列出全部代码"};

// ---- apply, version, errors
inline constexpr Text kCreated{"created", "已创建"};
inline constexpr Text kChanged{"changed", "已更改"};
inline constexpr Text kUnchanged{"unchanged", "未变化"};
inline constexpr Text kHint{"hint: {hint}", "提示：{hint}"};
inline constexpr Text kSeeExplain{"see also: tangram explain {code}", "另见：tangram explain {code}"};

}  // namespace tangram::wire::view
