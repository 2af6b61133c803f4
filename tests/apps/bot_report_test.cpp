// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "bot_report.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace purview::app {

TEST_CASE("bots: a percentile is one of the samples, and the 100th is the largest") {
    CHECK(percentile({}, 0.5) == 0);
    CHECK(percentile({7}, 0.99) == 7);
    CHECK(percentile({4, 1, 3, 2}, 0.5) == 2);
    std::vector<double> hundred;
    for (int i = 100; i > 0; --i) hundred.push_back(i);
    CHECK(percentile(hundred, 0.5) == 50);
    CHECK(percentile(hundred, 0.9) == 90);
    CHECK(percentile(hundred, 0.99) == 99);
    CHECK(percentile(hundred, 1) == 100);
}

TEST_CASE("bots: a bounded reservoir keeps the distribution of its samples") {
    Reservoir reservoir;
    for (int i = 0; i < 1'000'000; ++i) reservoir.add(i);
    CHECK(reservoir.values().size() == 65'536);
    CHECK(percentile(reservoir.values(), 0.5) == doctest::Approx(500'000).epsilon(0.02));
    CHECK(percentile(reservoir.values(), 0.9) == doctest::Approx(900'000).epsilon(0.02));
}

TEST_CASE("bots: a condition consists of a known name, a relation and a number") {
    FailCondition condition;
    CHECK(parse("bytes_p99 > 15000", condition) == "");
    CHECK(condition.name == "bytes_p99");
    CHECK(condition.relation == ">");
    CHECK(condition.bound == 15000);
    CHECK(parse("  joined  !=  -2.5 ", condition) == "");
    CHECK(condition.bound == -2.5);
    for (const char* name : {"bytes", "relevant", "age_ms", "rtt_ms"}) {
        for (const char* of : {"_p50", "_p90", "_p99"})
            CHECK(parse(std::string(name) + of + " < 1", condition) == "");
    }
    const auto wrong = [&](const char* text, const char* because) {
        CHECK_MESSAGE(parse(text, condition).find(because) != std::string::npos, text);
    };
    wrong("", "NAME OP NUMBER");
    wrong("joined", "NAME OP NUMBER");
    wrong("joined <", "NAME OP NUMBER");
    wrong("joined<3", "NAME OP NUMBER");
    wrong("joined < 3 4", "NAME OP NUMBER");
    wrong("trouble == 3", "unknown name 'trouble'; available: age_ms_p50, ");
    wrong("bytes_p95 < 3", "unknown name 'bytes_p95'");
    wrong("joined = 3", "'=' is not one of < <= > >= == !=");
    for (const char* number : {"3x", "nan", "inf", "0x10", "1e9", "1.", ".5", "1.2.3", "--1", "-"})
        wrong(("joined < " + std::string(number)).c_str(), "is not a number");
}

TEST_CASE("bots: each relation is evaluated, and the first condition met is reported") {
    BotReport report;
    report.joined = 5;
    report.samples = 1;
    report.percentiles[static_cast<std::size_t>(Sampled::rtt_ms)] = {1, 2, 3};
    const auto met = [&](std::vector<std::string> texts) {
        std::vector<FailCondition> conditions;
        for (const std::string& text : texts) REQUIRE(parse(text, conditions.emplace_back()) == "");
        return first_met(conditions, report);
    };
    CHECK(met({}) == "");
    for (const char* text :
         {"joined < 6", "joined <= 5", "joined > 4", "joined >= 5", "joined == 5", "joined != 4"})
        CHECK(met({text}) != "");
    for (const char* text :
         {"joined < 5", "joined <= 4", "joined > 5", "joined >= 6", "joined == 4", "joined != 5"})
        CHECK(met({text}) == "");
    CHECK(met({"joined < 5", "rtt_ms_p90 > 1", "joined == 5"}) ==
          "--fail-if 'rtt_ms_p90 > 1': rtt_ms_p90 is 2");
    report.samples = 0;
    CHECK(met({"rtt_ms_p90 > 1000"}) == "--fail-if 'rtt_ms_p90 > 1000': nothing was measured");
}

TEST_CASE("bots: the table and the JSON report the same percentiles") {
    BotReport report;
    CHECK(table_of(report).find("age of updates, ms             -           -           -\n") !=
          std::string::npos);
    report.samples = 1;
    report.percentiles[static_cast<std::size_t>(Sampled::age_ms)] = {1.5, 22.25, 333};
    const std::string table = table_of(report);
    CHECK(table.find("age of updates, ms           1.5        22.2       333.0\n") !=
          std::string::npos);
    CHECK(std::count(table.begin(), table.end(), '\n') == 5);
    CHECK(json_of(report)["age_ms_p90"] == 22.25);
}

}  // namespace purview::app
