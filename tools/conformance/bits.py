# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""PROTOCOL.md, "Bits and bytes" and "Every datagram": values, hashes and checksums."""

PROTOCOL_VERSION = 1
MASK64 = (1 << 64) - 1
VARINT_BITS_MAX = 64


class Mismatch(Exception):
    """Bytes that violate the protocol; `bit` counts from the start of the datagram or message."""

    def __init__(self, what, bit=None):
        super().__init__(what)
        self.what = what
        self.bit = bit


class BitReader:
    """Reads values with the least significant bit first; the data is one little-endian number."""

    def __init__(self, data):
        self.number = int.from_bytes(data, "little")
        self.end = len(data) * 8
        self.at = 0

    def wrong(self, what):
        return Mismatch(what, self.at)

    def u(self, bits):
        at = self.at
        if at + bits > self.end:
            raise self.wrong(f"{bits} bits expected, {self.end - at} left")
        self.at = at + bits
        return (self.number >> at) & ((1 << bits) - 1)

    def more(self):
        return self.at < self.end

    def varint(self):
        value = shift = 0
        while True:
            group = self.u(4)
            value |= (group & 7) << shift
            shift += 3
            if group < 8:
                break
        if group == 0 and shift > 3:
            raise self.wrong("a varint that is not in its shortest form")
        if value >> VARINT_BITS_MAX:
            raise self.wrong(f"a varint of more than {VARINT_BITS_MAX} bits")
        return value

    def rice(self, k):
        # The unary part: a run of ones, found by the lowest zero bit of the rest.
        rest = self.number >> self.at
        ones = (~rest & (rest + 1)).bit_length() - 1
        self.at += ones
        self.u(1)
        return (ones << k) | self.u(k)

    def difference(self, k):
        quotient = 0
        while quotient < 2 and self.u(1):
            quotient += 1
        if quotient == 2:
            width = 0
            while self.u(1):
                width += 1
            quotient = (1 << width | self.u(width)) + 1
        folded = quotient << k | self.u(k)
        return folded >> 1 if folded % 2 == 0 else -(folded >> 1) - 1

    def align(self):
        if self.u(-self.at % 8):
            raise self.wrong("padding that is not zero")

    def take(self, size):
        self.align()
        return self.u(size * 8).to_bytes(size, "little")

    def finish(self, size_bytes=0):
        """Expects zeros up to the byte boundary and up to this total size, and then the end."""
        self.align()
        if self.u(max(0, size_bytes * 8 - self.at)):
            raise self.wrong("padding that is not zero")
        if self.at != self.end:
            raise self.wrong(f"{self.end - self.at} bits are left over")


def mix(z):
    z = (z + 0x9E3779B97F4A7C15) & MASK64
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK64
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK64
    return z ^ z >> 31


def combine(h, v):
    return mix(h ^ mix(v))


def hash_bytes(data, seed):
    h = combine(seed, len(data))
    for at in range(0, len(data), 8):
        h = combine(h, int.from_bytes(data[at:at + 8], "little"))
    return h


def sum_bytes(data, seed):
    chains = [mix((seed + i) & MASK64) for i in range(4)]
    for at in range(0, len(data), 8):
        i = at // 8 % 4
        c = chains[i] + int.from_bytes(data[at:at + 8], "little") * 0x9E3779B97F4A7C15 & MASK64
        chains[i] = (c << 31 | c >> 33) * 0xBF58476D1CE4E5B9 & MASK64
    h = len(data)
    for c in chains:
        h = mix(h ^ c)
    return h


def checksum_holds(datagram, connection=None):
    """Verifies the checksum. For a data packet, `connection` is required."""
    rest = datagram[5:]
    h = hash_bytes(rest, 0) if connection is None else sum_bytes(rest, connection)
    return h & 0xFFFFFFFF == int.from_bytes(datagram[1:5], "little")


def data_seed(connection, number):
    """The seed of a data packet's checksum contains the bits of its number that are not transmitted."""
    return (connection + (number >> 16) * 0x9E3779B97F4A7C15) & MASK64


def expand(low, near):
    """Returns the number closest to `near` with these 16 low bits."""
    return near + ((low - near + 0x8000) & 0xFFFF) - 0x8000
