// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The two checks of a running server. Both use its replication observer (`ReplicationTap`).
// - wire: compares each client's digest with the state that follows from the packets that the
//   client acknowledged.
// - truth: compares each relevant set with a brute-force evaluation of the rules. Every ghost must
//   be relevant or leaving. Every ghost that is not pending must have been sent in its current
//   state. No pending update, enter or leave may wait longer than the limit while the client
//   acknowledges.
// The server's behavior does not depend on being checked. Work that can wait is done between ticks
// or on another thread. Mismatches are counted, and the first ones are described.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "oracle/digests.hpp"
#include "server/server_data.hpp"
#include "server/tap.hpp"
#include "truth_check.hpp"

namespace purview {

struct ProofCounters {
    std::uint64_t digests_checked = 0;
    std::uint64_t digest_mismatches = 0;
    std::uint64_t truth_checked = 0;
    std::uint64_t truth_mismatches = 0;
    std::uint64_t truth_pairs = 0;     ///< (observer, entity) pairs evaluated by brute force
    std::uint64_t truth_waits = 0;     ///< ticks that waited for the truth check
    std::uint64_t ghosts_checked = 0;  ///< ghosts compared with the current world
    std::uint64_t shared_items = 0;    ///< items sent in shared cell payloads
};

/// The game's own description of an observer, so that the proof does not depend on `interest`.
using DescribeObserver = std::function<check::TruthObserver(ObserverId)>;
/// Adds the state of an entity that the game stores outside of the world: overrides and additional
/// keys. The proof takes the rest from the world.
using DescribeEntity = std::function<void(check::TruthEntity&)>;

class Proof final : public ReplicationTap {
  public:
    /// Every joined session is checked once in `truth_every_ticks` ticks; its relevant set is
    /// checked in every tick if the rules have a minimum relevance time. Attaches itself to the
    /// server, which must outlive it.
    Proof(Server& server, DescribeObserver describe, std::uint32_t truth_every_ticks,
          DescribeEntity describe_entity = {});
    ~Proof() override;
    Proof(const Proof&) = delete;
    Proof& operator=(const Proof&) = delete;

    /// Waits for the checks on the other thread, as mismatches() does.
    ProofCounters counters() const;
    /// Returns the count for a client, identified by the nonce of its handshake. Also works after
    /// the client disconnected.
    std::uint64_t digests_checked_of(std::uint64_t nonce) const;
    /// Descriptions of the first mismatches: observer, entity, field, tick.
    std::vector<std::string> mismatches() const;
    /// Why relevant sets are not checked (check::what_is_not_followed); empty if they are checked.
    /// Set at the first tick with rules that cannot be checked, and not reset.
    const std::string& unchecked() const noexcept { return unchecked_; }

    /// Moves the truth check to its own thread (TruthCheck::check_apart), at most a few ticks
    /// behind the server.
    void check_truth_apart(const Executor& executor) { truth_.check_apart(executor); }
    /// Sets the clock of spent_us(). Without a clock, spent_us() is 0.
    void set_clock(Micros (*clock)()) { clock_ = clock; }
    /// Total time of the server's calls to this observer, in microseconds.
    Micros spent_us() const noexcept { return spent_us_; }
    /// Sets a callback that runs before the server requests the whole state of a client with a
    /// different digest.
    void set_on_state_request(std::function<void(ObserverId)> callback) {
        on_state_request_ = std::move(callback);
    }
    /// Call after every tick, before anything else changes the server: world, relevant sets and
    /// ghosts must still be those of the tick. With dormant nodes, also call it before the first
    /// tick, after the visibility manager has received all entities.
    void check_tick();
    void packet_sent(const Session& session, const PacketRecord& record) override;
    void packet_resolved(const Session& session, DeliveryNotice notice) override;
    void tick_done() override;
    void digest_received(const Session& session, std::uint32_t sequence,
                         std::uint64_t digest) override;
    void state_received(const Session& session, std::span<const std::byte> state) override;
    void session_closed(const Session& session) override;

  private:
    /// Adds its lifetime to `spent_us_`.
    class Stopwatch {
      public:
        explicit Stopwatch(Proof& proof) : proof_(proof), begin_(now()) {}
        Stopwatch(const Stopwatch&) = delete;
        Stopwatch& operator=(const Stopwatch&) = delete;
        ~Stopwatch() { proof_.spent_us_ += now() - begin_; }

      private:
        Micros now() const { return proof_.clock_ != nullptr ? proof_.clock_() : 0; }
        Proof& proof_;
        Micros begin_;
    };
    /// Wire values of an entity as of a tick.
    struct ValuesThen {
        Tick tick = 0;
        EntityId entity = EntityId::none;
        check::Words values;
    };

    /// The ticks in which a client acknowledged packets.
    struct AckTicks {
        Tick last = 0;
        Tick since = 0;  ///< start of the current period without a long silence
    };
    /// The keys of an observer in a tick.
    struct KeysThen {
        Tick tick = 0;
        ObserverId observer = ObserverId::none;
        std::array<Key, Schema::keys_max> keys{};
        std::vector<check::TruthKey> more;
    };

    check::DigestChecker& checker_of(const Session& session);
    check::Words values_of(EntityId entity);
    /// Values as of the previous tick; empty if the entity did not exist then.
    check::Words values_before(EntityId entity) const;
    /// Values with entity references translated to the ghost slots of this session.
    check::Words values_for(const Session& session, EntityId entity);
    /// Returns the predictor states of the dead-reckoned fields in a ghost slot, as the server
    /// assumes them for its client.
    std::vector<check::Course> courses_of(const Session& session, LocalId slot) const;
    /// Allowed components by the schema's audience definitions, one bit per component.
    std::uint32_t replicated_components(const Session& session, EntityId entity);
    bool has_key(ObserverId observer, KeyId domain, Key key);
    void add_shared_payloads(const Session& session, check::Manifest& manifest);
    std::vector<check::TruthEntity> truth_of_entities();
    TruthClaim claim_of(const Session& session);
    void check_ghosts(const Session& session, Tick tick);
    void check_waits(const Session& session, Tick tick);
    void truth_mismatch(std::string text);
    void wire_mismatch(std::string text);
    void describe_mismatch(std::string text);

    Server* server_;
    DescribeObserver describe_;
    DescribeEntity describe_entity_;
    std::uint32_t truth_every_;
    TruthCheck truth_;
    std::uint32_t rules_revision_;  ///< the last revision that was copied to `truth_`
    std::string unchecked_;
    std::unordered_map<std::uint64_t, check::DigestChecker> checkers_;  ///< by connection
    std::unordered_map<std::uint64_t, std::uint64_t> digests_;  ///< checked digests, by nonce
    /// By connection: the state of the client was requested.
    std::unordered_map<std::uint64_t, bool> state_requested_;
    std::unordered_map<std::uint64_t, AckTicks> ack_ticks_;  ///< by connection
    KeysThen keys_;
    std::vector<ValuesThen> values_;         ///< by entity index; values read in this tick
    std::vector<ValuesThen> values_before_;  ///< by entity index; values as of the previous tick
    std::vector<std::uint32_t> joins_;
    std::vector<EntityId> last_roots_;
    ProofCounters counters_;
    std::vector<std::string> mismatches_;
    std::function<void(ObserverId)> on_state_request_;
    Micros (*clock_)() = nullptr;
    Micros spent_us_ = 0;
};

}  // namespace purview
