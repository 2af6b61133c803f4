# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""PROTOCOL.md, "Header", "Fragments" and "Commands": numbers, delivery status, and the reliable stream."""

from bits import Mismatch, expand

FRAGMENT_BYTES_MAX = 512
STREAM_AHEAD_MAX = 32768
COMMANDS_MAX = 16
COMMAND_BYTES_MAX = 200


class Header:
    """`accepted`: by number, the sender's delivery status of the other side's packets."""

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
    """The packets of one side: their delivery status, what they acknowledged, and their stream."""

    def __init__(self):
        self.newest = 0  # sent by the server; accepted from the client
        self.status_known = 0  # newest number with a delivery status that the sender has received
        self.delivery_reports = {}  # by number, as long as a packet may still report it
        self.newest_acknowledged = {}  # by number: the newest packet of the other side that it acknowledged
        self.stream = Stream()

    def learn(self, header):
        """Processes the delivery status in a header. Returns the numbers that are newly known as accepted."""
        if header.newest is None:
            return []
        if header.newest < self.status_known:
            raise Mismatch(f"packet {header.newest} is reported as the newest after packet {self.status_known}")
        if header.oldest > self.status_known + 1:
            raise Mismatch(f"the delivery status of packet {self.status_known + 1} is missing")
        for number, accepted in header.accepted.items():
            if self.delivery_reports.get(number, accepted) != accepted:
                raise Mismatch(f"the delivery status of packet {number} contradicts an earlier one")
        fresh = range(self.status_known + 1, header.newest + 1)
        for number in fresh:
            self.delivery_reports[number] = header.accepted[number]
        self.status_known = header.newest
        return [number for number in fresh if header.accepted[number]]

    def forget(self, before):
        for table in (self.delivery_reports, self.newest_acknowledged):
            for number in [n for n in table if n < before]:
                del table[number]


class Stream:
    """A reliable stream: the sent bytes, and which of them have arrived."""

    def __init__(self):
        self.data = bytearray()
        self.known = bytearray()  # 1: this byte was sent at least once
        self.arrived = bytearray()
        self.arrived_end = 0  # all bytes before it have arrived
        self.read_to = 0
        self.sent_to = 0

    def send(self, offset, piece):
        end = offset + len(piece)
        if end - self.arrived_end > STREAM_AHEAD_MAX:
            raise Mismatch("the stream exceeds its window")
        if end > len(self.data):
            more = end - len(self.data)
            self.data += bytes(more)
            self.known += bytes(more)
            self.arrived += bytes(more)
        for i, byte in enumerate(piece, offset):
            if self.known[i] and self.data[i] != byte:
                raise Mismatch(f"byte {i} of the stream differs from an earlier transmission")
        self.data[offset:end] = piece
        self.known[offset:end] = b"\1" * len(piece)

    def arrive(self, offset, size):
        self.arrived[offset:offset + size] = b"\1" * size
        gap = self.arrived.find(0, self.arrived_end)
        self.arrived_end = len(self.arrived) if gap < 0 else gap

    def messages(self):
        """Yields messages that are now completely received."""
        while (message := self.whole(self.read_to, self.arrived_end)) is not None:
            self.read_to += 2 + len(message)
            yield message

    def messages_sent(self):
        """Yields messages of which every byte has been sent at least once."""
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
    """Commands of a client; a repeated command must be identical."""

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
                raise reader.wrong(f"command {number} differs from an earlier transmission")
            if number > self.newest:
                self.count += 1
                self.newest = number
        for number in [n for n in self.recent if n < newest - 256]:
            del self.recent[number]
