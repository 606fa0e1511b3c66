"""Tangram as docs/kubernetes.md installs it: image, chart, a tenant, a slice, and away again, on a real cluster.

The classes run in the order of their names, and the last one takes the installation away.
"""

import json
import pathlib
import re
import subprocess
import sys
import unittest
import urllib.request

import build
import chart
import components
import images
from authority import write_kubeconfig
from cluster import Cluster, pod_object
from machine import NODE_ADDRESS, harness

NPU, MEMORY = "huawei.com/Ascend310P", "huawei.com/Ascend310P-memory"
ACCOUNTS = [f"system:serviceaccount:kube-system:tangram-{name}" for name in ("manager", "agent", "scheduler")]
SPACE = "space-a"
VALUES = pathlib.Path(__file__).with_name("simulated-values.yaml")
INSTALL_SECONDS_MAX = 300
cluster = None


def setUpModule():
    global cluster
    cluster = Cluster()
    unittest.addModuleCleanup(cluster.stop)
    cluster.start()
    import_images()
    cluster.ok("label", "node", components.NODE, "tangram.dev/npu=true")
    helm("install", "tangram", chart.CHART, *settings())
    # There is no DNS here, as there is none for a kube-scheduler on a host's network.
    address = cluster.json("get", "service", "tangram-extender", "-n", "kube-system")["spec"]["clusterIP"]
    helm("upgrade", "tangram", chart.CHART, *settings(f"scheduler.extenderHost={address}"))
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE, "labels": {"team": "a"}}},
                  {"apiVersion": "tangram.dev/v1", "kind": "Tenant", "metadata": {"name": "team-a"},
                   "spec": {"namespaceSelector": {"matchLabels": {"team": "a"}}, "quota": {"memoryTotal": "24GiB"}}})
    cluster.wait_until(lambda: allocatable() == "7", "the node offers its NPU", 60)
    # The Tenant has to be read, and kube-proxy has to know the way to the webhook.
    cluster.wait_until(lambda: try_pod().code == 0, "a Pod with an NPU passes", 30)


def try_pod():
    """A Pod that is judged and not kept."""
    return cluster.kubectl("create", "--dry-run=server", "-f", "-", input=json.dumps(npu_pod("try", 1024)))


def import_images():
    made = subprocess.run([sys.executable, chart.DEPLOY / "image/build.py", "--build", harness.BUILD, "--out", cluster.root / "image"],
                          capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
    cluster.import_image(cluster.root / "image/tangram.tar")
    scheduler = images.Image().add_file("/usr/local/bin/kube-scheduler", build.program("kube-scheduler"), 0o755)
    cluster.import_image(cluster.build_image(f"registry.k8s.io/kube-scheduler:{build.version()}", scheduler))


def settings(*more):
    """Of the simulated machine, whose driver is elsewhere than a real one's."""
    values = cluster.root / "values.yaml"
    values.write_text(VALUES.read_text().replace("/srv/tangram-kube", str(cluster.root)))
    return ["--namespace", "kube-system", "--values", values, "--wait", "--timeout", "240s", *chart.setting(more)]


def helm(*words):
    done = chart.helm(*words, kubeconfig=cluster.settings.admin, timeout=INSTALL_SECONDS_MAX)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}\n{pods_report()}"
    return done.stdout


def pods_report():
    """What the Pods of Tangram say of themselves, for a failure."""
    said = [cluster.kubectl("describe", "pods", "-n", "kube-system").out[-6000:]]
    for name in cluster.ok("get", "pods", "-n", "kube-system", "-o", "name").split():
        said.append(f"--- {name}\n{cluster.kubectl('logs', '-n', 'kube-system', name, '--tail=40').out}")
    return "\n".join(said) + cluster.report()


def allocatable():
    status, node = cluster.api("GET", f"/api/v1/nodes/{components.NODE}")
    return node["status"]["allocatable"].get(NPU) if status == 200 else None


def slices():
    """The driver's own word: template by vNPU id."""
    table = cluster.npu_smi("info", "-t", "info-vnpu", "-i", "7", "-c", "0")
    rows = re.findall(r"^\| +(\d+) +\| +\S+ +\| +[0-9a-f]{12} +\| +\d+ +\| +(\S+) +\|$", table, re.MULTILINE)
    return {int(number): shape for number, shape in rows}


def npu_pod(name, memory, command="ls /dev | grep 'davinci[0-9]'; echo specs=$ASCEND_VNPU_SPECS; sleep 600"):
    pod = pod_object(name, command)
    pod["metadata"]["namespace"] = SPACE
    pod["spec"]["containers"][0]["resources"] = {"limits": {NPU: 1, MEMORY: memory}}
    return pod


def remove(*names):
    cluster.ok("delete", "pod", *names, "-n", SPACE, "--now", "--wait=true", "--ignore-not-found")


class Installed(unittest.TestCase):
    def test_a_pod_gets_its_slice(self):
        """Without it the page would lead to something else than a running slice."""
        self.addCleanup(remove, "first")
        cluster.apply(npu_pod("first", 4096))
        pod = cluster.wait_for_pod("first", "Running", SPACE, timeout=120)
        container = pod["spec"]["containers"][0]
        self.assertEqual(container["resources"]["limits"], {NPU: "1", MEMORY: "6144"})
        self.assertEqual(pod["spec"]["schedulerName"], "tangram-scheduler")
        lines = cluster.wait_until(lambda: cluster.kubectl("logs", "first", "-n", SPACE).out.split(), "it has printed", 30)
        self.assertEqual(len(lines), 2, lines)
        self.assertEqual(slices(), {int(lines[0].removeprefix("davinci")): "vir02"})
        self.assertEqual(lines[1], "specs=vir02")

    def test_a_pod_without_npus_is_not_touched(self):
        """Without it Tangram would be in the way of a cluster that has other things to do."""
        self.addCleanup(cluster.kubectl, "delete", "pod", "plain", "--now")
        cluster.apply(pod_object("plain", "echo ran"))
        pod = cluster.wait_for_pod("plain", "Succeeded")
        self.assertEqual(pod["spec"]["schedulerName"], "default-scheduler")
        self.assertFalse([key for key in pod["metadata"].get("labels", {}) if "tangram" in key])

    def test_metrics_are_where_hamis_are(self):
        """Without it a Prometheus that was set up for HAMi would find nothing at node port 31993."""
        self.addCleanup(remove, "measured")
        cluster.apply(npu_pod("measured", 1024))
        cluster.wait_for_pod("measured", "Running", SPACE)

        def page():
            with urllib.request.urlopen(f"http://{NODE_ADDRESS}:31993/metrics", timeout=5) as answer:
                return answer.read().decode()
        found = cluster.wait_until(
            lambda: re.search(r'^hami_vgpu_memory_allocated_bytes\{[^}]*pod="measured"[^}]*\} (\S+)$', page(), re.MULTILINE), "the Pod is counted", 30)
        self.assertEqual(float(found.group(1)), 3072 * 2**20)

    def test_a_restart_of_the_agents_returns_what_was_left_behind(self):
        """Without it the command of article B would not be the way out of a slice that stays."""
        self.addCleanup(remove, "goes", "next")
        cluster.apply(npu_pod("goes", 7000))
        cluster.wait_for_pod("goes", "Running", SPACE)
        self.select_nodes({"nobody": "true"})
        self.addCleanup(self.select_nodes, {"nobody": None})
        cluster.wait_until(lambda: not self.agents(), "no agent runs", 60)
        remove("goes")
        self.assertEqual(list(slices().values()), ["vir04"])
        self.select_nodes({"nobody": None})
        cluster.ok("rollout", "restart", "daemonset/tangram-agent", "-n", "kube-system")
        cluster.ok("rollout", "status", "daemonset/tangram-agent", "-n", "kube-system", "--timeout=60s")
        cluster.wait_until(lambda: not slices(), "the leftover is gone", 30)
        cluster.apply(npu_pod("next", 7000))
        cluster.wait_for_pod("next", "Running", SPACE)

    def select_nodes(self, labels):
        cluster.ok("patch", "daemonset", "tangram-agent", "-n", "kube-system", "--type=merge", "-p",
                   json.dumps({"spec": {"template": {"spec": {"nodeSelector": labels}}}}))

    def agents(self):
        return cluster.ok("get", "pods", "-n", "kube-system", "-l", "app.kubernetes.io/component=agent", "-o", "name").split()

    def test_an_agent_is_its_own_nodes(self):
        """Without it who takes over one node could change all others, and the Pods there."""
        elsewhere = pod_object("elsewhere", "sleep 1", nodeName="node-b")
        self.addCleanup(cluster.kubectl, "delete", "pod", "elsewhere", "--now", "--wait=false")
        cluster.apply(elsewhere)
        self.addCleanup(cluster.kubectl, "delete", "pod", "here", "--now")
        cluster.apply(pod_object("here", "sleep 600"))
        cluster.wait_for_pod("here", "Running")
        token = cluster.ok("create", "token", "tangram-agent", "-n", "kube-system", "--bound-object-kind=Node",
                           f"--bound-object-name={components.NODE}").strip()
        agent = write_kubeconfig(cluster.settings.config / "agent.kubeconfig", components.SERVER,
                                 cluster.settings.authority.certificate, {"token": token})

        def patch(kind, name, change):
            return cluster.kubectl("patch", kind, name, "--type=merge", "-p", json.dumps(change), kubeconfig=agent)
        note = {"metadata": {"annotations": {"note": "x"}}}
        self.assertEqual(patch("node", components.NODE, note).code, 0)
        self.assertEqual(patch("pod", "here", note).code, 0)
        self.assertIn("the agent of that node alone", patch("pod", "elsewhere", note).err)
        for kind, name, change in (("node", components.NODE, {"metadata": {"labels": {"a": "b"}}}),
                                   ("node", components.NODE, {"spec": {"unschedulable": True}}),
                                   ("pod", "here", {"metadata": {"labels": {"a": "b"}}}),
                                   ("pod", "here", {"spec": {"activeDeadlineSeconds": 1}})):
            self.assertIn("annotations and nothing else", patch(kind, name, change).err)
        for words in (("get", "secrets", "-n", "kube-system"), ("get", "configmaps", "-A"), ("create", "namespace", "x")):
            self.assertIn("forbidden", cluster.kubectl(*words, kubeconfig=agent).err)

    def test_the_image_runs_as_nobody(self):
        """Without it a fault in the webhook would be one of root."""
        for name in cluster.ok("get", "pods", "-n", "kube-system", "-l", "app.kubernetes.io/component=manager", "-o", "name").split():
            pod = cluster.json("get", name, "-n", "kube-system")
            self.assertEqual(pod["status"]["containerStatuses"][0]["restartCount"], 0, pods_report())
        self.assertIn("tangram.dev/tangram", cluster.ctr("images", "list", "--quiet").stdout)


class Rights(unittest.TestCase):
    def test_the_shipped_roles_are_enough(self):
        """Without it a part would fail with the rights that are shipped, and nobody would see it here."""
        refused = {(event["user"]["username"], event["verb"], event["requestURI"]) for event in cluster.audit()
                   if event["user"]["username"] in ACCOUNTS and event["responseStatus"]["code"] == 403
                   # What the case above asks for in the agent's name, with a token that kubectl made.
                   and not event.get("userAgent", "").startswith("kubectl")}
        self.assertEqual(refused, set())
        asked = {event["user"]["username"] for event in cluster.audit()}
        self.assertLessEqual(set(ACCOUNTS), asked)


class Uninstalled(unittest.TestCase):
    def test_no_pod_stays_behind_a_gate(self):
        """Without it whoever takes Tangram away would leave Pods that nothing can ever start."""
        self.addCleanup(remove, "runs", "waits")
        # A whole NPU is 21527 MiB: of the tenant's 24 GiB no slice is left.
        cluster.apply(npu_pod("runs", 13000))
        cluster.wait_for_pod("runs", "Running", SPACE)
        waits = npu_pod("waits", 1024)
        waits["spec"]["schedulingGates"] = [{"name": "example.com/other"}]
        cluster.apply(waits)
        self.assertIn("tangram.dev/quota", self.gates("waits"))
        helm("uninstall", "tangram", "--namespace", "kube-system", "--wait", "--timeout", "240s")
        self.assertEqual(self.gates("waits"), ["example.com/other"])
        left = cluster.ok("get", "mutatingwebhookconfigurations,validatingadmissionpolicies,clusterroles,clusterrolebindings", "-o", "name")
        self.assertNotIn("tangram", left)
        in_space = cluster.ok("get", "deployments,daemonsets,jobs,secrets,configmaps,roles,rolebindings,serviceaccounts", "-n", "kube-system", "-o", "name")
        self.assertNotIn("tangram", in_space)
        # What people wrote stays, and what runs goes on.
        self.assertEqual(cluster.json("get", "tenant", "team-a")["metadata"]["name"], "team-a")
        self.assertEqual(cluster.pod("runs", SPACE)["status"]["phase"], "Running")

    def gates(self, name):
        return [gate["name"] for gate in cluster.pod(name, SPACE)["spec"].get("schedulingGates", [])]


if __name__ == "__main__":
    unittest.main()
