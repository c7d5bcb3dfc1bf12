"""A broker of one's own: built, started on free ports, and looked at once more when it ends."""

import json
import re
import signal
import subprocess
import threading

from . import plan, processes

START_SECONDS_MAX = 30
STOP_SECONDS_MAX = 30

# What a lockstep group says at its end: `lockstep: 12 entries, 3 digest comparisons equal, drops=1
# ... seed=7`. Each `name=number` but the seed is a kind of fault.
LOCKSTEP_LINE = re.compile(r"lockstep: (\d+) entries, (\d+) digest comparisons equal, (.*)")
LOCKSTEP_FAULT = re.compile(r"([a-z][a-z ]*)=(\d+)")
ENTRIES, COMPARISONS = "entries", "digest comparisons"


class BrokerError(Exception):
    """The broker did not start, or did not end as a broker should."""


def build():
    """Builds the broker and gives the path of its binary."""
    command = ["cargo", "build", "--locked", "--bin", "ferrymq",
               "--message-format=json-render-diagnostics"]
    built = subprocess.run(command, cwd=plan.ROOT, stdout=subprocess.PIPE, universal_newlines=True)
    if built.returncode != 0:
        raise BrokerError("cargo build failed")
    for line in built.stdout.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["target"]["name"] == "ferrymq":
            return message["executable"]
    raise BrokerError("cargo built no binary named ferrymq")


class Broker:
    """A running broker and its log. `ports` has one port, or three of a lockstep group."""

    def __init__(self, binary, group, seed, log_path):
        self.group = group
        self.log_path = log_path
        count = 3 if group == "lockstep" else 1
        command = [binary, "serve", "--auth", "no", "--no-data-dir",
                   "--port", ",".join(["0"] * count)]
        if group == "lockstep":
            command += ["--group", "lockstep", "--lockstep-seed", str(seed)]
        self.log = open(log_path, "wb")
        self.process = processes.start(command, stdout=subprocess.PIPE, stderr=self.log)
        self.ports = []
        self.ready = threading.Event()
        threading.Thread(target=self._read_output, args=(count,), daemon=True).start()
        self.ready.wait(START_SECONDS_MAX)
        if len(self.ports) < count:
            processes.end(self.process)
            raise BrokerError("the broker printed no port; its log is %s" % log_path)

    def _read_output(self, count):
        """The first lines are the ports; the rest is kept moving, so that the broker never waits
        for a reader."""
        for line in self.process.stdout:
            if len(self.ports) < count:
                try:
                    self.ports.append(int(line))
                except ValueError:
                    break
                if len(self.ports) == count:
                    self.ready.set()
        self.ready.set()
        for _ in self.process.stdout:
            pass

    @property
    def pid(self):
        return self.process.pid

    def end(self):
        """Ends the broker by its id. Returns the numbers of a lockstep group, if it is one.

        Raises BrokerError when the broker had ended before, panicked, did not end when told to,
        or ended as if something were wrong.
        """
        early = self.process.poll()
        try:
            if early is None:
                self.process.send_signal(signal.SIGTERM)
                self.process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            raise BrokerError("the broker did not end within %d s of SIGTERM; log %s"
                              % (STOP_SECONDS_MAX, self.log_path))
        finally:
            processes.end(self.process)
            self.log.close()
        with open(self.log_path, errors="replace") as log:
            text = log.read()
        if "panicked" in text:
            raise BrokerError("the broker panicked; log %s" % self.log_path)
        if early is not None:
            raise BrokerError("the broker ended by itself (status %d); log %s"
                              % (early, self.log_path))
        if self.process.returncode != 0:
            raise BrokerError("the broker ended with status %d; log %s"
                              % (self.process.returncode, self.log_path))
        return self._lockstep_numbers(text) if self.group == "lockstep" else None

    def _lockstep_numbers(self, text):
        found = LOCKSTEP_LINE.findall(text)
        if not found:
            raise BrokerError("the lockstep group says nothing of its digests; log %s"
                              % self.log_path)
        entries, comparisons, faults = found[-1]
        numbers = {ENTRIES: int(entries), COMPARISONS: int(comparisons)}
        numbers.update((name, int(number)) for name, number in LOCKSTEP_FAULT.findall(faults)
                       if name != "seed")
        if numbers[COMPARISONS] < 1:
            raise BrokerError("the lockstep group compared no digests; log %s" % self.log_path)
        return numbers
