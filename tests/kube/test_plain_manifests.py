"""The manifests without helm, against a real API server: that it takes them, and that uninstall.sh opens the gates which helm would."""

import os
import subprocess
import unittest

import build
import chart
from cluster import Cluster, pod_object

GATE = "tangram.dev/quota"
SCRIPT = chart.DEPLOY / "kubernetes/uninstall.sh"
cluster = None


def setUpModule():
    global cluster
    cluster = Cluster()
    unittest.addModuleCleanup(cluster.stop)
    cluster.start()


def uninstall():
    environment = {**os.environ, "PATH": f"{build.program('kubectl').parent}:{os.environ['PATH']}", "KUBECONFIG": str(cluster.settings.admin)}
    return subprocess.run(["bash", SCRIPT], capture_output=True, text=True, check=False, timeout=120, env=environment)


def gated(name, *gates, managed=True):
    pod = pod_object(name, "sleep 600")
    pod["spec"]["schedulingGates"] = [{"name": gate} for gate in gates]
    if managed:
        pod["metadata"]["labels"] = {"tangram.dev/managed": "true"}
    return pod


class Manifests(unittest.TestCase):
    def test_an_api_server_takes_them(self):
        """Without it a field that is misspelt would be dropped in silence, or a whole object refused at an installation."""
        cluster.ok("apply", "-f", chart.DEPLOY / "crds")
        answer = cluster.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", chart.DEPLOY / "kubernetes", "-f", chart.DEPLOY / "admission")
        self.assertEqual(answer.code, 0, answer)
        self.assertNotIn("Warning", answer.err)
        made = set(answer.out.split())
        for one in ("deployment.apps/tangram-manager", "deployment.apps/tangram-scheduler", "daemonset.apps/tangram-agent",
                    "clusterrole.rbac.authorization.k8s.io/tangram-agent", "secret/tangram-webhook"):
            self.assertIn(one, made)

    def test_a_second_apply_leaves_the_keys(self):
        """Without it whoever applies the manifests again would take the webhook's keys away, and the API server would trust nobody."""
        cluster.ok("apply", "-f", chart.DEPLOY / "kubernetes/manager.yaml")
        self.addCleanup(cluster.ok, "delete", "-f", chart.DEPLOY / "kubernetes/manager.yaml")
        cluster.ok("patch", "secret", "tangram-webhook", "-n", "kube-system", "--type=merge", "-p", '{"data":{"ca.crt":"eA=="}}')
        cluster.ok("apply", "-f", chart.DEPLOY / "kubernetes/manager.yaml")
        self.assertEqual(cluster.json("get", "secret", "tangram-webhook", "-n", "kube-system")["data"], {"ca.crt": "eA=="})


class Uninstall(unittest.TestCase):
    def gates(self, name):
        return [gate["name"] for gate in cluster.pod(name)["spec"].get("schedulingGates", [])]

    def test_it_opens_tangrams_gates_and_no_others(self):
        """Without it Pods would wait for ever for a Tangram that has gone, or run before somebody else lets them."""
        cluster.apply(gated("one", GATE), gated("among", "example.com/a", GATE, "example.com/b"), gated("theirs", "example.com/a"),
                      gated("strange", "example.com/a", managed=False), pod_object("free", "sleep 600"))
        # Whoever holds the gates is away: its policies and its webhook are there.
        cluster.ok("apply", "-f", chart.DEPLOY / "admission")
        cluster.wait_until(lambda: cluster.kubectl("label", "pod", "one", "tangram.dev/tenant=x").code != 0, "the webhook is asked", 30)
        done = uninstall()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("no Pod waits for Tangram", done.stdout)
        self.assertEqual(self.gates("one"), [])
        self.assertEqual(self.gates("among"), ["example.com/a", "example.com/b"])
        self.assertEqual(self.gates("theirs"), ["example.com/a"])
        self.assertEqual(self.gates("strange"), ["example.com/a"])
        cluster.wait_for_pod("one", "Running")
        left = cluster.ok("get", "mutatingwebhookconfigurations,validatingadmissionpolicies,validatingadmissionpolicybindings", "-o", "name")
        self.assertNotIn("tangram", left)

    def test_it_may_be_run_where_nothing_is_left(self):
        """Without it a run that was cut short could not be repeated."""
        for _ in range(2):
            done = uninstall()
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
