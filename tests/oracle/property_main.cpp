// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Runs random worlds for any time, or one world again, reduced to the smallest one that still
// fails. Called by ./dev test --long.
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "oracle_run.hpp"

namespace purview::test {

namespace {

constexpr const char* usage =
    "purview_property [OPTIONS]: compares random worlds of the interest engine with its oracle\n"
    "  --comparisons N   compare at least N pairs (1e9 is accepted; default 1e8)\n"
    "  --worlds N        run at least N worlds (default 1000)\n"
    "  --from SEED       the first seed (default 1)\n"
    "  --ticks N         ticks per world; some run longer (default 50)\n"
    "  --features LIST   features: engine, all, NAME,... or -NAME,... (default engine)\n"
    "  --explain N       apply N suggested changes of explain after each tick\n"
    "  --threads         executors use threads\n"
    "  --seed SEED       run this world only\n"
    "  --reduce          reduce a failing world and print its operations\n";

struct Options {
    RunDef run;
    bool reduces = false;
};

/// Also accepts 1e9.
bool read_number(std::string_view text, std::uint64_t& out) {
    double value = 0;
    try {
        value = std::stod(std::string(text));
    } catch (...) {
        return false;
    }
    out = static_cast<std::uint64_t>(value);
    return value >= 0;
}

bool read(int count, char** words, Options& options) {
    RunDef& run = options.run;
    run.worlds = 1'000;
    run.compared_min = 100'000'000;
    run.reports_progress = true;
    for (int i = 1; i < count; ++i) {
        const std::string_view word = words[i];
        if (word == "--reduce") {
            options.reduces = true;
            continue;
        }
        if (word == "--threads") {
            run.threads = true;
            continue;
        }
        if (++i == count) return false;
        const std::string_view value = words[i];
        if (word == "--features") {
            if (!parse_features(value, run.features)) return false;
            continue;
        }
        std::uint64_t number = 0;
        if (!read_number(value, number)) return false;
        if (word == "--comparisons") {
            run.compared_min = number;
        } else if (word == "--worlds") {
            run.worlds = static_cast<std::uint32_t>(number);
        } else if (word == "--from") {
            run.first_seed = number;
        } else if (word == "--ticks") {
            run.ticks = static_cast<std::uint32_t>(number);
        } else if (word == "--explain") {
            run.explain_pairs = static_cast<std::uint32_t>(number);
        } else if (word == "--seed") {
            run.first_seed = number;
            run.worlds = 1;
            run.compared_min = 0;
        } else {
            return false;
        }
    }
    return true;
}

int run(const Options& options) {
    if (options.run.worlds == 1) {
        const RandomWorldDef def = random_def(options.run.first_seed, options.run.features);
        std::printf("%s\n", text_of(def.rules).c_str());
        (void)std::fflush(stdout);
    }
    const RunResult result = run_worlds(options.run);
    if (result.failure.empty()) {
        std::printf("%s\n", result.text().c_str());
        return EXIT_SUCCESS;
    }
    std::printf("%s\n", result.failure.c_str());
    if (options.reduces) {
        const Reduced small = reduce(random_def(result.failed_seed, options.run.features),
                                     result.failed_ticks, options.run.explain_pairs);
        std::printf("\nreduced world; rules: %s\noperations:\n%s\n%s\n", small.rules.c_str(),
                    small.log.c_str(), small.failure.c_str());
    }
    return EXIT_FAILURE;
}

}  // namespace

}  // namespace purview::test

int main(int count, char** words) {
    purview::test::Options options;
    if (!purview::test::read(count, words, options)) {
        (void)std::fputs(purview::test::usage, stderr);
        return 2;
    }
    return purview::test::run(options);
}
