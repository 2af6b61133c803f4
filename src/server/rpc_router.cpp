// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "server/rpc_router.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/mutate.hpp"
#include "interest/engine.hpp"
#include "purview/limits.hpp"
#include "world/world_data.hpp"

namespace purview {

namespace {

/// Upper bound on the bits of a snapshot without its items.
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

/// Stores the call until HostView::update. Returns false if too many calls are stored.
bool keep_call(LocalPlayer& player, const WantedCall& wanted, bool names_target) {
    if (player.calls.size() >= limits::rpc_pending_per_observer) return false;
    WantedCall& kept = player.calls.emplace_back(wanted);
    if (!names_target) kept.target = EntityId::none;
    return true;
}

}  // namespace

// -- calls of the game ---------------------------------------------------------------------------

/// Returns whether the observer belongs to a client or a local player that can receive calls.
bool RpcRouter::is_there(ObserverId observer) const {
    const Session* const session = sessions_.find(observer);
    return (session != nullptr && session->state != Session::State::closing) ||
           locals_.find(observer) != nullptr;
}

Result<CallId> RpcRouter::call(const RpcReceivers& to, RpcId id, std::span<const std::byte> args) {
    if (index_of(id) >= def_.schema->rpcs().size()) return Status::bad_argument;
    const RpcDef& rpc = def_.schema->rpcs()[index_of(id)];
    const bool has_entity = to.entity != EntityId::none;
    const RpcTarget about = to.position.has_value() ? RpcTarget::position
                            : has_entity            ? RpcTarget::entity
                                                    : RpcTarget::none;
    if (rpc.desc.direction != RpcDirection::to_observers || rpc.desc.target != about ||
        (has_entity && to.position.has_value()) || args.size() != rpc.args.size_bytes) {
        return Status::bad_argument;
    }
    if (has_entity && !world_.is_alive(to.entity)) return Status::stale_id;
    const Vec3 at = to.position.value_or(Vec3{});
    if (!std::isfinite(at.x) || !std::isfinite(at.y) || !std::isfinite(at.z)) {
        return Status::bad_position;
    }
    if (to.only != ObserverId::none && !is_there(to.only)) return Status::stale_id;
    if (wanted_.size() >= limits::rpc_calls_per_tick) return Status::capacity;
    WantedCall& wanted = wanted_.emplace_back();
    wanted.call = CallId{next_++};
    if (next_ == 0) next_ = 1;
    wanted.rpc = id;
    wanted.about = about;
    wanted.target = to.entity;
    wanted.position = at;
    wanted.only = to.only;
    wanted.among.assign(to.among.begin(), to.among.end());
    std::sort(wanted.among.begin(), wanted.among.end());
    wanted.except = to.except;
    wanted.words = words_of_struct(rpc, args.data());
    return wanted.call;
}

// -- evaluation ----------------------------------------------------------------------------------

void RpcRouter::cull_late(CallId call, ObserverId observer, CullReason reason) {
    ++counters_.culled_late;
    late_.push_back({call, {observer, reason}});
}

void RpcRouter::decide() {
    PURVIEW_ASSERT(time_.in_tick);
    reports_.clear();
    culled_.clear();
    late_.clear();
    for (auto& session : sessions_) {
        if (session->state != Session::State::joined) continue;
        drop_left(*session);
        release_held(session->observer, [&](const WantedCall& wanted) {
            const LocalId ghost = session->ghosts.slots().find(wanted.target);
            return ghost != no_local_id && session->calls_out.add(outgoing(wanted, ghost));
        });
    }
    for (LocalPlayer* const player : locals_) {
        release_held(player->observer,
                     [&](const WantedCall& wanted) { return keep_call(*player, wanted, true); });
    }
    expire_held();
    first_culled_.clear();
    positions_.clear();
    for (WantedCall& wanted : wanted_) {
        if (wanted.about != RpcTarget::position) continue;
        wanted.position_number = static_cast<std::uint32_t>(positions_.size());
        positions_.push_back(wanted.position);
    }
    covering_.clear();
    if (!positions_.empty()) interest_.answers.observers_covering(positions_, covering_);
    for (WantedCall& wanted : wanted_) {
        wanted.made = time_.tick;
        first_culled_.push_back(culled_.size());
        RpcReport report;
        report.call = wanted.call;
        report.rpc = wanted.rpc;
        report.target = wanted.target;
        evaluate(wanted, report);
        reports_.push_back(report);
    }
    wanted_.clear();
    if (!reports_.empty()) first_culled_.push_back(culled_.size());
    PURVIEW_ASSERT(reports_.empty() || first_culled_.size() == reports_.size() + 1);
    for (std::size_t i = 0; i < reports_.size(); ++i) {
        reports_[i].culled = std::span<const RpcCulled>(culled_).subspan(
            first_culled_[i], first_culled_[i + 1] - first_culled_[i]);
    }
    request_targets();
}

void RpcRouter::evaluate(const WantedCall& wanted, RpcReport& report) {
    if (wanted.about == RpcTarget::entity && !world_.is_alive(wanted.target)) {
        report.status = Status::stale_id;
        return;
    }
    if (wanted.only != ObserverId::none) {
        Session* const session = sessions_.find(wanted.only);
        LocalPlayer* const player = locals_.find(wanted.only);
        if (session != nullptr && session->state == Session::State::joined) {
            evaluate_for(*session, wanted, report);
        } else if (player != nullptr) {
            evaluate_for(*player, wanted, report);
        } else {
            report.status = Status::stale_id;  // the observer was removed after the call
        }
        return;
    }
    const auto is_addressed = [&](ObserverId observer) {
        if (observer == wanted.except) return false;
        return wanted.among.empty() ||
               std::binary_search(wanted.among.begin(), wanted.among.end(), observer);
    };
    for (auto& session : sessions_) {
        if (session->state == Session::State::joined && is_addressed(session->observer))
            evaluate_for(*session, wanted, report);
    }
    for (LocalPlayer* const player : locals_)
        if (is_addressed(player->observer)) evaluate_for(*player, wanted, report);
}

void RpcRouter::evaluate_for(Session& session, const WantedCall& wanted, RpcReport& report) {
    const LocalId ghost = wanted.about == RpcTarget::entity
                              ? session.ghosts.slots().find(wanted.target)
                              : no_local_id;
    evaluate_for(session.observer, ghost != no_local_id, wanted, report,
                 [&] { return session.calls_out.add(outgoing(wanted, ghost)); });
}

void RpcRouter::evaluate_for(LocalPlayer& player, const WantedCall& wanted, RpcReport& report) {
    const bool is_relevant = wanted.about == RpcTarget::entity &&
                             interest_.answers.is_relevant(player.observer, wanted.target);
    evaluate_for(player.observer, is_relevant, wanted, report,
                 [&] { return keep_call(player, wanted, is_relevant); });
}

/// Sends, queues or culls the call for one observer. `give` queues it for sending and returns false
/// if there is no room.
template <class Give>
void RpcRouter::evaluate_for(ObserverId observer, bool is_relevant, const WantedCall& wanted,
                             RpcReport& report, Give&& give) {
    const auto cull = [&](CullReason reason) {
        ++counters_.culled;
        culled_.push_back({observer, reason});
    };
    if (!interest_.answers.is_ready(observer)) return cull(CullReason::not_ready);
    const auto is_covered = [&] {
        const Covering one{wanted.position_number, observer};
        return std::binary_search(covering_.begin(), covering_.end(), one);
    };
    if (!PURVIEW_GUARD(call_reach, wanted.about != RpcTarget::position || is_covered()))
        return cull(CullReason::out_of_reach);
    if (wanted.about == RpcTarget::entity) {
        const RpcPolicy policy = def_.schema->rpcs()[index_of(wanted.rpc)].desc.policy;
        if (!PURVIEW_GUARD(call_cull, is_relevant || policy == RpcPolicy::force)) {
            if (interest_.answers.is_denied(observer, wanted.target))
                return cull(CullReason::denied);
            if (policy == RpcPolicy::cull) return cull(CullReason::not_relevant);
            if (!hold(wanted, observer)) return cull(CullReason::capacity);
            ++report.held;
            return;
        }
    }
    if (!give()) return cull(CullReason::capacity);
    ++counters_.sent;
    ++report.sent;
}

namespace {

/// Compares call numbers, which wrap.
bool is_before(CallId one, CallId other) noexcept {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(one) -
                                     static_cast<std::uint32_t>(other)) < 0;
}

/// Key of held_about_.
std::uint64_t pair_of(EntityId entity, ObserverId observer) noexcept {
    return std::uint64_t{index_of(entity)} << 32 | index_of(observer);
}

}  // namespace

/// Holds the call until its entity is relevant. One entry serves all observers of the call. The
/// number is limited per entity and observer, and in total. So calls about one hidden entity cannot
/// displace calls about others, and calls queued for other observers cannot displace those for this
/// one (docs/limits.md).
bool RpcRouter::hold(const WantedCall& wanted, ObserverId observer) {
    PURVIEW_ASSERT(wanted.about == RpcTarget::entity);
    const Tick ends = wanted.made + def_.schema->rpcs()[index_of(wanted.rpc)].desc.hold_ticks;
    if (ends < time_.tick) return false;
    // Ordered by call number, also if a call is queued again. The order in which an observer
    // receives calls must not depend on other observers' queues.
    const auto at = std::lower_bound(
        held_.begin(), held_.end(), wanted.call,
        [](const HeldCall& held, CallId call) { return is_before(held.wanted.call, call); });
    const bool is_new = at == held_.end() || at->wanted.call != wanted.call;
    const std::uint64_t pair = pair_of(wanted.target, observer);
    const std::uint32_t* about = held_about_.find(pair);
    if ((about != nullptr && *about >= limits::rpc_queued_per_entity) ||
        (is_new && held_.size() >= limits::rpc_queued)) {
        return false;
    }
    ++held_about_[pair];
    ++counters_.held;
    if (is_new) {
        held_.insert(at, {wanted, ends, {observer}});
    } else {
        at->observers.push_back(observer);
    }
    return true;
}

/// Decrements the count of this entity and observer.
void RpcRouter::end_hold(const HeldCall& held, ObserverId observer) {
    const std::uint64_t pair = pair_of(held.wanted.target, observer);
    PURVIEW_ASSERT(held_about_.contains(pair));
    if (--held_about_[pair] == 0) held_about_.erase(pair);
}

/// `give(WantedCall)` queues the call for sending and returns false if there is no room.
template <class Give>
void RpcRouter::release_held(ObserverId observer, Give&& give) {
    if (held_.empty()) return;
    coming_.clear();
    for (const InterestEvent& event : interest_.events_of(observer)) {
        if (event.enter && held_about_.contains(pair_of(event.entity, observer)))
            coming_.push_back(event.entity);
    }
    if (coming_.empty()) return;
    std::sort(coming_.begin(), coming_.end());
    for (HeldCall& held : held_) {
        if (!std::binary_search(coming_.begin(), coming_.end(), held.wanted.target)) continue;
        const auto at = std::find(held.observers.begin(), held.observers.end(), observer);
        if (at == held.observers.end()) continue;
        held.observers.erase(at);
        end_hold(held, observer);
        if (give(held.wanted)) {
            ++counters_.sent;
        } else {
            cull_late(held.wanted.call, observer, CullReason::capacity);
        }
    }
}

void RpcRouter::forget(std::span<const ObserverId> gone) {
    PURVIEW_ASSERT(std::is_sorted(gone.begin(), gone.end()));
    if (gone.empty()) return;
    std::erase_if(held_, [&](HeldCall& held) {
        std::erase_if(held.observers, [&](ObserverId observer) {
            if (!std::binary_search(gone.begin(), gone.end(), observer)) return false;
            end_hold(held, observer);
            return true;
        });
        return held.observers.empty();
    });
}

/// Drops calls that have expired, and all calls about entities that are denied to the observer.
void RpcRouter::expire_held() {
    std::erase_if(held_, [&](HeldCall& held) {
        const bool is_over = time_.tick >= held.ends || !world_.is_alive(held.wanted.target);
        if (!is_over && !interest_.answers.is_denied_to_any(held.wanted.target))
            return held.observers.empty();
        std::erase_if(held.observers, [&](ObserverId observer) {
            const bool is_denied =
                !is_over && interest_.answers.is_denied(observer, held.wanted.target);
            if (!is_over && !is_denied) return false;
            cull_late(held.wanted.call, observer,
                      is_denied ? CullReason::denied : CullReason::expired);
            end_hold(held, observer);
            return true;
        });
        return held.observers.empty();
    });
}

/// Drops calls about ghosts that have left. Runs before packets of this tick are written. A forced
/// call remains, without its ghost. A call with the policy `hold` that was never written is held
/// again.
void RpcRouter::drop_left(Session& session) {
    const Schema& schema = *def_.schema;
    session.calls_out.drop_gone(
        schema,
        [&](OutgoingRpc& call) {
            const bool is_there =
                call.ghost == no_local_id || session.ghosts.slots().find(call.target) == call.ghost;
            if (PURVIEW_GUARD(call_of_left, is_there)) return false;
            if (!may_lack_ghost(schema.rpcs()[index_of(call.rpc)].desc)) return true;
            call.ghost = no_local_id;
            return false;
        },
        [&](const OutgoingRpc& call) {
            const RpcPolicy policy = schema.rpcs()[index_of(call.rpc)].desc.policy;
            const bool never_written = !call.under_way && call.sequence == 0;
            const bool may_be_held = policy == RpcPolicy::hold && world_.is_alive(call.target) &&
                                     !interest_.answers.is_denied(session.observer, call.target);
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

// -- into packets --------------------------------------------------------------------------------

/// When a call is delivered, the client must have its ghost in the state in which the call was
/// sent. So unacknowledged data of the ghost is sent with the call.
void RpcRouter::request_targets() const {
    for (auto& session : sessions_) {
        session->calls_out.for_each_waiting([&](const OutgoingRpc& call) {
            if (call.ghost != no_local_id) session->ghosts.request(call.ghost, time_.tick);
        });
    }
}

namespace {

/// Returns whether the current state of the target still has to be sent.
bool is_waiting(const Session& session, const OutgoingRpc& call) {
    return call.ghost != no_local_id && session.ghosts.sends().is_pending(call.ghost);
}

/// Returns whether a ghost in staged replication is in this packet. The packet then has as many
/// current components as fit; calls do not wait for the others.
bool is_staged_in_packet(const Session& session, const OutgoingRpc& call) {
    if (call.ghost == no_local_id || !session.ghosts.sends().is_blocked(call.ghost)) return false;
    const SnapshotItem* item = session.plan->item_of(call.ghost);
    return item != nullptr && item->packet != 0 && item->packet == session.plan->packet;
}

}  // namespace

std::uint64_t RpcRouter::choose(Session& session, std::uint64_t bits) const {
    PURVIEW_ASSERT(session.plan != nullptr);
    auto& first = session.plan->first;
    first.clear();
    if (!session.calls_out.has_data_to_send()) return 0;
    const auto cost_bits = [&](const OutgoingRpc& call) -> std::uint64_t {
        const SnapshotItem* item =
            call.ghost == no_local_id ? nullptr : session.plan->item_of(call.ghost);
        // A pending ghost without an item waits for its parent.
        if (item == nullptr) return is_waiting(session, call) ? RpcOutbox::never : 0;
        // The ghost is in an earlier packet of this tick, which may be lost while this one arrives.
        if (item->packet != 0) return RpcOutbox::never;
        if (call.ghost == session.plan->kept_for) return 0;  // room is reserved for it
        bool is_paid = false;
        session.calls_out.for_each_chosen(
            [&](const OutgoingRpc& other) { is_paid |= other.ghost == call.ghost; });
        return is_paid ? 0 : item->bits + 4 + BitWriter::varint_bits(session.ghosts.slots().end());
    };
    const std::uint64_t own = session.calls_out.choose(
        *def_.schema, bits - std::min(bits, snapshot_frame_bits), cost_bits);
    PURVIEW_ASSERT(own <= bits);
    session.calls_out.for_each_chosen([&](const OutgoingRpc& call) {
        const bool is_there = std::find(first.begin(), first.end(), call.ghost) != first.end();
        if (call.ghost != no_local_id && !is_there) first.push_back(call.ghost);
    });
    return own;
}

bool RpcRouter::write(TickWorker& worker, Session& session, std::uint32_t sequence,
                      BitWriter& out) const {
    if (!session.calls_out.has_chosen()) {
        out.boolean(false);
        return false;
    }
    const auto may_go = [&](const OutgoingRpc& call) {
        const bool goes = !is_waiting(session, call) || is_staged_in_packet(session, call);
        PURVIEW_ASSERT(!goes || call.ghost == no_local_id ||
                       session.ghosts.slots().find(call.target) == call.ghost);
        if (goes && tap_ != nullptr) tap_->call_written(session, sequence, call);
        return goes;
    };
    const std::uint32_t written = session.calls_out.write(*def_.schema, sequence, out, may_go);
    worker.calls_written += written;
    return written > 0;
}

void RpcRouter::drop_unreliable(TickWorker& worker, Session& session) const {
    session.calls_out.drop_unreliable(*def_.schema, [&](const OutgoingRpc& call) {
        worker.late.push_back({call.call, {session.observer, CullReason::no_room}});
    });
}

// -- calls of clients ----------------------------------------------------------------------------

void RpcRouter::resolve_targets(Session& session) const {
    for (ArrivedRpc& call : session.calls_in.staged()) {
        const LocalId ghost = call.ghost;
        if (ghost >= session.ghosts.slots().end() || !session.ghosts.slots().is_held(ghost))
            continue;
        call.target = session.ghosts.slots().entity(ghost);
        call.was_gone = !session.ghosts.slots().is_live(ghost);
        call.was_owned = was_owned_by(session, call.target);
    }
}

/// Returns whether the session owns the entity or owned it within limits::rpc_refused_window_s. A
/// client that does not know yet that it lost the entity must not be disconnected for calling it.
bool RpcRouter::was_owned_by(const Session& session, EntityId entity) const noexcept {
    const LocalId slot =
        entity == EntityId::none ? no_local_id : session.ghosts.slots().find(entity);
    if (slot == no_local_id) return false;
    if (session.ghosts.marks().is_owned(slot)) return true;  // as of the last tick
    if (session.ghosts.marks().disowned_tick(slot) == 0) return false;
    return time_.tick - session.ghosts.marks().disowned_tick(slot) <=
           limits::rpc_refused_window_s * def_.tick_hz;
}

/// Counts a refused call without an answer, so that hidden and missing entities cannot be
/// distinguished. Closes a session with too many refused calls.
void RpcRouter::refuse(Session& session, std::uint64_t& counter) {
    ++counter;
    if (session.misuse.calls.empty()) session.misuse.calls.resize(limits::rpc_refused);
    Tick& oldest = session.misuse.calls[session.misuse.calls_refused++ % limits::rpc_refused];
    const bool is_many = session.misuse.calls_refused > limits::rpc_refused &&
                         time_.tick - oldest <= limits::rpc_refused_window_s * def_.tick_hz;
    oldest = time_.tick;
    if (PURVIEW_GUARD(calls_refused, !is_many)) return;
    ++counters_.sessions_closed;
    closer_.close(session, CloseReason::malformed, true);
}

void RpcRouter::run(Server& server, Session& session) {
    alignas(std::max_align_t) std::array<std::byte, Schema::component_bytes_max> args;
    ArrivedRpc call;
    for (std::size_t n = 0; session.calls_in.next(call); ++n) {
        if (session.state != Session::State::joined) continue;
        if (n >= limits::rpc_pending_per_observer) {
            ++counters_.flooded;
            continue;
        }
        const RpcDef& rpc = def_.schema->rpcs()[index_of(call.rpc)];
        PURVIEW_ASSERT(rpc.desc.direction == RpcDirection::to_server);
        if (rpc.desc.target == RpcTarget::entity) {
            if (!PURVIEW_GUARD(callee_held, call.target != EntityId::none)) {
                refuse(session, counters_.refused_ghost);
                continue;
            }
            const bool is_there = !call.was_gone &&
                                  session.ghosts.slots().find(call.target) != no_local_id &&
                                  world_.is_alive(call.target);
            if (!PURVIEW_GUARD(callee_relevance, is_there)) {
                ++counters_.gone;
                continue;
            }
        }
        const bool may_call =
            rpc.desc.callers == RpcCallers::owner
                ? world_.owner_of(call.target) == session.observer
                : rpc.desc.callers != RpcCallers::players || session.role == Role::player;
        // The client may not have received the change of owner yet.
        if (!may_call && (call.was_owned || was_owned_by(session, call.target))) {
            ++counters_.gone;
            continue;
        }
        if (!PURVIEW_GUARD(caller, may_call)) {
            refuse(session, counters_.refused_caller);
            continue;
        }
        ++counters_.received;
        struct_of_words(rpc, call.words, args.data());
        game_.on_rpc(server, session.observer, call.rpc, call.target,
                     std::span<const std::byte>(args).first(rpc.args.size_bytes));
    }
}

void RpcRouter::add_written(const TickWorkers& workers) {
    for (const TickChunk& chunk : workers.chunks()) {
        PURVIEW_ASSERT(chunk.first_late <= chunk.end_late &&
                       chunk.end_late <= chunk.worker->late.size());
        for (std::size_t i = chunk.first_late; i < chunk.end_late; ++i) {
            ++counters_.culled_late;
            late_.push_back(chunk.worker->late[i]);
        }
    }
    for (const auto& worker : workers) counters_.written += worker->calls_written;
}

void RpcRouter::validate() const {
    FlatMap<std::uint64_t, std::uint32_t> about;
    for (std::size_t i = 0; i < held_.size(); ++i) {
        const HeldCall& held = held_[i];
        PURVIEW_ASSERT(!held.observers.empty());
        PURVIEW_ASSERT(i == 0 || is_before(held_[i - 1].wanted.call, held.wanted.call));
        for (const ObserverId observer : held.observers)
            ++about[pair_of(held.wanted.target, observer)];
    }
    PURVIEW_ASSERT(about.size() == held_about_.size());
    for (const HeldCall& held : held_) {
        for (const ObserverId observer : held.observers) {
            const std::uint64_t pair = pair_of(held.wanted.target, observer);
            const std::uint32_t* const count = held_about_.find(pair);
            PURVIEW_ASSERT(count != nullptr && *count == *about.find(pair));
            PURVIEW_ASSERT(*about.find(pair) <= limits::rpc_queued_per_entity);
            (void)count;
        }
    }
    PURVIEW_ASSERT(held_.size() <= limits::rpc_queued);
}

}  // namespace purview
