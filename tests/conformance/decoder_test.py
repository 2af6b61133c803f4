# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""What the decoder must refuse although its checksum is right: it is only as good as its reader."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/conformance"))
sys.dont_write_bytecode = True

from bits import BitReader, Mismatch, combine, expand, hash_bytes, mix  # noqa: E402
from ghosts import Ghosts  # noqa: E402
from link import Half, Header, Stream  # noqa: E402
from snapshot import Snapshot  # noqa: E402


def bits(text):
    """"101 1": the bits in the order in which they are written."""
    written = [int(c) for c in text if c != " "]
    number = sum(bit << i for i, bit in enumerate(written))
    return BitReader(number.to_bytes((len(written) + 7) // 8, "little"))


class Reading(unittest.TestCase):
    def refuses(self, what, call):
        with self.assertRaises(Mismatch) as caught:
            call()
        self.assertIn(what, caught.exception.what)

    def test_values_are_read_lowest_bit_first(self):
        reader = bits("1100 1 0000 0001")
        self.assertEqual((reader.u(4), reader.u(1), reader.u(4), reader.u(4)), (3, 1, 0, 8))

    def test_a_varint_has_one_form(self):
        self.assertEqual(bits("1110").varint(), 7)
        self.assertEqual(bits("0001 1000").varint(), 8)
        self.refuses("not the shortest", bits("1111 0000").varint)
        self.refuses("more than 64 bits", bits("1111 " * 21 + "0100").varint)

    def test_rice_is_ones_a_zero_and_low_bits(self):
        reader = bits("110 10 1 0000")
        self.assertEqual(reader.rice(2), 2 * 4 + 1)
        self.assertEqual(reader.at, 5)
        self.refuses("wanted", lambda: bits("11111111").rice(0))

    def test_padding_is_zero_and_nothing_is_left(self):
        reader = bits("101")
        reader.u(3)
        reader.finish()
        reader = bits("1010 1")
        reader.u(3)
        self.refuses("padding", reader.finish)
        reader = bits("1000 0000 0000 0000")
        reader.u(1)
        self.refuses("8 bits are left over", reader.finish)
        reader = BitReader(bytes(32) + b"\1")
        reader.u(1)
        self.refuses("padding", lambda: reader.finish(33))

    def test_low_bits_mean_the_nearest_number(self):
        self.assertEqual(expand(2, 65535), 65538)
        self.assertEqual(expand(65535, 65538), 65535)

    def test_hashes_are_those_of_the_paper(self):
        self.assertEqual(mix(0), 0xE220A8397B1DCDAF)
        self.assertEqual(hash_bytes(b"", 0), combine(0, 0))
        self.assertEqual(hash_bytes(b"\1", 5), combine(combine(5, 1), 1))

    def test_a_fate_is_neither_left_out_nor_told_twice_differently(self):
        half = Half()
        half.newest = 9
        header = Header(bits("1000" + "0" * 12 + "1" + "1100" + "0" * 12 + "0100" + "01"), 3)
        self.assertEqual((header.newest, header.oldest, header.accepted), (3, 1, {3: True, 2: False, 1: True}))
        self.assertEqual(half.learn(header), [1, 3])
        header.accepted[2] = True
        self.refuses("told otherwise", lambda: half.learn(header))
        header.accepted = {6: True}
        header.newest = header.oldest = 6
        self.refuses("packet 4 is left out", lambda: half.learn(header))

    def test_a_stream_says_the_same_again_and_comes_in_order(self):
        stream = Stream()
        stream.send(0, b"\2\0a")
        stream.send(3, b"b\1\0")
        stream.arrive(3, 3)
        self.assertEqual(list(stream.messages()), [])
        stream.arrive(0, 3)
        self.assertEqual(list(stream.messages()), [b"ab"])
        self.refuses("was another before", lambda: stream.send(2, b"x"))
        self.refuses("too far ahead", lambda: stream.send(32774, b"x"))

    def test_ghosts_refuse_what_no_server_may_say(self):
        ghosts = Ghosts()
        ghosts.apply(snapshot(enters=[(1, 0, None, [5]), (2, 0, 1, [6])]))
        both = ghosts.digest
        ghosts.apply(snapshot(leaves=[(7, 4)], verbose=[(9, 0, False, None, [(0, 1)])]))
        self.assertEqual(ghosts.digest, both)  # a leave and an update whose enters were lost
        self.refuses("held already", lambda: ghosts.apply(snapshot(enters=[(1, 0, None, [5])])))
        self.refuses("without its parent", lambda: ghosts.apply(snapshot(enters=[(3, 0, 4, [5])])))
        self.refuses("is of kind", lambda: ghosts.apply(snapshot(verbose=[(1, 1, False, None, [])])))
        ghosts.apply(snapshot(leaves=[(1, 4), (3, 4)]))
        self.assertIsNone(ghosts.held[2].parent)
        self.assertEqual(ghosts.digest, combine(combine(combine(mix(2), 0), 0), 6))


def snapshot(**sections):
    made = Snapshot.__new__(Snapshot)
    made.leaves, made.enters, made.verbose, made.plain = [], [], [], []
    for name, items in sections.items():
        setattr(made, name, items)
    return made


if __name__ == "__main__":
    unittest.main()
