# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""PROTOCOL.md, "Data" and "Messages": one connection in both directions, and what each side knows."""

import math
import struct

from bits import BitReader, Mismatch, expand
from calls import TO_OBSERVERS, TO_SERVER, CallsDown, CallsUp, read_calls
from ghosts import Ghosts, read_state
from groups import Groups
from handshake import body_of, read_reason_text
from inputs import Inputs, read_correction, read_input_state, read_inputs
from link import Commands, Half, Header, read_fragments
from schema import Schema
from snapshot import Snapshot
from written import Written

CLIENT_PACKET_BYTES_MIN = 33
PACKETS_IN_FLIGHT_MAX = 1000
HOLE_MIN = 900  # from this number of packets without a delivery status on, the server sends less often
SILENT_TICKS_MAX = 10  # maximum ticks without a packet
UNSENT_TICKS_MAX = 256  # maximum ticks between two snapshots
AT_REST_MAX = 20  # maximum packets without a delivery status, for a client that acknowledges
WELCOME, JOINED, REFUSED, GAME, STATE_REQUEST, VIEW_COMPLETE, CELLS, CORRECTION = range(1, 9)
JOIN, GAME_UP, STATE = range(1, 4)
CELL_GRIDS_MAX = 16
CELLS_MAX = 1 << 20


class Packet:
    """Content of a server packet; applied when its client reports that it accepted the packet."""

    __slots__ = ("snapshot", "fragments", "status_known", "input_state")

    def __init__(self):
        self.snapshot = None
        self.input_state = None
        self.fragments = []
        self.status_known = 0  # the client knows the delivery status of its packets up to this one


class Session:
    def __init__(self, connection, nonce, address, begin):
        self.connection = connection
        self.nonce = nonce
        self.address = address
        self.begin = begin
        self.down = Half()  # packets of the server
        self.up = Half()  # packets of the client, as accepted by the server
        self.in_flight = {}
        self.server_knows = 0  # number up to which the client has received the delivery status of its packets
        self.client_knows = 0  # the same for the server's packets
        self.commands = Commands()
        self.schema = None
        self.join_seen = False
        self.joined_received = False
        self.over = False
        self.ghosts = Ghosts()
        self.state_wanted = False
        self.states = {}  # by packet, while a state is requested
        self.written = Written()
        self.calls_down = CallsDown()
        self.calls_up = CallsUp()
        self.inputs = Inputs()
        self.groups = Groups()
        self.last_packet_tick = None  # tick of the last packet
        self.last_sent_tick = None  # tick of the last snapshot; None: none yet, or too many packets lack a delivery status
        self.waiting = 0  # calls that arrived before their ghosts
        self.views = 0
        self.cells = 0  # messages with grids
        self.snapshots = self.digests = self.states_compared = self.late = 0

    # -- from the client -----------------------------------------------------------------------------
    def receive(self, datagram):
        """Processes a packet with a valid checksum that reached the server."""
        self.end_tick()
        reader = body_of(datagram)
        reader.u(64)
        header = Header(reader, self.down.newest)
        number = expand(header.sequence_low, self.up.newest)
        if number <= self.up.newest:
            self.late += 1  # counts as lost
            self.receive_late(reader, number)
            return
        fragments = read_fragments(reader)
        digest = reader.u(64) if reader.u(1) else None
        self.commands.read(reader)
        calls = read_calls(reader, self.schema, TO_SERVER)
        inputs = read_inputs(reader, self.schema, self.inputs.newest)
        reader.finish(CLIENT_PACKET_BYTES_MIN)

        for skipped in range(self.up.newest + 1, number):
            self.up.delivery_reports[skipped] = False
        self.up.delivery_reports[number] = True
        self.up.newest = number
        self.up.newest_acknowledged[number] = header.newest or 0
        for accepted in self.down.learn(header):
            self.apply(accepted)
        for lost in [n for n in self.in_flight if n <= self.down.status_known]:
            del self.in_flight[lost]
            self.calls_down.resolve(lost, False, self.rpcs())
        expect_oldest(header, self.client_knows)
        if header.newest is not None:
            self.server_knows = self.down.newest_acknowledged[header.newest]
        self.down.forget(self.client_knows)
        if digest is not None:
            self.digests += 1
            if digest != self.ghosts.digest:
                raise Mismatch(f"after packet {self.down.status_known} the client's digest is {digest:016x}, "
                               f"expected {self.ghosts.digest:016x}, {len(self.ghosts.held)} ghosts")
        # The acknowledgements are processed, so the decoder now has the ghosts of the client.
        self.calls_up.receive(calls, self.rpcs(), self.ghosts.held)
        self.inputs.receive(inputs, self.groups.kinds_ever, self.schema)
        for offset, piece in fragments:
            self.up.stream.send(offset, piece)
            self.up.stream.arrive(offset, len(piece))
        for message in self.up.stream.messages():
            self.message_up(message)

    def receive_late(self, reader, number):
        """Checks that a late packet equals the resent reliable data. Ignores a duplicate."""
        if self.up.delivery_reports.get(number) is not False:
            return
        read_fragments(reader)
        if reader.u(1):
            reader.u(64)
        commands = Commands()
        commands.newest = self.commands.newest
        commands.read(reader)
        calls = read_calls(reader, self.schema, TO_SERVER)
        inputs = read_inputs(reader, self.schema, self.inputs.newest)
        reader.finish(CLIENT_PACKET_BYTES_MIN)
        self.inputs.check_repeated(inputs)
        self.calls_up.late(calls, self.rpcs())

    def pending(self):
        """Returns what is missing at the end of a recording that ends in an idle world; "" if nothing."""
        missing = []
        if self.calls_down.due():
            missing.append(f"{self.calls_down.due()} lost calls that were not resent")
        if self.join_seen and len(self.in_flight) <= AT_REST_MAX:  # the client still acknowledges
            if not self.views:
                missing.append("the view-complete message")
            if self.calls_down.open:
                missing.append(f"the ordered call {min(self.calls_down.open)}")
            if self.calls_up.arrived:
                missing.append(f"the client's call {self.calls_up.missing}")
            if self.ghosts.waiting:
                missing.append(f"the whole flag for the groups of {len(self.ghosts.waiting)} ghosts")
        return " and ".join(missing)

    def rpcs(self):
        return () if self.schema is None else self.schema.rpcs

    def apply(self, number):
        packet = self.in_flight.pop(number)
        self.client_knows = packet.status_known
        for offset, piece in packet.fragments:
            self.down.stream.arrive(offset, len(piece))
        for message in self.down.stream.messages():
            self.message_down(message)
        self.inputs.arrived(packet.input_state)
        if packet.snapshot is not None:
            self.ghosts.apply(packet.snapshot)
            self.written.arrived(number, packet.snapshot)
        for call in self.calls_down.resolve(number, True, self.rpcs()):
            self.waiting += call.ghost is not None and call.ghost not in self.ghosts.held
        if self.state_wanted:
            self.states[number] = self.ghosts.state()

    def message_up(self, message):
        reader = BitReader(message)
        kind = reader.u(8)
        if kind == JOIN:
            if self.schema is None or self.join_seen:
                raise reader.wrong("a join before the welcome, or a second one")
            role, size = reader.u(8), reader.u(8)
            if role > 1 or size > 32:
                raise reader.wrong("a malformed join")
            reader.take(size)
            size = reader.u(16)
            if size > 512:
                raise reader.wrong("a credential of more than 512 bytes")
            reader.take(size)
            reader.finish()
            self.join_seen = True
        elif kind == GAME_UP:
            if not self.joined_received:
                raise reader.wrong("a game message from a client before it received the joined message")
        elif kind == STATE:
            number = reader.u(32)
            if number not in self.states:
                raise reader.wrong(f"a state after packet {number} that was not requested")
            if read_state(reader, self.schema.kinds) != self.states[number]:
                raise Mismatch(f"the client's state after packet {number} differs from the decoded one")
            self.states_compared += 1
            self.state_wanted = False
            self.states = {}
        else:
            raise reader.wrong(f"a client's message of type {kind}")

    # -- from the server -----------------------------------------------------------------------------
    def end_tick(self):
        """Call once for each tick with a snapshot, before the next packet of the client."""
        if self.groups.tick is not None:
            self.groups.end_tick(self.written.parents(), self.ghosts.held)

    def send(self, datagram, tick):
        if tick != self.groups.tick:
            self.end_tick()
        reader = body_of(datagram)
        header = Header(reader, self.up.newest)
        number = self.down.newest + 1
        if header.sequence_low != number & 0xFFFF:
            raise reader.wrong(f"packet {header.sequence_low}, expected {number}")
        if number - self.down.status_known > PACKETS_IN_FLIGHT_MAX:
            raise reader.wrong("too many packets without a delivery status")
        if header.newest != (self.up.newest or None):
            raise reader.wrong(f"packet {header.newest} is reported as the newest accepted; it is {self.up.newest}")
        for acknowledged, accepted in header.accepted.items():
            if self.up.delivery_reports.get(acknowledged, accepted) != accepted:
                raise reader.wrong(f"packet {acknowledged} had another delivery status")
        expect_oldest(header, self.server_knows)
        self.check_send_interval(tick)
        packet = Packet()
        packet.status_known = self.up.newest_acknowledged.get(header.newest, 0)
        packet.fragments = read_fragments(reader)
        if reader.u(1):
            if not self.join_seen:
                raise reader.wrong("a snapshot before the join")
            packet.snapshot = Snapshot(reader, self.schema, self.ghosts, tick)
            if packet.snapshot.tick_low != tick & 0xFFFF:
                raise reader.wrong(f"a snapshot of tick {packet.snapshot.tick_low} in tick {tick}")
            self.snapshots += 1
            self.last_sent_tick = tick
            self.written.write(number, packet.snapshot, self.schema.kinds)
            self.groups.write(number, tick, packet.snapshot, self.ghosts.held, len(datagram))
            for leave in packet.snapshot.leaves:
                self.calls_down.leave(leave.id, number, self.schema.rpcs)
        calls = read_calls(reader, self.schema, TO_OBSERVERS)
        if calls and not self.join_seen:
            raise reader.wrong("a call before the join")
        for call in calls:
            if call.ghost is not None:
                self.written.check_named(call, number, self.down.status_known)
        self.calls_down.write(number, calls, self.rpcs())
        packet.input_state = read_input_state(reader)
        reader.finish()
        self.inputs.send(packet.input_state)

        self.last_packet_tick = tick
        if number - self.down.status_known >= HOLE_MIN:
            self.last_sent_tick = None
        self.down.newest = number
        self.down.newest_acknowledged[number] = header.newest or 0
        self.up.forget(self.server_knows)
        self.in_flight[number] = packet
        for offset, piece in packet.fragments:
            self.down.stream.send(offset, piece)
        for message in self.down.stream.messages_sent():
            if message[:1] == bytes([VIEW_COMPLETE]):
                if not self.join_seen:
                    raise Mismatch("a view-complete message before the join")
                self.written.view_complete(self.ghosts.held)
            elif message[:1] == bytes([CORRECTION]):
                self.correction(message)

    def check_send_interval(self, tick):
        """Checks that the server sends regularly after its first snapshot."""
        if self.last_sent_tick is None:
            return
        if tick - self.last_sent_tick > UNSENT_TICKS_MAX:
            raise Mismatch(f"no snapshot for {tick - self.last_sent_tick} ticks")
        if tick - self.last_packet_tick - 1 > SILENT_TICKS_MAX:
            raise Mismatch(f"{tick - self.last_packet_tick - 1} ticks without a packet")

    def correction(self, message):
        tick_low, groups = read_correction(BitReader(message[1:]), self.schema)
        self.inputs.sent_correction(tick_low, groups)
        self.groups.check_correction(groups, self.schema)

    def read_cells(self, reader):
        count = reader.u(8)
        if count > CELL_GRIDS_MAX:
            raise reader.wrong(f"{count} grids of cells")
        for _ in range(count):
            if reader.u(8) > 1:
                raise reader.wrong("invalid axes")
            numbers = struct.unpack("<4f", reader.u(128).to_bytes(16, "little"))
            columns, rows = reader.u(32), reader.u(32)
            is_valid = all(map(math.isfinite, numbers)) and numbers[2] > 0 and numbers[3] > 0
            if not is_valid or not 0 < columns * rows <= CELLS_MAX:
                raise reader.wrong(f"cells of {numbers[2]} x {numbers[3]} in {columns} columns and {rows} rows")
        reader.finish()
        self.cells += 1

    def message_down(self, message):
        reader = BitReader(message)
        kind = reader.u(8)
        if kind == WELCOME:
            if self.schema is not None:
                raise reader.wrong("a second welcome")
            reader.u(32)
            if (reader.u(16), reader.u(64)) != (self.begin.tick_hz, self.begin.schema_hash):
                raise reader.wrong("a welcome to another world")
            if reader.take(reader.u(8)) != self.begin.world_name:
                raise reader.wrong("a welcome to a world of another name")
            self.schema = Schema(reader)
            reader.finish()
            if self.schema.hash != self.begin.schema_hash:
                raise Mismatch(f"the schema's hash is {self.schema.hash:016x} according to PROTOCOL.md")
            self.ghosts.kinds = self.schema.kinds
        elif kind == JOINED:
            if self.joined_received:
                raise reader.wrong("a second joined")
            reader.finish()
            self.joined_received = True
        elif kind == REFUSED:
            read_reason_text(reader)
            reader.finish()
        elif kind == STATE_REQUEST:
            reader.finish()
            self.state_wanted = True
        elif kind == VIEW_COMPLETE:
            reader.finish()
            self.views += 1
        elif kind == CELLS:
            self.read_cells(reader)
        elif kind == CORRECTION:
            read_correction(reader, self.schema)
            reader.finish()
            self.inputs.corrections_arrived += 1
        elif kind == GAME:
            if not self.joined_received:
                raise reader.wrong("a game message to a client before the joined message")
        else:
            raise reader.wrong(f"a server's message of type {kind}")


def expect_oldest(header, known):
    """Checks that the reported delivery status starts after the last packet whose status the other side knows."""
    if header.newest is not None and header.oldest != min(known + 1, header.newest):
        raise Mismatch(f"the delivery status starts at packet {header.oldest}; the other side knows it up to {known}")
