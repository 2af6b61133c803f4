// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The schema as bytes: what a client needs to decode a world that it does not know. Struct offsets
// are not sent, because a decoded schema has no struct (PROTOCOL.md, "Schema").
#pragma once

#include "protocol/bit_reader.hpp"
#include "protocol/bit_writer.hpp"
#include "purview/schema.hpp"

namespace purview {

void write_schema(const Schema& schema, BitWriter& out) noexcept;

/// Returns whether both have the same encoding. Equal hashes do not prove that for a schema from an
/// attacker.
bool are_same_on_the_wire(const Schema& left, const Schema& right);

/// Returns a position or orientation component that is not replicated to everyone, or none. Owners
/// that predict it are an exception, unless a kind has positions relative to a parent.
ComponentId restricted_components(const Schema& schema);

/// Returns malformed for anything that a valid schema would not write.
Result<Schema> read_schema(BitReader& in);

/// One bit for each field of a kind, over all its components.
using FieldMask = std::uint64_t;
inline constexpr FieldMask all_fields = ~FieldMask{0};

struct KindField {
    ComponentId component;
    std::uint16_t field = 0;
    std::uint16_t word = 0;  ///< first word, within the component
    const FieldDef* def = nullptr;
    std::uint32_t largest = 0;  ///< largest word of an extrapolated field
};

/// Layout of a kind for replication. The schema must outlive the layout.
struct KindLayout {
    /// The fields of one component.
    struct Part {
        ComponentId component = ComponentId::none;
        unsigned first = 0;  ///< index of the first field
        unsigned count = 0;
        unsigned words = 0;
        FieldMask fields = 0;
        bool has_audience = false;
        unsigned bits_max = 0;  ///< in a body with references
    };
    std::vector<KindField> fields;  ///< in wire order, components in schema order
    std::vector<Part> parts;        ///< components that have fields
    std::size_t words = 0;          ///< of all fields
    FieldMask all = 0;
    FieldMask references = 0;
    FieldMask extrapolated = 0;  ///< numbers of one word
    std::uint32_t audience = 0;  ///< parts with an audience other than everyone, a bit each
    std::uint32_t staged = 0;    ///< of these, parts in staged replication
    /// Parts that most observers receive: those that do not own the entity, have no key in common
    /// with it, and are not selected by a custom audience.
    std::uint32_t public_parts = ~std::uint32_t{0};
    FieldMask public_fields = 0;
    std::size_t body_bits_max = 0;

    /// The fields of these parts.
    FieldMask fields_of(std::uint32_t allowed) const noexcept {
        if ((audience & ~allowed) == 0) return all;
        FieldMask mask = 0;
        for (std::size_t p = 0; p < parts.size(); ++p)
            mask |= (allowed >> p & 1U) != 0 ? parts[p].fields : 0;
        return mask;
    }
    /// Returns the fields of those of these parts that have an audience other than everyone.
    FieldMask audience_fields_of(std::uint32_t allowed) const noexcept {
        allowed &= audience;
        return allowed == 0 ? 0 : fields_of(allowed | ~audience) & ~fields_of(~audience);
    }
    /// Returns 0 if the kind does not have the component.
    FieldMask fields_of(ComponentId component) const noexcept {
        for (const Part& part : parts)
            if (part.component == component) return part.fields;
        return 0;
    }
    /// Returns whether a body has a change bit for each part. A single part for everyone needs
    /// none: an update implies its change.
    bool has_partial_audience() const noexcept { return parts.size() > 1 || audience != 0; }
};
KindLayout layout_of(const Schema& schema, KindId kind);
/// Layouts by KindId.
std::vector<KindLayout> layouts_of(const Schema& schema);

inline constexpr std::uint32_t all_allowed = ~std::uint32_t{0};

}  // namespace purview
