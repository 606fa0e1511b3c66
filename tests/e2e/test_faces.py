"""`tangram slices`, `fit` and `doctor` against a live daemon on article B's node: one 310P3 with NPU id 7 under an old
driver. The slices are cut with the vendor's own tool."""

import json
import subprocess
import unittest

import harness

TENANTS = """
apiVersion: tangram.dev/v1
kind: Tenant
metadata: {name: team-a}
spec: {quota: {npus: 1}}
---
apiVersion: tangram.dev/v1
kind: Tenant
metadata: {name: team-b}
"""
# Slices are cut at once.
ARTICLE_B = (harness.SOURCE / "deploy/machines/one-310p3.yaml").read_text().replace("create_ms: 300", "create_ms: 0")


def codes(answer):
    return [finding["code"] for finding in answer["findings"]]


class OneNpu(unittest.TestCase):
    def setUp(self):
        self.machine = harness.Machine(npus=ARTICLE_B)
        self.addCleanup(self.machine.stop)
        self.machine.start()
        self.machine.apply(TENANTS)

    def npu_smi(self, *words):
        done = subprocess.run([str(self.machine.driver_dir / "tools/npu-smi"), *words], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def expect(self, code, *words, **options):
        answer = self.machine.cli(*words, **options)
        self.assertEqual(answer.code, code, repr(answer))
        return answer

    def npu(self):
        return self.machine.json("slices", "0")["npus"][0]

    def diagnosis(self):
        answer = self.machine.cli("doctor", "-o", "json")
        self.assertIn(answer.code, (0, 1), repr(answer))
        return json.loads(answer.out)

    def test_slices_that_the_vendors_tool_cut_are_drawn(self):
        """Without it an operator would not see what takes the room of an NPU, or what still fits beside it."""
        self.npu_smi("set", "-t", "create-vnpu", "-i", "7", "-c", "0", "-f", "vir04", "-v", "100")
        self.machine.wait_until(lambda: self.npu()["slices"], "the daemon sees the slice")
        npu = self.npu()
        self.assertEqual((npu["card"], npu["model"], npu["freeAiCores"]), (7, "310P (24 GiB)", 4))
        shown = npu["slices"][0]
        self.assertEqual((shown["id"], shown["template"], shown["aiCores"], shown["standing"]), (100, "vir04", 4, "foreign"))
        self.assertEqual({cut["template"]: cut["room"] for cut in npu["cuts"]},
                         {"vir01": 3, "vir02": 1, "vir02_1c": 2, "vir04": 0, "vir04_3c": 1})
        drawn = self.expect(0, "slices", env={"LC_ALL": "C"}).out
        self.assertIn("|A?A?A?A?|. . . . |", drawn)
        self.assertIn("AICPU: 4 needed, 3 of 7 left", drawn)
        self.assertIn("3 x vir01 (3GiB, 1 AI core)", drawn)
        self.assertIn("│A?A?A?A?│. . . . │", self.expect(0, "slices", env={"LC_ALL": "C.UTF-8"}).out)
        self.assertEqual(self.machine.ok("slices", "-q").split(), ["100"])

    def test_a_mix_is_judged_by_its_rule(self):
        """Without it "it does not fit" would leave open whether another template would."""
        self.expect(0, "slices", "0", "--cut", "vir04", "--cut", "vir04_3c")
        refused = self.expect(1, "slices", "0", "--cut", "vir04", "--cut", "vir04")
        self.assertIn("slice.rule.resource", refused.out)
        self.assertIn("vir99", self.expect(1, "slices", "--cut", "vir99").out)
        self.assertIn("vGroup", self.machine.ok("explain", "slice.rule.vgroups", "--lang", "zh"))
        self.expect(4, "slices", "3")
        self.expect(1, "slices", "0", *(["--cut", "vir01"] * 40))

    def test_fit_says_now_later_and_never(self):
        """Without it whoever submits would learn only by waiting."""
        now = self.machine.json("fit", "--tenant", "team-b", "--npus", "1")
        self.assertEqual((now["answer"], now["npus"]), ("now", [0]))
        holder = self.machine.submit("--tenant", "team-b", "--", "sleep", "600")
        self.machine.wait_for(holder, "running")
        later = self.expect(1, "fit", "--tenant", "team-a")
        self.assertIn("it would wait", later.out)
        # Whose job has to end is for its tenant and the operator to know.
        self.assertIn(f"tangram cancel {holder}", later.out)
        never = self.expect(3, "fit", "--tenant", "team-a", "--npus", "2")
        self.assertIn("capacity.npus.never", never.out)
        self.expect(4, "fit", "--tenant", "nobody")
        self.expect(2, "fit", "--tenant", "team-a", "--slice", "4GiB", "--npus", "1")
        self.assertEqual(len(self.machine.jobs()), 1, "nothing was submitted")
        status, _ = self.machine.api("GET", "/v1/fit?tenant=team-a&sliceMemory=1GiB&npus=2")
        self.assertEqual(status, 400)

    def test_doctor_finds_and_its_command_mends(self):
        """Without it the traps of the driver would be found by the harm that they do, and the cure in a forum."""
        self.npu_smi("set", "-t", "vnpu-cfg-recover", "-d", "1")
        self.npu_smi("set", "-t", "create-vnpu", "-i", "7", "-c", "0", "-f", "vir02", "-v", "101")
        wanted = {"doctor.driver.old", "doctor.slices.foreign"}
        self.machine.wait_until(lambda: wanted <= set(codes(self.diagnosis())), f"{wanted} are found")
        self.assertIn("22.0.4", self.expect(1, "doctor").out)
        for finding in self.diagnosis()["findings"]:
            if finding["command"].startswith("npu-smi set"):
                self.npu_smi(*finding["command"].split()[1:])
        mended = {"doctor.slices.recover", "doctor.slices.foreign"}
        self.machine.wait_until(lambda: not mended & set(codes(self.diagnosis())), "what was mended is gone")
        # Another mode of the machine: no slice for containers.
        self.npu_smi("set", "-t", "vnpu-mode", "-d", "1")
        self.machine.wait_until(lambda: "doctor.slices.mode" in codes(self.diagnosis()), "the mode is found")
        self.assertIn("virtual machines", self.npu()["note"])

    def test_doctor_without_driver_and_without_daemon(self):
        """Without it silence would look like health."""
        self.machine.kill_simulator()
        self.machine.wait_until(lambda: "doctor.driver.away" in codes(self.diagnosis()), "the driver is missed")
        self.machine.stop_daemon()
        away = self.expect(6, "doctor")
        self.assertIn("no daemon answers", away.out)


class NoLibrary(unittest.TestCase):
    def test_a_missing_library_is_named(self):
        """Without it a machine without the vendor's library would only seem to be empty."""
        machine = harness.Machine(config={"devices": {"library": "/nowhere/libdcmi.so"}})
        self.addCleanup(machine.stop)
        machine.start_simulator()
        machine.start_daemon(wait=False)
        machine.wait_until(lambda: machine.cli("status").code == 0, "the daemon answers")
        answer = machine.cli("doctor")
        self.assertEqual(answer.code, 1, repr(answer))
        self.assertIn("/nowhere/libdcmi.so", answer.out)


if __name__ == "__main__":
    unittest.main()
