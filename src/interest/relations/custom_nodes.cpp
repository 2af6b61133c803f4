// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Nodes of the caller's own. What they say is kept as lists, compared with what they said before,
// and counted in the pair table.
#include <algorithm>
#include <utility>

#include "interest/edits.hpp"

namespace purview {

void InterestData::edit_node_pair(std::uint32_t o, EntityId unit, bool value) {
    const bool before = x_holds(o, unit);
    PairEntry& pair = pairs_.edit(o, unit);
    PURVIEW_ASSERT(value ? pair.nodes < custom_.size() : pair.nodes > 0);  // each counts once
    if (value) {
        ++pair.nodes;
    } else {
        --pair.nodes;
    }
    pairs_.settle(o, unit);
    note(o, unit, before, x_holds(o, unit));
}

/// Asks about one observer, or one entity, and applies the difference.
void InterestData::ask_custom_node(std::size_t c, std::uint32_t asked,
                                   const Visibility& visibility) {
    CustomNodeState& custom = custom_[c];
    const bool by_entity = custom.node->is_entity_centric();
    const NodeId node = program_.custom_nodes[c];
    const Members members = rules_.nodes[index_of(node)].members;
    std::vector<std::uint64_t> now;
    EntityId unit = EntityId::none;
    if (by_entity) {
        unit = table_.entity_at(asked);
        if (unit == EntityId::none) return;
        std::vector<ObserverId> who;
        if (facts_table_.bindings.is_member(node, members, unit))
            custom.node->observers_for(visibility, unit, who);
        for (const ObserverId o : who) {
            if (is_observer(o) && observers_[index_of(o)].ready) now.push_back(index_of(o));
        }
    } else if (observers_[asked].ready) {
        std::vector<EntityId> what;
        custom.node->query_for(visibility, id_of(asked), what);
        for (const EntityId entity : what) {
            // Groups are judged by their roots: somebody hidden upon a ship must not show it.
            if (is_known(entity) && unit_of(entity) == entity &&
                facts_table_.bindings.is_member(node, members, entity))
                now.push_back(static_cast<std::uint64_t>(entity));
        }
    }
    std::sort(now.begin(), now.end());
    now.erase(std::unique(now.begin(), now.end()), now.end());
    if (custom.said.size() <= asked) custom.said.resize(asked + 1);
    const std::vector<std::uint64_t> before = std::move(custom.said[asked]);
    custom.said[asked] = now;
    const auto edit = [&](std::uint64_t other, bool value) {
        if (by_entity) {
            edit_node_pair(static_cast<std::uint32_t>(other), unit, value);
        } else {
            edit_node_pair(asked, EntityId{other}, value);
        }
    };
    for (const std::uint64_t other : before) {
        if (!std::binary_search(now.begin(), now.end(), other)) edit(other, false);
    }
    for (const std::uint64_t other : now) {
        if (!std::binary_search(before.begin(), before.end(), other)) edit(other, true);
    }
}

void InterestData::update_custom_nodes(const Visibility& visibility) {
    deliver_notices(visibility);
    PURVIEW_ASSERT(custom_.size() == program_.custom_nodes.size());
    for (std::size_t c = 0; c < custom_.size(); ++c) {
        const NodeDef& def = rules_.nodes[index_of(program_.custom_nodes[c])];
        const bool by_entity = custom_[c].node->is_entity_centric();
        std::uint32_t end = static_cast<std::uint32_t>(observers_.size());
        if (by_entity) end = static_cast<std::uint32_t>(table_.index_end());
        // Nobody is its own: nothing is asked, once it has taken back what it said.
        const NodeId node = program_.custom_nodes[c];
        const bool is_idle = rules_.nodes[index_of(node)].members == Members::bound &&
                             !facts_table_.bindings.has_bound(node) &&
                             std::all_of(custom_[c].said.begin(), custom_[c].said.end(),
                                         [](const auto& said) { return said.empty(); });
        const bool asks_all = std::exchange(custom_[c].asks_all, false);
        const Bitset again = std::exchange(custom_[c].asked_again, Bitset());
        if (is_idle) continue;
        for (std::uint32_t i = 0; i < end; ++i) {
            const bool is_due = !def.dormant && (tick_ + i) % def.every_ticks == 0;
            if (asks_all || is_due || (i < again.size() && again.test(i)))
                ask_custom_node(c, i, visibility);
        }
    }
}

Status InterestData::rescan_node(NodeId node) {
    if (index_of(node) >= rules_.nodes.size()) return Status::bad_argument;
    for (std::size_t c = 0; c < custom_.size(); ++c) {
        if (program_.custom_nodes[c] == node) {
            custom_[c].asks_all = true;
            return Status::ok;
        }
    }
    for (std::uint32_t o = 0; o < observers_.size(); ++o) {
        if (observers_.is_live(o)) (void)rescan(id_of(o));
    }
    if (summary_.has_cells) for_each_unit([&](EntityId unit) { (void)recheck(unit); });
    return Status::ok;
}

Status InterestData::set_node_pair(NodeId node, ObserverId id, EntityId unit, bool value) {
    if (!is_observer(id) || !is_known(unit)) return Status::stale_id;
    const auto at = std::find(program_.custom_nodes.begin(), program_.custom_nodes.end(), node);
    if (at == program_.custom_nodes.end()) return Status::bad_argument;
    if (is_member(unit)) return Status::refused;
    const Members members = rules_.nodes[index_of(node)].members;
    if (value && !facts_table_.bindings.is_member(node, members, unit)) return Status::refused;
    const auto c = static_cast<std::size_t>(at - program_.custom_nodes.begin());
    CustomNodeState& custom = custom_[c];
    PURVIEW_ASSERT(custom.id == node && custom.members == members);
    const bool by_entity = custom.node->is_entity_centric();
    const std::uint32_t asked = by_entity ? index_of(unit) : index_of(id);
    const std::uint64_t other = by_entity ? index_of(id) : static_cast<std::uint64_t>(unit);
    if (custom.said.size() <= asked) custom.said.resize(asked + 1);
    auto& said = custom.said[asked];
    const auto position = std::lower_bound(said.begin(), said.end(), other);
    const bool has = position != said.end() && *position == other;
    if (has == value) return Status::ok;
    if (value) {
        said.insert(position, other);
    } else {
        said.erase(position);
    }
    edit_node_pair(index_of(id), unit, value);
    return Status::ok;
}

/// Observer or unit ends: nobody is told by this.
void InterestData::drop_from_custom_nodes(std::uint32_t o, EntityId unit) {
    for (CustomNodeState& custom : custom_) {
        const bool by_entity = custom.node->is_entity_centric();
        const std::uint32_t asked = by_entity ? index_of(unit) : o;
        if (asked >= custom.said.size()) continue;
        const std::uint64_t other = by_entity ? o : static_cast<std::uint64_t>(unit);
        std::erase(custom.said[asked], other);
    }
}

/// All pairs of a node that is no more; whoever calls tells what changed.
void InterestData::drop_custom_pairs(CustomNodeState& custom) {
    const bool by_entity = custom.node->is_entity_centric();
    for (std::uint32_t asked = 0; asked < custom.said.size(); ++asked) {
        for (const std::uint64_t other : custom.said[asked]) {
            const std::uint32_t o = by_entity ? static_cast<std::uint32_t>(other) : asked;
            const EntityId unit = by_entity ? table_.entity_at(asked) : EntityId{other};
            PURVIEW_ASSERT(pairs_.find(o, unit) != nullptr && pairs_.find(o, unit)->nodes > 0);
            --pairs_.edit(o, unit).nodes;
            pairs_.settle(o, unit);
        }
    }
    custom.said.clear();
}

/// Tells all custom nodes that are about the unit; with the next tick, which has the visibility.
void InterestData::notify_nodes(EntityId unit, Notice::Type type) {
    if (!notifies_nodes_) return;
    for (const CustomNodeState& custom : custom_) {
        if (is_about(custom, unit)) notices_.push_back({custom.node, unit, type});
    }
}

/// In the order of the edits. A node may call nothing that adds to them.
void InterestData::deliver_notices(const Visibility& visibility) {
    for (const Notice& notice : notices_) {
        switch (notice.type) {
            case Notice::Type::added:
                notice.node->added(visibility, notice.entity);
                break;
            case Notice::Type::removed:
                notice.node->removed(visibility, notice.entity);
                break;
            case Notice::Type::updated:
                notice.node->updated(visibility, notice.entity);
                break;
        }
    }
    notices_.clear();
}

/// Entity-centric nodes are asked about it with the next tick.
void InterestData::ask_again(EntityId unit) {
    for (CustomNodeState& custom : custom_) {
        if (!custom.node->is_entity_centric()) continue;
        if (custom.asked_again.size() <= index_of(unit))
            custom.asked_again.resize(index_of(unit) + 1 + index_of(unit) / 8);
        custom.asked_again.set(index_of(unit));
    }
}

/// One for each custom node of the program; what a node said goes with it. Nodes that come into
/// force, go, or are about other entities than before are told.
void InterestData::set_custom_nodes() {
    std::vector<CustomNodeState> old = std::move(custom_), before;
    for (const CustomNodeState& one : old)
        before.push_back({one.node, one.id, one.members, {}, {}});
    custom_.clear();
    for (const NodeId id : program_.custom_nodes) {
        const NodeDef& desc = rules_.nodes[index_of(id)];
        const auto same = std::find_if(old.begin(), old.end(), [&](const CustomNodeState& one) {
            return one.node == desc.custom;
        });
        if (same == old.end()) {
            custom_.emplace_back().node = desc.custom;
        } else {
            custom_.push_back(std::move(*same));
            old.erase(same);
        }
        custom_.back().id = id;
        custom_.back().members = desc.members;
        custom_.back().asks_all = true;
    }
    for (CustomNodeState& gone : old) drop_custom_pairs(gone);
    if (!notifies_nodes_ || (before.empty() && custom_.empty())) return;
    const auto is_in = [&](const std::vector<CustomNodeState>& list, const CustomNode* node,
                           EntityId unit) {
        return std::any_of(list.begin(), list.end(), [&](const CustomNodeState& one) {
            return one.node.get() == node && is_about(one, unit);
        });
    };
    for_each_unit([&](EntityId unit) {
        for (const CustomNodeState& one : before) {
            if (is_about(one, unit) && !is_in(custom_, one.node.get(), unit))
                notices_.push_back({one.node, unit, Notice::Type::removed});
        }
        for (const CustomNodeState& one : custom_) {
            if (is_about(one, unit) && !is_in(before, one.node.get(), unit))
                notices_.push_back({one.node, unit, Notice::Type::added});
        }
    });
}

}  // namespace purview
