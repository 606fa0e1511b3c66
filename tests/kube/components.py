"""What each component of the cluster is started with: its arguments and its configuration file.

Nothing is started here. Everything lies below one directory (see README.md), and every component that speaks to the API
server does so as the user that the default roles of Kubernetes are made for. JSON is YAML.
"""

import json
import pathlib

import authority
import build
from machine import NODE_ADDRESS, SERVICES

NODE = "node-a"
API_PORT = 6443
SERVER = f"https://{NODE_ADDRESS}:{API_PORT}"
FIRST_SERVICE, PODS = "10.96.0.1", "10.244.0.0/24"
ETCD = "http://127.0.0.1:2379"
CONTAINERD_SOCKET = pathlib.Path("/run/containerd/containerd.sock")
PAUSE_IMAGE, BASE_IMAGE = "tangram.test/pause:1", "tangram.test/base:1"
NETWORK_PLUGINS = "/usr/lib/cni"  # of the Debian package containernetworking-plugins

# In the order in which they start.
CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
NODE_SIDE = ("containerd", "kubelet", "kube-proxy")


class Settings:
    """Files and arguments of a cluster below `root`; `cgroup`: the parent of all its Pods, below the top of each hierarchy.

    extenders:  entries of `extenders` in the scheduler's configuration
    gates:      feature gates of every component, {"Name": True}
    apiserver:  additional arguments of the API server
    """

    def __init__(self, root, cgroup, extenders=(), gates=None, apiserver=()):
        self.root, self.cgroup = pathlib.Path(root), cgroup
        self.extenders, self.gates, self.apiserver_arguments = list(extenders), dict(gates or {}), list(apiserver)
        self.config = self.root / "config"
        self.audit_log = self.root / "audit.log"
        self.admin = self.root / "admin.kubeconfig"
        self.authority = None

    def write(self):
        """Makes the directories, keys and files; again after a change of the fields above."""
        for directory in (self.config, self.config / "cni"):
            directory.mkdir(parents=True, exist_ok=True)
        if self.authority is None:
            self.authority = authority.Authority(self.root / "pki")
            self._sign()
        self._write_json("audit-policy.json", {
            "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [{"level": "Metadata"}]})
        self._write_json("scheduler.json", self._scheduler())
        self._write_json("kubelet.json", self._kubelet())
        self._write_json("proxy.json", self._proxy())
        self._write_json("cni/10-pods.conflist", self._network())
        self._write("containerd.toml", self._containerd())

    def arguments(self, name):
        """The command line of a component."""
        return [str(word) for word in getattr(self, "_" + name.replace("kube-", "").replace("-", "_") + "_arguments")()]

    # ---- who is who

    def _sign(self):
        names = ["kubernetes", "kubernetes.default", "kubernetes.default.svc", "localhost"]
        self.authority.server("apiserver", [f"DNS:{name}" for name in names] +
                              [f"IP:{address}" for address in ("127.0.0.1", NODE_ADDRESS, FIRST_SERVICE)])
        self.authority.server("kubelet-server", [f"DNS:{NODE}", f"IP:{NODE_ADDRESS}", "IP:127.0.0.1"])
        self.authority.client("apiserver-kubelet-client", ["system:masters"])
        self.authority.key_pair("service-accounts")
        self.authority.kubeconfig(self.admin, SERVER, "admin", ["system:masters"])
        for name in ("kube-controller-manager", "kube-scheduler", "kube-proxy"):
            self.authority.kubeconfig(self.kubeconfig(name), SERVER, f"system:{name}")
        self.authority.kubeconfig(self.kubeconfig("kubelet"), SERVER, f"system:node:{NODE}", ["system:nodes"])

    def kubeconfig(self, name):
        return self.config / f"{name}.kubeconfig"

    def key_file(self, name):
        return self.authority.directory / name

    # ---- control plane

    def _etcd_arguments(self):
        # The disk is not waited for: a killed process loses nothing by that, and a power cut is no test here.
        return [build.program("etcd"), "--name=test", f"--data-dir={self.root}/etcd", f"--listen-client-urls={ETCD}",
                f"--advertise-client-urls={ETCD}", "--listen-peer-urls=http://127.0.0.1:2380", "--unsafe-no-fsync",
                "--initial-advertise-peer-urls=http://127.0.0.1:2380", "--initial-cluster=test=http://127.0.0.1:2380"]

    def _apiserver_arguments(self):
        key = self.key_file
        return [build.program("kube-apiserver"), f"--etcd-servers={ETCD}", "--bind-address=0.0.0.0", f"--secure-port={API_PORT}",
                f"--advertise-address={NODE_ADDRESS}", f"--service-cluster-ip-range={SERVICES}",
                f"--tls-cert-file={key('apiserver.pem')}", f"--tls-private-key-file={key('apiserver.key')}",
                f"--client-ca-file={key('authority.pem')}",
                f"--kubelet-certificate-authority={key('authority.pem')}", "--kubelet-preferred-address-types=InternalIP",
                f"--kubelet-client-certificate={key('apiserver-kubelet-client.pem')}",
                f"--kubelet-client-key={key('apiserver-kubelet-client.key')}",
                "--service-account-issuer=https://kubernetes.default.svc",
                f"--service-account-key-file={key('service-accounts.pub')}",
                f"--service-account-signing-key-file={key('service-accounts.key')}",
                "--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged=true",
                f"--audit-policy-file={self.config}/audit-policy.json", f"--audit-log-path={self.audit_log}",
                *self._gates(), *self.apiserver_arguments]

    def _controller_manager_arguments(self):
        key = self.key_file
        return [build.program("kube-controller-manager"), *self._as("kube-controller-manager"), "--bind-address=127.0.0.1",
                f"--service-account-private-key-file={key('service-accounts.key')}", f"--root-ca-file={key('authority.pem')}",
                f"--cluster-signing-cert-file={key('authority.pem')}", f"--cluster-signing-key-file={key('authority.key')}",
                "--use-service-account-credentials=true", "--leader-elect=false", *self._gates()]

    def _scheduler_arguments(self):
        return [build.program("kube-scheduler"), f"--config={self.config}/scheduler.json", "--bind-address=127.0.0.1",
                *self._as("kube-scheduler")[1:], *self._gates()]

    def _scheduler(self):
        return {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
                "leaderElection": {"leaderElect": False},
                "clientConnection": {"kubeconfig": str(self.kubeconfig("kube-scheduler")), "qps": 500, "burst": 1000},
                "extenders": self.extenders}

    def _as(self, name):
        file = self.kubeconfig(name)
        return [f"--kubeconfig={file}", f"--authentication-kubeconfig={file}", f"--authorization-kubeconfig={file}"]

    def _gates(self):
        pairs = ",".join(f"{gate}={str(on).lower()}" for gate, on in self.gates.items())
        return [f"--feature-gates={pairs}"] if pairs else []

    # ---- node

    def _containerd_arguments(self):
        return ["containerd", f"--config={self.config}/containerd.toml"]

    def _containerd(self):
        # Without restrict_oom_score_adj no Pod starts where the machine's root lacks CAP_SYS_RESOURCE.
        return f"""version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs",
                    "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.devmapper"]

[grpc]
  address = "{CONTAINERD_SOCKET}"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE_IMAGE}"
  restrict_oom_score_adj = true

[plugins."io.containerd.grpc.v1.cri".containerd]
  snapshotter = "overlayfs"
  default_runtime_name = "runc"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "{NETWORK_PLUGINS}"
  conf_dir = "{self.config}/cni"
"""

    @staticmethod
    def _network():
        """Each Pod has a pair of interfaces of its own; the node routes."""
        return {"cniVersion": "0.4.0", "name": "pods", "plugins": [
            {"type": "ptp", "ipam": {"type": "host-local", "ranges": [[{"subnet": PODS}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}

    def _kubelet_arguments(self):
        return [build.program("kubelet"), f"--config={self.config}/kubelet.json", f"--kubeconfig={self.kubeconfig('kubelet')}",
                f"--hostname-override={NODE}", f"--node-ip={NODE_ADDRESS}"]

    def _kubelet(self):
        return {
            "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
            "containerRuntimeEndpoint": f"unix://{CONTAINERD_SOCKET}",
            "address": NODE_ADDRESS, "readOnlyPort": 0, "healthzBindAddress": "127.0.0.1",
            "tlsCertFile": str(self.key_file("kubelet-server.pem")), "tlsPrivateKeyFile": str(self.key_file("kubelet-server.key")),
            "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": True},
                               "x509": {"clientCAFile": str(self.key_file("authority.pem"))}},
            "authorization": {"mode": "Webhook"},
            # Refused since 1.35 unless asked for.
            "failCgroupV1": False,
            "cgroupDriver": "cgroupfs", "cgroupRoot": f"/{self.cgroup}", "cgroupsPerQOS": True, "enforceNodeAllocatable": [],
            "failSwapOn": False, "oomScoreAdj": 0,
            # The machine holds what the kubelet wants there (see machine.py); it must not try to set it for the whole host.
            "protectKernelDefaults": True,
            "makeIPTablesUtilChains": False, "localStorageCapacityIsolation": False, "resolvConf": "",
            "volumePluginDir": "/var/lib/kubelet/volume-plugins", "staticPodPath": "",
            "evictionHard": {"memory.available": "10Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
            # 100 means never: an image that is removed cannot be pulled again.
            "imageGCHighThresholdPercent": 100,
            "featureGates": self.gates,
        }

    def _proxy_arguments(self):
        return [build.program("kube-proxy"), f"--config={self.config}/proxy.json"]

    def _proxy(self):
        # What counts connections is a setting of the whole host: 0 leaves it alone.
        return {"apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration", "mode": "nftables",
                "clientConnection": {"kubeconfig": str(self.kubeconfig("kube-proxy"))}, "hostnameOverride": NODE,
                "clusterCIDR": PODS, "healthzBindAddress": "127.0.0.1:10256", "metricsBindAddress": "127.0.0.1:10249",
                "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
                "oomScoreAdj": 0, "featureGates": self.gates}

    def _write_json(self, name, value):
        self._write(name, json.dumps(value, indent=2) + "\n")

    def _write(self, name, text):
        """A file that stays the same is left alone: kube-proxy ends when its own is written."""
        path = self.config / name
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
