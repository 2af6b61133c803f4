// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The two proofs of a running server, wired to its tap.
//   wire:  each client's digest against what it must hold after the packets that it acknowledged;
//   truth: the relevant set against a brute-force evaluation of the rules, every ghost relevant or
//          leaving, and every ghost that is not waiting sent as it is now.
// The server does not know that it is watched; what can wait is done between ticks. A mismatch is
// described once and counted.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "check/digests.hpp"
#include "check/truth.hpp"
#include "host/server_data.hpp"
#include "host/tap.hpp"

namespace purview {

struct ProofCounters {
    std::uint64_t digests_checked = 0;
    std::uint64_t digest_mismatches = 0;
    std::uint64_t truth_checked = 0;
    std::uint64_t truth_mismatches = 0;
    std::uint64_t truth_pairs = 0;     ///< (observer, entity) evaluated by brute force
    std::uint64_t ghosts_checked = 0;  ///< ghosts compared with the world as it is
    std::uint64_t shared_items = 0;    ///< told in sections
};

/// What the game says of an observer, so that the proof need not ask `interest`.
using DescribeObserver = std::function<check::TruthObserver(ObserverId)>;
/// What the game did to an entity beside the world: forced marks. The rest is known already.
using DescribeEntity = std::function<void(check::TruthEntity&)>;

class Proof final : public ReplicationTap {
  public:
    /// Every joined session is checked once in `truth_every_ticks`. Attaches itself to the server,
    /// which must outlive it.
    Proof(Server& server, DescribeObserver describe, std::uint32_t truth_every_ticks,
          DescribeEntity describe_entity = {});
    ~Proof() override;
    Proof(const Proof&) = delete;
    Proof& operator=(const Proof&) = delete;

    const ProofCounters& counters() const noexcept { return counters_; }
    /// The first mismatches in words: observer, entity, field, tick.
    const std::vector<std::string>& mismatches() const noexcept { return mismatches_; }

    /// What the truth check runs on; must outlive it. Without: the caller's thread.
    void set_executor(const Executor& executor) { executor_ = executor; }
    /// After every tick, before anything else happens to the server: world, relevant sets and
    /// ghosts are still those of the tick.
    void check_tick();
    void packet_sent(const Session& session, const PacketRecord& record) override;
    void packet_resolved(const Session& session, DeliveryNotice notice) override;
    void tick_done() override;
    void digest_received(const Session& session, std::uint32_t sequence,
                         std::uint64_t digest) override;
    void state_received(const Session& session, std::span<const std::byte> state) override;
    void session_closed(const Session& session) override;

  private:
    using Values = std::shared_ptr<const std::vector<std::uint32_t>>;
    /// Of all entities.
    struct WorldValues {
        struct At {
            EntityId entity = EntityId::none;
            std::uint32_t first = 0;  ///< among words
            std::uint32_t end = 0;
        };
        std::vector<At> entities;  ///< by entity index
        std::vector<std::uint32_t> words;

        /// Null: there was no such entity.
        Values of(EntityId entity) const;
    };

    check::DigestChecker& checker_of(const Session& session);
    Values values_of(EntityId entity);
    /// With the names that this observer knows for whom the entity refers to.
    Values values_for(const Session& session, EntityId entity);
    /// How the predicted fields of a lane go on, as the server believes that its client has them.
    std::vector<check::Course> courses_of(const Session& session, LocalId lane) const;
    /// Components that he is told, by the schema's word, a bit each.
    std::uint32_t told_components(const Session& session, EntityId entity) const;
    void add_sections(const Session& session, check::Manifest& manifest);
    void record_truth(Tick tick);
    void take_bounds(Tick tick);
    void check_truth(const Session& session, Tick tick);
    void check_ghosts(const Session& session, Tick tick);
    void truth_mismatch(std::string text);
    void wire_mismatch(std::string text);
    void describe_mismatch(std::string text);

    Server* server_;
    DescribeObserver describe_;
    DescribeEntity describe_entity_;
    std::uint32_t truth_every_;
    check::TruthOracle oracle_;
    Executor executor_;
    std::uint32_t rules_revision_;                                      ///< that the oracle knows
    std::unordered_map<std::uint64_t, check::DigestChecker> checkers_;  ///< by connection
    std::unordered_map<std::uint64_t, bool> asked_;     ///< connections asked for their state
    std::unordered_map<std::uint64_t, Values> values_;  ///< of this tick, by entity
    WorldValues values_before_;                         ///< of the tick before
    Tick values_tick_ = 0;
    std::vector<check::TruthEntity> entities_;
    std::vector<std::uint32_t> joins_;
    std::vector<EntityId> last_roots_;
    ProofCounters counters_;
    std::vector<std::string> mismatches_;
};

}  // namespace purview
