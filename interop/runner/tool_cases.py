"""Tables of cases for stock tools: read, and compared with what the tools printed.

    case RULE           begins a case; RULE is its name
    $ COMMAND           runs a tool to its end
    = LINE              the next line that it prints, without spaces at its end
    ~ REGEX             the next line, which the whole of REGEX matches
    ...                 any lines, none too
    status N            its exit status, 0 unless said
    & NAME COMMAND      starts a tool that goes on
    tell NAME LINE      gives it a line
    see NAME REGEX      waits until it prints a line that REGEX matches, behind those seen before
    ask NAME REGEX :: LINE
                        gives it the line again and again until it prints one that REGEX matches
    end NAME            ends it as its user would, and waits for that

Lines that begin with # and empty lines are nothing. In commands, lines and what is expected, {b} is
the broker's address, {port} its port and {seen} what the first group of the last `see` or `ask`
matched. What a tool prints is compared whole: a command without lines below it prints nothing.
"""

import re
import shlex


class CaseError(Exception):
    """A table cannot be read."""


class Failed(Exception):
    """A tool did something else than its case says."""


class Step:
    """One line of a case that does something. `expected` has pairs of a sign and a text."""

    def __init__(self, number, kind, words, text=""):
        self.number = number
        self.kind = kind
        self.words = words
        self.text = text
        self.expected = []
        self.status = 0


class Case:
    """A rule and its steps."""

    def __init__(self, name, number):
        self.name = name
        self.number = number
        self.steps = []


ANY = "..."
WORDS = {"tell": 2, "see": 2, "ask": 2, "end": 1}


def read(path):
    """The cases of a file. Raises CaseError, which names the line that is wrong."""
    with open(path, encoding="utf-8") as file:
        return parse(file.read(), path)


def parse(text, path="cases"):
    """The cases of a text."""
    cases = []
    for number, line in enumerate(text.split("\n"), 1):
        try:
            _parse_line(cases, number, line)
        except ValueError as error:
            raise CaseError("%s:%d: %s" % (path, number, error))
    names = [case.name for case in cases]
    for case in cases:
        if not case.steps:
            raise CaseError("%s:%d: the case has no steps" % (path, case.number))
        if names.count(case.name) > 1:
            raise CaseError("%s:%d: another case has this name" % (path, case.number))
    return cases


def _parse_line(cases, number, line):
    if not line.strip() or line.startswith("#"):
        return
    word, _, rest = line.partition(" ")
    if word == "case":
        cases.append(Case(rest.strip(), number))
        return
    if not cases:
        raise ValueError("this stands in no case")
    steps = cases[-1].steps
    if word in ("=", "~", ANY, "status"):
        _parse_expected(steps, word, rest)
    elif word == "$":
        steps.append(Step(number, "run", shlex.split(rest)))
    elif word == "&":
        name, _, command = rest.partition(" ")
        steps.append(Step(number, "start", [name] + shlex.split(command)))
    elif word in WORDS:
        name, _, text = rest.partition(" ")
        if bool(text) != (WORDS[word] == 2):
            raise ValueError("%s takes %s" % (word, "a name and a text" if WORDS[word] == 2
                                              else "a name"))
        if word == "ask":
            text = text.partition(" :: ")
            if not text[2]:
                raise ValueError("ask takes a name, a regex, :: and a line")
            steps.append(Step(number, word, [name, text[2]], text[0]))
        else:
            steps.append(Step(number, word, [name], text))
    else:
        raise ValueError("%r is no word of a case" % word)


def _parse_expected(steps, word, rest):
    if not steps or steps[-1].kind != "run":
        raise ValueError("only a command that was run has output and a status")
    if word == "status":
        steps[-1].status = int(rest)
    else:
        if word == "~":
            re.compile(rest)
        steps[-1].expected.append((word, rest.rstrip()))


def compare(expected, text):
    """None if a tool printed what is expected, else a sentence that says what is wrong."""
    lines = [line.rstrip() for line in text.split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    at = 0
    may_skip = False
    for sign, wanted in expected:
        if sign == ANY:
            may_skip = True
            continue
        found = at
        while may_skip and found < len(lines) and not matches(sign, wanted, lines[found]):
            found += 1
        if found >= len(lines):
            return "no line is %r" % wanted if may_skip else "no more lines, but not %r" % wanted
        if not matches(sign, wanted, lines[found]):
            return "expected %r, found %r" % (wanted, lines[found])
        at, may_skip = found + 1, False
    if at < len(lines) and not may_skip:
        return "nothing more was expected, found %r" % lines[at]
    return None


def matches(sign, wanted, line):
    """Whether a line is the one that is wanted."""
    if sign == "=":
        return line == wanted
    return re.fullmatch(wanted, line) is not None
