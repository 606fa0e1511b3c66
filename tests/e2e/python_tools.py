"""Python programs that Debian does not have, in virtual environments of their own below the user's cache. What is
installed is named by hash in a requirements file of this directory; a changed file makes a new environment."""

import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
INSTALL_SECONDS_MAX = 600


def cache_dir():
    home = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(home) / "tangram/python"


def environment(requirements):
    """The bin directory of the environment with these requirements, made if it is not there yet. Raises when it cannot
    be made: a test that needs it fails, and is not skipped."""
    text = (HERE / requirements).read_bytes()
    key = hashlib.sha256(text + sys.version.encode()).hexdigest()[:16]
    place = cache_dir() / f"{pathlib.Path(requirements).stem}-{key}"
    done = place / "complete"
    place.parent.mkdir(parents=True, exist_ok=True)
    with open(place.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(place, ignore_errors=True)
            run([sys.executable, "-m", "venv", place])
            run([place / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps",
                 "--only-binary", ":all:", "--require-hashes", "--requirement", HERE / requirements])
            done.touch()
    return place / "bin"


def run(command):
    words = [str(word) for word in command]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=INSTALL_SECONDS_MAX, check=False)
    assert ended.returncode == 0, f"{' '.join(words)}\n{ended.stdout}{ended.stderr}"
