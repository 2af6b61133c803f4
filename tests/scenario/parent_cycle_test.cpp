// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A child and its parent swap their relation while a packet is lost. The ghosts of a client always
// form a forest, and finally the same one as on the server.
#include <algorithm>
#include <vector>

#include "core/hash.hpp"
#include "support/stage.hpp"

namespace purview::test::parent_cycle {

namespace {

struct Link {
    std::uint8_t number = 0;
};
struct LinkSchema {
    explicit LinkSchema(bool relative) {
        position = add_position(schema, 0, 2000);
        link = schema.component<Link>("link").integer("number", &Link::number, 0, 255);
        piece = schema.kind("piece", {position.id, link.id});
        schema.edit_kind(piece).relative_position = relative;
        REQUIRE(schema.problem().empty());
    }
    Schema schema;
    Component<Position> position;
    Component<Link> link;
    KindId piece{};
};

/// Checks that every ghost has a root above it, so that there is no cycle.
bool is_forest(const Client& client) {
    bool is_one = true;
    client.for_each([&](GhostId ghost) {
        GhostId at = ghost;
        std::uint32_t steps = 0;
        while (client.parent_of(at) != GhostId::none && steps <= client.ghost_count()) {
            at = client.parent_of(at);
            ++steps;
        }
        if (steps > client.ghost_count() || client.root_of(ghost) != at) is_one = false;
    });
    return is_one;
}

/// Checks that the parents on the client equal those on the server.
bool has_parents_of(Stage& stage, const std::vector<EntityId>& all) {
    return std::all_of(all.begin(), all.end(), [&](EntityId entity) {
        const EntityId parent = stage.world().group_parent_of(entity);
        const GhostId expected = parent == EntityId::none ? GhostId::none : stage.ghost(0, parent);
        return stage.client().parent_of(stage.ghost(0, entity)) == expected;
    });
}

}  // namespace

TEST_CASE("client: parents form no cycle when the packet with a detach is lost") {
    for (const bool relative : {false, true}) {
        for (const bool at_once : {false, true}) {
            CAPTURE(relative);
            CAPTURE(at_once);
            const LinkSchema setup(relative);
            Stage stage(setup.schema, 1);
            const EntityId a = stage.spawn(setup.piece, {10, 10, 0});
            const EntityId b = stage.spawn(setup.piece, {20, 10, 0});
            CHECK(stage.world().attach(b, a) == Status::ok);
            stage.step(10);
            REQUIRE(has_parents_of(stage, {a, b}));
            stage.loses_all_to = 0;
            CHECK(stage.world().detach(b) == Status::ok);
            if (!at_once) stage.step();
            if (at_once) {
                // One packet has both changes, which are lost together and sent again together.
                CHECK(stage.world().attach(a, b) == Status::ok);
                stage.step();
                stage.loses_all_to = 99;
            } else {
                stage.loses_all_to = 99;
                CHECK(stage.world().attach(a, b) == Status::ok);
            }
            for (int i = 0; i < 30; ++i) {
                stage.step();
                REQUIRE(is_forest(stage.client()));
            }
            CHECK(has_parents_of(stage, {a, b}));
        }
    }
}

TEST_CASE("client: parents form no cycle in a chain that is reversed under loss") {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        CAPTURE(seed);
        const LinkSchema setup(seed % 2 == 0);
        Stage stage(setup.schema, 1);
        SplitMix random(seed);
        std::vector<EntityId> all;
        for (std::uint32_t i = 0; i < 5; ++i)
            all.push_back(stage.spawn(setup.piece, {10.0F * static_cast<float>(i), 10, 0}));
        stage.step(10);
        stage.random = SplitMix(mix64(seed));
        stage.loss = 0.4F;
        bool is_whole = true;
        for (int i = 0; i < 150; ++i) {
            const EntityId one = all[random.below(5)], other = all[random.below(5)];
            if (random.chance(0.4F)) {
                (void)stage.world().detach(one);
            } else {
                (void)stage.world().attach(one, other);
            }
            stage.step();
            is_whole = is_whole && is_forest(stage.client());
        }
        CHECK(is_whole);
        stage.loss = 0;
        stage.step(60);
        CHECK(is_forest(stage.client()));
        CHECK(has_parents_of(stage, all));
    }
}

}  // namespace purview::test::parent_cycle
