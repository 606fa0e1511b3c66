#!/bin/sh
# Builds the benchmarks and prints their results as Markdown, for docs/benchmarks.md.
# That of slices is printed by build/bench/bin/slice_packing: it takes minutes, and does not depend on the machine.
# Instructions are counted by callgrind when it is installed; they do not depend on what else the machine does.
set -eu
cd "$(dirname "$0")/.."
cmake --preset bench >/dev/null
cmake --build build/bench -j2 >/dev/null

echo "| benchmark | CPU time | per start | reasons per start | NPUs busy |"
echo "|---|---|---|---|---|"
build/bench/bin/scheduler_bench --benchmark_format=csv "$@" 2>/dev/null | awk -F, '
  NR == 1 { for (i = 1; i <= NF; ++i) { gsub(/"/, "", $i); column[$i] = i } next }
  {
    gsub(/"/, "", $1)
    start = $column["time_per_start"]; reasons = $column["reasons_per_start"]; busy = $column["busy_percent"]
    printf "| %s | %.1f %s | %s | %s | %s |\n", $1, $column["cpu_time"], $column["time_unit"],
      start == "" ? "" : sprintf("%.2f µs", start * 1e6), reasons == "" ? "" : sprintf("%.2f", reasons),
      busy == "" ? "" : sprintf("%d %%", busy)
  }'

echo
echo "| wall time of one step, µs | p50 | p90 | p99 |"
echo "|---|---|---|---|"
build/bench/bin/scheduler_latency

echo
echo "| filter, score, choose and take a place, µs | p50 | p90 | p99 | max |"
echo "|---|---|---|---|---|"
build/bench/bin/place_latency

echo
TANGRAM_BUILD=build/bench python3 bench/api_bench.py

command -v valgrind >/dev/null || exit 0
echo
echo "| steps measured | instructions per start |"
echo "|---|---|"
for mode in "3000" "3000 past-the-bound"; do
  log=$(mktemp)
  # shellcheck disable=SC2086
  valgrind --tool=callgrind --collect-atstart=no --toggle-collect='*measured_steps*' --callgrind-out-file=/dev/null \
    build/bench/bin/scheduler_instructions $mode >"$log" 2>&1
  awk -v mode="$mode" '/^starts/ { starts = $2 } /Collected/ { instructions = $NF }
    END { printf "| %s | %d |\n", mode, instructions / starts }' "$log"
  rm -f "$log"
done
