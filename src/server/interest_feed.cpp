// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "server/interest_feed.hpp"

#include "core/internal_access.hpp"
#include "interest/engine.hpp"
#include "world/world_data.hpp"

namespace purview {

EntityDef InterestFeed::def_of(std::uint32_t index) {
    const WorldData& data = internal(world_);
    EntityDef entity;
    entity.position = data.components.position_at(index);
    entity.has_position = data.entities.has_position(index);
    entity.flags = FlagSet(data.attributes.flags_at(index));
    for (std::size_t d = 0; d < def_.schema->keys().size(); ++d) {
        keys_[d] = data.attributes.key_at(index, id_at<KeyId>(d));
    }
    entity.keys = std::span(keys_).first(def_.schema->keys().size());
    for (std::size_t v = 0; v < def_.schema->values().size(); ++v) {
        values_[v] = data.attributes.value_at(index, id_at<ValueId>(v));
    }
    entity.values = std::span(values_).first(def_.schema->values().size());
    entity.kind = data.entities.kind_at(index);
    return entity;
}

void InterestFeed::track_op(const WorldOp& op) {
    const WorldData& data = internal(world_);
    if (op.type == WorldOp::Type::despawn) {
        // Returns stale_id if the entity was spawned in the same tick.
        (void)interest_.entities.despawn(op.entity);
        interest_.caller.user_data.entities.forget(op.entity);
        return;
    }
    // An entity that leaves a group and is despawned later in the same tick must leave the group
    // first, because a root with members cannot be despawned. Its values stay readable until the
    // tick ends.
    if (!data.entities.is_alive(op.entity) && op.type != WorldOp::Type::root) return;
    const std::uint32_t index = index_of(op.entity);
    switch (op.type) {
        case WorldOp::Type::spawn:
            (void)interest_.entities.spawn(op.entity, def_of(index));
            break;
        case WorldOp::Type::root:
            if (op.root == op.entity) {
                (void)interest_.groups.leave_unit(op.entity, def_of(index), false);
            } else {
                (void)interest_.groups.join_unit(op.entity, op.root, op.parent);
            }
            audiences_.note_group_changed(index);  // another group provides its inputs
            break;
        case WorldOp::Type::owner: {
            const ObserverId owner = data.entities.owner_at(index);
            // An owner that was removed stays the owner in the world only; interest stores no
            // owner.
            if (interest_.overrides.set_owner(op.entity, owner) == Status::stale_id)
                (void)interest_.overrides.set_owner(op.entity, ObserverId::none);
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

void InterestFeed::track_edits(bool only_new) {
    WorldData& data = internal(world_);
    track_user_data();  // before despawns, so that their leaves carry the last user data
    data.settle(only_new);
    const std::span<const WorldOp> ops = data.summary.track();
    // Must precede track_op: an orphan that leaves its group may be the parent of another orphan.
    for (const WorldOp& op : ops) {
        if (op.type == WorldOp::Type::root && op.is_orphan)
            interest_.overrides.keep_hides(op.entity);
    }
    for (const WorldOp& op : ops) track_op(op);
    // set_group_radius refuses group members.
    for (const GroupBounds::Change& change : data.bounds.take_changes())
        (void)interest_.attributes.set_group_radius(change.root, change.radius);
    for (const AttributeChange& change : data.attributes.track_changes()) {
        if (change.flag != FlagId::none) {
            (void)interest_.attributes.set_flag(change.entity, change.flag,
                                                change.key != Key::none);
        } else if (change.domain != KeyId::none) {
            (void)interest_.attributes.set_key(change.entity, change.domain, change.key);
            audiences_.note_changed(index_of(change.entity));
        } else {
            (void)interest_.attributes.set_value(change.entity, change.value, change.number);
        }
    }
}

void InterestFeed::track_user_data() {
    WorldUserData& user_data = internal(world_).user_data;
    for (const EntityId entity : user_data.edits())
        interest_.caller.user_data.entities.set(entity, user_data.get(entity));
    user_data.clear_edits();
}

void InterestFeed::track_new_edits() {
    track_user_data();
    if (internal(world_).summary.has_untracked()) track_edits(true);
}

void InterestFeed::track() {
    PURVIEW_ASSERT(time_.in_tick);
    track_edits(false);
    WorldData& data = internal(world_);
    if (def_.schema->position() == ComponentId::none) return;
    data.components.dirty(def_.schema->position()).for_each([&](std::size_t i) {
        const auto index = static_cast<std::uint32_t>(i);
        const EntityId entity = data.entities.at_index(index);
        if (entity != EntityId::none)
            (void)interest_.positions.move(entity, data.components.position_at(index));
    });
    // Independently culled members are evaluated at their own position, even if only their parent
    // has moved.
    for (const std::uint32_t index : data.positions.carried()) {
        if (def_.rules.kinds[index_of(data.entities.kind_at(index))].culled_independently)
            (void)interest_.positions.move(data.entities.at_index(index),
                                           data.components.position_at(index));
    }
}

}  // namespace purview
