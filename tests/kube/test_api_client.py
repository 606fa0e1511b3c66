"""The API client (src/kube/api) against a real API server: what a server of our own making cannot show to be right."""

import base64
import json
import queue
import signal
import subprocess
import threading
import time
import unittest
import urllib.request

import components
from cluster import Cluster, pod_object
from machine import harness

PROBE = harness.BUILD / "tests/kube_api_probe"
cluster = None


def setUpModule():
    global cluster
    cluster = Cluster()
    unittest.addModuleCleanup(cluster.stop)
    cluster.start()


class Probe:
    """One run of the program; its lines as they come."""

    def __init__(self, *words, kubeconfig=None):
        self.process = subprocess.Popen([str(PROBE), *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                                        env={"KUBECONFIG": str(kubeconfig or cluster.settings.admin)},
                                        preexec_fn=harness.die_with_parent)
        self.lines = []
        self.coming = queue.Queue()
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.coming.put(line.rstrip("\n"))

    def wait_for(self, wanted, timeout=60):
        """Waits for a line for which `wanted` (a text, or a function of the line) holds, and returns it."""
        matches = wanted if callable(wanted) else lambda line: line == wanted
        end_time = time.monotonic() + timeout
        while True:
            try:
                line = self.coming.get(timeout=max(0.01, end_time - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"not come: {wanted}; so far: {self.lines[-20:]}") from None
            self.lines.append(line)
            if matches(line):
                return line

    def stop(self):
        """Ends it; all of its lines."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=30)
        self.reader.join()
        self.process.stdout.close()
        while not self.coming.empty():
            self.lines.append(self.coming.get())
        return self.lines

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
            self.reader.join()
            self.process.stdout.close()


def call(*words, body=None, kubeconfig=None):
    """(exit status, what it printed) of one call."""
    text = body if body is None or isinstance(body, str) else json.dumps(body)
    run = subprocess.run([str(PROBE), *map(str, words)], input=text or "", capture_output=True, text=True, timeout=60, check=False,
                         env={"KUBECONFIG": str(kubeconfig or cluster.settings.admin)})
    return run.returncode, run.stdout.strip()


class Suite(unittest.TestCase):
    def start(self, *words, **options):
        probe = Probe(*words, **options)
        self.addCleanup(probe.kill)
        return probe

    def ok(self, *words, **options):
        code, text = call(*words, **options)
        self.assertEqual(code, 0, text)
        return text

    def refused(self, reason, *words, **options):
        code, text = call(*words, **options)
        self.assertEqual((code, text.split(":")[0]), (1, reason), text)

    def space(self, name):
        cluster.ok("create", "namespace", name)
        self.addCleanup(cluster.kubectl, "delete", "namespace", name, "--wait=false")
        return name


def config_map(name, value):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"value": str(value)}}


class Calls(Suite):
    def test_compare_and_swap(self):
        """Without it two writers could overwrite each other on a real server although the test's own one says conflict."""
        space = self.space("cas")
        first = json.loads(self.ok("create", "v1/configmaps", space, body=config_map("a", 1)))["metadata"]
        self.refused("kube.already_exists", "create", "v1/configmaps", space, body=config_map("a", 1))
        version = first["resourceVersion"]
        second = json.loads(self.ok("merge", "v1/configmaps", space, "a", version, body={"data": {"value": "2"}}))["metadata"]
        self.refused("kube.conflict", "merge", "v1/configmaps", space, "a", version, body={"data": {"value": "3"}})
        change = [{"op": "test", "path": "/data/value", "value": "2"}, {"op": "replace", "path": "/data/value", "value": "4"}]
        self.refused("kube.conflict", "patch", "v1/configmaps", space, "a", version, body=change)
        self.ok("patch", "v1/configmaps", space, "a", second["resourceVersion"], body=change)
        self.refused("kube.invalid", "patch", "v1/configmaps", space, "a", body=change)
        self.refused("kube.conflict", "delete", "v1/configmaps", space, "a", "00000000-0000-0000-0000-000000000000")
        self.refused("kube.conflict", "delete", "v1/configmaps", space, "a", first["uid"], version)
        self.ok("delete", "v1/configmaps", space, "a", first["uid"])
        self.refused("kube.not_found", "get", "v1/configmaps", space, "a")

    def test_server_side_apply(self):
        """Without it an apply could take fields from others, or be refused for its content type."""
        space = self.space("ssa")
        body = config_map("a", 1)
        self.ok("apply", "v1/configmaps", space, "a", body=body)
        cluster.ok("apply", "--server-side", "--force-conflicts", "-n", space, "-f", "-", input=json.dumps(config_map("a", 2)))
        self.refused("kube.conflict", "apply", "v1/configmaps", space, "a", body=body)
        self.ok("apply", "v1/configmaps", space, "a", "force", body=body)
        managers = {entry["manager"] for entry in cluster.json("get", "configmap", "a", "-n", space, "--show-managed-fields")
                    ["metadata"]["managedFields"]}
        self.assertIn("tangram", managers)

    def test_refusals_are_told_apart(self):
        """Without it a missing role would look like a missing object."""
        nobody = cluster.user("nobody")
        self.refused("kube.forbidden", "get", "v1/configmaps", "default", "a", kubeconfig=nobody)
        self.refused("kube.not_found", "get", "tangram.dev/v1/nothings", "default", "a")
        self.refused("kube.invalid", "create", "v1/configmaps", "default", body=config_map("Not_A_Name", 1))
        self.refused("kube.refused", "create", "v1/configmaps", "default", body="{")

    def test_pages(self):
        """Without it a large list could lose what stands at the seam of two pages."""
        space = self.space("pages")
        cluster.apply(*[{**config_map(f"c-{i:03}", i), "metadata": {"name": f"c-{i:03}", "namespace": space}} for i in range(103)])
        names = self.ok("list", "v1/configmaps", space, 10).split("\n")
        self.assertEqual(names[-1], "objects 104")  # one is kube-root-ca.crt
        self.assertEqual(sorted(set(names[:-1])), sorted(names[:-1]))

    def test_a_gated_pod_is_opened_and_bound(self):
        """Without it the manager could not open a gate, or a Pod could be bound twice."""
        pod = pod_object("gated", "sleep 600", schedulingGates=[{"name": "tangram.dev/quota"}], schedulerName="nobody")
        self.addCleanup(cluster.kubectl, "delete", "pod", "gated", "--now")
        made = json.loads(self.ok("create", "v1/pods", "default", body=pod))["metadata"]
        gate = [{"op": "test", "path": "/spec/schedulingGates/0/name", "value": "tangram.dev/quota"},
                {"op": "remove", "path": "/spec/schedulingGates/0"}]
        self.ok("patch", "v1/pods", "default", "gated", made["resourceVersion"], body=gate)
        self.refused("kube.conflict", "bind", "default", "gated", "00000000-0000-0000-0000-000000000000", components.NODE)
        self.ok("bind", "default", "gated", made["uid"], components.NODE)
        self.refused("kube.conflict", "bind", "default", "gated", made["uid"], components.NODE)
        cluster.wait_for_pod("gated", "Running")

    def test_a_budget_stands_against_an_eviction(self):
        """Without it a preemption would take a budget for a busy server and hammer on it."""
        pod = pod_object("kept", "sleep 600")
        pod["metadata"]["labels"] = {"app": "kept"}
        self.addCleanup(cluster.kubectl, "delete", "pod", "kept", "--now")
        self.addCleanup(cluster.kubectl, "delete", "poddisruptionbudget", "kept")
        cluster.apply(pod, {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "kept"},
                            "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "kept"}}}})
        uid = cluster.wait_for_pod("kept", "Running")["metadata"]["uid"]
        cluster.wait_until(lambda: cluster.json("get", "poddisruptionbudget", "kept").get("status", {}).get("observedGeneration"),
                           "the budget is counted")
        self.refused("kube.disruption_budget", "evict", "default", "kept", uid)
        cluster.ok("delete", "poddisruptionbudget", "kept")
        self.refused("kube.conflict", "evict", "default", "kept", "00000000-0000-0000-0000-000000000000")
        self.ok("evict", "default", "kept", uid)

    def test_events(self):
        """Without it the API server could refuse every event for a field, and `kubectl describe` stay silent."""
        cluster.apply(pod_object("told", "sleep 600", schedulingGates=[{"name": "tangram.dev/quota"}]))
        self.addCleanup(cluster.kubectl, "delete", "pod", "told", "--now")
        uid = cluster.pod("told")["metadata"]["uid"]
        self.assertEqual(self.ok("event", "default", "told", uid), "written 2")
        events = [event for event in cluster.json("get", "events.events.k8s.io")["items"] if event["regarding"].get("uid") == uid
                  and event["reason"] == "Probed"]
        self.assertEqual(len(events), 1)
        self.assertEqual((events[0]["series"]["count"], events[0]["type"], events[0]["note"]), (3, "Warning", "a sentence for people"))
        self.assertIn("a sentence for people", cluster.ok("describe", "pod", "told"))

    def test_a_token_that_rotates(self):
        """Without it a service account's token would be read once, and everything end an hour later."""
        cluster.ok("create", "serviceaccount", "probe")
        self.addCleanup(cluster.kubectl, "delete", "serviceaccount", "probe")
        cluster.ok("create", "clusterrolebinding", "probe", "--clusterrole=view", "--serviceaccount=default:probe")
        self.addCleanup(cluster.kubectl, "delete", "clusterrolebinding", "probe")
        token = cluster.root / "probe.token"
        token.write_text(cluster.ok("create", "token", "probe"))
        ca = cluster.settings.authority.directory / "authority.pem"
        path = cluster.root / "probe.kubeconfig"
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "a",
            "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
            "clusters": [{"name": "a", "cluster": {"server": components.SERVER, "certificate-authority": str(ca)}}],
            "users": [{"name": "a", "user": {"tokenFile": "probe.token"}}]}))
        cluster.wait_until(lambda: call("list", "v1/pods", "default", 10, kubeconfig=path)[0] == 0, "the role is known", 20)
        self.refused("kube.forbidden", "create", "v1/configmaps", "default", body=config_map("x", 1), kubeconfig=path)
        token.write_text("not.a.token")
        self.refused("kube.unauthorized", "list", "v1/pods", "default", 10, kubeconfig=path)


class Follow(Suite):
    """A reflector prints what it is told; in the end that must come to what the server has."""

    def picture(self, lines):
        """What the lines come to; each must fit onto those before."""
        known = {}
        for line in lines:
            sign, _, rest = line.partition(" ")
            key, _, value = rest.partition(" ")
            if sign == "+":
                self.assertNotIn(key, known, line)
                known[key] = value
            elif sign == "~":
                self.assertNotEqual(known[key], value, line)
                known[key] = value
            elif sign == "-":
                del known[key]
        return known

    def truth(self, space):
        return {f"{space}/{item['metadata']['name']}": item["data"].get("value", "")
                for item in cluster.json("get", "configmaps", "-n", space)["items"]}

    def put(self, space, **values):
        cluster.apply(*[{**config_map(name, value), "metadata": {"name": name, "namespace": space}} for name, value in values.items()])

    def settle(self, probe, space):
        """Waits until the last change of all has been told, and compares."""
        self.put(space, last="told")
        probe.wait_for(lambda line: line.endswith(f"{space}/last told"))
        lines = probe.stop()
        self.assertEqual(self.picture(lines), self.truth(space))
        return lines

    def check_following(self, space, *how):
        self.put(space, **{f"c{i}": i for i in range(120)})
        probe = self.start("follow", "v1/configmaps", space, *how)
        probe.wait_for("synced")
        self.put(space, **{f"c{i}": i + 1 for i in range(0, 120, 2)}, new=1)
        cluster.ok("delete", "configmap", "-n", space, "c3", "c5")
        lines = self.settle(probe, space)
        self.assertEqual([line for line in lines if line.startswith("!")], [])
        self.assertEqual(sum(line.startswith("~") for line in lines), 60)

    def test_a_watch_list(self):
        """Without it what WatchList really sends could differ from what the test's own server plays."""
        self.check_following(self.space("watch-list"))
        watches = [event for event in cluster.audit(verb="watch") if "sendInitialEvents=true" in event["requestURI"]
                   and "/namespaces/watch-list/" in event["requestURI"]]
        self.assertEqual(len(watches), 1)

    def test_pages_of_a_list(self):
        """Without it the way for servers without WatchList would be tested by no server."""
        self.check_following(self.space("pages-then-watch"), "list")

    def test_the_api_server_is_killed(self):
        """Without it a restart of the API server could lose or double what changes meanwhile."""
        space = self.space("killed")
        self.put(space, **{f"c{i}": i for i in range(50)})
        probe = self.start("follow", "v1/configmaps", space)
        probe.wait_for("synced")
        cluster.kill_component("kube-apiserver")
        probe.wait_for(lambda line: line.startswith("! kube."))
        cluster.start_component("kube-apiserver")
        self.put(space, **{f"c{i}": i + 1 for i in range(0, 50, 2)})
        cluster.ok("delete", "configmap", "-n", space, "c1")
        self.settle(probe, space)

    def test_its_version_is_compacted_away(self):
        """Without it 410 would only be known from our own server: no event may be lost, and none told twice."""
        space = self.space("compacted")
        self.put(space, **{f"c{i}": i for i in range(50)})
        probe = self.start("follow", "v1/configmaps", space)
        probe.wait_for("synced")
        probe.process.send_signal(signal.SIGSTOP)
        cluster.restart_component("kube-apiserver")  # what is sent from now on does not wait in a socket of the probe
        self.put(space, **{f"c{i}": i + 1 for i in range(0, 50, 2)})
        cluster.ok("delete", "configmap", "-n", space, "c1")
        cluster.kill_component("kube-apiserver")
        compact()
        cluster.start_component("kube-apiserver")
        probe.process.send_signal(signal.SIGCONT)
        lines = self.settle(probe, space)
        self.assertIn("! kube.gone", lines)
        self.assertEqual(lines.count("synced"), 2)


def compact():
    """Makes etcd forget all but the newest state."""
    def ask(path, body):
        request = urllib.request.Request(components.ETCD + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)
    newest = ask("/v3/kv/range", {"key": base64.b64encode(b"/").decode(), "count_only": True})["header"]["revision"]
    ask("/v3/kv/compaction", {"revision": newest, "physical": True})


class Leaders(Suite):
    def test_one_leads_and_the_other_follows(self):
        """Without it the API server could refuse the Lease, or the order of two real processes be wrong."""
        first = self.start("lead", "default", "probe", "first")
        first.wait_for("lead 1")
        second = self.start("lead", "default", "probe", "second")
        with self.assertRaises(AssertionError):
            second.wait_for("lead 2", timeout=6)
        self.assertEqual(first.stop()[-2:], ["lose", "ended"])
        second.wait_for("lead 2", timeout=3)
        second.process.send_signal(signal.SIGSTOP)  # as a machine that hangs
        third = self.start("lead", "default", "probe", "third")
        third.wait_for("lead 3", timeout=15)
        second.process.send_signal(signal.SIGCONT)
        second.wait_for("lose", timeout=10)
        self.assertNotIn("lose", third.lines)

    def test_a_leader_stops_when_the_api_server_is_away(self):
        """Without it a leader would go on deciding while nobody can hear that it does."""
        leader = self.start("lead", "default", "away", "only")
        leader.wait_for("lead 1")
        cluster.kill_component("kube-apiserver")
        begun = time.monotonic()
        leader.wait_for("lose", timeout=10)
        self.assertLess(time.monotonic() - begun, 5)
        cluster.start_component("kube-apiserver")
        leader.wait_for("lead 2", timeout=30)


if __name__ == "__main__":
    unittest.main()
