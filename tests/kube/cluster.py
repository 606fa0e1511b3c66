"""A whole Kubernetes on a simulated Ascend machine, for tests. Real programs, no stand-ins: etcd, API server, controller
manager, scheduler, containerd with runc, kubelet and kube-proxy, on one node.

    with Cluster() as cluster:
        cluster.ok("apply", "-f", "-", input=json.dumps(pod))
        cluster.wait_for_pod("hello", "Succeeded")
        print(cluster.ok("logs", "hello"))

It lives in a machine of its own (machine.py), so a test is run through tests/kube/run.sh; what a test starts beside it is
in that machine as well, reaches the API server at components.SERVER, and ends with the test. stop() takes everything down
and leaves the machine as it was (leftovers() says what is left, which is nothing).
"""

import contextlib
import http.client
import json
import os
import pathlib
import signal
import ssl
import subprocess
import time
import urllib.parse

import build
import components
import images
import machine
import traces
from machine import harness

START_SECONDS_MAX = 120
COMMAND_SECONDS_MAX = 120
DEFAULT_MACHINE = harness.SOURCE / "deploy/machines/one-310p3.yaml"


class Cluster(harness.Fixture):
    """One cluster with one node, `components.NODE`.

    npus:     a machine description (YAML text) for ascendsimd; None: one 310P3
    options:  of components.Settings: extenders, gates, apiserver
    """

    seconds_max, pause = START_SECONDS_MAX, 0.1
    no_answer = (OSError, http.client.HTTPException)

    def __init__(self, npus=None, **options):
        self.name, self.root = machine.current()
        self.settings = components.Settings(self.root, self.name, **options)
        self.npus = npus or DEFAULT_MACHINE.read_text()
        self.simulated = self.root / "ascend"
        self.device_dir, self.driver_dir = self.simulated / "dev", self.simulated / "driver"
        self.logs = self.root / "logs"
        self.processes = {}
        self._before = None

    # ---- life

    def start(self):
        """Returns when a Pod can run."""
        self._before = traces.Traces(self.name)
        self.logs.mkdir(exist_ok=True)
        self.settings.write()
        self.start_simulator()
        for name in ("etcd", "containerd"):
            self.start_component(name, wait=False)
        self.wait_ready("etcd")
        self.start_component("kube-apiserver", wait=False)
        self.wait_ready("containerd")
        self.import_image(self.build_image(components.PAUSE_IMAGE, images.pause_image(build.program(build.PAUSE))))
        self.import_image(self.build_image(components.BASE_IMAGE, images.base_image()))
        self.wait_ready("kube-apiserver")
        later = ("kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy")
        for name in later:
            self.start_component(name, wait=False)
        for name in later:
            self.wait_ready(name)
        return self

    def start_simulator(self):
        description = self.root / "machine.yaml"
        description.write_text(self.npus)
        self.spawn("ascendsimd", [harness.program("ascendsimd"), "--root", self.simulated, "--machine", description])
        socket = self.driver_dir / "run/ascendsim.sock"
        self.wait_until(socket.exists, "ascendsimd listens", process=self.processes["ascendsimd"])

    def start_component(self, name, wait=True):
        """Starts it, or starts it again, with what the settings say now."""
        self.spawn(name, self.settings.arguments(name))
        if wait:
            self.wait_ready(name)

    def kill_component(self, name, number=signal.SIGKILL):
        """Ends it and waits for its end."""
        end(self.processes[name], number)

    def restart_component(self, name):
        self.kill_component(name, signal.SIGTERM)
        self.start_component(name)

    def use_extenders(self, extenders):
        """Restarts the scheduler with these entries of `extenders` in its configuration."""
        self.settings.extenders = list(extenders)
        self.settings.write()
        self.restart_component("kube-scheduler")

    def spawn(self, name, arguments, env=None):
        """Starts a program in the machine, with its output in logs/NAME.log; it ends with the cluster, or with the test."""
        with open(self.logs / f"{name}.log", "ab") as log:
            process = subprocess.Popen([str(word) for word in arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                       env={**os.environ, "HOME": str(self.root), **(env or {})},
                                       preexec_fn=harness.die_with_parent)
        self.processes[name] = process
        return process

    def stop(self):
        """Takes everything down. Safe to call twice."""
        for name in ("kubelet", "kube-proxy", "kube-scheduler", "kube-controller-manager"):
            self._end(name)
        self._remove_containers()
        for name in [name for name in self.processes if name not in ("etcd", "kube-apiserver")] + ["kube-apiserver", "etcd"]:
            self._end(name)
        if self._before is not None:
            self._before.restore()

    def leftovers(self):
        """What the machine has more than before the start, one text each."""
        return self._before.news()

    # ---- asking

    def kubectl(self, *arguments, input=None, kubeconfig=None, timeout=COMMAND_SECONDS_MAX):
        """Runs kubectl as the administrator, or as who a kubeconfig says; returns its Answer."""
        words = [str(argument) for argument in arguments]
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.root), "KUBECONFIG": str(kubeconfig or self.settings.admin)}
        run = subprocess.run([build.program("kubectl"), *words], input=input or "", capture_output=True, text=True, errors="replace",
                             timeout=timeout, env=environment, check=False)
        return harness.Answer("kubectl", words, run.returncode, run.stdout, run.stderr)

    def ok(self, *arguments, **options):
        """As kubectl(), but the command must succeed. Returns what it printed."""
        answer = self.kubectl(*arguments, **options)
        assert answer.code == 0, repr(answer)
        return answer.out

    def json(self, *arguments, **options):
        return json.loads(self.ok(*arguments, "-o", "json", **options))

    def apply(self, *objects, **options):
        documents = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
        return self.ok("apply", "-f", "-", input=documents, **options)

    def api(self, method, path, body=None, content_type="application/json"):
        """One call of the API as the administrator, without kubectl: (status, parsed body)."""
        directory = self.settings.authority.directory
        context = ssl.create_default_context(cafile=directory / "authority.pem")
        context.load_cert_chain(directory / "admin.pem", directory / "admin.key")
        connection = http.client.HTTPSConnection(machine.NODE_ADDRESS, components.API_PORT, context=context, timeout=COMMAND_SECONDS_MAX)
        with contextlib.closing(connection):
            text = body if body is None or isinstance(body, str) else json.dumps(body)
            connection.request(method, path, text, {"Content-Type": content_type, "Accept": "application/json"})
            answer = connection.getresponse()
            content = answer.read().decode()
        is_json = "json" in (answer.getheader("Content-Type") or "")
        return answer.status, json.loads(content) if is_json else content

    def user(self, name, groups=()):
        """A kubeconfig of a user that certificates of the cluster name so; what it may do is for its roles to say."""
        path = self.settings.config / f"user-{name.replace(':', '-')}.kubeconfig"
        return self.settings.authority.kubeconfig(path, components.SERVER, name, groups)

    def audit(self, **fields):
        """The calls that the API server has answered, as its audit log has them; those with these fields only."""
        events = []
        for line in self.settings.audit_log.read_text(errors="replace").splitlines(keepends=True):
            if line.endswith("\n"):  # the last one may still be written
                event = json.loads(line)
                if all(event.get(name) == value for name, value in fields.items()):
                    events.append(event)
        return events

    def pod(self, name, namespace="default"):
        return self.json("get", "pod", name, "-n", namespace)

    def wait_for_pod(self, name, phase, namespace="default", timeout=60):
        """Waits until the Pod is in that phase (Running: and ready), and returns it."""
        def arrived():
            status, pod = self.api("GET", f"/api/v1/namespaces/{namespace}/pods/{urllib.parse.quote(name)}")
            return pod if status == 200 and pod["status"].get("phase") == phase and (phase != "Running" or is_ready(pod)) else None
        return self.wait_until(arrived, f"Pod {name} is {phase}", timeout)

    def wait_ready(self, name):
        ready = {
            "etcd": lambda: http_status("http://127.0.0.1:2379/health") == 200,
            "kube-apiserver": lambda: self.api("GET", "/readyz")[0] == 200,
            "kube-controller-manager": self._has_service_account,
            "kube-scheduler": lambda: http_status("https://127.0.0.1:10259/readyz") == 200,
            "containerd": lambda: self.ctr("version", check=False).returncode == 0,
            "kubelet": lambda: http_status("http://127.0.0.1:10248/healthz") == 200 and self.node_is_ready(),
            "kube-proxy": lambda: http_status("http://127.0.0.1:10256/healthz") == 200,
        }[name]
        self.wait_until(ready, f"{name} is ready", process=self.processes[name])

    def node_is_ready(self):
        status, node = self.api("GET", f"/api/v1/nodes/{components.NODE}")
        return status == 200 and is_ready(node)

    def log(self, name):
        path = self.logs / f"{name}.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def report(self):
        """The ends of the logs and what the cluster says of itself, for a failure."""
        text = "".join(f"--- {path.name}\n{path.read_text(errors='replace')[-3000:]}\n" for path in sorted(self.logs.glob("*.log")))
        with contextlib.suppress(Exception):
            text += self.kubectl("get", "nodes,pods", "-A", "-o", "wide", "--request-timeout=5s").out
            text += self.kubectl("get", "events", "-A", "--request-timeout=5s").out[-5000:]
        return text

    # ---- images and containers

    def build_image(self, name, image):
        """Writes an image (images.Image) into the cluster's directory; returns the archive."""
        directory = self.root / "images"
        directory.mkdir(exist_ok=True)
        return image.write(directory / (name.replace("/", "-").replace(":", "-") + ".tar"), name)

    def import_image(self, archive):
        self.ctr("images", "import", archive)

    def ctr(self, *arguments, check=True):
        """Speaks to containerd behind the kubelet's back, about the Pods' containers."""
        run = subprocess.run(["ctr", "--address", components.CONTAINERD_SOCKET, "--namespace", "k8s.io", *map(str, arguments)],
                             capture_output=True, text=True, timeout=COMMAND_SECONDS_MAX, check=False)
        assert not check or run.returncode == 0, f"ctr {arguments}: {run.stderr}"
        return run

    def npu_smi(self, *arguments):
        """The vendor's command as an operator runs it on the node."""
        return subprocess.run([str(self.driver_dir / "tools/npu-smi"), *map(str, arguments)], check=True, capture_output=True,
                              text=True, timeout=COMMAND_SECONDS_MAX).stdout

    # ---- inside

    def _has_service_account(self):
        return self.api("GET", "/api/v1/namespaces/default/serviceaccounts/default")[0] == 200

    def _end(self, name):
        if name in self.processes:
            end(self.processes[name], signal.SIGTERM)

    def _remove_containers(self):
        """Ends what runs in Pods, and the shims over it."""
        if "containerd" not in self.processes:
            return
        if self.processes["containerd"].poll() is None:
            tasks = self.ctr("tasks", "list", "--quiet", check=False).stdout.split()
            if tasks:
                self.ctr("tasks", "delete", "--force", *tasks, check=False)
        end_time = time.monotonic() + 10
        while traces.shims() and time.monotonic() < end_time:
            time.sleep(0.05)
        for pid in harness.pids_in(harness.cgroup_dirs(self.name)) | traces.shims():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def is_ready(thing):
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in thing["status"].get("conditions", []))


def http_status(url):
    """The status of a GET without credentials; a component's own certificate is nobody's."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme == "https":
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection(parts.netloc, timeout=5, context=context)
    else:
        connection = http.client.HTTPConnection(parts.netloc, timeout=5)
    with contextlib.closing(connection):
        connection.request("GET", parts.path)
        return connection.getresponse().status


def end(process, number):
    """A signal, and the end; one that does not end on SIGTERM is killed."""
    if process.poll() is None:
        process.send_signal(number)
    try:
        process.wait(timeout=15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def pod_object(name, command, image=components.BASE_IMAGE, **spec):
    """A Pod of one container that runs a shell command once; `spec` goes over its spec."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
            "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1,
                     "containers": [{"name": "main", "image": image, "imagePullPolicy": "Never", "command": ["sh", "-c", command]}],
                     **spec}}
