// What `tangram doctor` says, in both languages. Beside the commands stands what the vendor's tool calls -i
// and -c: card and chip on it.
#pragma once

#include <string_view>

#include "wire/language.h"

namespace tangram::wire::doctor {

// Its unit gives the daemon root, namespaces and control groups with a filter of devices.
inline constexpr std::string_view kRestartDaemon{"systemctl restart tangram"};
// For a daemon that a user runs: restarting what he started gives it nothing.
inline constexpr std::string_view kRunAsRoot{"sudo systemctl enable --now tangram"};
inline constexpr std::string_view kShowLog{"journalctl -u tangram -n 50"};
inline constexpr std::string_view kSeparateDies{"npu-smi set -t multi-die-policy -d 1"};

inline constexpr Text kNoLibrary{"there is no usable libdcmi.so, so no NPU is known: {why}",
                                 "没有可用的 libdcmi.so，因此看不到任何 NPU：{why}"};
inline constexpr Text kDriverAway{"the driver does not answer, so no NPU can be given: {why}",
                                  "驱动没有响应，无法分配 NPU：{why}"};
inline constexpr Text kNoRecords{"the journal takes no records, so nothing is accepted or started: {why}",
                                 "日志无法写入，因此不会接受或启动任何任务：{why}"};
inline constexpr Text kNoNpus{"the driver lists no NPU", "驱动没有列出任何 NPU"};
inline constexpr Text kNpuNotOk{"NPU {npu} is {health}, and no job gets it: {why}",
                                "NPU {npu} {health}，不会分配给任务：{why}"};
inline constexpr Text kRecovers{
    "the driver cuts the slices of before again at every boot, when their jobs have ended long since",
    "驱动在每次启动时重新切出之前的切片，而那时其任务早已结束"};
inline constexpr Text kForMachines{"the driver cuts for virtual machines: no job can get a slice",
                                   "驱动按虚拟机模式切分：任务得不到切片"};
inline constexpr Text kUnknownBoard{"slices of NPU {npu}: {why}", "NPU {npu} 的切片：{why}"};
inline constexpr Text kResidual{
    "slice {slice} ({template}) of NPU {npu} is nobody's, and its room is not offered",
    "NPU {npu} 的切片 {slice}（{template}）无主，其资源不能分配"};
inline constexpr Text kForeign{
    "slice {slice} ({template}) of NPU {npu} is not this daemon's, and its room is not offered",
    "NPU {npu} 的切片 {slice}（{template}）不属于此守护进程，其资源不能分配"};
inline constexpr Text kChecked{
    "slice {slice} of NPU {npu} is nobody's, and the last look does not show it: it is being checked",
    "NPU {npu} 的切片 {slice} 无主，且最近一次查看没有看到它：正在确认"};
inline constexpr Text kIllegal{
    "what stands on NPU {npu} ({templates}) is no mix that the catalogue knows for {model}: {why}",
    "NPU {npu} 上的切片（{templates}）不是目录中 {model} 的合法组合：{why}"};
inline constexpr Text kUnknownTemplate{"{template} is no template of it", "{template} 不是其模板"};
inline constexpr Text kVgroupsUnclear{"its vGroups do not fit, or are not told", "vGroup 不符合规则或未给出"};
inline constexpr Text kDiffers{
    "NPU {npu} has {reported} {resource}, and the catalogue says {expected} for {model}",
    "NPU {npu} 的 {resource} 为 {reported}，而目录中 {model} 为 {expected}"};
inline constexpr Text kUnusedChip{"chip {chip} of slices.chips matches no NPU of this machine",
                                  "slices.chips 中的芯片 {chip} 不匹配这台机器的任何 NPU"};
inline constexpr Text kRefused{"NPU {npu} is not cut, for its driver has refused to: {why}",
                               "驱动拒绝切分 NPU {npu}：{why}"};
inline constexpr Text kFileDamaged{
    "the driver's memory of slices, {path}, is damaged, so that every cut fails: {why}",
    "驱动记录切片的文件 {path} 已损坏，任何切分都会失败：{why}"};
inline constexpr Text kFileUnwritable{
    "the driver's memory of slices, {path}, cannot be written, so that cuts and returns may fail: {why}",
    "驱动记录切片的文件 {path} 无法写入，切分和归还可能失败：{why}"};
inline constexpr Text kFileNotPlain{
    "the driver's memory of slices is no plain file, so that the daemon takes nothing out of it, and cuts "
    "may "
    "fail: {why}",
    "驱动记录切片的位置不是普通文件，守护进程不会从中删除记录，切分可能失败：{why}"};
inline constexpr Text kLockUnusable{
    "the lock of the driver's memory of slices is no plain file or cannot be opened, so that cuts fail: "
    "{why}",
    "驱动记录切片的文件的锁不是普通文件或无法打开，切分会失败：{why}"};
inline constexpr Text kFileUnusable{
    "the driver says that it cannot use its memory of slices, {path}, so that cuts fail, although no fault "
    "is "
    "seen in it: {why}",
    "驱动称无法使用其记录切片的文件 {path}，切分会失败，但未发现该文件有问题：{why}"};
inline constexpr Text kFileExposed{
    "the driver's memory of slices, {path}, is open to others than its user, who decide what a boot cuts: "
    "{why}",
    "驱动记录切片的文件 {path} 对其他用户开放，他们可以决定启动时切分什么：{why}"};
inline constexpr Text kClosedDevices{
    "jobs run as user {user} and cannot open {paths} (owner {owner}, group {group}, mode {mode})",
    "任务以用户 {user} 运行，无法打开 {paths}（属主 {owner}，组 {group}，权限 {mode}）"};
inline constexpr Text kSharedDevices{
    "jobs have no /dev of their own: all see every device node, and none can get a slice",
    "任务没有自己的 /dev：都能看到所有设备节点，且得不到切片"};
inline constexpr Text kNoDaemon{"no daemon answers, so nothing of the machine can be looked at: {why}",
                                "守护进程没有响应，无法检查机器：{why}"};

}  // namespace tangram::wire::doctor
