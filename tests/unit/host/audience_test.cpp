// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "idle_game.hpp"
#include "stage.hpp"

namespace purview::test {

namespace {

/// Whomever the test names.
class ChosenAudience final : public ComponentAudience {
  public:
    void decide(ObserverId observer, std::span<const EntityId> entities,
                std::span<std::uint8_t> told) const override {
        for (std::size_t i = 0; i < entities.size(); ++i) told[i] = observer == chosen ? 1 : 0;
    }
    ObserverId chosen = ObserverId::none;
};

struct Health {
    std::int16_t now = 0;
    std::int16_t most = 0;
};

/// A component for each audience, and one for everyone.
struct AudienceSchema {
    explicit AudienceSchema(AudienceType type, bool keeps = false) {
        team = schema.component<Body>("team").integer("team", &Body::team, 0, 8);
        health = schema.component<Health>("health")
                     .integer("now", &Health::now, -10, 1000)
                     .integer("most", &Health::most, -10, 1000);
        const KeyDomain domain = schema.key("team", team.id, "team");
        schema.audience(health.id, {type, domain, &chosen, keeps});
        RpcDesc desc;
        desc.delivery = RpcDelivery::reliable_ordered;
        hit = schema.rpc<Health>("hit", desc)
                  .integer("now", &Health::now, -10, 1000)
                  .integer("most", &Health::most, -10, 1000);
        soldier = schema.kind("soldier", {team.id, health.id});
        stone = schema.kind("stone", {health.id});
        REQUIRE(schema.status() == Status::ok);
    }
    Schema schema;
    ChosenAudience chosen;
    Component<Body> team;
    Component<Health> health;
    Rpc<Health> hit;
    KindId soldier{}, stone{};
};

double health_of(Stage& stage, std::uint32_t client, EntityId entity, const AudienceSchema& is) {
    const GhostId ghost = stage.ghost(client, entity);
    REQUIRE(ghost != no_ghost);
    return stage.clients[client]->value_of(ghost, is.health.id, 0);
}
bool is_told(Stage& stage, std::uint32_t client, EntityId entity, const AudienceSchema& is) {
    return stage.clients[client]->is_told(stage.ghost(client, entity), is.health.id);
}

}  // namespace

TEST_CASE("audience: owner only, all but the owner, the owner's team (F22 F23 M27 O34)") {
    for (const AudienceType type :
         {AudienceType::owner, AudienceType::others, AudienceType::same_key}) {
        const AudienceSchema is(type);
        Stage stage(is.schema, 3);
        std::vector<EntityId> soldiers;
        for (std::uint32_t i = 0; i < 3; ++i) {
            soldiers.push_back(stage.spawn(is.soldier));
            stage.world().edit(soldiers[i], is.team)->team = i == 0 ? 2 : 1;
            *stage.world().edit(soldiers[i], is.health) = {static_cast<std::int16_t>(100 + i), 500};
            CHECK(stage.world().set_owner(soldiers[i], stage.observers[i]) == Status::ok);
            CHECK(stage.interest().set_main_entity(stage.observers[i], soldiers[i]) == Status::ok);
        }
        stage.step(4);
        for (std::uint32_t who = 0; who < 3; ++who) {
            for (std::uint32_t whose = 0; whose < 3; ++whose) {
                CAPTURE(who);
                CAPTURE(whose);
                const bool told = type == AudienceType::owner    ? who == whose
                                  : type == AudienceType::others ? who != whose
                                                                 : (who == 0) == (whose == 0);
                CHECK(is_told(stage, who, soldiers[whose], is) == told);
                // Whoever is not told has what a component of zeros has, not the lowest value.
                CHECK(health_of(stage, who, soldiers[whose], is) == (told ? 100.0 + whose : 0.0));
            }
        }
        // It hides a component, never the entity.
        CHECK(stage.clients[0]->ghost_count() == 3);
    }
}

TEST_CASE(
    "audience: who is told from now on gets everything, who is not any more is told so (F25)") {
    for (const bool keeps : {false, true}) {
        AudienceSchema is(AudienceType::custom, keeps);
        Stage stage(is.schema, 2);
        const EntityId soldier = stage.spawn(is.soldier), stone = stage.spawn(is.stone);
        *stage.world().edit(soldier, is.health) = {77, 500};
        *stage.world().edit(stone, is.health) = {33, 500};
        stage.step(4);
        CHECK_FALSE(is_told(stage, 0, soldier, is));
        CHECK(health_of(stage, 0, soldier, is) == 0);
        stage.step(30);  // long after the last change
        is.chosen.chosen = stage.observers[0];
        stage.step(2);
        CHECK(is_told(stage, 0, soldier, is));
        CHECK(health_of(stage, 0, soldier, is) == 77);
        CHECK(health_of(stage, 0, stone, is) == 33);
        CHECK(stage.clients[0]->value_of(stage.ghost(0, soldier), is.health.id, 1) == 500);
        CHECK_FALSE(is_told(stage, 1, soldier, is));
        is.chosen.chosen = ObserverId::none;
        stage.step(2);
        CHECK_FALSE(is_told(stage, 0, soldier, is));
        CHECK(health_of(stage, 0, soldier, is) == (keeps ? 77 : 0));
        stage.world().edit(soldier, is.health)->now = 55;  // not his business
        stage.step(2);
        CHECK(health_of(stage, 0, soldier, is) == (keeps ? 77 : 0));
        is.chosen.chosen = stage.observers[0];
        stage.step(2);
        CHECK(health_of(stage, 0, soldier, is) == 55);
        CHECK(health_of(stage, 0, stone, is) == 33);
    }
}

TEST_CASE(
    "audience: an entity's component is for its owner, then for all, then for its owner (M27)") {
    class Switched final : public ComponentAudience {
      public:
        void decide(ObserverId observer, std::span<const EntityId> entities,
                    std::span<std::uint8_t> told) const override {
            for (std::size_t i = 0; i < entities.size(); ++i)
                told[i] = world->owner_of(entities[i]) == observer || entities[i] == open ? 1 : 0;
        }
        const World* world = nullptr;
        EntityId open = EntityId::none;
    };
    AudienceSchema is(AudienceType::custom);
    Switched mode;
    is.schema.audience(is.health.id, {AudienceType::custom, {}, &mode, false});
    Stage stage(is.schema, 2);
    const EntityId one = stage.spawn(is.soldier), other = stage.spawn(is.soldier);
    for (const EntityId entity : {one, other}) *stage.world().edit(entity, is.health) = {70, 500};
    mode.world = &stage.world();
    for (const EntityId entity : {one, other})
        CHECK(stage.world().set_owner(entity, stage.observers[0]) == Status::ok);
    stage.step(4);
    const auto expect = [&](EntityId entity, bool owner, bool others) {
        CHECK(health_of(stage, 0, entity, is) == (owner ? 70 : 0));
        CHECK(health_of(stage, 1, entity, is) == (others ? 70 : 0));
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

TEST_CASE("audience: owners, teams and main entities that change are noticed (F22 F25 M27)") {
    constexpr std::uint32_t clients = 3, soldiers = 4;
    constexpr KeyDomain teams{0};
    for (const AudienceType type :
         {AudienceType::owner, AudienceType::others, AudienceType::same_key}) {
        const AudienceSchema is(type);
        Stage stage(is.schema, clients);
        SplitMix random(static_cast<std::uint64_t>(type) + 1);
        struct Soldier {
            EntityId id;
            std::uint32_t owner = clients;  ///< or nobody
            std::uint8_t team = 0;          ///< 0: none
            std::int16_t now = 0;
        };
        std::vector<Soldier> all(soldiers);
        std::array<std::uint32_t, clients> main{soldiers, soldiers, soldiers};  // or nobody
        std::array<std::uint8_t, clients> own{}, more{};
        for (Soldier& one : all) one.id = stage.spawn(is.soldier);
        stage.step(4);
        std::size_t told_count = 0, changes = 0;
        std::array<bool, clients * soldiers> before{};
        for (int round = 0; round < 450; ++round) {
            Soldier& one = all[random.below(soldiers)];
            const std::uint32_t who = random.below(clients);
            const ObserverId observer = stage.observers[who];
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
                    stage.world().edit(one.id, is.team)->team = one.team;
                    break;
                case 2:
                    main[who] = random.below(soldiers + 1);
                    REQUIRE(stage.interest().set_main_entity(
                                stage.observers[who],
                                main[who] == soldiers ? EntityId::none : all[main[who]].id) ==
                            Status::ok);
                    break;
                case 3: {  // another one in its place
                    REQUIRE(stage.world().despawn(one.id) == Status::ok);
                    for (std::uint32_t& its : main) {
                        if (its < soldiers && &all[its] == &one) its = soldiers;
                    }
                    one = {stage.spawn(is.soldier)};
                    break;
                }
                case 4:  // what he has while nobody stands for him
                    own[who] = static_cast<std::uint8_t>(random.below(3));
                    REQUIRE(stage.interest().set_observer_key(observer, teams, Key{own[who]}) ==
                            Status::ok);
                    break;
                case 5:  // and beside that
                    if (more[who] != 0) {
                        REQUIRE(stage.interest().remove_observer_key(observer, teams,
                                                                     Key{more[who]}) == Status::ok);
                    }
                    more[who] = static_cast<std::uint8_t>(random.below(3));
                    if (more[who] != 0) {
                        REQUIRE(stage.interest().add_observer_key(observer, teams,
                                                                  Key{more[who]}) == Status::ok);
                    }
                    break;
                default:
                    one.now = static_cast<std::int16_t>(random.below(900));
                    stage.world().edit(one.id, is.health)->now = one.now;
            }
            stage.step(random.below(4) == 0 ? 3 : 2);
            for (std::uint32_t c = 0; c < clients; ++c) {
                for (std::uint32_t i = 0; i < soldiers; ++i) {
                    const bool owns = all[i].owner == c;
                    const std::uint8_t his = main[c] != soldiers ? all[main[c]].team : own[c];
                    const std::uint8_t team = all[i].team;
                    const bool is_of_team = team != 0 && (team == his || team == more[c]);
                    const bool told = type == AudienceType::owner    ? owns
                                      : type == AudienceType::others ? !owns
                                                                     : owns || is_of_team;
                    REQUIRE(is_told(stage, c, all[i].id, is) == told);
                    REQUIRE(health_of(stage, c, all[i].id, is) == (told ? all[i].now : 0));
                    told_count += told ? 1 : 0;
                    changes += told != before[c * soldiers + i] ? 1 : 0;
                    before[c * soldiers + i] = told;
                }
            }
        }
        CHECK(told_count > 300);
        CHECK(changes > 50);
    }
}

TEST_CASE("audience: another parent is told to whoever is told nothing else") {
    const AudienceSchema is(AudienceType::owner);
    Stage stage(is.schema, 2);
    std::array<EntityId, 3> stones;
    for (EntityId& one : stones) one = stage.spawn(is.stone);
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

TEST_CASE("audience: what is all for one observer is not taken for all of another") {
    for (const std::uint32_t who : {0U, 1U}) {
        AudienceSchema is(AudienceType::custom);
        Stage stage(is.schema, 2);
        const EntityId soldier = stage.spawn(is.soldier);
        is.chosen.chosen = stage.observers[who];
        stage.step(30);  // nothing is special about either by now
        for (std::uint8_t i = 1; i <= 5; ++i) {
            stage.world().edit(soldier, is.team)->team = i;
            stage.world().edit(soldier, is.health)->now = i;
            stage.step(3);
            for (std::uint32_t one : {0U, 1U}) {
                CAPTURE(who);
                CAPTURE(one);
                const GhostId ghost = stage.ghost(one, soldier);
                CHECK(stage.clients[one]->value_of(ghost, is.team.id, 0) == i);
                CHECK(health_of(stage, one, soldier, is) == (one == who ? i : 0));
            }
        }
    }
}

TEST_CASE("audience: one entity with a component for each of them, on a bad line (F25)") {
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
    const KeyDomain domain = schema.key("team", team.id, "team");
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
    REQUIRE(schema.status() == Status::ok);
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
    std::array<std::uint32_t, 1 << parts> seen{};  // combinations of what one is told
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
                (void)stage.interest().set_main_entity(stage.observers[c], all[main[c]].id);
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
        (void)stage.interest().set_main_entity(stage.observers[c], all[0].id);
    stage.step(4);
    for (int round = 0; round < 250; ++round) {
        stage.loss = 0.4F;
        for (std::uint32_t i = random.below(6); i > 0; --i) {
            edit(all[random.below(soldiers)]);
            stage.step(random.below(3));
        }
        stage.loss = 0;
        stage.step(8);
        for (std::uint32_t i = random.below(3); i > 0; --i) {  // nothing is special by now
            edit(all[random.below(soldiers)]);
            stage.step(4);
        }
        for (std::uint32_t c = 0; c < clients; ++c) {
            for (const Soldier& one : all) {
                const Client& client = *stage.clients[c];
                const GhostId ghost = stage.ghost(c, one.id);
                REQUIRE(ghost != no_ghost);
                REQUIRE(client.value_of(ghost, team.id, 0) == one.uniform.team);
                REQUIRE(client.value_of(ghost, team.id, 1) == one.uniform.armour);
                const bool owns = one.owner == c;
                const bool is_of_team =
                    one.uniform.team != 0 && all[main[c]].uniform.team == one.uniform.team;
                const std::array<bool, parts> told{owns, !owns, owns || is_of_team,
                                                   chosen.chosen == stage.observers[c]};
                std::size_t combination = 0;
                for (std::uint32_t p = 0; p < parts; ++p) {
                    CAPTURE(p);
                    REQUIRE(client.is_told(ghost, part[p].id) == told[p]);
                    REQUIRE(client.value_of(ghost, part[p].id, 0) == (told[p] ? one.now[p] : 0));
                    combination |= std::size_t{told[p]} << p;
                }
                ++seen[combination];
            }
        }
    }
    CHECK(seen[0b0010] > 100);  // what most are told
    CHECK(std::count_if(seen.begin(), seen.end(), [](std::uint32_t n) { return n > 20; }) >= 6);
}

TEST_CASE("audience: a gain that is lost on the way is told again (F25)") {
    AudienceSchema is(AudienceType::custom);
    Stage stage(is.schema, 1);
    const EntityId soldier = stage.spawn(is.soldier);
    *stage.world().edit(soldier, is.health) = {77, 500};
    stage.step(4);
    stage.loses_all_to = 0;
    is.chosen.chosen = stage.observers[0];
    stage.step(3);
    stage.world().edit(soldier, is.health)->now = 78;  // only this one field changes
    stage.step(3);
    stage.loses_all_to = 99;
    stage.step(12);
    CHECK(health_of(stage, 0, soldier, is) == 78);
    CHECK(stage.clients[0]->value_of(stage.ghost(0, soldier), is.health.id, 1) == 500);
}

TEST_CASE("audience: what changes together with what is told is not told with it") {
    const AudienceSchema is(AudienceType::owner);
    Stage stage(is.schema, 2);
    const EntityId soldier = stage.spawn(is.soldier);
    CHECK(stage.world().set_owner(soldier, stage.observers[0]) == Status::ok);
    stage.step(10);
    stage.world().edit(soldier, is.team)->team = 3;
    *stage.world().edit(soldier, is.health) = {77, 500};
    stage.step(2);
    for (std::uint32_t who = 0; who < 2; ++who) {
        const GhostId ghost = stage.ghost(who, soldier);
        CHECK(stage.clients[who]->value_of(ghost, is.team.id, 0) == 3);
        CHECK(health_of(stage, who, soldier, is) == (who == 0 ? 77 : 0));
    }
}

TEST_CASE("audience: what changes beside it costs who is not told nothing") {
    AudienceSchema is(AudienceType::custom);
    Stage stage(is.schema, 2);
    const EntityId soldier = stage.spawn(is.soldier);
    is.chosen.chosen = stage.observers[1];
    stage.step(30);
    const std::uint64_t before[2] = {stage.bytes_to[0], stage.bytes_to[1]};
    for (int i = 0; i < 60; ++i) {
        stage.world().edit(soldier, is.health)->now = static_cast<std::int16_t>(i);
        stage.step();
    }
    CHECK(stage.bytes_to[0] - before[0] < 60 * 12);  // acknowledgements now and then
    CHECK(stage.bytes_to[1] - before[1] > 60 * 14);
}

TEST_CASE("audience: a change that is not told does not send again what is under way") {
    std::uint64_t bytes[2] = {};
    for (const bool changes : {false, true}) {
        AudienceSchema is(AudienceType::custom);
        Stage stage(is.schema, 1);
        const EntityId soldier = stage.spawn(is.soldier);
        stage.step(10);
        stage.loses_all_to = 0;
        stage.world().edit(soldier, is.team)->team = 3;
        for (std::int16_t i = 0; i < 6; ++i) {
            stage.step();
            if (changes) stage.world().edit(soldier, is.health)->now = i;
        }
        bytes[changes ? 1 : 0] = stage.bytes_to[0];
    }
    CHECK(bytes[0] == bytes[1]);
}

TEST_CASE(
    "audience: a change that is not told sends nothing again to who is told something else that is "
    "for some only") {
    std::uint64_t bytes[2] = {};
    for (const bool changes : {false, true}) {
        AudienceSchema is(AudienceType::custom);
        ChosenAudience nobody;
        const Component<Health> armour =
            is.schema.component<Health>("armour").integer("now", &Health::now, -10, 1000);
        is.schema.audience(armour.id, {AudienceType::custom, {}, &nobody});
        const KindId knight = is.schema.kind("knight", {is.team.id, is.health.id, armour.id});
        REQUIRE(is.schema.status() == Status::ok);
        Stage stage(is.schema, 1);
        const EntityId one = stage.spawn(knight);
        is.chosen.chosen = stage.observers[0];
        stage.step(10);
        REQUIRE(is_told(stage, 0, one, is));
        stage.loses_all_to = 0;
        stage.world().edit(one, is.team)->team = 3;
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

/// A reference that is for others, in a soldier who is seen, to posts that are seen or not.
std::uint64_t hash_of_packets(bool names_another, bool names_whoever_goes) {
    Schema schema;
    ChosenAudience nobody;
    const Component<Body> team = schema.component<Body>("team").integer("team", &Body::team, 0, 8);
    const Component<Target> target =
        schema.component<Target>("target").reference("at", &Target::at);
    schema.audience(target.id, {AudienceType::custom, {}, &nobody});
    const KindId soldier_kind = schema.kind("soldier", {team.id, target.id});
    const KindId post_kind = schema.kind("post", {team.id});
    REQUIRE(schema.status() == Status::ok);
    Stage stage(schema, 1);
    const EntityId soldier = stage.spawn(soldier_kind);
    const EntityId posts[3] = {stage.spawn(post_kind), stage.spawn(post_kind),
                               stage.spawn(post_kind)};
    stage.world().edit(soldier, target)->at = posts[names_whoever_goes ? 2 : 0];
    stage.step(10);
    stage.loses_all_to = 0;
    stage.world().edit(soldier, team)->team = 3;
    for (unsigned i = 0; i < 6; ++i) {
        stage.step();
        if (names_another) stage.world().edit(soldier, target)->at = posts[i % 2];
        CHECK(stage.interest().force_hide(posts[2], i % 2 == 0) == Status::ok);
    }
    stage.loses_all_to = 99;
    stage.step(10);
    return stage.hash_to[0];
}

}  // namespace

TEST_CASE("audience: a reference that is not told does not send again what is under way") {
    const std::uint64_t expected = hash_of_packets(false, false);
    CHECK(hash_of_packets(true, false) == expected);
    CHECK(hash_of_packets(false, true) == expected);
}

TEST_CASE("audience: an entity is encoded once for its owner and once for all others (M26)") {
    const AudienceSchema is(AudienceType::owner);
    Stage stage(is.schema, 8);
    const EntityId soldier = stage.spawn(is.soldier);
    (void)stage.world().set_owner(soldier, stage.observers[0]);
    stage.step(20);
    const ServerStats before = stage.server->stats();
    for (int i = 1; i <= 10; ++i) {
        stage.world().edit(soldier, is.team)->team = static_cast<std::uint8_t>(i % 8);
        stage.world().edit(soldier, is.health)->now = static_cast<std::int16_t>(i);
        stage.step();
    }
    const ServerStats after = stage.server->stats();
    CHECK(after.encodings - before.encodings == 20);
    CHECK(after.encoding_uses - before.encoding_uses == 80);
}

TEST_CASE("audience: calls reach whoever sees the entity, told or not (F22)") {
    AudienceSchema is(AudienceType::custom);
    Stage stage(is.schema, 2);
    const EntityId soldier = stage.spawn(is.soldier);
    is.chosen.chosen = stage.observers[1];
    stage.step(4);
    CHECK_FALSE(is_told(stage, 0, soldier, is));
    CHECK(is_told(stage, 1, soldier, is));
    CHECK(stage.server->call(soldier, is.hit, Health{3, 4}));
    stage.step(3);
    for (std::uint32_t who = 0; who < 2; ++who) {
        ReceivedRpc call;
        REQUIRE(stage.client(who).next_rpc(call));
        CHECK(call.ghost == stage.ghost(who, soldier));
        CHECK(call.values[0] == 3);
        CHECK_FALSE(stage.client(who).next_rpc(call));
    }
}

TEST_CASE("audience: what makes no sense is refused") {
    Schema schema;
    const Component<Place> place = schema.component<Place>("place");
    Schema of_place = schema, no_key = schema, nobody = schema;
    of_place.set_place(place.id);
    of_place.audience(place.id, {AudienceType::owner});
    CHECK(of_place.status() == Status::bad_configuration);
    no_key.audience(place.id, {AudienceType::same_key});
    CHECK(no_key.status() == Status::bad_configuration);
    nobody.audience(place.id, {AudienceType::custom});
    CHECK(nobody.status() == Status::bad_configuration);
    // Corrections tell an owner all that he predicts, in whatever order it was said.
    for (const AudienceType type : {AudienceType::others, AudienceType::in_turn}) {
        Schema first = schema, then = schema;
        first.audience(place.id, {type});
        first.predict(place.id);
        CHECK(first.status() == Status::bad_configuration);
        then.predict(place.id);
        then.audience(place.id, {type});
        CHECK(then.status() == Status::bad_configuration);
    }
    Schema own = schema;
    own.predict(place.id);
    own.audience(place.id, {AudienceType::owner});
    CHECK(own.status() == Status::ok);
}

namespace {

/// More than a datagram: a body, and pages that are told in turn.
struct Leaf {
    char lines[6][32] = {};
};
struct BookSchema {
    explicit BookSchema(AudienceType type) {
        team = schema.component<Body>("team").integer("team", &Body::team, 0, 8);
        std::vector<ComponentId> parts{team.id};
        for (std::uint32_t p = 0; p < pages_count; ++p) {
            const Component<Leaf> page = schema.component<Leaf>("page" + std::to_string(p));
            add_lines(schema, page.id, 6, 32);
            schema.audience(page.id, {type, KeyDomain::none, nullptr, false});
            pages.push_back({page.id});
            parts.push_back(page.id);
        }
        book = schema.kind("book", parts);
        REQUIRE(schema.status() == Status::ok);
    }
    static constexpr std::uint32_t pages_count = 8;  // some 1,500 bytes when they are full
    Schema schema;
    Component<Body> team;
    std::vector<Component<Leaf>> pages;
    KindId book{};
};

void write(Stage& stage, const BookSchema& is, EntityId book, std::uint32_t page, unsigned seed) {
    Leaf* its = stage.world().edit(book, is.pages[page]);
    for (unsigned line = 0; line < 6; ++line) {
        for (unsigned i = 0; i < 31; ++i)
            its->lines[line][i] = static_cast<char>('a' + (seed + page + line * 3 + i) % 26);
    }
}

}  // namespace

TEST_CASE("audience: what is larger than a packet is told in turn, as the budget has room") {
    const BookSchema refused(AudienceType::everyone);
    ServerDef def;
    def.schema = &refused.schema;
    def.mac = &test_mac;
    def.secret = test_secret;
    IdleGame game;
    CHECK(Server::create(def, game).error() == Status::too_large);

    const BookSchema is(AudienceType::in_turn);
    for (const std::uint32_t budget : {300U, 700U, 4'800U}) {
        for (const float loss : {0.0F, 0.2F}) {
            CAPTURE(budget);
            CAPTURE(loss);
            ServerDef small;
            small.budget_bytes_per_tick = budget;
            Stage stage(is.schema, 1, small);
            const EntityId book = stage.spawn(is.book);
            for (std::uint32_t p = 0; p < is.pages_count; ++p) write(stage, is, book, p, 1);
            stage.loss = loss;
            std::uint64_t before = stage.bytes_to[0];
            const auto step = [&] {
                stage.step();
                CHECK(stage.bytes_to[0] - before <= budget);
                before = stage.bytes_to[0];
            };
            step();
            const GhostId first = stage.ghost(0, book);
            if (loss == 0) {
                REQUIRE(first != no_ghost);
                std::uint32_t told = 0;
                for (const auto& page : is.pages) told += stage.client().is_told(first, page.id);
                CHECK(told < is.pages_count);
            }
            for (unsigned tick = 0; tick < 60; ++tick) {  // one page after another changes
                write(stage, is, book, tick % is.pages_count, tick);
                stage.world().edit(book, is.team)->team = static_cast<std::uint8_t>(tick % 8);
                step();
            }
            for (unsigned tick = 0; tick < 100; ++tick) step();
            const GhostId ghost = stage.ghost(0, book);
            REQUIRE(ghost != no_ghost);
            for (std::uint32_t p = 0; p < is.pages_count; ++p) {
                CAPTURE(p);
                CHECK(stage.client().is_told(ghost, is.pages[p].id));
                for (std::size_t line = 0; line < 6; ++line) {
                    CHECK(stage.client().text_of(ghost, is.pages[p].id, line) ==
                          std::string(stage.world().get(book, is.pages[p])->lines[line], 31));
                }
            }
            CHECK(stage.client().value_of(ghost, is.team.id, 0) ==
                  stage.world().get(book, is.team)->team);
            CHECK(stage.server->stats().split_updates > 0);
        }
    }
}

TEST_CASE("audience: the next in turn waits for news of the one before") {
    const BookSchema is(AudienceType::in_turn);
    ServerDef small;
    small.budget_bytes_per_tick = 700;
    Stage stage(is.schema, 1, small);
    const EntityId book = stage.spawn(is.book);
    for (std::uint32_t p = 0; p < is.pages_count; ++p) write(stage, is, book, p, 1);
    stage.clients_every = 5;
    constexpr std::uint32_t rounds = 12;
    const std::uint64_t before = stage.bytes_to[0];
    for (std::uint32_t round = 0; round < rounds; ++round) {
        for (std::uint32_t i = 0; i < stage.clients_every; ++i) {
            for (std::uint32_t p = 0; p < is.pages_count; ++p)  // always more than fits
                write(stage, is, book, p, round * stage.clients_every + i);
            stage.step();
        }
    }
    // From one news to the next there is room for five of them.
    CHECK(stage.server->stats().split_updates >= rounds - 1);
    CHECK(stage.server->stats().split_updates <= rounds + 1);
    CHECK(stage.bytes_to[0] - before <= (rounds + 1) * (small.budget_bytes_per_tick + 200));
}

TEST_CASE("audience: a part in turn lets no more packets go before it than there are parts") {
    const BookSchema is(AudienceType::in_turn);
    for (const float loss : {0.0F, 0.3F}) {
        CAPTURE(loss);
        ServerDef small;
        small.budget_bytes_per_tick = 300;  // one page
        Stage stage(is.schema, 1, small);
        const EntityId book = stage.spawn(is.book);
        for (std::uint32_t p = 0; p < is.pages_count; ++p) write(stage, is, book, p, 1);
        const GhostTable& ghosts = stage.server->data().find_session(stage.observers[0])->ghosts;
        std::array<std::uint32_t, BookSchema::pages_count> others{};  // since the page was told
        std::uint32_t most = 0, packets = 0;
        stage.loss = loss;
        SplitMix random(3);
        for (std::uint32_t tick = 0; tick < 600; ++tick) {
            // All of them, or some: who has nothing to say leaves his turn to others.
            for (std::uint32_t p = 0; p < is.pages_count; ++p)
                if (tick % 100 < 50 || random.below(4) == 0) write(stage, is, book, p, tick);
            stage.step();
            const LocalId lane = ghosts.find(book);
            if (lane == no_local_id || ghosts.sent_tick(lane) != stage.server->current_tick())
                continue;
            ++packets;
            for (std::uint32_t p = 0; p < is.pages_count; ++p) {
                others[p] = (ghosts.told(lane) >> (p + 1) & 1U) != 0 ? 0 : others[p] + 1;
                most = std::max(most, others[p]);
            }
        }
        CHECK(packets > 100);
        CHECK(most == BookSchema::pages_count);
    }
}

TEST_CASE("audience: how many take their turn does not follow from what somebody is not told") {
    struct Secret {
        char lines[8][31] = {};
    };
    Schema schema;
    const Component<Secret> secret = schema.component<Secret>("secret");
    add_lines(schema, secret.id, 8);
    schema.audience(secret.id, {AudienceType::owner});
    std::vector<Component<Leaf>> pages;
    std::vector<ComponentId> parts{secret.id};
    for (const char* name : {"page0", "page1", "page2", "page3", "page4", "page5", "page6"}) {
        pages.push_back(schema.component<Leaf>(name));
        add_lines(schema, pages.back().id, 2, 32);
        schema.audience(pages.back().id, {AudienceType::in_turn});
        parts.push_back(pages.back().id);
    }
    const KindId book = schema.kind("book", parts);
    schema.edit_kind(book).leave = LeavePolicy::freeze;
    REQUIRE(schema.status() == Status::ok);
    // The owner loses it, and is not told any more what is edited then; at once, or while the book
    // is hidden from him, whose copy he keeps.
    for (const bool is_hidden : {false, true}) {
        CAPTURE(is_hidden);
        std::uint64_t hashes[2] = {};
        std::uint64_t splits = 0;
        for (const bool edits_secret : {false, true}) {
            ServerDef def;
            def.budget_bytes_per_tick = 600;
            Stage stage(schema, 1, def);
            const ObserverId reader = stage.observers[0];
            const EntityId its = stage.spawn(book);
            const auto write_all = [&](char letter) {
                for (const auto& page : pages)
                    for (auto& line : stage.world().edit(its, page)->lines)
                        std::fill_n(line, 31, letter);
            };
            const auto write_secret = [&](char letter) {
                for (auto& line : stage.world().edit(its, secret)->lines)
                    std::fill_n(line, 31, letter);
            };
            CHECK(stage.world().set_owner(its, reader) == Status::ok);
            write_secret('a');
            stage.step(30);
            CHECK(stage.client().is_told(stage.ghost(0, its), secret.id));
            if (is_hidden) {
                CHECK(stage.interest().deny(reader, its, true) == Status::ok);
                stage.step(3);
            }
            CHECK(stage.world().set_owner(its, ObserverId::none) == Status::ok);
            if (edits_secret) write_secret('b');
            if (is_hidden) {
                stage.step(3);
                CHECK(stage.interest().deny(reader, its, false) == Status::ok);
            }
            write_all('c');
            stage.step(30);
            CHECK_FALSE(stage.client().is_told(stage.ghost(0, its), secret.id));
            hashes[edits_secret ? 1 : 0] = stage.hash_to[0];
            splits += stage.server->stats().split_updates;
        }
        CHECK(splits > 0);
        CHECK(hashes[0] == hashes[1]);
    }
}

TEST_CASE("audience: references that mean another take their turn, too") {
    struct Aims {
        EntityId at[16] = {};
    };
    Schema schema;
    const Component<Leaf> page = schema.component<Leaf>("page");
    add_lines(schema, page.id, 6, 32);
    std::vector<Component<Aims>> aims;
    std::vector<ComponentId> parts{page.id};
    for (const char* name : {"left", "right", "up"}) {
        aims.push_back(schema.component<Aims>(name));
        parts.push_back(aims.back().id);
        for (std::uint32_t i = 0; i < 16; ++i) {
            FieldDef at;
            at.name = "at" + std::to_string(i);
            at.type = FieldType::reference;
            at.size_bytes = sizeof(EntityId);
            at.offset_bytes = static_cast<std::uint16_t>(i * sizeof(EntityId));
            schema.add_field(aims.back().id, at);
        }
    }
    for (const ComponentId part : parts)
        schema.audience(part, {AudienceType::in_turn, KeyDomain::none, nullptr, false});
    const KindId book = schema.kind("book", parts);
    const KindId target = schema.kind("target", {});
    REQUIRE(schema.status() == Status::ok);
    ServerDef def;
    def.kinds.resize(2);
    def.kinds[index_of(target)].mode = EntityMode::explicit_only;
    std::uint32_t held = 0, split = 0;
    for (def.budget_bytes_per_tick = 200; def.budget_bytes_per_tick < 520;
         def.budget_bytes_per_tick += 16) {
        CAPTURE(def.budget_bytes_per_tick);
        ServerDef whole = def;
        whole.schema = &schema;
        whole.mac = &test_mac;
        whole.secret = test_secret;
        IdleGame game;
        if (!Server::create(whole, game)) continue;  // a part alone is too large
        Stage stage(schema, 1, def);
        const EntityId its = stage.spawn(book), named = stage.spawn(target);
        for (const auto& aim : aims)
            for (EntityId& at : stage.world().edit(its, aim)->at) at = named;
        stage.step(5);
        // The page is new, and the references mean somebody who can be seen now.
        CHECK(stage.interest().allow(stage.observers[0], named, true) == Status::ok);
        for (auto& line : stage.world().edit(its, page)->lines) std::fill_n(line, 31, 'x');
        stage.step(10);
        const GhostId ghost = stage.ghost(0, its);
        REQUIRE(ghost != no_ghost);
        CHECK(stage.client().text_of(ghost, page.id, 5) == std::string(31, 'x'));
        for (const auto& aim : aims)
            CHECK(stage.client().reference_of(ghost, aim.id, 15) == stage.ghost(0, named));
        split += stage.server->stats().split_updates > 0 ? 1 : 0;
        ++held;
    }
    CHECK(split > 0);
    CHECK(split < held);
}

}  // namespace purview::test
