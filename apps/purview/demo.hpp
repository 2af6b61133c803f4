// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Server, bots and page in one process; with `check`, the run that proves itself and stops.
#pragma once

#include <string>
#include <vector>

#include "bots.hpp"
#include "server_app.hpp"

namespace purview::app {

struct DemoOptions {
    ServeOptions serve;
    BotOptions bots;
    bool check = false;
    bool with_node = false;
    bool judge_pace = true;
    bool chooses_drivers = false;  ///< `bots.drivers` is for worlds with carts; otherwise nobody
    std::string json_path;         ///< report; "-": standard output
    std::vector<FailCondition> fail_if;
    std::string break_mode;  ///< test builds: one of spoil_modes()
    std::string command;     ///< as typed, for the report
};

/// In which all bots join; what is judged is what comes after.
double settle_seconds(const DemoOptions& options);
/// So long at least.
inline constexpr double judged_seconds_least = 1;
/// Exit code: 0 ok, 1 run time, 3 a check failed.
int run_demo(DemoOptions options);
int run_serve(const ServeOptions& options, const std::string& json_path);
/// Exit code 3: a condition of `fail_if` was met.
int run_bots(const BotOptions& options, double seconds, const std::string& report_path,
             const std::vector<FailCondition>& fail_if);

}  // namespace purview::app
