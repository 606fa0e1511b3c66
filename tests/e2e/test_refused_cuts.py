"""What keeps an NPU from being cut: drivers that cannot or may not, cards of two chips, chips with less than described;
and what the driver remembers of slices."""

import json
import re
import subprocess
import time
import unittest

import harness
from test_slices import FIRST_ID, SLEEP, Case

ONE_310P3 = (harness.SOURCE / "deploy/machines/one-310p3.yaml").read_text()
TWO_ON_A_CARD = ONE_310P3 + '  - {card: 7, chip: 310P3, chip_id: 1, pci: "0000:00:08.0"}\n'
LESS_VPC = ONE_310P3.replace("launch_us: 5\n", "launch_us: 5\n    dvpp: {vpc: 8}\n")
UNSUPPORTED = "request.slice.unsupported"


def a3(driver):
    """Two dies of an A3 under that driver: what the 910B2 node is but for its names."""
    text = (harness.SOURCE / "deploy/machines/eight-910b2.yaml").read_text()
    npus = text.index("npus:")
    rows = [line for line in text[npus:].splitlines() if line.startswith("  - ")][:2]
    text = text[:npus] + "npus:\n" + "\n".join(rows) + "\n"
    text = re.sub(r"driver_version: .*", f'driver_version: "{driver}"', text)
    return text.replace("910B2", "Ascend910").replace("board_id: 0x30", "board_id: 0xb1")


class Refused(Case):
    def refusal(self, memory="1024MiB"):
        answer = self.machine.cli("submit", "--tenant", "team", "--slice", memory, *SLEEP)
        self.assertEqual(answer.code, 3, repr(answer))
        return answer.err

    def note(self):
        return self.machine.json("slices", "0")["npus"][0]["note"]

    def orders(self):
        return len(self.machine.journal("slice_ordered"))

    def findings(self):
        answer = self.machine.cli("doctor", "-o", "json")
        self.assertIn(answer.code, (0, 1), repr(answer))
        return {finding["code"]: finding for finding in json.loads(answer.out)["findings"]}


class OldDriverOfAnA3(Refused):
    npus = a3("25.5.0")

    def test_a_driver_that_cannot_is_asked_once_for_each_npu(self):
        """Without it a job would go round between the queue and a driver that always says no, and nobody be told."""
        job = self.submit("16GiB")
        message = self.wait_reason(job, UNSUPPORTED)
        self.assertIn("-8255", message)
        time.sleep(1.5)  # several looks
        self.assertEqual(self.orders(), 2)
        self.assertIn("its driver has refused to cut NPU 0", self.refusal("16GiB"))
        self.assertIn("-8255", self.note())
        self.assertIn("--upgrade", self.findings()["doctor.slices.refused"]["command"])
        self.machine.wait_for(self.machine.submit("--tenant", "team", *SLEEP), "running")

    def test_a_new_driver_and_the_right_policy_are_noticed(self):
        """Without it the operator who mends what was wrong would see no difference."""
        job = self.submit("16GiB")
        self.wait_reason(job, UNSUPPORTED)
        self.machine.stop_simulator()
        self.machine.npus = a3("26.0.1")
        self.machine.start_simulator()
        self.machine.wait_until(lambda: "-8002" in self.wait_reason(job, UNSUPPORTED), "the new driver is asked", 60)
        cure = self.findings()["doctor.slices.not_permitted"]["command"].split()
        self.assertEqual(cure, ["npu-smi", "set", "-t", "multi-die-policy", "-d", "1"])
        self.machine.npu_smi(*cure[1:], input="Y\n")
        self.machine.stop_daemon()
        self.machine.start_daemon()
        self.assertEqual(self.machine.wait_for(job, "running")["slice"]["template"], "vir06_1c_16g")


class Duo(Refused):
    npus = TWO_ON_A_CARD

    def test_a_template_is_refused_by_name_and_whole_chips_are_given(self):
        """Without it a 300I Duo would be cut although its vendor does not support that, and fail at its first job."""
        self.assertIn("300I Duo", self.refusal())
        self.assertIn("300I Duo", self.note())
        asked = self.machine.cli("slices", "0", "--cut", "vir01", "-o", "json")
        self.assertEqual(asked.code, 1, repr(asked))
        self.assertIn("300I Duo", json.loads(asked.out)["npus"][0]["asked"]["rules"][0]["message"])
        job = self.machine.submit("--tenant", "team", "--npus", "2", *SLEEP)
        self.assertEqual(sorted(self.machine.wait_for(job, "running")["npus"]), [0, 1])
        self.assertEqual(self.orders(), 0)


class MixedMachine(Refused):
    npus = (harness.SOURCE / "deploy/machines/mixed.yaml").read_text()

    def test_every_chip_is_known_and_an_a3_is_given_once_its_dies_are_apart(self):
        """Without it a chip of the mixed machine would be taken for another, or not be cut for jobs."""
        npus = {npu["npu"]: npu for npu in self.machine.json("slices")["npus"]}
        self.assertEqual({number: npu["model"] for number, npu in npus.items()},
                         {0: "910B3 (by board)", 1: "910B3 (by board)", 2: "910B4-1 (by board)", 4: "910B4 (by board)",
                          5: "300I Duo (24 GiB a chip)", 6: "300I Duo (24 GiB a chip)", 8: "A3, 20 cores", 9: "A3, 20 cores"})
        self.machine.npu_smi("set", "-t", "multi-die-policy", "-d", "1", input="Y\n")
        whole = [self.machine.wait_for(self.machine.submit("--tenant", "team", "--memory", "60GiB", *SLEEP), "running")
                 for _ in range(3)]
        self.assertEqual(sorted(npu for job in whole for npu in job["npus"]), [0, 1, 2])
        job = self.run_now("30GiB")
        self.assertEqual((job["npus"], job["slice"]["template"]), ([8], "vir10_3c_32g"))


class LessThanDescribed(Refused):
    npus = LESS_VPC
    config = {**Refused.config}  # of its own: the test changes it

    def test_the_reason_names_what_to_correct_and_a_file_corrects_it(self):
        """Without it the driver would refuse what the catalogue promises, one job after the other."""
        self.assertIn("NPU 0 has 8 of media.vpc", self.refusal())
        self.assertIn("correct media.vpc of that chip in the file of slices.chips", self.refusal())
        self.assertIn("doctor.catalogue", self.findings())
        chips = self.machine.root / "chips.yaml"
        chips.write_text("""apiVersion: tangram.dev/v1
kind: ChipCatalog
chips:
  - name: 310P with 8 VPC
    match: {chips: [310P3]}
    aiCores: 8
    aiCpus: 7
    media: {vpc: 8}
    slicesMax: 7
    vgroups: 4
    templates:
      - {name: vir01, aiCores: 1, aiCpus: 1, memory: 3GiB, usableMemory: 2690MiB, media: {vpc: 1}}
      - {name: vir02, aiCores: 2, aiCpus: 2, memory: 6GiB, usableMemory: 5381MiB, media: {vpc: 3}}
""")
        self.machine.write_config(slices={"chips": str(chips)})
        self.machine.stop_daemon()
        self.machine.start_daemon()
        jobs = [self.run_now(memory) for memory in ("4096MiB", "4096MiB", "1024MiB", "1024MiB")]
        self.assertEqual([job["slice"]["template"] for job in jobs], ["vir02", "vir02", "vir01", "vir01"])
        self.assertNotIn("doctor.catalogue", self.findings())


class RecoverMode(Case):
    config = {**Case.config, "slices": {"forbidRecover": False}}

    def remembered(self):
        """The vnpus that the driver would cut again after a boot."""
        text = (self.machine.simulated / "etc/vnpu.cfg").read_text()
        return [int(number) for number in re.findall(r"^\d+:(\d+):", text, re.MULTILINE)]

    def set_recover(self, on):
        self.machine.npu_smi("set", "-t", "vnpu-cfg-recover", "-d", "1" if on else "0")

    def test_what_has_ended_does_not_come_back_with_a_boot(self):
        """Without it a slice that has ended would come back when somebody turns the mode on again."""
        job = self.run_now("1024MiB")["id"]
        kept = self.run_now("4096MiB")
        self.assertEqual(self.remembered(), [FIRST_ID, kept["slice"]["id"]])
        path = self.machine.simulated / "etc/vnpu.cfg"
        lines = path.read_text()
        self.set_recover(False)
        self.assertEqual(self.remembered(), [])
        # As another tool, or a copy of the file, leaves it.
        path.write_text(lines.replace("recover:enable", "recover:disable"))
        self.machine.ok("cancel", job)
        self.machine.wait_for(job, "ended")
        self.machine.wait_until(lambda: self.remembered() == [kept["slice"]["id"]], "the driver has forgotten it")
        self.machine.ok("cancel", kept["id"])
        self.wait_clean()
        self.assertEqual(self.remembered(), [])
        self.set_recover(True)
        self.machine.simulator_ctl("reboot", 0)
        time.sleep(1.5)  # several looks
        self.assertEqual(self.on_hardware(), {})

    def test_the_mode_is_the_operators_where_the_configuration_says_so(self):
        """Without it a setting of the whole machine would be changed against the operator's word."""
        self.set_recover(True)
        time.sleep(1.5)
        self.assertIn("Enable", self.machine.npu_smi("info", "-t", "vnpu-cfg-recover"))


class DamagedFile(Refused):
    def test_a_damaged_file_is_found_and_its_cure_cures(self):
        """Without it every cut would fail with a code that says nothing of a file."""
        (self.machine.simulated / "etc/vnpu.cfg").write_text("what is this\n")
        self.machine.wait_until(lambda: "doctor.recover.damaged" in self.findings(), "the file is found")
        words = self.findings()["doctor.recover.damaged"]["command"].split()
        self.assertEqual(words[:2], ["mv", str(self.machine.simulated / "etc/vnpu.cfg")])
        (self.machine.simulated / "etc/vnpu.cfg").rename(words[2])
        self.machine.wait_until(lambda: "doctor.recover.damaged" not in self.findings(), "it is gone")
        self.run_now("1024MiB")

    def test_a_lock_that_is_no_file_and_a_line_that_is_cut_short_are_found(self):
        """Without it both would count as sound, and every cut fail with a code that says nothing."""
        self.wait_clean()
        lock = self.machine.simulated / "run/vnpu_cfg_lock/vnpu_cfg_lock_flag"
        lock.unlink(missing_ok=True)
        lock.mkdir(parents=True)
        self.machine.wait_until(lambda: "doctor.recover.lock" in self.findings(), "the lock is found")
        subprocess.run(["bash", "-ec", self.findings()["doctor.recover.lock"]["command"]], check=True)
        self.run_now("1024MiB")
        (self.machine.simulated / "etc/vnpu.cfg").write_text(
            "vnpu_config_recover:disable\n[vnpu-config start]\n"
            "0:107:npu-smi set -t create-vnpu -i 7 -c 0 -f vir01\n[vnpu-config end]\n")
        self.machine.wait_until(lambda: "doctor.recover.damaged" in self.findings(), "the line is found")
        self.assertIn("line 3", self.findings()["doctor.recover.damaged"]["message"])

    def test_a_link_and_an_open_file_are_called_what_they_are(self):
        """Without it a sound file behind a link would be called damaged, and one that all may write be well."""
        path = self.machine.simulated / "etc/vnpu.cfg"
        self.wait_clean()
        real = path.with_name("elsewhere.cfg")
        real.write_text("vnpu_config_recover:disable\n[vnpu-config start]\n[vnpu-config end]\n")
        path.unlink(missing_ok=True)
        path.symlink_to(real)
        self.machine.wait_until(lambda: "doctor.recover.not_plain" in self.findings(), "the link is found")
        self.assertNotIn("doctor.recover.damaged", self.findings())
        subprocess.run(["bash", "-ec", self.findings()["doctor.recover.not_plain"]["command"]], check=True)
        self.run_now("1024MiB")
        # The daemon turns the mode off, and with it off nothing is written that would close the file again.
        self.machine.wait_until(lambda: path.exists() and "recover:disable" in path.read_text(), "a new one is written")
        self.assertFalse(path.is_symlink())
        path.chmod(0o666)
        self.machine.wait_until(lambda: "doctor.recover.exposed" in self.findings(), "the mode is found")
        subprocess.run(["bash", "-ec", self.findings()["doctor.recover.exposed"]["command"]], check=True)
        self.machine.wait_until(lambda: "doctor.recover.exposed" not in self.findings(), "it is mended")


class UnseenFault(Refused):
    config = {**Refused.config, "slices": {"forbidRecover": False}}  # with the mode on the driver writes its file

    def test_a_fault_that_no_look_shows_is_told_and_stops_no_longer_than_it_stands(self):
        """Without it an NPU would stay uncut for ten minutes after its driver can write its file again."""
        self.wait_clean()
        in_the_way = self.machine.simulated / "etc/vnpu.cfg.new"  # the driver's own copy
        in_the_way.mkdir()
        job = self.submit("1024MiB")
        self.machine.wait_until(lambda: "doctor.recover.unusable" in self.findings(), "the driver's word is told", 40)
        self.assertIn("-8014", self.findings()["doctor.recover.unusable"]["message"])
        self.assertIn(str(in_the_way.with_suffix("")), self.findings()["doctor.recover.unusable"]["command"])
        in_the_way.rmdir()
        self.assertEqual(self.machine.wait_for(job, "running", 30)["slice"]["template"], "vir01")
        self.assertNotIn("doctor.recover.unusable", self.findings())


if __name__ == "__main__":
    unittest.main()
