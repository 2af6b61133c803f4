// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "client/ghost_motions.hpp"

namespace purview {

GhostMotions::GhostMotions(ClientGhosts& ghosts, GhostPoses& poses, GhostEvents& events)
    : ghosts_(ghosts), poses_(poses), events_(events) {
    motions_.set_fields(ghosts_.extrapolated_fields_max());
}

void GhostMotions::begin(LocalId ghost) {
    PURVIEW_ASSERT(ghosts_[ghost].motions == ClientMotions::no_slot);
    if (ghosts_.layout(ghosts_.kind(ghost)).extrapolated != 0)
        ghosts_[ghost].motions = motions_.take();
}

void GhostMotions::apply(LocalId which, const Motion* received, Tick tick) {
    const ClientGhost& ghost = ghosts_[which];
    const KindLayout& its = ghosts_.layout(ghost.kind);
    PURVIEW_ASSERT(ghost.held && its.extrapolated != 0);
    if (ghost.motions == ClientMotions::no_slot) return;
    Motion* motion = motions_.push(ghost.motions, tick);
    bool moves = false;
    for_each_bit(its.extrapolated, 0, [&](std::size_t f) {
        *motion = received != nullptr ? *received++ : motion_at(*ghosts_.words_of(which, f));
        moves |= motion++->speed != 0;
    });
    set_moving(which, moves);
}

void GhostMotions::set_moving(LocalId ghost, bool moves) {
    const std::size_t word = ghost / bits_per_word;
    if (word >= moving_.size()) moving_.resize(words_for(ghosts_.slot_end()), 0);
    const std::uint64_t bit = std::uint64_t{1} << (ghost % bits_per_word);
    PURVIEW_ASSERT(word < moving_.size());
    moving_[word] = moves ? moving_[word] | bit : moving_[word] & ~bit;
}

void GhostMotions::end(LocalId ghost) {
    if (ghosts_[ghost].motions == ClientMotions::no_slot) return;
    set_moving(ghost, false);
    motions_.release(ghosts_[ghost].motions);
    ghosts_[ghost].motions = ClientMotions::no_slot;
}

void GhostMotions::go_on(Tick tick) {
    for (std::size_t w = 0; w < moving_.size(); ++w) {
        for_each_bit(moving_[w], w * bits_per_word, [&](std::size_t g) {
            const auto ghost = static_cast<LocalId>(g);
            const KindLayout& its = ghosts_.layout(ghosts_.kind(ghost));
            PURVIEW_ASSERT(ghosts_.is_held(ghost) &&
                           ghosts_[ghost].motions != ClientMotions::no_slot);
            Tick of = tick;
            const Motion* motion = motions_.newest(ghosts_[ghost].motions, of);
            if (motion == nullptr || of >= tick) return;
            bool moved = false;
            std::uint32_t changed = 0;  // components
            for_each_bit(its.extrapolated, 0, [&](std::size_t f) {
                const KindField& field = its.fields[f];
                std::uint32_t& word = *ghosts_.words_of(ghost, f);
                const std::uint32_t now = extrapolated_value(*motion++, tick - of, field.largest);
                if (word == now) return;
                word = now;
                moved |= poses_.has_pose(field, ghosts_.kind(ghost));
                changed |= component_bit(field.component);
            });
            events_.note_change(ghost, changed);
            if (moved) poses_.note(ghost, tick, ghosts_[ghost].updated);
        });
    }
}

}  // namespace purview
