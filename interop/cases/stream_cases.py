"""Many messages through stock senders and receivers, each a process of its own."""

import os
import signal
import subprocess
import sys

from qpid.messaging import Connection, Empty

from cases import broker
from cases.running import case, check, check_equal, run

# The number that the issue of the first broker names. A lockstep group is three brokers in one, all
# of whose batches are encoded, dropped and doubled at random.
STREAM_MESSAGES = 100000 if broker.GROUP == "solo" else 20000
SHARED_MESSAGES = STREAM_MESSAGES // 5
BATCH = 100
IDLE_SECONDS = 60


class Consumer(object):
    """A stock consumer in another process, and what it prints."""

    def __init__(self, queue, **options):
        arguments = ["%s=%d" % pair for pair in options.items()]
        command = [sys.executable, "-m", "cases.consumer", queue] + arguments
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE)
        check_equal(self.line(), "ready", "the consumer's first word")

    def line(self):
        return self.process.stdout.readline().strip()

    def until(self, start):
        """Lines up to one that starts so: those before it, and it."""
        before = []
        while True:
            line = self.line()
            check(line != "", "the consumer ended before it said %r", start)
            if line.startswith(start):
                return before, line
            before.append(line)

    def rest(self):
        """All further lines, when the consumer has ended well."""
        output = self.process.communicate()[0]
        check_equal(self.process.returncode, 0, "the consumer's status")
        return output.split("\n")[:-1]

    def kill(self):
        """Ends it as a crash would, and gives the lines that it had said."""
        os.kill(self.process.pid, signal.SIGKILL)
        return self.process.communicate()[0].split("\n")[:-1]


def numbers(lines):
    """Numbers and flags from a consumer's lines."""
    return [(int(line.split()[0]), line.endswith(" R")) for line in lines]


def send(address, count, is_transactional=False):
    """Sends numbered messages."""
    connection = Connection.establish(broker.ADDRESS)
    session = connection.session(transactional=is_transactional)
    sender = session.sender(address)
    sender.capacity = 1000
    for number in range(count):
        sender.send(str(number), sync=False)
        if is_transactional and number % BATCH == BATCH - 1:
            session.commit()
    if is_transactional:
        session.commit()
    sender.sync()
    connection.close()


def check_empty(queue):
    """Checks that nothing is left in a queue, and deletes it."""
    connection = Connection.establish(broker.ADDRESS)
    receiver = connection.session().receiver("%s; {delete: always}" % queue)
    try:
        message = receiver.fetch(timeout=0)
        check(False, "left in the queue: %r", message)
    except Empty:
        pass
    connection.close()


def create(queue):
    connection = Connection.establish(broker.ADDRESS)
    connection.session().sender("%s; {create: always}" % queue).close()
    connection.close()


def _stream(queue, transactional):
    create(queue)
    consumer = Consumer(queue, count=STREAM_MESSAGES, capacity=1000, batch=BATCH,
                        tx=int(transactional), idle=IDLE_SECONDS)
    send(queue, STREAM_MESSAGES, transactional)
    found = numbers(consumer.rest())
    check_equal(len(found), STREAM_MESSAGES, "messages that came")
    wrong = [pair for pair, number in zip(found, range(STREAM_MESSAGES)) if pair != (number, False)]
    check(not wrong, "out of order, doubled or flagged, first: %r", wrong[:5])
    check_empty(queue)


@case
def a_stream_arrives_once_and_in_order():
    _stream("stream", False)


@case
def a_stream_of_transactions_arrives_once_and_in_order():
    _stream("stream-tx", True)


@case
def two_consumers_share_a_queue_without_loss_or_doubling():
    create("shared")
    consumers = [Consumer("shared", capacity=100, batch=10, idle=5) for _ in range(2)]
    send("shared", SHARED_MESSAGES)
    shares = [numbers(consumer.rest()) for consumer in consumers]
    check(all(shares), "one consumer got nothing")
    for share in shares:
        check_equal(share, sorted(share), "the order within a share")
    everything = sorted(shares[0] + shares[1])
    check_equal(len(everything), SHARED_MESSAGES, "messages that came")
    check(everything == [(n, False) for n in range(SHARED_MESSAGES)], "lost, doubled or flagged")
    check_empty("shared")


@case
def a_killed_consumers_messages_come_back_in_place_and_flagged():
    create("killed")
    send("killed", 2000)
    victim = Consumer("killed", capacity=100, batch=50, hold=500)
    accepted, holding = victim.until("holding")
    given = int(holding.split()[1])
    victim.kill()
    check_equal([n for n, _ in numbers(accepted)], range(500), "accepted before the kill")
    check(given > 500, "nothing was left unaccepted")
    survivor = Consumer("killed", capacity=100, batch=50, idle=3)
    expected = [(n, n < given) for n in range(500, 2000)]
    check_equal(numbers(survivor.rest()), expected, "numbers and flags")
    check_empty("killed")


@case
def a_consumer_killed_mid_stream_loses_and_doubles_nothing_for_the_other():
    create("killed-shared")
    victim = Consumer("killed-shared", capacity=100, batch=50, hold=500)
    survivor = Consumer("killed-shared", capacity=100, batch=50, idle=5)
    sender = subprocess.Popen([sys.executable, "-m", "cases.stream_cases", "--send",
                               "killed-shared", str(SHARED_MESSAGES)])
    accepted, _ = victim.until("holding")
    victim.kill()
    check_equal(sender.wait(), 0, "the sender's status")
    by_victim = [number for number, _ in numbers(accepted)]
    by_survivor = numbers(survivor.rest())
    everything = sorted(by_victim + [number for number, _ in by_survivor])
    check(everything == range(SHARED_MESSAGES), "lost or doubled")
    flagged = [number for number, is_flagged in by_survivor if is_flagged]
    plain = [number for number, is_flagged in by_survivor if not is_flagged]
    check(flagged, "nothing came back")
    check_equal(flagged, sorted(flagged), "the order of what came back")
    check_equal(plain, sorted(plain), "the order of the rest")
    check_empty("killed-shared")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--send"]:
        send(sys.argv[2], int(sys.argv[3]))
    else:
        run("cases.stream_cases")
