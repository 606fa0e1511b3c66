"""A real Prometheus scrapes the daemon and answers questions about it."""

import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import unittest
import urllib.parse
import urllib.request

import harness
import raw_http
import remote

TENANTS = """
apiVersion: tangram.dev/v1
kind: Tenant
metadata: {name: team-a}
spec:
  quota: {npus: 4, memoryPerNpu: 32GiB, memoryTotal: 128GiB, aiCores: 80, runningJobs: 4, runTime: 24h, bandwidth: 10Gbps}
---
apiVersion: tangram.dev/v1
kind: Tenant
metadata: {name: team-b}
spec: {uid: 40123}
"""
TEAM_B = 40123
GIB = 1 << 30


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


class Prometheus:
    """One Prometheus of its own, with its own storage, that scrapes the machine over TLS as a viewer."""

    def __init__(self, machine, directory):
        self.url = f"http://127.0.0.1:{free_port()}"
        token = machine.token_file("prometheus", machine.token("prometheus", "viewer"))
        config = {"global": {"scrape_interval": "1s"},
                  "scrape_configs": [{"job_name": "tangram", "scheme": "https", "tls_config": {"ca_file": str(machine.ca)},
                                      "authorization": {"credentials_file": str(token)},
                                      "static_configs": [{"targets": [f"localhost:{machine.port}"]}]}]}
        config_path = os.path.join(directory, "prometheus.yml")
        with open(config_path, "w", encoding="utf-8") as file:
            json.dump(config, file)  # JSON is YAML
        self.log = open(os.path.join(directory, "prometheus.log"), "wb")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={config_path}", f"--storage.tsdb.path={os.path.join(directory, 'data')}",
             f"--web.listen-address={self.url.removeprefix('http://')}"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, preexec_fn=harness.die_with_parent)

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=30)
        self.log.close()

    def get(self, path, **parameters):
        query = "?" + urllib.parse.urlencode(parameters) if parameters else ""
        with urllib.request.urlopen(f"{self.url}{path}{query}", timeout=10) as answer:
            return json.load(answer)["data"]

    def is_up(self):
        try:
            return any(target["health"] == "up" for target in self.get("/api/v1/targets")["activeTargets"])
        except OSError:
            return False

    def query(self, expression):
        """The samples of an instant query: a list of (labels, value)."""
        result = self.get("/api/v1/query", query=expression)["result"]
        return [({k: v for k, v in one["metric"].items() if k not in ("instance", "job")}, float(one["value"][1]))
                for one in result]


class Metrics(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.machine = remote.Remote()
        cls.addClassCleanup(cls.machine.stop)
        cls.machine.start()
        cls.machine.apply(TENANTS)
        directory = tempfile.TemporaryDirectory(prefix="tg-prometheus-")
        cls.addClassCleanup(directory.cleanup)
        cls.prometheus = Prometheus(cls.machine, directory.name)
        cls.addClassCleanup(cls.prometheus.stop)
        cls.machine.wait_until(cls.prometheus.is_up, "Prometheus has scraped the daemon", 60, cls.prometheus.process)
        shutil.copy(harness.BUILD / "programs/hold_npus", cls.machine.shared)
        worker = [cls.machine.shared / "hold_npus", cls.machine.shared / "mark", "600000"]
        cls.busy = cls.machine.submit("--tenant", "team-a", "--npus", "2", "--", *worker)
        cls.idle = cls.machine.submit("--tenant", "team-a", "--", "sleep", "600")
        cls.waiting = cls.machine.submit("--tenant", "team-a", "--npus", "2", "--", "true")
        for job in (cls.busy, cls.idle):
            cls.machine.wait_for(job, "running")

    def eventually(self, expression, wanted):
        """Waits until the question has the answer: a function of the samples."""
        self.machine.wait_until(lambda: wanted(self.prometheus.query(expression)),
                                f"{expression}: {self.prometheus.query(expression)}", 60)

    def test_allocated_and_used_of_a_job_stand_apart(self):
        """Without it nobody could tell an NPU that is held from one that is used."""
        job = f'{{job_id="{self.busy}"}}'
        self.eventually(f"tangram_job_memory_used_bytes{job} > 0", lambda samples: len(samples) == 1)
        [(labels, used)] = self.prometheus.query(f"tangram_job_memory_used_bytes{job}")
        [(_, allocated)] = self.prometheus.query(f"tangram_job_memory_allocated_bytes{job}")
        self.assertEqual(labels["tenant"], "team-a")
        self.assertEqual(allocated, 2 * 32 * GIB)
        self.assertLess(used, allocated)
        self.eventually("tangram_job_memory_allocated_bytes unless (tangram_job_memory_used_bytes > 0)",
                        lambda samples: [labels["job_id"] for labels, _ in samples] == [self.idle])
        self.eventually("sum(tangram_npu_memory_allocated_bytes)", lambda samples: samples == [({}, 3 * 32 * GIB)])
        self.eventually("sum(tangram_npu_memory_capacity_bytes)", lambda samples: samples == [({}, 8 * 32 * GIB)])

    def test_tenants_and_queue(self):
        """Without it a dashboard could not show who has how much, and who waits for what."""
        for expression, value in (('tangram_tenant_npus_limit{tenant="team-a"}', 4),
                                  ('tangram_tenant_npus_allocated{tenant="team-a"}', 3),
                                  ('tangram_tenant_npus_used{tenant="team-a"}', 2),
                                  ('tangram_queue_jobs{reason="quota.npus.exceeded"}', 1),
                                  ('sum(tangram_tenant_npus_allocated and on (tenant) tangram_tenant_info{parent=""})', 3),
                                  ("histogram_quantile(0.5, tangram_decision_duration_seconds_bucket) < bool 1", 1),
                                  ("tangram_devices_up", 1)):
            with self.subTest(expression):
                self.eventually(expression, lambda samples: [one[1] for one in samples] == [value])
        self.assertEqual(self.prometheus.query('tangram_tenant_npus_limit{tenant="team-b"}'), [], "it has no limit")
        self.eventually("tangram_npu_temperature_celsius * on (node, npu) group_left (tenant, job_id) tangram_npu_lease_info",
                        lambda samples: sorted(labels["job_id"] for labels, _ in samples) == sorted(
                            [self.busy, self.busy, self.idle]))

    def test_every_documented_name_is_there(self):
        """Without it a name of docs/metrics.md would be found nowhere."""
        page = (harness.SOURCE / "docs/metrics.md").read_text()
        documented = re.findall(r"^\| `(\w+)` \| (\w+) \|", page, re.MULTILINE)
        self.assertGreater(len(documented), 40)
        wanted = {name + suffix for name, kind in documented
                  for suffix in (("_bucket", "_count", "_sum") if kind == "histogram" else ("",))}

        def missing():
            return wanted - set(self.prometheus.get("/api/v1/label/__name__/values"))
        self.machine.wait_until(lambda: not missing(), f"every name is there; missing {missing()}", 60)

    def test_promtool_finds_nothing(self):
        """Without it other readers of the format could stumble over what this Prometheus forgave."""
        answer = raw_http.call(self.machine, "GET", "/metrics")
        self.assertEqual(answer.status, 200, repr(answer))
        self.assertIn("version=0.0.4", answer.type)
        check = subprocess.run(["promtool", "check", "metrics"], input=answer.body, capture_output=True, check=False)
        self.assertEqual((check.returncode, check.stdout, check.stderr), (0, b"", b""))

    def test_a_tenant_reads_no_metrics(self):
        """Without it a tenant would learn who the others are and what they run."""
        status, problem = self.machine.api("GET", "/metrics", user=TEAM_B)
        self.assertEqual((status, problem["reason"]), (403, "caller.not_operator"))


if __name__ == "__main__":
    unittest.main()
