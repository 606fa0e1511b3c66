"""The daemon, the command and the manual as docs/install.md puts them on a machine: installed below a prefix, and started."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import harness
from harness import Machine

TENANT = "apiVersion: tangram.dev/v1\nkind: Tenant\nmetadata: {name: team-a}\nspec: {quota: {npus: 2}}\n"
PAGE = harness.SOURCE / "docs/install.md"


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="tg-install-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.folder.chmod(0o755)  # jobs of other users run the supervisor from there
        cls.prefix = cls.folder / "prefix"
        done = subprocess.run(["cmake", "--install", str(harness.BUILD), "--prefix", str(cls.prefix)], capture_output=True, text=True,
                              check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def test_what_the_page_lists_is_there(self):
        """Without it the page would send its reader to files that are nowhere."""
        listed = [path for path in re.findall(r"`((?:bin|lib|share|include)/[^`…]*)`", PAGE.read_text())]
        self.assertGreater(len(listed), 8)
        for path in listed:
            self.assertTrue((self.prefix / path).exists(), path)
        self.assertTrue((self.prefix / "share/man/zh_CN/man1/tangram.1").exists())
        self.assertEqual(sorted(path.name for path in (self.prefix / "bin").iterdir()),
                         ["tangram", "tangram-dcmi-helper", "tangram-supervise", "tangramd"])

    def test_the_unit_starts_what_was_installed(self):
        """Without it systemd would start nothing, or another daemon than the one that was installed."""
        unit = (self.prefix / "lib/systemd/system/tangram.service").read_text()
        started = re.findall(r"^Exec(?:Start|StartPre)=(\S+)", unit, re.MULTILINE)
        self.assertEqual(started, [str(self.prefix / "bin/tangramd")] * 2)
        self.assertNotIn("/usr/bin", unit)
        self.assertIn("Type=notify", unit)

    def test_the_unit_starts_without_a_configuration(self):
        """Without it a fresh installation would not start, although the page says that the defaults hold."""
        unit = (self.prefix / "lib/systemd/system/tangram.service").read_text()
        (check,) = re.findall(r"^ExecStartPre=(.*)$", unit, re.MULTILINE)
        done = subprocess.run([*check.split(), "--root", str(self.folder / "fresh")], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("the defaults hold", done.stdout)
        named = subprocess.run([*check.split(), "--config", str(self.folder / "fresh.yaml")], capture_output=True, text=True, check=False)
        self.assertNotEqual(named.returncode, 0, "a file that is named must be there")

    def test_it_runs_a_job(self):
        """Without it the installed daemon could lack a helper that it only finds in the build directory."""
        machine = Machine()
        self.addCleanup(machine.stop)
        machine.start_simulator()
        machine.daemon = machine._spawn([str(self.prefix / "bin/tangramd"), "--root", str(machine.state), "--config",
                                         str(machine.config_path)], "tangramd.log", {})
        machine.wait_until(machine.is_ready, "tangramd is ready", harness.START_SECONDS_MAX, machine.daemon)

        def tangram(*words, text=""):
            done = subprocess.run([self.prefix / "bin/tangram", *words], input=text, capture_output=True, text=True, check=False,
                                  timeout=120, env={"PATH": os.environ["PATH"], "TANGRAM_SOCKET": str(machine.socket)})
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            return done.stdout

        tangram("apply", "-f", "-", text=TENANT)
        tangram("submit", "--wait", "--tenant", "team-a", "--npus", "2", "--name", "first", "--", "sh", "-c", "echo $TANGRAM_NPUS")
        self.assertEqual(tangram("logs", "first"), "0,1\n")

    def complete(self, *command):
        """What a shell says that knows the prefix as a place for everybody's files."""
        shown = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, stdin=subprocess.DEVNULL,
                               env={**os.environ, "PATH": f"{self.prefix / 'bin'}:{os.environ['PATH']}",
                                    "XDG_DATA_DIRS": f"{self.prefix / 'share'}:/usr/share", "HOME": str(self.folder)})
        self.assertEqual((shown.returncode, shown.stderr), (0, ""), command)
        return [line.partition("\t")[0] for line in shown.stdout.splitlines()]

    def test_shells_complete_the_command_by_themselves(self):
        """Without it the scripts would be there, and none of the shells would find them, or find those of another version."""
        scripts = {"bash": "bash-completion/completions/tangram", "zsh": "zsh/site-functions/_tangram",
                   "fish": "fish/vendor_completions.d/tangram.fish"}
        for shell, path in scripts.items():
            printed = subprocess.run([self.prefix / "bin/tangram", "completion", shell], capture_output=True, text=True, check=True)
            self.assertEqual((self.prefix / "share" / path).read_text(), printed.stdout, shell)
        self.assertEqual(self.complete("bash", "--norc", "-c", f"""
            source {self.prefix / "share" / scripts["bash"]}
            complete -p tangram
            COMP_WORDS=(tangram qu) COMP_CWORD=1
            _tangram
            printf '%s\\n' "${{COMPREPLY[@]}}" """), ["complete -F _tangram tangram", "queue", "quota"])
        self.assertEqual(self.complete("zsh", "-f", "-c", f"""
            fpath=({self.prefix / "share/zsh/site-functions"} $fpath)
            autoload -Uz compinit && compinit -u -D
            print $_comps[tangram]"""), ["_tangram"])
        self.assertEqual(self.complete("fish", "-c", "complete -C'tangram qu'"), ["queue", "quota"])

    def test_the_manual_is_found(self):
        """Without it `man tangram` would say that there is no such page."""
        environment = {**os.environ, "MANPATH": str(self.prefix / "share/man"), "MANWIDTH": "100"}
        for page, word in (("tangram", "submit"), ("tangramd", "--check-config")):
            shown = subprocess.run(["man", page], capture_output=True, text=True, check=False, env=environment, timeout=60)
            self.assertEqual(shown.returncode, 0, shown.stderr)
            self.assertIn(word, shown.stdout)


if __name__ == "__main__":
    unittest.main()
