// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Kinds with several inputs, kinds without input until it is switched on, and the member lists of
// both sides.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "core/internal_access.hpp"
#include "purview/prediction.hpp"
#include "server/server_data.hpp"
#include "support/stage.hpp"

namespace purview::test {

namespace {

struct Legs {
    float step = 0;
};
struct Hands {
    std::uint8_t grips = 0;
};
struct Spine {
    float x = 0;
    std::uint32_t order = 0;  ///< a digit for each part, in the order of the input
};

struct RobotSchema {
    explicit RobotSchema(bool hands_first = false) {
        spine = schema.component<Spine>("spine")
                    .real("x", &Spine::x)
                    .integer("order", &Spine::order, 0, 0xffffff);
        legs = schema.input<Legs>("legs").real("step", &Legs::step);
        hands = schema.input<Hands>("hands").integer("grips", &Hands::grips, 0, 9);
        robot = schema.kind("robot", {spine.id});
        drone = schema.kind("drone", {spine.id});
        if (hands_first) schema.take_input(robot, hands.id);
        schema.take_input(robot, legs.id);
        if (!hands_first) schema.take_input(robot, hands.id);
        schema.take_input(drone, legs.id);
        schema.edit_kind(drone).starts_in_input = false;
        schema.predict(spine.id);
        REQUIRE_MESSAGE(schema.problem().empty(), schema.problem());
    }
    Schema schema;
    Component<Spine> spine;
    Input<Legs> legs;
    Input<Hands> hands;
    KindId robot{}, drone{};
};

/// Reads `legs` by name, and all parts in the order of the input.
class RobotStep final : public GroupStep {
  public:
    explicit RobotStep(const RobotSchema& schema) : s(&schema) {}
    void step(GroupState& group, const GroupInput& command) override {
        for (std::size_t m = 0; m < group.size(); ++m) {
            Spine* spine = group.edit(m, s->spine);
            if (spine == nullptr) continue;
            if (const Legs* legs = command.part(m, s->legs)) spine->x += legs->step;
            spine->order = 0;
            for (const GroupInput::Part& part : command.parts(m)) {
                if (part.data == nullptr) continue;
                spine->order = spine->order * 10 + (part.input == s->legs.id ? 1 : 2);
                if (part.input == s->hands.id)
                    spine->order =
                        spine->order * 10 + reinterpret_cast<const Hands*>(part.data)->grips;
            }
        }
    }
    const RobotSchema* s;
};

class RobotGame final : public Game {
  public:
    explicit RobotGame(const RobotSchema& schema) : step(schema) {}
    std::optional<EntityId> on_join(Server& server, ObserverId observer,
                                    const JoinRequest&) override {
        me = observer;
        for (const KindId kind : {step.s->robot, step.s->drone}) {
            own.push_back(server.world().spawn({.kind = kind}));
            CHECK(server.world().set_owner(own.back(), observer) == Status::ok);
        }
        return EntityId::none;
    }
    void on_leave(Server&, ObserverId) override {}
    void on_command(Server&, ObserverId, std::span<const std::byte>) override {}
    void on_input(Server&, ObserverId, GroupState& group, const GroupInput& command) override {
        step.step(group, command);
    }
    void on_tick(Server&, Tick) override {}
    RobotStep step;
    ObserverId me = ObserverId::none;
    std::vector<EntityId> own;
};

/// A server and one predicting client on a perfect connection.
struct Robots {
    explicit Robots(bool hands_first = false)
        : schema(hands_first), game(schema), step(schema), server(make()), client(client_def()) {
        PredictionDef def;
        def.schema = &schema.schema;
        def.step = &step;
        prediction.emplace(Prediction::create(client, def).value());
        for (int i = 0; i < 60; ++i) tick({}, {});
        REQUIRE(game.own.size() == 2);
    }
    Server make() {
        ServerDef def;
        def.schema = &schema.schema;
        def.rules.nodes = {NodeDef{}};
        def.mac = &test_mac;
        def.secret = test_secret;
        return Server::create(def, game).value();
    }
    static ClientDef client_def() {
        ClientDef def;
        def.nonce = 7;
        return def;
    }
    /// Sets parts of the robot in this order: "l" for legs, "h" for hands.
    void tick(const std::string& parts, const std::string& of_drone) {
        now += 50'000;
        for (unsigned due = prediction->ticks_due(now); due > 0; --due) {
            for (const char part : parts) {
                CHECK((part == 'l'
                           ? prediction->set_part(ghost(0), schema.legs, Legs{1})
                           : prediction->set_part(ghost(0), schema.hands, Hands{7})) == Status::ok);
            }
            for (std::size_t i = 0; i < of_drone.size(); ++i)
                drone_status = prediction->set_part(ghost(1), schema.legs, Legs{1});
            (void)prediction->run_tick();
        }
        client.tick(now);
        std::span<const std::byte> out;
        Address address;
        address.carrier = Address::Carrier::memory;
        address.port = 1;
        while (client.next_datagram(out)) server.receive(out, address, now);
        server.tick(now);
        OutgoingDatagram datagram;
        while (server.next_datagram(datagram)) client.receive(datagram.bytes, now);
    }
    GhostId ghost(std::size_t which) const {
        GhostId found = GhostId::none;
        client.for_each([&](GhostId one) {
            if (client.kind_of(one) == (which == 0 ? schema.robot : schema.drone)) found = one;
        });
        return found;
    }
    const Spine& spine(std::size_t which) {
        return *server.world().get(game.own[which], schema.spine);
    }
    RobotSchema schema;
    RobotGame game;
    RobotStep step;
    Server server;
    Client client;
    std::optional<Prediction> prediction;
    Status drone_status = Status::ok;
    Micros now = 1'000'000;
};

}  // namespace

TEST_CASE("input: several inputs of an entity have the order of take_input on both sides" *
          doctest::test_suite("O46")) {
    for (const bool hands_first : {false, true}) {
        for (const std::string& set : {std::string("lh"), std::string("hl")}) {
            CAPTURE(hands_first);
            CAPTURE(set);
            Robots robots(hands_first);
            for (int i = 0; i < 30; ++i) robots.tick(set, "");
            CHECK(robots.spine(0).order == (hands_first ? 271U : 127U));
            CHECK(robots.spine(0).x > 10);
            const auto* predicted = robots.prediction->get(robots.ghost(0), robots.schema.spine);
            REQUIRE(predicted != nullptr);
            CHECK(predicted->order == robots.spine(0).order);
            CHECK(robots.prediction->stats().corrections == 0);
            // Only one of the two inputs.
            for (int i = 0; i < 10; ++i) robots.tick("h", "");
            CHECK(robots.spine(0).order == 27U);
            CHECK(internal(robots.server).inputs.counters().wrong_input == 0);
        }
    }
}

TEST_CASE("input: a kind may start without input until the server switches it on" *
          doctest::test_suite("O46")) {
    Robots robots;
    CHECK_FALSE(robots.server.is_in_input(robots.game.own[1]));
    CHECK(robots.server.is_in_input(robots.game.own[0]));
    for (int i = 0; i < 20; ++i) robots.tick("l", "l");
    CHECK(robots.drone_status == Status::refused);
    CHECK(robots.spine(1).x == 0);
    CHECK(robots.spine(0).x > 5);
    REQUIRE(robots.server.set_in_input(robots.game.own[1], true) == Status::ok);
    for (int i = 0; i < 20; ++i) robots.tick("l", "l");
    CHECK(robots.drone_status == Status::ok);
    CHECK(robots.spine(1).x > 5);
    REQUIRE(robots.server.set_in_input(robots.game.own[1], false) == Status::ok);
    for (int i = 0; i < 20; ++i) robots.tick("l", "l");
    CHECK(robots.drone_status == Status::refused);
    // A reused entity index starts with the setting of its kind.
    REQUIRE(robots.server.world().despawn(robots.game.own[1]) == Status::ok);
    robots.tick("", "");
    robots.tick("", "");
    const EntityId next = robots.server.world().spawn({.kind = robots.schema.robot});
    CHECK(index_of(next) == index_of(robots.game.own[1]));
    CHECK(robots.server.is_in_input(next));
    CHECK_FALSE(robots.server.is_in_input(robots.game.own[1]));
}

TEST_CASE("input: a kind takes each input once, and at most four" * doctest::test_suite("O46")) {
    RobotSchema once;
    once.schema.take_input(once.robot, once.legs.id);
    CHECK(once.schema.problem() == "kind 'robot', take_input: 'legs' is declared twice");
    Schema schema;
    const auto body = schema.component<Spine>("spine").real("x", &Spine::x);
    const KindId kind = schema.kind("octopus", {Component<Spine>(body).id});
    for (int i = 0; i < 5; ++i) {
        Input<Legs> arm = schema.input<Legs>("arm" + std::to_string(i)).real("step", &Legs::step);
        schema.take_input(kind, arm.id);
    }
    CHECK(schema.problem() == "kind 'octopus', take_input: more than 4 inputs");
}

TEST_CASE("groups: both sides list the members in attach order and in input order" *
          doctest::test_suite("O45")) {
    Robots robots;
    World& world = robots.server.world();
    const auto spawn = [&](KindId kind) {
        const EntityId made = world.spawn({.kind = kind});
        CHECK(world.set_owner(made, robots.game.me) == Status::ok);
        return made;
    };
    // Attached in another order than spawned.
    const EntityId root = robots.game.own[0];
    const EntityId a = spawn(robots.schema.drone), b = spawn(robots.schema.drone),
                   c = spawn(robots.schema.drone), d = spawn(robots.schema.drone);
    robots.tick("", "");
    for (const auto& [child, parent] : {std::pair{c, root}, {a, root}, {d, c}, {b, root}}) {
        CHECK(world.attach(child, parent) == Status::ok);
        for (int i = 0; i < 3; ++i) robots.tick("l", "");
    }
    for (int i = 0; i < 10; ++i) robots.tick("l", "");
    std::vector<EntityId> members;
    world.members_of(a, members);
    CHECK(members == std::vector<EntityId>{root, c, d, a, b});
    const auto order = robots.server.input_order(root);
    CHECK(std::vector<EntityId>(order.begin(), order.end()) == members);
    world.members_of(EntityId::none, members);
    CHECK(members.empty());
    // The client lists its ghosts in the same order.
    const GhostId top = robots.ghost(0);
    std::vector<GhostId> client_members;
    robots.client.members_of(top, client_members);
    REQUIRE(client_members.size() == 5);
    CHECK(client_members.front() == top);
    CHECK(robots.client.parent_of(client_members[1]) == top);
    CHECK(robots.client.parent_of(client_members[2]) == client_members[1]);
    CHECK(robots.client.parent_of(client_members[3]) == top);
    CHECK(robots.client.parent_of(client_members[4]) == top);
    const auto input = robots.prediction->input_order(top);
    CHECK(std::vector<GhostId>(input.begin(), input.end()) == client_members);
    std::vector<GhostId> same;
    robots.client.members_of(client_members[3], same);
    CHECK(same == client_members);
    robots.client.members_of(GhostId::none, same);
    CHECK(same.empty());
    CHECK(robots.prediction->input_order(client_members[1]).empty());
}

TEST_CASE("client: the activation log has parents first, and children first when they leave" *
          doctest::test_suite("O47")) {
    std::vector<std::string> lines;
    const RobotSchema schema;
    Stage stage(schema.schema, 0);
    const EntityId root = stage.spawn(schema.robot), child = stage.spawn(schema.drone);
    REQUIRE(stage.world().attach(child, root) == Status::ok);
    ClientDef def;
    def.nonce = 9;
    def.activation_log = {[](void* context, LogLevel level, const char* text) {
                              CHECK(level == LogLevel::trace);
                              static_cast<std::vector<std::string>*>(context)->emplace_back(text);
                          },
                          &lines};
    stage.clients.push_back(std::make_unique<Client>(def));
    stage.observers.push_back(ObserverId::none);
    stage.step(20);
    REQUIRE(lines.size() == 2);
    CHECK(lines[0].find("activate ghost=") == 0);
    CHECK(lines[0].find("kind=robot root=") != std::string::npos);
    CHECK(lines[1].find("kind=drone parent=") != std::string::npos);
    CHECK(lines[1].find("reason=entered") != std::string::npos);
    lines.clear();
    CHECK(stage.visibility().set_hidden(root, true) == Status::ok);
    stage.step(5);
    REQUIRE(lines.size() == 2);
    CHECK(lines[0].find("deactivate ghost=") == 0);
    CHECK(lines[0].find("kind=drone") != std::string::npos);
    CHECK(lines[1].find("kind=robot") != std::string::npos);
}

}  // namespace purview::test
