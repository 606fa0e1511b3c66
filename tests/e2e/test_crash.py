"""Kills of everything that can be killed: nothing acknowledged is lost, nothing runs twice, nothing is left over."""

import os
import random
import re
import time
import unittest

from crash_workload import Archive, Judge, Workload
from harness import SOURCE, Machine, figure

SEED = int(os.environ.get("TANGRAM_SEED", random.SystemRandom().randint(1, 10**9)))
KILLS = 50
# Snapshots happen while jobs run, and records that were aged (see Archive) are dropped.
RETENTION = {"snapshotEvery": 100, "journal": "24h"}


def setUpModule():
    print(f"seed {SEED} (set TANGRAM_SEED to repeat)", flush=True)


class RandomKills(unittest.TestCase):
    def test_fifty_kills_of_the_daemon(self):
        """Without it a kill between two steps that nobody named could lose a job or run one twice."""
        rng = random.Random(SEED)
        with Machine(config={"retention": RETENTION}) as machine:
            archive = Archive(machine)
            work = Workload(machine, SEED)
            work.start(threads=3)
            self.addCleanup(work.finish)
            for kill in range(KILLS):
                if kill == KILLS // 2:
                    self.stop_and_start(machine, archive)
                time.sleep(rng.uniform(0.01, 0.9))  # also before it is ready
                self.assertIsNone(machine.daemon.poll(), f"the daemon went by itself\n{machine.report()}")
                machine.kill_daemon()
                machine.start_daemon(wait=False)
            work.finish()
            work.wait_all_ended()
            judge = Judge(work, archive)
            self.assertEqual(judge.all(), [])
            adopted = sum(story.adopted for story in judge.stories.values())
            figure(f"{len(work.wanted)} jobs, {adopted} of them adopted, {len(judge.records)} records")
            self.assertGreater(adopted, 10, "too few jobs lived through a kill: this proves nothing")
            self.assertGreater(machine.journal()[0]["sequence"], 1, "no compaction happened in between")

    def stop_and_start(self, machine, archive):
        """SIGTERM, and a snapshot that makes all records before it droppable."""
        machine.wait_until(machine.is_ready, "the daemon is ready")
        machine.stop_daemon()
        self.assertEqual(machine.daemon.returncode, 0, machine.report())
        archive.age()
        machine.start_daemon()


class Point:
    """A row of docs/crash-points.md."""

    def __init__(self, columns, cells):
        row = dict(zip(columns, cells))
        self.name = cells[0].strip("`")
        dies = row.get("who dies", "daemon")
        self.daemon_dies = "daemon" in dies
        self.supervisor_dies = "supervisor" in dies
        self.loses = "`lost`" in cells[-1]


def read_points():
    points, columns = [], None
    for line in (SOURCE / "docs/crash-points.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            columns = None
        elif columns is None:
            columns = cells
        elif not set(line) <= set("|- "):
            points.append(Point(columns, cells))
    return points


# Passed so often by the work below that the kill may come at any of the first passes.
PASSES_MAX = {"journal.before_append": 12, "journal.before_commit": 12, "journal.before_mark": 12,
              "journal.after_append": 12,
              "service.before_append": 12, "service.after_append": 12, "service.before_prepare": 5,
              "service.after_prepare": 5, "service.before_go": 5, "service.after_go": 5, "runner.before_spawn": 5,
              "runner.after_spawn": 5, "runner.before_go": 5, "runner.after_go": 5,
              "service.before_exit_record": 4, "service.after_exit_record": 4}
# Passed only by a daemon that finds nothing.
AT_BIRTH = {"journal.migrating", "journal.before_version", "journal.before_mark_file"}


class CrashPoints(unittest.TestCase):
    """One test for each row; added below."""

    def test_the_page_names_every_point(self):
        """Without it a new crash point would never be killed at."""
        sources = [path.read_text() for path in (SOURCE / "src").rglob("*.cc")]
        in_code = {name for text in sources for name in re.findall(r'TG_CRASH_POINT\("([^"]+)"\)', text)}
        self.assertEqual(sorted(point.name for point in read_points()), sorted(in_code))

    def kill_at(self, point):
        rng = random.Random(f"{SEED}-{point.name}")
        retention = dict(RETENTION)
        if point.name == "service.before_forgotten":
            retention.update(endedJobs="500ms", sweepInterval="100ms")
        machine = Machine(config={"retention": retention})
        self.addCleanup(machine.stop)
        archive = Archive(machine)
        work = Workload(machine, f"{SEED}-{point.name}")
        machine.start_simulator()
        before = [] if point.name in AT_BIRTH else self.live_before(point, machine, work, archive, rng)
        place = f"{point.name}:{rng.randint(1, PASSES_MAX.get(point.name, 1))}"
        machine.start_daemon(env={"TANGRAM_CRASH_AT": place}, wait=False)
        self.addCleanup(work.finish)
        self.go_on(point, work, rng, before)
        if point.supervisor_dies:
            machine.wait_until(lambda: self.has_struck(point, machine, before), f"a supervisor dies at {place}", 60)
        if point.daemon_dies:
            machine.wait_until(lambda: machine.daemon.poll() is not None, f"the daemon dies at {place}", 60)
        machine.kill_daemon()
        self.assertEqual(machine.daemon.returncode, -9, machine.report())
        machine.start_daemon()
        work.join()
        work.wait_all_ended()
        problems = Judge(work, archive).all(may_be_lost=point.loses)
        self.assertEqual(problems, [], f"after a kill at {place}, seed {SEED}\n{machine.report()}")

    def live_before(self, point, machine, work, archive, rng):
        """Leaves running jobs behind, one of them to be cancelled, and a journal that nears its next snapshot."""
        machine.start_daemon()
        work.apply(more=60)
        jobs = [work.make(rng, "before-0", ms=1500, cancel=False), work.make(rng, "before-1", cancel=True)]
        for job in jobs:
            job.body.update(tenant="team-c", npus=1)
            work.submit(rng, job)
        for job in jobs:
            machine.wait_for(job.job, "running")
        if point.name == "journal.compacting":
            machine.stop_daemon()
            archive.age()
        else:
            machine.kill_daemon()
        return jobs

    def go_on(self, point, work, rng, before):
        work.start(threads=2, jobs_each=4, restart="on-lost" if point.supervisor_dies else None)
        for job in before:
            if job.cancel:
                work.spawn(work.cancel, job)
        time.sleep(rng.uniform(0, 0.2))
        work.spawn(work.apply, 180)

    def has_struck(self, point, machine, before):
        """An attempt whose supervisor was to die has ended, and as it should."""
        if not machine.journal_path.exists():
            return False
        old = {int(job.job.removeprefix("j-")) for job in before}
        ended = [record["body"]["input"] for record in machine.journal("attempt_ended")]
        return any(end["job"] not in old and (end["outcome"] == "lost" or not point.loses) for end in ended) or (
            point.daemon_dies and machine.daemon.poll() is not None)


def add_test(point):
    def test(self):
        self.kill_at(point)
    test.__doc__ = f"Without it a kill at {point.name} could lose a job, run one twice or leave something behind."
    setattr(CrashPoints, f"test_{point.name.replace('.', '_')}", test)


for row in read_points():
    if not row.name.endswith("_slice"):  # those strike where NPUs are cut: test_slices.py
        add_test(row)


if __name__ == "__main__":
    unittest.main()
