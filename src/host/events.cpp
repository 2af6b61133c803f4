// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Enters and leaves of a tick become ghosts that begin and end, and what the game hears of them.
#include <algorithm>
#include <bit>

#include "host/server_data.hpp"
#include "link/messages.hpp"

namespace purview {

/// What apply_events will look at of the sessions behind this one.
void ServerData::prefetch_events(std::size_t session) const noexcept {
    if (session + 2 < sessions.size()) {
        const Session& later = *sessions[session + 2];
        for (const RelevanceEvent& event : interest.events_of(later.observer)) {
            later.ghosts.prefetch(event.entity);
            world.data().prefetch(index_of(event.entity));
        }
    }
    if (session + 1 < sessions.size()) {
        const Session& next = *sessions[session + 1];
        for (const RelevanceEvent& event : interest.events_of(next.observer)) {
            if (!event.enter) next.ghosts.prefetch_lane(event.entity);
        }
    }
}

/// Whatever he had ends with him, also for those who count who sees what.
void ServerData::tell_disconnected(const Session& session) {
    const GhostTable& ghosts = session.ghosts;
    for (LocalId lane = 0; lane < ghosts.lane_end(); ++lane) {
        const bool is_kept = !ghosts.is_live(lane) && ghosts.is_kept(lane);
        if (!ghosts.is_live(lane) && !is_kept) continue;
        leaves_ += is_kept ? 0 : 1;
        events_of_gone_.push_back({session.observer, ghosts.entity(lane), ghosts.kind(lane),
                                   Reason::disconnected,
                                   is_kept ? CopyChange::dropped : CopyChange::removed});
    }
}

/// Of how many that leave the copies are to be kept; or more, while there is room for all of them.
std::size_t ServerData::count_keeping(const Session& session) const {
    const GhostTable& ghosts = session.ghosts;
    if (ghosts.lingering_count() == 0) return 0;
    const auto all = interest.events_of(session.observer);
    if (ghosts.lingering_count() + all.size() <= GhostTable::lingering_max) return all.size();
    const auto count = std::count_if(all.begin(), all.end(), [&](const auto& event) {
        const LocalId lane = event.enter ? no_local_id : ghosts.find(event.entity);
        return lane != no_local_id && ghosts.is_held(lane) &&
               keeping_of(session, lane, event.reason).policy != LeavePolicy::despawn;
    });
    return static_cast<std::size_t>(count);
}

/// Enters of one tick take local ids in the order of spawn numbers: nothing that an observer can
/// see depends on a slot, a block or an entity index.
void ServerData::apply_events(Session& session) {
    GhostTable& ghosts = session.ghosts;
    ghosts.begin_tick(tick_number);
    const bool is_told = session.state != Session::State::probe;
    const auto tell = [&](EntityId entity, KindId kind, Reason reason, CopyChange copy) {
        if (is_told) events.push_back({session.observer, entity, kind, reason, copy});
    };
    ghosts.drop_lingering(tick_number, count_keeping(session), [&](LocalId lane) {
        tell(ghosts.entity(lane), ghosts.kind(lane), Reason::left, CopyChange::dropped);
    });
    enter_order_.clear();
    for (const RelevanceEvent& event : interest.events_of(session.observer)) {
        if (event.enter) {
            list_enter(event);
            continue;
        }
        const LocalId lane = ghosts.find(event.entity);
        const KindId kind = lane == no_local_id ? KindId{} : ghosts.kind(lane);
        if (lane < session.first_view.size()) session.first_view.reset(lane);
        const bool is_kept =
            ghosts.leave(lane, event.reason, keeping_of(session, lane, event.reason));
        if (is_kept) ghosts.set_copy(lane, make_copy(fields_, ghosts, lane));
#ifdef PURVIEW_BREAKABLE
        if (spoil == Spoil::unsaid && index_of(event.entity) % 3 == 0) ghosts.break_leave(lane);
#endif
        tell(event.entity, kind, event.reason, is_kept ? CopyChange::kept : CopyChange::removed);
        ++session.leaves;
    }
    std::sort(enter_order_.begin(), enter_order_.end());
    for (const auto& [spawn_number, event] : enter_order_) {
#ifdef PURVIEW_BREAKABLE
        if (ghosts.find(event->entity) != no_local_id) continue;  // leaked before
#endif
        const std::uint32_t index = index_of(event->entity);
        const KindId kind = world.data().kind_at(index);
        const bool is_kept = ghosts.is_lingering(event->entity);
        const LocalId lane =
            ghosts.enter(event->entity, kind, world.data().owner_at(index) == session.observer,
                         tick_number, event->reason);
        set_layout(ghosts, lane);
#ifdef PURVIEW_BREAKABLE
        if (spoil == Spoil::unsent && index_of(event->entity) % 3 == 0) ghosts.break_enter(lane);
#endif
        tell(event->entity, kind, event->reason, is_kept ? CopyChange::resumed : CopyChange::made);
    }
    if (fields_.has_references()) tell_references(session);
    session.enters += enter_order_.size();
    if (is_told) {
        enters_ += enter_order_.size();
        leaves_ += interest.events_of(session.observer).size() - enter_order_.size();
    }
#ifdef PURVIEW_BREAKABLE
    if (spoil == Spoil::leak) spoil_leak(session);
#endif
}

void ServerData::list_enter(const RelevanceEvent& event) {
    enter_order_.emplace_back(world.data().spawn_number_at(index_of(event.entity)), &event);
}

/// In the order in which a session's are told.
void ServerData::apply_events(LocalPlayer& player) {
    const auto tell = [&](EntityId entity, KindId kind, Reason reason, CopyChange copy) {
        events.push_back({player.observer, entity, kind, reason, copy});
    };
    enter_order_.clear();
    for (const RelevanceEvent& event : interest.events_of(player.observer)) {
        if (event.enter) {
            list_enter(event);
            continue;
        }
        const auto its = player.relevant.find(event.entity);
        tell(event.entity, its->second, event.reason, CopyChange::removed);
        player.relevant.erase(its);
        ++leaves_;
    }
    std::sort(enter_order_.begin(), enter_order_.end());
    for (const auto& [spawn_number, event] : enter_order_) {
        const KindId kind = world.data().kind_at(index_of(event->entity));
        player.relevant.emplace(event->entity, kind);
        tell(event->entity, kind, event->reason, CopyChange::made);
        ++enters_;
    }
}

LocalPlayer* ServerData::find_local(ObserverId observer) noexcept {
    const auto its = std::find_if(locals_.begin(), locals_.end(), [&](const LocalPlayer* player) {
        return player->observer == observer;
    });
    return its == locals_.end() ? nullptr : *its;
}

/// As whoever disconnects. Before he is gone interest hears what the game has made his.
void ServerData::remove_local(const LocalPlayer& player) {
    if (world.data().has_untracked_ops()) track_facts(true);
    std::erase(locals_, &player);
    for (const auto& [entity, kind] : player.relevant) {
        ++leaves_;
        events_of_gone_.push_back(
            {player.observer, entity, kind, Reason::disconnected, CopyChange::removed});
    }
    forget_held({&player.observer, 1});
    remove_observer(player.observer);
}

/// What of the ghost's kind its lane has to know.
void ServerData::set_layout(GhostTable& ghosts, LocalId lane) {
    const KindLayout& layout = fields_.layout(ghosts.kind(lane));
    const float urgency = def.schema->kinds()[index_of(ghosts.kind(lane))].urgency;
    if (urgency != 1) ghosts.set_weight(lane, urgency);
    if (layout.audience != 0) ghosts.set_restricted(lane);
    if (layout.extrapolated != 0)
        ghosts.set_extrapolated(lane, static_cast<unsigned>(std::popcount(layout.extrapolated)));
}

/// The client is told once when all that was relevant when it was first ready has arrived. Who
/// ceases to be ready before begins anew.
void ServerData::watch_first_view(Session& session) {
    if (session.state != Session::State::joined || session.view == Session::View::complete) return;
    const GhostTable& ghosts = session.ghosts;
    Bitset& first = session.first_view;
    if (!interest.is_ready(session.observer)) {  // for it there is no view yet
        session.view = Session::View::none;
        return;
    }
    if (session.view == Session::View::none) {
        first.resize(ghosts.lane_end());
        for (std::size_t w = 0; w < first.words().size(); ++w) first.words()[w] = ghosts.live()[w];
        session.view = Session::View::loading;
    }
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

}  // namespace purview
