"""fuzz/run.py: what a target finds must fail the run, be kept, and be told so that it can be had again."""

import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# As a libFuzzer program behaves on its command line, as far as the runner looks.
PROGRAM = """\
#!{python}
import pathlib, sys, time
options = dict(word[1:].split("=", 1) for word in sys.argv[1:] if word.startswith("-"))
folders = [pathlib.Path(word) for word in sys.argv[1:] if not word.startswith("-")]
seeds = sorted(path.name for folder in folders for path in folder.iterdir())
print("INFO: seeds", seeds, "time", options["max_total_time"])
print("#2\\tINITED cov: 12 ft: 20 corp: 2/4b exec/s: 0 rss: 1Mb")
print("#9\\tDONE   cov: 34 ft: 50 corp: 5/9b exec/s: 0 rss: 1Mb")
{behaviour}
print("stat::number_of_executed_units: 900")
"""

QUIET = "(folders[0] / 'new').write_text('x')"
CRASH = "pathlib.Path(options['artifact_prefix'] + 'crash-0a1b').write_text('bad'); print('ERROR: deadly'); sys.exit(77)"
DEAD = "sys.exit(1)"
IDLE = "sys.exit(0)"


class FuzzRun(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name)
        for name in ("programs", "seeds/quiet"):
            (self.root / name).mkdir(parents=True)
        (self.root / "seeds/quiet/kept").write_text("seed")

    def program(self, name, behaviour):
        path = self.root / "programs" / name
        path.write_text(PROGRAM.format(python=sys.executable, behaviour=textwrap.dedent(behaviour)))
        path.chmod(0o755)
        return path

    def run_fuzz(self, *words):
        environment = {key: value for key, value in os.environ.items() if key != "TANGRAM_TOTALS"}
        return subprocess.run(
            [sys.executable, ROOT / "fuzz/run.py", "--seconds", "7", "--programs", self.root / "programs", "--seeds",
             self.root / "seeds", "--corpus", self.root / "corpus", "--totals", self.root / "totals", *words],
            capture_output=True, text=True, check=False, env=environment)

    # Without it a run that found nothing could not be told from one that did not run, and its findings would be lost.
    def test_a_quiet_run_passes_and_keeps_its_corpus(self):
        self.program("quiet", QUIET)
        run = self.run_fuzz()
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertRegex(run.stdout, r"quiet +900 +\d+ +34 +5 +\d+  ok\n")
        self.assertTrue(run.stdout.endswith("1 passed, 0 failed\n"), run.stdout)
        self.assertEqual((self.root / "totals").read_text(), "1 0\n")
        self.assertTrue((self.root / "corpus/quiet/new").exists())
        log = (self.root / "corpus/quiet.log").read_text()
        self.assertIn("'kept'", log)
        self.assertIn("time 7", log)

    # Without it a crash would pass by unseen, or be seen and not be found again.
    def test_a_crash_fails_and_can_be_had_again(self):
        self.program("quiet", QUIET)
        crash = self.program("crash", CRASH)
        run = self.run_fuzz("--jobs", "2")
        self.assertEqual(run.returncode, 1)
        self.assertTrue(run.stdout.endswith("1 passed, 1 failed\n"), run.stdout)
        self.assertEqual((self.root / "totals").read_text(), "1 1\n")
        kept = self.root / "corpus/crash.found/crash-0a1b"
        self.assertEqual(kept.read_text(), "bad")
        self.assertIn(f"reproduce: {crash.resolve()} {kept.resolve()}\n", run.stdout)
        self.assertIn("ERROR: deadly", run.stdout)
        self.assertRegex(run.stdout, r"crash +0 +\d+ +34 +5 +\d+  FOUND\n")

    # Without it a target that dies at its start, or runs nothing, would count as one that found nothing.
    def test_a_target_that_does_not_run_fails(self):
        self.program("dead", DEAD)
        self.program("idle", IDLE)
        run = self.run_fuzz()
        self.assertEqual(run.returncode, 1)
        self.assertTrue(run.stdout.endswith("0 passed, 2 failed\n"), run.stdout)
        self.assertIn("FAILED (1)", run.stdout)
        self.assertIn("RAN NOTHING", run.stdout)

    # Without it a misspelt name, or a build that is missing, would be a run without findings.
    def test_targets_are_chosen_by_name(self):
        self.program("quiet", QUIET)
        self.program("crash", CRASH)
        self.assertEqual(self.run_fuzz("--only", "quiet").returncode, 0)
        wrong = self.run_fuzz("--only", "quiet,quite")
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("no target quite", wrong.stderr)


if __name__ == "__main__":
    unittest.main()
