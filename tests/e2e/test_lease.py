"""Leases: NPUs without a job's program, held by whoever asked, given back when that one is gone."""

import json
import os
import signal
import subprocess
import threading
import time
import unittest

import harness
from harness import Machine

TENANTS = """
apiVersion: tangram.dev/v1
kind: Tenant
metadata: {name: team-a}
spec: {quota: {npus: 4}}
---
apiVersion: tangram.dev/v1
kind: Tenant
metadata: {name: team-b}
spec: {quota: {npus: 8}}
"""
NPUS = 8
GRACE_SECONDS = 10  # jobs.leaseGrace when nobody sets it


class Holder:
    """`tangram lease …` as a process."""

    def __init__(self, machine, *words):
        self.process = subprocess.Popen(
            [harness.program("tangram"), "lease", *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env={"PATH": os.environ["PATH"], "TANGRAM_SOCKET": str(machine.socket)},
            preexec_fn=harness.die_with_parent)

    def kill(self, number=signal.SIGKILL):
        self.process.send_signal(number)

    def end(self, timeout=30):
        out, err = self.process.communicate(timeout=timeout)
        return self.process.returncode, out, err

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


class Stream:
    """A lease held over raw HTTP: the events of its stream, each a parsed LeaseView."""

    def __init__(self, machine, path, body):
        self.process = subprocess.Popen(
            ["curl", "--silent", "--show-error", "--no-buffer", "--unix-socket", str(machine.socket), "--data", json.dumps(body),
             "--header", "Content-Type: application/json", f"http://tangram{path}"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=harness.die_with_parent)
        self.events, self.comments = [], 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            if line.startswith("data: "):
                self.events.append(json.loads(line[6:]))
            elif line.startswith(":"):
                self.comments += 1

    def close(self):
        self.process.kill()
        self.process.wait()
        self._reader.join()
        self.process.stdout.close()
        self.process.stderr.close()


class Leases(unittest.TestCase):
    def setUp(self):
        self.machine = Machine(config={"jobs": {"grace": "3s"}})
        self.addCleanup(self.machine.stop)
        self.machine.start()
        self.machine.apply(TENANTS)

    def hold(self, *words):
        holder = Holder(self.machine, *words)
        self.addCleanup(holder.close)
        return holder

    def stream(self, path, body):
        stream = Stream(self.machine, path, body)
        self.addCleanup(stream.close)
        return stream

    def free(self):
        return self.machine.status()["npusFree"]

    def the_lease(self):
        """The one unfinished lease, once it is held."""
        def held():
            leases = [job for job in self.machine.json("queue")["items"]
                      if job.get("kind") == "lease" and job["state"] == "running"]
            return leases[0] if leases else None
        return self.machine.wait_until(held, "a lease is held")

    def test_a_program_of_the_caller_gets_its_npus(self):
        """Without it `tangram lease` would not tell the program which NPUs it has, or not end as it does."""
        script = 'echo "$ASCEND_RT_VISIBLE_DEVICES $TANGRAM_NPUS $TANGRAM_TENANT $TANGRAM_JOB_ID"; tangram queue; exit 7'
        path = f"{harness.BUILD}/bin:{os.environ['PATH']}"
        done = subprocess.run(
            [harness.program("tangram"), "lease", "--tenant", "team-a", "--npus", "2", "--name", "notebook", "--", "sh", "-c",
             script], capture_output=True, text=True, timeout=60, check=False,
            env={"PATH": path, "TANGRAM_SOCKET": str(self.machine.socket)})
        self.assertEqual(done.returncode, 7, done.stderr)
        first, *table = done.stdout.splitlines()
        self.assertRegex(first, r"^0,1 0,1 team-a j-\d+$")
        self.assertRegex("\n".join(table), r"notebook \(lease\) +team-a +normal +2 +running +0,1")
        self.assertRegex(done.stderr, r"lease notebook \(j-\d+\) is held on NPUs 0, 1")
        self.assertEqual(self.free(), NPUS)
        view = self.machine.job("notebook")
        self.assertEqual((view["kind"], view["outcome"]), ("lease", "succeeded"))

    def test_a_killed_holder_loses_its_lease_and_its_program(self):
        """Without it NPUs of a caller that died would stay taken, or be used on without a lease."""
        holder = self.hold("--tenant", "team-a", "--npus", 3, "--", "sleep", "631")
        lease = self.the_lease()
        self.assertEqual(lease["npus"], [0, 1, 2])
        waiting = self.hold("--tenant", "team-a", "--npus", 2)
        self.machine.wait_until(lambda: self.machine.status()["jobsQueued"] == 1, "the next one waits")
        began = time.monotonic()
        holder.kill()
        ended = self.machine.wait_for(lease["id"], "ended", timeout=10)
        self.assertLess(time.monotonic() - began, 5)
        self.assertEqual(ended["outcome"], "lost")
        self.assertIn("its holder went away", ended["message"])
        self.assertEqual(subprocess.run(["pgrep", "-f", "^sleep 631$"], check=False, capture_output=True).returncode, 1)
        self.assertEqual(self.the_lease()["npus"], [0, 1], "the next one got its turn")
        waiting.kill(signal.SIGTERM)
        code, out, err = waiting.end()
        self.assertEqual((code, out.startswith("j-")), (0, True), err)
        self.machine.wait_until(lambda: self.free() == NPUS, "all NPUs are free again")

    def test_a_killed_daemon_costs_nobody_a_lease(self):
        """Without it every restart would take the NPUs from under running programs."""
        marks = self.machine.shared / "done"
        holder = self.hold("--tenant", "team-a", "--npus", 2, "--", "sh", "-c", f"sleep 12; echo done > {marks}")
        lease = self.the_lease()
        for _ in range(3):
            self.machine.kill_daemon()
            self.machine.start_daemon()
            self.assertEqual(self.machine.job(lease["id"])["state"], "running")
            self.assertEqual(self.free(), NPUS - 2)
        code, _, err = holder.end()
        self.assertEqual(code, 0, err)
        self.assertIn("taken up again", err)
        self.assertEqual(marks.read_text(), "done\n")
        self.assertEqual(self.machine.job(lease["id"])["outcome"], "succeeded")
        self.assertEqual(len(self.machine.journal("job_started")), 1)

    def test_a_stopped_daemon_costs_nobody_a_lease(self):
        """Without it a clean stop would read the end of all connections as the death of all holders."""
        holder = self.hold("--tenant", "team-a", "--npus", 2, "--", "sleep", "600")
        lease = self.the_lease()
        self.machine.stop_daemon()
        self.machine.start_daemon()
        time.sleep(2)
        self.assertEqual(self.machine.job(lease["id"])["state"], "running")
        holder.kill()
        self.assertEqual(self.machine.wait_for(lease["id"], "ended", timeout=10)["outcome"], "lost")

    def test_a_holder_that_dies_while_the_daemon_is_away_loses_its_lease_after_the_grace(self):
        """Without it the NPUs of one who died at the wrong moment would be lost for ever, or given away too soon."""
        holder = self.hold("--tenant", "team-a", "--npus", 2)
        lease = self.the_lease()
        self.machine.kill_daemon()
        holder.kill()
        holder.close()
        began = time.monotonic()
        self.machine.start_daemon()
        self.machine.wait_until(lambda: self.free() == NPUS, "the lease is taken back", timeout=GRACE_SECONDS + 15)
        self.assertGreater(time.monotonic() - began, GRACE_SECONDS - 1)
        ended = self.machine.job(lease["id"])
        self.assertEqual(ended["outcome"], "lost")
        self.assertIn("10s", ended["message"])

    def test_over_http_the_token_takes_it_up_again(self):
        """Without it a client of another language could not hold a lease through a restart, or anybody could."""
        held = self.stream("/v1/leases", {"tenant": "team-a", "npus": 1})
        self.machine.wait_until(lambda: held.events, "the first event comes")
        first = held.events[0]
        self.assertEqual((first["job"]["state"], first["job"]["npus"], first["grace"]), ("running", [0], "10s"))
        token, job = first["token"], first["job"]["id"]
        self.machine.wait_until(lambda: held.comments >= 1, "the daemon gives a sign of life", timeout=15)
        self.machine.kill_daemon()
        self.assertNotIn(token, self.machine.journal_path.read_bytes().decode("latin-1"))
        self.assertNotIn(token, self.machine.log())
        self.machine.start_daemon()
        status, problem = self.machine.api("POST", f"/v1/leases/{job}/hold", {"token": "tgl_" + "0" * 64})
        self.assertEqual((status, problem["reason"]), (403, "lease.token.wrong"))
        again = self.stream(f"/v1/leases/{job}/hold", {"token": token})
        self.machine.wait_until(lambda: again.events, "the lease is held again")
        self.assertNotIn("token", again.events[0])
        time.sleep(GRACE_SECONDS + 1)
        self.assertEqual(self.machine.job(job)["state"], "running")
        status, view = self.machine.api("POST", f"/v1/leases/{job}/release", {"token": token})
        self.assertEqual((status, view["outcome"]), (200, "succeeded"))
        self.machine.wait_until(lambda: again.events[-1]["job"]["state"] == "ended", "the stream tells the end")
        self.assertEqual(again.process.wait(timeout=10), 0, "the stream ends with the lease")

    def test_the_operator_takes_it_back(self):
        """Without it the operator could not end a lease, or its holder would not get the time to clean up."""
        gentle = self.hold("--tenant", "team-a", "--npus", 1, "--", "sh", "-c", "trap 'exit 5' TERM; while :; do sleep 0.1; done")
        lease = self.the_lease()
        self.machine.ok("cancel", lease["id"])
        code, _, err = gentle.end()
        self.assertEqual(code, 5, err)
        self.assertIn("is to be released: it was cancelled", err)
        self.assertEqual(self.machine.job(lease["id"])["outcome"], "cancelled")

        stubborn = self.hold("--tenant", "team-a", "--npus", 1, "--", "sh", "-c", "trap '' TERM; while :; do sleep 0.1; done")
        lease = self.the_lease()
        began = time.monotonic()
        self.machine.ok("cancel", lease["id"])
        code, _, err = stubborn.end()
        self.assertGreater(time.monotonic() - began, 2.5, "jobs.grace")
        self.assertEqual(code, 128 + signal.SIGKILL, err)
        self.assertEqual(self.machine.wait_for(lease["id"], "ended")["outcome"], "cancelled")

    def test_the_time_limit_ends_it(self):
        """Without it a lease could be held for ever under a quota that limits the run time."""
        holder = self.hold("--tenant", "team-a", "--time-limit", "2s", "--", "sleep", "600")
        lease = self.the_lease()
        code, _, err = holder.end()
        self.assertEqual(code, 128 + signal.SIGTERM, err)
        ended = self.machine.job(lease["id"])
        self.assertEqual(ended["outcome"], "timed-out")

    def test_no_wait_and_bad_requests(self):
        """Without it a caller that cannot wait would wait, and slips would be leases."""
        self.hold("--tenant", "team-a", "--npus", 4)
        self.the_lease()
        answer = self.machine.cli("lease", "--tenant", "team-a", "--no-wait", "--", "true")
        self.assertEqual(answer.code, 3, answer)
        self.assertIn("4 of 4", answer.err)
        answer = self.machine.cli("lease", "--tenant", "team-b", "--", "/no/such/program")
        self.assertEqual(answer.code, 2, answer)
        self.assertIn("cannot execute /no/such/program", answer.err)
        status, problem = self.machine.api("POST", "/v1/leases", {"tenant": "team-a", "command": ["x"]})
        self.assertEqual((status, problem["reason"]), (400, "input.unknown_field"))
        job = self.machine.submit("--tenant", "team-b", "--", "sleep", "600")
        status, problem = self.machine.api("POST", f"/v1/leases/{job}/release", {"token": "x"})
        self.assertEqual((status, problem["reason"]), (409, "lease.no_lease"))
        status, problem = self.machine.api("GET", f"/v1/jobs/{self.the_lease()['id']}/logs")
        self.assertEqual((status, problem["reason"]), (409, "job.no_log"))
        self.machine.wait_until(lambda: self.free() == NPUS - 5, "nothing of the failures is left")


class KillsAtTheGrant(unittest.TestCase):
    def test_a_lease_that_nobody_was_told_of_is_taken_back(self):
        """Without it a lease that was on record but never told to anybody would hold its NPUs for ever."""
        machine = Machine(config={"jobs": {"leaseGrace": "2s"}})
        self.addCleanup(machine.stop)
        machine.start()
        machine.apply(TENANTS)
        # The first records of a daemon are its own.
        for place in ("service.before_append:2", "service.before_append:3", "service.after_append:2", "service.after_append:3"):
            with self.subTest(place):
                machine.kill_daemon()
                machine.start_daemon(env={"TANGRAM_CRASH_AT": place}, wait=False)
                machine.wait_until(machine.is_ready, "the daemon answers")
                holders = []

                def dead():
                    # One record may be that of several leases, so that more may have to ask.
                    if machine.daemon.poll() is None and len(holders) < 20:
                        holders.append(Holder(machine, "--tenant", "team-b", "--npus", len(holders) % 3 + 1))
                        self.addCleanup(holders[-1].close)
                    return machine.daemon.poll() is not None
                machine.wait_until(dead, f"the daemon dies at {place}")
                self.assertEqual(machine.daemon.returncode, -signal.SIGKILL)
                for holder in holders:
                    holder.close()
                machine.start_daemon()
                machine.wait_until(lambda: machine.status()["npusFree"] == NPUS, "all NPUs are free", timeout=30)
                unfinished = [job for job in machine.json("queue")["items"]]
                self.assertEqual(unfinished, [])


if __name__ == "__main__":
    unittest.main()
