#!/usr/bin/env python3
"""Starts and stops a cluster by hand: tests/kube/by_hand.py start|stop (`make kube` and `make kube-stop`)

One at a time below $TANGRAM_KUBE_DIR (/srv/tangram-kube), reached from the host at 127.0.0.1:$TANGRAM_KUBE_PORT (6443).
Each start is a new cluster; logs and the audit log stay after a stop, for a look. The file shell.sh there sets a shell up.
"""

import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

import build
import components
import forward
import machine
from authority import encoded, write_kubeconfig
from cluster import Cluster

START_SECONDS_MAX, STOP_SECONDS_MAX = 240, 60
DIRECTORY = pathlib.Path(os.environ.get("TANGRAM_KUBE_DIR", "/srv/tangram-kube"))
PORT = int(os.environ.get("TANGRAM_KUBE_PORT", "6443"))

NAME = f"kube-{DIRECTORY.name}"
LOG, READY = DIRECTORY / "cluster.log", DIRECTORY / "ready"
OUTSIDE, INSIDE = DIRECTORY / "outside.pid", DIRECTORY / "machine.pid"
KUBECONFIG, SHELL = DIRECTORY / "kubeconfig", DIRECTORY / "shell.sh"

TEXT = """
A cluster with the node {node} runs on a simulated Ascend machine. In another terminal:

    . {directory}/shell.sh
    kubectl get pods -A
    kubectl run hello --image={image} --restart=Never -- echo hello
    kubectl logs hello
    kube_node npu-smi info      # a command on the node; so is kube_node ctr -n k8s.io images import FILE

Nothing can be pulled: tests/kube/images.py makes images from programs. Logs, keys and data: {directory}. The end: make kube-stop.
"""

SHELL_TEXT = """# For a shell that talks to what `make kube` started.
export PATH="{path}:$PATH"
export KUBECONFIG="{kubeconfig}"
# Runs a command on the node, where what listens on 127.0.0.1 is the node's.
kube_node() {{
  nsenter --target "$(cat "{pid}")" --net --mount --pid env PATH="{driver}/tools:$PATH" LD_LIBRARY_PATH="{driver}/lib64" "$@"
}}
"""


def start():
    if runs():
        say("a cluster runs already; make kube-stop ends it")
    else:
        machine.clean_up(NAME, DIRECTORY)
        DIRECTORY.mkdir(parents=True)
        say("starting etcd, Kubernetes and containerd; this takes half a minute")
        with open(LOG, "ab") as log:
            server = subprocess.Popen([sys.executable, __file__, "serve"], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                      start_new_session=True)
        end = time.monotonic() + START_SECONDS_MAX
        while not READY.exists():
            if server.poll() is not None or time.monotonic() > end:
                server.terminate()
                print(LOG.read_text(errors="replace")[-8000:], file=sys.stderr)
                raise SystemExit(f"kube: the cluster did not start; its logs are in {DIRECTORY}")
            time.sleep(0.1)
    write_shell()
    print(TEXT.format(node=components.NODE, image=components.BASE_IMAGE, directory=DIRECTORY))


def stop():
    if not runs():
        say("nothing runs")
        return
    pid = int(OUTSIDE.read_text())
    handle = os.pidfd_open(pid)
    os.kill(pid, signal.SIGTERM)
    end = time.monotonic() + STOP_SECONDS_MAX
    while runs() and time.monotonic() < end:
        time.sleep(0.05)
    if runs():
        say("it does not end; killed")
        signal.pidfd_send_signal(handle, signal.SIGKILL)
        machine.clean_up(NAME, None)
    say(f"stopped; logs stay in {DIRECTORY}")


def runs():
    """Whether the process of the pid file is still the one that wrote it."""
    with contextlib.suppress(OSError, ValueError):
        line = pathlib.Path(f"/proc/{int(OUTSIDE.read_text())}/cmdline").read_bytes()
        return b"by_hand.py" in line and b"serve" in line
    return False


def serve():
    """The machine's outside: lets connections in until it has ended."""
    listener = socket.create_server(("127.0.0.1", PORT))
    house = machine.Machine(NAME, DIRECTORY, keep=True)
    OUTSIDE.write_text(str(os.getpid()))
    house.start([sys.executable, __file__, "inside"])
    INSIDE.write_text(str(house.init))
    forward.serve_until_ended(listener, (machine.NODE_ADDRESS, components.API_PORT), house.init)
    return house.wait()


def inside():
    """The machine's command: the cluster, until a signal ends it."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    cluster = Cluster()
    with contextlib.suppress(SystemExit), cluster:
        key_file = cluster.settings.key_file
        write_kubeconfig(KUBECONFIG, f"https://127.0.0.1:{PORT}", key_file("authority.pem"), {
            "client-certificate-data": encoded(key_file("admin.pem")), "client-key-data": encoded(key_file("admin.key"))})
        READY.touch()
        while True:
            signal.pause()
    left = cluster.leftovers()
    if left:
        print("left behind:", *left, sep="\n  ")
    return 1 if left else 0


def write_shell():
    SHELL.write_text(SHELL_TEXT.format(path=build.search_path(), kubeconfig=KUBECONFIG, pid=INSIDE,
                                       driver=DIRECTORY / "ascend/driver"))


def say(text):
    print(f"kube: {text}", flush=True)


def main():
    verbs = {"start": start, "stop": stop, "serve": serve, "inside": inside}
    if len(sys.argv) != 2 or sys.argv[1] not in verbs:
        print(__doc__, file=sys.stderr)
        return 2
    if os.geteuid() != 0:
        raise SystemExit("kube: namespaces, mounts and control groups need root")
    return verbs[sys.argv[1]]() or 0


if __name__ == "__main__":
    sys.exit(main())
