// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "simulation.hpp"
#include "core/internal_access.hpp"
#include "server/server_counters.hpp"
#include "server/server_data.hpp"

#include <algorithm>
#include <array>

#include "add_counts.hpp"
#include "link/handshake.hpp"
#include "purview/limits.hpp"
#include "replay_sim.hpp"

namespace purview::test {

namespace {

constexpr std::uint32_t blackout_ticks = 2 * sim_tick_hz;
constexpr std::uint32_t probes_every = 5 * sim_tick_hz;

std::uint32_t truth_every_ticks(std::uint64_t seed) {
    return seed % 8 == 1 ? 1 : truth_every_usually;
}

/// Encrypted connections with every second seed. A recording is decoded without keys, so it has
/// none.
SmallScale scale_of(const SimDef& def) {
    SmallScale scale = sim_scale;
    scale.encrypted = def.seed % 2 == 0 && def.record_path.empty();
    return scale;
}

}  // namespace

Simulation::Simulation(const SimDef& def)
    : def_(def),
      random_(mix64(def.seed)),
      world_(def.seed, draw_faults(), budget_of(def.seed), scale_of(def),
             truth_every_ticks(def.seed)) {
    for (std::uint32_t i = 0; i < def_.clients; ++i) add_client();
    switch_all_on(world_);
    counts.thorough_seeds = truth_every_ticks(def.seed) == 1 ? 1 : 0;
    if (!def_.record_path.empty()) start_recording();
}

void Simulation::run() {
    for (tick_ = 0; tick_ < def_.ticks && trouble.empty(); ++tick_) {
        disturb();
        step();
    }
    settle();
    if (writer_ != nullptr && !writer_->finish()) fail("the recording could not be written");
    counts.digests += world_.proof->counters().digests_checked;
    counts.sets += world_.proof->counters().truth_checked;
    counts.ghosts += world_.proof->counters().ghosts_checked;
    add_counts(counts.named, world_.permits.named());
    counts.shared += world_.proof->counters().shared_items;
    counts.budget_bound += world_.server->stats().backlog_age_ticks_max > 4 ? 1 : 0;
    for (auto& client : world_.clients) count_client(*client);
    add_counts(counts.calls, world_.ledger->counts());
    counts.rule_changes += world_.game.rule_changes;
    add_counts(counts.mail, world_.mail->counts());
    counts.stale_addresses += world_.stale_addresses;
    counts.owner_changes += world_.game.owner_changes;
    counts.owner_changes_by_players += world_.game.owner_changes_by_players;
    counts.budget_changes += world_.game.budget_changes;
    counts.split_updates += world_.server->stats().split_updates;
    counts.limited_updates += world_.server->stats().limited_updates;
    counts.server_events += pairs_.count();
    counts.driven.commands += internal(*world_.server).inputs.counters().groups;
    counts.driven.refused += internal(*world_.server).inputs.counters().switched_off;
    counts.driven.pushes += world_.game.carts.pushes;
    counts.driven.cuts += world_.game.carts.cuts;
}

Faults Simulation::draw_faults() {
    Faults faults;
    faults.loss = random_.between(0, 0.1F);
    faults.duplicate = random_.between(0, 0.05F);
    faults.corrupt = random_.between(0, 0.02F);
    faults.burst = random_.between(0, 0.005F);
    faults.delay_us = 10'000 + random_.below(90'000);
    faults.jitter_us = random_.below(80'000);
    return faults;
}

void Simulation::count_client(const SmallClient& client) {
    counts.calls.waited += client.client.stats().calls_waited;
    add_counts(counts.faults, client.up->counts);
    add_counts(counts.faults, client.down->counts);
    counts.driven.corrections += client.driver->corrections();
}

void Simulation::start_recording() {
    if (!record::open_private(def_.record_path, recording_))
        fail(def_.record_path + " cannot be written");
    writer_ = std::make_unique<record::Writer>(recording_, beginning_of(world_, def_.seed));
    world_.recorder->record_to(writer_.get(), 1);
}

void Simulation::disturb() {
    for (auto& [client, until] : blacked_out_) {
        if (until != tick_) continue;
        client->up->blackout = client->down->blackout = false;
    }
    std::erase_if(blacked_out_, [&](const auto& entry) { return entry.second <= tick_; });
    if (random_.chance(0.02F)) {
        SmallClient& client = any_client();
        // Half of the blackouts affect one direction only.
        const std::uint32_t ways = random_.below(4);
        client.up->blackout = ways != 0;
        client.down->blackout = ways != 1;
        counts.one_way_blackouts += ways < 2 ? 1 : 0;
        blacked_out_.emplace_back(&client, tick_ + blackout_ticks);
        ++counts.blackouts;
    }
    if (random_.chance(0.02F)) {
        world_.change_address(any_client());
        ++counts.address_changes;
    }
    if (random_.chance(0.02F)) {
        const std::size_t at = random_.below(static_cast<std::uint32_t>(world_.clients.size()));
        SmallClient* gone = world_.clients[at].get();
        std::erase_if(blacked_out_, [&](const auto& entry) { return entry.first == gone; });
        held_.erase(gone);
        watched_.erase(gone);
        false_confirmations_.erase(gone);
        joined_.erase(gone);
        count_client(*gone);
        if (random_.chance(0.5F)) {
            world_.disconnect(*gone);
            ++counts.disconnects;
        }
        world_.clients.erase(world_.clients.begin() + static_cast<std::ptrdiff_t>(at));
        add_client();
        ++counts.rejoins;
    }
}

SmallClient& Simulation::any_client() {
    return *world_.clients[random_.below(static_cast<std::uint32_t>(world_.clients.size()))];
}

void Simulation::step() {
    if (tick_ % probes_every == 0) probe_as_unauthenticated_peer();
    world_.step();
    if (!world_.proof->mismatches().empty()) fail(world_.proof->mismatches().front());
    if (!world_.permits.trouble().empty()) fail(world_.permits.trouble());
    if (!world_.ledger->trouble().empty()) fail(world_.ledger->trouble());
    if (!world_.mail->trouble().empty()) fail(world_.mail->trouble());
    check_server_events();
    const RpcCounters& calls = internal(*world_.server).calls.counters();
    if (calls.refused_ghost + calls.refused_caller > 0)
        fail("a call of a well-behaved client was refused");
    if (internal(*world_.server).drops.malformed_packet > 0)
        fail("the server rejected a packet of a well-behaved client as malformed");
    if (world_.went_over_budget) fail("a client was sent more than its budget in one tick");
    for (auto& client : world_.clients) check_client(*client);
    check_waiting();
    count_by_bounds();
}

void Simulation::probe_as_unauthenticated_peer() {
    Address from;
    from.carrier = Address::Carrier::memory;
    from.host[0] = 200;
    from.port = 1;
    std::array<std::byte, hello_bytes> hello{};
    (void)write(Hello{limits::protocol_version + 1, 0, 1 + tick_}, hello);
    world_.recorder->receive(hello, from, world_.now);
}

void Simulation::fail(const std::string& what) {
    if (trouble.empty()) {
        trouble =
            "seed " + std::to_string(def_.seed) + ", tick " + std::to_string(tick_) + ": " + what;
    }
}

}  // namespace purview::test
