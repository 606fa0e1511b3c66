"""Kills beside the daemon's: a supervisor, a job, the driver; and a stop, and a full disk, under running jobs."""

import contextlib
import os
import pathlib
import random
import shutil
import signal
import subprocess
import time
import unittest

import harness
from crash_workload import Archive, Judge, Workload, call, job_groups, supervisors
from harness import Machine

SEED = int(os.environ.get("TANGRAM_SEED", random.SystemRandom().randint(1, 10**9)))
# A program with two children in sessions of their own, one of which holds NPUs and one of which does not care for SIGTERM.
FAMILY = """
setsid "$0" "$1" 600000 &
setsid sh -c 'trap "" TERM; : > "$0.stubborn"; while :; do sleep 1; done' "$1" &
wait
"""
LOST_SECONDS_MAX = 20
INODES = 400


def setUpModule():
    print(f"seed {SEED} (set TANGRAM_SEED to repeat)", flush=True)


class Kills(unittest.TestCase):
    """What the tests below share."""

    def setUp(self):
        self.machine = Machine(**self.options())
        self.addCleanup(self.machine.stop)
        self.work = Workload(self.machine, SEED)
        self.prepare()
        self.machine.start()
        self.machine.wait_until(self.applied, "the tenants are there")

    def options(self):
        return {}

    def prepare(self):
        """Before anything is started."""

    def applied(self):
        self.work.apply()
        return True

    def submit(self, name, *words, **fields):
        status, view = call(self.machine, "POST", "/v1/jobs", {
            "name": name, "tenant": "team-c", "command": [str(word) for word in words], **fields})
        self.assertEqual(status, 201, view)
        return view["id"]

    def mark(self, name):
        return self.work.marks / name

    def submit_family(self, name, **fields):
        """Returns the job once both children are there and the NPUs hold its memory."""
        job = self.submit(name, "/bin/sh", "-c", FAMILY, self.work.program, self.mark(name), **fields)
        self.machine.wait_until(lambda: self.mark(f"{name}.stubborn").exists() and any(self.machine.holders().values()),
                                f"{name} runs with its children")
        self.assertEqual(self.machine.wait_for(job, "running")["attempt"], 1)
        return job

    def ended(self, job, timeout=LOST_SECONDS_MAX):
        return self.machine.wait_for(job, "ended", timeout)

    def supervisor_of(self, job):
        number = int(job.removeprefix("j-"))
        return [record["body"]["supervisor"]["pid"] for record in self.machine.journal("attempt_prepared")
                if record["body"]["job"] == number][-1]

    def processes(self):
        return harness.pids_in(harness.cgroup_dirs(self.machine.name))

    def npus_free(self):
        return call(self.machine, "GET", "/v1/status")[1].get("npusFree")

    def nothing_left(self):
        return not (self.processes() or any(self.machine.holders().values()) or job_groups(self.machine)
                    or supervisors(self.machine)) and self.npus_free() == 8


class KilledSupervisor(Kills):
    def test_its_job_is_lost_and_said_so(self):
        """Without it a job whose supervisor was killed would run on unwatched, hold its NPUs, or end without a reason."""
        for name, daemon_is_there in (("watched", True), ("unwatched", False)):
            with self.subTest(name):
                job = self.submit_family(name, npus=2)
                if not daemon_is_there:
                    self.machine.kill_daemon()
                os.kill(self.supervisor_of(job), signal.SIGKILL)
                if not daemon_is_there:
                    self.machine.start_daemon()
                view = self.ended(job)
                self.assertEqual(view["outcome"], "lost", view)
                self.assertIn("supervisor was killed", view["message"])
                self.machine.wait_until(self.nothing_left, "nothing of it is left")

    def test_it_is_restarted_if_asked(self):
        """Without it --restart on-lost would be an empty promise."""
        script = 'exec "$0" "$1.$TANGRAM_ATTEMPT" $((TANGRAM_ATTEMPT == 1 ? 600000 : 100)) 7'
        job = self.submit("again", "/bin/sh", "-c", script, self.work.program, self.mark("again"), restart="on-lost")
        self.machine.wait_until(self.mark("again.1").exists, "the first attempt runs")
        os.kill(self.supervisor_of(job), signal.SIGKILL)
        view = self.ended(job)
        self.assertEqual((view["outcome"], view["exitStatus"], view["attempt"], view["restarts"]), ("failed", 7, 2, 1))
        self.assertTrue(self.mark("again.2").exists())
        lost = self.machine.journal("attempt_ended")[0]["body"]
        self.assertEqual((lost["input"]["outcome"], lost["input"]["requeue"]), ("lost", True))
        self.machine.wait_until(self.nothing_left, "nothing of it is left")


class KilledJob(Kills):
    def test_its_whole_family_is_gone_within_a_second(self):
        """Without it children in sessions of their own would keep NPUs and memory of a dead job."""
        job = self.submit_family("family", npus=2)
        shells = [pid for pid in self.processes() if FAMILY.strip() in
                  pathlib.Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")]
        self.assertEqual(len(shells), 1)
        self.assertEqual(self.npus_free(), 6)
        started = time.monotonic()
        os.kill(shells[0], signal.SIGKILL)
        self.machine.wait_until(lambda: self.npus_free() == 8, "the NPUs are free")
        seconds = time.monotonic() - started
        self.assertEqual(self.processes(), set())
        self.assertFalse(any(self.machine.holders().values()), "device memory is back")
        view = self.ended(job)
        self.assertEqual((view["outcome"], view["signal"]), ("failed", 9), view)
        harness.figure(f"free after {seconds * 1000:.0f} ms")
        self.assertLess(seconds, 1)
        self.machine.wait_until(self.nothing_left, "nothing of it is left")


class KilledDriver(Kills):
    def test_jobs_end_with_that_reason_and_the_daemon_goes_on(self):
        """Without it jobs would hang on a driver that is gone, or the daemon would need a restart by hand."""
        sleeper = self.submit_family("sleeper", npus=2)
        gone = self.work.marks / "gone"
        finder = self.submit("finder", "/bin/sh", "-c", f': > "$1.waits"; until [ -e "{gone}" ]; do sleep 0.02; done; '
                             'exec "$0" "$1" 10', self.work.program, self.mark("finder"))  # fails before it is told
        script = 'exec "$0" "$1.$TANGRAM_ATTEMPT" $((TANGRAM_ATTEMPT == 1 ? 600000 : 100))'
        again = self.submit("again", "/bin/sh", "-c", script, self.work.program, self.mark("again"), restart="on-lost")
        self.machine.wait_until(lambda: self.mark("finder.waits").exists() and self.mark("again.1").exists(), "all run")
        waiter = self.submit("waiter", self.work.program, self.mark("waiter"), 10, npus=8)
        self.machine.kill_simulator()
        gone.touch()
        for job in (sleeper, finder):
            view = self.ended(job)
            self.assertEqual(view["outcome"], "device-lost", view)
            self.assertIn("driver", view["message"])
        self.machine.wait_until(lambda: not self.machine.status()["devicesAvailable"], "the daemon says that it is away")
        self.assertTrue(self.machine.status()["devicesNote"])
        self.assertIn(self.machine.job(waiter)["state"], ("ready", "waiting"))
        self.machine.wait_until(lambda: not self.processes(), "nothing runs")
        self.assertIsNone(self.machine.daemon.poll())
        self.machine.start_simulator()
        for job in (waiter, again):
            self.assertEqual(self.ended(job)["outcome"], "succeeded", self.machine.job(job))
        self.assertEqual(self.machine.job(again)["attempt"], 2)
        self.machine.wait_until(self.nothing_left, "nothing is left")


class StoppedDaemon(Kills):
    def test_jobs_run_on_and_are_adopted(self):
        """Without it an upgrade of the daemon would end every job, or forget how it ended."""
        long = self.submit("long", self.work.program, self.mark("long"), 3000, 7)
        short = self.submit("short", self.work.program, self.mark("short"), 300, 3)
        for job in (long, short):
            self.machine.wait_for(job, "running")
        supervisor = self.supervisor_of(long)
        self.machine.stop_daemon()
        self.assertEqual(self.machine.daemon.returncode, 0)
        self.machine.wait_until(lambda: supervisors(self.machine) == [supervisor], "the short one ends meanwhile")
        self.machine.start_daemon()
        self.assertEqual(self.machine.job(long)["state"], "running", self.machine.job(long))
        for job, status in ((short, 3), (long, 7)):
            view = self.ended(job)
            self.assertEqual((view["outcome"], view["exitStatus"], view["attempt"]), ("failed", status, 1), view)
        self.machine.wait_until(self.nothing_left, "nothing is left")


class FullDisk(Kills):
    def prepare(self):
        directory = self.machine.state / "lib"
        directory.mkdir(parents=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size=16m,mode=755,nr_inodes={INODES}", "tangram-test", str(directory)], check=True)
        self.filler = directory / "filler"

    def fill(self):
        with open(self.filler, "ab", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(4096))

    def use_up_inodes(self):
        """Afterwards the journal has room, and what needs a new file has not."""
        self.filler.mkdir()
        with contextlib.suppress(OSError):
            for number in range(INODES):
                (self.filler / str(number)).touch()

    def refused(self):
        """One more submission; true when the service says that it has no room for it."""
        wanted = self.work.make(self.rng, f"late-{len(self.work.wanted)}", ms=20, cancel=False)
        status, answer = call(self.machine, "POST", "/v1/jobs", wanted.body, wanted.key)
        if status == 201:
            wanted.job = answer["id"]
            return False
        self.assertEqual((status, answer["reason"]), (503, "store.unavailable"), answer)
        return True

    def test_nothing_is_lost_when_the_state_has_no_room(self):
        """Without it a full disk could lose acknowledged jobs, their ends, or the daemon itself."""
        self.rng = random.Random(SEED)
        archive = Archive(self.machine)
        for name, killed in (("lives", False), ("killed", True)):
            with self.subTest(name):
                runner = self.work.make(self.rng, name, ms=1500, cancel=False)
                self.work.submit(self.rng, runner)
                self.machine.wait_for(runner.job, "running")
                self.fill()
                self.machine.wait_until(self.refused, "writes are refused")
                self.assertEqual(call(self.machine, "GET", f"/v1/jobs/{runner.job}")[0], 200)
                if killed:
                    self.machine.kill_daemon()
                    self.machine.start_daemon(wait=False)
                self.machine.wait_until(lambda: not self.processes(), "the running job ends meanwhile")
                self.filler.unlink()
                if self.machine.daemon.poll() is not None:  # it may refuse to start without room
                    self.machine.start_daemon()
                for wanted in self.work.wanted:
                    if wanted.job is None:
                        self.work.submit(self.rng, wanted)
                self.work.wait_all_ended()
                self.assertEqual(Judge(self.work, archive).all(), [])

    def test_no_room_for_a_start_only_delays_it(self):
        """Without it a full disk would end all jobs of the queue as not started."""
        self.use_up_inodes()
        job = self.submit("patient", self.work.program, self.mark("patient"), 10, 7)
        self.machine.wait_until(lambda: "not started yet" in self.machine.log(), "a try fails")
        self.assertEqual(self.machine.job(job)["state"], "starting")
        shutil.rmtree(self.filler)
        view = self.ended(job)
        self.assertEqual((view["outcome"], view["exitStatus"], view["attempt"]), ("failed", 7, 1), view)
        self.machine.wait_until(self.nothing_left, "nothing is left")


if __name__ == "__main__":
    unittest.main()
