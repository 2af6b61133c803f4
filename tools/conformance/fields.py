# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""PROTOCOL.md, "Fields": the encoding of a value, the words that it decodes to, and the words of zero."""

import math
import struct

BOOLEAN, INTEGER, REAL, QUANTIZED, RANGED, ROTATION, TEXT, REFERENCE = range(8)
CANONICAL_NAN = 0x7FC00000
EXPONENT_ALL = 0xFF
LONG_FORM_FROM = 7  # E - e of a ranged float from which the long form is used (PROTOCOL.md, "Fields")
NO_REFERENCE = (0, 0)
LOCAL_ID_END = 1 << 20
THIRD_SCALE = math.sqrt(2) * 511
IDENTITY_ROTATION = 3 | 511 << 2 | 511 << 12 | 511 << 22  # 0, 0, 0, 1


class Field:
    """`read` returns the words; a reference is read after the other fields, with `read_reference`."""

    name = "field"
    extrapolated = False

    def __init__(self, zero, words=1):
        self.zero = zero
        self.words = words

    def read_any(self, reader):
        """Reads an argument of a client's call. A value out of range is clamped."""
        return self.read(reader)


class Number(Field):
    """Integer and quantized: a number from 0 to a maximum."""

    name = "number"
    may_be_larger = False  # set for a server with injected faults

    def __init__(self, largest, zero):
        super().__init__((zero,))
        self.largest = largest
        self.width = max(1, largest.bit_length())

    def read(self, reader):
        number = reader.u(self.width)
        if number > self.largest and not Number.may_be_larger:
            raise reader.wrong(f"number {number} exceeds the maximum {self.largest}")
        return (number,)

    def read_any(self, reader):
        return (min(reader.u(self.width), self.largest),)


class Boolean(Number):
    name = "boolean"

    def __init__(self):
        super().__init__(1, 0)


class Real(Field):
    name = "real"

    def __init__(self):
        super().__init__((0,))

    def read(self, reader):
        return (checked_float(reader, reader.u(32)),)

    def read_any(self, reader):
        word = reader.u(32)
        return (CANONICAL_NAN if is_nan(word) else word,)


class Ranged(Field):
    name = "ranged"

    def __init__(self, low, high):
        super().__init__((0,))
        self.signed = low < 0
        largest = struct.unpack("<I", struct.pack("<f", max(abs(low), abs(high))))[0]
        self.exponent = largest >> 23

    def read(self, reader):
        below = 0
        while below < LONG_FORM_FROM and reader.u(1):
            below += 1
        if below < LONG_FORM_FROM:
            negative = reader.u(1) if self.signed else 0
            exponent = self.exponent - below
            if exponent < 0:
                raise reader.wrong(f"a ranged float with the exponent {exponent}")
        else:
            negative, exponent = reader.u(1), reader.u(8)
            if 0 <= self.exponent - exponent < LONG_FORM_FROM and (self.signed or not negative):
                raise reader.wrong("a ranged float in long form instead of its short form")
        return (checked_float(reader, negative << 31 | exponent << 23 | reader.u(23)),)


class Rotation(Field):
    name = "rotation"

    def __init__(self):
        super().__init__((IDENTITY_ROTATION,))

    def read(self, reader):
        word = reader.u(32)
        least = []  # lower bounds of the magnitudes before rounding
        for i in range(3):
            number = word >> (2 + 10 * i) & 1023
            if number > 1022:
                raise reader.wrong("a rotation component above 1022")
            least.append(max(0.0, abs(number - 511) - 0.5) / THIRD_SCALE)
        rest = 1 - sum(part * part for part in least)
        if rest < 0 or max(least) > math.sqrt(rest) + 1e-5:
            raise reader.wrong("a rotation that does not leave out its largest component")
        return (word,)


class Text(Field):
    name = "text"

    def __init__(self, size):
        words = (size + 3) // 4
        super().__init__((0,) * words, words)
        self.size = size

    def read(self, reader):
        size = reader.u(5)
        if size > self.size:
            raise reader.wrong(f"a text of {size} bytes exceeds the maximum {self.size}")
        number = 0
        for i in range(size):
            byte = reader.u(8)
            if byte == 0:
                raise reader.wrong("a text that contains a zero byte")
            number |= byte << 8 * i
        return tuple(number >> 32 * i & 0xFFFFFFFF for i in range(self.words))


class Reference(Field):
    name = "reference"

    def __init__(self):
        super().__init__(NO_REFERENCE, 2)


def read_reference(reader):
    if not reader.u(1):
        return NO_REFERENCE
    local_id = reader.varint()
    if local_id >= LOCAL_ID_END:
        raise reader.wrong(f"a reference to local id {local_id}")
    return (local_id + 1, 0)


def checked_float(reader, word):
    if is_nan(word) and word != CANONICAL_NAN:
        raise reader.wrong(f"non-canonical NaN {word:08x}")
    return word


def is_nan(word):
    return word >> 23 & EXPONENT_ALL == EXPONENT_ALL and word & 0x7FFFFF != 0


def integer(low, high):
    largest = int(high - low)
    return Number(largest, min(max(int(-low), 0), largest))


def quantized(low, high, step):
    steps = math.floor((high - low) / step + 0.5)
    return Number(steps, min(max(math.floor((0 - low) / step + 0.5), 0), steps))
