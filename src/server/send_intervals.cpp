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
constexpr std::uint64_t every_eighth = 0x0101'0101'0101'0101U;  ///< every eighth bit of a word

/// Returns the send interval of a curve at a relevance score, in ticks; 1 if the curve is empty.
std::uint32_t every_ticks_at(const std::vector<SendInterval>& curve, float score) noexcept {
    std::uint32_t every = curve.empty() ? 1 : curve.front().every_ticks;
    for (const SendInterval& step : curve) {
        if (score >= step.score) every = step.every_ticks;
    }
    return every;
}

}  // namespace

SendIntervals::SendIntervals(const ServerDef& def, const ServerTime& time, const World& world,
                             const InterestEngine& interest)
    : def_(def), time_(time), world_(world), interest_(interest) {
    for (const KindDef& kind : def.schema->kinds()) has_rates_ |= !kind.intervals.empty();
    note_rules();
}

RetentionPeriod SendIntervals::retention_period_of(const Session& session, LocalId slot,
                                                   Reason reason) const {
    if (reason == Reason::despawned || reason == Reason::disconnected) return {};
    if (slot == no_local_id) return {};
    const KindDef& kind = def_.schema->kinds()[index_of(session.ghosts.slots().kind(slot))];
    RetentionPeriod period;
    period.policy = std::max(kind.leave, session.ghosts.rates().policy(slot).leave);
    constexpr Tick forever = ~Tick{0};
    const bool ends =
        period.policy != Retention::deactivate && kind.retention_ticks < forever - time_.tick;
    period.until = ends ? time_.tick + kind.retention_ticks : forever;
    return period;
}

void SendIntervals::note_rules() {
    ++rules_revision_;
    const auto& nodes = interest_.rules().nodes;
    has_settings_ = std::any_of(nodes.begin(), nodes.end(), [](const NodeDef& node) {
        return node.replication.every_ticks != 1 || node.replication.priority != 1 ||
               node.replication.leave != Retention::despawn;
    });
}

void SendIntervals::update(SendIntervalScratch& room, Session& session) const {
    PURVIEW_ASSERT(session.observer != ObserverId::none);
    GhostTable& ghosts = session.ghosts;
    // Without curves, the score affects only the send order, which matters only if the budget is
    // exceeded.
    const bool needs_score = has_rates_ || session.last_plan.was_over_budget;
    const bool are_rules_new =
        std::exchange(session.rules_seen, rules_revision_) != rules_revision_;
    const bool had_score = std::exchange(session.has_score, needs_score);
    if (!has_settings_ && !needs_score && !are_rules_new) return;
    const bool evaluates_all = are_rules_new || (needs_score && !had_score);
    room.slots.clear();
    room.entities.clear();
    const auto add = [&](LocalId slot) {
        room.slots.push_back(slot);
        room.entities.push_back(
            internal(world_).entities.at_index(ghosts.slots().entity_index(slot)));
    };
    for (const EntityId unit : interest_.rebound()) {
        if (evaluates_all || !world_.is_alive(unit)) continue;
        internal(world_).groups.for_each_in_group(index_of(unit), [&](EntityId member) {
            const LocalId slot = ghosts.slots().find(member);
            if (slot != no_local_id && ghosts.slots().is_live(slot)) add(slot);
        });
    }
    static_assert(bits_per_word % update_every_ticks == 0);
    const std::uint64_t turn = evaluates_all
                                   ? ~std::uint64_t{0}
                                   : every_eighth << ((0U - time_.tick) % update_every_ticks);
    for (std::size_t w = 0; w < ghosts.slots().live().size(); ++w) {
        const std::uint64_t evaluated =
            ghosts.slots().live()[w] &
            (turn | ghosts.slots().needs_enter()[w] | ghosts.marks().special()[w]);
        for_each_bit(evaluated, w * bits_per_word, [&](std::size_t l) {
            const auto slot = static_cast<LocalId>(l);
            const bool is_turn = (turn >> (l % bits_per_word) & 1U) != 0;
            if (is_turn || ghosts.sends().is_newly_relevant(slot, time_.tick)) add(slot);
        });
    }
    room.score.resize(room.slots.size());
    room.settings.resize(has_settings_ ? room.slots.size() : 0);
    if (needs_score || has_settings_) {
        interest_.answers.score(session.observer, room.entities, room.score, room.settings);
    }
    const auto& kinds = def_.schema->kinds();
    // A group member is not sent more often than its ancestors in the group, whatever their kinds.
    const auto every_by_curves = [&](LocalId slot, float score) {
        std::uint32_t every =
            every_ticks_at(kinds[index_of(ghosts.slots().kind(slot))].intervals, score);
        const WorldData& data = internal(world_);
        for (EntityId above = data.groups.group_parent_at(ghosts.slots().entity_index(slot));
             above != EntityId::none; above = data.groups.group_parent_at(index_of(above))) {
            const KindDef& kind = kinds[index_of(data.entities.kind_at(index_of(above)))];
            every = std::max(every, every_ticks_at(kind.intervals, score));
        }
        return every;
    };
    for (std::size_t i = 0; i < room.slots.size(); ++i) {
        const LocalId slot = room.slots[i];
        const float score = needs_score ? room.score[i] : 1.0F;
        const Replication settings = has_settings_ ? room.settings[i] : Replication{};
        const KindDef& kind = kinds[index_of(ghosts.slots().kind(slot))];
        ghosts.rates().set_weight(slot,
                                  kind.priority * std::max(score, score_floor) * settings.priority);
        const std::uint32_t every =
            std::max(settings.every_ticks, has_rates_ ? every_by_curves(slot, score) : 1);
        ghosts.rates().set_policy(slot, {every, settings.leave});
    }
}

}  // namespace purview
