#!/usr/bin/env python3
"""Draws the sample that the tests replay from the whole Philly digest: make_sample.py philly.csv > sample.csv

500 jobs: every job of the tenants that have few, at least 20 of each other tenant, the rest in proportion to the
square root of the tenants' sizes, evenly over time; one to eight NPUs. Run times keep their order of size but are
squeezed (cube root) and scaled so that the sample is about 60 s of work for eight NPUs; submit times are squeezed
into 30 s. No random number: the same file gives the same sample.
"""

import csv
import datetime
import sys

JOBS, PER_TENANT_MIN, NPUS_MAX = 500, 20, 8
WORK_NPU_MS, SPAN_MS = 8 * 45_000, 30_000
DURATION_MS_MIN, DURATION_MS_MAX = 20, 4_000


def main():
    tenants = {}
    with open(sys.argv[1], newline="") as file:
        for row in csv.DictReader(file):
            if int(row["num_gpus"]) <= NPUS_MAX:
                time = datetime.datetime.fromisoformat(row["timestamp"])
                tenants.setdefault(row["cluster"], []).append((time, float(row["duration"]), int(row["num_gpus"])))
    counts = {name: min(len(jobs), PER_TENANT_MIN) for name, jobs in tenants.items()}
    weights = {name: len(jobs) ** 0.5 for name, jobs in tenants.items() if len(jobs) > PER_TENANT_MIN}
    spare = JOBS - sum(counts.values())
    for name in sorted(weights, key=weights.get):
        extra = min(len(tenants[name]) - counts[name], round(spare * weights[name] / sum(weights.values())))
        counts[name] += extra
        spare -= extra
        del weights[name]

    sample = []
    for name in sorted(tenants):
        jobs = sorted(tenants[name])
        for n in range(counts[name]):
            sample.append((*jobs[n * len(jobs) // counts[name]], name))
    sample.sort()
    # Each tenant's jobs are spread over the whole span, so that all of them compete.
    rank, seen = {}, {}
    for time, _, _, name in sample:
        seen[name] = seen.get(name, 0) + 1
        rank.setdefault(name, []).append(seen[name])
    squeezed = [duration ** (1 / 3) for _, duration, _, _ in sample]
    scale = WORK_NPU_MS / sum(d * n for d, (_, _, n, _) in zip(squeezed, sample))
    rows, position = [], {}
    for value, (_, duration, npus, name) in zip(squeezed, sample):
        position[name] = position.get(name, 0) + 1
        submit = SPAN_MS * (position[name] - 1) // counts[name]
        run = max(DURATION_MS_MIN, min(DURATION_MS_MAX, round(value * scale)))
        rows.append((submit, name, npus, run, int(duration)))
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(("submit_ms", "tenant", "npus", "duration_ms", "original_duration_s"))
    writer.writerows(sorted(rows))


if __name__ == "__main__":
    main()
