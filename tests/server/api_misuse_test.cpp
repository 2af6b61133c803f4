// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Mistakes of a game that change nothing visible: each is refused, logged or aborts with a text.
#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>
#include <vector>

#include "support/line_support.hpp"
#include "support/stage.hpp"

namespace purview::test {

namespace {

/// Collects what a sink receives.
struct Lines {
    std::vector<std::string> errors, warnings;
    LogSink sink() {
        return {[](void* context, LogLevel level, const char* text) {
                    Lines& lines = *static_cast<Lines*>(context);
                    (level == LogLevel::error ? lines.errors : lines.warnings).emplace_back(text);
                },
                this};
    }
};

bool has(const std::vector<std::string>& lines, const std::string& part) {
    return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
        return line.find(part) != std::string::npos;
    });
}

NodeDesc near(NodeMembers members) {
    NodeDesc node;
    node.name = "near";
    node.type = NodeType::grid;
    node.steps = {add(within(30))};
    node.members = members;
    return node;
}

struct TrapHealth {
    std::uint8_t hp = 0;
};
struct TrapSchema {
    explicit TrapSchema(bool has_positions = true) {
        health = schema.component<TrapHealth>("health").integer("hp", &TrapHealth::hp, 0, 100);
        std::vector<ComponentId> components{health.id};
        if (has_positions) components.push_back(add_place(schema, 0, 200).id);
        wolf = schema.kind("wolf", components);
        REQUIRE(schema.status() == Status::ok);
    }
    Schema schema;
    Component<TrapHealth> health;
    KindId wolf{};
};

ServerDef def_of(const TrapSchema& schema, Lines& lines, NodeMembers members) {
    ServerDef def;
    def.schema = &schema.schema;
    def.rules.nodes = {near(members)};
    def.mac = &test_mac;
    def.secret = test_secret;
    def.log = lines.sink();
    return def;
}

/// What a child process prints to standard error before it is aborted; empty if it is not.
template <class Body>
std::string words_before_abort(Body&& body) {
    std::array<int, 2> ends{};
    REQUIRE(pipe(ends.data()) == 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        (void)dup2(ends[1], 2);
        (void)std::signal(SIGABRT, SIG_DFL);  // doctest would report it
        body();
        _exit(0);
    }
    close(ends[1]);
    std::string words;
    std::array<char, 512> some{};
    for (ssize_t n = 0; (n = read(ends[0], some.data(), some.size())) > 0;)
        words.append(some.data(), static_cast<std::size_t>(n));
    close(ends[0]);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? words : "";
}

}  // namespace

TEST_CASE("traps: a distance rule in a schema without positions is refused in words") {
    Lines lines;
    const TrapSchema schema(false);
    Stage stage(TrapSchema().schema, 0);
    const ServerDef def = def_of(schema, lines, NodeMembers::all);
    CHECK(problem_of(def).find("node 'near', step 1 needs positions") != std::string::npos);
    CHECK(Server::create(def, stage).error() == Status::bad_configuration);
    CHECK(has(lines.errors, "Schema::set_place"));
    // Later, too.
    ServerDef empty = def;
    empty.rules.nodes = {NodeDesc{}};
    auto server = Server::create(empty, stage);
    REQUIRE(server);
    CHECK(server->set_rules(def.rules) == Status::bad_configuration);
    CHECK(server->try_rules(def.rules).problem.find("needs positions") != std::string::npos);
}

TEST_CASE("traps: a binding without effect is warned of when a server begins, and in warnings()") {
    for (const auto& [members, part] :
         {std::pair{NodeMembers::all, "the binding has no effect there"},
          {NodeMembers::unbound, "it never shows them"}}) {
        Lines lines;
        const TrapSchema schema;
        Stage stage(schema.schema, 0);
        ServerDef def = def_of(schema, lines, members);
        def.kinds.resize(1);
        def.kinds[0].nodes = {NodeId{0}};
        auto server = Server::create(def, stage);
        REQUIRE(server);
        CHECK(has(server->interest().warnings(), part));
        CHECK(has(lines.warnings, part));
        CHECK(has(lines.warnings, "kind 'wolf' is bound to node 'near'"));
    }
    Lines lines;
    const TrapSchema schema;
    Stage stage(schema.schema, 0);
    ServerDef def = def_of(schema, lines, NodeMembers::bound);
    def.kinds.resize(1);
    def.kinds[0].nodes = {NodeId{0}};
    REQUIRE(Server::create(def, stage));
    CHECK(lines.warnings.empty());
}

TEST_CASE("traps: entities that no node covers are warned of, by kind and at the first spawn" *
          doctest::test_suite("N58")) {
    Lines lines;
    InterestDef def;
    def.rules.nodes = {near(NodeMembers::bound)};
    def.kinds.resize(3);
    def.kinds[1].never_default = true;
    def.kinds[2].nodes = {NodeId{0}};
    def.log = lines.sink();
    auto made = InterestManager::create(def);
    REQUIRE(made);
    CHECK(lines.warnings.size() == 1);
    CHECK(has(lines.warnings, "kind 0 is bound to no node"));
    InterestManager& manager = *made;
    lines.warnings.clear();
    CHECK(manager.spawn(lines::id(1), {.place = {}, .kind = KindId{2}}) == Status::ok);
    CHECK(manager.spawn(lines::id(2), {.place = {}, .kind = KindId{1}}) == Status::ok);
    CHECK(manager.spawn(lines::id(3), {.place = {}, .mode = EntityMode::global}) == Status::ok);
    CHECK(lines.warnings.empty());
    CHECK(manager.spawn(lines::id(4), {}) == Status::ok);
    CHECK(manager.spawn(lines::id(5), {}) == Status::ok);
    CHECK(manager.add_default_node(lines::id(1)) == Status::ok);
    REQUIRE(lines.warnings.size() == 1);
    CHECK(has(lines.warnings, "entity 4 is bound to no node"));
    // With a node for them there is nothing to say.
    lines.warnings.clear();
    InterestRules rules = def.rules;
    rules.nodes.push_back(near(NodeMembers::unbound));
    CHECK(manager.set_rules(rules) == Status::ok);
    CHECK(manager.spawn(lines::id(6), {}) == Status::ok);
    CHECK(lines.warnings.empty());
    // A node that is off covers nothing.
    rules.nodes.back().enabled = false;
    CHECK(manager.set_rules(rules) == Status::ok);
    CHECK(lines.warnings.size() == 1);
    CHECK(manager.spawn(lines::id(7), {}) == Status::ok);
    CHECK(has(lines.warnings, "entity 7 is bound to no node"));
}

TEST_CASE(
    "traps: the value of a Result that holds an error aborts and prints why, in every build") {
    const std::string words = words_before_abort([] {
        InterestDef def;
        def.rules.nodes = {near(NodeMembers::all)};
        def.rules.nodes[0].steps[0].kernel.enter_m = -1;
        def.log = LogSink::none();
        InterestManager manager = std::move(InterestManager::create(def)).value();
        manager.tick();
    });
    CHECK(words.find("bad_configuration") != std::string::npos);
    CHECK(words.find("node 'near', step 1: a distance needs 0 < enter <= leave") !=
          std::string::npos);
    CHECK(words_before_abort([] { (void)*Result<int>(Status::capacity); }).find("capacity") !=
          std::string::npos);
    CHECK(words_before_abort([] { (void)*Result<int>(3); }) == "");
}

TEST_CASE("traps: the first value of a component that is beyond its range is logged") {
    Lines lines;
    const TrapSchema schema;
    Stage stage(schema.schema, 0, def_of(schema, lines, NodeMembers::all));
    const EntityId one = stage.spawn(schema.wolf, {100, 100, 0});
    const EntityId other = stage.spawn(schema.wolf, {100, 100, 0});
    stage.step(2);
    CHECK(lines.warnings.empty());
    CHECK(stage.world().move(other, {500, 100, 0}) == Status::ok);
    stage.world().edit(one, schema.health)->hp = 200;
    stage.step();
    REQUIRE(lines.warnings.size() == 2);
    CHECK(has(lines.warnings, "entity 1 of kind 'wolf': a value of component 'place'"));
    CHECK(has(lines.warnings, "entity 0 of kind 'wolf': a value of component 'health'"));
    for (int i = 0; i < 5; ++i) {
        CHECK(stage.world().move(one, {500 + static_cast<float>(i), 100, 0}) == Status::ok);
        stage.step();
    }
    CHECK(lines.warnings.size() == 2);
}

TEST_CASE("traps: joining the unit of an entity that is itself a member is a bad argument") {
    using namespace lines;
    InterestManager manager = make(std::vector{node("near", {within(StepOp::add, 10)})});
    for (std::uint32_t i = 1; i <= 3; ++i) lines::spawn(manager, i, 50);
    CHECK(manager.join_unit(id(2), id(1)) == Status::ok);
    CHECK(manager.join_unit(id(1), id(2)) == Status::bad_argument);
    CHECK(manager.join_unit(id(3), id(2)) == Status::bad_argument);
    CHECK(manager.join_unit(id(3), id(9)) == Status::stale_id);
}

}  // namespace purview::test
