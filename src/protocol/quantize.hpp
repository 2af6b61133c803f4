// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A field of a struct as the unsigned numbers that travel, and back: one word for most, several for
// texts and references. Everything behind this point
// (comparison, encoding, digests) sees quantised numbers only, so that server and client speak of
// the very same values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "protocol/bit_reader.hpp"
#include "protocol/bit_writer.hpp"
#include "purview/schema.hpp"

namespace purview {

/// The words of the field inside the struct at `data`: words[field.words]. A reference: index and
/// generation; a text: its bytes, the first in the lowest bits.
void quantize(const FieldDef& field, const std::byte* data, std::uint32_t* words) noexcept;

/// The number in `data` lies beyond what the field can say, and `wire` is the end of its range.
bool is_clamped(const FieldDef& field, const std::byte* data, std::uint32_t wire) noexcept;

/// Of a field of one word; below 2^32. Values out of range are clamped; NaN becomes the minimum
/// (quantised) or the canonical NaN (real, ranged).
std::uint32_t quantize(const FieldDef& field, const std::byte* data) noexcept;

/// Writes the value of words[field.words] into the struct at `data`; nothing for a reference.
void dequantize(const FieldDef& field, const std::uint32_t* words, std::byte* data) noexcept;

/// Writes the value of the wire number into the struct at `data`. Numbers beyond the range (only a
/// foreign sender has them) become the maximum.
void dequantize(const FieldDef& field, std::uint32_t wire, std::byte* data) noexcept;

/// The words on the wire; not of references, whose words mean nothing elsewhere.
void write_words(const FieldDef& field, const std::uint32_t* words, BitWriter& out) noexcept;
/// That this writes, at most: a text takes what it has.
unsigned words_bits(const FieldDef& field, const std::uint32_t* words) noexcept;
/// Reads words[field.words]; fails at what write_words would not write.
void read_words(const FieldDef& field, BitReader& in, std::uint32_t* words) noexcept;

/// The value of the wire number, for display; 0 of what is no number.
double dequantized_value(const FieldDef& field, std::uint32_t wire) noexcept;

/// Of a text: its bytes before the first zero.
std::string text_of_words(const FieldDef& field, const std::uint32_t* words);

/// What is added to a coordinate that is told as seen from a parent: the middle of a quantised
/// range, so that it may be negative; 0 of other types.
double relative_origin(const FieldDef& field) noexcept;
/// One of the three numbers that a place begins with, as its field says it.
constexpr bool is_coordinate(const FieldDef& field) noexcept {
    return field.offset_bytes < sizeof(Vec3);
}
/// A place as seen from a parent, in the struct at `data`: as its fields are told.
void add_relative_origins(const ComponentDef& def, std::byte* data) noexcept;
/// The coordinate that a word says; `in_frame`: as seen from a parent.
float coordinate_of_word(const FieldDef& field, std::uint32_t wire, bool in_frame) noexcept;

/// What the words of the field say as the orientation of an entity.
Rotation orientation_of_words(const OrientationDef& def, const FieldDef& field,
                              const std::uint32_t* words) noexcept;

}  // namespace purview
