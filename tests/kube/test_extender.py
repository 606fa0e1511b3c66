"""Pods with NPUs through the stock kube-scheduler: admission, gates, placing, binding and the container's view, with every part
real but the NPU."""

import http.client
import json
import re
import signal
import ssl
import time
import unittest

import components
import machine
from cluster import Cluster, pod_object
from machine import harness

DEPLOY = harness.SOURCE / "deploy"
PORT, METRICS_PORT = 9443, 9395
MANAGER, AGENT = (f"system:serviceaccount:kube-system:tangram-{part}" for part in ("manager", "agent"))
SCHEDULER = "system:kube-scheduler"
NPU, MEMORY = "huawei.com/Ascend310P", "huawei.com/Ascend310P-memory"
WOKEN_SECONDS_MAX = 5  # for a Pod that waits, once there is room; the kubelet's time is in it
cluster = None


def setUpModule():
    global cluster
    cluster = Cluster()
    unittest.addModuleCleanup(cluster.stop)
    cluster.start()
    cluster.ok("apply", "-f", DEPLOY / "crds")
    for name in ("tenants", "chipmodels", "nodeconfigs"):
        cluster.ok("wait", "--for=condition=Established", f"crd/{name}.tangram.dev", "--timeout=60s")
    cluster.ok("apply", "-f", DEPLOY / "admission/webhook.yaml")
    # What each may do is for the roles that are shipped, and for another suite, to say.
    for number, user in enumerate((MANAGER, AGENT)):
        cluster.ok("create", "clusterrolebinding", f"part-{number}", "--clusterrole=cluster-admin", f"--user={user}")
    cluster.apply(service("tangram-webhook"), endpoints("tangram-webhook"),
                  {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "space-a", "labels": {"team": "a"}}},
                  {"apiVersion": "tangram.dev/v1", "kind": "Tenant", "metadata": {"name": "team-a"},
                   "spec": {"namespaceSelector": {"matchLabels": {"team": "a"}}}})
    start_agent()
    start_tangram()
    cluster.use_extenders([extender()])
    cluster.wait_until(lambda: create(npu_pod("try", 1024), "--dry-run=server").code == 0, "a Pod with an NPU passes", 60)


def service(name):
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "kube-system"},
            "spec": {"ports": [{"name": "https", "port": 443, "targetPort": PORT}]}}


def endpoints(name):
    return {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": {"name": name, "namespace": "kube-system", "labels": {"kubernetes.io/service-name": name}},
            "ports": [{"name": "https", "port": PORT, "protocol": "TCP"}],
            "endpoints": [{"addresses": [machine.NODE_ADDRESS], "conditions": {"ready": True}}]}


def start_tangram():
    before = cluster.log("tangram-kube").count("serves the API server")
    process = cluster.spawn("tangram-kube", [
        harness.program("tangram-kube"), "--kubeconfig", cluster.user(MANAGER), "--listen", f"0.0.0.0:{PORT}",
        "--metrics", f"127.0.0.1:{METRICS_PORT}", "--certificates", cluster.root / "tangram", "--identity", "tangram-test"])
    cluster.wait_until(lambda: cluster.log("tangram-kube").count("serves the API server") > before, "Tangram serves", process=process)
    cluster.wait_until(lambda: "\ntangram_manager_ready 1\n" in metrics(), "Tangram leads, and knows the cluster", 60, process=process)


def start_agent():
    cluster.spawn("agent", [
        harness.program("tangram-kube-node"), "--node", components.NODE, "--kubeconfig", cluster.user(AGENT),
        "--state-directory", cluster.root / "agent", "--device-directory", cluster.device_dir,
        "--device-library", cluster.driver_dir / "lib64/libdcmi.so", "--mount", f"{cluster.driver_dir}:/usr/local/Ascend/driver"])

    def offers():
        status, node = cluster.api("GET", f"/api/v1/nodes/{components.NODE}")
        return status == 200 and node["status"]["allocatable"].get(NPU) == "7"
    cluster.wait_until(offers, "the node offers its NPU", 60)


def extender():
    """The entry that is shipped, with this machine's address and keys."""
    shipped = (DEPLOY / "scheduler-config.yaml").read_text()
    names = re.findall(r"- \{name: (huawei\.com/\S+), ignoredByScheduler: true\}", shipped)
    assert len(names) == 21, names
    secret = cluster.wait_until(lambda: cluster.kubectl("get", "secret", "tangram-webhook", "-n", "kube-system", "-o",
                                                        r"jsonpath={.data.ca\.crt}").out, "the authority is there", 30)
    authority = cluster.settings.authority
    return {"urlPrefix": f"https://{machine.NODE_ADDRESS}:{PORT}", "filterVerb": "filter", "prioritizeVerb": "prioritize",
            "bindVerb": "bind", "weight": 1, "httpTimeout": "30s", "enableHTTPS": True, "nodeCacheCapable": True, "ignorable": False,
            "tlsConfig": {"serverName": "tangram-extender.kube-system.svc", "caData": secret,
                          "certFile": str(authority.directory / "system-kube-scheduler.pem"),
                          "keyFile": str(authority.directory / "system-kube-scheduler.key")},
            "managedResources": [{"name": name, "ignoredByScheduler": True} for name in names]}


def npu_pod(name, memory=None, command="echo specs=$ASCEND_VNPU_SPECS; sleep 600"):
    pod = pod_object(name, command)
    pod["metadata"]["namespace"] = "space-a"
    pod["spec"]["containers"][0]["resources"] = {"limits": {NPU: "1", **({MEMORY: str(memory)} if memory else {})}}
    return pod


def create(pod, *words):
    return cluster.kubectl("create", *words, "-f", "-", input=json.dumps(pod))


def metrics():
    connection = http.client.HTTPConnection("127.0.0.1", METRICS_PORT, timeout=10)
    try:
        connection.request("GET", "/metrics")
        return connection.getresponse().read().decode()
    except OSError:
        return ""
    finally:
        connection.close()


def call_extender(certificate=None):
    """The status of a question by somebody with this client certificate (certificate, key)."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if certificate:
        context.load_cert_chain(*certificate)
    connection = http.client.HTTPSConnection(machine.NODE_ADDRESS, PORT, context=context, timeout=10)
    connection.request("POST", "/filter", "{}", {"Content-Type": "application/json"})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


class Suite(unittest.TestCase):
    def setUp(self):
        self.names = []

    def tearDown(self):
        if self.names:
            cluster.ok("delete", "pod", *self.names, "-n", "space-a", "--now", "--wait=true", "--ignore-not-found")
        cluster.wait_until(lambda: "hami_vgpu_memory_allocated_bytes" not in metrics(), "nothing is given any more", 60)

    def make(self, *pods):
        for pod in pods:
            self.names.append(pod["metadata"]["name"])
            answer = create(pod)
            self.assertEqual(answer.code, 0, answer)

    def running(self, name):
        return cluster.wait_for_pod(name, "Running", namespace="space-a")

    def pending_because(self, name, word):
        def told():
            conditions = cluster.pod(name, "space-a")["status"].get("conditions", [])
            return any(one["type"] == "PodScheduled" and word in one.get("message", "") for one in conditions)
        cluster.wait_until(told, f"{name} is pending because of {word}", 60)

    def remove(self, name):
        cluster.ok("delete", "pod", name, "-n", "space-a", "--now", "--wait=true")
        self.names.remove(name)

    def specs(self, name):
        """What the container found in ASCEND_VNPU_SPECS."""
        text = cluster.wait_until(lambda: cluster.kubectl("logs", name, "-n", "space-a").out, f"{name} has printed", 30)
        return re.search(r"specs=(.*)", text).group(1)


class Placing(Suite):
    def test_three_slices_share_one_npu(self):
        """Without it a Pod would not be placed, or its container be told of another slice than its own."""
        asked = {"small": (1024, 3072, "vir01"), "medium": (4096, 6144, "vir02"), "large": (7000, 12288, "vir04")}
        self.make(*[npu_pod(name, memory) for name, (memory, _, _) in asked.items()])
        uuids = set()
        for name, (_, given, template) in asked.items():
            pod = self.running(name)
            allocation = json.loads(pod["metadata"]["annotations"]["tangram.dev/allocation"])
            self.assertEqual(allocation["containers"][0]["template"], template)
            uuids.add(allocation["containers"][0]["npus"][0]["uuid"])
            self.assertEqual(self.specs(name), template)
            self.assertEqual(pod["metadata"]["labels"]["hami.io/vgpu-node"], components.NODE)
            uuid = allocation["containers"][0]["npus"][0]["uuid"]
            self.assertEqual(pod["metadata"]["annotations"]["hami.io/Ascend310P-devices-allocated"], f"{uuid},Ascend310P,{given},0:;")
            line = (f'hami_vgpu_memory_allocated_bytes{{namespace="space-a",node="{components.NODE}",pod="{name}",container_index="0",'
                    f'device_uuid="{uuid}",zone="vGPU"}} {given << 20}\n')
            cluster.wait_until(lambda line=line: line in metrics(), f"{name} is in the metrics", 30)
        self.assertEqual(len(uuids), 1)
        page = metrics()
        self.assertRegex(page, r"(?m)^hami_gpu_shared_count\{.*\} 3$")
        self.assertRegex(page, r'(?m)^hami_resource_quota_used\{namespace="space-a",.*\} 21504$')

    def test_a_whole_npu_and_slices_exclude_each_other(self):
        """Without it a Pod that was promised all of an NPU would find others on it."""
        self.make(npu_pod("whole", 13000))
        self.running("whole")
        self.assertEqual(self.specs("whole"), "")
        self.make(npu_pod("slice", 1024))
        self.pending_because("slice", "CardInsufficientMemory")
        self.remove("whole")
        self.running("slice")
        self.make(npu_pod("again", 13000))
        self.pending_because("again", "CardInsufficientMemory")

    def test_the_eighth_waits_and_then_runs(self):
        """Without it an NPU would be given to more than it has room for, or stay empty beside a Pod that waits for it."""
        names = [f"one-{number}" for number in range(7)]
        self.make(*[npu_pod(name, 1024) for name in names])
        for name in names:
            self.running(name)
        self.make(npu_pod("eighth", 1024))
        self.pending_because("eighth", "CardTimeSlicingExhausted")
        self.remove(names[0])
        begin = time.monotonic()
        cluster.wait_until(lambda: cluster.pod("eighth", "space-a")["spec"].get("nodeName"), "the eighth is bound", 60)
        self.assertLess(time.monotonic() - begin, WOKEN_SECONDS_MAX)
        self.running("eighth")

    def test_a_binding_is_two_calls(self):
        """Without it nobody would see that each Pod has begun to cost more."""
        self.make(npu_pod("counted", 1024))
        self.running("counted")
        path = "/api/v1/namespaces/space-a/pods/counted"
        calls = [(event["verb"], event["requestURI"].split("?")[0].removeprefix(path)) for event in cluster.audit()
                 if event["user"]["username"] == MANAGER and event["requestURI"].startswith(path)]
        self.assertEqual(calls.count(("create", "/binding")), 1, calls)
        self.assertLessEqual(calls.count(("patch", "")), 2, calls)  # the gate, and what was given
        self.assertLessEqual(len(calls), 4, calls)


class Callers(Suite):
    def test_only_the_scheduler_is_answered(self):
        """Without it any Pod could have itself bound, past everybody else."""
        authority = cluster.settings.authority
        self.assertEqual(call_extender(), 403)
        self.assertEqual(call_extender(authority.client("alice")), 403)
        known = [authority.directory / f"system-kube-scheduler.{kind}" for kind in ("pem", "key")]
        self.assertEqual(call_extender(known), 400, "an empty question, but by the right one")


class Away(Suite):
    def test_pods_without_npus_are_not_hurt(self):
        """Without it a scheduler whose extender is away would place nothing, or place Pods with NPUs by guess."""
        self.make(npu_pod("before", 1024))
        self.running("before")
        cluster.kill_component("tangram-kube", signal.SIGKILL)
        cluster.apply(pod_object("lives", "sleep 600"))
        self.addCleanup(cluster.kubectl, "delete", "pod", "lives", "--now", "--wait=false")
        cluster.wait_for_pod("lives", "Running")
        self.assertEqual(cluster.pod("before", "space-a")["status"]["phase"], "Running")
        start_tangram()
        self.assertRegex(metrics(), r"(?m)^hami_gpu_shared_count\{.*\} 1$")
        self.make(npu_pod("after", 1024))
        self.running("after")


if __name__ == "__main__":
    unittest.main()
