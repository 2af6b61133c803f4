// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "client/replica.hpp"

#include <algorithm>

#include "core/validate.hpp"

namespace purview {

namespace {

/// Invariants of all ghosts between two packets.
struct HeldGhosts {
    const Replica& replica;

    void validate() const {
        const ClientGhosts& ghosts = replica.ghosts;
        std::uint32_t shown = 0, waiting = 0;
        ghosts.for_each_held([&](LocalId ghost) {
            ++(ghosts.is_shown(ghost) ? shown : waiting);
            PURVIEW_ASSERT(index_of(ghosts.kind(ghost)) < ghosts.kind_count());
            PURVIEW_ASSERT(ghosts.parent(ghost) != ghost);
            PURVIEW_ASSERT(ghosts.shown_root(ghost) < ghosts.slot_end());
            PURVIEW_ASSERT(!ghosts.has_left(ghost));  // a new ghost with this id has its own values
            PURVIEW_ASSERT(!ghosts.is_shown(ghost) ||
                           ghosts.retention(ghost) == Retention::despawn);
        });
        PURVIEW_ASSERT(shown == ghosts.count());
        PURVIEW_ASSERT((waiting > 0) == replica.groups.is_any_waiting());
        const std::span<const ClientEvent> events = replica.events.all();
        for (std::size_t i = 0; i < events.size(); ++i) {
            if (!replica.events.has_changes(i)) continue;
            PURVIEW_ASSERT(ghosts.is_shown(local_id_of(events[i].ghost)));
            PURVIEW_ASSERT(events[i].components != 0 || events[i].owner_changed);
        }
    }
};

}  // namespace

Replica::Replica(Schema schema)
    : ghosts(std::move(schema)),
      poses(ghosts),
      events(ghosts),
      motions(ghosts, poses, events),
      groups(ghosts, poses, events),
      decoder(ghosts, motions) {}

void Replica::accept(Tick& newest, bool is_next) {
    const Tick tick = decoder.completed_tick(newest);
    const std::span<const GhostEdit> edits = decoder.edits();
    const bool relates = std::any_of(edits.begin(), edits.end(), [](const GhostEdit& edit) {
        return edit.type != GhostEdit::Type::update || edit.relink;
    });
    if (tick > newest) before_ = is_next ? tick - 1 : newest;
    apply(tick);
    revision_ += relates ? 1 : 0;
    newest = std::max(newest, tick);
    decoder.accept(newest);
    motions.go_on(newest);
    ++counters_.snapshots;
    const HeldGhosts held{*this};
    if (relates) PURVIEW_VALIDATE(held);
}

void Replica::apply(Tick tick) {
    events.begin_packet();
    const std::span<GhostEdit> edits = decoder.edits();
    const auto end_of = [&](GhostEdit::Type type) {
        return std::partition_point(edits.begin(), edits.end(),
                                    [&](const GhostEdit& edit) { return edit.type <= type; });
    };
    const std::span leaves(edits.begin(), end_of(GhostEdit::Type::leave));
    const std::span enters(leaves.end(), end_of(GhostEdit::Type::enter));
    const std::span updates(enters.end(), edits.end());
    apply_leaves(leaves, tick);
    for (const GhostEdit& edit : updates) {
        if (edit.relink && !ghosts.is_held(edit.ghost) && ghosts.has_copy(edit.ghost))
            resume(edit, tick);
    }
    apply_enters(enters, tick);
    apply_updates(updates, tick);
    groups.show_waiting(edits, tick);
    events.note_new_references();
    groups.report_relations();
    PURVIEW_ASSERT(leaving_.none());
}

/// Applies the leaves of children before those of their parents.
void Replica::apply_leaves(std::span<GhostEdit> leaves, Tick tick) {
    ignored_leaves_.clear();
    if (leaves.empty()) return;
    // Includes unknown ghosts, because references may point to them.
    for (const GhostEdit& edit : leaves) {
        if (edit.ghost >= leaving_.size()) leaving_.resize(edit.ghost + bits_per_word);
        leaving_.set(edit.ghost);
    }
    forget_references();
    const auto known = std::stable_partition(
        leaves.begin(), leaves.end(), [&](const GhostEdit& e) { return ghosts.has_copy(e.ghost); });
    counters_.ignored_items += static_cast<std::uint64_t>(leaves.end() - known);
    for (auto edit = known; edit != leaves.end(); ++edit) ignored_leaves_.push_back(edit->ghost);
    std::stable_sort(leaves.begin(), known, [&](const GhostEdit& a, const GhostEdit& b) {
        return ghosts.depth_of(a.ghost) > ghosts.depth_of(b.ghost);
    });
    if (known != leaves.begin()) {
        groups.find_orphans(leaving_);
        for (auto edit = leaves.begin(); edit != known; ++edit) remove(*edit, tick);
        groups.stop_waiting(leaving_);
    }
    for (const GhostEdit& edit : leaves) leaving_.reset(edit.ghost);
}

/// Applies the enters of parents first, in any order of the packet.
void Replica::apply_enters(std::span<const GhostEdit> enters, Tick tick) {
    std::vector<const GhostEdit*> early;
    const auto enter_if_ready = [&](const GhostEdit* edit) {
        if (!groups.is_ready(*edit)) return false;
        enter(*edit, tick);
        return true;
    };
    for (const GhostEdit& edit : enters)
        if (!enter_if_ready(&edit)) early.push_back(&edit);
    while (std::erase_if(early, enter_if_ready) > 0) continue;
    counters_.order_violations += early.size();  // their parents are not held
    for (const GhostEdit* edit : early) enter(*edit, tick);
}

void Replica::apply_updates(std::span<const GhostEdit> updates, Tick tick) {
    // First ends all links to other parents, because two ghosts may have swapped places.
    for (const GhostEdit& edit : updates) {
        if (edit.relink && ghosts.is_held(edit.ghost) && ghosts.parent(edit.ghost) != edit.parent)
            groups.unlink(edit.ghost, tick);
    }
    for (const GhostEdit& edit : updates) {
        if (!ghosts.is_held(edit.ghost)) {
            ++counters_.ignored_items;
            continue;
        }
        // The packet also has an individual update, which is as new as the section.
        if (edit.shared && ghosts[edit.ghost].packet == events.packet()) continue;
        if (edit.relink) {
            if (ghosts.owned(edit.ghost) != edit.owned) events.note_change(edit.ghost, 0, true);
            ghosts[edit.ghost].owned = edit.owned;
            groups.end_link_back(edit.ghost, edit.linked_parent(), tick);
            groups.set_parent(edit.ghost, edit.linked_parent(), tick);
            change_allowed(edit);
            if (!groups.is_ready(edit)) ++counters_.order_violations;
        }
        apply_values(edit, tick);
    }
}

/// Resets references to leaving ghosts, because their ids may be reused soon.
void Replica::forget_references() {
    if (!ghosts.has_references()) return;
    ghosts.for_each_room([&](LocalId ghost) {
        if (!ghosts.has_copy(ghost) && !ghosts.has_left(ghost)) return;
        for_each_bit(ghosts.layout(ghosts.kind(ghost)).references, 0, [&](std::size_t f) {
            std::uint32_t& target = *ghosts.words_of(ghost, f);
            if (target == 0 || !is_leaving(target - 1)) return;
            if (ghosts.is_shown(target - 1))
                events.note_change(
                    ghost, component_bit(ghosts.layout(ghosts.kind(ghost)).fields[f].component));
            target = 0;
        });
    });
}

void Replica::remove(const GhostEdit& edit, Tick tick) {
    const LocalId ghost = edit.ghost;
    ClientGhost& its = ghosts[ghost];
    const bool is_kept = edit.policy != Retention::despawn;
    PURVIEW_ASSERT(ghosts.has_copy(ghost));
    if (!its.held &&
        is_kept) {  // already retained, because the enter was lost; the policy may differ
        its.kept = edit.policy;
        return;
    }
    const bool was_shown = ghosts.is_shown(ghost);
    if (its.held) {
        // Unlinks children in the order of the leaves, because a pose may depend on the poses of
        // ancestors.
        groups.unlink_children(ghost, tick);
        if (its.waits) ignored_leaves_.push_back(ghost);
        if (was_shown && (its.received_root != ghost || its.received_parent != no_local_id)) {
            events.note_regrouped(ghost, no_local_id, no_local_id);
        }
        groups.set_parent(ghost, no_local_id, tick);
    }
    const Change change = is_kept ? Change::retained : was_shown ? Change::left : Change::dropped;
    const bool was_kept = its.known && its.waits;
    motions.end(ghost);  // a retained copy keeps its last values
    ghosts.release(ghost);
    // The server assumes that the copy exists, even if the ghost waited for its group and was never
    // shown.
    its.kept = edit.policy;
    if (its.known && !(was_kept && is_kept)) events.note_left(ghost, edit.reason, change);
    its.has_left = its.known && !is_kept;
    its.known = its.known && is_kept;
}

/// Resumes a retained ghost: its entity entered again.
void Replica::resume(const GhostEdit& edit, Tick tick) {
    ClientGhost& its = ghosts[edit.ghost];
    PURVIEW_ASSERT(!its.held && its.kept != Retention::despawn);
    PURVIEW_ASSERT(its.kind == edit.kind);
    PURVIEW_ASSERT(its.motions == ClientMotions::no_slot && its.change == ClientGhost::no_change);
    its.held = true;
    if (ghosts.layout(its.kind).references != 0) events.note_references();
    its.reason = edit.reason;
    its.samples = 0;  // the old samples are not connected to the new position
    motions.begin(edit.ghost);
    // Shown after its ancestors, which may follow in the packet.
    groups.arrive(edit.ghost, false, tick);
}

void Replica::enter(const GhostEdit& edit, Tick tick) {
    ghosts.make_room(edit.ghost);
    groups.end_link_back(edit.ghost, edit.linked_parent(), tick);
    ClientGhost& ghost = ghosts.hold(edit.ghost, edit.kind);
    ghost.reason = edit.reason;
    ghost.owned = edit.owned;
    ghost.allowed = edit.allowed;
    groups.begin_link(edit.ghost, edit.linked_parent());
    motions.begin(edit.ghost);
    groups.arrive(edit.ghost, edit.whole, tick);
    apply_values(edit, tick);
}

void Replica::apply_values(const GhostEdit& edit, Tick tick) {
    ClientGhost& ghost = ghosts[edit.ghost];
    PURVIEW_ASSERT(ghost.held);
    PURVIEW_ASSERT(ghost.kind == edit.kind);  // the packet was decoded with this kind
    std::size_t at = edit.words_at;
    bool moved = ghost.samples == 0 || ghost.reframed;
    ghost.reframed = false;
    const KindLayout& its = ghosts.layout(ghost.kind);
    std::uint32_t changed = 0;  // components
    for_each_bit(edit.mask, 0, [&](std::size_t f) {
        const KindField& field = its.fields[f];
        const std::uint32_t* received = decoder.words().data() + at;
        std::uint32_t* words = ghosts.words_of(edit.ghost, f);
        if (events.differ(field, words, received)) changed |= component_bit(field.component);
        std::copy_n(received, field.def->words, words);
        at += field.def->words;
        moved |= poses.has_pose(field, ghost.kind);
    });
    PURVIEW_ASSERT(at <= decoder.words().size());
    events.note_change(edit.ghost, changed);
    // Interpolation must not stretch a move over idle time. An earlier move would have been sent
    // earlier.
    const auto silence = static_cast<float>(tick - ghost.updated);
    const bool was_idle =
        !motions.is_moving(edit.ghost) && before_ > ghost.updated && silence > way_ticks_max;
    if (its.extrapolated != 0) motions.apply(edit.ghost, decoder.motions(edit), tick);
    if (moved && ghosts.has_position(edit.ghost))
        poses.note(edit.ghost, tick, was_idle ? before_ : ghost.updated);
    ghost.updated = tick;
    ghost.packet = events.packet();
}

/// Applies a change of the allowed components. A component that the client no longer receives keeps
/// or resets its values; a component that it receives again counts as changed.
void Replica::change_allowed(const GhostEdit& edit) {
    ClientGhost& ghost = ghosts[edit.ghost];
    const KindLayout& its = ghosts.layout(ghost.kind);
    const OrientationDef& turn = ghosts.orientation(ghost.kind);
    std::size_t at = 0;
    for (std::size_t p = 0; p < its.parts.size(); ++p) {
        const KindLayout::Part& part = its.parts[p];
        const bool ends = ((ghost.allowed & ~edit.allowed) >> p & 1U) != 0;
        const auto& audience = ghosts.schema().components()[index_of(part.component)].audience;
        if (ends && !audience.keeps_values) ghosts.reset_words(edit.ghost, at, part.words);
        const bool begins = ((edit.allowed & ~ghost.allowed) >> p & 1U) != 0;
        if (begins || ends) events.note_change(edit.ghost, component_bit(part.component));
        if (begins &&
            (part.component == ghosts.schema().position() || part.component == turn.component))
            ghost.samples = 0;  // the old samples are not connected to the new position
        at += part.words;
    }
    PURVIEW_ASSERT(at == ghosts.defaults(ghost.kind).size());
    ghost.allowed = edit.allowed;
}

}  // namespace purview
