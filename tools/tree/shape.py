"""Sizes, dead files, and that every folder has tests."""

import ast
import re

from tree.source import Finding, line_of

FILE_LINES_MAX = 700
FUNCTION_LINES_MAX = 70
UNTESTED = {"bin"}  # main() only; the end-to-end tests start these programs

_CONTAINER = re.compile(r"\b(?:namespace|class|struct|union|enum)\b(?![^{]*\))|\bextern\s*$")
_TEST = re.compile(r"^\s*(?:TYPED_)?TEST(?:_F|_P)?\s*\(|^\s*RC_GTEST\w*\s*\(|^\s*BENCHMARK\w*\s*\(", re.MULTILINE)


def check_sizes(tree):
    for path in tree.sources():
        lines = tree.text(path).count("\n")
        if lines > FILE_LINES_MAX:
            yield Finding(path, 1, f"{lines} lines, at most {FILE_LINES_MAX}")
        for line, length in long_functions(tree.code(path)):
            yield Finding(path, line, f"a function of {length} lines, at most {FUNCTION_LINES_MAX}")


def long_functions(code):
    """(first line, lines) of each function that is too long. Reads braces: what is not a container (namespace, class) or
    data, and lies directly in a container, is a function."""
    code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: "\n" * m.group(0).count("\n"), code, flags=re.MULTILINE)
    stack = []  # (is container, first line of the block)
    head_start = 0
    for match in re.finditer(r"[{};]", code):
        mark, position = match.group(0), match.start()
        if mark == "{":
            head = code[head_start:position]
            inside_container = all(container for container, _ in stack)
            stack.append((bool(_CONTAINER.search(head)), block_start(code, head_start, head, inside_container)))
        elif mark == "}" and stack:
            _, started = stack.pop()
            if started is not None:
                length = line_of(code, position) - started + 1
                if length > FUNCTION_LINES_MAX:
                    yield started, length
        head_start = position + 1


def block_start(code, head_start, head, inside_container):
    """The first line of a function's head; None for everything else."""
    if not inside_container or _CONTAINER.search(head) or re.search(r"=\s*(?:[\w:<>, ]+)?$", head):
        return None
    return line_of(code, head_start + len(head) - len(head.lstrip()))


def check_dead_files(tree):
    lists = {path: tree.text(path) for path in tree.paths if path.endswith("CMakeLists.txt")}
    # A test may compile a program itself, as somebody else's build would.
    lists |= {path: tree.text(path) for path in tree.sources("tests") if path.endswith("_test.cc")}
    included = {}
    for path in tree.sources():
        for _, kind, name in tree.includes(path):
            if kind == '"' or "/" in name:
                included.setdefault(name.split("/")[-1], set()).add((path, name))
    for path in tree.sources("src", "tests", "bench", "examples", "fuzz"):
        name = path.split("/")[-1]
        if path.endswith(".h"):
            users = {user for user, as_name in included.get(name, ()) if path.endswith("/" + as_name) and user != path}
            if not users:
                yield Finding(path, 1, "no file includes this header")
        elif not any(name_in(text, name) for where, text in lists.items() if near(where, path)):
            yield Finding(path, 1, "no CMakeLists.txt near it names this file")


def near(namer, path):
    folder = namer.rpartition("/")[0]
    return path.startswith(folder + "/") and folder != "" and namer != path


def name_in(text, name):
    text = re.sub(r"#[^\n]*", "", text)
    # A list of programs may be made by foreach(), which gives the name without its end.
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", text) or (
        "foreach" in text and re.search(rf"(?<![\w.-]){re.escape(name.rpartition('.')[0])}(?![\w.-])", text))


def check_tests_exist(tree):
    tested = {path.split("/")[1] for path in tree.paths if path.startswith("tests/") and "/" in path[6:]}
    tested |= {name.split("_")[0] for name in tested}  # a part of a folder has tests of its own: tests/kube_api
    folders = {path.split("/")[1] for path in tree.sources("src") if path.endswith((".cc", ".c"))}
    for folder in sorted(folders - tested - UNTESTED):
        yield Finding(f"src/{folder}", 1, f"there is no tests/{folder}")
    for path in tree.sources("tests"):
        if path.endswith("_test.cc") and not _TEST.search(tree.text(path)):
            yield Finding(path, 1, "no test in this file")


def check_main_is_last(tree):
    """What stands behind `unittest.main()` is not there for whoever runs the file by itself."""
    for path in tree.paths:
        if not re.search(r"(?:^|/)test_\w+\.py$", path) or not path.startswith("tests/"):
            continue
        statements = ast.parse(tree.text(path)).body
        mains = [number for number, statement in enumerate(statements) if is_main(statement)]
        if not mains:
            yield Finding(path, 1, "the file cannot be run by itself: no `if __name__ == \"__main__\": unittest.main()`")
        elif mains[0] != len(statements) - 1:
            yield Finding(path, statements[mains[0]].lineno, "tests stand behind unittest.main()")


def is_main(statement):
    return isinstance(statement, ast.If) and ast.unparse(statement.test) == "__name__ == '__main__'"


def check_tests_say_why(tree):
    """Each test opens with a sentence that says what would break without it."""
    for path in tree.sources("tests"):
        lines = tree.text(path).splitlines()
        for number, line in enumerate(lines, 1):
            if re.match(r"TEST(?:_F|_P)?\(|RC_GTEST_(?:FIXTURE_)?PROP\(", line):
                above = lines[number - 2] if number > 1 else ""
                around = [above, *lines[number:number + 2]]
                # Tests that stand close together, without a blank line, share the sentence above the first.
                if above != "}" and not any(near_by.strip().startswith("//") for near_by in around):
                    yield Finding(path, number, "no sentence says what would break without this test")
