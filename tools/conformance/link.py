# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""PROTOCOL.md, "Header", "Fragments" and "Commands": numbers, fates, and the reliable stream."""

from bits import Mismatch, expand

FRAGMENT_BYTES_MAX = 512
STREAM_AHEAD_MAX = 32768
COMMANDS_MAX = 16
COMMAND_BYTES_MAX = 200


class Header:
    """`accepted`: by number, what the sender says of the other side's packets."""

    def __init__(self, reader, newest_sent_by_other):
        self.sequence_low = reader.u(16)
        self.newest = None
        self.oldest = None
        self.accepted = {}
        if not reader.u(1):
            return
        low = reader.u(16)
        count = reader.varint()
        self.newest = newest_sent_by_other - ((newest_sent_by_other - low) & 0xFFFF)
        self.oldest = self.newest - count
        if self.newest < 1 or self.oldest < 1:
            raise reader.wrong("an acknowledgement of packets that were never sent")
        self.accepted[self.newest] = True
        for i in range(count):
            self.accepted[self.newest - 1 - i] = reader.u(1) == 1


class Half:
    """The packets of one side: their fates, what they told of the other side's, and their stream."""

    def __init__(self):
        self.newest = 0  # sent by the server; accepted from the client
        self.told = 0  # newest number whose fate the sender has heard
        self.fates = {}  # by number, as far back as somebody may still speak of it
        self.spoke_of = {}  # by number: the other side's newest number that it acknowledged
        self.stream = Stream()

    def learn(self, header):
        """Fates told by the other side; the numbers that are newly known as accepted."""
        if header.newest is None:
            return []
        if header.newest < self.told:
            raise Mismatch(f"packet {header.newest} is the newest, {self.told} was told before")
        if header.oldest > self.told + 1:
            raise Mismatch(f"the fate of packet {self.told + 1} is left out")
        for number, accepted in header.accepted.items():
            if self.fates.get(number, accepted) != accepted:
                raise Mismatch(f"the fate of packet {number} was told otherwise before")
        fresh = range(self.told + 1, header.newest + 1)
        for number in fresh:
            self.fates[number] = header.accepted[number]
        self.told = header.newest
        return [number for number in fresh if header.accepted[number]]

    def forget(self, before):
        for table in (self.fates, self.spoke_of):
            for number in [n for n in table if n < before]:
                del table[number]


class Stream:
    """A reliable stream as it is sent and as it has arrived."""

    def __init__(self):
        self.data = bytearray()
        self.known = bytearray()  # 1: this byte has been seen
        self.arrived = bytearray()
        self.arrived_end = 0  # all before it have
        self.read_to = 0
        self.sent_to = 0

    def send(self, offset, piece):
        end = offset + len(piece)
        if end - self.arrived_end > STREAM_AHEAD_MAX:
            raise Mismatch("the stream runs too far ahead")
        if end > len(self.data):
            more = end - len(self.data)
            self.data += bytes(more)
            self.known += bytes(more)
            self.arrived += bytes(more)
        for i, byte in enumerate(piece, offset):
            if self.known[i] and self.data[i] != byte:
                raise Mismatch(f"byte {i} of the stream was another before")
        self.data[offset:end] = piece
        self.known[offset:end] = b"\1" * len(piece)

    def arrive(self, offset, size):
        self.arrived[offset:offset + size] = b"\1" * size
        gap = self.arrived.find(0, self.arrived_end)
        self.arrived_end = len(self.arrived) if gap < 0 else gap

    def messages(self):
        """Those that have arrived whole now."""
        while (message := self.whole(self.read_to, self.arrived_end)) is not None:
            self.read_to += 2 + len(message)
            yield message

    def messages_sent(self):
        """Those that have been sent whole now, once at least."""
        gap = self.known.find(0, self.sent_to)
        end = len(self.known) if gap < 0 else gap
        while (message := self.whole(self.sent_to, end)) is not None:
            self.sent_to += 2 + len(message)
            yield message

    def whole(self, at, end):
        size = int.from_bytes(self.data[at:at + 2], "little")
        return None if end - at < 2 + size or end - at < 2 else bytes(self.data[at + 2:at + 2 + size])


def read_fragments(reader):
    fragments = []
    while reader.u(1):
        offset = reader.u(32)
        size = reader.u(10)
        if not 1 <= size <= FRAGMENT_BYTES_MAX:
            raise reader.wrong(f"a fragment of {size} bytes")
        fragments.append((offset, reader.take(size)))
    return fragments


class Commands:
    """What a client has commanded; a repeated command is the same command."""

    def __init__(self):
        self.newest = 0
        self.recent = {}
        self.count = 0

    def read(self, reader):
        count = reader.varint()
        if count == 0:
            return
        if count > COMMANDS_MAX:
            raise reader.wrong(f"{count} commands")
        newest = expand(reader.u(16), self.newest)
        for number in range(newest - count + 1, newest + 1):
            size = reader.u(8)
            if size > COMMAND_BYTES_MAX or number < 1:
                raise reader.wrong(f"command {number} of {size} bytes")
            command = reader.take(size)
            if self.recent.setdefault(number, command) != command:
                raise reader.wrong(f"command {number} was another before")
            if number > self.newest:
                self.count += 1
                self.newest = number
        for number in [n for n in self.recent if n < newest - 256]:
            del self.recent[number]
