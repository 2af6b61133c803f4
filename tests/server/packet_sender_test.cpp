// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Data that needs most of a packet is sent even if the game sends other data in every tick.
#include "core/internal_access.hpp"
#include "support/stage.hpp"

namespace purview::test {

namespace {

struct Scroll {
    char lines[8][31] = {};
};
struct ShelfLine {
    char text[31] = {};
};

/// A scroll needs most of the byte budget of a tick.
struct ScrollSchema {
    explicit ScrollSchema(bool staged = false, std::uint32_t parts_in_turn = 4) {
        std::vector<ComponentId> parts;
        for (std::uint32_t p = 0; p < (staged ? parts_in_turn : 1U); ++p) {
            const Component<Scroll> part = schema.component<Scroll>("scroll" + std::to_string(p));
            parts.push_back(part.id);
            add_lines(schema, part.id, staged ? 7 : 8);
            if (staged) schema.audience(part.id, {AudienceType::staged});
        }
        RpcDesc desc;
        desc.target = RpcTarget::none;
        submit = schema.rpc<ShelfLine>("say", desc).text("text", &ShelfLine::text);
        kind = schema.kind("scroll", parts);
        REQUIRE(schema.problem().empty());
        def.budget_bytes_per_tick = 330;
    }
    Schema schema;
    Rpc<ShelfLine> submit;
    KindId kind{};
    ServerDef def;
};

void fill(char (&text)[31], char with) {
    std::fill_n(text, 31, with);
}

/// Fills all lines of all components.
void fill(Stage& stage, const ScrollSchema& setup, EntityId scroll, std::uint32_t tick = 0) {
    for (const ComponentId part : setup.schema.kinds()[index_of(setup.kind)].components) {
        for (auto& line : stage.world().edit(scroll, Component<Scroll>{part})->lines)
            fill(line, static_cast<char>('a' + tick % 20));
    }
}

/// Takes and counts the messages and RPCs that the client has received.
std::uint32_t take_received(Client& client) {
    std::uint32_t received = 0;
    std::span<const std::byte> message;
    while (client.next_message(message)) ++received;
    ReceivedRpc call;
    while (client.next_rpc(call)) ++received;
    return received;
}

}  // namespace

TEST_CASE("budget: a large entity is sent beside RPCs and messages of every tick") {
    const std::vector<std::byte> words(100);
    for (const bool staged : {false, true}) {
        for (const bool calls : {false, true}) {
            CAPTURE(staged);
            CAPTURE(calls);
            const ScrollSchema setup(staged);
            Stage stage(setup.schema, 1, setup.def);
            const EntityId scroll = stage.spawn(setup.kind);
            fill(stage, setup, scroll);
            ShelfLine line;
            fill(line.text, 'y');
            std::uint32_t received = 0;
            const auto has_all = [&] {
                const GhostId ghost = stage.ghost(0, scroll);
                if (ghost == GhostId::none) return false;
                const auto& parts = setup.schema.kinds()[index_of(setup.kind)].components;
                return std::all_of(parts.begin(), parts.end(), [&](ComponentId part) {
                    return stage.client().is_replicated(ghost, part);
                });
            };
            std::uint32_t ticks = 0;
            for (; ticks < 60 && !has_all(); ++ticks) {
                if (calls) {
                    for (int i = 0; i < 2; ++i) CHECK(stage.server->call({}, setup.submit, line));
                } else {
                    CHECK(stage.server->send_message(stage.observers[0], words) == Status::ok);
                    CHECK(stage.server->send_message(stage.observers[0], words) == Status::ok);
                }
                const std::uint64_t before = stage.bytes_to[0];
                stage.step();
                CHECK(stage.bytes_to[0] - before <= setup.def.budget_bytes_per_tick);
                received += take_received(stage.client());
            }
            CHECK(has_all());
            CHECK(ticks < (staged ? 40U : 10U));
            CHECK(received > 0);
            // All messages and RPCs arrive, too.
            for (int i = 0; i < 100; ++i) stage.step();
            received += take_received(stage.client());
            CHECK(received == 2 * ticks);
        }
    }
}

TEST_CASE("budget: a reference client counts staged components that exceed a packet") {
    const ScrollSchema setup(true, 8);
    Stage stage(setup.schema, 1, setup.def);
    REQUIRE(stage.server->add_reference_client());
    const auto bytes = [&] { return stage.server->stats().reference_bytes; };
    stage.step();
    const std::uint64_t before = bytes();
    const EntityId scroll = stage.spawn(setup.kind);
    fill(stage, setup, scroll);
    stage.step(40);
    const std::uint64_t sent_bytes = bytes() - before;
    constexpr std::uint64_t texts = 8 * 7 * 31;
    CHECK(sent_bytes > texts);
    CHECK(sent_bytes < texts + 600);
    stage.step(10);
    CHECK(bytes() - before == sent_bytes);  // then nothing is pending
}

TEST_CASE("budget: a small child does not delay the parent that it needs") {
    ScrollSchema setup;
    const Component<Vec3> tag = setup.schema.component<Vec3>("tag").real("x", &Vec3::x);
    const KindId child = setup.schema.kind("child", {tag.id});
    setup.schema.edit_kind(child).priority = 4;
    Stage stage(setup.schema, 1, setup.def);
    const EntityId other = stage.spawn(setup.kind);
    stage.step(3);
    const EntityId scroll = stage.spawn(setup.kind), small = stage.spawn(child);
    fill(stage, setup, scroll);
    CHECK(stage.world().attach(small, scroll) == Status::ok);
    ShelfLine line;
    fill(line.text, 'y');
    std::uint32_t ticks = 0;
    for (; ticks < 60 && stage.ghost(0, small) == GhostId::none; ++ticks) {
        fill(stage, setup, other, ticks);  // more than fits, in every tick
        for (int i = 0; i < 2; ++i) CHECK(stage.server->call({}, setup.submit, line));
        stage.step();
    }
    CHECK(ticks < 10);
    CHECK(stage.ghost(0, scroll) != GhostId::none);
}

TEST_CASE("budget: a large RPC is sent beside messages and changes of every tick") {
    ScrollSchema setup;
    RpcDesc desc;
    desc.target = RpcTarget::none;
    const Rpc<Scroll> read = setup.schema.rpc<Scroll>("read", desc);
    add_lines(setup.schema, read.id, 8);
    setup.def.budget_bytes_per_tick = 350;
    for (const bool changes : {false, true}) {
        CAPTURE(changes);
        Stage stage(setup.schema, 1, setup.def);
        const EntityId scroll = stage.spawn(setup.kind);
        stage.step(3);
        Scroll args;
        for (auto& text : args.lines) fill(text, 'z');
        CHECK(stage.server->call({}, read, args));
        const std::vector<std::byte> words(400);
        std::uint32_t ticks = 0, messages = 0;
        ReceivedRpc call;
        for (; ticks < 60 && !stage.client().next_rpc(call); ++ticks) {
            if (changes) fill(stage, setup, scroll, ticks);
            (void)stage.server->send_message(stage.observers[0], words);
            stage.step();
            std::span<const std::byte> message;  // valid until the next call
            while (stage.client().next_message(message)) ++messages;
        }
        CHECK(ticks < 10);
        for (int i = 0; i < 200; ++i) {
            stage.step();
            messages += take_received(stage.client());
        }
        CHECK(messages == ticks);
    }
}

TEST_CASE("budget: an RPC that found no room is not queued once its entity is denied") {
    ScrollSchema setup;
    RpcDesc desc;
    desc.policy = RpcPolicy::hold;
    desc.hold_ticks = 100;
    const Rpc<ShelfLine> read =
        setup.schema.rpc<ShelfLine>("read", desc).text("text", &ShelfLine::text);
    Stage stage(setup.schema, 1, setup.def);
    std::array<EntityId, 2> scrolls{};
    for (EntityId& scroll : scrolls) {
        scroll = stage.spawn(setup.kind);
        fill(stage, setup, scroll);
        CHECK(stage.server->call({.entity = scroll}, read, ShelfLine{}));
    }
    stage.step();  // sends one of them; its enter leaves no room for the other
    CHECK(take_received(stage.client()) == 1);
    const EntityId other = scrolls[stage.ghost(0, scrolls[0]) == GhostId::none ? 0 : 1];
    REQUIRE(stage.ghost(0, other) == GhostId::none);
    CHECK(stage.visibility().deny(stage.observers[0], other, true) == Status::ok);
    stage.step();
    REQUIRE(stage.server->rpc_late_culls().size() == 1);
    CHECK(internal(*stage.server).calls.held().empty());
    CHECK(stage.visibility().deny(stage.observers[0], other, false) == Status::ok);
    stage.step(20);
    CHECK(stage.ghost(0, other) != GhostId::none);
    CHECK(take_received(stage.client()) == 0);
}

TEST_CASE("budget: an RPC about staged components is sent although they always change") {
    ScrollSchema setup(true);
    RpcDesc desc;
    const Rpc<ShelfLine> read =
        setup.schema.rpc<ShelfLine>("read", desc).text("text", &ShelfLine::text);
    Stage stage(setup.schema, 1, setup.def);
    const EntityId scroll = stage.spawn(setup.kind);
    std::uint32_t tick = 0;
    const auto step = [&] {
        fill(stage, setup, scroll, tick++);
        stage.step();
    };
    for (int i = 0; i < 40; ++i) step();
    REQUIRE(stage.ghost(0, scroll) != GhostId::none);
    constexpr std::uint32_t calls = 5;
    for (std::uint32_t i = 0; i < calls; ++i)
        CHECK(stage.server->call({.entity = scroll}, read, ShelfLine{}));
    CHECK(stage.server->call({}, setup.submit, ShelfLine{}));
    std::uint32_t received = 0;
    for (int i = 0; i < 40; ++i) {
        step();
        received += take_received(stage.client());
    }
    CHECK(received == calls + 1);
}

TEST_CASE("budget: messages are sent while an RPC never fits beside its entity's update") {
    struct Four {
        char lines[4][31] = {};
    };
    struct Five {
        char lines[5][31] = {};
    };
    Schema schema;
    const Component<Five> five = schema.component<Five>("five");
    const Rpc<Four> four = schema.rpc<Four>("four", {});
    add_lines(schema, five.id, 5);
    add_lines(schema, four.id, 4);
    const KindId kind = schema.kind("kind", {five.id});
    ServerDef def;
    def.budget_bytes_per_tick = 300;
    Stage stage(schema, 1, def);
    const EntityId entity = stage.spawn(kind);
    stage.step(3);
    const std::vector<std::byte> words(40);
    Four args;
    for (auto& line : args.lines) fill(line, 'z');
    std::uint32_t messages = 0;
    for (int tick = 0; tick < 60; ++tick) {
        for (auto& line : stage.world().edit(entity, five)->lines)
            fill(line, static_cast<char>('a' + tick % 20));
        if (tick % 10 == 0) {
            CHECK(stage.server->call({.entity = entity}, four, args));
            CHECK(stage.server->send_message(stage.observers[0], words) == Status::ok);
        }
        stage.step();
        CHECK(stage.client().updated_of(stage.ghost(0, entity)) + 4 >=
              stage.server->current_tick());
        std::span<const std::byte> message;  // the RPC is never sent
        while (stage.client().next_message(message)) ++messages;
    }
    CHECK(messages >= 5);
}

TEST_CASE("budget: a long message does not stop updates") {
    const ScrollSchema setup;
    Stage stage(setup.schema, 1, setup.def);
    std::vector<EntityId> scrolls;
    for (int i = 0; i < 6; ++i) {
        scrolls.push_back(stage.spawn(setup.kind));
        fill(stage, setup, scrolls.back());
    }
    stage.step(20);
    const std::vector<std::byte> all(60'000);
    CHECK(stage.server->send_message(stage.observers[0], all) == Status::ok);
    std::uint32_t updates = 0, ticks = 0;
    std::span<const std::byte> message;
    for (; ticks < 1'000 && !stage.client().next_message(message); ++ticks) {
        const EntityId scroll = scrolls[ticks % scrolls.size()];
        Scroll* its = stage.world().edit(
            scroll, Component<Scroll>{setup.schema.kinds()[index_of(setup.kind)].components[0]});
        its->lines[0][0] = static_cast<char>('a' + ticks % 20);
        stage.step();
        updates +=
            stage.client().updated_of(stage.ghost(0, scroll)) == stage.server->current_tick();
    }
    CHECK(message.size() == all.size());
    CHECK(ticks < 500);
    CHECK(updates * 2 > ticks);
}

TEST_CASE("budget: a client can have its own budget if everything fits into it") {
    ScrollSchema setup;
    const Component<Vec3> tag = setup.schema.component<Vec3>("tag").real("x", &Vec3::x);
    const KindId small = setup.schema.kind("small", {tag.id});
    setup.def.budget_bytes_per_tick = 4'800;
    Stage stage(setup.schema, 2, setup.def);
    Server& server = *stage.server;
    CHECK(server.set_budget(ObserverId{999}, 4'800) == Status::stale_id);
    CHECK(server.set_budget(stage.observers[0], 127) == Status::bad_argument);
    CHECK(server.set_budget(stage.observers[0], 250) == Status::too_large);  // for a scroll
    CHECK(server.set_budget(stage.observers[0], 330) == Status::ok);
    for (int i = 0; i < 300; ++i) (void)stage.spawn(small);
    std::array<std::uint64_t, 2> most{};
    for (int tick = 0; tick < 60; ++tick) {
        const std::array<std::uint64_t, 2> before{stage.bytes_to[0], stage.bytes_to[1]};
        stage.step();
        for (std::size_t c = 0; c < 2; ++c)
            most[c] = std::max(most[c], stage.bytes_to[c] - before[c]);
        if (tick == 1) CHECK(stage.client(1).ghost_count() == 300);
        if (tick == 1) CHECK(stage.client(0).ghost_count() < 150);
    }
    CHECK(most[0] <= 330);
    CHECK(most[0] > 250);
    CHECK(most[1] > 1'000);
    CHECK(stage.client(0).ghost_count() == 300);
    std::vector<SessionStats> sessions;
    server.sessions(sessions);
    for (const SessionStats& session : sessions) {
        const bool is_first = session.observer == stage.observers[0];
        CHECK(session.budget_bytes_per_tick == (is_first ? 330 : 4'800));
    }
}

}  // namespace purview::test
