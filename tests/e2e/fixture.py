"""What is common to the machine and the cluster that tests start: their life in a `with`, waiting, and what commands answered."""

import contextlib
import sys
import time


class Answer:
    """What a command of `program` printed and how it ended."""

    def __init__(self, program, arguments, code, out, err):
        self.program, self.arguments, self.code, self.out, self.err = program, arguments, code, out, err

    def __repr__(self):
        return f"{self.program} {' '.join(self.arguments)}\nexit {self.code}\n--- out\n{self.out}--- err\n{self.err}"


class Fixture:
    """Base of what start() brings up and stop(), which may be called twice, takes down; report() is for a failure.

    seconds_max, pause: of wait_until
    no_answer:          exceptions of a condition that only mean "not yet"
    """

    seconds_max, pause = 30, 0.05
    no_answer = ()

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(self, kind, error, trace):
        if kind is not None:
            print(self.report(), file=sys.stderr)
        self.stop()

    def wait_until(self, condition, what, timeout=None, process=None):
        """Waits for a true answer and returns it. `process`: one that must stay alive meanwhile."""
        timeout = timeout or self.seconds_max
        end = time.monotonic() + timeout
        while True:
            with contextlib.suppress(*self.no_answer):
                answer = condition()
                if answer:
                    return answer
            if process is not None and process.poll() is not None:
                raise AssertionError(f"not come: {what}; process ended with {process.returncode}\n{self.report()}")
            if time.monotonic() > end:
                raise AssertionError(f"not come within {timeout} s: {what}\n{self.report()}")
            time.sleep(self.pause)
