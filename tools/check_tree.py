#!/usr/bin/env python3
"""Checks the rules of the tree: who may include whom, what the core must not touch, sizes, dead files, links, words.

Prints `path:line: rule: message` for each finding; the exit status is 1 when there is any. tests/tools plants each kind of
fault and expects it to be found.
"""

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from tree import headers, languages, layers, shape, texts  # noqa: E402
from tree.source import Tree  # noqa: E402

RULES = {
    "includes": layers.check_includes,
    "core": layers.check_core,
    "guard": layers.check_guard,
    "wrapped-libraries": layers.check_wrapped_libraries,
    "sizes": shape.check_sizes,
    "dead-files": shape.check_dead_files,
    "tests-exist": shape.check_tests_exist,
    "tests-say-why": shape.check_tests_say_why,
    "main-is-last": shape.check_main_is_last,
    "headers-alone": headers.check_headers_alone,
    "words": texts.check_words,
    "links": texts.check_links,
    "reasons": texts.check_reasons,
    "sentences": languages.check_sentences,
    "cli-words": languages.check_cli_words,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument("--only", help=f"comma-separated rules of: {', '.join(RULES)}")
    arguments = parser.parse_args()
    wanted = arguments.only.split(",") if arguments.only else list(RULES)
    unknown = set(wanted) - set(RULES)
    if unknown:
        parser.error(f"no such rule: {', '.join(sorted(unknown))}")

    tree = Tree(arguments.root)
    count = 0
    for name in wanted:
        for finding in sorted(set(RULES[name](tree))):
            print(f"{finding.path}:{finding.line}: {name}: {finding.message}")
            count += 1
    print(f"check_tree: {len(tree.paths)} files, {count} findings")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
