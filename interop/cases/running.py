"""Declares cases and runs them, one line a case."""

import signal
import sys
import time
import traceback

# A safety net: no case takes a tenth of it. A case that hangs fails and the next one goes on.
CASE_SECONDS_MAX = 300

LINE_WIDTH = 100

_CASES = []


class Failed(Exception):
    """The broker did something else than the rule says."""


def case(function):
    """Makes a function a case."""
    _CASES.append(function)
    return function


def check(condition, text, *values):
    """Fails the case with a text unless the condition holds."""
    if not condition:
        raise Failed(text % values if values else text)


def check_equal(found, expected, what):
    """Fails the case unless two values are equal."""
    check(found == expected, "%s: expected %r, found %r", what, expected, found)


def eventually(condition, what, seconds=30):
    """Waits until a condition holds; fails the case when it still does not after a long time."""
    deadline = time.time() + seconds
    while not condition():
        if time.time() > deadline:
            raise Failed("not even after %d s: %s" % (seconds, what))
        time.sleep(0.01)


def _on_alarm(signum, frame):
    raise Failed("the case did not end within %d s" % CASE_SECONDS_MAX)


def _line(name, status=""):
    print ("%s %s %s" % (name, "." * max(3, LINE_WIDTH - len(name)), status)).rstrip()
    sys.stdout.flush()


def run(module):
    """Runs the cases that the command line names, or all; `--list` lists them."""
    wanted = sys.argv[1:]
    failed = False
    signal.signal(signal.SIGALRM, _on_alarm)
    for function in _CASES:
        name = "%s.%s" % (module, function.__name__)
        if wanted == ["--list"]:
            print name
            continue
        if wanted and name not in wanted:
            continue
        _line(name)
        signal.alarm(CASE_SECONDS_MAX)
        start = time.time()
        try:
            function()
            status = "pass"
        except Exception:
            status = "fail"
            failed = True
            print "  " + traceback.format_exc().replace("\n", "\n  ").rstrip()
        finally:
            signal.alarm(0)
        print "  %.1f s" % (time.time() - start)
        _line(name, status)
    sys.exit(1 if failed else 0)
