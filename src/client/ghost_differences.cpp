// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Ghosts with extrapolated fields, on the client: differences are read against the motion that the
// server knows to be here, and no other; and from one snapshot to the next, ghosts go on.
#include <algorithm>
#include <bit>

#include "client/ghosts.hpp"
#include "core/mutate.hpp"

namespace purview {

/// The tick nearest to `newest` with the low bits of the packet.
Tick ClientGhosts::completed_tick(Tick newest) const noexcept {
    const auto ahead = static_cast<std::int16_t>(tick_low_ - static_cast<std::uint16_t>(newest));
    return newest + static_cast<Tick>(ahead);
}

/// Before the first snapshot there is nothing that a difference could be against.
void ClientGhosts::read_baseline(BitReader& in) {
    const auto back = static_cast<Tick>(in.bits(baseline_bits));
    const Tick tick = completed_tick(tick_);
    baseline_ = back == 0 || tick_ == 0 || tick <= back ? 0 : tick - back;
}

/// Fields that are not extrapolated, with what says which; their words are staged.
FieldMask ClientGhosts::decode_others(BitReader& in, const KindLayout& layout) {
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

bool ClientGhosts::decode_differences(BitReader& in, Edit& edit) {
    const KindLayout& its = layout(edit.kind);
    edit.words_at = static_cast<std::uint32_t>(staged_words_.size());
    edit.motions_at = static_cast<std::uint32_t>(staged_motions_.size());
    Tick of = 0;
    const Motion* before = motions_.find(ghosts_[edit.ghost].motions, baseline_, of);
    if (before == nullptr || baseline_ == 0) {
        in.fail();
        return false;
    }
    const Tick ticks = completed_tick(tick_) - of;
    edit.mask = its.extrapolated;
    if (its.all != its.extrapolated && in.boolean()) edit.mask |= decode_others(in, its);
    other_words_.assign(staged_words_.begin() + edit.words_at, staged_words_.end());
    staged_words_.resize(edit.words_at);
    const std::uint32_t* other = other_words_.data();
    for_each_bit(edit.mask, 0, [&](std::size_t f) {
        const KindField& field = its.fields[f];
        if ((its.extrapolated >> f & 1U) == 0) {  // has been read
            staged_words_.insert(staged_words_.end(), other, other + field.def->words);
            other += field.def->words;
            return;
        }
        const std::int64_t value = std::int64_t{extrapolated_value(*before, ticks, field.largest)} +
                                   read_difference(difference_parameter(*before), in);
        if (value < 0 || value > field.largest) in.fail();
        if (!in.ok()) return;
        staged_words_.push_back(static_cast<std::uint32_t>(value));
        staged_motions_.push_back(next_motion(*before, ticks, staged_words_.back(), field.largest));
        ++before;
    });
    decode_references(in, edit, its);
    return in.ok();
}

/// The words are those of the edit already.
void ClientGhosts::apply_motions(const Edit& edit, Tick tick) {
    const ClientGhost& ghost = ghosts_[edit.ghost];
    const KindLayout& its = layout(ghost.kind);
    PURVIEW_ASSERT(ghost.held && its.extrapolated != 0);
    if (ghost.motions == ClientMotions::no_slot) return;
    Motion* motion = motions_.push(ghost.motions, tick);
    const Motion* told =
        edit.motions_at == no_motions ? nullptr : staged_motions_.data() + edit.motions_at;
    bool moves = false;
    for_each_bit(its.extrapolated, 0, [&](std::size_t f) {
        *motion = told != nullptr ? *told++ : motion_at(*words_of(edit.ghost, f));
        moves |= motion++->speed != 0;
    });
    set_moving(edit.ghost, moves);
}

void ClientGhosts::set_moving(LocalId ghost, bool moves) {
    const std::size_t word = ghost / bits_per_word;
    if (word >= moving_.size()) moving_.resize(words_for(ghosts_.end()), 0);
    const std::uint64_t bit = std::uint64_t{1} << (ghost % bits_per_word);
    PURVIEW_ASSERT(word < moving_.size());
    moving_[word] = moves ? moving_[word] | bit : moving_[word] & ~bit;
}

void ClientGhosts::end_motions(LocalId ghost) {
    if (ghosts_[ghost].motions == ClientMotions::no_slot) return;
    set_moving(ghost, false);
    motions_.release(ghosts_[ghost].motions);
    ghosts_[ghost].motions = ClientMotions::no_slot;
}

/// What was not told is as extrapolated.
void ClientGhosts::go_on(Tick tick) {
    for (std::size_t w = 0; w < moving_.size(); ++w) {
        for_each_bit(moving_[w], w * bits_per_word, [&](std::size_t g) {
            const auto ghost = static_cast<LocalId>(g);
            const KindLayout& its = layout(kind(ghost));
            PURVIEW_ASSERT(is_held(ghost) && ghosts_[ghost].motions != ClientMotions::no_slot);
            Tick of = tick;
            const Motion* motion = motions_.newest(ghosts_[ghost].motions, of);
            if (motion == nullptr || of >= tick) return;
            bool moved = false;
            std::uint32_t changed = 0;  // components
            for_each_bit(its.extrapolated, 0, [&](std::size_t f) {
                const KindField& field = its.fields[f];
                std::uint32_t& word = *words_of(ghost, f);
                const std::uint32_t now = extrapolated_value(*motion++, tick - of, field.largest);
                if (word == now) return;
                word = now;
                moved |= says_pose(field, kind(ghost));
                changed |= component_bit(field.component);
            });
            note_change(ghost, changed);
            if (moved) note_position(ghost, tick, ghosts_[ghost].updated);
        });
    }
}

/// What was lost says nothing of the time after `stood_until`.
void ClientGhosts::note_position(LocalId which, Tick tick, Tick stood_until) {
    ClientGhost& ghost = ghosts_[which];
    if (ghost.samples > 0 && ghost.sample[0].tick < stood_until && stood_until < tick)
        push_sample(which, stood_until, sample(which, 0));
    if (ghost.samples > 0 && ghost.sample[0].tick == tick) {
        set_sample(which, 0, decode_pose(which));
    } else {
        push_sample(which, tick, decode_pose(which));
    }
}

}  // namespace purview
