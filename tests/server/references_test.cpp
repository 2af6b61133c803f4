// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include <array>
#include <set>
#include <vector>

#include "core/hash.hpp"
#include "core/internal_access.hpp"
#include "purview/host_view.hpp"
#include "support/stage.hpp"

namespace purview::test {

namespace {

struct AimAt {
    EntityId at = EntityId::none;
};

struct AimSchema {
    AimSchema() {
        aim = schema.component<AimAt>("aim").reference("at", &AimAt::at);
        archer = schema.kind("archer", {aim.id});
        target = schema.kind("target", {aim.id});
        REQUIRE(schema.problem().empty());
        def.rules.kinds.resize(2);
        def.rules.kinds[index_of(target)].mode = EntityMode::explicit_only;
    }
    Schema schema;
    Component<AimAt> aim;
    KindId archer{}, target{};
    ServerDef def;
};

}  // namespace

TEST_CASE("reference: a client resolves references only to entities that it sees") {
    const AimSchema setup;
    Stage stage(setup.schema, 1, setup.def);
    const EntityId archer = stage.spawn(setup.archer), target = stage.spawn(setup.target);
    stage.world().edit(archer, setup.aim)->at = target;
    const auto aimed_at = [&] {
        return stage.clients[0]->reference_of(stage.ghost(0, archer), setup.aim.id, 0);
    };
    stage.step(3);
    CHECK(stage.ghost(0, target) == GhostId::none);
    CHECK(aimed_at() == GhostId::none);
    // The target becomes relevant: the reference is sent although it did not change.
    CHECK(stage.visibility().allow(stage.observers[0], target, true) == Status::ok);
    stage.step(2);
    REQUIRE(stage.ghost(0, target) != GhostId::none);
    CHECK(aimed_at() == stage.ghost(0, target));
    // The target leaves and comes back.
    CHECK(stage.visibility().allow(stage.observers[0], target, false) == Status::ok);
    stage.step(2);
    CHECK(aimed_at() == GhostId::none);
    CHECK(stage.visibility().allow(stage.observers[0], target, true) == Status::ok);
    stage.step(3);
    CHECK(aimed_at() == stage.ghost(0, target));
    // No target, the entity itself, a despawned entity.
    stage.world().edit(archer, setup.aim)->at = EntityId::none;
    stage.step(2);
    CHECK(aimed_at() == GhostId::none);
    stage.world().edit(archer, setup.aim)->at = archer;
    stage.step(2);
    CHECK(aimed_at() == stage.ghost(0, archer));
    stage.world().edit(archer, setup.aim)->at = target;
    CHECK(stage.world().despawn(target) == Status::ok);
    stage.step(2);
    CHECK(aimed_at() == GhostId::none);
    stage.world().edit(archer, setup.aim)->at = EntityId{~std::uint64_t{0}};  // no id of this world
    stage.step(2);
    CHECK(aimed_at() == GhostId::none);
}

TEST_CASE("reference: a retained ghost never refers to a wrong entity") {
    AimSchema setup;
    setup.schema.edit_kind(setup.archer).leave = Retention::freeze;
    setup.def.rules.kinds[index_of(setup.archer)].mode = EntityMode::explicit_only;
    Stage stage(setup.schema, 1, setup.def);
    const ObserverId me = stage.observers[0];
    const EntityId archer = stage.spawn(setup.archer), target = stage.spawn(setup.target);
    stage.world().edit(archer, setup.aim)->at = target;
    CHECK(stage.visibility().allow(me, archer, true) == Status::ok);
    CHECK(stage.visibility().allow(me, target, true) == Status::ok);
    stage.step(5);
    const GhostId copy = stage.ghost(0, archer), was = stage.ghost(0, target);
    REQUIRE(stage.client().reference_of(copy, setup.aim.id, 0) == was);
    CHECK(stage.visibility().allow(me, archer, false) == Status::ok);
    stage.step(4);
    REQUIRE(stage.client().retention(copy) == Retention::freeze);
    CHECK(stage.client().reference_of(copy, setup.aim.id, 0) == was);
    CHECK(stage.world().despawn(target) == Status::ok);
    stage.step(6);
    const EntityId other = stage.spawn(setup.target);
    CHECK(stage.visibility().allow(me, other, true) == Status::ok);
    stage.step(4);
    REQUIRE(stage.ghost(0, other) == was);  // the same id
    CHECK(stage.client().reference_of(copy, setup.aim.id, 0) == GhostId::none);
    CHECK(stage.visibility().allow(me, archer, true) == Status::ok);
    stage.step(4);
    REQUIRE(stage.ghost(0, archer) == copy);
    CHECK(stage.client().reference_of(copy, setup.aim.id, 0) == GhostId::none);
}

TEST_CASE("reference: a ghost that has left never refers to a wrong entity") {
    AimSchema setup;
    setup.def.rules.kinds[index_of(setup.archer)].mode = EntityMode::explicit_only;
    Stage stage(setup.schema, 1, setup.def);
    const ObserverId me = stage.observers[0];
    const EntityId target = stage.spawn(setup.target), archer = stage.spawn(setup.archer);
    stage.world().edit(archer, setup.aim)->at = target;
    for (const EntityId entity : {target, archer})
        CHECK(stage.visibility().allow(me, entity, true) == Status::ok);
    stage.step(5);
    const GhostId left = stage.ghost(0, archer), was = stage.ghost(0, target);
    REQUIRE(stage.client().reference_of(left, setup.aim.id, 0) == was);
    stage.client().clear_events();
    CHECK(stage.visibility().allow(me, archer, false) == Status::ok);
    stage.step(3);
    REQUIRE(stage.ghost(0, archer) == GhostId::none);
    CHECK(stage.client().reference_of(left, setup.aim.id, 0) == was);
    CHECK(stage.world().despawn(target) == Status::ok);
    stage.step(5);
    const EntityId other = stage.spawn(setup.target);
    CHECK(stage.visibility().allow(me, other, true) == Status::ok);
    stage.step(3);
    REQUIRE(stage.ghost(0, other) == was);  // the same id
    CHECK(stage.client().reference_of(left, setup.aim.id, 0) == GhostId::none);
}

TEST_CASE("reference: a reused local id never resolves to a wrong entity") {
    const AimSchema setup;
    Stage stage(setup.schema, 1, setup.def);
    const EntityId archer = stage.spawn(setup.archer);
    for (int round = 0; round < 20; ++round) {
        const EntityId target = stage.spawn(setup.target);
        CHECK(stage.visibility().allow(stage.observers[0], target, true) == Status::ok);
        stage.world().edit(archer, setup.aim)->at = target;
        if (round % 3 == 0) stage.loses_all_to = 0;  // the enter is lost
        stage.step(round % 4);
        CHECK(stage.world().despawn(target) == Status::ok);
        stage.step(round % 2);
        const EntityId other = stage.spawn(setup.target);
        CHECK(stage.visibility().allow(stage.observers[0], other, true) == Status::ok);
        for (int i = 0; i < 12; ++i) {
            stage.step();
            if (i == 2) stage.loses_all_to = 99;
            const GhostId ghost = stage.ghost(0, archer);
            if (ghost == GhostId::none) continue;
            const GhostId aimed = stage.clients[0]->reference_of(ghost, setup.aim.id, 0);
            CHECK((aimed == GhostId::none || aimed != stage.ghost(0, other)));
        }
        CHECK(stage.world().despawn(other) == Status::ok);
    }
}

TEST_CASE("reference: the local id of a referenced ghost that left is not reused at once") {
    const AimSchema setup;
    Stage stage(setup.schema, 1, setup.def);
    const ObserverId me = stage.observers[0];
    const EntityId archer = stage.spawn(setup.archer), ship = stage.spawn(setup.target),
                   man = stage.spawn(setup.target), other = stage.spawn(setup.target);
    stage.step(3);
    stage.clients_every = 8;  // what is sent stays in flight
    const auto may_know = [&](EntityId entity, bool may) {
        CHECK(stage.visibility().allow(me, entity, may) == Status::ok);
    };
    may_know(ship, true);
    stage.step();
    REQUIRE(stage.world().attach(man, ship) == Status::ok);  // waits until the ship is acknowledged
    may_know(man, true);
    stage.world().edit(archer, setup.aim)->at = man;
    stage.step();
    GhostTable& ghosts = internal(*stage.server).sessions[0]->ghosts;
    const LocalId named = ghosts.slots().find(man);
    REQUIRE(ghosts.slots().needs_enter(named));
    REQUIRE(stage.ghost(0, man) == GhostId::none);
    may_know(man, false);
    may_know(other, true);
    stage.step();
    CHECK(ghosts.slots().find(man) == no_local_id);
    CHECK(ghosts.slots().find(other) != named);
    stage.clients_every = 1;
    stage.step(6);
    CHECK(ghosts.leaving_count() == 0);
    CHECK(stage.client().reference_of(stage.ghost(0, archer), setup.aim.id, 0) == GhostId::none);
}

TEST_CASE("reference: all referrers of an entity are known in every tick") {
    constexpr std::uint32_t many = 2'000;
    const AimSchema setup;
    WorldDef def;
    def.schema = &setup.schema;
    World world = std::move(World::create(def)).value();
    FieldStore fields(setup.schema);
    SplitMix random(5);
    std::array<EntityId, 3> targets{};
    for (EntityId& target : targets) target = world.spawn({.kind = setup.target});
    std::vector<EntityId> archers;
    for (std::uint32_t i = 0; i < many; ++i) archers.push_back(world.spawn({.kind = setup.archer}));
    for (Tick now = 1; now < 40; ++now) {
        std::array<std::set<EntityId>, 3> naming;
        for (EntityId& archer : archers) {
            if (random.below(50) == 0) {
                REQUIRE(world.despawn(archer) == Status::ok);
                archer = world.spawn({.kind = setup.archer});
            }
            EntityId& at = world.edit(archer, setup.aim)->at;
            if (at == EntityId::none || random.below(4) == 0) at = targets[random.below(3)];
            for (std::size_t t = 0; t < targets.size(); ++t)
                if (at == targets[t]) naming[t].insert(archer);
        }
        internal(world).settle();
        fields.diff(internal(world), now);
        internal(world).clear_changes();
        for (std::size_t t = 0; t < targets.size(); ++t) {
            std::size_t found = 0;
            for (const EntityId one : fields.referrers_of(internal(world), targets[t])) {
                const bool names =
                    fields.has_reference_to(internal(world), one, targets[t], ~FieldMask{0});
                REQUIRE(names == naming[t].contains(one));
                found += names ? 1 : 0;
            }
            REQUIRE(found == naming[t].size());
        }
    }
}

TEST_CASE("reference: the local player gets the changes that a remote one gets (M25)") {
    struct Changes final : HostPresentation {
        void show(EntityId, Reason) override {}
        void hide(EntityId, Reason) override {}
        void changed(EntityId entity, ComponentId) override { ++of[entity]; }
        std::map<EntityId, int> of;
    };
    const AimSchema setup;
    Stage stage(setup.schema, 1, setup.def);
    Changes changes;
    HostView view = std::move(HostView::create(*stage.server, changes)).value();
    const EntityId archer = stage.spawn(setup.archer), seen = stage.spawn(setup.target),
                   hidden = stage.spawn(setup.target), other = stage.spawn(setup.target);
    const auto show_both = [&](EntityId entity, bool value) {
        show(stage, 0, entity, value);
        CHECK(stage.visibility().allow(view.observer(), entity, value) == Status::ok);
    };
    const auto reported_changes = [&] {
        stage.step();
        view.update();
        return std::exchange(changes.of[archer], 0);
    };
    show_both(seen, true);
    (void)reported_changes();
    (void)reported_changes();
    EntityId* at = &stage.world().edit(archer, setup.aim)->at;
    *at = seen;
    CHECK(reported_changes() == 1);
    CHECK(reported_changes() == 0);
    stage.world().edit(archer, setup.aim)->at = hidden;  // the target is no longer visible
    CHECK(reported_changes() == 1);
    stage.world().edit(archer, setup.aim)->at = other;  // from one hidden target to another
    CHECK(reported_changes() == 0);
    show_both(other, true);
    CHECK(reported_changes() == 1);
    REQUIRE(stage.world().despawn(other) == Status::ok);
    CHECK(reported_changes() == 1);
    CHECK(reported_changes() == 0);
    // The reference and the relevance of its target change in one tick.
    stage.world().edit(archer, setup.aim)->at = seen;
    CHECK(reported_changes() == 1);
    show_both(seen, false);
    stage.world().edit(archer, setup.aim)->at = hidden;
    CHECK(reported_changes() == 1);
    show_both(seen, true);
    CHECK(reported_changes() == 0);
    // Changes of a hidden entity are reported once, after `show`.
    stage.world().edit(archer, setup.aim)->at = seen;
    CHECK(reported_changes() == 1);
    CHECK(stage.visibility().deny(view.observer(), archer, true) == Status::ok);
    CHECK(reported_changes() == 0);
    stage.world().edit(archer, setup.aim)->at = EntityId::none;
    CHECK(reported_changes() == 0);
    stage.world().edit(archer, setup.aim)->at = archer;
    CHECK(reported_changes() == 0);
    CHECK(stage.visibility().deny(view.observer(), archer, false) == Status::ok);
    CHECK(reported_changes() == 1);
    // Changes in a tick without `update`.
    stage.world().edit(archer, setup.aim)->at = seen;
    stage.step();
    CHECK(reported_changes() == 1);
    show_both(seen, false);
    stage.step();
    CHECK(reported_changes() == 1);
    CHECK(reported_changes() == 0);
}

}  // namespace purview::test
