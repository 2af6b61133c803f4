// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "client/ghost_events.hpp"

#include <algorithm>
#include <utility>

#include "core/bitset.hpp"

namespace purview {

bool GhostEvents::differ(const KindField& field, const std::uint32_t* before,
                         const std::uint32_t* now) {
    if (field.def->type != FieldType::reference)
        return !std::equal(now, now + field.def->words, before);
    if (*before == *now) return false;
    const auto names = [&](std::uint32_t word) {
        return word != 0 && ghosts_.is_shown(word - 1) && ghosts_[word - 1].shown_in != packet_;
    };
    has_hidden_target_ |= *now != 0 && !names(*now);
    return names(*before) || names(*now);
}

void GhostEvents::note_change(LocalId ghost, std::uint32_t components, bool owner) {
    if ((components == 0 && !owner) || !ghosts_.is_shown(ghost)) return;
    ClientGhost& its = ghosts_[ghost];
    if (its.change == ClientGhost::no_change) {
        its.change = static_cast<std::uint32_t>(events_.size());
        events_.push_back({ghost_id_of(ghost), its.kind, its.reason, Change::updated});
    }
    PURVIEW_ASSERT(its.change < events_.size() && events_[its.change].ghost == ghost_id_of(ghost));
    events_[its.change].components |= components;
    events_[its.change].owner_changed |= owner;
}

/// A resumed ghost reports all components, because those that it no longer receives may have been
/// reset.
void GhostEvents::note_shown(LocalId ghost, bool resumed) {
    PURVIEW_ASSERT(ghosts_.is_shown(ghost));
    ClientGhost& its = ghosts_[ghost];
    PURVIEW_ASSERT(its.change == ClientGhost::no_change);
    its.shown_in = packet_;
    its.change = static_cast<std::uint32_t>(events_.size());
    events_.push_back(
        {ghost_id_of(ghost), its.kind, its.reason, resumed ? Change::resumed : Change::entered});
    ++bounded_;
    std::uint32_t components = 0;
    const auto& parts = ghosts_.layout(its.kind).parts;
    for (std::size_t p = 0; p < parts.size(); ++p) {
        if (resumed || (its.allowed >> p & 1U) != 0)
            components |= component_bit(parts[p].component);
    }
    note_change(ghost, components, true);
}

void GhostEvents::note_left(LocalId ghost, Reason reason, Change change) {
    ClientGhost& its = ghosts_[ghost];
    PURVIEW_ASSERT(!its.held);
    its.change = ClientGhost::no_change;
    events_.push_back({ghost_id_of(ghost), its.kind, reason, change});
    ++bounded_;
}

void GhostEvents::note_regrouped(LocalId ghost, LocalId root, LocalId parent) {
    ClientGhost& its = ghosts_[ghost];
    ClientEvent event{ghost_id_of(ghost), its.kind, its.reason, Change::regrouped};
    event.old_root = ghost_id_of(std::exchange(its.received_root, root));
    event.new_root = ghost_id_of(root);
    event.old_parent = ghost_id_of(std::exchange(its.received_parent, parent));
    event.new_parent = ghost_id_of(parent);
    events_.push_back(event);
    ++bounded_;
}

void GhostEvents::note_new_references() {
    const auto is_new = [&](LocalId ghost) {
        return ghosts_.is_shown(ghost) && ghosts_[ghost].shown_in == packet_;
    };
    if (!has_hidden_target_ ||
        std::none_of(of_packet().begin(), of_packet().end(),
                     [&](const ClientEvent& event) { return is_new(local_id_of(event.ghost)); }))
        return;
    has_hidden_target_ = false;
    ghosts_.for_each_held([&](LocalId ghost) {
        const KindLayout& its = ghosts_.layout(ghosts_.kind(ghost));
        std::uint32_t components = 0;
        for_each_bit(its.references, 0, [&](std::size_t f) {
            const std::uint32_t target = *ghosts_.words_of(ghost, f);
            if (target == 0) return;
            has_hidden_target_ |= !ghosts_.is_shown(target - 1);
            if (is_new(target - 1)) components |= component_bit(its.fields[f].component);
        });
        note_change(ghost, components);
    });
}

// -- read events --------------------------------------------------------------------------------

void GhostEvents::note_taken() noexcept {
    for (std::size_t i = taken_; i < events_.size(); ++i)
        if (has_changes(i)) ghosts_[local_id_of(events_[i].ghost)].change = ClientGhost::no_change;
    taken_ = events_.size();
}

void GhostEvents::clear() {
    note_taken();
    drop(events_.size());
}

std::size_t GhostEvents::bounded_in(std::size_t count) const noexcept {
    return static_cast<std::size_t>(
        std::count_if(events_.begin(), events_.begin() + static_cast<std::ptrdiff_t>(count),
                      [](const ClientEvent& one) { return one.change != Change::updated; }));
}

std::size_t GhostEvents::drop_untaken() {
    if (bounded_ <= untaken_max) return 0;
    drop_taken();
    if (bounded_ <= untaken_max) return 0;
    const std::size_t dropped = bounded_ - untaken_max / 2;
    std::size_t end = 0;
    for (std::size_t left = dropped; left > 0; ++end)
        left -= events_[end].change != Change::updated ? 1 : 0;
    drop(end);
    PURVIEW_ASSERT(bounded_ == untaken_max / 2);
    return dropped;
}

void GhostEvents::drop(std::size_t count) {
    PURVIEW_ASSERT(count <= events_.size());
    const auto ends = [](const ClientEvent& event) {
        return event.is_leave() || event.change == Change::dropped;
    };
    // Values stay readable if the remaining events contain a leave of the same id.
    Bitset unread(count > 0 && count < events_.size() ? ghosts_.slot_end() : 0);
    for (std::size_t i = count; unread.size() > 0 && i < events_.size(); ++i)
        if (ends(events_[i])) unread.set(local_id_of(events_[i].ghost));
    bounded_ -= bounded_in(count);
    for (std::size_t i = 0; i < events_.size(); ++i) {
        const LocalId ghost = local_id_of(events_[i].ghost);
        if (has_changes(i))
            ghosts_[ghost].change =
                i < count ? ClientGhost::no_change : static_cast<std::uint32_t>(i - count);
        if (i < count && ends(events_[i]) && (unread.size() == 0 || !unread.test(ghost)))
            ghosts_.forget_left(ghost);
    }
    events_.erase(events_.begin(), events_.begin() + static_cast<std::ptrdiff_t>(count));
    taken_ -= std::min(taken_, count);
    packet_at_ -= std::min(packet_at_, count);
}

}  // namespace purview
