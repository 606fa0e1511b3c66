#include "wire/catalogue.h"

#include <array>

namespace tangram::wire {
namespace {

constexpr std::array<ReasonTemplate, 26> kTemplates = {{
    {ReasonCode::kQuotaNpus, false,
     "tenant {tenant} holds {used} of {limit} and the job needs {asked}{granted}{holders}",
     "租户 {tenant} 的配额为 {limit}，已占用 {used}，任务需要 {asked}{granted}{holders}",
     "it starts when jobs of the tenant end: tangram queue --tenant {plain_tenant}",
     "该租户的任务结束后即可启动：tangram queue --tenant {plain_tenant}"},
    {ReasonCode::kQuotaMemoryTotal, false,
     "tenant {tenant} holds {used} of {limit} of device memory in all and the job needs "
     "{asked}{granted}{holders}",
     "租户 {tenant} 的设备内存总量配额为 {limit}，已占用 {used}，任务需要 {asked}{granted}{holders}",
     "it starts when jobs of the tenant end: tangram queue --tenant {plain_tenant}",
     "该租户的任务结束后即可启动：tangram queue --tenant {plain_tenant}"},
    {ReasonCode::kQuotaAiCores, false,
     "tenant {tenant} holds {used} of {limit} and the job needs {asked}{granted}{holders}",
     "租户 {tenant} 的配额为 {limit}，已占用 {used}，任务需要 {asked}{granted}{holders}",
     "it starts when jobs of the tenant end: tangram queue --tenant {plain_tenant}",
     "该租户的任务结束后即可启动：tangram queue --tenant {plain_tenant}"},
    {ReasonCode::kQuotaRunningJobs, false, "tenant {tenant} runs {used} of at most {limit} at once{holders}",
     "租户 {tenant} 最多同时运行 {limit}，正在运行 {used}{holders}",
     "it starts when a job of the tenant ends: tangram queue --tenant {plain_tenant}",
     "该租户的任务结束后即可启动：tangram queue --tenant {plain_tenant}"},
    {ReasonCode::kQuotaBandwidth, false,
     "tenant {tenant} has booked {used} of {limit} of bandwidth and the job needs {asked}{holders}",
     "租户 {tenant} 的带宽配额为 {limit}，已预订 {used}，任务需要 {asked}{holders}",
     "it starts when jobs of the tenant end: tangram queue --tenant {plain_tenant}",
     "该租户的任务结束后即可启动：tangram queue --tenant {plain_tenant}"},
    {ReasonCode::kQuotaKept, false,
     "the free quota of tenant {tenant} is kept for job {kept_for}, which waited past the bound",
     "租户 {tenant} 的空闲配额留给等待超过期限的任务 {kept_for}",
     "see what that job waits for: tangram why {kept_id}", "查看该任务等待的原因：tangram why {kept_id}"},
    {ReasonCode::kQuotaMemoryPerNpu, true,
     "the job needs {asked} per NPU and tenant {tenant} allows at most {limit} per NPU",
     "任务每个 NPU 需要 {asked}，租户 {tenant} 每个 NPU 最多允许 {limit}",
     "submit it with {memory_option} {limit_option} or less, or ask the operator to raise "
     "spec.quota.memoryPerNpu: "
     "tangram "
     "quota {plain_tenant}",
     "以 {memory_option} {limit_option} 或更小的值提交，或请管理员提高 spec.quota.memoryPerNpu：tangram "
     "quota "
     "{plain_tenant}"},
    {ReasonCode::kQuotaRunTime, true,
     "the job's time limit is {asked} and tenant {tenant} allows at most {limit}",
     "任务的运行时限为 {asked}，租户 {tenant} 最多允许 {limit}",
     "submit it with --time-limit {limit_option} or less, or ask the operator to raise spec.quota.runTime: "
     "tangram quota "
     "{plain_tenant}",
     "以 --time-limit {limit_option} 或更小的值提交，或请管理员提高 spec.quota.runTime：tangram quota "
     "{plain_tenant}"},
    {ReasonCode::kQuotaPriority, true, "tenant {tenant} may not use priority {priority}{allowed}",
     "租户 {tenant} 不允许使用优先级 {priority}{allowed}",
     "submit it with a --priority that the tenant may use: tangram quota {plain_tenant}",
     "以该租户允许的 --priority 提交：tangram quota {plain_tenant}"},
    {ReasonCode::kQuotaNpusNever, true,
     "the job needs {asked}{granted} and tenant {tenant} may hold at most {limit}",
     "任务需要 {asked}{granted}，租户 {tenant} 的配额上限为 {limit}",
     "submit it with --npus {limit_option} or less, or ask the operator to raise spec.quota.npus: tangram "
     "quota "
     "{plain_tenant}",
     "以 --npus {limit_option} 或更小的值提交，或请管理员提高 spec.quota.npus：tangram quota {plain_tenant}"},
    {ReasonCode::kQuotaMemoryTotalNever, true,
     "the job would hold {asked} of device memory{granted} and tenant {tenant} may hold at most {limit} in "
     "all",
     "任务将占用设备内存 {asked}{granted}，租户 {tenant} 的设备内存总量上限为 {limit}",
     "submit it with fewer --npus or a smaller --slice, or ask the operator to raise spec.quota.memoryTotal: "
     "tangram quota "
     "{plain_tenant}",
     "减少 --npus 或减小 --slice 后提交，或请管理员提高 spec.quota.memoryTotal：tangram quota "
     "{plain_tenant}"},
    {ReasonCode::kQuotaAiCoresNever, true,
     "the job would hold {asked}{granted} and tenant {tenant} may hold at most {limit}",
     "任务将占用 {asked}{granted}，租户 {tenant} 的配额上限为 {limit}",
     "submit it with fewer --npus or a smaller --slice, or ask the operator to raise spec.quota.aiCores: "
     "tangram quota "
     "{plain_tenant}",
     "减少 --npus 或减小 --slice 后提交，或请管理员提高 spec.quota.aiCores：tangram quota {plain_tenant}"},
    {ReasonCode::kQuotaRunningJobsNever, true, "tenant {tenant} may run at most {limit} at once",
     "租户 {tenant} 最多同时运行 {limit}",
     "ask the operator to raise spec.quota.runningJobs: tangram quota {plain_tenant}",
     "请管理员提高 spec.quota.runningJobs：tangram quota {plain_tenant}"},
    {ReasonCode::kQuotaBandwidthNever, true,
     "the job books {asked} of bandwidth and tenant {tenant} may book at most {limit}",
     "任务预订带宽 {asked}，租户 {tenant} 最多可预订 {limit}",
     "submit it with --bandwidth {limit_option} or less, or ask the operator to raise spec.quota.bandwidth: "
     "tangram "
     "quota {plain_tenant}",
     "以 --bandwidth {limit_option} 或更小的值提交，或请管理员提高 spec.quota.bandwidth：tangram quota "
     "{plain_tenant}"},
    {ReasonCode::kNpusBusy, false,
     "the job needs {need}; of {limit} that would do, {free} free and healthy{holders}",
     "任务需要{need}；符合要求的有 {limit}，其中空闲且健康的有 {free}{holders}",
     "see who holds them: tangram status", "查看占用情况：tangram status"},
    {ReasonCode::kNpusUnhealthy, false,
     "the job needs {need}; of {limit} that would do, {unhealthy} not "
     "healthy{unhealthy_npus}, {free} free{holders}",
     "任务需要{need}；符合要求的有 {limit}，其中不健康的有 "
     "{unhealthy}{unhealthy_npus}，空闲的有 {free}{holders}",
     "see what is wrong with them: tangram status", "查看故障原因：tangram status"},
    {ReasonCode::kNpusKept, false,
     "the NPUs that are free are kept for job {kept_for}, which waited past the bound",
     "空闲的 NPU 留给等待超过期限的任务 {kept_for}", "see what that job waits for: tangram why {kept_id}",
     "查看该任务等待的原因：tangram why {kept_id}"},
    {ReasonCode::kNpusNever, true,
     "the job needs {asked} of one model on one node, and no node has that many{exist}",
     "任务需要同一节点上同一型号的 {asked}，没有节点有这么多{exist}",
     "submit it with fewer --npus; what there is: tangram status",
     "减少 --npus 后提交；现有的 NPU：tangram status"},
    {ReasonCode::kMemoryNever, true, "the job needs {memory} per NPU and no NPU has that much",
     "任务每个 NPU 需要 {memory}，没有 NPU 有这么大的内存",
     "submit it with less --memory; what there is: tangram status",
     "减小 --memory 后提交；现有的 NPU：tangram status"},
    {ReasonCode::kNoDevices, false, "no NPU is there at present: the driver does not answer, or shows none",
     "目前没有可用的 NPU：驱动没有响应，或没有显示任何 NPU", "see why: tangram status",
     "查看原因：tangram status"},
    {ReasonCode::kSlotsBusy, false,
     "the job needs {need}; an NPU has the memory, but cannot be cut once more: of {limit} that would do, "
     "{cut} "
     "cut{holders}",
     "任务需要{need}；有 NPU 内存足够，但无法再切分：符合要求的有 {limit}，其中已切分的有 {cut}{holders}",
     "it starts when a slice is given back: tangram status", "有切片归还后即可启动：tangram status"},
    {ReasonCode::kMemoryBusy, false,
     "the job needs {need}; of {limit} that would do, {free} free and healthy, {cut} cut into "
     "slices{holders}",
     "任务需要{need}；符合要求的有 {limit}，其中空闲且健康的有 {free}，已切分的有 {cut}{holders}",
     "see who holds them: tangram status", "查看占用情况：tangram status"},
    {ReasonCode::kSlicesResidual, false,
     "the job needs {need}, and slices that no job holds take the room{residual}",
     "任务需要{need}，但无任务持有的切片占用了资源{residual}",
     "tangram doctor says of each whether the daemon returns it, or which command does",
     "tangram doctor 会说明每个切片由守护进程回收还是用哪条命令回收"},
    {ReasonCode::kAiCoresNever, true, "the job needs {need} and no NPU that can be cut has that many cores",
     "任务需要{need}，没有可切分的 NPU 有这么多 AI Core",
     "ask for fewer cores with --slice; what there is: tangram status",
     "减少 --slice 的 AI Core 数；现有的 NPU：tangram status"},
    {ReasonCode::kSliceUnsupported, true, "no NPU here can be cut into slices", "此处没有可以切分的 NPU",
     "ask for whole NPUs: --npus 1", "请求整个 NPU：--npus 1"},
    {ReasonCode::kShareUnsupported, true, "shares of an NPU are not supported yet", "尚不支持共享 NPU",
     "ask for whole NPUs: --npus 1", "请求整个 NPU：--npus 1"},
}};

}  // namespace

std::span<const ReasonTemplate> reason_templates() {
  return kTemplates;
}

const ReasonTemplate* find_template(ReasonCode code) {
  for (const ReasonTemplate& entry : kTemplates) {
    if (entry.code == code) return &entry;
  }
  return nullptr;
}

}  // namespace tangram::wire
