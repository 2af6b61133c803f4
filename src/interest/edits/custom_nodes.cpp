// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/edits/custom_nodes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "core/prefetch.hpp"
#include "purview/status.hpp"

namespace purview {

void CustomNodes::edit_node_pair(std::uint32_t o, EntityId unit, bool value) {
    const bool before = explicit_.is_explicitly_relevant(o, unit);
    PairEntry& pair = pairs_.edit(o, unit);
    PURVIEW_ASSERT(value ? pair.nodes < custom_.size() : pair.nodes > 0);  // each counts once
    if (value) {
        ++pair.nodes;
    } else {
        --pair.nodes;
    }
    pairs_.settle(o, unit);
    edits_.note(o, unit, before, explicit_.is_explicitly_relevant(o, unit));
}

/// Queries the node for one observer, or for one entity if it is entity-centric, and applies the
/// difference.
void CustomNodes::query_custom_node(std::size_t c, std::uint32_t subject,
                                    const Visibility& visibility) {
    CustomNodeState& custom = custom_[c];
    const bool by_entity = custom.node->is_entity_centric();
    const NodeId node = program_.custom_nodes[c];
    const Members members = rules_.nodes[index_of(node)].members;
    std::vector<std::uint64_t> now;
    EntityId unit = EntityId::none;
    if (by_entity) {
        unit = table_.entity_at(subject);
        if (unit == EntityId::none) return;
        std::vector<ObserverId> matching;
        if (facts_table_.bindings.is_member(node, members, unit))
            custom.node->observers_for(visibility, unit, matching);
        for (const ObserverId o : matching) {
            if (observers_.is_live(o) && observers_[index_of(o)].ready) now.push_back(index_of(o));
        }
    } else if (observers_[subject].ready) {
        std::vector<EntityId> what;
        custom.node->query_for(visibility, observers_.id_of(subject), what);
        for (const EntityId entity : what) {
            // Only cull groups count: a member that may be hidden must not make its group relevant.
            if (lookup_.is_known(entity) && lookup_.unit_of(entity) == entity &&
                facts_table_.bindings.is_member(node, members, entity))
                now.push_back(static_cast<std::uint64_t>(entity));
        }
    }
    std::sort(now.begin(), now.end());
    now.erase(std::unique(now.begin(), now.end()), now.end());
    if (custom.results.size() <= subject) custom.results.resize(subject + 1);
    const std::vector<std::uint64_t> before = std::move(custom.results[subject]);
    custom.results[subject] = now;
    const auto edit = [&](std::uint64_t other, bool value) {
        if (by_entity) {
            edit_node_pair(static_cast<std::uint32_t>(other), unit, value);
        } else {
            edit_node_pair(subject, EntityId{other}, value);
        }
    };
    for (const std::uint64_t other : before) {
        if (!std::binary_search(now.begin(), now.end(), other)) edit(other, false);
    }
    for (const std::uint64_t other : now) {
        if (!std::binary_search(before.begin(), before.end(), other)) edit(other, true);
    }
}

void CustomNodes::update_custom_nodes(const Visibility& visibility) {
    deliver_notices(visibility);
    PURVIEW_ASSERT(custom_.size() == program_.custom_nodes.size());
    for (std::size_t c = 0; c < custom_.size(); ++c) {
        const NodeDef& def = rules_.nodes[index_of(program_.custom_nodes[c])];
        const bool by_entity = custom_[c].node->is_entity_centric();
        std::uint32_t end = static_cast<std::uint32_t>(observers_.size());
        if (by_entity) end = static_cast<std::uint32_t>(table_.index_end());
        // The node has no members and no results left: there is nothing to query.
        const NodeId node = program_.custom_nodes[c];
        const bool is_idle = rules_.nodes[index_of(node)].members == Members::bound &&
                             !facts_table_.bindings.has_bound(node) &&
                             std::all_of(custom_[c].results.begin(), custom_[c].results.end(),
                                         [](const auto& results) { return results.empty(); });
        const bool requests_all = std::exchange(custom_[c].requests_all, false);
        const Bitset again = std::exchange(custom_[c].queried_again, Bitset());
        if (is_idle) continue;
        for (std::uint32_t i = 0; i < end; ++i) {
            const bool is_due = !def.dormant && (tick_ + i) % def.every_ticks == 0;
            if (requests_all || is_due || (i < again.size() && again.test(i)))
                query_custom_node(c, i, visibility);
        }
    }
}

Status CustomNodes::set_node_pair(NodeId node, ObserverId id, EntityId unit, bool value) {
    if (!observers_.is_live(id) || !lookup_.is_known(unit)) return Status::stale_id;
    const auto at = std::find(program_.custom_nodes.begin(), program_.custom_nodes.end(), node);
    if (at == program_.custom_nodes.end()) return Status::bad_argument;
    if (lookup_.is_member(unit)) return Status::refused;
    const Members members = rules_.nodes[index_of(node)].members;
    if (value && !facts_table_.bindings.is_member(node, members, unit)) return Status::refused;
    const auto c = static_cast<std::size_t>(at - program_.custom_nodes.begin());
    CustomNodeState& custom = custom_[c];
    PURVIEW_ASSERT(custom.id == node && custom.members == members);
    const bool by_entity = custom.node->is_entity_centric();
    const std::uint32_t subject = by_entity ? index_of(unit) : index_of(id);
    const std::uint64_t other = by_entity ? index_of(id) : static_cast<std::uint64_t>(unit);
    if (custom.results.size() <= subject) custom.results.resize(subject + 1);
    auto& results = custom.results[subject];
    const auto position = std::lower_bound(results.begin(), results.end(), other);
    const bool has = position != results.end() && *position == other;
    if (has == value) return Status::ok;
    if (value) {
        results.insert(position, other);
    } else {
        results.erase(position);
    }
    edit_node_pair(index_of(id), unit, value);
    return Status::ok;
}

/// Drops the pair from all results when the observer is removed or the cull group despawns. Makes
/// no events.
void CustomNodes::drop_from_custom_nodes(std::uint32_t o, EntityId unit) {
    for (CustomNodeState& custom : custom_) {
        const bool by_entity = custom.node->is_entity_centric();
        const std::uint32_t subject = by_entity ? index_of(unit) : o;
        if (subject >= custom.results.size()) continue;
        const std::uint64_t other = by_entity ? o : static_cast<std::uint64_t>(unit);
        std::erase(custom.results[subject], other);
    }
}

/// Drops all pairs of a removed node. The caller reports the difference.
void CustomNodes::drop_custom_pairs(CustomNodeState& custom) {
    const bool by_entity = custom.node->is_entity_centric();
    for (std::uint32_t subject = 0; subject < custom.results.size(); ++subject) {
        for (const std::uint64_t other : custom.results[subject]) {
            const std::uint32_t o = by_entity ? static_cast<std::uint32_t>(other) : subject;
            const EntityId unit = by_entity ? table_.entity_at(subject) : EntityId{other};
            PURVIEW_ASSERT(pairs_.find(o, unit) != nullptr && pairs_.find(o, unit)->nodes > 0);
            --pairs_.edit(o, unit).nodes;
            pairs_.settle(o, unit);
        }
    }
    custom.results.clear();
}

/// Queues a notification for every custom node that covers the cull group. Notifications are
/// delivered in the next tick, which has the `Visibility`.
void CustomNodes::notify_nodes(EntityId unit, NodeNotice::Type type) {
    if (!notices_.enabled) return;
    for (const CustomNodeState& custom : custom_) {
        if (is_about(custom, unit)) notices_.list.push_back({custom.node, unit, type});
    }
}

/// Delivers notifications in the order of the edits. A node must not make a call that queues
/// another one.
void CustomNodes::deliver_notices(const Visibility& visibility) {
    for (const NodeNotice& notice : notices_.list) {
        switch (notice.type) {
            case NodeNotice::Type::added:
                notice.node->added(visibility, notice.entity);
                break;
            case NodeNotice::Type::removed:
                notice.node->removed(visibility, notice.entity);
                break;
            case NodeNotice::Type::updated:
                notice.node->updated(visibility, notice.entity);
                break;
        }
    }
    notices_.list.clear();
}

/// Entity-centric nodes evaluate the cull group again in the next tick.
void CustomNodes::query_again(EntityId unit) {
    for (CustomNodeState& custom : custom_) {
        if (!custom.node->is_entity_centric()) continue;
        if (custom.queried_again.size() <= index_of(unit))
            custom.queried_again.resize(index_of(unit) + 1 + index_of(unit) / 8);
        custom.queried_again.set(index_of(unit));
    }
}

/// Makes a state for each custom node of the program; a node that remains keeps its last results. A
/// node is notified of each cull group that it starts or stops to cover.
void CustomNodes::set_custom_nodes() {
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
        custom_.back().requests_all = true;
    }
    for (CustomNodeState& gone : old) drop_custom_pairs(gone);
    if (!notices_.enabled || (before.empty() && custom_.empty())) return;
    const auto is_in = [&](const std::vector<CustomNodeState>& list, const CustomNode* node,
                           EntityId unit) {
        return std::any_of(list.begin(), list.end(), [&](const CustomNodeState& one) {
            return one.node.get() == node && is_about(one, unit);
        });
    };
    lookup_.for_each_unit([&](EntityId unit) {
        for (const CustomNodeState& one : before) {
            if (is_about(one, unit) && !is_in(custom_, one.node.get(), unit))
                notices_.list.push_back({one.node, unit, NodeNotice::Type::removed});
        }
        for (const CustomNodeState& one : custom_) {
            if (is_about(one, unit) && !is_in(before, one.node.get(), unit))
                notices_.list.push_back({one.node, unit, NodeNotice::Type::added});
        }
    });
}

void CustomNodes::query_all_observers() {
    for (CustomNodeState& custom : custom_)
        custom.requests_all |= !custom.node->is_entity_centric();
}

void CustomNodes::query_observers_about(EntityId unit) {
    for (CustomNodeState& custom : custom_)
        custom.requests_all |= !custom.node->is_entity_centric() && is_about(custom, unit);
}

void CustomNodes::query_observer_again(std::uint32_t o) {
    for (CustomNodeState& custom : custom_) {
        if (custom.node->is_entity_centric()) {
            custom.requests_all = true;
            continue;
        }
        if (custom.queried_again.size() <= o) custom.queried_again.resize(o + 1);
        custom.queried_again.set(o);
    }
}

bool CustomNodes::query_all(NodeId node) {
    const auto at = std::find(program_.custom_nodes.begin(), program_.custom_nodes.end(), node);
    if (at == program_.custom_nodes.end()) return false;
    custom_[static_cast<std::size_t>(at - program_.custom_nodes.begin())].requests_all = true;
    return true;
}

std::vector<bool> CustomNodes::about(EntityId unit) const {
    std::vector<bool> out(custom_.size());
    for (std::size_t c = 0; c < custom_.size(); ++c) out[c] = is_about(custom_[c], unit);
    return out;
}

void CustomNodes::bindings_changed(EntityId unit, const std::vector<bool>& was_about) {
    PURVIEW_ASSERT(was_about.size() == custom_.size());
    for (std::size_t c = 0; c < custom_.size(); ++c) {
        CustomNodeState& custom = custom_[c];
        const bool is_now = is_about(custom, unit);
        if (is_now == was_about[c]) continue;
        custom.requests_all |= !custom.node->is_entity_centric();
        if (!notices_.enabled) continue;
        notices_.list.push_back(
            {custom.node, unit, is_now ? NodeNotice::Type::added : NodeNotice::Type::removed});
    }
}

}  // namespace purview
