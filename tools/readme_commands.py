#!/usr/bin/env python3
"""Types what the README says into a shell that has read build/env.sh, as a newcomer does after `make run`.

usage: tools/readme_commands.py README.md

Every line of the blocks below "Try it" is a command that must succeed; where a block shows a prompt, what follows the
command is what it must print. Of "What it does", the commands in `code spans` must succeed, too.
"""

import re
import subprocess
import sys

COMMAND_SECONDS_MAX = 300
FOLLOW_SECONDS = 3  # of a command that would go on for ever


def section(text, heading):
    found = re.search(rf"^## {re.escape(heading)}$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"no heading {heading!r}"
    return found.group(1)


def steps(text):
    """(command, what it must print or None, whether it follows without end), in the order of the page."""
    for block in re.findall(r"^```\n(.*?)^```", section(text, "Try it"), re.MULTILINE | re.DOTALL):
        lines = block.splitlines()
        if not lines[0].startswith("$ "):
            yield from ((re.sub(r"\s+# .*", "", line), None, False) for line in lines)
            continue
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, printed = part.partition("\n")
            yield command, printed, False
    for command in re.findall(r"`(tangram [^`]+)`", section(text, "What it does")):
        yield command, None, command.endswith(" -f")


def problem_of(command, printed, follows):
    """What is wrong with the command; None: nothing."""
    shell = ["timeout", str(FOLLOW_SECONDS if follows else COMMAND_SECONDS_MAX), "bash", "-c", f". build/env.sh\n{command}"]
    done = subprocess.run(shell, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if printed is not None:
        return None if done.stdout == printed else f"printed\n{done.stdout}in the place of\n{printed}"
    if done.returncode == 0 or (follows and done.returncode == 124):
        return None
    return f"ended with {done.returncode}:\n{done.stdout}"


def main():
    with open(sys.argv[1], encoding="utf-8") as page:
        text = page.read()
    failed = 0
    for command, printed, follows in steps(text):
        print(f"$ {command}", flush=True)
        problem = problem_of(command, printed, follows)
        if problem:
            failed += 1
            print(f"FAIL {command}\n{problem}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
