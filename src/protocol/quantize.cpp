// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "protocol/quantize.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/cut_text.hpp"
#include "core/rotation.hpp"

namespace purview {

namespace {

template <class T>
T load(const std::byte* data) noexcept {
    T value;
    std::memcpy(&value, data, sizeof value);
    return value;
}

template <class T>
void store(std::byte* data, T value) noexcept {
    std::memcpy(data, &value, sizeof value);
}

std::int64_t load_integer(const FieldDef& field, const std::byte* data) noexcept {
    switch (field.size_bytes) {
        case 1:
            return field.is_signed ? load<std::int8_t>(data)
                                   : std::int64_t{load<std::uint8_t>(data)};
        case 2:
            return field.is_signed ? load<std::int16_t>(data)
                                   : std::int64_t{load<std::uint16_t>(data)};
        default:
            return field.is_signed ? load<std::int32_t>(data)
                                   : std::int64_t{load<std::uint32_t>(data)};
    }
}

std::uint32_t canonical(float value) noexcept {
    return std::isnan(value) ? 0x7fc00000U : std::bit_cast<std::uint32_t>(value);
}

// -- ranged floats: exponent relative to that of the range, then the whole mantissa --------------

constexpr unsigned mantissa_bits = 23;
constexpr unsigned exponent_steps = 7;  // this many ones: the exponent follows in full

unsigned exponent_of(std::uint32_t bits) noexcept {
    return (bits >> mantissa_bits) & 0xffU;
}
unsigned top_exponent(const FieldDef& field) noexcept {
    const auto top = static_cast<float>(std::max(std::abs(field.min), std::abs(field.max)));
    return exponent_of(std::bit_cast<std::uint32_t>(top));
}

void write_ranged(const FieldDef& field, std::uint32_t bits, BitWriter& out) noexcept {
    const unsigned top = top_exponent(field), exponent = exponent_of(bits);
    const bool negative = bits >> 31 != 0;
    const bool is_near = exponent <= top && top - exponent < exponent_steps;
    if (is_near && (field.min < 0 || !negative)) {
        const unsigned below = top - exponent;
        out.bits((1U << below) - 1, below + 1);
        if (field.min < 0) out.boolean(negative);
    } else {
        out.bits((1U << exponent_steps) - 1, exponent_steps);
        out.boolean(negative);
        out.bits(exponent, 8);
    }
    out.bits(bits & ((1U << mantissa_bits) - 1), mantissa_bits);
}

std::uint32_t read_ranged(const FieldDef& field, BitReader& in) noexcept {
    const unsigned top = top_exponent(field);
    unsigned below = 0;
    while (below < exponent_steps && in.boolean()) ++below;
    std::uint32_t exponent = top - below;
    bool negative = false;
    if (below == exponent_steps) {
        negative = in.boolean();
        exponent = static_cast<std::uint32_t>(in.bits(8));
        // Each number has exactly one encoding, and there is only one NaN.
        const bool is_near = exponent <= top && top - exponent < exponent_steps;
        if (is_near && (field.min < 0 || !negative)) in.fail();
    } else {
        if (below > top) in.fail();
        if (field.min < 0) negative = in.boolean();
    }
    const auto mantissa = static_cast<std::uint32_t>(in.bits(mantissa_bits));
    const std::uint32_t bits =
        (negative ? 1U << 31 : 0U) | ((exponent & 0xffU) << mantissa_bits) | mantissa;
    if (bits != canonical(std::bit_cast<float>(bits))) in.fail();
    return bits;
}

// -- texts: bytes before the first zero ---------------------------------------------------------

constexpr unsigned text_size_bits = 5;

std::uint32_t text_byte(const std::uint32_t* words, std::size_t i) noexcept {
    return (words[i / 4] >> (8 * (i % 4))) & 0xffU;
}

std::size_t text_bytes(const FieldDef& field, const std::uint32_t* words) noexcept {
    std::size_t size = 0;
    while (size < field.size_bytes && text_byte(words, size) != 0) ++size;
    return size;
}

void write_text(const FieldDef& field, const std::uint32_t* words, BitWriter& out) noexcept {
    const std::size_t size = text_bytes(field, words);
    out.bits(size, text_size_bits);
    for (std::size_t i = 0; i < size; ++i) out.bits(text_byte(words, i), 8);
}

void read_text(const FieldDef& field, BitReader& in, std::uint32_t* words) noexcept {
    std::fill_n(words, field.words, 0U);
    const auto size = static_cast<std::size_t>(in.bits(text_size_bits));
    if (size > field.size_bytes) return in.fail();
    for (std::size_t i = 0; i < size; ++i) {
        const auto byte = static_cast<std::uint32_t>(in.bits(8));
        if (byte == 0) return in.fail();
        words[i / 4] |= byte << (8 * (i % 4));
    }
}

}  // namespace

void set_text(std::span<char> field, std::string_view text) noexcept {
    const std::string_view fits = cut_text(text, field.size());
    std::fill(std::copy(fits.begin(), fits.end(), field.begin()), field.end(), '\0');
}

unsigned words_bits(const FieldDef& field, const std::uint32_t* words) noexcept {
    return field.type == FieldType::text
               ? text_size_bits + 8 * static_cast<unsigned>(text_bytes(field, words))
               : field.wire_bits;
}

void write_words(const FieldDef& field, const std::uint32_t* words, BitWriter& out) noexcept {
    if (field.type == FieldType::ranged) return write_ranged(field, words[0], out);
    if (field.type == FieldType::text) return write_text(field, words, out);
    PURVIEW_ASSERT(field.type != FieldType::reference);
    out.bits(words[0], field.wire_bits);
}

void read_words(const FieldDef& field, BitReader& in, std::uint32_t* words) noexcept {
    if (field.type == FieldType::text) return read_text(field, in, words);
    words[0] = field.type == FieldType::ranged
                   ? read_ranged(field, in)
                   : static_cast<std::uint32_t>(in.bits(field.wire_bits));
}

double relative_origin(const FieldDef& field) noexcept {
    return field.type == FieldType::quantized ? dequantized_value(field, field.largest / 2) : 0;
}

void add_relative_origins(const ComponentDef& def, std::byte* data) noexcept {
    for (const FieldDef& field : def.fields) {
        if (!is_coordinate(field)) continue;
        std::byte* const at = data + field.offset_bytes;
        store(at, static_cast<float>(double{load<float>(at)} + relative_origin(field)));
    }
}

float coordinate_of_word(const FieldDef& field, std::uint32_t wire, bool in_frame) noexcept {
    return static_cast<float>(dequantized_value(field, wire) -
                              (in_frame ? relative_origin(field) : 0));
}

Rotation orientation_of_words(const OrientationDef& def, const FieldDef& field,
                              const std::uint32_t* words) noexcept {
    return field.type == FieldType::rotation
               ? unpack_rotation(*words)
               : orientation_of_number(def, dequantized_value(field, *words));
}

void quantize(const FieldDef& field, const std::byte* data, std::uint32_t* words) noexcept {
    const std::byte* at = data + field.offset_bytes;
    if (field.type == FieldType::reference) {
        const auto entity = load<EntityId>(at);
        words[0] = index_of(entity);
        words[1] = generation_of(entity);
    } else if (field.type == FieldType::text) {
        std::fill_n(words, field.words, 0U);
        for (std::size_t i = 0; i < field.size_bytes && at[i] != std::byte{0}; ++i)
            words[i / 4] |= std::to_integer<std::uint32_t>(at[i]) << (8 * (i % 4));
    } else {
        words[0] = quantize(field, data);
    }
}

std::uint32_t quantize(const FieldDef& field, const std::byte* data) noexcept {
    const std::byte* at = data + field.offset_bytes;
    switch (field.type) {
        case FieldType::boolean:
            return load<std::uint8_t>(at) != 0 ? 1 : 0;
        case FieldType::integer: {
            const std::int64_t value = load_integer(field, at);
            const auto min = static_cast<std::int64_t>(field.min);
            const auto max = static_cast<std::int64_t>(field.max);
            return static_cast<std::uint32_t>((value < min   ? min
                                               : value > max ? max
                                                             : value) -
                                              min);
        }
        case FieldType::real:
        case FieldType::ranged:
            return canonical(load<float>(at));
        case FieldType::rotation:
            return pack_rotation(load<Rotation>(at));
        case FieldType::text:
        case FieldType::reference:
            PURVIEW_ASSERT(false);  // more than one word
            return 0;
        case FieldType::quantized:
            return nearest_step(load<float>(at), field.min, field.step, field.largest);
    }
    return 0;
}

bool is_clamped(const FieldDef& field, const std::byte* data, std::uint32_t wire) noexcept {
    if (wire != 0 && wire != field.largest) return false;
    const std::byte* at = data + field.offset_bytes;
    if (field.type == FieldType::integer) {
        const auto value = static_cast<double>(load_integer(field, at));
        return value < field.min || value > field.max;
    }
    if (field.type != FieldType::quantized) return false;
    const double rounding = field.step / 2;
    const double value = load<float>(at);
    return !(value >= field.min - rounding && value <= field.max + rounding);
}

double dequantized_value(const FieldDef& field, std::uint32_t wire) noexcept {
    if (field.type == FieldType::real || field.type == FieldType::ranged)
        return std::bit_cast<float>(wire);
    if (field.type > FieldType::ranged) return 0;
    const std::uint32_t max = field.largest;
    const double steps = wire > max ? max : wire;
    return field.type == FieldType::quantized ? field.min + steps * field.step : field.min + steps;
}

void dequantize(const FieldDef& field, const std::uint32_t* words, std::byte* data) noexcept {
    if (field.type != FieldType::text) return dequantize(field, *words, data);
    for (std::size_t i = 0; i < field.size_bytes; ++i)
        data[field.offset_bytes + i] = static_cast<std::byte>(text_byte(words, i));
}

std::string text_of_words(const FieldDef& field, const std::uint32_t* words) {
    std::string text;
    for (std::size_t i = 0; i < field.size_bytes && text_byte(words, i) != 0; ++i)
        text.push_back(static_cast<char>(text_byte(words, i)));
    return text;
}

void dequantize(const FieldDef& field, std::uint32_t wire, std::byte* data) noexcept {
    std::byte* at = data + field.offset_bytes;
    switch (field.type) {
        case FieldType::boolean:
            store<std::uint8_t>(at, wire != 0 ? 1 : 0);
            return;
        case FieldType::integer: {
            const auto value = static_cast<std::int64_t>(dequantized_value(field, wire));
            switch (field.size_bytes) {
                case 1:
                    store(at, static_cast<std::uint8_t>(value));
                    return;
                case 2:
                    store(at, static_cast<std::uint16_t>(value));
                    return;
                default:
                    store(at, static_cast<std::uint32_t>(value));
                    return;
            }
        }
        case FieldType::real:
        case FieldType::ranged:
            store(at, std::bit_cast<float>(wire));
            return;
        case FieldType::rotation:
            store(at, unpack_rotation(wire));
            return;
        case FieldType::text:
        case FieldType::reference:
            return;
        case FieldType::quantized:
            store(at, static_cast<float>(dequantized_value(field, wire)));
            return;
    }
}

}  // namespace purview
