# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""damage.py FROM TO WHAT: damages one part of a recording. WHAT:

sent, received: flips the last bit of a packet in the middle, and corrects the file checksum
bit: like sent, but does not correct the file checksum
cut: keeps only the first half
magic: changes the first byte
length: changes the size of the second-last chunk
value: flips one bit in each of up to 40 packets to clients, and corrects all checksums. The bit is near the front in
the first packet and near the end in the last. Some of these changes can be detected only from the state of the ghosts.
"""

import os
import struct
import sys
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/conformance"))

from bits import sum_bytes  # noqa: E402

NAMES = {"received": 3, "sent": 5, "bit": 5}
HEAD = {"received": 12, "sent": 4, "bit": 4}
ACCEPT = 4
DATA = 6
VALUES = 40


def put_checksum(data):
    struct.pack_into("<I", data, len(data) - 4, zlib.crc32(data[:-9]))


def inject_wrong_values(data, chunks):
    sent = [(begin, size) for kind, begin, size in chunks if kind == NAMES["sent"]]
    connections = {bytes(data[begin:begin + 4]): int.from_bytes(data[begin + 17:begin + 25], "little")
                   for begin, _ in sent if data[begin + 4] == ACCEPT}
    large = [(begin, size) for begin, size in sent
             if data[begin + 4] == DATA and size > 100 and bytes(data[begin:begin + 4]) in connections]
    for i, (begin, size) in enumerate(large[len(large) // 2:][:VALUES]):
        end = begin + size
        data[begin + 11 + (size - 12) * i // VALUES] ^= 1
        checksum = sum_bytes(data[begin + 9:end], connections[bytes(data[begin:begin + 4])])
        struct.pack_into("<I", data, begin + 5, checksum & 0xFFFFFFFF)
    put_checksum(data)


def main(source, target, what):
    with open(source, "rb") as file:
        data = bytearray(file.read())
    chunks = []
    at = 6
    while at < len(data):
        kind, size = struct.unpack_from("<BI", data, at)
        chunks.append((kind, at + 5, size))
        at += 5 + size
    if what == "cut":
        del data[len(data) // 2:]
    elif what == "magic":
        data[0] ^= 1
    elif what == "value":
        inject_wrong_values(data, chunks)
    elif what == "length":
        struct.pack_into("<I", data, chunks[-2][1] - 4, 0x3FFFFF)
    else:
        packets = [(begin, size) for kind, begin, size in chunks
                   if kind == NAMES[what] and data[begin + HEAD[what]] == DATA]
        begin, size = packets[len(packets) // 2]
        data[begin + size - 1] ^= 0x80
        if what != "bit":
            put_checksum(data)
    with open(target, "wb") as file:
        file.write(data)


main(*sys.argv[1:])
