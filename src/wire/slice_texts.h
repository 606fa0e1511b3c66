// What the daemon says of slices, of requests that nobody has submitted, and of what is wrong with a machine,
// in both languages.
#pragma once

#include "wire/language.h"

namespace tangram::wire::slices {

// ---- the rules of a mix that stands
inline constexpr Text kTooManySlices{"{needed} slices, and this chip can have {available}",
                                     "需要 {needed} 个切片，该芯片最多 {available} 个"};
inline constexpr Text kTooMuch{"{resource}: {needed} needed, and the chip has {available}",
                               "{resource}：需要 {needed}，芯片共有 {available}"};
inline constexpr Text kTooManyOfTemplate{"{needed} of {template}, and this chip can have {available} of it",
                                         "需要 {needed} 个 {template}，该芯片最多 {available} 个"};
inline constexpr Text kMediaOwned{"{template} takes all media engines (DVPP), and {needed} slices use them",
                                  "{template} 独占媒体引擎（DVPP），而有 {needed} 个切片使用它们"};
inline constexpr Text kTooManyVgroups{
    "{needed} vGroups, and the chip has {available}: single cores share one in twos, any other slice has one "
    "to itself",
    "需要 {needed} 个 vGroup，芯片共有 {available} 个：单核切片两两共用一个，其他切片各占一个"};
inline constexpr Text kTooManyVgroupCores{
    "AI cores with those that single cores withhold in their vGroups: {needed} needed, and the chip has "
    "{available}",
    "算上单核切片在 vGroup 中占住的 AI Core：需要 {needed} 个，芯片共有 {available} 个"};

// ---- the same of slices that are to stand beside others: what they need, and what those leave
inline constexpr Text kTooManySlicesMore{"slices: {more} needed, {left} of {available} left",
                                         "切片数：需要 {more}，共 {available}，剩余 {left}"};
inline constexpr Text kTooMuchMore{"{resource}: {more} needed, {left} of {available} left",
                                   "{resource}：需要 {more}，共 {available}，剩余 {left}"};
inline constexpr Text kTooManyOfTemplateMore{"{template}: {more} needed, {left} of {available} left",
                                             "{template}：需要 {more}，共 {available}，剩余 {left}"};
inline constexpr Text kTooManyVgroupsMore{
    "vGroups: {more} needed, {left} of {available} left (single cores share one in twos, any other slice has "
    "one to itself)",
    "vGroup：需要 {more}，共 {available}，剩余 {left}（单核切片两两共用一个，其他切片各占一个）"};
inline constexpr Text kTooManyVgroupCoresMore{
    "AI cores with those that single cores withhold in their vGroups: {more} needed, {left} of {available} "
    "left",
    "算上单核切片在 vGroup 中占住的 AI Core：需要 {more} 个，共 {available} 个，剩余 {left} 个"};

// ---- what forbids any
inline constexpr Text kIsWhole{"NPU {npu} is in use whole; it can be cut once that job has ended",
                               "NPU {npu} 正被整个占用，结束后才能切分"};
inline constexpr Text kNoSuchTemplate{"{template} is no template of {model}; there are: {known}",
                                      "{template} 不是 {model} 的模板；可用的有：{known}"};
inline constexpr Text kNotGiven{"no request is ever given {template}; of {model} there are: {known}",
                                "{template} 不会分配给任何请求；{model} 可用的有：{known}"};
inline constexpr Text kNotKnownMix{
    "what stands on NPU {npu} is no mix that the catalogue knows: nothing is cut beside it",
    "NPU {npu} 上的切片组合不在目录中：不再切分"};
inline constexpr Text kNotKnownChip{
    "the catalogue has no chip for NPU {npu} ({chip}), which is given whole only",
    "目录中没有 NPU {npu}（{chip}）的芯片型号，只能整个分配"};
inline constexpr Text kAiCores{"AI cores", "AI Core"};
inline constexpr Text kAiCpus{"AICPU", "AICPU"};
inline constexpr Text kMemory{"memory", "内存"};
inline constexpr Text kMediaEngines{"media engines {name}", "媒体引擎 {name}"};

// ---- why nothing is cut
inline constexpr Text kNotHealthy{"NPU {npu} is not healthy, and is not cut before it is",
                                  "NPU {npu} 不健康，恢复前不切分"};
inline constexpr Text kForMachines{"the driver cuts for virtual machines, not for containers",
                                   "驱动按虚拟机模式切分，而不是容器模式"};
inline constexpr Text kNotRead{"the driver does not tell the slices of NPU {npu}: {why}",
                               "驱动没有给出 NPU {npu} 的切片：{why}"};
inline constexpr Text kNotOffered{"this daemon does not cut NPU {npu} for jobs: {why}",
                                  "此守护进程不为任务切分 NPU {npu}：{why}"};
inline constexpr Text kRests{"NPU {npu} has just refused a cut, and is asked again within seconds",
                             "NPU {npu} 刚刚拒绝了一次切分，几秒后再试"};

// ---- what a request comes to
inline constexpr Text kWholeGranted{"{npus} whole, each of {chip} with {memory} and {cores}{usable}",
                                    "整个 {npus}，各为 {chip}，{memory}，{cores}{usable}"};
inline constexpr Text kOneWholeGranted{"the whole NPU: {chip}, {memory}, {cores}{usable}",
                                       "整个 NPU：{chip}，{memory}，{cores}{usable}"};
inline constexpr Text kUsableWhole{", {usable} for the program", "，程序可用 {usable}"};
inline constexpr Text kWholeOf{"{count} whole NPUs of at least {memory}",
                               "{count} 个不小于 {memory} 的整个 NPU"};
inline constexpr Text kOneWholeOf{"{count} whole NPU of at least {memory}",
                                  "{count} 个不小于 {memory} 的整个 NPU"};
inline constexpr Text kTemplateGranted{
    "{template}: {cores}, {memory} nominal, {usable} for the program; {why}",
    "{template}：{cores}，标称 {memory}，程序可用 {usable}；{why}"};
inline constexpr Text kAsAsked{"just what is asked for", "与请求一致"};
inline constexpr Text kRoundedUp{"the smallest template that holds {asked}", "能容纳 {asked} 的最小模板"};
inline constexpr Text kUsableIsBelow{"{why}, though a program finds less than the {asked} that are asked for",
                                     "{why}，但程序可用的少于请求的 {asked}"};
inline constexpr Text kBecomesWhole{"a whole NPU of {chip}: {memory}, {cores}{usable}; {why}",
                                    "整个 {chip} NPU：{memory}，{cores}{usable}；{why}"};
inline constexpr Text kNoTemplateHolds{"no template holds {asked}", "没有模板能容纳 {asked}"};
inline constexpr Text kLargestTemplateIs{
    "no template holds {asked}, the largest is {template} with {memory} and {cores}",
    "没有模板能容纳 {asked}，最大的 {template} 为 {memory}、{cores}"};
inline constexpr Text kComma{", ", "、"};
inline constexpr Text kOr{"{one} or {other}", "{one} 或 {other}"};
inline constexpr Text kAskedBoth{"{memory} and {cores}", "{memory} 和 {cores}"};
inline constexpr Text kFitsNow{"it would start now, on NPU {npus}", "可以立即启动，位于 NPU {npus}"};
inline constexpr Text kFitsNowOnSeveral{"it would start now, on NPUs {npus}",
                                        "可以立即启动，位于 NPU {npus}"};
inline constexpr Text kFitsLater{"it would wait: {reason}", "需要等待：{reason}"};
inline constexpr Text kFitsReady{"it would wait its turn behind jobs that start first",
                                 "需要排在先启动的任务之后"};
inline constexpr Text kFitsNever{"it would be refused: {reason}", "会被拒绝：{reason}"};

}  // namespace tangram::wire::slices
