#!/usr/bin/env python3
"""A machine of its own for a cluster: its network, mounts and process numbers are apart, and all of it ends with it.

    tests/kube/machine.py [--name NAME] [--root DIR] COMMAND…

Runs COMMAND there and ends as it did. What Kubernetes keeps at places that cannot be chosen (/run, /var/lib/kubelet,
/var/lib/cni, /var/log) is the machine's own, and so is its network: a loopback and an interface `node0` with the address
NODE_ADDRESS, and no way out. Hence several clusters may run side by side on the same ports, and nothing here can reach, or be
reached from, anything else. Only the control groups are shared with the rest of the host: all lie below /NAME of each hierarchy.

COMMAND finds NAME and DIR (where the cluster keeps its files) in $TANGRAM_KUBE_MACHINE and $TANGRAM_KUBE_ROOT. However the
machine ends, killed ones included, the kernel ends its processes, and a janitor outside removes its control groups and,
unless --keep is given, DIR. Needs root.
"""

import argparse
import contextlib
import ctypes
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
import harness  # noqa: E402

NAME_VARIABLE, ROOT_VARIABLE = "TANGRAM_KUBE_MACHINE", "TANGRAM_KUBE_ROOT"
NODE_ADDRESS, SERVICES = "10.77.0.1", "10.96.0.0/24"
CLEAN_SECONDS_MAX = 30

# linux/sched.h, sys/mount.h
CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET = 0x00020000, 0x20000000, 0x40000000
MS_BIND, MS_REC, MS_PRIVATE, MS_SHARED = 0x1000, 0x4000, 1 << 18, 1 << 20

# What the kubelet insists on is a setting of the whole host; here it reads these instead, and writes nothing.
KERNEL_SETTINGS = {"vm/overcommit_memory": 1, "vm/panic_on_oom": 0, "kernel/panic": 10, "kernel/panic_on_oops": 1,
                   "kernel/keys/root_maxkeys": 1000000, "kernel/keys/root_maxbytes": 25000000}

# No cluster may lie there: what is below is the machine's own.
COVERED = ("/run", "/var/run", "/var/lib", "/var/log")

# Directory of the machine -> place below DIR that lies on a real disk: containers are layered there.
ON_DISK = {"/var/lib/kubelet": "kubelet", "/var/lib/containerd": "containerd", "/var/log/pods": "pods"}

libc = ctypes.CDLL(None, use_errno=True)


def check(result, what):
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(source, target, kind=None, flags=0, options=None):
    encoded = [None if text is None else str(text).encode() for text in (source, target, kind, options)]
    check(libc.mount(*encoded[:3], ctypes.c_ulong(flags), encoded[3]), f"mount {kind or source} on {target}")


class Machine:
    """Called in the process that becomes the machine's outside: run() moves that process itself into the namespaces."""

    def __init__(self, name=None, root=None, keep=False):
        if os.geteuid() != 0:
            raise SystemExit("machine: namespaces and control groups need root")
        self.root = pathlib.Path(root or tempfile.mkdtemp(prefix="tgk-", dir="/tmp")).resolve()
        if str(self.root).startswith(COVERED):
            raise SystemExit(f"machine: {self.root} lies where the machine has directories of its own: {', '.join(COVERED)}")
        self.name = name or "tangram-kube-" + self.root.name
        self.root.mkdir(parents=True, exist_ok=True)
        self.root.chmod(0o755)
        self.keep = keep
        self.init = None  # the first process in there, by the number that it has out here
        self._janitor = None
        self._passes_to, self._early = None, []

    def start(self, command):
        """Starts the command; its end is waited for with wait()."""
        self._janitor = subprocess.Popen(
            [sys.executable, __file__, "--janitor", self.name, *([] if self.keep else [str(self.root)])],
            stdin=subprocess.PIPE, start_new_session=True)
        make_cgroups(self.name)
        # Before the fork, for both: the first process of a machine does not even get a signal that it has no handler for.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._pass_on)
        check(libc.unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET), "unshare")
        self.init = os.fork()
        if self.init == 0:
            harness.die_with_parent()
            os._exit(self._live(command))
        self._pass_to(self.init)

    def wait(self):
        """The exit status of the command, once nothing of the machine is left."""
        _, status = os.waitpid(self.init, 0)
        self._janitor.stdin.close()
        self._janitor.wait()
        return exit_code(status)

    def _pass_on(self, number, _):
        if self._passes_to is None:
            self._early.append(number)
        else:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._passes_to, number)

    def _pass_to(self, pid):
        self._passes_to = pid
        for number in self._early:
            os.kill(pid, number)

    # ---- inside

    def _live(self, command):
        """The machine's first process: prepares it, runs the command, and buries orphans meanwhile."""
        try:
            self._prepare()
            environment = {**os.environ, NAME_VARIABLE: self.name, ROOT_VARIABLE: str(self.root)}
            child = subprocess.Popen(command, env=environment)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"machine: {error}", file=sys.stderr, flush=True)
            return 125
        self._pass_to(child.pid)
        while True:
            pid, status = os.wait()
            if pid == child.pid:
                return exit_code(status)

    def _prepare(self):
        mount(None, "/", flags=MS_REC | MS_PRIVATE)
        mount("proc", "/proc", "proc")
        mount("tmpfs", "/run", "tmpfs", options="mode=755")
        for directory in ("/var/lib", "/var/log"):
            self._cover(directory)
        for directory, place in ON_DISK.items():
            (self.root / place).mkdir(exist_ok=True)
            pathlib.Path(directory).mkdir(exist_ok=True)
            mount(self.root / place, directory, flags=MS_BIND)
        for setting, value in KERNEL_SETTINGS.items():
            if not pathlib.Path("/proc/sys", setting).exists():
                continue
            stand_in = pathlib.Path("/run/kernel-settings") / setting
            stand_in.parent.mkdir(parents=True, exist_ok=True)
            stand_in.write_text(f"{value}\n")
            mount(stand_in, f"/proc/sys/{setting}", flags=MS_BIND)
        # The kubelet hands mounts that come later on to containers.
        mount(None, "/", flags=MS_REC | MS_SHARED)
        # The route to services leads nowhere: who has none cannot even begin a connection that the proxy would lead on.
        for words in ("link set lo up", "link add node0 type bridge", f"addr add {NODE_ADDRESS}/24 dev node0", "link set node0 up",
                      f"route add {SERVICES} dev node0"):
            subprocess.run(["ip", *words.split()], check=True)
        pathlib.Path("/proc/sys/net/ipv4/ip_forward").write_text("1\n")

    @staticmethod
    def _cover(directory):
        """What is written below the directory from now on is the machine's own, and is gone with it."""
        cover = pathlib.Path("/run/cover") / directory.strip("/").replace("/", "-")
        upper, work = cover / "upper", cover / "work"
        for place in (upper, work):
            place.mkdir(parents=True)
        mount("overlay", directory, "overlay", options=f"lowerdir={directory},upperdir={upper},workdir={work}")


def current():
    """(name, root) of the machine that this process runs in."""
    name, root = os.environ.get(NAME_VARIABLE), os.environ.get(ROOT_VARIABLE)
    if not name or not root:
        raise AssertionError("a cluster lives in a machine of its own: run this through tests/kube/run.sh or machine.py")
    return name, pathlib.Path(root)


def exit_code(status):
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def make_cgroups(name):
    """/NAME in each hierarchy; the kubelet wants its root there beforehand."""
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        fields, _, rest = line.partition(" - ")
        kind, _, options = rest.split(" ", 2)
        if kind not in ("cgroup", "cgroup2"):
            continue
        parent = pathlib.Path(fields.split()[4])
        group = parent / name
        group.mkdir(exist_ok=True)
        if "cpuset" in options.split(","):
            for file in ("cpuset.cpus", "cpuset.mems"):
                (group / file).write_text((parent / file).read_text())


# ---- outside, afterwards


def clean_up(name, root):
    """Waits for the end of what is left, and removes the control groups and files."""
    groups = harness.cgroup_dirs(name)
    end = time.monotonic() + CLEAN_SECONDS_MAX
    while time.monotonic() < end:
        pids = harness.pids_in(groups)
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for group in groups:
            harness.remove_cgroup(group)
        if not harness.cgroup_dirs(name):
            break
        time.sleep(0.05)
    else:
        print(f"machine: control groups of {name} are left", file=sys.stderr)
    if root is not None:
        shutil.rmtree(root, ignore_errors=True)


def run_janitor(name, root):
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()  # ends when the machine's outside has ended, however that was
    clean_up(name, root)


def main():
    if len(sys.argv) in (3, 4) and sys.argv[1] == "--janitor":
        run_janitor(sys.argv[2], sys.argv[3] if len(sys.argv) == 4 else None)
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", help="of its control groups; one of its own when left out")
    parser.add_argument("--root", help="where the cluster keeps its files; a new directory below /tmp when left out")
    parser.add_argument("--keep", action="store_true", help="leave the files")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND")
    arguments = parser.parse_args()
    if not arguments.command:
        parser.error("no command")
    machine = Machine(arguments.name, arguments.root, arguments.keep)
    machine.start(arguments.command)
    return machine.wait()


if __name__ == "__main__":
    sys.exit(main())
