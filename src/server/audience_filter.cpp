// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "server/audience_filter.hpp"

#include <algorithm>

#include "core/internal_access.hpp"
#include "core/mutate.hpp"
#include "world/world_data.hpp"

namespace purview {

AudienceFilter::AudienceFilter(const ServerDef& def, const ServerTime& time, const World& world,
                               const InterestEngine& interest, FieldStore& fields,
                               const SessionTable& sessions)
    : def_(def),
      time_(time),
      world_(world),
      interest_(interest),
      fields_(fields),
      sessions_(sessions) {
    const auto has_part = [&](const KindLayout& layout, AudienceType type) {
        return std::any_of(layout.parts.begin(), layout.parts.end(),
                           [&](const KindLayout::Part& part) {
                               const auto& components = def.schema->components();
                               return components[index_of(part.component)].audience.type == type;
                           });
    };
    for (const KindLayout& layout : layouts_of(*def.schema)) {
        is_staged_.push_back(layout.staged != 0);
        has_audiences_ |= layout.audience != 0;
        has_unpredicted_ |= has_part(layout, AudienceType::unpredicted);
        is_always_decided_.push_back(has_part(layout, AudienceType::custom));
        is_any_always_decided_ |= is_always_decided_.back() || is_staged_.back();
    }
}

/// Marks the references of a ghost for resending, if the observer receives the component with them.
/// Skips a ghost with an enter that is not sent yet: the enter contains all references, and its
/// components are decided later in the tick.
template <class IsInOneOf>
void AudienceFilter::touch_references(Session& session, EntityId referrer,
                                      IsInOneOf&& is_in_one_of) const {
    GhostTable& ghosts = session.ghosts;
    const LocalId slot = ghosts.slots().find(referrer);
    if (slot == no_local_id || ghosts.slots().needs_enter(slot)) return;
    const KindLayout& layout = fields_.layout(ghosts.slots().kind(slot));
    const FieldMask allowed = layout.fields_of(ghosts.audience().allowed(slot));
    if (PURVIEW_GUARD(audience_of_references, is_in_one_of(layout, allowed)))
        ghosts.touch_references(slot, time_.tick);
}

/// Finds referrers by their references and audience as of the last tick, which is what the client
/// has.
void AudienceFilter::note_references(Session& session) const {
    for (const InterestEvent& event : interest_.events_of(session.observer)) {
        for (const EntityId referrer : fields_.referrers_of(internal(world_), event.entity)) {
            touch_references(session, referrer, [&](const KindLayout&, FieldMask allowed) {
                return fields_.has_reference_to(internal(world_), referrer, event.entity, allowed);
            });
        }
    }
}

void AudienceFilter::note_changed_references(Session& session) const {
    PURVIEW_ASSERT(in_sessions_);
    const auto name_of = [&](EntityId entity) {
        return entity == EntityId::none ? no_local_id : session.ghosts.slots().find(entity);
    };
    for (const FieldStore::ReferenceChange& change : fields_.reference_changes()) {
        touch_references(session, change.referrer,
                         [&](const KindLayout& layout, FieldMask allowed) {
                             return (layout.fields_of(change.component) & allowed) != 0 &&
                                    name_of(change.before) != name_of(change.now);
                         });
    }
}

namespace {

/// Evaluates an audience that follows from world state: owner and keys.
bool is_replicated(const AudienceDef& audience, const WorldData& world, std::uint32_t index,
                   const InterestEngine& interest, ObserverId observer) noexcept {
    const bool owns = world.entities.owner_at(index) == observer;
    switch (audience.type) {
        case AudienceType::owner:
            return owns;
        case AudienceType::others:
            return !owns;
        case AudienceType::same_key:
            return owns || PURVIEW_GUARD(audience_key,
                                         interest.observers.has_key(
                                             observer, audience.domain,
                                             world.attributes.key_at(index, audience.domain)));
        case AudienceType::everyone:
        case AudienceType::custom:
        case AudienceType::staged:
        case AudienceType::unpredicted:
            break;
    }
    return true;
}

}  // namespace

void AudienceFilter::decide(AudienceScratch& room, ObserverId observer,
                            std::span<const std::uint32_t> indices,
                            std::span<std::uint32_t> allowed) const {
    PURVIEW_ASSERT(indices.size() == allowed.size());
    const WorldData& data = internal(world_);
    const Session* const session = has_unpredicted_ ? sessions_.find(observer) : nullptr;
    const auto part_of = [&](std::uint32_t index, ComponentId component) {
        const auto& parts = fields_.layout(data.entities.kind_at(index)).parts;
        std::size_t p = 0;
        while (p < parts.size() && parts[p].component != component) ++p;
        return p == parts.size() ? 0U : 1U << p;
    };
    std::fill(allowed.begin(), allowed.end(), all_allowed);
    if (!has_audiences_ || allowed.empty()) return;
    for (std::size_t c = 0; c < def_.schema->components().size(); ++c) {
        const ComponentId component = id_at<ComponentId>(c);
        const AudienceDef& audience = def_.schema->components()[c].audience;
        if (audience.type == AudienceType::everyone || audience.type == AudienceType::staged)
            continue;
        room.evaluated.clear();
        room.entities.clear();
        for (std::uint32_t i = 0; i < indices.size(); ++i) {
            const std::uint32_t part = part_of(indices[i], component);
            if (part == 0) continue;
            if (audience.type == AudienceType::custom) {
                room.evaluated.push_back(i);
                room.entities.push_back(data.entities.at_index(indices[i]));
            } else if (audience.type == AudienceType::unpredicted) {
                const bool is_own =
                    session != nullptr && data.entities.owner_at(indices[i]) == observer;
                if (is_own && does_predict(*session, indices[i])) allowed[i] &= ~part;
            } else if (!is_replicated(audience, data, indices[i], interest_, observer)) {
                allowed[i] &= ~part;
            }
        }
        if (room.evaluated.empty()) continue;
        room.answer.assign(room.evaluated.size(), 0);
        audience.custom->decide(observer, room.entities, room.answer);
        for (std::size_t k = 0; k < room.evaluated.size(); ++k) {
            const std::uint32_t i = room.evaluated[k];
            if (room.answer[k] == 0) allowed[i] &= ~part_of(indices[i], component);
        }
    }
}

void AudienceFilter::note_changed(std::uint32_t index) {
    PURVIEW_ASSERT(!in_sessions_);
    if (changed_.size() <= index) changed_.resize(index + 1);
    changed_.set(index);
}

void AudienceFilter::begin_sessions(std::size_t index_end) {
    PURVIEW_ASSERT(!in_sessions_);
    changed_.resize(std::max(changed_.size(), index_end));
    has_changed_ = !changed_.none();
    in_sessions_ = true;
}

void AudienceFilter::end_tick() noexcept {
    PURVIEW_ASSERT(in_sessions_);
    if (has_changed_) changed_.clear_all();
    in_sessions_ = false;
}

/// A group counts as predicted until the client's state has not matched the server's for this many
/// ticks.
static Tick predicted_ticks_max(std::uint32_t tick_hz) noexcept {
    return std::max<Tick>(4, tick_hz / 2);
}

bool AudienceFilter::is_predicted_now(const SessionInputs::KnownGroup& group) const noexcept {
    return group.agreed != 0 && time_.tick - group.agreed <= predicted_ticks_max(def_.tick_hz);
}

/// Returns whether the client predicts the entity, so that components with
/// AudienceType::unpredicted are not sent.
bool AudienceFilter::does_predict(const Session& session, std::uint32_t index) const noexcept {
    if (session.inputs == nullptr) return false;
    const LocalId slot = session.ghosts.slots().find_at(index);
    if (slot == no_local_id || !session.ghosts.slots().is_held(slot) ||
        session.ghosts.sends().is_away(slot))
        return false;
    const SessionInputs::KnownGroup* const group =
        session.inputs->find(internal(world_).groups.root_at(index));
    return group != nullptr && is_predicted_now(*group);
}

/// Lists the owned members of groups that the client predicts, or stopped predicting in this tick.
void AudienceFilter::list_predicted(AudienceScratch& room, Session& session) const {
    for (SessionInputs::KnownGroup& group : session.inputs->known) {
        if (!group.is_predicted || !world_.is_alive(group.root)) continue;
        group.is_predicted = is_predicted_now(group);
        internal(world_).groups.for_each_in_group(index_of(group.root), [&](EntityId member) {
            const LocalId slot = session.ghosts.slots().find(member);
            if (slot != no_local_id && session.ghosts.marks().is_owned(slot))
                room.again[slot / bits_per_word] |= std::uint64_t{1} << (slot % bits_per_word);
        });
    }
}

/// Returns whether the components of the ghost may exceed one packet, or some of them have not been
/// sent yet.
bool AudienceFilter::may_be_split(const Session& session, LocalId slot) const noexcept {
    const KindId kind = session.ghosts.slots().kind(slot);
    return is_staged_[index_of(kind)] &&
           (session.ghosts.marks().is_special(slot) ||
            fields_.layout(kind).body_bits_max > body_bits_alone(session.budget_bytes));
}

/// Lists the ghosts that may have another audience than in the last tick: those that entered, those
/// with a new owner or key, and those of a kind with a custom audience. Lists all ghosts if a key
/// of the observer changed.
void AudienceFilter::list(AudienceScratch& room, Session& session) const {
    const GhostTable& ghosts = session.ghosts;
    const std::uint32_t keys = interest_.observers.keys_revision(session.observer);
    room.slots.clear();
    room.indices.clear();
    const bool evaluates_all = keys != session.audience_keys;
    session.audience_keys = keys;
    room.again.assign(ghosts.audience().restricted().size(), evaluates_all ? ~std::uint64_t{0} : 0);
    if (has_unpredicted_ && session.inputs != nullptr) list_predicted(room, session);
    for (const InterestEvent& event : interest_.events_of(session.observer)) {
        const LocalId slot = event.enter ? ghosts.slots().find(event.entity) : no_local_id;
        if (slot != no_local_id)
            room.again[slot / bits_per_word] |= std::uint64_t{1} << (slot % bits_per_word);
    }
    for (std::size_t w = 0; w < room.again.size(); ++w) {
        const std::uint64_t restricted =
            ghosts.audience().restricted()[w] & ghosts.slots().live()[w];
        std::uint64_t& again = room.again[w];
        if (has_changed_) again |= ghosts.slots().slots_in(changed_, w);
        if (is_any_always_decided_) {
            for_each_bit(restricted & ~again, 0, [&](std::size_t i) {
                const auto slot = static_cast<LocalId>(w * bits_per_word + i);
                const KindId kind = ghosts.slots().kind(slot);
                const bool decides_again =
                    is_always_decided_[index_of(kind)] || may_be_split(session, slot);
                again |= std::uint64_t{decides_again} << i;
            });
        }
        for_each_bit(restricted & again, w * bits_per_word, [&](std::size_t slot) {
            room.slots.push_back(static_cast<LocalId>(slot));
            room.indices.push_back(ghosts.slots().entity_index(static_cast<LocalId>(slot)));
        });
    }
}

void AudienceFilter::decide(TickWorker& worker, Session& session) const {
    PURVIEW_ASSERT(in_sessions_);
    if (!has_audiences_ || session.observer == ObserverId::none) return;
    GhostTable& ghosts = session.ghosts;
    AudienceScratch& room = worker.audience;
    list(room, session);
    if (room.slots.empty()) return;
    room.allowed.resize(room.slots.size());
    if (session.state == Session::State::probe) {  // a reference client receives everything
        std::fill(room.allowed.begin(), room.allowed.end(), ~std::uint32_t{0});
    } else {
        decide(room, session.observer, room.indices, room.allowed);
    }
    for (std::size_t i = 0; i < room.slots.size(); ++i) {
        const LocalId slot = room.slots[i];
        if (is_staged_[index_of(ghosts.slots().kind(slot))] &&
            !stage_components(worker, session, slot, room.allowed[i]))
            continue;
        const std::uint32_t public_parts = fields_.layout(ghosts.slots().kind(slot)).public_parts;
        ghosts.set_allowed(slot, room.allowed[i], public_parts, time_.tick);
    }
}

/// Staged replication: if the new data does not fit into one packet, reduces `allowed` to the
/// components that fit. The other components follow in round-robin order, whole components at a
/// time, once these are acknowledged. Returns false and changes nothing while some components are
/// in flight.
bool AudienceFilter::stage_components(TickWorker& worker, Session& session, LocalId slot,
                                      std::uint32_t& allowed) const {
    GhostTable& ghosts = session.ghosts;
    if (ghosts.sends().is_blocked(slot)) return false;
    const std::uint32_t index = ghosts.slots().entity_index(slot);
    const KindLayout& layout = fields_.layout(ghosts.slots().kind(slot));
    PURVIEW_ASSERT(layout.staged != 0 && ghosts.staged().cursor(slot) < layout.parts.size());
    const Tick baseline = ghosts.sends().baseline(slot);
    const RetainedCopy* copy = ghosts.retained().copy(slot);
    FieldMask changed =
        ghosts.slots().needs_enter(slot) ? layout.all
        : copy != nullptr                ? unknown_fields(*copy, fields_, ghosts, slot)
                          : worker.cache.changed_since(index, ghosts.slots().kind(slot), baseline);
    if (ghosts.marks().reference_tick(slot) > baseline) changed |= layout.references;
    const std::uint32_t missing = ghosts.audience().gained(slot) | ~ghosts.audience().allowed(slot);
    std::uint32_t news = 0;  // parts with new data that may wait for another packet
    std::uint64_t bits = 0;
    for (std::size_t p = 0; p < layout.parts.size(); ++p) {
        const std::uint32_t bit = 1U << p;
        const bool is_new = PURVIEW_GUARD(turn_news, (allowed & bit) != 0) &&
                            ((layout.parts[p].fields & changed) != 0 || (missing & bit) != 0);
        const bool waits = is_new && (layout.staged & bit) != 0;
        news |= waits ? bit : 0;
        bits += is_new && !waits ? layout.parts[p].bits_max : 2;
    }
    // Parts that were never sent go first. The cursor then moves to the first part that does not
    // fit now, so at most as many packets precede a part as there are parts (docs/budget.md).
    const std::uint64_t room = body_bits_alone(session.budget_bytes);
    const std::size_t first = ghosts.staged().cursor(slot), none = layout.parts.size();
    std::size_t next = none;
    for (const std::uint32_t group : {news & missing, news & ~missing}) {
        for (std::size_t i = 0; i < layout.parts.size(); ++i) {
            const std::size_t p = (first + i) % layout.parts.size();
            if ((group >> p & 1U) == 0) continue;
            if (bits + layout.parts[p].bits_max <= room) {
                bits += layout.parts[p].bits_max;
                continue;
            }
            allowed &= ~(1U << p);
            if (next == none) next = p;
        }
    }
    PURVIEW_ASSERT(bits <= room);
    PURVIEW_ASSERT(next == none || (layout.staged >> next & 1U) != 0);
    next == none ? ghosts.clear_remainder(slot) : ghosts.set_remainder(slot, next);
    worker.split_updates += next == none || session.state == Session::State::probe ? 0 : 1;
    return true;
}

}  // namespace purview
