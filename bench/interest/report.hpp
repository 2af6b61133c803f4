// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What is asked on the command line, what came out, and what must hold.
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
    std::uint32_t ticks = 0;  ///< of one turn; 0: as many as suit the scene
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
    /// How many times slower a peer is. A peer that did not run does not hold.
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

/// Our engine under a name of the table's.
Entry ours(const std::string& name, OurRules rules, bool exact = true);
/// A plan on a scene of the five, with as many ticks as suit it.
Plan plan_of(const std::string& scene, const Options& options, std::uint32_t ticks);
/// Ticks as the options want them.
std::uint32_t ticks_of(const Options& options, std::uint32_t ticks);

/// Keeps the rows and prints them.
void add_rows(Report& report, const std::vector<Row>& rows);
void run_plan(Report& report, const Plan& plan);
nlohmann::json to_json(const Report& report, const std::string& command);

}  // namespace purview::bench
