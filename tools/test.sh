#!/usr/bin/env bash
# Runs every suite of a build: tools/test.sh dev [options of run_suites.py]
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
shift
exec python3 tools/run_suites.py "build/$preset" "$@" ${TANGRAM_TOTALS:+--totals "$TANGRAM_TOTALS"}
