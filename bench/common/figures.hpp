// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What must hold, and whether it does. Every suite keeps rows of its own and computes these from
// them.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace purview::bench {

/// A ratio or an amount with its bound, computed from rows.
struct Figure {
    std::string name;
    double value = 0;
    double gate = 0;
    double target = 0;  ///< 0: none
    bool at_most = false;
    std::string counts = "yes";  ///< or why it does not
    bool has_gate = true;        ///< false: there is only a target
    bool is_timed = true;        ///< false: counted, the same on any machine and in short runs
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
    /// Of what is counted.
    void count_at_most(const std::string& name, double value, double gate, double target) {
        at_most(name, value, gate, target);
        figures.back().is_timed = false;
    }
    void count_at_least(const std::string& name, double value, double gate, double target) {
        at_least(name, value, gate, target);
        figures.back().is_timed = false;
    }
    /// What has to be before anything can be measured, and that what was measured gave the right
    /// answer; judged in every run.
    void could_not_run(const std::string& name, const std::string& why) {
        count_at_least(name, 0, 1, 1);
        figures.back().counts = why;
    }
    /// Without a gate: printed beside its target.
    void aim_at_least(const std::string& name, double value, double target) {
        figures.push_back({name, value, 0, target, false, "yes", false});
    }
    void aim_at_most(const std::string& name, double value, double target) {
        figures.push_back({name, value, 0, target, true, "yes", false});
    }
    /// Of a peer that is not there, or not as it has to be: it counts as not holding, whatever was
    /// measured. Short runs do not judge it.
    void does_not_count(const std::string& name, bool at_most, double gate, double target,
                        const std::string& why) {
        figures.push_back({name, 0, gate, target, at_most, why});
    }
};

bool wanted(const std::vector<std::string>& list, const std::string& name);

/// What decides how a run ends. Times of few ticks, on a machine that others use, are only printed.
enum class Judged : std::uint8_t { all, counted };
/// False: something that is judged does not hold.
bool print_figures(const Figures& figures, Judged judged = Judged::all);
/// The report that all suites write.
nlohmann::json report_json(const Figures& figures, nlohmann::json rows, nlohmann::json limits,
                           const std::string& command);

}  // namespace purview::bench
