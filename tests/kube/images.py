#!/usr/bin/env python3
"""Images for Pods, built from files of this machine: nothing is pulled from anywhere.

    tests/kube/images.py --name tangram.test/gemm:1 --out gemm.tar --program build/dev/bin/gemm

An image here is one layer above nothing: a static busybox with all its commands, and programs with the shared libraries
that they are linked with, at the paths that they have here. The file is an OCI image layout in a tar archive, which
`ctr images import` reads. The same input gives the same bytes.
"""

import argparse
import hashlib
import io
import json
import pathlib
import platform
import re
import subprocess
import sys
import tarfile

BUSYBOX = pathlib.Path("/bin/busybox")
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
MEDIA = "application/vnd.oci.image"


class Image:
    """The files of an image. Paths inside are absolute."""

    def __init__(self):
        self._entries = {}  # path without its slash -> (mode, bytes), or (None, target of a link)
        self.environment = ["PATH=/usr/local/bin:/usr/bin:/bin"]
        self.command = ["/bin/sh"]

    def add(self, path, content, mode=0o644):
        self._entries[path.strip("/")] = (mode, content if isinstance(content, bytes) else content.encode())
        return self

    def add_file(self, path, source, mode=None):
        source = pathlib.Path(source)
        return self.add(path, source.read_bytes(), mode or source.stat().st_mode & 0o777)

    def add_link(self, path, target):
        self._entries[path.strip("/")] = (None, target)
        return self

    def add_program(self, source, path=None):
        """A program, with its loader and shared libraries where the loader will look for them."""
        source = pathlib.Path(source).resolve()
        self.add_file(path or f"/usr/local/bin/{source.name}", source, 0o755)
        for library in shared_libraries(source):
            self.add_file(str(library), library.resolve(), 0o755)
        return self

    def add_busybox(self):
        if not BUSYBOX.exists():
            raise AssertionError(f"{BUSYBOX} is missing; its Debian package is busybox-static")
        if shared_libraries(BUSYBOX):
            raise AssertionError(f"{BUSYBOX} is not static; install the Debian package busybox-static")
        self.add_file("/bin/busybox", BUSYBOX, 0o755)
        names = subprocess.run([BUSYBOX, "--list"], capture_output=True, text=True, check=True).stdout.split()
        for name in names:
            if name != "busybox":
                self.add_link(f"/bin/{name}", "busybox")
        self.add("/etc/passwd", "root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n")
        return self.add("/etc/group", "root:x:0:\nnogroup:x:65534:\n")

    def write(self, out, name):
        """Writes the archive; `name` is what Pods call the image, with its tag. Returns the path."""
        layer = self._layer()
        config = json_bytes({
            "architecture": ARCHITECTURES[platform.machine()], "os": "linux",
            "config": {"Env": self.environment, "Cmd": self.command, "WorkingDir": "/"},
            "rootfs": {"type": "layers", "diff_ids": [digest(layer)]},
        })
        manifest = json_bytes({
            "schemaVersion": 2, "mediaType": f"{MEDIA}.manifest.v1+json",
            "config": described(config, f"{MEDIA}.config.v1+json"), "layers": [described(layer, f"{MEDIA}.layer.v1.tar")],
        })
        index = json_bytes({
            "schemaVersion": 2, "mediaType": f"{MEDIA}.index.v1+json",
            "manifests": [{**described(manifest, f"{MEDIA}.manifest.v1+json"), "annotations": {"io.containerd.image.name": name}}],
        })
        blobs = {f"blobs/sha256/{hashlib.sha256(blob).hexdigest()}": blob for blob in (config, layer, manifest)}
        out = pathlib.Path(out)
        with tarfile.open(out, "w") as archive:
            for path, content in {"oci-layout": json_bytes({"imageLayoutVersion": "1.0.0"}), "index.json": index, **blobs}.items():
                add_member(archive, path, 0o644, content)
        return out

    def _layer(self):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            parents = {str(parent) for path in self._entries for parent in pathlib.PurePosixPath(path).parents}
            for directory in sorted(parents - {"."} | {"tmp", "proc", "sys", "dev", "etc"}):
                entry = tarfile.TarInfo(directory)
                entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if directory == "tmp" else 0o755
                archive.addfile(entry)
            for path, (mode, content) in sorted(self._entries.items()):
                if mode is None:
                    entry = tarfile.TarInfo(path)
                    entry.type, entry.linkname = tarfile.SYMTYPE, content
                    archive.addfile(entry)
                else:
                    add_member(archive, path, mode, content)
        return buffer.getvalue()


def base_image():
    """What most Pods of tests run: a shell and its commands."""
    return Image().add_busybox()


def pause_image(program):
    """The image of a Pod's first process, which holds its namespaces."""
    image = Image().add_file("/pause", program, 0o755)
    image.command = ["/pause"]
    return image


def shared_libraries(program):
    """The loader and libraries of a program, by the paths that it asks for; nothing for a static one."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        return []
    missing = re.findall(r"^\s*(\S+) => not found", listed.stdout, re.MULTILINE)
    assert not missing, f"{program} needs {', '.join(missing)}"
    return sorted({pathlib.Path(path) for path in re.findall(r"(/\S+) \(0x", listed.stdout)})


def add_member(archive, path, mode, content):
    entry = tarfile.TarInfo(path)
    entry.mode, entry.size = mode, len(content)
    archive.addfile(entry, io.BytesIO(content))


def json_bytes(value):
    return json.dumps(value, sort_keys=True).encode()


def digest(content):
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def described(content, media_type):
    return {"mediaType": media_type, "digest": digest(content), "size": len(content)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", required=True, help="of the image, with its tag")
    parser.add_argument("--out", required=True, type=pathlib.Path, help="the archive to write")
    parser.add_argument("--program", action="append", default=[], type=pathlib.Path,
                        help="goes into /usr/local/bin with its libraries; the last one is what the image runs")
    arguments = parser.parse_args()
    image = base_image()
    for program in arguments.program:
        image.add_program(program)
        image.command = [f"/usr/local/bin/{program.name}"]
    image.write(arguments.out, arguments.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
