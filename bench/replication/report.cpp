// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/report.hpp"
#include "server/server_counters.hpp"

#include <algorithm>
#include <cstdio>

namespace purview::bench {

using nlohmann::json;

std::uint32_t ticks_of(const Options& options, std::uint32_t quick, std::uint32_t usual) {
    if (options.ticks > 0) return options.ticks;
    return options.quick ? quick : usual;
}

void Meter::add(const TickCost& cost) {
    add_ms(cost.tick_ms);
    bytes_ += static_cast<double>(cost.bytes);
    datagrams_ += static_cast<double>(cost.datagrams);
    allocations_.back() += static_cast<double>(cost.allocations);
    largest_bytes_ = std::max(largest_bytes_, static_cast<double>(cost.largest_bytes));
    receive_ms_.push_back(cost.receive_ms);
    report_ms_.push_back(cost.report_ms);
    const TickProfile& p = cost.profile;
    const std::uint32_t us[] = {p.receive_us, p.simulate_us,   p.track_us,  p.interest_us,
                                p.diff_us,    p.prioritize_us, p.encode_us, p.send_us};
    for (std::size_t i = 0; i < stages_.size(); ++i) stages_[i].push_back(us[i] / 1000.0);
    ++costs_;
}

Row Meter::row(const std::string& scene, const std::string& engine, std::uint32_t observers) const {
    Row row;
    row.scene = scene;
    row.engine = engine;
    row.observers = observers;
    std::vector<double> all;
    for (const auto& round : rounds_) {
        row.round_ms.push_back(median(round));
        all.insert(all.end(), round.begin(), round.end());
    }
    row.ticks = all.size();
    row.ms_p50 = median(all);
    row.ms_p10 = percentile(all, 0.1);
    row.ms_p99 = percentile(all, 0.99);
    row.ms_max = percentile(all, 1);
    for (const double ms : all) row.ms_mean += ms / static_cast<double>(all.size());
    const double shares = static_cast<double>(row.ticks) * observers;
    row.bytes = shares > 0 ? bytes_ / shares : 0;
    if (costs_ == 0) return row;
    const auto ticks = static_cast<double>(costs_);
    row.datagrams = datagrams_ / shares;
    for (const double of_round : allocations_) row.allocations_per_tick += of_round / ticks;
    row.more["allocations_last_round"] =
        allocations_.back() / static_cast<double>(rounds_.back().size());
    row.more["largest_bytes"] = largest_bytes_;
    row.more["receive_ms"] = median(receive_ms_);
    row.more["tell_ms"] = median(report_ms_);
    const char* names[] = {"receive", "simulate",   "track",  "interest",
                           "diff",    "prioritize", "encode", "send"};
    for (std::size_t i = 0; i < stages_.size(); ++i) {
        if (i != 1) row.more[std::string("stage_") + names[i] + "_ms"] = median(stages_[i]);
    }
    if (bits_.packets > 0) {
        const double updates = std::max(1.0, bits_.updates);
        row.more["bits_gap"] = bits_.gap / updates;
        row.more["bits_mask"] = bits_.mask / updates;
        row.more["bits_values"] = bits_.values / updates;
        row.more["updates"] = bits_.updates / ticks;
        row.more["bytes_header"] = bits_.header / 8 / ticks;
        row.more["bytes_enters"] = bits_.enters / 8 / ticks;
        row.more["bytes_leaves"] = bits_.leaves / 8 / ticks;
        row.more["packets_unread"] = bits_.unread;
    }
    return row;
}

double ratio(const Row& peer, const Row& ours) {
    return std::min(ratio_of_rounds(peer.round_ms, ours.round_ms), peer.ms_p10 / ours.ms_p10);
}

void report_progress(const std::string& scene, const std::string& what) {
    std::fprintf(stderr, "%-22s %-44s\r", scene.c_str(), what.c_str());
}

void add_rows(Report& report, const std::vector<Row>& rows) {
    std::fprintf(stderr, "%70s\r", "");
    std::printf("\n%-24s %-12s %9s %8s %8s %8s %8s %8s %7s %7s %10s\n", "scene", "engine",
                "observers", "ms p10", "ms p50", "ms p99", "x ours", "bytes", "packets", "allocs",
                "wrong/checked");
    for (const Row& row : rows) {
        std::printf("%-24s %-12s %9u %8.3f %8.3f %8.3f %8.2f %8.1f %7.2f %7.2f %llu/%llu\n",
                    row.scene.c_str(), row.engine.c_str(), row.observers, row.ms_p10, row.ms_p50,
                    row.ms_p99, ratio(row, rows.front()), row.bytes, row.datagrams,
                    row.allocations_per_tick, static_cast<unsigned long long>(row.checked.wrong),
                    static_cast<unsigned long long>(row.checked.values));
        int column = 0;
        for (const auto& [name, value] : row.more) {
            std::printf("%s%s %.3f", column++ % 6 == 0 ? (column > 1 ? "\n    " : "    ") : ", ",
                        name.c_str(), value);
        }
        if (column > 0) std::printf("\n");
    }
    std::fflush(stdout);
    report.rows.insert(report.rows.end(), rows.begin(), rows.end());
}

json to_json(const Report& report, const std::string& command) {
    json rows = json::array();
    for (const Row& r : report.rows) {
        rows.push_back({{"scene", r.scene},
                        {"engine", r.engine},
                        {"observers", r.observers},
                        {"threads", r.threads},
                        {"ticks", r.ticks},
                        {"ms_p10", r.ms_p10},
                        {"ms_p50", r.ms_p50},
                        {"ms_p99", r.ms_p99},
                        {"ms_max", r.ms_max},
                        {"ms_mean", r.ms_mean},
                        {"round_ms", r.round_ms},
                        {"bytes_per_observer_tick", r.bytes},
                        {"datagrams_per_observer_tick", r.datagrams},
                        {"allocations_per_tick", r.allocations_per_tick},
                        {"values_checked", r.checked.values},
                        {"values_wrong", r.checked.wrong},
                        {"more", r.more}});
    }
    return report_json(report, std::move(rows), json::object(), command);
}

}  // namespace purview::bench
