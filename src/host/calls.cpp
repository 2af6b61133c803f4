// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Remote calls, the server's side. Calls of the game wait until the relevance of their tick is
// decided; then each observer gets it, has it held, or is named in the report with a reason. No
// byte about an entity that is not relevant is written, whenever the call was made: what left takes
// its calls along. Calls of clients end in Game::rpc, or in a counter.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/mutate.hpp"
#include "host/server_data.hpp"
#include "interest/interest_data.hpp"
#include "world/world_data.hpp"

namespace purview {

namespace {

/// What a snapshot needs beside its items, generously.
constexpr std::uint64_t snapshot_frame_bits = 96;

OutgoingRpc outgoing(const WantedCall& wanted, LocalId ghost) {
    OutgoingRpc call;
    call.call = wanted.call;
    call.rpc = wanted.rpc;
    call.target = wanted.target;
    call.ghost = ghost;
    call.made = wanted.made;
    call.words = wanted.words;
    return call;
}

/// Waits for HostView::update. False: too many do.
bool keep_call(LocalPlayer& player, const WantedCall& wanted, bool names_target) {
    if (player.calls.size() >= rpc_waiting_max) return false;
    WantedCall& kept = player.calls.emplace_back(wanted);
    if (!names_target) kept.target = EntityId::none;
    return true;
}

}  // namespace

// -- the game calls -----------------------------------------------------------------------------

Result<CallId> ServerData::call(const WantedCall& asked, std::span<const std::byte> args) {
    if (index_of(asked.rpc) >= def.schema->rpcs().size()) return Status::bad_argument;
    const RpcDef& rpc = def.schema->rpcs()[index_of(asked.rpc)];
    if (rpc.desc.direction != RpcDirection::to_observers || rpc.desc.target != asked.about ||
        args.size() != rpc.args.size_bytes) {
        return Status::bad_argument;
    }
    if (asked.about == RpcTarget::entity && !world.is_alive(asked.target)) return Status::stale_id;
    const Vec3 at = asked.place;
    if (!std::isfinite(at.x) || !std::isfinite(at.y) || !std::isfinite(at.z)) {
        return Status::bad_position;
    }
    if (calls.wanted.size() >= rpc_calls_per_tick_max) return Status::capacity;
    WantedCall& wanted = calls.wanted.emplace_back(asked);
    wanted.call = CallId{calls.next++};
    if (calls.next == 0) calls.next = 1;
    wanted.words = words_of_struct(rpc, args.data());
    return wanted.call;
}

// -- who gets it --------------------------------------------------------------------------------

void ServerData::cull_late(CallId call, ObserverId observer, CullReason reason) {
    ++calls.counters.culled_late;
    calls.late.push_back({call, {observer, reason}});
}

/// After interest: relevance is that of this tick, and ghosts that left are gone from the table.
void ServerData::decide_calls() {
    calls.reports.clear();
    calls.culled.clear();
    calls.late.clear();
    for (auto& session : sessions) {
        if (session->state != Session::State::joined) continue;
        drop_left_calls(*session);
        release_held(session->observer, [&](const WantedCall& wanted) {
            const LocalId ghost = session->ghosts.find(wanted.target);
            return ghost != no_local_id && session->calls_out.add(outgoing(wanted, ghost));
        });
    }
    for (LocalPlayer* const player : locals_) {
        release_held(player->observer,
                     [&](const WantedCall& wanted) { return keep_call(*player, wanted, true); });
    }
    expire_held();
    std::vector<std::size_t>& first_culled = calls.first_culled;
    first_culled.clear();
    calls.places.clear();
    for (WantedCall& wanted : calls.wanted) {
        if (wanted.about != RpcTarget::place) continue;
        wanted.place_number = static_cast<std::uint32_t>(calls.places.size());
        calls.places.push_back(wanted.place);
    }
    calls.covering.clear();
    if (!calls.places.empty()) interest.observers_covering(calls.places, calls.covering);
    for (WantedCall& wanted : calls.wanted) {
        wanted.made = tick_number;
        first_culled.push_back(calls.culled.size());
        RpcReport report;
        report.call = wanted.call;
        report.rpc = wanted.rpc;
        report.target = wanted.target;
        judge(wanted, report);
        calls.reports.push_back(report);
    }
    calls.wanted.clear();
    if (!calls.reports.empty()) first_culled.push_back(calls.culled.size());
    for (std::size_t i = 0; i < calls.reports.size(); ++i) {
        calls.reports[i].culled =
            std::span<const RpcCulled>(calls.culled)
                .subspan(first_culled[i], first_culled[i + 1] - first_culled[i]);
    }
    request_callees();
}

void ServerData::judge(const WantedCall& wanted, RpcReport& report) {
    if (wanted.about == RpcTarget::entity && !world.is_alive(wanted.target)) {
        report.status = Status::stale_id;
        return;
    }
    if (wanted.only != ObserverId::none) {
        Session* const session = find_session(wanted.only);
        LocalPlayer* const player = find_local(wanted.only);
        if (session != nullptr && session->state == Session::State::joined) {
            judge_for(*session, wanted, report);
        } else if (player != nullptr) {
            judge_for(*player, wanted, report);
        } else {
            report.status = Status::stale_id;  // he has gone since
        }
        return;
    }
    for (auto& session : sessions) {
        if (session->state == Session::State::joined && session->observer != wanted.except)
            judge_for(*session, wanted, report);
    }
    for (LocalPlayer* const player : locals_)
        if (player->observer != wanted.except) judge_for(*player, wanted, report);
}

void ServerData::judge_for(Session& session, const WantedCall& wanted, RpcReport& report) {
    const LocalId ghost =
        wanted.about == RpcTarget::entity ? session.ghosts.find(wanted.target) : no_local_id;
    judge_for(session.observer, ghost != no_local_id, wanted, report,
              [&] { return session.calls_out.add(outgoing(wanted, ghost)); });
}

void ServerData::judge_for(LocalPlayer& player, const WantedCall& wanted, RpcReport& report) {
    const bool is_relevant =
        wanted.about == RpcTarget::entity && interest.is_relevant(player.observer, wanted.target);
    judge_for(player.observer, is_relevant, wanted, report,
              [&] { return keep_call(player, wanted, is_relevant); });
}

/// give() -> bool: there was room.
template <class Give>
void ServerData::judge_for(ObserverId observer, bool is_relevant, const WantedCall& wanted,
                           RpcReport& report, Give&& give) {
    const auto cull = [&](CullReason reason) {
        ++calls.counters.culled;
        calls.culled.push_back({observer, reason});
    };
    if (!interest.is_ready(observer)) return cull(CullReason::not_ready);
    const auto is_covered = [&] {
        const Covering one{wanted.place_number, observer};
        return std::binary_search(calls.covering.begin(), calls.covering.end(), one);
    };
    if (!PURVIEW_GUARD(call_reach, wanted.about != RpcTarget::place || is_covered()))
        return cull(CullReason::out_of_reach);
    if (wanted.about == RpcTarget::entity) {
        const RpcPolicy policy = def.schema->rpcs()[index_of(wanted.rpc)].desc.policy;
        if (!PURVIEW_GUARD(call_cull, is_relevant || policy == RpcPolicy::force)) {
            if (interest.is_denied(observer, wanted.target)) return cull(CullReason::denied);
            if (policy == RpcPolicy::cull) return cull(CullReason::not_relevant);
            if (!hold(wanted, observer)) return cull(CullReason::capacity);
            ++report.held;
            return;
        }
    }
    if (!give()) return cull(CullReason::capacity);
    ++calls.counters.sent;
    ++report.sent;
}

namespace {

/// What is held about the entity for the observer.
std::uint64_t pair_of(EntityId entity, ObserverId observer) noexcept {
    return std::uint64_t{index_of(entity)} << 32 | index_of(observer);
}

}  // namespace

/// One list for all observers of a call; bounded for each entity and observer, and in all: what is
/// called about one hidden entity cannot crowd out what an observer gets about others, and what
/// others have held about an entity cannot crowd out what he gets (docs/limits.md).
bool ServerData::hold(const WantedCall& wanted, ObserverId observer) {
    const Tick ends = wanted.made + def.schema->rpcs()[index_of(wanted.rpc)].desc.hold_ticks;
    if (ends < tick_number) return false;
    // In the order of calling, also one that is held again: whether others still have it held must
    // not show in the order in which this observer gets it.
    const auto at = std::lower_bound(
        calls.held.begin(), calls.held.end(), wanted.call,
        [](const HeldCall& held, CallId call) {  // numbers wrap
            return static_cast<std::int32_t>(static_cast<std::uint32_t>(held.wanted.call) -
                                             static_cast<std::uint32_t>(call)) < 0;
        });
    const bool is_new = at == calls.held.end() || at->wanted.call != wanted.call;
    const std::uint64_t pair = pair_of(wanted.target, observer);
    const std::uint32_t* about = calls.held_about.find(pair);
    if ((about != nullptr && *about >= rpc_held_per_entity_max) ||
        (is_new && calls.held.size() >= rpc_held_max)) {
        return false;
    }
    ++calls.held_about[pair];
    ++calls.counters.held;
    if (is_new) {
        calls.held.insert(at, {wanted, ends, {observer}});
    } else {
        at->observers.push_back(observer);
    }
    return true;
}

/// He is taken from those for whom it is held.
void ServerData::end_hold(const HeldCall& held, ObserverId observer) {
    const std::uint64_t pair = pair_of(held.wanted.target, observer);
    if (--calls.held_about[pair] == 0) calls.held_about.erase(pair);
}

/// give(WantedCall) -> bool: there was room.
template <class Give>
void ServerData::release_held(ObserverId observer, Give&& give) {
    if (calls.held.empty()) return;
    calls.coming.clear();
    for (const RelevanceEvent& event : interest.events_of(observer)) {
        if (event.enter && calls.held_about.contains(pair_of(event.entity, observer)))
            calls.coming.push_back(event.entity);
    }
    if (calls.coming.empty()) return;
    std::sort(calls.coming.begin(), calls.coming.end());
    for (HeldCall& held : calls.held) {
        if (!std::binary_search(calls.coming.begin(), calls.coming.end(), held.wanted.target))
            continue;
        const auto at = std::find(held.observers.begin(), held.observers.end(), observer);
        if (at == held.observers.end()) continue;
        held.observers.erase(at);
        end_hold(held, observer);
        if (give(held.wanted)) {
            ++calls.counters.sent;
        } else {
            cull_late(held.wanted.call, observer, CullReason::capacity);
        }
    }
}

/// Those that are gone, ascending: nothing waits for them, and nobody is told that it waited in
/// vain.
void ServerData::forget_held(std::span<const ObserverId> gone) {
    if (gone.empty()) return;
    std::erase_if(calls.held, [&](HeldCall& held) {
        std::erase_if(held.observers, [&](ObserverId observer) {
            if (!std::binary_search(gone.begin(), gone.end(), observer)) return false;
            end_hold(held, observer);
            return true;
        });
        return held.observers.empty();
    });
}

/// Those whose time is over, and of denied pairs all.
void ServerData::expire_held() {
    std::erase_if(calls.held, [&](HeldCall& held) {
        const bool is_over = tick_number >= held.ends || !world.is_alive(held.wanted.target);
        if (!is_over && !interest.data().is_denied_to_anybody(held.wanted.target))
            return held.observers.empty();
        std::erase_if(held.observers, [&](ObserverId observer) {
            const bool is_denied = !is_over && interest.is_denied(observer, held.wanted.target);
            if (!is_over && !is_denied) return false;
            cull_late(held.wanted.call, observer,
                      is_denied ? CullReason::denied : CullReason::expired);
            end_hold(held, observer);
            return true;
        });
        return held.observers.empty();
    });
}

/// Before anything is written in this tick. A forced call goes on without its ghost; a call to be
/// held that was never written is held again.
void ServerData::drop_left_calls(Session& session) {
    const Schema& schema = *def.schema;
    session.calls_out.drop_gone(
        schema,
        [&](OutgoingRpc& call) {
            const bool is_there =
                call.ghost == no_local_id || session.ghosts.find(call.target) == call.ghost;
            if (PURVIEW_GUARD(call_of_left, is_there)) return false;
            if (!may_lack_ghost(schema.rpcs()[index_of(call.rpc)].desc)) return true;
            call.ghost = no_local_id;
            return false;
        },
        [&](const OutgoingRpc& call) {
            const RpcPolicy policy = schema.rpcs()[index_of(call.rpc)].desc.policy;
            const bool never_written = !call.under_way && call.sequence == 0;
            const bool may_be_held = policy == RpcPolicy::hold && world.is_alive(call.target) &&
                                     !interest.is_denied(session.observer, call.target);
            if (may_be_held && never_written &&
                hold({.call = call.call,
                      .rpc = call.rpc,
                      .about = RpcTarget::entity,
                      .target = call.target,
                      .made = call.made,
                      .words = call.words},
                     session.observer)) {
                return;
            }
            cull_late(call.call, session.observer, CullReason::left);
        });
}

// -- into packets -------------------------------------------------------------------------------

/// When a call is handed out, its ghost is as it was when the call was sent, or newer: so whatever
/// the client is not known to have goes with it.
void ServerData::request_callees() {
    for (auto& session : sessions) {
        session->calls_out.for_each_waiting([&](const OutgoingRpc& call) {
            if (call.ghost != no_local_id) session->ghosts.request(call.ghost, tick_number);
        });
    }
}

namespace {

/// The client is not known to have what its ghost is by now.
bool is_waiting(const Session& session, const OutgoingRpc& call) {
    return call.ghost != no_local_id && session.ghosts.is_pending(call.ghost);
}

/// Of a ghost that is told in turn this packet tells as much as fits, as it is by now: the rest
/// waits for its turn, calls do not.
bool goes_in_turn(const Session& session, const OutgoingRpc& call) {
    if (call.ghost == no_local_id || !session.ghosts.is_awaited(call.ghost)) return false;
    const SnapshotItem* item = session.plan->item_of(call.ghost);
    return item != nullptr && item->packet != 0 && item->packet == session.plan->packet;
}

}  // namespace

std::uint64_t ServerData::choose_calls(Session& session, std::uint64_t bits) {
    auto& first = session.plan->first;
    first.clear();
    if (!session.calls_out.wants_to_send()) return 0;
    const auto cost_bits = [&](const OutgoingRpc& call) -> std::uint64_t {
        const SnapshotItem* item =
            call.ghost == no_local_id ? nullptr : session.plan->item_of(call.ghost);
        // Its parent has to arrive first.
        if (item == nullptr) return is_waiting(session, call) ? RpcOutbox::never : 0;
        // It went in an earlier packet of this tick, which may be lost while this one arrives.
        if (item->packet != 0) return RpcOutbox::never;
        if (call.ghost == session.plan->kept_for) return 0;  // its room is its own
        bool is_paid = false;
        session.calls_out.for_each_chosen(
            [&](const OutgoingRpc& other) { is_paid |= other.ghost == call.ghost; });
        return is_paid ? 0 : item->bits + 4 + BitWriter::varint_bits(session.ghosts.lane_end());
    };
    const std::uint64_t own = session.calls_out.choose(
        *def.schema, bits - std::min(bits, snapshot_frame_bits), cost_bits);
    session.calls_out.for_each_chosen([&](const OutgoingRpc& call) {
        const bool is_there = std::find(first.begin(), first.end(), call.ghost) != first.end();
        if (call.ghost != no_local_id && !is_there) first.push_back(call.ghost);
    });
    return own;
}

bool ServerData::write_calls(TickWorker& worker, Session& session, std::uint32_t sequence,
                             BitWriter& out) {
    if (!session.calls_out.has_chosen()) {
        out.boolean(false);
        return false;
    }
    const auto may_go = [&](const OutgoingRpc& call) {
        const bool goes = !is_waiting(session, call) || goes_in_turn(session, call);
        PURVIEW_ASSERT(!goes || call.ghost == no_local_id ||
                       session.ghosts.find(call.target) == call.ghost);
        if (goes && tap != nullptr) tap->call_written(session, sequence, call);
        return goes;
    };
    const std::uint32_t written = session.calls_out.write(*def.schema, sequence, out, may_go);
    worker.calls_written += written;
    return written > 0;
}

void ServerData::drop_unreliable(TickWorker& worker, Session& session) {
    session.calls_out.drop_unreliable(*def.schema, [&](const OutgoingRpc& call) {
        worker.late.push_back({call.call, {session.observer, CullReason::no_room}});
    });
}

// -- clients call -------------------------------------------------------------------------------

/// Whose ghosts the calls of the packet that is being read name: local ids may speak of others when
/// their turn comes. Acknowledgements of the same packet have been heard.
void ServerData::resolve_callees(Session& session) {
    for (ArrivedRpc& call : session.calls_in.staged()) {
        const LocalId ghost = call.ghost;
        if (ghost >= session.ghosts.lane_end() || !session.ghosts.is_held(ghost)) continue;
        call.target = session.ghosts.entity(ghost);
        call.was_gone = !session.ghosts.is_live(ghost);
        call.was_his = was_his(session, call.target);
    }
}

/// It was his until a moment ago: nobody is closed for what he could not know.
bool ServerData::was_his(const Session& session, EntityId entity) const noexcept {
    const LocalId lane = entity == EntityId::none ? no_local_id : session.ghosts.find(entity);
    if (lane == no_local_id) return false;
    if (session.ghosts.owned(lane)) return true;  // as of the last tick
    if (session.ghosts.disowned_tick(lane) == 0) return false;
    return tick_number - session.ghosts.disowned_tick(lane) <= rpc_refused_window_s * def.tick_hz;
}

/// Not answered: hidden and not there look the same. Whoever keeps doing it is closed.
void ServerData::refuse_call(Session& session, std::uint64_t& counter) {
    ++counter;
    if (session.refused.empty()) session.refused.resize(rpc_refused_max);
    Tick& oldest = session.refused[session.calls_refused++ % rpc_refused_max];
    const bool is_many = session.calls_refused > rpc_refused_max &&
                         tick_number - oldest <= rpc_refused_window_s * def.tick_hz;
    oldest = tick_number;
    if (PURVIEW_GUARD(calls_refused, !is_many)) return;
    ++calls.counters.sessions_closed;
    mark_closed(session, CloseReason::malformed, true);
}

void ServerData::run_calls(Server& server, Session& session) {
    alignas(std::max_align_t) std::array<std::byte, Schema::component_bytes_max> args;
    ArrivedRpc call;
    for (std::size_t n = 0; session.calls_in.next(call); ++n) {
        if (session.state != Session::State::joined) continue;
        if (n >= rpc_waiting_max) {
            ++calls.counters.flooded;
            continue;
        }
        const RpcDef& rpc = def.schema->rpcs()[index_of(call.rpc)];
        if (rpc.desc.target == RpcTarget::entity) {
            if (!PURVIEW_GUARD(callee_held, call.target != EntityId::none)) {
                refuse_call(session, calls.counters.refused_ghost);
                continue;
            }
            const bool is_there = !call.was_gone &&
                                  session.ghosts.find(call.target) != no_local_id &&
                                  world.is_alive(call.target);
            if (!PURVIEW_GUARD(callee_relevance, is_there)) {
                ++calls.counters.gone;
                continue;
            }
        }
        const bool may_call =
            rpc.desc.callers == RpcCallers::owner
                ? world.owner_of(call.target) == session.observer
                : rpc.desc.callers != RpcCallers::players || session.role == Role::player;
        // He may not know yet that it is not his any more.
        if (!may_call && (call.was_his || was_his(session, call.target))) {
            ++calls.counters.gone;
            continue;
        }
        if (!PURVIEW_GUARD(caller, may_call)) {
            refuse_call(session, calls.counters.refused_caller);
            continue;
        }
        ++calls.counters.received;
        struct_of_words(rpc, call.words, args.data());
        game_->rpc(server, session.observer, call.rpc, call.target,
                   std::span<const std::byte>(args).first(rpc.args.size_bytes));
    }
}

}  // namespace purview
