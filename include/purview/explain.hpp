// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Why does an observer know of an entity, or not? The answer of InterestManager::explain.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "purview/rules.hpp"
#include "purview/settings.hpp"
#include "purview/status.hpp"
#include "purview/types.hpp"

namespace purview {

/// What decided, in the order in which it is asked.
enum class Stage : std::uint8_t {
    not_ready = 0,        ///< the observer is not ready: nothing is relevant to it
    denied = 1,           ///< an explicit pair says never
    owned = 2,            ///< the observer owns it or a member of its group
    force_hidden = 3,     ///< the entity is hidden from all but owners
    shown_to_all = 4,     ///< the entity is shown to everybody
    allowed = 5,          ///< an explicit pair says always
    sees_everything = 6,  ///< interest is off for the observer
    node = 7,             ///< some node says yes
    no_node = 8,          ///< no node says yes
    explicit_only = 9,    ///< nodes are not asked about it
    promoted = 10,        ///< no node says yes, but one does of a split member below it
};
std::string_view to_string(Stage stage) noexcept;

struct ExplainedStep {
    Combine combine = Combine::add;
    std::string what;      ///< "distance 41.2 of 60.0"
    bool answer = false;   ///< the kernel applies
    bool unknown = false;  ///< it cannot say: adds nothing, subtracts
    bool so_far = false;   ///< the node's result behind this step
};

struct ExplainedNode {
    std::string name;
    bool is_member = true;  ///< false: the node is not about this entity
    Combine combine = Combine::add;
    bool result = false;
    std::vector<ExplainedStep> steps;  ///< none: all of its entities
};

/// Of the nodes that want the pair the most generous settings (N43), and the name of the first node
/// that has each; none: what is relevant by other means has the defaults.
struct ExplainedSettings {
    Replication settings;
    std::string every_ticks_by, priority_by, leave_by;
};

enum class WhatIfType : std::uint8_t {
    ready = 0,
    deny = 1,
    owner = 2,  ///< value: the observer owns it
    force_hide = 3,
    show_to_all = 4,
    allow = 5,
    sees_everything = 6,
    flag = 7,
    key = 8,
    move = 9,
    explicit_only = 10,
    number = 11,  ///< a value
};

/// Something that could be otherwise: made so, with nothing else changed, the next tick tells the
/// opposite (alone, or together with another); where a node waits, the next in which it looks.
struct WhatIf {
    WhatIfType type = WhatIfType::ready;
    bool value = false;  ///< what it would be; of key and move: always true
    FlagId flag = FlagId::none;
    KeyId domain = KeyId::none;
    Key key = Key::none;  ///< of the entity
    Vec3 position;        ///< of the entity
    ValueId number = ValueId::none;
    float to = 0;      ///< the value
    std::string what;  ///< "move it to 12.0, 30.5"
};

struct Explanation {
    Status status = Status::ok;  ///< stale_id: nobody to explain; all else is empty then
    bool relevant = false;
    Stage stage = Stage::no_node;
    bool held = false;  ///< no node says yes any more: the minimum stay is not over
    /// The root that was judged for the entity; above a split member, the one that hides it.
    EntityId unit = EntityId::none;
    /// The member of the group, itself or above it, that is hidden by hand, and so hides it;
    /// `stage` is what hides it. none: nobody.
    EntityId hidden_member = EntityId::none;
    /// Stage::promoted: the split member that nodes show.
    EntityId promoted_by = EntityId::none;
    std::vector<ExplainedNode> nodes;
    ExplainedSettings settings;
    /// False where a member that is hidden by hand hides it in a group with split members: nothing
    /// is known of what would turn the answer.
    bool knows_changes = true;
    /// The answer is another one soon with nothing changed: nodes that wait are asked, or a stay or
    /// an area ends.
    bool turns_by_itself = false;
    /// Each of them alone flips the answer. Not looked for: moves of what the observer looks from
    /// itself, and, where nodes look from what an observer owns, moves and other owners.
    std::vector<WhatIf> single;
    std::vector<WhatIf> pair;  ///< none alone: two that do it together; empty if none was found

    /// A few lines for people.
    std::string text() const;
};

}  // namespace purview
