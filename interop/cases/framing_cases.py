"""Frames, controls and messages that no stock client sends, on open connections."""

import struct

from qpid.datatypes import RangedSet, Serial
from qpid.ops import (ConnectionClose, DeliveryProperties, ExchangeBind, ExecutionException,
                      ExecutionSync, MessageAccept, MessageCancel, MessageFlow, MessageProperties,
                      MessageReject, MessageRelease, MessageSubscribe, MessageTransfer, QueueDeclare,
                      QueuePurge, SessionAttach, SessionAttached, SessionCommandPoint,
                      SessionCompleted, SessionConfirmed, SessionDetach, SessionDetached,
                      SessionExpected, SessionFlush, SessionGap, SessionKnownCompleted,
                      SessionRequestTimeout)

from cases import broker, peer
from cases.broker import KIB_PER_MIB, Bystander
from cases.peer import Peer, header_bytes, raw_range
from cases.running import Failed, case, check, check_equal, run


class Talk(object):
    """A raw client with one session, whose commands it numbers."""

    def __init__(self, name, frame_size_max=65535, client=None, channel=1):
        self.client = client or Peer().open(frame_size_max)
        self.channel = channel
        self.client.attach(name, channel)
        self.next_id = 0

    def send(self, command):
        self.client.send(command, self.channel)
        self.next_id += 1

    def publish(self, destination, header, body, frame_size_max=None):
        size = frame_size_max or self.client.frame_size_max
        transfer = MessageTransfer(destination=destination, accept_mode=1, acquire_mode=0)
        self.client.write("".join(peer.message_frames(transfer, self.channel, header, body, size)))
        self.next_id += 1

    def sync(self):
        """Waits until all that was sent is done."""
        command = ExecutionSync()
        command.sync = True
        self.send(command)
        last = Serial(self.next_id - 1)
        while True:
            completed = self.client.expect(SessionCompleted)
            if completed.channel == self.channel and last in completed.commands:
                return

    def subscribe(self, queue, destination, acquire_mode=0):
        self.send(MessageSubscribe(queue=queue, destination=destination, accept_mode=0,
                                   acquire_mode=acquire_mode))
        for unit in (1, 0):
            self.send(MessageFlow(destination=destination, unit=unit, value=0xFFFFFFFF))

    def take(self):
        """The next delivery: its header and body as bytes, None for a segment that is absent."""
        transfer = self.client.expect(MessageTransfer)
        found = dict(transfer.segments[1:])
        return found.get(peer.MESSAGE_HEADER), found.get(peer.BODY)

    def refusal(self):
        """How the broker refuses what was sent: the code of the exception or of the close."""
        while True:
            op = self.client.read()
            if op is None:
                raise Failed("the connection ended without a word")
            if isinstance(op, ExecutionException):
                return op.error_code
            if isinstance(op, ConnectionClose):
                self.client._ops.insert(0, op)
                self.client.expect_close(op.reply_code)
                return op.reply_code


@case
def sets_of_half_the_numbers_are_not_walked():
    with Bystander():
        talk = Talk("walk")
        half = raw_range(0, 2 ** 31 - 1)
        talk.client.send(SessionCompleted(commands=half), talk.channel)
        talk.send(MessageAccept(transfers=half))
        talk.send(MessageRelease(transfers=half))
        talk.send(MessageReject(transfers=half))
        talk.sync()
        talk.client.close()


@case
def inverted_ranges_are_refused():
    with Bystander():
        for number, command in enumerate((MessageAccept, MessageRelease, MessageReject)):
            talk = Talk("inverted-%d" % number)
            talk.send(command(transfers=raw_range(5, 4)))
            check(talk.refusal() in (531, 501), "taken: %s", command.__name__)
            talk.client.socket.close()


@case
def inverted_completions_are_refused():
    with Bystander():
        talk = Talk("inverted-completed")
        talk.client.send(SessionCompleted(commands=raw_range(5, 4)), talk.channel)
        check(talk.refusal() in (531, 501), "taken")
        talk.client.socket.close()


def _session_controls():
    none = RangedSet()
    yield SessionGap(commands=none)
    yield SessionFlush(completed=True)
    yield SessionExpected(commands=none)
    yield SessionConfirmed(commands=none)
    yield SessionCompleted(commands=none)
    yield SessionKnownCompleted(commands=none)
    yield SessionRequestTimeout(timeout=10)
    yield SessionCommandPoint(command_id=Serial(0), command_offset=0)
    yield ExecutionSync()


@case
def controls_on_a_channel_without_session_leave_the_connection_up():
    with Bystander():
        client = Peer().open()
        for control in _session_controls():
            client.send(control, 9)
        client.attach("afterwards", 1)
        client.close()


@case
def commands_named_in_a_gap_count_as_done():
    with Bystander():
        talk = Talk("gap")
        talk.client.send(SessionGap(commands=raw_range(0, 3)), talk.channel)
        talk.next_id = 4
        talk.sync()
        talk.client.socket.close()


def _declare_bytes(name_length):
    """queue.declare whose name says a length of its own."""
    command = QueueDeclare(queue="abc")
    command.channel = 1
    data = peer.frames(command, 65535)[0]
    return data.replace("\x03abc", chr(name_length) + "abc")


def _accept_bytes(set_length):
    """message.accept whose set says a length of its own."""
    command = MessageAccept(transfers=raw_range(0, 0))
    command.channel = 1
    data = peer.frames(command, 65535)[0]
    return data.replace("\x00\x08", struct.pack("!H", set_length))


@case
def fields_longer_than_their_command_are_refused():
    wrong = [_declare_bytes(length) for length in (4, 255)]
    wrong += [_accept_bytes(length) for length in (7, 9, 16, 65535)]
    with Bystander():
        for number, data in enumerate(wrong):
            talk = Talk("longer-%d" % number)
            talk.client.write(data)
            check(talk.refusal() in (501, 531, 542), "taken: %r", data)
            talk.client.socket.close()


def _malformed_headers():
    good = header_bytes(DeliveryProperties(routing_key="malformed"))
    headers = MessageProperties(application_headers={"key": "value"})
    bad_map = good + header_bytes(headers).replace("\x03key\x95", "\x03key\x3f")
    yield "a struct longer than the segment", good + "\x00\x00\x01\x00\x04\x01\x00\x00"
    yield "a struct cut short", good + header_bytes(headers)[:-3]
    yield "three octets", good + "\x00\x00\x00"
    yield "a struct of an unknown code", good + "\x00\x00\x00\x06\x7f\x7f\x00\x00ab"
    yield "a map with an unknown type", bad_map


@case
def malformed_headers_are_refused_or_kept_byte_exact():
    with Bystander():
        keeper = Talk("keeper")
        for name in ("malformed", "malformed-dead"):
            keeper.send(QueueDeclare(queue=name, auto_delete=False,
                                     alternate_exchange="amq.fanout" if name == "malformed"
                                     else None))
        keeper.send(ExchangeBind(queue="malformed-dead", exchange="amq.fanout", binding_key=""))
        keeper.sync()
        for number, (what, header) in enumerate(_malformed_headers()):
            talk = Talk("malformed-%d" % number)
            talk.publish("", header, "body")
            try:
                talk.sync()
            except Failed:
                continue
            _touch_all(header, what, number)
            talk.client.close()
        keeper.send(QueuePurge(queue="malformed"))
        keeper.send(QueuePurge(queue="malformed-dead"))
        keeper.sync()
        keeper.client.close()


def _touch_all(header, what, number):
    """Browses a message, rejects it to the alternate exchange and takes it from there."""
    with_exchange = len(header_bytes(DeliveryProperties(routing_key="malformed")))
    talk = Talk("toucher-%d" % number)
    talk.subscribe("malformed", "browse", acquire_mode=1)
    found, body = talk.take()
    check_equal((found[-len(header) + with_exchange:], body), (header[with_exchange:], "body"),
                "browsed: " + what)
    talk.send(MessageCancel(destination="browse"))
    talk.subscribe("malformed", "take")
    talk.take()
    talk.send(MessageReject(transfers=raw_range(1, 1)))
    talk.subscribe("malformed-dead", "dead")
    found, body = talk.take()
    check_equal(body, "body", "dead-lettered: " + what)
    talk.send(MessageAccept(transfers=raw_range(2, 2)))
    talk.sync()
    talk.client.close()


@case
def detach_of_an_unattached_channel_is_answered_on_that_channel():
    with Bystander():
        client = Peer().open()
        client.send(SessionDetach(name="never-attached"), 7)
        detached = client.expect(SessionDetached)
        check_equal((detached.channel, detached.name, detached.code), (7, "never-attached", 3),
                    "channel, name and code")
        client.close()


@case
def a_channel_carries_one_session():
    with Bystander():
        client = Peer().open().attach("first", 1)
        client.send(SessionAttach(name="second", force=False), 1)
        detached = client.expect(SessionDetached)
        check_equal((detached.channel, detached.name, detached.code), (1, "second", 2),
                    "channel, name and code")
        client.close()


@case
def an_attached_name_is_busy_until_it_is_forced():
    with Bystander():
        holder = Peer().open().attach("wanted", 1)
        other = Peer().open()
        other.send(SessionAttach(name="wanted", force=False), 4)
        detached = other.expect(SessionDetached)
        check_equal((detached.channel, detached.name, detached.code), (4, "wanted", 1),
                    "channel, name and code")
        other.send(SessionAttach(name="wanted", force=True), 4)
        check_equal(other.expect(SessionAttached).channel, 4, "the channel attached by force")
        other.close()
        holder.close()


@case
def large_headers_and_bodies_arrive_byte_exact_in_small_frames():
    octets = "".join(map(chr, range(256)))
    headers = dict(("key-%d" % n, octets.encode("hex") * 4) for n in range(98))
    rest = header_bytes(MessageProperties(application_headers=headers))
    check(len(rest) > 200 * 1000, "the header is too small to try anything")
    body = octets * 4096 + "!"
    with Bystander(growth_kib=8 * KIB_PER_MIB):
        talk = Talk("large", frame_size_max=4096)
        talk.send(QueueDeclare(queue="large", exclusive=True, auto_delete=True))
        talk.publish("", header_bytes(DeliveryProperties(routing_key="large")) + rest, body)
        talk.subscribe("large", "in")
        found, found_body = talk.take()
        check(found.endswith(rest), "the message properties came changed")
        check_equal(len(found_body), len(body), "octets of the body")
        check(found_body == body, "the body came changed")
        check(max(talk.client.frame_sizes) <= 4096, "a frame was larger than negotiated")
        talk.client.close()


@case
def an_empty_body_is_not_no_body():
    with Bystander():
        talk = Talk("bodies")
        talk.send(QueueDeclare(queue="bodies", exclusive=True, auto_delete=True))
        header = header_bytes(DeliveryProperties(routing_key="bodies"))
        for body in ("", None, "x"):
            talk.publish("", header, body)
        talk.subscribe("bodies", "in")
        bodies = [talk.take()[1] for _ in range(3)]
        check_equal(bodies, ["", None, "x"], "the bodies")
        talk.client.close()


@case
def a_message_without_header_stays_without():
    with Bystander():
        talk = Talk("headerless")
        talk.send(QueueDeclare(queue="headerless", exclusive=True, auto_delete=True))
        talk.send(ExchangeBind(queue="headerless", exchange="amq.fanout", binding_key=""))
        talk.publish("amq.fanout", None, "x")
        talk.subscribe("headerless", "in")
        check_equal(talk.take(), (None, "x"), "header and body")
        talk.client.close()


@case
def frames_of_two_sessions_may_be_mixed():
    with Bystander(growth_kib=4 * KIB_PER_MIB):
        client = Peer().open(frame_size_max=4096)
        talks = [Talk("mixed-%d" % channel, client=client, channel=channel) for channel in (1, 2)]
        bodies = ["a" * 50000, "b" * 60000]
        written = []
        for talk, body in zip(talks, bodies):
            name = "mixed-%d" % talk.channel
            talk.send(QueueDeclare(queue=name, exclusive=True, auto_delete=True))
            header = header_bytes(DeliveryProperties(routing_key=name))
            transfer = MessageTransfer(destination="", accept_mode=1, acquire_mode=0)
            written.append(peer.message_frames(transfer, talk.channel, header, body, 4096))
            talk.next_id += 1
        for number in range(max(map(len, written))):
            for one in written:
                client.write("".join(one[number:number + 1]))
        for talk, body in zip(talks, bodies):
            talk.subscribe("mixed-%d" % talk.channel, "in")
            check(talk.take()[1] == body, "the body of channel %d came changed", talk.channel)
        client.close()


def _send_body_without_end(name):
    """Sends body frames until the broker answers. Returns the octets sent and the most memory that
    the broker had, in KiB."""
    piece = "x" * (65535 - peer.FRAME_HEADER.size)
    sent_max = 2 * 1024 ** 3
    broker.forget_peak()
    talk = Talk(name)
    transfer = MessageTransfer(destination="amq.fanout", accept_mode=1, acquire_mode=0)
    talk.client.write("".join(peer.message_frames(transfer, 1, "", "body")[:-1]))
    sent = 0
    flags = 0x04 | 0x02
    while sent < sent_max and talk.client.is_silent(0):
        talk.client.write(peer.frame(peer.BODY, peer.COMMAND_TRACK, 1, piece, flags))
        sent += len(piece)
        flags = 0x04
    check(sent < sent_max, "2 GiB were taken without a word")
    check(talk.refusal() in (506, 311, 501), "refused with another code")
    talk.client.socket.close()
    return sent, broker.resident_kib("VmHWM")


@case
def a_body_that_never_ends_is_cut_off():
    before = broker.resident_kib()
    sent, peak = _send_body_without_end("endless-1")
    # A frame may pin more than itself of the buffer that it was read into.
    check(peak - before < 2 * (sent >> 10),
          "%d octets were sent, memory rose by %d KiB", sent, peak - before)
    # The allocator keeps some of it, for each thread apart; kept every time, it would be a leak.
    rounds = 8
    with Bystander(growth_kib=rounds // 2 * (sent >> 10)):
        for number in range(rounds):
            _send_body_without_end("endless-%d" % (number + 2))


if __name__ == "__main__":
    run("cases.framing_cases")
