// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The figures of a benchmark. Each has a gate, which a run must meet, or a target, which is a goal,
// or both. Each suite has its own rows and computes its figures from them.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace purview::bench {

/// A ratio or an amount with its gate and its target, computed from rows.
struct Figure {
    std::string name;
    double value = 0;
    double gate = 0;
    double target = 0;  ///< 0: no target
    bool at_most = false;
    std::string counts = "yes";  ///< "yes", or why the value does not count
    bool has_gate = true;        ///< false: only a target
    bool is_timed = true;        ///< false: a count, equal on any machine and in short runs
    bool holds() const {
        return !has_gate || (counts == "yes" && (at_most ? value <= gate : value >= gate));
    }
    bool reaches_target() const { return at_most ? value <= target : value >= target; }
};

class Figures {
  public:
    std::vector<Figure> figures;

    void at_least(const std::string& name, double value, double gate, double target) {
        figures.push_back({name, value, gate, target});
    }
    void at_most(const std::string& name, double value, double gate, double target) {
        figures.push_back({name, value, gate, target, true});
    }
    /// Adds a counted figure.
    void count_at_most(const std::string& name, double value, double gate, double target) {
        at_most(name, value, gate, target);
        figures.back().is_timed = false;
    }
    void count_at_least(const std::string& name, double value, double gate, double target) {
        at_least(name, value, gate, target);
        figures.back().is_timed = false;
    }
    /// A precondition of a measurement or the correctness of a result. Checked in every run.
    void could_not_run(const std::string& name, const std::string& why) {
        count_at_least(name, 0, 1, 1);
        figures.back().counts = why;
    }
    /// Figures without a gate are printed with their target only.
    void aim_at_least(const std::string& name, double value, double target) {
        figures.push_back({name, value, 0, target, false, "yes", false});
    }
    void aim_at_most(const std::string& name, double value, double target) {
        figures.push_back({name, value, 0, target, true, "yes", false});
    }
    /// Adds a figure that fails whatever was measured, for a peer that is missing or not as
    /// required. Not checked in short runs.
    void does_not_count(const std::string& name, bool at_most, double gate, double target,
                        const std::string& why) {
        figures.push_back({name, 0, gate, target, at_most, why});
    }
};

bool wanted(const std::vector<std::string>& list, const std::string& name);

/// The figures that can fail a run. `counted`: only counts can; times of a few ticks on a shared
/// machine are only printed.
enum class GatedFigures : std::uint8_t { all, counted };
/// Returns false if a checked figure fails.
bool print_figures(const Figures& figures, GatedFigures gated = GatedFigures::all);
/// The report format of all suites.
nlohmann::json report_json(const Figures& figures, nlohmann::json rows, nlohmann::json limits,
                           const std::string& command);

}  // namespace purview::bench
