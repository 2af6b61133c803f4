#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""Reads a recording (docs/recording.md) and follows PROTOCOL.md through every datagram of it, to the
last bit. Written from the two papers alone; shares nothing with the library. Exit code 0: all is as
the papers say; 1: something is not, or there was less than was asked for; 2: not a recording."""

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
TOLD_MAX = 10  # mismatches in words
# Values that are not zeros, by type; references that ended because their ghost left; parts that began or
# ceased to be told, or were not from the enter on; copies that were kept, went on, ended; updates out of shared
# sections; rosters of those; updates told as differences; values that went on as extrapolated without a word; ghosts that
# were held before their group was called whole; what came or came back, by its reason.
OF_GHOSTS = ("enters", "updates", "leaves", "references", "unnamed", "texts", "rotations", "ranged", "gained",
             "lost", "untold", "kept", "resumed", "ended", "shared", "rosters", "differences", "extrapolated", "shown_late", *REASONS)
# Links of groups of several that said whole, or not yet; corrected groups of several whose order was checked.
OF_GROUPS = ("whole", "held_back", "ordered_groups")
# Command ticks, and again; parts; ticks without one; corrections, and groups in them.
OF_INPUTS = ("frames", "repeated_frames", "parts", "starved", "corrections", "corrected_groups")
# Calls to observers by delivery; numbers that were given up; forced ones without a ghost.
OF_CALLS = ("unreliable", "unordered", "ordered", "voids", "ghostless")


def seed_of(connection, low, near):
    """Of a data packet whose number has these two bytes, and is nearest to `near`."""
    return data_seed(connection, max(0, expand(int.from_bytes(low, "little"), near)))


class Decoder:
    def __init__(self):
        self.handshakes = Handshakes()
        self.sessions = {}  # by connection id
        self.tick = 0
        self.number = 0  # of the datagram, from 1
        self.damaged = 0
        self.strangers = 0
        self.broken = set()  # sessions after a mismatch: what follows would only be its echo
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
            way = "received" if take == self.received else "sent"
            where = f"datagram {self.number} ({way}, type {datagram[0] if datagram else '-'}, tick {self.tick})"
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
                self.strangers += 1
            elif session.connection not in self.broken:
                self.session = session
                session.receive(datagram)
            return
        if not checksum_holds(datagram):
            self.damaged += 1
            return
        try:
            told = self.handshakes.received(datagram, address)
        except Mismatch:
            self.damaged += 1  # the checksum does not cover the type
            return
        if told is None:
            return
        kind, connection, nonce = told
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
        told = self.handshakes.sent(datagram, address, {s.nonce for s in self.sessions.values()})
        if told is None:
            return
        kind, connection, nonce = told
        if kind == CLOSE:
            if connection not in self.sessions:
                raise Mismatch("the end of a connection that never was")
            self.sessions[connection].over = True
        elif kind == ACCEPT and connection not in self.sessions:
            self.sessions[connection] = Session(connection, nonce, address, self.begin)

    def session_at(self, address, datagram):
        """Packets of the server do not name their connection; the checksum tells."""
        here = [s for s in self.sessions.values() if s.address == address and not s.over]
        for session in here:
            if checksum_holds(datagram, seed_of(session.connection, datagram[5:7], session.down.newest + 1)):
                return session
        raise Mismatch(f"a checksum of none of the {len(here)} connections at this address")

    def check_rest(self):
        for session in self.sessions.values():
            owed = session.owed()
            if owed and not session.over and session.connection not in self.broken:
                self.wrong.append(f"connection {session.connection:016x} at the end lacks {owed}")

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
            "strangers": self.strangers,
            "refused": self.handshakes.refused,
            "wrong": len(self.wrong),
        }


def main():
    counted = ("datagrams", "sessions", "snapshots", *OF_GHOSTS, *OF_CALLS, "repeated", "waiting",
               "to_server", *OF_GROUPS, *OF_INPUTS, "views", "commands", "digests", "states", "refused")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    for name in counted:
        parser.add_argument(f"--min-{name.replace('_', '-')}", type=int, default=0, metavar="N", help=f"fewer {name}: exit code 1")
    parser.add_argument("--max-damaged", type=int, metavar="N",
                        help="more datagrams that reached the server damaged: exit code 1")
    parser.add_argument("--spoiled", action="store_true",
                        help="the server's values were spoiled on purpose: numbers may be too large")
    parser.add_argument("--unlike", action="store_true", help="no two calls of the recording are alike")
    parser.add_argument("--at-rest", action="store_true",
                        help="the recording ends when all has arrived that was to")
    parser.add_argument("--unbound", action="store_true",
                        help="no budget and no bound was ever reached: all is told in the tick in which it changes")
    options = parser.parse_args()
    Number.may_be_larger = options.spoiled
    Calls.unlike = options.unlike
    Groups.unbound = options.unbound

    decoder = Decoder()
    trouble = None
    try:
        with open(options.file, "rb") as file:
            decoder.run(file.read())
        if options.at_rest:
            decoder.check_rest()
    except OSError as error:
        print(f"{options.file}: {error.strerror}", file=sys.stderr)
        return 2
    except recording.BadRecording as bad:
        trouble = f"{options.file}: {bad}"
    counts = decoder.counts()
    print(", ".join(f"{value} {name}" for name, value in counts.items()))
    for line in decoder.wrong[:TOLD_MAX]:
        print(line)
    if trouble is not None:
        print(trouble, file=sys.stderr)
        return 1 if decoder.wrong else 2
    few = [name for name in counted if counts[name] < getattr(options, f"min_{name}")]
    for name in few:
        print(f"too few {name}: {counts[name]} of {getattr(options, f'min_{name}')}")
    if options.max_damaged is not None and counts["damaged"] > options.max_damaged:
        print(f"too many damaged: {counts['damaged']}, at most {options.max_damaged}")
        few.append("damaged")
    return 1 if decoder.wrong or few else 0


if __name__ == "__main__":
    sys.exit(main())
