#!/usr/bin/env python3
"""Measures the whole path (API, writer, journal on the disk) of a real daemon on the simulated machine, open loop.

    TANGRAM_BUILD=build/bench python3 bench/api_bench.py            all tables, as Markdown
    TANGRAM_BUILD=build/bench python3 bench/api_bench.py submit why  some of them

docs/benchmarks.md says what the tables show. The load generator (api_load) and the daemon share the machine, so CPU
time of the daemon stands beside every latency: it holds on a busy machine, too.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/e2e"))

import harness  # noqa: E402
import remote  # noqa: E402

CONFIG = {"limits": {"jobs": 1_000_000, "jobsPerTenant": 1_000_000, "bytesPerTenant": "16GiB"}}
MICRO = 1e6
TENANTS_OF_ONE_APPLY = 1_000


class Size:
    """How much load. `full` is for the tables, `tiny` for the test that the benchmark still works."""

    def __init__(self, scale, seconds, pending, tenants, subscribers, niceness):
        self.scale, self.seconds, self.pending, self.tenants = scale, seconds, pending, tenants
        self.subscribers, self.niceness = subscribers, niceness

    def rate(self, full):
        return max(1.0, full * self.scale)


FULL = Size(scale=1.0, seconds=6, pending=10_000, tenants=10_000, subscribers=100, niceness=-10)
TINY = Size(scale=0.02, seconds=1, pending=30, tenants=40, subscribers=3, niceness=0)


def machine(size, kind=harness.Machine):
    made = kind(config=CONFIG)
    if size.niceness:
        made.wrapper = ("nice", "-n", str(size.niceness))
    return made


def add_tenants(on, count):
    for first in range(0, count, TENANTS_OF_ONE_APPLY):
        documents = [{"apiVersion": "tangram.dev/v1", "kind": "Tenant", "metadata": {"name": f"load-{number}"},
                      "spec": {"quota": {"npus": 8, "runTime": "48h"}}}
                     for number in range(first, min(first + TENANTS_OF_ONE_APPLY, count))]
        status, answer = on.api("POST", "/v1/apply", {"items": documents})
        assert status == 200, answer


def hold_all_npus(on):
    """What is submitted from now on waits."""
    job = on.submit("--tenant", "load-0", "--npus", "8", "--", "sleep", "infinity")
    on.wait_for(job, "running")


def offers(on, path):
    """Whether the daemon has that call. An older one may be measured too, to compare."""
    return path in on.api("GET", "/v1/openapi.json")[1]["paths"]


def load(on, size, streams, seconds=None, alternate=0.0, print_jobs=False, token=None):
    """Runs the generator: {"streams": {name: …}, "daemon": {…}, "jobs": […]}. With a token its streams use TLS."""
    words = [harness.program("api_load"), "--socket", on.socket, "--seconds", seconds or size.seconds,
             "--alternate", alternate, "--pid", on.daemon.pid]
    if print_jobs:
        words.append("--print-jobs")
    if token:
        words += ["--tls-port", on.port, "--ca", on.ca]
    for stream in streams:
        words += ["--stream", ",".join(f"{key}={value}" for key, value in stream.items())]
    if size.niceness:
        words = ["nice", "-n", size.niceness, *words]
    run = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False,
                         env={**os.environ, **({"TANGRAM_TOKEN": token} if token else {})})
    assert run.returncode == 0, run.stderr
    answer = json.loads(run.stdout)
    answer["streams"] = {stream["name"]: stream for stream in answer["streams"]}
    for stream in answer["streams"].values():
        assert stream["unanswered"] == 0 and not stream["first_error"], stream
    return answer


def fill_queue(on, size, tenants=1):
    """`pending` jobs that wait. Returns the number of the first."""
    batch = min(500, size.pending)
    answer = load(on, size, [{"kind": "batch", "name": "fill", "rate": size.pending / batch, "batch": batch,
                              "connections": 1, "tenants": tenants}], seconds=1)
    assert answer["streams"]["fill"]["jobs"] == size.pending, answer
    return 2  # j-1 holds the NPUs


def table(titles, rows):
    print("| " + " | ".join(titles) + " |")
    print("|" + "---|" * len(titles))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print(flush=True)


def latencies(tally):
    return [f"{tally['p50']:.1f}", f"{tally['p90']:.1f}", f"{tally['p99']:.1f}", f"{tally['max']:.0f}"]


# ---- the tables


def submit_row(title, size, stream, tls=False):
    with machine(size, remote.Remote if tls else harness.Machine) as on:
        add_tenants(on, 1)
        hold_all_npus(on)
        token = on.token("load", "operator") if tls else None
        answer = load(on, size, [{"name": "submit", **stream}], token=token)
        jobs = answer["streams"]["submit"]["jobs"]
        asked = int(stream["rate"] * size.seconds) * stream.get("batch", 1)
        assert abs(jobs - asked) <= stream.get("batch", 1), (jobs, asked)
        assert on.status()["jobsQueued"] == jobs
    used = answer["daemon"]["quiet"]
    cpu = used["cpu_seconds"] / jobs * MICRO
    writer = used["writer_seconds"] / jobs * MICRO
    return [title, f"{stream['rate'] * stream.get('batch', 1):,.0f}",
            f"{jobs / answer['streams']['submit']['seconds']:,.0f}",
            *latencies(answer["streams"]["submit"]["quiet"]), f"{cpu:.1f}", f"{writer:.1f}",
            f"{min(2 * MICRO / max(cpu, 0.1), MICRO / max(writer, 0.1)):,.0f}"]


def submit_to_durable(size):
    """What one job costs, and how many a second there can be."""
    table(["submit to durable", "jobs/s asked", "jobs/s done", "p50 ms", "p90 ms", "p99 ms", "max ms", "daemon CPU µs/job",
           "of it writer", "jobs/s by CPU"],
          [submit_row("single, 50 clients", size,
                      {"kind": "submit", "rate": size.rate(2_000), "connections": 50}),
           submit_row("single, 50 clients", size,
                      {"kind": "submit", "rate": size.rate(4_000), "connections": 50}),
           submit_row("single, 50 clients, TLS and token", size,
                      {"kind": "submit", "rate": size.rate(2_000), "connections": 50}, tls=True),
           submit_row("batches of 100, 8 clients", size,
                      {"kind": "batch", "rate": size.rate(200), "batch": 100, "connections": 8}),
           submit_row("batches of 500, 4 clients", size,
                      {"kind": "batch", "rate": size.rate(40), "batch": 500, "connections": 4}),
           submit_row("batches of 500, 4 clients", size,
                      {"kind": "batch", "rate": size.rate(60), "batch": 500, "connections": 4}),
           submit_row("batches of 500, 4 clients, TLS and token", size,
                      {"kind": "batch", "rate": size.rate(40), "batch": 500, "connections": 4}, tls=True)])


def submit_to_started(size):
    """The program itself tells when it began; it counts from when its submission was meant to be sent."""
    rows = []
    for rate in (2, 5):
        with machine(size) as on:
            add_tenants(on, 1)
            answer = load(on, size, [{"kind": "submit", "name": "start", "rate": rate, "connections": 8, "npus": 1,
                                      "program": "echo $EPOCHREALTIME"}], print_jobs=True, seconds=3 * size.seconds)
            delays = []
            for job, intended in answer["jobs"]:
                on.wait_for(job, "ended")
                delays.append((float(on.ok("logs", job)) - intended) * 1e3)
        delays.sort()
        rows.append([f"{rate} a second", str(len(delays)), f"{statistics.median(delays):.0f}",
                     f"{delays[int(len(delays) * 0.9)]:.0f}", f"{delays[-1]:.0f}"])
    table(["submit to the program's first step", "jobs", "p50 ms", "p90 ms", "max ms"], rows)


def why(size):
    """Questions about jobs all over a long queue, while nothing changes and while every question finds a new state."""
    rows = []
    with machine(size) as on:
        add_tenants(on, 100)
        hold_all_npus(on)
        first = fill_queue(on, size, tenants=min(100, size.pending))
        question = {"kind": "why", "name": "why", "rate": size.rate(100), "connections": 8, "first": first,
                    "jobs": size.pending}
        for title, others in (("nothing else", []),
                              ("50 submissions a second beside", [{"kind": "submit", "name": "submit", "rate": 50,
                                                                   "connections": 8}])):
            answer = load(on, size, [question, *others])
            used = answer["daemon"]["quiet"]
            asked = answer["streams"]["why"]["sent"]
            rows.append([title, f"{asked / answer['streams']['why']['seconds']:.0f}",
                         *latencies(answer["streams"]["why"]["quiet"]), f"{used['cpu_seconds'] / asked * 1e3:.2f}",
                         f"{answer['streams']['why']['own_delay']['p99']:.1f}"])
    table([f"`why` with {size.pending:,} pending jobs", "questions/s", "p50 ms", "p90 ms", "p99 ms", "max ms",
           "daemon CPU ms/question", "p99 of the timer ms"], rows)


def fan_out(size):
    """How long after a job was meant to be submitted every one of many subscribers has heard of it."""
    rows = []
    for subscribers in (1, size.subscribers):
        with machine(size) as on:
            if not offers(on, "/v1/events"):
                return
            add_tenants(on, 1)
            hold_all_npus(on)
            answer = load(on, size, [{"kind": "submit", "name": "submit", "rate": size.rate(100), "connections": 8},
                                     {"kind": "events", "name": "events", "connections": subscribers}])
        jobs, heard = answer["streams"]["submit"]["jobs"], answer["streams"]["events"]["quiet"]
        assert heard["count"] == jobs * subscribers, (jobs, subscribers, heard)
        rows.append([f"{subscribers}", f"{jobs / answer['streams']['submit']['seconds']:.0f}",
                     *latencies(answer["streams"]["submit"]["quiet"]), *latencies(heard),
                     f"{answer['daemon']['quiet']['cpu_seconds'] / (jobs * subscribers) * MICRO:.0f}"])
    table(["subscribers", "jobs/s", "durable p50 ms", "p90", "p99", "max", "heard by each p50 ms", "p90", "p99", "max",
           "daemon CPU µs/event"], rows)


def interference_row(title, size, stream, tenants=100):
    """None when the daemon does not offer the call."""
    slot = size.seconds / 6
    with machine(size) as on:
        if stream["kind"] == "events" and not offers(on, "/v1/events"):
            return None
        add_tenants(on, tenants)
        hold_all_npus(on)
        spread = min(100, tenants, size.pending)
        first = fill_queue(on, size, tenants=spread)
        if stream["kind"] == "why":
            stream = {**stream, "first": first, "jobs": size.pending}
        probe = {"kind": "submit", "name": "probe", "rate": size.rate(100), "connections": 8, "tenants": spread}
        answer = load(on, size, [probe, {"name": "beside", "tenants": spread, **stream, "disturbs": 1}],
                      seconds=4 * size.seconds, alternate=slot)
    quiet, beside = answer["daemon"]["quiet"], answer["daemon"]["disturbed"]

    def pair(one, other, form):
        return [format(one, form), format(other, form), f"{other / max(one, 1e-9):.2f}"]

    def each_record(reading, what):
        return reading[what] / max(reading["records"], 1) * MICRO

    def each_command(reading):
        return reading["command_seconds"] / max(reading["commands"], 1) * 1e3

    probe = answer["streams"]["probe"]
    return [title, *pair(each_record(quiet, "decision_seconds"), each_record(beside, "decision_seconds"), ".0f"),
            *pair(each_record(quiet, "writer_seconds"), each_record(beside, "writer_seconds"), ".0f"),
            *pair(each_command(quiet), each_command(beside), ".2f"),
            *pair(probe["quiet"]["p50"], probe["disturbed"]["p50"], ".1f")]


def interference(size):
    """A probe of 100 submissions a second all the time, something else in every second slot of a second."""
    rows = [interference_row(title, size, stream, tenants) for title, stream, tenants in (
        ("nothing", {"kind": "list", "rate": 0.01, "connections": 1}, 100),
        ("400 single submissions a second", {"kind": "submit", "rate": size.rate(400), "connections": 50}, 100),
        ("10 batches of 100 a second", {"kind": "batch", "rate": size.rate(10), "batch": 100, "connections": 4}, 100),
        ("50 `why` a second", {"kind": "why", "rate": size.rate(50), "connections": 8}, 100),
        (f"{size.subscribers} subscribers of events", {"kind": "events", "connections": size.subscribers}, 100),
        (f"10 scrapes a second, {size.tenants:,} tenants", {"kind": "metrics", "rate": 10, "connections": 2},
         size.tenants),
        ("5 listings of 100 jobs a second", {"kind": "list", "rate": 5, "connections": 2}, 100),
        ("100 `GET /v1/status` a second",
         {"kind": "get", "path": "/v1/status", "rate": size.rate(100), "connections": 8}, 100),
        ("100 `GET /v1/slices` a second",
         {"kind": "get", "path": "/v1/slices", "rate": size.rate(100), "connections": 8}, 100),
        ("100 views of a pending job a second",
         {"kind": "get", "path": "/v1/jobs/j-2", "rate": size.rate(100), "connections": 8}, 100))]
    table([f"beside it, {size.pending:,} jobs pending", "decision µs/record alone", "beside", "ratio",
           "writer CPU µs/record alone", "beside", "ratio", "command ms alone", "beside", "ratio", "probe p50 ms alone",
           "beside", "ratio"],
          [row for row in rows if row])


TABLES = {"submit": submit_to_durable, "start": submit_to_started, "why": why, "events": fan_out,
          "interference": interference}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", help=f"of {', '.join(TABLES)}; none: all")
    arguments = parser.parse_args()
    unknown = set(arguments.tables) - set(TABLES)
    if unknown:
        parser.error(f"no such table: {', '.join(sorted(unknown))}")
    if os.geteuid() != 0:
        parser.error("the simulated machine and its jobs need root")
    for name in arguments.tables or TABLES:
        TABLES[name](FULL)


if __name__ == "__main__":
    main()
