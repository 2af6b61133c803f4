// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "client/ghost_groups.hpp"

#include <algorithm>
#include <tuple>

#include "purview/limits.hpp"

namespace purview {

void GhostGroups::arrive(LocalId ghost, bool whole, Tick tick) {
    ClientGhost& its = ghosts_[ghost];
    PURVIEW_ASSERT(its.held && !its.waits);
    its.entered = tick;
    its.received_root = ghost;
    its.received_parent = no_local_id;
    its.waits = true;
    if (whole && waiting_.empty()) return show(ghost);
    waiting_.push_back(ghost);
}

void GhostGroups::show(LocalId ghost) {
    ghosts_.show(ghost);
    are_links_new_ = are_links_new_ || ghosts_.parent(ghost) != no_local_id;
    const bool resumed = std::exchange(ghosts_[ghost].known, true);
    events_.note_shown(ghost, resumed);
}

void GhostGroups::show_waiting(std::span<const GhostEdit> edits, Tick tick) {
    if (waiting_.empty()) return;
    Bitset roots(ghosts_.slot_end());
    for (const GhostEdit& edit : edits) {
        if (edit.is_linking() && edit.whole && ghosts_.is_held(edit.ghost))
            roots.set(ghosts_.root_of(edit.ghost));
    }
    for (const LocalId ghost : waiting_) {
        PURVIEW_ASSERT(ghosts_[ghost].held && ghosts_[ghost].waits);
        if (tick - ghosts_[ghost].entered < wait_ticks_max) continue;
        roots.set(ghosts_.root_of(ghost));
        ++waits_ended_;
    }
    const auto ready = std::stable_partition(waiting_.begin(), waiting_.end(), [&](LocalId ghost) {
        return !roots.test(ghosts_.root_of(ghost));
    });
    std::vector<LocalId> shown(ready, waiting_.end());
    waiting_.erase(ready, waiting_.end());
    std::stable_sort(shown.begin(), shown.end(), [&](LocalId a, LocalId b) {
        return ghosts_.depth_of(a) < ghosts_.depth_of(b);
    });
    for (const LocalId ghost : shown) {
        show(ghost);
        are_links_new_ = true;  // also affects its descendants
    }
}

void GhostGroups::report_relations() {
    if (!are_links_new_) return;
    are_links_new_ = false;
    ghosts_.for_each_held([&](LocalId ghost) {
        if (!ghosts_.is_shown(ghost)) return;
        const ClientGhost& its = ghosts_[ghost];
        const LocalId parent = ghosts_.shown_parent(ghost);
        LocalId root = ghost;
        for (unsigned steps = 0;
             steps < limits::group_depth && ghosts_.shown_parent(root) != no_local_id; ++steps)
            root = ghosts_.shown_parent(root);
        if (root == its.received_root && parent == its.received_parent) return;
        events_.note_regrouped(ghost, root, parent);
    });
}

void GhostGroups::members_of(LocalId ghost, std::vector<LocalId>& out) const {
    PURVIEW_ASSERT(ghosts_.is_shown(ghost));
    out.clear();
    const LocalId root = ghosts_.shown_root(ghost);
    struct Child {
        LocalId parent;
        std::uint32_t link;
        LocalId ghost;
    };
    std::vector<Child> children;
    ghosts_.for_each_held([&](LocalId one) {
        if (!ghosts_.is_shown(one) || ghosts_.shown_root(one) != root || one == root) return;
        children.push_back({ghosts_.shown_parent(one), ghosts_[one].link, one});
    });
    std::sort(children.begin(), children.end(), [](const Child& a, const Child& b) {
        return std::tie(a.parent, a.link, a.ghost) < std::tie(b.parent, b.link, b.ghost);
    });
    // Depth first; the pending ghosts are in reverse order.
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

/// If the packet that ended a link of an ancestor was lost, two links that never existed together
/// on the server would form a cycle. Packets are applied in order, so the existing link is the
/// older one and ends. A correct server creates paths of at most `group_depth` links above and
/// below. The limit keeps enters cheap if an incorrect server creates longer chains.
void GhostGroups::end_link_back(LocalId ghost, LocalId parent, Tick tick) {
    constexpr unsigned links_max = 2 * limits::group_depth;
    LocalId at = parent;
    for (unsigned links = 0; links < links_max && at != no_local_id && ghosts_.is_held(at);
         ++links, at = ghosts_[at].parent) {
        if (ghosts_[at].parent != ghost) continue;
        return unlink(at, tick);
    }
}

void GhostGroups::find_orphans(const Bitset& leaving) {
    const auto is_leaving = [&](LocalId ghost) {
        return ghost < leaving.size() && leaving.test(ghost);
    };
    orphans_.clear();
    ghosts_.for_each_held([&](LocalId ghost) {
        const LocalId above = ghosts_[ghost].parent;
        if (is_leaving(ghost) || above == no_local_id) return;
        if (is_leaving(above)) orphans_.push_back({above, ghost});
    });
    std::sort(orphans_.begin(), orphans_.end());
}

void GhostGroups::begin_link(LocalId ghost, LocalId parent) noexcept {
    PURVIEW_ASSERT(ghosts_[ghost].held && parent != ghost);
    ghosts_[ghost].parent = parent;
    ghosts_[ghost].link = ++links_;
}

void GhostGroups::set_parent(LocalId ghost, LocalId parent, Tick tick) {
    PURVIEW_ASSERT(ghosts_[ghost].held && parent != ghost);
    if (ghosts_[ghost].parent == parent) return;
    ghosts_[ghost].link = ++links_;
    poses_.set_parent(ghost, parent, tick);
}

void GhostGroups::unlink(LocalId ghost, Tick tick) {
    are_links_new_ = true;
    set_parent(ghost, no_local_id, tick);
}

void GhostGroups::unlink_children(LocalId ghost, Tick tick) {
    for (auto orphan =
             std::lower_bound(orphans_.begin(), orphans_.end(), std::pair{ghost, LocalId{0}});
         orphan != orphans_.end() && orphan->first == ghost; ++orphan) {
        unlink(orphan->second, tick);
    }
}

void GhostGroups::stop_waiting(const Bitset& leaving) {
    std::erase_if(waiting_,
                  [&](LocalId ghost) { return ghost < leaving.size() && leaving.test(ghost); });
}

}  // namespace purview
