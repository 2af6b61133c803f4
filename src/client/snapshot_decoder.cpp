// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "client/snapshot_decoder.hpp"

#include <algorithm>
#include <bit>

#include "core/mutate.hpp"
#include "protocol/quantize.hpp"
#include "protocol/rice.hpp"
#include "protocol/snapshot_format.hpp"

namespace purview {

SnapshotDecoder::SnapshotDecoder(const ClientGhosts& ghosts, const GhostMotions& motions)
    : ghosts_(ghosts), held_motions_(motions), kind_bits_(bits_for(ghosts.kind_count() - 1)) {}

bool SnapshotDecoder::read(BitReader& in) {
    tick_low_ = static_cast<std::uint16_t>(in.bits(wire_tick_bits));
    return decode(in);
}

void SnapshotDecoder::accept(Tick newest) {
    sections_.accept();
    newest_ = newest;
}

bool SnapshotDecoder::decode_kind(BitReader& in, GhostEdit& edit) {
    const auto kind = in.bits(kind_bits_);
    if (kind >= ghosts_.kind_count()) {
        in.fail();
        return false;
    }
    edit.kind = id_at<KindId>(kind);
    return true;
}

bool SnapshotDecoder::decode_link(BitReader& in, GhostEdit& edit) {
    const auto reason = in.bits(enter_reason_bits);
    if (!PURVIEW_GUARD(client_reason, read_enter_reason(reason, edit.reason))) in.fail();
    edit.owned = in.boolean();
    edit.whole = in.boolean();
    if (in.boolean()) edit.parent = static_cast<LocalId>(in.varint_max(local_ids_max - 1));
    if (edit.parent == edit.ghost) in.fail();
    for_each_bit(ghosts_.layout(edit.kind).audience, 0, [&](std::size_t part) {
        if (!in.boolean()) edit.allowed &= ~(1U << part);
    });
    return in.ok();
}

/// Appends the words of these fields; references are filled in later.
void SnapshotDecoder::decode_fields(BitReader& in, FieldMask mask, const KindLayout& layout) {
    for_each_bit(mask, 0, [&](std::size_t f) {
        const FieldDef& field = *layout.fields[f].def;
        const std::size_t at = words_.size();
        words_.resize(at + field.words, 0);
        if (field.type != FieldType::reference) read_words(field, in, words_.data() + at);
    });
}

void SnapshotDecoder::decode_references(BitReader& in, const GhostEdit& edit,
                                        const KindLayout& layout) {
    if ((edit.mask & layout.references) == 0) return;
    std::size_t at = edit.words_at;
    for_each_bit(edit.mask, 0, [&](std::size_t f) {
        const FieldDef& field = *layout.fields[f].def;
        if (field.type == FieldType::reference && in.boolean())
            words_[at] = static_cast<std::uint32_t>(in.varint_max(local_ids_max - 1)) + 1;
        at += field.words;
    });
}

bool SnapshotDecoder::decode_full(BitReader& in, GhostEdit& edit) {
    const KindLayout& its = ghosts_.layout(edit.kind);
    edit.mask = its.fields_of(edit.allowed);
    edit.words_at = static_cast<std::uint32_t>(words_.size());
    decode_fields(in, edit.mask, its);
    decode_references(in, edit, its);
    return in.ok();
}

bool SnapshotDecoder::decode_update(BitReader& in, GhostEdit& edit) {
    const KindLayout& its = ghosts_.layout(edit.kind);
    edit.mask = 0;
    edit.words_at = static_cast<std::uint32_t>(words_.size());
    for (const KindLayout::Part& part : its.parts) {
        if (its.has_partial_audience() && !in.boolean()) continue;
        FieldMask fields = part.fields;
        if (part.count > 1 && !in.boolean()) fields = in.bits(part.count) << part.first;
        decode_fields(in, fields, its);
        edit.mask |= fields;
    }
    // Dead-reckoned fields are sent as differences, or all of them as absolute values.
    if ((edit.mask & its.extrapolated) != its.extrapolated) in.fail();
    decode_references(in, edit, its);
    return in.ok();
}

/// Before the first snapshot, no baseline exists.
void SnapshotDecoder::read_baseline(BitReader& in) {
    const auto back = static_cast<Tick>(in.bits(baseline_bits));
    const Tick tick = completed_tick(newest_);
    baseline_ = back == 0 || newest_ == 0 || tick <= back ? 0 : tick - back;
}

/// Decodes which other fields follow, and their values; returns their mask.
FieldMask SnapshotDecoder::decode_others(BitReader& in, const KindLayout& layout) {
    FieldMask mask = 0;
    for (const KindLayout::Part& part : layout.parts) {
        const FieldMask others = part.fields & ~layout.extrapolated;
        if (others == 0 || !in.boolean()) continue;
        FieldMask fields = others;
        if (std::popcount(others) > 1 && !in.boolean()) {
            for_each_bit(others, 0, [&](std::size_t f) {
                if (!in.boolean()) fields &= ~(FieldMask{1} << f);
            });
        }
        decode_fields(in, fields, layout);
        mask |= fields;
    }
    return mask;
}

bool SnapshotDecoder::decode_differences(BitReader& in, GhostEdit& edit) {
    const KindLayout& its = ghosts_.layout(edit.kind);
    edit.words_at = static_cast<std::uint32_t>(words_.size());
    edit.motions_at = static_cast<std::uint32_t>(motions_.size());
    Tick of = 0;
    const Motion* before = held_motions_.find(edit.ghost, baseline_, of);
    if (before == nullptr || baseline_ == 0) {
        in.fail();
        return false;
    }
    const Tick ticks = completed_tick(newest_) - of;
    edit.mask = its.extrapolated;
    if (its.all != its.extrapolated && in.boolean()) edit.mask |= decode_others(in, its);
    other_words_.assign(words_.begin() + edit.words_at, words_.end());
    words_.resize(edit.words_at);
    const std::uint32_t* other = other_words_.data();
    for_each_bit(edit.mask, 0, [&](std::size_t f) {
        const KindField& field = its.fields[f];
        if ((its.extrapolated >> f & 1U) == 0) {  // already decoded
            words_.insert(words_.end(), other, other + field.def->words);
            other += field.def->words;
            return;
        }
        const std::int64_t value = std::int64_t{extrapolated_value(*before, ticks, field.largest)} +
                                   read_difference(difference_parameter(*before), in);
        if (value < 0 || value > field.largest) in.fail();
        if (!in.ok()) return;
        words_.push_back(static_cast<std::uint32_t>(value));
        motions_.push_back(next_motion(*before, ticks, words_.back(), field.largest));
        ++before;
    });
    decode_references(in, edit, its);
    return in.ok();
}

/// Decodes the ghosts of a section by member index. Members that are not held have a known kind, so
/// they can be skipped.
void SnapshotDecoder::decode_sections(BitReader& in) {
    const auto sections = in.varint_max(1U << ClientSections::slot_bits);
    for (std::uint64_t s = 0; s < sections && in.ok(); ++s) {
        const auto member_map =
            sections_.read_member_map(in, local_ids_max, ghosts_.kind_count(), kind_bits_);
        const auto count = in.varint_max(member_map.size());
        if (count == 0) in.fail();
        const auto k = static_cast<unsigned>(in.bits(rice_parameter_bits));
        std::uint64_t expected = 0;
        for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
            const std::uint64_t rank = expected + in.rice(k, member_map.size());
            if (!in.ok() || rank >= member_map.size()) return in.fail();
            expected = rank + 1;
            GhostEdit edit{};
            edit.type = GhostEdit::Type::update;
            edit.shared = true;
            const auto& member = member_map[static_cast<std::size_t>(rank)];
            edit.ghost = member.ghost;
            edit.kind = member.kind;
            if (!PURVIEW_GUARD(client_member_kind, !ghosts_.has_copy(edit.ghost) ||
                                                       ghosts_.kind(edit.ghost) == edit.kind)) {
                return in.fail();
            }
            if (decode_update(in, edit)) edits_.push_back(edit);
            if ((edit.mask & ghosts_.layout(edit.kind).references) != 0) in.fail();
        }
    }
}

bool SnapshotDecoder::decode(BitReader& in) {
    edits_.clear();
    words_.clear();
    motions_.clear();
    const auto section = [&](auto&& decode_item, bool plain) {
        // Every item takes several bits, which bounds the count.
        const auto count = in.varint_max(in.bits_left() / 2 + 1);
        const auto k = plain && count > 0 ? static_cast<unsigned>(in.bits(4)) : 0U;
        if (plain && count > 0 && ghosts_.extrapolated_fields_max() > 0) read_baseline(in);
        LocalId expected = 0;
        for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
            const auto gap = plain ? in.rice(k, local_ids_max) : in.varint_max(local_ids_max);
            GhostEdit edit{};
            edit.ghost = expected + static_cast<LocalId>(gap);
            if (edit.ghost >= local_ids_max) in.fail();
            expected = edit.ghost + 1;
            if (in.ok() && decode_item(edit)) edits_.push_back(edit);
        }
    };
    section(
        [&](GhostEdit& edit) {
            edit.type = GhostEdit::Type::leave;
            edit.reason = static_cast<Reason>(in.bits(leave_reason_bits));
            if (!PURVIEW_GUARD(client_leave_reason, is_leave_reason(edit.reason))) in.fail();
            if (in.boolean()) edit.policy = static_cast<Retention>(in.bits(leave_policy_bits));
            return in.ok();
        },
        false);
    section(
        [&](GhostEdit& edit) {
            edit.type = GhostEdit::Type::enter;
            if (!PURVIEW_GUARD(client_enter, !ghosts_.has_copy(edit.ghost)))
                in.fail();  // an id must be free before it is reused
            return decode_kind(in, edit) && decode_link(in, edit) && decode_full(in, edit);
        },
        false);
    const auto enters_here = [this](LocalId ghost) {
        return std::any_of(edits_.begin(), edits_.end(), [ghost](const GhostEdit& edit) {
            return edit.type == GhostEdit::Type::enter && edit.ghost == ghost;
        });
    };
    section(
        [&](GhostEdit& edit) {
            edit.type = GhostEdit::Type::update;
            if (!decode_kind(in, edit)) return false;
            edit.relink = in.boolean();
            if (edit.relink && !decode_link(in, edit)) return false;
            if (ghosts_.has_copy(edit.ghost) ? ghosts_.kind(edit.ghost) != edit.kind
                                             : enters_here(edit.ghost))
                in.fail();
            return decode_update(in, edit);
        },
        false);
    section(
        [&](GhostEdit& edit) {
            edit.type = GhostEdit::Type::update;
            if (!PURVIEW_GUARD(client_plain, ghosts_.is_held(edit.ghost))) {
                in.fail();
                return false;
            }
            edit.kind = ghosts_.kind(edit.ghost);
            return ghosts_.layout(edit.kind).extrapolated != 0 ? decode_differences(in, edit)
                                                               : decode_update(in, edit);
        },
        true);
    sections_.begin();
    if (in.boolean()) decode_sections(in);
    return in.ok() && PURVIEW_GUARD(client_room, has_room_for_edits());
}

/// Checks the memory of entering and resuming ghosts. A malicious server could allocate kilobytes
/// with one bit.
bool SnapshotDecoder::has_room_for_edits() const noexcept {
    std::size_t pages = 0, slots = 0, page_before = ~std::size_t{0};
    for (const GhostEdit& edit : edits_) {
        if (edit.type == GhostEdit::Type::leave || ghosts_.is_held(edit.ghost)) continue;
        const std::size_t page = GhostPages::page_of(edit.ghost);
        const bool is_new = edit.type == GhostEdit::Type::enter && !ghosts_.has_room(edit.ghost);
        if (is_new && page != page_before) {  // enters ascend
            page_before = page;
            ++pages;
        }
        if (ghosts_.layout(edit.kind).extrapolated != 0) ++slots;
    }
    return ghosts_.bytes() + pages * ghosts_.page_bytes() + held_motions_.bytes() +
               held_motions_.bytes_of(slots) <=
           bytes_max;
}

Tick SnapshotDecoder::completed_tick(Tick newest) const noexcept {
    const auto ahead = static_cast<std::int16_t>(tick_low_ - static_cast<std::uint16_t>(newest));
    return newest + static_cast<Tick>(ahead);
}

}  // namespace purview
