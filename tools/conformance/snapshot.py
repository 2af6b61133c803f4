# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""PROTOCOL.md, "Snapshot": decodes the sections of a packet: leaves, enters, updates, shared cell payloads."""

from collections import namedtuple

import motion
from fields import LOCAL_ID_END, read_reference

LEAVE_REASONS = (4, 5, 6)
# Reasons in a link, by number.
REASONS = ("entered", "spawned", "owned", "forced", "promoted")
RETENTION_MODES = (1, 2, 3)

Leave = namedtuple("Leave", "id reason kept", defaults=(0,))
# `parent` is an id or None. `replicated` has a bit for each allowed part with a restricted audience. `whole`: the group
# is shown from now on. `reason`: why the ghost is relevant.
Link = namedtuple("Link", "parent replicated owned whole reason", defaults=(None, 0, 0, 1, 0))
# `changes` are (field, words); in an enter, all allowed fields.
Enter = namedtuple("Enter", "id kind link changes")
Verbose = namedtuple("Verbose", "id kind link changes")  # link: None if unchanged
# `motions`: of the dead-reckoned fields, by field; either all of them or none.
Plain = namedtuple("Plain", "id kind changes motions", defaults=({},))
Shared = namedtuple("Shared", "id kind changes")

SLOT_END = 64


class Snapshot:
    def __init__(self, reader, schema, ghosts, tick):
        """`ghosts`: the client's ghosts and member maps, as of the newest packet that the server knows to have
        arrived."""
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
            allowed = [i for p, part in enumerate(kind.parts) if kind.is_allowed(p, link.replicated) for i in part.fields()]
            self.enters.append(Enter(local_id, index, link, read_fields(reader, kind, allowed)))
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
                raise reader.wrong(f"a plain update of {local_id} without an acknowledged enter")
            kind = schema.kinds[index]
            if kind.extrapolated:
                before = ghosts.motions_until(local_id, tick - back) if back else None
                self.plain.append(Plain(local_id, index, *read_differences(reader, kind, before, tick)))
            else:
                self.plain.append(Plain(local_id, index, read_changes(reader, kind)))
        listed = [item.id for items in (self.leaves, self.enters, self.verbose, self.plain) for item in items]
        if len(set(listed)) != len(listed):
            raise reader.wrong("a ghost in two sections of one packet")
        self.shared = []
        self.member_maps = {}  # in this packet, by slot
        if reader.u(1):
            self.read_shared(reader, schema, ghosts.member_maps)

    def read_shared(self, reader, schema, known_member_maps):
        count = reader.varint()
        if count == 0:
            raise reader.wrong("a shared section without a payload")
        slots = set()
        for _ in range(count):
            slot = reader.u(6)
            if slot in slots:
                raise reader.wrong(f"slot {slot} twice in a packet")
            slots.add(slot)
            if reader.u(1):
                self.member_maps[slot] = read_member_map(reader, schema)
            elif slot not in known_member_maps:
                raise reader.wrong(f"slot {slot} has no acknowledged member map")
            member_map = self.member_maps.get(slot) or known_member_maps[slot]
            changed = reader.varint()
            if not 1 <= changed <= len(member_map):
                raise reader.wrong(f"{changed} of {len(member_map)} members changed")
            for member in ids(reader, changed, reader.u(4)):
                if member >= len(member_map):
                    raise reader.wrong(f"member index {member} of {len(member_map)}")
                local_id, index = member_map[member]
                kind = schema.kinds[index]
                changes = read_changes(reader, kind, references=False)
                self.shared.append(Shared(local_id, index, changes))


def read_member_map(reader, schema):
    """Returns local id and kind of each member, by member index."""
    count = reader.varint()
    width = reader.u(5)
    if width == 0:
        raise reader.wrong("a member map with ids of zero bits")
    member_map = []
    for _ in range(count):
        local_id = reader.u(width)
        if local_id >= LOCAL_ID_END:
            raise reader.wrong(f"local id {local_id} in a member map")
        member_map.append((local_id, schema.read_kind(reader)))
    if len({local_id for local_id, _ in member_map}) != len(member_map):
        raise reader.wrong("a ghost twice in a member map")
    return member_map


def ids(reader, count, k=None):
    """Yields the local ids of a section; the data of an id must be read before the next id."""
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
        if kept not in RETENTION_MODES:
            raise reader.wrong(f"retention mode {kept}")
    return Leave(local_id, reason, kept)


def read_link(reader, kind):
    reason = reader.u(3)  # not part of the digest, like `owned`
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
                raise reader.wrong("a mask with no field or with all fields")
        here = [field for i, field in enumerate(part.fields()) if mask >> i & 1]
        chosen += here
        words.update(read_values(reader, kind, here))
    if not references and not set(chosen).isdisjoint(kind.references):
        raise reader.wrong("a reference in a shared cell payload")
    if not set(chosen).issuperset(kind.extrapolated):
        raise reader.wrong("a missing dead-reckoned field")
    return with_references(reader, kind, chosen, words)


def read_differences(reader, kind, before, tick):
    """Reads changes as differences, and the resulting motions."""
    if before is None:
        raise reader.wrong("a difference without a baseline")
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
            raise reader.wrong("the flag for other changes without any change")
    ticks = tick - before[0]
    motions = {}
    for i in kind.extrapolated:
        its, largest = before[1][i], kind.fields[i].largest
        value = motion.value_after(its, ticks, largest) + reader.difference(motion.parameter(its))
        if not 0 <= value <= largest:
            raise reader.wrong(f"dead-reckoned number {value} exceeds the range 0 to {largest}")
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
