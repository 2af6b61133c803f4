// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What is checked in every tick, and counted: without what it is about, a check says nothing.
#include <algorithm>
#include <cmath>
#include <utility>

#include "core/internal_access.hpp"
#include "server/server_data.hpp"
#include "simulation.hpp"

namespace purview::test {

namespace {

constexpr std::uint32_t ghosts_looked_at = 4;  ///< of each client in each tick

}  // namespace

void Simulation::check_server_events() {
    Server& server = *world_.server;
    for (const ServerEvent& event : server.events()) {
        if (const std::string wrong = pairs_.take(event); !wrong.empty()) fail(wrong);
        count_by_hand(event);
    }
    pairs_.for_each_observer([&](ObserverId observer) {
        if (internal(server).sessions.find(observer) == nullptr)
            fail("something is still open of observer " + std::to_string(index_of(observer)));
    });
    for (const auto& session : internal(server).sessions) {
        if (session->state != Session::State::joined) continue;
        if (pairs_.held(session->observer) !=
            relevant_count(internal(server.visibility()), session->observer)) {
            fail("server events and the relevant set differ of observer " +
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
    internal(world).for_each_in_group(index_of(wagon), [&](EntityId member) {
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
            counts.uses_group_radius += is_by_bounds ? 1 : 0;
        }
    }
}

Simulation::Waiting Simulation::waiting_of(ObserverId observer) {
    const GhostTable& ghosts = internal(*world_.server).sessions.find(observer)->ghosts;
    const Tick now = world_.server->current_tick();
    Waiting waiting;
    for (LocalId lane = 0; lane < ghosts.lane_end(); ++lane) {
        const bool is_live = ghosts.is_live(lane);
        const bool is_pending = ghosts.is_pending(lane);
        if (!is_live && !is_pending) continue;
        const KindDef& kind = world_.schema.schema.kinds()[index_of(ghosts.kind(lane))];
        const bool is_book = ghosts.kind(lane) == world_.schema.book;
        waiting.books += is_book ? 1 : 0;
        counts.paced_by_nodes +=
            is_live && kind.rates.empty() && ghosts.pace(lane).every_ticks > 1 ? 1 : 0;
        if (is_book) {
            waiting.oldest_ticks =
                std::max(waiting.oldest_ticks, look_at_book(observer, ghosts, lane));
            continue;
        }
        if (!is_pending) continue;
        const Tick since = ghosts.pending_since(lane);
        Tick& oldest = kind.limit.is_none() ? waiting.oldest_ticks : waiting.oldest_limited_ticks;
        if (since >= now) continue;
        oldest = std::max(oldest, now - since);
        counts.by_turns += !kind.limit.is_none() && kind.limit.order == LimitOrder::round_robin;
    }
    return waiting;
}

Tick Simulation::look_at_book(ObserverId observer, const GhostTable& ghosts, LocalId lane) {
    const Tick now = world_.server->current_tick();
    const SmallSchema& small = world_.schema;
    Reader& reader = readers_[{observer, lane}];
    const bool was_here = reader.book == ghosts.entity(lane) && reader.seen + 1 == now;
    if (!was_here) reader = {.book = ghosts.entity(lane)};
    reader.seen = now;
    if (ghosts.sent_tick(lane) == now) {
        const auto& components = small.schema.kinds()[index_of(small.book)].components;
        for (std::size_t p = 0; p < components.size(); ++p) {
            const AudienceDef& audience =
                small.schema.components()[index_of(components[p])].audience;
            if (audience.type != AudienceType::in_turn) continue;
            std::uint32_t& others = reader.others[p];
            others = (ghosts.told(lane) >> p & 1U) != 0 ? 0 : others + 1;
            counts.most_turns = std::max(counts.most_turns, others);
            if (others > small.pages.size()) fail("a page has waited for too many others");
        }
    }
    if (!ghosts.is_pending(lane) || ghosts.is_awaited(lane) || ghosts.sent_tick(lane) == now) {
        reader.ready_since = 0;
        return 0;
    }
    if (reader.ready_since == 0) reader.ready_since = now;
    return now - reader.ready_since;
}

void Simulation::check_waiting() {
    // Largest to smallest weight: of kinds, of nodes and of what is new, of strengths, of what
    // rests.
    constexpr double priorities = 4 * 2 * 2, scores = 4, rest = 2;
    constexpr double parts = 3;        // that animals and wagons go in at most
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
        counts.oldest_ticks =
            std::max({counts.oldest_ticks, waiting.oldest_ticks, waiting.oldest_limited_ticks});
        Most& most = most_[session.observer];
        most.relevant = std::max(most.relevant, session.relevant);
        most.books = std::max(most.books, waiting.books);
        most.budget_bytes = std::min(most.budget_bytes, session.budget_bytes_per_tick);
        // The room of a tick that items can count on: less headers, and one item at the end.
        // Shared sections take a third of the budget at most, and of one datagram.
        const double sections = std::min(most.budget_bytes * 8 / 3.0, 1'200 * 6.0);
        const double room = (most.budget_bytes - 64.0 - 30) * 8 - item_bits - sections;
        const double book_bits = std::min(most.budget_bytes, 1'200U) * 8.0;  // as much as fits
        const double all_bits = most.relevant * item_bits + most.books * book_bits;
        const double round = std::ceil(2.0 * all_bits / room);  // as many may leave
        if (std::max(waiting.oldest_ticks, waiting.oldest_limited_ticks) > waiting_ticks_max) {
            fail("something has waited for more than " + std::to_string(waiting_ticks_max) +
                 " ticks");
        }
        const double turn = round * (1 + priorities * scores * rest);
        if (turn + slowest_rate < std::min(tick_, waiting_ticks_max)) ++counts.bounds_decided;
        counts.most_rounds = std::max(counts.most_rounds, waiting.oldest_ticks / round);
        if (waiting.oldest_ticks > turn + slowest_rate)
            fail("something has waited for " + std::to_string(waiting.oldest_ticks) + " ticks");
        if (waiting.oldest_limited_ticks > parts * turn + slowest_rate) {
            fail("an animal or a wagon has waited for " +
                 std::to_string(waiting.oldest_limited_ticks) + " ticks");
        }
    }
}

void Simulation::check_client(SmallClient& c) {
    std::set<GhostId>& held = held_[&c];
    for (const ClientEvent& event : c.client.events()) {
        if (event.copy == Change::resumed) ++counts.resumed;
        if (event.copy == Change::retained) {
            const KindDef& kind = world_.schema.schema.kinds()[index_of(event.kind)];
            ++counts.kept;
            counts.kept_by_nodes += kind.leave == Retention::despawn ? 1 : 0;
        }
        if (event.copy == Change::dropped) continue;
        const bool is_new =
            event.is_enter() ? held.insert(event.ghost).second : held.erase(event.ghost) != 0;
        if (!is_new) fail("a ghost entered or left twice");
        (event.is_enter() ? counts.enters : counts.leaves) += 1;
    }
    c.client.clear_events();
    if (held.size() != c.client.ghost_count()) fail("events and ghosts of a client differ");
    if (c.client.stats().order_violations != 0) fail("a child came before its parent");
    if (c.client.state() == ClientState::joined) joined_.insert(&c);
    // Nobody stays in the dark for so long that it would be given up.
    if (c.client.state() == ClientState::closed && joined_.contains(&c))
        fail("a client that had joined was closed: " +
             std::string(to_string(c.client.close_reason())));
    if (c.client.stats().packets_malformed > c.down->counts.damaged)
        fail("a client could not read a packet of the server");
    if (c.client.state() != ClientState::joined) return;
    ++counts.client_ticks;
    check_one_ghost(c);
    look_at(c);
    check_agreement(c);
    hash = mix64(hash ^ c.client.digest());
}

void Simulation::check_one_ghost(const SmallClient& c) {
    const SmallSchema& small = world_.schema;
    ++tag_checks_;
    for (GhostId ghost = 0; ghost < c.client.ghost_end(); ++ghost) {
        if (!c.client.is_held(ghost) && c.client.retention(ghost) == Retention::despawn) continue;
        const double value = c.client.value_of(ghost, small.body.id, small.tag_field);
        if (value == 0) continue;  // a kind without a tag
        const auto tag = static_cast<std::size_t>(value);
        if (tag_seen_.size() <= tag) tag_seen_.resize(2 * tag + 1);
        if (tag_seen_[tag] == tag_checks_) fail("a client has two ghosts of one entity");
        tag_seen_[tag] = tag_checks_;
    }
    const Session* session = internal(*world_.server).sessions.find(c.observer);
    if (session != nullptr) counts.superseded += session->ghosts.superseded_count();
}

void Simulation::look_at(SmallClient& c) {
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
            const bool is_replicated = client.is_replicated(ghost, component);
            if (def.audience.type == AudienceType::in_turn) {
                has_all_pages = has_all_pages && is_replicated;
            } else if (def.audience.type != AudienceType::everyone) {
                ++(is_replicated ? seen.told : seen.untold);
            }
            for (std::size_t f = 0; f < def.fields.size(); ++f) {
                if (def.fields[f].type == FieldType::reference && is_replicated)
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

void Simulation::check_agreement(SmallClient& c) {
    const std::set<EntityId> lies_before = std::exchange(lies_[&c], {});
    const Session* session = internal(*world_.server).sessions.find(c.observer);
    if (session == nullptr || session->inputs == nullptr) return;
    const Tick now = world_.server->current_tick();
    for (const SessionInputs::KnownGroup& known : session->inputs->known) {
        // Corrected in this tick: that the command before was right says nothing.
        if (known.agreed != now || known.sent == now) continue;
        const LocalId root = session->ghosts.find(known.root);
        if (root == no_local_id) continue;
        const GroupState group =
            c.driver->prediction.state_at(root, session->inputs->queue.consumed());
        if (!differs(*session, c, group)) continue;
        if (lies_before.contains(known.root)) fail("a client was said to predict what it does not");
        lies_[&c].insert(known.root);
    }
}

bool Simulation::differs(const Session& session, const SmallClient& c, GroupState group) {
    const World& world = world_.server->world();
    const SmallSchema& small = world_.schema;
    bool differs = false;
    for (std::size_t m = 0; m < group.size(); ++m) {
        const GhostId ghost = group.ghost(m);
        if (!group.is_owned(m) || !c.client.is_held(ghost) || !session.ghosts.is_live(ghost))
            continue;
        const EntityId entity = session.ghosts.entity(ghost);
        const Gait* its = world_.game.carts.after_commands(entity);
        if (its == nullptr || world.owner_of(entity) != session.observer) continue;
        differs |= !(*group.get(m, small.gait) == *its);
        ++counts.driven.agreements;
        ++(c.client.is_replicated(ghost, small.gait.id) ? counts.driven.told
                                                        : counts.driven.untold);
    }
    return differs;
}

}  // namespace purview::test
