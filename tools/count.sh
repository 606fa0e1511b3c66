#!/usr/bin/env bash
# Adds to a totals file: tools/count.sh FILE PASSED FAILED
set -euo pipefail
passed=0 failed=0
[ ! -s "$1" ] || read -r passed failed < "$1"
echo "$((passed + $2)) $((failed + $3))" > "$1"
