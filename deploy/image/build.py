#!/usr/bin/env python3
"""Makes the image of Tangram's programs for a cluster, by no container engine.

    cmake --build build/release      # or tools/build.sh release
    deploy/image/build.py            # build/image/tangram.tar, and the same as a directory, build/image/layout

The image has the programs, the Debian libraries of this machine that they are linked with, and the licences of both; no shell.
The same programs and libraries give the same digests. What is printed is the digest of the image.

    skopeo copy oci-archive:build/image/tangram.tar docker://registry.example/tangram:0.1.0    # to a registry, or
    ctr -n k8s.io images import build/image/tangram.tar                                        # onto a node
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import oci_image  # noqa: E402

PROGRAMS = ("tangram-kube", "tangram-kube-node", "tangram-dcmi-helper")
COMPONENT = "cluster"
# Of the C library, with which the vendor's libraries are linked by name; ours have all of it in libc itself.
FOR_THE_VENDOR = ("libdl.so.2", "libgcc_s.so.1", "libm.so.6", "libpthread.so.0", "librt.so.1", "libstdc++.so.6")
USER = 65532
ACCOUNTS = f"root:x:0:0:root:/:/sbin/nologin\ntangram:x:{USER}:{USER}:tangram:/:/sbin/nologin\n"


def version():
    return re.search(r"project\(tangram VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text()).group(1)


def make_image(programs):
    """`programs`: the directory of the installed programs."""
    paths = [pathlib.Path(programs) / name for name in PROGRAMS]
    missing = [path.name for path in paths if not path.exists()]
    if missing:
        raise SystemExit(f"image: {', '.join(missing)} is not there; build the whole tree first")
    libraries = set(named_libraries(FOR_THE_VENDOR))
    for path in paths:
        libraries.update(oci_image.shared_libraries(path))
    below = oci_image.Layer().add_libraries(sorted(libraries))
    for directory in ("dev", "proc", "run", "sys", "var"):
        below.add_directory(directory)
    below.add_directory("tmp", 0o1777)
    below.add("/etc/passwd", ACCOUNTS).add("/etc/group", f"root:x:0:\ntangram:x:{USER}:\n")
    below.add("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n")
    for package in packages_of(libraries):
        below.add_file(f"/usr/share/doc/{package}/copyright", f"/usr/share/doc/{package}/copyright", 0o644)
    above = oci_image.Layer().add_file("/usr/share/doc/tangram/LICENSE", ROOT / "LICENSE", 0o644)
    for path in paths:
        above.add_file(f"/usr/bin/{path.name}", path, 0o755)
    return oci_image.Image(
        [below, above], command=[f"/usr/bin/{PROGRAMS[0]}"], environment=["PATH=/usr/bin"], user=f"{USER}:{USER}", compress=True,
        labels={"org.opencontainers.image.title": "Tangram", "org.opencontainers.image.version": version(),
                "org.opencontainers.image.licenses": "Apache-2.0"})


def named_libraries(names):
    """Where the loader finds libraries of this machine's architecture."""
    known = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    found = dict(reversed(re.findall(r"^\s*(\S+) \(libc6[^)]*\) => (\S+)$", known, re.MULTILINE)))
    missing = [name for name in names if name not in found]
    if missing:
        raise SystemExit(f"image: this machine has no {', '.join(missing)}")
    return [pathlib.Path(found[name]) for name in names]


def packages_of(libraries):
    """Debian packages, whose licences go with their libraries."""
    owned = {}
    for path in libraries:
        real = str(path.resolve())
        owned[real] = {str(path), real, real.removeprefix("/usr"), str(path).removeprefix("/usr")}
    asked = sorted({name for names in owned.values() for name in names})
    said = subprocess.run(["dpkg", "-S", *asked], capture_output=True, text=True, check=False).stdout
    packages = {path: package for package, path in re.findall(r"^([^:, ]+)(?::\S+)?: (\S+)$", said, re.MULTILINE)}
    found = set()
    for real, names in owned.items():
        package = next((packages[name] for name in sorted(names) if name in packages), None)
        if package is None:
            raise SystemExit(f"image: {real} is of no Debian package, so nothing says under which licence it may be given away")
        found.add(package)
    return sorted(found)


def install(build, prefix):
    done = subprocess.run(["cmake", "--install", str(build), "--component", COMPONENT, "--strip", "--prefix", str(prefix)],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"image: cmake --install {build}: {done.stderr}")
    return prefix / "bin"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", help="the build directory (build/release)")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/image", help="a directory, which is made anew (build/image)")
    parser.add_argument("--name", default=f"tangram.dev/tangram:{version()}", help="of the image, with its tag (that of the chart)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as prefix:
        image = make_image(install(arguments.build, pathlib.Path(prefix)))
    shutil.rmtree(arguments.out, ignore_errors=True)
    arguments.out.mkdir(parents=True)
    layout = image.write_directory(arguments.out / "layout", arguments.name)
    image.write_archive(arguments.out / "tangram.tar", arguments.name)
    print(re.search(r'"digest": "(\S+)"', (layout / "index.json").read_text()).group(1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
