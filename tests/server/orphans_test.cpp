// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Members of a group when their parent despawns, and groups that are despawned as a whole.
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
        REQUIRE(schema.problem().empty());
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

/// A wagon that carries a crate, which carries another crate, and two clients beside them.
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
    /// Runs three ticks. Returns what the observer sees, and checks that its client has exactly
    /// these ghosts.
    std::string stepped(std::uint32_t i = 0) {
        stage.step(3);
        for (const auto& [entity, name] : {std::pair{wagon, 'w'}, {crate, 'c'}, {inner, 'i'}}) {
            const bool is_seen = seen(i).find(name) != std::string::npos;
            const char client = name;
            CAPTURE(client);
            CHECK((stage.ghost(i, entity) != GhostId::none) == is_seen);
        }
        return seen(i);
    }
    LoadSchema schema;
    Stage stage;
    EntityId wagon{}, crate{}, inner{};
};

}  // namespace

TEST_CASE("orphans: members that were visible stay visible when their parent despawns" *
          doctest::test_suite("O48")) {
    Load load;
    CHECK(load.stepped() == "wci");
    CHECK(load.stage.world().despawn(load.wagon) == Status::ok);
    CHECK(load.stepped() == "ci");
    CHECK(load.stage.world().despawn(load.crate) == Status::ok);
    CHECK(load.stepped() == "i");
}

TEST_CASE("orphans: despawning a hidden parent shows no member until the game does" *
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

TEST_CASE("orphans: observers that were denied the parent do not see its members, others do" *
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

TEST_CASE("orphans: below an explicit-only or unbound root they become explicit only" *
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
    // A global member was visible in its group as well.
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

TEST_CASE("orphans: a member that is detached or moved does not stay hidden by its parent" *
          doctest::test_suite("O48")) {
    Load load;
    CHECK(load.stage.visibility().set_hidden(load.wagon, true) == Status::ok);
    CHECK(load.stepped() == "");
    CHECK(load.stage.world().detach(load.crate) == Status::ok);
    CHECK(load.stepped() == "ci");
    CHECK(load.stage.world().despawn(load.wagon) == Status::ok);
    CHECK(load.stepped() == "ci");

    // Only the final state of a tick counts: the wagon is gone.
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

TEST_CASE("orphans: despawn_group removes all members, also those with grouping disabled" *
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
    CHECK(load.stage.changes() == "left left left");
    CHECK(world.despawn_group(load.wagon) == Status::stale_id);
    // For a member, only it and its descendants are despawned.
    Load other;
    CHECK(other.stage.world().despawn_group(other.crate) == Status::ok);
    CHECK(other.stepped() == "w");
    // A hidden group shows nothing while it is despawned.
    Load hidden;
    CHECK(hidden.stage.visibility().set_hidden(hidden.wagon, true) == Status::ok);
    CHECK(hidden.stepped() == "");
    hidden.stage.changes();
    CHECK(hidden.stage.world().despawn_group(hidden.wagon) == Status::ok);
    CHECK(hidden.stepped() == "");
    CHECK(hidden.stage.changes() == "");
}

TEST_CASE("orphans: an independently culled member stays as hidden as its former parent" *
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
