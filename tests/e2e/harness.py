"""A whole Tangram on the simulated machine, in a directory of its own, for end-to-end tests.

    with Machine() as machine:
        machine.cli("apply", "-f", "-", input=TENANTS)
        job = machine.submit("--tenant", "team-a", "--", "sleep", "1")
        machine.wait_until(lambda: machine.job(job)["state"] == "ended", "the job ends")

Each Machine has its own root directory and its own parent cgroup, so that several may live side by side. Everything
is taken down at the end: processes (also those that left their session), control groups, mounts, files. If the test
itself is killed, a janitor process that waits for its end does the same.

Programs come from $TANGRAM_BUILD (default build/dev). Only the standard library is used.
"""

import contextlib
import ctypes
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

from fixture import Answer, Fixture

SOURCE = pathlib.Path(os.environ.get("TANGRAM_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
BUILD = pathlib.Path(os.environ.get("TANGRAM_BUILD", SOURCE / "build/dev")).resolve()

START_SECONDS_MAX = 30
COMMAND_SECONDS_MAX = 120


class Machine(Fixture):
    """One simulated machine with one daemon.

    npus:     a machine description (YAML text) for ascendsimd; None: eight 910B4
    config:   fields that are merged over the daemon's configuration file
    env:      additional environment of the daemon, for example TANGRAM_CRASH_AT
    """

    def __init__(self, npus=None, config=None, env=None):
        # Short: the path of a Unix socket has at most 107 bytes.
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="tg-", dir="/tmp"))
        self.root.chmod(0o755)  # jobs run as users of their own and must get through
        self.name = "tangram-test-" + self.root.name
        # Jobs have a /tmp of their own: programs and files that they share with the test live here.
        self.shared = shared_dir(self.root)
        self.shared.mkdir()
        self.shared.chmod(0o1777)
        self.state = self.root / "tangram"
        self.simulated = self.root / "ascend"
        self.device_dir = self.simulated / "dev"
        self.driver_dir = self.simulated / "driver"
        self.socket = self.state / "run/tangram.sock"
        self.journal_path = self.state / "lib/journal.db"
        self.config_path = self.root / "tangramd.yaml"
        self.npus, self.config, self.env = npus, config or {}, env or {}
        self.simulator = None
        self.daemon = None
        self.wrapper = ()  # a command in front of tangramd
        self._janitor = subprocess.Popen([sys.executable, __file__, "--janitor", str(self.root), self.name],
                                         stdin=subprocess.PIPE, start_new_session=True)
        self.write_config()

    # ---- life

    def start(self):
        self.start_simulator()
        self.start_daemon()
        return self

    def start_simulator(self):
        arguments = [program("ascendsimd"), "--root", str(self.simulated)]
        if self.npus is not None:
            description = self.root / "machine.yaml"
            description.write_text(self.npus)
            arguments += ["--machine", str(description)]
        self.simulator = self._spawn(arguments, "ascendsimd.log", {})
        self.wait_until(lambda: (self.driver_dir / "run/ascendsimd.sock").exists() or list(
            (self.driver_dir / "run").glob("*.sock")), "ascendsimd listens", START_SECONDS_MAX, self.simulator)

    def start_daemon(self, env=None, wait=True):
        """Starts tangramd; with `wait`, returns when it answers and knows its NPUs."""
        arguments = [*self.wrapper, program("tangramd"), "--root", str(self.state), "--config", str(self.config_path)]
        self.daemon = self._spawn(arguments, "tangramd.log", {**self.env, **(env or {})})
        if wait:
            self.wait_until(self.is_ready, "tangramd is ready", START_SECONDS_MAX, self.daemon)

    def is_ready(self):
        answer = self.cli("status", "-o", "json")
        return answer.code == 0 and json.loads(answer.out)["devicesAvailable"]

    def stop_daemon(self):
        """SIGTERM: jobs go on."""
        self._end(self.daemon, signal.SIGTERM)

    def kill_daemon(self):
        self._end(self.daemon, signal.SIGKILL)

    def stop_simulator(self):
        self._end(self.simulator, signal.SIGTERM)

    def kill_simulator(self):
        """As if the machine's driver went away under everything."""
        self._end(self.simulator, signal.SIGKILL)

    def kill(self):
        self.kill_daemon()
        self.kill_simulator()

    def stop(self):
        """Takes everything down. Safe to call twice."""
        for process in (self.daemon, self.simulator):
            self._end(process, signal.SIGKILL)
        clean_up(self.root, self.name)
        if self._janitor.poll() is None:
            self._janitor.stdin.close()
            self._janitor.wait()

    # ---- asking

    def cli(self, *arguments, input=None, user=None, env=None, timeout=COMMAND_SECONDS_MAX):
        """Runs `tangram` and returns its Answer. `user`: a uid to run it as."""
        words = [str(argument) for argument in arguments]
        command = program("tangram") if user is None else self.program_for_all("tangram")
        with subprocess.Popen([command, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, errors="replace", user=user,
                              env={"PATH": os.environ["PATH"], "TANGRAM_SOCKET": str(self.socket), **(env or {})},
                              ) as process:
            try:
                out, err = process.communicate(input or "", timeout=timeout)
            except subprocess.TimeoutExpired:
                process.kill()
                out, err = process.communicate()
                raise AssertionError(f"tangram {' '.join(words)} took more than {timeout} s\n{out}{err}") from None
        return Answer("tangram", words, process.returncode, out, err)

    def program_for_all(self, name):
        """A copy that every user may execute: the checkout may lie below a home that is closed to others."""
        copy = self.shared / name
        if not copy.exists():
            shutil.copy(program(name), copy)
            copy.chmod(0o755)
        return copy

    def ok(self, *arguments, **options):
        """As cli(), but the command must succeed. Returns what it printed."""
        answer = self.cli(*arguments, **options)
        assert answer.code == 0, repr(answer)
        return answer.out

    def json(self, *arguments, **options):
        return json.loads(self.ok(*arguments, "-o", "json", **options))

    def api(self, method, path, body=None, headers=None, user=None):
        """One call of the API without the command line: (status, parsed body). `user`: a uid to call as."""
        words = ["curl", "--silent", "--show-error", "--unix-socket", str(self.socket), "--request", method,
                 "--write-out", "\n%{http_code}", "--max-time", str(COMMAND_SECONDS_MAX)]
        for name, value in (headers or {}).items():
            words += ["--header", f"{name}: {value}"]
        if body is not None:
            words += ["--header", "Content-Type: application/json", "--data-binary", "@-"]
        text = body if isinstance(body, str) else json.dumps(body)
        run = subprocess.run([*words, f"http://tangram{path}"], input=text, capture_output=True, text=True,
                             user=user, check=False)
        if run.returncode != 0:
            raise ConnectionError(run.stderr.strip())
        answer, _, status = run.stdout.rpartition("\n")
        return int(status), json.loads(answer) if answer else None

    def holders(self):
        """The simulated machine's own books: physical id -> pids that hold memory there."""
        return {npu["npu"]: npu["pids"] for npu in json.loads(self.simulator_ctl("books"))["npus"]}

    def watch_holders(self):
        """A process that writes a line of the books (see holders) whenever they change; the caller ends it."""
        return subprocess.Popen([program("ascendsim-ctl"), "--root", str(self.simulated), "watch"],
                                stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent)

    @staticmethod
    def job_of_process(pid):
        """The leaf control group of a process, "<job>.<attempt>"; None when it is gone."""
        try:
            lines = pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines()
        except OSError:
            return None
        leaves = {line.rpartition("/")[2] for line in lines}
        return next((leaf for leaf in leaves if leaf.startswith("j-")), None)

    def apply(self, documents):
        return self.ok("apply", "-f", "-", input=documents)

    def submit(self, *arguments, **options):
        """Submits and returns the job's id. The program goes behind "--" as on the command line."""
        return self.ok("submit", *arguments, **options).strip()

    def job(self, job):
        return self.json("describe", job)

    def jobs(self):
        """Every job, ended ones too."""
        return self.json("queue", "--all")["items"]

    def status(self):
        return self.json("status")

    def wait_for(self, job, state, timeout=60):
        """Waits until the job is in that state, and returns its view."""
        self.wait_until(lambda: self.job(job)["state"] == state, f"job {job} is {state}", timeout)
        return self.job(job)

    # ---- looking inside

    def journal(self, kind=None):
        """The records in order: dicts with sequence, at (ms), kind and body (parsed)."""
        with contextlib.closing(sqlite3.connect(f"file:{self.journal_path}?mode=ro", uri=True)) as database:
            rows = database.execute("SELECT sequence, at_ms, kind, body FROM records ORDER BY sequence").fetchall()
        return [{"sequence": sequence, "at": at, "kind": record_kind, "body": json.loads(body)}
                for sequence, at, record_kind, body in rows if kind in (None, record_kind)]

    def simulator_ctl(self, *arguments):
        """Speaks to ascendsimd behind the product's back: its books, health, NPUs that vanish."""
        return subprocess.run([program("ascendsim-ctl"), "--root", str(self.simulated), *map(str, arguments)],
                              check=True, capture_output=True, text=True, timeout=COMMAND_SECONDS_MAX).stdout

    def npu_smi(self, *arguments, input=None):
        """The vendor's command as an operator runs it on this machine."""
        return subprocess.run([str(self.driver_dir / "tools/npu-smi"), *map(str, arguments)], check=True, input=input,
                              capture_output=True, text=True, timeout=COMMAND_SECONDS_MAX).stdout

    def connections(self):
        """How many clients the daemon has accepted and not let go."""
        fields = [line.split() for line in pathlib.Path("/proc/net/unix").read_text().splitlines()]
        # The kernel remembers the name under which the socket was made, before it was moved into place.
        return sum(len(words) > 7 and words[5] == "03" and words[7].startswith(str(self.socket)) for words in fields)

    def log(self, name="tangramd.log"):
        path = self.root / name
        return path.read_text(errors="replace") if path.exists() else ""

    def report(self):
        """The ends of the logs, for a failure."""
        return "".join(f"--- {name}\n{self.log(name)[-4000:]}" for name in ("ascendsimd.log", "tangramd.log"))

    # ---- inside

    def write_config(self, **fields):
        """Writes the daemon's configuration (JSON is YAML); `fields` go over all that was set before."""
        self.config.update(fields)
        config = {
            "node": "test",
            "cgroup": self.name,
            "devices": {
                "library": str(self.driver_dir / "lib64/libdcmi.so"),
                "directory": str(self.device_dir),
                "driver": str(self.driver_dir),
            },
        }
        self.config_path.write_text(json.dumps(merged(config, self.config), indent=2))

    def _spawn(self, arguments, log_name, env):
        with open(self.root / log_name, "ab") as log:
            return subprocess.Popen([str(argument) for argument in arguments], stdin=subprocess.DEVNULL, stdout=log,
                                    stderr=log, env={**os.environ, **env}, preexec_fn=die_with_parent)

    def _end(self, process, number):
        if process is None or process.poll() is not None:
            return
        process.send_signal(number)
        try:
            process.wait(timeout=START_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def figure(text):
    """What a test has measured: a line that tools/run_suites.py shows also when everything passes."""
    print(f"\nfigure: {text}", flush=True)


def shared_dir(root):
    return pathlib.Path("/srv") / pathlib.Path(root).name


def program(name):
    path = BUILD / "bin" / name
    if not path.exists():
        raise AssertionError(f"{path} is missing; build it, or set TANGRAM_BUILD")
    return str(path)


def merged(base, over):
    """`over` laid over `base`, dicts inside one another."""
    result = dict(base)
    for key, value in over.items():
        both = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if both else value
    return result


def die_with_parent():
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


# ---- taking down


def clean_up(root, cgroup_name):
    """Ends every process of this machine, then removes its control groups, mounts and files."""
    groups = cgroup_dirs(cgroup_name)
    for _ in range(200):
        pids = pids_in(groups) | pids_of(root)
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if not pids:
            break
        time.sleep(0.02)
    for group in groups:
        remove_cgroup(group)
    for mount_point in sorted(mounts_below(root), key=len, reverse=True):
        ctypes.CDLL(None).umount2(mount_point.encode(), 2)  # MNT_DETACH
    left = mounts_below(root)
    if left:
        # Whatever is mounted there is not ours to delete.
        print(f"harness: cannot unmount {left}; {root} stays", file=sys.stderr)
        return
    shutil.rmtree(root, ignore_errors=True)
    shutil.rmtree(shared_dir(root), ignore_errors=True)


def cgroup_dirs(name):
    """The directories of that name, in every hierarchy, below its root or below the group that we are in."""
    own = {}
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        own[controllers] = path
    found = []
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        fields, _, rest = line.partition(" - ")
        kind, _, options = rest.split(" ", 2)
        if kind not in ("cgroup", "cgroup2"):
            continue
        mount_point = pathlib.Path(fields.split()[4])
        inside = [path for controllers, path in own.items()
                  if (kind == "cgroup2") == (controllers == "") and
                  (kind == "cgroup2" or set(controllers.split(",")) <= set(options.split(",")))]
        for parent in ["/", *inside]:
            candidate = mount_point / parent.lstrip("/") / name
            if candidate.is_dir():
                found.append(candidate)
    return list(dict.fromkeys(found))


def files_below(group, name):
    """As rglob(), which fails when a group goes away while it walks."""
    return [pathlib.Path(folder, name) for folder, _, files in os.walk(group) if name in files]


def pids_in(groups):
    pids = set()
    for group in groups:
        for path in files_below(group, "cgroup.procs"):
            with contextlib.suppress(OSError):
                pids.update(int(pid) for pid in path.read_text().split())
        for path in files_below(group, "freezer.state"):
            with contextlib.suppress(OSError):
                path.write_text("THAWED")
    pids.discard(os.getpid())
    return pids


def pids_of(root):
    """Processes whose program line names our root: supervisors that outlived their daemon, helpers."""
    needle = os.fsencode(str(root))
    pids = set()
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            line = (entry / "cmdline").read_bytes()
            if needle in line and b"--janitor" not in line:
                pids.add(int(entry.name))
    return pids


def remove_cgroup(group):
    for folder, _, _ in os.walk(group, topdown=False):
        with contextlib.suppress(OSError):
            os.rmdir(folder)


def mounts_below(root):
    points = []
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        point = line.split()[4].encode().decode("unicode_escape")
        if point == str(root) or point.startswith(f"{root}/"):
            points.append(point)
    return points


def run_janitor(root, cgroup_name):
    """Waits for the end of the test that owns `root`; cleans up what it could not."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.stdin.buffer.read()
    if pathlib.Path(root).exists():
        clean_up(pathlib.Path(root), cgroup_name)


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] != "--janitor":
        sys.exit("this file is a library of tests; see its first lines")
    run_janitor(sys.argv[2], sys.argv[3])
