// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The shared payload modes, one behavior per test.
#include "client/client_data.hpp"
#include "client_events.hpp"
#include "core/internal_access.hpp"
#include "idle_game.hpp"
#include "server/shared_sections.hpp"
#include "support/shared_world.hpp"
#include "support/stage.hpp"
#include "support/steps.hpp"

namespace purview::test {

namespace {

/// An idle world with all observers in the middle of column 3, row 3. Everything has been sent.
std::unique_ptr<CellWorld> make_idle_world(Payload mode, std::uint32_t clients = 1,
                                           std::uint32_t walkers = 0) {
    CellWorldDef def;
    def.mode = mode;
    def.clients = clients;
    def.walkers = walkers;
    auto world = std::make_unique<CellWorld>(def);
    (void)world->gather(0);
    return world;
}

void edit_hp(CellWorld& world, EntityId entity, std::uint16_t hp) {
    world.server->world().edit(entity, world.setup.body)->hp = hp;
}

double hp_at(CellWorld& world, std::uint32_t client, EntityId entity) {
    const GhostId ghost = world.ghost(client, entity);
    return ghost == GhostId::none
               ? -1
               : world.peers[client]->client.value_of(ghost, world.setup.body.id, 1);
}

std::uint64_t copies(const CellWorld& world) {
    return world.server->stats().cell_payload_copies;
}
std::uint64_t sections(const CellWorld& world) {
    return world.server->stats().cell_payloads;
}

}  // namespace

TEST_CASE("shared cells: update many writes a change for each surrounding cell (P4 P6)") {
    const auto made = make_idle_world(Payload::update_many, 3);
    CellWorld& world = *made;
    // Three observers in three adjacent cells. The entity is in the middle cell.
    std::vector<EntityId> players;
    for (const ObserverId o : world.observers) players.push_back(world.players[index_of(o)]);
    (void)world.server->world().move(players[0], {125, 140, 0});
    (void)world.server->world().move(players[2], {225, 140, 0});
    const EntityId rat = world.spawn(world.setup.walker, {176, 141, 0});
    world.step(10);
    const std::uint64_t written = sections(world), taken = copies(world);
    // Two edits in a tick: only the last value is sent, and once.
    edit_hp(world, rat, 1);
    edit_hp(world, rat, 2);
    world.step();
    CHECK(sections(world) - written == 3);  // one for each cell that is read
    CHECK(copies(world) - taken == 3);      // each observer takes one
    for (std::uint32_t c = 0; c < 3; ++c) CHECK(hp_at(world, c, rat) == 2);
}

TEST_CASE("shared cells: read many writes a change once for all readers (P5 P30)") {
    const auto made = make_idle_world(Payload::read_many, 3);
    CellWorld& world = *made;
    std::vector<EntityId> players;
    for (const ObserverId o : world.observers) players.push_back(world.players[index_of(o)]);
    (void)world.server->world().move(players[0], {125, 140, 0});
    (void)world.server->world().move(players[2], {225, 140, 0});
    const EntityId rat = world.spawn(world.setup.walker, {176, 141, 0});
    const EntityId far = world.spawn(world.setup.walker, {230, 141, 0});
    world.step(10);
    std::uint64_t written = sections(world), taken = copies(world);
    edit_hp(world, rat, 7);
    world.step();
    CHECK(sections(world) - written == 1);
    CHECK(copies(world) - taken == 3);
    written = sections(world);
    taken = copies(world);
    edit_hp(world, rat, 8);
    edit_hp(world, far, 9);  // the first observer does not see that cell
    world.step();
    CHECK(sections(world) - written == 2);
    CHECK(copies(world) - taken == 5);
    for (std::uint32_t c = 0; c < 3; ++c) CHECK(hp_at(world, c, rat) == 8);
    CHECK(hp_at(world, 0, far) == -1);
    CHECK(hp_at(world, 1, far) == 9);
}

TEST_CASE("shared cells: only cells with changes are written (P7)") {
    for (const Payload mode : shared_modes) {
        const auto made = make_idle_world(mode, 2, 60);
        CellWorld& world = *made;
        const std::uint64_t written = sections(world), taken = copies(world);
        world.step(5);
        CHECK(sections(world) == written);
        CHECK(copies(world) == taken);
        const EntityId near = world.spawn(world.setup.walker, {176, 141, 0});
        world.step(8);  // it is new: no payload repeats its enter
        CHECK(sections(world) == written);
        edit_hp(world, near, 5);
        world.step();
        CHECK(sections(world) - written == 1);
        world.step(5);
        CHECK(sections(world) - written == 1);
        CHECK(hp_at(world, 1, near) == 5);
    }
}

TEST_CASE("shared cells: client and server agree on the cell of a ghost (P8)") {
    for (const Payload mode : shared_modes) {
        CellWorldDef def;
        def.mode = mode;
        def.seed = 5;
        CellWorld world(def);
        std::uint64_t compared = 0;
        for (int tick = 0; tick < 120; ++tick) {
            world.step();
            const ServerData& data = internal(*world.server);
            for (std::uint32_t c = 0; c < def.clients; ++c) {
                const Client& client = world.peers[c]->client;
                if (world.observers.empty() || client.cell_grid_count() == 0) continue;
                CHECK(client.cell_grid(0)->count() == 7 * 8);
                for (const EntityId entity : world.relevant(c)) {
                    const GhostId ghost = world.ghost(c, entity);
                    if (ghost == GhostId::none) continue;
                    ++compared;
                    REQUIRE(client.cell_of(ghost) ==
                            data.sections.cells().cell_of(0, internal(data.world), data.fields,
                                                          entity));
                }
            }
        }
        CHECK(compared > 5'000);
        CHECK(world.peers[0]->client.cell_of(GhostId::none) == CellGrid::no_cell);
        CHECK(world.peers[0]->client.cell_of(GhostId{1}, 1) == CellGrid::no_cell);
        CHECK(world.peers[0]->client.cell_grid(1).error() == Status::bad_argument);
    }
}

TEST_CASE("shared cells: a crossing sends only the cells that are new (P12 P13 P20)") {
    for (const Payload mode : shared_modes) {
        const auto made = make_idle_world(mode);
        CellWorld& world = *made;
        const EntityId player = world.players.begin()->second;
        // One entity in each cell of row 3, columns 1 to 5.
        std::vector<EntityId> row;
        for (int column = 1; column < 6; ++column)
            row.push_back(
                world.spawn(world.setup.walker, {50.0F * static_cast<float>(column) + 20, 141, 0}));
        world.step(10);
        const auto seen = [&] {
            std::string text;
            for (const EntityId one : row) text += world.ghost(0, one) == GhostId::none ? '.' : 'x';
            return text;
        };
        CHECK(seen() == ".xxx.");
        world.peers[0]->client.clear_events();
        (void)world.server->world().move(player, {225, 140, 0});
        for (const EntityId one : row) edit_hp(world, one, 33);
        world.step();
        CHECK(seen() == "..xxx");
        // One enters and one leaves. The two that stay are updated in the same tick.
        CHECK(lifetimes_of(world.peers[0]->client).size() == 2);
        for (int i = 2; i < 5; ++i) CHECK(hp_at(world, 0, row[static_cast<std::size_t>(i)]) == 33);
        // Away and back within one tick, over many cells, has no effect.
        world.step(4);
        world.peers[0]->client.clear_events();
        (void)world.server->world().move(player, {20, 20, 0});
        (void)world.server->world().move(player, {226, 140, 0});
        world.step();
        CHECK(lifetimes_of(world.peers[0]->client).empty());
        CHECK(seen() == "..xxx");
    }
}

TEST_CASE("shared cells: an entering ghost is not also sent in the payload (P17 P18 P19)") {
    for (const Payload mode : shared_modes) {
        const auto made = make_idle_world(mode, 2);
        CellWorld& world = *made;
        const EntityId resident = world.spawn(world.setup.walker, {170, 130, 0});
        world.step(10);
        // A newcomer crosses into the cell and changes while the resident changes as well.
        const EntityId newcomer = world.spawn(world.setup.walker, {20, 20, 0});
        world.step(10);
        CHECK(world.ghost(0, newcomer) == GhostId::none);
        world.peers[0]->client.clear_events();
        for (std::uint16_t tick = 0; tick < 6; ++tick) {
            (void)world.server->world().move(newcomer, {171 + 0.5F * tick, 131, 0});
            edit_hp(world, newcomer, static_cast<std::uint16_t>(100 + tick));
            edit_hp(world, resident, static_cast<std::uint16_t>(200 + tick));
            world.step();
            CHECK(hp_at(world, 0, newcomer) == 100 + tick);
            CHECK(hp_at(world, 0, resident) == 200 + tick);
        }
        CHECK(lifetimes_of(world.peers[0]->client).size() == 1);  // one enter, whatever it changes
        CHECK(internal(world.peers[0]->client).replica->counters().ignored_items == 0);
        for (const std::string& text : world.proof->mismatches()) MESSAGE(text);
        CHECK(world.proof->counters().digest_mismatches == 0);
    }
}

TEST_CASE("shared cells: without changes only keep-alive packets are sent (P19)") {
    for (const Payload mode : shared_modes) {
        const auto made = make_idle_world(mode, 1, 80);
        CellWorld& world = *made;
        world.step(40);
        const std::uint64_t before = world.peers[0]->client.stats().packets_received;
        const Tick newest = world.peers[0]->client.newest_tick();
        world.step(40);
        CHECK(world.peers[0]->client.newest_tick() == newest);  // no snapshot at all
        CHECK(world.peers[0]->client.stats().packets_received - before <= 41);
    }
}

TEST_CASE("shared cells: a node that depends on the observer is refused with the reason") {
    const CellSchema setup;
    const auto problem = [&](auto&& change) {
        Rules rules = setup.rules(Payload::read_many);
        rules.flag_names = {"cloaked"};
        change(rules.nodes[0], rules);
        return problem_of(rules);
    };
    CHECK(problem([](NodeDef&, Rules&) {}) == "");
    CHECK(problem(
              [](NodeDef& node, Rules&) { node.steps[1] = lines::within(Combine::require, 10); }) ==
          "node 'cells', mode 'read many': step 2 depends on the observer; after the "
          "neighborhood, only flags and values are allowed");
    CHECK(problem([](NodeDef& node, Rules&) { node.steps[1].combine = Combine::add; }) ==
          "node 'cells', mode 'read many': step 2 adds entities of other cells");
    CHECK(problem([](NodeDef& node, Rules&) {
              node.payload = Payload::update_many;
              node.steps.erase(node.steps.begin());
          }) ==
          "node 'cells', mode 'update many': the first step must add a neighborhood of cells");
    CHECK(problem([](NodeDef& node, Rules&) { node.replication.every_ticks = 2; }) ==
          "node 'cells', mode 'read many': state is sent to every observer in every tick: "
          "every_ticks must be 1");
    CHECK(problem([](NodeDef& node, Rules&) { node.dormant = true; }).find("not dormant") !=
          std::string::npos);
    CHECK(problem([](NodeDef& node, Rules&) { node.steps[0].rings = 4; }) ==
          "node 'cells', mode 'read many': more than 3 rings");
    CHECK(problem([](NodeDef& node, Rules&) { node.steps[0].cell_size.z = 4; }) ==
          "node 'cells', mode 'read many': cells must have no depth");
    CHECK(problem([](NodeDef& node, Rules&) {
              node.steps[0].cell_size.x = node.steps[0].cell_size.y = 0.1F;
          }) == "node 'cells', mode 'read many': more than 1048576 cells cover the bounds");

    // Audiences, send intervals, limits and relative positions of the kinds in the node.
    IdleGame idle;
    CellSchema audience;
    audience.schema.audience(audience.mind.id, {AudienceType::owner});
    CellSchema curve;
    curve.schema.edit_kind(curve.walker).intervals = {{0, 4}, {0.5F, 1}};
    CellSchema limit;
    limit.schema.edit_kind(limit.walker).limit_per_tick = 4;
    CellSchema relative;
    relative.schema.edit_kind(relative.walker).relative_position = true;
    for (const CellSchema* one : {&audience, &curve, &limit, &relative}) {
        ServerDef def;
        def.schema = &one->schema;
        def.mac = &test_mac;
        def.secret = test_secret;
        def.rules = one->rules(Payload::update_many);
        CHECK(problem_of_sharing(def) ==
              (one == &audience ? "node 'cells', which is in a shared mode: kind 'fox' has the "
                                  "component 'mind', which has "
                                  "a restricted audience"
               : one == &curve  ? "node 'cells', which is in a shared mode: kind 'walker' has send "
                                  "intervals, which "
                                  "depend on the observer"
               : one == &limit  ? "node 'cells', which is in a shared mode: kind 'walker' has "
                                  "limit_per_tick, which "
                                  "depends on the ghosts of the observer"
                                : "node 'cells', which is in a shared mode: kind 'walker' has "
                                  "positions relative to a "
                                  "parent, "
                                  "which belong to no cell"));
        CHECK(Server::create(def, idle).error() == Status::bad_configuration);
        def.rules = one->rules(Payload::per_observer);
        auto server = Server::create(def, idle);
        REQUIRE(server);
        CHECK(server->set_rules(one->rules(Payload::read_many)) != "");
        CHECK(server->rules_revision() == 1);
        // A kind that is bound to another node is not in this node.
        def.rules = one->rules(Payload::read_many);
        def.rules.nodes[0].members = Members::unbound;
        def.rules.node("rest").members = Members::bound;
        def.rules.kinds.resize(3);
        def.rules.kinds[index_of(one == &audience ? one->fox : one->walker)].nodes = {
            id_at<NodeId>(1)};
        CHECK(problem_of_sharing(def) == "");
        CHECK(Server::create(def, idle));
    }
}

TEST_CASE("shared cells: grids that a full message stream has no room for are sent later") {
    const CellSchema setup;
    ServerDef def;
    def.rules = setup.rules(Payload::read_many);
    test::Stage stage(setup.schema, 1, def);
    stage.step(5);
    REQUIRE(stage.client().cell_grid_count() == 1);
    stage.loses_all_to = 0;
    const std::vector<std::byte> message(1'000);
    while (stage.server->send_message(stage.observers[0], message) == Status::ok) {
    }
    for (int i = 0; i < 80; ++i) {
        def.rules.nodes[0].steps[0].cell_size.x = static_cast<float>(20 + i);
        REQUIRE(stage.server->set_rules(def.rules) == "");
        stage.step();
    }
    stage.loses_all_to = 99;
    stage.step(200);
    CHECK(stage.client().state() == ClientState::joined);
    REQUIRE(stage.client().cell_grid_count() == 1);
    CHECK(stage.client().cell_grid(0)->width == 99);
}

TEST_CASE("shared cells: payload modes can change at run time without a mismatch (N39)") {
    CellWorldDef def;
    def.faults = {0.05F, 0, 0, 20'000, 10'000};
    def.seed = 9;
    CellWorld world(def);
    world.step(40);
    for (int round = 0; round < 4; ++round) {
        for (const Payload mode :
             {Payload::read_many, Payload::update_many, Payload::per_observer}) {
            REQUIRE(world.server->set_rules(world.setup.rules(mode)) == "");
            const std::uint64_t before = copies(world);
            world.step(25);
            CHECK((copies(world) > before + 20) == (mode != Payload::per_observer));
        }
    }
    for (const std::string& text : world.proof->mismatches()) MESSAGE(text);
    CHECK(world.proof->counters().digest_mismatches == 0);
    CHECK(world.proof->counters().truth_mismatches == 0);
}

TEST_CASE("shared cells: a payload above a third of the budget is sent per entity") {
    for (const Payload mode : shared_modes) {
        CellWorldDef def;
        def.mode = mode;
        def.clients = 2;
        def.walkers = 0;
        def.budget_bytes = 200;
        CellWorld world(def);
        const std::vector<EntityId> crowd = world.gather(80, 60);
        REQUIRE(world.peers[0]->client.ghost_count() == 82);
        const std::uint64_t taken = copies(world);
        const std::uint64_t left_out = world.server->stats().cell_payloads_skipped;
        for (const EntityId one : crowd) edit_hp(world, one, 77);
        world.step();
        CHECK(world.server->stats().cell_payloads_skipped - left_out == 2);
        CHECK(copies(world) == taken);
        world.step(20);
        for (const EntityId one : crowd) CHECK(hp_at(world, 1, one) == 77);
        CHECK(world.tick_bytes_max <= def.budget_bytes);
        edit_hp(world, crowd[3], 78);  // one edit does not fit either: the member map lists all
        world.step(2);
        CHECK(hp_at(world, 1, crowd[3]) == 78);
    }
}

TEST_CASE("shared cells: payloads in every tick do not block a large entity") {
    // The chest takes about 780 bytes, the payload 400 (a third of the budget) or 780.
    for (const auto& [budget_bytes, walkers] : {std::pair{1'200U, 76}, std::pair{4'800U, 130}}) {
        CellWorldDef def;
        def.mode = Payload::read_many;
        def.clients = 1;
        def.walkers = 0;
        def.budget_bytes = budget_bytes;
        def.has_chests = true;
        CellWorld world(def);
        const std::vector<EntityId> crowd = world.gather(walkers);
        std::uint16_t hp = 0;
        const auto step = [&] {
            ++hp;
            for (const EntityId one : crowd) {
                edit_hp(world, one, hp);
                (void)world.server->world().move(one, {150 + static_cast<float>(hp % 40), 141, 0});
            }
            world.step();
        };
        step();
        const std::uint64_t taken = copies(world);
        for (int i = 0; i < 10; ++i) step();
        CHECK(copies(world) - taken >= 10);  // a payload in every tick
        const EntityId chest = world.spawn(world.setup.chest, {170, 141, 0});
        for (const auto& lot : world.setup.lots) {
            for (auto& thing : world.server->world().edit(chest, lot)->things) thing.fill('x');
        }
        for (int i = 0; i < 20 && world.ghost(0, chest) == GhostId::none; ++i) step();
        CHECK(world.ghost(0, chest) != GhostId::none);
        CHECK(world.tick_bytes_max <= def.budget_bytes);
    }
}

TEST_CASE("shared cells: a call sends unacknowledged payload values of its target again") {
    // The RPC tests and the simulator check the order of calls and changes. This test checks that
    // values of an unacknowledged payload are sent again with a call.
    const auto made = make_idle_world(Payload::read_many);
    CellWorld& world = *made;
    const EntityId rat = world.spawn(world.setup.walker, {176, 141, 0});
    world.step(10);
    edit_hp(world, rat, 5);
    world.peers[0]->down.faults.loss = 1;
    world.step();
    world.peers[0]->down.faults.loss = 0;
    const LocalId slot = world.session(0).ghosts.slots().find(rat);
    CHECK(!world.session(0).ghosts.sends().is_pending(slot));  // in flight
    CHECK(hp_at(world, 0, rat) == 0);
    world.session(0).ghosts.request(slot, world.server->current_tick() + 1);
    world.step();
    CHECK(hp_at(world, 0, rat) == 5);
}

}  // namespace purview::test
