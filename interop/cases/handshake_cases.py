"""Bytes before and during the opening of a connection, from clients that nobody knows yet."""

import os
import socket
import struct
import time

from qpid.datatypes import Serial
from qpid.ops import (ConnectionClose, ConnectionSecure, ConnectionSecureOk, ConnectionStart,
                      ConnectionStartOk, ConnectionTune, MessageTransfer, SessionAttach)

from cases import peer
from cases.broker import KIB_PER_MIB, Bystander, connect
from cases.peer import Peer
from cases.running import case, check, check_equal, run

START_OK = "\x01\x02"

# Type codes of 0-10.
VOID, STR8, STR16, VBIN8, VBIN16, VBIN32 = 0xF0, 0x85, 0x95, 0x80, 0x90, 0xA0
MAP, LIST, ARRAY, STRUCT32 = 0xA8, 0xA9, 0xAA, 0xAB


def u32(number):
    return struct.pack("!L", number)


def map_entry(key, code, value):
    return chr(len(key)) + key + chr(code) + value


def map_of(*entries):
    content = u32(len(entries)) + "".join(entries)
    return u32(len(content)) + content


def start_ok(properties):
    """connection.start-ok with client-properties in bytes, as the payload of a control."""
    return START_OK + "\x0b\x00" + properties + "\x09ANONYMOUS" + "\x05en_US"


@case
def protocol_header_is_recognised_however_it_is_cut():
    with Bystander():
        for pieces in range(1, 9):
            client = Peer()
            size = (8 + pieces - 1) // pieces
            for offset in range(0, 8, size):
                client.write(peer.HEADER[offset:offset + size])
                time.sleep(0.05)
            check_equal(client.read_header(), peer.HEADER, "header after %d pieces" % pieces)
            client.expect(ConnectionStart)
            client.socket.close()


@case
def header_and_start_ok_in_one_segment_are_both_taken():
    with Bystander():
        client = Peer()
        answer = ConnectionStartOk(mechanism="ANONYMOUS", locale="en_US", client_properties={})
        answer.channel = 0
        client.write(peer.HEADER + "".join(peer.frames(answer, 65535)))
        check_equal(client.read_header(), peer.HEADER, "the broker's header")
        client.expect(ConnectionStart)
        client.expect(ConnectionTune)
        client.socket.close()


@case
def other_protocols_get_the_brokers_header_and_the_end():
    others = ["AMQP\x01\x01\x09\x01", "AMQP\x00\x00\x09\x01", "AMQP\x00\x01\x00\x00",
              "AMQP\x03\x01\x00\x00", "AMQP\x01\x01\x00\x0b", "GET / HT", "\x16\x03\x01\x02\x00\x01"
              "\x00\x01", "\x00" * 8, os.urandom(7) + "\xff"]
    with Bystander():
        for other in others:
            client = Peer()
            client.write(other)
            check_equal(client.read_header(), peer.HEADER, "the answer to %r" % other)
            check_equal(client.read(), None, "after the answer to %r" % other)
            client.socket.close()


def _premature():
    """What belongs into an open connection: names and bytes."""
    attach = SessionAttach(name="too-early", force=False)
    for channel in (0, 5):
        attach.channel = channel
        yield "attach on channel %d" % channel, "".join(peer.frames(attach, 65535))
    yield "a body frame", peer.frame(peer.BODY, peer.COMMAND_TRACK, 0, "body")
    transfer = MessageTransfer(destination="amq.fanout")
    transfer.id = Serial(0)
    yield "a transfer", "".join(peer.message_frames(transfer, 0, "", "body"))


@case
def sessions_and_messages_before_open_close_the_connection_with_501():
    with Bystander():
        for what, data in _premature():
            client = Peer()
            client.start()
            client.write(data)
            client.expect_close(501)
            client = Peer()
            client.tune()
            client.write(data)
            client.expect_close(501)


def _opens_or_is_refused(client):
    """Goes on from start-ok. Returns whether the broker went along; if not, it has closed."""
    while True:
        op = client.read()
        if isinstance(op, ConnectionTune):
            return True
        if isinstance(op, ConnectionClose):
            check_equal(op.reply_code, 501, "the close")
            return False
        if op is None:
            return False


def _memory_bombs():
    """Client properties whose values take far more memory than bytes on the wire: names and
    payloads, each of one frame but the last."""
    void_array = u32(5) + chr(VOID) + u32(0xFFFFFFFF)
    yield "an array of 2^32-1 void", start_ok(map_of(map_entry("a", ARRAY, void_array)))
    small = map_entry("k", ARRAY, u32(5) + chr(VOID) + u32(256))
    yield "5,000 arrays of 256 void", start_ok(map_of(*[small] * 5000))
    for what, levels in (("lists in one frame", 7000), ("lists in two frames", 10000)):
        # Each level is a list of one list: its size counts what is inside of it.
        head = "".join(u32(9 * (levels - n) - 5) + u32(1) + chr(LIST) for n in range(levels))
        nested = head + u32(4) + u32(0)
        yield "%d %s" % (levels, what), start_ok(map_of(map_entry("l", LIST, nested)))


@case
def client_properties_that_would_fill_memory_are_bounded():
    at_once = 10
    for what, payload in _memory_bombs():
        limit = at_once * KIB_PER_MIB
        with Bystander(growth_kib=limit, peak_kib=limit):
            clients = [Peer() for _ in range(at_once)]
            for client in clients:
                client.start()
            room = 65535 - peer.FRAME_HEADER.size
            pieces = [payload[i:i + room] for i in range(0, len(payload), room)]
            for client in clients:
                for number, piece in enumerate(pieces):
                    flags = 0x0C | (0x02 if number == 0 else 0)
                    flags |= 0x01 if number == len(pieces) - 1 else 0
                    client.write(peer.frame(peer.CONTROL, peer.CONTROL_TRACK, 0, piece, flags))
            for client in clients:
                _opens_or_is_refused(client)
                client.socket.close()


def _wrong_lengths():
    """Client properties with one value that says a wrong length: names and payloads."""
    rest = "abc"
    for name, code, width in (("str8", STR8, 1), ("str16", STR16, 2), ("vbin8", VBIN8, 1),
                              ("vbin16", VBIN16, 2), ("vbin32", VBIN32, 4), ("map", MAP, 4),
                              ("list", LIST, 4), ("array", ARRAY, 4), ("struct32", STRUCT32, 4)):
        for length in (len(rest) + 1, 256 ** width - 1):
            packed = struct.pack("!Q", length)[-width:]
            properties = map_of(map_entry("k", code, packed + rest))
            yield "%s of %d" % (name, length), start_ok(properties)
    for length in (0xFFFFFFFF, 0x7FFFFFFF):
        yield "properties of %d" % length, start_ok(u32(length) + u32(0))
    yield "2^32-1 entries", start_ok(u32(4) + u32(0xFFFFFFFF))


@case
def lengths_past_the_end_close_the_connection_with_501():
    with Bystander(peak_kib=2 * KIB_PER_MIB):
        for what, payload in _wrong_lengths():
            client = Peer()
            client.start()
            client.write(peer.frame(peer.CONTROL, peer.CONTROL_TRACK, 0, payload))
            check(not _opens_or_is_refused(client), "taken: %s", what)
            client.socket.close()


@case
def values_of_no_length_do_no_harm():
    with Bystander():
        for code, width in ((STR8, 1), (STR16, 2), (VBIN8, 1), (VBIN16, 2), (VBIN32, 4), (MAP, 4),
                            (LIST, 4), (ARRAY, 4), (STRUCT32, 4)):
            client = Peer()
            client.start()
            payload = start_ok(map_of(map_entry("k", code, "\x00" * width)))
            client.write(peer.frame(peer.CONTROL, peer.CONTROL_TRACK, 0, payload))
            _opens_or_is_refused(client)
            client.socket.close()


@case
def frames_smaller_than_their_header_close_the_connection_with_501():
    with Bystander():
        for size in range(12):
            client = Peer()
            client.start()
            client.write(peer.frame(peer.CONTROL, peer.CONTROL_TRACK, 0, "x" * 12, size=size))
            client.expect_close(501)


@case
def frames_larger_than_negotiated_close_the_connection_with_501():
    with Bystander():
        client = Peer().open(frame_size_max=4096)
        client.write(peer.frame(peer.CONTROL, peer.CONTROL_TRACK, 0, "x" * 4085))
        client.expect_close(501)


@case
def stalled_handshakes_are_dropped_and_hold_nobody_up():
    with Bystander(growth_kib=300 * 64):
        stalled = []
        for number in range(300):
            client = Peer()
            if number % 3 >= 1:
                client.write(peer.HEADER)
            if number % 3 == 2:
                client.send(ConnectionStartOk(mechanism="ANONYMOUS", locale="en_US",
                                              client_properties={}))
            stalled.append(client)
            if number % 9 == 8:
                # One at each member: what waits to be accepted stays below the backlog, beyond which
                # the kernel forgets connections that their clients hold for made.
                for _ in range(3):
                    connect().close(timeout=30)
        for _ in range(50):
            connect().close(timeout=30)
        kept = [client for client in stalled if not _is_dropped(client)]
        check(not kept, "%d stalled clients were kept", len(kept))


def _is_dropped(client):
    """Reads to the end of the socket, which comes when the broker has waited long enough."""
    try:
        while client.socket.recv(65536):
            pass
    except socket.timeout:
        return False
    except socket.error:
        pass
    client.socket.close()
    return True


def _answer_to_start_ok(mechanism, response):
    client = Peer()
    client.start()
    client.send(ConnectionStartOk(mechanism=mechanism, response=response, locale="en_US",
                                  client_properties={}))
    while True:
        op = client.read()
        if op is None or isinstance(op, (ConnectionSecure, ConnectionTune, ConnectionClose)):
            return client, op


@case
def plain_without_a_response_is_asked_for_one():
    with Bystander():
        client, answer = _answer_to_start_ok("PLAIN", None)
        check(isinstance(answer, ConnectionSecure), "answered %r", answer)
        client.send(ConnectionSecureOk(response="\x00guest\x00guest"))
        client.expect(ConnectionTune)
        client.socket.close()


@case
def plain_with_an_empty_response_is_not_asked_again():
    with Bystander():
        client, answer = _answer_to_start_ok("PLAIN", "")
        check(not isinstance(answer, ConnectionSecure), "taken for no response: %r", answer)
        client.socket.close()


@case
def anonymous_goes_on_with_and_without_a_response():
    with Bystander():
        for response in (None, "", "trace@example"):
            client, answer = _answer_to_start_ok("ANONYMOUS", response)
            check(isinstance(answer, ConnectionTune), "%r was answered %r", response, answer)
            client.socket.close()


if __name__ == "__main__":
    run("cases.handshake_cases")
