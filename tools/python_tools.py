"""Programs of the Python package index, in virtual environments of their own below the user's cache. What is installed
is named by hash in a requirements file; a changed file makes a new environment."""

import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

INSTALL_SECONDS_MAX = 600


class Unreachable(unittest.SkipTest):
    """The package index cannot be reached; a test that needs it is skipped with that reason."""


def cache_dir():
    home = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(home) / "tangram/python"


def environment(requirements):
    """The bin directory of the environment with these requirements (a path), made if it is not there yet. Raises
    Unreachable where the index cannot be reached: the repository and Debian's packages must be enough to pass the
    tests. With CI=true it fails: there nobody would notice that the check is gone."""
    text = requirements.read_bytes()
    key = hashlib.sha256(text + sys.version.encode()).hexdigest()[:16]
    place = cache_dir() / f"{requirements.stem}-{key}"
    done = place / "complete"
    place.parent.mkdir(parents=True, exist_ok=True)
    with open(place.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(place, ignore_errors=True)
            run([sys.executable, "-m", "venv", place])
            install([place / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps",
                     "--only-binary", ":all:", "--require-hashes", "--requirement", requirements])
            done.touch()
    return place / "bin"


def install(command):
    try:
        run(command)
    except AssertionError as error:
        if "connection broken" not in str(error) or os.environ.get("CI") == "true":
            raise
        raise Unreachable("needs the Python package index, which cannot be reached from here") from error


def run(command):
    words = [str(word) for word in command]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=INSTALL_SECONDS_MAX, check=False)
    assert ended.returncode == 0, f"{' '.join(words)}\n{ended.stdout}{ended.stderr}"
