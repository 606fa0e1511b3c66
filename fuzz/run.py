#!/usr/bin/env python3
"""Runs the fuzz targets of a build (preset `fuzz`), each from its kept seeds and from what earlier runs have found.

    fuzz/run.py --seconds 60                       # every target for a minute, as many at once as there are cores
    fuzz/run.py --seconds 3600 --only documents    # one of them for an hour

What is found on the way is kept below --corpus, outside of the tree: DIR/TARGET holds inputs that reach new code,
DIR/TARGET.found those that broke something. Each target is one case of the totals; the last line is
`N passed, N failed`.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SLACK_SECONDS = 180  # for the seeds and the corpus, before the time begins to count
INPUT_SECONDS_MAX = 60  # by the clock: on a busy machine a second of work may take ten
MEMORY_MB_MAX = 2048
INPUT_BYTES_MAX = 8192
SYMBOLIZER = shutil.which("llvm-symbolizer-19") or shutil.which("llvm-symbolizer") or ""
ENVIRONMENT = {"ASAN_OPTIONS": f"detect_stack_use_after_return=0:external_symbolizer_path={SYMBOLIZER}",
               "UBSAN_OPTIONS": f"print_stacktrace=1:external_symbolizer_path={SYMBOLIZER}"}


class Outcome:
    def __init__(self, name, output, status, seconds, found):
        self.name, self.output, self.status, self.seconds, self.found = name, output, status, seconds, found
        self.executions = self.number(r"stat::number_of_executed_units:\s*(\d+)")
        self.edges = self.number(r"\bcov: (\d+)")
        self.corpus = self.number(r"\bcorp: (\d+)")

    def number(self, pattern):
        """The last one that the program printed; 0 if it printed none."""
        found = re.findall(pattern, self.output)
        return int(found[-1]) if found else 0

    @property
    def verdict(self):
        if self.found:
            return "FOUND"
        if self.status != 0:
            return f"FAILED ({self.status})"
        return "ok" if self.executions > 0 else "RAN NOTHING"


def run_target(binary, arguments):
    """One target for its time; what it leaves in DIR/TARGET.found is a finding."""
    name = binary.name
    corpus, found = arguments.corpus / name, arguments.corpus / f"{name}.found"
    for directory in (corpus, found):
        directory.mkdir(parents=True, exist_ok=True)
    seeds, words = arguments.seeds / name, arguments.seeds / f"{name}.dict"
    before = set(found.iterdir())
    command = [str(binary), f"-max_total_time={arguments.seconds}", f"-timeout={INPUT_SECONDS_MAX}",
               f"-report_slow_units={INPUT_SECONDS_MAX}",
               f"-rss_limit_mb={MEMORY_MB_MAX}", f"-max_len={INPUT_BYTES_MAX}", "-print_final_stats=1",
               f"-artifact_prefix={found}/", *([f"-dict={words}"] if words.exists() else []), str(corpus),
               *([str(seeds)] if seeds.is_dir() else [])]
    started = time.monotonic()
    log = arguments.corpus / f"{name}.log"
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT,
                                                    env={**ENVIRONMENT, **os.environ}) as process:
        try:
            status = process.wait(timeout=arguments.seconds + SLACK_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            status = process.wait()
    return Outcome(name, log.read_text(errors="replace"), status, time.monotonic() - started,
                   sorted(set(found.iterdir()) - before))


def show_failure(binary, outcome):
    told = re.sub(r"(?m)^(?:#\d+|\s+NEW_FUNC).*\n", "", outcome.output)  # without what is new on each line
    print(f"\n--- {outcome.name}: {outcome.verdict}\n{told[-8000:]}")
    for path in outcome.found:
        print(f"kept:      {path}\nreproduce: {shlex.quote(str(binary))} {shlex.quote(str(path))}")


def show_table(outcomes):
    print(f"\n{'target':<18}{'executions':>12}{'exec/s':>9}{'edges':>8}{'corpus':>8}{'s':>7}  result")
    for o in outcomes:
        rate = round(o.executions / o.seconds) if o.seconds else 0
        print(f"{o.name:<18}{o.executions:>12}{rate:>9}{o.edges:>8}{o.corpus:>8}{o.seconds:>7.0f}  {o.verdict}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, required=True, help="for each target")
    parser.add_argument("--only", default="", help="comma-separated names of targets")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="targets at once")
    parser.add_argument("--corpus", type=pathlib.Path, required=True, help="directory outside of the tree")
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build/fuzz/fuzz", help="where the targets are")
    parser.add_argument("--seeds", type=pathlib.Path, default=ROOT / "fuzz/seeds")
    parser.add_argument("--totals", type=pathlib.Path, default=os.environ.get("TANGRAM_TOTALS"),
                        help="file in which counts are added up")
    arguments = parser.parse_args()
    arguments.corpus = arguments.corpus.resolve()

    binaries = {path.name: path.resolve() for path in sorted(arguments.programs.glob("*"))
                if path.is_file() and os.access(path, os.X_OK)}
    wanted = set(filter(None, arguments.only.split(",")))
    missing = sorted(wanted - binaries.keys())
    if missing or not binaries:
        print(f"fuzz: no target {', '.join(missing) or 'at all'} in {arguments.programs}; tools/build.sh fuzz", file=sys.stderr)
        return 2
    binaries = {name: path for name, path in binaries.items() if not wanted or name in wanted}

    with concurrent.futures.ThreadPoolExecutor(max_workers=max(arguments.jobs, 1)) as pool:
        outcomes = list(pool.map(lambda binary: run_target(binary, arguments), binaries.values()))
    for outcome in outcomes:
        if outcome.verdict != "ok":
            show_failure(binaries[outcome.name], outcome)
    show_table(outcomes)
    failed = sum(outcome.verdict != "ok" for outcome in outcomes)
    if arguments.totals:
        subprocess.run([ROOT / "tools/count.sh", arguments.totals, str(len(outcomes) - failed), str(failed)], check=True)
    print(f"{len(outcomes) - failed} passed, {failed} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
