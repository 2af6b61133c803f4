// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Typed reads: Client::get.
#include <cstring>

#include "client/client_data.hpp"
#include "core/internal_access.hpp"
#include "support/stage.hpp"

namespace purview::test {

namespace {

struct Kit {
    std::int32_t count = 0;
    float weight = 0;
    bool is_open = false;
    Rotation turn;
    char label[12] = {};
    EntityId of = EntityId::none;
};
struct Lock {
    std::int32_t code = 0;
};

struct KitSchema {
    KitSchema() {
        kit = schema.component<Kit>("kit")
                  .integer("count", &Kit::count, -5, 1000)
                  .quantized("weight", &Kit::weight, {0, 10, 0.5})
                  .boolean("open", &Kit::is_open)
                  .rotation("turn", &Kit::turn)
                  .text("label", &Kit::label)
                  .reference("of", &Kit::of);
        lock = schema.component<Lock>("lock").integer("code", &Lock::code, 0, 9);
        box = schema.kind("box", {kit.id});
        safe = schema.kind("safe", {kit.id, lock.id});
        REQUIRE(schema.problem().empty());
    }
    Schema schema;
    Component<Kit> kit;
    Component<Lock> lock;
    KindId box{}, safe{};
};

}  // namespace

TEST_CASE("client: a typed read returns the same field values as untyped reads") {
    const KitSchema setup;
    Stage stage(setup.schema, 1);
    Client& client = stage.client();
    const EntityId box = stage.spawn(setup.box), safe = stage.spawn(setup.safe);
    Kit kit;
    kit.count = -3;
    kit.weight = 7.3F;
    kit.is_open = true;
    kit.turn = {0, 0, 1, 0};
    set_text(kit.label, "nails");
    kit.of = safe;
    REQUIRE(stage.world().set(box, setup.kit, kit) == Status::ok);
    REQUIRE(stage.world().set(safe, setup.lock, {7}) == Status::ok);
    stage.step(4);
    const GhostId ghost = stage.ghost(0, box), other = stage.ghost(0, safe);
    REQUIRE(ghost != GhostId::none);
    REQUIRE(other != GhostId::none);
    internal(client).def.schema = nullptr;
    CHECK_FALSE(client.get(ghost, setup.kit));  // without ClientDef::schema
    internal(client).def.schema = &setup.schema;
    const auto read = client.get(ghost, setup.kit);
    REQUIRE(read);
    CHECK(read->count == -3);
    CHECK(read->weight == 7.5F);
    CHECK(double{read->weight} == client.value_of(ghost, setup.kit.id, 1));
    CHECK(read->is_open);
    CHECK(read->turn == client.rotation_of(ghost, setup.kit.id, 3));
    CHECK(std::string(read->label) == "nails");
    CHECK(read->of == EntityId::none);
    CHECK(client.reference_of(ghost, setup.kit.id, 5) == other);
    CHECK_FALSE(client.get(ghost, setup.lock));  // its kind lacks the component
    REQUIRE(client.get(other, setup.lock));
    CHECK(client.get(other, setup.lock)->code == 7);
    CHECK_FALSE(client.get(GhostId::none, setup.kit));
    CHECK_FALSE(client.get(GhostId{1'000}, setup.kit));
    // The last values stay readable until the program clears the leave event.
    REQUIRE(stage.world().despawn(safe) == Status::ok);
    stage.step(3);
    REQUIRE(stage.ghost(0, safe) == GhostId::none);
    REQUIRE(client.get(other, setup.lock));
    client.clear_events();
}

TEST_CASE("client: a typed read fails if the fields of the server have other types") {
    const KitSchema setup;
    Stage stage(setup.schema, 1);
    const EntityId safe = stage.spawn(setup.safe);
    stage.step(3);
    const GhostId ghost = stage.ghost(0, safe);
    REQUIRE(ghost != GhostId::none);
    Schema forged;  // the client's own schema; a malicious server may claim its hash
    struct Other {
        float code = 0;
    };
    const Component<Other> other = forged.component<Other>("kit").real("code", &Other::code);
    internal(stage.client()).def.schema = &forged;
    CHECK_FALSE(stage.client().get(ghost, other));
}

TEST_CASE("client: the schema hash of a definition defaults to the hash of its schema") {
    const KitSchema setup;
    ClientDef def;
    def.nonce = 5;
    def.schema = &setup.schema;
    Client client(def);
    CHECK(internal(client).def.schema_hash == setup.schema.hash());
    def.schema_hash = 77;
    Client queries(def);
    CHECK(internal(queries).def.schema_hash == 77);
}

}  // namespace purview::test
