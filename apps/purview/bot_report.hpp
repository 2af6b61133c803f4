// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Statistics of the bots: sums, percentiles (one sample per second and bot), a table, JSON, and the
// conditions under which a run fails.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/hash.hpp"

namespace purview::app {

/// Reservoir sampling: a uniform random sample of bounded size from all values added.
class Reservoir {
  public:
    void add(double value);
    const std::vector<double>& values() const noexcept { return values_; }

  private:
    std::vector<double> values_;
    std::uint64_t seen_ = 0;
    SplitMix random_{1};
};

/// Returns the smallest value that is at least as large as the given share of all values. Returns 0
/// if there are no values.
double percentile(std::vector<double> values, double share);

/// Sampled once per second for every joined bot.
enum class Sampled : std::uint8_t { bytes, relevant, age_ms, rtt_ms };
inline constexpr std::size_t sampled_count = 4;

struct Percentiles {
    double p50 = 0;
    double p90 = 0;
    double p99 = 0;
};

/// Statistics of one driving bot since it started.
struct DriverCounts {
    std::uint32_t driving = 0;  ///< 0 or 1: currently on a cart
    std::uint64_t commands = 0;
    std::uint64_t corrections = 0;
    std::uint64_t invisible = 0;  ///< corrections within PredictionDef::tolerance_m
    float largest_error_m = 0;    ///< largest correction while driving
    std::uint64_t shots = 0;      ///< shots with a known result
    std::uint64_t hits = 0;
    std::uint64_t hits_present = 0;  ///< hits without lag compensation

    DriverCounts& operator+=(const DriverCounts& other) noexcept;
};

/// Sums over all bots.
struct BotReport {
    std::uint32_t clients = 0;
    std::uint32_t joined = 0;
    std::uint32_t refused = 0;
    std::uint32_t closed = 0;
    std::uint64_t enters = 0;
    std::uint64_t leaves = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t bytes_received = 0;
    std::uint64_t packets_received = 0;
    std::uint64_t packets_lost = 0;
    std::uint64_t packets_malformed = 0;
    std::uint64_t order_violations = 0;
    double ghosts_mean = 0;
    std::uint32_t drivers = 0;  ///< bots that should drive
    DriverCounts driven;        ///< sums over all drivers; maximum for the error
    std::uint64_t samples = 0;
    std::array<Percentiles, sampled_count> percentiles{};  ///< by Sampled
    std::string trouble;                                   ///< the first problem, if any

    const Percentiles& of(Sampled what) const noexcept {
        return percentiles[static_cast<std::size_t>(what)];
    }
};

nlohmann::json json_of(const BotReport& report);
/// A heading and four rows of equal width, with a dash where nothing was measured.
std::string table_of(const BotReport& report);

/// A condition such as "bytes_p99 > 15000": NAME OP NUMBER, with a name from json_of and one of <
/// <= > >= == !=.
struct FailCondition {
    std::string text;
    std::string name;
    std::string relation;
    double bound = 0;
};

/// Parses a condition. Returns an error text, or an empty string.
std::string parse(const std::string& text, FailCondition& out);
/// Returns a line about the first condition that is met or cannot be evaluated, or an empty string.
std::string first_met(const std::vector<FailCondition>& conditions, const BotReport& report);

}  // namespace purview::app
