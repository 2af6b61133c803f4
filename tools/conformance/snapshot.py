# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""PROTOCOL.md, "Snapshot": the four sections of a packet, as they stand there."""

from collections import namedtuple

import motion
from fields import LOCAL_ID_END, read_reference

LEAVE_REASONS = (4, 5, 6)
# Of a link, by number.
REASONS = ("entered", "spawned", "owned", "forced", "promoted")
KEPT_FORMS = (1, 2, 3)

Leave = namedtuple("Leave", "id reason kept", defaults=(0,))
# A parent is an id or None; `told` has a bit for each part that is for some only and told.
# `whole`: from now on the group is shown. `reason`: why it is relevant.
Link = namedtuple("Link", "parent told owned whole reason", defaults=(None, 0, 0, 1, 0))
# `changes` are (field, words); all that are told in an enter.
Enter = namedtuple("Enter", "id kind link changes")
Verbose = namedtuple("Verbose", "id kind link changes")  # link: None if it is not told anew
# `motions`: of the extrapolated fields, by field; of all of them or none.
Plain = namedtuple("Plain", "id kind changes motions", defaults=({},))
Shared = namedtuple("Shared", "id kind changes")

SLOT_END = 64


class Snapshot:
    def __init__(self, reader, schema, ghosts, tick):
        """`ghosts`: those that the server knows the client to hold, as of the newest packet that is known
        to have arrived; and the rosters of those packets."""
        kind_of = ghosts.kind_of
        self.tick = tick
        self.tick_low = reader.u(16)
        self.leaves = []
        self.enters = []
        self.verbose = []
        self.plain = []
        for local_id in ids(reader, reader.varint()):
            self.leaves.append(read_leave(reader, local_id))
        for local_id in ids(reader, reader.varint()):
            index = schema.read_kind(reader)
            kind = schema.kinds[index]
            link = read_link(reader, kind)
            told = [i for p, part in enumerate(kind.parts) if kind.is_told(p, link.told) for i in part.fields()]
            self.enters.append(Enter(local_id, index, link, read_fields(reader, kind, told)))
        for local_id in ids(reader, reader.varint()):
            index = schema.read_kind(reader)
            kind = schema.kinds[index]
            link = read_link(reader, kind) if reader.u(1) else None
            self.verbose.append(Verbose(local_id, index, link, read_changes(reader, kind)))
        count = reader.varint()
        k = reader.u(4) if count else 0
        back = reader.u(5) if count and schema.extrapolates else 0
        for local_id in ids(reader, count, k):
            index = kind_of.get(local_id)
            if index is None:
                raise reader.wrong(f"a plain update of {local_id}, whose enter is not acknowledged")
            kind = schema.kinds[index]
            if kind.extrapolated:
                before = ghosts.motions_until(local_id, tick - back) if back else None
                self.plain.append(Plain(local_id, index, *read_differences(reader, kind, before, tick)))
            else:
                self.plain.append(Plain(local_id, index, read_changes(reader, kind)))
        named = [item.id for items in (self.leaves, self.enters, self.verbose, self.plain) for item in items]
        if len(set(named)) != len(named):
            raise reader.wrong("a ghost in two sections of one packet")
        self.shared = []
        self.rosters = {}  # told in this packet, by slot
        if reader.u(1):
            self.read_shared(reader, schema, ghosts.rosters)

    def read_shared(self, reader, schema, known_rosters):
        count = reader.varint()
        if count == 0:
            raise reader.wrong("no shared section where there is to be one")
        slots = set()
        for _ in range(count):
            slot = reader.u(6)
            if slot in slots:
                raise reader.wrong(f"slot {slot} twice in a packet")
            slots.add(slot)
            if reader.u(1):
                self.rosters[slot] = read_roster(reader, schema)
            elif slot not in known_rosters:
                raise reader.wrong(f"slot {slot} has no roster that is known to have arrived")
            roster = self.rosters.get(slot) or known_rosters[slot]
            told = reader.varint()
            if not 1 <= told <= len(roster):
                raise reader.wrong(f"{told} of {len(roster)} members changed")
            for rank in ids(reader, told, reader.u(4)):
                if rank >= len(roster):
                    raise reader.wrong(f"rank {rank} of {len(roster)}")
                local_id, index = roster[rank]
                kind = schema.kinds[index]
                changes = read_changes(reader, kind, references=False)
                self.shared.append(Shared(local_id, index, changes))


def read_roster(reader, schema):
    """Local id and kind of each member, by rank."""
    count = reader.varint()
    width = reader.u(5)
    if width == 0:
        raise reader.wrong("a roster of ids without bits")
    roster = []
    for _ in range(count):
        local_id = reader.u(width)
        if local_id >= LOCAL_ID_END:
            raise reader.wrong(f"local id {local_id} in a roster")
        roster.append((local_id, schema.read_kind(reader)))
    if len({local_id for local_id, _ in roster}) != len(roster):
        raise reader.wrong("a ghost twice in a roster")
    return roster


def ids(reader, count, k=None):
    """The local ids of a section; what belongs to one is read before the next is asked for."""
    following = 0
    for _ in range(count):
        following += reader.varint() if k is None else reader.rice(k)
        if following >= LOCAL_ID_END:
            raise reader.wrong(f"local id {following}")
        yield following
        following += 1


def read_leave(reader, local_id):
    reason = reader.u(3)
    if reason not in LEAVE_REASONS:
        raise reader.wrong(f"a leave with reason {reason}")
    kept = 0
    if reader.u(1):
        kept = reader.u(2)
        if kept not in KEPT_FORMS:
            raise reader.wrong(f"a copy that is kept in form {kept}")
    return Leave(local_id, reason, kept)


def read_link(reader, kind):
    reason = reader.u(3)  # like `owned` not part of the digest
    if reason >= len(REASONS):
        raise reader.wrong(f"a link with reason {reason}")
    owned = reader.u(1)
    whole = reader.u(1)
    parent = reader.varint() if reader.u(1) else None
    if parent is not None and parent >= LOCAL_ID_END:
        raise reader.wrong(f"a parent {parent}")
    return Link(parent, sum(reader.u(1) << part for part in kind.for_some), owned, whole, reason)


def read_changes(reader, kind, references=True):
    chosen = []
    words = {}
    for part in kind.parts:
        if not kind.always_changed and not reader.u(1):
            continue
        every = (1 << part.count) - 1
        mask = every
        if part.count > 1 and not reader.u(1):
            mask = reader.u(part.count)
            if mask in (0, every):
                raise reader.wrong("a mask of no field, or of all")
        here = [field for i, field in enumerate(part.fields()) if mask >> i & 1]
        chosen += here
        words.update(read_values(reader, kind, here))
    if not references and not set(chosen).isdisjoint(kind.references):
        raise reader.wrong("a reference in a shared section")
    if not set(chosen).issuperset(kind.extrapolated):
        raise reader.wrong("a extrapolated field that is left out")
    return with_references(reader, kind, chosen, words)


def read_differences(reader, kind, before, tick):
    """Changes, and the motions that follow from them."""
    if before is None:
        raise reader.wrong("a difference to nothing")
    chosen = []
    words = {}
    others = [[i for i in part.fields() if i not in kind.extrapolated] for part in kind.parts]
    if any(others) and reader.u(1):
        for fields in others:
            if not fields or not reader.u(1):
                continue
            here = fields
            if len(fields) > 1 and not reader.u(1):
                here = [i for i in fields if reader.u(1)]
            chosen += here
            words.update(read_values(reader, kind, here))
        if not chosen:
            raise reader.wrong("others have changed, and none of them")
    ticks = tick - before[0]
    motions = {}
    for i in kind.extrapolated:
        its, largest = before[1][i], kind.fields[i].largest
        value = motion.value_after(its, ticks, largest) + reader.difference(motion.parameter(its))
        if not 0 <= value <= largest:
            raise reader.wrong(f"a extrapolated number {value}, at most {largest}")
        words[i] = (value,)
        motions[i] = motion.following(its, ticks, value, largest)
    return with_references(reader, kind, sorted([*chosen, *kind.extrapolated]), words), motions


def read_fields(reader, kind, chosen):
    return with_references(reader, kind, chosen, read_values(reader, kind, chosen))


def read_values(reader, kind, chosen):
    return {i: kind.fields[i].read(reader) for i in chosen if i not in kind.references}


def with_references(reader, kind, chosen, words):
    for i in kind.references:
        if i in chosen:
            words[i] = read_reference(reader)
    return [(i, words[i]) for i in chosen]
