// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What the world's edits of this tick mean for interest: what structural edits come to, then flags,
// keys and values, then moves. All of it is one step for observers (N42).
#include "host/server_data.hpp"
#include "interest/interest_data.hpp"
#include "world/world_data.hpp"

namespace purview {

EntityDef ServerData::interest_def_of(std::uint32_t index) {
    const WorldData& data = world.data();
    EntityDef entity;
    entity.place = data.place_at(index);
    entity.placed = data.is_placed(index);
    entity.flags = data.flags_at(index);
    for (std::size_t d = 0; d < def.schema->keys().size(); ++d) {
        keys_[d] = data.key_at(index, KeyDomain{static_cast<std::uint8_t>(d)});
    }
    entity.keys = std::span(keys_).first(def.schema->keys().size());
    for (std::size_t v = 0; v < def.schema->values().size(); ++v) {
        values_[v] = data.value_at(index, ValueId{static_cast<std::uint8_t>(v)});
    }
    entity.values = std::span(values_).first(def.schema->values().size());
    entity.kind = data.kind_at(index);
    return entity;
}

void ServerData::track_op(const WorldOp& op) {
    const WorldData& data = world.data();
    if (op.type == WorldOp::Type::despawn) {
        (void)interest.data().despawn(op.entity);  // stale when it was spawned in this same tick
        return;
    }
    // Who leaves a group and is gone later in the tick leaves it all the same: a root with members
    // cannot go. Its values rest until the tick ends.
    if (!data.is_alive(op.entity) && op.type != WorldOp::Type::root) return;
    const std::uint32_t index = index_of(op.entity);
    switch (op.type) {
        case WorldOp::Type::spawn:
            (void)interest.data().spawn(op.entity, interest_def_of(index));
            break;
        case WorldOp::Type::root:
            if (op.root == op.entity) {
                (void)interest.data().leave_unit(op.entity, interest_def_of(index));
            } else {
                (void)interest.data().join_unit(op.entity, op.root, op.parent);
            }
            if (has_unpredicted_) note_owner_or_key(index);  // another group commands it
            break;
        case WorldOp::Type::owner: {
            const ObserverId owner = data.owner_at(index);
            // Who is not there any more owns it in the world alone; nobody else does.
            if (interest.data().set_owner(op.entity, owner) == Status::stale_id)
                (void)interest.data().set_owner(op.entity, ObserverId::none);
            note_owner_or_key(index);
            for (const ObserverId its : {op.owner_before, owner}) {
                if (Session* session = find_session(its); session != nullptr)
                    session->ghosts.set_owned(op.entity, its == owner, edit_tick());
            }
            break;
        }
        case WorldOp::Type::despawn:
            break;
    }
}

void ServerData::track_facts(bool fresh) {
    WorldData& data = world.data();
    data.settle(fresh);
    for (const WorldOp& op : data.track_ops()) track_op(op);
    for (const GroupBounds::Change& change : data.take_bounds_changes())  // refused: members by now
        (void)interest.data().set_bounds(change.root, change.radius_m);
    for (const AttributeChange& change : data.track_attribute_changes()) {
        if (change.flag != FlagId::none) {
            (void)interest.data().set_flag(change.entity, change.flag, change.key != Key::none);
        } else if (change.domain != KeyDomain::none) {
            (void)interest.data().set_key(change.entity, change.domain, change.key);
            note_owner_or_key(index_of(change.entity));
        } else {
            (void)interest.data().set_value(change.entity, change.value, change.number);
        }
    }
}

void ServerData::track() {
    track_facts(false);
    WorldData& data = world.data();
    if (def.schema->place() == ComponentId::none) return;
    data.dirty(def.schema->place()).for_each([&](std::size_t i) {
        const auto index = static_cast<std::uint32_t>(i);
        const EntityId entity = data.at_index(index);
        if (entity != EntityId::none) (void)interest.data().move(entity, data.place_at(index));
    });
    // Split members are judged where they are, also where nothing but their ship has moved.
    for (const std::uint32_t index : data.carried()) {
        if (def.kinds[index_of(data.kind_at(index))].split)
            (void)interest.data().move(data.at_index(index), data.place_at(index));
    }
}

}  // namespace purview
