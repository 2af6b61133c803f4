#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""Reads a recording (docs/recording.md) and verifies every bit of its datagrams against PROTOCOL.md. Written from
these two documents only; shares no code with the library. Exit code 0: all datagrams conform; 1: a datagram does not
conform, or a count is below the required minimum; 2: the file is not a recording."""

import argparse
import sys

import recording
from bits import Mismatch, checksum_holds, data_seed, expand
from calls import Calls
from fields import Number
from groups import Groups
from handshake import ACCEPT, CLOSE, DATA, Handshakes
from session import Session
from snapshot import REASONS

DATAGRAM_BYTES = range(5, 1201)
PRINTED_MAX = 10  # maximum number of printed mismatches
# Counts of ghosts. `references`, `texts`, `rotations`, `ranged`: nonzero values by type. `unnamed`: references cleared
# because their ghost left. `gained`, `lost`, `withheld`: parts that became allowed, are no longer allowed, or were not
# allowed at the enter. `kept`, `resumed`, `ended`: retained ghosts. `shared`: updates from shared cell payloads.
# `differences`: updates as differences. `extrapolated`: values changed by dead reckoning. `shown_late`: ghosts that
# entered before their group was whole. REASONS: enters and resumes by reason.
OF_GHOSTS = ("enters", "updates", "leaves", "references", "unnamed", "texts", "rotations", "ranged", "gained",
             "lost", "withheld", "kept", "resumed", "ended", "shared", "member_maps", "differences", "extrapolated", "shown_late", *REASONS)
# `whole`, `held_back`: links of groups with several members. `ordered_groups`: corrected groups with a checked order.
OF_GROUPS = ("whole", "held_back", "ordered_groups")
# `frames`, `repeated_frames`: new and repeated inputs. `parts`: inputs of single ghosts. `starved`: ticks without an
# input. `corrections`, `corrected_groups`: corrections, and the groups in them.
OF_INPUTS = ("frames", "repeated_frames", "parts", "starved", "corrections", "corrected_groups")
# Calls to observers by delivery. `voids`: void calls. `ghostless`: forced calls without a ghost.
OF_CALLS = ("unreliable", "unordered", "ordered", "voids", "ghostless")


def seed_of(connection, low, near):
    """Checksum seed of a data packet with a number that has these two low bytes and is closest to `near`."""
    return data_seed(connection, max(0, expand(int.from_bytes(low, "little"), near)))


class Decoder:
    def __init__(self):
        self.handshakes = Handshakes()
        self.sessions = {}  # by connection id
        self.tick = 0
        self.number = 0  # of the current datagram, from 1
        self.damaged = 0
        self.unknown_connections = 0
        self.broken = set()  # sessions after a mismatch; later mismatches would only be consequences
        self.wrong = []

    def run(self, data):
        for kind, body in recording.events(data):
            if kind == recording.BEGIN:
                self.begin = recording.Begin(body)
            elif kind == recording.TICK:
                self.tick += 1
            elif kind == recording.RECEIVED:
                self.one(self.received, int.from_bytes(body[8:12], "little"), body[12:])
            elif kind == recording.SENT:
                self.one(self.sent, int.from_bytes(body[:4], "little"), body[4:])

    def one(self, take, address, datagram):
        self.number += 1
        self.session = None
        try:
            take(address, datagram)
        except Mismatch as mismatch:
            direction = "received" if take == self.received else "sent"
            where = f"datagram {self.number} ({direction}, type {datagram[0] if datagram else '-'}, tick {self.tick})"
            bit = "" if mismatch.bit is None else f", bit {mismatch.bit}"
            self.wrong.append(f"{where}{bit}: {mismatch.what}")
            if self.session is not None:
                self.broken.add(self.session.connection)

    def received(self, address, datagram):
        if len(datagram) not in DATAGRAM_BYTES:
            self.damaged += 1
            return
        if datagram[0] == DATA:
            connection = int.from_bytes(datagram[5:13], "little")
            session = self.sessions.get(connection)
            near = 0 if session is None else session.up.newest + 1
            if not checksum_holds(datagram, seed_of(connection, datagram[13:15], near)):
                self.damaged += 1
            elif session is None or session.over:
                self.unknown_connections += 1
            elif session.connection not in self.broken:
                self.session = session
                session.receive(datagram)
            return
        if not checksum_holds(datagram):
            self.damaged += 1
            return
        try:
            handled = self.handshakes.received(datagram, address)
        except Mismatch:
            self.damaged += 1  # the checksum does not cover the type
            return
        if handled is None:
            return
        kind, connection, nonce = handled
        session = self.sessions.get(connection)
        if session is None:
            return
        if kind == CLOSE:
            session.over = True
        elif session.nonce == nonce:
            session.address = address

    def sent(self, address, datagram):
        if len(datagram) not in DATAGRAM_BYTES:
            raise Mismatch(f"a datagram of {len(datagram)} bytes")
        if datagram[0] == DATA:
            self.session = self.session_at(address, datagram)
            if self.session.connection not in self.broken:
                self.session.send(datagram, self.tick)
            return
        if not checksum_holds(datagram):
            raise Mismatch("a wrong checksum")
        handled = self.handshakes.sent(datagram, address, {s.nonce for s in self.sessions.values()})
        if handled is None:
            return
        kind, connection, nonce = handled
        if kind == CLOSE:
            if connection not in self.sessions:
                raise Mismatch("a close of an unknown connection")
            self.sessions[connection].over = True
        elif kind == ACCEPT and connection not in self.sessions:
            self.sessions[connection] = Session(connection, nonce, address, self.begin)

    def session_at(self, address, datagram):
        """Finds the session of a server packet by its checksum, since the packet has no connection id."""
        here = [s for s in self.sessions.values() if s.address == address and not s.over]
        for session in here:
            if checksum_holds(datagram, seed_of(session.connection, datagram[5:7], session.down.newest + 1)):
                return session
        raise Mismatch(f"the checksum matches none of the {len(here)} connections at this address")

    def check_rest(self):
        for session in self.sessions.values():
            pending = session.pending()
            if pending and not session.over and session.connection not in self.broken:
                self.wrong.append(f"connection {session.connection:016x} misses at the end: {pending}")

    def counts(self):
        sessions = self.sessions.values()
        return {
            "datagrams": self.number,
            "sessions": len(sessions),
            "snapshots": sum(s.snapshots for s in sessions),
            **{name: sum(s.ghosts.counts[name] for s in sessions) for name in OF_GHOSTS},
            **{name: sum(s.calls_down.counts[name] for s in sessions) for name in OF_CALLS},
            "repeated": sum(s.calls_down.counts["repeated"] + s.calls_up.counts["repeated"] for s in sessions),
            "waiting": sum(s.waiting for s in sessions),
            "to_server": sum(s.calls_up.counts[name] for s in sessions for name in OF_CALLS[:3]),
            **{name: sum(s.groups.counts[name] for s in sessions) for name in OF_GROUPS},
            **{name: sum(s.inputs.counts[name] for s in sessions) for name in OF_INPUTS},
            "views": sum(s.views for s in sessions),
            "commands": sum(s.commands.count for s in sessions),
            "digests": sum(s.digests for s in sessions),
            "states": sum(s.states_compared for s in sessions),
            "late": sum(s.late for s in sessions),
            "damaged": self.damaged,
            "unknown_connections": self.unknown_connections,
            "refused": self.handshakes.refused,
            "wrong": len(self.wrong),
        }


def main():
    counted = ("datagrams", "sessions", "snapshots", *OF_GHOSTS, *OF_CALLS, "repeated", "waiting",
               "to_server", *OF_GROUPS, *OF_INPUTS, "views", "commands", "digests", "states", "refused")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    for name in counted:
        parser.add_argument(f"--min-{name.replace('_', '-')}", type=int, default=0, metavar="N", help=f"exit with code 1 if there are fewer {name}")
    parser.add_argument("--max-damaged", type=int, metavar="N",
                        help="exit with code 1 if more corrupted datagrams reached the server")
    parser.add_argument("--faulty-server", action="store_true",
                        help="accept numbers above their maximum, for a server with injected faults")
    parser.add_argument("--distinct-calls", action="store_true", help="all calls of the recording have different arguments")
    parser.add_argument("--idle-end", action="store_true",
                        help="the recording ends in an idle world, after everything has arrived")
    parser.add_argument("--unlimited", action="store_true",
                        help="neither the budget nor a limit was reached: every change is sent in its tick")
    options = parser.parse_args()
    Number.may_be_larger = options.faulty_server
    Calls.are_distinct = options.distinct_calls
    Groups.unlimited = options.unlimited

    decoder = Decoder()
    trouble = None
    try:
        with open(options.file, "rb") as file:
            decoder.run(file.read())
        if options.idle_end:
            decoder.check_rest()
    except OSError as error:
        print(f"{options.file}: {error.strerror}", file=sys.stderr)
        return 2
    except recording.BadRecording as bad:
        trouble = f"{options.file}: {bad}"
    counts = decoder.counts()
    print(", ".join(f"{value} {name}" for name, value in counts.items()))
    for line in decoder.wrong[:PRINTED_MAX]:
        print(line)
    if trouble is not None:
        print(trouble, file=sys.stderr)
        return 1 if decoder.wrong else 2
    few = [name for name in counted if counts[name] < getattr(options, f"min_{name}")]
    for name in few:
        print(f"too few {name}: {counts[name]}; the minimum is {getattr(options, f'min_{name}')}")
    if options.max_damaged is not None and counts["damaged"] > options.max_damaged:
        print(f"too many corrupted datagrams: {counts['damaged']}; the limit is {options.max_damaged}")
        few.append("damaged")
    return 1 if decoder.wrong or few else 0


if __name__ == "__main__":
    sys.exit(main())
