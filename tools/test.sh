#!/usr/bin/env bash
# Runs every suite of a build: tools/test.sh dev [options of run_suites.py]
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
shift
# What random sequences show of the logic, the plain build has shown: here it is each path that counts, and one round
# takes twenty times as long.
case $preset in *san) export RC_PARAMS=${RC_PARAMS:-max_success=20} ;; esac
exec python3 tools/run_suites.py "build/$preset" "$@" ${TANGRAM_TOTALS:+--totals "$TANGRAM_TOTALS"}
