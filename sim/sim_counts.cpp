// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "sim_counts.hpp"

#include <algorithm>
#include <cstdio>

#include "add_counts.hpp"

namespace purview::test {

namespace {
using Count = unsigned long long;
}

SimCounts& SimCounts::operator+=(const SimCounts& more) noexcept {
    entities = std::min(entities, more.entities);
    thorough_seeds += more.thorough_seeds;
    client_ticks += more.client_ticks;
    digests += more.digests;
    sets += more.sets;
    ghosts += more.ghosts;
    add_counts(named, more.named);
    positions += more.positions;
    shared += more.shared;
    by_bounds += more.by_bounds;
    promoted += more.promoted;
    enters += more.enters;
    leaves += more.leaves;
    resumed += more.resumed;
    superseded += more.superseded;
    retained += more.retained;
    retained_by_nodes += more.retained_by_nodes;
    slowed_by_nodes += more.slowed_by_nodes;
    server_events += more.server_events;
    add_counts(seen, more.seen);
    add_counts(by_hand, more.by_hand);
    add_counts(mail, more.mail);
    add_counts(driven, more.driven);
    owner_changes += more.owner_changes;
    owner_changes_by_players += more.owner_changes_by_players;
    split_updates += more.split_updates;
    limited_updates += more.limited_updates;
    round_robin_waits += more.round_robin_waits;
    blackouts += more.blackouts;
    rejoins += more.rejoins;
    address_changes += more.address_changes;
    stale_addresses += more.stale_addresses;
    one_way_blackouts += more.one_way_blackouts;
    disconnects += more.disconnects;
    add_counts(calls, more.calls);
    budget_bound += more.budget_bound;
    oldest_ticks = std::max(oldest_ticks, more.oldest_ticks);
    most_rounds = std::max(most_rounds, more.most_rounds);
    bounds_decided += more.bounds_decided;
    most_page_packets = std::max(most_page_packets, more.most_page_packets);
    rule_changes += more.rule_changes;
    budget_changes += more.budget_changes;
    add_counts(faults, more.faults);
    return *this;
}

void print(const SimCounts& counts, std::uint64_t seeds) {
    std::printf(
        "  %llu client-ticks, %llu enters (%llu of them resumed a retained ghost), %llu leaves "
        "(%llu with a retained ghost); %llu server events checked for pairing\n",
        Count{counts.client_ticks}, Count{counts.enters}, Count{counts.resumed},
        Count{counts.leaves}, Count{counts.retained}, Count{counts.server_events});
    std::printf(
        "  checked: %llu digests, %llu relevant sets (%llu seeds in every tick, %llu in every "
        "%uth), %llu ghosts against the world, %llu positions in the idle world; %llu updates in "
        "shared cell payloads, %llu trains relevant by their bounds alone, %llu enters because of "
        "an independently culled member\n",
        Count{counts.digests}, Count{counts.sets}, Count{counts.thorough_seeds},
        Count{seeds - counts.thorough_seeds}, truth_every_usually, Count{counts.ghosts},
        Count{counts.positions}, Count{counts.shared}, Count{counts.by_bounds},
        Count{counts.promoted});
    const Permits::Counts& named = counts.named;
    std::printf(
        "  ids in packets, checked against the allowed ones: %llu of enters and updates (%llu with "
        "excluded components), %llu of leaves, %llu of parents, %llu of references, %llu "
        "in member maps\n",
        Count{named.bodies}, Count{named.partial}, Count{named.leaves}, Count{named.parents},
        Count{named.references}, Count{named.member_maps});
    const SeenCounts& seen = counts.seen;
    std::printf(
        "  examined: %llu components with a restricted audience that were replicated, %llu that "
        "were not, %llu references, %llu dead-reckoned fields without an update, %llu partial and "
        "%llu complete books; %llu split updates, %llu delayed by limits, %llu ghosts that waited "
        "in round-robin order, summed over ticks\n",
        Count{seen.replicated}, Count{seen.withheld}, Count{seen.references},
        Count{seen.extrapolated}, Count{seen.parts}, Count{seen.wholes},
        Count{counts.split_updates}, Count{counts.limited_updates},
        Count{counts.round_robin_waits});
    const HandCounts& hand = counts.by_hand;
    std::printf(
        "  by the game: %llu enters allowed, %llu shown to all, %llu leaves denied, %llu hidden; "
        "%llu owner changes (%llu by players), %llu enters as owned; nodes retained %llu ghosts "
        "and "
        "slowed down %llu ghosts, summed over ticks\n",
        Count{hand.allowed}, Count{hand.shown}, Count{hand.denied}, Count{hand.hidden},
        Count{counts.owner_changes}, Count{counts.owner_changes_by_players}, Count{hand.owned},
        Count{counts.retained_by_nodes}, Count{counts.slowed_by_nodes});
    const LedgerCounts& c = counts.calls;
    std::printf(
        "  %llu calls, %llu promised to observers (%llu of them queued), %llu culled, %llu dropped "
        "after queueing; %llu arrived, %llu resent, %llu before their ghosts; %llu to the server; "
        "positional: %llu certainly covered an observer, %llu certainly did not\n",
        Count{c.made}, Count{c.promised}, Count{c.held}, Count{c.culled}, Count{c.late},
        Count{c.delivered}, Count{c.repeated}, Count{c.waited}, Count{c.to_server},
        Count{c.covered}, Count{c.uncovered});
    const MailCounts& mail = counts.mail;
    std::printf(
        "  of %llu messages to clients %llu arrived, of %llu to the game %llu, of %llu commands "
        "%llu\n",
        Count{mail.messages_sent[0]}, Count{mail.messages[0]}, Count{mail.messages_sent[1]},
        Count{mail.messages[1]}, Count{mail.commands_given}, Count{mail.commands});
    const DrivenCounts& driven = counts.driven;
    std::printf(
        "  driven and predicted: %llu group inputs, %llu agreements compared, %llu pushes by "
        "the game, %llu corrections, %llu members removed, %llu inputs for members that take none; "
        "owners received corrections only for %llu ghosts and full updates for "
        "%llu, summed over ticks; %llu compared in the idle world\n",
        Count{driven.commands}, Count{driven.agreements}, Count{driven.pushes},
        Count{driven.corrections}, Count{driven.cuts}, Count{driven.refused},
        Count{driven.withheld}, Count{driven.replicated}, Count{driven.idle_comparisons});
    const FaultCounts& f = counts.faults;
    std::printf(
        "  %llu datagrams: %llu lost, %llu duplicated, %llu reordered, %llu corrupted, "
        "%llu truncated\n",
        Count{f.sent}, Count{f.lost}, Count{f.doubled}, Count{f.reordered}, Count{f.damaged},
        Count{f.cut_short});
    std::printf(
        "  %llu blackouts of 2 s (%llu in one direction only), %llu address changes (%llu "
        "datagrams from earlier addresses), %llu clients replaced (%llu disconnected explicitly), "
        "rules changed %llu times, budgets %llu times\n",
        Count{counts.blackouts}, Count{counts.one_way_blackouts}, Count{counts.address_changes},
        Count{counts.stale_addresses}, Count{counts.rejoins}, Count{counts.disconnects},
        Count{counts.rule_changes}, Count{counts.budget_changes});
    std::printf(
        "  the budget was limiting in %llu seeds; nothing waited longer than %u ticks, or %.2f "
        "rounds of all that its observer has (in %llu observer ticks the derived bound was below "
        "the general %u); no page waited for more than %u packets with other pages\n",
        Count{counts.budget_bound}, counts.oldest_ticks, counts.most_rounds,
        Count{counts.bounds_decided}, waiting_ticks_max, counts.most_page_packets);
}

std::string too_little(const SimCounts& counts, std::uint64_t ticks, std::uint32_t clients) {
    const std::uint64_t client_ticks = ticks * clients;
    const SeenCounts& seen = counts.seen;
    const HandCounts& hand = counts.by_hand;
    const LedgerCounts& c = counts.calls;
    const MailCounts& mail = counts.mail;
    const DrivenCounts& driven = counts.driven;
    const FaultCounts& f = counts.faults;
    const struct {
        const char* what;
        std::uint64_t count, least;
    } all[] = {
        {"client-ticks", counts.client_ticks, client_ticks * 6 / 10},
        {"digests", counts.digests, client_ticks / 4},
        {"relevant sets", counts.sets, client_ticks / (2 * truth_every_usually)},
        {"ids in enters and updates", counts.named.bodies, 10 * client_ticks},
        {"enters and updates with excluded components", counts.named.partial, client_ticks},
        {"ids in leaves", counts.named.leaves, ticks},
        {"ids of parents", counts.named.parents, ticks},
        {"ids in references", counts.named.references, ticks},
        {"ids in member maps", counts.named.member_maps, ticks},
        {"updates in shared cell payloads", counts.shared, client_ticks / 4},
        {"trains relevant by their bounds alone", counts.by_bounds, 10 * ticks},
        {"enters by independently culled members", counts.promoted, ticks / 40},
        {"enters", counts.enters, ticks},
        {"leaves", counts.leaves, ticks},
        {"retained ghosts", counts.retained, ticks},
        {"resumed ghosts", counts.resumed, ticks},
        {"slots of entities that returned early", counts.superseded, ticks},
        {"server events", counts.server_events, 2 * ticks},
        {"replicated components with a restricted audience", seen.replicated, ticks},
        {"excluded components with a restricted audience", seen.withheld, ticks},
        {"references", seen.references, ticks / 4},
        {"dead-reckoned fields without an update", seen.extrapolated, ticks / 4},
        {"partial books", seen.parts, ticks / 100},
        {"complete books", seen.wholes, ticks / 100},
        {"split updates", counts.split_updates, ticks / 10},
        {"budget changes", counts.budget_changes, ticks / 40},
        {"packets that a page waited for", counts.most_page_packets, 2},
        {"updates delayed by limits", counts.limited_updates, ticks},
        {"ghosts that wait in round-robin order", counts.round_robin_waits, ticks},
        {"allowed pairs", hand.allowed, ticks / 100},
        {"entities shown to all", hand.shown, ticks / 100},
        {"denied pairs", hand.denied, ticks / 100},
        {"hidden entities", hand.hidden, ticks / 100},
        {"owner changes by the game", counts.owner_changes - counts.owner_changes_by_players,
         ticks / 20},
        {"owner changes by command", counts.owner_changes_by_players, ticks / 20},
        {"enters as owned", hand.owned, ticks / 100},
        {"ghosts retained by nodes", counts.retained_by_nodes, ticks / 100},
        {"ghosts with a longer send interval by nodes", counts.slowed_by_nodes, ticks},
        {"calls promised", c.promised, ticks},
        {"calls that arrived", c.delivered, ticks},
        {"calls culled", c.culled, ticks},
        {"calls to the server", c.to_server, ticks},
        {"queued calls", c.held, 1},
        {"calls dropped after queueing", c.late, 1},
        {"resent calls", c.repeated, 1},
        {"calls that waited for ghosts", c.waited, 1},
        {"messages to clients", mail.messages[0], ticks / 4},
        {"messages to the game", mail.messages[1], ticks / 4},
        {"commands", mail.commands, ticks / 4},
        {"group inputs", driven.commands, ticks},
        {"agreements", driven.agreements, ticks},
        {"corrections", driven.corrections, ticks / 40},
        {"pushes of driven carts", driven.pushes, ticks / 40},
        {"members removed", driven.cuts, ticks / 100},
        {"inputs for members that take none", driven.refused, ticks / 40},
        {"ghosts with corrections only", driven.withheld, ticks},
        {"driven ghosts with full updates", driven.replicated, ticks / 4},
        {"driven ghosts in the idle world", driven.idle_comparisons, 1},
        {"datagrams lost", f.lost, 1},
        {"datagrams duplicated", f.doubled, 1},
        {"datagrams reordered", f.reordered, 1},
        {"datagrams corrupted", f.damaged, 1},
        {"datagrams truncated", f.cut_short, 1},
        {"blackouts", counts.blackouts, 1},
        {"address changes", counts.address_changes, 1},
        {"one-way blackouts", counts.one_way_blackouts, 1},
        {"datagrams from earlier addresses", counts.stale_addresses, 1},
        {"clients replaced", counts.rejoins, 1},
        {"explicit disconnects", counts.disconnects, 1},
        {"positional calls that certainly cover an observer", c.covered, ticks / 40},
        {"positional calls that certainly cover no observer", c.uncovered, ticks / 4},
        {"rule changes", counts.rule_changes, 1},
    };
    for (const auto& [what, count, least] : all) {
        if (count < least) return what;
    }
    return "";
}

}  // namespace purview::test
