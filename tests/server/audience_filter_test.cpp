// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "idle_game.hpp"
#include "support/stage.hpp"

namespace purview::test {

namespace {

/// Allows only the observer `chosen`.
class ChosenAudience final : public ComponentAudience {
  public:
    void decide(ObserverId observer, std::span<const EntityId> entities,
                std::span<std::uint8_t> result) const override {
        for (std::size_t i = 0; i < entities.size(); ++i) result[i] = observer == chosen ? 1 : 0;
    }
    ObserverId chosen = ObserverId::none;
};

struct Health {
    std::int16_t now = 0;
    std::int16_t most = 0;
};

/// One component with the audience `type`, and one for everyone.
struct AudienceSchema {
    explicit AudienceSchema(AudienceType type, bool keeps = false) {
        team = schema.component<Body>("team").integer("team", &Body::team, 0, 8);
        health = schema.component<Health>("health")
                     .integer("now", &Health::now, -10, 1000)
                     .integer("most", &Health::most, -10, 1000);
        const KeyId domain = schema.key("team", team.id, "team");
        schema.audience(health.id, {type, domain, &chosen, keeps});
        RpcDesc desc;
        desc.delivery = RpcDelivery::reliable_ordered;
        hit = schema.rpc<Health>("hit", desc)
                  .integer("now", &Health::now, -10, 1000)
                  .integer("most", &Health::most, -10, 1000);
        soldier = schema.kind("soldier", {team.id, health.id});
        stone = schema.kind("stone", {health.id});
        REQUIRE(schema.problem().empty());
    }
    Schema schema;
    ChosenAudience chosen;
    Component<Body> team;
    Component<Health> health;
    Rpc<Health> hit;
    KindId soldier{}, stone{};
};

double health_of(Stage& stage, std::uint32_t client, EntityId entity, const AudienceSchema& setup) {
    const GhostId ghost = stage.ghost(client, entity);
    REQUIRE(ghost != GhostId::none);
    return stage.clients[client]->value_of(ghost, setup.health.id, 0);
}
bool is_replicated(Stage& stage, std::uint32_t client, EntityId entity,
                   const AudienceSchema& setup) {
    return stage.clients[client]->is_replicated(stage.ghost(client, entity), setup.health.id);
}

}  // namespace

TEST_CASE("audience: a component for the owner, the others or the owner team (F22 M27 O34)") {
    for (const AudienceType type :
         {AudienceType::owner, AudienceType::others, AudienceType::same_key}) {
        const AudienceSchema setup(type);
        Stage stage(setup.schema, 3);
        std::vector<EntityId> soldiers;
        for (std::uint32_t i = 0; i < 3; ++i) {
            soldiers.push_back(stage.spawn(setup.soldier));
            stage.world().edit(soldiers[i], setup.team)->team = i == 0 ? 2 : 1;
            *stage.world().edit(soldiers[i], setup.health) = {static_cast<std::int16_t>(100 + i),
                                                              500};
            CHECK(stage.world().set_owner(soldiers[i], stage.observers[i]) == Status::ok);
            CHECK(stage.visibility().set_viewpoint(stage.observers[i], soldiers[i]) == Status::ok);
        }
        stage.step(4);
        for (std::uint32_t index = 0; index < 3; ++index) {
            for (std::uint32_t owner_index = 0; owner_index < 3; ++owner_index) {
                CAPTURE(index);
                CAPTURE(owner_index);
                const bool replicated = type == AudienceType::owner ? index == owner_index
                                        : type == AudienceType::others
                                            ? index != owner_index
                                            : (index == 0) == (owner_index == 0);
                CHECK(is_replicated(stage, index, soldiers[owner_index], setup) == replicated);
                // Without the component the ghost has zeros, not the lowest values of the fields.
                CHECK(health_of(stage, index, soldiers[owner_index], setup) ==
                      (replicated ? 100.0 + owner_index : 0.0));
            }
        }
        // An audience hides a component, never the entity.
        CHECK(stage.clients[0]->ghost_count() == 3);
    }
}

TEST_CASE("audience: gaining a component sends all of it, losing it is reported (F25)") {
    for (const bool keeps : {false, true}) {
        AudienceSchema setup(AudienceType::custom, keeps);
        Stage stage(setup.schema, 2);
        const EntityId soldier = stage.spawn(setup.soldier), stone = stage.spawn(setup.stone);
        *stage.world().edit(soldier, setup.health) = {77, 500};
        *stage.world().edit(stone, setup.health) = {33, 500};
        stage.step(4);
        CHECK_FALSE(is_replicated(stage, 0, soldier, setup));
        CHECK(health_of(stage, 0, soldier, setup) == 0);
        stage.step(30);  // long after the last change
        setup.chosen.chosen = stage.observers[0];
        stage.step(2);
        CHECK(is_replicated(stage, 0, soldier, setup));
        CHECK(health_of(stage, 0, soldier, setup) == 77);
        CHECK(health_of(stage, 0, stone, setup) == 33);
        CHECK(stage.clients[0]->value_of(stage.ghost(0, soldier), setup.health.id, 1) == 500);
        CHECK_FALSE(is_replicated(stage, 1, soldier, setup));
        setup.chosen.chosen = ObserverId::none;
        stage.step(2);
        CHECK_FALSE(is_replicated(stage, 0, soldier, setup));
        CHECK(health_of(stage, 0, soldier, setup) == (keeps ? 77 : 0));
        stage.world().edit(soldier, setup.health)->now = 55;  // not for this client
        stage.step(2);
        CHECK(health_of(stage, 0, soldier, setup) == (keeps ? 77 : 0));
        setup.chosen.chosen = stage.observers[0];
        stage.step(2);
        CHECK(health_of(stage, 0, soldier, setup) == 55);
        CHECK(health_of(stage, 0, stone, setup) == 33);
    }
}

TEST_CASE("audience: a component goes to its owner, to all, then to its owner again (M27)") {
    class Switched final : public ComponentAudience {
      public:
        void decide(ObserverId observer, std::span<const EntityId> entities,
                    std::span<std::uint8_t> result) const override {
            for (std::size_t i = 0; i < entities.size(); ++i)
                result[i] = world->owner_of(entities[i]) == observer || entities[i] == open ? 1 : 0;
        }
        const World* world = nullptr;
        EntityId open = EntityId::none;
    };
    AudienceSchema setup(AudienceType::custom);
    Switched mode;
    setup.schema.audience(setup.health.id, {AudienceType::custom, {}, &mode, false});
    Stage stage(setup.schema, 2);
    const EntityId one = stage.spawn(setup.soldier), other = stage.spawn(setup.soldier);
    for (const EntityId entity : {one, other})
        *stage.world().edit(entity, setup.health) = {70, 500};
    mode.world = &stage.world();
    for (const EntityId entity : {one, other})
        CHECK(stage.world().set_owner(entity, stage.observers[0]) == Status::ok);
    stage.step(4);
    const auto expect = [&](EntityId entity, bool owner, bool others) {
        CHECK(health_of(stage, 0, entity, setup) == (owner ? 70 : 0));
        CHECK(health_of(stage, 1, entity, setup) == (others ? 70 : 0));
    };
    expect(one, true, false);
    expect(other, true, false);
    mode.open = one;
    stage.step(3);
    expect(one, true, true);
    expect(other, true, false);
    mode.open = EntityId::none;
    stage.step(3);
    expect(one, true, false);
}

TEST_CASE("audience: changes of owners, teams and viewpoints take effect (F22 F25 M27)") {
    constexpr std::uint32_t clients = 3, soldiers = 4;
    constexpr KeyId teams = id_at<KeyId>(0);
    for (const AudienceType type :
         {AudienceType::owner, AudienceType::others, AudienceType::same_key}) {
        const AudienceSchema setup(type);
        Stage stage(setup.schema, clients);
        SplitMix random(static_cast<std::uint64_t>(type) + 1);
        struct Soldier {
            EntityId id;
            std::uint32_t owner = clients;  ///< or none
            std::uint8_t team = 0;          ///< 0: none
            std::int16_t now = 0;
        };
        std::vector<Soldier> all(soldiers);
        std::array<std::uint32_t, clients> main{soldiers, soldiers, soldiers};  // or none
        std::array<std::uint8_t, clients> own{}, more{};
        for (Soldier& one : all) one.id = stage.spawn(setup.soldier);
        stage.step(4);
        std::size_t replicated_count = 0, changes = 0;
        std::array<bool, clients * soldiers> before{};
        for (int round = 0; round < 450; ++round) {
            Soldier& one = all[random.below(soldiers)];
            const std::uint32_t index = random.below(clients);
            const ObserverId observer = stage.observers[index];
            switch (random.below(7)) {
                case 0:
                    one.owner = random.below(clients + 1);
                    REQUIRE(stage.world().set_owner(one.id, one.owner == clients
                                                                ? ObserverId::none
                                                                : stage.observers[one.owner]) ==
                            Status::ok);
                    break;
                case 1:
                    one.team = static_cast<std::uint8_t>(random.below(3));
                    stage.world().edit(one.id, setup.team)->team = one.team;
                    break;
                case 2:
                    main[index] = random.below(soldiers + 1);
                    REQUIRE(stage.visibility().set_viewpoint(
                                stage.observers[index],
                                main[index] == soldiers ? EntityId::none : all[main[index]].id) ==
                            Status::ok);
                    break;
                case 3: {  // another entity in its place
                    REQUIRE(stage.world().despawn(one.id) == Status::ok);
                    for (std::uint32_t& its : main) {
                        if (its < soldiers && &all[its] == &one) its = soldiers;
                    }
                    one = {stage.spawn(setup.soldier)};
                    break;
                }
                case 4:  // the key of an observer without a viewpoint
                    own[index] = static_cast<std::uint8_t>(random.below(3));
                    REQUIRE(stage.visibility().set_key(observer, teams, Key{own[index]}) ==
                            Status::ok);
                    break;
                case 5:  // and an additional key
                    if (more[index] != 0) {
                        REQUIRE(stage.visibility().remove_key(observer, teams, Key{more[index]}) ==
                                Status::ok);
                    }
                    more[index] = static_cast<std::uint8_t>(random.below(3));
                    if (more[index] != 0) {
                        REQUIRE(stage.visibility().add_key(observer, teams, Key{more[index]}) ==
                                Status::ok);
                    }
                    break;
                default:
                    one.now = static_cast<std::int16_t>(random.below(900));
                    stage.world().edit(one.id, setup.health)->now = one.now;
            }
            stage.step(random.below(4) == 0 ? 3 : 2);
            for (std::uint32_t c = 0; c < clients; ++c) {
                for (std::uint32_t i = 0; i < soldiers; ++i) {
                    const bool owns = all[i].owner == c;
                    const std::uint8_t its_own = main[c] != soldiers ? all[main[c]].team : own[c];
                    const std::uint8_t team = all[i].team;
                    const bool is_of_team = team != 0 && (team == its_own || team == more[c]);
                    const bool replicated = type == AudienceType::owner    ? owns
                                            : type == AudienceType::others ? !owns
                                                                           : owns || is_of_team;
                    REQUIRE(is_replicated(stage, c, all[i].id, setup) == replicated);
                    REQUIRE(health_of(stage, c, all[i].id, setup) == (replicated ? all[i].now : 0));
                    replicated_count += replicated ? 1 : 0;
                    changes += replicated != before[c * soldiers + i] ? 1 : 0;
                    before[c * soldiers + i] = replicated;
                }
            }
        }
        CHECK(replicated_count > 300);
        CHECK(changes > 50);
    }
}

TEST_CASE("audience: a new parent reaches clients that receive nothing else of the entity") {
    const AudienceSchema setup(AudienceType::owner);
    Stage stage(setup.schema, 2);
    std::array<EntityId, 3> stones;
    for (EntityId& one : stones) one = stage.spawn(setup.stone);
    REQUIRE(stage.world().attach(stones[1], stones[0]) == Status::ok);
    REQUIRE(stage.world().attach(stones[2], stones[0]) == Status::ok);
    stage.step(4);
    const auto parent_of = [&](std::uint32_t client, EntityId entity) {
        return stage.clients[client]->parent_of(stage.ghost(client, entity));
    };
    for (const EntityId parent : {stones[1], stones[0], stones[1]}) {
        REQUIRE(stage.world().attach(stones[2], parent) == Status::ok);
        stage.step(3);
        for (const std::uint32_t client : {0U, 1U})
            CHECK(parent_of(client, stones[2]) == stage.ghost(client, parent));
    }
}

TEST_CASE("audience: an update with all components for one client is not sent to another") {
    for (const std::uint32_t index : {0U, 1U}) {
        AudienceSchema setup(AudienceType::custom);
        Stage stage(setup.schema, 2);
        const EntityId soldier = stage.spawn(setup.soldier);
        setup.chosen.chosen = stage.observers[index];
        stage.step(30);  // both clients are settled by now
        for (std::uint8_t i = 1; i <= 5; ++i) {
            stage.world().edit(soldier, setup.team)->team = i;
            stage.world().edit(soldier, setup.health)->now = i;
            stage.step(3);
            for (std::uint32_t one : {0U, 1U}) {
                CAPTURE(index);
                CAPTURE(one);
                const GhostId ghost = stage.ghost(one, soldier);
                CHECK(stage.clients[one]->value_of(ghost, setup.team.id, 0) == i);
                CHECK(health_of(stage, one, soldier, setup) == (one == index ? i : 0));
            }
        }
    }
}

TEST_CASE("audience: components with four audiences stay correct under packet loss (F25)") {
    constexpr std::uint32_t clients = 3, soldiers = 3, parts = 4;
    constexpr std::array<AudienceType, parts> types{AudienceType::owner, AudienceType::others,
                                                    AudienceType::same_key, AudienceType::custom};
    struct Uniform {
        std::uint8_t team = 0;
        std::uint16_t armour = 0;
    };
    ChosenAudience chosen;
    Schema schema;
    const Component<Uniform> team = schema.component<Uniform>("team")
                                        .integer("team", &Uniform::team, 0, 8)
                                        .integer("armour", &Uniform::armour, 0, 1000);
    const KeyId domain = schema.key("team", team.id, "team");
    std::array<Component<Health>, parts> part;
    std::vector<ComponentId> ids{team.id};
    for (std::uint32_t p = 0; p < parts; ++p) {
        part[p] = schema.component<Health>("part " + std::to_string(p))
                      .integer("now", &Health::now, -10, 1000)
                      .integer("most", &Health::most, -10, 1000);
        schema.audience(part[p].id, {types[p], domain, &chosen, false});
        ids.push_back(part[p].id);
    }
    const KindId kind = schema.kind("soldier", ids);
    REQUIRE(schema.problem().empty());
    Stage stage(schema, clients);
    SplitMix random(7);
    struct Soldier {
        EntityId id;
        std::uint32_t owner = clients;  ///< or none
        Uniform uniform{};
        std::array<std::int16_t, parts> now{};
    };
    std::array<Soldier, soldiers> all;
    for (Soldier& one : all) one.id = stage.spawn(kind);
    std::array<std::uint32_t, clients> main{};
    std::array<std::uint32_t, 1 << parts> seen{};  // combinations of replicated components
    const auto edit = [&](Soldier& one) {
        switch (random.below(8)) {
            case 0:
                one.owner = random.below(clients + 1);
                (void)stage.world().set_owner(
                    one.id, one.owner == clients ? ObserverId::none : stage.observers[one.owner]);
                return;
            case 1:
                one.uniform.team = static_cast<std::uint8_t>(random.below(3));
                stage.world().edit(one.id, team)->team = one.uniform.team;
                return;
            case 2: {
                const std::uint32_t c = random.below(clients);
                main[c] = random.below(soldiers);
                (void)stage.visibility().set_viewpoint(stage.observers[c], all[main[c]].id);
                return;
            }
            case 3:
                chosen.chosen = stage.observers[random.below(clients)];
                return;
            case 4:
                one.uniform.armour = static_cast<std::uint16_t>(random.below(1000));
                stage.world().edit(one.id, team)->armour = one.uniform.armour;
                return;
            default: {
                const std::uint32_t p = random.below(parts);
                one.now[p] = static_cast<std::int16_t>(1 + random.below(900));
                stage.world().edit(one.id, part[p])->now = one.now[p];
            }
        }
    };
    for (std::uint32_t c = 0; c < clients; ++c)
        (void)stage.visibility().set_viewpoint(stage.observers[c], all[0].id);
    stage.step(4);
    for (int round = 0; round < 250; ++round) {
        stage.loss = 0.4F;
        for (std::uint32_t i = random.below(6); i > 0; --i) {
            edit(all[random.below(soldiers)]);
            stage.step(random.below(3));
        }
        stage.loss = 0;
        stage.step(8);
        for (std::uint32_t i = random.below(3); i > 0; --i) {  // settled by now
            edit(all[random.below(soldiers)]);
            stage.step(4);
        }
        for (std::uint32_t c = 0; c < clients; ++c) {
            for (const Soldier& one : all) {
                const Client& client = *stage.clients[c];
                const GhostId ghost = stage.ghost(c, one.id);
                REQUIRE(ghost != GhostId::none);
                REQUIRE(client.value_of(ghost, team.id, 0) == one.uniform.team);
                REQUIRE(client.value_of(ghost, team.id, 1) == one.uniform.armour);
                const bool owns = one.owner == c;
                const bool is_of_team =
                    one.uniform.team != 0 && all[main[c]].uniform.team == one.uniform.team;
                const std::array<bool, parts> replicated{owns, !owns, owns || is_of_team,
                                                         chosen.chosen == stage.observers[c]};
                std::size_t combination = 0;
                for (std::uint32_t p = 0; p < parts; ++p) {
                    CAPTURE(p);
                    REQUIRE(client.is_replicated(ghost, part[p].id) == replicated[p]);
                    REQUIRE(client.value_of(ghost, part[p].id, 0) ==
                            (replicated[p] ? one.now[p] : 0));
                    combination |= std::size_t{replicated[p]} << p;
                }
                ++seen[combination];
            }
        }
    }
    CHECK(seen[0b0010] > 100);  // the most frequent combination
    CHECK(std::count_if(seen.begin(), seen.end(), [](std::uint32_t n) { return n > 20; }) >= 6);
}

TEST_CASE("audience: a gained component that is lost in transit is sent again (F25)") {
    AudienceSchema setup(AudienceType::custom);
    Stage stage(setup.schema, 1);
    const EntityId soldier = stage.spawn(setup.soldier);
    *stage.world().edit(soldier, setup.health) = {77, 500};
    stage.step(4);
    stage.loses_all_to = 0;
    setup.chosen.chosen = stage.observers[0];
    stage.step(3);
    stage.world().edit(soldier, setup.health)->now = 78;  // only this one field changes
    stage.step(3);
    stage.loses_all_to = 99;
    stage.step(12);
    CHECK(health_of(stage, 0, soldier, setup) == 78);
    CHECK(stage.clients[0]->value_of(stage.ghost(0, soldier), setup.health.id, 1) == 500);
}

TEST_CASE("audience: a hidden component is not sent with a visible one that changes too") {
    const AudienceSchema setup(AudienceType::owner);
    Stage stage(setup.schema, 2);
    const EntityId soldier = stage.spawn(setup.soldier);
    CHECK(stage.world().set_owner(soldier, stage.observers[0]) == Status::ok);
    stage.step(10);
    stage.world().edit(soldier, setup.team)->team = 3;
    *stage.world().edit(soldier, setup.health) = {77, 500};
    stage.step(2);
    for (std::uint32_t index = 0; index < 2; ++index) {
        const GhostId ghost = stage.ghost(index, soldier);
        CHECK(stage.clients[index]->value_of(ghost, setup.team.id, 0) == 3);
        CHECK(health_of(stage, index, soldier, setup) == (index == 0 ? 77 : 0));
    }
}

TEST_CASE("audience: a change of a component costs no bytes for clients that do not get it") {
    AudienceSchema setup(AudienceType::custom);
    Stage stage(setup.schema, 2);
    const EntityId soldier = stage.spawn(setup.soldier);
    setup.chosen.chosen = stage.observers[1];
    stage.step(30);
    const std::uint64_t before[2] = {stage.bytes_to[0], stage.bytes_to[1]};
    for (int i = 0; i < 60; ++i) {
        stage.world().edit(soldier, setup.health)->now = static_cast<std::int16_t>(i);
        stage.step();
    }
    CHECK(stage.bytes_to[0] - before[0] < 60 * 12);  // occasional acknowledgements
    CHECK(stage.bytes_to[1] - before[1] > 60 * 14);
}

TEST_CASE("audience: a change of a hidden component does not resend data in flight") {
    std::uint64_t bytes[2] = {};
    for (const bool changes : {false, true}) {
        AudienceSchema setup(AudienceType::custom);
        Stage stage(setup.schema, 1);
        const EntityId soldier = stage.spawn(setup.soldier);
        stage.step(10);
        stage.loses_all_to = 0;
        stage.world().edit(soldier, setup.team)->team = 3;
        for (std::int16_t i = 0; i < 6; ++i) {
            stage.step();
            if (changes) stage.world().edit(soldier, setup.health)->now = i;
        }
        bytes[changes ? 1 : 0] = stage.bytes_to[0];
    }
    CHECK(bytes[0] == bytes[1]);
}

TEST_CASE("audience: a hidden change resends nothing, even beside a restricted component") {
    std::uint64_t bytes[2] = {};
    for (const bool changes : {false, true}) {
        AudienceSchema setup(AudienceType::custom);
        ChosenAudience hides_from_all;
        const Component<Health> armour =
            setup.schema.component<Health>("armour").integer("now", &Health::now, -10, 1000);
        setup.schema.audience(armour.id, {AudienceType::custom, {}, &hides_from_all});
        const KindId knight =
            setup.schema.kind("knight", {setup.team.id, setup.health.id, armour.id});
        REQUIRE(setup.schema.problem().empty());
        Stage stage(setup.schema, 1);
        const EntityId one = stage.spawn(knight);
        setup.chosen.chosen = stage.observers[0];
        stage.step(10);
        REQUIRE(is_replicated(stage, 0, one, setup));
        stage.loses_all_to = 0;
        stage.world().edit(one, setup.team)->team = 3;
        for (std::int16_t i = 0; i < 6; ++i) {
            stage.step();
            if (changes) stage.world().edit(one, armour)->now = i;
        }
        bytes[changes ? 1 : 0] = stage.bytes_to[0];
    }
    CHECK(bytes[0] == bytes[1]);
}

namespace {

struct Target {
    EntityId at = EntityId::none;
};

/// Returns the hash of all packets to a client that sees a soldier, but not its component `target`.
/// Its reference changes (`names_another`), or refers to a post that is hidden and shown
/// (`names_leaving_ghosts`).
std::uint64_t hash_of_packets(bool names_another, bool names_leaving_ghosts) {
    Schema schema;
    ChosenAudience hides_from_all;
    const Component<Body> team = schema.component<Body>("team").integer("team", &Body::team, 0, 8);
    const Component<Target> target =
        schema.component<Target>("target").reference("at", &Target::at);
    schema.audience(target.id, {AudienceType::custom, {}, &hides_from_all});
    const KindId soldier_kind = schema.kind("soldier", {team.id, target.id});
    const KindId post_kind = schema.kind("post", {team.id});
    REQUIRE(schema.problem().empty());
    Stage stage(schema, 1);
    const EntityId soldier = stage.spawn(soldier_kind);
    const EntityId posts[3] = {stage.spawn(post_kind), stage.spawn(post_kind),
                               stage.spawn(post_kind)};
    stage.world().edit(soldier, target)->at = posts[names_leaving_ghosts ? 2 : 0];
    stage.step(10);
    stage.loses_all_to = 0;
    stage.world().edit(soldier, team)->team = 3;
    for (unsigned i = 0; i < 6; ++i) {
        stage.step();
        if (names_another) stage.world().edit(soldier, target)->at = posts[i % 2];
        CHECK(stage.visibility().set_hidden(posts[2], i % 2 == 0) == Status::ok);
    }
    stage.loses_all_to = 99;
    stage.step(10);
    return stage.hash_to[0];
}

}  // namespace

TEST_CASE("audience: a hidden reference does not resend data in flight") {
    const std::uint64_t expected = hash_of_packets(false, false);
    CHECK(hash_of_packets(true, false) == expected);
    CHECK(hash_of_packets(false, true) == expected);
}

TEST_CASE("audience: an entity is encoded once for its owner and once for all others (M26)") {
    const AudienceSchema setup(AudienceType::owner);
    Stage stage(setup.schema, 8);
    const EntityId soldier = stage.spawn(setup.soldier);
    (void)stage.world().set_owner(soldier, stage.observers[0]);
    stage.step(20);
    const ServerStats before = stage.server->stats();
    for (int i = 1; i <= 10; ++i) {
        stage.world().edit(soldier, setup.team)->team = static_cast<std::uint8_t>(i % 8);
        stage.world().edit(soldier, setup.health)->now = static_cast<std::int16_t>(i);
        stage.step();
    }
    const ServerStats after = stage.server->stats();
    CHECK(after.encodings - before.encodings == 20);
    CHECK(after.encoding_uses - before.encoding_uses == 80);
}

TEST_CASE("audience: RPCs reach all clients that see the entity despite its audience (F22)") {
    AudienceSchema setup(AudienceType::custom);
    Stage stage(setup.schema, 2);
    const EntityId soldier = stage.spawn(setup.soldier);
    setup.chosen.chosen = stage.observers[1];
    stage.step(4);
    CHECK_FALSE(is_replicated(stage, 0, soldier, setup));
    CHECK(is_replicated(stage, 1, soldier, setup));
    CHECK(stage.server->call({.entity = soldier}, setup.hit, Health{3, 4}));
    stage.step(3);
    for (std::uint32_t index = 0; index < 2; ++index) {
        ReceivedRpc call;
        REQUIRE(stage.client(index).next_rpc(call));
        CHECK(call.ghost == stage.ghost(index, soldier));
        CHECK(call.number(0) == 3);
        CHECK_FALSE(stage.client(index).next_rpc(call));
    }
}

TEST_CASE("audience: invalid settings are refused") {
    Schema schema;
    const Component<Position> position = schema.component<Position>("place");
    Schema of_position = schema, no_key = schema, hides_from_all = schema;
    of_position.set_position(position.id);
    of_position.audience(position.id, {AudienceType::owner});
    CHECK(!of_position.problem().empty());
    no_key.audience(position.id, {AudienceType::same_key});
    CHECK(!no_key.problem().empty());
    hides_from_all.audience(position.id, {AudienceType::custom});
    CHECK(!hides_from_all.problem().empty());
    // Corrections send an owner all components that it predicts. So these audiences are refused, in
    // either order of the two calls.
    for (const AudienceType type : {AudienceType::others, AudienceType::staged}) {
        Schema first = schema, then = schema;
        first.audience(position.id, {type});
        first.predict(position.id);
        CHECK(!first.problem().empty());
        then.predict(position.id);
        then.audience(position.id, {type});
        CHECK(!then.problem().empty());
    }
    Schema own = schema;
    own.predict(position.id);
    own.audience(position.id, {AudienceType::owner});
    CHECK(own.problem().empty());
}

TEST_CASE("audience: packets do not show whether a component changed when access began") {
    // The data takes several packets, and some of them are lost.
    const auto all_of = [](bool is_written, std::uint64_t seed) {
        AudienceSchema setup(AudienceType::custom);
        ServerDef def;
        def.budget_bytes_per_tick = 9'600;
        Stage stage(setup.schema, 1, def);
        std::vector<EntityId> crowd;
        for (int i = 0; i < 800; ++i) {
            crowd.push_back(stage.spawn(setup.soldier));
            stage.world().edit(crowd.back(), setup.health)->now = is_written ? 1 : 2;
        }
        stage.step(10);
        std::string all;
        stage.keep_all = &all;
        stage.random = SplitMix(seed);
        stage.loss = 0.5F;
        setup.chosen.chosen = stage.observers[0];
        for (const EntityId one : crowd) stage.world().edit(one, setup.health)->now = 2;
        const std::uint64_t before = stage.datagrams_to[0];
        stage.step();
        CHECK(stage.datagrams_to[0] - before > 1);
        stage.loss = 0;
        for (std::uint8_t team = 1; team < 5; ++team) {  // only the team is sent
            for (const EntityId one : crowd) stage.world().edit(one, setup.team)->team = team;
            stage.step();
        }
        stage.step(6);
        for (const EntityId one : crowd) CHECK(health_of(stage, 0, one, setup) == 2);
        return all;
    };
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        CAPTURE(seed);
        CHECK(all_of(false, seed) == all_of(true, seed));
    }
}

}  // namespace purview::test
