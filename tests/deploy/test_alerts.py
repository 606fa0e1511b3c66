"""The alert rules, by Prometheus' own tool: that it takes them, and that each is raised when it should be and not otherwise."""

import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RULES = ROOT / "deploy/prometheus/alerts.yaml"
CASES = pathlib.Path(__file__).with_name("alerts_test.yaml")
# Where the names of metrics that a rule may go by are written down.
METRIC_SOURCES = ("src/kube",)


def promtool(*words, directory):
    return subprocess.run(["promtool", *map(str, words)], cwd=directory, capture_output=True, text=True, check=False, timeout=120)


class Alerts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        shutil.copy(RULES, self.folder)
        shutil.copy(CASES, self.folder)

    def test_prometheus_takes_the_rules(self):
        """Without it Prometheus would not start, or its operator would refuse the rules, and no alert would ever be raised."""
        checked = promtool("check", "rules", "alerts.yaml", directory=self.folder)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

    def test_each_is_raised_when_it_should_be(self):
        """Without it an alert could be silent when it matters, or wake somebody for nothing."""
        run = promtool("test", "rules", CASES.name, directory=self.folder)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def test_each_alert_has_a_case_that_raises_it(self):
        """Without it a rule that is added could be one that never fires."""
        alerts = re.findall(r"- alert: (\w+)", RULES.read_text())
        self.assertGreater(len(alerts), 5)
        raised = re.findall(r"alertname: (\w+)\n\s+exp_alerts:\n", CASES.read_text())
        self.assertEqual(set(alerts), set(raised))

    def test_the_cases_fail_for_other_rules(self):
        """Without it the cases could pass whatever the rules say."""
        rules = self.folder / "alerts.yaml"
        rules.write_text(RULES.read_text().replace("> 0.85", "> 0.95"))
        self.assertNotEqual(promtool("test", "rules", CASES.name, directory=self.folder).returncode, 0)

    def test_what_they_go_by_is_measured(self):
        """Without it a metric that is renamed would leave an alert that can never be raised."""
        used = set(re.findall(r"\b(?:tangram|hami)_[a-z_]+\b", "\n".join(re.findall(r"expr: (.*)", RULES.read_text()))))
        self.assertTrue(used)
        written = "\n".join(path.read_text() for source in METRIC_SOURCES for path in (ROOT / source).rglob("*.cc"))
        for name in used:
            self.assertTrue(f'"{name}"' in written, f"nothing measures {name}")


if __name__ == "__main__":
    unittest.main()
