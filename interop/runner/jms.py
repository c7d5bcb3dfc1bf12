"""The cases of interop/java with the stock JMS client: built, listed and run."""

import hashlib
import os
import queue
import re
import shutil
import signal
import subprocess
import threading
import time

from . import plan, processes

SOURCE = os.path.join(plan.INTEROP, "java")
OUTPUT = os.path.join(plan.CACHE, "java")
# From what the program was built, and for which pom.xml everything has been fetched: digests.
BUILT = os.path.join(OUTPUT, "built")
RESOLVED = os.path.join(OUTPUT, "resolved")
MAIN = "ferrymq.jms.Main"

# How the client is told to read the names of destinations.
SYNTAXES = ("ADDR", "BURL")

# Cases that the runner must see through; only its own tests run them.
PLANTED = "planted"

# How long the client waits for what it asked the broker for.
SYNC_MILLIS_MAX = 20000

BUILD_SECONDS_MAX = 900
LIST_SECONDS_MAX = 120
# From the start of Java to its first case, and from its last case to its end.
IDLE_SECONDS_MAX = 60
# How long Java may take to say what its threads are doing.
DUMP_SECONDS_MAX = 5

REPORT_LINE = re.compile(r"== (run|pass|fail) (\S+)$")


class JmsError(Exception):
    """The cases could not be built or listed."""


def java():
    """The command that runs Java."""
    return os.environ.get("JAVA", "java")


def maven():
    """The command that runs Maven."""
    return os.environ.get("MAVEN", "mvn")


def need(command, what):
    """Raises JmsError when a command is not there."""
    if not shutil.which(command):
        raise JmsError("the cases need %s: there is no command `%s`" % (what, command))


def build():
    """Builds the cases unless they are built from what is there now. What they need is fetched once
    for each version of pom.xml."""
    need(java(), "Java 17")
    need(maven(), "Maven")
    pom = os.path.join(SOURCE, "pom.xml")
    everything = _digest(_sources() + [pom])
    if _recorded(BUILT) == everything:
        return
    _forget(BUILT)
    # A class whose source is gone would still be found, and its cases with it.
    shutil.rmtree(os.path.join(OUTPUT, "classes"), ignore_errors=True)
    print("building the cases with Maven", flush=True)
    wanted = _digest([pom])
    if _recorded(RESOLVED) != wanted or _run_maven(["--offline"]) is not None:
        _forget(RESOLVED)
        shutil.rmtree(os.path.join(OUTPUT, "lib"), ignore_errors=True)
        problem = _run_maven([])
        if problem is not None:
            raise JmsError("Maven failed:\n" + problem)
        _record(RESOLVED, wanted)
    _record(BUILT, everything)


def _sources():
    return [os.path.join(folder, name) for folder, _, names in os.walk(SOURCE)
            for name in names if name.endswith(".java")]


def _digest(paths):
    """Another for other names or contents."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        with open(path, "rb") as file:
            content = file.read()
        digest.update(("%s %d " % (path, len(content))).encode())
        digest.update(content)
    return digest.hexdigest()


def _recorded(path):
    """What a file of one line says, or None."""
    try:
        with open(path) as file:
            return file.read()
    except FileNotFoundError:
        return None


def _record(path, text):
    with open(path, "w") as file:
        file.write(text)


def _forget(path):
    if os.path.exists(path):
        os.remove(path)


def _run_maven(options):
    """Compiles. What Maven says when it fails, else None."""
    command = [maven(), "--batch-mode", "--quiet"] + options + [
        "--file", os.path.join(SOURCE, "pom.xml"), "-Doutput=" + OUTPUT, "compile"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, universal_newlines=True,
                              timeout=BUILD_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        return "it did not end within %d s" % BUILD_SECONDS_MAX
    return None if done.returncode == 0 else done.stdout


def _command(properties, arguments):
    path = os.pathsep.join([os.path.join(OUTPUT, "classes"), os.path.join(OUTPUT, "lib", "*")])
    return [java(), "-Xmx256m", "-cp", path, "-Dqpid.amqp.version=0-10",
            "-Dqpid.sync_op_timeout=%d" % SYNC_MILLIS_MAX,
            "-Dorg.slf4j.simpleLogger.showDateTime=true"] + [
        "-D%s=%s" % pair for pair in properties.items()] + [MAIN] + arguments


def list_cases():
    """Names of all cases, `group.case`, in the order in which they are declared to run."""
    try:
        done = subprocess.run(_command({}, ["--list"]), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              universal_newlines=True, timeout=LIST_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        raise JmsError("Java did not list its cases within %d s" % LIST_SECONDS_MAX)
    if done.returncode != 0:
        raise JmsError("Java does not list its cases:\n" + done.stdout)
    return done.stdout.split()


def chosen(cases, only, planted):
    """Those of the planted cases or of the others that have one of the texts in their name."""
    found = [case for case in cases if (case.split(".")[0] == PLANTED) == planted]
    return [case for case in found if not only or any(text in case for text in only)]


class Result:
    """What came of one case. `lines` is what it printed, `seconds` what it took."""

    def __init__(self, has_passed, lines, seconds):
        self.has_passed = has_passed
        self.lines = lines
        self.seconds = seconds


def run_cases(cases, properties, log_path, case_seconds_max):
    """Runs cases in one process after the other, until each has a result. Returns them by name.

    A case that takes longer than it may has failed, and what Java's threads did is its output; so
    has one at which Java ends. Those after it run in another process.
    """
    results = {}
    count = 0
    while len(results) < len(cases):
        left = [case for case in cases if case not in results]
        count += 1
        path = log_path + (".%d" % count if count > 1 else "")
        found = _Process(left, properties, path, case_seconds_max).results()
        # A process that ran nothing has nothing to say of the case that should have been first.
        if not any(case in found for case in left):
            found[left[0]] = Result(False, ["Java ran no case; its log is %s" % path], 0.0)
        results.update((case, found[case]) for case in left if case in found)
    return results


class _Process:
    """One run of Java."""

    def __init__(self, cases, properties, log_path, case_seconds_max):
        self._case_seconds_max = case_seconds_max
        self._results = {}
        self._current = None
        self._started = 0.0
        self._printed = []
        self._lines = queue.Queue()
        self._log = open(log_path, "w")
        with open(log_path + ".client", "wb") as client_log:
            self._process = processes.start(_command(properties, cases), stdout=subprocess.PIPE,
                                            stderr=client_log)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        """Passes lines on; None is the end of them."""
        for line in self._process.stdout:
            self._lines.put(line.decode("utf-8", "replace").rstrip("\n"))
        self._lines.put(None)

    def results(self):
        """Follows the process to its end. What came of the cases that it began."""
        try:
            self._follow()
        finally:
            processes.end(self._process)
            self._reader.join(DUMP_SECONDS_MAX)
            self._process.stdout.close()
            self._log.close()
        return self._results

    def _follow(self):
        until = time.monotonic() + IDLE_SECONDS_MAX
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                self._end_with_dump()
                return
            if line is None:
                if self._current:
                    self._finish(False, ["Java ended in the middle of the case"])
                return
            found = self._take(line)
            if found == "run":
                until = time.monotonic() + self._case_seconds_max
            elif found:
                until = time.monotonic() + IDLE_SECONDS_MAX

    def _take(self, line):
        """Takes a line. The word of a report, or None when it is none."""
        self._log.write(line + "\n")
        found = REPORT_LINE.match(line)
        if not found:
            self._printed.append(line)
            return None
        word, case = found.groups()
        if word == "run":
            self._current, self._started, self._printed = case, time.monotonic(), []
        elif case == self._current:
            self._finish(word == "pass", [])
        return word

    def _finish(self, has_passed, more):
        seconds = time.monotonic() - self._started
        self._results[self._current] = Result(has_passed, more + self._printed, seconds)
        self._current, self._printed = None, []

    def _end_with_dump(self):
        """Has Java say what its threads do, and ends it."""
        self._process.send_signal(signal.SIGQUIT)
        until = time.monotonic() + DUMP_SECONDS_MAX
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                break
            if line is None:
                break
            self._log.write(line + "\n")
            self._printed.append(line)
        if self._current:
            self._finish(False, ["it did not end within %d s; what the threads did:"
                                 % self._case_seconds_max])
