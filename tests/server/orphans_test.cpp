// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What becomes of the members of a group whose parent is despawned, and groups that are despawned
// whole.
#include <doctest/doctest.h>

#include "support/stage.hpp"

namespace purview::test {

namespace {

struct LoadSchema {
    LoadSchema() {
        const Component<Position> position = add_position(schema, 0, 200);
        player = schema.kind("player", {position.id});
        wagon = schema.kind("wagon", {position.id});
        crate = schema.kind("crate", {position.id});
        REQUIRE(schema.status() == Status::ok);
    }
    ServerDef def(bool splits) const {
        NodeDef near;
        near.name = "near";
        near.add(within(30));
        near.members = Members::unbound;
        ServerDef def;
        def.rules.max = {200, 200, 0};
        def.rules.nodes = {near};
        def.rules.kinds.resize(3);
        def.rules.kinds[index_of(crate)].culled_independently = splits;
        return def;
    }
    Schema schema;
    KindId player{}, wagon{}, crate{};
};

/// A wagon that carries a crate, which carries another; one client beside them, and one as far as
/// it gets. All are at one place.
struct Load {
    Load(bool splits = false) : stage(schema.schema, 2, schema.def(splits)) {
        for (std::uint32_t i = 0; i < 2; ++i) {
            const EntityId player = stage.spawn(schema.player, {10, 10, 0});
            CHECK(stage.world().set_owner(player, stage.observers[i]) == Status::ok);
            CHECK(stage.visibility().set_viewpoint(stage.observers[i], player) == Status::ok);
        }
        wagon = stage.spawn(schema.wagon, {12, 10, 0});
        crate = stage.spawn(schema.crate, {12, 10, 0});
        inner = stage.spawn(schema.crate, {12, 10, 0});
        CHECK(stage.world().attach(crate, wagon) == Status::ok);
        CHECK(stage.world().attach(inner, crate) == Status::ok);
        stage.step(6);
    }
    std::string seen(std::uint32_t i = 0) {
        std::string text;
        for (const auto& [entity, name] : {std::pair{wagon, 'w'}, {crate, 'c'}, {inner, 'i'}})
            if (stage.visibility().is_relevant(stage.observers[i], entity)) text += name;
        return text;
    }
    /// What one tick makes of it, and that no client ever held more.
    std::string stepped(std::uint32_t i = 0) {
        stage.step(3);
        for (const auto& [entity, name] : {std::pair{wagon, 'w'}, {crate, 'c'}, {inner, 'i'}}) {
            const bool is_seen = seen(i).find(name) != std::string::npos;
            const char who = name;
            CAPTURE(who);
            CHECK((stage.ghost(i, entity) != no_ghost) == is_seen);
        }
        return seen(i);
    }
    LoadSchema schema;
    Stage stage;
    EntityId wagon{}, crate{}, inner{};
};

}  // namespace

TEST_CASE("orphans: what was visible in its group stays visible without its parent" *
          doctest::test_suite("O48")) {
    Load load;
    CHECK(load.stepped() == "wci");
    CHECK(load.stage.world().despawn(load.wagon) == Status::ok);
    CHECK(load.stepped() == "ci");
    CHECK(load.stage.world().despawn(load.crate) == Status::ok);
    CHECK(load.stepped() == "i");
}

TEST_CASE("orphans: the end of a force-hidden parent shows nobody, until the game says so" *
          doctest::test_suite("O48")) {
    for (const bool is_root : {true, false}) {
        CAPTURE(is_root);
        Load load;
        const EntityId hidden = is_root ? load.wagon : load.crate;
        CHECK(load.stage.visibility().set_hidden(hidden, true) == Status::ok);
        CHECK(load.stepped() == (is_root ? "" : "w"));
        load.stage.changes();
        CHECK(load.stage.world().despawn(hidden) == Status::ok);
        CHECK(load.stepped() == (is_root ? "" : "w"));
        CHECK(load.stage.changes() == "");
        // The orphan itself is hidden now, and can be shown.
        const EntityId orphan = is_root ? load.crate : load.inner;
        CHECK(load.stage.visibility().set_hidden(orphan, false) == Status::ok);
        CHECK(load.stepped() == (is_root ? "ci" : "wi"));
    }
}

TEST_CASE("orphans: whom the parent was denied to sees no orphan, everybody else does" *
          doctest::test_suite("O48")) {
    Load load;
    CHECK(load.stage.visibility().deny(load.stage.observers[0], load.wagon, true) == Status::ok);
    CHECK(load.stepped(0) == "");
    CHECK(load.stepped(1) == "wci");
    load.stage.changes(0);
    CHECK(load.stage.world().despawn(load.wagon) == Status::ok);
    CHECK(load.stepped(0) == "");
    CHECK(load.stepped(1) == "ci");
    CHECK(load.stage.changes(0) == "");
    CHECK(load.stage.visibility().deny(load.stage.observers[0], load.crate, false) == Status::ok);
    CHECK(load.stepped(0) == "ci");
}

TEST_CASE("orphans: below an explicit-only root, or one without nodes, they are explicit only" *
          doctest::test_suite("O48")) {
    for (const bool by_mode : {true, false}) {
        CAPTURE(by_mode);
        Load load;
        Visibility& interest = load.stage.visibility();
        if (by_mode) {
            CHECK(interest.set_mode(load.wagon, EntityMode::explicit_only) == Status::ok);
        } else {
            CHECK(interest.rebind(load.wagon, {}) == Status::orphaned);
        }
        CHECK(load.stepped() == "");
        CHECK(load.stage.world().despawn(load.wagon) == Status::ok);
        CHECK(load.stepped() == "");
        CHECK(interest.allow(load.stage.observers[0], load.crate, true) == Status::ok);
        CHECK(load.stepped(0) == "ci");
        CHECK(load.stepped(1) == "");
        CHECK(interest.set_mode(load.crate, EntityMode::nodes) == Status::ok);
        CHECK(load.stepped(1) == "ci");
    }
    // What is shown to everybody was shown in its group as well.
    Load load;
    CHECK(load.stage.visibility().set_mode(load.wagon, EntityMode::explicit_only) == Status::ok);
    CHECK(load.stage.visibility().set_mode(load.crate, EntityMode::global) == Status::ok);
    CHECK(load.stepped() == "wci");
    CHECK(load.stage.world().despawn(load.wagon) == Status::ok);
    CHECK(load.stepped() == "ci");
}

TEST_CASE("orphans: no order of despawns in one tick reveals a member of a hidden group" *
          doctest::test_suite("O48")) {
    for (std::uint32_t order = 0; order < 6; ++order) {
        for (std::uint32_t count = 1; count <= 3; ++count) {
            CAPTURE(order);
            CAPTURE(count);
            Load load;
            CHECK(load.stage.visibility().set_hidden(load.wagon, true) == Status::ok);
            CHECK(load.stepped() == "");
            load.stage.changes();
            std::array<EntityId, 3> all{load.wagon, load.crate, load.inner};
            std::sort(all.begin(), all.end());
            for (std::uint32_t i = 0; i < order; ++i) std::next_permutation(all.begin(), all.end());
            for (std::uint32_t i = 0; i < count; ++i)
                CHECK(load.stage.world().despawn(all[i]) == Status::ok);
            CHECK(load.stepped() == "");
            CHECK(load.stage.changes() == "");
        }
    }
}

TEST_CASE("orphans: who is detached by the game, or joins another group, is judged by itself" *
          doctest::test_suite("O48")) {
    Load load;
    CHECK(load.stage.visibility().set_hidden(load.wagon, true) == Status::ok);
    CHECK(load.stepped() == "");
    CHECK(load.stage.world().detach(load.crate) == Status::ok);
    CHECK(load.stepped() == "ci");
    CHECK(load.stage.world().despawn(load.wagon) == Status::ok);
    CHECK(load.stepped() == "ci");

    // What counts of a tick is what it comes to: here the wagon is gone.
    Load both;
    CHECK(both.stage.visibility().set_hidden(both.wagon, true) == Status::ok);
    CHECK(both.stepped() == "");
    CHECK(both.stage.world().detach(both.crate) == Status::ok);
    CHECK(both.stage.world().despawn(both.wagon) == Status::ok);
    CHECK(both.stepped() == "");

    Load other;
    CHECK(other.stage.visibility().set_hidden(other.wagon, true) == Status::ok);
    CHECK(other.stepped() == "");
    const EntityId next = other.stage.spawn(other.schema.wagon, {12, 10, 0});
    CHECK(other.stage.world().despawn(other.wagon) == Status::ok);
    CHECK(other.stage.world().attach(other.crate, next) == Status::ok);
    CHECK(other.stepped() == "ci");
}

TEST_CASE("orphans: a group is despawned whole in one step, with what takes no part in groups" *
          doctest::test_suite("O48")) {
    Load load;
    World& world = load.stage.world();
    CHECK(world.set_group_enabled(load.inner, false) == Status::ok);
    load.stage.step(3);
    const std::uint32_t before = world.entity_count();
    load.stage.changes();
    CHECK(world.despawn_group(load.wagon) == Status::ok);
    CHECK(world.entity_count() == before - 3);
    CHECK(load.stepped() == "");
    CHECK(load.stage.changes() == "removed removed removed");
    CHECK(world.despawn_group(load.wagon) == Status::stale_id);
    // A member goes with those below it; the rest stays.
    Load other;
    CHECK(other.stage.world().despawn_group(other.crate) == Status::ok);
    CHECK(other.stepped() == "w");
    // Hidden ones show nothing while they go.
    Load hidden;
    CHECK(hidden.stage.visibility().set_hidden(hidden.wagon, true) == Status::ok);
    CHECK(hidden.stepped() == "");
    hidden.stage.changes();
    CHECK(hidden.stage.world().despawn_group(hidden.wagon) == Status::ok);
    CHECK(hidden.stepped() == "");
    CHECK(hidden.stage.changes() == "");
}

TEST_CASE("orphans: a split member stays as hidden as the parent that ends" *
          doctest::test_suite("O48")) {
    Load load(true);
    CHECK(load.stepped() == "wci");
    CHECK(load.stage.visibility().set_hidden(load.wagon, true) == Status::ok);
    CHECK(load.stepped() == "");
    CHECK(load.stage.world().despawn(load.wagon) == Status::ok);
    CHECK(load.stepped() == "");
    CHECK(load.stage.visibility().set_hidden(load.crate, false) == Status::ok);
    CHECK(load.stepped() == "ci");
}

}  // namespace purview::test
