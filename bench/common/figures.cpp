// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "common/figures.hpp"

#include <algorithm>
#include <cstdio>

#include "net/system.hpp"

namespace purview::bench {

using nlohmann::json;

bool wanted(const std::vector<std::string>& list, const std::string& name) {
    return list.empty() || std::find(list.begin(), list.end(), name) != list.end();
}

bool print_figures(const Figures& figures, GatedFigures gated) {
    bool all = true;
    std::printf("\n%-44s %10s %10s %10s\n", "figure", "value", "gate", "target");
    for (const Figure& f : figures.figures) {
        char gate[32] = "-";
        if (f.has_gate) std::snprintf(gate, sizeof gate, "%s%.2f", f.at_most ? "<" : ">", f.gate);
        const bool is_gated = gated == GatedFigures::all || !f.is_timed;
        const char* missed = !f.has_gate ? "misses its target"
                             : is_gated  ? "FAILS"
                                         : "fails, not checked";
        const char* verdict = !f.reaches_target() ? (f.has_gate && f.holds() ? "holds" : missed)
                              : f.holds()         ? "target"
                                                  : missed;
        std::printf("%-44s %10.3f %10s %10.2f  %s%s\n", f.name.c_str(), f.value, gate, f.target,
                    verdict, f.counts == "yes" ? "" : (" (" + f.counts + ")").c_str());
        all = all && (f.holds() || !is_gated);
    }
    return all;
}

json report_json(const Figures& figures, json rows, json limits, const std::string& command) {
    json list = json::array();
    for (const Figure& f : figures.figures) {
        list.push_back({{"name", f.name},
                        {"value", f.value},
                        {"gate", f.has_gate ? json(f.gate) : json()},
                        {"target", f.target},
                        {"at_most", f.at_most},
                        {"counts", f.counts},
                        {"holds", f.holds()}});
    }
    return {{"machine", net::machine_description()},
            {"command", command},
            {"rows", std::move(rows)},
            {"limits", std::move(limits)},
            {"figures", list}};
}

}  // namespace purview::bench
