// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Players that ride people of a recorded crowd.
#include "core/internal_access.hpp"
#include "server/server_data.hpp"
#include "vale_stage.hpp"

namespace purview::test {

TEST_CASE("vale: a rider of a recorded person stays mounted when the trace restarts") {
    vale::Setup setup;
    setup.max = {100, 100, 0};
    setup.tick_hz = 1;
    setup.trace_seconds = 5;
    setup.tracks.resize(2);  // present in every tick of a round
    for (vale::Track& track : setup.tracks) track.samples = {{0, {50, 50, 0}}, {5, {60, 50, 0}}};
    ValeStage stage(setup);
    Server* server = stage.server.get();
    vale::Vale& game = stage.game;
    Micros now = 0;
    server->tick(now += 1'000'000);
    const ObserverId observer = internal(*server).manager.add_observer({.is_ready = false});
    CHECK(server->visibility().set_ready(observer, true) == Status::ok);
    CHECK(game.on_join(*server, observer, {}).has_value());
    for (int tick = 0; tick < 20; ++tick) {
        server->tick(now += 1'000'000);
        const EntityId ridden = game.view_of(observer)->main;
        CHECK(server->world().is_alive(ridden));
        CHECK(server->visibility().is_relevant(observer, ridden));
    }
}

}  // namespace purview::test
