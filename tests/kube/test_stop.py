"""A cluster leaves nothing behind, however it ends."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import build
from cluster import Cluster, pod_object
from machine import harness

HERE = pathlib.Path(__file__).resolve().parent
END_SECONDS_MAX = 30

# A cluster whose test hangs with a Pod that runs.
VICTIM = """
import sys, time
sys.path.insert(0, sys.argv[1])
import cluster
victim = cluster.Cluster().start()
victim.apply(cluster.pod_object("runs", "sleep 600"))
victim.wait_for_pod("runs", "Running")
print("runs", flush=True)
time.sleep(600)
"""


def start_pods(cluster):
    pods = [pod_object("own-network", "sleep 600"), pod_object("node-network", "sleep 600", hostNetwork=True)]
    pods[0]["spec"]["containers"][0]["volumeMounts"] = [{"name": "scratch", "mountPath": "/scratch"}]
    pods[0]["spec"]["volumes"] = [{"name": "scratch", "emptyDir": {"medium": "Memory"}}]
    cluster.apply(*pods)
    for pod in pods:
        cluster.wait_for_pod(pod["metadata"]["name"], "Running")


class Stopped(unittest.TestCase):
    def test_nothing_is_left(self):
        """Without it each cluster would leave containers, mounts and networks that the next one stumbles over."""
        cluster = Cluster()
        self.addCleanup(cluster.stop)
        cluster.start()
        start_pods(cluster)
        kinds = {thing.split()[0] for thing in cluster.leftovers()}
        self.assertEqual(kinds, {"process", "mount", "control", "network", "interface"}, "there is something to leave")
        cluster.stop()
        self.assertEqual(cluster.leftovers(), [])

    def test_nothing_is_left_after_a_failed_start(self):
        """Without it a component that refuses its arguments would leave those that had started before it."""
        cluster = Cluster(apiserver=["--no-such-flag"])
        with self.assertRaisesRegex(AssertionError, "no-such-flag"), cluster:
            self.fail("the API server must refuse an unknown flag")
        self.assertEqual(cluster.leftovers(), [])


class Killed(unittest.TestCase):
    def leftovers(self, root, name):
        return [*harness.pids_of(root), *harness.cgroup_dirs(name), *([root] if root.exists() else [])]

    def test_nothing_is_left(self):
        """Without it a test that is killed would leave a whole cluster running, for all that come after it."""
        root = pathlib.Path(tempfile.mkdtemp(prefix="tgk-", dir="/tmp"))
        name = "tangram-kube-killed-" + root.name
        victim = subprocess.Popen([sys.executable, HERE / "machine.py", "--name", name, "--root", root, sys.executable, "-c", VICTIM, HERE],
                                  stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.addCleanup(victim.stdout.close)
        self.assertEqual(victim.stdout.readline(), "runs\n")
        self.assertTrue(harness.pids_of(root), "there is something to clean up")
        self.assertTrue(harness.pids_in(harness.cgroup_dirs(name)), "a Pod runs")
        os.killpg(victim.pid, signal.SIGKILL)
        victim.wait()
        end = time.monotonic() + END_SECONDS_MAX
        while self.leftovers(root, name) and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(self.leftovers(root, name), [])


class ByHand(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="tgk-", dir="/tmp")
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name) / "hand"
        self.environment = {**os.environ, "TANGRAM_KUBE_DIR": str(self.directory), "TANGRAM_KUBE_PORT": "16443"}
        self.addCleanup(self.by_hand, "stop")

    def by_hand(self, verb):
        run = subprocess.run([HERE / "by_hand.py", verb], env=self.environment, capture_output=True, text=True, check=False, timeout=300)
        self.assertEqual(run.returncode, 0, run)
        return run.stdout

    def shell(self, command):
        """As typed into the second terminal of the README."""
        run = subprocess.run(["bash", "-euc", f". {self.directory}/shell.sh; {command}"], env=self.environment,
                             capture_output=True, text=True, check=False, timeout=120)
        self.assertEqual(run.returncode, 0, run)
        return run.stdout

    def test_what_the_readme_says(self):
        """Without it the first thing that a reader types would be the first that fails."""
        self.assertIn(f". {self.directory}/shell.sh", self.by_hand("start"))
        self.assertEqual(self.shell("kubectl config view -o 'jsonpath={.clusters[0].cluster.server}'"), "https://127.0.0.1:16443")
        self.shell("kubectl run hello --image=tangram.test/base:1 --restart=Never -- echo hello")
        self.shell("kubectl wait pod/hello --for=jsonpath={.status.phase}=Succeeded --timeout=60s")
        self.assertEqual(self.shell("kubectl logs hello"), "hello\n")
        self.shell("kubectl run stays --image=tangram.test/base:1 --restart=Never -- sleep 600")
        self.shell("kubectl wait pod/stays --for=condition=Ready --timeout=60s")
        self.assertEqual(self.shell("kubectl exec stays -- hostname"), "stays\n")
        self.assertIn(build.version(), self.shell("kubectl get nodes"))
        self.assertIn("310P3", self.shell("kube_node npu-smi info"))
        self.assertIn("runs already", self.by_hand("start"))
        self.assertIn("stopped", self.by_hand("stop"))
        self.assertEqual(list(harness.pids_of(self.directory)), [])
        self.assertEqual(harness.cgroup_dirs("kube-hand"), [])
        self.assertNotIn("left behind", (self.directory / "cluster.log").read_text())
        self.assertIn("nothing runs", self.by_hand("stop"))


if __name__ == "__main__":
    unittest.main()
