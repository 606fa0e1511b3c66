"""Counting the cases of several runs."""

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


if __name__ == "__main__":
    unittest.main()
