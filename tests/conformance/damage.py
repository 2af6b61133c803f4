# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""damage.py FROM TO WHAT: spoils one thing of a recording. WHAT: sent, received (the last bit of a packet in
the middle), cut (half of it), magic, length (of the last chunk but one)."""

import struct
import sys

NAMES = {"received": 3, "sent": 5}
HEAD = {"received": 12, "sent": 4}
DATA = 6


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
    elif what == "length":
        struct.pack_into("<I", data, chunks[-2][1] - 4, 0x3FFFFF)
    else:
        packets = [(begin, size) for kind, begin, size in chunks
                   if kind == NAMES[what] and data[begin + HEAD[what]] == DATA]
        begin, size = packets[len(packets) // 2]
        data[begin + size - 1] ^= 0x80
    with open(target, "wb") as file:
        file.write(data)


main(*sys.argv[1:])
