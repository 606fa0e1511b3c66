"""Every sentence that a user sees has both languages: errors in src/wire/sentence_catalogue.cc, the command line's own
words in the texts of src/wire."""

import re

from tree.source import Finding, line_of

CATALOGUE = "src/wire/sentence_catalogue.cc"
# The general sentences have both languages in a table of their own; the configuration is read before anybody can ask.
EXEMPT = (CATALOGUE, "src/wire/reason_catalogue.cc", "src/wire/reason_catalogue_admission.cc",
          "src/wire/reason_catalogue_files.cc", "src/wire/reason_catalogue_node.cc", "src/service/config.cc")
# Whose errors a user sees, through the API or on the command line.
FOLDERS = ("src/service/", "src/server/", "src/client/", "src/wire/", "src/scheduler/", "src/cli/", "src/net/client",
           "src/base/units.cc")
# Of the daemon's log, or of the terminal of whoever starts it.
LOG_ONLY = ("config.", "device.", "journal.", "net.", "runner.", "snapshot.", "record.")
LITERAL = re.compile(r'"((?:\\.|[^"\\\n])*)"')
LITERALS = re.compile(r'"(?:\\.|[^"\\\n])*"(?:\s*"(?:\\.|[^"\\\n])*")*')
WORDS = re.compile(r"[A-Za-z]{2,}[,:;]? [A-Za-z]{2,}")
ERROR = re.compile(r"\b(?:fail|bad_option)\s*\(|\bError\s*(?:\w+\s*)?\{|\breturn \{(?=\s*Code::)")
TEXT = re.compile(r'\bText\{\s*(%s)\s*,' % LITERALS.pattern)


def value_of(literals):
    """The text of adjacent string literals."""
    joined = "".join(LITERAL.findall(literals))
    return joined.replace('\\"', '"').replace("\\\\", "\\")


def bare(text):
    """Without the quotes, joints and spaces at its ends."""
    return text.strip(" \"':;,")


def fixed_parts(sentence):
    """What of a sentence is not a place for a value."""
    return [bare(part) for part in re.split(r"\{\w+\}", sentence)]


def all_parts(tree):
    return [part for sentence, _ in known_sentences(tree) for part in fixed_parts(sentence)]


def argument_text(text, start):
    """From behind the bracket at `start` to the one that closes it."""
    depth = 0
    for match in re.compile(r'"(?:\\.|[^"\\\n])*"|[({\[]|[)}\]]').finditer(text, start):
        if match.group(0) in "({[":
            depth += 1
        elif match.group(0) in ")}]":
            depth -= 1
            if depth == 0:
                return text[start + 1:match.start()]
    return text[start + 1:]


def known_sentences(tree):
    """(sentence, line) of each entry of the catalogue, without what the C library says."""
    text = tree.text(CATALOGUE).partition("kSystemSentences")[0]
    return [(value_of(match.group(1)), line_of(text, match.start())) for match in TEXT.finditer(text)]


def check_sentences(tree):
    if CATALOGUE not in tree.paths:
        return
    sentences = known_sentences(tree)
    yield from unknown_errors(tree, all_parts(tree))
    spoken = spoken_texts(tree)
    for sentence, line in sentences:
        for part in fixed_parts(sentence):
            if WORDS.search(part) and part not in spoken:
                yield Finding(CATALOGUE, line, f'no code says "{part}"')


def spoken_texts(tree):
    """All string literals of the product, a line each."""
    return "\n".join(value_of(match.group(0)) for path in tree.sources("src") if path != CATALOGUE
                     for match in LITERALS.finditer(tree.text(path)))


def unknown_errors(tree, parts):
    for path in tree.sources("src"):
        if not path.startswith(FOLDERS) or path in EXEMPT:
            continue
        text = tree.text(path)
        for match in ERROR.finditer(text):
            arguments = argument_text(text, match.end() - 1)
            if any(value_of(literal).startswith(LOG_ONLY) for literal in LITERALS.findall(arguments)):
                continue
            for literal in LITERALS.finditer(arguments):
                value = bare(value_of(literal.group(0)))
                if WORDS.search(value) and not any(value in part for part in parts):
                    line = line_of(text, match.end()) + arguments.count("\n", 0, literal.start())
                    yield Finding(path, line, f'"{value}" has no Chinese in {CATALOGUE}')


def check_cli_words(tree):
    """The command line says nothing that is not in a catalogue: commands to copy and assertions excepted."""
    parts = all_parts(tree) if CATALOGUE in tree.paths else []
    for path in tree.sources("src"):
        if not path.startswith("src/cli/") or path.endswith("completion_scripts.cc"):
            continue
        text = tree.text(path)
        spans = [span for pattern in (ERROR, re.compile(r"\bTG_ASSERT\s*\("))
                 for match in pattern.finditer(text)
                 for span in [(match.end(), match.end() + len(argument_text(text, match.end() - 1)))]]
        for literal in LITERALS.finditer(uncommented(text)):
            value = bare(value_of(literal.group(0)))
            inside = any(first <= literal.start() < last for first, last in spans)
            name = text[:literal.start()].endswith((".name = ", "#include ")) or value.isupper()
            known = inside or name or any(value in part for part in parts)
            if WORDS.search(value) and not known and not re.match(r"(?:source <\()?tangram\b|npu-smi ", value):
                yield Finding(path, line_of(text, literal.start()), f'"{value}" belongs in a catalogue of src/wire')


def uncommented(text):
    """Line comments become blanks; every letter stays in its place."""
    return re.sub(r'"(?:\\.|[^"\\\n])*"|//[^\n]*',
                  lambda m: m.group(0) if m.group(0)[0] == '"' else " " * len(m.group(0)), text)
