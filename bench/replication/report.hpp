// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Command line options, and the results of the scenes.
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
    std::string row;          ///< only rows with this in their name; empty: all
    std::uint32_t ticks = 0;  ///< per round; 0: suited to the scene
    bool quick = false;
    bool small_pages = false;
    std::string peer_script;  ///< for the scene colyseus; empty: the peer does not run
    std::string json_path;
};

struct Row {
    std::string scene;   ///< scene, and variant if it has several
    std::string engine;  ///< purview, colyseus, straight, article, ...
    std::uint32_t observers = 0;
    unsigned threads = 1;
    std::uint64_t ticks = 0;
    double ms_p50 = 0, ms_p99 = 0, ms_max = 0, ms_mean = 0;
    double ms_p10 = 0;             ///< estimate for an otherwise idle machine
    std::vector<double> round_ms;  ///< median of each turn
    double bytes = 0;              ///< payload per observer and tick, with all headers
    double datagrams = 0;          ///< per observer and tick
    double allocations_per_tick = 0;
    Checked checked;                     ///< decoded clients
    std::map<std::string, double> more;  ///< values that only this scene has
};

/// Ticks of a round, with the options applied.
std::uint32_t ticks_of(const Options& options, std::uint32_t quick, std::uint32_t usual);

/// Collects statistics over ticks.
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
    /// Adds the bit statistics of the first client's packets, per update and per tick.
    void add_bits(const WireBits& bits) { bits_ = bits; }
    Row row(const std::string& scene, const std::string& engine, std::uint32_t observers) const;

  private:
    std::vector<std::vector<double>> rounds_;
    std::vector<std::vector<double>> stages_ = std::vector<std::vector<double>>(8);
    std::vector<double> receive_ms_, report_ms_;
    double bytes_ = 0;
    double datagrams_ = 0;
    std::vector<double> allocations_;  ///< per round
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

/// Median over all rounds of the peer's time divided by Purview's time, or the same ratio of the
/// tenth percentiles if it is smaller: on a busy machine, longer ticks are interrupted more often.
double ratio(const Row& peer, const Row& ours);
/// Stores and prints the rows of one scene; the first one is Purview.
void add_rows(Report& report, const std::vector<Row>& rows);
/// Prints progress to stderr, in place.
void report_progress(const std::string& scene, const std::string& what);
nlohmann::json to_json(const Report& report, const std::string& command);

}  // namespace purview::bench
