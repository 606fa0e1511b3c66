"""An independent judge of what the daemon decided, from its journal alone.

It shares no code with the scheduler and works the slow way: at every start it looks at every queued job. It checks

- that no NPU is held by two jobs, and none is given that is not healthy or too small;
- that no quota of a tenant or of an ancestor is exceeded by a start;
- that no job starts while a higher-ranked one was admissible and fitted;
- that nothing is given away that a job past the waiting bound could have used.

Rank: jobs past the bound first, then priority class, then submit sequence (docs/scheduling.md).
"""

import json
import sqlite3

UNLIMITED = (2**63 - 1) // 4
CLASSES = {"high": 0, "normal": 1, "low": 2}


class Job:
    def __init__(self, spec, at):
        request = spec["request"]
        self.id = spec["id"]
        self.tenant = spec["tenant"]
        self.priority = CLASSES[spec["priority"]]
        self.npus = request["npus"]
        self.memory = request["memoryPerNpu"]
        self.bandwidth = spec["bandwidthBps"]
        self.queued_at = at
        self.held = []
        self.charge = None


class Checker:
    def __init__(self):
        self.keep_after_ms = 600_000
        self.tenants = {}   # id -> spec
        self.by_name = {}   # name -> id
        self.used = {}      # tenant id -> dimension -> amount, subtree
        self.npus = {}      # (node, physical id) -> report, in the order of the core's indices
        self.order = []     # index -> (node, physical id)
        self.holder = {}    # (node, physical id) -> job id
        self.queued = {}
        self.active = {}
        self.starts = 0
        self.problems = []
        self.free_cache = None

    # -- the state, record by record

    def settings_changed(self, body, _at):
        self.keep_after_ms = body["keepAfterMs"]

    def node_reported(self, body, _at):
        seen = set()
        for report in body["npus"]:
            key = (body["node"], report["npu"])
            if key not in self.npus:
                self.order.append(key)
            self.npus[key] = report
            seen.add(key)
        for key, report in self.npus.items():
            if key[0] == body["node"] and key not in seen:
                self.npus[key] = dict(report, health="absent")
        self.free_cache = None

    def tenant_put(self, body, _at):
        spec, identity = body["spec"], body["tenant"]
        self.tenants[identity] = spec
        self.by_name[spec["name"]] = identity
        self.used.setdefault(identity, {})

    def tenant_deleted(self, body, _at):
        spec = self.tenants.pop(body["tenant"])
        del self.by_name[spec["name"]]

    def job_submitted(self, body, at):
        job = Job(body["spec"], at)
        self.queued[job.id] = job

    def job_cancelled(self, body, _at):
        self.queued.pop(body["job"], None)

    def job_refused(self, body, _at):
        self.queued.pop(body["job"], None)

    def attempt_ended(self, body, at):
        job = self.active.pop(body["job"], None)
        if job is None:
            self.problems.append(f"j-{body['job']} ended without having started")
            return
        for key in job.held:
            if self.holder.pop(key, None) != job.id:
                self.problems.append(f"j-{job.id} gave back NPU {key} that it did not hold")
        self.add(job, -1)
        job.held = []
        self.free_cache = None
        if body["requeue"]:
            job.queued_at = at
            self.queued[job.id] = job

    def job_started(self, body, at):
        self.starts += 1
        job = self.queued.pop(body["job"], None)
        if job is None:
            self.problems.append(f"j-{body['job']} started without being queued")
            return
        keys = [self.order[index] for index in body["npus"]]
        self.judge_start(job, keys, at)
        reports = [self.npus[key] for key in keys]
        job.charge = {
            "npus": len(keys),
            "memoryTotal": sum(r["memory"] for r in reports),
            "aiCores": sum(r["aiCores"] for r in reports),
            "runningJobs": 1,
            "bandwidthBps": job.bandwidth,
        }
        job.held = keys
        for key in keys:
            self.holder[key] = job.id
        self.add(job, +1)
        self.active[job.id] = job
        self.free_cache = None
        for identity in self.path(job.tenant):
            for dimension, amount in self.used[identity].items():
                limit = self.limit(identity, dimension)
                if amount > limit:
                    self.problems.append(f"j-{job.id}: tenant {self.tenants[identity]['name']} holds {amount} of "
                                         f"{limit} {dimension} after its start")

    # -- judging

    def judge_start(self, job, keys, at):
        if len(keys) != job.npus or len(set(keys)) != len(keys):
            self.problems.append(f"j-{job.id} asked for {job.npus} NPUs and got {keys}")
        if len({key[0] for key in keys}) > 1 or len({self.npus[key]["chip"] for key in keys}) > 1:
            self.problems.append(f"j-{job.id} got NPUs of several nodes or models: {keys}")
        for key in keys:
            if key in self.holder:
                self.problems.append(f"NPU {key} is held by j-{self.holder[key]} and given to j-{job.id}")
            if self.npus[key]["health"] != "ok" or self.npus[key]["memory"] < job.memory:
                self.problems.append(f"j-{job.id} got NPU {key}, which is unfit: {self.npus[key]}")
        if not any(self.admitted(job, kind) for kind in self.kinds()):
            self.problems.append(f"j-{job.id} started over quota")
        mine = self.rank(job, at)
        held_nodes = set()
        for other in sorted(self.queued.values(), key=lambda j: self.rank(j, at)):
            if self.rank(other, at) > mine:
                break
            overdue = self.overdue(other, at)
            path = set(self.path(other.tenant))
            if path & held_nodes:
                continue
            kinds = [kind for kind in self.kinds() if self.npu_fits(other, kind)]
            admitted = [kind for kind in kinds if self.admitted(other, kind)]
            if overdue and kinds and not admitted:
                held_nodes.add(self.blocking_node(other, kinds))
                if held_nodes & set(self.path(job.tenant)):
                    self.problems.append(f"j-{job.id} started, though j-{other.id} waits past the bound for quota")
                continue
            if any(self.free_of(kind) >= other.npus for kind in admitted):
                self.problems.append(f"j-{job.id} started, though j-{other.id} ranks before it and fitted")
            elif overdue and any(self.kind_of(key) in admitted for key in keys):
                self.problems.append(f"j-{job.id} got {keys}, which j-{other.id} waits for past the bound")

    def overdue(self, job, at):
        return at - job.queued_at >= self.keep_after_ms

    def rank(self, job, at):
        return (not self.overdue(job, at), job.priority, job.id)

    def kind_of(self, key):
        report = self.npus[key]
        return (key[0], report["chip"], report["memory"], report["aiCores"])

    def kinds(self):
        return self.free_table().keys()

    def free_table(self):
        """(node, chip, memory, cores) -> free healthy NPUs."""
        if self.free_cache is None:
            self.free_cache = {}
            for key, report in self.npus.items():
                free = report["health"] == "ok" and key not in self.holder
                kind = self.kind_of(key)
                self.free_cache[kind] = self.free_cache.get(kind, 0) + (1 if free else 0)
        return self.free_cache

    def free_of(self, kind):
        return self.free_table()[kind]

    @staticmethod
    def npu_fits(job, kind):
        return kind[2] >= job.memory

    def amounts(self, job, kind):
        return {
            "npus": job.npus,
            "memoryTotal": job.npus * kind[2],
            "aiCores": job.npus * kind[3],
            "runningJobs": 1,
            "bandwidthBps": job.bandwidth,
        }

    def exceeds(self, identity, amounts):
        return any(self.used[identity].get(d, 0) + n > self.limit(identity, d) for d, n in amounts.items())

    def admitted(self, job, kind):
        amounts = self.amounts(job, kind)
        return self.npu_fits(job, kind) and not any(self.exceeds(i, amounts) for i in self.path(job.tenant))

    def blocking_node(self, job, kinds):
        """The tenant whose quota is kept for the job: the first on its way up whose limit it meets."""
        return next(i for i in self.path(job.tenant)
                    if any(self.exceeds(i, self.amounts(job, kind)) for kind in kinds))

    def limit(self, identity, dimension):
        return self.tenants[identity]["quota"][dimension]

    def path(self, identity):
        found = []
        while identity is not None:
            found.append(identity)
            identity = self.by_name.get(self.tenants[identity]["parent"])
        return found

    def add(self, job, sign):
        for identity in self.path(job.tenant):
            for dimension, amount in job.charge.items():
                total = self.used[identity].get(dimension, 0) + sign * amount
                self.used[identity][dimension] = total
                if total < 0:
                    self.problems.append(f"tenant {identity}: {dimension} fell to {total}")


def check(journal_path):
    """Replays the journal; returns the Checker with its problems."""
    checker = Checker()
    database = sqlite3.connect(f"file:{journal_path}?mode=ro", uri=True)
    expected = None
    for sequence, at, kind, body in database.execute(
            "SELECT sequence, at_ms, kind, body FROM records ORDER BY sequence"):
        if expected is not None and sequence != expected:
            checker.problems.append(f"the journal has a gap before record {sequence}")
        expected = sequence + 1
        handler = getattr(checker, kind, None)
        if handler is not None:
            body = json.loads(body)
            handler(body.get("input", body), at)  # what the core was told; the service's own part does not matter
    database.close()
    return checker
