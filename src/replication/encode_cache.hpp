// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Encodes the fields of an entity once per tick for each set of fields that any observer needs. All
// packets with that set copy the encoded body. A cached body depends only on the entity and the
// field mask, never on an observer. The cache is emptied every tick. Entries are found by entity
// index, without hashing. Allocates only if a tick needs more memory than every earlier tick.
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

    /// Discards all bodies and adapts to the current size of the field store.
    void clear();

    void prefetch(std::uint32_t entity_index) const noexcept {
        prefetch_line(&last_[entity_index]);
    }
    /// Returns the changed fields from the field store. The result is cached, because most
    /// observers have the same baseline.
    FieldMask changed_since(std::uint32_t entity_index, KindId kind, Tick baseline) {
        Last& last = last_of(entity_index);
        if (!last.changed.are_since(baseline)) {
            last.plain_deltas = {};
            last.changed = fields_->changes_since(entity_index, kind, baseline);
        }
        return last.changed.mask;
    }
    /// Encodes these fields without masks: the body of an enter. The body contains no references:
    /// they depend on the observer and are written after it.
    EncodedFields full(std::uint32_t entity_index, KindId kind, FieldMask mask);
    /// Encodes the component and field masks, then the fields of `mask`: the body of an update,
    /// without references.
    EncodedFields update(std::uint32_t entity_index, KindId kind, FieldMask mask) {
        ++uses_;
        Last& last = last_of(entity_index);
        if (last.mask != mask || last.update.bits == 0) {
            last.mask = mask;
            last.update = find_or_encode(last, entity_index, kind, mask, false);
        }
        return last.update;
    }
    /// Calls update() and shares the body with all observers that need a plain delta
    /// (GhostTable::is_plain_delta). It is valid for the baseline of the last changed_since(), and
    /// for baselines from `from` on that have the same changes.
    const EncodedFields* cache_plain_delta(std::uint32_t entity_index, KindId kind, FieldMask mask,
                                           bool public_only, Tick from) {
        const EncodedFields made = update(entity_index, kind, mask);
        Last& last = last_[entity_index];
        last.changed.from = std::max(last.changed.from, from);
        return &(last.plain_deltas[public_only ? 1 : 0] = made);
    }
    /// Returns the body that cache_plain_delta stored for this baseline, or null.
    const EncodedFields* cached_plain_delta(std::uint32_t entity_index, bool public_only,
                                            Tick baseline) noexcept {
        PURVIEW_ASSERT(entity_index < last_.size());
        const Last& last = last_[entity_index];
        const EncodedFields& made = last.plain_deltas[public_only ? 1 : 0];
        if (last.round != round_ || made.bits == 0 || !last.changed.are_since(baseline))
            return nullptr;
        ++uses_;
        return &made;
    }

    /// Encodes a body for one observer with write(BitWriter&), of at most `bits_max` bits.
    template <class Write>
    EncodedFields own(std::size_t bits_max, Write&& write) {
        BitWriter out(room_for(bits_max));
        write(out);
        return closed(out);
    }

    /// Returns the body as whole words, at least two, with zeros after its last bit. Valid until
    /// the next encoding.
    std::span<const std::byte> bytes(EncodedFields encoded) const noexcept {
        PURVIEW_ASSERT(encoded.offset_bytes + words_for(encoded.bits) * word_bytes <= bytes_end_);
        return std::span(bytes_).subspan(
            encoded.offset_bytes, std::max(words_for(encoded.bits), body_words_min) * word_bytes);
    }
    static constexpr std::size_t body_words_min = 2;
    /// Returns the start of all bodies, to which offsets are relative. Valid until the next
    /// encoding.
    const std::byte* bodies() const noexcept { return bytes_.data(); }
    /// Statistics of shared bodies.
    std::uint64_t encodings() const noexcept { return encodings_; }
    std::uint64_t uses() const noexcept { return uses_; }

    /// Test builds: flips a bit of each one-word value in every n-th body (PURVIEW_BREAKABLE).
    std::uint32_t break_field_every = 0;

  private:
    struct Entry {
        FieldMask mask = 0;
        bool is_full = false;
        EncodedFields encoded;
        std::uint32_t next = 0;  ///< index + 1 of another entry of the entity, or 0
    };
    /// The last results for an entity, and the head of the list of all its bodies.
    struct alignas(cache_line_bytes) Last {
        std::uint32_t round = 0;                      ///< value of round_; older ones are invalid
        std::uint32_t first = 0;                      ///< index + 1 of an entry, or 0
        ChangedFields changed{0, 0, 0};               ///< initially valid for no baseline
        FieldMask mask = 0;                           ///< of `update`
        EncodedFields update;                         ///< 0 bits: not encoded yet
        std::array<EncodedFields, 2> plain_deltas{};  ///< of all parts; of the public parts
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
    /// Returns the space after all bodies. closed() turns it into a body.
    std::span<std::byte> room_for(std::size_t bits);
    EncodedFields closed(const BitWriter& out) noexcept;

    const FieldStore* fields_;
    LineVector<Last> last_;  ///< by entity index
    std::uint32_t round_ = 0;
    std::vector<Entry> entries_;
    LineVector<std::byte> bytes_;  ///< never shrinks
    std::size_t bytes_end_ = 0;
    std::uint64_t encodings_ = 0;
    std::uint64_t uses_ = 0;
};

}  // namespace purview
