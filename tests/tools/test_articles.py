"""docs/articles.md covers every heading of the two articles, and what it names as proof is there."""

import ast
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests/data/articles"
ANSWERS = ("as in the article", "differs, because ", "not yet")
NOTHING = "–"
GTEST = re.compile(r"^(?:TYPED_TEST|TEST|TEST_F|TEST_P|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\(\s*(\w+)\s*,\s*(\w+)", re.MULTILINE)
FOLDERS = ("examples/", "tests/", "bench/")  # where a path that shows something may lie


def headings(name):
    return (DATA / name).read_text().splitlines()


def known_tests(root):
    """`Suite.Test` of each GoogleTest case and `file.Class.test` of each Python one."""
    names = set()
    for path in root.glob("tests/*/*_test.cc"):
        names |= {f"{suite}.{test}" for suite, test in GTEST.findall(path.read_text()) if not test.startswith("DISABLED_")}
    for path in root.glob("tests/*/test_*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                names |= {f"{path.stem}.{node.name}.{item.name}" for item in node.body
                          if isinstance(item, ast.FunctionDef) and item.name.startswith("test_")}
    return names


def chapters(text):
    """Per `# Article`: a list of (heading, lines below it)."""
    found, current = {}, None
    for line in text.splitlines():
        if line.startswith("# "):
            current = found.setdefault(line[2:], []) if line.startswith("# Article") else None
        elif current is not None and re.match(r"#{2,3} ", line):
            current.append((line.lstrip("#").strip().rpartition(" · ")[0], []))
        elif current:
            current[-1][1].append(line)
    return found


def rows(lines):
    """The cells of each row of a section's table, without its head."""
    table = [line for line in lines if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[2:]]


def row_problems(cells, tests, root):
    if len(cells) != 3 or not all(cells):
        yield "a row needs what the article shows, an answer, and what shows it"
        return
    shown, answer, proof = cells
    if not answer.startswith(ANSWERS) or answer in ANSWERS[1:2]:
        yield f"'{shown}': the answer is none of {', '.join(word.strip() for word in ANSWERS)}"
    references = [] if proof == NOTHING else re.findall(r"`([^`]+)`", proof)
    if proof != NOTHING and (not references or re.sub(r"`[^`]+`", "", proof).strip(", ")):
        yield f"'{shown}': the last column holds names in backquotes, or {NOTHING}"
    if answer.startswith(ANSWERS[0]) and not references:
        yield f"'{shown}': nothing shows it"
    for reference in references:
        is_file = reference.startswith(FOLDERS) and (root / reference).is_file()
        if not is_file and reference not in tests:
            yield f"'{shown}': there is no test or example {reference}"


def problems(text, articles, tests, root):
    """What is wrong with the document; `articles`: title of its chapter -> headings in order."""
    found = chapters(text)
    for title, wanted in articles.items():
        sections = found.get(title, [])
        have = [heading for heading, _ in sections]
        for heading in wanted:
            if heading not in have:
                yield f"{title}: no section '{heading}'"
        for heading in have:
            if heading not in wanted:
                yield f"{title}: the article has no heading '{heading}'"
        if sorted(have) == sorted(wanted) and have != wanted:
            yield f"{title}: the headings are not in the article's order"
        for heading, lines in sections:
            if not rows(lines):
                yield f"{title}: '{heading}' has no row"
            for cells in rows(lines):
                for problem in row_problems(cells, tests, root):
                    yield f"{title}: {heading}: {problem}"


class Articles(unittest.TestCase):
    def test_every_heading_is_covered_and_every_name_is_there(self):
        """Without it the page would fall behind the code, or leave out what is hard."""
        articles = {"Article A": headings("headings_a.txt"), "Article B": headings("headings_b.txt")}
        text = (ROOT / "docs/articles.md").read_text()
        self.assertEqual(list(problems(text, articles, known_tests(ROOT), ROOT)), [])

    def test_every_example_of_the_article_is_named(self):
        """Without it a snippet could be added and never be found by a reader of the page."""
        text = (ROOT / "docs/articles.md").read_text()
        for path in [*ROOT.glob("examples/article_a/snippets/*.cc"), *ROOT.glob("examples/article_a/*/run.sh")]:
            self.assertIn(f"`{path.relative_to(ROOT)}`", text)

    def test_tests_are_found(self):
        """Without it a change of how tests are written could make every name, or none, look right."""
        tests = known_tests(ROOT)
        self.assertGreater(len(tests), 400)
        for name in ("AclStream.OrderInsideAStreamIsExact", "RoundTrip.StatusView", "BadInput.DetailsNameFieldAndValue",
                     "test_articles.Articles.test_tests_are_found"):
            self.assertIn(name, tests)


class PlantedFaults(unittest.TestCase):
    """Each kind of fault, in an article of two headings."""

    HEAD = "\n| the article | Tangram | shown by |\n|---|---|---|\n"
    GOOD = (f"# Article A\n## 一、one · first\n{HEAD}| x | as in the article | `Suite.Test`, `tests/tools/test_articles.py` |\n"
            f"### 1.1 two · second\n{HEAD}| y | differs, because it is so | {NOTHING} |\n| z | not yet: w | {NOTHING} |\n")

    def check(self, text):
        return list(problems(text, {"Article A": ["一、one", "1.1 two"]}, {"Suite.Test"}, ROOT))

    def faulty(self, old, new, says):
        self.assertIn(old, self.GOOD)
        self.assertRegex("\n".join(self.check(self.GOOD.replace(old, new))), says)

    def test_a_sound_page_has_none(self):
        """Without it the checks below could find faults everywhere."""
        self.assertEqual(self.check(self.GOOD), [])

    def test_headings(self):
        """Without it a heading could be left out, made up, or moved."""
        self.faulty("1.1 two", "1.2 three", "(?s)no section '1.1 two'.*no heading '1.2 three'")
        self.faulty("# Article A", "# Article C", "no section '一、one'")
        first, second = self.GOOD.removeprefix("# Article A\n").split("###")
        self.assertRegex("\n".join(self.check(f"# Article A\n##{second}## {first.removeprefix('## ')}")), "order")

    def test_rows(self):
        """Without it a heading could stand there without an answer, or with a claim that nothing shows."""
        self.faulty(f"| y | differs, because it is so | {NOTHING} |\n| z | not yet: w | {NOTHING} |\n", "", "'1.1 two' has no row")
        self.faulty("differs, because it is so", "differs", "the answer is none of")
        self.faulty("not yet: w", "", "a row needs")
        self.faulty("`Suite.Test`, `tests/tools/test_articles.py`", NOTHING, "nothing shows it")
        self.faulty("`Suite.Test`", "somewhere", "names in backquotes")

    def test_names(self):
        """Without it a test could be renamed or removed, and the page would go on naming it."""
        self.faulty("Suite.Test", "Suite.Gone", "no test or example Suite.Gone")
        self.faulty("tests/tools/test_articles.py", "tests/tools/gone.py", "no test or example tests/tools/gone.py")
        self.faulty("tests/tools/test_articles.py", "docs/articles.md", "no test or example docs/articles.md")


if __name__ == "__main__":
    unittest.main()
