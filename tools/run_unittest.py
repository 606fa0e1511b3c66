#!/usr/bin/env python3
"""Runs the unittest cases of one file and writes {"passed":…, "failed":…, "skipped":…} to a report file."""

import importlib.util
import json
import pathlib
import sys
import unittest


def main():
    path, report_path = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    result = unittest.TextTestRunner(verbosity=2, stream=sys.stdout).run(
        unittest.defaultTestLoader.loadTestsFromModule(module))
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    skipped = len(result.skipped)
    # A fixture that fails counts as an error without a test that ran, hence the max().
    passed = max(0, result.testsRun - failed - skipped)
    report_path.write_text(json.dumps({"passed": passed, "failed": failed, "skipped": skipped}))
    return 0 if failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
