// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "server/relevance_events.hpp"

#include <algorithm>
#include <bit>

#include "core/internal_access.hpp"
#include "link/messages.hpp"
#include "world/world_data.hpp"

namespace purview {

void RelevanceEvents::begin_tick() {
    events_ = events_of_gone_;  // copied, not swapped: keeps the capacity that a tick needs
    events_of_gone_.clear();
}

void RelevanceEvents::prefetch(const SessionTable& sessions, std::size_t session) const noexcept {
    if (session + 2 < sessions.size()) {
        const Session& later = *sessions[session + 2];
        for (const InterestEvent& event : interest_.events_of(later.observer)) {
            later.ghosts.slots().prefetch(event.entity);
            internal(world_).entities.prefetch(index_of(event.entity));
        }
    }
    if (session + 1 < sessions.size()) {
        const Session& next = *sessions[session + 1];
        for (const InterestEvent& event : interest_.events_of(next.observer)) {
            const LocalId slot =
                event.enter ? no_local_id : next.ghosts.slots().newest(event.entity);
            if (slot != no_local_id) next.ghosts.prefetch_slot(slot);
        }
    }
}

ServerEvent RelevanceEvents::event_of(ObserverId observer, EntityId entity, KindId kind,
                                      Reason reason, Change change) const {
    return {observer,
            entity,
            kind,
            reason,
            change,
            interest_.caller.user_data.observers.get(observer),
            internal(world_).user_data.get(entity)};
}

void RelevanceEvents::note_disconnected(const Session& session) {
    PURVIEW_ASSERT(session.state == Session::State::closing);
    const GhostTable& ghosts = session.ghosts;
    for (LocalId slot = 0; slot < ghosts.slots().end(); ++slot) {
        const bool is_kept = !ghosts.slots().is_live(slot) && ghosts.retained().is_retained(slot);
        if (!ghosts.slots().is_live(slot) && !is_kept) continue;
        leaves_ += is_kept ? 0 : 1;
        events_of_gone_.push_back(event_of(session.observer, ghosts.slots().entity(slot),
                                           ghosts.slots().kind(slot), Reason::disconnected,
                                           is_kept ? Change::dropped : Change::left));
    }
}

/// Returns the number of ghosts that leave in this tick and will be retained, or an upper bound if
/// there is room for all.
std::size_t RelevanceEvents::count_retained(const Session& session) const {
    const GhostTable& ghosts = session.ghosts;
    if (ghosts.retained().count() == 0) return 0;
    const auto all = interest_.events_of(session.observer);
    if (ghosts.retained().count() + all.size() <= RetainedGhosts::count_max) return all.size();
    const auto count = std::count_if(all.begin(), all.end(), [&](const auto& event) {
        const LocalId slot = event.enter ? no_local_id : ghosts.slots().find(event.entity);
        return slot != no_local_id && ghosts.slots().is_held(slot) &&
               intervals_.retention_period_of(session, slot, event.reason).policy !=
                   Retention::despawn;
    });
    return static_cast<std::size_t>(count);
}

/// Assigns local ids to the enters of a tick in the order of spawn numbers, so the internal order
/// of entities does not affect what an observer receives.
void RelevanceEvents::apply(Session& session) {
    PURVIEW_ASSERT(session.observer != ObserverId::none);
    GhostTable& ghosts = session.ghosts;
    ghosts.begin_tick(time_.tick);
    const bool is_client = session.state != Session::State::probe;
    const auto report = [&](EntityId entity, KindId kind, Reason reason, Change change) {
        if (is_client) events_.push_back(event_of(session.observer, entity, kind, reason, change));
    };
    ghosts.drop_retained(time_.tick, count_retained(session), [&](LocalId slot) {
        report(ghosts.slots().entity(slot), ghosts.slots().kind(slot), Reason::left,
               Change::dropped);
    });
    enter_order_.clear();
    for (const InterestEvent& event : interest_.events_of(session.observer)) {
        if (event.enter) {
            list_enter(event);
            continue;
        }
        const LocalId slot = ghosts.slots().find(event.entity);
        const KindId kind = slot == no_local_id ? KindId::none : ghosts.slots().kind(slot);
        if (slot < session.first_view.size()) session.first_view.reset(slot);
        const bool is_kept = ghosts.leave(
            slot, event.reason, intervals_.retention_period_of(session, slot, event.reason));
        if (is_kept) ghosts.set_copy(slot, make_copy(fields_, ghosts, slot));
#ifdef PURVIEW_BREAKABLE
        if (injected_ == InjectedFault::unsaid && index_of(event.entity) % 3 == 0)
            ghosts.inject_silence(slot);
#endif
        report(event.entity, kind, event.reason, is_kept ? Change::retained : Change::left);
        ++session.counts.leaves;
    }
    std::sort(enter_order_.begin(), enter_order_.end());
    for (const auto& [spawn_number, event] : enter_order_) {
#ifdef PURVIEW_BREAKABLE
        if (ghosts.slots().find(event->entity) != no_local_id) continue;  // leaked
#endif
        const std::uint32_t index = index_of(event->entity);
        const KindId kind = internal(world_).entities.kind_at(index);
        const bool is_kept = ghosts.retained().is_retained(event->entity);
        const LocalId slot = ghosts.enter(
            event->entity, kind, internal(world_).entities.owner_at(index) == session.observer,
            time_.tick, event->reason);
        set_layout(ghosts, slot);
#ifdef PURVIEW_BREAKABLE
        if (injected_ == InjectedFault::unsent && index_of(event->entity) % 3 == 0)
            ghosts.inject_silence(slot);
#endif
        report(event->entity, kind, event->reason, is_kept ? Change::resumed : Change::entered);
    }
    if (fields_.has_references()) audiences_.note_references(session);
    session.counts.enters += enter_order_.size();
    if (is_client) {
        enters_ += enter_order_.size();
        leaves_ += interest_.events_of(session.observer).size() - enter_order_.size();
    }
#ifdef PURVIEW_BREAKABLE
    if (injected_ == InjectedFault::leak) inject_leak(session);
#endif
}

void RelevanceEvents::list_enter(const InterestEvent& event) {
    enter_order_.emplace_back(internal(world_).entities.spawn_number_at(index_of(event.entity)),
                              &event);
}

void RelevanceEvents::apply(LocalPlayer& player) {
    const auto report = [&](EntityId entity, KindId kind, Reason reason, Change change) {
        events_.push_back(event_of(player.observer, entity, kind, reason, change));
    };
    enter_order_.clear();
    for (const InterestEvent& event : interest_.events_of(player.observer)) {
        if (event.enter) {
            list_enter(event);
            continue;
        }
        const auto its = player.relevant.find(event.entity);
        PURVIEW_ASSERT(its != player.relevant.end());
        report(event.entity, its->second, event.reason, Change::left);
        player.relevant.erase(its);
        ++leaves_;
    }
    std::sort(enter_order_.begin(), enter_order_.end());
    for (const auto& [spawn_number, event] : enter_order_) {
        const KindId kind = internal(world_).entities.kind_at(index_of(event->entity));
        player.relevant.emplace(event->entity, kind);
        report(event->entity, kind, event->reason, Change::entered);
        ++enters_;
    }
}

void RelevanceEvents::note_disconnected(const LocalPlayer& player) {
    for (const auto& [entity, kind] : player.relevant) {
        ++leaves_;
        events_of_gone_.push_back(
            event_of(player.observer, entity, kind, Reason::disconnected, Change::left));
    }
}

/// Sets the properties of the ghost that depend only on its kind.
void RelevanceEvents::set_layout(GhostTable& ghosts, LocalId slot) const {
    const KindLayout& layout = fields_.layout(ghosts.slots().kind(slot));
    const float priority = def_.schema->kinds()[index_of(ghosts.slots().kind(slot))].priority;
    if (priority != 1) ghosts.rates().set_weight(slot, priority);
    ghosts.set_layout(slot, layout.audience != 0,
                      static_cast<unsigned>(std::popcount(layout.extrapolated)));
}

void RelevanceEvents::watch_first_view(Session& session) const {
    if (session.state != Session::State::joined || session.view == Session::View::complete) return;
    const GhostTable& ghosts = session.ghosts;
    Bitset& first = session.first_view;
    if (!interest_.answers.is_ready(session.observer)) {  // not ready: no view yet
        session.view = Session::View::none;
        return;
    }
    if (session.view == Session::View::none) {
        first.resize(ghosts.slots().end());
        for (std::size_t w = 0; w < first.words().size(); ++w)
            first.words()[w] = ghosts.slots().live()[w];
        session.view = Session::View::loading;
    }
    PURVIEW_ASSERT(first.size() <= ghosts.slots().end());
    for (std::size_t w = 0; w < first.words().size(); ++w) {
        const std::uint64_t held = first.words()[w] & ghosts.slots().held()[w];
        for_each_bit(held, w * bits_per_word, [&](std::size_t l) {
            if (!ghosts.sends().is_away(static_cast<LocalId>(l))) first.reset(l);
        });
    }
    if (!first.none()) return;
    const std::byte message{static_cast<std::uint8_t>(ServerMessage::view_complete)};
    if (session.stream_out.send(std::span(&message, 1)) != Status::ok)
        return;  // retried in the next tick
    session.view = Session::View::complete;
    first = {};
}

/// Fault injection: replicates an entity that is not relevant to this observer.
void RelevanceEvents::inject_leak(Session& session) const {
    if (session.state != Session::State::joined || time_.tick % 20 != 0) return;
    for (std::uint32_t index = 0; index < world_.index_end(); ++index) {
        const EntityId entity = world_.at_index(index);
        if (entity == EntityId::none || interest_.answers.is_relevant(session.observer, entity) ||
            session.ghosts.slots().find(entity) != no_local_id ||
            world_.root_of(entity) != entity) {
            continue;
        }
        set_layout(session.ghosts,
                   session.ghosts.enter(entity, world_.kind_of(entity), false, time_.tick));
        return;
    }
}

}  // namespace purview
