"""What a page of the documentation shows is what is seen: its commands are typed in their order, on the machine that the page
says how to start, and print what stands there."""

import os
import re
import subprocess
import time
import unittest

import harness

SECONDS_MAX = 30  # until a look at the devices has shown what a command has changed
EXAMPLES = harness.SOURCE / "examples/quickstart/tenants.yaml"
# Of which a second try changes nothing.
QUESTIONS = ("tangram slices", "tangram fit", "tangram doctor", "tangram status")


def blocks(page):
    """The blocks of code in their order, without those in a language."""
    return re.findall(r"^```\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


def steps(block):
    """(command, what it prints)."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, printed = part.partition("\n")
        yield command, printed


def is_as_shown(printed, shown):
    """Whether it is, with any lines in the place of a line `…`."""
    pattern = "".join(r"(?:.*\n)*" if line == "…\n" else re.escape(line) for line in shown.splitlines(keepends=True))
    return re.fullmatch(pattern, printed) is not None


class Newcomer:
    """A shell on a machine that `make run` has just started."""

    def __init__(self, case, name):
        npus = None if name is None else (harness.SOURCE / f"deploy/machines/{name}.yaml").read_text()
        self.machine = harness.Machine(npus=npus)
        case.addCleanup(self.machine.stop)
        self.machine.start()
        for program in ("tangram", "gemm"):
            self.machine.program_for_all(program)
        self.machine.ok("apply", "-f", EXAMPLES)
        # Its example: a job of each tenant.
        for tenant in ("inference", "training", "preprocessing"):
            self.machine.submit("--tenant", tenant, *(("--priority", "low") if tenant == "preprocessing" else ()), "--wait", "--", "true")
        self.env = {"PATH": f"{self.machine.driver_dir / 'tools'}:{self.machine.shared}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8",
                    "TANGRAM_SOCKET": str(self.machine.socket)}

    def type(self, command, shown):
        """What it printed; of a question, until that is what is shown."""
        end = time.monotonic() + SECONDS_MAX
        while True:
            printed = subprocess.run(["bash", "-c", command], env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT, text=True, timeout=harness.COMMAND_SECONDS_MAX, check=False).stdout
            if is_as_shown(printed, shown) or not command.startswith(QUESTIONS) or time.monotonic() > end:
                return printed
            time.sleep(0.2)


class Transcripts(unittest.TestCase):
    @unittest.skipIf(os.geteuid() != 0, "needs root: tangram doctor names what is missing without it")
    def test_slices(self):
        """Without it a newcomer who types what the page shows would see something else, and not know who is wrong."""
        newcomer = None
        machines = []
        for block in blocks((harness.SOURCE / "docs/slices.md").read_text()):
            start = re.match(r"make run(?: MACHINE=(\S+))?\n\. build/env\.sh\n", block)
            if start:
                machines.append(start.group(1))
                newcomer = Newcomer(self, start.group(1))
                continue
            for command, shown in steps(block):
                with self.subTest(machine=machines[-1], command=command):
                    printed = newcomer.type(command, shown)
                    self.assertTrue(is_as_shown(printed, shown), f"it shows\n{shown}\nand prints\n{printed}")
        self.assertEqual(machines, [None, "one-310p3"])


class Shown(unittest.TestCase):
    def test_lines_that_are_left_out(self):
        """Without it a page that leaves lines out would agree with anything."""
        self.assertTrue(is_as_shown("a\nb\nc\n", "…\nc\n"))
        self.assertTrue(is_as_shown("c\n", "…\nc\n"))
        self.assertFalse(is_as_shown("a\nc\nd\n", "…\nc\n"))
        self.assertFalse(is_as_shown("a\nc.\n", "…\nc\n"))
        self.assertFalse(is_as_shown("", "c\n"))


if __name__ == "__main__":
    unittest.main()
