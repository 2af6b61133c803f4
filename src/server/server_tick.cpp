// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// One tick of the server: the stages of the library, each in its own module, called in this order
// and nowhere else. From `decide_interest` on, the world is only read. From `gather` on, sessions
// are independent. So the remaining stages process a few sessions at a time while their data is in
// the processor cache (docs/adr/0012). They run on one thread or several, with identical datagrams
// (docs/adr/0021).
#include <algorithm>

#include "core/internal_access.hpp"
#include "core/log.hpp"
#include "core/validate.hpp"
#include "interest/engine.hpp"
#include "replication/extrapolated_fields.hpp"
#include "server/server_data.hpp"

namespace purview {

namespace {

/// The last tick. Leaves room for tick numbers that are computed ahead.
constexpr Tick tick_last = ~Tick{0} - (1U << 20);

/// Sessions in a chunk, which one thread takes at a time: enough to avoid contention for the chunk
/// counter.
constexpr std::size_t sessions_in_chunk = 2 * sessions_at_a_time;

/// Measures durations; all are 0 without a clock.
class StageClock {
  public:
    explicit StageClock(Micros (*clock)()) : clock_(clock), mark_(now()) {}
    /// Microseconds since the last call.
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
    // Shuts down before the 32-bit tick number wraps.
    if (++time.tick == tick_last) shut_down();
    time.in_tick = true;

    receive_stage(server, now);  // joins, disconnects and inputs that arrived since the last tick
    profile.receive_us = clock.took();
    simulate(server);  // the game edits the world
    profile.simulate_us = clock.took();
    feed.track();  // passes edits and moves to interest
    profile.track_us = clock.took();
    decide_interest();  // evaluates relevance: enters and leaves
    profile.interest_us = clock.took();
    diff();  // finds the fields that changed
    profile.diff_us = clock.took();
    for_each_group([&](TickWorker& worker, SessionGroup group) {
        StageClock its(def.clock);
        gather(worker, group);  // collects the changes per observer
        worker.gather_us += its.took();
        prioritize(worker, group);  // builds a send order for each observer
        worker.prioritize_us += its.took();
        encode(worker, group, now);  // writes packets within the budget
        worker.encode_us += its.took();
    });
    (void)clock.took();
    send();  // ends the tick; datagrams wait for the transport
    profile.send_us = clock.took();
    time.in_tick = false;
    if (tap != nullptr) tap->tick_done();
}

void ServerData::receive_stage(Server& server, Micros now) {
    time.now = now;
    lifecycle.begin_tick();
    // The game may add a reference client while it is called.
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
    PURVIEW_ASSERT(sessions.size() >= count);  // no session is removed before this line
    lifecycle.end_closed(server);
    PURVIEW_VALIDATE(sessions);
}

void ServerData::simulate(Server& server) {
    game.on_tick(server, time.tick);
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
        if (session->has_unsent_cells) sections.queue_cells(*session);
    }
    for (LocalPlayer* const player : locals) events.apply(*player);
    calls.decide();
    PURVIEW_VALIDATE(calls);
}

/// Warns once per component about clamped values, which clients display wrongly.
void ServerData::warn_of_clamped() {
    const FieldStore::Clamped& clamped = fields.clamped();
    const std::uint32_t newly_clamped = clamped.components & ~warned_of_clamped_;
    if (newly_clamped == 0) return;
    warned_of_clamped_ |= newly_clamped;
    for_each_bit(newly_clamped, 0, [&](std::size_t component) {
        const std::uint32_t index = index_of(clamped.first[component]);
        const KindDef& kind = internal(world).entities.kind_def_at(index);
        write_log(def.log, LogLevel::warning,
                  "entity " + std::to_string(index) + " of kind '" + kind.name +
                      "': a value of component '" + def.schema->components()[component].name +
                      "' is outside its range in the schema and was clamped. "
                      "This is logged once per component; ServerStats::clamped_values counts all.");
    });
}

void ServerData::diff() {
    fields.diff(internal(world), time.tick);
    audiences.begin_sessions(fields.changed().size());
    for (const auto& worker : workers) worker->cache.clear();
    fields.changed().for_each([&](std::size_t i) {
        const auto index = static_cast<std::uint32_t>(i);
        workers.front().cache.prefetch(index);
        fields.prefetch_ticks(index, internal(world).entities.kind_at(index));
    });
    warn_of_clamped();
    sections.cells().update(internal(world), fields, time.tick);
    if (sections.cells().revision() != 0) {  // payloads are encoded on first use
        const ReplicationInput input = sender.input(workers.front());
        for (const auto& session : sessions) {
            const bool may = session->state == Session::State::joined && sender.may_send(*session);
            sections.plan(*session, input, may);
        }
    }
    rewind.record();
}

/// Processes a few sessions at a time, on one thread or several. The output is put into session
/// order, so that the datagrams do not depend on the threads. Uses only this thread if a
/// replication observer is set.
template <class Stages>
void ServerData::for_each_group(Stages&& stages) {
    sender.begin_tick();
    const std::size_t chunks = (sessions.size() + sessions_in_chunk - 1) / sessions_in_chunk;
    workers.run(chunks, tap != nullptr, [&](TickWorker& worker, std::size_t c) {
        const std::size_t end = std::min((c + 1) * sessions_in_chunk, sessions.size());
        for (std::size_t first = c * sessions_in_chunk; first < end; first += sessions_at_a_time) {
            const SessionGroup group =
                sessions.all().subspan(first, std::min(sessions_at_a_time, end - first));
            prefetch_slots(first + group.size());
            stages(worker, group);
        }
    });
    sender.end_tick(profile);
}

/// Prefetches what gather reads for the next sessions.
void ServerData::prefetch_slots(std::size_t first) const noexcept {
    const std::size_t end = std::min(first + sessions_at_a_time, sessions.size());
    for (std::size_t i = first; i < end; ++i) {
        sessions[i]->prefetch_front();
        sessions[i]->ghosts.prefetch_gather();
    }
}

void ServerData::gather_changes(Session& session, std::span<const std::uint64_t> covered) {
    GhostTable& ghosts = session.ghosts;
    ghosts.gather(
        fields.changed(), fields.changed_in_public(), time.tick, covered,
        [&](LocalId slot) {
            const FieldMask allowed =
                fields.layout(ghosts.slots().kind(slot)).fields_of(ghosts.audience().allowed(slot));
            return fields.has_changed(ghosts.slots().entity_index(slot), allowed, time.tick);
        },
        [&](LocalId slot) { return needs_update(fields, ghosts, slot, time.tick); });
}

/// For assertions: returns whether the live ghosts are the relevant set of this tick.
bool ServerData::reports_relevance(const Session& session) const {
    if (session.observer == ObserverId::none) return true;
    const GhostTable& ghosts = session.ghosts;
    std::size_t live = 0;
    for (LocalId slot = 0; slot < ghosts.slots().end(); ++slot) {
        if (!ghosts.slots().is_live(slot)) continue;
        ++live;
        if (!interest.answers.is_relevant(session.observer, ghosts.slots().entity(slot)))
            return false;
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
        PURVIEW_ASSERT(injected_fault != InjectedFault::none || reports_relevance(*session));
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
