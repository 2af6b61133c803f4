// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What is asked on the command line, and what came out of the scenes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/figures.hpp"
#include "common/machine.hpp"
#include "replication/check.hpp"
#include "replication/wire_meter.hpp"

namespace purview::bench {

struct Options {
    std::vector<std::string> scenes;
    std::string row;          ///< only rows of a scene whose names have this in them; empty: all
    std::uint32_t ticks = 0;  ///< of one round; 0: as many as suit the scene
    bool quick = false;
    bool small_pages = false;
    std::string peer_script;  ///< of the scene colyseus; empty: the peer does not run
    std::string json_path;
};

struct Row {
    std::string scene;   ///< and, where it has several, which of them
    std::string engine;  ///< purview, colyseus, straight, article, ...
    std::uint32_t observers = 0;
    unsigned threads = 1;
    std::uint64_t ticks = 0;
    double ms_p50 = 0, ms_p99 = 0, ms_max = 0, ms_mean = 0;
    double ms_p10 = 0;             ///< what a quiet machine would have taken
    std::vector<double> round_ms;  ///< median of each turn
    double bytes = 0;              ///< for one observer in one tick: payload, with every header
    double datagrams = 0;          ///< the same
    double allocations_per_tick = 0;
    Checked checked;                     ///< decoded clients
    std::map<std::string, double> more;  ///< what only this scene has
};

/// Ticks of a round, as the options want them.
std::uint32_t ticks_of(const Options& options, std::uint32_t quick, std::uint32_t usual);

/// Sums up ticks as they come.
class Meter {
  public:
    void begin_round() {
        rounds_.emplace_back();
        allocations_.push_back(0);
    }
    void add(const TickCost& cost);
    void add(const EncodeCost& cost) {
        add_ms(cost.ms);
        add_bytes(static_cast<double>(cost.bytes));
    }
    void add_ms(double ms) { rounds_.back().push_back(ms); }
    void add_bytes(double bytes) { bytes_ += bytes; }
    /// Where the bits of the first client's packets went; of its updates each, and of its ticks.
    void add_bits(const WireBits& bits) { bits_ = bits; }
    Row row(const std::string& scene, const std::string& engine, std::uint32_t observers) const;

  private:
    std::vector<std::vector<double>> rounds_;
    std::vector<std::vector<double>> stages_ = std::vector<std::vector<double>>(8);
    std::vector<double> receive_ms_, tell_ms_;
    double bytes_ = 0;
    double datagrams_ = 0;
    std::vector<double> allocations_;  ///< of each round
    double largest_bytes_ = 0;
    std::uint64_t costs_ = 0;
    WireBits bits_;
};

class Report : public Figures {
  public:
    std::vector<Row> rows;

    const Row* find(const std::string& scene, const std::string& engine) const {
        for (const Row& row : rows) {
            if (row.scene == scene && row.engine == engine) return &row;
        }
        return nullptr;
    }
};

/// Median over rounds of peer's time over ours; or that of their tenth percentiles, where it is
/// smaller: on a busy machine the longer ticks are interrupted more often.
double ratio(const Row& peer, const Row& ours);
/// Keeps rows of one scene, the first being ours, and prints them.
void add_rows(Report& report, const std::vector<Row>& rows);
/// On stderr, over itself.
void say_progress(const std::string& scene, const std::string& what);
nlohmann::json to_json(const Report& report, const std::string& command);

}  // namespace purview::bench
