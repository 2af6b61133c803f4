// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// One tick of the server. This page is the map of the library: eight stages, in this order and
// nowhere else, each in one room. From `decide_interest` on the world is only read, and from the
// middle of `diff` on no session knows of another: the rest is done for a few of them at a time,
// while what they hold is in the cache of the processor (docs/adr/0012), and on as many threads as
// there are, with the same datagrams (docs/adr/0021).
#include <algorithm>

#include "core/internal_access.hpp"
#include "core/log.hpp"
#include "core/validate.hpp"
#include "interest/interest_data.hpp"
#include "replication/extrapolated_fields.hpp"
#include "server/server_data.hpp"

namespace purview {

namespace {

constexpr Tick tick_last = ~Tick{0} - (1U << 20);  ///< nothing that is kept until then is beyond

/// Sessions that one thread takes at a time: enough that threads do not wait for the counter of
/// chunks.
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
    PURVIEW_ASSERT(!time.in_tick);
    if (time.in_tick) return;
    StageClock clock(def.clock);
    // Numbers of 32 bits end: better an end that is seen than a world that is wrong.
    if (++time.tick == tick_last) shut_down();
    time.in_tick = true;

    receive_stage(server, now);  // joins, disconnects, inputs: what arrived since the last tick
    profile.receive_us = clock.took();
    simulate(server);  // the game edits the world
    profile.simulate_us = clock.took();
    feed.track();  // edits become facts and moves
    profile.track_us = clock.took();
    decide_interest();  // who may know what: enters and leaves
    profile.interest_us = clock.took();
    diff();  // which fields changed
    profile.diff_us = clock.took();
    for_each_group([&](TickWorker& worker, SessionGroup group) {
        StageClock its(def.clock);
        gather(worker, group);  // and for whom that matters
        worker.gather_us += its.took();
        prioritize(worker, group);  // an ordered list for every observer
        worker.prioritize_us += its.took();
        encode(worker, group, now);  // packets within the budget
        worker.encode_us += its.took();
    });
    (void)clock.took();
    send();  // datagrams wait for their carrier
    profile.send_us = clock.took();
    time.in_tick = false;
    if (tap != nullptr) tap->tick_done();
}

void ServerData::receive_stage(Server& server, Micros now) {
    time.now = now;
    lifecycle.begin_tick();
    // The game may add a probe when it is called.
    const std::size_t count = sessions.size();
    for (std::size_t i = 0; i < count; ++i) {
        sessions.prefetch(i + SessionTable::sessions_ahead);
        lifecycle.update(server, *sessions[i], now);
    }
    for (std::size_t i = 0; i < count; ++i) {
        sessions.prefetch(i + SessionTable::sessions_ahead);
        Session& session = *sessions[i];
        if (session.state == Session::State::joined) lifecycle.run_messages(server, session);
        if (session.state == Session::State::joined) lifecycle.run_commands(server, session);
        if (session.state == Session::State::joined) inputs.run(server, session);
        if (session.state == Session::State::joined) calls.run(server, session);
    }
    PURVIEW_ASSERT(sessions.size() >= count);  // none is removed before here
    lifecycle.end_closed(server);
    PURVIEW_VALIDATE(sessions);
}

void ServerData::simulate(Server& server) {
    game.simulate(server, time.tick);
}

void ServerData::decide_interest() {
    interest.tick(manager);
    events.begin_tick();
    for (std::size_t i = 0; i < sessions.size(); ++i) {
        sessions.prefetch(i + SessionTable::sessions_ahead);
        events.prefetch(sessions, i);
        const auto& session = sessions[i];
        if (session->observer == ObserverId::none) continue;
        events.apply(*session);
        rewind.note_events(*session);
        events.watch_first_view(*session);
        if (session->owes_cells) sections.queue_cells(*session);
    }
    for (LocalPlayer* const player : locals) events.apply(*player);
    calls.decide();
    PURVIEW_VALIDATE(calls);
}

/// Once for each component: clients draw the entity elsewhere, or show another number.
void ServerData::warn_of_clamped() {
    const FieldStore::Clamped& clamped = fields.clamped();
    const std::uint32_t fresh = clamped.components & ~warned_of_clamped_;
    if (fresh == 0) return;
    warned_of_clamped_ |= fresh;
    for_each_bit(fresh, 0, [&](std::size_t component) {
        const std::uint32_t index = index_of(clamped.first[component]);
        const KindDef& kind = internal(world).kind_def_at(index);
        write_log(def.log, LogLevel::warning,
                  "entity " + std::to_string(index) + " of kind '" + kind.name +
                      "': a value of component '" + def.schema->components()[component].name +
                      "' is beyond its range in the schema; clients receive the end of the range. "
                      "Logged once for each component, ServerStats::clamped_values counts all.");
    });
}

void ServerData::diff() {
    fields.diff(internal(world), time.tick);
    audiences.begin_sessions(fields.changed().size());
    for (const auto& worker : workers) worker->cache.clear();
    fields.changed().for_each([&](std::size_t i) {
        const auto index = static_cast<std::uint32_t>(i);
        workers.front().cache.prefetch(index);
        fields.prefetch_ticks(index, internal(world).kind_at(index));
    });
    warn_of_clamped();
    sections.cells().update(internal(world), fields, time.tick);
    if (sections.cells().revision() != 0) {  // a section is written when a session needs it first
        const ReplicationInput input = sender.input(workers.front());
        for (const auto& session : sessions) {
            const bool may = session->state == Session::State::joined && sender.may_send(*session);
            sections.plan(*session, input, may);
        }
    }
    rewind.record();
}

/// A few sessions at a time, on one thread or several; what they write is put in the order of
/// sessions, so that the datagrams are the same. On this thread alone while a tap reads each
/// packet.
template <class Stages>
void ServerData::for_each_group(Stages&& stages) {
    sender.begin_tick();
    const std::size_t chunks = (sessions.size() + sessions_in_chunk - 1) / sessions_in_chunk;
    workers.run(chunks, tap != nullptr, [&](TickWorker& worker, std::size_t c) {
        const std::size_t end = std::min((c + 1) * sessions_in_chunk, sessions.size());
        for (std::size_t first = c * sessions_in_chunk; first < end; first += sessions_at_a_time) {
            const SessionGroup group =
                sessions.all().subspan(first, std::min(sessions_at_a_time, end - first));
            prefetch_lanes(first + group.size());
            stages(worker, group);
        }
    });
    sender.end_tick(profile);
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
        fields.changed(), fields.changed_in_public(), time.tick, covered,
        [&](LocalId lane) {
            const FieldMask told = fields.layout(ghosts.kind(lane)).fields_of(ghosts.told(lane));
            return fields.has_changed(ghosts.entity_index(lane), told, time.tick);
        },
        [&](LocalId lane) { return is_off(fields, ghosts, lane, time.tick); });
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
    return live == relevant_count(interest, session.observer);
}

void ServerData::gather(TickWorker& worker, SessionGroup group) {
    const ReplicationInput input = sender.input(worker);
    for (const auto& session : group) {
        audiences.decide(worker, *session);
        gather_changes(*session, session->shared.covered());
        audiences.note_changed_references(*session);
        PURVIEW_ASSERT(session->ghosts.is_sound());
        PURVIEW_ASSERT(spoil != Spoil::none || tells_what_is_relevant(*session));
        prefetch_changes(input, session->ghosts);
        session->prefetch_packet();
    }
}

void ServerData::prioritize(TickWorker& worker, SessionGroup group) {
    PURVIEW_ASSERT(group.size() <= worker.plans.size());
    const ReplicationInput input = sender.input(worker);
    for (std::size_t i = 0; i < group.size(); ++i) {
        const auto& session = group[i];
        session->plan = &worker.plans[i];
        session->plan->clear();
        if (session->observer == ObserverId::none) continue;
        const bool unlimited = session->state == Session::State::probe;
        const std::uint64_t budget_bits = std::uint64_t{session->budget_bytes} * 8;
        if (!unlimited) intervals.update(worker.pace, *session);
        purview::prioritize(input, session->ghosts,
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
            sender.write_probe(worker, *session);
        } else {
            PURVIEW_ASSERT(session->ghosts.is_sound());
            sender.send(worker, *session, now);
            PURVIEW_ASSERT(session->ghosts.is_sound());
            calls.drop_unreliable(worker, *session);
        }
        session->ghosts.end_tick();
    }
}

void ServerData::send() {
    inputs.end_tick();
    internal(world).clear_changes();
    audiences.end_tick();
}

}  // namespace purview
