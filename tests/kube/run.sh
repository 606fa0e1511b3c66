#!/usr/bin/env bash
# Runs the suites against a real Kubernetes, each in a machine of its own: tests/kube/run.sh [options of run_suites.py]
# They use the programs of build/dev. Counts go where tools/test.sh puts them.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools/setup.sh tools/packages.txt tools/packages-kube.txt
tests/kube/build.py
exec tools/test.sh dev --folder kube --prefix "python3 tests/kube/machine.py" "$@"
