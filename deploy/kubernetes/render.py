#!/usr/bin/env python3
"""Writes the plain manifests beside this file anew, from the chart deploy/helm/tangram with its defaults: one file for each of
its templates. And deploy/scheduler-config.yaml, for the cluster's own kube-scheduler. Needs helm, in $PATH or named by --helm
(tests/kube/build.py builds one).

    deploy/kubernetes/render.py            # writes
    deploy/kubernetes/render.py --check    # only says what differs
"""

import argparse
import pathlib
import re
import subprocess
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
CHART = HERE.parent / "helm/tangram"
SCHEDULER = HERE.parent / "scheduler-config.yaml"
HEAD = "# Made from deploy/helm/tangram by deploy/kubernetes/render.py, do not edit.\n"
# The scheduler's image is that of Kubernetes: put the version of your cluster there.
KUBERNETES = "v1.37.2"
SOURCE = re.compile(r"^# Source: tangram/templates/(\S+)\n", re.MULTILINE)
# Admission and custom resources are plain manifests already: deploy/admission, deploy/crds.
LEFT_OUT = {"admission.yaml"}


def template(helm, *values):
    made = subprocess.run([helm, "template", "tangram", str(CHART), "--namespace", "kube-system", "--kube-version", KUBERNETES, "--no-hooks",
                           *values], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise SystemExit(f"render: {made.stderr}")
    return re.split(r"^---\n", made.stdout, flags=re.MULTILINE)


def render(helm):
    """Path -> text."""
    files = {}
    for document in template(helm):
        source = SOURCE.match(document)
        if source and source.group(1) not in LEFT_OUT:
            files.setdefault(HERE / source.group(1), []).append(document[source.end():].strip("\n") + "\n")
    return {SCHEDULER: HEAD + scheduler_configuration(helm), **{path: HEAD + "---\n".join(texts) for path, texts in files.items()}}


def scheduler_configuration(helm):
    """The data of the ConfigMap that is made for the cluster's own kube-scheduler."""
    (document,) = [one for one in template(helm, "--set", "scheduler.mode=stock") if "scheduler.yaml: |" in one]
    return textwrap.dedent(document.partition("scheduler.yaml: |\n")[2]).strip("\n") + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--helm", default="helm")
    parser.add_argument("--check", action="store_true", help="write nothing; the exit status is 1 when a file is stale")
    arguments = parser.parse_args()
    files = render(arguments.helm)
    there = {path: path.read_text() for path in [*HERE.glob("*.yaml"), SCHEDULER] if path.exists()}
    stale = sorted(path for path in files.keys() | there.keys() if files.get(path) != there.get(path))
    for path in stale:
        print(f"render: {path.name} {'is stale' if arguments.check else 'is written' if path in files else 'is removed'}")
        if not arguments.check and path in files:
            path.write_text(files[path])
        elif not arguments.check:
            path.unlink()
    return 1 if arguments.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
