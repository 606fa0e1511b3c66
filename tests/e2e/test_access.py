"""Who may do what over the network, and what goes wrong on the way there."""

import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

import certificates
import harness
import raw_http
import remote

TENANTS = """
apiVersion: tangram.dev/v1
kind: Tenant
metadata: {name: team-a}
spec: {quota: {npus: 2, memoryPerNpu: 17GiB}}
---
apiVersion: tangram.dev/v1
kind: Tenant
metadata: {name: team-b}
spec: {quota: {npus: 2}}
"""

# What another tenant must never see of team-a: name, label, argument, output, quota.
MARKS = ("secret-plan", "secret-label", "--secret-key", "secret-output", "17GiB")

BEARERS = ("operator", "tenant", "other", "viewer", "expired", "revoked", "none")
NOT_KNOWN = {"expired": 401, "revoked": 401, "none": 401}


def expect(operator, tenant, other, viewer, **rest):
    return {"operator": operator, "tenant": tenant, "other": other, "viewer": viewer, **NOT_KNOWN, **rest}


# One line for each call of the OpenAPI document: how to ask it about a thing of team-a's, and what each bearer gets.
EXPECTED = {
    "GET /v1/version": ("/v1/version", None, expect(200, 200, 200, 200, none=200)),
    "GET /v1/openapi.json": ("/v1/openapi.json", None, expect(200, 200, 200, 200, none=200)),
    "GET /v1/status": ("/v1/status", None, expect(200, 200, 200, 200)),
    "GET /v1/slices": ("/v1/slices?npu=0&cut=vir01", None, expect(200, 200, 200, 200)),
    "GET /v1/fit": ("/v1/fit?tenant=team-a", None, expect(200, 200, 403, 200)),
    "GET /v1/doctor": ("/v1/doctor", None, expect(200, 403, 403, 200)),
    "GET /metrics": ("/metrics", None, expect(200, 403, 403, 200)),
    "POST /v1/apply": ("/v1/apply", {"apiVersion": "tangram.dev/v1", "kind": "Tenant", "metadata": {"name": "team-n"}},
                       expect(200, 403, 403, 403)),
    "GET /v1/tenants": ("/v1/tenants", None, expect(200, 200, 200, 200)),
    "GET /v1/tenants/{}": ("/v1/tenants/team-a", None, expect(200, 200, 404, 200)),
    "PUT /v1/tenants/{}/quota": ("/v1/tenants/{spare}/quota", {"npus": 1}, expect(200, 403, 403, 403)),
    "DELETE /v1/tenants/{}": ("/v1/tenants/{spare}", None, expect(204, 403, 403, 403)),
    "POST /v1/jobs": ("/v1/jobs", {"tenant": "team-a", "command": ["sleep", "600"]}, expect(201, 201, 403, 403)),
    "GET /v1/jobs": ("/v1/jobs?all=true", None, expect(200, 200, 200, 200)),
    "GET /v1/jobs/{}": ("/v1/jobs/{job}", None, expect(200, 200, 404, 200)),
    "GET /v1/jobs/{}/why": ("/v1/jobs/{job}/why", None, expect(200, 200, 404, 200)),
    "GET /v1/jobs/{}/wait": ("/v1/jobs/{job}/wait?timeout=1ms", None, expect(200, 200, 404, 200)),
    "GET /v1/jobs/{}/logs": ("/v1/jobs/{job}/logs", None, expect(200, 200, 404, 200)),
    "POST /v1/jobs/{}/cancel": ("/v1/jobs/{doomed}/cancel", None, expect(202, 202, 404, 403)),
    "GET /v1/events": ("/v1/events?after=oldest", None, expect(200, 200, 200, 200)),
    "GET /v1/history": ("/v1/history", None, expect(200, 200, 200, 200)),
    "POST /v1/leases": ("/v1/leases", {"tenant": "team-a"}, expect(200, 200, 403, 403)),
    "POST /v1/leases/{}/hold": ("/v1/leases/{lease}/hold", {"token": "{key}"}, expect(200, 200, 404, 403)),
    "POST /v1/leases/{}/release": ("/v1/leases/{lease}/release", {"token": "{key}"}, expect(200, 200, 404, 403)),
    "GET /v1/tokens": ("/v1/tokens", None, expect(200, 403, 403, 200)),
    "POST /v1/tokens": ("/v1/tokens", {"name": "new-{n}", "role": "viewer"}, expect(201, 403, 403, 403)),
    "POST /v1/tokens/{}/rotate": ("/v1/tokens/{token}/rotate", {}, expect(200, 403, 403, 403)),
    "POST /v1/tokens/{}/revoke": ("/v1/tokens/{token}/revoke", None, expect(200, 403, 403, 403)),
}


# What the document says of who may, and who that is when the call is about a thing of team-a's.
WHO = {
    "Who: anyone.": {"operator", "tenant", "other", "viewer", "none"},
    "Who: the operator and viewers; a tenant for what is its own.": {"operator", "tenant", "viewer"},
    "Who: the operator; a tenant for what is its own; no viewer.": {"operator", "tenant"},
    "Who: the operator and viewers.": {"operator", "viewer"},
    "Who: the operator.": {"operator"},
}
# Everybody who is known may ask for what is there; each sees its own.
LISTINGS = {"GET /v1/status", "GET /v1/slices", "GET /v1/tenants", "GET /v1/jobs", "GET /v1/events", "GET /v1/history"}


def documented_calls(machine):
    """What the OpenAPI document says of every call, by names like "GET /v1/jobs/{}"."""
    document = machine.call("GET", "/v1/openapi.json").json
    return {f"{method.upper()} {re.sub('{[^}]*}', '{}', path)}": {"security": document["security"], **call}
            for path, methods in document["paths"].items() for method, call in methods.items()}


class Walk(unittest.TestCase):
    """Every call with every kind of bearer."""

    @classmethod
    def setUpClass(cls):
        cls.machine = remote.Remote()
        cls.addClassCleanup(cls.machine.stop)
        cls.machine.start()
        cls.machine.apply(TENANTS)
        cls.secrets = {
            "operator": cls.machine.token("op", "operator"),
            "tenant": cls.machine.token("a", "tenant", "--tenant", "team-a"),
            "other": cls.machine.token("b", "tenant", "--tenant", "team-b"),
            "viewer": cls.machine.token("v", "viewer"),
            "expired": cls.machine.token("old", "operator", "--lifetime", "1s"),
            "revoked": cls.machine.token("gone", "operator"),
            "none": None,
        }
        cls.machine.ok("token", "revoke", "gone")
        cls.job = cls.machine.submit("--tenant", "team-a", "--name", "secret-plan", "--label", "secret-label=1", "--",
                                     "sh", "-c", "echo secret-output; sleep 600", "--secret-key")
        cls.machine.wait_for(cls.job, "running")
        cls.machine.wait_until(lambda: "secret-output" in cls.machine.ok("logs", cls.job), "it has printed")
        time.sleep(1.1)  # the old token's second
        cls.documented = documented_calls(cls.machine)
        cls.count = 0

    def names(self):
        """Things for one request alone: a job to cancel, a lease to give back, a tenant to delete, a token to turn."""
        cls = type(self)
        cls.count += 1
        tenant, token = f"spare-{cls.count}", f"token-{cls.count}"
        self.machine.apply(f"apiVersion: tangram.dev/v1\nkind: Tenant\nmetadata: {{name: {tenant}}}\n")
        self.machine.token(token, "viewer")
        doomed = self.machine.submit("--tenant", "team-a", "--", "sleep", "600")
        lease, key = self.new_lease()
        return {"job": self.job, "doomed": doomed, "lease": lease, "key": key, "spare": tenant, "token": token, "n": cls.count}

    def new_lease(self):
        """A lease of team-a's that a connection holds until the test ends, and its token."""
        connection = self.machine.connection(plain=True)
        self.addCleanup(connection.close)
        answer = remote.ask(connection, "POST", "/v1/leases", self.secrets["operator"], {"tenant": "team-a"})
        event = answer.event
        return event["job"]["id"], event["token"]

    def ask(self, call, bearer, names, plain=False):
        method = call.partition(" ")[0]
        path, body, _ = EXPECTED[call]
        for name, value in names.items():
            path = path.replace("{" + name + "}", str(value))
            body = body and {field: text.replace("{" + name + "}", str(value)) if isinstance(text, str) else text
                             for field, text in body.items()}
        return self.machine.call(method, path, self.secrets[bearer], body, plain=plain)

    def test_every_call_has_its_line(self):
        """Without it a new call could be left open to everybody, and no test would look at it."""
        self.assertEqual(set(EXPECTED), set(self.documented))
        for call, (_, _, statuses) in EXPECTED.items():
            self.assertEqual(set(statuses), set(BEARERS), call)

    def test_the_document_tells_who_may(self):
        """Without it the document could promise a call to somebody who is refused, or hide that it is open."""
        for call, (_, _, statuses) in EXPECTED.items():
            with self.subTest(call):
                may = {bearer for bearer, status in statuses.items() if status < 300}
                self.assertEqual(may, WHO[self.documented[call]["description"]] | ({"other"} if call in LISTINGS else set()))
                self.assertEqual(self.documented[call]["security"], [] if "none" in may else [{"token": []}])

    def test_every_call_with_every_bearer(self):
        """Without it a tenant could reach another's jobs, a viewer change something, or a dead token open anything."""
        for call, (_, _, statuses) in EXPECTED.items():
            changes = not call.startswith("GET")
            names = self.names() if changes else {"job": self.job}
            # The least first: the last ones use up what they ask for.
            for bearer in ("none", "expired", "revoked", "other", "viewer", "tenant", "operator"):
                with self.subTest(call=call, bearer=bearer):
                    answer = self.ask(call, bearer, names)
                    self.assertEqual(answer.status, statuses[bearer], repr(answer))
                    self.check_documented(call, answer)
                    if answer.status == 401:
                        self.check_401(answer, bearer)
                    if bearer == "other":
                        for mark in MARKS:
                            self.assertNotIn(mark, answer.body.decode(), call)
                    if changes and bearer == "tenant" and answer.status < 300:
                        names = self.names()

    def check_documented(self, call, answer):
        """The document has this status, and this type of body with it, maybe among others."""
        told = self.documented[call]["responses"][str(answer.status)]
        types = {"application/problem+json"} if "$ref" in told else set(told.get("content", ()))
        self.assertIn(answer.type.partition(";")[0], types or {""}, call)

    def check_401(self, answer, bearer):
        reasons = {"none": "token.missing", "expired": "token.expired", "revoked": "token.revoked"}
        self.assertEqual(answer.json["reason"], reasons[bearer])
        self.assertIn("Bearer", answer.headers["WWW-Authenticate"])
        self.assertEqual(answer.type, "application/problem+json")

    def test_plain_on_loopback_and_the_socket_are_the_same(self):
        """Without it the way to the daemon would change what one may do there."""
        names = {"job": self.job}
        for call, (path, _, statuses) in EXPECTED.items():
            if not call.startswith("GET"):
                continue
            for bearer in BEARERS:
                with self.subTest(call=call, bearer=bearer):
                    self.assertEqual(self.ask(call, bearer, names, plain=True).status, statuses[bearer])
                    if self.secrets[bearer] is None:
                        continue
                    # On the Unix socket this test is root: the token counts, not the uid.
                    on_socket = raw_http.call(self.machine, "GET", path.replace("{job}", self.job),
                                              headers={"Authorization": f"Bearer {self.secrets[bearer]}"})
                    self.assertEqual(on_socket.status, statuses[bearer])

    def test_nothing_of_anothers_is_changed(self):
        """Without it a refusal could come after the deed."""
        lease, key = self.new_lease()
        before = [self.machine.json("describe", self.job), self.machine.json("describe", lease)["state"],
                  self.machine.json("quota", "team-a")]
        journal = len(self.machine.journal())
        for call in EXPECTED:
            for bearer in ("other", "expired", "revoked", "none"):
                if call == "POST /v1/jobs/{}/cancel":
                    self.ask(call, bearer, {"doomed": self.job})
                elif not call.startswith("GET"):
                    self.ask(call, bearer, {"job": self.job, "spare": "team-a", "lease": lease, "key": key, "token": "a", "n": 0})
        self.assertEqual([self.machine.json("describe", self.job), self.machine.json("describe", lease)["state"],
                          self.machine.json("quota", "team-a")], before)
        self.assertEqual(len(self.machine.journal()), journal)
        self.assertEqual(self.machine.call("GET", "/v1/status", self.secrets["tenant"]).status, 200)

    def test_unknown_paths_tell_strangers_nothing(self):
        """Without it a stranger could learn what there is."""
        self.assertEqual(self.machine.call("GET", "/v1/nothing").status, 401)
        self.assertEqual(self.machine.call("GET", "/v1/nothing", self.secrets["viewer"]).status, 404)
        self.assertEqual(self.machine.call("PUT", "/v1/jobs", self.secrets["viewer"]).status, 405)

    def test_refusals_of_one_user_are_counted_whatever_its_process(self):
        """Without it any user of the machine could push everybody's lines out of the audit log with refused calls."""
        knock = ("import os, socket, sys\n"
                 "os.setuid(54321)\n"
                 "for _ in range(60):\n"
                 "    if os.fork() == 0:\n"
                 "        s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n"
                 "        s.sendall(b'GET /v1/status HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n')\n"
                 "        s.recv(65536); os._exit(0)\n"
                 "    os.wait()\n")
        subprocess.run([sys.executable, "-c", knock, str(self.machine.socket)], check=True, timeout=60)
        lines = lambda: [line for line in self.machine.audit() if "uid 54321" in json.dumps(line)]
        self.machine.wait_until(lambda: sum(line.get("count", 1) for line in lines()) >= 60, "every refusal is counted")
        self.assertLess(len(lines()), 30)

    def test_the_audit_names_the_bearer_and_no_secret(self):
        """Without it nobody could tell who used which token, or the log would be a place to read tokens from."""
        self.machine.call("GET", "/v1/jobs", self.secrets["tenant"])
        self.machine.call("POST", "/v1/apply", self.secrets["viewer"], {})
        self.machine.call("GET", "/v1/status", self.secrets["revoked"])
        self.machine.call("GET", f"/v1/jobs/{self.secrets['viewer']}", self.secrets["viewer"])

        def told(**wanted):
            return any(all(line.get(name) == value for name, value in wanted.items()) for line in self.machine.audit())

        for wanted in ({"who": "token t-2", "name": "a", "role": "tenant", "tenant": "team-a", "method": "GET",
                        "path": "/v1/jobs", "status": 200},
                       {"who": "token t-4", "method": "POST", "path": "/v1/apply", "status": 403},
                       {"who": "token t-6", "status": 401, "reason": "token.revoked"},
                       {"who": "uid 0", "role": "operator", "method": "POST", "path": "/v1/tokens", "status": 201}):
            self.machine.wait_until(lambda wanted=wanted: told(**wanted), f"the audit says {wanted}")
        self.assert_no_secret(self.machine.state / "log")

    def test_secrets_are_not_kept(self):
        """Without it whoever reads the disk, a backup or the log would hold every token."""
        self.assert_no_secret(self.machine.state)
        for secret in filter(None, self.secrets.values()):
            self.assertNotIn(secret.rpartition("_")[2], self.machine.log())

    def assert_no_secret(self, directory):
        for path in pathlib.Path(directory).rglob("*"):
            if path.is_file() and not path.is_symlink():
                content = path.read_bytes()
                for secret in filter(None, self.secrets.values()):
                    self.assertNotIn(secret.rpartition("_")[2].encode(), content, path)


class CommandLine(unittest.TestCase):
    """`tangram` from elsewhere."""

    @classmethod
    def setUpClass(cls):
        cls.machine = remote.Remote()
        cls.addClassCleanup(cls.machine.stop)
        cls.machine.start()
        cls.machine.apply(TENANTS)
        cls.secret = cls.machine.token("a", "tenant", "--tenant", "team-a")

    def test_a_job_from_afar(self):
        """Without it the network would be for curl alone."""
        submitted = self.machine.remote_cli(self.secret, "submit", "--wait", "--", "sh", "-c", "echo far; exit 3")
        self.assertEqual(submitted.code, 3, repr(submitted))
        job = submitted.out.strip()
        self.assertEqual(self.machine.remote_cli(self.secret, "logs", "-f", job).out, "far\n")
        self.assertEqual(json.loads(self.machine.remote_cli(self.secret, "describe", job, "-o", "json").out)["tenant"], "team-a")
        self.assertEqual(self.machine.remote_cli(self.secret, "apply", "-f", "-", input=TENANTS).code, 5)

    def test_options_instead_of_the_environment(self):
        """Without it --server, --token-file and --ca-file could do nothing, or a wrong file be used in silence."""
        path = self.machine.token_file("a", self.secret)
        words = ["--server", f"https://localhost:{self.machine.port}", "--ca-file", str(self.machine.ca), "--token-file", path]
        self.assertEqual(self.machine.cli("queue", *words).code, 0)
        path.chmod(0o644)
        exposed = self.machine.cli("queue", *words)
        self.assertEqual(exposed.code, 2, repr(exposed))
        self.assertIn("chmod 600", exposed.err)
        path.unlink()
        missing = self.machine.cli("queue", *words)
        self.assertEqual(missing.code, 2, repr(missing))
        self.assertIn(str(path), missing.err)
        self.machine.token_file("a", self.secret)
        self.assertEqual(self.machine.cli("queue", *words).code, 0)

    def test_an_untrusted_server_gets_no_token(self):
        """Without it a token could be collected by whoever sits in between."""
        answer = self.machine.remote_cli(self.secret, "queue", env={"TANGRAM_CA_FILE": ""})
        self.assertEqual(answer.code, 6, repr(answer))
        self.assertIn("not trusted", answer.err)
        self.assertIn("--ca-file", answer.err)

    def test_rotation_with_a_file(self):
        """Without it a rotation would mean a moment without a good token."""
        path = self.machine.keys / "r.token"
        self.machine.ok("token", "create", "r", "--role", "viewer", "--out", path)
        first = path.read_text().strip()
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        self.machine.ok("token", "rotate", "r", "--grace", "1h", "--out", path)
        second = path.read_text().strip()
        self.assertNotEqual(first, second)
        for secret in (first, second):
            self.assertEqual(self.machine.call("GET", "/v1/status", secret).status, 200)
        self.machine.ok("token", "rotate", "r", "--out", path)
        for secret in (first, second):
            self.assertEqual(self.machine.call("GET", "/v1/status", secret).status, 401)

    def test_a_wait_lives_through_a_restart(self):
        """Without it every restart of the daemon would break every script on the network."""
        self.machine.stop_daemon()
        port = self.machine.config["listen"][0]["port"]
        # The same port again, as a real configuration says it.
        fixed = free_port()
        self.machine.config["listen"][0]["port"] = fixed
        self.machine.write_config()
        try:
            self.machine.start_daemon()
            job = self.machine.submit("--tenant", "team-a", "--", "sleep", "600")
            self.machine.wait_for(job, "running")
            words = [harness.program("tangram"), "wait", job]
            env = {"PATH": os.environ["PATH"], "TANGRAM_SERVER": f"https://localhost:{fixed}",
                   "TANGRAM_CA_FILE": str(self.machine.ca), "TANGRAM_TOKEN": self.secret}
            with subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as waiting:
                time.sleep(0.5)
                self.machine.kill_daemon()
                self.machine.start_daemon()
                self.machine.ok("cancel", job)
                _, err = waiting.communicate(timeout=60)
            self.assertEqual(waiting.returncode, 1, err)
        finally:
            self.machine.stop_daemon()
            self.machine.config["listen"][0]["port"] = port
            self.machine.write_config()
            self.machine.start_daemon()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class StreamsOfTheRevoked(unittest.TestCase):
    """What was opened in time must not outlive the right to it."""

    def setUp(self):
        self.machine = remote.Remote(config={"jobs": {"leaseGrace": "2s"}})
        self.addCleanup(self.machine.stop)
        self.machine.start()
        self.machine.apply(TENANTS)
        self.secret = self.machine.token("a", "tenant", "--tenant", "team-a")

    def open(self, method, path, body=None, accept="text/event-stream"):
        connection = self.machine.connection(timeout=60)
        self.addCleanup(connection.close)
        connection.request(method, path, json.dumps(body) if body else None,
                           {"Authorization": f"Bearer {self.secret}", "Content-Type": "application/json",
                            "Accept": accept})
        response = connection.getresponse()
        self.assertEqual(response.status, 200)
        return response

    def test_the_command_says_why_its_log_ends(self):
        """Without it `logs -f` of a revoked token would speak of a broken answer, with the wrong exit status."""
        job = self.machine.submit("--tenant", "team-a", "--", "sh", "-c", "while :; do echo more; sleep 0.1; done")
        self.machine.wait_for(job, "running")
        secret = self.machine.token("reader", "tenant", "--tenant", "team-a")
        with subprocess.Popen([harness.program("tangram"), "logs", "-f", job], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env=self.machine.remote_environment(secret),
                              preexec_fn=harness.die_with_parent) as follower:
            self.assertEqual(follower.stdout.readline(), "more\n")
            self.machine.ok("token", "revoke", "reader")
            out, err = follower.communicate(timeout=60)
        self.assertEqual(follower.returncode, 5, err)
        self.assertLessEqual(set(out.splitlines()), {"more"}, "nothing of the problem is printed as output")
        self.assertIn("tangram explain token.revoked", err)

    def test_logs_and_leases_end_with_their_token(self):
        """Without it a revoked token could read a job's output, and keep NPUs, for as long as it likes."""
        job = self.machine.submit("--tenant", "team-a", "--", "sh", "-c", "while :; do echo more; sleep 0.1; done")
        self.machine.wait_for(job, "running")
        log = self.open("GET", f"/v1/jobs/{job}/logs?follow=true")
        text = self.open("GET", f"/v1/jobs/{job}/logs?follow=true", accept="text/plain")
        lease = self.open("POST", "/v1/leases", {"tenant": "team-a", "npus": 1})
        held = re.search(rb'"id":"(j-\d+)"', lease.readline() + lease.readline()).group(1).decode()
        self.machine.ok("token", "revoke", "a")
        for stream in (log, lease):
            self.assertIn(b'"reason":"token.revoked"', stream.read())
        with self.assertRaises(http.client.IncompleteRead, msg="a text that was cut looks like all of it"):
            text.read()
        ended = self.machine.wait_for(held, "ended", timeout=30)
        self.assertEqual(ended["outcome"], "lost")
        self.assertEqual(self.machine.job(job)["state"], "running")


class Durable(unittest.TestCase):
    """What was acknowledged holds, whenever the daemon is killed."""

    def test_tokens_survive_kills(self):
        """Without it an operator would hand out a token that a crash takes back, or revoke one that comes back."""
        with remote.Remote() as machine:
            machine.apply(TENANTS)
            good, dead, turned = [], [], []
            for turn in range(5):
                good.append(machine.token(f"good-{turn}", "tenant", "--tenant", "team-a"))
                machine.kill_daemon()
                machine.start_daemon()
                dead.append(machine.token(f"dead-{turn}", "operator"))
                machine.ok("token", "revoke", f"dead-{turn}")
                machine.kill_daemon()
                machine.start_daemon()
                turned.append(machine.token(f"turned-{turn}", "viewer"))
                good.append(machine.ok("token", "rotate", f"turned-{turn}").strip())
                machine.kill_daemon()
                machine.start_daemon()
            for secret in good:
                self.assertEqual(machine.call("GET", "/v1/status", secret).status, 200)
            for secret in dead + turned:
                self.assertEqual(machine.call("GET", "/v1/status", secret).status, 401)
            self.assertEqual(len(machine.json("token", "list")["items"]), 15)

    def test_a_kill_in_the_middle_leaves_all_or_nothing(self):
        """Without it a token could be half there: listed and not accepted, or the other way round."""
        for place in ("service.before_append", "journal.before_commit", "journal.after_append", "service.after_append"):
            with self.subTest(place=place), remote.Remote() as machine:
                machine.apply(TENANTS)
                before = machine.token("before", "viewer")
                machine.stop_daemon()
                # The daemon's own first records pass the same places: the second time is the token's.
                machine.start_daemon(env={"TANGRAM_CRASH_AT": f"{place}:2"}, wait=False)
                machine.cli("token", "create", "between", "--role", "viewer", timeout=60)
                machine.wait_until(lambda: machine.daemon.poll() is not None or machine.cli(
                    "token", "create", "between-2", "--role", "viewer").code != 0, "it has died", 60)
                machine.kill_daemon()
                machine.start_daemon()
                self.assertEqual(machine.call("GET", "/v1/status", before).status, 200)
                names = {item["name"] for item in machine.json("token", "list")["items"]}
                created = {record["body"]["name"] for record in machine.journal("token_created")}
                self.assertEqual(names, created)
                # Whichever it was: the operator goes on by name.
                for name in ("between", "between-2"):
                    if name in names:
                        again = machine.ok("token", "rotate", name).strip()
                    else:
                        again = machine.token(name, "viewer")
                    self.assertEqual(machine.call("GET", "/v1/status", again).status, 200)


class Faults(unittest.TestCase):
    """Each says what is wrong and what to do, loses nothing, and starts again when mended."""

    def refuses_to_start(self, machine, *words):
        """The daemon ends by itself and says these words."""
        mark = len(machine.log())
        machine.start_daemon(wait=False)
        machine.wait_until(lambda: machine.daemon.poll() is not None, "the daemon gives up", 30)
        self.assertNotEqual(machine.daemon.returncode, 0)
        said = machine.log()[mark:]
        for word in words:
            self.assertIn(word, said)
        self.assertNotIn("ready on", said)

    def test_faults_of_the_network(self):
        """Without it a slip in the configuration would cost jobs, or a night of looking for it."""
        with remote.Remote() as machine:
            machine.apply(TENANTS)
            secret = machine.token("a", "tenant", "--tenant", "team-a")
            job = machine.submit("--tenant", "team-a", "--", "sleep", "600")
            machine.wait_for(job, "running")
            journal = machine.journal()
            machine.wait_until(lambda: self.processes_of(machine, job), "the program has begun")
            machine.stop_daemon()
            processes = self.processes_of(machine, job)

            good = list(machine.config["listen"])
            key = str(machine.key)
            certificate = str(machine.certificate)

            def listen(**fields):
                machine.config["listen"] = [{**good[0], **fields}]
                machine.write_config()

            def with_tls(**files):
                listen(tls={"certificate": certificate, "key": key, **files})

            with socket.socket() as taken:
                taken.bind(("127.0.0.1", 0))
                taken.listen()
                port = taken.getsockname()[1]
                listen(port=port)
                self.refuses_to_start(machine, f"127.0.0.1:{port}", "another server", "choose another port")
            listen(address="192.0.2.1")
            self.refuses_to_start(machine, "192.0.2.1", "0.0.0.0 for all")
            with_tls(certificate="/nonexistent/c.pem")
            self.refuses_to_start(machine, "listen[0]", "/nonexistent/c.pem", "check the path")
            broken = machine.keys / "broken.pem"
            broken.write_text("-----BEGIN CERTIFICATE-----\nnonsense\n")
            broken.chmod(0o600)
            with_tls(certificate=str(broken))
            self.refuses_to_start(machine, str(broken), "must be PEM")
            with_tls(key=str(broken))
            self.refuses_to_start(machine, str(broken), "no private key")
            _, other = certificates.make_server(machine.keys, machine.ca, "other")
            with_tls(key=str(other))
            self.refuses_to_start(machine, str(other), "does not belong to the certificate")
            machine.key.chmod(0o644)
            with_tls()
            self.refuses_to_start(machine, "everybody", "chmod o-r")
            check = subprocess.run([harness.program("tangramd"), "--check-config", "--config", str(machine.config_path)],
                                   capture_output=True, text=True, check=False)
            self.assertIn("chmod o-r", check.stderr)
            machine.key.chmod(0o600)
            machine.config["listen"] = [{"address": "0.0.0.0", "port": 0}]
            machine.write_config()
            self.refuses_to_start(machine, "listen[0]", "without tls", "127.0.0.1")
            machine.config["listen"] = good
            machine.write_config(audit={"file": "/dev/null/audit.log"})
            self.refuses_to_start(machine, "/dev/null/audit.log", "audit.file")

            machine.config.pop("audit")
            machine.write_config()
            machine.start_daemon()
            self.assertEqual(machine.journal()[:len(journal)], journal)
            self.assertEqual(machine.job(job)["state"], "running")
            self.assertEqual(machine.job(job)["attempt"], 1)
            self.assertEqual(self.processes_of(machine, job), processes)
            self.assertEqual(machine.call("GET", "/v1/status", secret).status, 200)

    def test_an_unreadable_token_file(self):
        """Without it a slip with a file would look like a fault of the service, or a command go out as somebody else."""
        with remote.Remote() as machine:
            machine.apply(TENANTS)
            secret = machine.token("a", "tenant", "--tenant", "team-a")
            user = 40_999  # nobody that the daemon knows: without the token it is no one
            ca, path = machine.shared / "ca.pem", machine.shared / "a.token"
            shutil.copy(machine.ca, ca)
            ca.chmod(0o644)
            words = ["submit", "--server", f"https://localhost:{machine.port}", "--ca-file", ca, "--token-file", path, "--", "true"]
            journal = len(machine.journal())

            def refused(*says):
                answer = machine.cli(*words, user=user)
                self.assertEqual(answer.code, 2, repr(answer))
                for word in (str(path), "hint: ", *says):
                    self.assertIn(word, answer.err)
                self.assertNotIn(secret, answer.err)

            refused("No such file", "tangram token create")
            path.write_text(secret + "\n")
            path.chmod(0o600)
            refused("Permission denied", "that you may read")
            os.chown(path, user, user)
            path.write_text("")
            refused("is empty", "tangram token create")
            path.write_text(f"{secret}\n{secret}\n")
            refused("holds more than a token")
            path.write_text(secret + "\n")
            path.chmod(0o640)
            refused("others than you", f"chmod 600 {path}")
            self.assertEqual(len(machine.journal()), journal, "something was submitted")

            path.chmod(0o600)
            answer = machine.cli(*words, user=user)
            self.assertEqual(answer.code, 0, repr(answer))
            self.assertEqual(machine.job(answer.out.strip())["tenant"], "team-a")

    @staticmethod
    def processes_of(machine, job):
        """The pids of the job's program, `sleep`, which no fault of the daemon's may touch."""
        return {entry.name for entry in pathlib.Path("/proc").iterdir()
                if entry.name.isdigit() and machine.job_of_process(entry.name) == f"{job}.1"
                and (entry / "comm").read_text() == "sleep\n"}

    def test_a_certificate_is_replaced_while_the_daemon_runs(self):
        """Without it every renewal would be a restart, and a bad renewal the end of the service."""
        with remote.Remote() as machine:
            machine.apply(TENANTS)
            secret = machine.token("v", "viewer")
            self.assertEqual(machine.call("GET", "/v1/status", secret).status, 200)
            whole = machine.certificate.read_text()
            machine.certificate.write_text(whole[:200])
            machine.daemon.send_signal(signal.SIGHUP)
            machine.wait_until(lambda: "the certificate stays as it was" in machine.log(), "the daemon complains")
            self.assertIn(str(machine.certificate), machine.log())
            self.assertEqual(machine.call("GET", "/v1/status", secret).status, 200)

            first = self.serial(machine)
            certificates.make_server(machine.keys, machine.ca)
            machine.daemon.send_signal(signal.SIGHUP)
            machine.wait_until(lambda: "was read again" in machine.log(), "the daemon has read it")
            self.assertNotEqual(self.serial(machine), first)
            self.assertEqual(machine.call("GET", "/v1/status", secret).status, 200)

    @staticmethod
    def serial(machine):
        connection = machine.connection()
        connection.connect()
        try:
            return connection.sock.getpeercert()["serialNumber"]
        finally:
            connection.close()


if __name__ == "__main__":
    unittest.main()
