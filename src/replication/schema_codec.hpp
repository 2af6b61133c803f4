// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The schema as bytes: what a client needs to decode a world it has never heard of. Struct offsets
// do not travel; a decoded schema lays its fields out one after another (PROTOCOL.md, "Schema").
#pragma once

#include "purview/schema.hpp"
#include "wire/bit_reader.hpp"
#include "wire/bit_writer.hpp"

namespace purview {

void write_schema(const Schema& schema, BitWriter& out) noexcept;

/// malformed for anything that a sound schema would not write.
Result<Schema> read_schema(BitReader& in);

/// Fields of a kind in wire order, components in schema order.
struct KindField {
    ComponentId component;
    std::uint16_t field = 0;
    std::uint8_t wire_bits = 0;
};
std::vector<KindField> fields_of(const Schema& schema, KindId kind);

}  // namespace purview
