// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Decoding of member maps on clients, also from malformed bytes.
#include <doctest/doctest.h>

#include <array>

#include "client/replica.hpp"
#include "client/sections.hpp"
#include "core/hash.hpp"
#include "protocol/bit_writer.hpp"
#include "protocol/rice.hpp"

namespace purview {

namespace {

struct Bits {
    Bits() : out(bytes) {}
    BitReader in() {
        return BitReader(std::span<const std::byte>(bytes).first(out.bytes_written()));
    }
    std::array<std::byte, 64> bytes{};
    BitWriter out;
};

void write_member_map(BitWriter& out, std::uint64_t slot,
                      std::initializer_list<std::uint64_t> ghosts, unsigned width = 6) {
    out.bits(slot, ClientSections::slot_bits);
    out.boolean(true);
    out.varint(ghosts.size());
    out.bits(width, ClientSections::width_bits);
    for (const std::uint64_t ghost : ghosts) {
        out.bits(ghost, width);
        out.bits(1, 2);  // the kind
    }
}

std::span<const ClientSections::Member> read(ClientSections& sections, BitReader& in) {
    return sections.read_member_map(in, 32, 3, 2);
}

}  // namespace

TEST_CASE("shared cells: a member map is valid once its packet is applied (P19)") {
    ClientSections sections;
    Bits first, again, other;
    write_member_map(first.out, 3, {5, 7, 30});
    again.out.bits(3, ClientSections::slot_bits);
    again.out.boolean(false);
    other.out.bits(4, ClientSections::slot_bits);
    other.out.boolean(false);
    {
        BitReader in = first.in();
        sections.begin();
        CHECK(read(sections, in).size() == 3);
        CHECK(in.ok());
    }
    BitReader too_early = again.in();  // the packet was not applied
    sections.begin();
    CHECK(read(sections, too_early).empty());
    CHECK(!too_early.ok());
    BitReader in = first.in();
    sections.begin();
    (void)read(sections, in);
    sections.accept();
    BitReader known = again.in();
    sections.begin();
    const auto member_map = read(sections, known);
    REQUIRE(member_map.size() == 3);
    CHECK(member_map[2].ghost == 30);
    CHECK(member_map[2].kind == id_at<KindId>(1));
    BitReader unknown = other.in();
    sections.begin();
    (void)read(sections, unknown);
    CHECK(!unknown.ok());
}

TEST_CASE("shared cells: a member map with invalid ids, kinds or repeated slots is refused") {
    ClientSections sections;
    const auto refuses = [&](auto&& write) {
        Bits bits;
        write(bits.out);
        bits.out.u64(0);
        BitReader in = bits.in();
        sections.begin();
        (void)read(sections, in);
        if (in.ok()) (void)read(sections, in);
        return !in.ok();
    };
    CHECK(refuses([](BitWriter& out) { write_member_map(out, 1, {32}); }));
    CHECK(refuses([](BitWriter& out) { write_member_map(out, 1, {0, 0}, 0); }));
    CHECK(refuses([](BitWriter& out) {
        write_member_map(out, 1, {2});
        write_member_map(out, 1, {2});
    }));
    CHECK(refuses([](BitWriter& out) {
        out.bits(1, ClientSections::slot_bits);
        out.boolean(true);
        out.varint(1'000'000);
        out.bits(6, ClientSections::width_bits);
    }));
    CHECK(refuses([](BitWriter& out) {
        out.bits(1, ClientSections::slot_bits);
        out.boolean(true);
        out.varint(1);
        out.bits(6, ClientSections::width_bits);
        out.bits(1, 6);
        out.bits(3, 2);  // there are three kinds
    }));
    // Random bytes: decoding ends, and the number of members does not exceed the number of bits.
    SplitMix random(1);
    for (int round = 0; round < 20'000; ++round) {
        std::array<std::byte, 24> bytes;
        for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.below(256));
        BitReader in(bytes);
        sections.begin();
        while (in.ok() && in.bits_left() > 0) {
            const auto member_map = read(sections, in);
            CHECK(member_map.size() <= bytes.size() * 8);
        }
        if (in.ok()) sections.accept();
    }
}

TEST_CASE("shared cells: a payload with the wrong kind for a ghost is refused as a whole") {
    struct Lamp {
        bool is_on = false;
    };
    Schema schema;
    const Component<Lamp> lamp = schema.component<Lamp>("lamp").boolean("is_on", &Lamp::is_on);
    (void)schema.kind("lamp", {lamp.id});
    (void)schema.kind("bell", {lamp.id});
    REQUIRE(schema.problem().empty());
    Replica replica(schema);
    Tick newest = 0;
    // Ghost 0 is a lamp that is on.
    std::array<std::byte, 16> enter{};
    BitWriter first(enter);
    first.u16(1);
    first.varint(0);
    first.varint(1);
    first.varint(0);
    first.bits(0b10100000, 8);  // kind 0, entered, not owned, complete, no parent, on
    for (int section = 0; section < 2; ++section) first.varint(0);
    first.boolean(false);
    BitReader in(enter);
    REQUIRE(replica.decoder.read(in));
    replica.accept(newest);
    const auto takes = [&](std::uint64_t kind, std::uint64_t rank, std::uint64_t ghost = 0) {
        std::array<std::byte, 32> bytes{};
        BitWriter out(bytes);
        out.u16(2);
        for (int section = 0; section < 4; ++section) out.varint(0);
        out.boolean(true);
        out.varint(1);
        out.bits(9, ClientSections::slot_bits);
        out.boolean(true);
        out.varint(2);
        out.bits(3, ClientSections::width_bits);
        out.bits(ghost, 3);
        out.bits(kind, 1);
        out.bits(5, 3);
        out.bits(1, 1);
        out.varint(1);
        out.bits(0, rice_parameter_bits);
        out.rice(rank, 0);
        out.boolean(false);  // the lamp is switched off
        BitReader packet(bytes);
        if (!replica.decoder.read(packet)) return false;
        replica.accept(newest);
        return true;
    };
    const auto is_on = [&] { return replica.ghosts.words(0)[0] == 1; };
    CHECK_FALSE(takes(1, 0));
    CHECK(is_on());
    CHECK_FALSE(takes(0, 2));  // there is no such member index
    CHECK(is_on());
    CHECK(takes(0, 1));  // the second ghost is not held: skipped
    CHECK(is_on());
    CHECK(takes(0, 0));
    CHECK(!is_on());
}

}  // namespace purview
