#!/usr/bin/env bash
# Does what the README's first command promises: `make run` in a place of its own, its example's result, `make stop`.
set -euo pipefail
cd "$(dirname "$0")/.."
base=/var/lib
[ "$(id -u)" -eq 0 ] || base=$HOME
TANGRAM_DEMO_ROOT=$(mktemp -d "$base/tangram-check-XXXXXX")
export TANGRAM_DEMO_ROOT
log=$TANGRAM_DEMO_ROOT.log
trap 'make --no-print-directory stop > /dev/null 2>&1; rm -rf "$TANGRAM_DEMO_ROOT" "$log"' EXIT

fail() {
  echo "make run: $1; it said:"
  tail -n 60 "$log"
  exit 1
}

make --no-print-directory run > "$log" 2>&1 || fail "ended with an error"
[ "$(grep -c 'succeeded' "$log")" -ge 3 ] || fail "not every tenant's example succeeded"
"$TANGRAM_DEMO_ROOT/bin/tangram" --socket "$TANGRAM_DEMO_ROOT/state/run/tangram.sock" status > /dev/null || fail "nothing answers"
python3 tools/readme_commands.py README.md >> "$log" 2>&1 || fail "a command of README.md does not do what it says"
make --no-print-directory stop >> "$log" 2>&1 || fail "make stop ended with an error"
[ -z "$(pgrep -f "$TANGRAM_DEMO_ROOT/bin/")" ] || fail "make stop left a process"

# What the user wrote into the configuration counts, and stays.
echo "node: edited" > "$TANGRAM_DEMO_ROOT/edited.yaml"
grep -v '^node:' "$TANGRAM_DEMO_ROOT/tangramd.yaml" >> "$TANGRAM_DEMO_ROOT/edited.yaml"
cp "$TANGRAM_DEMO_ROOT/edited.yaml" "$TANGRAM_DEMO_ROOT/tangramd.yaml"
make --no-print-directory run >> "$log" 2>&1 || fail "ended with an error after the configuration was edited"
cmp -s "$TANGRAM_DEMO_ROOT/edited.yaml" "$TANGRAM_DEMO_ROOT/tangramd.yaml" || fail "the edited configuration was overwritten"
grep -q "was edited, so it stays" "$log" || fail "nothing was said of the edited configuration"
"$TANGRAM_DEMO_ROOT/bin/tangram" --socket "$TANGRAM_DEMO_ROOT/state/run/tangram.sock" status -o json | grep -q '"node": "edited"' ||
  fail "the edited configuration was not read"
make --no-print-directory stop >> "$log" 2>&1 || fail "the second make stop ended with an error"
echo "ok   make run, its example, the commands of README.md, an edited configuration, make stop"
[ -z "${TANGRAM_TOTALS:-}" ] || tools/count.sh "$TANGRAM_TOTALS" 1 0
