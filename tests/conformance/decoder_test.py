# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""Data with a correct checksum that the decoder must refuse."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/conformance"))
sys.dont_write_bytecode = True

from bits import (BitReader, Mismatch, PROTOCOL_VERSION, checksum_holds, combine, data_seed, expand,  # noqa: E402
                  hash_bytes, mix, sum_bytes)
from decode import seed_of  # noqa: E402
import fields  # noqa: E402
import motion  # noqa: E402
from ghosts import Ghosts  # noqa: E402
from handshake import CLOSE, REFUSE, Handshakes, read_reason_text  # noqa: E402
from groups import Groups, order_of_input  # noqa: E402
from inputs import InputPacket, Inputs, read_correction, read_inputs  # noqa: E402
from link import Half, Header, Stream  # noqa: E402
import recording  # noqa: E402
from schema import Component, Kind, Schema  # noqa: E402
from session import JOINED, Session  # noqa: E402
from snapshot import (Enter, Leave, Link, Plain, Shared, Snapshot, Verbose, read_changes,  # noqa: E402
                      read_differences, read_leave, read_link, read_member_map)
from written import Written  # noqa: E402


def bits(text):
    """Returns a reader of a text such as "101 1": the bits in the order in which they are written."""
    written = [int(c) for c in text if c != " "]
    number = sum(bit << i for i, bit in enumerate(written))
    return BitReader(number.to_bytes((len(written) + 7) // 8, "little"))


class DecoderTest(unittest.TestCase):
    def refuses(self, what, call):
        with self.assertRaises(Mismatch) as caught:
            call()
        self.assertIn(what, caught.exception.what)

    def test_values_are_read_lowest_bit_first(self):
        reader = bits("1100 1 0000 0001")
        self.assertEqual((reader.u(4), reader.u(1), reader.u(4), reader.u(4)), (3, 1, 0, 8))

    def test_a_varint_has_one_encoding(self):
        self.assertEqual(bits("1110").varint(), 7)
        self.assertEqual(bits("0001 1000").varint(), 8)
        self.refuses("not in its shortest form", bits("1111 0000").varint)
        self.refuses("more than 64 bits", bits("1111 " * 21 + "0100").varint)

    def test_a_data_checksum_depends_on_the_full_packet_number(self):
        self.assertEqual(data_seed(0x1234, 65_535), 0x1234)
        self.assertEqual(data_seed(0x1234, 70_000), 0x9E3779B97F4A8E49)
        self.assertEqual(data_seed(0x1234, 140_000), 0x3C6EF372FE950A5E)
        rest = (70_000).to_bytes(4, "little")[:2] + b"and what follows"
        datagram = b"\x06" + (sum_bytes(rest, data_seed(7, 70_000)) & 0xFFFFFFFF).to_bytes(4, "little") + rest
        for near, holds in ((70_000, True), (60_000, True), (102_000, True), (4_464, False), (136_000, False)):
            self.assertEqual(checksum_holds(datagram, seed_of(7, datagram[5:7], near)), holds, near)

    def test_a_rice_code_is_ones_a_zero_and_low_bits(self):
        reader = bits("110 10 1 0000")
        self.assertEqual(reader.rice(2), 2 * 4 + 1)
        self.assertEqual(reader.at, 5)
        self.refuses("expected", lambda: bits("11111111").rice(0))

    def test_padding_is_zero_and_no_data_is_left(self):
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

    def test_low_bits_expand_to_the_nearest_number(self):
        self.assertEqual(expand(2, 65535), 65538)
        self.assertEqual(expand(65535, 65538), 65535)

    def test_hashes_equal_the_protocol_document(self):
        self.assertEqual(mix(0), 0xE220A8397B1DCDAF)
        self.assertEqual(hash_bytes(b"", 0), combine(0, 0))
        self.assertEqual(hash_bytes(b"\1", 5), combine(combine(5, 1), 1))

    def test_a_delivery_status_is_never_omitted_or_contradicted(self):
        half = Half()
        half.newest = 9
        header = Header(bits("1000" + "0" * 12 + "1" + "1100" + "0" * 12 + "0100" + "01"), 3)
        self.assertEqual((header.newest, header.oldest, header.accepted), (3, 1, {3: True, 2: False, 1: True}))
        self.assertEqual(half.learn(header), [1, 3])
        header.accepted[2] = True
        self.refuses("contradicts an earlier one", lambda: half.learn(header))
        header.accepted = {6: True}
        header.newest = header.oldest = 6
        self.refuses("packet 4 is missing", lambda: half.learn(header))

    def test_a_stream_repeats_the_same_bytes_and_delivers_in_order(self):
        stream = Stream()
        stream.send(0, b"\2\0a")
        stream.send(3, b"b\1\0")
        stream.arrive(3, 3)
        self.assertEqual(list(stream.messages()), [])
        stream.arrive(0, 3)
        self.assertEqual(list(stream.messages()), [b"ab"])
        self.refuses("differs from an earlier transmission", lambda: stream.send(2, b"x"))
        self.refuses("exceeds its window", lambda: stream.send(32774, b"x"))

    def test_a_ranged_float_has_one_encoding(self):
        field = fields.Ranged(-1000, 1000)  # exponent 136
        mantissa = "1" + "0" * 22
        word = 136 << 23 | 1
        self.assertEqual(field.read(bits("0" + "0" + mantissa)), (word,))
        self.assertEqual(field.read(bits("0" + "1" + mantissa)), (1 << 31 | word,))
        self.assertEqual(field.read(bits("110" + "0" + mantissa)), (134 << 23 | 1,))
        long_form = "1111111" + "0" + "{:08b}".format(129)[::-1] + mantissa
        self.assertEqual(field.read(bits(long_form)), (129 << 23 | 1,))
        for exponent in (136, 130):
            due = "1111111" + "0" + "{:08b}".format(exponent)[::-1] + mantissa
            self.refuses("instead of its short form", lambda: field.read(bits(due)))
        positive = fields.Ranged(0, 1000)
        self.assertEqual(positive.read(bits("0" + mantissa)), (word,))
        negative = "1111111" + "1" + "{:08b}".format(136)[::-1] + mantissa
        self.assertEqual(positive.read(bits(negative)), (1 << 31 | word,))
        self.refuses("instead of its short form", lambda: field.read(bits(negative)))
        self.refuses("exponent -1", lambda: fields.Ranged(0, 0).read(bits("10" + mantissa)))
        self.refuses("non-canonical NaN", lambda: field.read(bits("1111111" + "0" + "1" * 8 + mantissa)))

    def test_only_one_nan_is_valid(self):
        self.assertEqual(fields.Real().read(BitReader(b"\0\0\xc0\x7f")), (0x7FC00000,))
        self.assertEqual(fields.Real().read(BitReader(b"\0\0\x80\xff")), (0xFF800000,))
        for nan in (b"\1\0\xc0\x7f", b"\0\0\xc0\xff", b"\1\0\x80\x7f"):
            self.refuses("non-canonical NaN", lambda nan=nan: fields.Real().read(BitReader(nan)))

    def test_a_text_has_no_zero_byte_and_fits_its_size(self):
        text = fields.Text(6)
        self.assertEqual(text.zero, (0, 0))
        self.assertEqual(text.read(bits("10100" + 5 * "10000110")), (0x61616161, 0x61))
        self.assertEqual(text.read(bits("00000")), (0, 0))
        self.refuses("a zero byte", lambda: text.read(bits("01000" + "10000110" + "00000000")))
        self.refuses("exceeds the maximum 6", lambda: text.read(bits("11100" + 7 * "10000110")))

    def test_a_number_stays_in_its_range(self):
        self.assertEqual(fields.integer(-3, 2).read(bits("101")), (5,))
        self.assertEqual(fields.integer(-3, 2).zero, (3,))
        self.refuses("exceeds the maximum 5", lambda: fields.integer(-3, 2).read(bits("011")))
        self.assertEqual(fields.integer(7, 7).width, 1)
        self.assertEqual(fields.quantized(-1, 1, 0.5).zero, (2,))
        self.refuses("exceeds the maximum 4", lambda: fields.quantized(-1, 1, 0.5).read(bits("101")))

    def test_a_rotation_omits_its_largest_component(self):
        def word(largest, *parts):
            number = largest | parts[0] << 2 | parts[1] << 12 | parts[2] << 22
            return BitReader(number.to_bytes(4, "little"))

        turn = fields.Rotation()
        self.assertEqual(turn.read(word(3, 511, 511, 511)), turn.zero)
        turn.read(word(0, 1022, 511, 511))  # two parts are the largest
        turn.read(word(0, 872, 872, 150))  # all four are the largest
        self.refuses("above 1022", lambda: turn.read(word(0, 1023, 511, 511)))
        self.refuses("does not leave out its largest component", lambda: turn.read(word(0, 1022, 600, 511)))
        self.refuses("does not leave out its largest component", lambda: turn.read(word(0, 1022, 1022, 1022)))

    def test_a_close_has_a_reason_and_a_text_of_limited_size(self):
        def close(reason, size, text):
            return bytes([CLOSE]) + bytes(4) + (9).to_bytes(8, "little") + bytes([reason, size]) + text
        for text in (b"", b"full", "voll, schön voll".encode(), bytes(120)):
            whole = close(4, len(text), text)
            self.assertEqual(Handshakes().sent(whole, 1, ()), (CLOSE, 9, None))
            self.assertEqual(read_reason_text(BitReader(whole[14:])), text)
        for what, size, text in (("too many bytes", 121, bytes(121)), ("expected", 5, b"full"), ("left over", 3, b"full")):
            self.refuses(what, lambda its=(size, text): Handshakes().sent(close(4, *its), 1, ()))
        self.refuses("unknown reason", lambda: Handshakes().sent(close(0, 0, b""), 1, ()))

    def test_a_refuse_has_a_valid_reason(self):
        def refuse(reason):
            return bytes([REFUSE]) + bytes(4 + 8) + bytes([reason]) + PROTOCOL_VERSION.to_bytes(2, "little")
        for reason in (1, 2, 3, 4, 5, 7, 8):
            self.assertIsNone(Handshakes().sent(refuse(reason), 1, ()))
        for reason in (0, 6, 9):  # a refused join is sent as a message
            self.refuses("unknown reason", lambda its=reason: Handshakes().sent(refuse(its), 1, ()))

    def test_a_client_joins_once(self):
        session = Session(1, 2, 3, None)
        session.message_down(bytes([JOINED]))
        self.refuses("a second joined", lambda: session.message_down(bytes([JOINED])))

    def test_a_ghost_is_retained_in_a_known_form(self):
        self.assertEqual(read_leave(bits("0010" + "0"), 3), Leave(3, 4, 0))
        self.assertEqual(read_leave(bits("0011" + "01"), 3), Leave(3, 4, 2))
        self.refuses("retention mode 0", lambda: read_leave(bits("0011" + "00"), 3))
        self.refuses("reason 1", lambda: read_leave(bits("1000"), 3))

    def test_a_link_has_a_known_reason(self):
        kind = make_kind([fields.Number(1, 0)])
        self.assertEqual(read_link(bits("100" + "110"), kind), Link(None, 0, 1, 1, 1))
        self.assertEqual(read_link(bits("001" + "001" + "0100"), kind), Link(2, 0, 0, 0, 4))
        for reason in ("101", "011", "111"):
            self.refuses("a link with reason", lambda its=reason: read_link(bits(its + "110"), kind))

    def test_a_repeated_enter_has_the_same_reason(self):
        written = Written()
        kinds = [make_kind([fields.Number(9, 0)])]
        spawned = enter(1, 5, reason=1)
        written.write(1, snapshot(enters=[spawned]), kinds)
        written.write(2, snapshot(enters=[spawned]), kinds)
        self.refuses("with another reason", lambda: written.write(3, snapshot(enters=[enter(1, 5)]), kinds))
        gone = snapshot(leaves=[Leave(1, 4)])
        written.write(3, gone, kinds)
        written.arrived(3, gone)
        written.write(4, snapshot(enters=[enter(1, 5)]), kinds)

    def test_an_id_is_reused_after_its_leave_is_acknowledged(self):
        written = Written()
        kinds = [make_kind([fields.Number(9, 0)])]
        written.write(1, snapshot(enters=[enter(1, 5)]), kinds)
        gone = snapshot(leaves=[Leave(1, 4)])
        written.write(2, gone, kinds)
        self.refuses("is not acknowledged", lambda: written.write(3, snapshot(enters=[enter(1, 6)]), kinds))
        written.write(3, gone, kinds)
        written.arrived(3, gone)
        written.write(4, snapshot(enters=[enter(1, 6)]), kinds)

    def test_a_server_sends_packets_and_snapshots_regularly(self):
        session = Session(1, 2, 3, None)
        session.check_send_interval(9000)  # its client has not joined
        session.last_packet_tick = session.last_sent_tick = 100
        session.check_send_interval(111)
        self.refuses("11 ticks without a packet", lambda: session.check_send_interval(112))
        session.last_packet_tick = 356
        session.check_send_interval(356)
        session.last_packet_tick = 357
        self.refuses("no snapshot for 257 ticks", lambda: session.check_send_interval(357))
        session.last_sent_tick = None  # packets wait for their delivery status
        session.check_send_interval(9000)

    def test_references_follow_the_fields_and_masks_have_one_encoding(self):
        kind = make_kind([fields.Reference(), fields.Number(255, 0), fields.Number(1, 0)])
        self.assertEqual(read_changes(bits("0" + "110" + "11111111" + "1" + "1010"), kind),
                         [(0, (6, 0)), (1, (255,))])
        self.assertEqual(read_changes(bits("0" + "100" + "0"), kind), [(0, (0, 0))])
        self.refuses("with no field or with all fields", lambda: read_changes(bits("0" + "000"), kind))
        self.refuses("with no field or with all fields", lambda: read_changes(bits("0" + "111" + "0" * 20), kind))
        self.refuses("a reference", lambda: read_changes(bits("0" + "100" + "1" + "0001" * 6 + "0010"), kind))

    def test_a_component_with_an_audience_has_a_mask_bit_even_if_it_is_the_only_one(self):
        alone = make_kind([fields.Number(1, 0)])
        self.assertEqual(read_changes(bits("1"), alone), [(0, (1,))])
        some = make_kind([fields.Number(1, 0)], for_some=True)
        self.assertEqual(read_changes(bits("0"), some), [])
        self.assertEqual(read_changes(bits("11"), some), [(0, (1,))])

    def test_ghosts_refuse_invalid_snapshots(self):
        ghosts = Ghosts(2 * [make_kind([fields.Number(9, 0)])])
        ghosts.apply(snapshot(enters=[enter(1, 5), enter(2, 6, parent=1)]))
        both = ghosts.digest
        ghosts.apply(snapshot(leaves=[Leave(7, 4)], verbose=[Verbose(9, 0, None, [(0, (1,))])]))
        self.assertEqual(ghosts.digest, both)  # a leave and an update after lost enters
        self.refuses("although it is held", lambda: ghosts.apply(snapshot(enters=[enter(1, 5)])))
        self.refuses("without its parent", lambda: ghosts.apply(snapshot(enters=[enter(3, 5, parent=4)])))
        self.refuses("is of kind", lambda: ghosts.apply(snapshot(verbose=[Verbose(1, 1, None, [])])))
        self.refuses("is not held", lambda: ghosts.apply(snapshot(plain=[Plain(3, 0, [])])))
        ghosts.apply(snapshot(leaves=[Leave(1, 4), Leave(3, 4)]))
        self.assertIsNone(ghosts.held[2].parent)
        self.assertEqual(ghosts.digest, combine(combine(combine(mix(2), 0), 0), 6))

    def test_a_shared_cell_payload_applies_to_the_ghosts_of_its_member_map(self):
        ghosts = Ghosts([make_kind([fields.Number(9, 4)]), make_kind([fields.Number(9, 4)])])
        ghosts.apply(snapshot(enters=[enter(1, 5), enter(2, 6)]))
        before = ghosts.digest
        ghosts.apply(snapshot(shared=[Shared(7, 0, [(0, (1,))])]))  # not held: ignored
        self.assertEqual(ghosts.digest, before)
        ghosts.apply(snapshot(plain=[Plain(1, 0, [(0, (9,))])], shared=[Shared(1, 0, [(0, (3,))])]))
        self.assertEqual(ghosts.held[1].values[0], (9,))  # its own update takes precedence
        ghosts.apply(snapshot(shared=[Shared(1, 0, [(0, (3,))])], member_maps={5: [(1, 0)]}))
        self.assertEqual(ghosts.held[1].values[0], (3,))
        self.assertEqual(ghosts.member_maps, {5: [(1, 0)]})
        self.refuses("in its member map", lambda: ghosts.apply(snapshot(shared=[Shared(1, 1, [])])))

    def test_a_component_is_replicated_completely_or_not_at_all(self):
        for keeps in (False, True):
            ghosts = Ghosts([make_kind([fields.Number(9, 4), fields.Number(9, 4)], True, keeps)])
            ghosts.apply(snapshot(enters=[Enter(1, 0, Link(None, 0), [])]))
            self.assertEqual(ghosts.digest, combine(combine(combine(mix(1), 0), 0), 0))
            self.refuses("is not allowed", lambda: ghosts.apply(snapshot(plain=[Plain(1, 0, [(0, (1,))])])))
            half = Verbose(1, 0, Link(None, 1), [(0, (1,))])
            self.refuses("not sent completely", lambda: ghosts.apply(snapshot(verbose=[half])))
            ghosts.held[1].replicated = 0
            ghosts.apply(snapshot(verbose=[Verbose(1, 0, Link(None, 1), [(0, (1,)), (1, (2,))])]))
            self.assertEqual(ghosts.digest,
                             combine(combine(combine(combine(combine(mix(1), 0), 0), 1), 1), 2))
            ghosts.apply(snapshot(verbose=[Verbose(1, 0, Link(None, 0), [])]))
            self.assertEqual(ghosts.state()[1][3], ((1,), (2,)) if keeps else ((4,), (4,)))

    def test_predictor_states_equal_the_protocol_document(self):
        start = motion.still(100)
        self.assertEqual(motion.value_after(start, 5, 1000), 100)
        self.assertEqual(motion.parameter(start), 2)
        moved = motion.following(start, 4, 110, 1000)  # a new prediction, from the baseline
        self.assertEqual(moved, motion.Motion(7040, 163840, 4, 192))
        self.assertEqual(motion.value_after(moved, 4, 1000), 120)
        self.assertEqual(motion.value_after(moved, 9999, 1000), 1000)
        near = motion.following(moved, 2, 116, 1000)  # one more than predicted: corrected to 3/8 below
        self.assertEqual(near, motion.Motion(7400, 163840 + (7602176 - 24576 - 7536640) // 6, 6, 112))
        self.assertEqual(motion.value_after(near, 0, 1000), 116)
        back = motion.following(start, 3, 99, 1000)
        self.assertEqual(back.speed, -13653)  # rounded toward zero
        for text, k, value in (("0", 0, 0), ("10", 0, -1), ("1100", 0, 1), ("11101", 0, 2), ("011", 2, -2)):
            self.assertEqual(bits(text).difference(k), value)

    def test_differences_apply_to_the_baseline_of_the_client(self):
        numbers = [fields.quantized(0, 1000, 1), fields.Number(1, 0)]
        numbers[0].extrapolated = True
        component = Component(False, False)
        component.fields = numbers
        kind = Kind(b"thing", [component])
        before = (7, {0: motion.still(100)})
        changes, motions = read_differences(bits("0001"), kind, before, 9)
        self.assertEqual(changes, [(0, (101,))])
        self.assertEqual(motions[0].span, 2)
        self.refuses("without a baseline", lambda: read_differences(bits("0010"), kind, None, 9))
        low = (7, {0: motion.still(0)})
        self.refuses("exceeds the range", lambda: read_differences(bits("0010"), kind, low, 9))

    def test_a_retained_ghost_resumes_or_ends(self):
        ghosts = Ghosts(2 * [make_kind([fields.Number(9, 0)])])
        ghosts.apply(snapshot(enters=[enter(1, 5), enter(2, 6, parent=1)]))
        both = ghosts.digest
        ghosts.apply(snapshot(leaves=[Leave(2, 4, 1)]))
        self.assertNotEqual(ghosts.digest, both)
        self.refuses("its retained ghost exists", lambda: ghosts.apply(snapshot(enters=[enter(2, 6)])))
        ghosts.apply(snapshot(verbose=[Verbose(2, 0, None, [(0, (7,))])]))  # does not become held again
        wrong = Verbose(2, 1, Link(), [])
        self.refuses("the retained ghost 2 is of kind", lambda: ghosts.apply(snapshot(verbose=[wrong])))
        ghosts.apply(snapshot(verbose=[Verbose(2, 0, Link(1, 0), [])]))
        self.assertEqual(ghosts.digest, both)
        ghosts.apply(snapshot(leaves=[Leave(2, 4, 1)]))
        ghosts.apply(snapshot(leaves=[Leave(2, 4, 2)]))  # still retained
        ghosts.apply(snapshot(leaves=[Leave(2, 4)]))
        ghosts.apply(snapshot(verbose=[Verbose(2, 0, Link(1, 0), [])]))
        self.assertEqual(sorted(ghosts.held), [1])

    def test_a_reference_ends_with_its_ghost_in_held_and_retained_ghosts(self):
        ghosts = Ghosts([make_kind([fields.Reference()])])
        naming = [Enter(i, 0, Link(), [(0, (8, 0))]) for i in (1, 2)]
        ghosts.apply(snapshot(enters=naming))
        ghosts.apply(snapshot(leaves=[Leave(2, 4, 1)]))
        ghosts.apply(snapshot(leaves=[Leave(7, 4)]))  # never held
        self.assertEqual(ghosts.digest, combine(combine(combine(combine(mix(1), 0), 0), 0), 0))
        self.assertEqual(ghosts.copies[2].values, [(0, 0)])


def make_kind(types, for_some=False, keeps=False):
    component = Component(for_some, keeps)
    component.fields = types
    return Kind(b"kind", [component])


def enter(local_id, number, parent=None, reason=0):
    return Enter(local_id, 0, Link(parent, 0, reason=reason), [(0, (number,))])


def snapshot(**sections):
    made = Snapshot.__new__(Snapshot)
    made.tick = made.tick_low = 1
    made.leaves, made.enters, made.verbose, made.plain, made.shared, made.member_maps = [], [], [], [], [], {}
    for name, items in sections.items():
        setattr(made, name, items)
    return made


class GroupsTest(DecoderTest):
    """The client has ghost 1. Ghosts 2 and 3 are its descendants."""

    def setUp(self):
        Groups.unlimited = True
        self.groups = Groups()

    def tearDown(self):
        Groups.unlimited = False

    def write(self, number, ghost, whole, size=100):
        self.groups.write(number, 5, snapshot(enters=[Enter(ghost, 0, Link(1, 0, 0, whole), [])]), {1}, size)

    def end(self):
        self.groups.end_tick({1: None, 2: 1, 3: 1}, {1})

    def test_a_group_is_complete_if_all_members_are_held_or_in_the_packet(self):
        self.write(1, 2, 1)
        self.write(1, 3, 1)
        self.end()
        self.write(2, 2, 1)
        self.write(3, 3, 0)
        self.refuses("is still in flight", self.end)

    def test_a_complete_group_is_reported_at_once(self):
        self.write(1, 2, 0)
        self.write(1, 3, 1)
        self.refuses("as not whole, but all 3", self.end)
        self.write(2, 2, 0)  # 3 is in flight
        self.end()
        self.write(2, 2, 0, 1150)
        self.write(2, 3, 0, 1150)  # another member may not have fit
        self.end()

    def test_a_corrected_position_is_relative_to_the_parent(self):
        for ghost in (1, 2, 3):
            self.write(1, ghost, 1)
        self.groups.end_tick({1: None, 2: 1, 3: 2}, {1})

        class Schema:
            class Kind:
                is_inner_root = False

            kinds = [Kind]
        correct = lambda frame: self.groups.check_correction(  # noqa: E731
            [[(1, 0, 1, None), (2, 0, 1, 1), (3, 0, 1, frame)]], Schema)
        for frame in (None, 2, 3):
            correct(frame)
        self.refuses("which is not its parent", lambda: correct(1))
        self.refuses("which never existed", lambda: correct(7))

    def test_inner_roots_come_last_with_their_descendants(self):
        parents = {1: None, 2: 1, 3: 2, 4: 1, 5: 4, 6: 3}
        inner = lambda ghost: ghost in (2, 6)  # noqa: E731
        self.assertEqual(order_of_input([1, 2, 3, 4, 5, 6], parents, inner), [1, 4, 5, 2, 3, 6])
        self.assertEqual(order_of_input([1, 4, 5, 2, 3, 6], parents, inner), [1, 4, 5, 2, 3, 6])

    def test_a_group_is_shown_when_it_is_complete(self):
        ghosts = Ghosts([Kind(b"k", [])])
        ghosts.apply(snapshot(enters=[Enter(1, 0, Link(None, 0, 0, 0), []), Enter(2, 0, Link(1, 0, 0, 0), []),
                                      Enter(3, 0, Link(), [])]))
        self.assertEqual(ghosts.waiting, {1, 2})
        ghosts.apply(snapshot(verbose=[Verbose(1, 0, Link(), [])]))
        self.assertEqual((ghosts.waiting, ghosts.counts["shown_late"]), (set(), 2))


class SchemasTest(DecoderTest):
    """Schemas in wire format, with boolean fields only."""

    def schema(self, components, kinds, calls=(), inputs=()):
        """A component is its name and its field names. A kind is its name and the mask of its components."""
        out = []
        put = lambda value, size: out.append("{:0{}b}".format(value, size)[::-1])  # noqa: E731

        def put_name(name):
            for byte in (len(name), *name.encode()):
                put(byte, 8)

        def put_fields(names):
            put(len(names), 5)
            for name in names:
                put_name(name)
                put(0, 3)
        put(0, 1)
        put(len(components), 6)
        for name, its in components:
            put_name(name)
            put(0, 1)
            put_fields(its)
        put(len(kinds), 9)
        for name, its in kinds:
            put_name(name)
            put(its, len(components))
            put(0, 3)
        put(len(calls), 8)
        for name, its in calls:
            put_name(name)
            put(2 << 1, 9)  # no target
            put_fields(its)
        put(len(inputs), 6)
        for name, its in inputs:
            put_name(name)
            put_fields(its)
        put(0, (2 * len(kinds) + len(components)) * bool(inputs))
        return Schema(bits("".join(out)))

    def test_a_schema_is_within_the_limits_of_the_protocol_document(self):
        some = lambda count: [f"f{i}" for i in range(count)]  # noqa: E731
        parts = lambda count, fields: [(f"c{i}", some(fields)) for i in range(count)]  # noqa: E731
        kinds = lambda count: [(f"k{i}", 0) for i in range(count)]  # noqa: E731
        self.schema(parts(32, 1), kinds(256))
        self.schema(parts(4, 16), [("all", 15)])
        self.refuses("33 components", lambda: self.schema(parts(33, 1), kinds(1)))
        self.refuses("257 kinds", lambda: self.schema(parts(1, 1), kinds(257)))
        self.refuses("a component of 17 fields", lambda: self.schema(parts(1, 17), kinds(1)))
        self.refuses("a kind of 65 fields", lambda: self.schema([*parts(4, 16), ("more", ["f"])], [("all", 31)]))

    def test_names_are_unique(self):
        kind = [("k", 1)]
        self.schema([("a", ["a"]), ("b", ["a"])], [("a", 0), ("b", 0)], [("a", ["a"])], [("a", ["a"])])
        for its in (([("a", []), ("a", [])], kind), ([("a", [])], kind + kind), ([("a", ["b", "b"])], kind),
                    ([("a", [])], kind, [("a", []), ("a", [])]), ([("a", [])], kind, [("a", ["b", "b"])]),
                    ([("a", [])], kind, (), [("a", []), ("a", [])]), ([("a", [])], kind, (), [("a", ["b", "b"])])):
            self.refuses("twice", lambda its=its: self.schema(*its))


class RecordingsTest(DecoderTest):
    def read(self, *chunks):
        data = b"PVRC\1\0"
        for kind, body in ((recording.BEGIN, b""), *chunks):
            data += bytes([kind]) + len(body).to_bytes(4, "little") + body
        return list(recording.events(data))

    def refuses_file(self, what, *chunks):
        with self.assertRaises(recording.BadRecording) as caught:
            self.read(*chunks)
        self.assertIn(what, str(caught.exception))

    def test_an_address_is_declared_before_its_first_use(self):
        address = (recording.ADDRESS, bytes(23))
        first, second = bytes(4), b"\1" + bytes(3)
        for kind, before in ((recording.RECEIVED, bytes(8)), (recording.SENT, b""), (recording.ADDRESS_CLOSED, b"")):
            self.refuses_file("truncated", address, (kind, before + first))  # only its end is missing
            self.refuses_file("address 0 of 0", (kind, before + first), address)
            self.refuses_file("address 1 of 1", address, (kind, before + second))

    def test_a_chunk_has_a_maximum_size(self):
        self.refuses_file("truncated", (recording.NOTE, bytes(1 << 22)))
        self.refuses_file("a chunk of 4194305 bytes", (recording.NOTE, bytes((1 << 22) + 1)))


class InputsTest(DecoderTest):
    """The kind of ghost 4, which takes input 0."""

    class Schema:
        class Kind:
            inputs = [0]

        kinds = [Kind]
        inputs = [[fields.Number(7, 0)], [fields.Number(7, 0)]]
        input_bits = 1

    KINDS = {4: {0}}

    def given(self, newest, *frames, corrections=None):
        packet = InputPacket(newest, corrections)
        packet.frames = list(frames)
        return packet

    def frame(self, word=1, view=16, index=0):
        return view, ((4, ((4, index, (word,)),)),)

    def test_views_are_differences_and_repeated_groups_are_omitted(self):
        view = lambda number: "{:020b}".format(number)[::-1]  # noqa: E731
        number = "0100" + "0" * 12
        group = "1000" + "0010" + "1000" + "0010" + "0" + "101"
        packet = read_inputs(bits("1" + number + "01000" + "0" + view(16) + "0" + group +
                                  "110000" + "1" + "111111" + view(3) + "1"), self.Schema, 0)
        groups = ((4, ((4, 0, ((5,),)),)),)
        self.assertEqual((packet.newest, packet.frames), (2, [(16, groups), (19, groups), (3, groups)]))

    def test_a_frame_is_repeated_unchanged_from_the_oldest_onward(self):
        inputs = Inputs()
        inputs.receive(self.given(1, self.frame()), self.KINDS, self.Schema)
        self.refuses("differs from an earlier transmission",
                     lambda: inputs.receive(self.given(2, self.frame(2), self.frame()), self.KINDS, self.Schema))
        inputs.arrived((1, 0, 0))
        self.refuses("the oldest command tick is 1",
                     lambda: inputs.receive(self.given(2, self.frame(), self.frame()), self.KINDS, self.Schema))
        self.refuses("has never taken it",
                     lambda: inputs.receive(self.given(2, self.frame(index=1)), self.KINDS, self.Schema))

    def test_consumed_inputs_were_received(self):
        inputs = Inputs()
        inputs.receive(self.given(2, self.frame(), self.frame()), self.KINDS, self.Schema)
        self.refuses("never received", lambda: inputs.send((3, 0, 0)))
        self.refuses("2 buffered inputs reported", lambda: inputs.send((1, 2, 0)))
        inputs.send((2, 0, 0))
        self.refuses("never received", lambda: inputs.send((1, 0, 0)))

    def test_a_correction_has_the_parent_of_a_relative_position(self):
        class Schema:
            class Kind:
                has_relative_position = True
                predicted = [fields.Number(7, 0)]

            kinds = [Kind]
            read_kind = staticmethod(lambda reader: 0)
        member = "0010" + "11" + "{}" + "101"  # ghost 4, owned, and the value 5
        message = "1000" + "0" * 12 + "1000" + "1" + "1000" + member
        self.assertEqual(read_correction(bits(message.format("0000")), Schema), (1, [[(4, 0, 1, None)]]))
        self.assertEqual(read_correction(bits(message.format("1000")), Schema), (1, [[(4, 0, 1, 0)]]))
        last = "0001" * 6 + "0010"  # 2^20
        self.assertEqual(read_correction(bits(message.format(last)), Schema), (1, [[(4, 0, 1, (1 << 20) - 1)]]))
        self.refuses("local id 1048576", lambda: read_correction(bits(message.format("1001" + last[4:])), Schema))

    def test_at_most_one_correction_is_in_flight(self):
        inputs = Inputs()
        inputs.receive(self.given(1, self.frame()), self.KINDS, self.Schema)
        self.refuses("is the last one consumed", lambda: inputs.sent_correction(1, []))
        inputs.send((1, 0, 0))
        inputs.sent_correction(1, [])
        self.refuses("correction 2", lambda: inputs.sent_correction(1, []))
        self.refuses("acknowledges 1 corrections", lambda: inputs.check_corrections(1))
        inputs.corrections_arrived = 1
        inputs.check_corrections(1)
        inputs.sent_correction(1, [])


if __name__ == "__main__":
    unittest.main()
