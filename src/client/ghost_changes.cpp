// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Which ghosts are not as the game has read them last: each once, with its components. Whoever
// waits for his group or is kept as a copy is none of them.
#include <algorithm>

#include "client/ghosts.hpp"

namespace purview {

/// To whoever reads them: a reference names only who was shown before this packet;
/// note_new_references finds who comes with it.
bool ClientGhosts::differ(const KindField& field, const std::uint32_t* before,
                          const std::uint32_t* now) {
    if (field.def->type != FieldType::reference)
        return !std::equal(now, now + field.def->words, before);
    if (*before == *now) return false;
    const auto names = [&](std::uint32_t word) {
        return word != 0 && is_shown(word - 1) && ghosts_[word - 1].shown_in != packets_;
    };
    names_unshown_ |= *now != 0 && !names(*now);
    return names(*before) || names(*now);
}

void ClientGhosts::note_change(LocalId ghost, std::uint32_t components, bool owner) {
    if ((components == 0 && !owner) || !is_shown(ghost)) return;
    ClientGhost& its = ghosts_[ghost];
    if (its.change == ClientGhost::no_change) {
        its.change = static_cast<std::uint32_t>(changes_.size());
        changes_.push_back({ghost});
    }
    PURVIEW_ASSERT(its.change < changes_.size() && changes_[its.change].ghost == ghost);
    changes_[its.change].components |= components;
    changes_[its.change].owner_changed |= owner;
}

/// Of whoever comes back, also what he is not told any more: it may be reset.
void ClientGhosts::note_shown(LocalId ghost, bool resumed) {
    PURVIEW_ASSERT(is_shown(ghost));
    ghosts_[ghost].shown_in = packets_;
    std::uint32_t components = 0;
    const auto& parts = layout(kind(ghost)).parts;
    for (std::size_t p = 0; p < parts.size(); ++p) {
        if (resumed || (told(ghost) >> p & 1U) != 0)
            components |= component_bit(parts[p].component);
    }
    note_change(ghost, components, true);
}

/// Whoever was named before he was shown.
void ClientGhosts::note_new_references() {
    const auto is_new = [&](LocalId ghost) {
        return is_shown(ghost) && ghosts_[ghost].shown_in == packets_;
    };
    if (!names_unshown_ ||
        std::none_of(events_.begin(), events_.end(),
                     [&](const GhostEvent& event) { return is_new(event.ghost); }))
        return;
    names_unshown_ = false;
    for_each_held([&](LocalId ghost) {
        const KindLayout& its = layout(kind(ghost));
        std::uint32_t components = 0;
        for_each_bit(its.references, 0, [&](std::size_t f) {
            const std::uint32_t named = *words_of(ghost, f);
            if (named == 0) return;
            names_unshown_ |= !is_shown(named - 1);
            if (is_new(named - 1)) components |= component_bit(its.fields[f].component);
        });
        note_change(ghost, components);
    });
}

void ClientGhosts::forget_change(LocalId ghost) {
    const std::uint32_t at = ghosts_[ghost].change;
    if (at == ClientGhost::no_change) return;
    PURVIEW_ASSERT(at < changes_.size() && changes_[at].ghost == ghost);
    ghosts_[ghost].change = ClientGhost::no_change;
    changes_[at] = changes_.back();
    changes_.pop_back();
    if (at < changes_.size()) ghosts_[changes_[at].ghost].change = at;
}

void ClientGhosts::clear_changes() noexcept {
    for (const ClientChange& change : changes_) {
        PURVIEW_ASSERT(ghosts_[change.ghost].change != ClientGhost::no_change);  // each once
        ghosts_[change.ghost].change = ClientGhost::no_change;
    }
    changes_.clear();
}

}  // namespace purview
