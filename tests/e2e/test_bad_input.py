"""Everything wrong that a client can send: a clear error, the right status and exit code, and nothing changed."""

import json
import os
import pathlib
import shutil
import tempfile
import unittest

import harness
import raw_http

TENANTS = """
apiVersion: tangram.dev/v1
kind: Tenant
metadata: {name: team-a}
spec: {quota: {npus: 4, memoryPerNpu: 16GiB, runTime: 1h}}
---
apiVersion: tangram.dev/v1
kind: Tenant
metadata: {name: team-b}
"""

# What would be right stands in the sentence, or behind it as a hint.
REMEDY = r"must (be|have)|allowed|letters, digits"

HEAD = "apiVersion: tangram.dev/v1\nkind: Tenant\nmetadata: {name: new}\n"


class Case(unittest.TestCase):
    """After each test the journal has as many records as before, and the views show the same."""

    @classmethod
    def setUpClass(cls):
        cls.machine = harness.Machine()
        cls.addClassCleanup(cls.machine.stop)
        cls.machine.start()
        cls.machine.apply(TENANTS)
        cls.holder = cls.machine.submit("--tenant", "team-a", "--name", "holder", "--npus", "4", "--", "sleep", "600")
        cls.waiter = cls.machine.submit("--tenant", "team-a", "--name", "waiter", "--", "true")
        cls.gone = cls.machine.submit("--tenant", "team-b", "--", "true")
        cls.machine.wait_for(cls.holder, "running")
        cls.machine.wait_for(cls.gone, "ended")

    def setUp(self):
        self.before = self.state()
        self.addCleanup(lambda: self.assertEqual(self.state(), self.before, "something changed"))

    def state(self):
        return (len(self.machine.journal()), self.machine.ok("quota", "-o", "json"),
                self.machine.ok("queue", "--all", "-o", "json"))

    def refuse(self, code, says, *arguments, **options):
        """The command ends with `code`, says these words and what to do, and prints no data."""
        answer = self.machine.cli(*arguments, **options)
        self.assertEqual(answer.code, code, repr(answer))
        self.assertEqual(answer.out, "", repr(answer))
        for word in says:
            self.assertIn(word, answer.err, repr(answer))
        self.assertRegex(answer.err, f"hint: |{REMEDY}", repr(answer))
        self.assertLess(len(answer.err), 2000, "a message that nobody reads")
        return answer

    def refuse_submit(self, code, says, *arguments):
        return self.refuse(code, says, "submit", "--tenant", "team-b", *arguments)

    def problem(self, status, reason, says, method, path, body=None, headers=None):
        """A problem document with that status and token, these words, and a remedy."""
        answer = raw_http.call(self.machine, method, path, body, headers)
        self.assertEqual(answer.status, status, repr(answer))
        self.assertEqual(answer.type, "application/problem+json", repr(answer))
        document = answer.json
        self.assertEqual(document["status"], status)
        self.assertEqual(document["reason"], reason, repr(answer))
        for word in says:
            self.assertIn(word, document["detail"], repr(answer))
        self.assertRegex(document["detail"] + (" hint: " if document.get("hint") else ""), f"hint: |{REMEDY}", repr(answer))
        self.assertLess(len(answer.body), 4000, "a message that nobody reads")
        return document


class Documents(Case):
    """`apply` and POST /v1/apply."""

    def refuse_apply(self, says, text, code=2):
        return self.refuse(code, says, "apply", "-f", "-", input=text)

    def test_malformed(self):
        """Without it a slip in a file would have to be searched for."""
        self.refuse_apply(["line 5, column"], HEAD + "spec: {quota: {npus: 2}\n")
        self.refuse_apply(["line 5"], HEAD + "spec:\n\tquota: {}\n")
        self.refuse_apply(["line 4"], HEAD + "spec: {quota: {npus: [1}}\n")
        self.refuse_apply([], "")
        self.refuse_apply([], "# nothing but a comment\n")
        self.refuse_apply(["line 1"], "just a word\n")
        self.refuse_apply(["line 2"], '{"apiVersion": "tangram.dev/v1",\n"kind": }')
        self.refuse_apply(["line 1"], '{"items": [{}')
        self.refuse_apply([], "- a\n- list\n")

    def test_fields(self):
        """Without it a field that is misspelt or of a wrong kind would silently not count."""
        for spec, says in (
            ("{quota: {npuz: 2}}", ["spec.quota.npuz", "line 4", "npus"]),
            ("{quata: {npus: 2}}", ["spec.quata", "quota"]),
            ("{quota: {npus: -1}}", ["spec.quota.npus", "-1"]),
            ("{quota: {npus: 99999999999999999999}}", ["spec.quota.npus", "99999999999999999999"]),
            ("{quota: {npus: 1000001}}", ["spec.quota.npus", "1000001"]),
            ("{quota: {npus: 1.5}}", ["spec.quota.npus", "1.5"]),
            ("{quota: {npus: two}}", ["spec.quota.npus", "two"]),
            ("{quota: {npus: '2'}}", ["spec.quota.npus"]),
            ("{quota: {npus: }}", ["spec.quota.npus"]),
            ("{quota: {npus: [2]}}", ["spec.quota.npus"]),
            ("{quota: {npus: 2, npus: 3}}", ["npus", "twice"]),
            ("{quota: 7}", ["spec.quota"]),
            ("{quota: {memoryPerNpu: 16}}", ["spec.quota.memoryPerNpu", "16"]),
            ("{quota: {memoryPerNpu: -16GiB}}", ["spec.quota.memoryPerNpu", "-16GiB"]),
            ("{quota: {memoryTotal: 99999999999TiB}}", ["spec.quota.memoryTotal", "99999999999TiB"]),
            ("{quota: {memoryTotal: 16GB}}", ["spec.quota.memoryTotal", "16GB"]),
            ("{quota: {runTime: 24}}", ["spec.quota.runTime", "24"]),
            ("{quota: {runTime: 1y}}", ["spec.quota.runTime", "1y"]),
            ("{quota: {priorities: [urgent]}}", ["spec.quota.priorities[0]", "urgent", "high"]),
            ("{quota: {priorities: high}}", ["spec.quota.priorities"]),
            ("{quota: {bandwidth: 10G}}", ["spec.quota.bandwidth", "10G"]),
            ("{uid: 0}", ["spec.uid", "0"]),
            ("{uid: 4294967295}", ["spec.uid", "4294967295"]),
            ("{members: [-5]}", ["spec.members[0]", "-5"]),
            ("{jobDefaults: {cpus: -1}}", ["spec.jobDefaults.cpus", "-1"]),
            ("{jobDefaults: {processes: 0}}", ["spec.jobDefaults.processes", "0"]),
            ("&a [*a]", []),
            ("!!binary aGFsbG8=", []),
        ):
            with self.subTest(spec):
                self.refuse_apply(says, f"{HEAD}spec: {spec}\n")

    def test_heads(self):
        """Without it a document of another version or kind would be taken for a tenant."""
        for text, says in (
            (HEAD.replace("v1", "v2"), ["apiVersion", "tangram.dev/v2", "tangram.dev/v1"]),
            (HEAD.replace("Tenant", "Tennant"), ["kind", "Tennant"]),
            (HEAD.replace("kind: Tenant\n", ""), ["kind"]),
            (HEAD.replace("name: new", ""), ["metadata.name"]),
            (HEAD.replace("name: new", "name: New"), ["metadata.name", "New"]),
            (HEAD.replace("name: new", "name: a/b"), ["metadata.name", "a/b"]),
            (HEAD.replace("name: new", "name: " + 64 * "n"), ["metadata.name"]),
            (HEAD.replace("name: new", "name: 租户"), ["metadata.name"]),
            (HEAD.replace("name: new", 'name: "a\\0b"'), ["metadata.name"]),
            (HEAD + "metadata: {name: again}\n", ["metadata", "twice"]),
        ):
            with self.subTest(text):
                self.refuse_apply(says, text)

    def test_all_or_nothing(self):
        """Without it half of a file could be applied."""
        good = HEAD + "spec: {}\n"
        self.refuse_apply(["npuz"], f"{good}---\n{HEAD.replace('new', 'other')}spec: {{quota: {{npuz: 1}}}}\n")
        self.refuse_apply(["document 2", "nobody"], f"{good}---\n{HEAD.replace('new', 'other')}spec: {{parent: nobody}}\n", code=4)
        self.refuse_apply(["line"], f"{good}---\n{{")
        job = "apiVersion: tangram.dev/v1\nkind: Job\nmetadata: {name: big}\nspec: {tenant: new, npus: 99, command: [a]}\n"
        self.refuse_apply(["99"], f"{good}---\n{job}", code=3)

    def test_trees(self):
        """Without it a tenant could stand above itself, or the tree be too deep to walk."""
        def child(name, parent):
            return f"---\n{HEAD.replace('new', name)}spec: {{parent: {parent}}}\n"

        self.refuse_apply(["team-a"], child("team-a", "team-a"), code=2)
        answer = self.machine.cli("apply", "-f", "-", input=child("x", "team-b") + child("team-b", "x"))
        self.assertEqual(answer.code in (2, 7), True, repr(answer))
        self.assertIn("team-b", answer.err)
        deep = f"---\n{HEAD.replace('new', 'd0')}" + "".join(child(f"d{i}", f"d{i - 1}") for i in range(1, 40))
        answer = self.machine.cli("apply", "-f", "-", input=deep)
        self.assertIn(answer.code, (2, 3, 7), repr(answer))
        self.assertIn("deep", answer.err)

    def test_large(self):
        """Without it one request could fill the daemon's memory."""
        self.refuse(6, ["1MiB"], "apply", "-f", "-", input=HEAD + "#" + "x" * (10 << 20))
        many = "".join(f"---\n{HEAD.replace('new', f't{i}')}" for i in range(1001))
        self.refuse_apply(["1000"], many)
        self.refuse_apply(["deep"], HEAD + "spec: " + "{a: " * 200 + "1" + "}" * 200)
        bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
            f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 10)}]\n" for i in range(8))
        self.refuse_apply([], bomb)

    def test_files(self):
        """Without it a wrong path would be a riddle."""
        directory = pathlib.Path(tempfile.mkdtemp(prefix="tg-files-"))
        self.addCleanup(shutil.rmtree, directory)
        self.refuse(2, ["/no/such/file"], "apply", "-f", "/no/such/file")
        self.refuse(2, [str(directory), "directory"], "apply", "-f", str(directory))
        text = directory / "latin1.yaml"
        text.write_bytes(HEAD.encode() + b"spec: {parent: \xe4\xff}\n")
        self.refuse(2, [], "apply", "-f", str(text))
        binary = directory / "binary"
        binary.write_bytes(os.urandom(4096))
        self.refuse(2, [], "apply", "-f", str(binary))
        empty = directory / "empty"
        empty.touch()
        self.refuse(2, [], "apply", "-f", str(empty))
        self.refuse(2, ["--file"], "apply")

    def test_http(self):
        """Without it only the command line would be told what is wrong."""
        yaml = {"Content-Type": "application/yaml"}
        path = "/v1/apply"
        self.problem(400, "input.unknown_field", ["spec.quota.npuz", "line 4"], "POST", path,
                     HEAD + "spec: {quota: {npuz: 2}}\n", yaml)
        self.problem(400, "input.syntax", ["line"], "POST", path, "a: [", yaml)
        self.problem(400, "input.syntax", ["line"], "POST", path, "{", None)
        self.problem(400, "input.out_of_range", ["spec.quota.npus", "-1"], "POST", path,
                     HEAD + "spec: {quota: {npus: -1}}\n", yaml)
        self.problem(413, "http.body.too_large", [], "POST", path, b"x" * (10 << 20), yaml)
        document = self.problem(400, "input.unknown_field", ["metadata.nam"], "POST", path,
                                {"apiVersion": "tangram.dev/v1", "kind": "Tenant", "metadata": {"name": "x", "nam": 1}})
        self.assertEqual(document["code"], "invalid_argument")
        self.problem(404, "tenant.unknown", ["nobody"], "DELETE", "/v1/tenants/nobody")
        self.problem(409, "tenant.busy", ["team-a"], "DELETE", "/v1/tenants/team-a")


class Submissions(Case):
    """`submit` and POST /v1/jobs."""

    def test_options(self):
        """Without it a slip in an option would make a job that nobody wanted."""
        for option, value, says in (
            ("--npus", "-1", ["--npus", "-1"]), ("--npus", "0", ["--npus", "0"]), ("--npus", "1.5", ["--npus", "1.5"]),
            ("--npus", "two", ["--npus", "two"]), ("--npus", "", ["--npus"]),
            ("--npus", "99999999999999999999", ["--npus", "99999999999999999999"]), ("--npus", "１", ["--npus"]),
            ("--npus", "0x10", ["--npus", "0x10"]),
            ("--memory", "16", ["--memory", "16"]), ("--memory", "-1GiB", ["--memory", "-1GiB"]),
            ("--memory", "0GiB", ["--memory", "0GiB"]), ("--memory", "9999999999999GiB", ["--memory"]),
            ("--memory", "16GB", ["--memory", "16GB"]), ("--memory", "", ["--memory"]),
            ("--bandwidth", "10", ["--bandwidth", "10"]), ("--bandwidth", "-1Gbps", ["--bandwidth", "-1Gbps"]),
            ("--priority", "urgent", ["--priority", "urgent", "high"]), ("--priority", "", ["--priority"]),
            ("--time-limit", "5", ["--time-limit", "5"]), ("--time-limit", "-5m", ["--time-limit", "-5m"]),
            ("--time-limit", "0s", ["--time-limit", "0s"]), ("--time-limit", "99999999999999d", ["--time-limit"]),
            ("--name", "Big", ["name", "Big"]), ("--name", "a" * 64, ["name"]), ("--name", "j-7", ["name", "j-7"]),
            ("--name", "", ["--name"]), ("--name", "训练", ["name"]), ("--name", "-a", ["name"]),
            ("--label", "novalue", ["--label", "novalue"]), ("--label", "=x", ["--label", "=x"]),
            ("--label", "k=" + "v" * 64, ["labels"]), ("--label", "k y=v", ["labels"]),
            ("--env", "1A=b", ["--env", "1A"]), ("--env", "NOVALUE", ["--env", "NOVALUE"]),
            ("--env", "ASCEND_RT_VISIBLE_DEVICES=0,1", ["ASCEND_RT_VISIBLE_DEVICES"]),
            ("--env", "TANGRAM_JOB_ID=j-1", ["TANGRAM_JOB_ID"]),
            ("--workdir", "relative", ["--workdir", "relative"]), ("--workdir", "", ["--workdir"]),
            ("--restart", "always", ["--restart", "always", "never"]), ("--restart", "on-failure:-1", ["--restart"]),
            ("--restart", "on-failure", ["--restart"]), ("--restart", "on-failure:999999999999", ["--restart"]),
            ("--host-cpus", "0", ["--host-cpus", "0"]), ("--host-cpus", "many", ["--host-cpus", "many"]),
            ("--host-memory", "1", ["--host-memory", "1"]), ("--host-processes", "0", ["--host-processes", "0"]),
            ("--idempotency-key", "a key", ["dempotency"]), ("--idempotency-key", "k" * 129, ["dempotency"]),
            ("-o", "xml", ["xml", "json"]), ("--output", "", ["--output"]),
        ):
            with self.subTest(f"{option} {value[:30]}"):
                self.refuse_submit(2, says, option, value, "--", "true")
        self.refuse_submit(2, ["--env", "A"], "--env", "A=1", "--env", "A=2", "--", "true")
        self.refuse_submit(2, ["--label", "a"], "--label", "a=1", "--label", "a=2", "--", "true")
        self.refuse_submit(2, ["--npus"], "--npus", "1", "--npus", "2", "--", "true")
        labels = [word for i in range(33) for word in ("--label", f"k{i}=v")]
        self.refuse_submit(2, ["labels"], *labels, "--", "true")
        self.refuse_submit(3, ["slice", "33GiB"], "--slice", "33GiB", "--", "true")
        self.refuse_submit(3, ["share"], "--share", "1GiB", "--", "true")

    def test_command_lines(self):
        """Without it a program's own options would be taken for Tangram's, or the other way round."""
        self.refuse_submit(2, ["program"])
        self.refuse_submit(2, ["program"], "--")
        self.refuse_submit(2, ["program"], "--", "")
        self.refuse_submit(2, ["--"], "sleep", "600")
        self.refuse_submit(2, ["--"], "python3", "train.py", "--epochs", "3")
        self.refuse_submit(2, ["--memroy", "--memory"], "--memroy", "1GiB", "--", "true")
        self.refuse_submit(2, ["command"], "--", *(["x"] * 1025))
        self.refuse_submit(2, ["command"], "--", "x" * 130000, "y" * 10000)
        self.refuse_submit(2, ["env"], "--env", "A=" + "x" * 130000, "--env", "B=" + "x" * 10000, "--", "true")
        self.refuse(2, ["--npus"], "submit", "--tenant", "team-b", "--npus")
        self.refuse(2, ["tenant"], "submit", "--", "true")

    def test_refusals(self):
        """Without it what cannot be would wait for ever, or be told with the wrong code."""
        self.refuse(4, ["nobody"], "submit", "--tenant", "nobody", "--", "true")
        self.refuse(2, ["Team A"], "submit", "--tenant", "Team A", "--", "true")
        self.refuse(7, ["holder", self.holder], "submit", "--tenant", "team-a", "--name", "holder", "--", "true")
        self.refuse_submit(3, ["9 NPUs", "8"], "--npus", "9", "--", "true")
        self.refuse_submit(3, ["4096", "8"], "--npus", "4096", "--", "true")
        self.refuse_submit(2, ["4097", "4096"], "--npus", "4097", "--", "true")
        self.refuse_submit(3, ["33GiB", "32GiB"], "--memory", "33GiB", "--", "true")
        for option, value, limit in (("--npus", "5", "4 NPUs"), ("--memory", "17GiB", "16GiB"),
                                     ("--time-limit", "2h", "1h")):
            self.refuse(3, [value, limit, "team-a", option], "submit", "--tenant", "team-a", option, value, "--", "true")

    def test_http_values(self):
        """Without it clients other than ours could send what the daemon does not expect."""
        good = {"tenant": "team-b", "command": ["true"]}
        for change, reason, says in (
            ({"npus": -1}, "input.out_of_range", ["npus", "-1"]),
            ({"npus": 0}, "input.out_of_range", ["npus", "0"]),
            ({"npus": 1.5}, "input.wrong_type", ["npus"]),
            ({"npus": "1"}, "input.wrong_type", ["npus"]),
            ({"npus": None}, "input.wrong_type", ["npus"]),
            ({"npus": True}, "input.wrong_type", ["npus"]),
            ({"npus": 1 << 70}, "input.out_of_range", ["npus"]),
            ({"npuz": 1}, "input.unknown_field", ["npuz"]),
            ({"memory": 16}, "input.wrong_type", ["memory"]),
            ({"memory": "16"}, "input.bad_value", ["memory", "16"]),
            ({"memory": "0B"}, "input.out_of_range", ["memory"]),
            ({"timeLimit": "0s"}, "input.out_of_range", ["timeLimit"]),
            ({"priority": "urgent"}, "input.bad_value", ["priority", "urgent"]),
            ({"name": "x\0y"}, "input.bad_value", ["name"]),
            ({"name": ""}, "input.bad_value", ["name"]),
            ({"name": "j-1"}, "input.reserved", ["j-1"]),
            ({"command": []}, "input.bad_value", ["command"]),
            ({"command": [""]}, "input.bad_value", ["command"]),
            ({"command": "true"}, "input.wrong_type", ["command"]),
            ({"command": [1]}, "input.wrong_type", ["command[0]"]),
            ({"command": ["a\0b"]}, "input.bad_value", ["command[0]"]),
            ({"env": {"A": "x\0y"}}, "input.bad_value", ["env.A"]),
            ({"env": {"A=B": "x"}}, "input.bad_value", ["env"]),
            ({"env": {"": "x"}}, "input.bad_value", ["env"]),
            ({"env": ["A"]}, "input.wrong_type", ["env"]),
            ({"workdir": "a/b"}, "input.bad_value", ["workdir"]),
            ({"workdir": "/a\0b"}, "input.bad_value", ["workdir"]),
            ({"labels": {"": "v"}}, "input.bad_value", ["labels"]),
            ({"noWait": "yes"}, "input.wrong_type", ["noWait"]),
            ({"restart": "on-failure:x"}, "input.bad_value", ["restart", "on-failure:x"]),
            ({"host": {"cpus": -1}}, "input.out_of_range", ["host.cpus"]),
            ({"host": {"gpus": 1}}, "input.unknown_field", ["host.gpus"]),
        ):
            with self.subTest(str(change)):
                document = self.problem(400, reason, says, "POST", "/v1/jobs", {**good, **change})
                self.assertEqual(document["code"], "invalid_argument")
                # The command and the environment may hold secrets.
                self.assertNotIn("x\\u0000y", json.dumps(document))
        self.problem(404, "tenant.unknown", ["nobody"], "POST", "/v1/jobs", {**good, "tenant": "nobody"})
        self.problem(409, "job.name_in_use", ["holder"], "POST", "/v1/jobs",
                     {**good, "tenant": "team-a", "name": "holder"})
        self.problem(422, "capacity.npus.never", ["9 NPUs"], "POST", "/v1/jobs", {**good, "npus": 9})
        self.problem(422, "capacity.memory.never", ["33GiB"], "POST", "/v1/jobs", {**good, "memory": "33GiB"})
        self.problem(422, "quota.run_time.above_limit", ["2h", "1h"], "POST", "/v1/jobs",
                     {**good, "tenant": "team-a", "timeLimit": "2h"})
        self.problem(422, "quota.npus.above_limit", ["5 NPUs", "4 NPUs"], "POST", "/v1/jobs",
                     {**good, "tenant": "team-a", "npus": 5})
        self.problem(422, "capacity.memory.never", ["33GiB"], "POST", "/v1/jobs", {**good, "slice": {"memory": "33GiB"}})
        self.problem(422, "capacity.ai_cores.never", ["21"], "POST", "/v1/jobs", {**good, "slice": {"aiCores": 21}})

    def test_http_bodies(self):
        """Without it a body that is no submission could be taken for one."""
        path = "/v1/jobs"
        for body in ("", "{", "[]", "7", "null", '"x"', '{"tenant": "team-b" "command": []}', b"\xff\xfe", "{}" * 2,
                     '{"tenant":"team-b","command":["true"]} trailing'):
            with self.subTest(str(body)):
                answer = raw_http.call(self.machine, "POST", path, body)
                self.assertEqual(answer.status, 400, repr(answer))
                self.assertEqual(answer.type, "application/problem+json")
                self.assertTrue(answer.json["detail"])
        self.problem(400, "input.duplicate_key", ["tenant"], "POST", path,
                     '{"tenant": "team-a", "tenant": "team-b", "command": ["true"]}')
        self.problem(400, "input.too_deep", [], "POST", path, '{"env":' + "[" * 1000 + "]" * 1000 + "}")
        self.problem(413, "http.body.too_large", [], "POST", path, b'{"name":"' + b"x" * (10 << 20) + b'"}')
        self.problem(413, "input.too_large", [], "POST", path, b'{"name":"' + b"x" * (2 << 20) + b'"}')
        item = {"tenant": "team-b", "command": ["true"]}
        self.problem(400, "input.too_many", ["1000"], "POST", path, {"items": [item] * 1001})
        self.problem(400, "input.unknown_field", ["extra"], "POST", path, {"items": [item], "extra": 1})
        self.problem(415, "http.content_type.unsupported", ["text/html"], "POST", path, item,
                     {"Content-Type": "text/html"})
        self.problem(400, "input.bad_value", ["Idempotency-Key"], "POST", path, item, {"Idempotency-Key": "a b"})
        self.problem(400, "input.bad_value", ["Idempotency-Key"], "POST", path, item, {"Idempotency-Key": "k" * 129})

    def test_batch_items_that_are_wrong(self):
        """Without it one wrong item of a batch would refuse the others, or pass unnoticed."""
        answer = raw_http.call(self.machine, "POST", "/v1/jobs", {"items": [
            {"tenant": "team-b", "npus": -1, "command": ["true"]}, {"tenant": "nobody", "command": ["true"]}, 7]})
        self.assertEqual(answer.status, 200, repr(answer))
        errors = [item["error"] for item in answer.json["items"]]
        self.assertEqual([error["status"] for error in errors], [400, 404, 400])
        self.assertIn("items[0].npus", errors[0]["detail"])

    def test_paths_and_parameters(self):
        """Without it a misspelt question would be answered with something else."""
        self.problem(404, "http.path.unknown", ["/v1/job"], "GET", "/v1/job")
        self.problem(404, "http.path.unknown", ["/"], "GET", "/")
        self.problem(405, "http.method.unsupported", ["DELETE"], "DELETE", "/v1/jobs")
        self.problem(400, "http.path.invalid", [], "GET", "/v1/jobs/%zz")
        self.problem(400, "input.unknown_field", ["tenantt"], "GET", "/v1/jobs?tenantt=a")
        self.problem(400, "input.duplicate_key", ["limit"], "GET", "/v1/jobs?limit=1&limit=2")
        for query, says in (("limit=0", ["limit"]), ("limit=-1", ["limit"]), ("limit=1001", ["limit"]),
                            ("limit=x", ["limit"]), ("state=gone", ["state", "gone"]), ("all=maybe", ["all"]),
                            ("label=x", ["label"]), ("after=17", ["17"])):
            with self.subTest(query):
                answer = raw_http.call(self.machine, "GET", f"/v1/jobs?{query}")
                self.assertEqual(answer.status, 400, repr(answer))
                for word in says:
                    self.assertIn(word, answer.json["detail"])
        self.problem(404, "tenant.unknown", ["nobody"], "GET", "/v1/jobs?tenant=nobody")
        self.problem(400, "input.out_of_range", ["timeout"], "GET", f"/v1/jobs/{self.holder}/wait?timeout=61s")
        self.problem(400, "value.malformed", ["timeout"], "GET", f"/v1/jobs/{self.holder}/wait?timeout=5")
        self.problem(404, "job.attempt.unknown", ["99"], "GET", f"/v1/jobs/{self.holder}/logs?attempt=99")
        for reference in ("j-99999", "j-99999999999999999999", "nobody", "team-a%2Fnobody", "nobody%2Fholder", "%00"):
            for call in ("", "/why", "/wait?timeout=1s", "/logs"):
                with self.subTest(reference + call):
                    answer = raw_http.call(self.machine, "GET", f"/v1/jobs/{reference}{call}")
                    self.assertIn(answer.status, (400, 404), repr(answer))
                    self.assertEqual(answer.type, "application/problem+json")
        self.problem(409, "job.ended", [self.gone], "POST", f"/v1/jobs/{self.gone}/cancel")


class Commands(Case):
    """The command line itself."""

    def test_unknown(self):
        """Without it a slip would be answered with a page of help, or with nothing."""
        self.refuse(2, ["statsu", "did you mean: tangram status"], "statsu")
        self.refuse(2, ["remove"], "tenant", "remove", "team-a")
        self.refuse(2, ["needs a command"])
        self.refuse(2, ["--al", "--all"], "queue", "--al")
        self.refuse(2, ["extra"], "status", "extra")
        self.refuse(2, ["xml"], "status", "-o", "xml")
        self.refuse(2, ["JOB"], "why")
        self.refuse(2, ["gone"], "queue", "--state", "gone")
        self.refuse(2, ["x"], "queue", "--label", "x")

    def test_jobs_that_are_not_there(self):
        """Without it a script would wait for a job that nobody knows."""
        for reference in ("j-99999", "nobody", "team-a/nobody", "nobody/holder", "J-1", "../../etc/passwd", "任务"):
            for command in ("describe", "why", "logs", "cancel", "wait"):
                with self.subTest(f"{command} {reference}"):
                    self.refuse(4, [reference], command, reference)
        for command in ("describe", "why", "logs", "cancel", "wait"):
            self.refuse(2, ["JOB"], command, "")
        self.refuse(4, ["nobody"], "wait", self.gone, "nobody")
        self.refuse(7, [self.gone], "cancel", self.gone)
        self.refuse(2, ["--timeout"], "wait", self.gone, "--timeout", "5")
        self.refuse(4, ["nobody"], "quota", "nobody")
        self.refuse(4, ["nobody"], "tenant", "delete", "nobody")
        self.refuse(4, ["nobody"], "queue", "--tenant", "nobody")

    def test_logs_of_a_job_that_has_not_run(self):
        """Without it nothing and nothing yet would look the same."""
        answer = self.machine.cli("logs", self.waiter)
        self.assertEqual((answer.code, answer.out), (0, ""), repr(answer))
        self.assertIn("is waiting at position 1: tenant team-a holds 4 of 4 NPUs", answer.err)
        self.refuse(2, ["--attempt"], "logs", "--attempt", "0", self.gone)
        self.refuse(2, ["--attempt"], "logs", "--attempt", "x", self.gone)
        self.refuse(4, ["9"], "logs", "--attempt", "9", self.gone)

    def test_where_nobody_listens(self):
        """Without it a wrong socket would look like a bug."""
        self.refuse(6, ["/no/such/socket"], "status", "--socket", "/no/such/socket")
        self.refuse(6, [], "status", "--socket", "/tmp/" + "x" * 200)
        self.refuse(5, ["54321"], "queue", user=54321)
        self.refuse(5, ["54321"], "submit", "--tenant", "team-a", "--", "true", user=54321)


class Repeats(unittest.TestCase):
    def test_idempotency_key(self):
        """Without it a repeat could be a second job, or another request get the answer of the first."""
        with harness.Machine() as machine:
            machine.apply(TENANTS)
            words = ("submit", "--tenant", "team-b", "--idempotency-key", "once")
            first = machine.ok(*words, "--", "true").strip()
            self.assertEqual(machine.ok(*words, "--", "true").strip(), first)
            machine.wait_for(first, "ended")
            before = len(machine.journal())
            self.assertEqual(machine.ok(*words, "--", "true").strip(), first)
            answer = machine.cli(*words, "--", "false")
            self.assertEqual(answer.code, 7, repr(answer))
            self.assertIn("once", answer.err)
            self.assertEqual(len(machine.journal()), before)


class Programs(unittest.TestCase):
    """Programs that cannot be started: the job ends as not-started and says why."""

    def test_programs(self):
        """Without it a job would fail with a number that nobody understands."""
        # Jobs have a /tmp of their own, so the files lie elsewhere.
        directory = pathlib.Path(tempfile.mkdtemp(prefix="tg-programs-", dir="/var/lib"))
        self.addCleanup(shutil.rmtree, directory)
        directory.chmod(0o755)
        secret = directory / "secret.sh"
        secret.write_text("#!/bin/sh\necho read\n")
        secret.chmod(0o700)
        plain = directory / "plain.sh"
        plain.write_text("#!/bin/sh\necho read\n")
        plain.chmod(0o644)
        hidden = directory / "hidden"
        hidden.mkdir(mode=0o700)
        inside = hidden / "program"
        shutil.copy("/bin/true", inside)
        broken = directory / "broken.sh"
        broken.write_text("#!/no/such/interpreter\n")
        broken.chmod(0o755)
        with harness.Machine() as machine:
            machine.apply(TENANTS)
            for path, says in ((secret, "ermission"), (plain, "ermission"), (inside, "ermission"),
                               (directory, "ermission"), (directory / "nothing", "o such file"),
                               (broken, "interpreter"), ("no-such-program", "no-such-program")):
                with self.subTest(str(path)):
                    answer = machine.cli("submit", "--tenant", "team-b", "--wait", "--", path)
                    self.assertEqual(answer.code, 1, repr(answer))
                    job = machine.job(answer.out.strip())
                    self.assertEqual(job["outcome"], "not-started", job)
                    self.assertIn(str(path), job["message"])
                    self.assertIn(says, job["message"])
                    self.assertIn(job["message"], answer.err)
            for workdir, says in ((hidden, "ermission"), (directory / "nothing", "o such file"), (plain, "irectory")):
                with self.subTest(f"workdir {workdir}"):
                    answer = machine.cli("submit", "--tenant", "team-b", "--wait", "--workdir", workdir, "--", "true")
                    self.assertEqual(answer.code, 1, repr(answer))
                    job = machine.job(answer.out.strip())
                    self.assertEqual(job["outcome"], "not-started", job)
                    self.assertIn(str(workdir), job["message"])
                    self.assertIn(says, job["message"])
            # Nothing of it holds an NPU.
            self.assertEqual(machine.status()["npusFree"], 8)


if __name__ == "__main__":
    unittest.main()
