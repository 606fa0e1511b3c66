"""A state directory that cannot be used: read-only, written by a newer version. Each is named, with the remedy, and loses nothing."""

import contextlib
import json
import pathlib
import sqlite3
import subprocess
import unittest

from harness import Machine, program

TENANTS = """
apiVersion: tangram.dev/v1
kind: Tenant
metadata: {name: team}
spec: {quota: {npus: 8}}
"""


class StateDirectory(unittest.TestCase):
    def setUp(self):
        self.machine = Machine()
        self.directory = self.machine.state / "lib"
        self.directory.mkdir(parents=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m,mode=755", "tangram-test", str(self.directory)], check=True)
        self.addCleanup(self.leave)
        self.machine.start()
        self.machine.apply(TENANTS)
        self.kept = self.machine.submit("--tenant", "team", "--npus", "8", "--", "true")
        self.machine.wait_for(self.kept, "ended")

    def leave(self):
        self.machine.stop()
        subprocess.run(["umount", "--lazy", str(self.directory)], check=False, stderr=subprocess.DEVNULL)

    def remount(self, mode):
        # A file system with files open for writing cannot become read-only; the mount itself can.
        subprocess.run(["mount", "-o", f"remount,bind,{mode}", str(self.directory)], check=True)

    def refused_start(self):
        """What a daemon says that ends at once; its exit status must say that it failed."""
        answer = subprocess.run([program("tangramd"), "--root", self.machine.state, "--config", self.machine.config_path],
                                capture_output=True, text=True, timeout=30, check=False)
        self.assertNotEqual(answer.returncode, 0, answer)
        return answer.stderr

    def starts_with_everything(self):
        self.machine.start_daemon()
        self.assertEqual(self.machine.job(self.kept)["outcome"], "succeeded")
        self.machine.wait_for(self.machine.submit("--tenant", "team", "--", "true"), "ended")

    def test_read_only_at_the_start(self):
        """Without it a daemon would start that can acknowledge nothing, or an operator would have to guess why it did not."""
        self.machine.stop_daemon()
        self.remount("ro")
        said = self.refused_start()
        self.assertIn(str(self.directory), said)
        self.assertIn("Read-only file system", said)
        self.assertIn("remount,rw", said)
        self.remount("rw")
        self.starts_with_everything()

    def test_a_directory_of_somebody_else(self):
        """Without it the message would name a lock or a database, which is not what has to be mended."""
        self.machine.stop_daemon()
        version = self.directory / "VERSION"
        version.rename(self.directory / "VERSION.away")
        version.mkdir()
        said = self.refused_start()
        self.assertIn(str(version), said)
        version.rmdir()
        (self.directory / "VERSION.away").rename(version)
        self.starts_with_everything()

    def test_a_journal_of_a_newer_version(self):
        """Without it an old program would misread, and then damage, what a newer one wrote."""
        self.machine.stop_daemon()
        version = pathlib.Path(self.directory / "VERSION")
        written = version.read_text()
        version.write_text("999\n")
        before = self.machine.journal_path.read_bytes()
        said = self.refused_start()
        self.assertIn("999", said)
        self.assertIn(str(self.directory), said)
        self.assertIn("newer", said)
        self.assertEqual(self.machine.journal_path.read_bytes(), before, "a refused start wrote to the journal")
        version.write_text(written)
        self.starts_with_everything()

    def test_a_journal_that_was_removed(self):
        """Without it the hint for a removed journal could be to make room on the disk, or steps that are refused one after the other."""
        runner = self.machine.submit("--tenant", "team", "--", "sleep", "600")
        self.machine.wait_for(runner, "running")
        journal = self.machine.journal_path
        journal.unlink()
        answer = self.machine.cli("submit", "--tenant", "team", "--", "true")
        self.assertEqual(answer.code, 6, answer)
        self.assertIn("was moved, removed or replaced", answer.err)
        self.assertIn("put a backup in its place", answer.err)
        self.assertNotIn("free space", answer.err)
        self.machine.kill_daemon()
        said = self.refused_start()
        self.assertIn(f"{journal} is gone", said)
        self.assertIn(f"remove {journal}-wal, -shm and ACKNOWLEDGED", said)
        for name in ("journal.db-wal", "journal.db-shm", "ACKNOWLEDGED", "VERSION"):
            (self.directory / name).unlink(missing_ok=True)
        self.machine.start_daemon()
        self.assertEqual(json.loads(self.machine.ok("queue", "--all", "-o", "json"))["items"], [])
        self.machine.apply(TENANTS)
        everything = self.machine.submit("--tenant", "team", "--npus", "8", "--", "true")
        self.assertEqual(self.machine.wait_for(everything, "ended")["outcome"], "succeeded", "an NPU is still held")

    def test_a_record_with_a_flipped_bit(self):
        """Without it a changed digit in a well-formed record would become the truth, or nobody would learn which record it is."""
        self.machine.kill_daemon()
        def change(difference):
            with contextlib.closing(sqlite3.connect(self.machine.journal_path)) as database, database:
                newest = database.execute("SELECT max(sequence) FROM records").fetchone()[0]
                database.execute("UPDATE records SET at_ms = at_ms + ? WHERE sequence = ?", (difference, newest))
            return newest
        newest = change(1)
        said = self.refused_start()
        self.assertIn(f"record {newest} does not fit its checksum", said)
        self.assertIn(str(self.machine.journal_path), said)
        self.assertIn("put a backup in its place", said)
        change(-1)
        self.starts_with_everything()


if __name__ == "__main__":
    unittest.main()
