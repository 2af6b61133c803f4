// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include <doctest/doctest.h>
#include <array>

#include <cmath>
#include <limits>
#include <vector>

#include "core/hash.hpp"
#include "protocol/bit_reader.hpp"
#include "protocol/bit_writer.hpp"
#include "protocol/quantize.hpp"
#include "purview/schema.hpp"

namespace purview::test {

TEST_CASE("wire: everything that is written is read back bit for bit") {
    SplitMix random(3);
    for (int round = 0; round < 2000; ++round) {
        std::vector<std::byte> bytes(random.below(80) + 1);
        struct Item {
            int kind;
            std::uint64_t value;
            unsigned width;
        };
        std::vector<Item> items;
        BitWriter out(bytes);
        for (;;) {
            Item item{static_cast<int>(random.below(4)), random.next(), random.below(64) + 1};
            if (item.width < 64) item.value &= (std::uint64_t{1} << item.width) - 1;
            if (item.kind == 2) {
                item.value &= 0xfff;
                item.width &= 7;
            }
            switch (item.kind) {
                case 0:
                    out.bits(item.value, item.width);
                    break;
                case 1:
                    out.varint(item.value);
                    break;
                case 2:
                    out.rice(item.value, item.width);
                    break;
                default:
                    out.align();
                    break;
            }
            if (!out.ok()) break;
            items.push_back(item);
        }
        BitReader in(bytes);
        for (const Item& item : items) {
            switch (item.kind) {
                case 0:
                    REQUIRE(in.bits(item.width) == item.value);
                    break;
                case 1:
                    REQUIRE(in.varint() == item.value);
                    break;
                case 2:
                    REQUIRE(in.rice(item.width, 0xfff) == item.value);
                    break;
                default:
                    in.align();
                    break;
            }
        }
        REQUIRE(in.ok());
    }
}

TEST_CASE("wire: a reader never reads past its end, and stays failed") {
    SplitMix random(9);
    for (int round = 0; round < 5000; ++round) {
        std::vector<std::byte> bytes(random.below(12));
        for (auto& byte : bytes) byte = static_cast<std::byte>(random.next());
        BitReader in(bytes);
        bool failed = false;
        for (int i = 0; i < 40; ++i) {
            switch (random.below(4)) {
                case 0:
                    (void)in.bits(random.below(65));
                    break;
                case 1:
                    (void)in.varint();
                    break;
                case 2:
                    (void)in.rice(random.below(16), 1000);
                    break;
                default:
                    (void)in.bytes(random.below(5));
                    break;
            }
            REQUIRE(in.bits_read() <= bytes.size() * 8);
            if (failed) REQUIRE_FALSE(in.ok());
            failed = !in.ok();
        }
    }
}

TEST_CASE("wire: a varint that is longer than necessary is refused") {
    std::vector<std::byte> bytes(2);
    BitWriter out(bytes);
    out.bits(5, 3);
    out.boolean(true);
    out.bits(0, 3);
    out.boolean(false);
    BitReader in(bytes);
    (void)in.varint();
    CHECK_FALSE(in.ok());
}

TEST_CASE("wire: reading a Rice code with an endless quotient stops at the limit") {
    std::vector<std::byte> bytes(100, std::byte{0xff});
    BitReader in(bytes);
    CHECK(in.rice(3, 500) == 0);
    CHECK_FALSE(in.ok());
    CHECK(in.bits_read() < 200);
}

TEST_CASE("wire: words are never stored past the end, and the last bits are written") {
    for (std::size_t size = 0; size <= 24; ++size) {
        for (unsigned first = 0; first <= 64; ++first) {
            for (unsigned width = 1; width <= 64; ++width) {
                std::array<std::byte, 40> room;
                room.fill(std::byte{0xa5});
                BitWriter out(std::span<std::byte>(room).first(size));
                out.bits(first == 0 ? 0 : ~std::uint64_t{0} >> (64 - first), first);
                std::size_t fitted = 0;
                while (out.bits(~std::uint64_t{0} >> (64 - width), width), out.ok()) ++fitted;
                for (std::size_t i = size; i < room.size(); ++i)
                    REQUIRE(room[i] == std::byte{0xa5});
                if (first > size * 8) continue;
                REQUIRE(out.bits_written() == first + fitted * width);
                REQUIRE(fitted == (size * 8 - first) / width);
                BitReader in(std::span<const std::byte>(room).first(size));
                for (std::size_t i = 0; i < out.bits_written(); ++i) REQUIRE(in.boolean());
            }
        }
    }
}

TEST_CASE("wire: copy_bits copies every bit unchanged") {
    SplitMix random(5);
    std::vector<std::byte> source(40);
    for (auto& byte : source) byte = static_cast<std::byte>(random.next());
    for (std::size_t count = 0; count <= 320; ++count) {
        std::vector<std::byte> bytes(64);
        BitWriter out(bytes);
        out.bits(5, 3);
        out.copy_bits(source, count);
        BitReader in(bytes);
        BitReader expected(source);
        REQUIRE(in.bits(3) == 5);
        for (std::size_t i = 0; i < count; ++i) REQUIRE(in.boolean() == expected.boolean());
        REQUIRE(out.bits_written() == count + 3);
    }
}

TEST_CASE("wire: try_code_and_bits equals writing the code and then the bits") {
    SplitMix random(12);
    for (int round = 0; round < 3000; ++round) {
        const std::size_t room = 8 + random.below(60);
        std::vector<std::byte> bytes(room), expected(room);
        BitWriter one(bytes), other(expected);
        for (int i = 0; i < 8; ++i) {
            const unsigned code_bits = random.below(48), count = random.below(200);
            const std::uint64_t code = random.next() & ((std::uint64_t{1} << code_bits) - 1);
            // At least two whole words, with zeros after the last bit.
            std::vector<std::byte> data(std::max<std::size_t>(16, (count + 63) / 64 * 8));
            BitWriter body(data);
            for (unsigned b = 0; b < count; ++b) body.boolean(random.below(2) != 0);
            if (!one.try_code_and_bits(code, code_bits, data.data(), count)) {
                one.bits(code, code_bits);
                one.copy_bits(data, count);
            }
            other.bits(code, code_bits);
            other.copy_bits(data, count);
            REQUIRE(one.ok() == other.ok());
            if (!one.ok()) break;
            REQUIRE(one.bits_written() == other.bits_written());
        }
        if (!one.ok()) continue;
        bytes.resize(one.bytes_written());
        expected.resize(other.bytes_written());
        REQUIRE(bytes == expected);
    }
}

namespace {

struct Everything {
    float q = 0;
    float r = 0;
    std::int16_t i = 0;
    bool b = false;
};

}  // namespace

TEST_CASE("wire: quantized values are within half a step, or clamped to their range") {
    Schema schema;
    schema.component<Everything>("c")
        .quantized("q", &Everything::q, {-10, 10, 0.25})
        .real("r", &Everything::r)
        .integer("i", &Everything::i, -5, 100)
        .boolean("b", &Everything::b);
    REQUIRE(schema.problem().empty());
    const auto& fields = schema.components()[0].fields;
    CHECK(fields[0].wire_bits == 7);
    CHECK(fields[1].wire_bits == 32);
    CHECK(fields[2].wire_bits == 7);
    CHECK(fields[3].wire_bits == 1);
    const auto through = [&](Everything value) {
        Everything out;
        for (const FieldDef& field : fields) {
            const auto wire = quantize(field, reinterpret_cast<const std::byte*>(&value));
            CHECK(wire <= field.largest);
            dequantize(field, wire, reinterpret_cast<std::byte*>(&out));
        }
        return out;
    };
    for (float q = -12; q < 12; q += 0.037F) {
        const Everything out = through({q, q, static_cast<std::int16_t>(q * 20), q > 0});
        const float clamped = q < -10 ? -10 : q > 10 ? 10 : q;
        CHECK(std::fabs(out.q - clamped) <= 0.1251F);
        CHECK(out.r == q);
        CHECK(out.i == (q * 20 < -5 ? -5 : q * 20 > 100 ? 100 : static_cast<std::int16_t>(q * 20)));
        CHECK(out.b == (q > 0));
    }
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const Everything out = through({nan, nan, 0, false});
    CHECK(out.q == -10);
    CHECK(std::isnan(out.r));
    CHECK(through({std::numeric_limits<float>::infinity(), 0, 0, false}).q == 10);
}

}  // namespace purview::test
