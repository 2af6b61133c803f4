# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""PROTOCOL.md, "Inputs": commands for groups, what the server says of them, and corrections."""

from bits import expand
from fields import LOCAL_ID_END

GROUPS_MAX = 8
PARTS_MAX = 64
VIEW_WHOLE = 63


def read_inputs(reader, schema, newest):
    """What may stand behind the calls of a client's packet. The number of the last frame, or `newest`."""
    if not reader.more() or not reader.u(1):
        return newest
    if schema is None or not schema.inputs:
        raise reader.wrong("inputs without a schema that has some")
    number = expand(reader.u(16), newest)
    frames = reader.u(5) + 1
    predicts = reader.u(1)
    if predicts:
        reader.u(8)
    groups = None
    for frame in range(frames):
        if frame == 0 or reader.u(6) == VIEW_WHOLE:
            reader.u(20)
        if reader.u(1):
            if groups is None:
                raise reader.wrong("the first frame is the same as none")
        else:
            groups = read_groups(reader, schema)
        if predicts:
            for _ in range(groups):
                reader.u(16)
    return max(number, newest)


def read_groups(reader, schema):
    groups = reader.varint()
    if groups > GROUPS_MAX:
        raise reader.wrong(f"{groups} groups in a command")
    parts = 0
    for _ in range(groups):
        read_id(reader)
        count = reader.varint()
        parts += count
        if parts > PARTS_MAX:
            raise reader.wrong(f"{parts} parts in a command")
        for _ in range(count):
            read_id(reader)
            index = reader.u(schema.input_bits)
            if index >= len(schema.inputs):
                raise reader.wrong(f"input {index} of {len(schema.inputs)}")
            for field in schema.inputs[index]:
                field.read_any(reader)
    return groups


def read_input_state(reader, newest):
    """What may stand behind the calls of a server's packet."""
    if not reader.more() or not reader.u(1):
        return
    consumed, waiting, starved = reader.u(16), reader.u(5), reader.u(1)
    if expand(consumed, newest) > newest:
        raise reader.wrong(f"command tick {consumed} was consumed and never given")
    if waiting and starved:
        raise reader.wrong(f"starved, and {waiting} commands wait")


def read_correction(reader, schema):
    """Behind the type of the message. The local ids of the members."""
    reader.u(16)
    members = []
    groups = reader.varint()
    if not 1 <= groups <= GROUPS_MAX:
        raise reader.wrong(f"a correction of {groups} groups")
    for _ in range(groups):
        if not reader.u(1):
            continue
        for _ in range(reader.varint()):
            members.append(read_id(reader))
            kind = schema.kinds[schema.read_kind(reader)]
            reader.u(1)
            if reader.u(1):
                for field in kind.predicted:
                    field.read(reader)
    return members


def read_id(reader):
    ghost = reader.varint()
    if ghost >= LOCAL_ID_END:
        raise reader.wrong(f"local id {ghost}")
    return ghost
