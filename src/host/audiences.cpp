// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Which parts of a relevant entity an observer is told, and what a reference means to him. Both
// follow from the relevant set of this tick, and never change it.
#include "host/server_data.hpp"

namespace purview {

/// Whoever names somebody else than before says so, if that is anything to this observer: from one
/// that he does not see to another is nothing.
void ServerData::tell_references(Session& session) {
    GhostTable& ghosts = session.ghosts;
    const auto name_of = [&](EntityId entity) {
        return entity == EntityId::none ? no_local_id : ghosts.find(entity);
    };
    for (const FieldStore::ReferenceChange& change : fields_.reference_changes()) {
        if (ghosts.find(change.referrer) == no_local_id) continue;
        if (name_of(change.before) != name_of(change.now))
            ghosts.touch_references(change.referrer, tick_number);
    }
}

/// Whoever names somebody that came or went in this tick tells so anew.
void ServerData::touch_references(Session& session) {
    for (const RelevanceEvent& event : interest.events_of(session.observer)) {
        named_.clear();
        fields_.referrers_of(world.data(), event.entity, named_);
        for (const EntityId entity : named_) session.ghosts.touch_references(entity, tick_number);
    }
}

namespace {

/// One of the audiences that follow from the world's own facts.
bool is_told(const AudienceDef& audience, const WorldData& world, std::uint32_t index,
             ObserverId observer, EntityId main) noexcept {
    const bool owns = world.owner_at(index) == observer;
    switch (audience.type) {
        case AudienceType::owner:
            return owns;
        case AudienceType::others:
            return !owns;
        case AudienceType::same_key: {
            const Key key = world.key_at(index, audience.domain);
            if (owns) return true;
            return key != Key::none && main != EntityId::none &&
                   world.key_at(index_of(main), audience.domain) == key;
        }
        case AudienceType::everyone:
        case AudienceType::custom:
            break;
    }
    return true;
}

}  // namespace

void ServerData::decide_audiences(Session& session) {
    if (session.observer == ObserverId::none || session.state == Session::State::probe) return;
    GhostTable& ghosts = session.ghosts;
    AudienceScratch& room = audience_;
    room.lanes.clear();
    room.told.clear();
    for (std::size_t w = 0; w < ghosts.restricted().size(); ++w) {
        for_each_bit(ghosts.restricted()[w] & ghosts.live()[w], w * bits_per_word,
                     [&](std::size_t lane) {
                         room.lanes.push_back(static_cast<LocalId>(lane));
                         room.told.push_back(told_all);
                     });
    }
    if (room.lanes.empty()) return;
    const WorldData& data = world.data();
    const EntityId main = interest.main_entity(session.observer);
    const auto part_of = [&](LocalId lane, ComponentId component) {
        const auto& parts = fields_.layout(ghosts.kind(lane)).parts;
        std::size_t p = 0;
        while (p < parts.size() && parts[p].component != component) ++p;
        return p == parts.size() ? 0U : 1U << p;
    };
    for (std::size_t c = 0; c < def.schema->components().size(); ++c) {
        const ComponentId component{static_cast<std::uint16_t>(c)};
        const AudienceDef& audience = def.schema->components()[c].audience;
        if (audience.type == AudienceType::everyone) continue;
        room.asked.clear();
        room.entities.clear();
        for (std::uint32_t i = 0; i < room.lanes.size(); ++i) {
            const EntityId entity = ghosts.entity(room.lanes[i]);
            const std::uint32_t part = part_of(room.lanes[i], component);
            if (part == 0) continue;
            if (audience.type == AudienceType::custom) {
                room.asked.push_back(i);
                room.entities.push_back(entity);
            } else if (!is_told(audience, data, index_of(entity), session.observer, main)) {
                room.told[i] &= ~part;
            }
        }
        if (room.asked.empty()) continue;
        room.answer.assign(room.asked.size(), 0);
        audience.custom->decide(session.observer, room.entities, room.answer);
        for (std::size_t k = 0; k < room.asked.size(); ++k) {
            if (room.answer[k] == 0)
                room.told[room.asked[k]] &= ~part_of(room.lanes[room.asked[k]], component);
        }
    }
    for (std::size_t i = 0; i < room.lanes.size(); ++i)
        ghosts.set_told(room.lanes[i], room.told[i], tick_number);
}

}  // namespace purview
