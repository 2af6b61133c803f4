# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""PROTOCOL.md, "Snapshot": the four sections of a packet, as they stand there."""

from collections import namedtuple

from fields import LOCAL_ID_END, read_reference

LEAVE_REASONS = (2, 3, 4, 5, 6, 7)
KEPT_FORMS = (1, 2, 3)

Leave = namedtuple("Leave", "id reason kept", defaults=(0,))
# A parent is an id or None; `told` has a bit for each part that is for some only and told.
Link = namedtuple("Link", "parent told owned", defaults=(None, 0, 0))
# `changes` are (field, words); all that are told in an enter.
Enter = namedtuple("Enter", "id kind link changes")
Verbose = namedtuple("Verbose", "id kind link changes")  # link: None if it is not told anew
Plain = namedtuple("Plain", "id kind changes")


class Snapshot:
    def __init__(self, reader, schema, kind_of):
        """`kind_of`: kinds of the ghosts that the server knows the client to hold, by id."""
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
        for local_id in ids(reader, count, k):
            index = kind_of.get(local_id)
            if index is None:
                raise reader.wrong(f"a plain update of {local_id}, whose enter is not acknowledged")
            self.plain.append(Plain(local_id, index, read_changes(reader, schema.kinds[index])))
        named = [item.id for items in (self.leaves, self.enters, self.verbose, self.plain) for item in items]
        if len(set(named)) != len(named):
            raise reader.wrong("a ghost in two sections of one packet")


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
    owned = reader.u(1)  # not part of the digest
    reader.u(1)  # whole: when it is shown, which no digest speaks of
    parent = reader.varint() if reader.u(1) else None
    if parent is not None and parent >= LOCAL_ID_END:
        raise reader.wrong(f"a parent {parent}")
    return Link(parent, sum(reader.u(1) << part for part in kind.for_some), owned)


def read_changes(reader, kind):
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
    return with_references(reader, kind, chosen, words)


def read_fields(reader, kind, chosen):
    return with_references(reader, kind, chosen, read_values(reader, kind, chosen))


def read_values(reader, kind, chosen):
    return {i: kind.fields[i].read(reader) for i in chosen if i not in kind.references}


def with_references(reader, kind, chosen, words):
    for i in kind.references:
        if i in chosen:
            words[i] = read_reference(reader)
    return [(i, words[i]) for i in chosen]
