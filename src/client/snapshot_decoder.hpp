// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Decodes snapshots into edits. A whole snapshot is decoded and checked before anything is applied.
// Differences of dead-reckoned fields refer to the predictor state at the baseline in the packet,
// which this client has acknowledged.
//
// Invariants: after read() returned true, every edit has an existing local id and kind, has words
// for its mask, and fits into bytes_max together with all others.
//
// Must not know: events, positions, how an edit is applied.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "client/ghost_edit.hpp"
#include "client/ghost_motions.hpp"
#include "client/ghosts.hpp"
#include "client/sections.hpp"
#include "protocol/bit_reader.hpp"

namespace purview {

class SnapshotDecoder {
  public:
    SnapshotDecoder(const ClientGhosts& ghosts, const GhostMotions& motions);

    /// Memory limit for ghosts. A packet that would exceed it is malformed.
    std::size_t bytes_max = ~std::size_t{0};

    /// Decodes exactly one snapshot. Returns false if the bytes are malformed.
    bool read(BitReader& in);
    /// The tick of the snapshot read last: the one nearest to `newest` that fits its low bits.
    Tick completed_tick(Tick newest) const noexcept;
    /// Edits of the snapshot read last: leaves, enters, updates. Applying may reorder the leaves.
    std::span<GhostEdit> edits() noexcept { return edits_; }
    std::span<const std::uint32_t> words() const noexcept { return words_; }
    /// The motions of an edit; null if its values are absolute.
    const Motion* motions(const GhostEdit& edit) const noexcept {
        return edit.motions_at == GhostEdit::no_motions ? nullptr
                                                        : motions_.data() + edit.motions_at;
    }
    /// Call when the snapshot read last was applied; `newest` is the newest applied tick.
    void accept(Tick newest);

    /// The roles of a local id in a snapshot.
    enum class Named : std::uint8_t { leave, body, parent, reference, member_map };
    /// Calls visit(named, ghost) for each local id in the snapshot applied last, including ignored
    /// items. For checks.
    template <class Visit>
    void for_each_named(Visit&& visit) const;
    /// Calls visit(ghost, parts) for each body in it, with the parts that contain a field, one bit
    /// each (KindLayout). Includes ignored items. For checks.
    template <class Visit>
    void for_each_body(Visit&& visit) const;

  private:
    bool decode(BitReader& in);
    bool decode_kind(BitReader& in, GhostEdit& edit);
    bool decode_link(BitReader& in, GhostEdit& edit);
    bool decode_full(BitReader& in, GhostEdit& edit);
    bool decode_update(BitReader& in, GhostEdit& edit);
    void decode_sections(BitReader& in);
    void decode_fields(BitReader& in, FieldMask mask, const KindLayout& layout);
    void decode_references(BitReader& in, const GhostEdit& edit, const KindLayout& layout);
    void read_baseline(BitReader& in);
    bool decode_differences(BitReader& in, GhostEdit& edit);
    FieldMask decode_others(BitReader& in, const KindLayout& layout);
    bool has_room_for_edits() const noexcept;

    const ClientGhosts& ghosts_;
    const GhostMotions& held_motions_;
    unsigned kind_bits_;
    std::uint16_t tick_low_ = 0;
    Tick newest_ = 0;    ///< newest applied tick; 0: none yet
    Tick baseline_ = 0;  ///< of the differences being read; 0: none
    std::vector<GhostEdit> edits_;
    std::vector<std::uint32_t> words_;
    std::vector<Motion> motions_;
    std::vector<std::uint32_t> other_words_;  ///< scratch of decode_differences
    ClientSections sections_;
};

template <class Visit>
void SnapshotDecoder::for_each_named(Visit&& visit) const {
    for (const GhostEdit& edit : edits_) {
        visit(edit.type == GhostEdit::Type::leave ? Named::leave : Named::body, edit.ghost);
        if (edit.parent != no_local_id) visit(Named::parent, edit.parent);
        std::size_t at = edit.words_at;
        for_each_bit(edit.mask, 0, [&](std::size_t f) {
            const FieldDef& field = *ghosts_.layout(edit.kind).fields[f].def;
            if (field.type == FieldType::reference && words_[at] != 0)
                visit(Named::reference, words_[at] - 1);
            at += field.words;
        });
    }
    sections_.for_each_new(
        [&](const ClientSections::Member& member) { visit(Named::member_map, member.ghost); });
}

template <class Visit>
void SnapshotDecoder::for_each_body(Visit&& visit) const {
    for (const GhostEdit& edit : edits_) {
        if (edit.type == GhostEdit::Type::leave) continue;
        const auto& all = ghosts_.layout(edit.kind).parts;
        std::uint32_t parts = 0;
        for (std::size_t p = 0; p < all.size(); ++p)
            parts |= (edit.mask & all[p].fields) != 0 ? 1U << p : 0;
        visit(edit.ghost, parts);
    }
}

}  // namespace purview
