// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Groups and cells through the C interface.
#include <cstring>

#include "core/internal_access.hpp"
#include "purview.h"
#include "support/shared_world.hpp"
#include "support/stage.hpp"

namespace purview::test {

namespace {

/// A server with shared cells and one client of the C interface, over a perfect connection.
class CellStage {
  public:
    CellStage() : stage(setup.schema, 0, def_of(setup)) {
        stage.observers.resize(1);
        address_.carrier = Address::Carrier::memory;
        address_.port = 1;
        step(10);
        REQUIRE(pv_client_state(client) == 2);
    }
    ~CellStage() { pv_client_destroy(client); }
    CellStage(const CellStage&) = delete;
    CellStage& operator=(const CellStage&) = delete;

    void step(int ticks) {
        for (int i = 0; i < ticks; ++i) {
            now_ms_ += 50;
            const auto now = static_cast<Micros>(now_ms_ * 1'000);
            pv_client_tick(client, now_ms_);
            while (const std::uint32_t size = pv_client_next_datagram(client)) {
                const auto bytes = std::as_bytes(std::span(pv_client_output(client), size));
                stage.server->receive(bytes, address_, now);
            }
            stage.server->tick(now);
            OutgoingDatagram out;
            while (stage.server->next_datagram(out)) {
                std::memcpy(pv_client_input(client), out.bytes.data(), out.bytes.size());
                pv_client_receive(client, static_cast<std::uint32_t>(out.bytes.size()), now_ms_);
            }
        }
    }
    std::uint32_t ghost(EntityId entity) {
        const LocalId slot =
            internal(*stage.server).sessions.find(stage.observers[0])->ghosts.slots().find(entity);
        REQUIRE(slot != no_local_id);
        return slot;
    }
    /// Takes events and returns the only relation.
    pv_relation one_relation() {
        (void)pv_client_take_events(client);
        REQUIRE(pv_client_relation_count(client) == 1);
        return pv_client_relations(client)[0];
    }

    CellSchema setup;
    Stage stage;
    pv_client* client = pv_client_create(1, 2, 1, 0);

  private:
    static ServerDef def_of(const CellSchema& schema) {
        ServerDef def;
        def.rules = schema.rules(Payload::read_many);
        return def;
    }
    Address address_;
    double now_ms_ = 1'000;
};

}  // namespace

TEST_CASE("capi: a client reports roots, and attach, move and detach relations (O42)") {
    CellStage its;
    World& world = its.stage.world();
    const EntityId me = its.stage.spawn(its.setup.walker, {175, 140, 0});
    const EntityId cart = its.stage.spawn(its.setup.walker, {176, 141, 0});
    const EntityId crate = its.stage.spawn(its.setup.crate, {176, 141, 0});
    REQUIRE(its.stage.visibility().set_viewpoint(its.stage.observers[0], me) == Status::ok);
    its.step(6);
    REQUIRE(pv_client_take_events(its.client) == 3);
    CHECK(pv_client_relation_count(its.client) == 0);
    const std::uint32_t a = its.ghost(me), b = its.ghost(cart), c = its.ghost(crate);
    CHECK(pv_client_root_of(its.client, c) == c);
    CHECK(pv_client_parent_of(its.client, c) == PV_NO_GHOST);

    REQUIRE(world.attach(crate, cart) == Status::ok);
    its.step(4);
    pv_relation got = its.one_relation();
    CHECK(got.ghost == c);
    CHECK(got.old_root == c);
    CHECK(got.new_root == b);
    CHECK(got.old_parent == PV_NO_GHOST);
    CHECK(got.new_parent == b);
    CHECK(pv_client_root_of(its.client, c) == b);
    CHECK(pv_client_root_of(its.client, b) == b);
    CHECK(pv_client_parent_of(its.client, c) == b);
    CHECK(pv_client_kind_of(its.client, c) == index_of(its.setup.crate));
    CHECK(pv_client_kind_of(its.client, b) == index_of(its.setup.walker));
    // A relation is reported once. The next events replace it.
    CHECK(pv_client_take_events(its.client) == 0);
    CHECK(pv_client_relation_count(its.client) == 0);

    REQUIRE(world.detach(crate) == Status::ok);
    REQUIRE(world.attach(crate, me) == Status::ok);
    its.step(4);
    got = its.one_relation();
    CHECK(got.old_root == b);
    CHECK(got.new_root == a);
    CHECK(got.old_parent == b);
    CHECK(got.new_parent == a);

    REQUIRE(world.detach(crate) == Status::ok);
    its.step(4);
    got = its.one_relation();
    CHECK(got.new_root == c);
    CHECK(got.new_parent == PV_NO_GHOST);
    CHECK(pv_client_root_of(its.client, 77) == PV_NO_GHOST);
    CHECK(pv_client_root_of(nullptr, 0) == PV_NO_GHOST);
    CHECK(pv_client_parent_of(its.client, 77) == PV_NO_GHOST);
    CHECK(pv_client_parent_of(nullptr, 0) == PV_NO_GHOST);
    CHECK(pv_client_kind_of(its.client, 77) == 0xffffffffU);
    CHECK(pv_client_kind_of(nullptr, 0) == 0xffffffffU);
    CHECK(pv_client_relation_count(nullptr) == 0);
    CHECK(pv_client_relations(nullptr) == nullptr);
}

TEST_CASE("capi: position and owner of a ghost, and the types of its fields") {
    CellStage its;
    const EntityId me = its.stage.spawn(its.setup.fox, {175, 140, 0});
    REQUIRE(its.stage.visibility().set_viewpoint(its.stage.observers[0], me) == Status::ok);
    its.step(6);
    const std::uint32_t ghost = its.ghost(me);
    const double tick = pv_client_newest_tick(its.client);
    const float* at = pv_client_position(its.client, ghost, tick);
    CHECK(at[0] == doctest::Approx(175).epsilon(0.001));
    CHECK(at[1] == doctest::Approx(140).epsilon(0.001));
    CHECK(pv_client_position(its.client, 77, tick)[0] == 0);
    CHECK(pv_client_position(nullptr, 0, tick) == nullptr);
    CHECK(pv_client_is_owned(its.client, ghost) == 0);
    REQUIRE(its.stage.world().set_owner(me, its.stage.observers[0]) == Status::ok);
    its.step(4);
    CHECK(pv_client_is_owned(its.client, ghost) == 1);
    CHECK(pv_client_is_owned(its.client, 77) == 0);
    CHECK(pv_client_is_owned(nullptr, 0) == 0);
    const std::uint32_t mind = index_of(its.setup.mind.id), body = index_of(its.setup.body.id);
    CHECK(pv_client_field_type(its.client, body, 0) == 0);
    CHECK(pv_client_field_type(its.client, mind, 0) == 1);
    CHECK(pv_client_field_type(its.client, mind, 1) == 3);
    CHECK(pv_client_field_type(its.client, mind, 2) == 0);
    CHECK(pv_client_field_type(its.client, mind, 900) == 0);
    CHECK(pv_client_field_type(nullptr, 0, 0) == 0);
}

TEST_CASE("capi: the orientation of a ghost (O4)") {
    CellStage its;
    const float* turned = pv_client_orientation(its.client, 0, 1);
    CHECK(std::vector<float>(turned, turned + 4) == std::vector<float>{0, 0, 0, 1});
    CHECK(pv_client_orientation(nullptr, 0, 1) == nullptr);
}

TEST_CASE("capi: the cell of a ghost equals the server's, or is PV_NO_CELL") {
    CellStage its;
    const EntityId me = its.stage.spawn(its.setup.walker, {175, 140, 0});
    REQUIRE(its.stage.visibility().set_viewpoint(its.stage.observers[0], me) == Status::ok);
    its.step(6);
    const std::uint32_t ghost = its.ghost(me);
    REQUIRE(pv_client_cell_grid_count(its.client) == 1);
    const Rules rules = its.setup.rules(Payload::read_many);
    const CellGrid grid = cell_grid_of(rules, rules.nodes[0].steps[0]);
    CHECK(pv_client_cell_of(its.client, ghost, 0) == grid.cell_of({175, 140, 0}));
    CHECK(pv_client_cell_of(its.client, ghost, 0) == 24);  // column 3 and row 3, seven columns
    REQUIRE(its.stage.world().move(me, {125, 170, 0}) == Status::ok);
    its.step(4);
    CHECK(pv_client_cell_of(its.client, ghost, 0) == 30);
    CHECK(pv_client_cell_of(its.client, ghost, 1) == PV_NO_CELL);
    CHECK(pv_client_cell_of(its.client, 77, 0) == PV_NO_CELL);
    CHECK(pv_client_cell_of(nullptr, 0, 0) == PV_NO_CELL);
    CHECK(pv_client_cell_grid_count(nullptr) == 0);
}

}  // namespace purview::test
