"""What `make run` says where it cannot work."""

import os
import pathlib
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Run(unittest.TestCase):
    def refused(self, root):
        ended = subprocess.run([ROOT / "tools/run.sh", "start"], env={**os.environ, "TANGRAM_DEMO_ROOT": root}, check=False,
                               capture_output=True, text=True, timeout=30)
        self.assertFalse(pathlib.Path(root).exists())
        return ended

    @unittest.skipIf(os.geteuid() != 0, "without root jobs see the /tmp of all")
    def test_a_place_that_jobs_cannot_see_is_refused(self):
        """Without it every example would end as not-started, and nobody would know why."""
        for root in ("/tmp/tangram-demo-nowhere", "/var/tmp/../tmp/tangram-demo-nowhere"):
            ended = self.refused(root)
            self.assertEqual(ended.returncode, 2, ended)
            self.assertIn("each job has a /tmp", ended.stderr)
            self.assertIn("choose another directory", ended.stderr)


if __name__ == "__main__":
    unittest.main()
