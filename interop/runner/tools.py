"""Runs cases of stock tools against a broker."""

import os
import queue
import re
import signal
import subprocess
import threading
import time

from . import plan, processes, suites, tool_cases

FOLDER = os.path.join(plan.INTEROP, "tools")

# The longest that a tool may take, and that anything is waited for. A case that waits so long has failed.
SECONDS_MAX = 40
# Between two questions of the same.
ASK_SECONDS = 0.5

# What the client's own race leaves behind all that a tool prints: at the end of the process its
# selector is told to stop, and the thread of that has closed what it would be woken by already.
EXIT_RACE = re.compile(
    r"(?:Error in (?:atexit\._run_exitfuncs|sys\.exitfunc):\n"
    r"Traceback \(most recent call last\):\n"
    r"(?:  .*\n)*?  File \".*qpid/selector\.py\", line \d+, in stop\n(?:  .*\n)*"
    r"(?:TypeError: an integer is required|OSError: \[Errno 9\] Bad file descriptor)\n)+\Z")


# What the interpreter says of a thread that still ran while its modules were taken away: at the end
# of a tool that does not wait for the threads of its console. The status is what it would be.
SHUTDOWN = re.compile(
    r"Exception in thread .* \(most likely raised during interpreter shutdown\):\n"
    r"Traceback \(most recent call last\):\n"
    r"(?:  .*\n)+"
    r"<type 'exceptions\.\w+'>: 'NoneType' object .*\n")


def without_exit_race(text):
    """What a tool printed but for the client's own races at its end, and whether there was one that
    makes the status 1."""
    text = SHUTDOWN.sub("", text)
    stripped = EXIT_RACE.sub("", text)
    return stripped, stripped != text


def files(only):
    """Paths of all tables, or of those that have one of the texts in `only` in their name."""
    names = sorted(name for name in os.listdir(FOLDER) if name.endswith(".cases"))
    return [os.path.join(FOLDER, name) for name in names
            if not only or any(text in name for text in only)]


def environment():
    """For every tool."""
    found = suites.environment()
    # Names that are no ASCII are read as the locale says.
    found.update(LC_ALL="C.UTF-8", PYTHONIOENCODING="utf-8")
    return found


def stock_path(tool):
    """Where a stock tool of this name would be."""
    return os.path.join(suites.HOME, "bin", tool)


def is_stock(tool):
    """Whether this is the name of a stock tool."""
    return os.path.exists(stock_path(tool))


def command(words):
    """The command of a tool: one of the stock ones, or a client of `interop/tools`."""
    tool, arguments = words[0], words[1:]
    path = stock_path(tool) if is_stock(tool) else os.path.join(FOLDER, tool + ".py")
    if not os.path.exists(path):
        raise tool_cases.Failed("there is no tool %s" % tool)
    return [suites.python(), path] + arguments


class Going:
    """A tool that goes on."""

    def __init__(self, words):
        self.is_stock = is_stock(words[0])
        self.process = processes.start(command(words), env=environment(), stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.lines = queue.Queue()
        self.printed = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line.decode("utf-8", "replace").rstrip())
        self.lines.put(None)

    def tell(self, line):
        """Gives it a line."""
        try:
            self.process.stdin.write(line.encode("utf-8") + b"\n")
            self.process.stdin.flush()
        except OSError:
            raise tool_cases.Failed("it has ended; it printed:\n" + "\n".join(self.printed))

    def see(self, wanted, seconds):
        """The match of the next line that matches, or None when none does in time."""
        until = time.monotonic() + seconds
        while True:
            try:
                line = self.lines.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                return None
            if line is None:
                self.lines.put(None)
                return None
            self.printed.append(line)
            # A prompt stands before what is printed without a line's end.
            found = re.fullmatch("(?:qpid: )*(?:%s)" % wanted, line)
            if found:
                return found

    def end(self):
        """Ends it, if it has not ended, and waits for that: a stock tool by an interrupt, as its user
        would, a client of ours by the end of its input."""
        if self.is_stock:
            if self.process.poll() is None:
                self.process.send_signal(signal.SIGINT)
        else:
            self.process.stdin.close()
        try:
            self.process.wait(SECONDS_MAX)
        except subprocess.TimeoutExpired:
            raise tool_cases.Failed("it did not end when it was told to; it printed:\n"
                                    + "\n".join(self.printed))
        finally:
            self.kill()

    def kill(self):
        """Ends it at once."""
        processes.end(self.process)
        self.process.stdin.close()


class Running:
    """A case that runs against the broker on a port of the loopback interface."""

    def __init__(self, port, log, far=None):
        self.port = port
        self.far = far
        self.log = log
        self.going = {}
        self.seen = ""

    def fill(self, text):
        """A text of a case for this broker."""
        for name, value in (("{b}", "127.0.0.1:%d" % self.port), ("{port}", str(self.port)),
                            ("{seen}", self.seen), ("{far}", "127.0.0.1:%s" % self.far)):
            text = text.replace(name, value)
        return text

    def run(self, case):
        """Runs all steps. Raises Failed with the line of the step that failed."""
        self.log.write("== %s\n" % case.name)
        try:
            for step in case.steps:
                try:
                    self._step(step)
                except tool_cases.Failed as error:
                    raise tool_cases.Failed("line %d: %s" % (step.number, error))
        finally:
            for going in self.going.values():
                going.kill()
                self.log.write("\n".join(going.printed) + "\n")
            self.log.flush()

    def _step(self, step):
        words = [self.fill(word) for word in step.words]
        if step.kind == "run":
            self._run(step, words)
            return
        name = words[0]
        if step.kind == "start":
            self.going[name] = Going(words[1:])
            return
        if name not in self.going:
            raise tool_cases.Failed("no tool goes on by the name %s" % name)
        going = self.going[name]
        if step.kind == "tell":
            going.tell(self.fill(step.text))
        elif step.kind == "see":
            self._saw(going, going.see(self.fill(step.text), SECONDS_MAX), step)
        elif step.kind == "ask":
            self._ask(going, step, words[1])
        else:
            going.end()

    def _run(self, step, words):
        done = subprocess.run(
            ["timeout", str(SECONDS_MAX)] + command(words), env=environment(),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        text = done.stdout.decode("utf-8", "replace")
        self.log.write("$ %s\n%s" % (" ".join(words), text))
        text, has_race = without_exit_race(text)
        wrong = tool_cases.compare([(sign, self.fill(wanted)) for sign, wanted in step.expected],
                                   text)
        is_of_race = has_race and (step.status, done.returncode) == (0, 1)
        if wrong is None and done.returncode != step.status and not is_of_race:
            wrong = "its status is %d, not %d" % (done.returncode, step.status)
        if wrong:
            raise tool_cases.Failed("%s\n%s" % (wrong, text))

    def _ask(self, going, step, line):
        until = time.monotonic() + SECONDS_MAX
        found = None
        while found is None and time.monotonic() < until and going.process.poll() is None:
            going.tell(line)
            found = going.see(self.fill(step.text), ASK_SECONDS)
        self._saw(going, found, step)

    def _saw(self, going, found, step):
        if found is None:
            raise tool_cases.Failed("no line is %r; it printed:\n%s"
                                    % (step.text, "\n".join(going.printed)))
        self.seen = found.group(1) if found.re.groups else self.seen
