// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// An invalid server definition is refused with a message that states the problem.
#include <doctest/doctest.h>

#include <functional>
#include <string>

#include "idle_game.hpp"
#include "purview/presets.hpp"
#include "server/server_def.hpp"
#include "small_game.hpp"

namespace purview::test {

namespace {

struct ShelfSchema {
    struct Scroll {
        char a[31] = {}, b[31] = {}, c[31] = {}, d[31] = {};
        float x = 0, y = 0;
        bool is_open = false;
    };
    ShelfSchema() {
        scroll = schema.component<Scroll>("scroll")
                     .text("a", &Scroll::a)
                     .text("b", &Scroll::b)
                     .text("c", &Scroll::c)
                     .text("d", &Scroll::d)
                     .boolean("open", &Scroll::is_open)
                     .id();
        shelf = schema.kind("shelf", {scroll});
        RpcDesc to_all;
        to_all.target = RpcTarget::none;
        letter =
            schema.rpc<Scroll>("letter", to_all).text("a", &Scroll::a).text("b", &Scroll::b).id();
        open = schema.flag("open", scroll, "open");
    }
    Schema schema;
    ComponentId scroll{};
    KindId shelf{};
    RpcId letter{};
    FlagId open{};
};

}  // namespace

TEST_CASE("server: an invalid definition is refused with a message that states the problem") {
    const struct {
        std::function<void(ServerDef&, Schema&)> injected_fault;
        Status status;
        const char* why;
    } all[] = {
        {[](auto& def, auto&) { def.schema = nullptr; }, Status::bad_configuration,
         "schema is not set"},
        {[](auto&, auto& schema) { (void)schema.kind("shelf", {}); }, Status::bad_configuration,
         "schema: "},
        {[](auto& def, auto&) { def.mac = nullptr; }, Status::bad_configuration, "mac is not set"},
        {[](auto&, auto& schema) { schema.edit_kind(id_at<KindId>(0)).teleport_distance = -1; },
         Status::bad_configuration, "teleport_distance"},
        {[](auto&, auto& schema) { schema.edit_kind(id_at<KindId>(0)).relative_position = true; },
         Status::bad_configuration, "kind 'shelf', relative_position needs a position"},
        {[](auto& def, auto&) { def.secret = {}; }, Status::bad_configuration, "secret is not set"},
        {[](auto& def, auto&) { def.mac = [](auto, auto, auto) {}; }, Status::bad_configuration,
         "the same value for different data"},
        {[](auto& def, auto&) { def.tick_hz = 1'001; }, Status::bad_configuration, "tick_hz"},
        {[](auto& def, auto&) { def.budget_bytes_per_tick = 127; }, Status::bad_configuration,
         "budget_bytes_per_tick must be 128 or more"},
        {[](auto& def, auto&) { def.enter_priority = 0; }, Status::bad_configuration,
         "enter_priority"},
        {[](auto& def, auto&) { def.sessions_max = 1U << 20; }, Status::bad_configuration,
         "sessions_max must be at most 1048544"},
        {[](auto& def, auto&) { def.entities_max = 0; }, Status::bad_configuration, "entities_max"},
        {[](auto& def, auto&) { def.group_members_max = 0; }, Status::bad_configuration,
         "group_members_max"},
        {[](auto& def, auto&) { def.group_depth_max = 65; }, Status::bad_configuration,
         "group_depth_max must be at most 64"},
        {[](auto& def, auto&) { def.input.lead_max = 0; }, Status::bad_configuration,
         "input.lead_max"},
        {[](auto& def, auto&) { def.input.buffer_target = def.input.lead_max + 1; },
         Status::bad_configuration, "input.buffer_target"},
        {[](auto& def, auto&) { def.rewind.cell_size = 0; }, Status::bad_configuration,
         "rewind.cell_size"},
        {[](auto& def, auto&) { def.rewind.ticks = 0xfffffffe; }, Status::bad_configuration,
         "rewind.ticks must be at most 65536"},
        {[](auto& def, auto&) { def.rules.kinds.resize(2); }, Status::bad_configuration,
         "the rules have settings for 2 kinds, but the schema has 1"},
        {[](auto&, auto& schema) {
             schema.edit_kind(id_at<KindId>(0)).intervals = {{0.5F, 2}, {0.25F, 1}};
         },
         Status::bad_configuration, "kind 'shelf', intervals: scores must ascend"},
        {[](auto&, auto& schema) { schema.edit_kind(id_at<KindId>(0)).priority = 1e7F; },
         Status::bad_configuration, "kind 'shelf', priority"},
        {[](auto& def, auto&) { def.budget_bytes_per_tick = 150; }, Status::too_large,
         "kind 'shelf' may need 1"},
        {[](auto& def, auto& schema) {
             for (int k = 0; k < 200; ++k)
                 (void)schema.kind("kind " + std::to_string(k) + std::string(50, 'x'), {});
             def.join_timeout_ms = 1'000;
             def.budget_bytes_per_tick = 300;
         },
         Status::too_large, "the schema takes 1"},
        {[](auto& def, auto&) { def.rules.areas_max = 64; }, Status::bad_configuration,
         "areas_max must be at most 63"},
        {[](auto& def, auto&) {
             def.rules.kinds.resize(1);
             def.rules.kinds[0].nodes = {id_at<NodeId>(1)};
         },
         Status::bad_configuration, "kind 'shelf', node 1 does not exist"},
        {[](auto& def, auto&) {
             def.rules.kinds.resize(1);
             def.rules.kinds[0].range = 10;
         },
         Status::bad_configuration, "kind 'shelf', range must be 0 to the largest"},
        {[](auto& def, auto&) {
             def.rules.kinds.resize(1);
             def.rules.kinds[0].uses_group_radius = true;
         },
         Status::bad_configuration, "kind 'shelf', uses_group_radius needs"},
        {[](auto& def, auto&) { def.rules.node("open ones").add(id_at<FlagId>(1)); },
         Status::bad_configuration, "node 'open ones', a step uses a flag that is not declared"},
        {[](auto& def, auto&) { def.rules.node("near").add(within(9).leave_at(3)); },
         Status::bad_configuration, "node 'near', "},
    };
    IdleGame game;
    for (const auto& one : all) {
        ShelfSchema setup;
        ServerDef def;
        def.schema = &setup.schema;
        def.mac = &test_mac;
        def.secret = test_secret;
        CHECK(problem_of(def) == "");
        CHECK(Server::create(def, game));
        one.injected_fault(def, setup.schema);
        CAPTURE(one.why);
        const std::string why = problem_of(def);
        CAPTURE(why);
        CHECK(why.find(one.why) != std::string::npos);
        const auto made = Server::create(def, game);
        REQUIRE_FALSE(made);
        CHECK(made.error() == one.status);
    }
}

TEST_CASE("server: too_large is returned until a packet has the room in the message") {
    ShelfSchema setup;
    ServerDef def;
    def.schema = &setup.schema;
    def.mac = &test_mac;
    def.secret = test_secret;
    def.budget_bytes_per_tick = 128;
    IdleGame game;
    unsigned refused = 0, needs = 0, has = 0;
    for (; !Server::create(def, game); ++def.budget_bytes_per_tick, ++refused) {
        const std::string why = problem_of(def);
        const std::size_t need = why.find("need "), room = why.find("has ");
        REQUIRE(room != std::string::npos);
        needs = static_cast<unsigned>(std::stoul(why.substr(need + 5)));
        has = static_cast<unsigned>(std::stoul(why.substr(room + 4)));
        CHECK(has < needs);
    }
    CHECK(refused > 10);
    CHECK(has + 1 == needs);
}

TEST_CASE("server: a definition with a preset has all interest settings of the preset") {
    for (const Preset begun : {Preset::ngo, Preset::mirror, Preset::fusion, Preset::phaser}) {
        CAPTURE(static_cast<int>(begun));
        ShelfSchema shelf;
        (void)add_position(shelf.schema, 0, 100);
        ServerDef def;
        def.rules = preset(begun);
        def.schema = &shelf.schema;
        def.mac = &test_mac;
        def.secret = test_secret;
        CHECK(problem_of(def) == "");
        const Rules theirs = preset(begun);
        const Rules its = rules_of(def);
        REQUIRE(its.nodes.size() == 1);
        CHECK(its.nodes[0].name == theirs.nodes[0].name);
        CHECK(its.axes == theirs.axes);
        CHECK(its.range_classes == theirs.range_classes);
        CHECK(its.ready_requires_viewpoint == (begun == Preset::mirror));
        CHECK(its.owner_sees == (begun != Preset::fusion));
    }
}

}  // namespace purview::test
