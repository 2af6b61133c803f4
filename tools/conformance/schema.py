# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""PROTOCOL.md, "Schema": the components and fields of every kind, and the types of calls."""

import math
import struct

import fields as types
from bits import combine, hash_bytes
from calls import CallType

RELATIVE_POSITION = 0x10000
ORIENTATION = 0x10001
TELEPORT = 0x10002
NO_POSITION = 0xFFFF
COMPONENTS_MAX = 32
KINDS_MAX = 256
FIELDS_MAX = 16  # per component
KIND_FIELDS_MAX = 64
RPCS_MAX = 128
EXTRAPOLATED_BITS_MAX = 24
INPUTS_MAX = 32
WORDS_MAX = 80  # per component, input or call
INPUTS_OF_KIND_MAX = 4


class Component:
    def __init__(self, for_some, keeps_values):
        self.for_some = for_some
        self.keeps_values = keeps_values
        self.is_predicted = False
        self.fields = []


class Part:
    """A component of a kind that has fields. `first`: index of its first field in the kind."""

    def __init__(self, component, first):
        self.first = first
        self.count = len(component.fields)
        self.for_some = component.for_some
        self.keeps_values = component.keeps_values

    def fields(self):
        return range(self.first, self.first + self.count)


class Kind:
    def __init__(self, name, components):
        self.name = name
        self.components = components
        self.has_relative_position = False
        self.parts = []
        self.fields = []
        for component in components:
            if component.fields:
                self.parts.append(Part(component, len(self.fields)))
                self.fields += component.fields
        self.references = [i for i, field in enumerate(self.fields) if field.name == "reference"]
        self.extrapolated = [i for i, field in enumerate(self.fields) if field.extrapolated]
        self.zeros = [field.zero for field in self.fields]
        self.for_some = [i for i, part in enumerate(self.parts) if part.for_some]
        self.all_allowed = sum(1 << i for i in self.for_some)
        self.always_changed = len(self.parts) == 1 and not self.for_some

    def is_allowed(self, part, replicated):
        return not self.parts[part].for_some or bool(replicated >> part & 1)


class Schema:
    def __init__(self, reader):
        place = reader.u(5) if reader.u(1) else None
        self.hash = 0
        components = []
        count = reader.u(6)
        if count > COMPONENTS_MAX:
            raise reader.wrong(f"{count} components")
        self.mix_in(count)
        names = set()
        for index in range(count):
            components.append(self.read_component(reader, names, index == place))
        if place is not None and place >= count:
            raise reader.wrong("the position component does not exist")
        self.mix_in(NO_POSITION if place is None else place)
        self.placed = [] if place is None else [components[place]]
        self.kinds = []
        is_relative = False
        kinds = reader.u(9)
        if kinds > KINDS_MAX:
            raise reader.wrong(f"{kinds} kinds")
        names = set()
        for _ in range(kinds):
            name = read_name(reader, names)
            self.mix_in(hash_bytes(name, 0))
            bits = reader.u(count)
            has = [i for i in range(count) if bits >> i & 1]
            for i in has:
                self.mix_in(i)
            has_relative_position = reader.u(1) == 1
            if has_relative_position:
                self.mix_in(RELATIVE_POSITION)
                is_relative = True
            if reader.u(1):
                self.read_teleport(reader)
            if reader.u(1):
                self.read_orientation(reader, components, has)
            self.kinds.append(Kind(name, [components[i] for i in has]))
            self.kinds[-1].has_relative_position = has_relative_position
            if len(self.kinds[-1].fields) > KIND_FIELDS_MAX:
                raise reader.wrong(f"a kind of {len(self.kinds[-1].fields)} fields")
        if not self.kinds:
            raise reader.wrong("a schema without kinds")
        self.extrapolates = any(kind.extrapolated for kind in self.kinds)
        self.kind_bits = (len(self.kinds) - 1).bit_length()
        count = reader.u(8)
        if count > RPCS_MAX:
            raise reader.wrong(f"{count} types of calls")
        names = set()
        self.rpcs = [self.read_call_type(reader, names) for _ in range(count)]
        self.rpc_bits = max(0, count - 1).bit_length()
        self.read_inputs(reader, components)
        for component in self.placed:
            is_predicted = component.keeps_values and component.is_predicted
            if component.for_some and (is_relative or not is_predicted):
                raise reader.wrong("a position or orientation with a restricted audience")
        self.hash = self.hash or 1

    def mix_in(self, value):
        self.hash = combine(self.hash, value)

    def read_kind(self, reader):
        kind = reader.u(self.kind_bits)
        if kind >= len(self.kinds):
            raise reader.wrong(f"kind {kind} of {len(self.kinds)}")
        return kind

    def read_component(self, reader, names, is_position):
        self.mix_in(hash_bytes(read_name(reader, names), 0))
        for_some = reader.u(1) == 1
        component = Component(for_some, for_some and reader.u(1) == 1)
        component.fields = self.read_fields(reader, is_position)
        if len(component.fields) > FIELDS_MAX:
            raise reader.wrong(f"a component of {len(component.fields)} fields")
        if for_some and any(field.extrapolated for field in component.fields):
            raise reader.wrong("a dead-reckoned component with a restricted audience")
        if for_some:
            self.mix_in(2 if component.keeps_values else 1)
        return component

    def read_teleport(self, reader):
        bits = reader.u(32)
        meters = struct.unpack("<f", struct.pack("<I", bits))[0]
        if not 0 < meters < math.inf:
            raise reader.wrong("an invalid teleport distance")
        self.mix_in(TELEPORT)
        self.mix_in(bits)

    def read_orientation(self, reader, components, has):
        index, field, axis = reader.u(5), reader.u(4), reader.u(2)
        full_turn = reader.u(64)
        if index not in has or field >= len(components[index].fields):
            raise reader.wrong("the orientation is not a field of the kind")
        self.placed.append(components[index])
        if components[index].fields[field].name in ("boolean", "text", "reference"):
            raise reader.wrong("an orientation that is neither a number nor a rotation")
        value = struct.unpack("<d", struct.pack("<Q", full_turn))[0]
        if axis > 2 or value == 0 or not math.isfinite(value):
            raise reader.wrong("an orientation without an axis or a full turn")
        for part in (ORIENTATION, index, field, axis, full_turn):
            self.mix_in(part)

    def read_call_type(self, reader, names):
        made = CallType(read_name(reader, names), reader)
        for attribute in made.attributes():
            self.mix_in(attribute)
        self.mix_in(hash_bytes(made.name, 0))
        made.fields = self.read_fields(reader, False)
        if any(field.name == "reference" for field in made.fields):
            raise reader.wrong("a reference among the arguments of a call")
        if any(field.extrapolated for field in made.fields):
            raise reader.wrong("a dead-reckoned argument of a call")
        return made

    def read_inputs(self, reader, components):
        count = reader.u(6)
        if count > INPUTS_MAX:
            raise reader.wrong(f"{count} inputs")
        self.inputs = []
        self.input_bits = max(0, count - 1).bit_length()
        names = set()
        for _ in range(count):
            self.mix_in(hash_bytes(read_name(reader, names), 0))
            self.inputs.append(self.read_fields(reader, False))
            if any(field.name == "reference" for field in self.inputs[-1]):
                raise reader.wrong("a reference in an input")
        if count == 0:
            return
        for kind in self.kinds:
            taken = reader.u(3)
            if taken > INPUTS_OF_KIND_MAX:
                raise reader.wrong(f"a kind that takes {taken} inputs")
            kind.inputs = [reader.u(5) for _ in range(taken)]
            if any(index >= count for index in kind.inputs) or len(set(kind.inputs)) < taken:
                raise reader.wrong(f"inputs {kind.inputs} of {count}")
            kind.is_inner_root = reader.u(1)
            kind.starts_in_input = reader.u(1)
            self.mix_in(taken)
            for index in kind.inputs:
                self.mix_in(index)
            self.mix_in(kind.is_inner_root)
            self.mix_in(kind.starts_in_input)
        for component in components:
            component.is_predicted = reader.u(1) == 1
            self.mix_in(1 if component.is_predicted else 0)
        for kind in self.kinds:
            kind.predicted = [field for component in kind.components if component.is_predicted
                              for field in component.fields]

    def read_fields(self, reader, is_position):
        count = reader.u(5)
        self.mix_in(count)
        names = set()
        fields = [self.read_field(reader, names, is_position) for _ in range(count)]
        words = sum(field.words for field in fields)
        if words > WORDS_MAX:
            raise reader.wrong(f"fields of {words} words")
        return fields

    def read_field(self, reader, names, is_position):
        self.mix_in(hash_bytes(read_name(reader, names), 0))
        kind = reader.u(3)
        self.mix_in(kind)
        if is_position:
            reader.u(2)  # axis
        if kind == types.BOOLEAN:
            return types.Boolean()
        if kind == types.REAL:
            return types.Real()
        if kind == types.ROTATION:
            return types.Rotation()
        if kind == types.REFERENCE:
            return types.Reference()
        if kind == types.TEXT:
            size = reader.u(5)
            self.mix_in(size)
            if size == 0:
                raise reader.wrong("a text without bytes")
            return types.Text(size)
        low, high = self.read_double(reader), self.read_double(reader)
        if high < low:
            raise reader.wrong("a maximum below its minimum")
        if kind == types.RANGED:
            return types.Ranged(low, high)
        if kind == types.INTEGER:
            field = types.integer(low, high)
        else:
            step = self.read_double(reader)
            if step <= 0:
                raise reader.wrong("a step that is not positive")
            field = types.quantized(low, high, step)
        field.extrapolated = reader.u(1) == 1
        if field.extrapolated:
            self.mix_in(1)
            if field.width > EXTRAPOLATED_BITS_MAX:
                raise reader.wrong(f"a dead-reckoned field of {field.width} bits")
        return field

    def read_double(self, reader):
        bits = reader.u(64)
        self.mix_in(bits)
        value = struct.unpack("<d", bits.to_bytes(8, "little"))[0]
        if not math.isfinite(value):
            raise reader.wrong("a bound that is not finite")
        return value


def read_name(reader, others):
    """Reads a name that must differ from all others, and adds it to them."""
    size = reader.u(8)
    if not 1 <= size <= 63:
        raise reader.wrong(f"a name of {size} bytes")
    name = bytes(reader.u(8) for _ in range(size))
    if name in others:
        raise reader.wrong(f"the name {name} occurs twice")
    others.add(name)
    return name
