"""Load that means no good: another tenant goes on as if it were alone, memory is bounded, and the daemon recovers by itself."""

import http.client
import json
import os
import pathlib
import resource
import select
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
import unittest

import harness
import remote

NAMES = ("good", "greedy", "fast", "deaf", "inside", "churn")
TENANTS = "".join(f"""---
apiVersion: tangram.dev/v1
kind: Tenant
metadata: {{name: {name}}}
spec: {{quota: {{npus: 2}}}}
""" for name in NAMES)

RATE = 50  # requests a second and tenant
FAST = 100 * RATE
STRANGERS = 5_000
UNKNOWN = 256
PER_TENANT = 128
DEAF = 50  # endless answers that nobody reads; each is a connection and an open log
PENDING = 10_000  # jobs that wait all the time
HELLOS = 1_000  # handshakes a second that somebody begins and never ends
HANDSHAKES = 100  # of one address, as the daemon lets them begin
ROUNDS = 5  # of few requests each, so the p99 of one says little: the median of several is compared
TICK_MS = 1  # shorter than this no difference can be told
MEMORY_GROWTH_MIB = 256


class Times:
    """Milliseconds that calls took: of the daemon, and of echo.py in between, which does nothing but the same round trips."""

    KINDS = ("reads", "echoes", "writes", "syncs")

    def __init__(self):
        self.rounds = {kind: [] for kind in self.KINDS}

    def begin_round(self):
        for kind in self.KINDS:
            self.rounds[kind].append([])

    def add(self, kind, call):
        begin = time.monotonic()
        result = call()
        self.rounds[kind][-1].append((time.monotonic() - begin) * 1000)
        return result

    def p99(self, kind):
        """The median of the rounds' p99: what disturbs one round is not what is measured."""
        return statistics.median(statistics.quantiles(times, n=100)[98] for times in self.rounds[kind])

    def p90(self, kind):
        """Of all rounds together: writes are few."""
        return statistics.quantiles(sum(self.rounds[kind], []), n=10)[8]

    def __repr__(self):
        return (f"reads p99 {self.p99('reads'):.1f} (echo {self.p99('echoes'):.1f}), "
                f"writes p90 {self.p90('writes'):.1f} (echo with fdatasync {self.p90('syncs'):.1f}) ms "
                f"of {sum(map(len, self.rounds['reads']))} and {sum(map(len, self.rounds['writes']))}")


def bound(alone, factor, echo_alone, echo_now):
    """What a call may take: so many times what it takes alone, and what the same round trips cost the machine more than then."""
    return factor * alone + max(0, echo_now - echo_alone) + TICK_MS


class Abuser:
    """One process of abusers.py; `counts` is what it told last."""

    def __init__(self, *arguments):
        self.counts = {}
        self.process = subprocess.Popen(
            [sys.executable, str(pathlib.Path(__file__).with_name("abusers.py")), *map(str, arguments)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=self.prepare)
        self.thread = threading.Thread(target=self.listen, daemon=True)
        self.thread.start()

    @staticmethod
    def prepare():
        harness.die_with_parent()
        os.setpriority(os.PRIO_PROCESS, 0, 10)

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def listen(self):
        for line in self.process.stdout:
            self.counts = json.loads(line)

    def stop(self):
        self.process.stdin.close()
        self.process.wait(timeout=30)
        self.thread.join()
        self.process.stdout.close()

    def since(self, before, *names):
        """How many of what it counts it has done each second since those counts, together."""
        now = self.counts
        return sum(now.get(name, 0) - before.get(name, 0) for name in names) / max(now["at"] - before["at"], 0.001)


class Echo:
    """A client of echo.py."""

    def __init__(self, directory):
        self.process = subprocess.Popen(
            ["nice", "-n", "-10", sys.executable, str(pathlib.Path(__file__).with_name("echo.py")), str(directory)],
            stdout=subprocess.PIPE, text=True, preexec_fn=harness.die_with_parent)
        self.socket = socket.create_connection(("127.0.0.1", int(self.process.stdout.readline())), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, byte):
        self.socket.sendall(byte)
        return self.socket.recv(1)

    def stop(self):
        self.socket.close()
        self.process.wait(timeout=30)
        self.process.stdout.close()


class Abuse(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.machine = remote.Remote(config={"limits": {"requestsPerSecond": RATE, "requestBurst": RATE}})
        cls.addClassCleanup(cls.machine.stop)
        # Whatever else this machine does must not be what is measured: the daemon and this process go first.
        cls.machine.wrapper = ("nice", "-n", "-10")
        cls.echo = Echo(cls.machine.root)
        cls.addClassCleanup(cls.echo.stop)
        os.setpriority(os.PRIO_PROCESS, 0, -10)
        cls.addClassCleanup(os.setpriority, os.PRIO_PROCESS, 0, 0)
        cls.machine.start()
        cls.machine.apply(TENANTS)
        cls.tokens = {name: cls.machine.token(name, "tenant", "--tenant", name) for name in NAMES}
        cls.job = cls.machine.submit("--tenant", "greedy", "--", "sleep", "3600")
        cls.machine.wait_for(cls.job, "running")
        talk = "head -c 16777216 /dev/zero | tr '\\0' x; while :; do head -c 65536 /dev/zero | tr '\\0' x; sleep 0.1; done"
        cls.talker = cls.machine.submit("--tenant", "deaf", "--", "sh", "-c", talk)
        cls.machine.wait_for(cls.talker, "running")
        cls.own = cls.machine.submit("--tenant", "good", "--", "sleep", "3600")
        cls.machine.wait_for(cls.own, "running")
        waiting = {"tenant": "fast", "npus": 2, "command": ["sleep", "3600"], "labels": {"app": "load"}}
        for _ in range(PENDING // 500):
            status, answer = cls.machine.api("POST", "/v1/jobs", {"items": [waiting] * 500})
            assert status == 200, answer

    def known_connection(self):
        """A connection of the good tenant that has shown its token. A fresh one may be pushed out among the strangers
        before that, as `newcomers` counts; whoever comes asks again."""
        for _ in range(10):
            connection = self.machine.connection()
            try:
                self.assertEqual(remote.ask(connection, "GET", "/v1/status", self.tokens["good"]).status, 200)
                return connection
            except (OSError, http.client.HTTPException):
                connection.close()
                time.sleep(0.1)
        self.fail("ten fresh connections of the good tenant were pushed out in a row")

    def measure(self, times, seconds=6):
        """A round of what the good tenant asks on a connection that it keeps: reads, and a submit with its cancel now and
        then, within its rate; and as often the echo."""
        connection = self.known_connection()
        self.addCleanup(connection.close)
        times.begin_round()
        end = time.monotonic() + seconds
        turn = 0
        while time.monotonic() < end:
            turn += 1
            if turn % 10:
                answer = times.add("reads", lambda: self.ask(connection, "GET", f"/v1/jobs/{self.own}"))
                times.add("echoes", lambda: self.echo.ask(b"r"))
            else:
                job = {"command": ["sleep", "60"], "npus": 2, "name": f"probe-{time.monotonic_ns()}"}
                answer = times.add("writes", lambda job=job: self.ask(connection, "POST", "/v1/jobs", job))
                times.add("syncs", lambda: self.echo.ask(b"w"))
                self.ask(connection, "POST", f"/v1/jobs/{answer.json['id']}/cancel")
            self.assertLess(answer.status, 300, repr(answer))
            time.sleep(1 / (0.7 * RATE))
        connection.close()

    def ask(self, connection, method, path, body=None):
        return remote.ask(connection, method, path, self.tokens["good"], body)

    def newcomers(self, count):
        """How many fresh connections of the good tenant get an answer, and how long the slowest took (ms)."""
        good, slowest = 0, 0
        for _ in range(count):
            begin = time.monotonic()
            try:
                good += self.machine.call("GET", "/v1/status", self.tokens["good"]).status == 200
                slowest = max(slowest, (time.monotonic() - begin) * 1000)
            except (OSError, http.client.HTTPException):
                pass  # pushed out among the strangers, before it could show its token
            time.sleep(0.05)
        return good, slowest

    def memory_mib(self):
        for line in pathlib.Path(f"/proc/{self.machine.daemon.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
        return 0

    def descriptors(self):
        return len(list(pathlib.Path(f"/proc/{self.machine.daemon.pid}/fd").iterdir()))

    def begin_abuse(self):
        plain, tls = self.machine.plain_port, self.machine.port
        abusers = {
            "slow": Abuser("slow", tls, STRANGERS),
            "greedy": Abuser("greedy", tls, self.machine.ca, self.tokens["greedy"], self.job, 200),
            "fast": Abuser("fast", plain, self.tokens["fast"], FAST),
            "deaf": Abuser("deaf", plain, self.tokens["deaf"], f"/v1/jobs/{self.talker}/logs?follow=true", DEAF),
            "inside": Abuser("inside", plain, self.tokens["inside"], 0.9 * RATE),
            "churn": Abuser("churn", tls, self.machine.ca, self.tokens["churn"], 16),
            "hello": Abuser("hello", tls, HELLOS),
        }
        for abuser in abusers.values():
            self.addCleanup(abuser.process.kill)
        for name, what, count in (("slow", "opened", STRANGERS), ("greedy", "429", 1), ("fast", "429", RATE),
                                  ("inside", "200", RATE), ("churn", "200", 1), ("hello", "begun", HELLOS)):
            self.machine.wait_until(lambda name=name, what=what, count=count: abusers[name].counts.get(what, 0) >= count,
                                    f"{name} abuses", 120)
        return abusers

    def test_others_do_not_notice(self):
        """Without it one tenant, or anybody who can reach the port, could stop the service for all."""
        alone, abused, after = Times(), Times(), Times()
        self.measure(alone)
        memory_before = self.memory_mib()
        descriptors_before = self.descriptors()
        abusers = self.begin_abuse()
        memory = descriptors = 0
        offered, handshakes = [], []
        for _ in range(ROUNDS):
            before = {name: abuser.counts for name, abuser in abusers.items()}
            self.measure(abused)
            offered.append(abusers["fast"].since(before["fast"], "200", "429", "503"))
            handshakes.append(abusers["hello"].since(before["hello"], "answered"))
            memory = max(memory, self.memory_mib())
            descriptors = max(descriptors, self.descriptors())
            # In turns, because what else this machine does may change meanwhile.
            for abuser in abusers.values():
                abuser.pause()
            time.sleep(0.5)
            self.measure(alone)
            for abuser in abusers.values():
                abuser.go_on()
            time.sleep(2)
        deaf, greedy, fast = abusers["deaf"], abusers["greedy"], abusers["fast"]
        self.machine.wait_until(lambda: deaf.counts.get("cut", 0) >= DEAF, "who never listens is cut", 90)
        fresh, slowest = self.newcomers(40)
        held = greedy.counts["held"]
        told = "; ".join(f"{name} {abuser.counts}" for name, abuser in abusers.items())
        harness.figure(f"alone: {alone}; abused: {abused}")
        harness.figure(f"newcomers {fresh} of 40, slowest {slowest:.0f} ms; "
                       f"memory {memory_before:.0f} -> {memory:.0f} MiB; descriptors {descriptors_before} -> {descriptors}; "
                       f"fast offered {[f'{rate:.0f}' for rate in offered]} a second; handshakes that never ended "
                       f"{[f'{rate:.0f}' for rate in handshakes]} a second; {told}")

        # They really did what they are here for.
        self.assertLess(deaf.counts.get("refused", 0), DEAF)
        self.assertGreaterEqual(statistics.median(offered), 50 * RATE)
        self.assertGreaterEqual(abusers["inside"].counts["200"], 10 * RATE)
        self.assertGreater(abusers["churn"].counts["200"], 100)
        self.assertGreater(abusers["hello"].counts["begun"], 10 * HELLOS)
        # Nobody else noticed.
        self.assertLessEqual(abused.p99("reads"), bound(alone.p99("reads"), 2, alone.p99("echoes"), abused.p99("echoes")))
        self.assertLessEqual(abused.p90("writes"), bound(alone.p90("writes"), 2, alone.p90("syncs"), abused.p90("syncs")))
        self.assertLessEqual(memory - memory_before, MEMORY_GROWTH_MIB)
        # Few strangers at a time, and the greedy one no more than its share: each connection is a descriptor.
        self.assertLessEqual(descriptors - descriptors_before, UNKNOWN + PER_TENANT + 64 + DEAF * 2 + 32 + 16)
        self.assertLessEqual(held, PER_TENANT)
        self.assertLessEqual(max(handshakes), 2 * HANDSHAKES)
        self.assertGreaterEqual(fresh, 36)

        for abuser in abusers.values():
            abuser.stop()
        self.machine.wait_until(lambda: self.descriptors() <= descriptors_before + 5, "every connection is let go", 60)
        self.measure(after)
        self.assertEqual(self.newcomers(5)[0], 5)
        self.assertLessEqual(after.p99("reads"), bound(alone.p99("reads"), 3, alone.p99("echoes"), after.p99("echoes")))
        self.assertIsNone(self.machine.daemon.poll())
        self.assertEqual(self.machine.job(self.job)["attempt"], 1)
        self.assertGreaterEqual(self.machine.status()["jobsQueued"], PENDING - 1)
        refusals = [line for line in self.machine.audit() if line.get("status", 0) >= 400]
        self.assertLess(len(refusals), 5_000, "refusals fill the audit log")


class Crowd(unittest.TestCase):
    """Every connection that tenants can get is taken."""

    CONNECTIONS = 1_024
    RESERVED = 16

    @classmethod
    def setUpClass(cls):
        # As a shell gives it to a daemon that is not started by systemd.
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (1_024, hard))
        cls.machine = remote.Remote(config={"limits": {"requestsPerSecond": 10_000, "requestBurst": 10_000}})
        cls.addClassCleanup(cls.machine.stop)
        cls.machine.start()
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8_192), hard))
        cls.addClassCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        names = [f"tenant-{number}" for number in range(9)]
        cls.machine.apply("".join(f"---\napiVersion: tangram.dev/v1\nkind: Tenant\nmetadata: {{name: {name}}}\n"
                                  for name in names))
        cls.tokens = [cls.machine.token(name, "tenant", "--tenant", name) for name in names]
        cls.operator = cls.machine.token("op", "operator")

    def hold(self, token, job):
        """A connection that waits for its answer; None when it is refused, with the status."""
        connection = self.machine.connection(plain=True)
        connection.request("GET", f"/v1/jobs/{job}/wait?timeout=60s", headers={"Authorization": f"Bearer {token}"})
        readable, _, _ = select.select([connection.sock], [], [], 0.005)
        if not readable:
            self.addCleanup(connection.close)
            return connection, 0
        status = connection.getresponse().status
        connection.close()
        return None, status

    def test_shares_reserve_and_newcomers(self):
        """Without it the bounds could leak on the way from the table to the socket, or lock out who mends things."""
        held, refusals = [], []
        for number, token in enumerate(self.tokens):
            job = self.machine.submit("--tenant", f"tenant-{number}", "--npus", "8", "--", "sleep", "3600")
            mine = 0
            while True:
                connection, status = self.hold(token, job)
                if connection is None:
                    refusals.append(status)
                    break
                held.append(connection)
                mine += 1
                self.assertLessEqual(mine, PER_TENANT + 1)
        time.sleep(1)
        # What was refused only later shows now.
        readable, _, _ = select.select([connection.sock for connection in held], [], [], 0)
        late = [connection.getresponse().status for connection in held if connection.sock in readable]
        waiting = len(held) - len(late)
        harness.figure(f"{waiting} connections held by 9 tenants; refused with {sorted(set(refusals + late))}")
        self.assertEqual(waiting, self.CONNECTIONS - UNKNOWN - self.RESERVED)
        self.assertEqual(set(refusals + late), {429, 503})

        # The operator has places of its own, strangers theirs, and a tenant without any is told.
        self.assertEqual(self.machine.call("GET", "/v1/status", self.operator).status, 200)
        self.assertEqual(self.machine.call("GET", "/v1/version").status, 200)
        newcomer = self.machine.call("GET", "/v1/status", self.tokens[8])
        self.assertEqual(newcomer.status, 503, repr(newcomer))
        self.assertEqual(newcomer.json["reason"], "http.connections.exceeded")
        # The last tenant got what was left. One that rests makes room for it.
        resting = held[0]
        self.machine.ok("cancel", "tenant-0/j-1")
        self.assertEqual(resting.getresponse().read() != b"", True)
        self.assertEqual(self.machine.call("GET", "/v1/status", self.tokens[8]).status, 200)


if __name__ == "__main__":
    unittest.main()
