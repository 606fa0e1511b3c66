// The general sentence behind every reason token, without names and numbers: for catalogues, and for readers
// of another language than the daemon's.
#include <array>

#include "wire/texts.h"

namespace tangram::wire {
namespace {

constexpr std::array kReasons = {
    // Why jobs wait or are refused.
    ReasonText{"quota.npus.exceeded", "the tenant's NPUs are all in use", "租户的 NPU 配额已用完",
               "it starts when jobs of the tenant end", "该租户的任务结束后即可启动"},
    ReasonText{"quota.memory_total.exceeded", "the tenant's device memory is all in use",
               "租户的设备内存配额已用完", "it starts when jobs of the tenant end",
               "该租户的任务结束后即可启动"},
    ReasonText{"quota.ai_cores.exceeded", "the tenant's AI cores are all in use", "租户的 AI Core 配额已用完",
               "it starts when jobs of the tenant end", "该租户的任务结束后即可启动"},
    ReasonText{"quota.running_jobs.exceeded", "the tenant runs as many jobs as it may",
               "租户同时运行的任务数已达上限", "it starts when a job of the tenant ends",
               "该租户的任务结束后即可启动"},
    ReasonText{"quota.bandwidth.exceeded", "the tenant's bandwidth is all booked", "租户的带宽配额已用完",
               "it starts when jobs of the tenant end", "该租户的任务结束后即可启动"},
    ReasonText{"quota.kept", "the tenant's free quota is kept for a job that waited past the bound",
               "租户的空闲配额留给等待超过期限的任务", "it starts after that job", "在该任务之后启动"},
    ReasonText{"quota.memory_per_npu.above_limit", "more memory per NPU than the tenant may use",
               "每个 NPU 的内存超过租户的上限", "ask for less with --memory", "减小 --memory"},
    ReasonText{"quota.run_time.above_limit", "a longer time limit than the tenant may use",
               "运行时限超过租户的上限", "ask for less with --time-limit", "减小 --time-limit"},
    ReasonText{"quota.priority.forbidden", "a priority that the tenant may not use", "租户不允许使用该优先级",
               "choose another --priority; tangram quota shows which",
               "选择其他 --priority；tangram quota 列出允许的优先级"},
    ReasonText{"quota.npus.above_limit", "more NPUs than the tenant may ever hold",
               "NPU 数超过租户的配额上限", "ask for fewer with --npus", "减少 --npus"},
    ReasonText{"quota.memory_total.above_limit", "more device memory than the tenant may ever hold",
               "设备内存超过租户的配额上限", "ask for fewer --npus", "减少 --npus"},
    ReasonText{"quota.ai_cores.above_limit", "more AI cores than the tenant may ever hold",
               "AI Core 数超过租户的配额上限", "ask for fewer --npus", "减少 --npus"},
    ReasonText{"quota.running_jobs.above_limit", "the tenant may not run any job", "租户不允许运行任何任务",
               "ask the operator to raise spec.quota.runningJobs", "请管理员提高 spec.quota.runningJobs"},
    ReasonText{"quota.bandwidth.above_limit", "more bandwidth than the tenant may ever book",
               "带宽超过租户的配额上限", "ask for less with --bandwidth", "减小 --bandwidth"},
    ReasonText{"capacity.npus.busy", "too few NPUs are free", "空闲的 NPU 不足",
               "tangram status shows who holds them", "tangram status 显示占用情况"},
    ReasonText{"capacity.npus.unhealthy", "enough NPUs would be free, were they healthy",
               "部分 NPU 不健康，空闲的不足", "tangram status shows what is wrong with them",
               "tangram status 显示故障原因"},
    ReasonText{"capacity.npus.kept", "free NPUs are kept for a job that waited past the bound",
               "空闲的 NPU 留给等待超过期限的任务", "it starts after that job", "在该任务之后启动"},
    ReasonText{"capacity.npus.never", "no node has that many NPUs of one model",
               "没有节点有这么多同一型号的 NPU", "ask for fewer with --npus", "减少 --npus"},
    ReasonText{"capacity.memory.never", "no NPU has that much memory", "没有 NPU 有这么大的内存",
               "ask for less with --memory", "减小 --memory"},
    ReasonText{"capacity.no_devices", "no NPU is known at present", "目前没有可用的 NPU",
               "tangram status shows why", "tangram status 显示原因"},
    ReasonText{"request.slice.unsupported", "slices of an NPU are not supported yet", "尚不支持 NPU 切片",
               "ask for whole NPUs with --npus", "用 --npus 请求整个 NPU"},
    ReasonText{"request.share.unsupported", "shares of an NPU are not supported yet", "尚不支持共享 NPU",
               "ask for whole NPUs with --npus", "用 --npus 请求整个 NPU"},
    // Tenants.
    ReasonText{"tenant.unknown", "there is no such tenant", "租户不存在", "tangram quota lists the tenants",
               "tangram quota 列出所有租户"},
    ReasonText{"tenant.exists", "a tenant of that name exists", "同名租户已存在", "choose another name",
               "换一个名称"},
    ReasonText{"tenant.busy", "the tenant has jobs or children", "租户仍有任务或下级租户",
               "wait for its jobs, or cancel them: tangram queue --tenant NAME",
               "等待或取消其任务：tangram queue --tenant NAME"},
    ReasonText{"tenant.cycle", "the tenant would stand above itself", "租户不能是自己的上级",
               "choose another parent", "选择其他上级租户"},
    ReasonText{"tenant.too_deep", "the tenants would be nested too deep", "租户层级过深",
               "choose a parent nearer to the top", "选择更靠近顶层的上级租户"},
    ReasonText{"tenant.not_yours", "the caller may not act for that tenant", "调用者不能代表该租户操作",
               "leave the tenant out, or use your own", "省略租户，或使用自己的租户"},
    ReasonText{"quota.below_zero", "a limit of a quota is negative", "配额不能为负数", "write 0 or more",
               "填写 0 或更大的值"},
    // Jobs.
    ReasonText{"job.unknown", "there is no such job", "任务不存在", "tangram queue --all lists the jobs",
               "tangram queue --all 列出所有任务"},
    ReasonText{"job.ended", "the job has ended", "任务已结束", "tangram queue --all shows how",
               "tangram queue --all 显示结果"},
    ReasonText{"job.ambiguous", "several jobs have that name", "有多个同名任务", "name it by its id",
               "使用任务编号"},
    ReasonText{"job.name_in_use", "an unfinished job of the tenant has that name", "该租户有同名的未结束任务",
               "choose another --name", "换一个 --name"},
    ReasonText{"job.attempt.unknown", "the job has no such attempt", "任务没有这次尝试",
               "leave --attempt out for the last one", "省略 --attempt 以查看最后一次"},
    ReasonText{"queue.full", "the queue is full", "队列已满", "try again when jobs have ended",
               "任务结束后重试"},
    ReasonText{"queue.tenant_full", "the tenant has as many unfinished jobs as it may",
               "该租户未结束的任务数已达上限", "wait for some to end, or cancel some",
               "等待任务结束或取消部分任务"},
    // Callers.
    ReasonText{"caller.unknown", "the caller is neither the operator nor of a tenant",
               "调用者既不是管理员也不属于任何租户",
               "ask the operator to list your uid in members of your tenant",
               "请管理员把你的 uid 加入租户的 members"},
    ReasonText{"caller.not_operator", "only the operator may do that", "只有管理员可以执行该操作",
               "run it as root, or ask the operator", "以 root 身份执行，或联系管理员"},
    // What was sent.
    ReasonText{"input.syntax", "the text cannot be parsed", "文本格式错误", "look at the line and column",
               "查看所指的行和列"},
    ReasonText{"input.unknown_field", "a field that does not exist", "字段不存在", "check its spelling",
               "检查拼写"},
    ReasonText{"input.missing_field", "a field is missing", "缺少字段", "add it", "补上该字段"},
    ReasonText{"input.wrong_type", "a value of the wrong type", "值的类型错误",
               "write what the message asks for", "按提示填写"},
    ReasonText{"input.out_of_range", "a number out of its range", "数值超出范围", "stay within the range",
               "填写范围内的值"},
    ReasonText{"input.bad_value", "a value that is not allowed", "值不合法",
               "write what the message asks for", "按提示填写"},
    ReasonText{"input.too_long", "a value that is too long", "值过长", "shorten it", "缩短该值"},
    ReasonText{"input.too_many", "too many entries", "条目过多", "send fewer", "减少条目"},
    ReasonText{"input.duplicate_key", "something is given twice", "重复定义", "keep one of them",
               "只保留一个"},
    ReasonText{"input.too_deep", "values are nested too deep", "嵌套过深", "flatten it", "减少嵌套"},
    ReasonText{"input.too_large", "the body is too large", "内容过大", "send it in parts", "分批发送"},
    ReasonText{"input.reserved", "a name that is reserved", "名称被保留", "choose another", "换一个名称"},
    ReasonText{"value.malformed", "a quantity that cannot be read", "数量格式错误",
               "write a number with a unit", "填写带单位的数值"},
    // The service.
    ReasonText{"idempotency.conflict", "the Idempotency-Key was used for another request",
               "Idempotency-Key 已用于另一请求", "use a new key", "换一个新的键"},
    ReasonText{"service.busy", "the daemon has too many requests at once", "守护进程请求过多",
               "try again in a moment", "稍后重试"},
    ReasonText{"service.stopping", "the daemon is stopping", "守护进程正在停止", "try again when it is back",
               "恢复后重试"},
};

}  // namespace

std::span<const ReasonText> reason_catalogue() {
  return kReasons;
}

const ReasonText* find_reason(std::string_view token) {
  for (const ReasonText& reason : kReasons) {
    if (reason.token == token) return &reason;
  }
  return nullptr;
}

}  // namespace tangram::wire
