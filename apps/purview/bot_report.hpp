// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What bots counted: sums, percentiles of samples (one a second and bot), a table, JSON, and the
// conditions under which a run has failed.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/hash.hpp"

namespace purview::app {

/// A fair choice of all values given to it, of bounded size.
class Reservoir {
  public:
    void add(double value);
    const std::vector<double>& values() const noexcept { return values_; }

  private:
    std::vector<double> values_;
    std::uint64_t seen_ = 0;
    SplitMix random_{1};
};

/// The smallest value that so large a share of all does not exceed. 0 without values.
double percentile(std::vector<double> values, double share);

/// One sample of each for every joined bot and second.
enum class Sampled : std::uint8_t { bytes, relevant, age_ms, rtt_ms };
inline constexpr std::size_t sampled_count = 4;

struct Percentiles {
    double p50 = 0;
    double p90 = 0;
    double p99 = 0;
};

/// Of a bot that drives, since it began.
struct DriverCounts {
    std::uint32_t driving = 0;  ///< now: 0 or 1
    std::uint64_t commands = 0;
    std::uint64_t corrections = 0;
    std::uint64_t invisible = 0;  ///< of them
    float largest_error_m = 0;    ///< of a correction while it drove
    std::uint64_t shots = 0;      ///< whose outcome it has heard
    std::uint64_t hits = 0;
    std::uint64_t hits_present = 0;

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
    std::uint32_t drivers = 0;  ///< that are to drive
    DriverCounts driven;        ///< of all of them; the largest of errors
    std::uint64_t samples = 0;
    std::array<Percentiles, sampled_count> percentiles{};  ///< by Sampled
    std::string trouble;  ///< the first thing that went wrong, if any

    const Percentiles& of(Sampled what) const noexcept {
        return percentiles[static_cast<std::size_t>(what)];
    }
};

nlohmann::json json_of(const BotReport& report);
/// Four lines and a head, of equal width; a dash where nothing was measured.
std::string table_of(const BotReport& report);

/// "bytes_p99 > 15000": NAME OP NUMBER, with a name of json_of and one of < <= > >= == !=.
struct FailCondition {
    std::string text;
    std::string name;
    std::string relation;
    double bound = 0;
};

/// Empty, or what is wrong with the text.
std::string parse(const std::string& text, FailCondition& out);
/// Empty, or a line for the first condition that is met, or that cannot be judged.
std::string first_met(const std::vector<FailCondition>& conditions, const BotReport& report);

}  // namespace purview::app
