#!/usr/bin/env python3
"""Runs the unittest cases of one file and writes {"passed":…, "failed":…, "skipped":…, "reasons": {CASE: WHY}} to a report
file; the reasons are those of what was skipped."""

import importlib.util
import json
import pathlib
import sys
import unittest


class Result(unittest.TextTestResult):
    """Counts what passed. The number of those that ran says less: a fixture that fails or skips is a case that never ran."""

    passed = 0

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.passed += 1


def main():
    path, report_path = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    result = unittest.TextTestRunner(verbosity=2, stream=sys.stdout, resultclass=Result).run(
        unittest.defaultTestLoader.loadTestsFromModule(module))
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    reasons = {str(case.id()).removeprefix(f"{path.stem}."): reason for case, reason in result.skipped}
    report_path.write_text(json.dumps({"passed": result.passed, "failed": failed, "skipped": len(result.skipped), "reasons": reasons}))
    return 0 if failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
