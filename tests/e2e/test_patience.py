"""Commands that take long, and a daemon that says "not now": they rest as they are told, and go on."""

import contextlib
import json
import socket
import subprocess
import threading
import time
import unittest

from harness import die_with_parent, program
from remote import Remote, ask

TENANT = {"apiVersion": "tangram.dev/v1", "kind": "Tenant", "metadata": {"name": "team-a"}, "spec": {"quota": {"npus": 2}}}
FLOOD_SECONDS = 4
FLOOD_PAUSE_SECONDS = 0.1


class PatienceCase(unittest.TestCase):
    """A daemon with the limits of the class, and a token of team-a's."""

    limits = {}

    def setUp(self):
        self.machine = Remote(config={"limits": self.limits})
        self.addCleanup(self.machine.stop)
        self.machine.start()
        self.machine.apply(json.dumps(TENANT))
        self.secret = self.machine.token("a", "tenant", "--tenant", "team-a")

    def start(self, *arguments, **environment):
        process = subprocess.Popen([program("tangram"), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env={**self.machine.remote_environment(self.secret), **environment},
                                   preexec_fn=die_with_parent)
        self.addCleanup(lambda: (process.kill(), process.wait(), process.stdout.close(), process.stderr.close()))
        return process

    def refusals(self, path):
        """How often the token was answered 429 there, as the audit log tells."""
        return sum(line.get("count", 1) for line in self.machine.audit()
                   if line.get("path") == path and line["status"] == 429)


class Rate(PatienceCase):
    """A tenant that may ask once a second."""

    limits = {"requestsPerSecond": 1, "requestBurst": 1}

    def flood(self, seconds):
        """Another program of the same tenant, which knows no patience."""
        connection = self.machine.connection(plain=True)
        try:
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                ask(connection, "GET", "/v1/status", self.secret)
                time.sleep(FLOOD_PAUSE_SECONDS)
        finally:
            connection.close()

    def test_a_wait_outlives_the_rate_of_its_tenant(self):
        """Without it a script that waits for a job would die of what another program of its tenant does meanwhile."""
        job = self.machine.submit("--tenant", "team-a", "--", "sleep", str(FLOOD_SECONDS + 2))
        waiting = self.start("wait", job)
        self.machine.wait_until(lambda: self.refusals(f"/v1/jobs/{job}/wait"), "its second question is one too many")
        self.flood(FLOOD_SECONDS)
        out, err = waiting.communicate(timeout=60)
        self.assertEqual(waiting.returncode, 0, err)
        self.assertIn("has succeeded", out)
        self.assertEqual(err.count("tangramd asks for patience"), 1, err)

    def test_a_followed_log_is_whole(self):
        """Without it `logs -f` would end between two of its questions, and the rest of the log be missed."""
        job = self.machine.submit("--tenant", "team-a", "--", "sh", "-c", "for n in 1 2 3 4 5; do echo $n; sleep 0.5; done")
        out, err = self.start("logs", "-f", job).communicate(timeout=60)
        self.assertEqual(out, "1\n2\n3\n4\n5\n", err)
        self.assertIn("has succeeded", err)


class HalfOpen:
    """A way to the daemon that breaks for the client and stays for the server, as when a laptop changes its network."""

    def __init__(self, port):
        self.port = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.clients, self.held = [], []
        threading.Thread(target=self.serve, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                server = socket.create_connection(("127.0.0.1", self.port))
                self.clients.append(client)
                self.held.append(server)
                for source, sink in ((client, server), (server, client)):
                    threading.Thread(target=self.pump, args=(source, sink), daemon=True).start()

    @staticmethod
    def pump(source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)

    @staticmethod
    def end(sockets):
        """shutdown() reaches a thread that reads, which close() does not."""
        for each in sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        sockets.clear()

    def break_clients(self):
        """Returns the server's ends, which are still open."""
        held, self.held = self.held, []
        self.end(self.clients)
        return held

    def close(self):
        self.end([self.listener, *self.clients, *self.held])


class Seats(PatienceCase):
    """A tenant that may have one stream of events."""

    limits = {"eventStreamsPerTenant": 1}

    def test_a_follower_waits_for_its_own_old_seat(self):
        """Without it a follower whose connection broke would find its seat taken by itself, and give up."""
        way = HalfOpen(self.machine.plain_port)
        self.addCleanup(way.close)
        follower = self.start("events", "-f", "--after", "oldest", "--type", "job.ended", "-o", "json", TANGRAM_SERVER=way.url)
        printed = []
        threading.Thread(target=lambda: printed.extend(follower.stdout), daemon=True).start()
        jobs = [self.machine.submit("--tenant", "team-a", "--", "true")]
        self.machine.wait_until(lambda: len(printed) == 1, "it follows")
        held = way.break_clients()
        jobs.append(self.machine.submit("--tenant", "team-a", "--", "true"))
        self.machine.wait_for(jobs[1], "ended")
        self.machine.wait_until(lambda: self.refusals("/v1/events") >= 2, "its seat is taken")
        self.assertIsNone(follower.poll())
        way.end(held)
        self.machine.wait_until(lambda: len(printed) == 2, "it goes on where it was", 30, follower)
        self.assertEqual([json.loads(line)["job"] for line in printed], jobs)


if __name__ == "__main__":
    unittest.main()
