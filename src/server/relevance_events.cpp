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
    events_ = events_of_gone_;  // not swapped: one of the two keeps the room that a tick needs
    events_of_gone_.clear();
}

void RelevanceEvents::prefetch(const SessionTable& sessions, std::size_t session) const noexcept {
    if (session + 2 < sessions.size()) {
        const Session& later = *sessions[session + 2];
        for (const InterestEvent& event : interest_.events_of(later.observer)) {
            later.ghosts.prefetch(event.entity);
            internal(world_).prefetch(index_of(event.entity));
        }
    }
    if (session + 1 < sessions.size()) {
        const Session& next = *sessions[session + 1];
        for (const InterestEvent& event : interest_.events_of(next.observer)) {
            if (!event.enter) next.ghosts.prefetch_lane(event.entity);
        }
    }
}

void RelevanceEvents::note_disconnected(const Session& session) {
    PURVIEW_ASSERT(session.state == Session::State::closing);
    const GhostTable& ghosts = session.ghosts;
    for (LocalId lane = 0; lane < ghosts.lane_end(); ++lane) {
        const bool is_kept = !ghosts.is_live(lane) && ghosts.is_kept(lane);
        if (!ghosts.is_live(lane) && !is_kept) continue;
        leaves_ += is_kept ? 0 : 1;
        events_of_gone_.push_back({session.observer, ghosts.entity(lane), ghosts.kind(lane),
                                   Reason::disconnected, is_kept ? Change::dropped : Change::left});
    }
}

/// Of how many that leave the copies are to be kept; or more, while there is room for all of them.
std::size_t RelevanceEvents::count_keeping(const Session& session) const {
    const GhostTable& ghosts = session.ghosts;
    if (ghosts.retained_count() == 0) return 0;
    const auto all = interest_.events_of(session.observer);
    if (ghosts.retained_count() + all.size() <= GhostTable::retained_max) return all.size();
    const auto count = std::count_if(all.begin(), all.end(), [&](const auto& event) {
        const LocalId lane = event.enter ? no_local_id : ghosts.find(event.entity);
        return lane != no_local_id && ghosts.is_held(lane) &&
               intervals_.keeping_of(session, lane, event.reason).policy != Retention::despawn;
    });
    return static_cast<std::size_t>(count);
}

/// Enters of one tick take local ids in the order of spawn numbers: nothing that an observer can
/// see depends on a slot, a block or an entity index.
void RelevanceEvents::apply(Session& session) {
    PURVIEW_ASSERT(session.observer != ObserverId::none);
    GhostTable& ghosts = session.ghosts;
    ghosts.begin_tick(time_.tick);
    const bool is_replicated = session.state != Session::State::probe;
    const auto tell = [&](EntityId entity, KindId kind, Reason reason, Change copy) {
        if (is_replicated) events_.push_back({session.observer, entity, kind, reason, copy});
    };
    ghosts.drop_retained(time_.tick, count_keeping(session), [&](LocalId lane) {
        tell(ghosts.entity(lane), ghosts.kind(lane), Reason::left, Change::dropped);
    });
    enter_order_.clear();
    for (const InterestEvent& event : interest_.events_of(session.observer)) {
        if (event.enter) {
            list_enter(event);
            continue;
        }
        const LocalId lane = ghosts.find(event.entity);
        const KindId kind = lane == no_local_id ? KindId{} : ghosts.kind(lane);
        if (lane < session.first_view.size()) session.first_view.reset(lane);
        const bool is_kept =
            ghosts.leave(lane, event.reason, intervals_.keeping_of(session, lane, event.reason));
        if (is_kept) ghosts.set_copy(lane, make_copy(fields_, ghosts, lane));
#ifdef PURVIEW_BREAKABLE
        if (spoil_ == Spoil::unsaid && index_of(event.entity) % 3 == 0) ghosts.break_leave(lane);
#endif
        tell(event.entity, kind, event.reason, is_kept ? Change::retained : Change::left);
        ++session.counts.leaves;
    }
    std::sort(enter_order_.begin(), enter_order_.end());
    for (const auto& [spawn_number, event] : enter_order_) {
#ifdef PURVIEW_BREAKABLE
        if (ghosts.find(event->entity) != no_local_id) continue;  // leaked before
#endif
        const std::uint32_t index = index_of(event->entity);
        const KindId kind = internal(world_).kind_at(index);
        const bool is_kept = ghosts.is_retained(event->entity);
        const LocalId lane =
            ghosts.enter(event->entity, kind, internal(world_).owner_at(index) == session.observer,
                         time_.tick, event->reason);
        set_layout(ghosts, lane);
#ifdef PURVIEW_BREAKABLE
        if (spoil_ == Spoil::unsent && index_of(event->entity) % 3 == 0) ghosts.break_enter(lane);
#endif
        tell(event->entity, kind, event->reason, is_kept ? Change::resumed : Change::entered);
    }
    if (fields_.has_references()) audiences_.note_references(session);
    session.counts.enters += enter_order_.size();
    if (is_replicated) {
        enters_ += enter_order_.size();
        leaves_ += interest_.events_of(session.observer).size() - enter_order_.size();
    }
#ifdef PURVIEW_BREAKABLE
    if (spoil_ == Spoil::leak) spoil_leak(session);
#endif
}

void RelevanceEvents::list_enter(const InterestEvent& event) {
    enter_order_.emplace_back(internal(world_).spawn_number_at(index_of(event.entity)), &event);
}

void RelevanceEvents::apply(LocalPlayer& player) {
    const auto tell = [&](EntityId entity, KindId kind, Reason reason, Change copy) {
        events_.push_back({player.observer, entity, kind, reason, copy});
    };
    enter_order_.clear();
    for (const InterestEvent& event : interest_.events_of(player.observer)) {
        if (event.enter) {
            list_enter(event);
            continue;
        }
        const auto its = player.relevant.find(event.entity);
        PURVIEW_ASSERT(its != player.relevant.end());
        tell(event.entity, its->second, event.reason, Change::left);
        player.relevant.erase(its);
        ++leaves_;
    }
    std::sort(enter_order_.begin(), enter_order_.end());
    for (const auto& [spawn_number, event] : enter_order_) {
        const KindId kind = internal(world_).kind_at(index_of(event->entity));
        player.relevant.emplace(event->entity, kind);
        tell(event->entity, kind, event->reason, Change::entered);
        ++enters_;
    }
}

void RelevanceEvents::note_disconnected(const LocalPlayer& player) {
    for (const auto& [entity, kind] : player.relevant) {
        ++leaves_;
        events_of_gone_.push_back(
            {player.observer, entity, kind, Reason::disconnected, Change::left});
    }
}

/// What of the ghost's kind its lane has to know.
void RelevanceEvents::set_layout(GhostTable& ghosts, LocalId lane) const {
    const KindLayout& layout = fields_.layout(ghosts.kind(lane));
    const float priority = def_.schema->kinds()[index_of(ghosts.kind(lane))].priority;
    if (priority != 1) ghosts.set_weight(lane, priority);
    if (layout.audience != 0) ghosts.set_restricted(lane);
    if (layout.extrapolated != 0)
        ghosts.set_extrapolated(lane, static_cast<unsigned>(std::popcount(layout.extrapolated)));
}

void RelevanceEvents::watch_first_view(Session& session) const {
    if (session.state != Session::State::joined || session.view == Session::View::complete) return;
    const GhostTable& ghosts = session.ghosts;
    Bitset& first = session.first_view;
    if (!interest_.is_ready(session.observer)) {  // for it there is no view yet
        session.view = Session::View::none;
        return;
    }
    if (session.view == Session::View::none) {
        first.resize(ghosts.lane_end());
        for (std::size_t w = 0; w < first.words().size(); ++w) first.words()[w] = ghosts.live()[w];
        session.view = Session::View::loading;
    }
    PURVIEW_ASSERT(first.size() <= ghosts.lane_end());
    for (std::size_t w = 0; w < first.words().size(); ++w) {
        const std::uint64_t held = first.words()[w] & ghosts.held()[w];
        for_each_bit(held, w * bits_per_word, [&](std::size_t l) {
            if (!ghosts.is_away(static_cast<LocalId>(l))) first.reset(l);
        });
    }
    if (!first.none()) return;
    const std::byte message{static_cast<std::uint8_t>(ServerMessage::view_complete)};
    if (session.stream_out.send(std::span(&message, 1)) != Status::ok)
        return;  // when there is room
    session.view = Session::View::complete;
    first = {};
}

/// Test builds: one entity that this observer must not know of is shown to it all the same.
void RelevanceEvents::spoil_leak(Session& session) const {
    if (session.state != Session::State::joined || time_.tick % 20 != 0) return;
    for (std::uint32_t index = 0; index < world_.index_end(); ++index) {
        const EntityId entity = world_.at_index(index);
        if (entity == EntityId::none || interest_.is_relevant(session.observer, entity) ||
            session.ghosts.find(entity) != no_local_id || world_.root_of(entity) != entity) {
            continue;
        }
        set_layout(session.ghosts,
                   session.ghosts.enter(entity, world_.kind_of(entity), false, time_.tick));
        return;
    }
}

}  // namespace purview
