// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Server, bots and web page in one process. With `check`, a run that verifies itself and then ends.
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
    bool check_pace_enabled = true;
    bool chooses_drivers = false;  ///< use `bots.drivers` only if the world has carts
    std::string json_path;         ///< path of the report; "-" is standard output
    std::vector<FailCondition> fail_if;
    std::string break_mode;  ///< test builds: one of injected_fault_names()
    std::string command;     ///< as typed, for the report
};

/// Time in which all bots join. The checks cover only the time after it.
double settle_seconds(const DemoOptions& options);
/// Minimum duration of the checked time.
inline constexpr double measured_seconds_min = 1;
/// Exit code: 0 ok, 1 run-time error, 3 a check failed.
int run_demo(DemoOptions options);
int run_serve(const ServeOptions& options, const std::string& json_path);
/// Returns exit code 3 if a condition of `fail_if` was met.
int run_bots(const BotOptions& options, double seconds, const std::string& report_path,
             const std::vector<FailCondition>& fail_if);

}  // namespace purview::app
