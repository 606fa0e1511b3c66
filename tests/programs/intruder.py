"""A hostile program: tries everything it can think of against processes and files that are not its own.

    intruder.py TARGETS.json SIGNAL

Prints one JSON object: the name of each attempt -> what it got, or false. It is run as root outside of any job too,
where the attempts must succeed: that shows that a "false" elsewhere is a wall and not a broken attempt.
"""

import ctypes
import fcntl
import json
import os
import resource
import signal
import socket
import stat
import subprocess
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
PTRACE_SEIZE, PTRACE_DETACH = 0x4206, 17
SYS_PIDFD_OPEN, SYS_PIDFD_GETFD, SYS_KEYCTL = 434, 438, 250
KEYCTL_READ = 11
PROC_FILES = ("environ", "mem", "maps", "auxv", "syscall", "stack", "io")
PROC_LINKS = ("cwd", "root", "exe", "fd/0", "ns/mnt")

report = {}


def attempt(name, action):
    try:
        got = action()
    except (OSError, ValueError) as problem:
        report[name] = False
        report.setdefault("errors", {})[name] = str(problem)
        return
    report[name] = got if isinstance(got, (str, int, list)) else bool(got)


def check(result):
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def read(path, count=200):
    with open(path, "rb") as file:
        return file.read(count).decode(errors="replace") or "(empty)"


def read_memory(pid):
    with open(f"/proc/{pid}/maps", "rb") as maps:
        start = int(maps.readline().split(b"-")[0], 16)
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        memory.seek(start)
        return len(memory.read(16))


def vm_read(pid, address):
    class Vector(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]

    buffer = ctypes.create_string_buffer(16)
    local, remote = Vector(ctypes.addressof(buffer), 16), Vector(address, 16)
    return check(LIBC.process_vm_readv(pid, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0))


def trace(pid):
    check(LIBC.ptrace(PTRACE_SEIZE, pid, None, None))
    LIBC.ptrace(PTRACE_DETACH, pid, None, None)
    return True


def take_descriptor(pid):
    handle = check(LIBC.syscall(SYS_PIDFD_OPEN, pid, 0))
    try:
        os.close(check(LIBC.syscall(SYS_PIDFD_GETFD, handle, 0, 0)))
    finally:
        os.close(handle)
    return True


def against_process(name, pid, number, address):
    attempt(f"{name}: signal", lambda: os.kill(pid, number) is None)
    attempt(f"{name}: signal its group", lambda: os.killpg(os.getpgid(pid), number) is None)
    attempt(f"{name}: trace", lambda: trace(pid))
    attempt(f"{name}: process_vm_readv", lambda: vm_read(pid, address))
    attempt(f"{name}: pidfd_getfd", lambda: take_descriptor(pid))
    attempt(f"{name}: prlimit", lambda: list(resource.prlimit(pid, resource.RLIMIT_NOFILE)))
    attempt(f"{name}: affinity", lambda: os.sched_setaffinity(pid, os.sched_getaffinity(pid)) is None)
    attempt(f"{name}: renice", lambda: os.setpriority(os.PRIO_PROCESS, pid, os.getpriority(os.PRIO_PROCESS, pid)) is None)
    attempt(f"{name}: memory", lambda: read_memory(pid))
    for file in PROC_FILES:
        if file != "mem":
            attempt(f"{name}: /proc {file}", lambda file=file: read(f"/proc/{pid}/{file}"))
    for link in PROC_LINKS:
        attempt(f"{name}: /proc {link}", lambda link=link: os.readlink(f"/proc/{pid}/{link}"))
    attempt(f"{name}: files below its root", lambda: os.listdir(f"/proc/{pid}/root/"))
    attempt(f"{name}: enter its mounts", lambda: enter(f"/proc/{pid}/ns/mnt"))


def enter(path):
    handle = os.open(path, os.O_RDONLY)
    child = os.fork()
    if child == 0:
        os._exit(0 if LIBC.setns(handle, 0) == 0 else 1)
    os.close(handle)
    return os.waitpid(child, 0)[1] == 0


def lock(path):
    with open(path, "r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return "held by its owner, but within reach"
    return True


def connect(path, kind):
    with socket.socket(socket.AF_UNIX, kind) as client:
        client.connect(path)
    return True


def against_files(targets):
    for path in targets["files"]:
        attempt(f"read {path}", lambda path=path: read(path))
        attempt(f"write {path}", lambda path=path: os.close(os.open(path, os.O_WRONLY)) is None)
    for path in targets["directories"]:
        attempt(f"list {path}", lambda path=path: os.listdir(path) or "(empty)")
        attempt(f"create in {path}", lambda path=path: make_and_remove(f"{path}/intruder-{os.getpid()}"))
    for path in targets["locks"]:
        attempt(f"lock {path}", lambda path=path: lock(path))
    for path in targets["sockets"]:
        attempt(f"connect {path}", lambda path=path: connect(path, socket.SOCK_SEQPACKET))


def make_and_remove(path):
    os.mkdir(path)
    os.rmdir(path)
    return True


def against_ipc(targets):
    attempt("System V shared memory", lambda: check(LIBC.shmget(targets["shm_key"], 1, 0)) + 1)
    attempt("POSIX shared memory", lambda: read(f"/dev/shm/{targets['shm_name']}"))
    attempt("its /tmp", lambda: read(f"/tmp/{targets['shm_name']}"))
    attempt("its key", lambda: check(LIBC.syscall(SYS_KEYCTL, KEYCTL_READ, targets["key"], 0, 0)))


def against_cgroups(targets):
    for path in targets["cgroups"]:
        attempt(f"read {path}", lambda path=path: read(f"{path}/cgroup.procs"))
        attempt(f"leave into {path}", lambda path=path: join(path))
    for path in targets["own_cgroups"]:
        for file in ("memory.limit_in_bytes", "pids.max", "devices.allow", "release_agent", "memory.max", "cgroup.kill"):
            if os.path.exists(f"{path}/{file}"):
                attempt(f"write {path}/{file}", lambda path=path, file=file: os.close(
                    os.open(f"{path}/{file}", os.O_WRONLY)) is None)


def join(path):
    child = os.fork()
    if child == 0:
        try:
            with open(f"{path}/cgroup.procs", "w", encoding="ascii") as file:
                file.write("0")
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def make_node(number):
    path = f"{os.environ.get('HOME', '/srv')}/node-{os.getpid()}"
    os.mknod(path, 0o666 | stat.S_IFCHR, number)
    os.unlink(path)
    return True


def against_privilege(targets):
    attempt("make a device node", lambda: make_node(os.makedev(targets["major"], 7)))
    attempt("become root by a setuid program", lambda: subprocess.run(
        [targets["setuid_program"], "-u"], capture_output=True, text=True, check=False).stdout.strip() == "0")
    attempt("setuid(0)", become_root)
    attempt("mount", lambda: check(LIBC.mount(b"none", b"/mnt", b"tmpfs", 0, None)) == 0 and LIBC.umount2(b"/mnt", 2) == 0)
    attempt("read the kernel's memory", lambda: read("/proc/kcore"))
    attempt("write a sysctl", lambda: os.close(os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY)) is None)
    attempt("read shadow passwords", lambda: read("/etc/shadow"))


def become_root():
    child = os.fork()
    if child == 0:
        try:
            os.setresuid(0, 0, 0)
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        targets = json.load(file)
    number = getattr(signal, sys.argv[2]) if sys.argv[2] != "0" else 0
    for name, pid in targets["processes"].items():
        against_process(name, pid, number, targets["addresses"].get(name, 0x400000))
    against_files(targets)
    against_ipc(targets)
    against_cgroups(targets)
    against_privilege(targets)
    json.dump(report, sys.stdout)


main()
