"""What a machine has at one time, so that a test can say what a cluster left behind: processes, mounts, control groups,
network namespaces and interfaces."""

import contextlib
import json
import pathlib
import subprocess
import time

import machine
from machine import harness

RESTORE_SECONDS_MAX = 10


class Traces:
    """Taken before a cluster starts: news() compares, restore() removes."""

    def __init__(self, name):
        self.name = name
        self.mounts, self.interfaces, self.processes = mount_points(), interfaces(), processes()

    def news(self):
        groups = [str(path) for top in harness.cgroup_dirs(self.name) for path in top.iterdir() if path.is_dir()]
        return [f"{kind} {thing}" for kind, things in (
            ("process", set(processes()) - set(self.processes)), ("mount", set(mount_points()) - set(self.mounts)),
            ("control group", groups), ("network namespace", network_namespaces()),
            ("interface", interfaces() - self.interfaces)) for thing in sorted(things)]

    def restore(self):
        """Removes what only a file or a mount point keeps alive; the processes have ended before."""
        for point in sorted(set(mount_points()) - set(self.mounts), key=len, reverse=True):
            machine.libc.umount2(point.encode(), 2)  # MNT_DETACH
        for name in network_namespaces():
            (pathlib.Path("/run/netns") / name).unlink()
        end_time = time.monotonic() + RESTORE_SECONDS_MAX
        while time.monotonic() < end_time:
            groups = [path for top in harness.cgroup_dirs(self.name) for path in top.iterdir() if path.is_dir()]
            for group in groups:
                harness.remove_cgroup(group)
            if not groups and not interfaces() - self.interfaces:
                return
            time.sleep(0.05)


def processes():
    """"PID command line" of each process of this machine; one that has ended and waits to be buried is none."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and (line := (entry / "cmdline").read_bytes()):
                found.append(f"{entry.name} {line.replace(bytes(1), b' ').decode(errors='replace').strip()}")
    return found


def shims():
    return {int(line.split()[0]) for line in processes() if "containerd-shim" in line}


def mount_points():
    lines = pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
    return [line.split()[4].encode().decode("unicode_escape") for line in lines]


def network_namespaces():
    directory = pathlib.Path("/run/netns")
    return sorted(path.name for path in directory.iterdir()) if directory.exists() else []


def interfaces():
    listed = subprocess.run(["ip", "-json", "link"], capture_output=True, text=True, check=True).stdout
    return {link["ifname"] for link in json.loads(listed)}
