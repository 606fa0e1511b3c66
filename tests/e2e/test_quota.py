"""Every dimension of a quota at its limit and one over it, and what becomes of jobs in the face of limits."""

import json
import os
import signal
import unittest

import harness
import raw_http

SLEEP = ("--", "sleep", "600")

# One NPU of the default machine: 910B4.
NPU_MEMORY = "32GiB"
NPU_CORES = 20


def tenant(name, quota=None, parent=None, **spec):
    if quota is not None:
        spec["quota"] = quota
    if parent is not None:
        spec["parent"] = parent
    return json.dumps({"apiVersion": "tangram.dev/v1", "kind": "Tenant", "metadata": {"name": name}, "spec": spec})


class Case(unittest.TestCase):
    """One machine for each class; each test makes its tenants and leaves nothing behind."""

    config = {}

    @classmethod
    def setUpClass(cls):
        cls.machine = harness.Machine(config=cls.config)
        cls.addClassCleanup(cls.machine.stop)
        cls.machine.start()

    def tearDown(self):
        self.end_all()
        children_first = sorted(self.machine.json("quota")["items"], key=lambda item: "parent" not in item["tenant"])
        for item in children_first:
            self.machine.ok("tenant", "delete", item["tenant"]["name"])

    def end_all(self):
        jobs = [job["id"] for job in self.machine.json("queue")["items"]]
        if jobs:
            self.machine.cli("cancel", *jobs)
            self.machine.cli("wait", *jobs, "--timeout", "60s")

    def put(self, *documents):
        self.machine.apply("".join(f"---\n{document}\n" for document in documents))

    def expect(self, code, *arguments, says=(), **options):
        answer = self.machine.cli(*arguments, **options)
        self.assertEqual(answer.code, code, repr(answer))
        for word in says:
            self.assertIn(word, answer.out + answer.err, repr(answer))
        return answer

    def start(self, *arguments):
        job = self.machine.submit(*arguments)
        self.machine.wait_for(job, "running")
        return job

    def reason(self, job):
        items = [item for item in self.machine.json("queue")["items"] if item["id"] == job]
        self.assertEqual([item["state"] for item in items], ["waiting"])
        return items[0]["reason"]

    def used(self, name):
        return self.machine.json("quota", name)["items"][0]["used"]


# field of the quota, its limit, what uses it up, what is one over, what can never fit, the reason's token, words
COUNTED = (
    ("npus", 2, ("--npus", "2"), ("--npus", "1"), ("--npus", "3"), "npus", "2 of 2 NPUs", "1 NPU"),
    ("memoryTotal", "64GiB", ("--npus", "2"), ("--npus", "1"), ("--npus", "3"), "memory_total", "64GiB of 64GiB",
     NPU_MEMORY),
    ("aiCores", 2 * NPU_CORES, ("--npus", "2"), ("--npus", "1"), ("--npus", "3"), "ai_cores", "40 of 40 AI cores",
     "20 AI cores"),
    ("runningJobs", 1, (), (), None, "running_jobs", "1 of at most 1 job", "1 job"),
    ("bandwidth", "10Gbps", ("--bandwidth", "10Gbps"), ("--bandwidth", "1Gbps"), ("--bandwidth", "11Gbps"),
     "bandwidth", "10Gbps of 10Gbps", "1Gbps"),
)


class CountedDimensions(Case):
    """What jobs use up together."""

    def check(self, field, limit, at_limit, over, never, token, numbers, asked, ancestor):
        limited, user = ("top", "team") if ancestor else ("team", "team")
        documents = [tenant(limited, {field: limit})]
        if ancestor:
            documents.append(tenant(user, {}, parent=limited))
        self.put(*documents)
        submit = ("submit", "--tenant", user)

        holder = self.start("--tenant", user, "--name", "holder", *at_limit, *SLEEP)
        self.assertEqual(self.used(limited)[field], limit)
        shown = self.machine.ok("quota", limited)
        self.assertRegex(shown, rf"(?m)^\s*{field}\s+{limit}/{limit}\s+0")
        self.assertEqual("bandwidth is booked, not shaped" in shown, field == "bandwidth")

        # One over waits, and everything that tells about it has the numbers.
        told = json.loads(self.machine.ok(*submit, "--name", "waiter", *over, "-o", "json", *SLEEP))
        self.assertEqual(told["state"], "waiting", told)
        waiter = told["id"]
        queued = self.reason(waiter)
        for reason in (told["reason"], queued, self.machine.json("why", waiter)["blockers"][0]):
            self.assertEqual(reason["code"], f"quota.{token}.exceeded")
            self.assertIn(f"tenant {limited}", reason["message"])
            self.assertIn(numbers, reason["message"])
            self.assertEqual(reason["details"]["tenant"], limited)
            self.assertEqual(reason["details"]["dimension"], field)
        if field != "runningJobs":
            self.assertIn(f"needs {asked}", queued["message"])
        self.assertIn(queued["message"], " ".join(self.machine.ok("queue").split()))

        # Not to wait: refused by the quota.
        records = len(self.machine.journal("job_started"))
        self.expect(3, *submit, "--no-wait", *over, *SLEEP, says=[limited, numbers])
        self.assertEqual(len(self.machine.journal("job_started")), records)
        # More than the whole limit: refused at once, with a remedy.
        if never is not None:
            before = len(self.machine.journal())
            answer = self.expect(3, *submit, *never, *SLEEP, says=[limited, f"spec.quota.{field}"])
            self.assertRegex(answer.err, r"(?s)may (hold|book) at most")
            self.assertEqual(len(self.machine.journal()), before)

        # Remedies are true.
        remedies = {remedy["command"].split()[1]: remedy for remedy in self.machine.json("why", waiter)["remedies"]}
        self.assertEqual(remedies["cancel"]["command"], f"tangram cancel {holder}")
        self.assertTrue(all(remedy["starts"] for remedy in remedies.values()))
        if ancestor:
            self.assertIn(f"spec.quota.{field} of tenant {limited} to ", remedies["quota"]["text"])
            raised = remedies["quota"]["text"].split(" to ")[-1].split()[0]
            self.put(tenant(limited, {field: int(raised) if raised.isdigit() else raised}))
            self.machine.wait_for(waiter, "running")
            self.assertEqual(self.machine.job(holder)["state"], "running")
        else:
            self.machine.ok(*remedies["cancel"]["command"].split()[1:])
            self.machine.wait_for(waiter, "running")
        self.end_all()
        self.assertEqual([value for value in self.used(limited).values() if value not in (0, "0B", "0bps", "0")], [])

    def test_own_limit(self):
        """Without it a tenant could pass its own limit, or not learn which one it stands at."""
        for case in COUNTED:
            with self.subTest(case[0]):
                try:
                    self.check(*case, ancestor=False)
                finally:
                    self.tearDown()

    def test_limit_of_an_ancestor(self):
        """Without it the tenants of a group could together pass the group's limit."""
        for case in COUNTED:
            with self.subTest(case[0]):
                try:
                    self.check(*case, ancestor=True)
                finally:
                    self.tearDown()

    def test_running_jobs_of_zero(self):
        """Without it a closed tenant would let its jobs wait for ever."""
        self.put(tenant("team", {"runningJobs": 0}))
        self.expect(3, "submit", "--tenant", "team", *SLEEP, says=["team", "at most 0 jobs", "spec.quota.runningJobs"])

    def test_unused_limits_are_shared_by_siblings(self):
        """Without it a group's limit could be charged for one child only."""
        self.put(tenant("top", {"npus": 3}), tenant("left", {"npus": 2}, "top"), tenant("right", {"npus": 2}, "top"))
        self.start("--tenant", "left", "--npus", "2", *SLEEP)
        self.start("--tenant", "right", "--npus", "1", *SLEEP)
        waiter = self.machine.submit("--tenant", "right", "--npus", "1", *SLEEP)
        self.assertIn("tenant top (above right) holds 3 of 3 NPUs", self.reason(waiter)["message"])


class StaticDimensions(Case):
    """What each job must meet by itself."""

    def test_memory_per_npu(self):
        """Without it one job could take more memory of an NPU than its tenant may."""
        self.put(tenant("top", {"memoryPerNpu": "24GiB"}), tenant("team", {"memoryPerNpu": "16GiB"}),
                 tenant("child", {}, "top"))
        for name, limit, over in (("team", "16GiB", "16385MiB"), ("child", "24GiB", "25GiB")):
            self.start("--tenant", name, "--memory", limit, *SLEEP)
            before = len(self.machine.journal())
            self.expect(3, "submit", "--tenant", name, "--memory", over, *SLEEP,
                        says=[over, limit, "--memory", "spec.quota.memoryPerNpu"])
            self.assertEqual(len(self.machine.journal()), before)

    def test_run_time(self):
        """Without it a job could outstay its tenant's limit."""
        self.put(tenant("top", {"runTime": "2h"}), tenant("team", {"runTime": "1h"}), tenant("child", {}, "top"))
        for name, limit, over in (("team", "1h", "1h1s"), ("child", "2h", "3h")):
            self.start("--tenant", name, "--time-limit", limit, *SLEEP)
            before = len(self.machine.journal())
            self.expect(3, "submit", "--tenant", name, "--time-limit", over, *SLEEP,
                        says=[over, limit, "--time-limit", "spec.quota.runTime"])
            self.assertEqual(len(self.machine.journal()), before)

    def test_priorities(self):
        """Without it everybody's jobs would be high."""
        self.put(tenant("top", {"priorities": ["low"]}), tenant("team", {"priorities": ["normal", "low"]}),
                 tenant("child", {}, "top"))
        for name, allowed, refused in (("team", "normal", "high"), ("child", "low", "normal")):
            self.start("--tenant", name, "--priority", allowed, *SLEEP)
            before = len(self.machine.journal())
            self.expect(3, "submit", "--tenant", name, "--priority", refused, *SLEEP,
                        says=[refused, f"may use {'normal, low' if name == 'team' else 'low'}", "--priority"])
            self.assertEqual(len(self.machine.journal()), before)

    def test_what_is_left_out(self):
        """Without it the documented defaults could drift from what a job gets."""
        self.put(tenant("plain"), tenant("tight", {"memoryPerNpu": "16GiB", "runTime": "1h"}),
                 tenant("tighter", {"runTime": "30m"}, "tight"))
        plain = self.machine.job(self.machine.submit("--tenant", "plain", "--", "true"))
        self.assertEqual(plain["memoryPerNpu"], NPU_MEMORY)
        self.assertNotIn("timeLimit", plain)
        self.assertEqual((plain["npusRequested"], plain["priority"]), (1, "normal"))
        tight = self.machine.job(self.machine.submit("--tenant", "tight", "--", "true"))
        self.assertEqual((tight["memoryPerNpu"], tight["timeLimit"]), ("16GiB", "1h"))
        tighter = self.machine.job(self.machine.submit("--tenant", "tighter", "--", "true"))
        self.assertEqual((tighter["memoryPerNpu"], tighter["timeLimit"]), ("16GiB", "30m"))

    def test_more_than_the_machine_has(self):
        """Without it a job that never fits would wait for ever."""
        self.put(tenant("plain"))
        before = len(self.machine.journal())
        self.expect(3, "submit", "--tenant", "plain", "--npus", "9", *SLEEP, says=["9 NPUs", "no node has more than 8", "--npus 8"])
        self.expect(3, "submit", "--tenant", "plain", "--memory", "33GiB", *SLEEP, says=["33GiB", "--memory"])
        self.assertEqual(len(self.machine.journal()), before)


class Changes(Case):
    """Limits, NPUs and tenants that change under jobs."""

    def test_limit_lowered_below_use(self):
        """Without it an operator could not close a tenant, or running jobs would be lost."""
        self.put(tenant("team", {"npus": 4}))
        holder = self.start("--tenant", "team", "--npus", "4", *SLEEP)
        large = self.machine.submit("--tenant", "team", "--npus", "3", *SLEEP)
        small = self.machine.submit("--tenant", "team", "--npus", "2", *SLEEP)
        self.put(tenant("team", {"npus": 2}))
        self.assertEqual(self.machine.job(holder)["state"], "running")
        self.assertRegex(self.machine.ok("quota", "team"), r"(?m)^\s*npus\s+4/2\s+2 over")
        self.machine.wait_until(lambda: self.reason(large)["code"] == "quota.npus.above_limit", "the reason is new")
        self.assertIn("needs 3 NPUs and tenant team may hold at most 2 NPUs", self.reason(large)["message"])
        self.assertIn("cannot run as things are", self.machine.ok("why", large))
        self.assertIn("holds 4 of 2 NPUs", self.reason(small)["message"])
        self.machine.ok("cancel", holder)
        self.machine.wait_for(small, "running")
        self.assertEqual(self.machine.job(large)["state"], "waiting")
        self.put(tenant("team", {"npus": 5}))
        self.machine.wait_for(large, "running")

    def test_release_of_exactly_its_own(self):
        """Without it one job's end could free another's NPUs."""
        self.put(tenant("team"))
        jobs = [self.start("--tenant", "team", "--npus", "2", *SLEEP) for _ in range(3)]
        held = {job: self.machine.job(job)["npus"] for job in jobs}
        self.machine.ok("cancel", jobs[1])
        self.machine.wait_for(jobs[1], "ended")
        holders = {npu["npu"]: npu.get("job") for npu in self.machine.status()["npus"]}
        for job in (jobs[0], jobs[2]):
            self.assertEqual([holders[npu] for npu in held[job]], [job, job])
        self.assertEqual([holders[npu] for npu in held[jobs[1]]], [None, None])
        again = self.start("--tenant", "team", "--npus", "4", *SLEEP)
        self.assertEqual(sorted(self.machine.job(again)["npus"] + held[jobs[0]] + held[jobs[2]]), list(range(8)))

    def test_unhealthy_npus(self):
        """Without it jobs would be put on broken NPUs, or wait without saying for what."""
        self.put(tenant("team"))
        try:
            self.machine.simulator_ctl("health", 0, "alarm")
            self.machine.simulator_ctl("health", 5, "critical")
            self.machine.wait_until(lambda: self.machine.status()["npusFree"] == 6, "two are known to be ill")
            waiter = self.machine.submit("--tenant", "team", "--npus", "7", *SLEEP)
            reason = self.reason(waiter)
            self.assertEqual(reason["code"], "capacity.npus.unhealthy")
            self.assertIn("needs 7 NPUs", reason["message"])
            self.assertIn("of 8 NPUs that would do, 2 are not healthy (NPU 0, NPU 5)", reason["message"])
            told = " ".join(self.machine.ok("why", waiter).split())  # it breaks lines where the terminal ends
            self.assertIn("2 are not healthy (NPU 0, NPU 5), 6 are free", told)
            self.expect(1, "submit", "--tenant", "team", "--npus", "7", "--no-wait", *SLEEP, says=["not healthy"])
            other = self.start("--tenant", "team", "--npus", "6", *SLEEP)
            self.assertEqual(self.machine.job(other)["npus"], [1, 2, 3, 4, 6, 7])
            self.machine.ok("cancel", other)
            self.machine.simulator_ctl("health", 5, "ok")
            self.machine.wait_for(waiter, "running")
            self.assertNotIn(0, self.machine.job(waiter)["npus"])
        finally:
            for npu in (0, 5):
                self.machine.simulator_ctl("health", npu, "ok")
            self.machine.wait_until(lambda: all(npu["health"] == "ok" for npu in self.machine.status()["npus"]),
                                    "all are well again")

    def test_tenant_with_jobs_stays(self):
        """Without it jobs would run on for a tenant that nobody knows."""
        self.put(tenant("top"), tenant("team", {"npus": 1}, "top"))
        holder = self.start("--tenant", "team", *SLEEP)
        waiter = self.machine.submit("--tenant", "team", *SLEEP)
        self.expect(7, "tenant", "delete", "team", says=["team", "2"])
        self.expect(7, "tenant", "delete", "top", says=["top"])
        self.machine.ok("cancel", holder)
        self.machine.wait_for(waiter, "running")
        self.expect(7, "tenant", "delete", "team", says=["team"])
        self.end_all()
        self.machine.ok("tenant", "delete", "team")
        self.expect(4, "quota", "team", says=["team"])
        # Its history stays readable.
        self.assertEqual(self.machine.job(holder)["tenant"], "team")

    def test_answer_tells_what_was_decided(self):
        """Without it `submit -o json` would show a state that is over before it is read."""
        self.put(tenant("team", {"npus": 8}))
        started = json.loads(self.machine.ok("submit", "--tenant", "team", "--npus", "8", "-o", "json", *SLEEP))
        self.assertEqual(started["state"], "starting")
        self.assertEqual(started["npus"], list(range(8)))
        self.put(tenant("other"))
        told = json.loads(self.machine.ok("submit", "--tenant", "other", "-o", "json", *SLEEP))
        self.assertEqual((told["state"], told["reason"]["code"]), ("waiting", "capacity.npus.busy"))
        self.assertIn("of 8 NPUs that would do, 0 are free", told["reason"]["message"])
        batch = raw_http.call(self.machine, "POST", "/v1/jobs", {"items": [
            {"tenant": "other", "command": ["true"]}, {"tenant": "other", "noWait": True, "command": ["true"]}]})
        self.assertEqual(batch.status, 200)
        first, second = batch.json["items"]
        self.assertEqual(first["job"]["state"], "waiting")
        self.assertEqual((second["error"]["status"], second["error"]["reason"]), (409, "capacity.npus.busy"))


class Keeping(Case):
    config = {"keepAfter": "3s"}

    def test_npus_are_kept_for_one_that_waited(self):
        """Without it large jobs would starve behind small ones, or hold them all up from the start."""
        self.put(tenant("team"))
        holder = self.start("--tenant", "team", "--npus", "4", *SLEEP)
        large = self.machine.submit("--tenant", "team", "--npus", "8", "--name", "large", *SLEEP)
        early = json.loads(self.machine.ok("submit", "--tenant", "team", "-o", "json", *SLEEP))
        self.assertEqual(early["state"], "starting", "a job that fits was held up before the bound")
        late = self.machine.wait_until(self.submit_that_waits, "the bound is over")
        for reason in (self.reason(late), self.machine.json("why", late)["blockers"][0]):
            self.assertEqual(reason["code"], "capacity.npus.kept")
            self.assertIn("kept for job large", reason["message"])
            self.assertEqual(reason["details"]["keptFor"], large)
        self.assertEqual(self.reason(large)["code"], "capacity.npus.busy")
        self.expect(1, "submit", "--tenant", "team", "--no-wait", *SLEEP, says=["large"])
        self.machine.ok("cancel", holder, early["id"])
        self.machine.wait_for(large, "running")
        self.assertEqual(self.machine.job(late)["state"], "waiting")
        self.machine.ok("cancel", large)
        self.machine.wait_for(late, "running")

    def submit_that_waits(self):
        told = json.loads(self.machine.ok("submit", "--tenant", "team", "-o", "json", *SLEEP))
        if told["state"] == "waiting":
            return told["id"]
        self.machine.ok("cancel", told["id"])
        self.machine.wait_for(told["id"], "ended")
        return None

    def test_quota_is_kept_for_one_that_waited(self):
        """Without it a tenant's small jobs would starve its own large one."""
        self.put(tenant("team", {"npus": 4}), tenant("other"))
        holder = self.start("--tenant", "team", "--npus", "2", *SLEEP)
        large = self.machine.submit("--tenant", "team", "--npus", "4", "--name", "large", *SLEEP)
        self.assertEqual(self.reason(large)["code"], "quota.npus.exceeded")
        late = self.machine.wait_until(self.submit_that_waits, "the bound is over")
        for reason in (self.reason(late), self.machine.json("why", late)["blockers"][0]):
            self.assertEqual(reason["code"], "quota.kept")
            self.assertIn("quota of tenant team is kept for job large", reason["message"])
            self.assertEqual(reason["details"]["keptFor"], large)
        self.expect(3, "submit", "--tenant", "team", "--no-wait", *SLEEP, says=["large"])
        # Others are not held up by it.
        self.start("--tenant", "other", "--npus", "1", *SLEEP)
        self.machine.ok("cancel", holder)
        self.machine.wait_for(large, "running")


class Attempts(Case):
    """Time limits, restarts, host limits."""

    config = {"jobs": {"grace": "1s", "defaults": {"cpus": 2, "memory": "1GiB", "processes": 64}}}

    def run_to_end(self, *arguments):
        return self.machine.wait_for(self.machine.submit("--tenant", "team", *arguments), "ended")

    def test_time_limit_terminates_then_kills(self):
        """Without it a job that ignores SIGTERM would hold its NPUs for ever."""
        self.put(tenant("team"))
        stubborn = self.run_to_end("--time-limit", "500ms", "--", "sh", "-c",
                                   "trap 'echo got TERM' TERM; echo begin; while :; do sleep 0.05; done")
        self.assertEqual((stubborn["outcome"], stubborn["signal"]), ("timed-out", signal.SIGKILL))
        self.assertIn("500ms", stubborn["message"])
        # The shell itself adds what became of its sleep.
        self.assertRegex(self.machine.ok("logs", stubborn["id"]), r"^begin\n(Terminated\n)?got TERM\n$")
        polite = self.run_to_end("--time-limit", "500ms", "--", "sh", "-c",
                                 "trap 'echo saved; exit 3' TERM; while :; do sleep 0.05; done")
        self.assertEqual((polite["outcome"], polite.get("exitStatus")), ("timed-out", 3))
        self.assertRegex(self.machine.ok("logs", polite["id"]), r"^(Terminated\n)?saved\n$")
        self.expect(1, "wait", stubborn["id"], says=["time limit"])

    def test_time_limit_that_was_left_out(self):
        """Without it the tenant's maximum would bind only those who say a limit."""
        self.put(tenant("team", {"runTime": "600ms"}))
        self.assertEqual(self.run_to_end("--", "sleep", "600")["outcome"], "timed-out")

    def test_restart_policies(self):
        """Without it the promise of --restart would not be kept, or be kept for ever."""
        self.put(tenant("team"))
        fail = ("--", "sh", "-c", "echo try; exit 7")
        for policy, attempts in (("never", 1), ("on-lost", 1), ("on-failure:2", 3)):
            job = self.run_to_end("--restart", policy, *fail)
            self.assertEqual((job["attempt"], job.get("restarts", 0), job["outcome"], job["exitStatus"]),
                             (attempts, attempts - 1, "failed", 7), policy)
        succeeded = self.run_to_end("--restart", "on-failure:5", "--", "true")
        self.assertEqual((succeeded["attempt"], succeeded.get("restarts", 0)), (1, 0))
        for policy, restarted in (("never", False), ("on-lost", True), ("on-failure:1", True)):
            job = self.start("--tenant", "team", "--restart", policy, *SLEEP)
            self.kill_supervisor(job)
            if restarted:
                self.machine.wait_until(lambda: self.machine.job(job)["attempt"] == 2, f"{policy} starts again")
                self.assertEqual(self.machine.job(job)["restarts"], 1)
                self.machine.ok("cancel", job)
            ended = self.machine.wait_for(job, "ended")
            self.assertEqual(ended["outcome"], "cancelled" if restarted else "lost", policy)

    def kill_supervisor(self, job):
        prepared = [record["body"] for record in self.machine.journal("attempt_prepared")]
        pids = [body["supervisor"]["pid"] for body in prepared if body["job"] in (job, int(job.removeprefix("j-")))]
        os.kill(pids[-1], signal.SIGKILL)

    def test_host_limits(self):
        """Without it one job could take the whole host."""
        self.put(tenant("team", jobDefaults={"cpus": 1, "memory": "256MiB", "processes": 16}))
        forks = ("--", "sh", "-c", "for i in $(seq 1 40); do sleep 3 & done; echo all")
        refused = self.run_to_end(*forks)
        self.assertNotIn("all", self.machine.ok("logs", refused["id"]))
        self.assertRegex(self.machine.ok("logs", refused["id"]), "(?i)fork")
        hog = self.run_to_end("--host-memory", "64MiB", "--", "python3", "-c", "bytearray(200 << 20)")
        self.assertEqual(hog["outcome"], "failed")
        self.assertIn("memory", hog["message"])
        fits = self.run_to_end("--", "python3", "-c", "bytearray(150 << 20)")
        self.assertEqual(fits["outcome"], "succeeded")
        for option, value, limit in (("--host-cpus", "1.5", "1"), ("--host-memory", "257MiB", "256MiB"),
                                     ("--host-processes", "17", "16")):
            self.expect(3, "submit", "--tenant", "team", option, value, "--", "true", says=[value, limit, "jobDefaults"])

    def test_host_limits_stand_in_the_control_groups(self):
        """Without it a limit could be accepted and never be set."""
        self.put(tenant("team"))
        self.start("--tenant", "team", "--host-cpus", "0.5", "--host-memory", "128MiB", "--host-processes", "9", *SLEEP)
        values = set()
        for group in harness.cgroup_dirs(self.machine.name):
            for name in ("cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us", "memory.max", "memory.limit_in_bytes",
                         "pids.max"):
                for path in group.rglob(name):
                    values.add(path.read_text().strip())
        self.assertTrue({"50000 100000"} <= values or {"50000", "100000"} <= values, values)
        self.assertIn(str(128 << 20), values)
        # The supervisor's own process may be counted with them.
        self.assertTrue(values & {"9", "10"}, values)

    def test_labels(self):
        """Without it labels could not be used to find jobs again."""
        self.put(tenant("team"))
        bert = self.run_to_end("--label", "model=bert", "--label", "run=1", "--", "true")
        other = self.run_to_end("--label", "model=gpt", "--label", "run=1", "--", "true")
        self.assertEqual(bert["labels"], {"model": "bert", "run": "1"})
        self.assertIn("model=bert", self.machine.ok("describe", bert["id"]))

        def found(*filters):
            words = [word for text in filters for word in ("--label", text)]
            return [job["id"] for job in self.machine.json("queue", "--all", *words)["items"]]

        self.assertEqual(found("model=bert"), [bert["id"]])
        self.assertEqual(found("run=1"), [bert["id"], other["id"]])
        self.assertEqual(found("run=1", "model=gpt"), [other["id"]])
        self.assertEqual(found("model=none"), [])


class Retention(Case):
    config = {"retention": {"endedJobs": "1s", "sweepInterval": "1s"}}

    def test_ended_jobs_go(self):
        """Without it logs and work directories would fill the disk."""
        self.put(tenant("team"))
        job = self.machine.submit("--tenant", "team", "--", "sh", "-c", "echo text; pwd; echo file > file")
        directory = self.machine.state / "lib/jobs" / job
        self.machine.ok("wait", job)
        runs = self.start("--tenant", "team", *SLEEP)
        self.machine.wait_until(lambda: self.machine.cli("describe", job).code == 4, "the job is forgotten")
        self.machine.wait_until(lambda: not directory.exists(), "its directory is gone")
        self.expect(4, "logs", job, says=[job])
        self.assertEqual(self.machine.job(runs)["state"], "running")
        self.assertTrue((self.machine.state / "lib/jobs" / runs).exists())


if __name__ == "__main__":
    unittest.main()
