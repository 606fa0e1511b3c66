"""The node agent under a real kubelet and containerd: each container gets what its own Pod was given.

Admission and extender are not here: the suite writes into a Pod what they would.
"""

import json
import re
import signal
import unittest

import components
import images
from cluster import Cluster, pod_object
from machine import harness

RESOURCE = "huawei.com/Ascend310P"
USER = "system:serviceaccount:kube-system:tangram-agent"
ROUNDS = 20
cluster = None


def setUpModule():
    global cluster
    cluster = Cluster()
    unittest.addModuleCleanup(cluster.stop)
    cluster.start()
    cluster.ok("apply", "-f", harness.SOURCE / "deploy/kubernetes/node-agent-rbac.yaml", "-f",
               harness.SOURCE / "deploy/crds/nodeconfigs.tangram.dev.yaml")
    start_agent()


def registrations():
    return cluster.log("agent").count("has taken the device plugin")


def start_agent():
    before = registrations()
    cluster.spawn("agent", [
        harness.program("tangram-kube-node"), "--node", components.NODE, "--kubeconfig", cluster.user(USER),
        "--state-directory", cluster.root / "agent", "--device-directory", cluster.device_dir,
        "--device-library", cluster.driver_dir / "lib64/libdcmi.so", "--mount", f"{cluster.driver_dir}:/usr/local/Ascend/driver"])
    wait_served(before)
    assert cluster.processes["agent"].poll() is None, cluster.report()


def wait_served(before):
    """What the node says may be from before a restart; the kubelet's own word is in the agent's log."""
    cluster.wait_until(lambda: registrations() > before, "the kubelet has taken the plugin", 60)
    cluster.wait_until(lambda: allocatable() == "7", "the node offers its NPU", 60)


def allocatable():
    status, node = cluster.api("GET", f"/api/v1/nodes/{components.NODE}")
    return node["status"]["allocatable"].get(RESOURCE) if status == 200 else None


def npu():
    """The only NPU, as the agent has written it on the node."""
    status, node = cluster.api("GET", f"/api/v1/nodes/{components.NODE}")
    assert status == 200
    return json.loads(node["metadata"]["annotations"]["tangram.dev/npus"])["npus"][0]


def npu_pod(name, given, command="ls /dev | grep 'davinci[0-9]'; sleep 600"):
    """`given`: by container, the template of its slice, or None for the whole NPU."""
    pod = pod_object(name, command)
    container = pod["spec"]["containers"][0]
    container["resources"] = {"limits": {RESOURCE: "1"}}
    pod["spec"]["containers"] = [{**container, "name": name} for name in given]
    one = {"uuid": npu()["uuid"], "index": npu()["index"]}
    allocation = {"node": components.NODE, "containers": [
        {"container": name, "npus": [one], **({"kind": "slice", "template": shape} if shape else {"kind": "whole"})}
        for name, shape in given.items()]}
    pod["metadata"]["annotations"] = {"tangram.dev/allocation": json.dumps(allocation)}
    return pod


def slices():
    """The driver's own word: template by vNPU id."""
    table = cluster.npu_smi("info", "-t", "info-vnpu", "-i", "7", "-c", "0")
    rows = re.findall(r"^\| +(\d+) +\| +\S+ +\| +[0-9a-f]{12} +\| +\d+ +\| +(\S+) +\|$", table, re.MULTILINE)
    return {int(number): shape for number, shape in rows}


class Suite(unittest.TestCase):
    def setUp(self):
        self.names = []

    def tearDown(self):
        self.remove_pods()

    def run_pods(self, *pods):
        self.names += [pod["metadata"]["name"] for pod in pods]
        cluster.apply(*pods)
        return [cluster.wait_for_pod(pod["metadata"]["name"], "Running") for pod in pods]

    def remove_pods(self):
        if self.names:
            cluster.ok("delete", "pod", *self.names, "--now", "--wait=true")
        self.names = []
        cluster.wait_until(lambda: not slices(), "the slices are returned", 60)

    def devices(self, pod, container="main"):
        """Names of the NPUs that the container sees."""
        return cluster.wait_until(lambda: cluster.kubectl("logs", pod, "-c", container).out.split(), f"{pod} has printed its devices", 30)

    def template(self, pod, container="main"):
        """Of the slice that the container sees, by the driver's word."""
        names = self.devices(pod, container)
        self.assertEqual(len(names), 1, names)
        return slices().get(int(names[0].removeprefix("davinci")))


class Slices(Suite):
    def test_the_node_offers_seven_shares(self):
        """Without it Pods that ask for NPUs would find no node, or more of them one than it can hold."""
        self.assertEqual(allocatable(), "7")
        self.assertEqual(npu()["shares"], 7)

    def test_two_pods_at_the_same_moment_have_their_own(self):
        """Without it two Pods of different templates that are bound at one moment could get each other's."""
        for number in range(ROUNDS):
            with self.subTest(round=number):
                shapes = {f"a{number}": "vir01", f"b{number}": "vir04"} if number % 2 else {f"a{number}": "vir02", f"b{number}": "vir01"}
                self.run_pods(*[npu_pod(name, {"main": shape}) for name, shape in shapes.items()])
                self.assertEqual({name: self.template(name) for name in shapes}, shapes)
                self.remove_pods()

    def test_two_containers_of_one_pod_have_their_own(self):
        """Without it both containers would get the template of the last one."""
        self.run_pods(npu_pod("pair", {"one": "vir01", "two": "vir04"}))
        self.assertEqual((self.template("pair", "one"), self.template("pair", "two")), ("vir01", "vir04"))

    def test_the_pod_says_what_it_has(self):
        """Without it nobody could tell which vNPU is whose."""
        self.run_pods(npu_pod("told", {"main": "vir02"}))
        def told():
            return cluster.pod("told")["metadata"]["annotations"].get("tangram.dev/allocated")
        entry = json.loads(cluster.wait_until(told, "the annotation is written", 30))["containers"][0]
        self.assertEqual((entry["container"], entry["template"]), ("main", "vir02"))
        self.assertEqual(slices(), {entry["slice"]: "vir02"})

    def test_a_whole_npu(self):
        """Without it a Pod that was given the NPU would find no device, or another one's slice."""
        self.run_pods(npu_pod("whole", {"main": None}))
        self.assertEqual(self.devices("whole"), [f"davinci{npu()['index']}"])
        self.assertEqual(slices(), {})

    def test_a_pod_that_was_given_nothing_does_not_start(self):
        """Without it a Pod could get an NPU past quota and placement."""
        pod = npu_pod("forgotten", {"main": "vir01"})
        del pod["metadata"]["annotations"]
        self.names.append("forgotten")
        cluster.apply(pod)
        cluster.wait_until(lambda: "was given no NPU" in json.dumps(cluster.pod("forgotten")["status"]), "the refusal stands in its status", 60)
        self.assertEqual(slices(), {})


class Inside(Suite):
    def test_a_program_computes_in_its_slice(self):
        """Without it a container would hold a device that no program can use, or one with the memory of the whole NPU."""
        image = "tangram.test/gemm:1"
        cluster.import_image(cluster.build_image(image, images.base_image().add_program(harness.program("gemm"))))
        pod = npu_pod("computes", {"main": "vir04"},
                      "LD_LIBRARY_PATH=/usr/local/Ascend/driver/lib64 exec /usr/local/bin/gemm --memory 6GiB --hold 600")
        pod["spec"]["containers"][0]["image"] = image
        self.run_pods(pod)
        cluster.wait_until(lambda: "holding" in cluster.kubectl("logs", "computes").out, "the program has its memory", 60)
        self.assertRegex(cluster.ok("logs", "computes"), r"device 0 of 1, .* of 10763 MiB free")


class Restarts(Suite):
    def test_an_agent_that_was_killed_returns_what_was_left_behind(self):
        """Without it the slice of a Pod that ended without an agent would take its room for good."""
        self.run_pods(npu_pod("stays", {"main": "vir01"}), npu_pod("goes", {"main": "vir02"}))
        cluster.kill_component("agent", signal.SIGKILL)
        cluster.ok("delete", "pod", "goes", "--now", "--wait=true")
        self.names.remove("goes")
        self.assertEqual(sorted(slices().values()), ["vir01", "vir02"])
        start_agent()
        cluster.wait_until(lambda: list(slices().values()) == ["vir01"], "the leftover is gone", 30)
        self.assertEqual(self.template("stays"), "vir01")

    def test_a_damaged_ledger_loses_nothing_that_is_in_use(self):
        """Without it a crash in the wrong moment would take the slices from Pods that run, or keep the agent from starting."""
        self.run_pods(npu_pod("keeps", {"main": "vir01"}))
        cluster.kill_component("agent", signal.SIGKILL)
        (cluster.root / "agent/slices.json").write_text('{"version": 1, "entr')
        start_agent()
        self.assertIn("ledger was damaged", cluster.log("agent"))
        self.assertEqual(list(slices().values()), ["vir01"])
        cluster.ok("delete", "pod", "keeps", "--now", "--wait=true")
        self.names.remove("keeps")
        cluster.wait_until(lambda: not slices(), "its slice is returned", 60)

    def test_a_kubelet_that_starts_again_is_served_again(self):
        """Without it no Pod would get an NPU after an upgrade of the kubelet until the agent is restarted, too."""
        self.run_pods(npu_pod("before", {"main": "vir01"}))
        before = registrations()
        cluster.restart_component("kubelet")
        wait_served(before)
        self.run_pods(npu_pod("after", {"main": "vir02"}))
        self.assertEqual((self.template("before"), self.template("after")), ("vir01", "vir02"))


class Operators(Suite):
    def test_a_node_config_is_heeded(self):
        """Without it an NPU that an operator keeps back would be offered, and the number of shares be nobody's to choose."""
        def configure(**spec):
            cluster.apply({"apiVersion": "tangram.dev/v1", "kind": "NodeConfig", "metadata": {"name": "here"},
                           "spec": {"nodeSelector": {"matchLabels": {"kubernetes.io/hostname": components.NODE}}, **spec}})
        self.addCleanup(lambda: cluster.wait_until(lambda: allocatable() == "7", "the node is as before", 60))
        self.addCleanup(cluster.kubectl, "delete", "nodeconfig", "here")
        configure(sharesPerNpu=3)
        cluster.wait_until(lambda: allocatable() == "3", "the shares are those of the NodeConfig", 60)
        configure(cut=False)
        cluster.wait_until(lambda: "notCut" in npu(), "the NPU is given whole only", 60)
        configure(excludedNpus=[npu()["index"]])
        cluster.wait_until(lambda: allocatable() == "0", "the NPU is left alone", 60)

    def test_hamis_scheduler_is_answered(self):
        """Without it HAMi's scheduler, while a cluster moves from it, would take the node for dead."""
        key = "hami.io/node-handshake-Ascend310P"
        cluster.ok("annotate", "node", components.NODE, "--overwrite", f"{key}=Requesting_2026-01-31 08:00:00")
        def handshake():
            return cluster.api("GET", f"/api/v1/nodes/{components.NODE}")[1]["metadata"]["annotations"].get(key, "")
        cluster.wait_until(lambda: handshake().startswith("Reported_"), "the node is reported", 30)


class Rights(Suite):
    def test_the_shipped_role_is_enough(self):
        """Without it the agent would fail with the role that is shipped, and nobody would see it here."""
        refused = [event["requestURI"] for event in cluster.audit() if event["user"]["username"] == USER
                   and event["responseStatus"]["code"] == 403]
        self.assertEqual(refused, [])


if __name__ == "__main__":
    unittest.main()
