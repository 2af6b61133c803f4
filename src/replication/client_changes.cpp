// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Which ghosts are not as the game has read them last: each once, with its components. Whoever
// waits for his group or is kept as a copy is none of them.
#include <algorithm>

#include "replication/client_ghosts.hpp"

namespace purview {

/// To whoever reads them: a reference names only whom he is shown.
bool ClientGhosts::differ(const KindField& field, const std::uint32_t* a,
                          const std::uint32_t* b) const {
    if (std::equal(a, a + field.def->words, b)) return false;
    const auto names = [&](std::uint32_t word) { return word != 0 && is_shown(word - 1); };
    return field.def->type != FieldType::reference || names(*a) || names(*b);
}

void ClientGhosts::note_change(LocalId ghost, std::uint32_t components, bool owner) {
    if (!is_shown(ghost)) return;
    ClientGhost& its = ghosts_[ghost];
    if (its.change == ClientGhost::no_change) {
        its.change = static_cast<std::uint32_t>(changes_.size());
        changes_.push_back({ghost});
    }
    changes_[its.change].components |= components;
    changes_[its.change].owner |= owner;
}

/// It came, or came back.
void ClientGhosts::note_all(LocalId ghost) {
    std::uint32_t components = 0;
    const auto& parts = layout(kind(ghost)).parts;
    for (std::size_t p = 0; p < parts.size(); ++p) {
        if ((told(ghost) >> p & 1U) != 0) components |= 1U << index_of(parts[p].component);
    }
    note_change(ghost, components, true);
}

/// Whoever was named before he came.
void ClientGhosts::note_new_references() {
    if (!has_references_) return;
    Bitset new_ones(ghosts_.end());
    bool is_any = false;
    for (const GhostEvent& event : events_) {
        if (!is_shown(event.ghost)) continue;
        new_ones.set(event.ghost);
        is_any = true;
    }
    if (!is_any) return;
    for_each_held([&](LocalId ghost) {
        const KindLayout& its = layout(kind(ghost));
        for_each_bit(its.references, 0, [&](std::size_t f) {
            const std::uint32_t named = *words_of(ghost, f);
            if (named != 0 && named - 1 < new_ones.size() && new_ones.test(named - 1))
                note_field(ghost, its.fields[f]);
        });
    });
}

void ClientGhosts::forget_change(LocalId ghost) {
    const std::uint32_t at = ghosts_[ghost].change;
    if (at == ClientGhost::no_change) return;
    ghosts_[ghost].change = ClientGhost::no_change;
    changes_[at] = changes_.back();
    changes_.pop_back();
    if (at < changes_.size()) ghosts_[changes_[at].ghost].change = at;
}

void ClientGhosts::clear_changes() noexcept {
    for (const ClientChange& change : changes_)
        ghosts_[change.ghost].change = ClientGhost::no_change;
    changes_.clear();
}

}  // namespace purview
