"""What operators do to a machine by mistake: wrong files moved, backups put back, two daemons, closed descriptors."""

import pathlib
import resource
import shutil
import subprocess
import unittest

from harness import Machine, program

TENANTS = """
apiVersion: tangram.dev/v1
kind: Tenant
metadata: {name: team}
spec: {quota: {npus: 8}}
"""


class Mishaps(unittest.TestCase):
    def setUp(self):
        self.machine = Machine()
        self.addCleanup(self.machine.stop)
        self.machine.start()
        self.machine.apply(TENANTS)

    def run_daemon(self, *arguments, **options):
        """A daemon that is expected to end at once."""
        return subprocess.run([program("tangramd"), *map(str, arguments)], capture_output=True, text=True, timeout=30,
                              check=False, **options)

    def running(self, *arguments):
        job = self.machine.submit("--tenant", "team", *arguments)
        self.machine.wait_for(job, "running")
        return job

    def test_an_older_journal_is_put_back(self):
        """Without it lost jobs would hold NPUs that are given again, and every new job would fail for their names."""
        kept = self.running("--npus", "1", "--", "sleep", "600")
        self.machine.stop_daemon()
        backup = self.machine.root / "backup.db"
        shutil.copy(self.machine.journal_path, backup)
        self.machine.start_daemon()
        lost = self.running("--npus", "7", "--", "sleep", "600")
        pids = self.pids_of(lost)
        self.assertTrue(pids)
        self.machine.stop_daemon()
        shutil.copy(backup, self.machine.journal_path)
        refused = self.run_daemon("--root", self.machine.state, "--config", self.machine.config_path)
        self.assertEqual(refused.returncode, 6, refused)
        mark = self.machine.journal_path.parent / "ACKNOWLEDGED"
        self.assertIn("were acknowledged", refused.stderr)
        self.assertIn(f"remove {mark}", refused.stderr)
        mark.unlink()
        self.machine.start_daemon()
        self.assertEqual(self.machine.job(kept)["state"], "running")
        self.assertEqual([pid for pid in pids if pathlib.Path(f"/proc/{pid}").exists()], [])
        job = self.running("--npus", "7", "--", "sleep", "600")
        self.assertEqual(job, lost, "the test wants the same name")
        self.assertTrue((self.machine.state / "lib/jobs" / lost / "1.lost-1/log").exists())
        self.assertIn("set aside", self.machine.log())

    def pids_of(self, job):
        pids = []
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdigit() and self.machine.job_of_process(entry.name) == f"{job}.1":
                pids.append(entry.name)
        return pids

    def test_a_low_soft_limit_of_open_files_is_raised(self):
        """Without it the usual soft limit of 1,024 would hold neither the connections nor the jobs that are allowed."""
        self.machine.stop_daemon()
        self.machine.wrapper = ("sh", "-c", 'ulimit -Sn 256; exec "$@"', "sh")
        self.machine.start_daemon()
        soft, hard = resource.prlimit(self.machine.daemon.pid, resource.RLIMIT_NOFILE)
        self.assertEqual(soft, hard)

    def test_the_log_of_the_journal_is_damaged(self):
        """Without it acknowledged jobs would vanish at the next start, and nobody would be told."""
        jobs = [self.machine.submit("--tenant", "team", "--npus", "8", "--", "sleep", "600") for _ in range(8)]
        self.machine.kill_daemon()
        log = self.machine.journal_path.parent / "journal.db-wal"
        whole = log.read_bytes()
        middle = len(whole) // 2
        log.write_bytes(whole[:middle] + bytes([whole[middle] ^ 255]) + whole[middle + 1:])
        refused = self.run_daemon("--root", self.machine.state, "--config", self.machine.config_path)
        self.assertEqual(refused.returncode, 6, refused)
        self.assertIn("were acknowledged", refused.stderr)
        self.assertIn("journal.db", refused.stderr)
        log.write_bytes(whole)
        self.machine.start_daemon()
        self.assertEqual({self.machine.job(job)["state"] for job in jobs}, {"running", "waiting"})

    def test_the_journal_is_moved_away(self):
        """Without it jobs would be acknowledged into a file that no later start reads."""
        elsewhere = self.machine.root / "elsewhere.db"
        self.machine.journal_path.rename(elsewhere)
        answer = self.machine.cli("submit", "--tenant", "team", "--", "true")
        self.assertEqual(answer.code, 6, answer)
        self.assertIn("moved", answer.err)
        elsewhere.rename(self.machine.journal_path)
        self.machine.submit("--tenant", "team", "--", "true")

    def test_the_jobs_directory_is_removed(self):
        """Without it the queue would be burnt job by job, and a running job's NPUs be held long after its end."""
        job = self.running("--", "sleep", "2")
        shutil.rmtree(self.machine.state / "lib/jobs")
        other = self.machine.submit("--tenant", "team", "--", "true")
        self.assertEqual(self.machine.wait_for(other, "ended")["outcome"], "succeeded")
        view = self.machine.wait_for(job, "ended", timeout=20)
        self.assertEqual(view["outcome"], "lost")
        self.assertIn("directory", view["message"])

    def test_two_daemons_in_one_control_group(self):
        """Without it the jobs of both, which are named alike, would kill each other."""
        job = self.running("--", "sleep", "600")
        answer = self.run_daemon("--root", self.machine.root / "second", "--config", self.machine.config_path)
        self.assertEqual(answer.returncode, 7, answer)
        self.assertIn("control group", answer.stderr)
        self.assertIn("`cgroup`", answer.stderr)
        self.assertEqual(self.machine.job(job)["state"], "running")

    def test_a_configuration_that_is_no_file(self):
        """Without it a daemon would start with defaults instead of what was configured."""
        for path in (self.machine.root, self.machine.root / "none.yaml"):
            answer = self.run_daemon("--root", self.machine.root / "second", "--config", path)
            self.assertNotEqual(answer.returncode, 0, answer)
            self.assertIn(str(path), answer.stderr)

    def test_closed_descriptors(self):
        """Without it the log would be written into whatever file got the number of standard error."""
        self.machine.stop_daemon()
        lock = self.machine.state / "lib/LOCK"
        self.machine.wrapper = ("sh", "-c", 'exec "$0" "$@" <&- >&- 2>&-')
        self.machine.start_daemon()
        self.machine.wait_for(self.machine.submit("--tenant", "team", "--", "true"), "ended")
        self.assertEqual(lock.read_text(), f"{self.machine.daemon.pid}\n")
        run = subprocess.run(["sh", "-c", 'exec "$0" queue >&-', program("tangram")], stderr=subprocess.PIPE, text=True,
                             env={"TANGRAM_SOCKET": str(self.machine.socket)}, check=False)
        self.assertEqual(run.returncode, 6, run)
        self.assertIn("standard output", run.stderr)

    def test_refused_jobs_do_not_pile_up(self):
        """Without it one tenant could fill the daemon's memory with jobs that were refused."""
        self.machine.stop_daemon()
        self.machine.write_config(retention={"endedJobsMax": 100})
        self.machine.start_daemon()
        self.running("--npus", "8", "--", "sleep", "600")
        items = [{"tenant": "team", "noWait": True, "command": ["true"]}] * 1000
        for _ in range(10):
            status, _ = self.machine.api("POST", "/v1/jobs", {"items": items})
            self.assertEqual(status, 200)
        self.machine.wait_until(lambda: len(self.machine.journal("job_forgotten")) > 4000, "the oldest are forgotten")


if __name__ == "__main__":
    unittest.main()
