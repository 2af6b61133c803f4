// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Converts a field of a struct to the unsigned numbers on the wire and back: one word for most
// types, several for texts and references. All later steps (comparison, encoding, digests) use only
// these quantized numbers, so server and client have exactly the same values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "protocol/bit_reader.hpp"
#include "protocol/bit_writer.hpp"
#include "purview/schema.hpp"

namespace purview {

/// Writes the words of the field inside the struct at `data` to words[field.words]. A reference has
/// index and generation; a text has its bytes, the first one in the lowest bits.
void quantize(const FieldDef& field, const std::byte* data, std::uint32_t* words) noexcept;

/// Returns whether the value in `data` is outside the range of the field, so that `wire` is an end
/// of the range.
bool is_clamped(const FieldDef& field, const std::byte* data, std::uint32_t wire) noexcept;

/// For a field of one word. Values out of range are clamped. NaN becomes the minimum (quantized) or
/// the canonical NaN (real, ranged).
std::uint32_t quantize(const FieldDef& field, const std::byte* data) noexcept;

/// Writes the value of words[field.words] into the struct at `data`; nothing for a reference.
void dequantize(const FieldDef& field, const std::uint32_t* words, std::byte* data) noexcept;

/// Writes the value of the wire number into the struct at `data`. Numbers above the range, which
/// only a malicious sender uses, become the maximum.
void dequantize(const FieldDef& field, std::uint32_t wire, std::byte* data) noexcept;

/// Writes the words to the wire. Not for references: the receiver cannot use their words.
void write_words(const FieldDef& field, const std::uint32_t* words, BitWriter& out) noexcept;
/// Returns the maximum number of bits that write_words writes. For a text, only its actual bytes
/// count.
unsigned words_bits(const FieldDef& field, const std::uint32_t* words) noexcept;
/// Reads words[field.words]. Fails for data that write_words does not write.
void read_words(const FieldDef& field, BitReader& in, std::uint32_t* words) noexcept;

/// Returns the value of the wire number, for display, or 0 if the field is not a number.
double dequantized_value(const FieldDef& field, std::uint32_t wire) noexcept;

/// Returns the bytes of a text before the first zero.
std::string text_of_words(const FieldDef& field, const std::uint32_t* words);

/// Returns the offset that is added to a coordinate relative to a parent before it is sent: the
/// middle of a quantized range, so that the coordinate may be negative; 0 for other types.
double relative_origin(const FieldDef& field) noexcept;
/// Returns whether the field is one of the three coordinates at the start of the position
/// component.
constexpr bool is_coordinate(const FieldDef& field) noexcept {
    return field.offset_bytes < sizeof(Vec3);
}
/// Adds the offsets to a position relative to a parent, in the struct at `data`, before it is
/// quantized.
void add_relative_origins(const ComponentDef& def, std::byte* data) noexcept;
/// Returns the coordinate for a word. `in_frame`: it is relative to a parent.
float coordinate_of_word(const FieldDef& field, std::uint32_t wire, bool in_frame) noexcept;

/// Converts the words of the field to the orientation of an entity.
Rotation orientation_of_words(const OrientationDef& def, const FieldDef& field,
                              const std::uint32_t* words) noexcept;

}  // namespace purview
