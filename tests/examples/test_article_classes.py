"""The programs of examples/article_a/classes do what the article's classes promise, and what it gets wrong is right."""

import os
import pathlib
import re
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402

SECONDS_MAX = 120


class Classes(unittest.TestCase):
    def setUp(self):
        self.machine = harness.Machine()
        self.addCleanup(self.machine.stop)
        self.machine.start()

    def environment(self):
        return {"PATH": os.environ["PATH"], "TANGRAM_SOCKET": str(self.machine.socket), "LANG": "C.UTF-8"}

    def run_class(self, name, *words):
        done = subprocess.run([harness.program(f"article_a/{name}"), *words], capture_output=True, text=True, check=False,
                              timeout=SECONDS_MAX, env=self.environment())
        self.assertEqual(done.returncode, 0, f"{done.stdout}{done.stderr}{self.machine.report()}")
        return done.stdout

    def test_priority_scheduler(self):
        """Without it tasks could be given NPUs in the order of their submission, whatever their priority."""
        out = self.run_class("priority_scheduler", "/bin/true")
        self.assertEqual(re.findall(r"任务 (\S+) 进入 (\S+) 队列", out),
                         [("preproc-001", "low"), ("train-001", "normal"), ("infer-001", "high")])
        self.assertEqual(re.findall(r"\[等待\] (\S+)", out), ["infer-001", "train-001", "preproc-001"], out)
        self.assertIn("infer-001 waits", out)
        self.assertEqual(re.findall(r"任务 (\S+) → NPU (\d+)", out),
                         [("infer-001", "0"), ("train-001", "1"), ("preproc-001", "2")])
        jobs = {job["name"]: job for job in self.machine.jobs()}
        self.assertEqual([jobs[name]["outcome"] for name in ("infer-001", "train-001", "preproc-001")], ["succeeded"] * 3)
        self.assertEqual(self.machine.status()["npusFree"], 8)

    def test_quota_manager(self):
        """Without it a task could get NPUs past its tenant's quota, or give back those of another task."""
        out = self.run_class("quota_manager")
        lines = out.splitlines()
        self.assertEqual(lines[:4], [
            "[配额管理] 租户 team-a 注册成功，配额: 4 NPUs, 32GB/卡",
            "[配额管理] 租户 team-b 注册成功，配额: 2 NPUs, 16GB/卡",
            "[分配] 任务 train-001 获得 NPU [0,1]，租户 team-a 当前使用 2/4",
            "[分配] 任务 infer-001 获得 NPU [2]，租户 team-b 当前使用 1/2"])
        refused = dict(re.findall(r"^\[(?:拒绝|等待)\] 任务 (\S+): (\S+):", out, re.MULTILINE))
        self.assertEqual(refused, {
            "urgent-001": "quota.priority.forbidden", "wide-001": "quota.npus.exceeded",
            "large-001": "quota.memory_per_npu.above_limit", "nobody-001": "tenant.unknown"})
        self.assertRegex(out, r"\[等待\] 任务 wide-001: .* 2 of 4", "a task that fits later is told so")
        self.assertEqual(lines[-3:], [
            "[分配] 任务 train-002 获得 NPU [3,4]，租户 team-a 当前使用 4/4",
            "[释放] 任务 train-001 释放 NPU [0,1]，租户 team-a 当前使用 2/4",
            "[分配] 任务 wide-002 获得 NPU [0,1]，租户 team-a 当前使用 4/4"])
        # The manager is gone, and with it everything that it held.
        self.machine.wait_until(lambda: self.machine.status()["npusFree"] == 8, "all NPUs are free again", 10)

    def test_dynamic_quota_adjuster(self):
        """Without it the window over midnight would never hold, or a quota would stay when its window is over."""
        out = self.run_class("dynamic_quota_adjuster", "08:59", "09:00", "12:00", "18:00", "22:00", "23:59", "00:30", "05:59",
                             "06:00")
        self.assertEqual(re.findall(r"^(\d\d:\d\d): (\d+) NPUs, 4 running jobs$", out, re.MULTILINE), [
            ("08:59", "4"), ("09:00", "6"), ("12:00", "6"), ("18:00", "4"), ("22:00", "2"), ("23:59", "2"), ("00:30", "2"),
            ("05:59", "2"), ("06:00", "4")])
        self.assertEqual(re.findall(r"max_npus (\d) → (\d)", out), [("4", "6"), ("6", "4"), ("4", "2"), ("2", "4")])
        self.assertEqual(len(self.machine.journal("tenant_put")), 5, "a quota that is as it should be is not set again")

    def test_device_health_checker(self):
        """Without it a device that fails or comes back would call nobody, or call twice."""
        process = subprocess.Popen([harness.program("article_a/device_health_checker"), "4"], stdout=subprocess.PIPE, text=True,
                                   env=self.environment(), preexec_fn=harness.die_with_parent)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        lines = []
        reader = threading.Thread(target=lambda: lines.extend(iter(process.stdout.readline, "")), daemon=True)
        reader.start()
        said = lambda words: self.machine.wait_until(lambda: any(words in line for line in lines), words)  # noqa: E731
        said("watching 8 devices")
        self.machine.simulator_ctl("health", 3, "critical")
        said("callback(3, 'failed')")
        self.machine.simulator_ctl("health", 3, "ok")
        said("callback(3, 'recovered')")
        # Across a restart of the daemon, in which something happens.
        self.machine.kill_daemon()
        self.machine.simulator_ctl("health", 5, "critical")
        self.machine.start_daemon()
        said("callback(5, 'failed')")
        self.machine.simulator_ctl("health", 5, "ok")
        self.assertEqual(process.wait(timeout=30), 0)
        reader.join(timeout=10)
        calls = [line.strip() for line in lines if line.startswith("callback")]
        self.assertEqual(calls, ["callback(3, 'failed')", "callback(3, 'recovered')", "callback(5, 'failed')",
                                 "callback(5, 'recovered')"])
        self.assertTrue(any("[故障] 设备 3 检测到故障" in line for line in lines), lines)


if __name__ == "__main__":
    unittest.main()
