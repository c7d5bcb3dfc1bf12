"""What is known to fail, and why."""

import os

from . import plan

PATH = os.path.join(plan.INTEROP, "expectations", "python.txt")

# Why a public case may fail: it needs a feature that is not built yet.
REASONS = ("qmf", "lvq", "priority", "groups", "thresholds", "dtx", "limits-and-policies",
           "timed-auto-delete")


class ExpectationError(Exception):
    """The expectation file says something it may not say."""


class Expectations:
    """`failures` maps a case to the reason why it fails; `passes` is the number of public cases
    that passed when it was last recorded."""

    def __init__(self, passes, failures):
        self.passes = passes
        self.failures = failures


def parse(text, path=PATH):
    """Reads `passes N`, then a case, a tab and a reason on each line."""
    lines = text.split("\n")
    words = lines[0].split()
    if len(words) != 2 or words[0] != "passes" or not words[1].isdigit():
        raise ExpectationError("%s:1: expected `passes` and a number" % path)
    failures = {}
    for number, line in enumerate(lines[1:], 2):
        if not line:
            continue
        name, tab, reason = line.partition("\t")
        if not tab or reason not in REASONS:
            raise ExpectationError("%s:%d: expected a case, a tab and one of: %s"
                                   % (path, number, ", ".join(REASONS)))
        if name in failures:
            raise ExpectationError("%s:%d: %s stands there twice" % (path, number, name))
        failures[name] = reason
    return Expectations(int(words[1]), failures)


def read():
    """The expectations of this work tree."""
    with open(PATH) as file:
        return parse(file.read())
