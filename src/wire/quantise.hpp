// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A field of a struct as the unsigned number that travels, and back. Everything behind this point
// (comparison, encoding, digests) sees quantised numbers only, so that server and client speak of
// the very same values.
#pragma once

#include <cstddef>
#include <cstdint>

#include "purview/schema.hpp"

namespace purview {

/// The number on the wire for the field inside the struct at `data`; below 2^wire_bits. Values out
/// of range are clamped; NaN becomes the minimum (quantised) or the canonical NaN (real).
std::uint32_t quantise(const FieldDef& field, const std::byte* data) noexcept;

/// Writes the value of the wire number into the struct at `data`. Numbers beyond the range (only a
/// foreign sender has them) become the maximum.
void dequantise(const FieldDef& field, std::uint32_t wire, std::byte* data) noexcept;

/// The value of the wire number, for display.
double dequantised_value(const FieldDef& field, std::uint32_t wire) noexcept;

/// The largest wire number of the field.
std::uint32_t wire_max(const FieldDef& field) noexcept;

}  // namespace purview
