"""The chart, as helm renders it."""

import pathlib
import subprocess
import tempfile

import build
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm/tangram"
# Everything that can be turned on, at once.
ALL_ON = ("podMonitor.enabled=true", "prometheusRule.enabled=true", "metrics.service.type=NodePort", "agent.reclaimUnowned=10m",
          "agent.shares=3", "image.pullSecrets={one}", "manager.extraArgs={--more}", "podMonitor.labels.team=x")


def helm(*words, kubeconfig=None, timeout=120):
    """Runs helm with a home of its own; the finished process."""
    with tempfile.TemporaryDirectory() as home:
        environment = {"HOME": home, "PATH": "/usr/bin:/bin", **({"KUBECONFIG": str(kubeconfig)} if kubeconfig else {})}
        return subprocess.run([build.program("helm"), *map(str, words)], capture_output=True, text=True, check=False, timeout=timeout,
                              env=environment)


def setting(values):
    return [word for value in values for word in ("--set", value)]


def template(*words, version=build.version()):
    """helm takes a cluster that it does not see for a very old one."""
    return helm("template", "tangram", CHART, "--kube-version", version, *words)


def render_text(*values, namespace="kube-system"):
    made = template("--namespace", namespace, "--include-crds", *setting(values))
    assert made.returncode == 0, made.stderr
    return made.stdout


def render(*values, namespace="kube-system"):
    """The objects of the chart with these values, hooks and custom resources among them."""
    return [one for one in yaml.safe_load_all(render_text(*values, namespace=namespace)) if one]


def of_kind(objects, kind):
    """Name -> object."""
    return {one["metadata"]["name"]: one for one in objects if one["kind"] == kind}


def workloads(objects):
    """(kind, name) -> the Pod's spec, of everything that starts Pods."""
    return {(one["kind"], one["metadata"]["name"]): one["spec"]["template"]["spec"]
            for one in objects if one["kind"] in ("Deployment", "DaemonSet", "Job")}
