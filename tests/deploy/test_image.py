"""The image for a cluster: by the specification of the Open Container Initiative, with all that its programs need, and no more rights
than it should have."""

import gzip
import hashlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TANGRAM_BUILD", ROOT / "build/dev")).resolve()
SCRIPT = ROOT / "deploy/image/build.py"
PROGRAMS = ("tangram-kube", "tangram-kube-node", "tangram-dcmi-helper")
MEDIA = "application/vnd.oci.image"
folder = None


def setUpModule():
    global folder
    directory = tempfile.TemporaryDirectory(prefix="tg-image-")
    unittest.addModuleCleanup(directory.cleanup)
    folder = pathlib.Path(directory.name)
    folder.chmod(0o755)
    build("first")
    unpack(folder / "first/layout", folder / "root")


def build(name):
    made = subprocess.run([sys.executable, SCRIPT, "--build", BUILD, "--out", folder / name], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
    return made.stdout.strip()


def blob(layout, descriptor):
    """What a descriptor leads to, which has to be what it says."""
    kind, _, digest = descriptor["digest"].partition(":")
    content = (layout / "blobs" / kind / digest).read_bytes()
    assert (kind, hashlib.sha256(content).hexdigest(), len(content)) == ("sha256", digest, descriptor["size"]), descriptor
    return content


def manifest_of(layout):
    (descriptor,) = json.loads((layout / "index.json").read_text())["manifests"]
    return json.loads(blob(layout, descriptor))


def config_of(layout):
    return json.loads(blob(layout, manifest_of(layout)["config"]))


def members(layout):
    """(layer's archive, member) of all layers, the lowest first."""
    for descriptor in manifest_of(layout)["layers"]:
        with tarfile.open(fileobj=io.BytesIO(gzip.decompress(blob(layout, descriptor)))) as archive:
            for member in archive:
                yield archive, member


def unpack(layout, root):
    for archive, member in members(layout):
        archive.extract(member, root, filter="tar") if hasattr(tarfile, "tar_filter") else archive.extract(member, root)


def inside(*command):
    return subprocess.run(["/usr/sbin/chroot", folder / "root", *command], capture_output=True, text=True, check=False, timeout=60, env={})


class Specification(unittest.TestCase):
    def test_it_is_a_layout(self):
        """Without it registries and runtimes would refuse the image."""
        layout = folder / "first/layout"
        self.assertEqual(json.loads((layout / "oci-layout").read_text()), {"imageLayoutVersion": "1.0.0"})
        index = json.loads((layout / "index.json").read_text())
        self.assertEqual((index["schemaVersion"], index["mediaType"]), (2, f"{MEDIA}.index.v1+json"))
        manifest = manifest_of(layout)
        self.assertEqual((manifest["schemaVersion"], manifest["mediaType"]), (2, f"{MEDIA}.manifest.v1+json"))
        self.assertEqual(manifest["config"]["mediaType"], f"{MEDIA}.config.v1+json")
        config = config_of(layout)
        tars = []
        for descriptor in manifest["layers"]:
            self.assertEqual(descriptor["mediaType"], f"{MEDIA}.layer.v1.tar+gzip")
            tars.append("sha256:" + hashlib.sha256(gzip.decompress(blob(layout, descriptor))).hexdigest())
        self.assertEqual(config["rootfs"], {"type": "layers", "diff_ids": tars})
        self.assertEqual((config["os"], config["architecture"]), ("linux", {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]))

    def test_nothing_lies_in_it_that_nothing_leads_to(self):
        """Without it a leftover would be pushed to every registry."""
        layout = folder / "first/layout"
        index = json.loads((layout / "index.json").read_text())
        manifest = manifest_of(layout)
        wanted = [index["manifests"][0], manifest["config"], *manifest["layers"]]
        self.assertEqual({path.name for path in (layout / "blobs/sha256").iterdir()},
                         {descriptor["digest"].removeprefix("sha256:") for descriptor in wanted})

    def test_archive_and_directory_are_one_image(self):
        """Without it a node would run something else than what was pushed."""
        with tarfile.open(folder / "first/tangram.tar") as archive:
            files = {member.name: archive.extractfile(member).read() for member in archive if member.isfile()}
        layout = folder / "first/layout"
        self.assertEqual(files, {str(path.relative_to(layout)): path.read_bytes() for path in layout.rglob("*") if path.is_file()})

    def test_the_same_input_gives_the_same_digest(self):
        """Without it nobody could tell whether an image is what the sources make."""
        first = json.loads((folder / "first/layout/index.json").read_text())["manifests"][0]["digest"]
        self.assertEqual(build("second"), first)
        self.assertEqual((folder / "second/tangram.tar").read_bytes(), (folder / "first/tangram.tar").read_bytes())


class Content(unittest.TestCase):
    def test_nobody_gains_rights_by_it(self):
        """Without it a process of the image could be root, or write over its own programs."""
        config = config_of(folder / "first/layout")["config"]
        self.assertEqual(config["User"], "65532:65532")
        self.assertEqual(config["Cmd"], ["/usr/bin/tangram-kube"])
        for _, member in members(folder / "first/layout"):
            self.assertEqual((member.uid, member.gid, member.mtime), (0, 0, 0), member.name)
            self.assertFalse(member.mode & 0o6000, member.name)
            if member.name != "tmp" and not member.issym():
                self.assertFalse(member.mode & 0o022, member.name)
            self.assertTrue(member.isdir() or member.isfile() or member.issym(), member.name)

    def test_it_has_no_shell_and_nothing_of_this_machine(self):
        """Without it files of whoever builds the image would be given to everybody."""
        tops = {pathlib.PurePosixPath(member.name).parts[0] for _, member in members(folder / "first/layout")}
        self.assertLessEqual(tops, {"dev", "etc", "lib", "lib64", "proc", "run", "sys", "tmp", "usr", "var"})
        programs = sorted(path.name for path in (folder / "root/usr/bin").iterdir())
        self.assertEqual(programs, sorted(PROGRAMS))
        settings = sorted(path.name for path in (folder / "root/etc").iterdir())
        self.assertEqual(settings, ["group", "nsswitch.conf", "passwd"])

    def test_libraries_come_with_their_licences(self):
        """Without it the image could not be given to anybody."""
        notices = {path.parent.name for path in (folder / "root/usr/share/doc").glob("*/copyright")}
        self.assertIn("libc6", notices)
        self.assertTrue(any(name.startswith("libssl") for name in notices), notices)
        self.assertTrue((folder / "root/usr/share/doc/tangram/LICENSE").exists())


@unittest.skipUnless(os.geteuid() == 0, "another root directory needs root")
class Programs(unittest.TestCase):
    def test_they_find_all_their_libraries(self):
        """Without it a container of the image would end before it began."""
        (loader,) = (folder / "root").glob("lib*/ld-linux*")
        for name in PROGRAMS:
            listed = inside("/" + str(loader.relative_to(folder / "root")), "--list", f"/usr/bin/{name}")
            self.assertEqual(listed.returncode, 0, listed.stdout + listed.stderr)
            self.assertNotIn("not found", listed.stdout)

    def test_they_start(self):
        """Without it a program could need a file that only the machine has which built it."""
        for name in PROGRAMS[:2]:
            shown = inside(f"/usr/bin/{name}", "--help")
            self.assertEqual((shown.returncode, shown.stderr), (0, ""))
            self.assertTrue(shown.stdout.startswith(f"usage: {name}"), shown.stdout)

    def test_a_library_of_the_vendors_finds_the_c_library_by_its_old_names(self):
        """Without it libdcmi.so of a driver that was built against an older C library would not load."""
        for name in ("libdl.so.2", "libpthread.so.0", "librt.so.1", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1"):
            self.assertTrue(list((folder / "root").glob(f"lib/*/{name}")) or list((folder / "root").glob(f"usr/lib/*/{name}")), name)


if __name__ == "__main__":
    unittest.main()
