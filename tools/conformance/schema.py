# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""PROTOCOL.md, "Schema" and "Fields": how wide every field of every kind is."""

import math
import struct

from bits import combine, hash_bytes

BOOLEAN, INTEGER, REAL, QUANTISED = range(4)
NO_PLACE = 0xFFFF


class Kind:
    """`parts`: (first field, widths) of each component that has fields."""

    def __init__(self, name, components, schema_components):
        self.name = name
        self.component_count = len(components)
        self.parts = []
        self.widths = []
        for component in components:
            widths = schema_components[component]
            if widths:
                self.parts.append((len(self.widths), widths))
                self.widths += widths


class Schema:
    def __init__(self, reader):
        place = reader.u(5) if reader.u(1) else None
        self.hash = 0
        components = []
        count = reader.u(6)
        self.mix_in(count)
        for index in range(count):
            self.mix_in(hash_bytes(read_name(reader), 0))
            fields = reader.u(5)
            self.mix_in(fields)
            components.append([self.read_field(reader, index == place) for _ in range(fields)])
        if place is not None and place >= count:
            raise reader.wrong("the place component does not exist")
        self.mix_in(NO_PLACE if place is None else place)
        self.kinds = []
        for _ in range(reader.u(9)):
            name = read_name(reader)
            self.mix_in(hash_bytes(name, 0))
            bits = reader.u(count)
            has = [i for i in range(count) if bits >> i & 1]
            for i in has:
                self.mix_in(i)
            self.kinds.append(Kind(name, has, components))
        if not self.kinds:
            raise reader.wrong("a schema without kinds")
        self.kind_bits = (len(self.kinds) - 1).bit_length()
        self.hash = self.hash or 1

    def mix_in(self, value):
        self.hash = combine(self.hash, value)

    def read_kind(self, reader):
        kind = reader.u(self.kind_bits)
        if kind >= len(self.kinds):
            raise reader.wrong(f"kind {kind} of {len(self.kinds)}")
        return kind

    def read_field(self, reader, of_place):
        """The field's width in bits."""
        self.mix_in(hash_bytes(read_name(reader), 0))
        kind = reader.u(2)
        self.mix_in(kind)
        if of_place:
            reader.u(2)  # axis
        if kind == BOOLEAN:
            return 1
        if kind == REAL:
            return 32
        low, high = self.read_double(reader), self.read_double(reader)
        if high < low:
            raise reader.wrong("a maximum below its minimum")
        if kind == INTEGER:
            return max(1, int(high - low).bit_length())
        step = self.read_double(reader)
        if step <= 0:
            raise reader.wrong("a step that is not above zero")
        return math.floor((high - low) / step + 0.5).bit_length()

    def read_double(self, reader):
        bits = reader.u(64)
        self.mix_in(bits)
        value = struct.unpack("<d", bits.to_bytes(8, "little"))[0]
        if not math.isfinite(value):
            raise reader.wrong("a bound that is not finite")
        return value


def read_name(reader):
    size = reader.u(8)
    if not 1 <= size <= 63:
        raise reader.wrong(f"a name of {size} bytes")
    return bytes(reader.u(8) for _ in range(size))
