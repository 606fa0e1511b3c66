#!/usr/bin/env python3
"""Runs test suites and counts their cases.

Two kinds of suite: GoogleTest binaries (BUILD/tests/test_*) and Python unittest files (tests/*/test_*.py), which
use the programs of the same build. Unit suites run side by side on the cores there are; the end-to-end ones run
one after the other, because they measure time and share the machine's cgroups. Suites of a folder that needs more than a
build (tests/kube: a Kubernetes) run only when --folder names it.

The last line is `N passed, N failed`, behind a block that names what was skipped, and why. With --totals FILE the counts
are also added up in FILE, and with --skips FILE the lines of that block, so that several runs (plain build, sanitizers,
linters) can be summed.

Of a suite that passes only the lines that begin with `figure: ` are shown: what it measured.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUITE_SECONDS_MAX = 900
FIGURE = "figure: "
# What GoogleTest prints of a case that skips itself; its report of this version does not say why.
GTEST_SKIP = re.compile(r"^\[ RUN +\] (\S+)\n((?:(?!\[ RUN|\[ +OK|\[ +FAILED).*\n)*?)\[ +SKIPPED \] \1", re.MULTILINE)
FOLDERS_APART = {"kube"}


# A sanitizer's findings go to files, so that those of programs that a test starts count too.
# die_after_fork: a program may start threads in a child that it forked; TSan is only unsure of what it finds there.
SANITIZERS = {"ASAN_OPTIONS": "", "TSAN_OPTIONS": "die_after_fork=0:", "UBSAN_OPTIONS": "print_stacktrace=1:"}


class Outcome:
    """What came of one suite. `reasons`: why each case was skipped, by its name."""

    def __init__(self, name, passed=0, failed=0, skipped=0, seconds=0.0, output="", reasons=None):
        self.name, self.passed, self.failed, self.skipped = name, passed, failed, skipped
        self.seconds, self.output, self.reasons = seconds, output, reasons or {}


def run_command(command, environment):
    """Exit status and output; a suite that hangs is killed with everything it started."""
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace", start_new_session=True) as process:
        try:
            output, _ = process.communicate(timeout=SUITE_SECONDS_MAX)
            return process.returncode, output
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            output, _ = process.communicate()
            return -1, output + f"\nkilled: it ran for more than {SUITE_SECONDS_MAX} s\n"


def count_gtest(report):
    passed = failed = skipped = 0
    for suite in report.get("testsuites", []):
        for case in suite.get("testsuite", []):
            if case.get("failures"):
                failed += 1
            elif case.get("result") == "SKIPPED":
                skipped += 1
            elif case.get("status") == "RUN":
                passed += 1
    return passed, failed, skipped


def gtest_reasons(output):
    reasons = {}
    for name, said in GTEST_SKIP.findall(output):
        lines = [line.strip() for line in said.splitlines() if line.strip() and not re.search(r":\d+: Skipped$", line)]
        reasons[name] = " ".join(lines) or "no reason was given"
    return reasons


def with_sanitizers(environment, directory):
    directory.mkdir()
    directory.chmod(0o1777)  # programs of other users write there too
    return {**environment, **{name: f"{options}log_path={directory}/found"
                              for name, options in SANITIZERS.items() if name not in environment}}


def sanitizer_findings(directory):
    return "".join(path.read_text(errors="replace") for path in sorted(directory.iterdir()))


def run_gtest(binary, environment, prefix):
    name = binary.name.removeprefix("test_")
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        pathlib.Path(scratch).chmod(0o755)
        report_path = pathlib.Path(scratch) / "report.json"
        found = pathlib.Path(scratch) / "sanitizers"
        status, output = run_command([*prefix, str(binary), f"--gtest_output=json:{report_path}"],
                                     with_sanitizers(environment, found))
        findings = sanitizer_findings(found)
        try:
            passed, failed, skipped = count_gtest(json.loads(report_path.read_text()))
        except (OSError, ValueError):
            passed, failed, skipped = 0, 1, 0  # it did not live to write its report
    if (status != 0 or findings) and failed == 0:
        failed = 1
    return Outcome(name, passed, failed, skipped, time.monotonic() - started, output + findings, gtest_reasons(output))


def python_suites(folder):
    """Those of one folder, or all that need no more than a build."""
    paths = sorted((ROOT / "tests").glob(f"{folder or '*'}/test_*.py"))
    return [path for path in paths if folder or path.parent.name not in FOLDERS_APART]


def run_python(path, environment, prefix):
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        report_path = pathlib.Path(scratch) / "report.json"
        status, output = run_command(
            [*prefix, sys.executable, str(ROOT / "tools/run_unittest.py"), str(path), str(report_path)], environment)
        try:
            report = json.loads(report_path.read_text())
        except (OSError, ValueError):
            report = {"passed": 0, "failed": 1, "skipped": 0}
    if status != 0 and report["failed"] == 0:
        report["failed"] = 1
    return Outcome(f"{path.parent.name}/{path.stem}", report["passed"], report["failed"], report["skipped"],
                   time.monotonic() - started, output, report.get("reasons"))


def show(outcome, verbose):
    mark = "ok  " if outcome.failed == 0 else "FAIL"
    print(f"{mark} {outcome.name:<32} {outcome.passed:>5} passed {outcome.failed:>3} failed "
          f"{outcome.skipped:>3} skipped {outcome.seconds:>7.1f} s", flush=True)
    if outcome.failed or verbose:
        print(outcome.output[-20000:], flush=True)
        return
    for line in outcome.output.splitlines():
        if line.startswith(FIGURE):
            print(f"     {line}", flush=True)


def skip_lines(outcomes):
    return [f"{outcome.name}: {case}: {' '.join(reason.split())}"
            for outcome in outcomes for case, reason in sorted(outcome.reasons.items())]


def show_skips(lines):
    if lines:
        print(f"\nskipped, {len(lines)}:")
        for line in lines:
            print(f"  {line}")
        print(flush=True)


def add_totals(path, passed, failed):
    """A file that is missing or empty counts as nothing so far."""
    words = path.read_text().split() if path.exists() else []
    previous = [int(word) for word in words] or [0, 0]
    path.write_text(f"{previous[0] + passed} {previous[1] + failed}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, help="build directory, for example build/dev")
    parser.add_argument("--only", help="comma-separated names of suites")
    parser.add_argument("--except", dest="left_out", default="", help="comma-separated names of suites to leave out")
    parser.add_argument("--units-only", action="store_true", help="leave the end-to-end suites out")
    parser.add_argument("--folder", help="the Python suites of this folder of tests, and nothing else")
    parser.add_argument("--prefix", default="", help="a command to run each suite under, for example 'setarch -R'")
    parser.add_argument("--totals", type=pathlib.Path, help="file in which counts are added up")
    parser.add_argument("--skips", type=pathlib.Path, default=os.environ.get("TANGRAM_SKIPS"),
                        help="file to which the skipped cases are added, with their reasons")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()

    build = arguments.build.resolve()
    environment = dict(os.environ, TANGRAM_BUILD=str(build), TANGRAM_SOURCE=str(ROOT))
    environment.pop("TANGRAM_SOCKET", None)
    binaries = [] if arguments.folder else sorted((build / "tests").glob("test_*"))
    scripts = [] if arguments.units_only else python_suites(arguments.folder)
    if arguments.only:
        wanted = set(arguments.only.split(","))
        binaries = [b for b in binaries if b.name.removeprefix("test_") in wanted]
        scripts = [s for s in scripts if s.stem in wanted or f"{s.parent.name}/{s.stem}" in wanted]
    left_out = set(filter(None, arguments.left_out.split(",")))
    binaries = [b for b in binaries if b.name.removeprefix("test_") not in left_out]
    scripts = [s for s in scripts if s.stem not in left_out]
    if not binaries and not scripts:
        print("run_suites: no suite found; build first", file=sys.stderr)
        return 2

    outcomes = []
    prefix = arguments.prefix.split()
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        running = [pool.submit(run_gtest, binary, environment, prefix) for binary in binaries]
        for future in concurrent.futures.as_completed(running):
            outcomes.append(future.result())
            show(outcomes[-1], arguments.verbose)
    for script in scripts:
        outcomes.append(run_python(script, environment, prefix))
        show(outcomes[-1], arguments.verbose)

    passed = sum(o.passed for o in outcomes)
    failed = sum(o.failed for o in outcomes)
    if arguments.totals:
        add_totals(arguments.totals, passed, failed)
    skips = skip_lines(outcomes)
    if arguments.skips:
        with arguments.skips.open("a") as file:
            file.writelines(line + "\n" for line in skips)
    show_skips(skips)
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
