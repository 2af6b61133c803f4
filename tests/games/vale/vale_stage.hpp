// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A vale built from a setup, and its server.
#pragma once

#include <doctest/doctest.h>

#include <memory>

#include "../../../games/vale/vale.hpp"
#include "small_game.hpp"

namespace purview::test {

struct ValeStage {
    explicit ValeStage(const vale::Setup& made) : setup(made), schema(setup), game(setup, schema) {
        ServerDef def;
        def.schema = &schema.schema;
        def.tick_hz = setup.tick_hz;
        def.rules.max = setup.max;
        def.mac = &test_mac;
        def.secret = test_secret;
        auto created = Server::create(def, game);
        REQUIRE(created);
        server = std::make_unique<Server>(std::move(created).value());
        game.populate(server->world());
    }
    vale::Setup setup;
    vale::ValeSchema schema;
    vale::Vale game;
    std::unique_ptr<Server> server;
};

}  // namespace purview::test
