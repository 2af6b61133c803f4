// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A child and its parent change places while a packet is lost. What a client holds is a forest at
// every moment, and in the end the server's.
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
        REQUIRE(schema.status() == Status::ok);
    }
    Schema schema;
    Component<Position> position;
    Component<Link> link;
    KindId piece{};
};

/// Walks up from every ghost; a cycle has no end.
bool is_forest(const Client& client) {
    for (GhostId ghost = 0; ghost < client.ghost_end(); ++ghost) {
        if (!client.is_held(ghost)) continue;
        GhostId at = ghost;
        std::uint32_t steps = 0;
        while (client.parent_of(at) != no_ghost && steps <= client.ghost_count()) {
            at = client.parent_of(at);
            ++steps;
        }
        if (steps > client.ghost_count() || client.root_of(ghost) != at) return false;
    }
    return true;
}

/// The client has the parents of the server.
bool has_parents_of(Stage& stage, const std::vector<EntityId>& all) {
    return std::all_of(all.begin(), all.end(), [&](EntityId entity) {
        const EntityId parent = stage.world().group_parent_of(entity);
        const GhostId expected = parent == EntityId::none ? no_ghost : stage.ghost(0, parent);
        return stage.client().parent_of(stage.ghost(0, entity)) == expected;
    });
}

}  // namespace

TEST_CASE("client: parents form no cycle when the packet with a detach is lost") {
    for (const bool relative : {false, true}) {
        for (const bool at_once : {false, true}) {
            CAPTURE(relative);
            CAPTURE(at_once);
            const LinkSchema is(relative);
            Stage stage(is.schema, 1);
            const EntityId a = stage.spawn(is.piece, {10, 10, 0});
            const EntityId b = stage.spawn(is.piece, {20, 10, 0});
            CHECK(stage.world().attach(b, a) == Status::ok);
            stage.step(10);
            REQUIRE(has_parents_of(stage, {a, b}));
            stage.loses_all_to = 0;
            CHECK(stage.world().detach(b) == Status::ok);
            if (!at_once) stage.step();
            if (at_once) {
                // A packet tells of both relations; it is lost as a whole, and repeated as a whole.
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

TEST_CASE("client: parents form no cycle in a chain that is turned round under loss") {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        CAPTURE(seed);
        const LinkSchema is(seed % 2 == 0);
        Stage stage(is.schema, 1);
        SplitMix random(seed);
        std::vector<EntityId> all;
        for (std::uint32_t i = 0; i < 5; ++i)
            all.push_back(stage.spawn(is.piece, {10.0F * static_cast<float>(i), 10, 0}));
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
