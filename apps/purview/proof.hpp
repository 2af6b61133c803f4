// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The two proofs of a running server, wired to its tap.
//   wire:  each client's digest against what it must hold after the packets that it acknowledged;
//   truth: the relevant set against a brute-force evaluation of the rules, every ghost relevant or
//          leaving, every ghost that is not waiting sent as it is now, and nobody waiting, to be
//          told or to leave, for longer than anything may while the client answers.
// The server does not know that it is watched; what can wait is done between ticks, or on another
// thread. A mismatch is described once and counted.
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
    std::uint64_t truth_pairs = 0;     ///< (observer, entity) evaluated by brute force
    std::uint64_t truth_waits = 0;     ///< ticks that waited for the truth check
    std::uint64_t ghosts_checked = 0;  ///< ghosts compared with the world as it is
    std::uint64_t shared_items = 0;    ///< told in sections
};

/// What the game says of an observer, so that the proof need not ask `interest`.
using DescribeObserver = std::function<check::TruthObserver(ObserverId)>;
/// What the game did to an entity beside the world: forced marks, more keys, the heard place of one
/// that it updates. The rest is known already.
using DescribeEntity = std::function<void(check::TruthEntity&)>;

class Proof final : public ReplicationTap {
  public:
    /// Every joined session is checked once in `truth_every_ticks`; its relevant set in every tick
    /// where rules have a minimum stay. Attaches itself to the server, which must outlive it.
    Proof(Server& server, DescribeObserver describe, std::uint32_t truth_every_ticks,
          DescribeEntity describe_entity = {});
    ~Proof() override;
    Proof(const Proof&) = delete;
    Proof& operator=(const Proof&) = delete;

    /// Waits for what is checked apart, as mismatches().
    ProofCounters counters() const;
    /// Of a client, by the nonce that it began with; also of one that has gone.
    std::uint64_t digests_checked_of(std::uint64_t nonce) const;
    /// The first mismatches in words: observer, entity, field, tick.
    std::vector<std::string> mismatches() const;
    /// Why relevant sets are not checked, from the first tick on whose rules do not allow it
    /// (check::what_is_not_followed); empty: they are.
    const std::string& unchecked() const noexcept { return unchecked_; }

    /// From now on the truth is checked on a thread of its own (TruthCheck::check_apart), a few
    /// ticks behind the server at most.
    void check_truth_apart(const Executor& executor) { truth_.check_apart(executor); }
    /// What spent_us() goes by; without it, that is 0.
    void set_clock(Micros (*clock)()) { clock_ = clock; }
    /// How long the server's calls to the tap have taken so far, in microseconds.
    Micros spent_us() const noexcept { return spent_us_; }
    /// Called before a client whose digest differs is asked for its whole state.
    void set_asking(std::function<void(ObserverId)> asking) { asking_ = std::move(asking); }
    /// After every tick, before anything else happens to the server: world, relevant sets and
    /// ghosts are still those of the tick. Where nodes are dormant, also before the first one, when
    /// the manager has heard of all that is there.
    void check_tick();
    void packet_sent(const Session& session, const PacketRecord& record) override;
    void packet_resolved(const Session& session, DeliveryNotice notice) override;
    void tick_done() override;
    void digest_received(const Session& session, std::uint32_t sequence,
                         std::uint64_t digest) override;
    void state_received(const Session& session, std::span<const std::byte> state) override;
    void session_closed(const Session& session) override;

  private:
    /// Adds the time for which it lives to what was spent.
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
    /// Of an entity, as of a tick.
    struct ValuesThen {
        Tick tick = 0;
        EntityId entity = EntityId::none;
        check::Words values;
    };

    /// What a client last said to have arrived.
    struct Answers {
        Tick last = 0;
        Tick since = 0;  ///< it was not silent
    };
    /// Of an observer in a tick: in force.
    struct KeysThen {
        Tick tick = 0;
        ObserverId observer = ObserverId::none;
        std::array<Key, Schema::keys_max> keys{};
        std::vector<check::TruthKey> more;
    };

    check::DigestChecker& checker_of(const Session& session);
    check::Words values_of(EntityId entity);
    /// As of the tick before; empty: there was no such entity.
    check::Words values_before(EntityId entity) const;
    /// With the names that this observer knows for whom the entity refers to.
    check::Words values_for(const Session& session, EntityId entity);
    /// How the predicted fields of a lane go on, as the server believes that its client has them.
    std::vector<check::Course> courses_of(const Session& session, LocalId lane) const;
    /// Components that he is told, by the schema's word, a bit each.
    std::uint32_t told_components(const Session& session, EntityId entity);
    bool has_key(ObserverId observer, KeyId domain, Key key);
    void add_sections(const Session& session, check::Manifest& manifest);
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
    std::uint32_t rules_revision_;  ///< that it knows
    std::string unchecked_;
    std::unordered_map<std::uint64_t, check::DigestChecker> checkers_;  ///< by connection
    std::unordered_map<std::uint64_t, std::uint64_t> digests_;          ///< checked, by nonce
    std::unordered_map<std::uint64_t, bool> asked_;       ///< connections asked for their state
    std::unordered_map<std::uint64_t, Answers> answers_;  ///< by connection
    KeysThen keys_;
    std::vector<ValuesThen> values_;         ///< by entity index: read in this tick
    std::vector<ValuesThen> values_before_;  ///< by entity index: as of the tick before
    std::vector<std::uint32_t> joins_;
    std::vector<EntityId> last_roots_;
    ProofCounters counters_;
    std::vector<std::string> mismatches_;
    std::function<void(ObserverId)> asking_;
    Micros (*clock_)() = nullptr;
    Micros spent_us_ = 0;
};

}  // namespace purview
