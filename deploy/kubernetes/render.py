#!/usr/bin/env python3
"""Writes the plain manifests beside this file anew, from the chart deploy/helm/tangram with its defaults: one file for each of
its templates. Needs helm, in $PATH or named by --helm (tests/kube/build.py builds one).

    deploy/kubernetes/render.py            # writes
    deploy/kubernetes/render.py --check    # only says what differs
"""

import argparse
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
CHART = HERE.parent / "helm/tangram"
HEAD = "# Made from deploy/helm/tangram by deploy/kubernetes/render.py, do not edit.\n"
# The scheduler's image is that of Kubernetes: put the version of your cluster there.
KUBERNETES = "v1.37.2"
SOURCE = re.compile(r"^# Source: tangram/templates/(\S+)\n", re.MULTILINE)
# Admission and custom resources are plain manifests already: deploy/admission, deploy/crds.
LEFT_OUT = {"admission.yaml"}


def render(helm):
    """File name -> text."""
    made = subprocess.run([helm, "template", "tangram", str(CHART), "--namespace", "kube-system", "--kube-version", KUBERNETES, "--no-hooks"],
                          capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise SystemExit(f"render: {made.stderr}")
    files = {}
    for document in re.split(r"^---\n", made.stdout, flags=re.MULTILINE):
        source = SOURCE.match(document)
        if source and source.group(1) not in LEFT_OUT:
            files.setdefault(source.group(1), []).append(document[source.end():].strip("\n") + "\n")
    return {name: HEAD + "---\n".join(documents) for name, documents in files.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--helm", default="helm")
    parser.add_argument("--check", action="store_true", help="write nothing; the exit status is 1 when a file is stale")
    arguments = parser.parse_args()
    files = render(arguments.helm)
    there = {path.name: path.read_text() for path in HERE.glob("*.yaml")}
    stale = sorted(name for name in files.keys() | there.keys() if files.get(name) != there.get(name))
    for name in stale:
        print(f"render: {name} {'is stale' if arguments.check else 'is written' if name in files else 'is removed'}")
        if not arguments.check and name in files:
            (HERE / name).write_text(files[name])
        elif not arguments.check:
            (HERE / name).unlink()
    return 1 if arguments.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
