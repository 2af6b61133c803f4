// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// ./dev sim: a whole server, many clients and a bad network in one process, on a virtual clock and
// one seed. Checked in every tick: what clients hold against what they acknowledged, the byte
// budget, calls, messages and commands, the pairing of enters and leaves on both sides. Relevant
// sets and ghosts are held against the oracle in every tick of one seed of eight, and in every
// fifth of the others: that is what costs. At the end, in a quiet world, everybody must hold
// everything. The run judges itself: it counts what it saw of every part of replication, and one
// that saw too little of something has failed. Exit code 3: something did not hold, and its seed;
// or the run does not count.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <thread>

#include "event_pairs.hpp"
#include "host/server_data.hpp"
#include "link/handshake.hpp"
#include "replay_sim.hpp"
#include "small_game.hpp"

namespace purview::test {

namespace {

constexpr std::uint32_t tick_hz = 20;
constexpr std::uint32_t blackout_ticks = 2 * tick_hz;
constexpr std::uint32_t quiet_ticks_max = 30 * tick_hz;
constexpr std::uint32_t strangers_every = 5 * tick_hz;
/// At rest: half a step of 1 cm along either axis, for each of three generations.
constexpr double place_error_m = 0.03;
/// Less is not the world that this is about.
constexpr std::uint32_t clients_min = 32;
constexpr std::uint32_t entities_min = 2'000;
constexpr std::uint32_t ticks_min = 60 * tick_hz;  ///< of all seeds together
constexpr std::uint32_t ghosts_looked_at = 4;      ///< of each client in each tick

/// What is compared with the oracle in between is seen later.
constexpr std::uint32_t truth_every_usually = 5;
std::uint32_t truth_every_ticks(std::uint64_t seed) {
    return seed % 8 == 1 ? 1 : truth_every_usually;
}

struct SimDef {
    std::uint64_t seed = 1;
    std::uint32_t ticks = 0;
    std::uint32_t clients = 40;
    std::string record_path;  ///< empty: nothing is recorded
};

/// What was seen of some ghosts of each client in each tick, as a program sees them.
struct SeenCounts {
    std::uint64_t told = 0;  ///< components that are for some only, and he is told
    std::uint64_t untold = 0;
    std::uint64_t references = 0;    ///< that name a ghost
    std::uint64_t extrapolated = 0;  ///< went on without an update
    std::uint64_t parts = 0;         ///< books of which some pages are told
    std::uint64_t wholes = 0;        ///< books of which all are

    SeenCounts& operator+=(const SeenCounts& more) noexcept {
        told += more.told;
        untold += more.untold;
        references += more.references;
        extrapolated += more.extrapolated;
        parts += more.parts;
        wholes += more.wholes;
        return *this;
    }
};

/// What marks by hand and owners came to: enters and leaves on the server that nothing else made.
struct HandCounts {
    std::uint64_t allowed = 0;
    std::uint64_t denied = 0;
    std::uint64_t hidden = 0;
    std::uint64_t shown = 0;
    std::uint64_t owned = 0;

    HandCounts& operator+=(const HandCounts& more) noexcept {
        allowed += more.allowed;
        denied += more.denied;
        hidden += more.hidden;
        shown += more.shown;
        owned += more.owned;
        return *this;
    }
};

struct SimCounts {
    std::uint32_t entities = ~0U;      ///< at any time at least, in the running world
    std::uint64_t thorough_seeds = 0;  ///< with the oracle in every tick
    std::uint64_t client_ticks = 0;    ///< ticks of joined clients
    std::uint64_t digests = 0;
    std::uint64_t sets = 0;
    std::uint64_t ghosts = 0;  ///< compared with the world as it is
    std::uint64_t places = 0;  ///< of ghosts, compared with the world at rest
    std::uint64_t shared = 0;  ///< updates told in shared sections
    /// Ticks in which a client knew a train whose root was out of reach, by its bounds alone.
    std::uint64_t by_bounds = 0;
    std::uint64_t enters = 0;
    std::uint64_t leaves = 0;
    std::uint64_t resumed = 0;  ///< enters whose copy was still there
    std::uint64_t kept = 0;     ///< leaves whose copy stays
    /// Of these, where only a node can have said so.
    std::uint64_t kept_by_nodes = 0;
    std::uint64_t paced_by_nodes = 0;  ///< ghosts that are told less often because a node says so
    std::uint64_t server_events = 0;   ///< enters and leaves on the server, paired
    SeenCounts seen;
    HandCounts by_hand;
    MailCounts mail;
    std::uint64_t owner_changes = 0;
    std::uint64_t owners_asked = 0;  ///< of these, by a player's command
    std::uint64_t split_updates = 0;
    std::uint64_t blackouts = 0;
    std::uint64_t rejoins = 0;
    std::uint64_t address_changes = 0;
    LedgerCounts calls;
    std::uint64_t budget_bound = 0;  ///< seeds in which something waited longer than any curve says
    Tick oldest_ticks = 0;           ///< that anything waited
    std::uint64_t rule_changes = 0;
    FaultCounts faults;

    SimCounts& operator+=(const SimCounts& more) noexcept {
        entities = std::min(entities, more.entities);
        thorough_seeds += more.thorough_seeds;
        client_ticks += more.client_ticks;
        digests += more.digests;
        sets += more.sets;
        ghosts += more.ghosts;
        places += more.places;
        shared += more.shared;
        by_bounds += more.by_bounds;
        enters += more.enters;
        leaves += more.leaves;
        resumed += more.resumed;
        kept += more.kept;
        kept_by_nodes += more.kept_by_nodes;
        paced_by_nodes += more.paced_by_nodes;
        server_events += more.server_events;
        seen += more.seen;
        by_hand += more.by_hand;
        mail += more.mail;
        owner_changes += more.owner_changes;
        owners_asked += more.owners_asked;
        split_updates += more.split_updates;
        blackouts += more.blackouts;
        rejoins += more.rejoins;
        address_changes += more.address_changes;
        calls += more.calls;
        budget_bound += more.budget_bound;
        oldest_ticks = std::max(oldest_ticks, more.oldest_ticks);
        rule_changes += more.rule_changes;
        faults += more.faults;
        return *this;
    }
};

/// One seed: everything about it is drawn from the seed.
class Simulation {
  public:
    explicit Simulation(const SimDef& def)
        : def_(def),
          random_(mix64(def.seed)),
          budget_bytes_(budget_of(def.seed)),
          world_(def.seed, draw_faults(), budget_bytes_, sim_scale, truth_every_ticks(def.seed)) {
        for (std::uint32_t i = 0; i < def_.clients; ++i) add_client();
        switch_all_on(world_);
        counts.thorough_seeds = truth_every_ticks(def.seed) == 1 ? 1 : 0;
        if (!def_.record_path.empty()) start_recording();
    }

    void run() {
        for (tick_ = 0; tick_ < def_.ticks && trouble.empty(); ++tick_) {
            disturb();
            step();
        }
        settle();
        if (writer_ != nullptr && !writer_->finish()) fail("the recording could not be written");
        counts.digests += world_.proof->counters().digests_checked;
        counts.sets += world_.proof->counters().truth_checked;
        counts.ghosts += world_.proof->counters().ghosts_checked;
        counts.shared += world_.proof->counters().shared_items;
        counts.budget_bound += world_.server->stats().backlog_age_ticks_max > 4 ? 1 : 0;
        for (auto& client : world_.clients) count_client(*client);
        counts.calls += world_.ledger->counts();
        counts.rule_changes += world_.game.rule_changes;
        counts.mail += world_.mail->counts();
        counts.owner_changes += world_.game.owner_changes;
        counts.owners_asked += world_.game.owners_asked;
        counts.split_updates += world_.server->stats().split_updates;
        counts.server_events += pairs_.count();
    }

    std::string trouble;  ///< empty: all held
    SimCounts counts;
    std::uint64_t hash = 0;  ///< of everything that every client held in every tick

  private:
    Faults draw_faults() {
        Faults faults;
        faults.loss = random_.between(0, 0.1F);
        faults.duplicate = random_.between(0, 0.05F);
        faults.corrupt = random_.between(0, 0.02F);
        faults.burst = random_.between(0, 0.005F);
        faults.delay_us = 10'000 + random_.below(90'000);
        faults.jitter_us = random_.below(80'000);
        return faults;
    }
    void add_client() { world_.add_client(random_.chance(0.8F) ? Role::player : Role::spectator); }
    void count_client(const SmallClient& client) {
        counts.calls.waited += client.client.stats().calls_waited;
        counts.faults += client.up->counts;
        counts.faults += client.down->counts;
    }

    void start_recording() {
        recording_.open(def_.record_path, std::ios::binary | std::ios::trunc);
        if (!recording_) fail(def_.record_path + " cannot be written");
        writer_ = std::make_unique<record::Writer>(recording_, beginning_of(world_, def_.seed));
        world_.border->record_to(writer_.get(), 1);
    }

    /// Lines that are cut for two seconds, new addresses, clients that go and others that come.
    void disturb() {
        for (auto& [client, until] : dark_) {
            if (until != tick_) continue;
            client->up->blackout = client->down->blackout = false;
        }
        std::erase_if(dark_, [&](const auto& entry) { return entry.second <= tick_; });
        if (random_.chance(0.02F)) {
            SmallClient& client = any_client();
            client.up->blackout = client.down->blackout = true;
            dark_.emplace_back(&client, tick_ + blackout_ticks);
            ++counts.blackouts;
        }
        if (random_.chance(0.02F)) {
            world_.change_address(any_client());
            ++counts.address_changes;
        }
        if (random_.chance(0.02F)) {
            const std::size_t at = random_.below(static_cast<std::uint32_t>(world_.clients.size()));
            SmallClient* gone = world_.clients[at].get();
            std::erase_if(dark_, [&](const auto& entry) { return entry.first == gone; });
            held_.erase(gone);
            watched_.erase(gone);
            count_client(*gone);
            world_.clients.erase(world_.clients.begin() + static_cast<std::ptrdiff_t>(at));
            add_client();
            ++counts.rejoins;
        }
    }
    SmallClient& any_client() {
        return *world_.clients[random_.below(static_cast<std::uint32_t>(world_.clients.size()))];
    }

    void step() {
        if (tick_ % strangers_every == 0) ask_as_stranger();
        world_.step();
        if (!world_.proof->mismatches().empty()) fail(world_.proof->mismatches().front());
        if (!world_.ledger->trouble().empty()) fail(world_.ledger->trouble());
        if (!world_.mail->trouble().empty()) fail(world_.mail->trouble());
        check_server_events();
        const RpcCounters& calls = world_.server->rpc_counters();
        if (calls.refused_ghost + calls.refused_caller > 0)
            fail("a call of an honest client was refused");
        if (world_.largest_tick_bytes > budget_bytes_) {
            fail("a client was sent " + std::to_string(world_.largest_tick_bytes) + " of " +
                 std::to_string(budget_bytes_) + " bytes in one tick");
        }
        for (auto& client : world_.clients) check_client(*client);
        check_waiting();
        count_by_bounds();
    }
    /// Whoever is told of them is told in pairs, of what is relevant, until he is gone.
    void check_server_events() {
        Server& server = *world_.server;
        for (const ServerEvent& event : server.events()) {
            if (const std::string wrong = pairs_.take(event); !wrong.empty()) fail(wrong);
            count_by_hand(event);
        }
        pairs_.for_each_observer([&](ObserverId observer) {
            if (server.data().find_session(observer) == nullptr)
                fail("something is still open of observer " + std::to_string(index_of(observer)));
        });
        for (const auto& session : server.data().sessions) {
            if (session->state != Session::State::joined) continue;
            if (pairs_.held(session->observer) !=
                server.interest().relevant_count(session->observer)) {
                fail("server events and the relevant set differ of observer " +
                     std::to_string(index_of(session->observer)));
            }
        }
        counts.entities = std::min(counts.entities, server.stats().entities);
    }
    void count_by_hand(const ServerEvent& event) {
        const auto is_marked = [&](Mark::What what, ObserverId observer) {
            return world_.game.is_marked({what, observer, event.entity});
        };
        HandCounts& hand = counts.by_hand;
        if (event.is_enter() && event.reason == Reason::owned) ++hand.owned;
        if (event.is_enter() && event.reason == Reason::forced) {
            hand.allowed += is_marked(Mark::What::allow, event.observer) ? 1 : 0;
            hand.shown += is_marked(Mark::What::show, ObserverId::none) ? 1 : 0;
        }
        if (event.is_leave() && event.reason == Reason::hidden) {
            hand.denied += is_marked(Mark::What::deny, event.observer) ? 1 : 0;
            hand.hidden += is_marked(Mark::What::hide, ObserverId::none) ? 1 : 0;
        }
    }
    /// He owns some of the train, or it is shown to him by hand.
    bool is_shown_otherwise(EntityId wagon, ObserverId observer) {
        const World& world = world_.server->world();
        bool is_shown = false;
        world.data().for_each_in_group(index_of(wagon), [&](EntityId member) {
            is_shown |= world.owner_of(member) == observer ||
                        world_.game.is_marked({Mark::What::allow, observer, member}) ||
                        world_.game.is_marked({Mark::What::show, ObserverId::none, member});
        });
        return is_shown;
    }
    /// Nothing else shows a wagon to somebody who is not near: it has no team.
    void count_by_bounds() {
        Server& server = *world_.server;
        float reach_m = 0;
        for (const NodeDesc& node : server.rules().nodes) {
            for (const StepDesc& step : node.steps) {
                if (step.kernel.type == KernelType::distance)
                    reach_m = std::max(reach_m, step.kernel.leave_m);
            }
        }
        for (const SessionStats& session : sessions_) {
            const check::TruthObserver observer = world_.game.describe(session.observer);
            for (const EntityId wagon : world_.game.wagons()) {
                if (!server.interest().is_relevant(session.observer, wagon)) continue;
                const Vec3 root = server.world().place_of(wagon);
                const auto is_near = [&](Vec3 from) {
                    return std::hypot(root.x - from.x, root.y - from.y) <= reach_m;
                };
                const bool is_by_place =
                    (observer.main != EntityId::none &&
                     is_near(server.world().place_of(observer.main))) ||
                    std::any_of(observer.areas.begin(), observer.areas.end(),
                                [&](const auto& one) { return is_near(one.area.centre); });
                const bool is_by_bounds =
                    !is_by_place && !is_shown_otherwise(wagon, session.observer);
                counts.by_bounds += is_by_bounds ? 1 : 0;
            }
        }
    }
    struct Waiting {
        Tick oldest_ticks = 0;  ///< of all but books
        std::uint32_t books = 0;
    };
    /// A book of many pieces takes as many round trips, and is seen to at rest.
    Waiting waiting_of(ObserverId observer) {
        const GhostTable& ghosts = world_.server->data().find_session(observer)->ghosts;
        const Tick now = world_.server->current_tick();
        Waiting waiting;
        for (LocalId lane = 0; lane < ghosts.lane_end(); ++lane) {
            const bool is_live = ghosts.is_live(lane);
            const bool is_pending =
                (ghosts.pending()[lane / bits_per_word] >> (lane % bits_per_word) & 1U) != 0;
            if (!is_live && !is_pending) continue;
            const KindDef& kind = world_.schema.schema.kinds()[index_of(ghosts.kind(lane))];
            const bool is_book = ghosts.kind(lane) == world_.schema.book;
            waiting.books += is_book ? 1 : 0;
            counts.paced_by_nodes +=
                is_live && kind.rates.empty() && ghosts.pace(lane).every_ticks > 1 ? 1 : 0;
            if (!is_pending || is_book) continue;
            const Tick since = ghosts.pending_since(lane);
            if (since < now) waiting.oldest_ticks = std::max(waiting.oldest_ticks, now - since);
        }
        return waiting;
    }
    /// docs/budget.md: nothing waits longer than what is derived there.
    void check_waiting() {
        // Largest to smallest weight: of kinds and of nodes, of strengths, of what rests.
        constexpr double urgencies = 4 * 2, strengths = 4, rest = 2;
        constexpr double item_bits = 510;  // an animal with all there is
        constexpr double slowest_rate = 4;
        sessions_.clear();
        world_.server->sessions(sessions_);
        for (const SessionStats& session : sessions_) {
            // Whoever has gone without a word answers nothing: more than so much is not sent to
            // him.
            const bool is_there =
                std::any_of(world_.clients.begin(), world_.clients.end(),
                            [&](const auto& client) { return client->address == session.address; });
            if (!is_there) continue;
            const Waiting waiting = waiting_of(session.observer);
            counts.oldest_ticks = std::max(counts.oldest_ticks, waiting.oldest_ticks);
            Most& most = most_[session.observer];
            most.relevant = std::max(most.relevant, session.relevant);
            most.books = std::max(most.books, waiting.books);
            // The room of a tick that items can count on: less headers, and one item at the end.
            // Shared sections take a third of the budget at most, and of one datagram.
            const double sections = std::min(budget_bytes_ * 8 / 3.0, 1'200 * 6.0);
            const double room = (budget_bytes_ - 64.0 - 30) * 8 - item_bits - sections;
            const double book_bits = std::min(budget_bytes_, 1'200U) * 8.0;  // as much as fits
            const double all_bits = most.relevant * item_bits + most.books * book_bits;
            const double round = std::ceil(2.0 * all_bits / room);  // as many may leave
            const double bound = round * (1 + urgencies * strengths * rest) + slowest_rate;
            if (waiting.oldest_ticks > bound)
                fail("something has waited for " + std::to_string(waiting.oldest_ticks) + " ticks");
        }
    }
    void check_client(SmallClient& c) {
        std::set<GhostId>& held = held_[&c];
        for (const ClientEvent& event : c.client.events()) {
            if (event.copy == CopyChange::resumed) ++counts.resumed;
            if (event.copy == CopyChange::kept) {
                const KindDef& kind = world_.schema.schema.kinds()[index_of(event.kind)];
                ++counts.kept;
                counts.kept_by_nodes += kind.leave == LeavePolicy::despawn ? 1 : 0;
            }
            if (event.copy == CopyChange::dropped) continue;
            const bool is_new =
                event.is_enter() ? held.insert(event.ghost).second : held.erase(event.ghost) != 0;
            if (!is_new) fail("a ghost entered or left twice");
            (event.is_enter() ? counts.enters : counts.leaves) += 1;
        }
        c.client.clear_events();
        if (held.size() != c.client.ghost_count()) fail("events and ghosts of a client differ");
        if (c.client.stats().order_violations != 0) fail("a child came before its parent");
        if (c.client.state() != ClientState::joined) return;
        ++counts.client_ticks;
        look_at(c);
        hash = mix64(hash ^ c.client.digest());
    }

    /// A ghost with an extrapolated field.
    struct Watched {
        GhostId ghost = no_ghost;
        Tick updated = 0;
        Tick newest = 0;
        double heading = 0;
    };
    /// At some of its ghosts, others in each tick.
    void look_at(SmallClient& c) {
        const Client& client = c.client;
        const SmallSchema& small = world_.schema;
        SeenCounts& seen = counts.seen;
        const std::size_t heading = small.schema.find_field(small.course.id, "heading");
        Watched& watched = watched_[&c];
        if (watched.ghost != no_ghost && client.is_held(watched.ghost) &&
            client.updated_of(watched.ghost) == watched.updated &&
            client.newest_tick() > watched.newest &&
            client.value_of(watched.ghost, small.course.id, heading) != watched.heading)
            ++seen.extrapolated;
        watched.ghost = no_ghost;
        for (std::uint32_t i = 0; i < ghosts_looked_at && client.ghost_end() > 0; ++i) {
            const auto ghost =
                static_cast<GhostId>(mix64(std::uint64_t{tick_} << 8 | i) % client.ghost_end());
            if (!client.is_held(ghost)) continue;
            const KindId kind = client.kind_of(ghost);
            bool has_all_pages = true;
            for (const ComponentId component : small.schema.kinds()[index_of(kind)].components) {
                const ComponentDef& def = small.schema.components()[index_of(component)];
                const bool is_told = client.is_told(ghost, component);
                if (def.audience.type == AudienceType::in_turn) {
                    has_all_pages = has_all_pages && is_told;
                } else if (def.audience.type != AudienceType::everyone) {
                    ++(is_told ? seen.told : seen.untold);
                }
                for (std::size_t f = 0; f < def.fields.size(); ++f) {
                    if (def.fields[f].type == FieldType::reference && is_told)
                        seen.references += client.reference_of(ghost, component, f) != no_ghost;
                }
            }
            if (kind == small.book) ++(has_all_pages ? seen.wholes : seen.parts);
            if (kind == small.animal || kind == small.wagon) {
                watched = {ghost, client.updated_of(ghost), client.newest_tick(),
                           client.value_of(ghost, small.course.id, heading)};
            }
        }
    }
    /// Of the pages of its books, whatever is not the world's.
    std::string wrong_page(const SmallClient& client, ObserverId observer) {
        const Session* session = world_.server->data().find_session(observer);
        const World& all = world_.server->world();
        std::string wrong;
        all.for_each([&](EntityId entity) {
            if (all.kind_of(entity) != world_.schema.book) return;
            const LocalId ghost = session->ghosts.find(entity);
            if (ghost == no_local_id || !client.client.is_held(ghost)) return;
            for (std::size_t i = 0; i < world_.schema.pages.size(); ++i) {
                const Component<Page> page = world_.schema.pages[i];
                const Page& should = *all.get(entity, page);
                if (!client.client.is_told(ghost, page.id) ||
                    client.client.text_of(ghost, page.id, 0) !=
                        std::string(should.left, sizeof should.left) ||
                    client.client.text_of(ghost, page.id, 1) !=
                        std::string(should.right, sizeof should.right))
                    wrong = "page " + std::to_string(i) + " of a book is not told, or is another";
            }
        });
        return wrong;
    }

    /// Somebody of another version: he is told so.
    void ask_as_stranger() {
        Address from;
        from.carrier = Address::Carrier::memory;
        from.host[0] = 200;
        from.port = 1;
        std::array<std::byte, hello_bytes> hello{};
        (void)write(Hello{protocol_version + 1, 0, 1 + tick_}, hello);
        world_.border->receive(hello, from, world_.now);
    }

    /// The world rests on a good network: everything that waits must arrive.
    void settle() {
        world_.border->note(freeze_note);
        world_.game.frozen = true;
        for (auto& client : world_.clients) {
            for (FaultyNetwork* network : {client->up.get(), client->down.get()}) {
                network->blackout = false;
                network->faults = {};
            }
        }
        std::string missing = "nobody was asked";
        for (std::uint32_t i = 0; i < quiet_ticks_max && trouble.empty() && !missing.empty(); ++i) {
            step();
            missing = what_is_missing();
        }
        if (trouble.empty() && !missing.empty()) fail("at rest: " + missing);
    }
    std::string what_is_missing() {
        std::vector<SessionStats> sessions;
        world_.server->sessions(sessions);
        for (auto& client : world_.clients) {
            const auto its = std::find_if(sessions.begin(), sessions.end(), [&](const auto& one) {
                return one.address == client->address;
            });
            if (client->client.state() == ClientState::closed) continue;  // timed out in the dark
            if (client->client.state() != ClientState::joined || its == sessions.end())
                return "a client has not joined";
            if (its->backlog > 0 || client->client.ghost_count() != its->relevant) {
                return std::to_string(client->client.ghost_count()) + " ghosts of " +
                       std::to_string(its->relevant) + " relevant entities";
            }
            if (const double off = largest_error(*client, its->observer); off > place_error_m)
                return "a place is off by " + std::to_string(off) + " m";
            if (const std::uint64_t missing = world_.missing_calls(*client); missing > 0)
                return std::to_string(missing) + " reliable calls have not arrived";
            if (const std::uint64_t missing = world_.mail->missing(client->nonce); missing > 0)
                return std::to_string(missing) + " messages have not arrived";
            if (const std::string wrong = wrong_page(*client, its->observer); !wrong.empty())
                return wrong;
        }
        return "";
    }

    /// A crate that was set down far outside is told to stand where the range of places ends. (As a
    /// member it does.)
    static Vec3 as_told(Vec3 place) {
        constexpr float least = -SmallGame::beside_m,
                        most = SmallGame::side_m + SmallGame::beside_m;
        return {std::clamp(place.x, least, most), std::clamp(place.y, least, most), place.z};
    }
    /// Of the places of its ghosts, however they are told: as seen from a parent that turns, too.
    double largest_error(const SmallClient& client, ObserverId observer) {
        const Session* session = world_.server->data().find_session(observer);
        const World& all = world_.server->world();
        double largest = 0;
        all.for_each([&](EntityId entity) {
            const LocalId ghost = session->ghosts.find(entity);
            if (ghost == no_local_id || !client.client.is_held(ghost)) return;
            const Vec3 is = client.client.place_of(ghost, client.client.newest_tick());
            Vec3 should = all.place_of(entity);
            if (all.root_of(entity) == entity) should = as_told(should);
            largest = std::max<double>(largest, std::hypot(is.x - should.x, is.y - should.y));
            ++counts.places;
        });
        return largest;
    }

    void fail(const std::string& what) {
        if (trouble.empty()) {
            trouble = "seed " + std::to_string(def_.seed) + ", tick " + std::to_string(tick_) +
                      ": " + what;
        }
    }

    SimDef def_;
    SplitMix random_;
    std::uint32_t budget_bytes_;
    SmallWorld world_;
    std::ofstream recording_;
    std::unique_ptr<record::Writer> writer_;
    std::uint32_t tick_ = 0;
    std::vector<std::pair<SmallClient*, std::uint32_t>> dark_;  ///< lines that are cut, until when
    std::map<SmallClient*, std::set<GhostId>> held_;            ///< by events
    std::vector<SessionStats> sessions_;                        ///< scratch
    struct Most {
        std::uint32_t relevant = 0;
        std::uint32_t books = 0;  ///< of these and of those that leave
    };
    std::map<ObserverId, Most> most_;
    EventPairs pairs_;                         ///< of the server
    std::map<SmallClient*, Watched> watched_;  ///< in the last tick
};

using Count = unsigned long long;

void print(const SimCounts& counts, std::uint64_t seeds) {
    std::printf(
        "  %llu client-ticks, %llu enters (%llu of them to a copy that was kept), %llu leaves "
        "(of %llu the copy was kept); %llu server events in pairs\n",
        Count{counts.client_ticks}, Count{counts.enters}, Count{counts.resumed},
        Count{counts.leaves}, Count{counts.kept}, Count{counts.server_events});
    std::printf(
        "  checked: %llu digests, %llu relevant sets (of %llu seeds in every tick, of %llu in "
        "every %uth), %llu ghosts against the world, %llu places at rest; %llu updates in shared "
        "sections, %llu times a train that a client knew by its bounds alone\n",
        Count{counts.digests}, Count{counts.sets}, Count{counts.thorough_seeds},
        Count{seeds - counts.thorough_seeds}, truth_every_usually, Count{counts.ghosts},
        Count{counts.places}, Count{counts.shared}, Count{counts.by_bounds});
    const SeenCounts& seen = counts.seen;
    std::printf(
        "  looked at: %llu components for some only that were told, %llu that were not, %llu "
        "references, %llu fields that went on without an update, %llu books in part and %llu "
        "whole; %llu updates in pieces\n",
        Count{seen.told}, Count{seen.untold}, Count{seen.references}, Count{seen.extrapolated},
        Count{seen.parts}, Count{seen.wholes}, Count{counts.split_updates});
    const HandCounts& hand = counts.by_hand;
    std::printf(
        "  by hand %llu enters allowed, %llu shown to all, %llu leaves denied, %llu hidden; %llu "
        "other owners (%llu asked for), %llu enters as owned; nodes kept %llu copies and slowed "
        "down %llu ghosts, summed over ticks\n",
        Count{hand.allowed}, Count{hand.shown}, Count{hand.denied}, Count{hand.hidden},
        Count{counts.owner_changes}, Count{counts.owners_asked}, Count{hand.owned},
        Count{counts.kept_by_nodes}, Count{counts.paced_by_nodes});
    const LedgerCounts& c = counts.calls;
    std::printf(
        "  %llu calls, %llu promised to observers (%llu of them held), %llu culled, %llu given up; "
        "%llu arrived, %llu sent again, %llu before their ghosts; %llu to the server\n",
        Count{c.made}, Count{c.promised}, Count{c.held}, Count{c.culled}, Count{c.late},
        Count{c.delivered}, Count{c.repeated}, Count{c.waited}, Count{c.to_server});
    const MailCounts& mail = counts.mail;
    std::printf("  of %llu messages %llu arrived, of %llu commands %llu\n",
                Count{mail.messages_sent}, Count{mail.messages}, Count{mail.commands_given},
                Count{mail.commands});
    const FaultCounts& f = counts.faults;
    std::printf(
        "  of %llu datagrams %llu lost, %llu doubled, %llu out of order, %llu damaged, "
        "%llu cut short\n",
        Count{f.sent}, Count{f.lost}, Count{f.doubled}, Count{f.reordered}, Count{f.damaged},
        Count{f.cut_short});
    std::printf(
        "  %llu lines cut for 2 s, %llu new addresses, %llu clients replaced, other rules %llu "
        "times; the budget bound in %llu seeds, nothing waited longer than %u ticks\n",
        Count{counts.blackouts}, Count{counts.address_changes}, Count{counts.rejoins},
        Count{counts.rule_changes}, Count{counts.budget_bound}, counts.oldest_ticks);
}

/// What a run must have seen to count, for so many ticks in all.
std::string too_little(const SimCounts& counts, std::uint64_t ticks, std::uint32_t clients) {
    const std::uint64_t client_ticks = ticks * clients;
    const SeenCounts& seen = counts.seen;
    const HandCounts& hand = counts.by_hand;
    const LedgerCounts& c = counts.calls;
    const MailCounts& mail = counts.mail;
    const FaultCounts& f = counts.faults;
    const struct {
        const char* what;
        std::uint64_t count, least;
    } all[] = {
        {"client-ticks", counts.client_ticks, client_ticks * 6 / 10},
        {"digests", counts.digests, client_ticks / 4},
        {"relevant sets", counts.sets, client_ticks / (2 * truth_every_usually)},
        {"updates in shared sections", counts.shared, client_ticks / 4},
        {"trains that are known by their bounds alone", counts.by_bounds, 10 * ticks},
        {"enters", counts.enters, ticks},
        {"leaves", counts.leaves, ticks},
        {"copies that are kept", counts.kept, ticks},
        {"copies that are resumed", counts.resumed, ticks},
        {"server events", counts.server_events, 2 * ticks},
        {"components told to some only", seen.told, ticks},
        {"components not told to others", seen.untold, ticks},
        {"references", seen.references, ticks / 4},
        {"fields that go on without an update", seen.extrapolated, ticks / 4},
        {"books in part", seen.parts, ticks / 100},
        {"books as a whole", seen.wholes, ticks / 100},
        {"updates in pieces", counts.split_updates, ticks / 10},
        {"allowed pairs", hand.allowed, ticks / 100},
        {"entities shown to all", hand.shown, ticks / 100},
        {"denied pairs", hand.denied, ticks / 100},
        {"hidden entities", hand.hidden, ticks / 100},
        {"changes of owners by the game", counts.owner_changes - counts.owners_asked, ticks / 20},
        {"changes of owners by command", counts.owners_asked, ticks / 20},
        {"enters as owned", hand.owned, ticks / 100},
        {"copies kept by nodes", counts.kept_by_nodes, ticks / 100},
        {"ghosts told less often because of nodes", counts.paced_by_nodes, ticks},
        {"calls promised", c.promised, ticks},
        {"calls that arrived", c.delivered, ticks},
        {"calls culled", c.culled, ticks},
        {"calls to the server", c.to_server, ticks},
        {"calls that were held", c.held, 1},
        {"calls that were given up", c.late, 1},
        {"calls sent again", c.repeated, 1},
        {"calls that waited for ghosts", c.waited, 1},
        {"messages", mail.messages, ticks / 4},
        {"commands", mail.commands, ticks / 4},
        {"datagrams lost", f.lost, 1},
        {"datagrams doubled", f.doubled, 1},
        {"datagrams out of order", f.reordered, 1},
        {"datagrams damaged", f.damaged, 1},
        {"datagrams cut short", f.cut_short, 1},
        {"lines cut", counts.blackouts, 1},
        {"new addresses", counts.address_changes, 1},
        {"clients replaced", counts.rejoins, 1},
        {"changes of rules", counts.rule_changes, 1},
    };
    for (const auto& [what, count, least] : all) {
        if (count < least) return what;
    }
    return "";
}

struct SimResult {
    SimCounts counts;
    std::uint64_t seed = 0;  ///< of the trouble
    std::uint64_t hash = 0;
    std::string trouble;  ///< of the first seed that has any; empty: all held
};

/// Seeds know nothing of one another. Behind one with trouble none is begun any more.
SimResult run_seeds(const SimDef& first, std::uint64_t seeds, unsigned jobs) {
    std::vector<SimResult> results(seeds);
    std::atomic<std::uint64_t> next{0}, done{0};
    std::atomic<std::uint64_t> first_trouble{seeds};
    const auto work = [&] {
        for (std::uint64_t i = next++; i < first_trouble; i = next++) {
            SimDef def = first;
            def.seed += i;
            Simulation simulation(def);
            simulation.run();
            std::uint64_t first_yet = first_trouble;
            while (!simulation.trouble.empty() && i < first_yet &&
                   !first_trouble.compare_exchange_weak(first_yet, i))
                continue;
            results[i] = {simulation.counts, def.seed, simulation.hash, simulation.trouble};
            const std::uint64_t so_far = ++done;
            if (so_far % 10 == 0) {
                std::fprintf(stderr, "%llu of %llu seeds\n",
                             static_cast<unsigned long long>(so_far),
                             static_cast<unsigned long long>(seeds));
            }
        }
    };
    std::vector<std::thread> threads;
    for (std::uint64_t job = 1; job < std::min<std::uint64_t>(jobs, seeds); ++job)
        threads.emplace_back(work);
    work();
    for (std::thread& thread : threads) thread.join();
    SimResult all;
    for (const SimResult& one : results) {
        if (!one.trouble.empty()) return one;
        all.counts += one.counts;
        all.hash = mix64(all.hash ^ one.hash);
    }
    return all;
}

int run(int argc, char** argv) {
    SimDef def;
    std::uint64_t seeds = 1;
    unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
    double minutes = 1;
    bool is_small = false;
    CLI::App app{"A server, its clients and a bad network on a virtual clock"};
    app.add_option("--seed", def.seed, "the first seed");
    app.add_option("--seeds", seeds, "so many from that on")->check(CLI::Range(1, 100'000));
    app.add_option("--jobs", jobs, "so many at once; what comes out is the same")
        ->check(CLI::PositiveNumber);
    app.add_option("--minutes", minutes, "simulated, of each seed")->check(CLI::PositiveNumber);
    app.add_option("--clients", def.clients, "at once")->check(CLI::Range(1, 1000));
    app.add_flag("--small", is_small,
                 "a run that does not count: fewer than 32 clients, less than a minute in all");
    auto* record =
        app.add_option("--record", def.record_path,
                       "what reaches and leaves the server (docs/recording.md); one seed");
    std::string replay_path;
    app.add_option("--replay", replay_path, "live a recording again; exit code 3 if it differs")
        ->excludes(record);
    CLI11_PARSE(app, argc, argv);
    if (!replay_path.empty()) return replay_sim(replay_path);
    if (seeds > 1 && !def.record_path.empty()) {
        std::cerr << "--record writes down one seed\n";
        return 2;
    }
    def.ticks = static_cast<std::uint32_t>(minutes * 60 * tick_hz);
    const std::uint64_t ticks = std::uint64_t{def.ticks} * seeds;
    if (!is_small && (def.clients < clients_min || ticks < ticks_min)) {
        std::printf("%u clients, %g minutes in all: a run that counts has %u and %u; see --small\n",
                    def.clients, minutes * static_cast<double>(seeds), clients_min,
                    ticks_min / (60 * tick_hz));
        return 3;
    }
    const auto began = std::chrono::steady_clock::now();
    const SimResult all = run_seeds(def, seeds, jobs);
    if (!all.trouble.empty()) {
        std::printf("%s\nto see it again: ./dev sim --seed %llu --minutes %g --clients %u%s\n",
                    all.trouble.c_str(), Count{all.seed}, minutes, def.clients,
                    is_small || minutes < 1 ? " --small" : "");
        return 3;
    }
    const double took =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    std::printf(
        "%llu seeds of %g simulated minutes, %u clients, %u entities at least, in %.0f s; state "
        "hash %016llx\n",
        Count{seeds}, minutes, def.clients, all.counts.entities, took, Count{all.hash});
    print(all.counts, seeds);
    if (is_small) {
        std::printf("everything held; small: the run does not count\n");
        return 0;
    }
    if (all.counts.entities < entities_min) {
        std::printf("%u entities: a run that counts has %u; see --small\n", all.counts.entities,
                    entities_min);
        return 3;
    }
    const std::string missing = too_little(all.counts, ticks, def.clients);
    if (!missing.empty()) {
        std::printf("too few %s for a run that counts\n", missing.c_str());
        return 3;
    }
    std::printf("everything held\n");
    return 0;
}

}  // namespace

}  // namespace purview::test

int main(int argc, char** argv) {
    return purview::test::run(argc, argv);
}
