"""Events of a real daemon: each exactly once over kills, readers that do not read, the past, and `logs -f`."""

import contextlib
import http.client
import json
import os
import pathlib
import pty
import random
import re
import select
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import unittest

from crash_workload import call
from event_reader import Reader, Stream, place
from harness import Machine, die_with_parent, figure, program
from remote import Remote

SEED = int(os.environ.get("TANGRAM_SEED", random.SystemRandom().randint(1, 10**9)))
TENANTS = {"items": [{"apiVersion": "tangram.dev/v1", "kind": "Tenant", "metadata": {"name": name},
                      "spec": {"quota": {"npus": 1}, "members": [uid]}}
                     for name, uid in (("team-a", 61001), ("team-b", 61002))]}
EVENTS_WANTED = 10_000
KILLS = 5


def setUpModule():
    print(f"seed {SEED} (set TANGRAM_SEED to repeat)", flush=True)


def resident_bytes(pid):
    pages = int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


class EventsCase(unittest.TestCase):
    """What the tests below share."""

    config = {}

    def make_machine(self):
        return Machine(config=self.config)

    def setUp(self):
        self.machine = self.make_machine()
        self.addCleanup(self.machine.stop)
        self.machine.start()
        self.machine.apply(json.dumps(TENANTS))

    def patiently(self, method, path, body=None, key=None):
        """Until there is an answer, whatever happens to the daemon."""
        end = time.monotonic() + 60
        while True:
            try:
                return call(self.machine, method, path, body, key)
            except (OSError, http.client.HTTPException):
                if time.monotonic() > end:
                    raise
                time.sleep(0.02)

    def submit_batch(self, name, count, tenant="team-a"):
        """The ids of so many jobs that wait behind the first."""
        items = [{"name": f"{name}-{number}", "tenant": tenant, "command": ["/bin/sleep", "1000"]}
                 for number in range(count)]
        status, answer = self.patiently("POST", "/v1/jobs", {"items": items}, f"key-{name}")
        self.assertEqual(status, 200, answer)
        return [item["job"]["id"] for item in answer["items"]]

    def newest_cursor(self):
        status, answer = self.patiently("GET", "/v1/history?newest=true&limit=1")
        self.assertEqual(status, 200, answer)
        return answer["items"][0]["cursor"]

    def stored(self):
        """(cursor, document) of every event that the journal holds."""
        with contextlib.closing(sqlite3.connect(f"file:{self.machine.journal_path}?mode=ro", uri=True)) as database:
            rows = database.execute("SELECT id, body FROM events ORDER BY id").fetchall()
        return [(f"{number >> 20}.{number & 0xFFFFF}", json.loads(body)) for number, body in rows]


class Kills(EventsCase):
    def test_each_event_exactly_once_over_five_kills(self):
        """Without it a client that keeps a cursor could miss what happened around a crash, or act on it twice."""
        rng = random.Random(SEED)
        steady = Reader(self.machine.socket)
        slow = Reader(self.machine.socket, pause=0.0002)
        ends = Reader(self.machine.socket, query="&type=job.ended&tenant=team-a")
        follower = subprocess.Popen([program("tangram"), "events", "-f", "--after", "oldest", "-o", "json"],
                                    stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent,
                                    env={**os.environ, "TANGRAM_SOCKET": str(self.machine.socket)})
        printed = []
        threading.Thread(target=lambda: printed.extend(follower.stdout), daemon=True).start()
        self.addCleanup(lambda: (follower.kill(), follower.wait(), follower.stdout.close()))
        # What is killed is started by this thread: a daemon of the harness goes with the thread that started it.
        self.killed = threading.Event()
        work = threading.Thread(target=self.work, daemon=True)
        work.start()
        try:
            self.kill_again_and_again(rng, work)
        finally:
            self.killed.set()
        work.join()
        self.assertTrue(self.worked)
        self.compare((steady, slow), ends, printed)

    def work(self):
        """Jobs that wait, and the end of most of them; then more of it, while there are kills to come."""
        self.worked = False
        jobs = []
        for number in range(14):
            jobs += self.submit_batch(f"batch-{number}", 500)
        self.cancel_all(jobs[-4000:])
        number = 0
        while not self.killed.is_set():
            self.cancel_all(self.submit_batch(f"more-{number}", 50))
            number += 1
        self.worked = True

    def cancel_all(self, jobs):
        for job in jobs:
            status, answer = self.patiently("POST", f"/v1/jobs/{job}/cancel")
            self.assertIn(status, (202, 409), answer)

    def kill_again_and_again(self, rng, work):
        places = ["service.after_append", "service.before_append", "journal.before_commit"]
        for number in range(KILLS):
            deadline = time.monotonic() + rng.uniform(0.2, 1.5)
            while time.monotonic() < deadline and self.machine.daemon.poll() is None:
                time.sleep(0.005)
            self.assertTrue(work.is_alive(), "there is still something to interrupt")
            self.machine.kill_daemon()
            # Every other one dies by itself, at a place that random kills seldom hit.
            at = f"{places[number // 2 % len(places)]}:{rng.randint(20, 40)}"
            self.machine.start_daemon({"TANGRAM_CRASH_AT": at} if number % 2 == 0 and number < KILLS - 1 else {},
                                      wait=False)

    def compare(self, readers, ends, printed):
        last = self.newest_cursor()
        for reader in (*readers, ends):
            self.machine.wait_until(lambda reader=reader: reader.caught_up(last), "all is read", 120)
        stored = self.stored()
        self.assertGreaterEqual(len(stored), EVENTS_WANTED)
        self.assertEqual([cursor for cursor, _ in stored], sorted((cursor for cursor, _ in stored), key=place))
        wanted = [event for _, event in stored]
        for reader in readers:
            self.assertGreater(reader.connections, KILLS // 2)
            self.assertEqual(first_difference(reader.events, wanted), None)
        self.assertEqual(first_difference(ends.events, [event for event in wanted if event["type"] == "job.ended"]), None)
        self.machine.wait_until(lambda: len(printed) >= len(wanted), "the command has printed all", 60)
        self.assertEqual(first_difference([json.loads(line) for line in printed], wanted), None)
        self.agree_with_the_journal(stored)
        figure(f"{len(stored)} events, {KILLS} kills, {[reader.connections for reader in readers]} connections")

    def agree_with_the_journal(self, stored):
        """The events are those of the records: none more, none less."""
        told = {}
        for cursor, event in stored:
            told.setdefault(event["type"], []).append(int(cursor.partition(".")[0]))
        kinds = {}
        for record in self.machine.journal():
            kinds.setdefault(record["kind"], []).append(record["sequence"])
        for kind, event_type in (("job_submitted", "job.submitted"), ("job_waits", "job.waiting"),
                                 ("job_started", "job.starting"), ("attempt_running", "job.running"),
                                 ("daemon_started", "daemon.started")):
            self.assertEqual(told.get(event_type, []), kinds.get(kind, []), kind)


def first_difference(one, other):
    """The first place where two lists differ, with both sides; None when they are equal."""
    for number, (left, right) in enumerate(zip(one, other)):
        if left != right:
            return number, left, right
    if len(one) != len(other):
        return min(len(one), len(other)), f"{len(one)} entries", f"{len(other)} entries"
    return None


class NeverReads(EventsCase):
    ROUNDS = 3
    CALLS = 100

    def test_a_client_that_never_reads_its_events_hurts_nobody(self):
        """Without it such a client would hold memory without bound, slow down the daemon, or keep its streams for ever."""
        # More than all buffers on the way to one client hold.
        for number in range(8):
            self.submit_batch(f"old-{number}", 1000)
        self.keep_busy()
        alone = [self.p99() for _ in range(self.ROUNDS)]
        before = resident_bytes(self.machine.daemon.pid)
        idle = subprocess.Popen([sys.executable, str(pathlib.Path(__file__).with_name("event_reader.py")),
                                 *self.idle_client("32", "/v1/events?after=oldest")],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent)
        self.addCleanup(lambda: (idle.kill(), idle.wait(), idle.stdin.close(), idle.stdout.close()))
        self.assertEqual(idle.stdout.readline(), "asked\n")
        self.machine.wait_until(lambda: self.one_more_stream() == 429, "it has all that it may have")
        reader = Reader(self.machine.socket, after=self.newest_cursor())
        attacked = [self.p99() for _ in range(self.ROUNDS)]
        growth = resident_bytes(self.machine.daemon.pid) - before
        last = self.newest_cursor()
        self.machine.wait_until(lambda: reader.caught_up(last), "one that reads gets everything", 60)
        figure(f"p99 alone {min(alone) * 1000:.1f} ms, attacked {min(attacked) * 1000:.1f} ms; "
               f"memory grew by {growth / 2**20:.1f} MiB")
        self.assertLess(min(attacked), 2 * min(alone) + 0.010)
        self.assertLess(growth, 64 * 2**20)
        # Each of them is cut off by itself, and its place is free again.
        self.machine.wait_until(lambda: self.one_more_stream() == 200, "they are cut off", 60)
        self.stop_busy.set()
        self.busy.join()

    def keep_busy(self):
        """Somebody goes on submitting and cancelling, so that there are events."""
        self.stop_busy = threading.Event()

        def work():
            number = 0
            while not self.stop_busy.is_set():
                for job in self.submit_batch(f"busy-{number}", 200, "team-a"):
                    if self.stop_busy.is_set():
                        return
                    self.patiently("POST", f"/v1/jobs/{job}/cancel")
                number += 1

        self.busy = threading.Thread(target=work, daemon=True)
        self.busy.start()

    def p99(self):
        times = []
        for _ in range(self.CALLS):
            started = time.monotonic()
            status, answer = call(self.machine, "POST", "/v1/jobs", {"tenant": "team-b", "command": ["/bin/true"]})
            times.append(time.monotonic() - started)
            self.assertEqual(status, 201, answer)
        return sorted(times)[len(times) * 99 // 100]

    def idle_client(self, count, path):
        """Arguments of event_reader.py for a client of team-a that never reads."""
        return [str(self.machine.socket), count, path, "61001"]

    def one_more_stream(self):
        """The status that one more stream of that client gets."""
        run = subprocess.run(["curl", "--silent", "--unix-socket", str(self.machine.socket), "--max-time", "1",
                              "--output", "/dev/null", "--write-out", "%{http_code}", "http://tangram/v1/events"],
                             capture_output=True, text=True, user=61001, check=False)
        return int(run.stdout)


class NeverReadsOverTheNetwork(NeverReads):
    """The same on TCP, where kernels on both sides hold more, and a token says who it is."""

    config = {"limits": {"requestsPerSecond": 100_000, "requestBurst": 100_000}}

    def make_machine(self):
        return Remote(config=self.config)

    def setUp(self):
        super().setUp()
        self.idle_token = self.machine.token("idle", "tenant", "--tenant", "team-a")

    def idle_client(self, count, path):
        return [str(self.machine.plain_port), count, path, self.idle_token]

    def one_more_stream(self):
        with Stream(lambda: self.machine.connection(plain=True), token=self.idle_token) as stream:
            return stream.answer.status


class OverTheNetwork(EventsCase):
    """Who sees what on TLS."""

    def make_machine(self):
        return Remote()

    def streams(self, tokens):
        """An open stream for each; what comes on it is gathered in the list beside it."""
        return {name: Reader(self.machine.connection, token=token) for name, token in tokens.items()}

    def test_a_bearer_sees_what_it_may_until_it_may_no_more(self):
        """Without it a tenant's events would be read by others over the network, or by a token that has been revoked."""
        tokens = {"operator": self.machine.token("op", "operator"), "viewer": self.machine.token("v", "viewer"),
                  "tenant": self.machine.token("a", "tenant", "--tenant", "team-a"),
                  "other": self.machine.token("b", "tenant", "--tenant", "team-b")}
        readers = self.streams(tokens)
        job = self.machine.submit("--tenant", "team-a", "--name", "secret-plan", "--", "/bin/true")
        self.machine.wait_for(job, "ended")
        last = self.newest_cursor()
        for reader in readers.values():
            self.machine.wait_until(lambda reader=reader: reader.caught_up(last), "all is read", 30)
        everything = [event for _, event in self.stored()]
        for name in ("operator", "viewer"):
            self.assertEqual(first_difference(readers[name].events, everything), None, name)
        own = [event for event in everything if event.get("tenant") in (None, "team-a")]
        self.assertEqual(first_difference(readers["tenant"].events, own), None)
        self.assertIn("job.ended", [event["type"] for event in own])
        self.assertEqual({event.get("tenant") for event in readers["other"].events}, {None, "team-b"})
        # Over the network as well, the past is the same.
        for name, token in tokens.items():
            answer = self.machine.call("GET", "/v1/history", token)
            self.assertEqual(answer.json["items"], readers[name].events, name)
        self.machine.ok("token", "revoke", "v")
        self.machine.wait_until(lambda: readers["viewer"].error is not None, "its stream ends", 30)
        self.assertIn("token.revoked", str(readers["viewer"].error))
        self.assertEqual(self.machine.call("GET", "/v1/events", tokens["viewer"]).status, 401)
        for name in ("operator", "tenant", "other"):
            self.assertIsNone(readers[name].error)

    def test_the_command_follows_from_afar_over_kills(self):
        """Without it a dashboard elsewhere would lose events, or get them twice, whenever the daemon starts again."""
        self.machine.stop_daemon()
        # The same port again, as a real configuration says it.
        self.machine.config["listen"][0]["port"] = free_port()
        self.machine.write_config()
        self.machine.start_daemon()
        secret = self.machine.token("v", "viewer")
        follower = subprocess.Popen([program("tangram"), "events", "-f", "--after", "oldest", "-o", "json"],
                                    stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent,
                                    env={"TANGRAM_SERVER": f"https://localhost:{self.machine.config['listen'][0]['port']}",
                                         "TANGRAM_CA_FILE": str(self.machine.ca), "TANGRAM_TOKEN": secret})
        printed = []
        threading.Thread(target=lambda: printed.extend(follower.stdout), daemon=True).start()
        self.addCleanup(lambda: (follower.kill(), follower.wait(), follower.stdout.close()))
        self.machine.wait_until(lambda: printed, "it has begun", 30)
        for number in range(3):
            self.submit_batch(f"batch-{number}", 100)
            self.machine.kill_daemon()
            self.machine.start_daemon()
        self.submit_batch("batch-3", 100)
        # Whatever comes last: what the first job does may be told after the last submission.
        self.machine.wait_until(lambda: printed and json.loads(printed[-1])["cursor"] == self.stored()[-1][0],
                                "all is printed", 60)
        wanted = [event for _, event in self.stored()]
        self.assertEqual(first_difference([json.loads(line) for line in printed], wanted), None)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Past(EventsCase):
    def test_a_job_a_tenant_and_an_npu_have_a_history(self):
        """Without it nobody could find out afterwards what happened to a job, in a tenant, on an NPU."""
        first = self.machine.submit("--tenant", "team-a", "--name", "first", "--", "/bin/sh", "-c", "sleep 1; exit 3")
        second = self.machine.submit("--tenant", "team-a", "--name", "second", "--", "/bin/true")
        third = self.machine.submit("--tenant", "team-a", "--", "/bin/true")
        for job in (first, second, third):
            self.machine.wait_for(job, "ended")
        events = [json.loads(line) for line in self.machine.ok("history", third, "-o", "json").splitlines()]
        types = [event["type"] for event in events]
        self.assertEqual(types[0], "job.submitted")
        self.assertEqual(types[-3:], ["job.starting", "job.running", "job.ended"])
        self.assertEqual(events[0]["state"], "waiting", events[0])
        text = self.machine.ok("history", "first")
        self.assertIn("has ended: failed", text)
        self.assertIn("job first", text)
        self.assertIn("tenant team-a was created", self.machine.ok("history", "team-a"))
        npu = [json.loads(line) for line in self.machine.ok("history", "0", "-o", "json").splitlines()]
        self.assertEqual([event["type"] for event in npu],
                         ["npu.appeared"] + 3 * ["npu.allocated", "npu.released"])
        self.assertEqual([event.get("job") for event in npu[1::2]], [first, second, third])
        # A tenant sees when an NPU appeared, and who holds it only when it is its own.
        foreign = self.machine.ok("history", "0", "-o", "json", user=61002)
        self.assertEqual([json.loads(line)["type"] for line in foreign.splitlines()], ["npu.appeared"])
        self.assertEqual(self.machine.cli("history", first, user=61002).code, 4)
        last = self.machine.ok("events", "--last", "1", "-o", "json")
        self.assertEqual(json.loads(last)["cursor"], self.newest_cursor())

    def test_a_cursor_that_is_too_old_is_told_what_to_do(self):
        """Without it a client that was away too long would go on with a gap that it does not know of."""
        self.machine.stop_daemon()
        with contextlib.closing(sqlite3.connect(self.machine.journal_path)) as database, database:
            database.execute("UPDATE records SET at_ms = 1000")
        # A snapshot and a compaction come with the end of the next one.
        self.machine.start_daemon()
        self.machine.submit("--tenant", "team-a", "--wait", "--", "/bin/true")
        self.machine.stop_daemon()
        self.machine.start_daemon()
        with Stream(self.machine.socket, "?after=1.0") as stream:
            self.assertEqual(stream.answer.status, 410)
            problem = json.loads(stream.answer.read())
        self.assertEqual(problem["reason"], "events.cursor.gone")
        self.assertIn("/v1/jobs", problem["hint"])
        answer = self.machine.cli("events", "-f", "--after", "1.0")
        self.assertEqual(answer.code, 7)
        self.assertIn("no longer kept", answer.err)
        with Stream(self.machine.socket, f"?after={problem['details']['oldest']}") as stream:
            self.assertEqual(stream.answer.status, 200)
            self.assertEqual(next(event for _, event in stream if event)["type"], "daemon.started")

    def test_an_event_comes_at_once(self):
        """Without it a dashboard would lag behind what it shows."""
        delays = []
        with Stream(self.machine.socket, "?type=job.submitted") as stream:
            events = iter(stream)
            next(events)
            for _ in range(50):
                status, _ = call(self.machine, "POST", "/v1/jobs", {"tenant": "team-a", "command": ["/bin/true"]})
                self.assertEqual(status, 201)
                answered = time.monotonic()
                next(event for _, event in events if event)
                delays.append(time.monotonic() - answered)
        delays.sort()
        figure(f"behind the answer of a submit: median {delays[25] * 1000:.1f} ms, p98 {delays[48] * 1000:.1f} ms")
        self.assertLess(delays[25], 0.1)


class Watch(EventsCase):
    def test_a_watched_queue_shows_what_changes(self):
        """Without it whoever watches the queue would look at an old one."""
        master, slave = pty.openpty()
        watcher = subprocess.Popen([program("tangram"), "queue", "--watch"], stdout=slave, stderr=subprocess.PIPE,
                                   env={**os.environ, "TANGRAM_SOCKET": str(self.machine.socket)},
                                   preexec_fn=die_with_parent)
        os.close(slave)
        self.addCleanup(lambda: (watcher.kill(), watcher.wait(), watcher.stderr.close(), os.close(master)))
        self.screen = ""

        def shows(words):
            while select.select([master], [], [], 0)[0]:
                self.screen += os.read(master, 65536).decode()
            return words in self.screen.rpartition("\x1b[2J")[2]

        self.machine.wait_until(lambda: shows("No jobs are waiting"), "the empty queue is shown")
        job = self.machine.submit("--tenant", "team-a", "--name", "watched", "--", "/bin/sleep", "1000")
        self.machine.wait_until(lambda: shows("watched"), "the job is shown", 5)
        self.machine.wait_until(lambda: shows("running"), "it runs", 10)
        self.machine.kill_daemon()
        self.machine.start_daemon()
        self.machine.ok("cancel", job)
        self.machine.wait_until(lambda: shows("No jobs are waiting"), "it is gone, also after a restart", 15)


class FollowedLog(EventsCase):
    config = {"jobs": {"logSize": "256KiB"}}
    # Numbers, so that each missing or doubled line shows. Slow enough to be followed while it runs.
    WRITER = "i=0; while [ $i -lt {count} ]; do echo line $i; i=$((i+1)); {pause} done"

    def follow(self, job):
        process = subprocess.Popen([program("tangram"), "logs", "-f", job], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, preexec_fn=die_with_parent,
                                   env={**os.environ, "TANGRAM_SOCKET": str(self.machine.socket)})
        self.addCleanup(lambda: (process.kill(), process.wait()))
        return process

    def finish(self, process):
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, err)
        return out

    def submit_writer(self, count, pause=""):
        return self.machine.submit("--tenant", "team-a", "--", "/bin/sh", "-c",
                                   self.WRITER.format(count=count, pause=pause))

    def test_from_the_start_of_a_running_job_over_kills(self):
        """Without it the log of a job that was followed would have holes or repetitions after a restart of the daemon."""
        count = 3000
        job = self.submit_writer(count, "[ $((i % 100)) -ne 0 ] || sleep 0.1;")
        followers = [self.follow(job)]
        self.machine.wait_for(job, "running")
        followers.append(self.follow(job))
        rng = random.Random(SEED)
        for _ in range(3):
            time.sleep(rng.uniform(0.2, 0.6))
            self.machine.kill_daemon()
            self.machine.start_daemon(wait=False)
        wanted = "".join(f"line {number}\n" for number in range(count))
        for follower in followers:
            self.assertEqual(self.finish(follower), wanted)

    def test_only_the_mark_where_the_bound_cut_is_missing(self):
        """Without it a cut of the log while the daemon was away would make a follower repeat or skip output."""
        count = 120_000  # some 1.3 MiB: cut several times
        job = self.submit_writer(count, "[ $((i % 5000)) -ne 0 ] || sleep 0.1;")
        follower = self.follow(job)
        self.machine.wait_for(job, "running")
        rng = random.Random(SEED)
        for _ in range(4):
            time.sleep(rng.uniform(0.1, 0.4))
            self.machine.kill_daemon()
            time.sleep(0.5)  # long enough for a cut
            self.machine.start_daemon(wait=False)
        self.check_numbers(self.finish(follower), count)
        # And the same log when all is over: its head, one mark, its end.
        whole = self.machine.ok("logs", job)
        self.assertEqual(whole.count("bytes were cut here"), 1)
        self.check_numbers(whole, count)
        self.check_numbers(self.finish(self.follow(job)), count)

    def check_numbers(self, text, count):
        """Lines go up by one, but for the place of a mark; those around it may be torn."""
        pieces = re.split(r"\n?\[tangram: \d+ bytes were cut here\]\n", text)
        self.assertTrue(pieces[0].startswith("line 0\nline 1\n"), pieces[0][:100])
        self.assertTrue(text.endswith(f"line {count - 1}\n"), text[-100:])
        last = -1
        for number, piece in enumerate(pieces):
            lines = piece.split("\n")
            lines = lines[1:] if number > 0 else lines
            numbers = [int(line.removeprefix("line ")) for line in lines[:-1]]
            self.assertEqual(numbers, list(range(numbers[0], numbers[0] + len(numbers))))
            self.assertGreater(numbers[0], last)
            last = numbers[-1]


if __name__ == "__main__":
    unittest.main()
