// Why the agent of a node in a cluster says no: as reason_catalogue.cc.
#include "wire/reason_tables.h"

namespace tangram::wire {
namespace {

constexpr ReasonText kReasons[] = {
    ReasonText{"node.grant.missing", "the Pod was given no NPU by Tangram", "Tangram 未给该 Pod 分配 NPU",
               "create the Pod again, so that admission and scheduler see it",
               "重新创建该 Pod，使其经过准入与调度"},
    ReasonText{"node.pod.unknown", "it is not known whose container starts",
               "无法确定是哪个 Pod 的容器在启动",
               "the kubelet tries again; look at its log and at the API server",
               "kubelet 会重试；请查看其日志和 API 服务器"},
    ReasonText{"node.pod.ambiguous", "more than one container may be the one that starts",
               "可能启动的容器不止一个", "the kubelet tries again", "kubelet 会重试"},
    ReasonText{"node.pod.unsettled", "the end of an init container is not known yet",
               "尚不知 init 容器是否已结束", "the kubelet tries again", "kubelet 会重试"},
    ReasonText{"node.pod.mismatch", "the kubelet's record and pod-resources contradict each other",
               "kubelet 的记录与 pod-resources 不一致", "restart the kubelet if it lasts",
               "若持续存在，请重启 kubelet"},
    ReasonText{"node.pods.unknown", "the Pods of the node are not known yet", "尚未获知该节点的 Pod",
               "check that the agent reaches the API server", "检查代理能否连接 API 服务器"},
    ReasonText{"node.record.unreadable", "the kubelet's record of devices cannot be read",
               "无法读取 kubelet 的设备记录", "look whether this version of Kubernetes is supported",
               "确认支持该 Kubernetes 版本"},
    ReasonText{"node.npu.unknown", "the Pod was given an NPU that the node does not have",
               "分配给 Pod 的 NPU 不在该节点上",
               "compare tangram.dev/npus of the node with the Pod's allocation",
               "对照节点的 tangram.dev/npus 与 Pod 的分配"},
    ReasonText{"node.npu.taken", "somebody else has what the Pod was given", "分配给 Pod 的资源已被占用",
               "it is tried again; look for slices that are left behind", "会重试；请查找残留切片"},
    ReasonText{"node.slice.no_id", "the NPU has as many slices as it can have", "该 NPU 的切片数已达上限",
               "wait until one is returned", "等待切片归还"},
    ReasonText{"node.slice.pending", "the slice is not there yet", "切片尚未就绪", "the kubelet tries again",
               "kubelet 会重试"},
    ReasonText{"node.device.missing", "a device node of the driver is not there", "缺少驱动的设备节点",
               "check that the driver is loaded", "检查驱动是否已加载"},
    ReasonText{
        "node.ledger.damaged", "the node agent's memory of slices cannot be read",
        "无法读取节点代理的切片记录",
        "the agent makes it anew once kubelet, API server and driver answer; look at the node's conditions",
        "kubelet、API 服务器与驱动应答后代理会重建该记录；请查看节点的状况"},
    ReasonText{"node.npu.excluded", "an operator has the agent leave this NPU alone",
               "运维人员要求代理不使用该 NPU", "kubectl get nodeconfigs", "查看 kubectl get nodeconfigs"},
    ReasonText{"node.agent.twice", "another agent runs on this node", "该节点上已有另一个代理在运行",
               "stop that one first", "请先停止它"},
    ReasonText{"node.kubelet.away", "the kubelet cannot be asked", "无法询问 kubelet",
               "check that it runs, and that its sockets are mounted",
               "检查 kubelet 是否运行及其套接字是否已挂载"},
    ReasonText{"node.socket.unusable", "the socket of the device plugin cannot be used",
               "无法使用设备插件的套接字", "check the kubelet's directory", "检查 kubelet 目录"},
    ReasonText{"node.other_driver", "another driver hands out the same NPUs", "另一个驱动正在分配相同的 NPU",
               "remove it from this node first", "请先从该节点移除它"},
    ReasonText{"node.options.invalid", "an option of the node agent cannot be used", "节点代理的选项无法使用",
               "tangram-kube-node --help", "参见 tangram-kube-node --help"},
    ReasonText{"node.stopping", "the node agent is being stopped", "节点代理正在停止", "it is tried again",
               "会重试"},
};

}  // namespace

std::span<const ReasonText> node_reasons() {
  return kReasons;
}

}  // namespace tangram::wire
