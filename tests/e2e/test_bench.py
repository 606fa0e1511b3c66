"""The benchmarks of the API still run: a tiny load through each table. No time is judged here."""

import contextlib
import io
import os
import pathlib
import sys
import unittest

import harness

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import api_bench  # noqa: E402


class Benchmarks(unittest.TestCase):
    """Each table asserts by itself that every request of its load was answered with success."""

    def rows_of(self, name):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            api_bench.TABLES[name](api_bench.TINY)
        lines = [line for line in out.getvalue().splitlines() if line]
        self.assertGreater(len(lines), 2, out.getvalue())
        for line in lines:
            self.assertEqual(line.count("|"), lines[0].count("|"), out.getvalue())
        return lines[2:]

    def test_submit(self):
        """Without it the figures of the submit path could no longer be taken, and nobody would see."""
        self.assertEqual(len(self.rows_of("submit")), 7)

    def test_start(self):
        """Without it the time from a submission to its program's first step could no longer be taken."""
        for row in self.rows_of("start"):
            self.assertGreater(float(row.split("|")[3]), 0, row)

    def test_why(self):
        """Without it the figures of `why` could no longer be taken."""
        self.rows_of("why")

    def test_events(self):
        """Without it the time until subscribers hear of a change could no longer be taken."""
        with harness.Machine() as machine:
            if not api_bench.offers(machine, "/v1/events"):
                self.skipTest("this daemon tells no events")
        self.rows_of("events")

    def test_interference(self):
        """Without it nobody could tell any more what slows the writer."""
        self.rows_of("interference")


class Generator(unittest.TestCase):
    """The load generator itself."""

    def test_counts_from_the_intended_time(self):
        """Without it a daemon that stalls would look fast: the requests it held up would not be counted as late."""
        with harness.Machine() as machine:
            api_bench.add_tenants(machine, 1)
            os.kill(machine.daemon.pid, 19)  # SIGSTOP
            waker = api_bench.subprocess.Popen(["sh", "-c", f"sleep 1; kill -CONT {machine.daemon.pid}"])
            answer = api_bench.load(machine, api_bench.TINY, [{"kind": "submit", "name": "late", "rate": 50,
                                                               "connections": 2}], seconds=0.5)
            waker.wait()
        late = answer["streams"]["late"]
        self.assertEqual(late["sent"], 25)
        self.assertEqual(late["statuses"], {"201": 25})
        # All were meant for the time of the stall; at least half a second passed until any could be answered.
        self.assertGreater(late["quiet"]["p50"], 400)

    def test_says_what_failed(self):
        """Without it a load that the daemon refuses would count as served."""
        with harness.Machine() as machine, self.assertRaisesRegex(AssertionError, "tenant.unknown"):
            api_bench.load(machine, api_bench.TINY, [{"kind": "submit", "name": "refused", "rate": 5}])


if __name__ == "__main__":
    unittest.main()
