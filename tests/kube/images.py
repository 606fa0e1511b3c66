#!/usr/bin/env python3
"""Images for Pods, built from files of this machine: nothing is pulled from anywhere.

    tests/kube/images.py --name tangram.test/gemm:1 --out gemm.tar --program build/dev/bin/gemm

An image here is one layer above nothing: a static busybox with all its commands, and programs with the shared libraries
that they are linked with, at the paths that they have here. The file is an OCI image layout in a tar archive, which
`ctr images import` reads. The same input gives the same bytes.
"""

import argparse
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import oci_image  # noqa: E402

BUSYBOX = pathlib.Path("/bin/busybox")


class Image(oci_image.Layer):
    """The files of an image. Paths inside are absolute."""

    def __init__(self):
        super().__init__()
        self.environment = ["PATH=/usr/local/bin:/usr/bin:/bin"]
        self.command = ["/bin/sh"]
        for directory in ("proc", "sys", "dev", "etc"):
            self.add_directory(directory)
        self.add_directory("tmp", 0o1777)

    def add_busybox(self):
        if not BUSYBOX.exists():
            raise AssertionError(f"{BUSYBOX} is missing; its Debian package is busybox-static")
        if oci_image.shared_libraries(BUSYBOX):
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
        return oci_image.Image([self], self.command, self.environment).write_archive(out, name)


def base_image():
    """What most Pods of tests run: a shell and its commands."""
    return Image().add_busybox()


def pause_image(program):
    """The image of a Pod's first process, which holds its namespaces."""
    image = Image().add_file("/pause", program, 0o755)
    image.command = ["/pause"]
    return image


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
