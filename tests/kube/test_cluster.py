"""The cluster that the other suites stand on: a real one, which keeps its promises and its prohibitions."""

import http.server
import json
import pathlib
import subprocess
import threading
import unittest

import build
import components
import images
from cluster import Cluster, http_status, pod_object
from machine import NODE_ADDRESS

cluster = None


def setUpModule():
    global cluster
    cluster = Cluster()
    unittest.addModuleCleanup(cluster.stop)
    cluster.start()


class Suite(unittest.TestCase):
    def run_pod(self, pod, phase):
        name = pod["metadata"]["name"]
        self.addCleanup(cluster.kubectl, "delete", "pod", name, "--now")
        cluster.apply(pod)
        return cluster.wait_for_pod(name, phase)


class Components(Suite):
    def test_they_are_the_pinned_version(self):
        """Without it a build without its version would pass as another release, and what depends on the release is untested."""
        status, version = cluster.api("GET", "/version")
        self.assertEqual((status, version["gitVersion"]), (200, build.version()))
        node = cluster.json("get", "node", components.NODE)
        self.assertEqual(node["status"]["nodeInfo"]["kubeletVersion"], build.version())
        self.assertTrue(node["status"]["nodeInfo"]["containerRuntimeVersion"].startswith("containerd://"))

    def test_the_node_is_an_ascend_machine(self):
        """Without it the agent would find no NPU on the node, and every test of slices would test nothing."""
        self.assertIn("310P3", cluster.npu_smi("info"))
        self.assertTrue((cluster.device_dir / "davinci0").is_char_device())

    def test_helm_is_there(self):
        """Without it the chart would be rendered by nobody before a user does."""
        self.assertIn(build.version("helm.sh/helm/v3", "helm"), run_helm("version"))


def run_helm(*words):
    return subprocess.run([build.program("helm"), *words], capture_output=True, text=True, check=True, timeout=60,
                          env={"HOME": str(cluster.root), "PATH": "/usr/bin:/bin"}).stdout


class Pods(Suite):
    def test_a_pod_runs_to_its_end(self):
        """Without it a Pod that never ran could pass for one that did."""
        pod = self.run_pod(pod_object("greets", "echo hello from $HOSTNAME; echo and farewell >&2"), "Succeeded")
        # Output and errors are two streams, which may overtake each other.
        self.assertEqual(set(cluster.ok("logs", "greets").splitlines()), {"hello from greets", "and farewell"})
        self.assertEqual(pod["spec"]["nodeName"], components.NODE)

    def test_a_failure_is_a_failure(self):
        """Without it the exit status of a program in a Pod would be lost on the way."""
        pod = self.run_pod(pod_object("fails", "exit 3"), "Failed")
        self.assertEqual(pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"], 3)

    def test_exec(self):
        """Without it nobody could look into a running Pod: input, output and exit status go both ways."""
        self.run_pod(pod_object("stays", "sleep 600"), "Running")
        self.assertEqual(cluster.ok("exec", "stays", "--", "hostname"), "stays\n")
        self.assertEqual(cluster.ok("exec", "-i", "stays", "--", "sh", "-c", "wc -c", input="twelve bytes"), "12\n")
        self.assertEqual(cluster.kubectl("exec", "stays", "--", "sh", "-c", "exit 7").code, 7)

    def test_limits_hold_below_the_machines_group(self):
        """Without it the kernel would not know a Pod's limits, or Pods would lie outside of what is cleaned up."""
        pod = pod_object("limited", "cat /proc/self/cgroup; cat /sys/fs/cgroup/memory/memory.limit_in_bytes")
        pod["spec"]["containers"][0]["resources"] = {"limits": {"memory": "32Mi", "cpu": "100m"}}
        self.run_pod(pod, "Succeeded")
        *groups, limit = cluster.ok("logs", "limited").splitlines()
        self.assertEqual(int(limit), 32 << 20)
        memory = next(line for line in groups if ":memory:" in line)
        self.assertIn(f":/{cluster.name}/kubepods/", memory)

    def test_a_program_of_the_host_in_an_image(self):
        """Without it no program with shared libraries could be tried in a Pod, because no image can be pulled."""
        name = "tangram.test/checksum:1"
        cluster.import_image(cluster.build_image(name, images.base_image().add_program("/usr/bin/sha256sum")))
        self.run_pod(pod_object("checksum", "echo -n abc | /usr/local/bin/sha256sum", image=name), "Succeeded")
        self.assertTrue(cluster.ok("logs", "checksum").startswith("ba7816bf8f01cfea"))

    def test_the_same_image_twice(self):
        """Without it an image would change with each build, and nobody could tell whether its content did."""
        archives = [images.base_image().write(cluster.root / f"{name}.tar", "tangram.test/same:1").read_bytes() for name in "ab"]
        self.assertEqual(*archives)


class Services(Suite):
    def test_a_service_finds_the_pods_of_a_deployment(self):
        """Without it webhooks and agents that are Pods could be reached by nobody: controllers, Pod network and proxy."""
        labels = {"app": "web"}
        template = pod_object("web", "mkdir /www; echo served > /www/index.html; exec httpd -f -p 8080 -h /www")
        template["spec"]["restartPolicy"] = "Always"
        deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
                      "spec": {"replicas": 2, "selector": {"matchLabels": labels},
                               "template": {"metadata": {"labels": labels}, "spec": template["spec"]}}}
        service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
                   "spec": {"selector": labels, "ports": [{"port": 80, "targetPort": 8080}]}}
        self.addCleanup(cluster.kubectl, "delete", "deployment,service", "web", "--now")
        cluster.apply(deployment, service)
        cluster.ok("rollout", "status", "deployment", "web", "--timeout=60s")
        address = cluster.json("get", "service", "web")["spec"]["clusterIP"]
        self.run_pod(pod_object("visitor", f"for i in 1 2 3 4 5 6 7 8 9; do timeout 2 wget -q -O - http://{address}/ && exit; sleep 1; done; exit 1"),
                     "Succeeded")
        self.assertEqual(cluster.ok("logs", "visitor"), "served\n")
        self.assertEqual(http_status(f"http://{address}/"), 200, "from the node, as the API server calls a webhook")

    def test_a_pod_reaches_the_api_server(self):
        """Without it whatever runs as a Pod and speaks to the API server could only be tested outside of a Pod."""
        pod = pod_object("inquirer", "nc -w 5 $KUBERNETES_SERVICE_HOST $KUBERNETES_SERVICE_PORT < /dev/null && "
                         "test -s /var/run/secrets/kubernetes.io/serviceaccount/token && echo reached")
        self.run_pod(pod, "Succeeded")
        self.assertEqual(cluster.ok("logs", "inquirer"), "reached\n")


class Rights(Suite):
    def test_who_has_no_role_is_refused_and_written_down(self):
        """Without it a missing rule in a role that we ship would not show: the suites look for refusals in the audit log."""
        answer = cluster.kubectl("get", "pods", kubeconfig=cluster.user("stranger"))
        self.assertEqual(answer.code, 1, answer)
        self.assertIn('User "stranger" cannot list resource "pods"', answer.err)
        refusals = [event for event in cluster.audit(verb="list") if event["user"]["username"] == "stranger"
                    and event["responseStatus"]["code"] == 403]
        self.assertEqual(refusals[0]["objectRef"]["resource"], "pods")

    def test_a_kubelet_keeps_to_its_node(self):
        """Without it a test could pass that needs more than a node's own rights."""
        kubelet = cluster.settings.kubeconfig("kubelet")
        cluster.ok("get", "node", components.NODE, kubeconfig=kubelet)
        self.assertIn("orbidden", cluster.kubectl("get", "secrets", "-A", kubeconfig=kubelet).err)

    def test_the_kubelet_lets_no_stranger_in(self):
        """Without it any Pod could run commands in any other through the kubelet's port."""
        self.assertEqual(http_status(f"https://{NODE_ADDRESS}:10250/pods"), 401)


class RefusingExtender(http.server.BaseHTTPRequestHandler):
    """Lets no Pod onto a node whose turn has not come."""

    asked = []
    reason = "not before its turn"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append(body["Pod"]["metadata"]["name"])
        answer = json.dumps({"NodeNames": [], "FailedNodes": {name: self.reason for name in body["NodeNames"]}, "Error": ""}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


class Extenders(Suite):
    def test_the_scheduler_asks_an_extender(self):
        """Without it the extender that we ship would be tested against a scheduler that never heard of it."""
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), RefusingExtender)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        cluster.use_extenders([{"urlPrefix": f"http://127.0.0.1:{server.server_port}", "filterVerb": "filter", "nodeCacheCapable": True,
                                "httpTimeout": "5s"}])
        self.addCleanup(cluster.use_extenders, [])
        self.addCleanup(cluster.kubectl, "delete", "pod", "waits", "--now")
        cluster.apply(pod_object("waits", "true"))
        cluster.wait_until(lambda: RefusingExtender.reason in json.dumps(cluster.pod("waits")["status"].get("conditions", [])),
                           "the reason stands in the Pod's condition", 30)
        self.assertIn("waits", RefusingExtender.asked)
        cluster.use_extenders([])
        cluster.wait_for_pod("waits", "Succeeded")


class Machine(Suite):
    def test_files_are_where_they_say(self):
        """Without it a Pod's log or the kubelet's sockets would lie where nobody looks, or on the host."""
        self.assertTrue(pathlib.Path("/var/lib/kubelet/device-plugins/kubelet.sock").is_socket())
        self.assertTrue(pathlib.Path("/var/lib/kubelet/pod-resources/kubelet.sock").is_socket())
        self.assertTrue((cluster.root / "kubelet/pod-resources/kubelet.sock").is_socket())

    def test_there_is_no_way_out(self):
        """Without it a test could reach something that is not of this machine."""
        routes = subprocess.run(["ip", "-json", "route"], capture_output=True, text=True, check=True).stdout
        self.assertEqual([route for route in json.loads(routes) if route["dst"] == "default"], [])


if __name__ == "__main__":
    unittest.main()
