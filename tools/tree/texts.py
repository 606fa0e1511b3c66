"""Words that must not stand anywhere, links that must lead somewhere, tokens that must have a text."""

import re
import unicodedata

from tree.source import Finding, line_of

# Put together from halves, so that this list does not find itself.
WORDS = [(re.compile(pattern), why) for pattern, why in [
    (r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b", "unfinished work is not left in the code"),
    (r"(?<![\w.])/(?:ho" + r"me|Us" + r"ers)/[a-z]\w*", "a path of one machine"),
    (r"(?i)\bissue\s+#?\d+\b", "a ticket's number means nothing to a later reader"),
    (r"(?i)\b(?:as an? (?:ai|language model)|chat" + r"gpt|copi" + r"lot)\b", "the project speaks of itself alone"),
    (r"-----BEGIN [A-Z ]*PRIV" + r"ATE KEY", "a secret"),
]]
TEXT = (".h", ".cc", ".c", ".py", ".sh", ".md", ".txt", ".cmake", ".yaml", ".yml", ".json", ".in", ".bats")
TOKEN = r"[a-z][a-z_0-9]*(?:\.[a-z][a-z_0-9]*)+"


def check_words(tree):
    for path in tree.paths:
        if not path.endswith(TEXT) or path.startswith(("tests/data/", "LICENSE")):
            continue
        text = tree.text(path)
        for pattern, why in WORDS:
            for match in pattern.finditer(text):
                yield Finding(path, line_of(text, match.start()), f'"{match.group(0)}": {why}')


def check_links(tree):
    for path in tree.paths:
        if not path.endswith(".md"):
            continue
        prose = without_code(tree.text(path))
        for match in re.finditer(r"!?\[[^\]\n]*\]\(([^)\s]+)\)", prose):
            message = link_problem(tree, path, match.group(1))
            if message:
                yield Finding(path, line_of(prose, match.start()), message)


def without_code(text):
    """Fenced blocks and code spans become blanks; lines stay."""
    return re.sub(r"^```.*?^```|`[^`\n]*`", lambda m: re.sub(r"[^\n]", " ", m.group(0)), text,
                  flags=re.DOTALL | re.MULTILINE)


def link_problem(tree, path, target):
    if re.match(r"[a-z]+:", target):
        return None
    name, _, anchor = target.partition("#")
    goal = (tree.root / path).parent / name if name else tree.root / path
    if not goal.exists():
        return f"the link to {target} leads nowhere"
    if anchor and goal.suffix == ".md" and anchor not in anchors(goal.read_text(encoding="utf-8")):
        return f"{name or path} has no heading #{anchor}"
    return None


def anchors(text):
    """The names that a renderer gives to the headings."""
    found = set()
    for heading in re.findall(r"^#+\s+(.*)$", text, flags=re.MULTILINE):
        plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        kept = [c for c in plain if c in " -_" or unicodedata.category(c)[0] in "LN"]
        found.add("".join(kept).replace(" ", "-"))
    return found


def reason_tokens(tree):
    """(token, path, line) of each reason: of an error, of an answer, of a wait. `tangram explain` knows them all."""
    patterns = [rf'Code::k\w+\s*,\s*"({TOKEN})"', rf'\bproblem\(\s*\d+\s*,\s*"({TOKEN})"',
                rf'case ReasonCode::k\w+\s*:\s*return\s+"({TOKEN})"', rf'\breason = "({TOKEN})"',
                rf'"(config\.[a-z_]+)"']
    for path in tree.sources("src"):
        if path.startswith(("src/ascendsim/", "src/guard/")):
            continue
        text = tree.text(path)
        for pattern in patterns:
            for match in re.finditer(pattern, text):
                yield match.group(1), path, line_of(text, match.start(1))


def check_reasons(tree):
    catalogue = [path for path in tree.sources("src") if re.fullmatch(r"src/wire/reason_catalogue(_\w+)?\.cc", path)]
    if not catalogue:
        if any(path.endswith(".cc") for path in tree.sources("src") if path.startswith("src/wire/")):
            yield Finding("src/wire", 1, "reason_catalogue.cc is not there, so no reason has a sentence")
        return
    known = {word for path in catalogue for word in re.findall(rf'"({TOKEN})"', tree.text(path))}
    seen = set()
    for token, path, line in reason_tokens(tree):
        if token not in known and token not in seen:
            seen.add(token)
            yield Finding(path, line, f'the reason "{token}" has no sentence in src/wire/reason_catalogue.cc')
