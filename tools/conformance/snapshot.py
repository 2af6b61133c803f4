# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""PROTOCOL.md, "Snapshot": the four sections of a packet, as they stand there."""

LEAVE_REASONS = (2, 3, 4, 5, 6, 7)
LOCAL_ID_END = 1 << 20


class Snapshot:
    """leaves: (id, reason); enters: (id, kind, parent, numbers); verbose: (id, kind, relinked, parent,
    changes); plain: (id, changes). A parent is an id or None; changes are (field, number)."""

    def __init__(self, reader, schema, kind_of):
        """`kind_of`: kinds of the ghosts that the server knows the client to hold, by id."""
        self.tick_low = reader.u(16)
        self.leaves = []
        self.enters = []
        self.verbose = []
        self.plain = []
        for local_id in ids(reader, reader.varint()):
            reason = reader.u(3)
            if reason not in LEAVE_REASONS:
                raise reader.wrong(f"a leave with reason {reason}")
            self.leaves.append((local_id, reason))
        for local_id in ids(reader, reader.varint()):
            kind = schema.read_kind(reader)
            parent = read_link(reader)
            numbers = [reader.u(width) for width in schema.kinds[kind].widths]
            self.enters.append((local_id, kind, parent, numbers))
        for local_id in ids(reader, reader.varint()):
            kind = schema.read_kind(reader)
            relinked = reader.u(1) == 1
            parent = read_link(reader) if relinked else None
            changes = read_changes(reader, schema.kinds[kind])
            self.verbose.append((local_id, kind, relinked, parent, changes))
        count = reader.varint()
        k = reader.u(4) if count else 0
        for local_id in ids(reader, count, k):
            if local_id not in kind_of:
                raise reader.wrong(f"a plain update of {local_id}, whose enter is not acknowledged")
            self.plain.append((local_id, read_changes(reader, schema.kinds[kind_of[local_id]])))
        named = [item[0] for items in (self.leaves, self.enters, self.verbose, self.plain) for item in items]
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


def read_link(reader):
    reader.u(1)  # owned: not part of the digest
    return reader.varint() if reader.u(1) else None


def read_changes(reader, kind):
    changes = []
    for first, widths in kind.parts:
        if kind.component_count > 1 and not reader.u(1):
            continue
        mask = (1 << len(widths)) - 1
        if len(widths) > 1 and not reader.u(1):
            mask = reader.u(len(widths))
        for i, width in enumerate(widths):
            if mask >> i & 1:
                changes.append((first + i, reader.u(width)))
    return changes
