"""A broker of one's own: built, started on free ports, and looked at once more when it ends."""

import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import threading

from . import plan, processes

START_SECONDS_MAX = 30
STOP_SECONDS_MAX = 30

# What a lockstep group says at its end: `lockstep: 12 entries, 3 digest comparisons equal, drops=1
# ... seed=7`. Each `name=number` but the seed is a kind of fault.
LOCKSTEP_LINE = re.compile(r"lockstep: (\d+) entries, (\d+) digest comparisons equal, (.*)")
LOCKSTEP_FAULT = re.compile(r"([a-z][a-z ]*)=(\d+)")
ENTRIES, COMPARISONS = "entries", "digest comparisons"

# Members of a group.
MEMBERS = 3

# What a member of a raft group says at its end, and what all say when one ends.
RAFT_LINE = re.compile(r"raft: member \w+ served (\d+) connections and applied (\d+) entries")
RAFT_FAREWELL = re.compile(r"ends; the state at entry (\d+) has digest (\w+)")
CONNECTIONS = "connections"


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


def free_ports(count):
    """Ports of loopback that nobody uses now, none of them twice."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [listener.getsockname()[1] for listener in held]
    for listener in held:
        listener.close()
    return ports


class Process:
    """A process of the broker and its log. `ports` has those at which it serves clients."""

    def __init__(self, command, count, log_path):
        self.log_path = log_path
        self.log = open(log_path, "wb")
        self.process = processes.start(command, stdout=subprocess.PIPE, stderr=self.log)
        self.count = count
        self.ports = []
        self.ready = threading.Event()
        threading.Thread(target=self._read_output, daemon=True).start()

    def wait_for_ports(self):
        """Waits until it serves clients. Raises BrokerError when it does not in time."""
        self.ready.wait(START_SECONDS_MAX)
        if len(self.ports) < self.count:
            raise BrokerError("the broker printed no port; its log is %s" % self.log_path)

    def _read_output(self):
        """The first lines are the ports; the rest is kept moving, so that the broker never waits
        for a reader."""
        for line in self.process.stdout:
            if len(self.ports) < self.count:
                try:
                    self.ports.append(int(line))
                except ValueError:
                    break
                if len(self.ports) == self.count:
                    self.ready.set()
        self.ready.set()
        for _ in self.process.stdout:
            pass

    def kill(self):
        """Ends it at once."""
        processes.end(self.process)
        self.log.close()

    def tell_to_end(self):
        """Tells it to end. Whether it still ran."""
        self.was_running = self.process.poll() is None
        if self.was_running:
            self.process.send_signal(signal.SIGTERM)

    def end(self):
        """Waits for the end of a broker that was told to end. Returns its log.

        Raises BrokerError when the broker had ended before, panicked, did not end when told to,
        or ended as if something were wrong.
        """
        try:
            self.process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            raise BrokerError("the broker did not end within %d s of SIGTERM; log %s"
                              % (STOP_SECONDS_MAX, self.log_path))
        finally:
            self.kill()
        with open(self.log_path, errors="replace") as log:
            text = log.read()
        if "panicked" in text:
            raise BrokerError("the broker panicked; log %s" % self.log_path)
        if not self.was_running:
            raise BrokerError("the broker ended by itself (status %d); log %s"
                              % (self.process.returncode, self.log_path))
        if self.process.returncode != 0:
            raise BrokerError("the broker ended with status %d; log %s"
                              % (self.process.returncode, self.log_path))
        return text


class Broker:
    """A running broker, or brokers that act as one. `ports` has one port, or one of each member."""

    def __init__(self, binary, group, seed, log_path, options=()):
        self.group = group
        self.options = list(options)
        self.log_path = log_path
        start = self._start_raft if group == "raft" else self._start_one
        self.processes = start(binary, seed)
        try:
            for process in self.processes:
                process.wait_for_ports()
        except BrokerError:
            for process in self.processes:
                process.kill()
            raise
        self.ports = [port for process in self.processes for port in process.ports]

    def _start_one(self, binary, seed):
        count = MEMBERS if self.group == "lockstep" else 1
        command = [binary, "serve", "--auth", "no", "--no-data-dir",
                   "--port", ",".join(["0"] * count)] + self.options
        if self.group == "lockstep":
            command += ["--group", "lockstep", "--lockstep-seed", str(seed)]
        return [Process(command, count, self.log_path)]

    def _start_raft(self, binary, _):
        self.directory = tempfile.mkdtemp(prefix="members-", dir=os.path.dirname(self.log_path))
        key = os.path.join(self.directory, "key")
        with os.fdopen(os.open(key, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
            file.write(secrets.token_hex(32))
        peers = ["127.0.0.1:%d" % port for port in free_ports(MEMBERS)]
        started = []
        for number, peer in enumerate(peers, 1):
            command = [binary, "serve", "--auth", "no", "--port", "0", "--group", "raft",
                       "--data-dir", os.path.join(self.directory, str(number)),
                       "--cluster-key-file", key, "--cluster-listen", peer,
                       "--cluster-peers", ",".join(peers)] + self.options
            started.append(Process(command, 1, "%s.%d" % (self.log_path, number)))
        return started

    @property
    def pid(self):
        return self.processes[0].process.pid

    def kill(self):
        """Ends it at once, whatever state it is in, and forgets what it kept."""
        for process in self.processes:
            process.kill()
        if self.group == "raft":
            shutil.rmtree(self.directory)

    def end(self):
        """Ends the broker. Returns the numbers of a lockstep group, or of members by their numbers
        from 1. Raises BrokerError when anything was wrong."""
        try:
            if self.group != "raft":
                self.processes[0].tell_to_end()
                text = self.processes[0].end()
                return self._lockstep_numbers(text) if self.group == "lockstep" else None
            first, *others = self.processes
            # What the first says of its state at its end, the others say of theirs.
            first.tell_to_end()
            texts = [first.end()]
            for process in others:
                process.tell_to_end()
            texts += [process.end() for process in others]
        finally:
            for process in self.processes:
                process.kill()
        numbers = self._raft_numbers(texts)
        shutil.rmtree(self.directory)
        return numbers

    def _raft_numbers(self, texts):
        digests = {}
        for text in texts:
            for entry, digest in RAFT_FAREWELL.findall(text):
                digests.setdefault(entry, []).append(digest)
        if not any(len(told) == len(texts) for told in digests.values()):
            raise BrokerError("there is no entry at which all members told their digest; logs %s.*"
                              % self.log_path)
        apart = [entry for entry, told in digests.items() if len(set(told)) > 1]
        if apart:
            raise BrokerError("the members' states differ at entries %s; logs %s.*"
                              % (", ".join(apart), self.log_path))
        numbers = {}
        for number, text in enumerate(texts, 1):
            found = RAFT_LINE.findall(text)
            if not found:
                raise BrokerError("member %d says nothing at its end; log %s.%d"
                                  % (number, self.log_path, number))
            connections, entries = found[-1]
            numbers[CONNECTIONS, number] = int(connections)
            numbers[ENTRIES, number] = int(entries)
        return numbers

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
