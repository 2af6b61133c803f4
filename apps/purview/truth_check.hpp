// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Compares a server's relevant sets and ghosts with a brute-force evaluation of the rules, either
// synchronously or on its own thread while the server continues.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "oracle/truth.hpp"

namespace purview {

/// The server's result for one observer.
struct TruthClaim {
    ObserverId observer = ObserverId::none;
    std::vector<EntityId> relevant;  ///< in any order
    std::vector<EntityId> ghosts;    ///< in any order; relevant or leaving
};

/// One tick: the state of the world and the server's results for it.
struct TruthRecord {
    Tick tick = 0;
    InterestLevel level = InterestLevel::full;
    std::optional<Rules> rules;  ///< set if the rules changed; valid from this tick on
    std::vector<check::TruthEntity> entities;  ///< by index; bounds as the server uses them
    std::vector<check::TruthObserver> observers;
    std::vector<TruthClaim> claims;
};

class TruthCheck {
  public:
    struct Counters {
        std::uint64_t checked = 0;  ///< claims
        std::uint64_t mismatches = 0;
        std::uint64_t pairs = 0;  ///< (observer, entity) pairs evaluated by brute force
        std::uint64_t waits = 0;  ///< ticks that waited because the check was behind
    };

    /// Every observer has a claim once in `ticks_between` ticks, or in every tick if the rules have
    /// a minimum relevance time.
    TruthCheck(const Rules& rules, std::uint32_t ticks_between, check::TruthDef def);
    ~TruthCheck();
    TruthCheck(const TruthCheck&) = delete;
    TruthCheck& operator=(const TruthCheck&) = delete;

    /// Moves the checks to a separate thread, plus the threads of `executor`, which must outlive
    /// this object. Custom kernels and dispatchers of the caller are then called from those
    /// threads, at any time.
    void check_apart(const Executor& executor);

    /// Call once per tick, in order. Without a separate thread the record is checked when this call
    /// returns, otherwise when `reported()` returns. Waits if the check is several ticks behind.
    void tick(TruthRecord record);

    struct Reported {
        Counters counters;
        std::vector<std::string> mismatches;  ///< descriptions of the first mismatches
    };
    /// Results for all ticks so far. Waits for records that are still being checked.
    Reported reported() const;

  private:
    void check(TruthRecord& record);
    void check_bounds(TruthRecord& record);
    void check_claim(TruthClaim& claim, const std::vector<EntityId>& expected, Tick tick);
    void mismatch(std::string text);
    void serve();

    check::TruthOracle oracle_;
    std::vector<KindRules> kinds_;
    std::vector<ObserverId> unclaimed_;  ///< observers of the last record without a claim
    float bounds_max_m_;
    Executor executor_;
    Reported reported_;

    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    std::deque<TruthRecord> waiting_;  ///< the first one is being checked
    bool ends_ = false;
    std::thread thread_;
};

}  // namespace purview
