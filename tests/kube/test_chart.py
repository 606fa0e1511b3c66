"""The Helm chart without a cluster: what helm says of it, and that what it renders fits the rest of the tree."""

import importlib.util
import json
import re
import subprocess
import sys
import unittest

import build
import chart
import yaml
from chart import ALL_ON, CHART, DEPLOY, ROOT, of_kind, render, workloads

PLAIN = DEPLOY / "kubernetes"
# Where a program's options are listed.
OPTIONS = {"tangram-kube": ("src/kube/process/options.cc",),
           "tangram-kube-node": ("src/bin/kube_node_options.cc", "src/bin/kube_node_main.cc")}
# Kubernetes' own roles that are referred to, and by which part: those that a kube-scheduler has.
FOREIGN_ROLES = {"system:kube-scheduler": {"tangram-scheduler"}, "system:volume-scheduler": {"tangram-scheduler"},
                 "extension-apiserver-authentication-reader": {"tangram-scheduler", "tangram-manager"}}


def rules(objects):
    """(role's name, rule) of everything that grants."""
    for one in objects:
        if one["kind"] in ("ClusterRole", "Role"):
            for rule in one["rules"]:
                yield one["metadata"]["name"], rule


def webhooks(objects):
    """Those of all configurations; the one that takes their place before an uninstall has none."""
    return [hook for one in objects if one["kind"] == "MutatingWebhookConfiguration" for hook in one["webhooks"]]


class Helm(unittest.TestCase):
    def test_it_lints(self):
        """Without it a chart that helm complains of could be shipped."""
        for values in ((), ALL_ON, ("scheduler.mode=stock",), ("agent.enabled=false",)):
            linted = chart.helm("lint", "--strict", CHART, *chart.setting(values))
            self.assertEqual(linted.returncode, 0, linted.stdout + linted.stderr)

    def test_it_is_packed_with_what_it_links_to(self):
        """Without it the chart would lack its custom resources and admission as soon as it is not in this tree."""
        made = chart.helm("package", CHART, "--destination", self.enterContext(temporary()))
        self.assertEqual(made.returncode, 0, made.stderr)
        (archive,) = re.findall(r"saved it to: (\S+)", made.stdout)
        listed = subprocess.run(["tar", "tf", archive], capture_output=True, text=True, check=True).stdout.split()
        for path in ("crds/tenants.tangram.dev.yaml", "admission/policies.yaml", "admission/webhook.yaml", "prometheus/alerts.yaml",
                     "values.schema.json", "templates/node-agent.yaml"):
            self.assertIn(f"tangram/{path}", listed)

    def test_wrong_values_are_refused(self):
        """Without it a slip of the pen would be installed, and show as something else that does not work."""
        for value in ("manager.replicas=0", "manager.replica=2", "scheduler.mode=other", "scheduler.name=default-scheduler",
                      "metrics.service.type=LoadBalancer", "metrics.service.nodePort=99999", "agent.reclaimUnowned=soon",
                      "agent.shares=65", "agent.kubeletDirectory=kubelet", "chips={Ascend310P,Ascend310P}", "chips={Ascend310P-memory}",
                      "image.pullPolicy=Sometimes", "agent.driver.mounts={lib64}", "podMonitor.interval=often", "image.tag=a b",
                      "resources.limits.cpu=1"):
            with self.subTest(value=value):
                made = chart.template("--set", value)
                self.assertNotEqual(made.returncode, 0, value)
                self.assertIn("values don't meet the specifications of the schema", made.stderr)

    def test_every_value_is_explained(self):
        """Without it a value could be changed by nobody but who reads the templates."""
        schema = json.loads((CHART / "values.schema.json").read_text())
        values = yaml.safe_load((CHART / "values.yaml").read_text())
        self.assertEqual(described(schema) - {"global"}, written(values))

    def test_an_older_cluster_is_refused(self):
        """Without it Tangram would be installed where its policies cannot hold."""
        made = chart.template(version="v1.29.0")
        self.assertIn("incompatible with Kubernetes v1.29.0", made.stderr)


def temporary():
    import tempfile
    return tempfile.TemporaryDirectory()


def described(schema, path=""):
    """Paths of values that a schema knows, down to where it does not name the members."""
    found = set()
    for name, part in schema.get("properties", {}).items():
        found |= described(part, f"{path}.{name}" if path else name) or {f"{path}.{name}" if path else name}
    return found


def written(values, path=""):
    """The same of the values themselves."""
    free = ("resources", "nodeSelector", "labels")
    found = set()
    for name, value in values.items():
        place = f"{path}.{name}" if path else name
        found |= written(value, place) if isinstance(value, dict) and name not in free else {place}
    return found


class Rendered(unittest.TestCase):
    def test_plain_manifests_are_the_charts(self):
        """Without it the two ways to install would drift apart."""
        checked = subprocess.run([sys.executable, PLAIN / "render.py", "--check", "--helm", build.program("helm")], capture_output=True,
                                 text=True, check=False)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        self.assertGreaterEqual({path.name for path in PLAIN.glob("*.yaml")},
                                {"node-agent.yaml", "node-agent-rbac.yaml", "manager.yaml", "manager-rbac.yaml", "scheduler.yaml"})

    def test_admission_and_definitions_are_those_of_the_tree(self):
        """Without it a cluster could have other schemas and policies than those that are tested."""
        objects = render()
        for folder in ("crds", "admission"):
            for path in (DEPLOY / folder).glob("*.yaml"):
                for one in yaml.safe_load_all(path.read_text()):
                    self.assertIn(one, objects)

    def test_the_uninstall_without_helm_knows_every_policy(self):
        """Without it a policy that is added would stay when Tangram has gone, and go on refusing."""
        policies = of_kind(render(), "ValidatingAdmissionPolicy")
        script = (PLAIN / "uninstall.sh").read_text()
        self.assertEqual(set(policies), set(script.partition("policies=(")[2].partition(")")[0].split()))
        self.assertIn("tangram.dev/quota", script)

    def test_another_namespace_is_meant_throughout(self):
        """Without it admission would trust service accounts of a namespace that has none of Tangram's."""
        objects = render(*ALL_ON, namespace="npus")
        for one in objects:
            text = json.dumps(one)
            reader = one["kind"] == "RoleBinding" and one["roleRef"]["name"] == "extension-apiserver-authentication-reader"
            rule = one["kind"] == "PrometheusRule"  # says kube-system as an example, to a person
            if not reader and not rule:
                self.assertNotIn("kube-system", text, one["metadata"]["name"])
        called = [one["clientConfig"]["service"]["namespace"] for one in webhooks(objects)]
        self.assertEqual(called, ["npus"] * 2)
        self.assertIn("system:serviceaccount:npus:tangram-agent", json.dumps(of_kind(objects, "ValidatingAdmissionPolicy")["tangram-nodes"]))

    def test_parts_find_each_other(self):
        """Without it the API server would call a Service without Pods, or admission name an account that does not exist."""
        objects = render()
        accounts = set(of_kind(objects, "ServiceAccount"))
        admission = "".join(path.read_text() for path in (DEPLOY / "admission").glob("*.yaml"))
        self.assertLessEqual(set(re.findall(r"system:serviceaccount:kube-system:([\w-]+)", admission)), accounts)
        self.assertLessEqual({spec["serviceAccountName"] for spec in workloads(objects).values()}, accounts)
        services = of_kind(objects, "Service")
        self.assertTrue(webhooks(objects))
        for one in webhooks(objects):
            called = one["clientConfig"]["service"]
            self.assertIn(called["port"], [port["port"] for port in services[called["name"]]["spec"]["ports"]])
        pods = {one["metadata"]["name"]: one["spec"]["template"] for one in objects if one["kind"] in ("Deployment", "DaemonSet")}
        for name in ("tangram-manager", "tangram-scheduler", "tangram-agent"):
            owner = next(one for one in objects if one["kind"] in ("Deployment", "DaemonSet") and one["metadata"]["name"] == name)
            wanted = owner["spec"]["selector"]["matchLabels"]
            self.assertLessEqual(wanted.items(), pods[name]["metadata"]["labels"].items())
        ports = {port["name"] for port in pods["tangram-manager"]["spec"]["containers"][0]["ports"]}
        for service in services.values():
            chosen = {key: value for key, value in service["spec"]["selector"].items() if key != "tangram.dev/leader"}
            self.assertLessEqual(chosen.items(), pods["tangram-manager"]["metadata"]["labels"].items())
            self.assertLessEqual({port["targetPort"] for port in service["spec"]["ports"]}, ports)

    def test_schedulers_are_told_every_resource(self):
        """Without it Pods would wait for ever with "Insufficient huawei.com/…-memory" (HAMi's fault with a name that is missing)."""
        policies = (DEPLOY / "admission/policies.yaml").read_text()
        known = set(re.findall(r"'(huawei\.com/Ascend[\w-]+)'", policies))
        self.assertGreaterEqual(len(known), 7)
        for mode in ("own", "stock"):
            objects = render(f"scheduler.mode={mode}")
            configuration = yaml.safe_load(of_kind(objects, "ConfigMap")["tangram-scheduler"]["data"]["scheduler.yaml"])
            (extender,) = configuration["extenders"]
            managed = {one["name"]: one["ignoredByScheduler"] for one in extender["managedResources"]}
            self.assertEqual(len(managed), len(extender["managedResources"]), "twice the same name stops a scheduler")
            self.assertEqual(managed, {name + end: True for name in known for end in ("", "-memory", "-core")})
            self.assertEqual((extender["nodeCacheCapable"], extender["ignorable"], extender["enableHTTPS"]), (True, False, True))
            self.assertNotIn("insecure", extender["tlsConfig"])
            name = configuration["profiles"][0]["schedulerName"] if mode == "own" else "default-scheduler"
            arguments = workloads(objects)[("Deployment", "tangram-manager")]["containers"][0]["args"]
            self.assertIn(f"--scheduler={name}", arguments)

    def test_the_version_is_that_of_the_build(self):
        """Without it the chart would ask for an image of another version, or one that no script makes."""
        image = load("image_build", DEPLOY / "image/build.py")
        about = yaml.safe_load((CHART / "Chart.yaml").read_text())
        self.assertEqual((about["version"], about["appVersion"]), (image.version(), image.version()))
        for (_, name), spec in workloads(render()).items():
            if name != "tangram-scheduler":
                self.assertEqual(spec["containers"][0]["image"], f"tangram.dev/tangram:{image.version()}")

    def test_programs_get_options_that_they_know(self):
        """Without it a Pod would end at once, with the usage of its program."""
        for values in ((), ALL_ON, ("agent.driver.root=/srv/x", "agent.driver.library=/srv/x/l.so", "agent.driver.mounts={/a:/b}"),
                       ("scheduler.mode=stock",)):
            for spec in workloads(render(*[value for value in values if "extraArgs" not in value])).values():
                container = spec["containers"][0]
                program = container["command"][0].rpartition("/")[2]
                if program == "kube-scheduler":
                    continue
                source = "".join((ROOT / path).read_text() for path in OPTIONS[program] if (ROOT / path).exists())
                for word in container["args"]:
                    self.assertRegex(source, rf'\{{"{re.escape(word.partition("=")[0].removeprefix("--"))}", ', f"{program} {word}")

    def test_alerts_are_the_file_that_is_tested(self):
        """Without it the operator would be given other rules than promtool has tested."""
        rule = of_kind(render("prometheusRule.enabled=true"), "PrometheusRule")["tangram"]
        self.assertEqual(rule["spec"], yaml.safe_load((DEPLOY / "prometheus/alerts.yaml").read_text()))
        self.assertEqual(of_kind(render(), "PrometheusRule"), {})

    def test_monitors_lead_to_ports_and_to_the_jobs_of_the_alerts(self):
        """Without it nothing would be scraped, or the alerts look for other jobs."""
        objects = render(*ALL_ON)
        pods = workloads(objects)
        for name, kind in (("tangram-manager", "Deployment"), ("tangram-agent", "DaemonSet")):
            monitor = of_kind(objects, "PodMonitor")[name]
            ports = {port["name"] for port in pods[(kind, name)]["containers"][0]["ports"]}
            self.assertLessEqual({one["port"] for one in monitor["spec"]["podMetricsEndpoints"]}, ports)
            self.assertTrue(all(one["honorLabels"] for one in monitor["spec"]["podMetricsEndpoints"]))
            self.assertIn(f'(.*/)?{name}"', (DEPLOY / "prometheus/alerts.yaml").read_text())
        service = of_kind(objects, "Service")["tangram-metrics"]["spec"]
        self.assertEqual((service["type"], service["ports"][0]["port"], service["ports"][0]["nodePort"]), ("NodePort", 9395, 31993))
        self.assertNotIn("nodePort", of_kind(render(), "Service")["tangram-metrics"]["spec"]["ports"][0])


def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Rights(unittest.TestCase):
    def test_nothing_is_granted_by_wildcard(self):
        """Without it a part that is taken over would have the cluster."""
        for values in ((), ALL_ON, ("scheduler.mode=stock",)):
            for name, rule in rules(render(*values)):
                for field in ("apiGroups", "resources", "verbs"):
                    self.assertNotIn("*", "".join(rule[field]), name)
                self.assertNotIn("nonResourceURLs", rule)
                self.assertFalse({"escalate", "bind", "impersonate", "deletecollection"} & set(rule["verbs"]), name)

    def test_no_role_of_the_cluster_is_borrowed_but_a_schedulers(self):
        """Without it a part could be cluster-admin by a line that looks like any other."""
        for values in ((), ALL_ON, ("scheduler.mode=stock",)):
            objects = render(*values)
            own = {(one["kind"], one["metadata"]["name"]) for one in objects}
            for one in objects:
                if one["kind"] not in ("ClusterRoleBinding", "RoleBinding"):
                    continue
                if (one["roleRef"]["kind"], one["roleRef"]["name"]) not in own:
                    who = {subject["name"] for subject in one["subjects"]}
                    self.assertLessEqual(who, FOREIGN_ROLES.get(one["roleRef"]["name"], set()), one["metadata"]["name"])
                self.assertEqual({subject["kind"] for subject in one["subjects"]}, {"ServiceAccount"})

    def test_no_secret_but_its_own_can_be_read(self):
        """Without it the manager could read the tokens and keys of all tenants."""
        for values in ((), ALL_ON, ("scheduler.mode=stock",)):
            objects = render(*values)
            for name, rule in rules(objects):
                if "secrets" not in rule["resources"]:
                    continue
                self.assertEqual((name, rule["resources"], rule["resourceNames"], sorted(rule["verbs"])),
                                 ("tangram-manager", ["secrets"], ["tangram-webhook"], ["get", "patch"]))
                self.assertNotIn(name, {role for role in of_kind(objects, "ClusterRole") if role != "tangram-manager"})
            for role in of_kind(objects, "ClusterRole").values():
                self.assertNotIn("secrets", [resource for rule in role["rules"] for resource in rule["resources"]])
            # Of the Secret the scheduler sees no key of the authority.
            scheduler = workloads(objects).get(("Deployment", "tangram-scheduler"))
            sources = [source["secret"] for volume in scheduler["volumes"] for source in volume["projected"]["sources"] if "secret" in source
                       ] if scheduler else []
            self.assertFalse({"ca.key", "tls.key"} & {item["key"] for secret in sources for item in secret["items"]})

    def test_the_agent_changes_nodes_and_pods_and_nothing_else(self):
        """Without it who takes over a node would read or write what is not that node's."""
        granted = [rule for name, rule in rules(render()) if name == "tangram-agent"]
        self.assertEqual(granted, [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch", "patch"]},
                                   {"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch", "patch"]},
                                   {"apiGroups": ["tangram.dev"], "resources": ["nodeconfigs"], "verbs": ["list", "watch"]}])

    def test_the_manager_writes_what_is_tangrams_business(self):
        """Without it an update of the chart could let it write anything."""
        for values in ((), ALL_ON, ("scheduler.mode=stock",)):
            written = {(resource, verb, tuple(rule.get("resourceNames", ()))) for name, rule in rules(render(*values)) if name == "tangram-manager"
                       for resource in rule["resources"] for verb in rule["verbs"] if verb not in ("get", "list", "watch")}
            self.assertEqual(written, {
                ("pods", "patch", ()), ("pods/status", "patch", ()), ("pods/binding", "create", ()), ("tenants/status", "patch", ()),
                ("events", "create", ()), ("events", "patch", ()), ("mutatingwebhookconfigurations", "patch", ("tangram",)),
                ("secrets", "patch", ("tangram-webhook",)), ("leases", "create", ()), ("leases", "patch", ("tangram-manager",))})

    def test_only_the_agent_is_root(self):
        """Without it a fault in the webhook, which strangers' Pods reach, would be one of a node."""
        for values in ((), ALL_ON):
            for (kind, name), spec in workloads(render(*values)).items():
                container = spec["containers"][0]
                if kind == "DaemonSet":
                    self.assertEqual(name, "tangram-agent")
                    self.assertTrue(container["securityContext"]["readOnlyRootFilesystem"])
                    continue
                self.assertEqual(container["securityContext"], {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                                                                "capabilities": {"drop": ["ALL"]}}, name)
                self.assertTrue(spec["securityContext"]["runAsNonRoot"], name)
                self.assertEqual(spec["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})
                self.assertFalse({"hostNetwork", "hostPID", "hostIPC"} & spec.keys(), name)
                self.assertFalse([volume for volume in spec.get("volumes", []) if "hostPath" in volume], name)

    def test_the_agent_sees_what_it_needs_of_its_node(self):
        """Without it an update of the chart could hand the whole disk of a node to the agent's image."""
        spec = workloads(render())[("DaemonSet", "tangram-agent")]
        paths = {volume["hostPath"]["path"] for volume in spec["volumes"]}
        self.assertEqual(paths, {"/dev", "/etc", "/run/vnpu_cfg_lock", "/run/tangram/shares", "/var/lib/tangram/node",
                                 "/var/lib/kubelet/device-plugins", "/var/lib/kubelet/pod-resources", "/usr/local/Ascend/driver",
                                 "/usr/local/dcmi", "/usr/local/bin/npu-smi"})
        mounted = {mount["name"]: mount for mount in spec["containers"][0]["volumeMounts"]}
        for volume in spec["volumes"]:
            self.assertEqual(mounted[volume["name"]]["mountPath"], volume["hostPath"]["path"], "paths are the same inside")
            writable = not volume["hostPath"]["path"].startswith(("/usr/", "/var/lib/kubelet/pod-resources"))
            self.assertEqual(mounted[volume["name"]].get("readOnly", False), not writable, volume)
        self.assertNotIn("hostPID", spec)
        self.assertTrue(workloads(render("agent.reclaimUnowned=10m"))[("DaemonSet", "tangram-agent")]["hostPID"])


if __name__ == "__main__":
    unittest.main()
