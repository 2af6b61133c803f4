// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Groups on a client: held ghosts wait until all of their group is here and are shown with it; who
// is below whom is told once for each change; and a place that is told as seen from a parent is the
// same place when the parent changes.
#include <algorithm>
#include <array>
#include <tuple>

#include "client/ghosts.hpp"
#include "purview/limits.hpp"

namespace purview {

// -- groups: shown as one ------------------------------------------------------------------------

LocalId ClientGhosts::root_of(LocalId ghost) const noexcept {
    for (unsigned steps = 0; steps < limits::group_depth; ++steps) {
        const LocalId above = ghosts_[ghost].parent;
        if (above == no_local_id || !is_held(above)) break;
        ghost = above;
    }
    return ghost;
}

unsigned ClientGhosts::depth_of(LocalId ghost) const noexcept {
    unsigned depth = 0;
    for (; depth < limits::group_depth && ghosts_[ghost].parent != no_local_id &&
           is_held(ghosts_[ghost].parent);
         ++depth) {
        ghost = ghosts_[ghost].parent;
    }
    return depth;
}

/// It is held from now on. It is shown with the rest of its group; at once, if nothing waits.
void ClientGhosts::arrive(LocalId ghost, bool whole, Tick tick) {
    ClientGhost& its = ghosts_[ghost];
    PURVIEW_ASSERT(its.held && !its.waits);
    its.entered = tick;
    its.told_root = ghost;
    its.told_parent = no_local_id;
    its.waits = true;
    if (whole && waiting_.empty()) return show(ghost);
    waiting_.push_back(ghost);
}

void ClientGhosts::show(LocalId ghost) {
    ClientGhost& its = ghosts_[ghost];
    PURVIEW_ASSERT(its.held && its.waits);
    its.waits = false;
    its.kept = Retention::despawn;
    are_links_new_ = are_links_new_ || its.parent != no_local_id;
    ++count_;
    const bool resumed = std::exchange(its.known, true);
    events_.push_back({ghost, its.kind, its.reason, resumed ? Change::resumed : Change::entered});
    note_shown(ghost, resumed);
}

/// Groups that are whole now, by what this packet says; and those that have waited too long.
void ClientGhosts::show_waiting(Tick tick) {
    if (waiting_.empty()) return;
    Bitset roots(ghosts_.end());
    for (const Edit& edit : edits_) {
        const bool links = edit.type == Edit::Type::enter || edit.relink;
        if (links && edit.whole && is_held(edit.ghost)) roots.set(root_of(edit.ghost));
    }
    for (const LocalId ghost : waiting_) {
        PURVIEW_ASSERT(ghosts_[ghost].held && ghosts_[ghost].waits);
        if (tick - ghosts_[ghost].entered < wait_ticks_max) continue;
        roots.set(root_of(ghost));
        ++counters_.waits_ended;
    }
    const auto ready = std::stable_partition(waiting_.begin(), waiting_.end(), [&](LocalId ghost) {
        return !roots.test(root_of(ghost));
    });
    std::vector<LocalId> shown(ready, waiting_.end());
    waiting_.erase(ready, waiting_.end());
    std::stable_sort(shown.begin(), shown.end(),
                     [&](LocalId a, LocalId b) { return depth_of(a) < depth_of(b); });
    for (const LocalId ghost : shown) {
        show(ghost);
        are_links_new_ = true;  // of those below it, too
    }
}

/// Once for each ghost whose parent or root is another than it was told last.
void ClientGhosts::tell_relations() {
    if (!are_links_new_) return;
    are_links_new_ = false;
    for_each_held([&](LocalId ghost) {
        if (!is_shown(ghost)) return;
        ClientGhost& its = ghosts_[ghost];
        const LocalId parent = shown_parent(ghost);
        LocalId root = ghost;
        for (unsigned steps = 0; steps < limits::group_depth && shown_parent(root) != no_local_id;
             ++steps)
            root = shown_parent(root);
        if (root == its.told_root && parent == its.told_parent) return;
        relations_.push_back({ghost, its.told_root, root, its.told_parent, parent});
        its.told_root = root;
        its.told_parent = parent;
    });
}

// -- relative places -----------------------------------------------------------------------------

/// Where it is told relative to: its parent, or nobody.
LocalId ClientGhosts::frame_of(LocalId ghost) const noexcept {
    const ClientGhost& its = ghosts_[ghost];
    const bool is_relative = schema_.kinds()[index_of(its.kind)].relative_position &&
                             its.parent != no_local_id && is_held(its.parent) &&
                             has_position(ghost) && has_position(its.parent);
    return is_relative ? its.parent : no_local_id;
}

/// What it was in its old frame it is in its new one: it does not jump.
void ClientGhosts::members_of(LocalId ghost, std::vector<LocalId>& out) const {
    PURVIEW_ASSERT(is_shown(ghost));
    out.clear();
    const LocalId root = shown_root(ghost);
    struct Child {
        LocalId parent;
        std::uint32_t link;
        LocalId ghost;
    };
    std::vector<Child> children;
    for_each_held([&](LocalId one) {
        if (!is_shown(one) || shown_root(one) != root || one == root) return;
        children.push_back({shown_parent(one), ghosts_[one].link, one});
    });
    std::sort(children.begin(), children.end(), [](const Child& a, const Child& b) {
        return std::tie(a.parent, a.link, a.ghost) < std::tie(b.parent, b.link, b.ghost);
    });
    // Depth first: what is still to be visited stands in reverse.
    std::vector<LocalId> waiting{root};
    while (!waiting.empty()) {
        const LocalId at = waiting.back();
        waiting.pop_back();
        out.push_back(at);
        const auto [first, last] =
            std::equal_range(children.begin(), children.end(), Child{at, 0, 0},
                             [](const Child& a, const Child& b) { return a.parent < b.parent; });
        for (auto child = last; child != first; --child) waiting.push_back(std::prev(child)->ghost);
    }
}

/// The packet that ended a link further up may be lost, so that two links would meet that the
/// server never had at once. Packets are applied in order: the link that is there is the older one.
/// Both ways that meet are at most group_depth long, whatever a correct server sends; a longer
/// chain of another one must not make every enter walk all of it.
void ClientGhosts::end_link_back(LocalId ghost, LocalId parent, Tick tick) {
    constexpr unsigned links_max = 2 * limits::group_depth;
    LocalId at = parent;
    for (unsigned links = 0; links < links_max && at != no_local_id && is_held(at);
         ++links, at = ghosts_[at].parent) {
        if (ghosts_[at].parent != ghost) continue;
        are_links_new_ = true;
        return set_parent(at, no_local_id, tick);
    }
}

void ClientGhosts::set_parent(LocalId ghost, LocalId parent, Tick tick) {
    ClientGhost& its = ghosts_[ghost];
    PURVIEW_ASSERT(its.held && parent != ghost);
    if (its.parent == parent) return;
    its.link = ++links_;
    if (!schema_.kinds()[index_of(its.kind)].relative_position) {
        its.parent = parent;
        return;
    }
    its.reframed = true;
    // It stood still until the tick before, there.
    if (its.samples > 0 && its.sample[0].tick + 1 < tick)
        push_sample(ghost, tick - 1, sample(ghost, 0));
    std::array<Pose, samples_max> world;
    for (std::size_t i = 0; i < its.samples; ++i) world[i] = pose_at(ghost, its.sample[i].tick);
    its.parent = parent;
    const LocalId frame = frame_of(ghost);
    for (std::size_t i = 0; i < its.samples; ++i) {
        set_sample(ghost, i,
                   frame == no_local_id ? world[i]
                                        : as_seen_from(pose_at(frame, its.sample[i].tick), world[i],
                                                       has_orientation(ghost)));
    }
}

}  // namespace purview
