// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Serialise once, share: the fields of an entity are encoded once per tick for each set of fields
// that anybody needs, and gathered into the packets of all who need it. What is cached depends on
// the entity and the field mask alone, never on an observer. Emptied every tick. Found by entity
// index: nothing is hashed, and once it has seen its largest tick, nothing is allocated.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "core/aligned.hpp"
#include "core/prefetch.hpp"
#include "protocol/bit_writer.hpp"
#include "replication/field_store.hpp"

namespace purview {

struct EncodedFields {
    std::uint32_t offset_bytes = 0;
    std::uint32_t bits = 0;
};

class EncodeCache {
  public:
    explicit EncodeCache(const FieldStore& fields) : fields_(&fields) {}

    /// Forgets all bodies, and takes in how large the field store is now.
    void clear();

    void prefetch(std::uint32_t entity_index) const noexcept {
        prefetch_line(&last_[entity_index]);
    }
    /// As the field store has it. Remembered, because most observers have the same baseline.
    FieldMask changed_since(std::uint32_t entity_index, KindId kind, Tick baseline) {
        Last& last = last_of(entity_index);
        if (!last.changed.are_since(baseline)) {
            last.usual = {};
            last.changed = fields_->changes_since(entity_index, kind, baseline);
        }
        return last.changed.mask;
    }
    /// These fields, without masks: the body of an enter. References are not in it: they are the
    /// observer's own, and follow.
    EncodedFields full(std::uint32_t entity_index, KindId kind, FieldMask mask);
    /// The fields of `mask`, with component and field masks before them: the body of an update;
    /// references as above.
    EncodedFields update(std::uint32_t entity_index, KindId kind, FieldMask mask) {
        ++uses_;
        Last& last = last_of(entity_index);
        if (last.mask != mask || last.update.bits == 0) {
            last.mask = mask;
            last.update = find_or_encode(last, entity_index, kind, mask, false);
        }
        return last.update;
    }
    /// The same, and from now on it is all that is told to anybody who is told what changed since
    /// his baseline, of all parts or of the public ones, and nothing else; if that is the baseline
    /// asked for last, or one since which the same has changed; from `from` on.
    const EncodedFields* make_usual(std::uint32_t entity_index, KindId kind, FieldMask mask,
                                    bool public_only, Tick from) {
        const EncodedFields made = update(entity_index, kind, mask);
        Last& last = last_[entity_index];
        last.changed.from = std::max(last.changed.from, from);
        return &(last.usual[public_only ? 1 : 0] = made);
    }
    /// What make_usual has made for this baseline, or null.
    const EncodedFields* usual_update(std::uint32_t entity_index, bool public_only,
                                      Tick baseline) noexcept {
        PURVIEW_ASSERT(entity_index < last_.size());
        const Last& last = last_[entity_index];
        const EncodedFields& usual = last.usual[public_only ? 1 : 0];
        if (last.round != round_ || usual.bits == 0 || !last.changed.are_since(baseline))
            return nullptr;
        ++uses_;
        return &usual;
    }

    /// What is one observer's own: write(BitWriter&), of at most so many bits.
    template <class Write>
    EncodedFields own(std::size_t bits_max, Write&& write) {
        BitWriter out(room_for(bits_max));
        write(out);
        return closed(out);
    }

    /// Whole words, two at least: behind the last bit are zeros. Valid until the next encoding.
    std::span<const std::byte> bytes(EncodedFields encoded) const noexcept {
        PURVIEW_ASSERT(encoded.offset_bytes + words_for(encoded.bits) * word_bytes <= bytes_end_);
        return std::span(bytes_).subspan(
            encoded.offset_bytes, std::max(words_for(encoded.bits), body_words_min) * word_bytes);
    }
    static constexpr std::size_t body_words_min = 2;
    /// Where offsets are counted from; until the next encoding.
    const std::byte* bodies() const noexcept { return bytes_.data(); }
    /// Of what is shared.
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
    /// What was asked of an entity last, and the way to all that was.
    struct alignas(cache_line_bytes) Last {
        std::uint32_t round = 0;               ///< of round_: older ones count for nothing
        std::uint32_t first = 0;               ///< index + 1 of an entry, or 0
        ChangedFields changed{0, 0, 0};        ///< since no baseline yet
        FieldMask mask = 0;                    ///< of `update`
        EncodedFields update;                  ///< no bits: none yet
        std::array<EncodedFields, 2> usual{};  ///< the update of all parts, and of public ones
    };
    Last& last_of(std::uint32_t entity_index) noexcept {
        PURVIEW_ASSERT(entity_index < last_.size());
        Last& last = last_[entity_index];
        if (last.round != round_) {
            last = {};
            last.round = round_;
        }
        return last;
    }
    EncodedFields find_or_encode(Last& last, std::uint32_t entity_index, KindId kind,
                                 FieldMask mask, bool full);
    EncodedFields encode(std::uint32_t entity_index, KindId kind, FieldMask mask, bool full);
    /// Behind all bodies; closed() makes a body of it.
    std::span<std::byte> room_for(std::size_t bits);
    EncodedFields closed(const BitWriter& out) noexcept;

    const FieldStore* fields_;
    LineVector<Last> last_;  ///< by entity index
    std::uint32_t round_ = 0;
    std::vector<Entry> entries_;
    LineVector<std::byte> bytes_;  ///< its size is the most it ever held
    std::size_t bytes_end_ = 0;
    std::uint64_t encodings_ = 0;
    std::uint64_t uses_ = 0;
};

}  // namespace purview
