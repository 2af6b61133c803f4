// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors

/// @file
/// Why an entity is relevant to an observer or not: the result of Visibility::explain.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "purview/rules.hpp"
#include "purview/settings.hpp"
#include "purview/status.hpp"
#include "purview/types.hpp"

namespace purview {

/// @addtogroup api_interest
/// @{

/// The condition that decided. purview/interest.hpp has the order of evaluation.
enum class Stage : std::uint8_t {
    not_ready = 0,        ///< the observer is not ready: nothing is relevant to it
    denied = 1,           ///< denied to the observer
    owned = 2,            ///< the observer owns it or a member of its group
    force_hidden = 3,     ///< hidden from all but its owners
    shown_to_all = 4,     ///< shown to all, or global
    allowed = 5,          ///< allowed for the observer
    sees_everything = 6,  ///< unculled: interest is off for the observer
    node = 7,             ///< a node matches
    no_node = 8,          ///< no node matches
    explicit_only = 9,    ///< explicit only: nodes are not evaluated
    promoted = 10,        ///< no node matches; an independently culled member keeps it relevant
};
/// Returns a short lower-case text. Static storage.
std::string_view to_string(Stage stage) noexcept;

/// One step of a node.
struct ExplainedStep {
    Combine combine = Combine::add;  ///< Kernel::combine
    std::string what;                ///< human-readable, for example "distance 41.2 of 60.0"
    bool answer = false;             ///< the kernel matches
    bool unknown = false;            ///< no result, for example because a position is missing
    bool so_far = false;             ///< result of the node after this step
};

/// One node.
struct ExplainedNode {
    std::string name;                  ///< NodeDef::name; "default" if the rules have no nodes
    bool is_member = true;             ///< false: the node does not evaluate this entity
    Combine combine = Combine::add;    ///< NodeDef::combine
    bool result = false;               ///< the node matches
    std::vector<ExplainedStep> steps;  ///< none: the node matches all of its entities
};

/// The settings of the pair: the most generous ones of the matching nodes, each with the name of
/// the first node that has it. Empty name: a default, because no node makes the pair relevant.
struct ExplainedSettings {
    Replication settings;        ///< the settings
    std::string every_ticks_by,  ///< the node of Replication::every_ticks
        priority_by,             ///< the node of Replication::priority
        leave_by;                ///< the node of Replication::leave
};

/// What a WhatIf would change.
enum class WhatIfType : std::uint8_t {
    ready = 0,            ///< Visibility::set_ready
    deny = 1,             ///< Visibility::deny
    owner = 2,            ///< the observer owns it
    force_hide = 3,       ///< Visibility::set_hidden
    show_to_all = 4,      ///< Visibility::show_to_all
    allow = 5,            ///< Visibility::allow
    sees_everything = 6,  ///< Visibility::set_unculled
    flag = 7,             ///< a flag of the entity
    key = 8,              ///< a key of the entity
    move = 9,             ///< its position
    explicit_only = 10,   ///< EntityMode::explicit_only
    number = 11,          ///< a value (ValueId) of the entity
};

/// A change that would reverse the result, alone or together with another, if nothing else changes.
/// It takes effect in the next tick, or when a waiting node is next evaluated.
struct WhatIf {
    WhatIfType type = WhatIfType::ready;  ///< which of the members below count
    bool value = false;                   ///< the new state; always true for key, move and number
    FlagId flag = FlagId::none;           ///< the flag to set or to clear
    KeyId domain = KeyId::none;           ///< the key attribute to set
    Key key = Key::none;                  ///< its new key
    Vec3 position;                        ///< new position of the entity
    ValueId number = ValueId::none;       ///< the value to set
    float to = 0;                         ///< its new number
    std::string what;                     ///< human-readable, for example "move it to 12.0, 30.5"
};

/// Why an entity is relevant to an observer or not, and which changes would reverse that.
struct Explanation {
    Status status = Status::ok;    ///< stale_id: no such observer or entity; all else is empty
    bool relevant = false;         ///< the result
    Stage stage = Stage::no_node;  ///< the condition that decided
    bool held = false;  ///< no node matches any more; the minimum relevance time is not over
    /// The root of the evaluated cull group. If an entity above it hides it, that entity.
    EntityId unit = EntityId::none;
    /// The group member, itself or above it, that is hidden by an override and hides it; none: no
    /// member. `stage` is the override.
    EntityId hidden_member = EntityId::none;
    /// For Stage::promoted: the independently culled member that nodes match.
    EntityId promoted_by = EntityId::none;
    std::vector<ExplainedNode> nodes;  ///< all nodes, in the order of the rules
    ExplainedSettings settings;        ///< how the pair is sent; the defaults if it is not relevant
    /// False if a member that is hidden by an override decides in a group with independently culled
    /// members: changes are then not computed.
    bool are_changes_known = true;
    /// The result will change without an edit: waiting nodes will be evaluated, or a minimum
    /// relevance time or an area will end.
    bool changes_by_itself = false;
    /// Changes that reverse the result alone. Moves of the observer's own viewpoint are not
    /// considered; if nodes use Viewpoints::owned, neither are any moves and owners.
    std::vector<WhatIf> single;
    /// If `single` is empty: two changes that reverse the result together, if found.
    std::vector<WhatIf> pair;

    /// Returns the explanation as a few human-readable lines.
    std::string text() const;
};

/// @}

}  // namespace purview
