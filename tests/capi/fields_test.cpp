// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Fields of every type and retained ghosts, through the C interface.
#include <cstring>
#include <string>

#include "purview.h"
#include "support/stage.hpp"

namespace purview::test {

TEST_CASE("capi: texts, rotations, references, audiences and retained ghosts") {
    const SmallSchema schema;
    ServerDef def;
    def.rules.kinds.resize(schema.schema.kinds().size());
    def.rules.kinds[index_of(schema.animal)].mode = EntityMode::explicit_only;
    Stage stage(schema.schema, 0, def);
    pv_client* client = pv_client_create(1, 2, 1, 0);
    Address address;
    address.carrier = Address::Carrier::memory;
    address.port = 1;
    double now_ms = 1'000;
    stage.observers.resize(1);
    const auto step = [&](int ticks) {
        for (int i = 0; i < ticks; ++i) {
            now_ms += 50;
            const auto now = static_cast<Micros>(now_ms * 1'000);
            pv_client_tick(client, now_ms);
            while (const std::uint32_t size = pv_client_next_datagram(client)) {
                const auto bytes = std::as_bytes(std::span(pv_client_output(client), size));
                stage.server->receive(bytes, address, now);
            }
            stage.server->tick(now);
            OutgoingDatagram out;
            while (stage.server->next_datagram(out)) {
                std::memcpy(pv_client_input(client), out.bytes.data(), out.bytes.size());
                pv_client_receive(client, static_cast<std::uint32_t>(out.bytes.size()), now_ms);
            }
        }
    };
    step(10);
    REQUIRE(pv_client_state(client) == 2);
    const ObserverId me = stage.observers[0];
    const EntityId wolf = stage.spawn(schema.animal), deer = stage.spawn(schema.animal);
    Mind& mind = *stage.world().edit(wolf, schema.mind);
    std::memcpy(mind.name, "Akela", 5);
    mind.target = deer;
    mind.head = {0, 0, 1, 0};
    for (const EntityId entity : {wolf, deer})
        CHECK(stage.visibility().allow(me, entity, true) == Status::ok);
    step(4);
    CHECK(pv_client_is_view_complete(client) == 1);
    REQUIRE(pv_client_take_events(client) == 2);
    CHECK(pv_client_events(client)[0].enter == 1);
    CHECK(pv_client_events(client)[0].copy == 0);
    CHECK(pv_client_events(client)[0].reason == 3);  // forced
    const std::uint32_t its = index_of(schema.mind.id);
    REQUIRE(pv_client_change_count(client) == 2);  // with all replicated components
    CHECK((pv_client_changes(client)[0].components >> its & 1U) == 1);
    CHECK(pv_client_changes(client)[0].owner_changed == 1);
    CHECK(std::string(pv_client_text(client, 0, its, 0)) == "Akela");
    CHECK(pv_client_reference(client, 0, its, 1) == 1);
    CHECK(pv_client_reference(client, 1, its, 1) == PV_NO_GHOST);
    CHECK(pv_client_rotation(client, 0, its, 2)[2] == 1);
    CHECK(pv_client_rotation(client, 1, its, 2)[3] == 1);
    CHECK(pv_client_is_replicated(client, 0, its) == 1);
    // From then on, only what changes is reported.
    CHECK(pv_client_take_events(client) == 0);
    CHECK(pv_client_change_count(client) == 0);
    stage.world().edit(deer, schema.mind)->target = wolf;
    step(4);
    CHECK(pv_client_take_events(client) == 0);
    REQUIRE(pv_client_change_count(client) == 1);
    CHECK(pv_client_changes(client)[0].ghost == 1);
    CHECK(pv_client_changes(client)[0].components == 1U << its);
    CHECK(pv_client_changes(client)[0].owner_changed == 0);
    CHECK(pv_client_change_count(nullptr) == 0);
    // Unknown ghosts and components give empty values.
    CHECK(std::string(pv_client_text(client, 7, its, 0)).empty());
    CHECK(std::string(pv_client_text(client, 0, 99, 0)).empty());
    CHECK(pv_client_rotation(client, 0, 99, 0)[3] == 1);
    CHECK(pv_client_reference(client, 0, its, 99) == PV_NO_GHOST);
    CHECK(pv_client_is_replicated(client, 0, 99) == 0);
    CHECK(pv_client_is_replicated(nullptr, 0, 0) == 0);
    CHECK(pv_client_retention(client, 0) == 0);
    // The ghost leaves and is retained for thirty ticks.
    CHECK(stage.visibility().allow(me, wolf, false) == Status::ok);
    step(4);
    CHECK(pv_client_retention(client, 0) == 1);
    CHECK(pv_client_ghost_count(client) == 1);
    CHECK(std::string(pv_client_text(client, 0, its, 0)) == "Akela");
    REQUIRE(pv_client_take_events(client) == 1);
    CHECK(pv_client_events(client)[0].copy == 2);
    REQUIRE(pv_client_change_count(client) == 1);  // the reference to it is empty now
    CHECK(pv_client_changes(client)[0].ghost == 1);
    step(40);
    CHECK(pv_client_retention(client, 0) == 0);
    REQUIRE(pv_client_take_events(client) == 1);
    CHECK(pv_client_events(client)[0].copy == 4);
    CHECK(pv_client_change_count(client) == 0);
    // The last values stay readable until events are taken again.
    CHECK(std::string(pv_client_text(client, 0, its, 0)) == "Akela");
    CHECK(pv_client_take_events(client) == 0);
    CHECK(std::string(pv_client_text(client, 0, its, 0)).empty());
    pv_client_destroy(client);
}

}  // namespace purview::test
