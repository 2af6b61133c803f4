// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "bot_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

namespace purview::app {

using nlohmann::json;

namespace {

constexpr std::size_t reservoir_max = std::size_t{1} << 16;

struct Row {
    const char* name;   ///< prefix of its percentiles, before _p50
    const char* title;  ///< in the table
};
constexpr std::array<Row, sampled_count> rows{{{"bytes", "bytes per second"},
                                               {"relevant", "relevant entities"},
                                               {"age_ms", "age of updates, ms"},
                                               {"rtt_ms", "round trip, ms"}}};

bool is_percentile(const std::string& name) {
    return name.size() > 4 && name.compare(name.size() - 4, 2, "_p") == 0;
}

/// Reads a plain decimal number: digits, at most one point and a leading minus. Rejects exponents
/// and hexadecimal.
bool read_number(const std::string& text, double& out) {
    const std::string digits = text.substr(!text.empty() && text[0] == '-' ? 1 : 0);
    if (digits.empty() || digits.find_first_not_of("0123456789.") != std::string::npos ||
        std::count(digits.begin(), digits.end(), '.') > 1 || digits.front() == '.' ||
        digits.back() == '.')
        return false;
    out = std::strtod(text.c_str(), nullptr);
    return std::isfinite(out);
}

bool holds(double value, const std::string& relation, double bound) {
    if (relation == "<") return value < bound;
    if (relation == "<=") return value <= bound;
    if (relation == ">") return value > bound;
    if (relation == ">=") return value >= bound;
    if (relation == "==") return value == bound;
    return value != bound;
}

}  // namespace

void Reservoir::add(double value) {
    ++seen_;
    if (values_.size() < reservoir_max) {
        values_.push_back(value);
    } else if (const std::uint64_t at = random_.next() % seen_; at < reservoir_max) {
        values_[at] = value;
    }
}

double percentile(std::vector<double> values, double share) {
    if (values.empty()) return 0;
    const auto rank =
        static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
    const auto at = static_cast<std::ptrdiff_t>(rank == 0 ? 0 : rank - 1);
    std::nth_element(values.begin(), values.begin() + at, values.end());
    return values[static_cast<std::size_t>(at)];
}

DriverCounts& DriverCounts::operator+=(const DriverCounts& other) noexcept {
    driving += other.driving;
    commands += other.commands;
    corrections += other.corrections;
    invisible += other.invisible;
    largest_error_m = std::max(largest_error_m, other.largest_error_m);
    shots += other.shots;
    hits += other.hits;
    hits_present += other.hits_present;
    return *this;
}

json json_of(const BotReport& report) {
    json out{{"clients", report.clients},
             {"joined", report.joined},
             {"refused", report.refused},
             {"closed", report.closed},
             {"enters", report.enters},
             {"leaves", report.leaves},
             {"bytes_sent", report.bytes_sent},
             {"bytes_received", report.bytes_received},
             {"packets_received", report.packets_received},
             {"packets_lost", report.packets_lost},
             {"packets_malformed", report.packets_malformed},
             {"order_violations", report.order_violations},
             {"drivers", report.drivers},
             {"driving", report.driven.driving},
             {"commands", report.driven.commands},
             {"corrections", report.driven.corrections},
             {"corrections_visible", report.driven.corrections - report.driven.invisible},
             {"correction_largest_m", report.driven.largest_error_m},
             {"shots", report.driven.shots},
             {"shots_hit", report.driven.hits},
             {"shots_hit_present", report.driven.hits_present},
             {"ghosts_mean", report.ghosts_mean},
             {"samples", report.samples},
             {"trouble", report.trouble}};
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::string name = rows[i].name;
        out[name + "_p50"] = report.percentiles[i].p50;
        out[name + "_p90"] = report.percentiles[i].p90;
        out[name + "_p99"] = report.percentiles[i].p99;
    }
    return out;
}

std::string table_of(const BotReport& report) {
    std::string out = fmt::format("{:<20}{:>12}{:>12}{:>12}\n", "", "p50", "p90", "p99");
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto text = [&](double value) {
            return report.samples == 0 ? "-" : fmt::format("{:.1f}", value);
        };
        const Percentiles& of = report.percentiles[i];
        out += fmt::format("{:<20}{:>12}{:>12}{:>12}\n", rows[i].title, text(of.p50), text(of.p90),
                           text(of.p99));
    }
    return out;
}

std::string parse(const std::string& text, FailCondition& out) {
    std::istringstream in(text);
    std::string number;
    std::string more;
    in >> out.name >> out.relation >> number;
    const auto quoted = [&](const std::string& what) {
        return fmt::format("--fail-if '{}': {}", text, what);
    };
    out.text = text;
    if (number.empty() || in >> more) return quoted("must be NAME OP NUMBER, with spaces between");
    std::vector<std::string> known;
    const json names = json_of(BotReport{});
    for (const auto& [name, value] : names.items()) {
        if (value.is_number()) known.push_back(name);
    }
    if (std::find(known.begin(), known.end(), out.name) == known.end())
        return quoted(
            fmt::format("unknown name '{}'; available: {}", out.name, fmt::join(known, ", ")));
    constexpr std::array relations{"<", "<=", ">", ">=", "==", "!="};
    if (std::find(relations.begin(), relations.end(), out.relation) == relations.end())
        return quoted(
            fmt::format("'{}' is not one of {}", out.relation, fmt::join(relations, " ")));
    if (!read_number(number, out.bound)) return quoted(fmt::format("'{}' is not a number", number));
    return {};
}

std::string first_met(const std::vector<FailCondition>& conditions, const BotReport& report) {
    const json values = json_of(report);
    for (const FailCondition& condition : conditions) {
        // A value that was never measured must not pass.
        if (is_percentile(condition.name) && report.samples == 0)
            return fmt::format("--fail-if '{}': nothing was measured", condition.text);
        const double value = values[condition.name].get<double>();
        if (holds(value, condition.relation, condition.bound))
            return fmt::format("--fail-if '{}': {} is {:g}", condition.text, condition.name, value);
    }
    return {};
}

}  // namespace purview::app
