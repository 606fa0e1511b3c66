"""Custom resources and admission against a real API server: what only it can say of schemas, CEL, patches and policies."""

import json
import time
import unittest

import components
import machine
from authority import write_kubeconfig
from cluster import Cluster, pod_object
from machine import harness

DEPLOY = harness.SOURCE / "deploy"
PROBE = harness.BUILD / "tests/kube_admission_probe"
PORT = 9443
MANAGER = "system:serviceaccount:kube-system:tangram-manager"
NPU, MEMORY = "huawei.com/Ascend310P", "huawei.com/Ascend310P-memory"
cluster = None


def setUpModule():
    global cluster
    cluster = Cluster()
    unittest.addModuleCleanup(cluster.stop)
    cluster.start()
    cluster.ok("apply", "-f", DEPLOY / "crds")
    for name in ("tenants", "chipmodels", "nodeconfigs"):
        cluster.ok("wait", "--for=condition=Established", f"crd/{name}.tangram.dev", "--timeout=60s")
    # The webhook is a program beside the cluster, behind the Service of the shipped configuration.
    cluster.apply(
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "tangram-webhook", "namespace": "kube-system"},
         "spec": {"ports": [{"name": "https", "port": 443, "targetPort": PORT}]}},
        {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
         "metadata": {"name": "tangram-webhook", "namespace": "kube-system",
                      "labels": {"kubernetes.io/service-name": "tangram-webhook"}},
         "ports": [{"name": "https", "port": PORT, "protocol": "TCP"}],
         "endpoints": [{"addresses": [machine.NODE_ADDRESS], "conditions": {"ready": True}}]})
    cluster.ok("apply", "-f", DEPLOY / "admission")
    cluster.apply(namespace("space-a", team="a"), namespace("space-b", team="b"), namespace("space-c"),
                  tenant("team-a", namespaceSelector={"matchLabels": {"team": "a"}},
                         quota={"memoryPerNpu": "12GiB", "runTime": "24h"}),
                  tenant("team-b", namespaceSelector={"matchLabels": {"team": "b"}}))
    start_webhook()


def start_webhook():
    directory = cluster.root / "webhook"
    directory.mkdir(exist_ok=True)
    process = cluster.spawn("tangram-webhook", [PROBE, PORT, directory], env={"KUBECONFIG": str(cluster.settings.admin)})
    cluster.wait_until(lambda: cluster.log("tangram-webhook").count("ready") > start_webhook.starts, "the webhook serves", process=process)
    start_webhook.starts += 1
    # kube-proxy has to know the way there, and the Tenants have to be read.
    cluster.wait_until(lambda: try_pod("space-a").code == 0, "a Pod with an NPU passes", 30)


start_webhook.starts = 0


def namespace(name, **labels):
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def tenant(name, **spec):
    return {"apiVersion": "tangram.dev/v1", "kind": "Tenant", "metadata": {"name": name}, "spec": spec}


def npu_pod(name, space, limits=None, **spec):
    pod = pod_object(name, "sleep 600", **spec)
    pod["metadata"]["namespace"] = space
    pod["spec"]["containers"][0]["resources"] = {"limits": {NPU: 1, MEMORY: 1024} if limits is None else limits}
    return pod


def create(pod, *words, **options):
    return cluster.kubectl("create", *words, "-f", "-", input=json.dumps(pod), **options)


def try_pod(space, limits=None, **options):
    """A Pod that is judged and not kept."""
    return create(npu_pod("try", space, limits), "--dry-run=server", "-o", "json", **options)


class Suite(unittest.TestCase):
    def made(self, pod):
        answer = create(pod, "-o", "json")
        self.assertEqual(answer.code, 0, answer)
        made = json.loads(answer.out)["metadata"]
        self.addCleanup(cluster.kubectl, "delete", "pod", made["name"], "-n", made["namespace"], "--now", "--wait=false")
        return json.loads(answer.out)

    def refused(self, answer, *words):
        self.assertNotEqual(answer.code, 0, answer)
        for word in words:
            self.assertIn(word, answer.err)


class CustomResources(Suite):
    def test_what_makes_no_sense_is_refused(self):
        """Without it a schema could say less than the table, or the API server read a rule otherwise."""
        chip = {"apiVersion": "tangram.dev/v1", "kind": "ChipModel", "metadata": {"name": "x"},
                "spec": {"resource": "AscendX", "chip": {"name": "X", "match": {"chips": ["X"]}, "aiCores": 4, "templates": [
                    {"name": "vir01", "aiCores": 1, "memory": "3GiB"}]}}}
        many_cores = json.loads(json.dumps(chip))
        many_cores["spec"]["chip"]["templates"][0]["aiCores"] = 5
        twice = json.loads(json.dumps(chip))
        twice["spec"]["chip"]["templates"] *= 2
        for thing, words in (
                (tenant("a", parent="a"), ["its own parent"]),
                (tenant("a.b"), ["no dot"]),
                (tenant("a", quota={"npus": -1}), ["spec.quota.npus"]),
                (tenant("a", quota={"memoryTotal": "64"}), ["spec.quota.memoryTotal"]),
                (tenant("a", quota={"runTime": "soon"}), ["spec.quota.runTime"]),
                (tenant("a", quota={"priorities": ["high", "high"]}), ["Duplicate value"]),
                (tenant("a", quota={"priorities": ["urgent"]}), ["Unsupported value"]),
                (tenant("a", quota={"npu": 1}), ["unknown field"]),
                (tenant("a", namespaceSelector={"matchExpressions": [{"key": "k", "operator": "In"}]}), ["need values"]),
                (many_cores, ["more AI cores than its chip"]),
                (twice, ["Duplicate value"]),
                ({**chip, "spec": {**chip["spec"], "resource": "AscendX-memory"}}, ["the memory and the cores of other resources"]),
                ({**chip, "spec": {**chip["spec"], "resource": "X"}}, ["spec.resource"])):
            with self.subTest(thing=thing):
                self.refused(create(thing, "--dry-run=server"), *words)
        self.assertEqual(create(chip).code, 0)
        self.addCleanup(cluster.kubectl, "delete", "chipmodel", "x")
        self.refused(cluster.kubectl("patch", "chipmodel", "x", "--type=merge", "-p", '{"spec":{"resource":"AscendY"}}'), "cannot be changed")

    def test_the_status_is_shown_and_is_not_the_tenants(self):
        """Without it `kubectl get tenants` would show nothing, or writing a spec could write the status."""
        cluster.apply(tenant("shown", quota={"npus": 4, "memoryTotal": "64GiB"}))
        self.addCleanup(cluster.kubectl, "delete", "tenant", "shown")
        status = {"used": {"npus": 1, "memoryTotal": "6GiB", "aiCores": 2, "runningJobs": 1, "bandwidth": "0bps"},
                  "effective": {"npus": 4, "memoryTotal": "64GiB"}, "queued": 7}
        cluster.ok("patch", "tenant", "shown", "--type=merge", "-p", json.dumps({"status": status}))
        self.assertNotIn("used", cluster.json("get", "tenant", "shown").get("status", {}))
        cluster.ok("patch", "tenant", "shown", "--subresource=status", "--type=merge", "-p", json.dumps({"status": status, "spec": {"parent": "x"}}))
        self.assertEqual(cluster.json("get", "tenant", "shown")["status"], status)
        self.assertNotIn("parent", cluster.json("get", "tenant", "shown")["spec"])
        head, line = cluster.ok("get", "tenant", "shown").splitlines()
        self.assertEqual(head.split()[:2], ["NAME", "NPUS"])
        self.assertEqual(line.split()[:7], ["shown", "1", "4", "6GiB", "64GiB", "1", "7"])

    def test_a_document_of_one_machine_is_taken(self):
        """Without it a Tenant would be written in two ways."""
        everything = tenant("moved", parent="team-a", uid=5001, members=[5002], jobDefaults={"cpus": 0.5, "memory": "1GiB", "processes": 10},
                            quota={"npus": 4, "memoryPerNpu": "32GiB", "memoryTotal": "128GiB", "aiCores": 80, "runningJobs": 8,
                                   "runTime": "1d12h", "priorities": ["normal", "low"], "bandwidth": "10Gbps"})
        answer = create(everything, "--dry-run=server", "-o", "json")
        self.assertEqual(answer.code, 0, answer)
        self.assertEqual(json.loads(answer.out)["spec"], everything["spec"])


class Pods(Suite):
    def test_memory_is_rounded_and_the_pod_held_back(self):
        """Without it a Pod would have other memory than article B shows, or run before its tenant's quota has room."""
        for asked, given, template in ((1024, "3072", "vir01"), (4096, "6144", "vir02"), (7000, "12288", "vir04")):
            pod = self.made(npu_pod(f"asks-{asked}", "space-a", {NPU: 1, MEMORY: asked}))
            resources = pod["spec"]["containers"][0]["resources"]
            self.assertEqual((resources["limits"][MEMORY], resources["requests"][MEMORY], resources["limits"][NPU]), (given, given, "1"))
            annotations = pod["metadata"]["annotations"]
            self.assertEqual(json.loads(annotations["tangram.dev/requested"])[0]["memoryMiB"], asked)
            self.assertEqual(json.loads(annotations["tangram.dev/granted"])[0]["template"], template)
            self.assertEqual(pod["spec"]["schedulingGates"], [{"name": "tangram.dev/quota"}])
            self.assertEqual(pod["metadata"]["labels"]["tangram.dev/tenant"], "team-a")
            self.assertEqual(pod["spec"]["activeDeadlineSeconds"], 86400)
        whole = self.made(npu_pod("asks-13000", "space-b", {NPU: 1, MEMORY: 13000}))
        self.assertEqual(whole["spec"]["containers"][0]["resources"]["limits"][MEMORY], "21527")
        alone = self.made(npu_pod("asks-memory-alone", "space-b", {MEMORY: 3000}))
        self.assertEqual(alone["spec"]["containers"][0]["resources"]["limits"], {NPU: "1", MEMORY: "3072"})
        self.assertEqual(cluster.pod("asks-1024", "space-a")["status"]["conditions"][0]["reason"], "SchedulingGated")

    def test_refusals_say_what_is_allowed(self):
        """Without it the API server would show somebody else's words, or none."""
        self.refused(try_pod("space-a", {NPU: 1, MEMORY: 12289}), "tenant team-a may have at most 12GiB", "quota.memory_per_npu.above_limit")
        self.refused(try_pod("space-b", {NPU: 1, MEMORY: 21528}), "21528 MiB", "at most 21527")
        self.refused(try_pod("space-b", {NPU: 1, MEMORY: "16Gi"}), "16384")
        self.refused(try_pod("space-c"), "belongs to no Tenant")
        self.refused(try_pod("kube-system"), "belongs to no Tenant")
        pod = npu_pod("forged", "space-b")
        pod["metadata"]["annotations"] = {"tangram.dev/allocation": "{}"}
        self.refused(create(pod), "admission.forged")
        pod = pod_object("takes", "sleep 600")
        pod["spec"]["containers"][0]["env"] = [{"name": "ASCEND_VISIBLE_DEVICES", "value": "0"}]
        self.refused(create(pod), "admission.environment.reserved")

    def test_a_warning_reaches_the_user(self):
        """Without it somebody would be given memory that a program cannot use, and not be told."""
        self.assertIn("a program can use 5381 MiB", try_pod("space-b", {NPU: 1, MEMORY: 6000}).err)

    def test_a_tenant_opens_no_gate_and_changes_no_mark(self):
        """Without it a tenant's own credentials would be enough to run without a quota."""
        cluster.ok("create", "rolebinding", "edit-b", "--clusterrole=admin", "--user=bob", "-n", "space-b")
        cluster.ok("create", "role", "status-b", "--verb=update,patch,create", "--resource=pods/status,pods/binding,pods/ephemeralcontainers", "-n", "space-b")
        cluster.ok("create", "rolebinding", "status-b", "--role=status-b", "--user=bob", "-n", "space-b")
        bob = cluster.user("bob")
        answer = create(npu_pod("bobs", "space-b"), kubeconfig=bob)
        self.assertEqual(answer.code, 0, answer)
        self.addCleanup(cluster.kubectl, "delete", "pod", "bobs", "-n", "space-b", "--now", "--wait=false")
        plain = pod_object("plain", "sleep 600")
        plain["metadata"]["namespace"] = "space-b"
        self.made(plain)

        def patch(pod, change, *words, **options):
            kind = "json" if isinstance(change, list) else "merge"
            return cluster.kubectl("patch", "pod", pod, "-n", "space-b", f"--type={kind}", "-p", json.dumps(change), *words,
                                   **{"kubeconfig": bob, **options})

        opening = [{"op": "remove", "path": "/spec/schedulingGates/0"}]
        self.refused(patch("bobs", opening), "admission.forged", "tangram.dev/quota")
        for mark in ({"annotations": {"tangram.dev/granted": "[]"}}, {"annotations": {"tangram.dev/allocation": "{}"}},
                     {"annotations": {"tangram.dev/requested": None}}, {"annotations": {"hami.io/vgpu-node": "n"}},
                     {"labels": {"tangram.dev/tenant": "team-a"}}, {"labels": {"tangram.dev/managed": None}}):
            with self.subTest(mark=mark):
                self.refused(patch("bobs", {"metadata": mark}), "set by Tangram alone")
                self.refused(patch("bobs", {"metadata": mark}, "--subresource=status"), "set by Tangram alone")
        self.refused(patch("plain", {"metadata": {"labels": {"tangram.dev/managed": "true"}}}), "set by Tangram alone")
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "plain", "annotations": {"tangram.dev/allocation": "{}"}},
                   "target": {"kind": "Node", "name": components.NODE}}
        answer = cluster.kubectl("create", "--raw", "/api/v1/namespaces/space-b/pods/plain/binding", "-f", "-", input=json.dumps(binding), kubeconfig=bob)
        self.refused(answer, "set by Tangram alone")
        # What is not Tangram's stays the tenant's.
        self.assertEqual(patch("bobs", {"metadata": {"annotations": {"note": "x"}, "labels": {"app": "y"}}}).code, 0)
        self.assertEqual(patch("plain", {"metadata": {"annotations": {"hami.io/vgpu-node": "n"}}}).code, 0)
        # The manager opens it.
        cluster.ok("create", "clusterrolebinding", "manager", "--clusterrole=edit", f"--user={MANAGER}")
        answer = patch("bobs", opening, f"--as={MANAGER}", kubeconfig=cluster.settings.admin)
        self.assertEqual(answer.code, 0, answer)
        self.assertNotIn("schedulingGates", cluster.pod("bobs", "space-b")["spec"])

    def test_a_quota_written_for_hami_holds(self):
        """Without it the ResourceQuotas of a cluster that moves from HAMi would hold no more."""
        cluster.apply(namespace("space-q", team="b"),
                      {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "npus", "namespace": "space-q"},
                       "spec": {"hard": {f"limits.{MEMORY}": "10k"}}})
        cluster.wait_until(lambda: "exceeded quota" in try_pod("space-q", {NPU: 1}).err, "the quota is known", 30)
        self.made(npu_pod("first", "space-q", {NPU: 1, MEMORY: 4096}))
        self.assertEqual(try_pod("space-q", {NPU: 1, MEMORY: 3072}).code, 0)
        cluster.wait_until(lambda: "used: 6144, limited: 10000" in try_pod("space-q", {NPU: 1, MEMORY: 4096}).err, "the Pod is counted", 30)
        cluster.ok("delete", "pod", "first", "-n", "space-q", "--now")
        cluster.wait_until(lambda: try_pod("space-q", {NPU: 1, MEMORY: 4096}).code == 0, "the Pod has gone", 30)

    def test_a_chip_of_the_operators_is_asked_for(self):
        """Without it a board that is not built in could not be used on a cluster."""
        cluster.apply({"apiVersion": "tangram.dev/v1", "kind": "ChipModel", "metadata": {"name": "new"},
                       "spec": {"resource": "AscendNew", "chip": {"name": "New", "match": {"chips": ["New"]}, "aiCores": 4, "memory": "12GiB",
                                                                  "templates": [{"name": "vir01", "aiCores": 1, "memory": "3GiB"}]}}})
        self.addCleanup(cluster.kubectl, "delete", "chipmodel", "new")
        asks = {"huawei.com/AscendNew": 1, "huawei.com/AscendNew-memory": 100}
        cluster.wait_until(lambda: '"huawei.com/AscendNew-memory": "3072"' in try_pod("space-b", asks).out, "the chip is known", 30)

    def test_an_inventory_is_its_nodes_agents(self):
        """Without it whoever may write nodes, or the agent of another node, could offer NPUs that are not there."""
        self.refused(cluster.kubectl("annotate", "node", components.NODE, "tangram.dev/npus=[]"), "the agent of that node alone")
        cluster.ok("annotate", "node", components.NODE, "other=x")
        cluster.ok("create", "serviceaccount", "tangram-agent", "-n", "kube-system")
        cluster.ok("create", "clusterrole", "agent", "--verb=get,patch", "--resource=nodes")
        cluster.ok("create", "clusterrolebinding", "agent", "--clusterrole=agent", "--serviceaccount=kube-system:tangram-agent")
        change = '{"metadata":{"annotations":{"tangram.dev/npus":"[]"}}}'

        def patch(*words):
            token = cluster.ok("create", "token", "tangram-agent", "-n", "kube-system", *words).strip()
            who = write_kubeconfig(cluster.settings.config / "agent.kubeconfig", components.SERVER,
                                   cluster.settings.authority.certificate, {"token": token})
            return cluster.kubectl("patch", "node", components.NODE, "--type=merge", "-p", change, kubeconfig=who)

        self.refused(patch(), "the agent of that node alone")
        answer = patch("--bound-object-kind=Node", f"--bound-object-name={components.NODE}")
        self.assertEqual(answer.code, 0, answer)

    def test_nobody_passes_without_the_webhook(self):
        """Without it whoever takes the webhook's configuration away, or a Pod past it, would open the quota to all."""
        configuration = cluster.ok("get", "mutatingwebhookconfiguration", "tangram", "-o", "json")
        cluster.ok("delete", "mutatingwebhookconfiguration", "tangram")
        self.addCleanup(self.restore, configuration)
        cluster.wait_until(lambda: "belongs to no Tenant" not in try_pod("space-c").err, "the API server has forgotten the webhook", 30)
        self.refused(try_pod("space-b"), "has to pass Tangram's webhook")
        self.assertEqual(create(pod_object("without", "true"), "--dry-run=server").code, 0)

    def restore(self, configuration):
        kept = json.loads(configuration)
        kept["metadata"] = {"name": "tangram"}
        cluster.apply(kept)
        cluster.wait_until(lambda: try_pod("space-b").code == 0, "the webhook is asked again", 30)


class Away(Suite):
    def test_pods_without_npus_are_not_hurt(self):
        """Without it a webhook that is away would stop a cluster that has nothing to do with NPUs."""
        held = self.made(npu_pod("held", "space-b"))
        cluster.kill_component("tangram-webhook")
        self.addCleanup(start_webhook)
        begin = time.monotonic()
        self.made(pod_object("lives", "sleep 600"))
        cluster.wait_for_pod("lives", "Running")
        cluster.ok("label", "pod", "lives", "a=b")
        cluster.ok("annotate", "pod", "lives", "a=b")
        system = pod_object("system", "sleep 600")
        system["metadata"]["namespace"] = "kube-system"
        self.made(system)
        cluster.ok("delete", "pod", "lives", "--now")
        self.assertLess(time.monotonic() - begin, 60)
        # Nobody gets past, and what is not Tangram's of a Pod with NPUs may still be changed.
        self.refused(try_pod("space-b"), "pods.tangram.dev")
        self.refused(try_pod("kube-system"), "pods.tangram.dev")
        self.refused(cluster.kubectl("patch", "pod", "held", "-n", "space-b", "--type=json", "-p",
                                     '[{"op":"remove","path":"/spec/schedulingGates/0"}]'), "changes.tangram.dev")
        cluster.ok("label", "pod", "held", "-n", "space-b", "a=b")
        cluster.ok("delete", "pod", held["metadata"]["name"], "-n", "space-b", "--now")


if __name__ == "__main__":
    unittest.main()
