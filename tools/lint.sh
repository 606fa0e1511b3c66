#!/usr/bin/env bash
# clang-format, clang-tidy and the rules of the tree. Each is one case in the totals of a CI run.
set -uo pipefail
cd "$(dirname "$0")/.."
failed=0

check() {
  local name=$1
  shift
  if "$@"; then
    echo "ok   $name"
    [ -z "${TANGRAM_TOTALS:-}" ] || tools/count.sh "$TANGRAM_TOTALS" 1 0
  else
    echo "FAIL $name"
    failed=1
    [ -z "${TANGRAM_TOTALS:-}" ] || tools/count.sh "$TANGRAM_TOTALS" 0 1
  fi
}

format() { git ls-files '*.h' '*.cc' '*.c' | xargs -r clang-format-19 --dry-run --Werror; }

check "clang-format" format
check "rules of the tree" python3 tools/check_tree.py
check "clang-tidy" python3 tools/tidy.py build/dev
exit $failed
