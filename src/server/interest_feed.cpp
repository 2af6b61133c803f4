// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "server/interest_feed.hpp"

#include "core/internal_access.hpp"
#include "interest/interest_data.hpp"
#include "world/world_data.hpp"

namespace purview {

EntityDef InterestFeed::def_of(std::uint32_t index) {
    const WorldData& data = internal(world_);
    EntityDef entity;
    entity.position = data.position_at(index);
    entity.has_position = data.has_position(index);
    entity.flags = FlagSet(data.flags_at(index));
    for (std::size_t d = 0; d < def_.schema->keys().size(); ++d) {
        keys_[d] = data.key_at(index, KeyId{static_cast<std::uint8_t>(d)});
    }
    entity.keys = std::span(keys_).first(def_.schema->keys().size());
    for (std::size_t v = 0; v < def_.schema->values().size(); ++v) {
        values_[v] = data.value_at(index, ValueId{static_cast<std::uint8_t>(v)});
    }
    entity.values = std::span(values_).first(def_.schema->values().size());
    entity.kind = data.kind_at(index);
    return entity;
}

void InterestFeed::track_op(const WorldOp& op) {
    const WorldData& data = internal(world_);
    if (op.type == WorldOp::Type::despawn) {
        (void)interest_.despawn(op.entity);  // stale when it was spawned in this same tick
        return;
    }
    // An entity that leaves a group and is despawned later in the tick leaves the group first: a
    // root with members cannot be despawned. Its values stay until the tick ends.
    if (!data.is_alive(op.entity) && op.type != WorldOp::Type::root) return;
    const std::uint32_t index = index_of(op.entity);
    switch (op.type) {
        case WorldOp::Type::spawn:
            (void)interest_.spawn(op.entity, def_of(index));
            break;
        case WorldOp::Type::root:
            if (op.root == op.entity) {
                (void)interest_.leave_unit(op.entity, def_of(index), false);
            } else {
                (void)interest_.join_unit(op.entity, op.root, op.parent);
            }
            audiences_.note_group_changed(index);  // another group commands it
            break;
        case WorldOp::Type::owner: {
            const ObserverId owner = data.owner_at(index);
            // An observer that is gone owns it in the world alone; in interest it has no owner.
            if (interest_.set_owner(op.entity, owner) == Status::stale_id)
                (void)interest_.set_owner(op.entity, ObserverId::none);
            audiences_.note_changed(index);
            for (const ObserverId its : {op.owner_before, owner}) {
                if (Session* session = sessions_.find(its); session != nullptr)
                    session->ghosts.set_owned(op.entity, its == owner, time_.edit_tick());
            }
            break;
        }
        case WorldOp::Type::despawn:
            break;
    }
}

void InterestFeed::track_facts(bool fresh) {
    WorldData& data = internal(world_);
    data.settle(fresh);
    const std::span<const WorldOp> ops = data.track_ops();
    // Before any of them leaves: an orphan may be below another.
    for (const WorldOp& op : ops) {
        if (op.type == WorldOp::Type::root && op.is_orphan) interest_.keep_hides(op.entity);
    }
    for (const WorldOp& op : ops) track_op(op);
    for (const GroupBounds::Change& change : data.take_bounds_changes())  // refused: members by now
        (void)interest_.set_group_radius(change.root, change.radius);
    for (const AttributeChange& change : data.track_attribute_changes()) {
        if (change.flag != FlagId::none) {
            (void)interest_.set_flag(change.entity, change.flag, change.key != Key::none);
        } else if (change.domain != KeyId::none) {
            (void)interest_.set_key(change.entity, change.domain, change.key);
            audiences_.note_changed(index_of(change.entity));
        } else {
            (void)interest_.set_value(change.entity, change.value, change.number);
        }
    }
}

void InterestFeed::track_fresh_facts() {
    if (internal(world_).has_untracked_ops()) track_facts(true);
}

void InterestFeed::track() {
    PURVIEW_ASSERT(time_.in_tick);
    track_facts(false);
    WorldData& data = internal(world_);
    if (def_.schema->position() == ComponentId::none) return;
    data.dirty(def_.schema->position()).for_each([&](std::size_t i) {
        const auto index = static_cast<std::uint32_t>(i);
        const EntityId entity = data.at_index(index);
        if (entity != EntityId::none) (void)interest_.move(entity, data.position_at(index));
    });
    // Split members are judged where they are, also where nothing but their ship has moved.
    for (const std::uint32_t index : data.carried()) {
        if (def_.rules.kinds[index_of(data.kind_at(index))].culled_independently)
            (void)interest_.move(data.at_index(index), data.position_at(index));
    }
}

}  // namespace purview
