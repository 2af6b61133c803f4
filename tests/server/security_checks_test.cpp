// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Guards that no other test would miss (docs/guards.md).
#include <doctest/doctest.h>

#include <array>
#include <map>

#include "client/client_data.hpp"
#include "client/ghosts.hpp"
#include "core/internal_access.hpp"
#include "link/handshake.hpp"
#include "link/messages.hpp"
#include "purview/limits.hpp"
#include "server/server_data.hpp"
#include "small_game.hpp"
#include "support/stage.hpp"

namespace purview::test {

namespace {

EntityId entity(std::uint32_t index, std::uint32_t generation = 1) {
    return make_entity_id(index, generation);
}

/// One fragment, and no more.
void write_fragment(BitWriter& out, std::uint32_t offset, std::span<const std::byte> data) {
    out.boolean(true);
    out.u32(offset);
    out.bits(data.size(), 10);
    out.bytes(data);
    out.boolean(false);
}

bool takes_fragment(std::uint32_t offset) {
    StreamReceiver in;
    std::vector<std::byte> bytes(100);
    BitWriter out(bytes);
    const std::byte one[1] = {};
    write_fragment(out, offset, one);
    BitReader reader(bytes);
    return in.read(reader);
}

/// A sealed packet of the session's client, as `body` writes it.
template <class Body>
void receive(SmallWorld& world, const Session& session, std::uint32_t sequence, Body&& body) {
    std::vector<std::byte> bytes(1200);
    BitWriter out(bytes);
    out.bits(0, seal_bytes * 8);
    out.u64(session.connection_id);
    out.u16(static_cast<std::uint16_t>(sequence));
    out.boolean(false);  // no acknowledgement
    body(out);
    REQUIRE(out.ok());
    bytes.resize(std::max(out.bytes_written(), challenge_bytes));
    seal(PacketType::data, session.connection_id, bytes);
    world.server->receive(bytes, session.address, world.now);
}

}  // namespace

TEST_CASE("link: a stream takes nothing that is far ahead of what it has handed out") {
    CHECK(takes_fragment(0));
    CHECK(takes_fragment(stream_window_bytes));
    CHECK_FALSE(takes_fragment(message_bytes_max + 2 + stream_window_bytes));
    CHECK_FALSE(takes_fragment(0x7fffffffU));
    CHECK_FALSE(takes_fragment(0x80000000U));
}

TEST_CASE("host: who never says what arrived is sent no more than the bound") {
    SmallWorld world(33, {});
    world.add_client();
    world.run(40);
    world.clients[0]->down->blackout = true;
    world.run(5);
    PacketLink& link = internal(*world.server).sessions[0]->link;
    while (link.can_send()) {  // they are all lost
        std::vector<std::byte> bytes(300);
        BitWriter out(bytes);
        (void)link.write_header(out);
    }
    world.run(20);
    CHECK(link.packets_under_way() == PacketLink::under_way_max);
}

TEST_CASE("host: of a flood of commands between two ticks only some are kept") {
    SmallWorld world(31, {});
    world.add_client();
    world.run(40);
    const std::vector<std::byte> command(limits::command_bytes);
    Session& session = *internal(*world.server).sessions[0];
    for (std::uint32_t i = 0; i < 50; ++i) {
        receive(world, session, 300 + i, [&](BitWriter& out) {
            out.boolean(false);  // no fragments, no digest
            out.boolean(false);
            out.varint(5);
            out.u16(static_cast<std::uint16_t>(session.next_command + 4));
            for (int c = 0; c < 5; ++c) {
                out.u8(static_cast<std::uint8_t>(command.size()));
                out.bytes(command);
            }
            out.boolean(false);  // no calls
        });
    }
    CHECK(session.next_command > 250);
    CHECK(session.commands.size() >= 40 * limits::command_bytes);
    CHECK(session.commands.size() <= 42 * limits::command_bytes);
    CHECK(internal(*world.server).drops.commands == 250 - 40);
}

TEST_CASE("host: who sends more messages between two ticks than an honest client can is closed") {
    for (const std::uint32_t messages : {130U, 140U}) {
        SmallWorld world(34, {});
        world.add_client();
        world.run(40);
        Session& session = *internal(*world.server).sessions[0];
        std::vector<std::byte> stream;
        for (std::uint32_t i = 0; i < messages; ++i) {
            const std::size_t size = 1'001;
            stream.push_back(static_cast<std::byte>(size & 0xff));
            stream.push_back(static_cast<std::byte>(size >> 8));
            stream.push_back(static_cast<std::byte>(ClientMessage::game));
            stream.resize(stream.size() + size - 1, std::byte{7});
        }
        const auto begin =
            static_cast<std::uint32_t>(7 + session.join.name.size());  // behind the join
        for (std::size_t at = 0; at < stream.size(); at += fragment_bytes_max) {
            const auto rest = std::span<const std::byte>(stream).subspan(at);
            const auto part = rest.first(std::min(rest.size(), fragment_bytes_max));
            const auto sequence = static_cast<std::uint32_t>(300 + at / fragment_bytes_max);
            receive(world, session, sequence, [&](BitWriter& out) {
                write_fragment(out, begin + static_cast<std::uint32_t>(at), part);
                out.boolean(false);  // no digest
                out.varint(0);       // no commands
                out.boolean(false);  // no calls
            });
        }
        const bool is_honest = messages == 130;
        CHECK((session.state == Session::State::joined) == is_honest);
        CHECK(session.messages.size() <= 131'072 + 2);
        if (is_honest) CHECK(session.messages.size() == 130 * 1'002);
    }
}

namespace {

/// Behind the first join: its length, type, role, a name and a credential with their sizes.
void join_again(SmallWorld& world, Session& session) {
    const std::byte join[] = {std::byte{5}, std::byte{0}, std::byte{1}, std::byte{1},
                              std::byte{0}, std::byte{0}, std::byte{0}};
    receive(world, session, 300, [&](BitWriter& out) {
        write_fragment(out, static_cast<std::uint32_t>(7 + session.join.name.size()), join);
        out.boolean(false);
        out.varint(0);
    });
}

}  // namespace

TEST_CASE("host: who joins twice has joined once") {
    SmallWorld world(32, {});
    world.add_client();
    world.run(40);
    Session& session = *internal(*world.server).sessions[0];
    REQUIRE(session.state == Session::State::joined);
    const ObserverId observer = session.observer;
    const std::size_t players = world.game.players.size();
    join_again(world, session);
    CHECK(internal(*world.server).drops.malformed_packet == 0);
    CHECK(session.state == Session::State::joined);
    world.run(3);
    CHECK(session.observer == observer);
    CHECK(world.game.players.size() == players);
}

TEST_CASE("host: whom the game has refused may not ask again") {
    SmallWorld world(33, {});
    world.game.refuse_joins = true;
    world.add_client();
    world.run(20);
    CHECK(world.clients[0]->client.state() == ClientState::refused);
    REQUIRE(internal(*world.server).sessions.size() == 1);
    Session& session = *internal(*world.server).sessions[0];
    REQUIRE(session.state == Session::State::accepted);
    world.game.refuse_joins = false;
    join_again(world, session);
    CHECK(internal(*world.server).drops.malformed_packet == 0);
    world.run(1);
    CHECK(session.state == Session::State::accepted);
    CHECK(world.game.players.empty());
}

TEST_CASE("replication: an old id does not find the ghost of whoever has its index now") {
    GhostTable ghosts;
    const LocalId lane = ghosts.enter(entity(5, 2), KindId{}, false, 1);
    ghosts.set_owned(entity(5, 1), true, 1);
    CHECK_FALSE(ghosts.owned(lane));
    CHECK(ghosts.find(entity(5, 3)) == no_local_id);
    ghosts.set_owned(entity(5, 2), true, 1);
    CHECK(ghosts.owned(lane));
}

TEST_CASE("replication: nothing that left is sent again because a packet with it was lost") {
    GhostTable ghosts;
    for (const std::uint32_t e : {5U, 6U}) {
        const LocalId lane = ghosts.enter(entity(e), KindId{}, false, 1);
        ghosts.sent(ghosts.begin_record(e, 1), lane, SentAs::enter);
    }
    ghosts.leave(entity(5), Reason::left);
    ghosts.resolve(5, false);
    CHECK_FALSE(ghosts.needs_enter(0));
    ghosts.resolve(6, true);
    ghosts.sent(ghosts.begin_record(7, 2), 1, SentAs::update);
    ghosts.leave(entity(6), Reason::left);
    ghosts.resolve(7, false);
    CHECK(ghosts.pending()[0] == 0);
    CHECK(ghosts.needs_leave()[0] == 3);
}

TEST_CASE(
    "replication: nothing that left is sent again because a packet with its motions was lost") {
    GhostTable ghosts;
    const LocalId lane = ghosts.enter(entity(5), KindId{}, false, 1);
    ghosts.set_extrapolated(lane, 1);
    const std::array<purview::Motion, 1> motions{};
    ghosts.sent(ghosts.begin_record(1, 1), lane, SentAs::enter, motions);
    ghosts.resolve(1, true);
    ghosts.sent(ghosts.begin_record(2, 2), lane, SentAs::update, motions);
    ghosts.leave(entity(5), Reason::left);
    ghosts.resolve(2, false);
    CHECK(ghosts.pending()[0] == 0);
    CHECK(ghosts.needs_leave()[0] == 1);
}

TEST_CASE("replication: a copy is kept only of what was held") {
    GhostTable ghosts;
    for (const std::uint32_t e : {5U, 6U}) {
        const LocalId lane = ghosts.enter(entity(e), KindId{}, false, 1);
        ghosts.sent(ghosts.begin_record(e, 1), lane, SentAs::enter);
    }
    ghosts.resolve(5, true);
    ghosts.leave(entity(5), Reason::left, {Retention::freeze, 100});
    ghosts.leave(entity(6), Reason::left, {Retention::freeze, 100});
    CHECK(ghosts.retention(0) == Retention::freeze);
    CHECK(ghosts.retention(1) == Retention::despawn);
    CHECK(ghosts.enter(entity(6), KindId{}, false, 3) == 2);  // from the beginning
}

TEST_CASE("replication: no more copies are kept than there is room for") {
    GhostTable ghosts;
    constexpr std::uint32_t count = GhostTable::retained_max + 10;
    PacketRecord& record = ghosts.begin_record(1, 1);
    for (std::uint32_t e = 0; e < count; ++e)
        ghosts.sent(record, ghosts.enter(entity(e), KindId{}, false, 1), SentAs::enter);
    ghosts.resolve(1, true);
    std::uint32_t kept = 0;
    for (std::uint32_t e = 0; e < count; ++e) {
        ghosts.leave(entity(e), Reason::left, {Retention::freeze, 100});
        kept += ghosts.retention(e) == Retention::freeze ? 1 : 0;
    }
    CHECK(kept == GhostTable::retained_max);
}

TEST_CASE("replication: where more copies are to be kept than there is room for, the oldest go") {
    Schema schema;
    const KindId tree = schema.kind("tree", {}), stone = schema.kind("stone", {});
    schema.edit_kind(tree).leave = Retention::deactivate;
    ServerDef def;
    def.rules.kinds.resize(2);
    for (const KindId kind : {tree, stone})
        def.rules.kinds[index_of(kind)].mode = EntityMode::explicit_only;
    Stage stage(schema, 1, def);
    const ObserverId me = stage.observers[0];
    constexpr std::uint32_t room = GhostTable::retained_max;
    std::vector<EntityId> all;
    for (std::uint32_t e = 0; e < room + 40; ++e)
        all.push_back(stage.spawn(e < room + 20 ? tree : stone));
    const auto show = [&](std::uint32_t from, std::uint32_t to, bool value) {
        for (std::uint32_t e = from; e < to; ++e)
            CHECK(stage.visibility().allow(me, all[e], value) == Status::ok);
        stage.step(value ? 12 : 3);
    };
    const auto became = [&] {
        std::map<Change, std::uint32_t> count;
        for (const ClientEvent& event : stage.client().events()) ++count[event.copy];
        stage.client().clear_events();
        return count;
    };
    show(0, room + 40, true);
    REQUIRE(became()[Change::entered] == room + 40);
    show(0, 100, false);
    show(100, room, false);
    auto changes = became();
    CHECK(changes[Change::retained] == room);
    CHECK(changes[Change::dropped] == 0);
    show(room + 20, room + 40, false);  // stones: whose copies nobody keeps
    changes = became();
    CHECK(changes[Change::left] == 20);
    CHECK(changes[Change::dropped] == 0);
    show(0, 1, true);  // and goes again: it is not the oldest any more
    show(0, 1, false);
    (void)became();
    show(room, room + 20, false);
    changes = became();
    CHECK(changes[Change::retained] == 20);
    CHECK(changes[Change::dropped] == 20);
    show(0, 50, true);
    changes = became();
    CHECK(changes[Change::entered] == 20);
    CHECK(changes[Change::resumed] == 30);
}

TEST_CASE("replication: an update counts only for a ghost that is held") {
    GhostTable ghosts;
    ghosts.enter(entity(5), KindId{}, false, 1);
    ghosts.sent(ghosts.begin_record(1, 1), 0, SentAs::enter);
    ghosts.sent(ghosts.begin_record(2, 2), 0, SentAs::update);
    ghosts.resolve(1, false);
    ghosts.resolve(2, true);
    CHECK(ghosts.baseline(0) == 1);
    ghosts.sent(ghosts.begin_record(3, 4), 0, SentAs::enter);
    ghosts.sent(ghosts.begin_record(4, 5), 0, SentAs::update);
    ghosts.resolve(3, true);
    ghosts.resolve(4, true);
    ghosts.begin_tick(6);
    CHECK(ghosts.baseline(0) == 5);
}

TEST_CASE(
    "replication: a client refuses an enter of what it has, and a plain update of what it has "
    "not") {
    struct Lamp {
        bool is_on = false;
    };
    Schema schema;
    const auto lamp = schema.component<Lamp>("lamp").boolean("is_on", &Lamp::is_on);
    (void)schema.kind("lamp", {Component<Lamp>(lamp).id});
    REQUIRE(schema.status() == Status::ok);
    ClientGhosts ghosts(schema);
    Tick newest = 0;
    const auto takes = [&](bool enter, LocalId id) {
        std::vector<std::byte> bytes(20);
        BitWriter out(bytes);
        out.u16(1);
        out.varint(0);
        out.varint(enter ? 1 : 0);
        if (enter) out.varint(id);
        if (enter) out.bits(0b1010000, 7);  // entered, nobody's, whole, no parent, on
        out.varint(0);
        out.varint(enter ? 0 : 1);
        if (!enter) out.bits(0, 4);
        if (!enter) out.rice(id, 0);
        if (!enter) out.boolean(false);
        REQUIRE(out.ok());
        BitReader in(bytes);
        if (!ghosts.read(in)) return false;
        ghosts.accept(newest);
        return true;
    };
    CHECK(takes(true, 0));
    CHECK(takes(true, 2));
    CHECK_FALSE(takes(true, 2));
    CHECK(takes(false, 2));
    CHECK_FALSE(takes(false, 1));
    CHECK(ghosts.count() == 2);
}

TEST_CASE("liars: ghosts take no more of a client's memory than they may, whatever it is told of") {
    struct ManyNumbers {
        std::int32_t at[16] = {};
    };
    for (const bool is_extrapolated : {false, true}) {
        CAPTURE(is_extrapolated);
        Schema schema;
        const Component<ManyNumbers> numbers = schema.component<ManyNumbers>("numbers");
        for (std::uint16_t f = 0; f < 16; ++f) {
            FieldDef field{"f" + std::to_string(f), FieldType::integer, 0, 4, true, 0, 1'000, 0, 0};
            field.offset_bytes = static_cast<std::uint16_t>(4 * f);
            schema.add_field(numbers.id, field);
            if (is_extrapolated) schema.extrapolate(numbers.id, field.name);
        }
        const KindId kind = schema.kind("one", {numbers.id});
        REQUIRE_MESSAGE(schema.status() == Status::ok, schema.problem());
        Stage stage(schema, 1);
        ClientGhosts& ghosts = *internal(stage.client()).ghosts;
        CHECK(ghosts.bytes_max == ClientDef{}.ghost_bytes_max);
        constexpr std::size_t some = 60'000;
        ghosts.bytes_max = some;
        for (int i = 0; i < 400; ++i) stage.spawn(kind);
        stage.step(60);
        CHECK(ghosts.bytes() <= some);
        CHECK(ghosts.count() > 0);
        CHECK(ghosts.count() < 400);
        CHECK(stage.client().stats().packets_malformed > 0);
        ghosts.bytes_max = ClientDef{}.ghost_bytes_max;  // and then the rest comes
        stage.step(100);
        CHECK(ghosts.count() == 400);
        CHECK(ghosts.bytes() > some);
    }
}

}  // namespace purview::test
