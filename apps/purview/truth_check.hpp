// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What a server says of relevant sets and ghosts, held against a brute-force evaluation of the
// rules: at once, or on a thread of its own while the server goes on.
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

/// What the server says of one observer.
struct TruthClaim {
    ObserverId observer = ObserverId::none;
    std::vector<EntityId> relevant;  ///< in any order
    std::vector<EntityId> ghosts;    ///< in any order; relevant or leaving
};

/// One tick: what is true of the world, and what the server made of it.
struct TruthRecord {
    Tick tick = 0;
    InterestLevel level = InterestLevel::full;
    std::optional<Rules> rules;                ///< from this tick on, where they changed
    std::vector<check::TruthEntity> entities;  ///< by index; bounds as the server counts them
    std::vector<check::TruthObserver> observers;
    std::vector<TruthClaim> claims;
};

class TruthCheck {
  public:
    struct Counters {
        std::uint64_t checked = 0;  ///< claims
        std::uint64_t mismatches = 0;
        std::uint64_t pairs = 0;  ///< (observer, entity) evaluated by brute force
        std::uint64_t waits = 0;  ///< ticks that waited because the check was behind
    };

    /// Every observer is claimed for once in `ticks_between`; in every tick where rules have a
    /// minimum stay.
    TruthCheck(const Rules& rules, std::uint32_t ticks_between, check::TruthDef def);
    ~TruthCheck();
    TruthCheck(const TruthCheck&) = delete;
    TruthCheck& operator=(const TruthCheck&) = delete;

    /// From now on records are checked on a thread of their own, with what `executor` adds to it;
    /// that must outlive this. Dispatchers and kernels of the caller's own are then asked from
    /// those threads, at any time.
    void check_apart(const Executor& executor);

    /// Every tick, in order. Checked when it returns, or when told() does; who is some ticks ahead
    /// of the check waits.
    void tick(TruthRecord record);

    struct Told {
        Counters counters;
        std::vector<std::string> mismatches;  ///< the first of them, in words
    };
    /// Of all ticks up to now: waits for those that are under way.
    Told told() const;

  private:
    void check(TruthRecord& record);
    void check_bounds(TruthRecord& record);
    void check_claim(TruthClaim& claim, const std::vector<EntityId>& expected, Tick tick);
    void mismatch(std::string text);
    void serve();

    check::TruthOracle oracle_;
    std::vector<KindRules> kinds_;
    std::vector<ObserverId> unclaimed_;  ///< of the last record
    float bounds_max_m_;
    Executor executor_;
    Told told_;

    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    std::deque<TruthRecord> waiting_;  ///< the first is being checked
    bool ends_ = false;
    std::thread thread_;
};

}  // namespace purview
