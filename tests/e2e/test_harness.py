"""The harness itself: what it started is gone afterwards, whatever happened."""

import contextlib
import pathlib
import subprocess
import sys
import time
import unittest

import harness

# Starts a machine with a job that leaves its session, says so, and then hangs.
VICTIM = """
import sys, time
sys.path.insert(0, sys.argv[1])
import harness
machine = harness.Machine().start()
machine.apply("{apiVersion: tangram.dev/v1, kind: Tenant, metadata: {name: team-a}, spec: {}}")
job = machine.submit("--tenant", "team-a", "--", "sh", "-c", "setsid sleep 600 & sleep 600")
machine.wait_for(job, "running")
print(machine.root, machine.name, flush=True)
time.sleep(600)
"""


class CleansUp(unittest.TestCase):
    def leftovers(self, root, name):
        groups = harness.cgroup_dirs(name)
        return [*harness.pids_of(root), *harness.pids_in(groups), *groups, *harness.mounts_below(root),
                *([root] if root.exists() else [])]

    def start_victim(self):
        victim = subprocess.Popen([sys.executable, "-c", VICTIM, str(pathlib.Path(__file__).parent)],
                                  stdout=subprocess.PIPE, text=True)
        self.addCleanup(victim.wait)
        self.addCleanup(victim.stdout.close)
        self.addCleanup(lambda: victim.poll() is None and victim.kill())
        root, name = victim.stdout.readline().split()
        return victim, pathlib.Path(root), name

    def test_after_a_killed_test(self):
        """Without it one killed test would leave daemons, jobs and control groups for all that come after."""
        victim, root, name = self.start_victim()
        self.assertTrue(harness.pids_of(root), "there is something to clean up")
        victim.kill()
        end = time.monotonic() + 30
        while self.leftovers(root, name) and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(self.leftovers(root, name), [])

    def test_after_a_failed_start(self):
        """Without it a daemon that refuses its configuration would leave the simulated driver running."""
        machine = harness.Machine(config={"no-such-field": 1})
        with self.assertRaises(AssertionError) as caught, contextlib.redirect_stderr(None), machine:
            self.fail("the daemon must refuse an unknown field")
        self.assertIn("no-such-field", str(caught.exception))
        self.assertEqual(self.leftovers(machine.root, machine.name), [])


if __name__ == "__main__":
    unittest.main()
