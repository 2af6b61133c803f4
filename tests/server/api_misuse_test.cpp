// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// API misuse without a visible effect: each case is refused, is logged, or aborts with a message.
#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>
#include <vector>

#include "core/internal_access.hpp"
#include "interest/engine.hpp"
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

NodeDef near(Members members) {
    NodeDef node;
    node.name = "near";
    node.add(within(30));
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
        if (has_positions) components.push_back(add_position(schema, 0, 200).id);
        wolf = schema.kind("wolf", components);
        REQUIRE(schema.problem().empty());
    }
    Schema schema;
    Component<TrapHealth> health;
    KindId wolf{};
};

ServerDef def_of(const TrapSchema& schema, Lines& lines, Members members) {
    ServerDef def;
    def.schema = &schema.schema;
    def.rules.nodes = {near(members)};
    def.mac = &test_mac;
    def.secret = test_secret;
    def.log = lines.sink();
    return def;
}

/// Runs `body` in a child process. Returns what it prints to standard error before it aborts; empty
/// if it does not abort.
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

TEST_CASE("api misuse: a distance rule without positions is refused with a message") {
    Lines lines;
    const TrapSchema schema(false);
    Stage stage(TrapSchema().schema, 0);
    const ServerDef def = def_of(schema, lines, Members::all);
    CHECK(problem_of(def).find("node 'near', step 1 needs positions") != std::string::npos);
    CHECK(Server::create(def, stage).error() == Status::bad_configuration);
    CHECK(has(lines.errors, "Schema::set_position"));
    // The running server refuses such rules, too.
    ServerDef empty = def;
    empty.rules.nodes = {NodeDef{}};
    auto server = Server::create(empty, stage);
    REQUIRE(server);
    CHECK(server->set_rules(def.rules).find("needs positions") != std::string::npos);
    CHECK(server->try_rules(def.rules).problem.find("needs positions") != std::string::npos);
}

TEST_CASE("api misuse: a binding without effect logs a warning and is in warnings()") {
    for (const auto& [members, part] : {std::pair{Members::all, "the binding has no effect"},
                                        {Members::unbound, "it never shows them"}}) {
        Lines lines;
        const TrapSchema schema;
        Stage stage(schema.schema, 0);
        ServerDef def = def_of(schema, lines, members);
        def.rules.kinds.resize(1);
        def.rules.kinds[0].nodes = {id_at<NodeId>(0)};
        auto server = Server::create(def, stage);
        REQUIRE(server);
        CHECK(has(server->visibility().warnings(), part));
        CHECK(has(lines.warnings, part));
        CHECK(has(lines.warnings, "kind 'wolf' is bound to node 'near'"));
    }
    Lines lines;
    const TrapSchema schema;
    Stage stage(schema.schema, 0);
    ServerDef def = def_of(schema, lines, Members::bound);
    def.rules.kinds.resize(1);
    def.rules.kinds[0].nodes = {id_at<NodeId>(0)};
    REQUIRE(Server::create(def, stage));
    CHECK(lines.warnings.empty());
}

TEST_CASE("api misuse: a kind or an entity that no node covers logs a warning" *
          doctest::test_suite("N58")) {
    Lines lines;
    Rules def;
    def.nodes = {near(Members::bound)};
    def.kinds.resize(3);
    def.kinds[1].needs_node = true;
    def.kinds[2].nodes = {id_at<NodeId>(0)};
    REQUIRE(problem_of(def) == "");
    InterestManager manager(def, lines.sink());
    CHECK(lines.warnings.size() == 1);
    CHECK(has(lines.warnings, "kind 0 is bound to no node"));
    lines.warnings.clear();
    const auto spawn = [&](std::uint32_t index, const EntityDef& like = {}) {
        EntityDef one = like;
        one.id = lines::id(index);
        CHECK(manager.spawn(one) == one.id);
    };
    spawn(1, {.kind = id_at<KindId>(2)});
    spawn(2, {.kind = id_at<KindId>(1)});
    spawn(3, {.mode = EntityMode::global});
    CHECK(lines.warnings.empty());
    spawn(4);
    spawn(5);
    CHECK(manager.bind_default(lines::id(1)) == Status::ok);
    REQUIRE(lines.warnings.size() == 1);
    CHECK(has(lines.warnings, "entity 4 is bound to no node"));
    // With a node for unbound entities there is no warning.
    lines.warnings.clear();
    Rules rules = def;
    rules.nodes.push_back(near(Members::unbound));
    CHECK(manager.set_rules(rules) == "");
    spawn(6);
    CHECK(lines.warnings.empty());
    // A node that is off covers nothing.
    rules.nodes.back().enabled = false;
    CHECK(manager.set_rules(rules) == "");
    CHECK(lines.warnings.size() == 1);
    spawn(7);
    CHECK(has(lines.warnings, "entity 7 is bound to no node"));
}

TEST_CASE("api misuse: the value of a failed Result aborts and prints why, in every build") {
    Lines lines;
    const TrapSchema schema;
    Stage stage(schema.schema, 0);
    const std::string words = words_before_abort([&] {
        ServerDef def = def_of(schema, lines, Members::all);
        def.rules.nodes[0].steps[0].enter = -1;
        def.log = LogSink::none();
        Server server = std::move(Server::create(def, stage)).value();
        server.tick(1);
    });
    CHECK(words.find("bad_configuration") != std::string::npos);
    CHECK(words.find("node 'near', step 1: a distance needs 0 < enter <= leave") !=
          std::string::npos);
    CHECK(words_before_abort([] { (void)*Result<int>(Status::capacity); }).find("capacity") !=
          std::string::npos);
    CHECK(words_before_abort([] { (void)*Result<int>(3); }) == "");
}

TEST_CASE("api misuse: unsound rules assert; their manager has a problem and shows nothing") {
    static int asserted;
    asserted = 0;
    const AssertHandler old = set_assert_handler([](const char*, const char*, int) { ++asserted; });
    Lines lines;
    Rules def;
    def.nodes = {near(Members::all)};
    def.nodes[0].steps[0].enter = -1;
    InterestManager manager(def, lines.sink());
    set_assert_handler(old);
#if !defined(NDEBUG) || defined(PURVIEW_ASSERTS)
    CHECK(asserted == 1);
#endif
    const std::string why = "node 'near', step 1: a distance needs 0 < enter <= leave";
    CHECK(manager.problem().find(why) != std::string::npos);
    CHECK(has(lines.errors, why));
    const EntityId entity = manager.spawn({});
    const ObserverId observer = manager.add_observer({.viewpoint = entity});
    manager.tick();
    CHECK_FALSE(manager.is_relevant(observer, entity));
}

TEST_CASE("api misuse: the first out-of-range value of a component is logged") {
    Lines lines;
    const TrapSchema schema;
    Stage stage(schema.schema, 0, def_of(schema, lines, Members::all));
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

TEST_CASE("api misuse: joining the cull group of a non-root member is a bad argument") {
    using namespace lines;
    InterestManager manager = make(std::vector{node("near", {within(Combine::add, 10)})});
    for (std::uint32_t i = 1; i <= 3; ++i) lines::spawn(manager, i, 50);
    const auto join_unit = [&](EntityId member, EntityId root) {
        return internal(manager).groups.join_unit(member, root, EntityId::none);
    };
    CHECK(join_unit(id(2), id(1)) == Status::ok);
    CHECK(join_unit(id(1), id(2)) == Status::bad_argument);
    CHECK(join_unit(id(3), id(2)) == Status::bad_argument);
    CHECK(join_unit(id(3), id(9)) == Status::stale_id);
    // In the public API, a child may be attached to any member except its own descendants.
    CHECK(manager.attach(id(1), id(2)) == Status::bad_argument);
    CHECK(manager.attach(id(3), id(9)) == Status::stale_id);
    CHECK(manager.attach(id(3), id(2)) == Status::ok);
}

}  // namespace purview::test
