// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Two levels of interest: first the entity, then each of its components, by a custom audience.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "idle_game.hpp"
#include "support/stage.hpp"

namespace purview::test::component_interest {

namespace {

struct Part {
    std::uint16_t number = 0;
};

/// Records the (observer, entity) pairs that it is called for, and allows those that the test sets.
class NotedAudience final : public ComponentAudience {
  public:
    void decide(ObserverId observer, std::span<const EntityId> entities,
                std::span<std::uint8_t> result) const override {
        for (std::size_t i = 0; i < entities.size(); ++i) {
            queried.insert({observer, entities[i]});
            result[i] = yes.count({observer, entities[i]}) != 0 ? 1 : 0;
        }
    }
    void set(ObserverId observer, EntityId entity, bool value) {
        if (value) yes.insert({observer, entity});
        if (!value) yes.erase({observer, entity});
    }
    std::set<std::pair<ObserverId, EntityId>> yes;
    mutable std::set<std::pair<ObserverId, EntityId>> queried;
};

/// One component for everyone, and two with their own audiences.
struct TwoAudiences {
    TwoAudiences() {
        open = schema.component<Part>("open").integer("number", &Part::number, 0, 0xffff);
        left = schema.component<Part>("left").integer("number", &Part::number, 7, 0xffff);
        right = schema.component<Part>("right").integer("number", &Part::number, 0, 0xffff);
        schema.audience(left.id, {AudienceType::custom, KeyId::none, &left_audience, false});
        schema.audience(right.id, {AudienceType::custom, KeyId::none, &right_audience, false});
        kind = schema.kind("named", {open.id, left.id, right.id});
        REQUIRE(schema.problem().empty());
        def.rules.kinds.resize(1);
        def.rules.kinds[0].mode = EntityMode::explicit_only;
    }
    Schema schema;
    NotedAudience left_audience, right_audience;
    Component<Part> open, left, right;
    KindId kind{};
    ServerDef def;
};

double part_of(Stage& stage, std::uint32_t client, EntityId entity, Component<Part> part) {
    const GhostId ghost = stage.ghost(client, entity);
    REQUIRE(ghost != GhostId::none);
    return stage.client(client).value_of(ghost, part.id, 0);
}

}  // namespace

TEST_CASE("component interest: no component is sent without its entity" *
          doctest::test_suite("F1")) {
    TwoAudiences setup;
    Stage stage(setup.schema, 3, setup.def);
    const EntityId entity = stage.spawn(setup.kind);
    // The first client sees the entity and the component, the second the entity alone, and the
    // third neither, although the audience of the component allows it.
    for (const std::uint32_t index : {0U, 2U})
        setup.left_audience.set(stage.observers[index], entity, true);
    show(stage, 0, entity);
    show(stage, 1, entity);
    stage.world().edit(entity, setup.open)->number = 3;
    stage.step(10);
    std::uint64_t before[3];
    std::copy(stage.bytes_to, stage.bytes_to + 3, before);
    for (int i = 0; i < 60; ++i) {
        stage.world().edit(entity, setup.left)->number = static_cast<std::uint16_t>(1'000 + i);
        stage.step();
        CHECK(part_of(stage, 0, entity, setup.left) == 1'000 + i);
        CHECK(stage.client(2).ghost_count() == 0);
    }
    CHECK(part_of(stage, 1, entity, setup.open) == 3);
    CHECK(part_of(stage, 1, entity, setup.left) != 1'059);
    CHECK_FALSE(stage.client(1).is_replicated(stage.ghost(1, entity), setup.left.id));
    // A hidden component costs no bytes: both clients receive acknowledgements only.
    const auto bytes = [&](std::uint32_t index) { return stage.bytes_to[index] - before[index]; };
    CHECK(bytes(0) > bytes(1));
    CHECK(bytes(1) == bytes(2));
    // The audience is not called for an entity that is not relevant.
    CHECK(setup.left_audience.queried.count({stage.observers[0], entity}) == 1);
    CHECK(setup.left_audience.queried.count({stage.observers[1], entity}) == 1);
    CHECK(setup.left_audience.queried.count({stage.observers[2], entity}) == 0);
    // The component arrives with its entity, in the same packet and with its current value.
    show(stage, 2, entity);
    stage.step();
    CHECK(part_of(stage, 2, entity, setup.left) == 1'059);
    show(stage, 0, entity, false);
    stage.step();
    CHECK(stage.ghost(0, entity) == GhostId::none);
    setup.left_audience.queried.clear();
    stage.world().edit(entity, setup.left)->number = 5'000;
    stage.step(3);
    CHECK(setup.left_audience.queried.count({stage.observers[0], entity}) == 0);
    CHECK(part_of(stage, 2, entity, setup.left) == 5'000);
}

TEST_CASE("component interest: each component has its own audience, by client and entity" *
          doctest::test_suite("F23 F24")) {
    TwoAudiences setup;
    Stage stage(setup.schema, 2, setup.def);
    // One entity for each of the 16 combinations of component and client.
    std::vector<EntityId> entities;
    for (unsigned bits = 0; bits < 16; ++bits) {
        const EntityId entity = stage.spawn(setup.kind);
        entities.push_back(entity);
        stage.world().edit(entity, setup.open)->number = static_cast<std::uint16_t>(bits + 1);
        stage.world().edit(entity, setup.left)->number = static_cast<std::uint16_t>(100 + bits);
        stage.world().edit(entity, setup.right)->number = static_cast<std::uint16_t>(200 + bits);
        for (std::uint32_t index = 0; index < 2; ++index) show(stage, index, entity);
    }
    for (const unsigned turned : {0U, 15U, 6U, 9U, 0U}) {
        for (unsigned bits = 0; bits < 16; ++bits) {
            const unsigned now = bits ^ turned;
            for (std::uint32_t index = 0; index < 2; ++index) {
                setup.left_audience.set(stage.observers[index], entities[bits],
                                        (now >> index & 1U) != 0);
                setup.right_audience.set(stage.observers[index], entities[bits],
                                         (now >> (2 + index) & 1U) != 0);
            }
        }
        stage.step(3);
        for (unsigned bits = 0; bits < 16; ++bits) {
            const unsigned now = bits ^ turned;
            for (std::uint32_t index = 0; index < 2; ++index) {
                CAPTURE(turned);
                CAPTURE(bits);
                CAPTURE(index);
                // An audience restricts components, never the entity or another component.
                CHECK(part_of(stage, index, entities[bits], setup.open) == bits + 1);
                const bool has_left = (now >> index & 1U) != 0;
                const bool has_right = (now >> (2 + index) & 1U) != 0;
                // What is filtered out has its default value.
                CHECK(part_of(stage, index, entities[bits], setup.left) ==
                      (has_left ? 100 + bits : 7));
                CHECK(part_of(stage, index, entities[bits], setup.right) ==
                      (has_right ? 200 + bits : 0));
                const GhostId ghost = stage.ghost(index, entities[bits]);
                CHECK(stage.client(index).is_replicated(ghost, setup.left.id) == has_left);
                CHECK(stage.client(index).is_replicated(ghost, setup.right.id) == has_right);
            }
        }
    }
}

TEST_CASE("component interest: an audience may restrict any component but the position" *
          doctest::test_suite("F33")) {
    NotedAudience audience;
    IdleGame game;
    for (const AudienceType type : {AudienceType::owner, AudienceType::others,
                                    AudienceType::same_key, AudienceType::custom}) {
        for (const bool is_position : {false, true}) {
            CAPTURE(static_cast<int>(type));
            CAPTURE(is_position);
            Schema schema;
            const Component<Position> position = add_position(schema, 0, 100);
            const Component<Part> team =
                schema.component<Part>("team").integer("number", &Part::number, 0, 8);
            const Component<Part> hands =
                schema.component<Part>("hands").integer("number", &Part::number, 0, 8);
            const KeyId domain = schema.key("team", team.id, "number");
            schema.audience(is_position ? position.id : hands.id, {type, domain, &audience, false});
            (void)schema.kind("thing", {position.id, team.id, hands.id});
            ServerDef def;
            def.schema = &schema;
            def.mac = &test_mac;
            def.secret = test_secret;
            const bool is_refused = !schema.problem().empty() || !problem_of(def).empty();
            CHECK(is_refused == is_position);
            CHECK(Server::create(def, game).has_value() != is_position);
            if (!is_position) continue;
            // The reason names the component, and what is wrong with it.
            const std::string reason =
                !schema.problem().empty() ? schema.problem() : problem_of(def);
            CAPTURE(reason);
            CHECK(reason.find("'place'") != std::string::npos);
            CHECK(reason.find("to everyone") != std::string::npos);
        }
    }
}

}  // namespace purview::test::component_interest
