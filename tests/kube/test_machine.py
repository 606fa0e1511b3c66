"""The machine that a cluster lives in, without a cluster."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

import machine
from machine import harness

PROGRAM = pathlib.Path(machine.__file__)


class Machine(unittest.TestCase):
    def start(self, script):
        directory = tempfile.TemporaryDirectory(prefix="tgk-", dir="/tmp", ignore_cleanup_errors=True)
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name) / "root"
        self.name = f"tangram-kube-test-{os.getpid()}"
        process = subprocess.Popen([sys.executable, PROGRAM, "--name", self.name, "--root", self.root, "sh", "-c", script],
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        return process

    def run_to_end(self, script):
        process = self.start(script)
        out, _ = process.communicate(timeout=60)
        return process.returncode, out

    def check_that_nothing_is_left(self):
        self.assertEqual(harness.cgroup_dirs(self.name), [])
        self.assertFalse(self.root.exists())

    def test_it_ends_as_its_command_did(self):
        """Without it a suite that fails inside would pass outside."""
        for script, code in (("exit 0", 0), ("exit 5", 5), ("kill -9 $$", 137)):
            self.assertEqual(self.run_to_end(script)[0], code, script)
            self.check_that_nothing_is_left()

    def test_it_has_control_groups_and_a_place(self):
        """Without it Pods would lie at the top of the host's hierarchies, where nobody could tell whose they are."""
        code, out = self.run_to_end(f"ls -d /sys/fs/cgroup/*/${machine.NAME_VARIABLE} && ls -d ${machine.ROOT_VARIABLE}")
        self.assertEqual(code, 0, out)
        self.assertIn(f"/sys/fs/cgroup/memory/{self.name}\n", out)
        self.assertIn(f"{self.root}\n", out)

    def test_what_it_starts_ends_with_it(self):
        """Without it a process that left its session would go on on the host."""
        code, out = self.run_to_end(f"setsid sleep 600 {self.id()} < /dev/null > /dev/null 2>&1 & echo started")
        self.assertEqual((code, out), (0, "started\n"))
        self.assertEqual(harness.pids_of(self.id()), set())

    def test_a_signal_reaches_the_command(self):
        """Without it `make kube-stop` could only kill, and a cluster would never be taken down in order."""
        process = self.start("trap 'echo taken down; exit 3' TERM; echo waits; while :; do sleep 0.1; done")
        self.assertEqual(process.stdout.readline(), "waits\n")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.communicate(timeout=60)[0], "taken down\n")
        self.assertEqual(process.returncode, 3)
        self.check_that_nothing_is_left()

    def test_what_it_writes_stays_inside(self):
        """Without it the kubelet's files of one cluster would lie in the next one's way, on the host."""
        mark = f"mark-{os.getpid()}"
        places = [f"/var/lib/{mark}", f"/var/lib/kubelet/{mark}", f"/var/log/{mark}", f"/run/{mark}"]
        code, out = self.run_to_end(f"touch {' '.join(places)} && ls {' '.join(places)} && ls ${machine.ROOT_VARIABLE}/kubelet/{mark}")
        self.assertEqual(code, 0, out)
        self.assertEqual([place for place in places if pathlib.Path(place).exists()], [])

    def test_kernel_settings_are_set_without_being_set(self):
        """Without it the kubelet would refuse to start, or change how the whole host treats memory and panics."""
        code, out = self.run_to_end("cat /proc/sys/vm/overcommit_memory /proc/sys/kernel/panic && "
                                    "echo 7 > /proc/sys/kernel/panic && cat /proc/sys/kernel/panic")
        self.assertEqual((code, out), (0, "1\n10\n7\n"))
        self.assertNotEqual(pathlib.Path("/proc/sys/kernel/panic").read_text(), "7\n")

    def test_two_use_the_same_port(self):
        """Without it two clusters could not run at once, and a cluster could be reached from where it must not be."""
        listen = ("import socket; server = socket.create_server(('127.0.0.1', 6443)); print('listens', flush=True); "
                  "server.accept()")
        listeners = []
        for number in range(2):
            name = f"tangram-kube-port-{number}-{os.getpid()}"
            listeners.append(subprocess.Popen([sys.executable, PROGRAM, "--name", name, sys.executable, "-c", listen],
                                              stdout=subprocess.PIPE, text=True))
        for listener in listeners:
            self.assertEqual(listener.stdout.readline(), "listens\n")
        for listener in listeners:
            listener.terminate()
            listener.communicate(timeout=60)

    def test_a_place_that_it_covers_is_refused(self):
        """Without it a cluster's data would be written into memory and be gone with it."""
        run = subprocess.run([sys.executable, PROGRAM, "--root", "/var/lib/tangram-kube-nowhere", "true"], capture_output=True,
                             text=True, check=False, timeout=60)
        self.assertEqual(run.returncode, 1)
        self.assertIn("/var/lib", run.stderr)
        self.assertFalse(pathlib.Path("/var/lib/tangram-kube-nowhere").exists())


if __name__ == "__main__":
    unittest.main()
