#!/usr/bin/env bash
# Three tenants wait for a busy machine; when it is free, the NPUs go out in the order of the priorities.
#
#   run.sh [GEMM]     GEMM: the example program to run on the NPUs (default: gemm beside `tangram`)
#
# Needs a running tangramd and the right to act for every tenant (root, or the daemon's own user).
set -euo pipefail
cd "$(dirname "$0")"
gemm=${1:-$(dirname "$(command -v tangram)")/gemm}

show() { # prints a command, then runs it
  printf '\n$ %s\n' "$*"
  "$@"
}

started=()
stop_all() { [ ${#started[@]} -eq 0 ] || tangram cancel "${started[@]}" >/dev/null 2>&1 || true; }
trap stop_all EXIT

show tangram apply -f tenants.yaml

npus=$(tangram status -o json | grep -c '"npu":')
holder=$(tangram submit --tenant maintenance --name holder --npus "$npus" -- sleep 600)
started+=("$holder")

echo
echo "All $npus NPUs are held. Three jobs come, the least urgent first:"
preproc=$(tangram submit --tenant preprocessing --name preproc-001 --priority low --label data=imagenet -- "$gemm")
started+=("$preproc")
train=$(tangram submit --tenant training --name train-001 --priority normal --label model=bert-base -- "$gemm")
started+=("$train")
infer=$(tangram submit --tenant inference --name infer-001 --priority high --label model=resnet50 -- "$gemm")
started+=("$infer")

show tangram queue
show tangram why preprocessing/preproc-001

echo
echo "The machine comes free:"
show tangram cancel "$holder"
show tangram wait "$infer" "$train" "$preproc"

show tangram queue --all --state ended
for job in "$infer" "$train" "$preproc"; do
  show tangram logs "$job"
done
