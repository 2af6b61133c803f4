// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Random worlds for as long as one likes, and one world again, made as small as it can be while it
// still fails. Reached through ./dev test --long.
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "oracle_run.hpp"

namespace purview::test {

namespace {

constexpr const char* usage =
    "purview_property [OPTIONS]: random worlds of the interest engine beside its oracle\n"
    "  --comparisons N   until N pairs were compared (1e9 is understood; default 1e8)\n"
    "  --worlds N        at least so many worlds (default 1000)\n"
    "  --from SEED       the first seed (default 1)\n"
    "  --ticks N         of most worlds (default 50)\n"
    "  --features LIST   what worlds may contain: engine, all, names, -names (default engine)\n"
    "  --explain N       suggestions of explain carried out after each tick\n"
    "  --threads         executors have threads\n"
    "  --seed SEED       this world only\n"
    "  --reduce          a world that fails is made smaller, and all that was done in it printed\n";

struct Options {
    RunDef run;
    bool reduces = false;
};

/// Takes 1e9, too.
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
    run.says_progress = true;
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
        std::printf("\nreduced; rules: %s\nall that was done:\n%s\n%s\n", small.rules.c_str(),
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
