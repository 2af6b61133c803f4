# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""docs/recording.md: the recorded input and output of a server, event by event."""

import struct
import zlib

from bits import PROTOCOL_VERSION

MAGIC = b"PVRC"
VERSION = 1
(BEGIN, ADDRESS, RECEIVED, TICK, SENT, DRAINED, STATE, ADDRESS_CLOSED, SHUT_DOWN, PROBE, NOTE,
 END) = range(1, 13)
FIXED_SIZES = {ADDRESS: 23, TICK: 8, DRAINED: 0, STATE: 12, ADDRESS_CLOSED: 4, SHUT_DOWN: 0, PROBE: 0, END: 4}
LEAST_SIZES = {RECEIVED: 12, SENT: 4}
ADDRESS_AT = {RECEIVED: 8, SENT: 0, ADDRESS_CLOSED: 0}  # offset of the address number in a chunk
CHUNK_BYTES_MAX = 1 << 22
BEGIN_FIXED = struct.Struct("<HQHI32s")


class BadRecording(Exception):
    pass


class Begin:
    def __init__(self, body):
        try:
            (self.protocol, self.schema_hash, self.tick_hz, self.state_every,
             _) = BEGIN_FIXED.unpack_from(body)
            at = BEGIN_FIXED.size
            program_end = at + 1 + body[at]
            self.program = body[at + 1:program_end]
            name_end = program_end + 1 + body[program_end]
            self.world_name = body[program_end + 1:name_end]
            if self.protocol != PROTOCOL_VERSION:
                raise BadRecording(f"it has protocol version {self.protocol}; this decoder reads {PROTOCOL_VERSION}")
            if name_end > len(body):
                raise IndexError
        except (struct.error, IndexError):
            raise BadRecording("its beginning is truncated") from None


def events(data):
    """Yields (type, body) of every chunk; raises at the first malformed one."""
    if data[:4] != MAGIC:
        raise BadRecording("not a recording")
    if int.from_bytes(data[4:6], "little") != VERSION:
        raise BadRecording(f"it has format version {int.from_bytes(data[4:6], 'little')}; this decoder reads {VERSION}")
    at = 6
    ended = False
    addresses = 0
    while at < len(data):
        if ended:
            raise BadRecording("data after the end")
        if at + 5 > len(data):
            raise BadRecording("truncated")
        kind, size = struct.unpack_from("<BI", data, at)
        if size > CHUNK_BYTES_MAX:
            raise BadRecording(f"a chunk of {size} bytes at byte {at}")
        if at + 5 + size > len(data):
            raise BadRecording("truncated")
        if (at == 6) != (kind == BEGIN) or not BEGIN <= kind <= END:
            raise BadRecording(f"a chunk of type {kind} at byte {at}")
        if FIXED_SIZES.get(kind, size) != size or LEAST_SIZES.get(kind, 0) > size:
            raise BadRecording(f"a chunk of {size} bytes, type {kind}, at byte {at}")
        body = data[at + 5:at + 5 + size]
        addresses += kind == ADDRESS
        if kind in ADDRESS_AT:
            number = struct.unpack_from("<I", body, ADDRESS_AT[kind])[0]
            if number >= addresses:
                raise BadRecording(f"address {number} of {addresses} at byte {at}")
        if kind == END:
            ended = True
            if int.from_bytes(body, "little") != zlib.crc32(data[:at]):
                raise BadRecording("its checksum is wrong")
        yield kind, body
        at += 5 + size
    if not ended:
        raise BadRecording("truncated")
