"""A client that says what it is told to, byte by byte."""

import socket
import struct

from qpid.datatypes import RangedSet, Serial
from qpid.framing import Frame, FrameEncoder, OpDecoder, OpEncoder, Segment, SegmentEncoder
from qpid.ops import (ConnectionClose, ConnectionCloseOk, ConnectionOpen, ConnectionOpenOk,
                      ConnectionStart, ConnectionStartOk, ConnectionTune, ConnectionTuneOk,
                      ExecutionException, SessionAttach, SessionAttached, SessionCommandPoint)

from cases import broker
from cases.running import Failed, check, check_equal

HEADER = "AMQP\x01\x01\x00\x0a"
FRAME_HEADER = struct.Struct("!2BHxBH4x")

# Flags of a frame that is a whole assembly.
WHOLE = 0x0F

CONTROL, COMMAND, MESSAGE_HEADER, BODY = range(4)
CONTROL_TRACK, COMMAND_TRACK = range(2)


def frame(kind, track, channel, payload, flags=WHOLE, size=None):
    """A frame; `size` is what it says of itself, if that is not the truth."""
    if size is None:
        size = FRAME_HEADER.size + len(payload)
    return FRAME_HEADER.pack(flags, kind, size, track, channel) + payload


def frames(op, frame_size_max):
    """A control or command, with its message, as frames of at most a size: a list of bytes."""
    ops = OpEncoder()
    ops.write(op)
    segments = SegmentEncoder(frame_size_max - FRAME_HEADER.size)
    segments.write(*ops.read())
    encoder = FrameEncoder()
    found = []
    for one in segments.read():
        encoder.write(one)
        found.append(encoder.read())
    return found


class Peer(object):
    """One connection. Nothing is said that the case does not say, but for the answer to a
    close."""

    def __init__(self):
        self.socket = broker.connect_socket()
        self.frame_size_max = 65535
        self.frame_sizes = []
        self.assemblies = []
        self._bytes = ""
        self._segments = {}
        self._ops = []
        self._next_ids = {}

    def write(self, data):
        """Sends bytes. A broker that has closed the connection meanwhile is found when reading."""
        try:
            self.socket.sendall(data)
        except socket.error:
            pass

    def send(self, op, channel=0):
        """Sends a control or command, in whole frames."""
        op.channel = channel
        self.write("".join(frames(op, self.frame_size_max)))

    def read_header(self):
        """The broker's protocol header: eight bytes, or what came before the end."""
        while len(self._bytes) < 8 and self._receive():
            pass
        header, self._bytes = self._bytes[:8], self._bytes[8:]
        return header

    def read(self):
        """The next control or command, or None at the end of the connection."""
        while True:
            self._decode()
            if self._ops:
                return self._ops.pop(0)
            if not self._receive():
                return None

    def is_silent(self, seconds=0.2):
        """Whether nothing comes for a moment."""
        self._decode()
        if self._ops:
            return False
        self.socket.settimeout(seconds)
        try:
            return not self._receive()
        except socket.timeout:
            return True
        finally:
            self.socket.settimeout(broker.SECONDS_MAX)

    def _receive(self):
        try:
            data = self.socket.recv(256 * 1024)
        except socket.timeout:
            raise
        except socket.error:
            data = ""
        self._bytes += data
        return bool(data)

    def _decode(self):
        """Takes whole frames off the bytes and whole assemblies off the frames."""
        start = 0
        while len(self._bytes) - start >= FRAME_HEADER.size:
            flags, kind, size, track, channel = FRAME_HEADER.unpack_from(self._bytes, start)
            if len(self._bytes) - start < size:
                break
            payload = self._bytes[start + FRAME_HEADER.size:start + size]
            start += size
            self.frame_sizes.append(size)
            self._take(Frame(flags, kind, track, channel, payload))
        self._bytes = self._bytes[start:]

    def _take(self, found):
        key = (found.channel, found.track)
        parts = self._segments.setdefault(key, [])
        if found.isFirstFrame():
            parts.append((found.isFirstSegment(), found.type, []))
        parts[-1][2].append(found.payload)
        if not (found.isLastFrame() and found.isLastSegment()):
            return
        del self._segments[key]
        segments = [(kind, "".join(payloads)) for _, kind, payloads in parts]
        self.assemblies.append(segments)
        decoder = OpDecoder()
        # Only the first segment is decoded: a message's header and body are looked at as bytes.
        kind, payload = segments[0]
        decoder.write(Segment(True, True, kind, found.track, found.channel, payload))
        op = decoder.read()[0]
        op.segments = segments
        self._ops.append(op)

    def expect(self, *kinds):
        """The next control or command of one of these kinds. Others before it are passed over, but
        for the end: an exception or a close that is not expected fails the case."""
        while True:
            op = self.read()
            if op is None:
                raise Failed("the connection ended, expected %s" % _names(kinds))
            if isinstance(op, kinds):
                return op
            if isinstance(op, (ConnectionClose, ExecutionException)):
                raise Failed("expected %s, found %r" % (_names(kinds), op))

    def expect_close(self, *codes):
        """Waits for the broker to close the connection with one of these codes, answers, and waits
        for the end of the socket."""
        close = self.expect(ConnectionClose)
        check(close.reply_code in codes, "closed with %d %s, expected %s", close.reply_code,
              close.reply_text, " or ".join(map(str, codes)))
        self.send(ConnectionCloseOk())
        self.expect_end()
        return close

    def expect_end(self):
        """Waits for the end of the socket."""
        while True:
            op = self.read()
            if op is None:
                break
            check(not isinstance(op, (ConnectionTune, ConnectionOpenOk)), "still talking: %r", op)
        self.socket.close()

    def start(self):
        """Up to the broker's connection.start."""
        self.write(HEADER)
        check_equal(self.read_header(), HEADER, "the broker's header")
        return self.expect(ConnectionStart)

    def authenticate(self, mechanism="ANONYMOUS", response=None):
        """From connection.start to connection.tune."""
        self.start()
        self.send(ConnectionStartOk(mechanism=mechanism, response=response, locale="en_US",
                                    client_properties={}))
        return self.expect(ConnectionTune)

    def tune(self, frame_size_max=65535):
        """Up to connection.tune-ok."""
        tune = self.authenticate()
        self.frame_size_max = frame_size_max
        self.send(ConnectionTuneOk(channel_max=tune.channel_max, max_frame_size=frame_size_max,
                                   heartbeat=0))

    def open(self, frame_size_max=65535):
        """Opens the connection."""
        self.tune(frame_size_max)
        self.send(ConnectionOpen(virtual_host="", capabilities=None, insist=False))
        self.expect(ConnectionOpenOk)
        return self

    def attach(self, name, channel=1, force=False):
        """Attaches a session and sends its command point."""
        self.send(SessionAttach(name=name, force=force), channel)
        self.expect(SessionAttached)
        self.send(SessionCommandPoint(command_id=Serial(0), command_offset=0), channel)
        return self

    def close(self):
        """Closes the connection in the orderly way."""
        self.send(ConnectionClose(reply_code=200, reply_text=""))
        self.expect(ConnectionCloseOk)
        self.expect_end()


def _names(kinds):
    return " or ".join(kind.__name__ for kind in kinds)


def raw_range(lower, upper):
    """A set of one range, as it is said."""
    found = RangedSet()
    found.ranges.append(RawRange(lower, upper))
    return found


class RawRange(object):
    """A range that may be the wrong way round."""

    def __init__(self, lower, upper):
        self.lower = Serial(lower)
        self.upper = Serial(upper)


def header_bytes(*structs):
    """The bytes of a header segment with these structs."""
    ops = OpEncoder()
    return "".join(ops.encode_compound(one) for one in structs)


def message_frames(command, channel, header, body, frame_size_max=65535):
    """A command with the bytes of its header and body segments, each None if it has none: a list
    of frames. Segments are cut into frames of at most a size."""
    command.channel = channel
    ops = OpEncoder()
    ops.write(command)
    segments = ops.read()
    for kind, payload in ((MESSAGE_HEADER, header), (BODY, body)):
        if payload is not None:
            segments[-1].last = False
            segments.append(Segment(False, True, kind, COMMAND_TRACK, channel, payload))
    encoder = SegmentEncoder(frame_size_max - FRAME_HEADER.size)
    encoder.write(*segments)
    found = []
    for one in encoder.read():
        frame_encoder = FrameEncoder()
        frame_encoder.write(one)
        found.append(frame_encoder.read())
    return found
