// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Server events, and the user data that they contain.
#include "server/relevance_events.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "support/stage.hpp"

namespace purview::test {

namespace {

struct CrateWorld {
    CrateWorld() {
        const Component<Position> position = add_position(schema, 0, 200);
        crate = schema.kind("crate", {position.id});
        def.rules.max = {200, 200, 0};
        def.rules.node("near").add(within(30));
        REQUIRE(schema.problem().empty());
    }
    Schema schema;
    KindId crate{};
    ServerDef def;
};

}  // namespace

TEST_CASE("server: events contain the user data of their entity and observer") {
    const CrateWorld setup;
    Stage stage(setup.schema, 2, setup.def);
    const ObserverId first = stage.observers[0], second = stage.observers[1];
    const EntityId plain = stage.world().spawn({.kind = setup.crate});
    const EntityId crate = stage.world().spawn({.kind = setup.crate, .user_data = 70});
    CHECK(stage.world().user_data(crate) == 70);
    CHECK(stage.visibility().entity(crate).user_data() == 70);
    CHECK(stage.visibility().set_user_data(first, 9) == Status::ok);
    for (const ObserverId observer : {first, second}) {
        CHECK(stage.visibility().allow(observer, crate) == Status::ok);
        CHECK(stage.visibility().allow(observer, plain) == Status::ok);
    }
    stage.step();
    REQUIRE(stage.server->events().size() == 4);
    for (const ServerEvent& event : stage.server->events()) {
        CHECK(event.is_enter());
        CHECK(event.entity_data == (event.entity == crate ? 70 : 0));
        CHECK(event.observer_data == (event.observer == first ? 9 : 0));
    }
    CHECK(stage.world().set_user_data(crate, 71) == Status::ok);
    CHECK(stage.visibility().entity(crate).user_data() == 71);
    CHECK(stage.visibility().allow(second, crate, false) == Status::ok);
    stage.step();
    REQUIRE(stage.server->events().size() == 1);
    CHECK(stage.server->events()[0].is_leave());
    CHECK(stage.server->events()[0].entity_data == 71);

    CHECK(stage.world().set_user_data(crate, 72) == Status::ok);
    CHECK(stage.world().despawn(crate) == Status::ok);
    CHECK(stage.world().user_data(crate) == 0);
    CHECK(stage.world().set_user_data(crate, 73) == Status::stale_id);
    stage.step();
    REQUIRE(stage.server->events().size() == 1);
    CHECK(stage.server->events()[0].reason == Reason::despawned);
    CHECK(stage.server->events()[0].entity_data == 72);
    CHECK(stage.server->events()[0].observer_data == 9);
    CHECK(stage.visibility().entity(crate).user_data() == 0);

    const EntityId next = stage.world().spawn({.kind = setup.crate});
    REQUIRE(index_of(next) == index_of(crate));
    CHECK(stage.world().user_data(next) == 0);
    CHECK(stage.visibility().entity(next).user_data() == 0);
}

TEST_CASE("server: leaves of a closed observer contain its user data") {
    const CrateWorld setup;
    Stage stage(setup.schema, 1, setup.def);
    const ObserverId observer = stage.observers[0];
    const EntityId crate = stage.world().spawn({.kind = setup.crate, .user_data = 70});
    CHECK(stage.visibility().set_user_data(observer, 9) == Status::ok);
    CHECK(stage.visibility().allow(observer, crate) == Status::ok);
    stage.step(3);
    CHECK(stage.server->close(observer, CloseReason::kicked) == Status::ok);
    std::vector<ServerEvent> gone;
    for (int i = 0; i < 3; ++i) {
        stage.step();
        gone.insert(gone.end(), stage.server->events().begin(), stage.server->events().end());
    }
    REQUIRE(gone.size() == 1);
    CHECK(gone[0].reason == Reason::disconnected);
    CHECK(gone[0].entity_data == 70);
    CHECK(gone[0].observer_data == 9);
}

}  // namespace purview::test
