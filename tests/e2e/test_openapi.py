"""The daemon does what its OpenAPI document says, and nothing that it does not say."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import remote

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
import python_tools  # noqa: E402

TENANT = "team-a"
TENANTS = f"""
apiVersion: tangram.dev/v1
kind: Tenant
metadata: {{name: {TENANT}}}
spec: {{quota: {{npus: 4}}}}
"""
RUN_SECONDS_MAX = 600
# For each call and phase. A tenant is refused most of what the operator may.
EXAMPLES = {"operator": 30, "tenant": 4}
SEED = os.environ.get("TANGRAM_SEED", "20261129")


def closed(document):
    """The document with answers that may have no field beyond those described: the daemon has none today."""
    for schema in document["components"]["schemas"].values():
        if schema.get("type") == "object" and "properties" in schema:
            schema.setdefault("additionalProperties", False)
    return document


class OpenApi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tools = python_tools.environment(HERE / "schemathesis-requirements.txt")
        # Refusals by the rate would hide what the calls answer.
        cls.machine = remote.Remote(config={"limits": {"requestsPerSecond": 100_000, "requestBurst": 100_000}})
        cls.addClassCleanup(cls.machine.stop)
        cls.machine.start()
        cls.machine.apply(TENANTS)
        status, cls.document = cls.machine.api("GET", "/v1/openapi.json")
        assert status == 200, cls.document

    def check(self, role, *options):
        """The calls of a bearer of that role, whose token has that name too."""
        token = self.machine.token(f"schemathesis-{role}", role, *options)
        number = token.split("_")[1]
        with tempfile.TemporaryDirectory() as scratch:
            path = pathlib.Path(scratch) / "openapi.json"
            path.write_text(json.dumps(closed(self.document)))
            run = subprocess.run(
                [self.tools / "schemathesis", "--config-file", HERE / "schemathesis.toml", "run", path,
                 "--url", f"http://127.0.0.1:{self.machine.plain_port}", "--header", f"Authorization: Bearer {token}",
                 "--max-examples", str(EXAMPLES[role]), "--seed", SEED, "--continue-on-failure"],
                cwd=scratch, capture_output=True, text=True, timeout=RUN_SECONDS_MAX, check=False,
                env={**os.environ, "PYTHONPATH": str(HERE), "TANGRAM_TEST_TENANT": TENANT,
                     "TANGRAM_TEST_OWN_TOKEN": f"schemathesis-{role}|t-0*{number}"})
        self.assertEqual(run.returncode, 0, run.stdout[-20000:] + run.stderr[-4000:])
        calls = sum(len(methods) for methods in self.document["paths"].values())
        self.assertIn(f"Tested: {calls}\n", run.stdout)
        self.assertTrue(self.machine.status()["devicesAvailable"])
        self.assertEqual(self.machine.call("GET", "/v1/status", token).status, 200, "it has ended its own token")

    def test_schemathesis_finds_nothing_as_a_tenant(self):
        """Without it the answers to whoever may not do all would be promised by the document, and seen by nobody."""
        self.check("tenant", "--tenant", TENANT)

    def test_schemathesis_finds_nothing_as_the_operator(self):
        """Without it a generated client would be refused what the document allows, or meet what it does not tell."""
        self.check("operator")


if __name__ == "__main__":
    unittest.main()
