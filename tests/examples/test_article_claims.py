"""What docs/articles.md says of Tangram and no other test shows: a reservation, a failover, a device that comes back, what a
job sees of the machine, memory that is allocated told from memory that is used, and a 310P3 that is given whole."""

import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402

SLEEP = ("--", "sleep", "600")
TEAM = "apiVersion: tangram.dev/v1\nkind: Tenant\nmetadata: {name: team}\n"
# Article B's node: one 310P3 with NPU id 7.
ONE_310P3 = """
driver_version: "22.0.4"
compute: full
chips:
  310P3: {soc_name: Ascend310P3, board_id: 0x64, pci_device_id: 0xD500, ai_cores: 8, vector_cores: 7, ai_cpus: 7,
    aicore_mhz: 1080, hbm_mhz: 1600, memory_mib: 21527, memory_system_mib: 1805, l2_mib: 16, fp16_gflops: 70000,
    fp32_gflops: 8000, memory_mib_per_second: 190000, host_mib_per_second: 12000, launch_us: 5}
npus:
  - {phy: 0, card: 7, chip: 310P3, pci: "0000:07:00.0"}
"""


class Case(unittest.TestCase):
    npus = None

    def setUp(self):
        self.machine = harness.Machine(npus=self.npus)
        self.addCleanup(self.machine.stop)
        self.machine.start()

    def submit(self, tenant, *words):
        return self.machine.submit("--tenant", tenant, *words)

    def npu(self, number):
        return next(npu for npu in self.machine.status()["npus"] if npu["npu"] == number)


class EightNpus(Case):
    def test_a_reservation_keeps_npus_for_inference(self):
        """Without it training could take all NPUs, and inference would wait for hours (article A, Q1)."""
        tenants = subprocess.run([harness.program("article_a/q1_reservation")], capture_output=True, text=True, check=True)
        self.machine.apply(tenants.stdout)
        training = [self.submit("training", *SLEEP) for _ in range(6)]
        for job in training[:5]:
            self.machine.wait_for(job, "running")
        reason = self.machine.wait_for(training[5], "waiting")["reason"]
        self.assertEqual(reason["code"], "quota.npus.exceeded")
        self.assertIn("5 of 5 NPUs", reason["message"])
        self.assertEqual(self.machine.status()["npusFree"], 3)
        for _ in range(3):
            self.machine.wait_for(self.submit("inference", "--priority", "high", *SLEEP), "running")
        # When inference lets go, training still has its five and no more.
        self.assertEqual(self.machine.job(training[5])["state"], "waiting")

    def test_a_job_moves_from_a_lost_npu_to_a_healthy_one(self):
        """Without it the loss of one NPU would end the job that ran there although others are free (article A, 5.2, 5.3)."""
        self.machine.apply(TEAM)
        moving = self.submit("team", "--restart", "on-lost", "--", "sh", "-c", 'echo "$TANGRAM_NPUS"; exec sleep 600')
        ending = self.submit("team", *SLEEP)
        other = self.submit("team", *SLEEP)
        for job, npus in ((moving, [0]), (ending, [1]), (other, [2])):
            self.assertEqual(self.machine.wait_for(job, "running")["npus"], npus)
        for npu in (0, 1):
            self.machine.simulator_ctl("remove", npu)
        self.machine.wait_until(lambda: self.machine.job(moving)["attempt"] == 2, "the job is started again")
        moved = self.machine.wait_for(moving, "running")
        self.assertEqual(moved["npus"], [3])
        self.machine.wait_until(lambda: self.machine.ok("logs", moving) == "3\n", "the program sees its new NPU")
        ended = self.machine.wait_for(ending, "ended")
        self.assertEqual(ended["outcome"], "device-lost")
        self.assertIn("NPU 1 is absent", ended["message"])
        self.assertEqual((self.machine.job(other)["state"], self.machine.job(other)["attempt"]), ("running", 1))
        # On record, with its cause.
        lost = [record["body"]["input"]["outcome"] for record in self.machine.journal("attempt_ended")]
        self.assertEqual(lost, ["device-lost", "device-lost"])
        self.assertEqual((self.npu(0)["health"], self.npu(0)["mode"]), ("absent", "free"))

        # What comes back is used again, by itself.
        waiter = self.submit("team", "--npus", "6", *SLEEP)
        self.assertIn("needs 6 NPUs", self.machine.wait_for(waiter, "waiting")["reason"]["message"])
        for npu in (0, 1):
            self.machine.simulator_ctl("return", npu)
        self.assertEqual(self.machine.wait_for(waiter, "running")["npus"], [0, 1, 4, 5, 6, 7])

    def test_allocated_is_told_from_used(self):
        """Without it what a tenant was given could be taken for what its programs use (article B, metrics)."""
        self.machine.apply(TEAM)
        job = self.submit("team", "--memory", "8GiB", "--", self.machine.program_for_all("gemm"), "--memory", "2GiB", "--hold", "600")
        self.machine.wait_until(lambda: "holding 2048 MiB" in self.machine.ok("logs", job), "the program holds its memory")
        # The system's own 3 GiB, the program's 2 GiB, and its matrices.
        self.machine.wait_until(lambda: 5120 <= self.mebibytes(self.npu(0)["memoryUsed"]) < 5200, "the use is shown")
        used = self.machine.json("quota", "team")["items"][0]["used"]
        # A whole NPU is charged with all of its memory: nobody else can use the rest.
        self.assertEqual((used["npus"], used["memoryTotal"]), (1, "32GiB"))
        self.assertEqual(self.npu(0)["memoryTotal"], "32GiB")

    @staticmethod
    def mebibytes(text):
        return int(text[:-3]) * {"MiB": 1, "GiB": 1024}[text[-3:]]

    def test_a_job_sees_its_own_npus_in_npu_smi(self):
        """Without it a tenant could read from inside what others hold, or not check that its NPU is there (article A, Q2)."""
        self.machine.apply(TEAM)
        self.machine.wait_for(self.submit("team", *SLEEP), "running")
        job = self.submit("team", "--", "/usr/local/Ascend/driver/tools/npu-smi", "info", "-l")
        self.assertEqual(self.machine.wait_for(job, "ended")["npus"], [1])
        listed = self.machine.ok("logs", job)
        self.assertRegex(listed, r"Total Count +: 1\n")
        self.assertRegex(listed, r"NPU ID +: 1\n")


class One310P3(Case):
    npus = ONE_310P3

    def test_more_than_a_template_gets_it_whole(self):
        """Without it a request above the largest template would not get the NPU whole, or one above the NPU would wait."""
        self.machine.apply(TEAM)
        self.assertEqual(self.machine.status()["driverVersion"], "22.0.4")
        holder = self.submit("team", "--memory", "13000MiB", *SLEEP)
        self.machine.wait_for(holder, "running")
        self.assertEqual((self.npu(0)["chip"], self.npu(0)["mode"]), ("310P3", "whole"))
        # What the whole NPU has is charged, not what was asked for.
        self.assertEqual(self.machine.json("quota", "team")["items"][0]["used"]["memoryTotal"], "21527MiB")
        script = ('echo "slice: ${ASCEND_VNPU_SPECS-none}"; /usr/local/Ascend/driver/tools/npu-smi info; '
                  'exec "$0" --size 64')
        waiter = self.submit("team", "--memory", "1024MiB", "--", "sh", "-c", script, self.machine.program_for_all("gemm"))
        reason = self.machine.wait_for(waiter, "waiting")["reason"]
        self.assertEqual(reason["code"], "capacity.npus.busy")
        self.machine.ok("cancel", holder)
        self.assertEqual(self.machine.wait_for(waiter, "ended")["outcome"], "succeeded", self.machine.ok("logs", waiter))
        inside = self.machine.ok("logs", waiter)
        self.assertIn("gemm: OK", inside)
        self.assertIn("slice: none\n", inside)
        self.assertRegex(inside, r"\| 7 +310P3 ")
        self.assertRegex(inside, r"\d+ +/ 21527 ")
        self.submit("team", "--memory", "21527MiB", "--", "true")
        refused = self.machine.cli("submit", "--tenant", "team", "--memory", "21528MiB", "--", "true")
        self.assertEqual(refused.code, 3, refused)
        self.assertIn("21527MiB", refused.err)


if __name__ == "__main__":
    unittest.main()
