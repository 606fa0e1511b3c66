"""Every header compiles alone."""

import concurrent.futures
import hashlib
import os
import pathlib
import subprocess

from tree.source import Finding

COMPILER = os.environ.get("CXX", "g++")
INCLUDE_FOLDERS = ["src", "include", "tests", "src/ascendsim/include"]
OPTIONS = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-DBOOST_ASIO_NO_DEPRECATED", "-x", "c++", "-"]
GENERATED = ("tangram_build.h",)  # by CMake; here as in a build with nothing switched on
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "tangram" / "headers"


def check_headers_alone(tree):
    headers = [path for path in tree.sources("src", "include", "tests") if path.endswith(".h")]
    version = subprocess.run([COMPILER, "--version"], capture_output=True, check=True).stdout
    (CACHE / "generated").mkdir(parents=True, exist_ok=True)
    for name in GENERATED:
        (CACHE / "generated" / name).touch()
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        for path, message in pool.map(lambda header: compile_alone(tree, header, version), headers):
            if message:
                yield Finding(path, 1, f"does not compile alone: {message}")


def compile_alone(tree, path, version):
    digest = hashlib.sha256(version + " ".join(OPTIONS).encode())
    for part in sorted(closure(tree, path)):
        digest.update(part.encode() + b"\0" + tree.text(part).encode() + b"\0")
    mark = CACHE / digest.hexdigest()
    if mark.exists():
        mark.touch()
        return path, None
    folders = [word for folder in INCLUDE_FOLDERS for word in ("-I", str(tree.root / folder))]
    folders += ["-I", str(CACHE / "generated")]
    run = subprocess.run([COMPILER, *folders, *OPTIONS], input=f'#include "{tree.root / path}"\n', text=True,
                         capture_output=True, check=False)
    if run.returncode == 0:
        mark.touch()
        return path, None
    errors = [line for line in run.stderr.splitlines() if "error" in line]
    return path, (errors or ["the compiler failed"])[0]


def closure(tree, path):
    """The header and all headers of the project that it sees."""
    known = set(tree.paths)
    seen, waiting = set(), [path]
    while waiting:
        at = waiting.pop()
        if at in seen:
            continue
        seen.add(at)
        for _, _, name in tree.includes(at):
            waiting += [f"{folder}/{name}" for folder in INCLUDE_FOLDERS if f"{folder}/{name}" in known]
            beside = f"{at.rpartition('/')[0]}/{name}"
            if beside in known:
                waiting.append(beside)
    return seen
