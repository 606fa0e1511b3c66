// Why the cluster's manager says no, and what a Pod waits for there: as reason_catalogue.cc.
#include "wire/reason_tables.h"

namespace tangram::wire {
namespace {

constexpr ReasonText kReasons[] = {
    ReasonText{"kube.book.not_ready", "the manager does not lead, or has not read the cluster yet",
               "管理器不是主节点，或尚未读完集群状态", "try again in some seconds", "数秒后重试"},
    ReasonText{"kube.pod.unknown", "Tangram's manager knows no such Pod", "Tangram 的管理器不认识该 Pod",
               "it has ended, or was not let in by Tangram's admission",
               "该 Pod 已结束，或未经 Tangram 准入"},
    ReasonText{"kube.pod.not_admitted", "the Pod waits for its tenant's quota", "Pod 正在等待其租户的配额",
               "its condition tangram.dev/QuotaAdmitted says for what",
               "其状态 tangram.dev/QuotaAdmitted 给出了原因"},
    ReasonText{"kube.pod.uncounted", "the Pod is admitted, but what it asks for cannot be counted",
               "Pod 已获准入，但其请求无法计入", "the manager's log says why; create the Pod again",
               "管理器日志说明了原因；请重新创建该 Pod"},
    ReasonText{"kube.pod.bound", "the Pod is bound to another node", "Pod 已绑定到另一节点",
               "nothing needs to be done", "无需处理"},
    ReasonText{"kube.place.none", "the Pod does not fit on that node", "该节点放不下此 Pod",
               "it is placed when there is room", "有空间时会自动放置"},
    ReasonText{"kube.grant.unknown", "the Pod was granted a template that no chip has",
               "Pod 获得的模板不属于任何芯片", "put the ChipModel back, or create the Pod again",
               "恢复该 ChipModel，或重新创建 Pod"},
    ReasonText{"kube.tenant.closed", "nothing is admitted for the tenant: it or one above it is not there",
               "该租户暂不准入：它或其上级租户不存在",
               "have the operator make the Tenant, or correct spec.parent",
               "请管理员创建该 Tenant，或更正 spec.parent"},
};

}  // namespace

std::span<const ReasonText> manager_reasons() {
  return kReasons;
}

}  // namespace tangram::wire
