"""Container images, written from files of this machine by no engine: the same input gives the same bytes.

    layer = Layer().add_program("/usr/bin/thing")
    Image([layer], command=["/usr/bin/thing"]).write_archive("thing.tar", "registry.example/thing:1")

Source: the Open Container Initiative's image specification 1.1: image-layout.md, manifest.md, config.md, layer.md.
"""

import gzip
import hashlib
import io
import json
import pathlib
import platform
import re
import subprocess
import tarfile

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
MEDIA = "application/vnd.oci.image"


class Layer:
    """Files of an image. Paths inside are absolute; all belong to root, and have no time."""

    def __init__(self):
        self._entries = {}  # path without its slash -> (kind, mode, bytes or target)

    def add(self, path, content, mode=0o644):
        return self._put(path, (tarfile.REGTYPE, mode, content if isinstance(content, bytes) else content.encode()))

    def add_file(self, path, source, mode=None):
        source = pathlib.Path(source)
        return self.add(path, source.read_bytes(), mode or source.stat().st_mode & 0o777)

    def add_link(self, path, target):
        return self._put(path, (tarfile.SYMTYPE, 0o777, target))

    def add_directory(self, path, mode=0o755):
        return self._put(path, (tarfile.DIRTYPE, mode, b""))

    def add_program(self, source, path=None):
        """A program, with its loader and shared libraries where the loader will look for them."""
        source = pathlib.Path(source).resolve()
        self.add_file(path or f"/usr/local/bin/{source.name}", source, 0o755)
        return self.add_libraries(shared_libraries(source))

    def add_libraries(self, libraries):
        for library in libraries:
            self.add_file(str(library), library.resolve(), 0o755)
        return self

    def paths(self):
        return ["/" + path for path in sorted(self._entries)]

    def tar(self):
        """The layer's bytes, with a directory for everything that lies in one."""
        entries = {str(parent): (tarfile.DIRTYPE, 0o755, b"")
                   for path in self._entries for parent in pathlib.PurePosixPath(path).parents if str(parent) != "."}
        entries.update(self._entries)
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            for path, (kind, mode, content) in sorted(entries.items()):
                entry = tarfile.TarInfo(path)
                entry.type, entry.mode = kind, mode
                if kind == tarfile.SYMTYPE:
                    entry.linkname, content = content, b""
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
        return buffer.getvalue()

    def _put(self, path, entry):
        self._entries[path.strip("/")] = entry
        return self


class Image:
    """Layers, the lowest first, and how they are run. `config`: further fields of the container's, as config.md names them."""

    def __init__(self, layers, command=(), environment=(), user="", labels=None, compress=False):
        self.layers, self.compress = list(layers), compress
        self.config = {"Env": list(environment), "Cmd": list(command), "WorkingDir": "/"}
        if user:
            self.config["User"] = user
        if labels:
            self.config["Labels"] = dict(labels)

    def files(self, name):
        """Path -> content of the image layout; `name`: what the image is called, with its tag."""
        tars = [layer.tar() for layer in self.layers]
        blobs = [gzip.compress(tar, mtime=0) if self.compress else tar for tar in tars]
        kind = f"{MEDIA}.layer.v1.tar" + ("+gzip" if self.compress else "")
        config = json_bytes({
            "architecture": ARCHITECTURES[platform.machine()], "os": "linux", "config": self.config,
            "rootfs": {"type": "layers", "diff_ids": [digest(tar) for tar in tars]}})
        manifest = json_bytes({
            "schemaVersion": 2, "mediaType": f"{MEDIA}.manifest.v1+json",
            "config": described(config, f"{MEDIA}.config.v1+json"), "layers": [described(blob, kind) for blob in blobs]})
        index = json_bytes({
            "schemaVersion": 2, "mediaType": f"{MEDIA}.index.v1+json",
            "manifests": [{**described(manifest, f"{MEDIA}.manifest.v1+json"),
                           "annotations": {"io.containerd.image.name": name,
                                           "org.opencontainers.image.ref.name": name.rpartition(":")[2]}}]})
        return {"oci-layout": json_bytes({"imageLayoutVersion": "1.0.0"}), "index.json": index,
                **{f"blobs/sha256/{hashlib.sha256(blob).hexdigest()}": blob for blob in (config, *blobs, manifest)}}

    def write_archive(self, out, name):
        """The layout in a tar archive, as `ctr image import`, `docker load` and `skopeo copy oci-archive:` read it."""
        out = pathlib.Path(out)
        with tarfile.open(out, "w") as archive:
            for path, content in self.files(name).items():
                entry = tarfile.TarInfo(path)
                entry.mode, entry.size = 0o644, len(content)
                archive.addfile(entry, io.BytesIO(content))
        return out

    def write_directory(self, out, name):
        """The layout as a directory, as `skopeo copy oci:` reads it."""
        out = pathlib.Path(out)
        for path, content in self.files(name).items():
            (out / path).parent.mkdir(parents=True, exist_ok=True)
            (out / path).write_bytes(content)
        return out


def shared_libraries(program):
    """The loader and libraries of a program, by the paths that it asks for; nothing for a static one."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        return []
    missing = re.findall(r"^\s*(\S+) => not found", listed.stdout, re.MULTILINE)
    assert not missing, f"{program} needs {', '.join(missing)}"
    return sorted({pathlib.Path(path) for path in re.findall(r"(/\S+) \(0x", listed.stdout)})


def json_bytes(value):
    return json.dumps(value, sort_keys=True).encode()


def digest(content):
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def described(content, media_type):
    return {"mediaType": media_type, "digest": digest(content), "size": len(content)}
