// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// One tick of the server. This page is the map of the library: eight calls, in this order and
// nowhere else, each into one room. From `decide_interest` on the world is only read.
#include <algorithm>

#include "host/server_data.hpp"

namespace purview {

void ServerData::tick(Server& server, Micros now) {
    Micros mark = def.clock != nullptr ? def.clock() : 0;
    const auto took = [&] {
        const Micros before = mark;
        mark = def.clock != nullptr ? def.clock() : 0;
        return static_cast<std::uint32_t>(mark - before);
    };
    ++tick_number;

    receive_stage(server, now);  // joins, good-byes, commands: what arrived since the last tick
    profile.receive_us = took();
    simulate(server);  // the game edits the world
    profile.simulate_us = took();
    track();  // edits become facts and moves
    profile.track_us = took();
    decide_interest();  // who may know what: enters and leaves
    profile.interest_us = took();
    diff();  // which fields changed, and for whom that matters
    profile.diff_us = took();
    prioritise();  // an ordered list for every observer
    profile.prioritise_us = took();
    encode(now);  // packets within the budget
    profile.encode_us = took();
    send();  // datagrams wait for their carrier
    profile.send_us = took();
}

void ServerData::simulate(Server& server) {
    game_->simulate(server, tick_number);
}

void ServerData::decide_interest() {
    interest.tick();
    for (auto& session : sessions) {
        if (session->observer != ObserverId::none) apply_events(*session);
    }
    decide_calls();
}

/// Enters of one tick take local ids in the order of spawn numbers: nothing that an observer can
/// see depends on a slot, a block or an entity index.
void ServerData::apply_events(Session& session) {
    enter_order_.clear();
    for (const RelevanceEvent& event : interest.events_of(session.observer)) {
        if (event.enter) {
            enter_order_.emplace_back(world.data().spawn_number_at(index_of(event.entity)), &event);
        } else {
            session.ghosts.leave(event.entity, event.reason);
            ++session.leaves;
        }
    }
    std::sort(enter_order_.begin(), enter_order_.end());
    for (const auto& [spawn_number, event] : enter_order_) {
#ifdef PURVIEW_BREAKABLE
        if (session.ghosts.find(event->entity) != no_local_id) continue;  // leaked before
#endif
        const std::uint32_t index = index_of(event->entity);
        session.ghosts.enter(event->entity, world.data().kind_at(index),
                             world.data().owner_at(index) == session.observer, tick_number);
    }
    session.enters += enter_order_.size();
    if (session.state != Session::State::probe) {
        enters_ += enter_order_.size();
        leaves_ += interest.events_of(session.observer).size() - enter_order_.size();
    }
#ifdef PURVIEW_BREAKABLE
    if (spoil == Spoil::leak) spoil_leak(session);
#endif
}

void ServerData::diff() {
    fields_.diff(world.data(), tick_number);
    for (auto& session : sessions) session->ghosts.gather(fields_.changed(), tick_number);
}

ReplicationInput ServerData::replication_input() noexcept {
    return {*def.schema, world.data(), fields_, cache_, tick_number, spoil == Spoil::order};
}

void ServerData::prioritise() {
    cache_.clear();
    const ReplicationInput input = replication_input();
    const std::uint64_t budget_bits = std::uint64_t{def.budget_bytes_per_tick} * 8;
    for (auto& session : sessions) {
        if (session->observer == ObserverId::none) continue;
        const bool unlimited = session->state == Session::State::probe;
        purview::prioritise(input, session->ghosts, unlimited ? ~std::uint64_t{0} : budget_bits,
                            session->plan);
    }
}

void ServerData::encode(Micros now) {
    for (auto& session : sessions) {
        if (session->state == Session::State::closing) continue;
        if (session->state == Session::State::probe) {
            encode_probe(*session);
            continue;
        }
        encode_session(*session, now);
        drop_unreliable(*session);
        const Backlog backlog = backlog_of(session->ghosts, tick_number);
        backlog_age_ticks_max_ = std::max(backlog_age_ticks_max_, backlog.age_ticks_max);
    }
}

void ServerData::send() {
    world.data().clear_changes();
    bytes_sent_ = 0;
    for (const auto& session : sessions) {
        if (session->state != Session::State::probe) bytes_sent_ += session->bytes_sent;
    }
}

}  // namespace purview
