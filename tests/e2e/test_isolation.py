"""Two hostile tenants: what a job, or a login of another tenant, gets of a job that is not its own.

Each attack is tried for real. The programs are tests/programs/victim.py and intruder.py; the intruder is also run as
root outside of any job, where its attempts must succeed, so that a wall is told from a broken attempt.
"""

import json
import os
import pathlib
import pwd
import re
import shutil
import signal
import socket
import stat
import subprocess
import time
import unittest

import harness

PROGRAMS = harness.SOURCE / "tests/programs"
PYTHON = "/usr/bin/python3"
ALICE, BOB, MEMBER, NOBODY_HERE = 61001, 61002, 61003, 61099
NAME = "alice-secret"

TENANTS = f"""
apiVersion: tangram.dev/v1
kind: Tenant
metadata: {{name: alice}}
spec: {{uid: {ALICE}, members: [{MEMBER}], quota: {{npus: 5}}}}
---
apiVersion: tangram.dev/v1
kind: Tenant
metadata: {{name: bob}}
spec: {{uid: {BOB}, quota: {{npus: 8}}}}
"""

# What root itself may not get: kernel memory where it is hidden, what lies in the victim's own namespaces, files of
# control groups that only one version has, limits without a capability that containers lack.
NOT_EVEN_ROOT = re.compile(r"kernel's memory|POSIX shared|its /tmp|System V|its key|release_agent|prlimit|: /proc (stack|syscall)")


def make_machine(**config):
    machine = harness.Machine()
    # Below /tmp no job could reach it.
    machine.socket = machine.shared / "api.sock"
    machine.write_config(socket=str(machine.socket), jobs={"grace": "500ms"}, **config)
    for program in ("victim.py", "intruder.py"):
        shutil.copy(PROGRAMS / program, machine.shared / program)
    machine.program_for_all("tangram")
    return machine


class IsolationTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.machine = make_machine()
        cls.addClassCleanup(cls.machine.stop)
        cls.machine.start()
        cls.machine.apply(TENANTS)

    def tearDown(self):
        for job in self.machine.json("queue")["items"]:
            self.machine.cli("cancel", job["id"])
            self.machine.wait_for(job["id"], "ended")

    # ---- jobs

    def submit(self, tenant, *command, **fields):
        status, answer = self.machine.api("POST", "/v1/jobs", {
            "tenant": tenant, "npus": 1, "memory": "1GiB", "timeLimit": "120s",
            "command": [str(word) for word in command], **fields})
        self.assertEqual(status, 201, answer)
        return answer["id"]

    def run_job(self, tenant, *command, **fields):
        """Runs a job to its end: its view and its output."""
        job = self.submit(tenant, *command, **fields)
        view = self.machine.wait_for(job, "ended", 120)
        return view, self.machine.ok("logs", job)

    def shell(self, tenant, script, **fields):
        return self.run_job(tenant, "sh", "-c", script, **fields)

    def start(self, tenant, *command, **fields):
        """Starts a job and waits for its first output."""
        job = self.submit(tenant, *command, **fields)
        return job, self.machine.wait_until(lambda: self.machine.ok("logs", job), f"{job} says something")

    def nested(self):
        """Whether a job of this machine can make user namespaces: the kernel gives none in a chroot."""
        return self.shell("bob", "unshare --user --map-root-user true")[0]["outcome"] == "succeeded"

    def attempt_dir(self, job):
        return self.machine.state / "lib/jobs" / job / "1"

    def pids(self, job):
        groups = harness.cgroup_dirs(self.machine.name)
        return sorted(harness.pids_in([group / f"{job}.1" for group in groups]))

    def supervisor(self, job):
        """The ancestor of the job's processes that is the daemon's child, and the job's process 1."""
        init = parent_of(self.pids(job)[0])
        return parent_of(init), init

    def start_victim(self):
        job, output = self.start("alice", PYTHON, self.machine.shared / "victim.py", NAME, env={"TOKEN": "secret"})
        told = json.loads(output)
        self.assertGreaterEqual(told["shm"], 0)
        self.assertGreater(told["key"], 0)
        return job, told

    def targets(self, job, told):
        supervisor, init = self.supervisor(job)
        place = self.attempt_dir(job)
        groups = harness.cgroup_dirs(self.machine.name)
        setuid = self.machine.shared / "setuid-id"
        shutil.copy("/usr/bin/id", setuid)
        setuid.chmod(0o4755)
        processes = {"program": self.pids(job)[0], "init": init, "supervisor": supervisor,
                     "tangramd": self.machine.daemon.pid, "ascendsimd": self.machine.simulator.pid}
        return {
            "processes": processes,
            "addresses": {name: first_readable(pid) for name, pid in processes.items()},
            "files": [str(path) for path in (place / "log", place / "started", place / "work" / NAME,
                                             self.machine.journal_path, self.machine.state / "lib/VERSION")],
            "directories": [str(path) for path in (self.machine.state / "lib", place.parent.parent, place, place / "work")],
            "locks": [str(place / "lock"), str(self.machine.state / "lib/LOCK")],
            "sockets": [str(place / "control.sock")],
            "shm_key": told["shm_key"], "shm_name": NAME, "key": told["key"],
            "cgroups": [str(group / f"{job}.1") for group in groups if (group / f"{job}.1").is_dir()],
            "own_cgroups": [str(group) for group in groups],
            "major": int((self.machine.driver_dir / "run/device-major").read_text()),
            "setuid_program": str(setuid),
        }

    def write_targets(self, targets):
        path = self.machine.shared / "targets.json"
        path.write_text(json.dumps(targets))
        path.chmod(0o644)
        return path

    def intrude(self, targets, number, user=None):
        run = subprocess.run([PYTHON, self.machine.shared / "intruder.py", self.write_targets(targets), number],
                             capture_output=True, text=True, user=user, group=user, cwd="/", timeout=60,
                             extra_groups=[] if user else None, check=False,
                             start_new_session=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        return json.loads(run.stdout)

    def expect_nothing(self, report, own=None, besides=()):
        errors = report.pop("errors", {})
        # The way to its own directory is there, and nothing beside it.
        way = {f"list {self.machine.state}/lib": ["jobs"], f"list {self.machine.state}/lib/jobs": [own]}
        got = {name: value for name, value in report.items()
               if value is not False and name not in besides and value != way.get(name)}
        self.assertEqual(got, {}, "got through the walls")
        self.assertGreater(len(errors), 50, "and really tried")

    # ---- processes, files, IPC, control groups

    def test_the_attempts_are_real(self):
        """Without it a typing error in the intruder would look like a wall."""
        job, told = self.start_victim()
        targets = self.targets(job, told)
        targets["processes"].pop("ascendsimd")  # its work should not be disturbed even by this
        report = self.intrude(targets, "0")
        errors = report.pop("errors", {})
        failed = {name: errors.get(name) for name, got in report.items()
                  if got is False and not NOT_EVEN_ROOT.search(name)}
        self.assertEqual(failed, {}, "root is stopped by no wall")

    def test_a_job_gets_nothing_of_another_tenants_job(self):
        """Without it a tenant's program could signal, trace or read another tenant's, or the machinery around it."""
        job, told = self.start_victim()
        path = self.write_targets(self.targets(job, told))
        view, output = self.run_job("bob", PYTHON, self.machine.shared / "intruder.py", path, "SIGKILL")
        self.assertEqual(view["outcome"], "succeeded", output)
        self.expect_nothing(json.loads(output), view["id"])
        self.assertEqual(self.machine.job(job)["state"], "running")

    def test_a_job_with_namespaces_of_its_own_gets_nothing(self):
        """Without it the capabilities that a user namespace gives would open what uid and mounts keep closed."""
        if not self.nested():
            self.skipTest("needs user namespaces: the kernel gives none in a chroot")
        job, told = self.start_victim()
        path = self.write_targets(self.targets(job, told))
        view, output = self.run_job("bob", "unshare", "--user", "--map-root-user", "--mount", "--cgroup", "--ipc",
                                    PYTHON, self.machine.shared / "intruder.py", path, "SIGKILL")
        self.assertEqual(view["outcome"], "succeeded", output)
        # Root of its own namespace: it is its own mount, and its own uid 0.
        self.expect_nothing(json.loads(output), view["id"], besides=("mount", "setuid(0)", "become root by a setuid program"))
        self.assertEqual(self.machine.job(job)["state"], "running")

    def test_a_login_of_another_tenant_gets_nothing(self):
        """Without it a tenant with a shell on the machine would get around the namespaces of the jobs."""
        job, told = self.start_victim()
        targets = self.targets(job, told)
        # Not of the job: what this machine's control groups tell is for everybody on the host to read.
        readable = [f"read {path}" for path in targets["cgroups"]]
        report = self.intrude(targets, "SIGKILL", user=BOB)
        # A setuid program outside of any job is the host's own business.
        self.expect_nothing(report, besides=("become root by a setuid program", *readable))
        self.assertEqual(self.machine.job(job)["state"], "running")

    def test_no_job_runs_as_root(self):
        """Without it a job would be root behind one missing check, whatever else stands."""
        view, output = self.shell("bob", "id -u; id -g; grep -E '^(Uid|Gid|CapEff|CapBnd|NoNewPrivs)' /proc/self/status")
        self.assertEqual(view["outcome"], "succeeded")
        self.assertEqual(output.split()[:2], [str(BOB)] * 2)
        self.assertIn("NoNewPrivs:\t1", output)
        for uid in (0, "0"):
            answer = self.machine.cli("apply", "-f", "-", input=(
                f"{{apiVersion: tangram.dev/v1, kind: Tenant, metadata: {{name: rooty}}, spec: {{uid: {uid}}}}}"))
            self.assertEqual(answer.code, 2, answer)

    def test_a_job_gets_the_users_own_group(self):
        """Without it a tenant with uid 998 would be in group 998, which may be that of docker or of a disk."""
        user = next((entry for entry in pwd.getpwall() if 0 < entry.pw_uid < 60000 and entry.pw_gid not in (0, entry.pw_uid)),
                    None)
        if user is None:
            self.skipTest("no user whose group has another number")
        self.machine.apply(f"{{apiVersion: tangram.dev/v1, kind: Tenant, metadata: {{name: grouped}}, spec: {{uid: {user.pw_uid}}}}}")
        self.assertEqual(self.shell("grouped", "id -u; id -G")[1].split()[:2], [str(user.pw_uid), str(user.pw_gid)])

    def test_own_records_cannot_be_touched(self):
        """Without it a job could write its own end, or put a link where root writes."""
        view, output = self.shell("bob", "cd ..; ls -A; for f in exit.json exit.json.tmp log log.new started cgroup lock; do "
                                         "ln -s /etc/passwd $f; echo x > $f; done; mv work gone; rmdir work; exit 3")
        self.assertEqual((view["outcome"], view["exitStatus"]), ("failed", 3))
        self.assertEqual(output.splitlines()[0], "work")
        place = self.attempt_dir(view["id"])
        self.assertEqual([entry.name for entry in place.iterdir() if entry.is_symlink()], [])
        for action in (lambda: (place / "exit.json").write_text("x"), lambda: (place / "log").read_text(),
                       lambda: (place / "x").symlink_to("/etc/passwd"), lambda: (place / "work").rename(place / "x")):
            with self.assertRaises(PermissionError):
                as_user(BOB, action)

    def test_nothing_listens_beside_the_socket(self):
        """Without it an abstract socket or a port, which no directory protects, would be open to every job."""
        job, _ = self.start("alice", "sh", "-c", "echo up; sleep 600")
        inodes = set()
        for pid in (self.machine.daemon.pid, self.machine.simulator.pid, *self.supervisor(job)):
            for link in pathlib.Path(f"/proc/{pid}/fd").iterdir():
                inodes.update(re.findall(r"socket:\[(\d+)\]", os.readlink(link)))
        self.assertTrue(inodes)
        unix = [line.split() for line in pathlib.Path("/proc/net/unix").read_text().splitlines()[1:]]
        named = [words[7] for words in unix if len(words) > 7 and words[6] in inodes]
        self.assertTrue(named)
        self.assertEqual([name for name in named if name.startswith("@")], [])
        for table in ("tcp", "tcp6", "udp", "udp6"):
            rows = pathlib.Path(f"/proc/net/{table}").read_text().splitlines()[1:]
            self.assertEqual([row for row in rows if row.split()[9] in inodes], [])

    def test_own_supervisor_cannot_be_touched(self):
        """Without it a job could end what bounds it and keep its NPUs."""
        job, _ = self.start("bob", "sh", "-c", "kill -9 1 2>&1; kill -STOP 1 2>&1; kill -9 $PPID; ls -l /proc/1/exe 2>&1; "
                                              "cat /proc/1/environ 2>&1; echo tried; sleep 600")
        output = self.machine.wait_until(lambda: "tried" in self.machine.ok("logs", job) and self.machine.ok("logs", job),
                                         "it has tried")
        self.assertEqual(output.count("denied") + output.count("not permitted"), 5, output)
        supervisor, init = self.supervisor(job)
        for pid in (supervisor, init):
            with self.assertRaises(PermissionError):
                as_user(BOB, lambda pid=pid: os.kill(pid, signal.SIGKILL))
        self.machine.ok("cancel", job)
        self.assertEqual(self.machine.wait_for(job, "ended")["outcome"], "cancelled")

    # ---- the view

    def test_shared_places_are_private(self):
        """Without it jobs of two tenants would meet in /tmp, /run/lock or /dev/shm and could set traps for each other."""
        mine = f"mine-{os.getpid()}"
        places = [place for place in ("/tmp", "/var/tmp", "/dev/shm", "/run/lock") if os.path.isdir(place)]
        script = "for d in " + " ".join(places) + f"; do ls -A $d; touch $d/{mine} || echo cannot write $d; done"
        for tenant in ("alice", "bob"):
            found = self.shell(tenant, script)[1].replace(f"{self.machine.root.name}\n", "")  # the way to its work directory
            self.assertEqual(found.split(), [mine] if "/var/tmp" in places else [])  # which is the same as /tmp
        for place in places:
            self.assertFalse(os.path.exists(f"{place}/{mine}"))

    def test_a_work_directory_does_not_bring_back_what_is_hidden(self):
        """Without it `--workdir /tmp` would be everybody's /tmp, and "/tmp/../proc" the host's processes."""
        marker = pathlib.Path("/tmp") / f"{self.machine.name}-marker"
        marker.write_text("of the host")
        self.addCleanup(marker.unlink)
        link = self.machine.shared / "link"
        link.symlink_to("/proc")
        show = "pwd; ls -A . | grep -e marker -e ^j- -e '^[0-9]*$'; ls /proc | grep -c '^[0-9]'; ls /dev | grep davinci.*[0-9]"
        for workdir in ("/tmp", "/tmp/", "/tmp/.", "/var/tmp", "/tmp/../proc", "/tmp/../dev", "/tmp/../dev/shm", "/tmp//../tmp",
                        f"/tmp/..{self.machine.state}/lib/jobs", str(link)):
            with self.subTest(workdir=workdir):
                _, output = self.shell("bob", show, workdir=workdir)
                self.assertNotIn(marker.name, output)
                self.assertNotIn("j-", output.replace("no such job", ""))
                processes = re.findall(r"^\d+$", output, re.MULTILINE)
                self.assertLess(len(processes), 12, output)
                self.assertLess(len(re.findall(r"davinci\d", output)), 3, output)

    def test_a_work_directory_is_entered_with_the_tenants_rights(self):
        """Without it root's eyes would open another tenant's directory, straight or through a link."""
        theirs = self.machine.shared / "alices"
        theirs.mkdir()
        (theirs / "file").write_text("secret")
        os.chown(theirs, ALICE, ALICE)
        theirs.chmod(0o700)
        link = self.machine.shared / "bobs-link"
        link.symlink_to(theirs)
        os.lchown(link, BOB, BOB)
        for workdir in (theirs, link):
            view, output = self.shell("bob", "cat file; echo ran", workdir=str(workdir))
            self.assertEqual(view["outcome"], "not-started", output)
            self.assertNotIn("ran", output)
        self.assertIn("secret", self.shell("alice", "cat file", workdir=str(theirs))[1])

    def test_control_groups_of_others_are_not_shown(self):
        """Without it a job could watch what others' jobs use, and by their ids who is there."""
        job, _ = self.start_victim()
        _, output = self.shell("bob", f"find /sys/fs/cgroup -path '*{self.machine.name}*' -name 'j-*' 2>/dev/null; "
                                      "cat /sys/fs/cgroup/memory$(grep :memory: /proc/self/cgroup | cut -d: -f3)/memory.limit_in_bytes")
        self.assertNotIn(f"{job}.", output)
        if os.path.isdir("/sys/fs/cgroup/memory"):
            self.assertRegex(output, r"(?m)^\d+$", "its own limit is still to be read")

    # ---- NPUs

    def test_visible_devices_only_narrows(self):
        """Without it a job that unsets or widens the variable would reach other tenants' NPUs."""
        holder, _ = self.start("alice", "sh", "-c", "echo up; sleep 600", npus=2)
        program = "; ".join((
            "import ctypes, os, sys",
            "a = ctypes.CDLL('libascendcl.so')",
            "n = ctypes.c_uint32()",
            "i = ctypes.c_int64()",
            "a.aclInit(None)",
            "a.aclrtGetDeviceCount(ctypes.byref(n))",
            "ids = [(a.aclrtGetDeviceInfo(k, 402, ctypes.byref(i)), i.value) for k in range(n.value)]",
            "opened = [k for k in range(-1, 10) if a.aclrtSetDevice(k) == 0]",
            "print(n.value, [x for _, x in ids], opened)"))
        script = f"""
            python3 -c "{program}"
            env -u ASCEND_RT_VISIBLE_DEVICES python3 -c "{program}"
            for v in 0,1,2,3,4,5,6,7 7 '' 0,0 -1 '*'; do ASCEND_RT_VISIBLE_DEVICES="$v" python3 -c "{program}"; done
            env -u ASCEND_RT_VISIBLE_DEVICES ASCEND_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 ASCEND_DEVICE_ID=0 python3 -c "{program}"
        """
        view, output = self.shell("bob", script, npus=2)
        self.assertEqual(view["outcome"], "succeeded", output)
        own = view["npus"]
        lines = output.splitlines()
        self.assertEqual(len(lines), 9, output)
        self.assertEqual(lines[0], f"2 {own} [0, 1]")
        self.assertEqual(lines[1], lines[0], "without the variable")
        for line in lines[2:]:
            ids = json.loads(re.search(r"\[.*?\]", line).group())
            self.assertLessEqual(set(ids), set(own), output)
        self.assertFalse(set(own) & set(self.machine.job(holder)["npus"]))

    def test_foreign_nodes_are_denied_by_every_way(self):
        """Without it one forgotten device node on the host would be another tenant's NPU."""
        major = int((self.machine.driver_dir / "run/device-major").read_text())
        forgotten = self.machine.shared / "forgotten"
        forgotten.mkdir()
        for npu in range(8):
            os.mknod(forgotten / f"davinci{npu}", 0o666 | stat.S_IFCHR, os.makedev(major, npu))
            (forgotten / f"davinci{npu}").chmod(0o666)
        count = self.machine.shared / "count.py"
        count.write_text("import ctypes\na = ctypes.CDLL('libascendcl.so')\nn = ctypes.c_uint32()\na.aclInit(None)\n"
                         "a.aclrtGetDeviceCount(ctypes.byref(n))\nprint('counted', n.value, flush=True)\n")
        script = f"""
            for n in 0 1 2 3 4 5 6 7; do cat {forgotten}/davinci$n; done 2>&1
            unshare -Urm sh -c 'mount --rbind {forgotten} /dev && ls /dev; cat /dev/davinci7; {PYTHON} {count}' 2>&1
            unshare -Urm sh -c 'umount -l /dev; mount --bind {forgotten}/davinci7 /dev/null && cat /dev/null; {PYTHON} {count}' 2>&1
            unshare -Urm sh -c 'umount {self.machine.state}/lib; umount /tmp; umount /proc; ls {self.machine.device_dir}' 2>&1
        """
        view, output = self.shell("bob", script)
        self.assertEqual(len(view["npus"]), 1)
        opened = re.findall(r"forgotten/davinci(\d): No such device or address", output)
        self.assertLessEqual(opened, [str(view["npus"][0])], output)
        self.assertEqual(len(re.findall(r"forgotten/davinci\d: Operation not permitted", output)), 7, output)
        self.assertEqual(set(re.findall(r"counted (\d)", output)) - {"0", "1"}, set(), output)
        self.assertEqual(output.count("counted"), 2 if self.nested() else 0, output)

    def test_the_driver_believes_no_claim(self):
        """Without it a job that speaks to the driver itself could open or cut NPUs, or set their health, as somebody else."""
        program = self.machine.shared / "raw.py"
        program.write_text(RAW_DRIVER_TALK)
        view, output = self.run_job("bob", PYTHON, program)
        self.assertEqual(view["outcome"], "succeeded", output)
        answers = json.loads(output)
        self.assertEqual(answers["machine"], 1, "NPUs that the driver shows")
        self.assertEqual(answers["opened"], [0])
        for forbidden in ("health", "cut", "shared"):
            self.assertNotEqual(answers[forbidden], 0, forbidden)
        self.assertEqual(answers["garbage"], "closed")
        self.assertTrue(all(npu["health"] == "ok" for npu in self.machine.status()["npus"]))

    # ---- the daemon's socket

    def test_the_api_shows_and_does_only_ones_own(self):
        """Without it any tenant could cancel, read or submit for any other through the daemon."""
        job, _ = self.start("alice", "sh", "-c", "echo secret-output; sleep 600", name="secret-name", npus=5,
                            env={"TOKEN": "secret-env"}, labels={"project": "secret-label"})
        waiting = self.submit("bob", "true", npus=8, name="bobs")
        self.machine.wait_for(waiting, "waiting")
        for method, path in (("GET", f"/v1/jobs/{job}"), ("GET", f"/v1/jobs/{job}/logs"), ("GET", f"/v1/jobs/{job}/why"),
                             ("GET", f"/v1/jobs/{job}/wait?timeout=1s"), ("POST", f"/v1/jobs/{job}/cancel"),
                             ("GET", "/v1/jobs/secret-name"), ("GET", "/v1/jobs/alice%2Fsecret-name"),
                             ("GET", "/v1/tenants/alice")):
            status, answer = self.machine.api(method, path, user=BOB)
            self.assertEqual(status, 404, (path, answer))
            self.assertEqual(self.machine.api(method, path, user=NOBODY_HERE)[0], 401, path)
        submission = {"tenant": "alice", "command": ["true"]}
        self.assertEqual(self.machine.api("POST", "/v1/jobs", submission, user=BOB)[0], 403)
        self.assertEqual(self.machine.api("POST", "/v1/jobs", submission, user=NOBODY_HERE)[0], 401)
        self.assertEqual(self.machine.api("DELETE", "/v1/tenants/alice", user=BOB)[0], 403)
        self.assertEqual(self.machine.cli("apply", "-f", "-", input=TENANTS, user=BOB).code, 5)
        for path in ("/v1/jobs?all=true", "/v1/jobs?tenant=alice", "/v1/jobs?label=project=secret-label", "/v1/status",
                     "/v1/tenants", f"/v1/jobs/{waiting}", f"/v1/jobs/{waiting}/why"):
            status, answer = self.machine.api("GET", path, user=BOB)
            self.assertNotIn("secret-", json.dumps(answer), path)
            if status == 200:  # an error repeats what was asked
                self.assertNotIn('"alice', json.dumps(without_commands(answer)), path)
        self.assertIn("secret-name", json.dumps(self.machine.api("GET", f"/v1/jobs/{waiting}/why")[1]), "the operator is told")
        self.assertEqual(self.machine.api("GET", f"/v1/jobs/{job}", user=MEMBER)[1]["name"], "secret-name")
        self.assertNotIn("secret-env", json.dumps(self.machine.api("GET", f"/v1/jobs/{job}")[1]))

    def test_a_job_is_its_tenant_to_the_daemon(self):
        """Without it a job could become the operator by mapping itself to root in a user namespace."""
        cli = self.machine.program_for_all("tangram")
        view, _ = self.shell("alice", "true")
        ask = f"{cli} --socket {self.machine.socket}"
        script = f"{ask} describe {view['id']} 2>&1; unshare -Ur {ask} describe {view['id']} 2>&1; " \
                 f"unshare -Ur {ask} tenant delete alice 2>&1"
        _, output = self.shell("bob", script)
        nested = self.nested()
        self.assertEqual(output.count(f"no job {view['id']}"), 2 if nested else 1, output)
        self.assertEqual(output.count("only the operator may"), int(nested), output)

    def test_connections_are_shared_fairly(self):
        """Without it one tenant could hold all connections and shut the others and the operator out."""
        program = self.machine.shared / "hold.py"
        program.write_text("import socket, sys, time\nheld = []\n"
                           "for _ in range(2000):\n  s = socket.socket(socket.AF_UNIX)\n"
                           "  try:\n    s.settimeout(1)\n    s.connect(sys.argv[1])\n    held.append(s)\n  except OSError: break\n"
                           "print(len(held), flush=True)\ntime.sleep(600)\n")
        job, _ = self.start("bob", PYTHON, program, self.machine.socket)
        self.assertEqual(self.machine.cli("status").code, 0)
        self.assertEqual(self.machine.api("GET", "/v1/status", user=ALICE)[0], 200)
        self.machine.ok("cancel", job)

    # ---- hurting others

    def neighbour_works(self):
        began = time.monotonic()
        view, output = self.shell("alice", "for i in 1 2 3 4 5; do true | cat; done; echo fine")
        self.assertEqual((view["outcome"], output), ("succeeded", "fine\n"))
        return time.monotonic() - began

    def test_a_fork_bomb_hurts_only_itself(self):
        """Without it one tenant's fork bomb would take the whole machine's processes."""
        bomb = self.submit("bob", PYTHON, "-c", "import os, time\nprint('up', flush=True)\nwhile True:\n  try: os.fork()\n"
                                                "  except OSError: time.sleep(0.05)", host={"processes": 200})
        self.machine.wait_until(lambda: len(self.pids(bomb)) >= 190, "the bomb has gone off")
        self.neighbour_works()
        self.assertLessEqual(len(self.pids(bomb)), 200)
        self.machine.ok("cancel", bomb)
        self.assertEqual(self.machine.wait_for(bomb, "ended")["outcome"], "cancelled")
        self.assertEqual(self.pids(bomb), [])

    def test_a_memory_hog_hurts_only_itself(self):
        """Without it the kernel would kill a neighbour, the supervisor or the daemon for one job's hunger."""
        neighbour, _ = self.start("alice", "sh", "-c", "echo up; sleep 600")
        view, _ = self.run_job("bob", PYTHON, "-c", "x = bytearray(1 << 31); print(len(x))", host={"memory": "128MiB"})
        self.assertEqual(view["outcome"], "failed")
        self.assertIn("memory", view["message"])
        self.assertEqual(self.machine.job(neighbour)["state"], "running")

    def test_files_in_memory_are_the_jobs_memory(self):
        """Without it a job could fill the host's memory, or its disk, through /tmp and /dev/shm."""
        for place in ("/tmp", "/dev/shm", "/run/lock"):
            if not os.path.isdir(place):
                continue
            _, output = self.shell("bob", f"head -c 1G /dev/zero > {place}/big; stat -c %s {place}/big; echo still here",
                                   host={"memory": "128MiB"})
            self.assertIn("No space left", output)
            self.assertIn("still here", output)
            size = int(re.search(r"(?m)^\d+$", output).group())
            self.assertLessEqual(size, 64 << 20, place)

    def test_the_log_is_bounded(self):
        """Without it `yes` would fill the disk of the daemon's state, or keep it busy for everybody else."""
        began = time.monotonic()
        job = self.submit("bob", "sh", "-c", "timeout 5 yes; echo end")
        self.machine.wait_for(job, "ended", 120)
        seconds = time.monotonic() - began
        log = self.attempt_dir(job) / "log"
        self.assertLessEqual(log.stat().st_size, 64 << 20)
        text = log.read_bytes()
        self.assertTrue(text.endswith(b"end\n"))
        cut = sum(int(number) for number in re.findall(rb"\[tangram: (\d+) bytes were", text))
        self.assertLessEqual(len(text) + cut, (seconds + 1) * (33 << 20), "bytes taken from the job")

    def test_descriptors_run_out_for_the_job_alone(self):
        """Without it a job could use up what all programs of the host share."""
        _, output = self.shell("bob", f"{PYTHON} -c \"import os; fds = []\ntry:\n  while True: fds.append(os.open('/dev/null', 0))\n"
                                      "except OSError as e: print(e.errno, len(fds))\"")
        number, count = map(int, output.split())
        self.assertEqual(number, 24)  # EMFILE, not ENFILE
        self.assertLessEqual(count, 65536)
        self.neighbour_works()

    def test_what_will_not_end_is_ended(self):
        """Without it a job that stops itself, ignores SIGTERM or hides in a daemon would keep its NPUs."""
        bad = {
            "stopped": "echo up; kill -STOP $$",
            "stubborn": "trap '' TERM INT HUP; echo up; while :; do sleep 1; done",
            "daemon": "(setsid sh -c 'trap \"\" TERM; setsid sh -c \"trap \\\"\\\" TERM; sleep 600\" & sleep 600' &) ; echo up; sleep 600",
            "grandchild keeps the pipe": "setsid sh -c 'trap \"\" TERM; sleep 600' & echo up; exec sleep 600",
        }
        for what, script in bad.items():
            with self.subTest(what):
                job, _ = self.start("bob", "sh", "-c", script)
                pids = self.pids(job)
                self.machine.ok("cancel", job)
                self.assertEqual(self.machine.wait_for(job, "ended", 30)["outcome"], "cancelled")
                self.assertEqual(self.pids(job), [])
                self.assertEqual([pid for pid in pids if pathlib.Path(f"/proc/{pid}").exists()], [])

    def test_a_handed_on_log_does_not_keep_the_job(self):
        """Without it somebody outside of the job, who was given its output, could keep its end from being recorded."""
        address = self.machine.shared / "hand.sock"
        program = "import socket, sys, time; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); " \
                  "socket.send_fds(s, [b'x'], [1]); print('up', flush=True); time.sleep(600)"
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(address))
            address.chmod(0o777)
            listener.listen()
            job = self.submit("bob", PYTHON, "-c", program, address)
            peer, _ = listener.accept()
            _, descriptors, _, _ = socket.recv_fds(peer, 1, 1)
            peer.close()
        writer = subprocess.Popen(["sh", "-c", "yes flood"], stdout=descriptors[0], stderr=subprocess.DEVNULL,
                                  preexec_fn=harness.die_with_parent)
        os.close(descriptors[0])
        self.addCleanup(writer.wait)
        self.addCleanup(writer.kill)
        self.machine.wait_for(job, "running")
        self.machine.ok("cancel", job)
        self.assertEqual(self.machine.wait_for(job, "ended", 30)["outcome"], "cancelled")

    def test_odd_words_reach_no_terminal(self):
        """Without it a job could drive the terminal of the operator who looks at the queue, or forge lines of the log."""
        odd = "\x1b]0;owned\x07\x1b[2J\nforged line"
        status, answer = self.machine.api("POST", "/v1/jobs", {"tenant": "bob", "name": "a\x1b[2J", "command": ["true"]})
        self.assertEqual(status, 400, answer)
        status, _ = self.machine.api("POST", "/v1/jobs", {"tenant": "bob", "labels": {"a": "\x1b[2J"}, "command": ["true"]})
        self.assertEqual(status, 400)
        job = self.submit("bob", f"/nonexistent/{odd}", odd, env={"ODD": odd}, workdir=f"/nonexistent/{odd}")
        self.machine.wait_for(job, "ended")
        other, _ = self.shell("bob", "printf '%s' \"$ODD\" | wc -c", env={"ODD": odd})
        self.assertEqual(other["outcome"], "succeeded")
        for words in (("describe", job), ("queue", "--all"), ("why", job), ("status",), ("wait", job)):
            answer = self.machine.cli(*words)
            self.assertNotIn("\x1b", answer.out + answer.err, words)
            self.assertNotIn("\nforged", answer.out + answer.err, words)
        self.assertNotIn("\x1b", self.machine.log())
        self.assertNotIn("\nforged", self.machine.log())


class FewerWallsTest(unittest.TestCase):
    def test_without_namespaces_users_are_still_apart(self):
        """Without it a daemon in a plain container would start no job, or hide from its operator which walls are missing."""
        machine = make_machine()
        self.addCleanup(machine.stop)
        machine.start_simulator()
        machine.wrapper = ("setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin")
        machine.start_daemon()
        machine.apply(TENANTS)
        missing = " ".join(machine.status()["missingWalls"])
        self.assertIn("no namespaces", missing)
        self.assertIn("missing between tenants: no namespaces", machine.log())
        victim = machine.submit("--tenant", "alice", "--", "sh", "-c", "echo secret | tee file; exec sleep 600")
        machine.wait_until(lambda: machine.ok("logs", victim), "the victim is up")
        place = machine.state / "lib/jobs" / victim / "1"
        groups = harness.cgroup_dirs(machine.name)
        pid = max(harness.pids_in([group / f"{victim}.1" for group in groups]))
        script = f"kill -9 {pid} 2>&1; cat {place}/work/file {place}/log /proc/{pid}/environ 2>&1; ls {place.parent.parent} 2>&1; id -u"
        job = machine.submit("--tenant", "bob", "--", "sh", "-c", script)
        view = machine.wait_for(job, "ended")
        output = machine.ok("logs", job)
        self.assertEqual(view["outcome"], "succeeded", view)
        self.assertTrue(output.endswith(f"{BOB}\n"), output)
        self.assertNotIn("secret", output)
        self.assertEqual(output.count("denied") + output.count("not permitted"), 5, output)
        self.assertEqual(machine.job(victim)["state"], "running")
        machine.ok("cancel", victim)
        self.assertEqual(machine.wait_for(victim, "ended")["outcome"], "cancelled")


class RemovalTest(unittest.TestCase):
    def test_what_a_job_leaves_behind_is_removed_and_nothing_else(self):
        """Without it root would follow a tenant's links out of the work directory, or give up on its depth and names."""
        with make_machine(retention={"endedJobs": "0s", "sweepInterval": "100ms"}) as machine:
            machine.apply(TENANTS)
            keep = machine.shared / "keep"
            keep.mkdir()
            (keep / "file").write_text("content")
            keep.chmod(0o777)
            script = "\n".join((
                "import os",
                f"keep = {str(keep)!r}",
                "for name in ('-rf', '*', '\\n', '\\x1b[2J', b'\\xff'):",
                "  os.mkdir(name); os.symlink(keep, os.path.join(os.fsencode(name), b'link'))",
                "os.symlink(keep, 'link'); os.symlink('/', 'root'); os.mkfifo('fifo')",
                "os.mkdir('closed'); os.symlink(keep, 'closed/link'); os.chmod('closed', 0)",
                "for _ in range(300):",
                "  os.mkdir('d'); os.chdir('d')",
            ))
            job = machine.submit("--tenant", "bob", "--", PYTHON, "-c", script)
            place = machine.state / "lib/jobs" / job
            machine.wait_until(lambda: machine.cli("describe", job).code == 4, "the job is forgotten")
            machine.wait_until(lambda: not place.exists(), "its directory is gone")
            self.assertEqual((keep / "file").read_text(), "content")
            self.assertNotIn("is not removed", machine.log())


RAW_DRIVER_TALK = '''
import json, socket, struct, sys
PATH = "/usr/local/Ascend/driver/run/ascendsim.sock"
MAGIC, VERSION = 0x414E5055, 2

def connect():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(10)
    s.connect(PATH)
    return s

def ask(s, kind, npu, body=b""):
    s.send(struct.pack("=IIII", MAGIC, VERSION, kind, npu) + body)
    answer = s.recv(65536)
    return struct.unpack("=IiII", answer[:16]) if len(answer) >= 16 else None

answers = {}
s = connect()
answers["machine"] = ask(s, 1, 0)[2]
ask(s, 3, 0)
answers["opened"] = [npu for npu in [*range(16), 0xFFFFFFFF] if ask(s, 4, npu)[1] == 0]
answers["health"] = ask(s, 12, 7, struct.pack("=II", 3, 0))[1]
answers["cut"] = ask(s, 14, 0, struct.pack("=II32s", 0xFFFFFFFF, 0xFFFFFFFF, b"vir05_1c_8g"))[1]
answers["shared"] = ask(s, 16, 0, struct.pack("=II", 2, 1))[1]
s = connect()
s.send(b"\\xff" * 5000)
answers["garbage"] = "closed" if s.recv(100) == b"" else "answered"
print(json.dumps(answers))
'''


def without_commands(value):
    if isinstance(value, dict):
        return {key: without_commands(item) for key, item in value.items() if key != "command"}
    return [without_commands(item) for item in value] if isinstance(value, list) else value


def parent_of(pid):
    text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    return int(text.rpartition(")")[2].split()[1])


def first_readable(pid):
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        span, rights = line.split()[:2]
        if rights.startswith("r"):
            return int(span.split("-")[0], 16)
    raise AssertionError(f"process {pid} has no memory")


def as_user(uid, action):
    """Runs the action in a child with that user id; its OSError is raised here."""
    child = os.fork()
    if child == 0:
        code = 0
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            action()
        except OSError as problem:
            code = problem.errno
        os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code:
        raise OSError(code, os.strerror(code))


if __name__ == "__main__":
    unittest.main()
