# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""PROTOCOL.md, "Calls": the encoding and the valid order of calls in both directions."""

from collections import Counter, namedtuple

from bits import Mismatch
from fields import LOCAL_ID_END

TO_OBSERVERS, TO_SERVER = range(2)
ENTITY, POSITION, NO_TARGET = range(3)
UNRELIABLE, UNORDERED, ORDERED = range(3)
CULL, HOLD, FORCE = range(3)
ANYBODY, OWNER, PLAYERS = range(3)
CALLS_MAX = 64  # per packet
WINDOW = 64
NUMBERS = 256  # size of the number space of an ordered call
DELIVERIES = ("unreliable", "unordered", "ordered")

# `number`: the low bits, for ordered calls only; `ghost`: a local id or None; `words`: None for a void call.
Call = namedtuple("Call", "type number ghost words")


class CallType:
    """The attributes of a type of calls. The schema reads `fields` afterwards."""

    def __init__(self, name, reader):
        self.name = name
        self.fields = []
        self.direction = reader.u(1)
        self.target, self.delivery, self.policy, self.callers = (reader.u(2) for _ in range(4))
        if max(self.target, self.delivery, self.policy, self.callers) > 2:
            raise reader.wrong(f"a call with an unknown attribute: {self.name}")
        self.hold_ticks = reader.u(16) if self.policy == HOLD else 0
        if self.policy == HOLD and self.hold_ticks == 0:
            raise reader.wrong("a queued call with zero hold ticks")
        if self.policy != CULL and (self.direction, self.target) != (TO_OBSERVERS, ENTITY):
            raise reader.wrong("a policy for a call that is not an entity call to observers")
        if self.direction == TO_SERVER and self.target == POSITION:
            raise reader.wrong("a positional call to the server")
        if self.callers != ANYBODY and self.direction == TO_OBSERVERS or \
                self.callers == OWNER and self.target != ENTITY:
            raise reader.wrong("callers that are invalid for this call")

    def attributes(self):
        """Returns the attributes in the order of the schema hash."""
        return (self.direction, self.target, self.delivery, self.policy, self.hold_ticks, self.callers)


def read_calls(reader, schema, direction):
    calls = []
    while reader.u(1):
        if schema is None:
            raise reader.wrong("a call before the welcome")
        if len(calls) == CALLS_MAX:
            raise reader.wrong(f"more than {CALLS_MAX} calls in a packet")
        index = reader.u(schema.rpc_bits)
        if index >= len(schema.rpcs):
            raise reader.wrong(f"call type {index} of {len(schema.rpcs)}")
        calls.append(read_call(reader, index, schema.rpcs[index], direction))
    return calls


def read_call(reader, index, kind, direction):
    if kind.direction != direction:
        raise reader.wrong(f"a call of type {index}, which has the other direction")
    number = None
    if kind.delivery == ORDERED:
        number = reader.u(8)
        if reader.u(1):
            return Call(index, number, None, None)
    ghost = None
    if kind.target == ENTITY and (kind.policy != FORCE or reader.u(1)):
        ghost = reader.varint()
        if ghost >= LOCAL_ID_END:
            raise reader.wrong(f"a call about local id {ghost}")
    # Values of a server must be in range. Arguments of a client's call are clamped by the receiver.
    read = [field.read if direction == TO_OBSERVERS else field.read_any for field in kind.fields]
    return Call(index, number, ghost, tuple(field(reader) for field in read))


def check_again(before, now, kind, name):
    """Checks that a resent call is identical, or void, or a forced call whose ghost has left."""
    if now.type != before.type:
        raise Mismatch(f"{name} is resent with type {now.type}; it had type {before.type}")
    if now.words is None:
        check_void(now, kind, name)
    elif before.words is None:
        raise Mismatch(f"{name} was void and is resent with arguments")
    elif now.words != before.words:
        raise Mismatch(f"{name} is resent with other arguments")
    elif now.ghost != before.ghost and (kind.policy != FORCE or now.ghost is not None):
        raise Mismatch(f"{name} is resent for ghost {now.ghost}; it was for ghost {before.ghost}")


def check_void(call, kind, name):
    if call.words is None and (kind.target != ENTITY or kind.policy == FORCE):
        raise Mismatch(f"{name} is void, but does not require a ghost")


class Calls:
    # True if all calls of a direction have different arguments, as in the simulator. Then a resent call is recognized
    # by its arguments. Otherwise, a resent call and a new equal call cannot be distinguished.
    are_distinct = False

    def __init__(self):
        self.counts = Counter()
        self.seen = set()  # (type, words), if `are_distinct`

    def first(self, call, kind, name):
        """Counts a call that is sent for the first time."""
        self.counts[DELIVERIES[kind.delivery]] += 1
        self.counts["ghostless"] += kind.target == ENTITY and call.ghost is None
        if Calls.are_distinct and call.words is not None:
            if (call.type, call.words) in self.seen:
                raise Mismatch(f"{name} is repeated, although none was lost")
            self.seen.add((call.type, call.words))


class CallsDown(Calls):
    """Calls from the server, with the delivery status of their packets."""

    def __init__(self):
        super().__init__()
        self.next = 0
        self.in_flight = {}  # by packet: its calls, with their complete numbers
        self.open = {}  # by number, unacknowledged ordered calls: [call, first packet, packet or None]
        self.lost = {}  # (type, words) of lost reliable unordered calls: their ghosts
        self.left_in = {}  # by local id: the newest packet with a leave of it
        self.leaves_due = set()  # ghosts of voided calls that have no leave yet

    def leave(self, local_id, packet, types):
        self.left_in[local_id] = packet
        self.leaves_due.discard(local_id)
        for key, ghosts in list(self.lost.items()):
            if types[key[0]].policy != FORCE:
                self.lost[key] = [ghost for ghost in ghosts if ghost != local_id]

    def write(self, packet, calls, types):
        self.in_flight[packet] = []
        for call in calls:
            kind = types[call.type]
            number = None
            if kind.delivery == ORDERED:
                number = self.write_ordered(packet, call, kind)
            else:
                self.write_one(call, kind)
            self.in_flight[packet].append((call, number))

    def write_ordered(self, packet, call, kind):
        number = self.next - ((self.next - call.number) & (NUMBERS - 1))
        name = f"the ordered call {number}"
        if number == self.next:
            if call.words is None:
                raise Mismatch(f"{name} is void when first sent")
            if self.open and number - min(self.open) >= WINDOW:
                raise Mismatch(f"{name} is sent while {min(self.open)} has not arrived")
            self.first(call, kind, name)
            self.open[number] = [call, packet, packet]
            self.next += 1
            return number
        if number not in self.open:
            raise Mismatch(f"{name} is resent after it arrived, or {self.next} is missing")
        before, first, last = self.open[number]
        if last is not None:
            raise Mismatch(f"{name} is resent while packet {last} with it is in flight")
        check_again(before, call, kind, name)
        self.counts["repeated"] += 1
        if call.words is None:
            self.counts["voids"] += 1
            if before.words is not None and self.left_in.get(before.ghost, 0) < first:
                self.leaves_due.add(before.ghost)
        self.open[number] = [call, first, packet]
        return number

    def write_one(self, call, kind):
        ghosts = self.lost.get((call.type, call.words))
        name = f"a call of type {call.type}"
        if kind.delivery == UNORDERED and ghosts:
            fits = call.ghost if call.ghost in ghosts or kind.policy != FORCE else ghosts[0]
            if fits in ghosts and (call.ghost == fits or call.ghost is None):
                ghosts.remove(fits)
                self.counts["repeated"] += 1
                return
        self.first(call, kind, name)

    def resolve(self, packet, arrived, types):
        """Processes the delivery status of a packet. Returns the calls that arrived."""
        calls = self.in_flight.pop(packet, ())
        for call, number in calls:
            if number is not None:
                if arrived:
                    del self.open[number]
                else:
                    self.open[number][2] = None
            elif not arrived and types[call.type].delivery == UNORDERED:
                # The call is dropped if its ghost has left; a forced call is still sent.
                if self.left_in.get(call.ghost, 0) <= packet or types[call.type].policy == FORCE:
                    self.lost.setdefault((call.type, call.words), []).append(call.ghost)
        return [call for call, _ in calls] if arrived else []

    def due(self):
        """Returns the number of lost calls that were neither resent nor excused by a leave."""
        return (sum(last is None for _, _, last in self.open.values()) +
                sum(len(ghosts) for ghosts in self.lost.values()) + len(self.leaves_due))


class CallsUp(Calls):
    """Calls that reached the server. Calls in lost packets are unknown, except in packets that arrived too late."""

    def __init__(self):
        super().__init__()
        self.missing = 0  # the lowest number that has not arrived
        self.arrived = set()  # numbers above
        self.contents = {}  # by number: calls that arrived, or arrived too late
        self.late_keys = set()

    def late(self, calls, types):
        """Processes a late packet. It counts as lost, so its reliable calls are resent before or after it."""
        for call in calls:
            kind = types[call.type]
            if kind.delivery == ORDERED:
                ahead = (call.number - self.missing) & (NUMBERS - 1)
                number = self.missing + ahead - (NUMBERS if ahead >= NUMBERS // 2 else 0)
                before = self.contents.setdefault(number, call)
                if before.words is not None and call.words is not None:
                    check_again(before, call, kind, f"the client's call {number}")
            elif kind.delivery == UNORDERED:
                self.late_keys.add((call.type, call.words))

    def receive(self, calls, types, held):
        """`held`: the ghosts that the client had when it sent this packet."""
        for call in calls:
            kind = types[call.type]
            name = f"the client's call of type {call.type}"
            if call.ghost is not None and call.ghost not in held:
                raise Mismatch(f"{name} is for ghost {call.ghost}, which the client does not have")
            if kind.delivery == ORDERED:
                name = self.receive_ordered(call, kind)
            elif (call.type, call.words) in self.late_keys:
                self.late_keys.discard((call.type, call.words))
                self.counts["repeated"] += 1
            self.first(call, kind, name)

    def receive_ordered(self, call, kind):
        number = self.missing + ((call.number - self.missing) & (NUMBERS - 1))
        name = f"the client's call {number}"
        if number - self.missing >= WINDOW or number in self.arrived:
            raise Mismatch(f"{name} is a duplicate, or is sent while {self.missing} has not arrived")
        check_void(call, kind, name)
        if number in self.contents:
            check_again(self.contents[number], call, kind, name)
            self.counts["repeated"] += 1
        self.counts["voids"] += call.words is None
        self.contents[number] = call
        self.arrived.add(number)
        while self.missing in self.arrived:
            self.arrived.remove(self.missing)
            self.contents.pop(self.missing - NUMBERS, None)
            self.missing += 1
        return name
