#!/usr/bin/env python3
"""Runs clang-tidy over the sources of a build, side by side on the cores there are. It is one of the Python package
index: from 21 on it leaves out what system headers declare, and takes half of the time of Debian 12's newest, 19.

A file that was clean is remembered outside the tree, under a hash of everything that can change the answer: its
preprocessed text, the configuration and the tool. So an unchanged file costs one preprocessor run.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys

import python_tools

ROOT = pathlib.Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "tools/tidy-requirements.txt"
# -Wno-…: options of g++ that clang does not know are not the tidied file's fault. max-nodes: the few functions with
# more paths than these are looked at in part; they took half of the time. (As an option of a check it has no effect.)
OPTIONS = [f"--extra-arg={word}" for word in ("-Wno-unknown-warning-option", "-Xclang", "-analyzer-config", "-Xclang",
                                              "max-nodes=20000")]
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "tangram" / "tidy"


def preprocessed(entry):
    """The text the compiler would see, the same in every checkout: without line markers, and without its path in what
    __FILE__ and definitions put into it."""
    words = shlex.split(entry["command"])
    if pathlib.Path(words[0]).name == "ccache":
        words = words[1:]
    output = words.index("-o")
    del words[output:output + 2]
    words.remove("-c")
    text = subprocess.run([*words, "-E", "-P"], cwd=entry["directory"], capture_output=True, check=True).stdout
    return text.replace(bytes(ROOT), b"<checkout>")


def configuration(source):
    """The text of every .clang-tidy that counts for a file."""
    folders = [folder for folder in pathlib.Path(source).parents if folder.is_relative_to(ROOT)]
    files = [folder / ".clang-tidy" for folder in reversed(folders)]
    return b"".join(file.read_bytes() for file in files if file.exists())


def check(entry, build, tool, version):
    source = entry["file"]
    try:
        key = hashlib.sha256(version + configuration(source) + preprocessed(entry)).hexdigest()
    except subprocess.CalledProcessError as error:
        return source, error.stderr.decode(errors="replace")
    mark = CACHE / key
    if mark.exists():
        mark.touch()
        return source, None
    run = subprocess.run([tool, "-p", str(build), "--quiet", *OPTIONS, source], capture_output=True, text=True, check=False)
    if run.returncode == 0:
        mark.touch()
        return source, None
    return source, run.stdout + run.stderr


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    wanted = [pathlib.Path(word).resolve() for word in sys.argv[2:]]
    entries = [e for e in json.loads((build / "compile_commands.json").read_text())
               if pathlib.Path(e["file"]).is_relative_to(ROOT) and not pathlib.Path(e["file"]).is_relative_to(build)
               and (not wanted or pathlib.Path(e["file"]) in wanted)]
    entries = list({e["file"]: e for e in entries}.values())
    try:
        tool = python_tools.environment(REQUIREMENTS) / "clang-tidy"
    except python_tools.Unreachable as reason:
        print(f"tidy: {reason}")
        return 1
    version = subprocess.run([tool, "--version"], capture_output=True, check=True).stdout
    CACHE.mkdir(parents=True, exist_ok=True)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        for source, findings in pool.map(lambda e: check(e, build, tool, version), entries):
            if findings is not None:
                failed += 1
                print(f"--- {pathlib.Path(source).relative_to(ROOT)}\n{findings}", flush=True)
    print(f"tidy: {len(entries)} files, {failed} with findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
