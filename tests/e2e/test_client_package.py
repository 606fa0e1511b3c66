"""The C++ client as somebody outside of this tree gets it: installed, found by CMake, and used."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

import harness
from harness import Machine
from remote import Remote

PROJECT = harness.SOURCE / "tests/client/outside_project"
TENANT = "apiVersion: tangram.dev/v1\nkind: Tenant\nmetadata: {name: team-a}\nspec: {quota: {npus: 2}}\n"
NPUS = 8


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, timeout=600, **options)
    assert done.returncode == 0, f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}"
    return done.stdout


def cache_value(name):
    text = (harness.BUILD / "CMakeCache.txt").read_text()
    found = re.search(rf"^{name}:\w+=(.*)$", text, re.MULTILINE)
    return found.group(1) if found else ""


class PackageCase(unittest.TestCase):
    """A program that was built with the installed package, and a daemon for it."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="tg-sdk-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.prefix = cls.folder / "prefix"
        run("cmake", "--install", harness.BUILD, "--prefix", cls.prefix, "--component", "client")
        # A library with a sanitizer needs a program with it.
        sanitizers = cache_value("TANGRAM_SANITIZE")
        cls.sanitizer_flags = [f"-fsanitize={sanitizers}"] if sanitizers else []
        flags = [f"-DCMAKE_CXX_FLAGS={flag}" for flag in cls.sanitizer_flags]
        cls.build = cls.folder / "build"
        run("cmake", "-S", PROJECT, "-B", cls.build, f"-DCMAKE_PREFIX_PATH={cls.prefix}", *flags)
        run("cmake", "--build", cls.build)

    def make_machine(self):
        return Machine()

    def environment(self):
        return {"TANGRAM_SOCKET": str(self.machine.socket)}

    def setUp(self):
        self.machine = self.make_machine()
        self.addCleanup(self.machine.stop)
        self.machine.start()
        self.machine.apply(TENANT)

    def holder(self, *words, **env):
        process = subprocess.Popen(
            [self.build / "holder", *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, env={**os.environ, **self.environment(), **env}, preexec_fn=harness.die_with_parent)
        self.addCleanup(self.close, process)
        return process

    @staticmethod
    def close(process):
        process.kill()
        process.communicate()

    def free(self):
        return self.machine.status()["npusFree"]


class Package(PackageCase):
    def test_a_killed_program_loses_its_lease(self):
        """Without it the package could be unusable outside of this tree, or a program's death leave NPUs taken."""
        first = self.holder("team-a", 2)
        line = first.stdout.readline()
        self.assertRegex(line, r"^j-\d+ holds 0,1$", first.stderr.read() if not line else "")
        job = line.split()[0]
        self.assertEqual(self.free(), NPUS - 2)
        second = self.holder("team-a", 1)
        self.assertEqual(second.wait(timeout=30), 1)
        self.assertIn("quota.npus.exceeded: ", second.stderr.read())
        first.send_signal(signal.SIGKILL)
        ended = self.machine.wait_for(job, "ended", timeout=10)
        self.assertEqual(ended["outcome"], "lost")
        self.assertEqual(self.free(), NPUS)

    def test_a_program_gives_its_lease_back(self):
        """Without it release() could return before the NPUs are free, or the end look like an accident."""
        holder = self.holder("team-a", 1)
        job = holder.stdout.readline().split()[0]
        self.machine.kill_daemon()
        self.machine.start_daemon()
        self.machine.wait_until(lambda: self.machine.job(job)["state"] == "running", "it is held again")
        out, err = holder.communicate("\n", timeout=60)
        self.assertEqual((holder.returncode, out), (0, "released\n"), err)
        self.assertEqual(self.machine.job(job)["outcome"], "succeeded")
        self.assertEqual(self.free(), NPUS)

    def test_the_example_of_the_page_works_as_printed(self):
        """Without it the first program that somebody copies from docs/client.md would not compile, or find no tenant."""
        page = (harness.SOURCE / "docs/client.md").read_text()
        cmake, program = (re.search(rf"^```{language}\n(.*?)^```", page, re.MULTILINE | re.DOTALL).group(1)
                          for language in ("cmake", "cpp"))
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        (folder / "main.cc").write_text(program)
        (folder / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\nproject(page CXX)\n" + cmake)
        flags = ["-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Werror " + " ".join(self.sanitizer_flags)]
        run("cmake", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}", *flags)
        run("cmake", "--build", folder / "build")
        self.machine.apply((harness.SOURCE / "examples/quickstart/tenants.yaml").read_text())
        said = run(folder / "build/program", env={**os.environ, **self.environment()})
        self.assertRegex(said, r"^j-\d+ holds NPUs 0,1\n$")
        self.assertEqual(self.free(), NPUS)

    def test_the_headers_need_the_standard_library_alone(self):
        """Without it a program would need our dependencies, and break when we change them."""
        headers = sorted((self.prefix / "include/tangram").glob("*.h"))
        self.assertIn("client.h", [header.name for header in headers])
        for header in headers:
            for include in re.findall(r"^#include (.*)$", header.read_text(), re.MULTILINE):
                self.assertRegex(include, r'^(<[a-z_]+>|"tangram/[a-z_]+\.h")$', header.name)
            run("g++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", self.prefix / "include",
                "-x", "c++", "-", input=f"#include <tangram/{header.name}>\n")

    def test_the_library_shows_nothing_but_its_own_names(self):
        """Without it a program with another version of a library of ours would get the wrong one of the two."""
        library = next(self.prefix.rglob("libtangram_client.so"))
        names = run("nm", "--dynamic", "--defined-only", "--demangle", library).splitlines()
        foreign = [name for name in names if " A " not in name and not re.search(
            r" tangram::api::(?:Client|Lease|Subscription)::", name)]
        self.assertEqual(foreign, [])


class PackageOverTheNetwork(PackageCase):
    """The same program with TLS and a token."""

    GRACE_SECONDS = 2

    def make_machine(self):
        return Remote(config={"jobs": {"leaseGrace": f"{self.GRACE_SECONDS}s"}})

    def environment(self):
        return {"TANGRAM_SERVER": f"https://localhost:{self.machine.port}", "TANGRAM_CA_FILE": str(self.machine.ca),
                "TANGRAM_TOKEN": self.secret}

    def setUp(self):
        super().setUp()
        self.secret = self.machine.token("a", "tenant", "--tenant", "team-a")

    def test_a_program_elsewhere_holds_a_lease_until_it_is_killed(self):
        """Without it programs on other machines would have no C++ client, or keep NPUs for ever when they die."""
        holder = self.holder("team-a", 2)
        line = holder.stdout.readline()
        self.assertRegex(line, r"^j-\d+ holds 0,1$", holder.stderr.read() if not line else "")
        self.assertEqual(self.free(), NPUS - 2)
        holder.send_signal(signal.SIGKILL)
        ended = self.machine.wait_for(line.split()[0], "ended", timeout=self.GRACE_SECONDS + 30)
        self.assertEqual(ended["outcome"], "lost")
        self.assertEqual(self.free(), NPUS)

    def test_it_says_why_it_is_not_let_in(self):
        """Without it a program could trust a stranger with its token, or leave its user guessing."""
        for env, reason in (({"TANGRAM_CA_FILE": "/etc/ssl/certs/ca-certificates.crt"}, "client.tls.untrusted: "),
                            ({"TANGRAM_TOKEN": "tgt_1_" + "0" * 64}, "token.invalid: "),
                            ({"TANGRAM_TOKEN": ""}, "token.missing: ")):
            holder = self.holder("team-a", 1, **env)
            _, err = holder.communicate(timeout=60)
            self.assertEqual(holder.returncode, 1)
            self.assertTrue(err.startswith(reason), err)


if __name__ == "__main__":
    unittest.main()
