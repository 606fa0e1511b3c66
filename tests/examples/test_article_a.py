"""The examples of examples/article_a do what their README says."""

import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402

EXAMPLES = harness.SOURCE / "examples/article_a"


def run_example(machine, name):
    bin_dir = str(harness.BUILD / "bin")
    return subprocess.run([str(EXAMPLES / name / "run.sh"), machine.program_for_all("gemm")], capture_output=True, text=True,
                          timeout=180, env={"PATH": f"{bin_dir}:{os.environ['PATH']}",
                                            "TANGRAM_SOCKET": str(machine.socket)})


class ArticleA(unittest.TestCase):
    def setUp(self):
        self.machine = harness.Machine()
        self.addCleanup(self.machine.stop)
        self.machine.start()

    def run_checked(self, name):
        done = run_example(self.machine, name)
        if done.returncode != 0:
            self.fail(f"{name} ended with {done.returncode}\n{done.stdout}\n{done.stderr}\n{self.machine.report()}")
        return done.stdout, done.stderr

    def jobs_by_name(self):
        return {job["name"]: job for job in self.machine.jobs()}

    def test_three_tenants(self):
        """Without it the order of the priorities could be lost without any of the examples noticing."""
        out, _ = self.run_checked("three_tenants")
        rows = [re.split(r"\s\s+", line.strip()) for line in out.splitlines()]
        queued = [row[2] for row in rows if len(row) > 6 and row[0] in ("1", "2", "3") and row[6] in ("waiting", "ready")]
        self.assertEqual(queued, ["infer-001", "train-001", "preproc-001"], out)
        jobs = self.jobs_by_name()
        self.assertEqual([jobs[name]["npus"] for name in queued], [[0], [1], [2]])
        self.assertEqual([jobs[name]["outcome"] for name in queued], ["succeeded"] * 3)
        started = [f"j-{record['body']['job']}" for record in self.machine.journal("job_started")]
        self.assertEqual(started, [jobs[name]["id"] for name in ["holder", *queued]])
        self.assertRegex(out, r"preproc-001.* waits: .*\d", "the reason names numbers")
        self.assertGreaterEqual(out.count("$ tangram logs"), 3)

    def test_quota(self):
        """Without it quotas, the primary device or the refusal could differ from what the example promises."""
        out, err = self.run_checked("quota")
        self.assertIn("is running on NPUs 0, 1 (primary device: NPU 0)", out)
        first, second, last = re.findall(r"^\s*npus\s+(\d+/\d+)", out, re.MULTILINE)
        self.assertEqual((first, second), ("2/4", "1/2"), out)
        self.assertEqual(last, "0/4", out)
        self.assertIn("exit code 3", out)
        self.assertRegex(err, r"tangram: .*team-b.*high")
        jobs = self.jobs_by_name()
        self.assertEqual(jobs["train-001"]["npus"], [0, 1])
        self.assertEqual(jobs["infer-001"]["npus"], [2])
        holders = {npu["npu"]: npu.get("jobName", "") for npu in self.status_after()}
        self.assertEqual([npu for npu, holder in holders.items() if holder], [])

    def status_after(self):
        """The example's end cancels what is left; its NPUs come free."""
        self.machine.wait_until(lambda: self.machine.status()["npusFree"] == 8, "all NPUs are free again")
        return self.machine.status()["npus"]


if __name__ == "__main__":
    unittest.main()
