"""The broker under test, as its clients and its host see it."""

import os
import socket
import struct

from qpid.connection import Connection
from qpid.datatypes import Message, RangedSet
from qpid.session import SessionException

from cases.running import check, check_equal, eventually

ADDRESS = os.environ.get("FERRYMQ_ADDRESS", "127.0.0.1:5672")
GROUP = os.environ.get("FERRYMQ_GROUP", "solo")
PID = int(os.environ.get("FERRYMQ_PID", "0"))

INFINITE = 0xFFFFFFFF
SECONDS_MAX = 30

KIB_PER_MIB = 1024


def connect_socket():
    """A socket connected to the broker, without delay of small writes."""
    host, port = ADDRESS.rsplit(":", 1)
    found = socket.create_connection((host, int(port)), SECONDS_MAX)
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return found


def reset_on_close(sock):
    """Makes a socket send a reset instead of an orderly end."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def connect():
    """An open connection of the stock client's low-level interface."""
    connection = Connection(connect_socket(), username="guest", password="guest")
    connection.start(timeout=SECONDS_MAX)
    return connection


def publish(session, queue, body, **properties):
    """Publishes to a queue through the default exchange."""
    delivery = session.delivery_properties(routing_key=queue, **properties)
    session.message_transfer(message=Message(delivery, body))


def grant(session, destination, messages=INFINITE, octets=INFINITE):
    """Grants credit to a subscription."""
    session.message_flow(destination, session.credit_unit.byte, octets)
    session.message_flow(destination, session.credit_unit.message, messages)


def complete(session, *messages):
    """Tells the broker that deliveries are done with."""
    for message in messages:
        session.receiver._completed.add(message.id)
    session.channel.session_completed(session.receiver._completed)


def ids(*messages):
    """The set of the command ids of deliveries."""
    return RangedSet(*[message.id for message in messages])


def is_redelivered(message):
    """Whether a delivery is flagged."""
    properties = message.get("delivery_properties")
    return bool(properties is not None and properties.redelivered)


def error_code(action, *arguments, **keywords):
    """The code of the exception that a command ends its session with, or None."""
    try:
        action(*arguments, **keywords)
    except SessionException, error:
        return error.args[0].error_code
    return None


def depth(session, queue):
    """Messages of a queue that are there for the taking."""
    return session.queue_query(queue=queue).message_count


def resident_kib(field="VmRSS"):
    """Resident memory of the broker, or with VmHWM the most it had since `forget_peak`."""
    with open("/proc/%d/status" % PID) as status:
        for line in status:
            if line.startswith(field + ":"):
                return int(line.split()[1])
    raise RuntimeError("no %s of process %d" % (field, PID))


def forget_peak():
    """Starts a new measurement of VmHWM."""
    with open("/proc/%d/clear_refs" % PID, "w") as file:
        file.write("5")


def descriptors():
    """How many files and sockets the broker has open."""
    return len(os.listdir("/proc/%d/fd" % PID))


class Bystander(object):
    """A well-behaved client that hostile ones must not disturb, and what they may not leave behind.

    Around a hostile case: the broker lives, this client's messages go on, no descriptor stays open
    and memory is back where it was, within `growth_kib`; at its peak within `peak_kib` of it.
    """

    _count = 0

    def __init__(self, growth_kib=KIB_PER_MIB, peak_kib=None):
        self.growth_kib = growth_kib
        self.peak_kib = peak_kib

    def __enter__(self):
        if not Bystander._count:
            self._warm_up()
        Bystander._count += 1
        self.name = "bystander-%d" % Bystander._count
        self.connection = connect()
        self.session = self.connection.session(self.name)
        self.session.queue_declare(queue=self.name, exclusive=True, auto_delete=True)
        self.session.message_subscribe(queue=self.name, destination="in")
        grant(self.session, "in")
        self._pass_message("before")
        self.descriptors = descriptors()
        self.resident_kib = resident_kib()
        forget_peak()
        return self

    def __exit__(self, kind, error, trace):
        try:
            if kind is None:
                self._check()
        finally:
            self.connection.close(timeout=SECONDS_MAX)

    def _check(self):
        self._pass_message("after")
        eventually(lambda: descriptors() <= self.descriptors, "its descriptors are back")
        growth = resident_kib() - self.resident_kib
        peak = resident_kib("VmHWM") - self.resident_kib
        print "  memory grew by %d KiB, by %d at its peak" % (growth, peak)
        check(growth <= self.growth_kib, "memory grew by %d KiB", growth)
        check(self.peak_kib is None or peak <= self.peak_kib,
              "memory rose by %d KiB at its peak", peak)

    def _warm_up(self):
        """Has the broker touch what it touches once: the memory of its threads, its buffers."""
        connections = [connect() for _ in range(20)]
        for number, connection in enumerate(connections):
            session = connection.session("warm-up-%d" % number)
            session.queue_declare(queue="warm-up", auto_delete=True)
            for _ in range(4):
                publish(session, "warm-up", "x" * 60000)
        for connection in connections:
            connection.close(timeout=SECONDS_MAX)
        self._purge("warm-up")

    def _purge(self, queue):
        connection = connect()
        session = connection.session("purge")
        session.queue_delete(queue=queue)
        connection.close(timeout=SECONDS_MAX)

    def _pass_message(self, text):
        publish(self.session, self.name, text)
        message = self.session.incoming("in").get(timeout=SECONDS_MAX)
        check_equal(message.body, text, "the bystander's message")
        self.session.message_accept(ids(message))
