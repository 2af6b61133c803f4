// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "truth_check.hpp"

#include <algorithm>
#include <cmath>

namespace purview {

namespace {

constexpr std::size_t mismatches_described_max = 20;
/// A record of a large world takes some megabytes.
constexpr std::size_t ticks_ahead_max = 4;
/// Tolerance for bounds. The rounding of positions of some hundred meters is a few hundredths of
/// it.
constexpr float bounds_error_m = 1e-3F;

std::string name_of(EntityId entity) {
    return "entity " + std::to_string(index_of(entity)) + "#" +
           std::to_string(generation_of(entity));
}

}  // namespace

TruthCheck::TruthCheck(const Rules& rules, std::uint32_t ticks_between, check::TruthDef def)
    : oracle_(rules, ticks_between, def),
      kinds_(std::move(def.kinds)),
      bounds_max_m_(rules.group_radius_max) {}

TruthCheck::~TruthCheck() {
    if (!thread_.joinable()) return;
    {
        const std::lock_guard lock(mutex_);
        ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

// -- synchronous, or on a separate thread ---------------------------------------------------------

void TruthCheck::check_apart(const Executor& executor) {
    executor_ = executor;
    if (!thread_.joinable()) thread_ = std::thread([this] { serve(); });
}

void TruthCheck::tick(TruthRecord record) {
    if (!thread_.joinable()) return check(record);
    std::unique_lock lock(mutex_);
    if (waiting_.size() > ticks_ahead_max) {
        ++reported_.counters.waits;
        changed_.wait(lock, [this] { return waiting_.size() <= ticks_ahead_max; });
    }
    waiting_.push_back(std::move(record));
    changed_.notify_all();
}

TruthCheck::Reported TruthCheck::reported() const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_.empty(); });
    Reported reported = reported_;
    reported.counters.pairs = oracle_.pairs_evaluated();
    return reported;
}

void TruthCheck::serve() {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
        if (ends_) return;
        TruthRecord& record = waiting_.front();  // the reference stays valid while others are added
        lock.unlock();
        check(record);
        lock.lock();
        waiting_.pop_front();
        changed_.notify_all();
    }
}

// -- one tick ------------------------------------------------------------------------------------

void TruthCheck::mismatch(std::string text) {
    ++reported_.counters.mismatches;
    if (reported_.mismatches.size() < mismatches_described_max)
        reported_.mismatches.push_back("truth: " + std::move(text));
}

void TruthCheck::check(TruthRecord& record) {
    if (record.rules) {
        // Evaluates the remaining observers before minimum relevance times start to count, because
        // their relevant entities did not enter in this tick.
        if (record.rules->minimum_relevance_ticks > 0)
            (void)oracle_.relevant_all(unclaimed_, executor_);
        oracle_.set_rules(*record.rules);
        bounds_max_m_ = record.rules->group_radius_max;
    }
    oracle_.set_level(record.level);
    if (bounds_max_m_ > 0) check_bounds(record);
    oracle_.record(record.tick, std::move(record.entities), record.observers);
    std::vector<ObserverId> observers;
    observers.reserve(record.claims.size());
    for (const TruthClaim& claim : record.claims) observers.push_back(claim.observer);
    const auto relevant = oracle_.relevant_all(observers, executor_);
    for (std::size_t i = 0; i < relevant.size(); ++i)
        check_claim(record.claims[i], relevant[i], record.tick);
    unclaimed_.clear();
    for (const check::TruthObserver& observer : record.observers) {
        if (std::find(observers.begin(), observers.end(), observer.id) == observers.end())
            unclaimed_.push_back(observer.id);
    }
}

/// The server measures members that move within a group, not members that move with the root. Its
/// bounds may therefore differ by the rounding of positions since then. The oracle uses the
/// server's value.
void TruthCheck::check_bounds(TruthRecord& record) {
    std::vector<float> counted;
    counted.reserve(record.entities.size());
    for (const check::TruthEntity& truth : record.entities) counted.push_back(truth.group_radius_m);
    check::measure_bounds(record.entities, kinds_, bounds_max_m_);
    for (std::size_t i = 0; i < counted.size(); ++i) {
        check::TruthEntity& truth = record.entities[i];
        if (truth.id == EntityId::none) continue;
        const float counts = std::min(counted[i], bounds_max_m_);
        if (std::abs(counts - truth.group_radius_m) > bounds_error_m) {
            mismatch("tick " + std::to_string(record.tick) + ": " + name_of(truth.id) +
                     " has bounds of " + std::to_string(truth.group_radius_m) +
                     " m, and the server uses " + std::to_string(counts));
        }
        truth.group_radius_m = counts;
    }
}

void TruthCheck::check_claim(TruthClaim& claim, const std::vector<EntityId>& expected, Tick tick) {
    ++reported_.counters.checked;
    const std::vector<EntityId>& got = claim.relevant;
    std::sort(claim.relevant.begin(), claim.relevant.end());
    std::sort(claim.ghosts.begin(), claim.ghosts.end());
    const std::string where = "observer " + std::to_string(index_of(claim.observer)) + ", tick " +
                              std::to_string(tick) + ": ";
    std::vector<EntityId> wrong;
    std::set_symmetric_difference(got.begin(), got.end(), expected.begin(), expected.end(),
                                  std::back_inserter(wrong));
    for (const EntityId entity : wrong) {
        const bool extra = std::binary_search(got.begin(), got.end(), entity);
        mismatch(where + name_of(entity) +
                 (extra ? " is relevant and must not be" : " must be relevant and is not"));
    }
    wrong.clear();
    std::set_symmetric_difference(claim.ghosts.begin(), claim.ghosts.end(), expected.begin(),
                                  expected.end(), std::back_inserter(wrong));
    for (const EntityId entity : wrong) {
        const bool is_expected = std::binary_search(expected.begin(), expected.end(), entity);
        const bool has_ghost = std::binary_search(claim.ghosts.begin(), claim.ghosts.end(), entity);
        mismatch(where + name_of(entity) +
                 (!is_expected ? " has a ghost, and is neither relevant nor leaving"
                  : has_ghost  ? " has two ghosts"
                               : " is relevant and has no ghost"));
    }
}

}  // namespace purview
