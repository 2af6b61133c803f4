// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Command line options, results and gates.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/figures.hpp"
#include "runner.hpp"

namespace purview::bench {

struct Options {
    std::vector<std::string> scenes;
    std::vector<std::string> engines;
    bool quick = false;
    bool small_pages = false;
    std::uint32_t ticks = 0;  ///< per turn; 0: suited to the scene
    std::string json_path;
};

class Report : public Figures {
  public:
    std::vector<Row> rows;
    std::map<std::string, double> limits;  ///< ms

    const Row* find(const std::string& scene, const std::string& engine) const {
        for (const Row& row : rows) {
            if (row.scene == scene && row.engine == engine) return &row;
        }
        return nullptr;
    }
    /// Adds a figure with the ratio of the peer's time to Purview's time. Fails if the peer did not
    /// run.
    void faster_than(const std::string& scene, const std::string& peer, double gate,
                     double target) {
        const Row* ours = find(scene, "purview");
        const Row* other = find(scene, peer);
        Figure f{scene + " " + peer + "/ours", 0, gate, target};
        if (ours == nullptr) return;
        if (other == nullptr) {
            f.counts = "peer did not run";
        } else {
            f.value = ratio(*other, *ours);
        }
        figures.push_back(f);
    }
};

/// An entry for Purview under the given name.
Entry ours(const std::string& name, OurRules rules, bool exact = true);
/// A plan for one of the scenes W1 to W5, with a suitable number of ticks.
Plan plan_of(const std::string& scene, const Options& options, std::uint32_t ticks);
/// Returns the number of ticks with the options applied.
std::uint32_t ticks_of(const Options& options, std::uint32_t ticks);

/// Stores and prints the rows.
void add_rows(Report& report, const std::vector<Row>& rows);
void run_plan(Report& report, const Plan& plan);
nlohmann::json to_json(const Report& report, const std::string& command);

}  // namespace purview::bench
