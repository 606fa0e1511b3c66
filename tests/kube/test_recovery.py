"""What a cluster does when one of its own processes dies: the suites that kill them must be able to tell whose fault it was."""

import json
import time
import unittest

from cluster import Cluster, pod_object

cluster = None


def setUpModule():
    global cluster
    cluster = Cluster()
    unittest.addModuleCleanup(cluster.stop)
    cluster.start()


class Recovery(unittest.TestCase):
    """One Pod counts through all of it."""

    @classmethod
    def setUpClass(cls):
        cluster.apply(pod_object("counts", "i=0; while :; do i=$((i + 1)); echo $i; sleep 0.2; done"))
        cluster.wait_for_pod("counts", "Running")

    def setUp(self):
        self.container = self.container_of_pod()
        self.addCleanup(self.check_that_the_same_container_counts)

    def container_of_pod(self):
        status = cluster.pod("counts")["status"]["containerStatuses"][0]
        self.assertEqual(status["restartCount"], 0)
        return status["containerID"]

    def check_that_the_same_container_counts(self):
        self.assertEqual(self.container_of_pod(), self.container)
        before = self.count()
        cluster.wait_until(lambda: self.count() > before, "the Pod counts on", 20)

    def count(self):
        lines = cluster.ok("logs", "counts").split()
        self.assertEqual(lines, [str(number + 1) for number in range(len(lines))])
        return len(lines)

    def check_that_pods_run(self, name):
        self.addCleanup(cluster.kubectl, "delete", "pod", name, "--now")
        cluster.apply(pod_object(name, "echo ran"))
        cluster.wait_for_pod(name, "Succeeded")
        self.assertEqual(cluster.ok("logs", name), "ran\n")

    def test_api_server_killed(self):
        """Without it a suite could not tell what it broke by killing the API server from what comes back by itself."""
        cluster.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept"}, "data": {"key": "value"}})
        cluster.kill_component("kube-apiserver")
        with self.assertRaises(OSError):
            cluster.api("GET", "/readyz")
        time.sleep(2)
        cluster.start_component("kube-apiserver")
        self.assertEqual(cluster.json("get", "configmap", "kept")["data"], {"key": "value"})
        cluster.wait_until(cluster.node_is_ready, "the node is ready again")
        self.check_that_pods_run("after-api-server")

    def test_etcd_killed(self):
        """Without it what was acknowledged could be gone, and a test of what survives would blame the wrong one."""
        cluster.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "acknowledged"}, "data": {"key": "value"}})
        cluster.kill_component("etcd")
        cluster.start_component("etcd")
        cluster.wait_ready("kube-apiserver")
        cluster.wait_until(lambda: cluster.api("GET", "/api/v1/namespaces/default/configmaps/acknowledged")[0] == 200,
                           "what was acknowledged is there", 30)
        cluster.wait_until(lambda: cluster.kubectl("get", "pod", "counts").code == 0, "kubectl is answered", 30)
        self.check_that_pods_run("after-etcd")

    def test_kubelet_and_containerd_killed(self):
        """Without it a restart of the node's daemons could end the Pods that it must leave alone."""
        for name in ("kubelet", "containerd"):
            cluster.kill_component(name)
        for name in ("containerd", "kubelet"):
            cluster.start_component(name)
        self.check_that_pods_run("after-kubelet")

    def test_controllers_killed(self):
        """Without it Pods could wait for ever after the scheduler or the controllers have died once."""
        for name in ("kube-scheduler", "kube-controller-manager"):
            cluster.kill_component(name)
        cluster.apply(pod_object("scheduled-later", "true"))
        self.addCleanup(cluster.kubectl, "delete", "pod", "scheduled-later", "--now")
        time.sleep(1)
        self.assertNotIn("nodeName", cluster.pod("scheduled-later")["spec"], json.dumps(cluster.pod("scheduled-later")["status"]))
        for name in ("kube-scheduler", "kube-controller-manager"):
            cluster.start_component(name)
        cluster.wait_for_pod("scheduled-later", "Succeeded")


if __name__ == "__main__":
    unittest.main()
