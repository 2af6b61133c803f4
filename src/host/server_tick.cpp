// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// One tick of the server. This page is the map of the library: eight stages, in this order and
// nowhere else, each in one room. From `decide_interest` on the world is only read, and from the
// middle of `diff` on no session knows of another: the rest is done for a few of them at a time,
// while what they hold is in the cache of the processor (docs/adr/0012).
#include <algorithm>

#include "host/server_data.hpp"
#include "replication/extrapolated_fields.hpp"

namespace purview {

namespace {

constexpr Tick tick_last = ~Tick{0} - (1U << 20);  ///< nothing that is kept until then is beyond

}  // namespace

void ServerData::tick(Server& server, Micros now) {
    Micros mark = def.clock != nullptr ? def.clock() : 0;
    const auto took = [&] {
        const Micros before = mark;
        mark = def.clock != nullptr ? def.clock() : 0;
        return static_cast<std::uint32_t>(mark - before);
    };
    // Numbers of 32 bits end: better an end that is seen than a world that is wrong.
    if (++tick_number == tick_last) shut_down();
    in_tick_ = true;

    receive_stage(server, now);  // joins, good-byes, commands: what arrived since the last tick
    profile.receive_us = took();
    simulate(server);  // the game edits the world
    profile.simulate_us = took();
    track();  // edits become facts and moves
    profile.track_us = took();
    decide_interest();  // who may know what: enters and leaves
    profile.interest_us = took();
    diff();  // which fields changed
    profile.diff_us = took();
    profile.prioritise_us = profile.encode_us = 0;
    for (std::size_t first = 0; first < sessions.size(); first += sessions_at_a_time) {
        const SessionGroup group = std::span(sessions).subspan(
            first, std::min(sessions_at_a_time, sessions.size() - first));
        prefetch_lanes(first + group.size());
        gather(group);  // and for whom that matters
        profile.diff_us += took();
        prioritise(group);  // an ordered list for every observer
        profile.prioritise_us += took();
        encode(group, now);  // packets within the budget
        profile.encode_us += took();
    }
    send();  // datagrams wait for their carrier
    profile.send_us = took();
    in_tick_ = false;
    if (tap != nullptr) tap->tick_done();
}

void ServerData::simulate(Server& server) {
    game_->simulate(server, tick_number);
}

void ServerData::decide_interest() {
    interest.tick();
    events = events_of_gone_;  // not swapped: one of the two keeps the room that a tick needs
    events_of_gone_.clear();
    for (std::size_t i = 0; i < sessions.size(); ++i) {
        prefetch_session(i + sessions_ahead);
        prefetch_events(i);
        const auto& session = sessions[i];
        if (session->observer == ObserverId::none) continue;
        apply_events(*session);
        rewind.note_events(*session);
        watch_first_view(*session);
        if (session->owes_cells) queue_cells(*session);
    }
    for (LocalPlayer* const player : locals_) apply_events(*player);
    decide_calls();
}

void ServerData::diff() {
    fields_.diff(world.data(), tick_number);
    owner_or_key_changed_.resize(std::max(owner_or_key_changed_.size(), fields_.changed().size()));
    any_owner_or_key_changed_ = !owner_or_key_changed_.none();
    cache_.clear();
    fields_.changed().for_each([&](std::size_t i) {
        const auto index = static_cast<std::uint32_t>(i);
        cache_.prefetch(index);
        fields_.prefetch_ticks(index, world.data().kind_at(index));
    });
    shared_.update(world.data(), fields_, tick_number);
    rewind.record();
}

/// What gather looks through of the sessions that come next.
void ServerData::prefetch_lanes(std::size_t first) const noexcept {
    const std::size_t end = std::min(first + sessions_at_a_time, sessions.size());
    for (std::size_t i = first; i < end; ++i) {
        sessions[i]->prefetch_front();
        sessions[i]->ghosts.prefetch_lanes();
    }
}

void ServerData::gather_changes(Session& session, std::span<const std::uint64_t> covered) {
    GhostTable& ghosts = session.ghosts;
    ghosts.gather(
        fields_.changed(), fields_.changed_in_public(), tick_number, covered,
        [&](LocalId lane) {
            const FieldMask told = fields_.layout(ghosts.kind(lane)).fields_of(ghosts.told(lane));
            return fields_.has_changed(ghosts.entity_index(lane), told, tick_number);
        },
        [&](LocalId lane) { return is_off(fields_, ghosts, lane, tick_number); });
}

/// Ghosts are the relevant set of this tick. For assertions.
bool ServerData::tells_what_is_relevant(const Session& session) const {
    if (session.observer == ObserverId::none) return true;
    const GhostTable& ghosts = session.ghosts;
    std::size_t live = 0;
    for (LocalId lane = 0; lane < ghosts.lane_end(); ++lane) {
        if (!ghosts.is_live(lane)) continue;
        ++live;
        if (!interest.is_relevant(session.observer, ghosts.entity(lane))) return false;
    }
    return live == interest.relevant_count(session.observer);
}

void ServerData::gather(SessionGroup group) {
    const ReplicationInput input = replication_input();
    for (const auto& session : group) {
        decide_audiences(*session);
        plan_sections(*session);
        gather_changes(*session, session->shared.covered());
        tell_other_references(*session);
        PURVIEW_ASSERT(session->ghosts.is_sound());
        PURVIEW_ASSERT(spoil != Spoil::none || tells_what_is_relevant(*session));
        prefetch_changes(input, session->ghosts);
        session->prefetch_packet();
    }
}

ReplicationInput ServerData::replication_input() noexcept {
    return {*def.schema,           world.data(), fields_,           cache_,     tick_number,
            spoil == Spoil::order, &shared_,     def.first_urgency, has_limits_};
}

void ServerData::prioritise(SessionGroup group) {
    const ReplicationInput input = replication_input();
    for (std::size_t i = 0; i < group.size(); ++i) {
        const auto& session = group[i];
        session->plan = &plans_[i];
        session->plan->clear();
        if (session->observer == ObserverId::none) continue;
        const bool unlimited = session->state == Session::State::probe;
        const std::uint64_t budget_bits = std::uint64_t{session->budget_bytes} * 8;
        if (!unlimited) set_paces(*session);
        purview::prioritise(input, session->ghosts,
                            unlimited ? unlimited_bits
                                      : budget_bits - std::min(budget_bits, session->shared.bits()),
                            session->last_plan, *session->plan);
        limited_updates_ += session->plan->limited;
    }
}

void ServerData::encode(SessionGroup group, Micros now) {
    for (const auto& session : group) {
        if (session->state == Session::State::closing) continue;
        if (session->state == Session::State::probe) {
            encode_probe(*session);
        } else {
            PURVIEW_ASSERT(session->ghosts.is_sound());
            encode_session(*session, now);
            PURVIEW_ASSERT(session->ghosts.is_sound());
            drop_unreliable(*session);
        }
        session->ghosts.end_tick();
    }
}

void ServerData::send() {
    inputs.groups.end_tick();
    world.data().clear_changes();
    if (any_owner_or_key_changed_) owner_or_key_changed_.clear_all();
}

}  // namespace purview
