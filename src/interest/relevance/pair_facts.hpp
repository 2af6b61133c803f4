// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The order in which facts decide whether an entity is relevant to an observer.
#pragma once

#include "purview/explain.hpp"

namespace purview {

/// The facts about a pair that decide before the nodes.
struct PairFacts {
    bool ready = false;
    bool denied = false;
    bool owned = false;
    bool force_hidden = false;
    bool shown_to_all = false;
    bool allowed = false;
    bool explicit_only = false;
    bool sees_everything = false;

    /// Returns the stage that decides. `nodes`: the result of windows, rows and custom nodes.
    Stage decide(bool nodes) const noexcept {
        if (!ready) return Stage::not_ready;
        if (denied) return Stage::denied;
        if (owned) return Stage::owned;
        if (force_hidden) return Stage::force_hidden;
        if (shown_to_all) return Stage::shown_to_all;
        if (allowed) return Stage::allowed;
        if (explicit_only) return Stage::explicit_only;
        if (sees_everything) return Stage::sees_everything;
        return nodes ? Stage::node : Stage::no_node;
    }
    /// Adds the facts that show an entity below this one, because they show this one, too.
    void take_shown(const PairFacts& below) noexcept {
        owned |= below.owned;
        shown_to_all |= below.shown_to_all;
        allowed |= below.allowed;
    }
};
constexpr bool is_yes(Stage stage) noexcept {
    return stage == Stage::owned || stage == Stage::shown_to_all || stage == Stage::allowed ||
           stage == Stage::sees_everything || stage == Stage::node || stage == Stage::promoted;
}

}  // namespace purview
