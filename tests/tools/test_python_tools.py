"""Tools from the Python package index: where it cannot be reached."""

import os
import pathlib
import sys
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import python_tools  # noqa: E402

UNREACHABLE = [sys.executable, "-c", "print('WARNING: connection broken by NewConnectionError'); raise SystemExit(1)"]
BROKEN = [sys.executable, "-c", "print('hashes do not match'); raise SystemExit(1)"]


class Index(unittest.TestCase):
    def test_without_it_a_test_is_skipped_and_in_ci_it_fails(self):
        """Without it CI would pass for ever without a check that it lists, or a machine without a network never pass."""
        with unittest.mock.patch.dict(os.environ, {"CI": ""}), self.assertRaisesRegex(unittest.SkipTest, "package index"):
            python_tools.install(UNREACHABLE)
        with unittest.mock.patch.dict(os.environ, {"CI": "true"}), self.assertRaisesRegex(AssertionError, "connection broken"):
            python_tools.install(UNREACHABLE)

    def test_what_is_wrong_with_a_package_fails_everywhere(self):
        """Without it a package that was tampered with would only be skipped."""
        with unittest.mock.patch.dict(os.environ, {"CI": ""}), self.assertRaisesRegex(AssertionError, "hashes"):
            python_tools.install(BROKEN)


if __name__ == "__main__":
    unittest.main()
