// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Rule changes of a running server, and what interest takes from schema and kinds.
#include <doctest/doctest.h>

#include <cmath>

#include "core/internal_access.hpp"
#include "server/server_data.hpp"
#include "small_game.hpp"
#include "support/steps.hpp"

namespace purview::test {

namespace {

/// A game that does nothing by itself.
class QuietGame final : public Game {
  public:
    std::optional<EntityId> on_join(Server&, ObserverId, const JoinRequest&) override {
        return EntityId::none;
    }
    void on_leave(Server&, ObserverId) override {}
    void on_command(Server&, ObserverId, std::span<const std::byte>) override {}
    void on_tick(Server&, Tick) override {}
};

using lines::add;

Rules rules_of(std::vector<Kernel> steps) {
    Rules rules;
    rules.max = {300, 300, 0};
    rules.nodes = {lines::node("near", std::move(steps))};
    return rules;
}

/// A server with one observer in the middle. `tick` advances its clock.
struct QuietWorld {
    explicit QuietWorld(Rules rules, std::vector<KindRules> kinds = {},
                        InterestLevel level = InterestLevel::full) {
        hp = schema.schema.value("hp", schema.body.id, "hp");
        ServerDef def;
        def.schema = &schema.schema;
        def.rules = std::move(rules);
        def.rules.kinds = std::move(kinds);
        def.rules.level = level;
        def.mac = &test_mac;
        def.secret = test_secret;
        auto made = Server::create(def, game);
        REQUIRE(made);
        server = std::make_unique<Server>(std::move(made).value());
        player = spawn(schema.player, 0);
        observer = internal(*server).manager.add_observer({.is_ready = false});
        REQUIRE(server->visibility().set_viewpoint(observer, player) == Status::ok);
        REQUIRE(server->visibility().set_ready(observer, true) == Status::ok);
    }
    /// Spawns at this distance from the observer, in meters.
    EntityId spawn(KindId kind, float away_m) {
        return server->world().spawn({.kind = kind, .position = {150 + away_m, 150, 0}});
    }
    void tick() { server->tick(now += 50'000); }
    bool sees(EntityId entity) const { return server->visibility().is_relevant(observer, entity); }

    SmallSchema schema;
    ValueId hp{};
    QuietGame game;
    std::unique_ptr<Server> server;
    EntityId player{};
    ObserverId observer{};
    Micros now = 0;
};

/// What the observer gained and lost in the last tick.
std::span<const InterestEvent> events(QuietWorld& world) {
    return internal(*world.server).interest.events_of(world.observer);
}

}  // namespace

TEST_CASE("server: new rules apply in the next tick; only changes are events (N39 M30)") {
    QuietWorld world(rules_of({add(within(40))}));
    const EntityId near = world.spawn(world.schema.animal, 30);
    const EntityId far = world.spawn(world.schema.animal, 50);
    world.tick();
    CHECK(world.sees(near));
    CHECK_FALSE(world.sees(far));
    CHECK(world.server->rules_revision() == 1);

    const Rules wider = rules_of({add(within(60))});
    const RuleTrial trial = world.server->try_rules(wider);
    CHECK(trial.problem.empty());
    REQUIRE(trial.gains.size() == 1);
    CHECK(trial.gains[0].entity == far);
    CHECK(trial.losses.empty());
    CHECK(world.server->rules_revision() == 1);
    world.tick();
    CHECK_FALSE(world.sees(far));  // it was a trial

    REQUIRE(world.server->set_rules(wider) == "");
    CHECK(world.server->rules_revision() == 2);
    CHECK(world.server->rules().nodes[0].steps[0].enter == 60);
    CHECK_FALSE(world.sees(far));
    world.tick();
    CHECK(world.sees(far));
    CHECK(world.sees(near));
    REQUIRE(events(world).size() == 1);
    CHECK(events(world)[0].entity == far);
    CHECK(events(world)[0].enter);
    world.tick();
    CHECK(events(world).empty());

    REQUIRE(world.server->set_rules(rules_of({add(within(10))})) == "");
    world.tick();
    CHECK_FALSE(world.sees(near));
    CHECK(events(world).size() == 2);
}

TEST_CASE("server: unsound rules are refused at run time and change nothing (N39)") {
    QuietWorld world(rules_of({add(within(40))}));
    const EntityId near = world.spawn(world.schema.animal, 30);
    world.tick();
    Rules bad = rules_of({add(within(60))});
    bad.nodes[0].steps[0].leave = 50;
    CHECK(world.server->set_rules(bad) != "");
    CHECK_FALSE(world.server->try_rules(bad).problem.empty());
    bad.nodes[0].steps[0].leave = std::nanf("");
    CHECK(world.server->set_rules(bad) != "");
    CHECK(world.server->rules_revision() == 1);
    CHECK(world.server->rules().nodes[0].steps[0].enter == 40);
    world.tick();
    CHECK(world.sees(near));
}

TEST_CASE("server: a trial reports kinds that do not suit a shared payload (N39)") {
    QuietWorld world(rules_of({add(within(40))}));
    Rules shared = rules_of({add(cells(30, 30))});
    shared.nodes[0].payload = Payload::update_many;
    CHECK(internal(*world.server).manager.try_rules(shared).problem.empty());
    CHECK(world.server->try_rules(shared).problem.find("a shared mode") != std::string::npos);
    CHECK(world.server->set_rules(shared) != "");
}

TEST_CASE("server: rules can change under connected clients without a mismatch (N39)") {
    SmallWorld world(31, {0.05F, 0, 0, 20'000, 5'000});
    for (int i = 0; i < 5; ++i) world.add_client();
    world.run(60);
    const Rules first = small_rules(world.schema);
    Rules second = first;
    second.nodes[0].steps[0].enter = 90;
    second.nodes[0].steps[0].leave = 95;
    Rules third = first;
    third.nodes[0].steps.pop_back();
    for (int round = 0; round < 4; ++round) {
        for (const Rules& rules : {second, third, first}) {
            REQUIRE(world.server->set_rules(rules) == "");
            world.run(25);
        }
    }
    const auto& mismatches = world.proof->mismatches();
    INFO((mismatches.empty() ? std::string() : mismatches.front()));
    CHECK(world.proof->counters().truth_mismatches == 0);
    CHECK(world.proof->counters().digest_mismatches == 0);
    CHECK(world.server->rules_revision() == 13);
}

TEST_CASE("server: nodes, mode and range of kinds apply to entities (N40 F3 F10 F11 M11)") {
    Rules rules = rules_of({add(within(40))});
    rules.nodes[0].members = Members::unbound;
    rules.range_classes = {60, 140};
    rules.nodes.push_back(rules.nodes[0]);
    rules.nodes[1].name = "towers";
    rules.nodes[1].members = Members::bound;
    rules.nodes[1].steps[0].range = RangeFrom::entity;
    SmallSchema names;
    std::vector<KindRules> kinds(index_of(names.crate) + 1);
    kinds[index_of(names.animal)].mode = EntityMode::explicit_only;
    kinds[index_of(names.wagon)].mode = EntityMode::global;
    kinds[index_of(names.tree)].nodes = {id_at<NodeId>(1)};
    kinds[index_of(names.tree)].range = 120;
    kinds[index_of(names.crate)].needs_node = true;
    QuietWorld world(rules, kinds);
    const EntityId animal = world.spawn(world.schema.animal, 10);
    const EntityId wagon = world.spawn(world.schema.wagon, 149);
    const EntityId tree = world.spawn(world.schema.tree, 110);
    const EntityId far_tree = world.spawn(world.schema.tree, 130);
    const EntityId crate = world.spawn(world.schema.crate, 10);
    world.tick();
    CHECK_FALSE(world.sees(animal));
    CHECK(world.sees(wagon));
    CHECK(world.sees(tree));
    CHECK_FALSE(world.sees(far_tree));
    CHECK_FALSE(world.sees(crate));
    CHECK(world.sees(world.player));
    REQUIRE(world.server->visibility().allow(world.observer, animal, true) == Status::ok);
    world.tick();
    CHECK(world.sees(animal));
}

TEST_CASE("server: a field used as a value counts in the tick of its change (N41)") {
    Kernel strong;
    strong.combine = Combine::require;
    strong.type = KernelType::value;
    strong.value = id_at<ValueId>(0);
    strong.min = 50;
    QuietWorld world(rules_of({add(within(40)), strong}));
    const EntityId animal = world.spawn(world.schema.animal, 10);
    const EntityId tree = world.spawn(world.schema.tree, 10);  // has no body
    world.server->world().edit(animal, world.schema.body)->hp = 60;
    world.tick();
    CHECK(world.sees(animal));
    CHECK_FALSE(world.sees(tree));
    world.server->world().edit(animal, world.schema.body)->hp = 49;
    world.tick();
    CHECK_FALSE(world.sees(animal));
    world.server->world().edit(animal, world.schema.body)->hp = 50;
    world.tick();
    CHECK(world.sees(animal));
}

TEST_CASE("server: the kind decides whether an owner sees its entities (M8 F11)") {
    SmallSchema names;
    std::vector<KindRules> kinds(index_of(names.crate) + 1);
    kinds[index_of(names.animal)].owner_sees = false;
    QuietWorld world(rules_of({add(within(40))}), kinds);
    const EntityId animal = world.spawn(world.schema.animal, 100);
    const EntityId wagon = world.spawn(world.schema.wagon, 100);
    for (const EntityId entity : {animal, wagon})
        REQUIRE(world.server->world().set_owner(entity, world.observer) == Status::ok);
    world.tick();
    CHECK_FALSE(world.sees(animal));
    CHECK(world.sees(wagon));
}

TEST_CASE("server: level none makes all relevant, and full applies the nodes again (F7 F29)") {
    QuietWorld world(rules_of({add(within(40))}), {}, InterestLevel::none);
    const EntityId far = world.spawn(world.schema.animal, 100);
    world.tick();
    CHECK(world.sees(far));
    world.server->set_interest_level(InterestLevel::full);
    world.tick();
    CHECK_FALSE(world.sees(far));
}

TEST_CASE("server: settings for unknown kinds or nodes are refused") {
    SmallSchema schema;
    QuietGame game;
    ServerDef def;
    def.schema = &schema.schema;
    def.mac = &test_mac;
    def.secret = test_secret;
    def.rules = rules_of({add(within(40))});
    def.rules.kinds.resize(schema.schema.kinds().size());
    CHECK(Server::create(def, game));
    def.rules.kinds[0].nodes = {id_at<NodeId>(1)};
    CHECK(Server::create(def, game).error() == Status::bad_configuration);
    def.rules.kinds.assign(schema.schema.kinds().size() + 1, {});
    CHECK(Server::create(def, game).error() == Status::bad_configuration);
}

}  // namespace purview::test
