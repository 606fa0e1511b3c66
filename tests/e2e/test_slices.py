"""The life of slices under the real daemon: article B's node, one 310P3 with NPU id 7 and an old driver."""

import json
import os
import re
import subprocess
import time
import unittest
import urllib.parse

import harness
import raw_http

NODE = (harness.SOURCE / "deploy/machines/one-310p3.yaml").read_text()
TEAM = "apiVersion: tangram.dev/v1\nkind: Tenant\nmetadata: {name: team}\n"
SLEEP = ("--", "sleep", "600")
FIRST_ID = 100  # of a slice of physical NPU 0
NPU_SMI = "/usr/local/Ascend/driver/tools/npu-smi"  # where a job finds it
# Of the chip's row in `npu-smi info`: AICore(%), memory in use and in all.
CHIP_ROW = re.compile(r"^\| 0 +0 +\|[^|]*\| (\S+) +(\d+) */ *(\d+) *\|$", re.MULTILINE)


# What is asked of an idle 310P3, and what is given: a template, "whole", or None for what no NPU has. Where HAMi gives
# less than asked, or reads another unit, the answer here is another (docs/slices.md).
EDGES = [
    ("1B", 0, "vir01"), ("1MiB", 0, "vir01"), ("1024MiB", 0, "vir01"), ("3072MiB", 0, "vir01"), ("3GiB", 0, "vir01"),
    ("3073MiB", 0, "vir02"), ("6144MiB", 0, "vir02"), ("6145MiB", 0, "vir04"), ("12288MiB", 0, "vir04"),
    ("12289MiB", 0, "whole"), ("13000MiB", 0, "whole"), ("16Gi", 0, "whole"), ("21527MiB", 0, "whole"),
    ("21528MiB", 0, None), ("24576MiB", 0, None), ("24577MiB", 0, None), ("1024GiB", 0, None), ("256TiB", 0, None),
    ("1MiB", 1, "vir01"), ("1MiB", 2, "vir02"), ("1MiB", 3, "vir04"), ("1MiB", 4, "vir04"), ("1MiB", 5, "whole"),
    ("1MiB", 6, "whole"), ("1MiB", 7, "whole"), ("1MiB", 8, "whole"), ("1MiB", 9, None), ("13000MiB", 1, "whole"),
    ("3073MiB", 1, "vir02"), ("6145MiB", 2, "vir04"), ("21527MiB", 8, "whole"), ("21528MiB", 1, None),
]
CORES_ALONE = ["vir01", "vir02", "vir04", "vir04", "whole", "whole", "whole", "whole", None]
NO_SIZES = ["0", "0MiB", "0GiB", "-1MiB", "-1", "1024", "16", "16G", "16gi", "4 GiB", "99999999TiB", "1e3MiB", "x",
            "1GiB,0", "1GiB,-1"]
TOO_LARGE = ["257TiB", "1000000TiB"]  # for any machine


def given_by(view):
    """By the answer of `fit`."""
    if view["answer"] == "never":
        return None
    assert view["answer"] == "now" and view["npus"] == [0], view
    return view["slice"]["template"] if "slice" in view else "whole"


class Case(unittest.TestCase):
    config = {"devices": {"scanInterval": "300ms"}}
    npus = NODE
    card = "7"

    def setUp(self):
        self.machine = harness.Machine(npus=self.npus, config=self.config)
        self.addCleanup(self.machine.stop)
        self.machine.start()
        self.machine.apply(TEAM)

    def submit(self, memory, *words, program=SLEEP):
        return self.machine.submit("--tenant", "team", "--slice", memory, *words, *program)

    def hold(self, memory, *words):
        """A program that says what memory it finds, and stays."""
        gemm = self.machine.program_for_all("gemm")
        return self.submit(memory, *words, program=("--", gemm, "--memory", "64MiB", "--hold", "600"))

    def run_now(self, memory, *words, program=SLEEP):
        job = self.submit(memory, *words, program=program)
        return self.machine.wait_for(job, "running")

    def wait_reason(self, job, code):
        def told():
            reason = self.machine.job(job).get("reason") or {}
            return reason if reason.get("code") == code else None

        return self.machine.wait_until(told, f"{job} waits for {code}")["message"]

    def vnpus(self):
        """What the driver has, as npu-smi tells it: id -> (template, vGroup)."""
        table = self.machine.npu_smi("info", "-t", "info-vnpu", "-i", self.card, "-c", "0")
        rows = re.findall(r"^\| +(\d+) +\| +(\S+) +\| +[0-9a-f]{12} +\| +\d+ +\| +(\S+) +\|$", table, re.MULTILINE)
        return {int(number): (template, vgroup) for number, vgroup, template in rows}

    def on_hardware(self):
        return {number: template for number, (template, _) in self.vnpus().items()}

    def is_clean(self):
        entries = self.machine.json("status")["npus"][0].get("slices", [])
        return not self.on_hardware() and not entries

    def wait_clean(self):
        self.machine.wait_until(self.is_clean, "no slice is left on the device or in the book")

    def stray(self, number):
        slices = self.machine.status()["npus"][0].get("slices", [])
        return next((one for one in slices if one.get("id") == number and not one.get("job")), None)


class Article(Case):
    def test_the_table_of_the_article(self):
        """Without it a request could get another template than the article's, or see more or less memory inside."""
        for memory, template, inside in (("1024MiB", "vir01", 2690), ("4096MiB", "vir02", 5381), ("7000MiB", "vir04", 10763)):
            job = self.hold(memory)
            view = self.machine.wait_for(job, "running")
            self.assertEqual(view["slice"]["template"], template)
            self.assertEqual((view["npus"], view["slice"]["id"]), ([0], FIRST_ID))
            self.assertEqual(self.on_hardware(), {FIRST_ID: template})
            self.machine.wait_until(lambda job=job: "holding" in self.machine.ok("logs", job), "the program has its memory")
            self.assertRegex(self.machine.ok("logs", job), rf"device 0 of 1, .* of {inside} MiB free")
            described = self.machine.ok("describe", job)
            self.assertRegex(described, rf"{template} \(slice {FIRST_ID}\) of NPU 0")
            self.assertIn(f"a slice of {view['sliceRequested']['memory']}", described)
            nominal = self.machine.json("quota", "team")["items"][0]["used"]["memoryTotal"]
            self.assertEqual(nominal, {"vir01": "3GiB", "vir02": "6GiB", "vir04": "12GiB"}[template])
            self.machine.ok("cancel", job)
            self.machine.wait_for(job, "ended")
            self.wait_clean()
        whole = self.hold("13000MiB")
        self.assertNotIn("slice", self.machine.wait_for(whole, "running"))
        self.machine.wait_until(lambda: "holding" in self.machine.ok("logs", whole), "the program has its memory")
        used = self.machine.json("quota", "team")["items"][0]["used"]
        self.assertEqual(used["memoryTotal"], "21527MiB")
        self.assertIn("a whole NPU of 310P3", self.machine.ok("describe", whole))
        self.assertEqual(self.on_hardware(), {})

    def test_above_the_npu_is_refused(self):
        """Without it a request could silently get less memory than it asked for, as the article's scheduler gives."""
        self.machine.wait_for(self.submit("21527MiB", program=("--", "true")), "ended")
        for memory in ("21528MiB", "24576MiB", "25000MiB"):
            answer = self.machine.cli("submit", "--tenant", "team", "--slice", memory, *SLEEP)
            self.assertEqual(answer.code, 3, repr(answer))
            self.assertIn("21527MiB", answer.err)

    def test_the_answer_says_what_a_program_will_find(self):
        """Without it a program would find less memory than was asked for, and nobody have said so beforehand."""
        whole = self.fit(0, "--npus", "1")["granted"]
        self.assertEqual(whole, "the whole NPU: 310P3, 21527MiB, 8 AI cores, 19722MiB for the program")
        part = self.machine.cli("submit", "--tenant", "team", "--slice", "4096MiB", *SLEEP)
        self.assertIn("granted: vir02: 2 AI cores, 6GiB nominal, 5381MiB for the program; the smallest template that holds 4GiB",
                      part.err)
        waiting = self.machine.cli("submit", "--tenant", "team", "--slice", "20000MiB", *SLEEP)
        # Told as long as no look has shown the NPU cut.
        self.assertRegex(waiting.err, r"would get: a whole NPU of 310P3: 21527MiB, 8 AI cores(, 19722MiB for the program)?; "
                                      r"no template holds 20000MiB, the largest is vir04 with 12GiB and 4 AI cores")
        self.assertIn("which is a whole NPU, for no template is so large", waiting.err)
        queue = self.machine.ok("queue")
        self.assertRegex(queue, r" vir02 +\w+ +0 ")
        self.assertRegex(queue, r" 20000MiB +waiting +- ")
        for job in (part.out.strip(), waiting.out.strip()):
            self.machine.ok("cancel", job)
            self.machine.wait_for(job, "ended")
        self.wait_clean()
        job = self.hold("13000MiB")
        self.machine.wait_until(lambda: "holding" in self.machine.ok("logs", job), "the program has its memory")
        self.assertRegex(self.machine.ok("logs", job), r"device 0 of 1, .* of 19722 MiB free")
        self.assertIn("19722MiB for the program", " ".join(self.machine.ok("describe", job).split()))

    def fit(self, code, *words):
        answer = self.machine.cli("fit", "--tenant", "team", *words, "-o", "json")
        self.assertEqual(answer.code, code, repr(answer))
        return json.loads(answer.out) if answer.out else None

    def asked_over_http(self, **query):
        return raw_http.call(self.machine, "GET", "/v1/fit?" + urllib.parse.urlencode({"tenant": "team", **query}))

    def test_every_edge_of_memory_and_cores(self):
        """Without it a request at an edge could get another size than its neighbour, or less than it asked for."""
        for memory, cores, given in EDGES:
            with self.subTest(memory=memory, cores=cores):
                view = self.fit(3 if given is None else 0, "--slice", memory + (f",{cores}" if cores else ""))
                self.assertEqual(given_by(view), given)
                query = {"sliceMemory": memory, **({"sliceAiCores": cores} if cores else {})}
                answer = self.asked_over_http(**query)
                self.assertEqual(answer.status, 200, answer)
                self.assertEqual(given_by(answer.json), given)
        for cores, given in enumerate(CORES_ALONE, start=1):
            with self.subTest(cores=cores):
                self.assertEqual(given_by(self.asked_over_http(sliceAiCores=cores).json), given)
        self.assertEqual(self.machine.jobs(), [])

    def test_what_is_no_size_is_refused_by_name(self):
        """Without it a slip of the pen would be read as some size, and be given."""
        for text in NO_SIZES:
            with self.subTest(text=text):
                refused = self.machine.cli("fit", "--tenant", "team", f"--slice={text}")
                self.assertEqual(refused.code, 2, repr(refused))
                self.assertIn("--slice", refused.err)
                memory, _, cores = text.partition(",")
                asked = {"sliceMemory": memory, **({"sliceAiCores": cores} if cores else {})}
                self.assertEqual(self.asked_over_http(**asked).status, 400, asked)
                body = {"tenant": "team", "command": ["true"], "slice": {"memory": memory}}
                if cores:
                    body["slice"]["aiCores"] = int(cores)
                answer = raw_http.call(self.machine, "POST", "/v1/jobs", body)
                self.assertEqual(answer.status, 400, answer)
                self.assertIn("slice", answer.json["detail"])
        for text in TOO_LARGE:
            with self.subTest(text=text):
                self.assertEqual(self.machine.cli("fit", "--tenant", "team", "--slice", text).code, 2)
                self.assertEqual(self.asked_over_http(sliceMemory=text).status, 400)
                body = {"tenant": "team", "command": ["true"], "slice": {"memory": text}}
                self.assertEqual(raw_http.call(self.machine, "POST", "/v1/jobs", body).status, 400)
        self.assertEqual(self.machine.jobs(), [])

    def test_what_no_npu_has_is_refused_in_a_submission_too(self):
        """Without it `fit` and `submit` could disagree, and the job wait for ever."""
        for memory, cores, given in EDGES:
            if given is not None:
                continue
            answer = self.machine.cli("submit", "--tenant", "team", "--slice", memory + (f",{cores}" if cores else ""), *SLEEP)
            self.assertEqual(answer.code, 3, repr(answer))
        self.assertEqual(self.machine.jobs(), [])

    def test_seven_of_the_smallest_run_and_the_eighth_waits(self):
        """Without it the eighth share could be cut from an NPU that has no room, or wait without a word."""
        jobs = [self.submit("1024MiB") for _ in range(7)]
        for job in jobs:
            self.assertEqual(self.machine.wait_for(job, "running")["npus"], [0])
        self.assertEqual(set(self.on_hardware().values()), {"vir01"})
        self.assertEqual(len(self.on_hardware()), 7)
        eighth = self.submit("1024MiB")
        self.wait_reason(eighth, "capacity.slots.busy")
        self.machine.ok("cancel", jobs[3])
        self.assertEqual(self.machine.wait_for(eighth, "running")["slice"]["template"], "vir01")
        self.assertEqual(len(self.on_hardware()), 7)

    def test_slices_and_the_whole_npu_wait_for_each_other(self):
        """Without it an NPU could be given whole while slices of it are in use, or be cut under a program."""
        part = self.run_now("1024MiB")
        whole = self.submit("13000MiB")
        self.wait_reason(whole, "capacity.memory.busy")
        self.machine.ok("cancel", part["id"])
        self.machine.wait_for(whole, "running")
        self.assertEqual(self.on_hardware(), {})
        part = self.submit("1024MiB")
        self.wait_reason(part, "capacity.memory.busy")
        self.machine.ok("cancel", whole)
        self.assertEqual(self.machine.wait_for(part, "running")["slice"]["template"], "vir01")

    def test_all_eight_cores_are_cut_and_pinned(self):
        """Without it the driver could choose the vGroup, and cores that the book has would be kept unused."""
        jobs = [self.run_now(memory, program=SLEEP) for memory in ("7000MiB", "4096MiB", "1024MiB", "1024MiB")]
        self.assertEqual(sorted(self.on_hardware().values()), ["vir01", "vir01", "vir02_1c", "vir04"])
        placed = self.vnpus()
        for view in jobs:
            self.assertEqual(placed[view["slice"]["id"]][1], str(view["slice"]["vgroup"]))

    def metrics(self):
        return raw_http.call(self.machine, "GET", "/metrics").body.decode()

    def of_jobs(self, kind):
        samples = re.findall(rf'^tangram_job_memory_{kind}_bytes\{{tenant="team",job_id="([^"]+)"\}} (\d+)$', self.metrics(),
                             re.MULTILINE)
        return {job: int(value) for job, value in samples}

    def test_what_three_were_given_is_counted_apart_from_what_they_use(self):
        """Without it the article's numbers, 3, 6 and 12 GiB of one NPU, could not be drawn, or be taken for use."""
        jobs = {self.hold(memory): mib for memory, mib in (("1024MiB", 3072), ("4096MiB", 6144), ("7000MiB", 12288))}
        for job in jobs:
            self.machine.wait_for(job, "running")
            self.machine.wait_until(lambda job=job: "holding" in self.machine.ok("logs", job), "the program has its memory")
        self.assertEqual(self.of_jobs("allocated"), {job: mib << 20 for job, mib in jobs.items()})
        together = (3072 + 6144 + 12288) << 20
        self.assertIn(f'tangram_npu_memory_allocated_bytes{{node="test",npu="0"}} {together}\n', self.metrics())
        self.machine.wait_until(lambda: sorted(job for job, used in self.of_jobs("used").items() if 64 << 20 <= used < 128 << 20)
                                == sorted(jobs), "what each uses is told")
        # This driver's figure of the whole NPU does not follow its slices, as the article has seen.
        _, used, total = CHIP_ROW.search(self.machine.npu_smi("info")).groups()
        self.assertEqual((used, total), ("1805", "21527"))
        drawn = self.machine.ok("slices", "0")
        for job, template in zip(jobs, ("vir01", "vir02", "vir04")):
            self.assertRegex(drawn, rf"{template}\S*, slice \d+: [^;]*;\s+{job}\s+of\s+team")

    def test_events_tell_of_it(self):
        """Without it nobody could see afterwards when a slice was cut and given back."""
        job = self.run_now("1024MiB")["id"]
        self.machine.ok("cancel", job)
        self.machine.wait_for(job, "ended")
        self.wait_clean()
        told = [json.loads(line) for line in self.machine.ok("events", "--last", "1000", "-o", "json").splitlines()]
        made, returned = [event for event in told if event["type"].startswith("slice.")]
        self.assertEqual((made["type"], made["job"], made["slice"], made["template"], made["npu"]),
                         ("slice.made", job, FIRST_ID, "vir01", 0))
        self.assertEqual((returned["type"], returned["job"], returned["slice"]), ("slice.returned", job, FIRST_ID))
        for words in (("history", job), ("events", "--job", job, "--last", "1000")):
            of_job = [json.loads(line)["type"] for line in self.machine.ok(*words, "-o", "json").splitlines()]
            self.assertEqual([kind for kind in of_job if kind.startswith("slice.")], ["slice.made", "slice.returned"], words)
        kinds = [record["kind"] for record in self.machine.journal() if record["kind"].startswith("slice_")]
        self.assertEqual(kinds, ["slice_ordered", "slice_made", "slice_returned"])


class Inside(Case):
    """Article B, 4.4: real work in a slice of 12 GiB."""

    def test_memory_is_seen_inside_while_it_is_held(self):
        """Without it a tenant could not tell how much of its slice it uses, or not get all that it was promised."""
        script = (f'{NPU_SMI} info; "$0" --memory 6GiB --hold 600 > /tmp/log & '
                  'until grep -q holding /tmp/log; do sleep 0.05; done; '
                  f"{NPU_SMI} info; kill $!; wait $!; {NPU_SMI} info")
        job = self.submit("7000MiB", program=("--", "sh", "-c", script, self.machine.program_for_all("gemm")))
        self.assertEqual(self.machine.wait_for(job, "ended")["outcome"], "succeeded", self.machine.ok("logs", job))
        readings = [(int(used), int(total)) for _, used, total in CHIP_ROW.findall(self.machine.ok("logs", job))]
        (before, total), (during, _), (after, _) = readings
        self.assertEqual({one for _, one in readings}, {10763})
        self.assertEqual(after, before)
        self.assertGreaterEqual(during - before, 6144)
        self.assertLess(during, total)

    def test_its_template_is_told_once(self):
        """Without it a library that takes the first of two, and one that takes the last, would see different slices."""
        read = ("import os\n"
                "for entry in open('/proc/self/environ', 'rb').read().split(b'\\0'):\n"
                "    if entry.startswith(b'ASCEND_VNPU_SPECS='): os.write(1, entry + b'\\n')")
        for memory, told in (("7000MiB", ["ASCEND_VNPU_SPECS=vir04"]), ("4096MiB", ["ASCEND_VNPU_SPECS=vir02"]),
                             ("13000MiB", [])):
            # Neither what the submitter's shell has nor what the daemon was started with comes beside it.
            job = self.machine.submit("--tenant", "team", "--slice", memory, "--", "python3", "-c", read,
                                      env={"ASCEND_VNPU_SPECS": "vir16"})
            self.assertEqual(self.machine.wait_for(job, "ended")["outcome"], "succeeded", self.machine.ok("logs", job))
            self.assertEqual(self.machine.ok("logs", job).split(), told)
            self.wait_clean()

    def test_memory_ends_at_the_size_of_the_slice(self):
        """Without it a tenant's program could take the memory of those who share the NPU with it."""
        neighbour = self.hold("4096MiB")
        self.machine.wait_for(neighbour, "running")
        greedy = self.submit("7000MiB", program=("--", self.machine.program_for_all("gemm"), "--memory", "10764MiB"))
        self.assertEqual(self.machine.wait_for(greedy, "ended")["outcome"], "failed")
        self.assertIn("aclrtMalloc returned 207001", self.machine.ok("logs", greedy))
        self.assertEqual(self.machine.job(neighbour)["state"], "running")

    def test_products_are_right_and_show_on_the_host(self):
        """Without it work in a slice could come out wrong, or an operator take a busy NPU for an idle one."""
        gemm = self.machine.program_for_all("gemm")
        right = self.submit("7000MiB", program=("--", gemm, "--memory", "6GiB", "--size", "96", "--repeat", "3"))
        self.assertEqual(self.machine.wait_for(right, "ended")["outcome"], "succeeded", self.machine.ok("logs", right))
        self.assertIn("gemm: OK", self.machine.ok("logs", right))
        # Time on the device is arithmetic: without results it is the same.
        busy = self.run_now("7000MiB", "--env", "ASCENDSIM_COMPUTE=none",
                            program=("--", gemm, "--size", "2048", "--repeat", "1000000", "--no-verify"))
        self.assertEqual(busy["slice"]["aiCores"], 4)
        # Half of the NPU's cores can be at work, and no more.
        self.machine.wait_until(lambda: 0 < int(CHIP_ROW.search(self.machine.npu_smi("info"))[1]) <= 50, "npu-smi shows the work")
        self.machine.wait_until(lambda: 0 < self.machine.status()["npus"][0].get("aiCorePercent", 0) <= 50, "the daemon shows it")


class Life(Case):
    def test_a_killed_daemon_keeps_slices_in_use(self):
        """Without it a crash could take a slice from under a program, or leave it on the device for good."""
        jobs = [self.hold("1024MiB"), self.hold("4096MiB")]
        for job in jobs:
            self.machine.wait_for(job, "running")
            self.machine.wait_until(lambda job=job: "holding" in self.machine.ok("logs", job), "the program has its memory")
        before = self.on_hardware()
        self.machine.kill_daemon()
        self.machine.start_daemon()
        time.sleep(1.5)  # several looks
        self.assertEqual(self.on_hardware(), before)
        for job in jobs:
            view = self.machine.job(job)
            self.assertEqual((view["state"], view["attempt"]), ("running", 1))
            self.machine.ok("cancel", job)
            self.assertEqual(self.machine.wait_for(job, "ended")["outcome"], "cancelled")
        self.wait_clean()

    def test_what_ended_while_the_daemon_was_away_is_returned_at_its_start(self):
        """Without it a slice whose job ended unseen would stay on the device for ever."""
        job = self.submit("1024MiB", program=("--", "sleep", "2"))
        self.machine.wait_for(job, "running")
        self.machine.kill_daemon()
        time.sleep(3)
        self.assertEqual(self.on_hardware(), {FIRST_ID: "vir01"})
        self.machine.start_daemon()
        self.assertEqual(self.machine.wait_for(job, "ended")["outcome"], "succeeded")
        self.wait_clean()

    def test_a_slice_that_cannot_be_cut_is_no_fault_of_the_job(self):
        """Without it a hiccup of the driver would end a job that did nothing wrong, or keep it starting for ever."""
        self.machine.simulator_ctl("fail-create", 0, 6)
        job = self.submit("1024MiB")
        view = self.machine.wait_for(job, "running")
        self.assertGreaterEqual(view["attempt"], 2)
        ended = [record["body"] for record in self.machine.journal("attempt_ended")]
        self.assertEqual(ended[0]["input"]["outcome"], "not-started")
        self.assertTrue(ended[0]["input"]["requeue"])
        self.assertIn("its slice could not be cut", ended[0]["message"])
        self.assertEqual(len(self.on_hardware()), 1)

    def test_a_slice_that_goes_away_ends_its_job_as_lost(self):
        """Without it a job would count as running on a slice that the device does not have any more."""
        job = self.run_now("1024MiB")["id"]
        self.machine.simulator_ctl("reboot")
        ended = self.machine.wait_for(job, "ended")
        self.assertEqual(ended["outcome"], "device-lost")
        self.wait_clean()
        self.machine.wait_for(self.submit("1024MiB"), "running")

    def test_a_lease_gets_a_slice(self):
        """Without it a lease could be told as given before its slice is there."""
        holder = subprocess.Popen(
            [harness.program("tangram"), "lease", "--tenant", "team", "--slice", "4096MiB"], stdout=subprocess.PIPE,
            text=True, preexec_fn=harness.die_with_parent,
            env={"PATH": os.environ["PATH"], "TANGRAM_SOCKET": str(self.machine.socket)})
        self.addCleanup(holder.communicate)
        self.addCleanup(holder.kill)
        lease = holder.stdout.readline().strip()
        self.assertRegex(lease, r"^j-\d+$")
        self.assertEqual(self.on_hardware(), {FIRST_ID: "vir02"})
        self.assertIn(f"(slice {FIRST_ID})", self.machine.ok("describe", lease))
        # Where the help says that its device is: not always in /dev.
        self.assertIn("vdavinci<id> in the daemon's devices.directory", " ".join(self.machine.ok("lease", "--help").split()))
        self.assertTrue((self.machine.device_dir / f"vdavinci{FIRST_ID}").exists())
        holder.terminate()
        holder.wait(timeout=30)
        self.wait_clean()

    def test_a_program_beside_a_lease_is_refused_a_slice(self):
        """Without it the program would run on the whole NPU, and nobody would notice."""
        done = self.machine.cli("lease", "--tenant", "team", "--slice", "4096MiB", "--", "true")
        self.assertEqual(done.code, 2, repr(done))
        self.assertIn("tangram submit --slice", done.err)
        self.assertEqual(self.on_hardware(), {})


CRASH_POINTS = re.findall(r"^\| `(service\.\w+_slice)` ", (harness.SOURCE / "docs/crash-points.md").read_text(), re.MULTILINE)


class Crash(Case):
    """The daemon dies between any two steps of a slice's life; the tests are added below."""

    def kill_at(self, point):
        ran = self.machine.shared / "ran"
        self.machine.stop_daemon()
        self.machine.start_daemon(env={"TANGRAM_CRASH_AT": point})
        # The daemon may die before it has answered.
        self.machine.cli("submit", "--tenant", "team", "--name", "one", "--slice", "1024MiB", "--", "sh", "-c",
                         f"echo once >> {ran}; sleep 0.5")
        self.machine.wait_until(lambda: self.machine.daemon.poll() is not None, f"the daemon dies at {point}", 60)
        self.assertEqual(self.machine.daemon.returncode, -9, self.machine.report())
        self.assertEqual(len(self.machine.journal("slice_ordered")), 1)
        self.machine.start_daemon()
        self.assertEqual(self.machine.wait_for("one", "ended")["outcome"], "succeeded")
        self.assertEqual(ran.read_text(), "once\n")
        self.wait_clean()
        ordered, returned = ([record["body"]["slice"] for record in self.machine.journal(kind)]
                             for kind in ("slice_ordered", "slice_returned"))
        self.assertEqual(sorted(returned), sorted(ordered))
        # Nothing of the NPU is missing.
        self.machine.wait_for(self.submit("13000MiB"), "running")


def add_crash_test(point):
    def test(self):
        self.kill_at(point)
    test.__doc__ = f"Without it a kill at {point} could lose a slice, run its job twice, or leave it behind."
    setattr(Crash, f"test_{point.replace('.', '_')}", test)


for name in [*CRASH_POINTS, "service.before_prepare", "service.after_prepare", "service.before_exit_record",
             "service.after_exit_record"]:
    add_crash_test(name)


class SlowDriver(Case):
    npus = NODE.replace("create_ms: 300", "create_ms: 4000")

    def test_a_job_cancelled_while_its_slice_is_cut_ends_at_once(self):
        """Without it a cancellation would wait for a slow driver, or the slice it makes would belong to nobody."""
        job = self.submit("1024MiB")
        self.machine.wait_until(lambda: self.machine.journal("slice_ordered"), "the slice is ordered")
        self.machine.ok("cancel", job)
        self.assertEqual(self.machine.wait_for(job, "ended")["outcome"], "cancelled")
        self.assertEqual(self.machine.journal("slice_made"), [])
        self.machine.wait_until(lambda: self.machine.journal("slice_returned"), "its place is free again")
        self.wait_clean()


class Leftover(Case):
    """Article B, 4.3: a slice stays behind, memory is missing, and nobody can say why."""

    def leave_one(self):
        """An own slice whose return the device refuses."""
        self.machine.simulator_ctl("refuse-destroy", 0, "on")
        job = self.run_now("7000MiB")["id"]
        self.machine.ok("cancel", job)
        self.machine.wait_for(job, "ended")
        self.machine.wait_until(lambda: self.stray(FIRST_ID), "the slice is left behind")
        return job

    def check_left(self):
        self.assertEqual(self.on_hardware(), {FIRST_ID: "vir04"})
        shown = self.machine.npu_smi("info", "-t", "info-vnpu", "-i", "7", "-c", "0")
        self.assertRegex(shown, rf"\| +{FIRST_ID} +\| +\d+ +\| +000000000000 +\|.*vir04")
        # Of the hardware less is free than the NPU is offered with.
        free, total = map(float, re.search(r"\| *\S+ +(\d+)/(\d+) ", shown).groups())
        self.assertLess(free, total)
        self.assertTrue(self.stray(FIRST_ID)["residual"])
        diagnosis = self.machine.cli("doctor", "-o", "json")
        commands = {finding["code"]: finding["command"] for finding in json.loads(diagnosis.out)["findings"]}
        self.assertEqual(commands["doctor.slices.residual"], f"npu-smi set -t destroy-vnpu -i 7 -c 0 -v {FIRST_ID}")
        waiter = self.submit("13000MiB")
        message = self.wait_reason(waiter, "capacity.slices.residual")
        self.assertRegex(message, rf"slice {FIRST_ID} \(vir04\).*NPU 0")
        self.assertIn("tangram doctor", self.machine.ok("why", waiter))
        return waiter

    def test_the_restart_returns_it(self):
        """Without it the capacity of a slice that nobody holds would be lost until somebody finds it by hand."""
        self.leave_one()
        waiter = self.check_left()
        self.machine.stop_daemon()
        self.machine.simulator_ctl("refuse-destroy", 0, "off")
        self.machine.start_daemon()
        self.machine.wait_for(waiter, "running")
        self.assertEqual(self.on_hardware(), {})

    def test_the_article_s_command_returns_it(self):
        """Without it an operator's own command would leave the daemon with a slice in its book that is gone."""
        self.leave_one()
        waiter = self.check_left()
        self.machine.kill_daemon()  # so that only the command can have done it
        self.machine.simulator_ctl("refuse-destroy", 0, "off")
        self.machine.npu_smi("set", "-t", "destroy-vnpu", "-i", "7", "-c", "0", "-v", str(FIRST_ID))
        self.assertEqual(self.on_hardware(), {})
        self.machine.start_daemon()
        self.machine.wait_for(waiter, "running")

    def test_the_article_s_command_returns_it_beside_the_daemon(self):
        """Without it an operator would have to stop the daemon to mend what its own tool can mend."""
        self.leave_one()
        refused_since = time.monotonic()
        waiter = self.check_left()
        daemon = self.machine.daemon.pid
        # The daemon asks again ever more rarely: after eight seconds its next try is some seconds away.
        time.sleep(max(0, 8.5 - (time.monotonic() - refused_since)))
        self.machine.simulator_ctl("refuse-destroy", 0, "off")
        told = self.machine.npu_smi("set", "-t", "destroy-vnpu", "-i", "7", "-c", "0", "-v", str(FIRST_ID))
        self.assertIn(f"Destroy vnpu {FIRST_ID} success", told)  # so the daemon had not done it
        self.machine.wait_for(waiter, "running")
        self.assertEqual(self.machine.daemon.pid, daemon)
        self.assertIsNone(self.machine.daemon.poll())
        self.assertEqual(self.on_hardware(), {})
        self.assertEqual([record["body"]["slice"] for record in self.machine.journal("slice_returned")], [FIRST_ID])

    def test_a_stranger_s_slice_is_counted_named_and_left_alone(self):
        """Without it memory that somebody else has cut off would be offered again and again, and each start fail."""
        self.machine.simulator_ctl("leak", 0, "vir04")
        self.machine.wait_until(lambda: self.on_hardware(), "a stranger has cut the NPU")
        (number,) = self.on_hardware()
        self.machine.wait_until(lambda: self.stray(number), "it is seen")
        waiter = self.submit("13000MiB")
        self.assertIn(f"slice {number} (vir04)", self.wait_reason(waiter, "capacity.slices.residual"))
        beside = self.run_now("7000MiB")
        self.assertNotEqual(beside["slice"]["id"], number)
        time.sleep(1.5)
        self.assertIn(number, self.on_hardware())


class StrangerReturned(Case):
    config = {**Case.config, "slices": {"returnForeign": True, "foreignGrace": "3s"}}

    def test_it_goes_back_after_its_grace(self):
        """Without it what a crashed manager left on an NPU would be lost although the operator said to return it."""
        self.machine.simulator_ctl("leak", 0, "vir04")
        self.machine.wait_until(lambda: self.stray(FIRST_ID), "it is seen")
        waiter = self.submit("13000MiB")
        self.machine.wait_for(waiter, "running")
        self.assertEqual(self.on_hardware(), {})


class EightNpus(Case):
    npus = None
    card = "0"

    def test_a_910b4_is_cut_by_its_own_templates(self):
        """Without it only the article's chip could be shared."""
        view = self.run_now("6GiB")
        self.assertEqual((view["slice"]["template"], view["slice"]["id"]), ("vir05_1c_8g", FIRST_ID + 16 * view["npus"][0]))
        self.assertNotIn("vgroup", view["slice"])
        self.assertEqual(self.on_hardware(), {view["slice"]["id"]: "vir05_1c_8g"})

    def test_why_nothing_can_be_cut(self):
        """Without it an operator would look for the reason of a refusal in the wrong place."""
        self.machine.stop_daemon()
        self.machine.npu_smi("set", "-t", "vnpu-mode", "-d", "1")
        self.machine.start_daemon()
        self.machine.wait_until(lambda: self.refusal(), "the mode is seen")
        self.assertIn("virtual machines", self.refusal())
        fit = self.machine.cli("fit", "--tenant", "team", "--slice", "6GiB")
        self.assertEqual(fit.code, 3, repr(fit))
        self.assertIn("npu-smi set -t vnpu-mode -d 0", " ".join(fit.out.split()))

    def refusal(self):
        answer = self.machine.cli("submit", "--tenant", "team", "--slice", "6GiB", *SLEEP)
        return answer.err if answer.code == 3 else ""


if __name__ == "__main__":
    unittest.main()
