# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Purview authors
"""RPC data that the decoder must refuse, from a server and from a client."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/conformance"))
sys.dont_write_bytecode = True

from bits import BitReader, Mismatch, combine, hash_bytes  # noqa: E402
from calls import Call, Calls, CallsDown, CallsUp, CallType, read_calls  # noqa: E402
import fields  # noqa: E402
from schema import Component, Kind, Schema  # noqa: E402
from snapshot import Enter, Leave, Link, Plain, Snapshot, Verbose  # noqa: E402
from written import Written  # noqa: E402

UNRELIABLE, UNORDERED, ORDERED, FORCED, STATIC = range(5)


def little(number, width):
    return "{:0{}b}".format(number, width)[::-1]


def bits(text):
    written = [int(c) for c in text if c != " "]
    number = sum(bit << i for i, bit in enumerate(written))
    return BitReader(number.to_bytes((len(written) + 7) // 8, "little"))


def call_type(direction=0, target=0, delivery=0, policy=0, callers=0, hold=""):
    made = CallType(b"c", bits(little(direction, 1) + "".join(
        little(value, 2) for value in (target, delivery, policy, callers)) + hold))
    made.fields = [fields.Number(5, 0)]
    return made


TYPES = [call_type(), call_type(delivery=1), call_type(delivery=2), call_type(delivery=2, policy=2),
         call_type(target=2, delivery=2)]


class RpcTypes:
    """The part of a schema that an RPC needs."""

    def __init__(self, types):
        self.rpcs = types
        self.rpc_bits = (len(types) - 1).bit_length()


def ordered(number, ghost=3, words=((1,),), kind=ORDERED):
    return Call(kind, number & 255, ghost, words)


class RefusalTest(unittest.TestCase):
    def refuses(self, what, call):
        with self.assertRaises(Mismatch) as caught:
            call()
        self.assertIn(what, caught.exception.what)


class CallsTest(RefusalTest):
    def setUp(self):
        Calls.are_distinct = False

    def test_an_rpc_is_read_to_its_last_bit(self):
        schema = RpcTypes(TYPES)
        text = ("1" + little(ORDERED, 3) + little(7, 8) + "0" + "1100" + little(5, 3) +
                "1" + little(ORDERED, 3) + little(8, 8) + "1" +
                "1" + little(FORCED, 3) + little(9, 8) + "0" + "0" + little(4, 3) +
                "1" + little(UNRELIABLE, 3) + "0100" + little(0, 3) + "0")
        reader = bits(text)
        self.assertEqual(read_calls(reader, schema, 0), [
            Call(ORDERED, 7, 3, ((5,),)), Call(ORDERED, 8, None, None), Call(FORCED, 9, None, ((4,),)),
            Call(UNRELIABLE, None, 2, ((0,),))])
        self.assertEqual(reader.at, len(text))
        one = "1" + little(UNRELIABLE, 3) + "0100" + little(0, 3)
        self.assertEqual(len(read_calls(bits(64 * one + "0"), schema, 0)), 64)
        self.refuses("more than 64", lambda: read_calls(bits(65 * one + "0"), schema, 0))
        self.refuses("type 5 of 5", lambda: read_calls(bits("1" + little(5, 3)), schema, 0))
        self.refuses("other direction", lambda: read_calls(bits(one), schema, 1))
        self.refuses("before the welcome", lambda: read_calls(bits(one), None, 0))
        self.refuses("number 6", lambda: read_calls(bits("1000" + "0100" + little(6, 3)), schema, 0))
        self.refuses("local id", lambda: read_calls(bits("1000" + "0001" * 6 + "0010" + "000"), schema, 0))

    def test_arguments_of_clients_are_clamped(self):
        to_server = call_type(direction=1, target=2)
        to_server.fields = [fields.Number(5, 0), fields.Real()]
        text = "1" + little(7, 3) + little(0xFF800001, 32) + "0"
        self.assertEqual(read_calls(bits(text), RpcTypes([to_server]), 1)[0].words, ((5,), (0x7FC00000,)))

    def test_rpc_types_follow_the_protocol_document(self):
        self.assertEqual(call_type(policy=1, hold=little(9, 16)).hold_ticks, 9)
        self.refuses("zero hold ticks", lambda: call_type(policy=1, hold=little(0, 16)))
        self.refuses("unknown attribute", lambda: call_type(delivery=3))
        self.refuses("a policy", lambda: call_type(policy=2, target=2))
        self.refuses("a policy", lambda: call_type(direction=1, policy=2))
        self.refuses("positional call", lambda: call_type(direction=1, target=1))
        self.refuses("callers", lambda: call_type(callers=2))
        self.refuses("callers", lambda: call_type(direction=1, target=2, callers=1))

    def test_the_schema_hash_covers_rpcs(self):
        def name(text):
            return little(len(text), 8) + "".join(little(byte, 8) for byte in text)

        kinds = "0" + little(0, 6) + little(1, 9) + name(b"k") + "000"
        h = combine(combine(combine(0, 0), 65535), hash_bytes(b"k", 0))
        no_inputs = little(0, 6)
        self.assertEqual(Schema(bits(kinds + little(0, 8) + no_inputs)).hash, h)
        jumps = kinds[:-2] + "1{}0" + little(0, 8) + no_inputs
        ten = 0x41200000
        self.assertEqual(Schema(bits(jumps.format(little(ten, 32)))).hash, combine(combine(h, 65538), ten))
        for nothing in (0, 0x80000000, 0xBF800000, 0x7F800000, 0x7FC00000):  # 0, -0, -1, infinity, NaN
            self.refuses("invalid teleport distance", lambda: Schema(bits(jumps.format(little(nothing, 32)))))
        one = name(b"boom") + "0" + little(0, 2) + little(2, 2) + little(1, 2) + little(0, 2) + little(20, 16)
        argument = little(1, 5) + name(b"on") + little(0, 3)
        for value in (0, 0, 2, 1, 20, 0, hash_bytes(b"boom", 0), 1, hash_bytes(b"on", 0), 0):
            h = combine(h, value)
        self.assertEqual(Schema(bits(kinds + little(1, 8) + one + argument + no_inputs)).hash, h)
        reference = little(1, 5) + name(b"on") + little(7, 3)
        self.refuses("a reference", lambda: Schema(bits(kinds + little(1, 8) + one + reference + no_inputs)))

    def test_numbers_are_in_order_and_repeated_only_when_lost(self):
        down = CallsDown()
        down.write(1, [ordered(0), ordered(1)], TYPES)
        self.refuses("2 is missing", lambda: down.write(2, [ordered(3)], TYPES))
        self.refuses("in flight", lambda: down.write(2, [ordered(0)], TYPES))
        self.refuses("void when first sent", lambda: down.write(2, [ordered(2, words=None)], TYPES))
        down.resolve(1, False, TYPES)
        self.assertEqual(down.due(), 2)
        self.refuses("other arguments", lambda: down.write(2, [ordered(0, words=((2,),))], TYPES))
        self.refuses("for ghost 4", lambda: down.write(2, [ordered(0, ghost=4)], TYPES))
        self.refuses("with type", lambda: down.write(2, [ordered(0, kind=STATIC)], TYPES))
        down.write(2, [ordered(0), ordered(1, None, None)], TYPES)
        self.assertEqual((down.counts["repeated"], down.counts["voids"]), (2, 1))
        self.assertEqual(down.due(), 1)  # the leave that explains the void call
        down.leave(3, 2, TYPES)
        self.assertEqual(down.due(), 0)
        down.resolve(2, True, TYPES)
        self.refuses("after it arrived", lambda: down.write(3, [ordered(0)], TYPES))

    def test_a_void_rpc_stays_void_and_a_forced_rpc_is_repeated(self):
        down = CallsDown()
        down.write(1, [ordered(0), ordered(1, kind=FORCED), ordered(2, None, kind=STATIC)], TYPES)
        down.resolve(1, False, TYPES)
        down.write(2, [ordered(0, None, None), ordered(1, None, kind=FORCED)], TYPES)
        self.refuses("is void, but", lambda: down.write(9, [ordered(2, None, None, STATIC)], TYPES))
        down.resolve(2, False, TYPES)
        self.refuses("resent with arguments", lambda: down.write(3, [ordered(0)], TYPES))
        self.refuses("is void, but", lambda: down.write(3, [ordered(1, None, None, FORCED)], TYPES))

    def test_at_most_64_numbers_are_in_flight(self):
        down = CallsDown()
        down.write(1, [ordered(0)], TYPES)
        for number in range(1, 64):
            down.write(2, [ordered(number)], TYPES)
        self.refuses("while 0 has not arrived", lambda: down.write(3, [ordered(64)], TYPES))
        down.resolve(1, True, TYPES)
        down.write(3, [ordered(64)], TYPES)

    def test_unordered_rpcs_are_repeated_only_when_lost(self):
        Calls.are_distinct = True
        call = Call(UNORDERED, None, 3, ((1,),))
        down = CallsDown()
        down.write(1, [call], TYPES)
        self.refuses("none was lost", lambda: down.write(2, [call], TYPES))
        down.resolve(1, False, TYPES)
        down.write(2, [call], TYPES)
        self.assertEqual(down.resolve(2, True, TYPES), [call])
        self.refuses("none was lost", lambda: down.write(3, [call], TYPES))
        other = call._replace(words=((2,),))
        down.write(4, [other], TYPES)
        down.leave(3, 5, TYPES)
        down.resolve(4, False, TYPES)
        self.assertEqual(down.due(), 0)  # dropped together with its ghost
        self.refuses("none was lost", lambda: down.write(6, [other], TYPES))

    def test_a_client_calls_about_its_ghosts_and_uses_each_number_once(self):
        up = CallsUp()
        self.refuses("does not have", lambda: up.receive([ordered(0)], TYPES, {4}))
        up.late([ordered(0)], TYPES)
        up.receive([ordered(1)], TYPES, {3})
        self.refuses("other arguments", lambda: up.receive([ordered(0, words=((2,),))], TYPES, {3}))
        up.receive([ordered(0)], TYPES, {3})
        self.assertEqual((up.missing, up.counts["repeated"]), (2, 1))
        self.refuses("is a duplicate", lambda: up.receive([ordered(1)], TYPES, {3}))
        up.receive([ordered(65)], TYPES, {3})
        self.refuses("is a duplicate", lambda: up.receive([ordered(65)], TYPES, {3}))
        self.refuses("while 2 has not", lambda: up.receive([ordered(66)], TYPES, {3}))


class WrittenTest(RefusalTest):
    def setUp(self):
        component = Component(False, False)
        component.fields = [fields.Number(9, 0), fields.Number(9, 0)]
        self.kinds = [Kind(b"kind", [component])]
        self.written = Written()

    def write(self, packet, **sections):
        made = Snapshot.__new__(Snapshot)
        made.tick_low = packet
        made.leaves, made.enters, made.verbose, made.plain, made.shared, made.member_maps = [], [], [], [], [], {}
        for name, items in sections.items():
            setattr(made, name, items)
        self.written.write(packet, made, self.kinds)
        return made

    def call_about(self, ghost, packet, status_known):
        self.written.check_named(Call(0, None, ghost, ()), packet, status_known)

    def test_an_rpc_names_a_ghost_that_entered_and_did_not_leave(self):
        enter = Enter(3, 0, Link(), [(0, (1,)), (1, (1,))])
        self.refuses("has not entered", lambda: self.call_about(3, 1, 0))
        self.write(1, enters=[enter])
        self.call_about(3, 1, 0)
        self.call_about(3, 2, 0)  # the call waits if the enter is lost
        self.refuses("written in packet 1", lambda: self.call_about(3, 2, 1))
        self.write(2, enters=[enter])
        self.call_about(3, 2, 1)
        self.write(3, leaves=[Leave(3, 4)])
        self.refuses("has left", lambda: self.call_about(3, 3, 1))
        self.refuses("after its leave was written", lambda: self.write(4, plain=[Plain(3, 0, [(0, (2,))])]))
        self.write(5, verbose=[Verbose(3, 0, Link(), [])])  # a retained ghost resumes
        self.call_about(3, 5, 1)

    def test_changes_are_sent_with_the_rpc_or_have_arrived(self):
        first = self.write(1, enters=[Enter(3, 0, Link(), [(0, (1,)), (1, (1,))])])
        second = self.write(2, plain=[Plain(3, 0, [(0, (2,))])])
        self.refuses("part 0", lambda: self.call_about(3, 3, 0))
        self.write(3, plain=[Plain(3, 0, [(0, (2,)), (1, (3,))])])
        self.call_about(3, 3, 0)
        self.write(4, plain=[Plain(3, 0, [(1, (4,))])])
        self.refuses("part 0", lambda: self.call_about(3, 4, 0))
        self.written.arrived(1, first)
        self.written.arrived(2, second)  # packet 3 had the same value
        self.call_about(3, 4, 2)

    def test_data_that_arrived_before_a_ghost_was_retained_counts(self):
        first = self.write(1, enters=[Enter(3, 0, Link(), [(0, (1,)), (1, (1,))])])
        self.written.arrived(1, first)
        second = self.write(2, plain=[Plain(3, 0, [(0, (2,))])])
        self.write(3, leaves=[Leave(3, 4, 1)])
        self.write(4, verbose=[Verbose(3, 0, Link(), [(0, (2,))])])
        last = Verbose(3, 0, Link(), [])
        self.write(5, verbose=[last])
        self.refuses("part 0", lambda: self.call_about(3, 5, 1))
        self.written.arrived(2, second)
        self.call_about(3, 5, 2)

    def test_the_view_completes_once_and_not_too_early(self):
        enters = [Enter(i, 0, Link(), [(0, (1,)), (1, (1,))]) for i in (1, 2)]
        self.write(1, enters=enters)
        self.refuses("1 ghosts of the first tick", lambda: self.written.view_complete({1: None}))
        self.written.complete = False
        self.write(2, leaves=[Leave(2, 4)], enters=[Enter(5, 0, Link(), [])])
        self.written.view_complete({1: None})
        self.refuses("a second view-complete", lambda: self.written.view_complete({1: None}))


if __name__ == "__main__":
    unittest.main()
