#!/usr/bin/env bash
# Two teams with quotas: each job gets NPUs of its own and is charged to its team, and a priority that a team may not
# use is refused.
#
#   run.sh [GEMM]     GEMM: the example program to run on the NPUs (default: gemm beside `tangram`)
#
# Needs a running tangramd with at least three free NPUs and the right to act for both teams (root, or the daemon's own
# user).
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

until_running() { # the job has been given its NPUs and its program runs
  for _ in $(seq 300); do
    tangram describe "$1" -o json | grep -q '"state": "running"' && return
    sleep 0.1
  done
  echo "job $1 does not run" >&2
  tangram describe "$1" >&2
  return 1
}

# Computes once, then stays, so that what it holds can be seen.
stay='"$0" && exec sleep 600'

show tangram apply -f tenants.yaml

echo
echo "team-a trains on two NPUs, team-b serves on one:"
train=$(tangram submit --tenant team-a --name train-001 --priority high --npus 2 --memory 16GiB --time-limit 1h \
  -- sh -c "$stay" "$gemm")
started+=("$train")
until_running "$train"
infer=$(tangram submit --tenant team-b --name infer-001 --priority normal --npus 1 --memory 8GiB --time-limit 10m \
  -- sh -c "$stay" "$gemm")
started+=("$infer")
until_running "$infer"

show tangram queue
show tangram describe "$train"
show tangram quota team-a
show tangram quota team-b

echo
echo "team-b may not use the priority high:"
printf '\n$ tangram submit --tenant team-b --priority high -- %s\n' "$(basename "$gemm")"
code=0
tangram submit --tenant team-b --priority high -- "$gemm" || code=$?
echo "exit code $code"
[ "$code" -eq 3 ]

echo
echo "Each job gives back its own NPUs:"
show tangram cancel "$train"
show tangram wait "$train" || true
show tangram quota team-a
show tangram status
