// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "server/send_intervals.hpp"

#include <algorithm>
#include <utility>

#include "core/internal_access.hpp"
#include "world/world_data.hpp"

namespace purview {

namespace {

constexpr Tick update_every_ticks = 8;
constexpr std::uint64_t every_eighth = 0x0101'0101'0101'0101U;  ///< bits of a word

/// The send interval of a curve at a score. An empty curve: every tick.
std::uint32_t every_ticks_at(const std::vector<SendInterval>& curve, float score) noexcept {
    std::uint32_t every = curve.empty() ? 1 : curve.front().every_ticks;
    for (const SendInterval& step : curve) {
        if (score >= step.score) every = step.every_ticks;
    }
    return every;
}

}  // namespace

SendIntervals::SendIntervals(const ServerDef& def, const ServerTime& time, const World& world,
                             const InterestData& interest)
    : def_(def), time_(time), world_(world), interest_(interest) {
    for (const KindDef& kind : def.schema->kinds()) has_rates_ |= !kind.rates.empty();
    note_rules();
}

Keeping SendIntervals::keeping_of(const Session& session, LocalId lane, Reason reason) const {
    if (reason == Reason::despawned || reason == Reason::disconnected) return {};
    if (lane == no_local_id) return {};
    const KindDef& kind = def_.schema->kinds()[index_of(session.ghosts.kind(lane))];
    Keeping keeping;
    keeping.policy = std::max(kind.leave, session.ghosts.pace(lane).leave);
    constexpr Tick forever = ~Tick{0};
    const bool ends =
        keeping.policy != Retention::deactivate && kind.retention_ticks < forever - time_.tick;
    keeping.until = ends ? time_.tick + kind.retention_ticks : forever;
    return keeping;
}

void SendIntervals::note_rules() {
    ++rules_revision_;
    const auto& nodes = interest_.rules().nodes;
    has_settings_ = std::any_of(nodes.begin(), nodes.end(), [](const NodeDef& node) {
        return node.replication.every_ticks != 1 || node.replication.priority != 1 ||
               node.replication.leave != Retention::despawn;
    });
}

void SendIntervals::update(PaceScratch& room, Session& session) const {
    PURVIEW_ASSERT(session.observer != ObserverId::none);
    GhostTable& ghosts = session.ghosts;
    // Without a curve, strength is for the send order, which matters only where the budget binds.
    const bool needs_score = has_rates_ || session.last_plan.was_over_budget;
    const bool are_rules_new =
        std::exchange(session.rules_seen, rules_revision_) != rules_revision_;
    const bool had_score = std::exchange(session.has_score, needs_score);
    if (!has_settings_ && !needs_score && !are_rules_new) return;
    const bool asks_all = are_rules_new || (needs_score && !had_score);
    room.lanes.clear();
    room.entities.clear();
    const auto look_up = [&](LocalId lane) {
        room.lanes.push_back(lane);
        room.entities.push_back(internal(world_).at_index(ghosts.entity_index(lane)));
    };
    for (const EntityId unit : interest_.rebound()) {
        if (asks_all || !world_.is_alive(unit)) continue;
        internal(world_).for_each_in_group(index_of(unit), [&](EntityId member) {
            const LocalId lane = ghosts.find(member);
            if (lane != no_local_id && ghosts.is_live(lane)) look_up(lane);
        });
    }
    static_assert(bits_per_word % update_every_ticks == 0);
    const std::uint64_t turn =
        asks_all ? ~std::uint64_t{0} : every_eighth << ((0U - time_.tick) % update_every_ticks);
    for (std::size_t w = 0; w < ghosts.live().size(); ++w) {
        const std::uint64_t looked_up =
            ghosts.live()[w] & (turn | ghosts.needs_enter()[w] | ghosts.special()[w]);
        for_each_bit(looked_up, w * bits_per_word, [&](std::size_t l) {
            const auto lane = static_cast<LocalId>(l);
            const bool is_turn = (turn >> (l % bits_per_word) & 1U) != 0;
            if (is_turn || ghosts.has_come(lane, time_.tick)) look_up(lane);
        });
    }
    room.score.resize(room.lanes.size());
    room.settings.resize(has_settings_ ? room.lanes.size() : 0);
    if (needs_score || has_settings_) {
        interest_.score(session.observer, room.entities, room.score, room.settings);
    }
    const auto& kinds = def_.schema->kinds();
    // No more often than those above it in its group, whatever kinds they are of.
    const auto every_by_curves = [&](LocalId lane, float score) {
        std::uint32_t every = every_ticks_at(kinds[index_of(ghosts.kind(lane))].rates, score);
        const WorldData& data = internal(world_);
        for (EntityId above = data.group_parent_at(ghosts.entity_index(lane));
             above != EntityId::none; above = data.group_parent_at(index_of(above))) {
            const KindDef& kind = kinds[index_of(data.kind_at(index_of(above)))];
            every = std::max(every, every_ticks_at(kind.rates, score));
        }
        return every;
    };
    for (std::size_t i = 0; i < room.lanes.size(); ++i) {
        const LocalId lane = room.lanes[i];
        const float score = needs_score ? room.score[i] : 1.0F;
        const Replication settings = has_settings_ ? room.settings[i] : Replication{};
        const KindDef& kind = kinds[index_of(ghosts.kind(lane))];
        ghosts.set_weight(lane, kind.priority * std::max(score, score_floor) * settings.priority);
        const std::uint32_t every =
            std::max(settings.every_ticks, has_rates_ ? every_by_curves(lane, score) : 1);
        ghosts.set_pace(lane, {every, settings.leave});
    }
}

}  // namespace purview
