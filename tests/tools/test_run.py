"""What `make run` does: where it cannot work, and where something runs already."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/e2e"))
import harness  # noqa: E402

PROGRAMS = ("tangram", "tangramd", "tangram-supervise", "tangram-dcmi-helper", "ascendsimd", "npu-smi", "gemm")


class Refused(unittest.TestCase):
    def refused(self, root, **env):
        ended = subprocess.run([ROOT / "tools/run.sh", "start"], env={**os.environ, "TANGRAM_DEMO_ROOT": root, **env}, check=False,
                               capture_output=True, text=True, timeout=30)
        self.assertFalse(pathlib.Path(root).exists())
        self.assertEqual(ended.returncode, 2, ended)
        return ended.stderr

    @unittest.skipIf(os.geteuid() != 0, "without root jobs see the /tmp of all")
    def test_a_place_that_jobs_cannot_see_is_refused(self):
        """Without it every example would end as not-started, and nobody would know why."""
        for root in ("/tmp/tangram-demo-nowhere", "/var/tmp/../tmp/tangram-demo-nowhere"):
            said = self.refused(root)
            self.assertIn("each job has a /tmp", said)
            self.assertIn("choose another directory", said)

    def test_an_unknown_machine_is_refused(self):
        """Without it a slip in the name would start the usual machine, and its transcripts be looked for in vain."""
        said = self.refused("/srv/tangram-demo-nowhere", MACHINE="one-310")
        self.assertIn("MACHINE=one-310 is neither a file nor one of: eight-910b2 eight-910b4", said)


@unittest.skipIf(os.geteuid() != 0, "needs root: a place that jobs can see")
class RunsAlready(unittest.TestCase):
    """In a checkout of its own, whose build can be made newer."""

    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="tg-run-", dir="/srv"))
        self.addCleanup(harness.clean_up, self.root, self.root.name)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.checkout = pathlib.Path(folder.name)
        self.bin = self.checkout / "build/release/bin"
        for part in ("tools/run.sh", "examples/quickstart/tenants.yaml", *(f"deploy/machines/{path.name}" for path in
                                                                          (ROOT / "deploy/machines").iterdir())):
            (self.checkout / part).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / part, self.checkout / part)
        self.bin.mkdir(parents=True)
        (self.bin.parent / "share/man").mkdir(parents=True)
        for name in PROGRAMS:
            (self.bin / name).symlink_to(harness.program(name))
        (self.bin.parent / "lib").symlink_to(harness.BUILD / "lib")

    def run_script(self, code=0, **env):
        ended = subprocess.run([self.checkout / "tools/run.sh", "start"], check=False, capture_output=True, text=True, timeout=240,
                               env={**os.environ, "TANGRAM_DEMO_ROOT": str(self.root), **env})
        self.assertEqual(ended.returncode, code, ended.stdout + ended.stderr)
        return ended.stdout + ended.stderr

    def make_newer(self, name):
        """Another file that does the same."""
        program = self.bin / name
        text = program.read_bytes()
        program.unlink()
        program.write_bytes(text + b"newer")
        program.chmod(0o755)

    def tangram(self, *words, check=True):
        return subprocess.run([self.root / "bin/tangram", "--socket", self.root / "state/run/tangram.sock", *words], check=check,
                              capture_output=True, text=True, timeout=60).stdout

    def pid(self, name):
        return int((self.root / f"{name}.pid").read_text())

    def runs(self, name):
        """The bytes of the program that runs."""
        return pathlib.Path(f"/proc/{self.pid(name)}/exe").read_bytes()

    def test_what_was_built_since_takes_its_place(self):
        """Without it `make run` after a change would show what the change was to mend, and look like the change."""
        self.run_script()
        pids = [self.pid("tangramd"), self.pid("ascendsimd")]
        self.assertIn("runs already", self.run_script())
        self.assertEqual([self.pid("tangramd"), self.pid("ascendsimd")], pids)

        self.assertNotIn("was edited since", self.run_script())
        with (self.root / "tangramd.yaml").open("a") as configuration:
            configuration.write("# mine\n")
        self.assertIn("was edited since", self.run_script())

        job = self.tangram("submit", "--tenant", "inference", "--", "sleep", "600").strip()
        self.make_newer("tangramd")
        self.assertIn("the daemon that runs is of an older build", self.run_script())
        self.assertEqual(self.runs("tangramd"), (self.bin / "tangramd").read_bytes())
        self.assertEqual(self.pid("ascendsimd"), pids[1])
        self.assertEqual(json.loads(self.tangram("describe", job, "-o", "json"))["state"], "running")

        pids = [self.pid("tangramd"), self.pid("ascendsimd")]
        self.make_newer("ascendsimd")
        said = self.run_script(code=1)
        self.assertIn("a new simulated machine (ascendsimd) would end", said)
        self.assertIn("make stop", said)
        self.assertEqual([self.pid("tangramd"), self.pid("ascendsimd")], pids)
        self.tangram("cancel", job)
        self.tangram("wait", job, "--timeout", "1m", check=False)  # ends as the job did
        self.run_script()
        self.assertEqual(self.runs("ascendsimd"), (self.bin / "ascendsimd").read_bytes())

    def test_a_daemon_that_was_killed_is_started_alone(self):
        """Without it whoever tries what the README says of kill -9 would see every job end: the machine was started anew, too."""
        self.run_script()
        machine = self.pid("ascendsimd")
        job = self.tangram("submit", "--tenant", "inference", "--", "sleep", "600").strip()
        end = time.monotonic() + 60
        while json.loads(self.tangram("describe", job, "-o", "json"))["state"] != "running" and time.monotonic() < end:
            time.sleep(0.2)
        os.kill(self.pid("tangramd"), signal.SIGKILL)
        self.assertIn("the daemon does not: jobs go on", self.run_script())
        self.assertEqual(self.pid("ascendsimd"), machine)
        described = json.loads(self.tangram("describe", job, "-o", "json"))
        self.assertEqual((described["state"], described["attempt"]), ("running", 1))
        self.tangram("cancel", job)

    def test_a_slow_start_is_waited_for(self):
        """Without it a busy machine, on which a process takes its time to become the program, would be told that it died."""
        slow = self.checkout / "slow/setsid"
        slow.parent.mkdir()
        slow.write_text(f"#!/bin/sh\nsleep 1\nexec {shutil.which('setsid')} \"$@\"\n")
        slow.chmod(0o755)
        self.run_script(PATH=f"{slow.parent}:{os.environ['PATH']}")
        self.assertEqual(self.runs("ascendsimd"), (self.bin / "ascendsimd").read_bytes())

    def test_another_machine_is_played(self):
        """Without it what the documentation shows of another machine could be seen by nobody."""
        self.run_script(MACHINE="one-310p3")
        npus = json.loads(self.tangram("status", "-o", "json"))["npus"]
        self.assertEqual([npu["chip"] for npu in npus], ["310P3"])


if __name__ == "__main__":
    unittest.main()
