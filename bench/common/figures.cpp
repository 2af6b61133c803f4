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

bool print_figures(const Figures& figures) {
    bool all = true;
    std::printf("\n%-34s %10s %10s %10s\n", "figure", "value", "gate", "target");
    for (const Figure& f : figures.figures) {
        std::printf("%-34s %10.2f %s%9.2f %10.2f  %s%s\n", f.name.c_str(), f.value,
                    f.at_most ? "<" : ">", f.gate, f.target,
                    f.holds() ? (f.reaches_target() ? "target" : "holds") : "DOES NOT HOLD",
                    f.counts == "yes" ? "" : (" (" + f.counts + ")").c_str());
        all = all && f.holds();
    }
    return all;
}

json report_json(const Figures& figures, json rows, json limits, const std::string& command) {
    json list = json::array();
    for (const Figure& f : figures.figures) {
        list.push_back({{"name", f.name},
                        {"value", f.value},
                        {"gate", f.gate},
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
