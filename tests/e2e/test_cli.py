"""The command `tangram` against a live daemon on the simulated machine."""

import threading
import unittest

import harness

TENANTS = """
apiVersion: tangram.dev/v1
kind: Tenant
metadata: {name: team-a}
spec: {quota: {npus: 4, runningJobs: 4}}
---
apiVersion: tangram.dev/v1
kind: Tenant
metadata: {name: team-b}
spec: {quota: {npus: 2, memoryPerNpu: 16GiB, runTime: 1h, priorities: [normal, low]}}
---
apiVersion: tangram.dev/v1
kind: Tenant
metadata: {name: whole}
"""


class CommandLine(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.machine = harness.Machine()
        cls.addClassCleanup(cls.machine.stop)
        cls.machine.start()
        cls.machine.apply(TENANTS)

    def tearDown(self):
        unfinished = [job["id"] for job in self.machine.json("queue")["items"]]
        if unfinished:
            self.machine.ok("cancel", *unfinished)
            self.machine.cli("wait", *unfinished, "--timeout", "30s")

    def expect(self, code, *arguments, says=(), **options):
        answer = self.machine.cli(*arguments, **options)
        self.assertEqual(answer.code, code, repr(answer))
        for word in says:
            self.assertIn(word, answer.out + answer.err, repr(answer))
        return answer

    def test_apply_says_what_became_of_each(self):
        """Without it nobody could tell whether a file changed anything."""
        self.expect(0, "apply", "-f", "-", input=TENANTS, says=["Tenant/team-a unchanged"])
        changed = TENANTS.replace("npus: 2", "npus: 3")
        self.expect(0, "apply", "-f", "-", input=changed, says=["Tenant/team-a unchanged", "Tenant/team-b changed"])
        self.expect(0, "apply", "-f", "-", input=TENANTS, says=["Tenant/team-b changed"])
        self.expect(2, "apply", "-f", "-", input=TENANTS.replace("npus: 2", "npuz: 2"), says=["npuz", "line"])
        self.expect(2, "apply", "-f", "-", input="a: [", says=["line"])

    def test_exit_status_of_a_job(self):
        """Without it a script could not tell a job that failed."""
        self.expect(0, "submit", "--tenant", "team-a", "--wait", "--", "true")
        self.expect(42, "submit", "--tenant", "team-a", "--wait", "--", "sh", "-c", "exit 42", says=["has failed", "42"])
        self.expect(137, "submit", "--tenant", "team-a", "--wait", "--", "sh", "-c", "kill -9 $$", says=["signal 9"])
        self.expect(1, "submit", "--tenant", "team-a", "--wait", "--time-limit", "200ms", "--", "sleep", "60",
                    says=["time limit"])
        self.expect(1, "submit", "--tenant", "team-a", "--wait", "--", "/nonexistent/program", says=["/nonexistent/program"])

    def test_exit_codes_of_refusals(self):
        """Without it the documented exit codes could drift from what happens."""
        self.expect(4, "describe", "no-such-job", says=["no-such-job"])
        self.expect(4, "quota", "no-such-tenant", says=["no-such-tenant"])
        self.expect(3, "submit", "--tenant", "team-b", "--priority", "high", "--", "true", says=["team-b", "high"])
        self.expect(3, "submit", "--tenant", "team-b", "--npus", "3", "--", "true", says=["team-b", "3", "2"])
        self.expect(3, "submit", "--tenant", "team-b", "--memory", "24GiB", "--", "true", says=["16GiB"])
        self.expect(3, "submit", "--tenant", "team-b", "--time-limit", "2h", "--", "true", says=["1h"])
        self.expect(3, "submit", "--tenant", "whole", "--npus", "9", "--", "true", says=["9"])
        self.expect(2, "submit", "--tenant", "team-a", "--npus", "-1", "--", "true", says=["--npus", "-1"])
        self.expect(5, "status", user=54321)

    def test_no_wait_tells_quota_from_busy(self):
        """Without it --no-wait could not be acted upon."""
        self.machine.submit("--tenant", "team-b", "--npus", "2", "--name", "holds-two", "--", "sleep", "600")
        self.expect(3, "submit", "--tenant", "team-b", "--no-wait", "--", "true", says=["team-b"])
        self.machine.submit("--tenant", "whole", "--npus", "6", "--", "sleep", "600")
        self.expect(1, "submit", "--tenant", "whole", "--no-wait", "--", "true")
        self.expect(7, "submit", "--tenant", "team-b", "--name", "holds-two", "--", "true", says=["holds-two"])
        self.expect(7, "tenant", "delete", "team-b", says=["team-b"])

    def test_waiting_is_explained(self):
        """Without it the queue, `why` and `status` could disagree, or lack numbers and remedies."""
        holder = self.machine.submit("--tenant", "team-a", "--npus", "4", "--name", "holder", "--", "sleep", "600")
        waiter = self.machine.submit("--tenant", "team-a", "--npus", "2", "--name", "waiter", "--", "true")
        self.machine.wait_for(holder, "running")
        self.machine.wait_for(waiter, "waiting")
        queue = self.machine.ok("queue")
        self.assertRegex(queue, rf"1\s+{waiter}\s+waiter\s+team-a\s+normal\s+2\s+waiting")
        self.assertRegex(queue, rf"{holder}\s+holder\s+team-a\s+normal\s+4\s+running\s+0-3")
        why = self.machine.ok("why", "waiter")
        self.assertRegex(why.splitlines()[0], r"waiter.*team-a.*4")
        self.assertIn("would start if:", why)
        self.assertIn("[replayed: starts]", why)
        self.assertIn("position 1 of 1", why)
        status = self.machine.ok("status")
        self.assertRegex(status, r"(?m)^\s*0\s+910B4\s+ok\s+whole\s.*team-a\s+holder")
        self.assertIn("4 of 8 NPUs free", status)
        quota = self.machine.ok("quota", "team-a")
        self.assertRegex(quota, r"npus\s+4/4\s+0")
        self.expect(0, "cancel", holder, says=["is being stopped"])
        self.assertEqual(self.machine.wait_for(waiter, "ended")["outcome"], "succeeded")
        self.expect(7, "cancel", waiter)

    def test_follow_loses_nothing(self):
        """Without it lines printed before or during `logs -f` could be missing, or the command never end."""
        lines = 20000
        job = self.machine.submit("--tenant", "team-a", "--", "seq", "1", str(lines))
        out = self.machine.ok("logs", "-f", job)
        self.assertEqual(out, "".join(f"{n}\n" for n in range(1, lines + 1)))
        self.assertEqual(self.machine.ok("logs", job), out)

    def test_follow_goes_through_restarts(self):
        """Without it the log would seem to end with the first attempt of a restarted job."""
        job = self.machine.submit("--tenant", "team-a", "--restart", "on-failure:2", "--", "sh", "-c", "echo try; exit 1")
        self.assertEqual(self.machine.ok("logs", "-f", job), "try\n" * 3)
        self.assertEqual(self.machine.ok("logs", "--attempt", "1", job), "try\n")

    def test_json_and_yaml(self):
        """Without it scripts would have to read tables."""
        job = self.machine.submit("--tenant", "team-a", "--label", "model=bert", "--", "true")
        self.machine.ok("wait", job)
        self.assertEqual(self.machine.json("describe", job)["labels"], {"model": "bert"})
        ids = [item["id"] for item in self.machine.json("queue", "--all", "--label", "model=bert")["items"]]
        self.assertIn(job, ids)
        self.assertIn(f"id: {job}\n", self.machine.ok("describe", job, "-o", "yaml"))
        self.assertEqual(self.machine.json("version")["server"]["api"], "v1")


class DaemonGoes(unittest.TestCase):
    def test_waiting_commands_survive_a_killed_daemon(self):
        """Without it every waiting script would fail when the daemon is replaced."""
        with harness.Machine() as machine:
            machine.apply(TENANTS)
            job = machine.submit("--tenant", "team-a", "--", "sh", "-c", "echo begin; sleep 3; echo end; exit 5")
            machine.wait_for(job, "running")
            answers = {}
            threads = [threading.Thread(target=lambda name=name, words=words: answers.update({name: machine.cli(*words)}))
                       for name, words in (("wait", ("wait", job)), ("logs", ("logs", "-f", job)))]
            for thread in threads:
                thread.start()
            machine.wait_until(lambda: machine.connections() == len(threads), "both commands are connected")
            machine.kill_daemon()
            self.assertEqual(machine.cli("status").code, 6)
            machine.start_daemon()
            for thread in threads:
                thread.join(60)
            self.assertEqual(answers["wait"].code, 5, repr(answers["wait"]))
            self.assertEqual(answers["logs"].out, "begin\nend\n", repr(answers["logs"]))


if __name__ == "__main__":
    unittest.main()
