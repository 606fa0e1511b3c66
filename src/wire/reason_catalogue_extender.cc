// Why the cluster's scheduler is told no: as reason_catalogue.cc.
#include "wire/reason_tables.h"

namespace tangram::wire {
namespace {

constexpr ReasonText kReasons[] = {
    ReasonText{"kube.extender.invalid", "the call is none of kube-scheduler's",
               "该调用并非来自 kube-scheduler",
               "this address is for the extenders of a KubeSchedulerConfiguration",
               "该地址仅供 KubeSchedulerConfiguration 的 extender 使用"},
    ReasonText{"kube.extender.caller", "the extender is for the cluster's scheduler alone",
               "extender 仅供集群调度器调用", "give kube-scheduler a client certificate: docs/extender.md",
               "为 kube-scheduler 配置客户端证书：docs/extender.md"},
    ReasonText{"kube.extender.follower", "another process leads", "当前由另一进程担任主节点",
               "the scheduler tries again", "调度器会重试"},
    ReasonText{"kube.extender.whole_nodes", "the scheduler sends whole nodes instead of their names",
               "调度器发送了完整的节点对象而非节点名", "set nodeCacheCapable: true for the extender",
               "为该 extender 设置 nodeCacheCapable: true"},
    ReasonText{"kube.extender.mismatch", "the book has answered for other nodes", "账本返回的节点与所问不符",
               "this is a bug: please report it", "这是程序缺陷，请报告"},
    ReasonText{"kube.bind.in_progress", "the Pod is being bound already", "该 Pod 正在绑定中",
               "the scheduler tries again", "调度器会重试"},
    ReasonText{"kube.bind.elsewhere", "the Pod is bound to another node already", "该 Pod 已绑定到其他节点",
               "nothing: it has its place", "无需处理：它已有位置"},
    ReasonText{"kube.bind.unsettled", "it is not known whether the Pod is bound", "尚不知该 Pod 是否已绑定",
               "look whether the API server answers", "检查 API 服务器是否响应"},
    ReasonText{"kube.gates.stay", "gates of Pods could not all be taken away", "部分 Pod 的调度门未能移除",
               "run it again; kubectl get pods -A -l tangram.dev/managed=true shows them",
               "请重新运行；kubectl get pods -A -l tangram.dev/managed=true 可列出它们"},
    ReasonText{"kube.options.invalid", "an option of tangram-kube cannot be used",
               "tangram-kube 的选项无法使用", "tangram-kube --help", "tangram-kube --help"},
};

}  // namespace

std::span<const ReasonText> extender_reasons() {
  return kReasons;
}

}  // namespace tangram::wire
