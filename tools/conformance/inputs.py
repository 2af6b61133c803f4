# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""PROTOCOL.md, "Inputs": inputs for groups, the server's input state, and corrections."""

from collections import Counter

from bits import Mismatch, expand
from fields import LOCAL_ID_END
from groups import Groups

GROUPS_MAX = 8
PARTS_MAX = 64
VIEW_WHOLE = 63
VIEW_MASK = (1 << 20) - 1
WAITING_MAX = 31
FRAMES_REMEMBERED = 4096


class InputPacket:
    """`frames`: (view, groups), oldest first; a group is (root, its parts), a part (ghost, input, words)."""

    def __init__(self, newest, corrections):
        self.newest = newest
        self.corrections = corrections  # None: the client does not predict
        self.frames = []

    def numbered(self):
        return enumerate(self.frames, self.newest - len(self.frames) + 1)


class Inputs:
    """The inputs of one client, and what the server reported about them."""

    def __init__(self):
        self.newest = 0  # newest input of the client that the server has received
        self.frames = {}  # by input number, as long as the client may repeat it
        self.queue = set()  # received inputs that are not consumed
        self.may_be_consumed = {0}  # inputs that the server may report as consumed
        self.consumed = 0  # as last reported by the server
        self.client_consumed = 0  # as received by the client
        self.corrections_acknowledged = 0  # number of processed corrections, as reported by the client
        self.corrections_sent = 0
        self.corrections_arrived = 0
        self.counts = Counter()

    def receive(self, packet, kinds_ever, schema):
        """Processes the inputs of a packet that arrived in order, after its acknowledgements."""
        if packet is None:
            return
        first = packet.newest - len(packet.frames) + 1
        if first != self.client_consumed + 1:
            raise Mismatch(f"the oldest command tick is {first}, but the client knows that {self.client_consumed} "
                           "is consumed")
        self.check_repeated(packet)
        for number, (_, groups) in packet.numbered():
            if number > self.consumed:
                self.queue.add(number)
                self.may_be_consumed.add(number)
            if number <= self.newest:
                self.counts["repeated_frames"] += 1
                continue
            self.counts["frames"] += 1
            self.counts["parts"] += sum(len(parts) for _, parts in groups)
            check_named(groups, kinds_ever, schema)
        self.newest = max(self.newest, packet.newest)
        if packet.corrections is not None:
            self.check_corrections(packet.corrections)
        for number in [n for n in self.frames if n < self.newest - FRAMES_REMEMBERED]:
            del self.frames[number]

    def check_repeated(self, packet):
        if packet is None:
            return
        for number, frame in packet.numbered():
            if number < 1:
                raise Mismatch(f"command tick {number}")
            if self.frames.setdefault(number, frame) != frame:
                raise Mismatch(f"command tick {number} differs from an earlier transmission: {self.frames[number]}, now {frame}")

    def check_corrections(self, low):
        given = self.corrections_acknowledged + ((low - self.corrections_acknowledged) & 0xFF)
        if given > self.corrections_arrived:
            raise Mismatch(f"the client acknowledges {given} corrections, but {self.corrections_arrived} have arrived")
        self.corrections_acknowledged = given

    def send(self, state):
        """Checks the input state in a packet of the server."""
        if state is None:
            return
        low, waiting, starved = state
        consumed = expand(low, self.newest)
        if consumed not in self.may_be_consumed:
            raise Mismatch(f"command tick {consumed} is reported as consumed, but was never received")
        if consumed < self.consumed:
            raise Mismatch(f"command tick {consumed} is reported as consumed after {self.consumed}")
        self.consumed = consumed
        self.queue = {number for number in self.queue if number > consumed}
        self.may_be_consumed = self.queue | {consumed}
        most = min(len(self.queue), WAITING_MAX)
        if waiting > most or (Groups.unlimited and waiting != most):
            raise Mismatch(f"{waiting} buffered inputs reported, but {most} are buffered")
        self.counts["starved"] += starved

    def sent_correction(self, tick_low, groups):
        tick = expand(tick_low, self.newest)
        if tick > self.consumed:
            raise Mismatch(f"a correction after command tick {tick}, but {self.consumed} is the last one consumed")
        if self.corrections_sent > self.corrections_acknowledged:
            raise Mismatch(f"correction {self.corrections_sent + 1}, but the client has acknowledged only "
                           f"{self.corrections_acknowledged} corrections")
        self.corrections_sent += 1
        self.counts["corrections"] += 1
        self.counts["corrected_groups"] += len(groups)

    def arrived(self, state):
        """Processes the input state of a packet that the client accepted."""
        if state is not None:
            self.client_consumed = max(self.client_consumed, expand(state[0], self.client_consumed))


def check_named(groups, kinds_ever, schema):
    for root, parts in groups:
        if root not in kinds_ever:
            raise Mismatch(f"an input for the group of ghost {root}, which has never entered")
        for ghost, index, _ in parts:
            if all(index not in schema.kinds[kind].inputs for kind in kinds_ever.get(ghost, ())):
                raise Mismatch(f"a part of input {index} for ghost {ghost}, which has never taken it")


def read_inputs(reader, schema, newest):
    """Reads the optional inputs after the calls of a client's packet."""
    if not reader.more() or not reader.u(1):
        return None
    if schema is None or not schema.inputs:
        raise reader.wrong("inputs, but the schema has none")
    packet = InputPacket(expand(reader.u(16), newest), None)
    count = reader.u(5) + 1
    predicts = reader.u(1)
    if predicts:
        packet.corrections = reader.u(8)
    view = 0
    groups = None
    for frame in range(count):
        step = VIEW_WHOLE if frame == 0 else reader.u(6)
        view = reader.u(20) if step == VIEW_WHOLE else view + step & VIEW_MASK
        if reader.u(1):
            if groups is None:
                raise reader.wrong("the first frame is marked as unchanged")
        else:
            groups = read_groups(reader, schema)
        packet.frames.append((view, groups))
        if predicts:
            for _ in groups:
                reader.u(16)
    return packet


def read_groups(reader, schema):
    count = reader.varint()
    if count > GROUPS_MAX:
        raise reader.wrong(f"{count} groups in a command")
    groups = []
    total = 0
    for _ in range(count):
        root = read_id(reader)
        parts = reader.varint()
        total += parts
        if total > PARTS_MAX:
            raise reader.wrong(f"{total} parts in a command")
        groups.append((root, tuple(read_part(reader, schema) for _ in range(parts))))
    return tuple(groups)


def read_part(reader, schema):
    ghost = read_id(reader)
    index = reader.u(schema.input_bits)
    if index >= len(schema.inputs):
        raise reader.wrong(f"input {index} of {len(schema.inputs)}")
    return ghost, index, tuple(field.read_any(reader) for field in schema.inputs[index])


def read_input_state(reader):
    """Reads the optional input state after the calls of a server's packet: (consumed, waiting, starved), or None."""
    if not reader.more() or not reader.u(1):
        return None
    consumed, waiting, starved = reader.u(16), reader.u(5), reader.u(1)
    if waiting and starved:
        raise reader.wrong(f"starved with {waiting} buffered inputs")
    return consumed, waiting, starved


def read_correction(reader, schema):
    """Reads a correction after its message type: the input number, and the members of each corrected group."""
    tick_low = reader.u(16)
    corrected = []
    groups = reader.varint()
    if not 1 <= groups <= GROUPS_MAX:
        raise reader.wrong(f"a correction of {groups} groups")
    for _ in range(groups):
        if not reader.u(1):
            continue
        members = [read_member(reader, schema) for _ in range(reader.varint())]
        if not members:
            raise reader.wrong("a correction of a known group without members")
        corrected.append(members)
    return tick_low, corrected


def read_member(reader, schema):
    ghost = read_id(reader)
    index = schema.read_kind(reader)
    kind = schema.kinds[index]
    reader.u(1)  # currently takes input
    owned = reader.u(1)
    frame = None  # the ghost that its position is relative to
    if owned:
        if kind.has_relative_position:
            frame = read_parent(reader)
        for field in kind.predicted:
            field.read(reader)
    return ghost, index, owned, frame


def read_parent(reader):
    number = reader.varint()
    if number > LOCAL_ID_END:
        raise reader.wrong(f"local id {number - 1}")
    return number - 1 if number else None


def read_id(reader):
    ghost = reader.varint()
    if ghost >= LOCAL_ID_END:
        raise reader.wrong(f"local id {ghost}")
    return ghost
