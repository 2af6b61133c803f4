// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The schema as bytes: what a client needs to decode a world it has never heard of. Struct offsets
// do not travel: behind a decoded schema there is no struct (PROTOCOL.md, "Schema").
#pragma once

#include "protocol/bit_reader.hpp"
#include "protocol/bit_writer.hpp"
#include "purview/schema.hpp"

namespace purview {

void write_schema(const Schema& schema, BitWriter& out) noexcept;

/// Of both the same is written. What equal hashes cannot say of a schema that a stranger made up.
bool are_same_on_the_wire(const Schema& left, const Schema& right);

/// A place or an orientation that is not told everybody, or none. Owners who predict it may do
/// without, but where somebody is told as seen from his parent.
ComponentId told_to_too_few(const Schema& schema);

/// malformed for anything that a sound schema would not write.
Result<Schema> read_schema(BitReader& in);

/// One bit for each field of a kind, all components together.
using FieldMask = std::uint64_t;
inline constexpr FieldMask all_fields = ~FieldMask{0};

struct KindField {
    ComponentId component;
    std::uint16_t field = 0;
    std::uint16_t word = 0;  ///< its first, within the component
    const FieldDef* def = nullptr;
    std::uint32_t largest = 0;  ///< word of a field that is extrapolated
};

/// A kind as replication sees it. Valid while its schema is.
struct KindLayout {
    /// Some fields of all: those of one component.
    struct Part {
        ComponentId component = ComponentId::none;
        unsigned first = 0;  ///< field
        unsigned count = 0;
        unsigned words = 0;
        FieldMask fields = 0;
        bool has_audience = false;
        unsigned bits_max = 0;  ///< in a body, references named
    };
    std::vector<KindField> fields;  ///< in wire order, components in schema order
    std::vector<Part> parts;        ///< components that have fields
    std::size_t words = 0;          ///< of all fields
    FieldMask all = 0;
    FieldMask references = 0;
    FieldMask extrapolated = 0;  ///< numbers of one word
    std::uint32_t audience = 0;  ///< parts that only some are told, a bit each
    std::uint32_t in_turn = 0;   ///< of these, those that wait for each other
    /// Parts that most observers are told: whoever neither owns it nor has a key in common with it,
    /// and whom no custom audience picks.
    std::uint32_t public_parts = ~std::uint32_t{0};
    FieldMask public_fields = 0;
    std::size_t body_bits_max = 0;

    /// The fields of these parts.
    FieldMask fields_of(std::uint32_t told) const noexcept {
        if ((audience & ~told) == 0) return all;
        FieldMask mask = 0;
        for (std::size_t p = 0; p < parts.size(); ++p)
            mask |= (told >> p & 1U) != 0 ? parts[p].fields : 0;
        return mask;
    }
    /// Of these parts, the fields of those that only some are told.
    FieldMask audience_fields_of(std::uint32_t told) const noexcept {
        told &= audience;
        return told == 0 ? 0 : fields_of(told | ~audience) & ~fields_of(~audience);
    }
    /// None: the kind does not have it.
    FieldMask fields_of(ComponentId component) const noexcept {
        for (const Part& part : parts)
            if (part.component == component) return part.fields;
        return 0;
    }
    /// A body says of each part whether it changed, unless there is no question.
    bool asks_parts() const noexcept { return parts.size() > 1 || audience != 0; }
};
KindLayout layout_of(const Schema& schema, KindId kind);
/// By KindId.
std::vector<KindLayout> layouts_of(const Schema& schema);

inline constexpr std::uint32_t told_all = ~std::uint32_t{0};

}  // namespace purview
