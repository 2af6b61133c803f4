// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/hash.hpp"
#include "core/rotation.hpp"
#include "faulty_network.hpp"
#include "protocol/quantize.hpp"

namespace purview::test {

namespace {

struct Things {
    float speed = 0;
    float height = 0;
    Rotation facing;
    char name[10] = {};
};

struct ThingsSchema {
    ThingsSchema() {
        id = schema.component<Things>("things")
                 .ranged("speed", &Things::speed, 0, 1000)
                 .ranged("height", &Things::height, -8, 8)
                 .rotation("facing", &Things::facing)
                 .text("name", &Things::name)
                 .id();
        REQUIRE(schema.problem().empty());
    }
    const FieldDef& field(std::size_t i) const {
        return schema.components()[index_of(id)].fields[i];
    }
    Schema schema;
    ComponentId id{};
};

using Words = std::array<std::uint32_t, 8>;

/// Writes a field and reads it back. Returns the number of bits.
std::size_t travel(const FieldDef& field, const Words& words, Words& out) {
    std::array<std::byte, 64> bytes{};
    BitWriter writer(bytes);
    write_words(field, words.data(), writer);
    REQUIRE(writer.ok());
    CHECK(writer.bits_written() <= field.wire_bits);
    BitReader reader(writer.written());
    read_words(field, reader, out.data());
    REQUIRE(reader.ok());
    CHECK(reader.bits_read() == writer.bits_written());
    return writer.bits_written();
}

}  // namespace

TEST_CASE("wire: a float with a range hint is exact and takes 25 bits for typical values") {
    const ThingsSchema setup;
    SplitMix random(5);
    double bits = 0;
    constexpr int rounds = 20'000;
    for (int i = 0; i < rounds; ++i) {
        Things things;
        things.speed = random.between(0, 1000);
        Words words{}, back{};
        quantize(setup.field(0), reinterpret_cast<const std::byte*>(&things), words.data());
        bits += static_cast<double>(travel(setup.field(0), words, back));
        CHECK(std::bit_cast<float>(back[0]) == things.speed);
    }
    CHECK(bits / rounds < 25.1);
    const float limits[] = {0,
                            -0.0F,
                            1e-30F,
                            -1e-30F,
                            1e30F,
                            -7.999F,
                            1023.99F,
                            1024,
                            -1e30F,
                            std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity()};
    for (const float value : limits) {
        for (std::size_t f = 0; f < 2; ++f) {
            Things things{value, value, {}, {}};
            Words words{}, back{};
            quantize(setup.field(f), reinterpret_cast<const std::byte*>(&things), words.data());
            travel(setup.field(f), words, back);
            CHECK(back[0] == std::bit_cast<std::uint32_t>(value));
        }
    }
    Things nan{std::numeric_limits<float>::quiet_NaN(), 0, {}, {}};
    CHECK(quantize(setup.field(0), reinterpret_cast<const std::byte*>(&nan)) == 0x7fc00000U);
}

TEST_CASE("wire: a rotation is within 0.28 degrees, and an invalid one is the identity") {
    const ThingsSchema setup;
    SplitMix random(6);
    double worst = 0;
    for (int i = 0; i < 20'000; ++i) {
        Things things;
        const float scale = random.between(0.01F, 100);  // need not be of length 1
        Rotation& r = things.facing;
        r = {random.between(-1, 1) * scale, random.between(-1, 1) * scale,
             random.between(-1, 1) * scale, random.between(-1, 1) * scale};
        if (i % 2 == 0) {  // equal parts give the largest error
            const auto part = [&] { return random.between(0.49F, 0.51F); };
            r = {part(), part(), part(), part()};
        }
        Words words{}, back{};
        quantize(setup.field(2), reinterpret_cast<const std::byte*>(&things), words.data());
        CHECK(travel(setup.field(2), words, back) == 32);
        const Rotation out = unpack_rotation(back[0]);
        const double length = std::sqrt(double{r.x} * r.x + double{r.y} * r.y + double{r.z} * r.z +
                                        double{r.w} * r.w);
        const double dot = (double{out.x} * r.x + double{out.y} * r.y + double{out.z} * r.z +
                            double{out.w} * r.w) /
                           length;
        worst = std::max(worst, 2 * std::acos(std::min(1.0, std::abs(dot))) * 180 / 3.14159265);
    }
    CHECK(worst < 0.28);
    CHECK(worst > 0.25);
    for (const Rotation& exact :
         {Rotation{0, 0, 0, 1}, Rotation{0, 1, 0, 0}, Rotation{1, 0, 0, 0}}) {
        Things things{0, 0, exact, {}};
        CHECK(unpack_rotation(
                  quantize(setup.field(2), reinterpret_cast<const std::byte*>(&things))) == exact);
    }
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (const Rotation& none : {Rotation{0, 0, 0, 0}, Rotation{nan, 0, 0, 1}}) {
        Things things{0, 0, none, {}};
        CHECK(unpack_rotation(quantize(setup.field(2),
                                       reinterpret_cast<const std::byte*>(&things))) == Rotation{});
    }
    for (int i = 0; i < 20'000; ++i) {  // any received value decodes to a rotation
        const Rotation out = unpack_rotation(static_cast<std::uint32_t>(random.next()));
        const float length = out.x * out.x + out.y * out.y + out.z * out.z + out.w * out.w;
        CHECK(std::abs(length - 1) < 1e-5F);
    }
}

TEST_CASE("wire: a text ends before its first zero and has a single encoding") {
    const ThingsSchema setup;
    const auto words_of = [&](const char* text, std::size_t size) {
        Things things;
        std::memcpy(things.name, text, size);
        Words words{};
        quantize(setup.field(3), reinterpret_cast<const std::byte*>(&things), words.data());
        return words;
    };
    CHECK(words_of("ab\0cd", 5) == words_of("ab", 2));
    CHECK(words_of("0123456789", 10) != words_of("012345678", 9));
    for (const std::size_t size : {0U, 1U, 4U, 9U, 10U}) {
        const Words words = words_of("\xff\x80zABCDEFG", size);
        Words back{};
        CHECK(travel(setup.field(3), words, back) == 5 + 8 * size);
        CHECK(back == words);
    }
    const auto is_refused = [&](std::uint64_t bits) {
        std::array<std::byte, 64> bytes{};
        BitWriter writer(bytes);
        writer.bits(bits, 64);
        BitReader reader(bytes);
        Words back{};
        read_words(setup.field(3), reader, back.data());
        return !reader.ok();
    };
    CHECK(is_refused(11));             // longer than the field
    CHECK(is_refused(2 | 0x41 << 5));  // a zero within
    CHECK_FALSE(is_refused(1 | 0x41 << 5));
}

}  // namespace purview::test
