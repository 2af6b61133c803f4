// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Which parts of a relevant entity an observer is told, and what a reference means to him. Both
// follow from the relevant set of this tick, and never change it.
#include "core/mutate.hpp"
#include "host/server_data.hpp"

namespace purview {

/// One that the observer has is to say anew whom it names, if he is told what says so. (An enter
/// says all, and who is told what of it is decided later in the tick.)
template <class IsInOneOf>
void ServerData::touch_references(Session& session, EntityId referrer, IsInOneOf&& is_in_one_of) {
    GhostTable& ghosts = session.ghosts;
    const LocalId lane = ghosts.find(referrer);
    if (lane == no_local_id || ghosts.needs_enter(lane)) return;
    const KindLayout& layout = fields_.layout(ghosts.kind(lane));
    const FieldMask told = layout.fields_of(ghosts.told(lane));
    if (PURVIEW_GUARD(audience_of_references, is_in_one_of(layout, told)))
        ghosts.touch_references(lane, tick_number);
}

/// Whoever names somebody that came or went in this tick: by what it and its audience were in the
/// last one, which the observer knows.
void ServerData::tell_references(Session& session) {
    for (const RelevanceEvent& event : interest.events_of(session.observer)) {
        for (const EntityId referrer : fields_.referrers_of(world.data(), event.entity)) {
            touch_references(session, referrer, [&](const KindLayout&, FieldMask told) {
                return fields_.does_name(world.data(), referrer, event.entity, told);
            });
        }
    }
}

/// Whoever names somebody else than before, if that is anything to this observer: from one that he
/// does not see to another is nothing.
void ServerData::tell_other_references(Session& session) {
    const auto name_of = [&](EntityId entity) {
        return entity == EntityId::none ? no_local_id : session.ghosts.find(entity);
    };
    for (const FieldStore::ReferenceChange& change : fields_.reference_changes()) {
        touch_references(session, change.referrer, [&](const KindLayout& layout, FieldMask told) {
            return (layout.fields_of(change.component) & told) != 0 &&
                   name_of(change.before) != name_of(change.now);
        });
    }
}

namespace {

/// One of the audiences that follow from the world's own facts.
bool is_told(const AudienceDef& audience, const WorldData& world, std::uint32_t index,
             const InterestManager& interest, ObserverId observer) noexcept {
    const bool owns = world.owner_at(index) == observer;
    switch (audience.type) {
        case AudienceType::owner:
            return owns;
        case AudienceType::others:
            return !owns;
        case AudienceType::same_key:
            return owns || PURVIEW_GUARD(audience_key,
                                         interest.has_key(observer, audience.domain,
                                                          world.key_at(index, audience.domain)));
        case AudienceType::everyone:
        case AudienceType::custom:
        case AudienceType::in_turn:
        case AudienceType::unpredicted:
            break;
    }
    return true;
}

}  // namespace

void ServerData::decide_told(AudienceScratch& room, ObserverId observer,
                             std::span<const std::uint32_t> indices,
                             std::span<std::uint32_t> told) {
    const WorldData& data = world.data();
    const Session* const session = has_unpredicted_ ? find_session(observer) : nullptr;
    const auto part_of = [&](std::uint32_t index, ComponentId component) {
        const auto& parts = fields_.layout(data.kind_at(index)).parts;
        std::size_t p = 0;
        while (p < parts.size() && parts[p].component != component) ++p;
        return p == parts.size() ? 0U : 1U << p;
    };
    std::fill(told.begin(), told.end(), told_all);
    if (!has_audiences_ || told.empty()) return;
    for (std::size_t c = 0; c < def.schema->components().size(); ++c) {
        const ComponentId component{static_cast<std::uint16_t>(c)};
        const AudienceDef& audience = def.schema->components()[c].audience;
        if (audience.type == AudienceType::everyone || audience.type == AudienceType::in_turn)
            continue;
        room.asked.clear();
        room.entities.clear();
        for (std::uint32_t i = 0; i < indices.size(); ++i) {
            const std::uint32_t part = part_of(indices[i], component);
            if (part == 0) continue;
            if (audience.type == AudienceType::custom) {
                room.asked.push_back(i);
                room.entities.push_back(data.at_index(indices[i]));
            } else if (audience.type == AudienceType::unpredicted) {
                const bool is_own = session != nullptr && data.owner_at(indices[i]) == observer;
                if (is_own && does_predict(*session, indices[i])) told[i] &= ~part;
            } else if (!is_told(audience, data, indices[i], interest, observer)) {
                told[i] &= ~part;
            }
        }
        if (room.asked.empty()) continue;
        room.answer.assign(room.asked.size(), 0);
        audience.custom->decide(observer, room.entities, room.answer);
        for (std::size_t k = 0; k < room.asked.size(); ++k) {
            const std::uint32_t i = room.asked[k];
            if (room.answer[k] == 0) told[i] &= ~part_of(indices[i], component);
        }
    }
}

void ServerData::note_owner_or_key(std::uint32_t index) {
    if (owner_or_key_changed_.size() <= index) owner_or_key_changed_.resize(index + 1);
    owner_or_key_changed_.set(index);
}

/// Of groups that he predicts, or has predicted until now: his own members.
void ServerData::list_commanded(AudienceScratch& room, Session& session) {
    for (SessionInputs::Told& told : session.inputs->told) {
        if (!told.is_predicted || !world.is_alive(told.root)) continue;
        told.is_predicted = is_predicted_now(told);
        world.data().for_each_in_group(index_of(told.root), [&](EntityId member) {
            const LocalId lane = session.ghosts.find(member);
            if (lane != no_local_id && session.ghosts.owned(lane))
                room.again[lane / bits_per_word] |= std::uint64_t{1} << (lane % bits_per_word);
        });
    }
}

/// All of it may be more than fits, or something of it has not been told.
bool ServerData::may_be_split(const Session& session, LocalId lane) const noexcept {
    const KindId kind = session.ghosts.kind(lane);
    return takes_turns_[index_of(kind)] &&
           (session.ghosts.is_special(lane) ||
            fields_.layout(kind).body_bits_max > body_bits_alone(session.budget_bytes));
}

/// Of whom it may be another answer than in the last tick: who came, whose owner or key changed or
/// whose kind has an audience of the game's own; all, if the observer is another one to them.
void ServerData::list_audiences(AudienceScratch& room, Session& session) {
    const GhostTable& ghosts = session.ghosts;
    const std::uint32_t keys = interest.keys_revision(session.observer);
    room.lanes.clear();
    room.indices.clear();
    const bool asks_all = keys != session.audience_keys;
    session.audience_keys = keys;
    room.again.assign(ghosts.restricted().size(), asks_all ? ~std::uint64_t{0} : 0);
    if (has_unpredicted_ && session.inputs != nullptr) list_commanded(room, session);
    for (const RelevanceEvent& event : interest.events_of(session.observer)) {
        const LocalId lane = event.enter ? ghosts.find(event.entity) : no_local_id;
        if (lane != no_local_id)
            room.again[lane / bits_per_word] |= std::uint64_t{1} << (lane % bits_per_word);
    }
    for (std::size_t w = 0; w < room.again.size(); ++w) {
        const std::uint64_t restricted = ghosts.restricted()[w] & ghosts.live()[w];
        std::uint64_t& again = room.again[w];
        if (any_owner_or_key_changed_) again |= ghosts.lanes_in(owner_or_key_changed_, w);
        if (any_asks_always_) {
            for_each_bit(restricted & ~again, 0, [&](std::size_t i) {
                const auto lane = static_cast<LocalId>(w * bits_per_word + i);
                const KindId kind = ghosts.kind(lane);
                const bool asks = asks_always_[index_of(kind)] || may_be_split(session, lane);
                again |= std::uint64_t{asks} << i;
            });
        }
        for_each_bit(restricted & again, w * bits_per_word, [&](std::size_t lane) {
            room.lanes.push_back(static_cast<LocalId>(lane));
            room.indices.push_back(ghosts.entity_index(static_cast<LocalId>(lane)));
        });
    }
}

void ServerData::decide_audiences(TickWorker& worker, Session& session) {
    if (!has_audiences_ || session.observer == ObserverId::none) return;
    GhostTable& ghosts = session.ghosts;
    AudienceScratch& room = worker.audience;
    list_audiences(room, session);
    if (room.lanes.empty()) return;
    room.told.resize(room.lanes.size());
    if (session.state == Session::State::probe) {  // who is told everything
        std::fill(room.told.begin(), room.told.end(), ~std::uint32_t{0});
    } else {
        decide_told(room, session.observer, room.indices, room.told);
    }
    for (std::size_t i = 0; i < room.lanes.size(); ++i) {
        const LocalId lane = room.lanes[i];
        if (takes_turns_[index_of(ghosts.kind(lane))] &&
            !take_turns(worker, session, lane, room.told[i]))
            continue;
        const std::uint32_t public_parts = fields_.layout(ghosts.kind(lane)).public_parts;
        ghosts.set_told(lane, room.told[i], public_parts, tick_number);
    }
}

/// Of what is `told`, no more than fits into a packet, if all that is new does not. The rest is not
/// told before this has arrived, and is whole then: one after the other, each in its turn. False:
/// something is under way, and nothing changes.
bool ServerData::take_turns(TickWorker& worker, Session& session, LocalId lane,
                            std::uint32_t& told) {
    GhostTable& ghosts = session.ghosts;
    if (ghosts.is_awaited(lane)) return false;
    const std::uint32_t index = ghosts.entity_index(lane);
    const KindLayout& layout = fields_.layout(ghosts.kind(lane));
    const Tick baseline = ghosts.baseline(lane);
    const KeptCopy* copy = ghosts.kept_copy(lane);
    FieldMask changed = ghosts.needs_enter(lane) ? layout.all
                        : copy != nullptr
                            ? unknown_fields(*copy, fields_, ghosts, lane)
                            : worker.cache.changed_since(index, ghosts.kind(lane), baseline);
    if (ghosts.reference_tick(lane) > baseline) changed |= layout.references;
    const std::uint32_t missing = ghosts.gained(lane) | ~ghosts.told(lane);
    std::uint32_t news = 0;  // parts with something to say, that may wait
    std::uint64_t bits = 0;
    for (std::size_t p = 0; p < layout.parts.size(); ++p) {
        const std::uint32_t bit = 1U << p;
        const bool is_new = PURVIEW_GUARD(turn_news, (told & bit) != 0) &&
                            ((layout.parts[p].fields & changed) != 0 || (missing & bit) != 0);
        const bool waits = is_new && (layout.in_turn & bit) != 0;
        news |= waits ? bit : 0;
        bits += is_new && !waits ? layout.parts[p].bits_max : 2;
    }
    // Who was not told goes first; next time from the first on that does not fit now: so each lets
    // no more packets go before it than there are parts (docs/budget.md).
    const std::uint64_t room = body_bits_alone(session.budget_bytes);
    const std::size_t first = ghosts.turn(lane), none = layout.parts.size();
    std::size_t next = none;
    for (const std::uint32_t group : {news & missing, news & ~missing}) {
        for (std::size_t i = 0; i < layout.parts.size(); ++i) {
            const std::size_t p = (first + i) % layout.parts.size();
            if ((group >> p & 1U) == 0) continue;
            if (bits + layout.parts[p].bits_max <= room) {
                bits += layout.parts[p].bits_max;
                continue;
            }
            told &= ~(1U << p);
            if (next == none) next = p;
        }
    }
    next == none ? ghosts.owe_nothing(lane) : ghosts.owe(lane, next);
    worker.split_updates += next == none || session.state == Session::State::probe ? 0 : 1;
    return true;
}

}  // namespace purview
