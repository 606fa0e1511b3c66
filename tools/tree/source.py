"""The files of the tree, their text, and C++ text without its comments and strings."""

import collections
import pathlib
import re
import subprocess

Finding = collections.namedtuple("Finding", "path line message")

CODE = (".h", ".cc", ".c")

# One alternation, so that a quote inside a comment and a comment inside a string are both read right.
_NOISE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'""",
    re.DOTALL)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)


def without_noise(text):
    """Comments and the insides of strings become blanks; every line stays where it is."""
    def blank(match):
        return "".join(c if c == "\n" else " " for c in match.group(0))
    return _NOISE.sub(blank, text)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


class Tree:
    """All files that belong to the project, by path relative to its root."""

    def __init__(self, root):
        self.root = pathlib.Path(root).resolve()
        self.paths = sorted(self._list())
        self._texts = {}
        self._code = {}

    def _list(self):
        if (self.root / ".git").exists():
            run = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=self.root,
                                 capture_output=True, check=True, text=True)
            names = [name for name in run.stdout.split("\0") if name]
        else:
            names = [str(path.relative_to(self.root)) for path in self.root.rglob("*")
                     if path.relative_to(self.root).parts[0] != "build"]
        return {name for name in names if (self.root / name).is_file()}

    def text(self, path):
        if path not in self._texts:
            self._texts[path] = (self.root / path).read_text(encoding="utf-8", errors="replace")
        return self._texts[path]

    def code(self, path):
        if path not in self._code:
            self._code[path] = without_noise(self.text(path))
        return self._code[path]

    def sources(self, *tops):
        """C and C++ files below the given top folders."""
        return [path for path in self.paths if path.endswith(CODE) and (not tops or path.split("/")[0] in tops)]

    def includes(self, path):
        """(line, '<' or '"', name) of each include; those in comments do not count."""
        text, code = self.text(path), self.code(path)
        for match in _INCLUDE.finditer(text):
            start = match.start() + match.group(0).index("#")
            if code[start] == "#":
                yield line_of(text, start), match.group(1), match.group(2)
