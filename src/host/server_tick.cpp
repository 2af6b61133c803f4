// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// One tick of the server. This page is the map of the library: eight stages, in this order and
// nowhere else, each in one room. From `decide_interest` on the world is only read, and from the
// middle of `diff` on no session knows of another: the rest is done for a few of them at a time,
// while what they hold is in the cache of the processor (docs/adr/0012), and on as many threads as
// there are, with the same datagrams (docs/adr/0021).
#include <algorithm>

#include "host/server_data.hpp"
#include "interest/interest_data.hpp"
#include "interest/run_chunks.hpp"
#include "replication/extrapolated_fields.hpp"

namespace purview {

namespace {

constexpr Tick tick_last = ~Tick{0} - (1U << 20);  ///< nothing that is kept until then is beyond

/// What one thread takes at a time: enough that nobody waits for the counter of chunks.
constexpr std::size_t sessions_in_chunk = 2 * sessions_at_a_time;

/// Without a clock all takes no time.
class StageClock {
  public:
    explicit StageClock(Micros (*clock)()) : clock_(clock), mark_(now()) {}
    /// Since the last call.
    std::uint32_t took() {
        const Micros before = mark_;
        mark_ = now();
        return static_cast<std::uint32_t>(mark_ - before);
    }

  private:
    Micros now() const { return clock_ != nullptr ? clock_() : 0; }
    Micros (*clock_)();
    Micros mark_;
};

}  // namespace

void ServerData::tick(Server& server, Micros now) {
    PURVIEW_ASSERT(!in_tick_);
    if (in_tick_) return;
    StageClock clock(def.clock);
    // Numbers of 32 bits end: better an end that is seen than a world that is wrong.
    if (++tick_number == tick_last) shut_down();
    in_tick_ = true;

    receive_stage(server, now);  // joins, good-byes, commands: what arrived since the last tick
    profile.receive_us = clock.took();
    simulate(server);  // the game edits the world
    profile.simulate_us = clock.took();
    track();  // edits become facts and moves
    profile.track_us = clock.took();
    decide_interest();  // who may know what: enters and leaves
    profile.interest_us = clock.took();
    diff();  // which fields changed
    profile.diff_us = clock.took();
    for_each_group([&](TickWorker& worker, SessionGroup group) {
        StageClock its(def.clock);
        gather(worker, group);  // and for whom that matters
        worker.gather_us += its.took();
        prioritise(worker, group);  // an ordered list for every observer
        worker.prioritise_us += its.took();
        encode(worker, group, now);  // packets within the budget
        worker.encode_us += its.took();
    });
    (void)clock.took();
    send();  // datagrams wait for their carrier
    profile.send_us = clock.took();
    in_tick_ = false;
    if (tap != nullptr) tap->tick_done();
}

void ServerData::simulate(Server& server) {
    game_->simulate(server, tick_number);
}

void ServerData::decide_interest() {
    interest.data().tick(interest);
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
    for (const auto& worker : workers_) worker->cache.clear();
    fields_.changed().for_each([&](std::size_t i) {
        const auto index = static_cast<std::uint32_t>(i);
        workers_.front()->cache.prefetch(index);
        fields_.prefetch_ticks(index, world.data().kind_at(index));
    });
    shared_.update(world.data(), fields_, tick_number);
    if (shared_.revision() != 0) {  // sections are written by whoever needs one first
        for (const auto& session : sessions) plan_sections(*session);
    }
    rewind.record();
}

/// A few sessions at a time, on one thread or several; what they write is put in the order of
/// sessions, so that nobody can tell. On this thread alone while somebody listens to each packet.
template <class Stages>
void ServerData::for_each_group(Stages&& stages) {
    const std::size_t workers =
        tap != nullptr ? 1 : std::min<std::size_t>(executor_.workers, workers_.size());
    begin_packets((sessions.size() + sessions_in_chunk - 1) / sessions_in_chunk);
    run_chunks(executor_, workers, chunks_.size(), [&](std::size_t w, std::size_t c) {
        TickWorker& worker = *workers_[w];
        const std::size_t first_datagram = worker.out.size(), first_late = worker.late.size();
        const std::size_t end = std::min((c + 1) * sessions_in_chunk, sessions.size());
        for (std::size_t first = c * sessions_in_chunk; first < end; first += sessions_at_a_time) {
            const SessionGroup group =
                std::span(sessions).subspan(first, std::min(sessions_at_a_time, end - first));
            prefetch_lanes(first + group.size());
            stages(worker, group);
        }
        chunks_[c] = {&worker, first_datagram, worker.out.size(), first_late, worker.late.size()};
    });
    end_packets();
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

void ServerData::gather(TickWorker& worker, SessionGroup group) {
    const ReplicationInput input = replication_input(worker);
    for (const auto& session : group) {
        decide_audiences(worker, *session);
        gather_changes(*session, session->shared.covered());
        tell_other_references(*session);
        PURVIEW_ASSERT(session->ghosts.is_sound());
        PURVIEW_ASSERT(spoil != Spoil::none || tells_what_is_relevant(*session));
        prefetch_changes(input, session->ghosts);
        session->prefetch_packet();
    }
}

ReplicationInput ServerData::replication_input(TickWorker& worker) noexcept {
    return {*def.schema, world.data(),
            fields_,     worker.cache,
            tick_number, spoil == Spoil::order,
            &shared_,    def.first_urgency,
            has_limits_, spoil == Spoil::audience};
}

void ServerData::prioritise(TickWorker& worker, SessionGroup group) {
    const ReplicationInput input = replication_input(worker);
    for (std::size_t i = 0; i < group.size(); ++i) {
        const auto& session = group[i];
        session->plan = &worker.plans[i];
        session->plan->clear();
        if (session->observer == ObserverId::none) continue;
        const bool unlimited = session->state == Session::State::probe;
        const std::uint64_t budget_bits = std::uint64_t{session->budget_bytes} * 8;
        if (!unlimited) set_paces(worker.pace, *session);
        purview::prioritise(input, session->ghosts,
                            unlimited ? unlimited_bits
                                      : budget_bits - std::min(budget_bits, session->shared.bits()),
                            session->last_plan, *session->plan);
        worker.limited_updates += session->plan->limited;
    }
}

void ServerData::encode(TickWorker& worker, SessionGroup group, Micros now) {
    for (const auto& session : group) {
        if (session->state == Session::State::closing) continue;
        if (session->state == Session::State::probe) {
            encode_probe(worker, *session);
        } else {
            PURVIEW_ASSERT(session->ghosts.is_sound());
            encode_session(worker, *session, now);
            PURVIEW_ASSERT(session->ghosts.is_sound());
            drop_unreliable(worker, *session);
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
