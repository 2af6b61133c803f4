// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Routes RPCs. A call of the game waits until the relevance of its tick is evaluated. Then, for
// each observer, the call is sent, queued until its entity is relevant, or listed in the report
// with a cull reason. No packet has a call about an entity that is not relevant: if an entity
// leaves, its pending calls are dropped. Calls of clients are passed to Game::on_rpc or counted as
// refused.
//
// Owns the calls of the running tick, the queued calls, and the reports of the last tick. Calls in
// flight to a client are in its session.
//
// Invariants (validate): queued calls are in calling order, each with at least one observer;
// held_about_ counts them by entity and observer.
//
// `choose`, `write` and `drop_unreliable` use only one session and its worker, and run on different
// threads.
//
// Must not know: packets beyond their calls, how relevance was decided.
#pragma once

#include <span>
#include <vector>

#include "core/flat_map.hpp"
#include "interest/engine.hpp"
#include "purview/world.hpp"
#include "server/local_player.hpp"
#include "server/server_counters.hpp"
#include "server/server_time.hpp"
#include "server/session_closer.hpp"
#include "server/session_table.hpp"
#include "server/tap.hpp"
#include "server/tick_worker.hpp"
#include "server/wanted_call.hpp"

namespace purview {

class RpcRouter {
  public:
    RpcRouter(const ServerDef& def, const ServerTime& time, const World& world,
              InterestEngine& interest, Game& game, const SessionTable& sessions,
              const LocalPlayers& locals, SessionCloser& closer, ReplicationTap* const& tap)
        : def_(def),
          time_(time),
          world_(world),
          interest_(interest),
          game_(game),
          sessions_(sessions),
          locals_(locals),
          closer_(closer),
          tap_(tap) {}

    /// Records a call of the game; the next stage `interest` evaluates it.
    Result<CallId> call(const RpcReceivers& to, RpcId id, std::span<const std::byte> args);

    // Stage `receive`.
    /// Resolves the targets of the calls in the packet that is being read, because local ids may
    /// refer to other entities when the calls run. Requires that the acknowledgements of the same
    /// packet have been processed.
    void resolve_targets(Session& session) const;
    /// Passes the calls of a client to the game, which may close the session.
    void run(Server& server, Session& session);
    /// Drops the calls that are queued for removed observers, without reports. `gone` must be
    /// ascending.
    void forget(std::span<const ObserverId> gone);

    // Stage `interest`. Relevance is that of this tick, and ghosts that left are no longer in their
    // table.
    void decide();

    // Stage `encode`.
    /// Chooses the session's calls that fit into `bits`, and returns the bits that they take.
    std::uint64_t choose(Session& session, std::uint64_t bits) const;
    /// Writes the chosen calls. Returns false if there are none.
    bool write(TickWorker& worker, Session& session, std::uint32_t sequence, BitWriter& out) const;
    /// Drops unreliable calls for which no packet of this tick had room.
    void drop_unreliable(TickWorker& worker, Session& session) const;
    /// Adds what the workers recorded. Call after all sessions.
    void add_written(const TickWorkers& workers);

    // Results of the last tick.
    std::span<const RpcReport> reports() const noexcept { return reports_; }
    std::span<const RpcLateCull> late_culls() const noexcept { return late_; }
    const RpcCounters& counters() const noexcept { return counters_; }

    const std::vector<HeldCall>& held() const noexcept { return held_; }
    /// Number of (entity, observer) combinations with queued calls.
    std::size_t held_pairs() const noexcept { return held_about_.size(); }
    std::uint32_t next_call() const noexcept { return next_; }
    /// For tests: the number of the next call. Not 0.
    void set_next_call(std::uint32_t number) noexcept { next_ = number; }

    void validate() const;

  private:
    bool is_there(ObserverId observer) const;
    void evaluate(const WantedCall& wanted, RpcReport& report);
    void evaluate_for(Session& session, const WantedCall& wanted, RpcReport& report);
    void evaluate_for(LocalPlayer& player, const WantedCall& wanted, RpcReport& report);
    template <class Give>
    void evaluate_for(ObserverId observer, bool is_relevant, const WantedCall& wanted,
                      RpcReport& report, Give&& give);
    void drop_left(Session& session);
    void request_targets() const;
    bool hold(const WantedCall& wanted, ObserverId observer);
    void end_hold(const HeldCall& held, ObserverId observer);
    template <class Give>
    void release_held(ObserverId observer, Give&& give);
    void expire_held();
    void cull_late(CallId call, ObserverId observer, CullReason reason);
    bool was_owned_by(const Session& session, EntityId entity) const noexcept;
    void refuse(Session& session, std::uint64_t& counter);

    const ServerDef& def_;
    const ServerTime& time_;
    const World& world_;
    InterestEngine& interest_;  ///< not modified
    Game& game_;
    const SessionTable& sessions_;
    const LocalPlayers& locals_;
    SessionCloser& closer_;
    ReplicationTap* const& tap_;  ///< null: no replication observer is set

    std::uint32_t next_ = 1;
    std::vector<WantedCall> wanted_;  ///< of this tick, in the order of calling
    std::vector<HeldCall> held_;      ///< in the order of calling
    /// pair_of(entity, observer) -> number of queued calls
    FlatMap<std::uint64_t, std::uint32_t> held_about_;
    std::vector<RpcReport> reports_;
    std::vector<RpcCulled> culled_;  ///< of all reports, consecutive
    std::vector<RpcLateCull> late_;
    RpcCounters counters_;

    /// Scratch: entered entities with queued calls, for one observer.
    std::vector<EntityId> coming_;
    /// Scratch: positions of the calls with a position target, in calling order.
    std::vector<Vec3> positions_;
    std::vector<Covering> covering_;         ///< scratch: areas that cover a position
    std::vector<std::size_t> first_culled_;  ///< scratch: by report
};

}  // namespace purview
