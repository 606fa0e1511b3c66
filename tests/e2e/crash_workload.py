"""Tenants that go on submitting while the daemon is killed under them, and the judge of what became of it all.

A client's view is what counts: each submission carries an Idempotency-Key and is sent again until it is
acknowledged, whatever happens to the connection. Afterwards every acknowledged job is compared with the journal, with
the files that the jobs' programs made, and with what the service says.
"""

import contextlib
import dataclasses
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import socket
import sqlite3
import threading
import time

import schedule_checker
from harness import BUILD, cgroup_dirs, pids_in

QUOTAS = {"team-a": {"npus": 4}, "team-b": {"npus": 3, "runningJobs": 2}, "team-c": {}}
FOREVER_MS = 120_000
DAY_MS = 24 * 3_600_000
# A job that may run more than once makes a file for each attempt.
MARK_ATTEMPT = 'exec "$0" "$1.$TANGRAM_ATTEMPT" "$2" "$3"'


def tenants(more=0):
    """Documents of the tenants, and of `more` that only make the journal longer."""
    quotas = {**QUOTAS, **{f"filler-{number}": {} for number in range(more)}}
    return {"items": [{"apiVersion": "tangram.dev/v1", "kind": "Tenant", "metadata": {"name": name},
                       "spec": {"quota": quota}} for name, quota in quotas.items()]}


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("tangram", timeout=30)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def call(machine, method, path, body=None, key=None):
    """One try: (status, parsed body). OSError or HTTPException when no answer came."""
    headers = {"Content-Type": "application/json", **({"Idempotency-Key": key} if key else {})}
    with contextlib.closing(UnixConnection(machine.socket)) as connection:
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


@dataclasses.dataclass
class Wanted:
    """A submission and what its client was told."""
    key: str
    name: str
    body: dict
    exit_status: int
    cancel: bool
    job: str = None              # the id, once acknowledged
    cancelled: bool = False      # the cancellation was acknowledged

    @property
    def restarts(self):
        return "restart" in self.body


class Workload:
    def __init__(self, machine, seed):
        self.machine, self.seed = machine, seed
        self.program = machine.shared / "hold_npus"
        self.marks = machine.shared / "marks"
        self.marks.mkdir()
        self.marks.chmod(0o1777)
        shutil.copy(BUILD / "programs/hold_npus", self.program)
        self.wanted, self.problems, self.threads = [], [], []
        self.ending = threading.Event()

    def apply(self, more=0):
        self.until(200, "POST", "/v1/apply", tenants(more))

    def make(self, rng, name, restart=None, ms=None, cancel=None):
        cancel = rng.random() < 0.1 if cancel is None else cancel
        ms = FOREVER_MS if cancel else ms or rng.randint(20, 900)
        status = rng.choice((0, 0, 0, 3, 7, 42))
        arguments = [str(self.program), str(self.marks / name), str(ms), str(status)]
        body = {"name": name, "tenant": rng.choice(list(QUOTAS)), "npus": rng.choice((1, 1, 1, 2)),
                "priority": rng.choice(("high", "normal", "normal", "low")),
                "command": ["/bin/sh", "-c", MARK_ATTEMPT, *arguments] if restart else arguments}
        if restart:
            body["restart"] = restart
        wanted = Wanted(f"key-{name}", name, body, status, cancel)
        self.wanted.append(wanted)
        return wanted

    def start(self, threads, jobs_each=None, restart=None):
        """Submits from several threads until finish(), or that many jobs each."""
        for number in range(threads):
            rng = random.Random(f"{self.seed}-{number}-{len(self.threads)}")
            self.spawn(self.run, rng, f"t{len(self.threads)}", jobs_each, restart)

    def spawn(self, function, *arguments):
        self.threads.append(threading.Thread(target=function, args=arguments))
        self.threads[-1].start()

    def finish(self):
        self.ending.set()
        self.join()

    def join(self):
        for thread in self.threads:
            thread.join()

    def run(self, rng, prefix, jobs_each, restart):
        self.apply()
        number = 0
        while not self.ending.is_set() and (jobs_each is None or number < jobs_each):
            if jobs_each is None and self.until(200, "GET", "/v1/status")["jobsQueued"] > 12:
                self.ending.wait(0.1)
                continue
            wanted = self.make(rng, f"{prefix}-{number}", restart if number % 2 else None)
            self.submit(rng, wanted)
            if wanted.cancel:
                time.sleep(rng.uniform(0, 0.5))
                self.cancel(wanted)
            number += 1

    def submit(self, rng, wanted):
        wanted.job = self.until(201, "POST", "/v1/jobs", wanted.body, wanted.key)["id"]
        if rng.random() < 0.2:  # as a client does that never saw the first answer
            again = self.until(201, "POST", "/v1/jobs", wanted.body, wanted.key)["id"]
            if again != wanted.job:
                self.problems.append(f"{wanted.key} was answered {wanted.job}, then {again}")

    def cancel(self, wanted):
        # The answer before may have been lost: then the job may have ended, and be forgotten, meanwhile.
        self.until(202, "POST", f"/v1/jobs/{wanted.job}/cancel", also=("job.ended", "job.unknown"))
        wanted.cancelled = True

    def until(self, expected, method, path, body=None, key=None, also=()):
        """Sends again until it is acknowledged."""
        end = time.monotonic() + 120
        problem = None
        while time.monotonic() < end:
            try:
                status, answer = call(self.machine, method, path, body, key)
            except (OSError, http.client.HTTPException) as error:
                problem = error
            else:
                if status == expected or answer.get("reason") in also:
                    return answer
                problem = answer
                if status != 503:
                    break
            time.sleep(0.02)
        self.problems.append(f"{method} {path} {key}: {problem}")
        raise AssertionError(f"{method} {path}: {problem}")

    def wait_all_ended(self, timeout=60):
        def all_ended():
            with contextlib.suppress(OSError, http.client.HTTPException):
                return call(self.machine, "GET", "/v1/jobs")[1]["items"] == []
        self.machine.wait_until(all_ended, "every job ends", timeout)


class Archive:
    """Every record there ever was, also those that the journal has dropped meanwhile."""

    def __init__(self, machine):
        self.machine = machine
        self.path = machine.root / "archive.db"
        with contextlib.closing(sqlite3.connect(self.path)) as database:
            database.execute("CREATE TABLE records(sequence INTEGER PRIMARY KEY, at_ms, kind, body)")

    def take(self):
        with contextlib.closing(sqlite3.connect(self.path)) as database:
            database.execute("ATTACH ? AS journal", (str(self.machine.journal_path),))
            database.execute("INSERT OR IGNORE INTO records SELECT sequence, at_ms, kind, body FROM journal.records")
            database.commit()

    def records(self):
        self.take()
        with contextlib.closing(sqlite3.connect(self.path)) as database:
            rows = database.execute("SELECT sequence, kind, body FROM records ORDER BY sequence").fetchall()
        return [(sequence, kind, json.loads(body)) for sequence, kind, body in rows]

    def age(self):
        """As if the stopped daemon's records were two days old, so that the next snapshot drops them."""
        self.take()
        with contextlib.closing(sqlite3.connect(self.machine.journal_path)) as database:
            database.execute("UPDATE records SET at_ms = at_ms - ?", (2 * DAY_MS,))
            database.commit()


class Story:
    """What the journal says of one job."""

    def __init__(self):
        self.name, self.key = None, None
        self.started, self.ends = [], []     # attempts; bodies of attempt_ended
        self.cancelled, self.forgotten = False, False
        self.adopted = 0                     # attempts that lived through a restart of the daemon

    def outcome(self):
        if self.ends and not self.ends[-1]["input"]["requeue"]:
            return self.ends[-1]["input"]["outcome"], self.ends[-1].get("exitStatus")
        return ("cancelled" if self.cancelled else None), None


def read_stories(records):
    stories, running, restarts = {}, {}, 0
    for _, kind, body in records:
        if kind == "daemon_started":
            restarts += 1
        elif kind == "job_submitted":
            story = stories.setdefault(f"j-{body['input']['spec']['id']}", Story())
            story.name, story.key = body["program"]["name"], body["program"]["idempotencyKey"]
        elif kind == "job_cancelled":
            stories[f"j-{body['input']['job']}"].cancelled = True
        elif kind == "job_forgotten":
            stories[f"j-{body['job']}"].forgotten = True
        elif kind == "job_started":
            stories[f"j-{body['job']}"].started.append(body["attempt"])
        elif kind == "attempt_running":
            running[body["job"]] = restarts
        elif kind == "attempt_ended":
            job = body["input"]["job"]
            story = stories[f"j-{job}"]
            story.ends.append(body)
            story.adopted += running.pop(job, restarts) != restarts
    return stories


class Judge:
    """Compares what the clients were told with everything that can be seen. Each method gives problems as texts."""

    def __init__(self, work, archive):
        self.work, self.machine = work, work.machine
        self.archive = archive
        self.records = archive.records()
        self.stories = read_stories(self.records)

    def all(self, may_be_lost=False):
        return [*self.work.problems, *self.acknowledged(may_be_lost), *self.service(), *self.left_over(),
                *schedule_checker.check(self.archive.path).problems]

    def acknowledged(self, may_be_lost):
        problems = []
        keys = [story.key for story in self.stories.values() if story.key]
        problems += [f"{key} made {keys.count(key)} jobs" for key in sorted(set(keys)) if keys.count(key) > 1]
        for wanted in self.work.wanted:
            story = self.stories.get(wanted.job)
            if story is None or story.name != wanted.name or story.key != wanted.key:
                problems.append(f"{wanted.job} ({wanted.name}) was acknowledged and is lost")
            else:
                problems += [f"{wanted.job} ({wanted.name}): {text}"
                             for text in self.about(wanted, story, may_be_lost)]
        names = {wanted.name for wanted in self.work.wanted}
        problems += [f"{path.name} was made by nobody's job" for path in self.work.marks.iterdir()
                     if path.name.partition(".")[0] not in names]
        return problems

    def about(self, wanted, story, may_be_lost):
        natural = ("failed" if wanted.exit_status else "succeeded", wanted.exit_status)
        outcome = story.outcome()
        lost = [end for end in story.ends if end["input"]["outcome"] == "lost"]
        marks = [path for path in self.work.marks.iterdir() if path.name.partition(".")[0] == wanted.name]
        if outcome[0] == "lost":
            if not may_be_lost or (wanted.restarts and not wanted.cancelled):
                yield f"is lost: {story.ends[-1]['message']}"
        elif outcome[0] == "cancelled":
            if not wanted.cancelled:
                yield "was cancelled by nobody"
        elif outcome != natural or wanted.cancelled:
            yield f"ended as {outcome}, not as {'cancelled' if wanted.cancelled else natural}: {story.ends}"
        elif not marks:
            yield "ended well without having run"
        if lost and not may_be_lost:
            yield f"an attempt was lost: {lost}"
        if len(marks) > 1 + len(lost):
            yield f"ran {len(marks)} times and was lost {len(lost)} times"

    def service(self):
        problems, after = [], ""
        views = {}
        while after is not None:
            _, answer = call(self.machine, "GET", f"/v1/jobs?all=true{after}")
            views.update((view["id"], view) for view in answer["items"])
            after = f"&after={answer['next']}" if "next" in answer else None
        # Some were forgotten between the records that are judged here and the service's answer.
        now = read_stories(self.archive.records())
        for job, story in self.stories.items():
            view = views.get(job)
            if view is None:
                if not now[job].forgotten:
                    problems.append(f"the service does not know {job}, which the journal knows")
            elif (view.get("outcome"), view.get("exitStatus")) != story.outcome():
                problems.append(f"{job}: the service says {view}, the journal {story.outcome()}")
        return problems

    def left_over(self):
        """Nothing is held or lives on when every job has ended."""
        def remains():
            status = call(self.machine, "GET", "/v1/status")[1]
            total = len(status["npus"])
            return [*([] if status.get("npusFree") == total else [f"{status.get('npusFree')} of {total} NPUs are free"]),
                    *(f"process {pid} is left in a control group" for pid in pids_in(cgroup_dirs(self.machine.name))),
                    *(f"control group {path} is left" for path in job_groups(self.machine)),
                    *(f"NPU {npu} is held by {pids}" for npu, pids in self.machine.holders().items() if pids),
                    *(f"supervisor {pid} is left" for pid in supervisors(self.machine))]
        with contextlib.suppress(AssertionError):
            self.machine.wait_until(lambda: not remains(), "nothing is left", 10)
        return remains()


def job_groups(machine):
    # Not rglob(), which fails when a group goes away while it walks.
    return [pathlib.Path(folder, name) for group in cgroup_dirs(machine.name) for folder, names, _ in os.walk(group)
            for name in names if name.startswith("j-")]


def supervisors(machine):
    """Those that hold an attempt's lock; its init, of the same program, has another."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            if (entry / "exe").readlink().name == "tangram-supervise" and any(
                    re.fullmatch(rf"{machine.state}/.*/lock", str(path.readlink())) for path in (entry / "fd").iterdir()):
                found.append(int(entry.name))
    return found
