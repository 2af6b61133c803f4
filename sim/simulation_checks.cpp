// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Checks and counters of every tick. The counters show whether a check had anything to examine.
#include <algorithm>
#include <cmath>
#include <utility>

#include "client/client_data.hpp"
#include "client_events.hpp"
#include "core/internal_access.hpp"
#include "server/server_data.hpp"
#include "simulation.hpp"

namespace purview::test {

namespace {

constexpr std::uint32_t ghosts_examined = 4;  ///< per client and tick

}  // namespace

void Simulation::check_server_events() {
    Server& server = *world_.server;
    for (const ServerEvent& event : server.events()) {
        if (const std::string wrong = pairs_.take(event); !wrong.empty()) fail(wrong);
        count_by_hand(event);
    }
    pairs_.for_each_observer([&](ObserverId observer) {
        if (internal(server).sessions.find(observer) == nullptr)
            fail("unpaired events are left for disconnected observer " +
                 std::to_string(index_of(observer)));
    });
    for (const auto& session : internal(server).sessions) {
        if (session->state != Session::State::joined) continue;
        if (pairs_.held(session->observer) !=
            relevant_count(internal(server.visibility()), session->observer)) {
            fail("server events and the relevant set differ for observer " +
                 std::to_string(index_of(session->observer)));
        }
    }
    counts.entities = std::min(counts.entities, server.stats().entities);
}

void Simulation::count_by_hand(const ServerEvent& event) {
    const auto is_marked = [&](Mark::What what, ObserverId observer) {
        return world_.game.is_marked({what, observer, event.entity});
    };
    HandCounts& hand = counts.by_hand;
    if (event.is_enter() && event.reason == Reason::promoted) ++counts.promoted;
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

bool Simulation::is_shown_otherwise(EntityId wagon, ObserverId observer, float reach) {
    const World& world = world_.server->world();
    const check::TruthObserver truth = world_.game.describe(observer);
    const auto is_in_reach = [&](EntityId entity) {
        const Vec3 at = world.position_of(entity);
        const auto is_near = [&](Vec3 from) {
            return std::hypot(at.x - from.x, at.y - from.y) <= reach;
        };
        return (truth.main != EntityId::none && is_near(world.position_of(truth.main))) ||
               std::any_of(truth.areas.begin(), truth.areas.end(),
                           [&](const auto& one) { return is_near(one.area.center); });
    };
    bool is_shown = false;
    internal(world).groups.for_each_in_group(index_of(wagon), [&](EntityId member) {
        is_shown |= world.owner_of(member) == observer || is_in_reach(member) ||
                    world_.game.is_marked({Mark::What::allow, observer, member}) ||
                    world_.game.is_marked({Mark::What::show, ObserverId::none, member});
    });
    return is_shown;
}

void Simulation::count_by_bounds() {
    Server& server = *world_.server;
    float reach = 0;
    for (const NodeDef& node : server.rules().nodes) {
        for (const Kernel& step : node.steps) {
            if (step.type == KernelType::distance) reach = std::max(reach, step.leave);
        }
    }
    for (const SessionStats& session : sessions_) {
        for (const EntityId wagon : world_.game.wagons()) {
            if (!server.visibility().is_relevant(session.observer, wagon)) continue;
            const bool is_by_bounds = !is_shown_otherwise(wagon, session.observer, reach);
            counts.by_bounds += is_by_bounds ? 1 : 0;
        }
    }
}

Simulation::Waiting Simulation::waiting_of(ObserverId observer) {
    const GhostTable& ghosts = internal(*world_.server).sessions.find(observer)->ghosts;
    const Tick now = world_.server->current_tick();
    Waiting waiting;
    for (LocalId slot = 0; slot < ghosts.slots().end(); ++slot) {
        const bool is_live = ghosts.slots().is_live(slot);
        const bool is_pending = ghosts.sends().is_pending(slot);
        if (!is_live && !is_pending) continue;
        const KindDef& kind = world_.schema.schema.kinds()[index_of(ghosts.slots().kind(slot))];
        const bool is_book = ghosts.slots().kind(slot) == world_.schema.book;
        waiting.books += is_book ? 1 : 0;
        counts.slowed_by_nodes +=
            is_live && kind.intervals.empty() && ghosts.rates().policy(slot).every_ticks > 1 ? 1
                                                                                             : 0;
        if (is_book) {
            waiting.oldest_ticks =
                std::max(waiting.oldest_ticks, check_book(observer, ghosts, slot));
            continue;
        }
        if (!is_pending) continue;
        const Tick since = ghosts.sends().pending_since(slot);
        Tick& oldest =
            kind.limit_per_tick == 0 ? waiting.oldest_ticks : waiting.oldest_limited_ticks;
        if (since >= now) continue;
        oldest = std::max(oldest, now - since);
        counts.round_robin_waits +=
            kind.limit_per_tick != 0 && kind.limit_order == LimitOrder::round_robin;
    }
    return waiting;
}

Tick Simulation::check_book(ObserverId observer, const GhostTable& ghosts, LocalId slot) {
    const Tick now = world_.server->current_tick();
    const SmallSchema& small = world_.schema;
    Reader& reader = readers_[{observer, slot}];
    const bool was_here = reader.book == ghosts.slots().entity(slot) && reader.seen + 1 == now;
    if (!was_here) reader = {.book = ghosts.slots().entity(slot)};
    reader.seen = now;
    if (ghosts.sends().sent_tick(slot) == now) {
        const auto& components = small.schema.kinds()[index_of(small.book)].components;
        for (std::size_t p = 0; p < components.size(); ++p) {
            const AudienceDef& audience =
                small.schema.components()[index_of(components[p])].audience;
            if (audience.type != AudienceType::staged) continue;
            std::uint32_t& others = reader.others[p];
            others = (ghosts.audience().allowed(slot) >> p & 1U) != 0 ? 0 : others + 1;
            counts.most_page_packets = std::max(counts.most_page_packets, others);
            if (others > small.pages.size())
                fail("a page has waited for too many packets with other pages");
        }
    }
    if (!ghosts.sends().is_pending(slot) || ghosts.sends().is_blocked(slot) ||
        ghosts.sends().sent_tick(slot) == now) {
        reader.ready_since = 0;
        return 0;
    }
    if (reader.ready_since == 0) reader.ready_since = now;
    return now - reader.ready_since;
}

void Simulation::check_waiting() {
    // Largest weight / smallest weight: of kinds, nodes and new ghosts; of relevance scores; of
    // idle ghosts.
    constexpr double priorities = 4 * 2 * 2, scores = 4, idle = 2;
    constexpr double item_bits = 510;  // an animal with all components
    constexpr double slowest_rate = 4;
    sessions_.clear();
    world_.server->sessions(sessions_);
    for (const SessionStats& session : sessions_) {
        // A client that vanished without a disconnect acknowledges nothing, so the server limits
        // what it sends.
        const bool is_there =
            std::any_of(world_.clients.begin(), world_.clients.end(),
                        [&](const auto& client) { return client->address == session.address; });
        if (!is_there) continue;
        const Waiting waiting = waiting_of(session.observer);
        counts.oldest_ticks =
            std::max({counts.oldest_ticks, waiting.oldest_ticks, waiting.oldest_limited_ticks});
        Most& most = most_[session.observer];
        most.relevant = std::max(most.relevant, session.relevant);
        most.books = std::max(most.books, waiting.books);
        most.budget_bytes = std::min(most.budget_bytes, session.budget_bytes_per_tick);
        // Bits per tick that are certainly available for items: without headers, and without one
        // item at the end. Shared cell payloads take at most a third of the budget and of one
        // datagram.
        const double shared = std::min(most.budget_bytes * 8 / 3.0, 1'200 * 6.0);
        const double room = (most.budget_bytes - 64.0 - 30) * 8 - item_bits - shared;
        // A book takes at most one datagram at a time.
        const double book_bits = std::min(most.budget_bytes, 1'200U) * 8.0;
        const double all_bits = most.relevant * item_bits + most.books * book_bits;
        const double round = std::ceil(2.0 * all_bits / room);  // factor 2: as many may be leaving
        if (std::max(waiting.oldest_ticks, waiting.oldest_limited_ticks) > waiting_ticks_max) {
            fail("an update has waited for more than " + std::to_string(waiting_ticks_max) +
                 " ticks");
        }
        const double turn = round * (1 + priorities * scores * idle);
        if (turn + slowest_rate < std::min(tick_, waiting_ticks_max)) ++counts.bounds_decided;
        counts.most_rounds = std::max(counts.most_rounds, waiting.oldest_ticks / round);
        if (waiting.oldest_ticks > turn + slowest_rate)
            fail("an update has waited for " + std::to_string(waiting.oldest_ticks) + " ticks");
        // Per tick, 12 animals and 2 of the 10 wagons are sent (SmallWorld).
        const double parts = std::max(std::ceil(most.relevant / 12.0), 5.0);
        if (waiting.oldest_limited_ticks > parts * turn + slowest_rate) {
            fail("an animal or a wagon has waited for " +
                 std::to_string(waiting.oldest_limited_ticks) + " ticks");
        }
    }
}

void Simulation::check_client(SmallClient& c) {
    std::set<GhostId>& held = held_[&c];
    for (const ClientEvent& event : c.client.events()) {
        if (event.change == Change::resumed) ++counts.resumed;
        if (event.change == Change::retained) {
            const KindDef& kind = world_.schema.schema.kinds()[index_of(event.kind)];
            ++counts.retained;
            counts.retained_by_nodes += kind.leave == Retention::despawn ? 1 : 0;
        }
        if (!event.is_enter() && !event.is_leave()) continue;
        const bool is_new =
            event.is_enter() ? held.insert(event.ghost).second : held.erase(event.ghost) != 0;
        if (!is_new) fail("a ghost entered or left twice");
        (event.is_enter() ? counts.enters : counts.leaves) += 1;
    }
    c.client.clear_events();
    if (held.size() != c.client.ghost_count()) fail("events and ghosts of a client differ");
    if (c.client.stats().order_violations != 0) fail("a child entered before its parent");
    if (c.client.state() == ClientState::joined) joined_.insert(&c);
    // No blackout is long enough for a timeout.
    if (c.client.state() == ClientState::closed && joined_.contains(&c))
        fail("a client that had joined was closed: " +
             std::string(to_string(c.client.close_reason())));
    if (c.client.stats().packets_malformed > c.down->counts.damaged)
        fail("a client received a malformed packet from the server");
    if (c.client.state() != ClientState::joined) return;
    ++counts.client_ticks;
    check_one_ghost(c);
    examine(c);
    check_agreement(c);
    hash = mix64(hash ^ c.client.digest());
}

void Simulation::check_one_ghost(const SmallClient& c) {
    const SmallSchema& small = world_.schema;
    ++tag_checks_;
    for_each_id(c.client, [&](GhostId ghost) {
        if (!c.client.is_held(ghost) && c.client.retention(ghost) == Retention::despawn) return;
        const double value = c.client.value_of(ghost, small.body.id, small.tag_field);
        if (value == 0) return;  // a kind without a tag
        const auto tag = static_cast<std::size_t>(value);
        if (tag_seen_.size() <= tag) tag_seen_.resize(2 * tag + 1);
        if (tag_seen_[tag] == tag_checks_) fail("a client has two ghosts of one entity");
        tag_seen_[tag] = tag_checks_;
    });
    const Session* session = internal(*world_.server).sessions.find(c.observer);
    if (session != nullptr)
        counts.superseded += session->ghosts.slots().succession().superseded_count();
}

void Simulation::examine(SmallClient& c) {
    const Client& client = c.client;
    const SmallSchema& small = world_.schema;
    SeenCounts& seen = counts.seen;
    const std::size_t heading = small.schema.find_field(small.course.id, "heading");
    Watched& watched = watched_[&c];
    if (watched.ghost != GhostId::none && client.is_held(watched.ghost) &&
        client.updated_of(watched.ghost) == watched.updated &&
        client.newest_tick() > watched.newest &&
        client.value_of(watched.ghost, small.course.id, heading) != watched.heading)
        ++seen.extrapolated;
    watched.ghost = GhostId::none;
    const LocalId end =
        client.schema() == nullptr ? 0 : internal(client).replica->ghosts.slot_end();
    for (std::uint32_t i = 0; i < ghosts_examined && end > 0; ++i) {
        const GhostId ghost =
            ghost_id_of(static_cast<LocalId>(mix64(std::uint64_t{tick_} << 8 | i) % end));
        if (!client.is_held(ghost)) continue;
        const KindId kind = client.kind_of(ghost);
        bool has_all_pages = true;
        for (const ComponentId component : small.schema.kinds()[index_of(kind)].components) {
            const ComponentDef& def = small.schema.components()[index_of(component)];
            const bool is_replicated = client.is_replicated(ghost, component);
            if (def.audience.type == AudienceType::staged) {
                has_all_pages = has_all_pages && is_replicated;
            } else if (def.audience.type != AudienceType::everyone) {
                ++(is_replicated ? seen.replicated : seen.withheld);
            }
            for (std::size_t f = 0; f < def.fields.size(); ++f) {
                if (def.fields[f].type == FieldType::reference && is_replicated)
                    seen.references += client.reference_of(ghost, component, f) != GhostId::none;
            }
        }
        if (kind == small.book) ++(has_all_pages ? seen.wholes : seen.parts);
        if (kind == small.animal || kind == small.wagon) {
            watched = {ghost, client.updated_of(ghost), client.newest_tick(),
                       client.value_of(ghost, small.course.id, heading)};
        }
    }
}

void Simulation::check_agreement(SmallClient& c) {
    const std::set<EntityId> false_before = std::exchange(false_confirmations_[&c], {});
    const Session* session = internal(*world_.server).sessions.find(c.observer);
    if (session == nullptr || session->inputs == nullptr) return;
    const Tick now = world_.server->current_tick();
    for (const SessionInputs::KnownGroup& known : session->inputs->known) {
        // A correction was sent in this tick, so the earlier confirmation is irrelevant.
        if (known.agreed != now || known.sent == now) continue;
        const LocalId root = session->ghosts.slots().find(known.root);
        if (root == no_local_id) continue;
        const GroupState group =
            c.driver->prediction.state_at(ghost_id_of(root), session->inputs->queue.consumed());
        if (!differs(*session, c, group)) continue;
        if (false_before.contains(known.root))
            fail("the server confirmed a prediction that differs from its state");
        false_confirmations_[&c].insert(known.root);
    }
}

bool Simulation::differs(const Session& session, const SmallClient& c, GroupState group) {
    const World& world = world_.server->world();
    const SmallSchema& small = world_.schema;
    bool differs = false;
    for (std::size_t m = 0; m < group.size(); ++m) {
        const GhostId ghost = group.ghost(m);
        const LocalId slot = local_id_of(ghost);
        if (!group.is_owned(m) || !c.client.is_held(ghost) || !session.ghosts.slots().is_live(slot))
            continue;
        const EntityId entity = session.ghosts.slots().entity(slot);
        const Gait* its = world_.game.carts.after_commands(entity);
        if (its == nullptr || world.owner_of(entity) != session.observer) continue;
        differs |= !(*group.get(m, small.gait) == *its);
        ++counts.driven.agreements;
        ++(c.client.is_replicated(ghost, small.gait.id) ? counts.driven.replicated
                                                        : counts.driven.withheld);
    }
    return differs;
}

}  // namespace purview::test
