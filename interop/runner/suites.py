"""The stock Python clients and suites: installed, listed and run."""

import os
import re
import shutil
import subprocess
import time

from . import plan, processes

PYTHON_VERSION = "2.7.18"
CLIENT_VERSION = "1.36.0.post1"
PACKAGES = ["qpid-python==" + CLIENT_VERSION, "qpid-tools==" + CLIENT_VERSION]
HOME = os.path.join(plan.CACHE, "python-" + CLIENT_VERSION)

PROCESS_SECONDS_MAX = 900

# What the client's own race leaves in the output: its thread that waits for sockets has died, and
# every later case of the process fails with it or waits for ever, whatever the broker does. The
# others are what the thread says when a connection gave up its socket between the thread's look at
# what is to be waited for and its wait (`Driver.stop` takes no lock against `Selector.run`).
CLIENT_RACES = (b"SelectorStopped",
                b"qpid.messaging thread died: 'NoneType' object has no attribute 'fileno'",
                b"qpid.messaging thread died: [Errno 9] Bad file descriptor")

# Cases of the public suites that race with themselves, and the line at which they then fail. This one
# asks through one connection for the session that another has sent the attach of and nothing more:
# the client does not wait for the answer, so whichever broker reads the question first has no such
# session. (With every processor busy it failed in 2 of 40 runs at one broker, in 11 of 80 at three.)
CASE_RACES = {
    "qpid_tests.broker_0_10.management.ManagementTest.test_connection_stats": "assert(conn_qmf)",
}

# A process in which the race shows has this long to end by itself: it is run again all the same.
RACE_SECONDS_MAX = 10
LOOK_SECONDS = 1

CASE_LINE = re.compile(r"^((?:qpid|cases)[\w.]+) \.+(?: (pass|fail|skip))?\s*$")
CASE_START = re.compile(r"^((?:qpid|cases)[\w.]+) \.{2,}")
RUNNER_TOTALS = re.compile(r"^Totals: \d+ tests")
BARE_STATUS = re.compile(r"^\s?(pass|fail|skip)\s*$")


class SuiteError(Exception):
    """The suites could not be installed or listed."""


def python():
    """The command that runs Python 2.7."""
    return os.environ.get("PYTHON2", "python2.7")


def environment():
    """For every Python 2.7 process."""
    found = dict(os.environ)
    found["PYENV_VERSION"] = PYTHON_VERSION
    found["PYTHONPATH"] = os.pathsep.join([HOME, plan.INTEROP])
    found["PYTHONDONTWRITEBYTECODE"] = "1"
    found["PYTHONUNBUFFERED"] = "1"
    found["COLUMNS"] = "400"
    return found


def install():
    """Installs the clients and suites into the cache, if they are not there whole."""
    if os.path.exists(os.path.join(HOME, "complete")):
        return
    shutil.rmtree(HOME, ignore_errors=True)
    os.makedirs(HOME)
    print("installing " + " ".join(PACKAGES), flush=True)
    try:
        _python(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps",
                 "--target", HOME] + PACKAGES)
    except OSError:
        raise SuiteError("the suites need Python 2.7: as python2.7 in the path (pyenv's is taken "
                         "in version %s), or named by PYTHON2" % PYTHON_VERSION)
    # The client keeps its specification pickled beside the code and writes it when first imported;
    # several processes at once would write into one file.
    _python(["-c", "import qpid.ops"])
    with open(os.path.join(HOME, "complete"), "w"):
        pass


def _python(arguments):
    done = subprocess.run([python()] + arguments, env=environment(), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, universal_newlines=True)
    if done.returncode != 0:
        raise SuiteError("%s failed:\n%s" % (" ".join(arguments[:3]), done.stdout))
    return done.stdout


def list_cases(modules):
    """Names of the modules' cases, by module, in the order in which they run."""
    public = [module for module in modules if module.is_public]
    output = ""
    if public:
        arguments = [os.path.join(HOME, "bin", "qpid-python-test"), "-l"]
        for module in public:
            arguments += ["-m", module.name]
        output += _python(arguments + [module.name + ".*" for module in public])
    for module in modules:
        if not module.is_public:
            output += _python(["-m", module.name, "--list"])
    names = output.split("\n")
    return {module: [name for name in names if name.startswith(module.name + ".")]
            for module in modules}


class Outcome:
    """What came of one process. `statuses` maps each case to pass, fail or skip, `texts` to what
    was printed while it ran."""

    def __init__(self, statuses, texts, has_race, timed_out):
        self.statuses = statuses
        self.texts = texts
        self.has_race = has_race
        self.timed_out = timed_out

    def take(self, case, other):
        """What came of one case is what came of it in another process."""
        self.statuses[case] = other.statuses[case]
        self.texts[case] = other.texts.get(case, [])
        self.timed_out = self.timed_out or other.timed_out


def run_cases(module, cases, port, extra, log_path):
    """Runs cases of one module in one process, against the broker on a port of the loopback
    interface.

    `extra` goes into the environment. A case that says nothing of itself has failed.
    """
    address = "127.0.0.1:%d" % port
    if module.is_public:
        command = [python(), os.path.join(HOME, "bin", "qpid-python-test"), "-b", address,
                   "-m", module.name] + cases
    else:
        command = [python(), "-m", module.name] + cases
    env = environment()
    env.update(extra)
    env["FERRYMQ_ADDRESS"] = address
    with open(log_path, "wb") as log:
        process = processes.start(command, env=env, stdout=log, stderr=subprocess.STDOUT)
        try:
            timed_out = not ended_in_time(process, log_path)
        finally:
            processes.end(process)
    printed = read(log_path)
    statuses = dict.fromkeys(cases, "fail")
    found, texts = read_statuses(printed.decode("utf-8", "replace"))
    statuses.update(found)
    return Outcome(statuses, texts, shows_race(printed), timed_out)


def ended_in_time(process, log_path):
    """Waits for a process. False if it has not ended when its time is over, which is short once the
    client's race shows in its output."""
    until = time.monotonic() + PROCESS_SECONDS_MAX
    in_race = False
    while time.monotonic() < until:
        try:
            process.wait(LOOK_SECONDS)
            return True
        except subprocess.TimeoutExpired:
            if not in_race and shows_race(read(log_path)):
                in_race = True
                until = time.monotonic() + RACE_SECONDS_MAX
    return False


def read(log_path):
    """What a process has printed."""
    with open(log_path, "rb") as log:
        return log.read()


def shows_race(printed):
    """Whether the client's own race shows in what a process printed."""
    return any(race in printed for race in CLIENT_RACES)


def races_with_itself(case, outcome):
    """Whether a case failed by a race of its own."""
    sign = CASE_RACES.get(case)
    return bool(sign) and outcome.statuses.get(case) == "fail" and any(
        line.strip() == sign for line in outcome.texts.get(case, ()))


def read_statuses(text):
    """Cases and their statuses from a runner's output, and cases and the lines they printed.

    A case is a line of its name, dots and a status; why it failed is said in the lines behind. When
    it prints something itself, its name comes first without a status, then what it prints, then its
    name again with one. Other threads may write into the line, so that the status stands alone on
    the next.
    """
    statuses = {}
    texts = {}
    case = None
    is_waiting = False
    for line in text.split("\n"):
        found = CASE_LINE.match(line)
        started = CASE_START.match(line)
        bare = BARE_STATUS.match(line)
        if found and found.group(2):
            case, is_waiting = found.group(1), False
            statuses[case] = found.group(2)
        elif started:
            case, is_waiting = started.group(1), True
            statuses.setdefault(case, "fail")
        elif bare and is_waiting:
            statuses[case], is_waiting = bare.group(1), False
        elif case and not RUNNER_TOTALS.match(line):
            texts.setdefault(case, []).append(line)
    return statuses, texts
