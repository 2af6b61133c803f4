// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/rules/warnings.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace purview::test::warnings_test {

namespace {

/// Three nodes: for all entities, for bound ones, and for unbound ones.
Rules three_nodes() {
    Rules rules;
    rules.node("every").add(within(10));
    rules.node("bound").add(within(10)).members = Members::bound;
    rules.node("rest").add(within(10)).members = Members::unbound;
    rules.kinds.resize(1);
    rules.kind_names = {"crate"};
    return rules;
}

std::vector<std::string> warnings_of(const Rules& rules) {
    std::vector<std::string> out;
    warn_of_kinds(rules, out);
    return out;
}

bool has_text(const std::string& line, const std::string& text) {
    return line.find(text) != std::string::npos;
}

/// Counts warnings and keeps the last one.
struct Log {
    LogSink sink() {
        return {[](void* context, LogLevel level, const char* text) {
                    Log& log = *static_cast<Log*>(context);
                    CHECK(level == LogLevel::warning);
                    ++log.lines;
                    log.last = text;
                },
                this};
    }
    int lines = 0;
    std::string last;
};

}  // namespace

TEST_CASE("warnings: bindings of a kind that have no effect or never match are reported") {
    Rules rules = three_nodes();
    CHECK(warnings_of(rules).empty());
    rules.kinds[0].nodes = {id_at<NodeId>(1)};
    CHECK(warnings_of(rules).empty());
    rules.kinds[0].nodes = {id_at<NodeId>(0), id_at<NodeId>(2), id_at<NodeId>(5)};
    const std::vector<std::string> lines = warnings_of(rules);
    REQUIRE(lines.size() == 3);
    for (const std::string& line : lines) CHECK(has_text(line, "kind 'crate'"));
    CHECK(has_text(lines[0], "node 'every'"));
    CHECK(has_text(lines[0], "no effect"));
    CHECK(has_text(lines[1], "node 'rest'"));
    CHECK(has_text(lines[1], "never shows"));
    CHECK(has_text(lines[2], "node 5"));
    CHECK(has_text(lines[2], "does not exist"));
    // Without names, the warning has numbers.
    rules.kind_names.clear();
    rules.nodes[0].name.clear();
    CHECK(has_text(warnings_of(rules)[0], "kind 0 is bound to node 0"));
}

TEST_CASE("warnings: a kind that no enabled node covers is reported") {
    Rules rules = three_nodes();
    rules.nodes[0].enabled = false;
    CHECK(warnings_of(rules).empty());
    rules.nodes[2].enabled = false;
    CHECK(warnings_of(rules).size() == 1);
    rules.nodes[2].enabled = true;
    rules.nodes[2].combine = Combine::require;  // adds nothing
    CHECK(warnings_of(rules).size() == 1);
    rules.kinds[0].needs_node = true;
    CHECK(warnings_of(rules).empty());
    rules.kinds[0].needs_node = false;
    rules.kinds[0].mode = EntityMode::global;
    CHECK(warnings_of(rules).empty());
    rules.kinds[0].mode = EntityMode::nodes;
    rules.nodes.clear();  // everything is relevant
    CHECK(warnings_of(rules).empty());
}

TEST_CASE("warnings: an uncovered entity is logged once until the rules change") {
    Rules rules = three_nodes();
    rules.nodes.erase(rules.nodes.begin() + 2);
    Log log;
    RuleWarnings warnings(log.sink());
    warnings.warn_of_uncovered(make_entity_id(3, 1), nullptr, rules);
    CHECK(log.lines == 0);  // the first node covers all
    rules.nodes[0].enabled = false;
    KindRules global;
    global.mode = EntityMode::global;
    warnings.warn_of_uncovered(make_entity_id(3, 1), &global, rules);
    CHECK(log.lines == 0);
    warnings.warn_of_uncovered(make_entity_id(3, 1), &rules.kinds[0], rules);
    CHECK(log.lines == 1);
    CHECK(has_text(log.last, "entity 3 "));
    warnings.warn_of_uncovered(make_entity_id(4, 1), nullptr, rules);
    CHECK(log.lines == 1);
    warnings.rules_changed();
    warnings.warn_of_uncovered(make_entity_id(4, 1), nullptr, rules);
    CHECK(log.lines == 2);
    CHECK(has_text(log.last, "entity 4 "));
}

TEST_CASE("warnings: lines are written in order to the current sink") {
    Log first, second;
    RuleWarnings warnings(first.sink());
    const std::vector<std::string> lines{"one", "two"};
    warnings.write(lines);
    CHECK(first.lines == 2);
    CHECK(has_text(first.last, "two"));
    warnings.set_log(second.sink());
    warnings.write(lines);
    CHECK(first.lines == 2);
    CHECK(second.lines == 2);
}

}  // namespace purview::test::warnings_test
