// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Serialise once, share: the fields of an entity are encoded once per tick for each set of fields
// that anybody needs, and gathered into the packets of all who need it. What is cached depends on
// the entity and the field mask alone, never on an observer. Emptied every tick.
#pragma once

#include <cstdint>
#include <vector>

#include "core/flat_map.hpp"
#include "replication/field_store.hpp"
#include "wire/bit_writer.hpp"

namespace purview {

struct EncodedFields {
    std::uint32_t offset_bytes = 0;
    std::uint32_t bits = 0;
};

class EncodeCache {
  public:
    explicit EncodeCache(const FieldStore& fields) : fields_(&fields) {}

    void clear() noexcept;

    /// These fields, without masks: the body of an enter. References are not in it: they are the
    /// observer's own, and follow.
    EncodedFields full(std::uint32_t entity_index, KindId kind, FieldMask mask);
    /// The fields of `mask`, with component and field masks before them: the body of an update;
    /// references as above.
    EncodedFields update(std::uint32_t entity_index, KindId kind, FieldMask mask);

    std::span<const std::byte> bytes(EncodedFields encoded) const noexcept {
        return std::span(bytes_).subspan(encoded.offset_bytes, (encoded.bits + 7) / 8);
    }
    std::uint64_t encodings() const noexcept { return encodings_; }
    std::uint64_t uses() const noexcept { return uses_; }

    /// Test builds: flip a bit of every n-th value (PURVIEW_BREAKABLE).
    std::uint32_t break_field_every = 0;

  private:
    struct Entry {
        FieldMask mask = 0;
        bool is_full = false;
        EncodedFields encoded;
        std::uint32_t next = 0;  ///< index + 1 of another entry of the entity, or 0
    };
    EncodedFields find_or_encode(std::uint32_t entity_index, KindId kind, FieldMask mask,
                                 bool full);
    EncodedFields encode(std::uint32_t entity_index, KindId kind, FieldMask mask, bool full);

    const FieldStore* fields_;
    std::vector<Entry> entries_;
    FlatMap<std::uint32_t, std::uint32_t> first_;  ///< entity index -> entry index + 1
    std::vector<std::byte> bytes_;
    std::uint64_t encodings_ = 0;
    std::uint64_t uses_ = 0;
};

}  // namespace purview
