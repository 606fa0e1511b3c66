"""Counting the cases of several runs, and what is told of them beside the counts."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import run_suites  # noqa: E402


class Totals(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.file = pathlib.Path(directory.name) / "totals"

    def test_a_new_file_begins_at_nothing(self):
        """Without it the first run of all would end with an error instead of its count."""
        run_suites.add_totals(self.file, 3, 1)
        self.assertEqual(self.file.read_text(), "3 1\n")

    def test_an_empty_file_begins_at_nothing(self):
        """Without it a file that was made beforehand, as CI does, would stop the first run."""
        self.file.touch()
        run_suites.add_totals(self.file, 3, 1)
        self.assertEqual(self.file.read_text(), "3 1\n")

    def test_shell_and_python_add_to_the_same_file(self):
        """Without it the stages of CI that are no suites would be counted apart."""
        self.file.touch()
        for _ in range(2):
            subprocess.run([ROOT / "tools/count.sh", self.file, "1", "2"], check=True)
            run_suites.add_totals(self.file, 10, 20)
        self.assertEqual(self.file.read_text(), "22 44\n")


# As a GoogleTest binary behaves on its command line, as far as the runner looks.
SUITE = """#!{python}
import json, sys
print("[ RUN      ] One.Works\\n[       OK ] One.Works (3 ms)")
print("[ RUN      ] One.NeedsRoot\\n/src/one_test.cc:12: Skipped\\nonly root may\\n  do that\\n\\n[  SKIPPED ] One.NeedsRoot (0 ms)")
print("[ RUN      ] One.SaysNothing\\n/src/one_test.cc:15: Skipped\\n\\n\\n[  SKIPPED ] One.SaysNothing (0 ms)")
print("talk\\nfigure: 12 ms\\nmore talk, no figure: 13")
cases = [dict(name=name, status="RUN", result=result) for name, result in
         (("Works", "COMPLETED"), ("NeedsRoot", "SKIPPED"), ("SaysNothing", "SKIPPED"))]
open(sys.argv[1].partition("json:")[2], "w").write(json.dumps({{"testsuites": [{{"testsuite": cases}}]}}))
"""

CASES = """
import unittest

class Two(unittest.TestCase):
    def test_works(self):
        print("figure: 14 ms")

    @unittest.skip("no such machine")
    def test_skipped(self):
        pass

class Three(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise unittest.SkipTest("needs what is not here")

    def test_never_runs(self):
        pass
"""


class Told(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name)

    def test_skips_and_figures_are_shown(self):
        """Without it a check that never runs would look like one that passes, and what a test measures would be lost."""
        binary = self.root / "build/tests/test_one"
        binary.parent.mkdir(parents=True)
        binary.write_text(SUITE.format(python=sys.executable))
        binary.chmod(0o755)
        skips = self.root / "skips"
        for _ in range(2):
            run = subprocess.run([sys.executable, ROOT / "tools/run_suites.py", self.root / "build", "--units-only", "--skips", skips],
                                 capture_output=True, text=True, check=True)
        lines = run.stdout.splitlines()
        told = ["one: One.NeedsRoot: only root may do that", "one: One.SaysNothing: no reason was given"]
        self.assertEqual([line.strip() for line in lines[-6:]], ["", "skipped, 2:", *told, "", "1 passed, 0 failed"])
        self.assertEqual(skips.read_text().splitlines(), told * 2)
        self.assertEqual([line.strip() for line in lines if "figure" in line], ["figure: 12 ms"])
        self.assertNotIn("talk", run.stdout)

    def test_python_says_why_it_skips(self):
        """Without it the skips of the end-to-end tests would have no reasons."""
        (self.root / "test_two.py").write_text(CASES)
        subprocess.run([sys.executable, ROOT / "tools/run_unittest.py", self.root / "test_two.py", self.root / "report"], check=True,
                       capture_output=True)
        report = json.loads((self.root / "report").read_text())
        reasons = report.pop("reasons")
        self.assertEqual(report, {"passed": 1, "failed": 0, "skipped": 2})
        self.assertEqual(reasons, {"Two.test_skipped": "no such machine", "setUpClass (test_two.Three)": "needs what is not here"})


class Selection(unittest.TestCase):
    def test_a_folder_apart_is_named_or_left_out(self):
        """Without it `make test` would want a Kubernetes, or the Kubernetes suites would never run."""
        named = {path.parent.name for path in run_suites.python_suites("kube")}
        others = {path.parent.name for path in run_suites.python_suites(None)}
        self.assertEqual(named, {"kube"})
        self.assertTrue({"e2e", "tools"} <= others, others)
        self.assertNotIn("kube", others)


if __name__ == "__main__":
    unittest.main()
