// Why a Pod is not let in: as reason_catalogue.cc.
#include "wire/reason_tables.h"

namespace tangram::wire {
namespace {

constexpr ReasonText kReasons[] = {
    ReasonText{"admission.review.invalid", "what the webhook was sent is no review of a Pod",
               "发送给 webhook 的内容不是对 Pod 的审核请求", "correct the webhook's configuration",
               "修正 webhook 配置"},
    ReasonText{"admission.request.invalid", "a container asks for NPUs in a way that cannot be given",
               "容器的 NPU 请求无法满足", "the message names the field and what would be right",
               "错误信息给出了字段和正确写法"},
    ReasonText{"admission.request.unsupported", "a container asks for what is not supported",
               "容器请求了不支持的功能", "the message says what to ask for instead",
               "错误信息说明了替代写法"},
    ReasonText{"admission.forged", "a Pod carries marks that Tangram alone sets",
               "Pod 带有只能由 Tangram 设置的标记", "remove them", "删除这些标记"},
    ReasonText{"admission.environment.reserved", "a container sets what chooses its devices",
               "容器设置了用于选择设备的环境变量", "ask for NPUs in resources.limits",
               "在 resources.limits 中请求 NPU"},
    ReasonText{"admission.privileged", "a privileged container would see every NPU of its node",
               "特权容器会看到节点上的所有 NPU", "remove securityContext.privileged",
               "删除 securityContext.privileged"},
    ReasonText{"admission.bound", "a Pod with NPUs chooses its node itself", "带 NPU 的 Pod 自行指定了节点",
               "choose nodes by spec.nodeSelector", "用 spec.nodeSelector 选择节点"},
    ReasonText{"admission.scheduler", "a Pod with NPUs names a scheduler that gives none",
               "带 NPU 的 Pod 指定了不分配 NPU 的调度器", "leave spec.schedulerName out",
               "不填 spec.schedulerName"},
    ReasonText{"admission.annotation.invalid", "an annotation of the Pod is not what it has to be",
               "Pod 的注解不符合要求", "correct it, or remove it", "修正或删除该注解"},
    ReasonText{"admission.quota.exceeded", "the namespace's ResourceQuota has no room for the Pod",
               "命名空间的 ResourceQuota 不足以容纳该 Pod", "ask for less memory, or wait until Pods end",
               "减少内存请求，或等待其他 Pod 结束"},
    ReasonText{"admission.tenant.none", "the namespace belongs to no Tenant", "命名空间不属于任何租户",
               "give it a label that a Tenant's namespaceSelector selects",
               "为其添加租户 namespaceSelector 所选择的标签"},
    ReasonText{"admission.tenant.several", "the namespace belongs to several Tenants", "命名空间属于多个租户",
               "change one of their namespaceSelectors", "修改其中一个租户的 namespaceSelector"},
    ReasonText{"admission.tenant.invalid", "the Tenant's parents are missing or go in a circle",
               "租户的上级不存在或形成环", "correct spec.parent", "修正 spec.parent"},
    ReasonText{"admission.not_ready", "the webhook has not read the cluster yet", "webhook 尚未读取集群信息",
               "try again in some seconds", "几秒后重试"},
};

}  // namespace

std::span<const ReasonText> admission_reasons() {
  return kReasons;
}

}  // namespace tangram::wire
