// What an event says on the command line, in both languages.
#pragma once

#include "wire/language.h"

namespace tangram::wire::event {

// ---- who and where
inline constexpr Text kTitle{"{job}", "任务 {job}"};
inline constexpr Text kTitleOf{"{job} of {tenant}", "租户 {tenant} 的任务 {job}"};
inline constexpr Text kJob{"job {title}", "{title}"};
inline constexpr Text kOnNpu{" on NPU {npus}", "，位于 NPU {npus}"};
inline constexpr Text kOnNpus{" on NPUs {npus}", "，位于 NPU {npus}"};
inline constexpr Text kInSlice{" in {template} of NPU {npus}", "，位于 NPU {npus} 的 {template}"};
inline constexpr Text kAttempt{" (attempt {attempt})", "（第 {attempt} 次尝试）"};

// ---- jobs
inline constexpr Text kWants{"{job} wants {npus}", "{job} 请求 {npus}"};
inline constexpr Text kPriority{", priority {priority}", "，优先级 {priority}"};
inline constexpr Text kItWaits{"; it waits", "；等待中"};
inline constexpr Text kWaits{"{job} waits", "{job} 等待中"};
inline constexpr Text kAlikeWait{"{jobs} like {title} wait", "与{title} 同类的 {jobs}等待中"};
inline constexpr Text kStarting{"{job} is starting", "{job} 正在启动"};
inline constexpr Text kRuns{"{job} runs", "{job} 运行中"};
inline constexpr Text kStopping{"{job} is being stopped", "正在停止{job}"};
inline constexpr Text kByUid{", cancelled by uid {uid}", "，由 uid {uid} 取消"};
inline constexpr Text kByToken{", cancelled by token {token}", "，由令牌 {token} 取消"};
inline constexpr Text kRequeued{"{job} is back in the queue; attempt {attempt} is {outcome}",
                                "{job} 回到队列；第 {attempt} 次尝试的结果：{outcome}"};
inline constexpr Text kHasEnded{"{job} has ended{attempt}: {outcome}", "{job} 已结束{attempt}：{outcome}"};
inline constexpr Text kRefused{"{job} was refused", "{job} 被拒绝"};
inline constexpr Text kForgotten{"{job} is forgotten, its logs are removed", "{job} 已清除，日志已删除"};

// ---- tenants
inline constexpr Text kTenantCreated{"tenant {tenant} was created", "租户 {tenant} 已创建"};
inline constexpr Text kTenantChanged{"tenant {tenant} was changed", "租户 {tenant} 已更改"};
inline constexpr Text kTenantDeleted{"tenant {tenant} was deleted", "租户 {tenant} 已删除"};

// ---- NPUs and the daemon
inline constexpr Text kNpuAppeared{"{npu} is there; health: {health}", "发现 {npu}；健康状态：{health}"};
inline constexpr Text kNpuGone{"{npu} is gone; health before: {health}",
                               "{npu} 已消失；此前的健康状态：{health}"};
inline constexpr Text kNpuHealth{"{npu} has changed from {before} to {now}",
                                 "{npu} 的健康状态由{before}变为{now}"};
inline constexpr Text kNpuAllocated{"{npu} is given to {job}", "{npu} 已分配给{job}"};
inline constexpr Text kPartAllocated{"{template} of {npu} is given to {job}",
                                     "{npu} 的 {template} 已分配给{job}"};
inline constexpr Text kPartReleased{"{template} of {npu} is returned by {job}",
                                    "{job} 已归还 {npu} 的 {template}"};
inline constexpr Text kNpuReleased{"{npu} is returned by {job}", "{job} 已归还 {npu}"};
inline constexpr Text kSlice{"slice {slice} ({template}) of {npu}", "{npu} 的切片 {slice}（{template}）"};
inline constexpr Text kSliceMade{"{what} is cut for {job}", "已为{job}切分{what}"};
inline constexpr Text kSliceReturned{"{what} is returned", "{what}已归还"};
inline constexpr Text kDaemonStarted{"tangramd {version} has started", "tangramd {version} 已启动"};

}  // namespace tangram::wire::event
