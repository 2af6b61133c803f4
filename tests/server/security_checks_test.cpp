// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Security checks that no other test covers (docs/guards.md).
#include <doctest/doctest.h>

#include <array>
#include <map>

#include "client/client_data.hpp"
#include "client/replica.hpp"
#include "core/internal_access.hpp"
#include "link/handshake.hpp"
#include "link/messages.hpp"
#include "protocol/schema_access.hpp"
#include "purview/limits.hpp"
#include "server/server_data.hpp"
#include "small_game.hpp"
#include "support/stage.hpp"

namespace purview::test {

namespace {

EntityId entity(std::uint32_t index, std::uint32_t generation = 1) {
    return make_entity_id(index, generation);
}

/// Writes one fragment and the end of the list.
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

/// Delivers a valid packet of the session's client, with what `body` writes.
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

TEST_CASE("link: a stream refuses data far ahead of what it has delivered") {
    CHECK(takes_fragment(0));
    CHECK(takes_fragment(stream_window_bytes));
    CHECK_FALSE(takes_fragment(message_bytes_max + 2 + stream_window_bytes));
    CHECK_FALSE(takes_fragment(0x7fffffffU));
    CHECK_FALSE(takes_fragment(0x80000000U));
}

TEST_CASE("server: a client that acknowledges nothing is sent a bounded number of packets") {
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

TEST_CASE("server: only a bounded part of a flood of commands is kept between two ticks") {
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
            out.boolean(false);  // no RPCs
        });
    }
    CHECK(session.next_command > 250);
    CHECK(session.commands.size() >= 40 * limits::command_bytes);
    CHECK(session.commands.size() <= 42 * limits::command_bytes);
    CHECK(internal(*world.server).drops.commands == 250 - 40);
}

TEST_CASE("server: a client that sends too many messages between two ticks is closed") {
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
            static_cast<std::uint32_t>(7 + session.join.name.size());  // after the join message
        for (std::size_t at = 0; at < stream.size(); at += fragment_bytes_max) {
            const auto rest = std::span<const std::byte>(stream).subspan(at);
            const auto part = rest.first(std::min(rest.size(), fragment_bytes_max));
            const auto sequence = static_cast<std::uint32_t>(300 + at / fragment_bytes_max);
            receive(world, session, sequence, [&](BitWriter& out) {
                write_fragment(out, begin + static_cast<std::uint32_t>(at), part);
                out.boolean(false);  // no digest
                out.varint(0);       // no commands
                out.boolean(false);  // no RPCs
            });
        }
        const bool is_well_behaved = messages == 130;
        CHECK((session.state == Session::State::joined) == is_well_behaved);
        CHECK(session.messages.size() <= 131'072 + 2);
        if (is_well_behaved) CHECK(session.messages.size() == 130 * 1'002);
    }
}

namespace {

/// Sends a second join message: its length, type, role, name and credential, the last two with
/// their sizes.
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

TEST_CASE("server: a second join message is ignored") {
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

TEST_CASE("server: a client that the game refused cannot join with another message") {
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

TEST_CASE("replication: an outdated entity id does not find the ghost of its successor") {
    GhostTable ghosts;
    const LocalId slot = ghosts.enter(entity(5, 2), id_at<KindId>(0), false, 1);
    ghosts.set_owned(entity(5, 1), true, 1);
    CHECK_FALSE(ghosts.marks().is_owned(slot));
    CHECK(ghosts.slots().find(entity(5, 3)) == no_local_id);
    ghosts.set_owned(entity(5, 2), true, 1);
    CHECK(ghosts.marks().is_owned(slot));
}

TEST_CASE("replication: the loss of a packet does not resend a ghost that has left") {
    GhostTable ghosts;
    for (const std::uint32_t e : {5U, 6U}) {
        const LocalId slot = ghosts.enter(entity(e), id_at<KindId>(0), false, 1);
        ghosts.sent(ghosts.begin_packet(e, 1), slot, SentAs::enter);
    }
    ghosts.leave(ghosts.slots().find(entity(5)), Reason::left);
    ghosts.resolve(5, false);
    CHECK_FALSE(ghosts.slots().needs_enter(0));
    ghosts.resolve(6, true);
    ghosts.sent(ghosts.begin_packet(7, 2), 1, SentAs::update);
    ghosts.leave(ghosts.slots().find(entity(6)), Reason::left);
    ghosts.resolve(7, false);
    CHECK(ghosts.sends().pending()[0] == 0);
    CHECK(ghosts.slots().needs_leave()[0] == 3);
}

TEST_CASE("replication: the loss of predictor states does not resend a ghost that has left") {
    GhostTable ghosts;
    const LocalId slot = ghosts.enter(entity(5), id_at<KindId>(0), false, 1);
    ghosts.set_layout(slot, false, 1);
    const std::array<purview::Motion, 1> motions{};
    ghosts.sent(ghosts.begin_packet(1, 1), slot, SentAs::enter, motions);
    ghosts.resolve(1, true);
    ghosts.sent(ghosts.begin_packet(2, 2), slot, SentAs::update, motions);
    ghosts.leave(ghosts.slots().find(entity(5)), Reason::left);
    ghosts.resolve(2, false);
    CHECK(ghosts.sends().pending()[0] == 0);
    CHECK(ghosts.slots().needs_leave()[0] == 1);
}

TEST_CASE("replication: only a ghost that the client has is retained") {
    GhostTable ghosts;
    for (const std::uint32_t e : {5U, 6U}) {
        const LocalId slot = ghosts.enter(entity(e), id_at<KindId>(0), false, 1);
        ghosts.sent(ghosts.begin_packet(e, 1), slot, SentAs::enter);
    }
    ghosts.resolve(5, true);
    ghosts.leave(ghosts.slots().find(entity(5)), Reason::left, {Retention::freeze, 100});
    ghosts.leave(ghosts.slots().find(entity(6)), Reason::left, {Retention::freeze, 100});
    CHECK(ghosts.retained().policy(0) == Retention::freeze);
    CHECK(ghosts.retained().policy(1) == Retention::despawn);
    CHECK(ghosts.enter(entity(6), id_at<KindId>(0), false, 3) == 2);  // a new local id
}

TEST_CASE("replication: the number of retained ghosts is bounded") {
    GhostTable ghosts;
    constexpr std::uint32_t count = RetainedGhosts::count_max + 10;
    PacketRecord& record = ghosts.begin_packet(1, 1);
    for (std::uint32_t e = 0; e < count; ++e)
        ghosts.sent(record, ghosts.enter(entity(e), id_at<KindId>(0), false, 1), SentAs::enter);
    ghosts.resolve(1, true);
    std::uint32_t kept = 0;
    for (std::uint32_t e = 0; e < count; ++e) {
        ghosts.leave(ghosts.slots().find(entity(e)), Reason::left, {Retention::freeze, 100});
        kept += ghosts.retained().policy(e) == Retention::freeze ? 1 : 0;
    }
    CHECK(kept == RetainedGhosts::count_max);
}

TEST_CASE("replication: above the limit the oldest retained ghosts are dropped") {
    Schema schema;
    const KindId tree = schema.kind("tree", {}), stone = schema.kind("stone", {});
    schema.edit_kind(tree).leave = Retention::deactivate;
    ServerDef def;
    def.rules.kinds.resize(2);
    for (const KindId kind : {tree, stone})
        def.rules.kinds[index_of(kind)].mode = EntityMode::explicit_only;
    Stage stage(schema, 1, def);
    const ObserverId me = stage.observers[0];
    constexpr std::uint32_t room = RetainedGhosts::count_max;
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
        for (const ClientEvent& event : stage.client().events()) ++count[event.change];
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
    show(room + 20, room + 40, false);  // stones have no retention
    changes = became();
    CHECK(changes[Change::left] == 20);
    CHECK(changes[Change::dropped] == 0);
    show(0, 1, true);  // and leaves again: it is no longer the oldest
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

TEST_CASE("replication: an update counts only for a ghost that the client has") {
    GhostTable ghosts;
    ghosts.enter(entity(5), id_at<KindId>(0), false, 1);
    ghosts.sent(ghosts.begin_packet(1, 1), 0, SentAs::enter);
    ghosts.sent(ghosts.begin_packet(2, 2), 0, SentAs::update);
    ghosts.resolve(1, false);
    ghosts.resolve(2, true);
    CHECK(ghosts.sends().baseline(0) == 1);
    ghosts.sent(ghosts.begin_packet(3, 4), 0, SentAs::enter);
    ghosts.sent(ghosts.begin_packet(4, 5), 0, SentAs::update);
    ghosts.resolve(3, true);
    ghosts.resolve(4, true);
    ghosts.begin_tick(6);
    CHECK(ghosts.sends().baseline(0) == 5);
}

TEST_CASE("replication: a client refuses a second enter, and an update without an enter") {
    struct Lamp {
        bool is_on = false;
    };
    Schema schema;
    const auto lamp = schema.component<Lamp>("lamp").boolean("is_on", &Lamp::is_on);
    (void)schema.kind("lamp", {Component<Lamp>(lamp).id});
    REQUIRE(schema.problem().empty());
    Replica replica(schema);
    Tick newest = 0;
    const auto takes = [&](bool enter, LocalId id) {
        std::vector<std::byte> bytes(20);
        BitWriter out(bytes);
        out.u16(1);
        out.varint(0);
        out.varint(enter ? 1 : 0);
        if (enter) out.varint(id);
        if (enter) out.bits(0b1010000, 7);  // entered, no owner, whole, no parent, on
        out.varint(0);
        out.varint(enter ? 0 : 1);
        if (!enter) out.bits(0, 4);
        if (!enter) out.rice(id, 0);
        if (!enter) out.boolean(false);
        REQUIRE(out.ok());
        BitReader in(bytes);
        if (!replica.decoder.read(in)) return false;
        replica.accept(newest);
        return true;
    };
    CHECK(takes(true, 0));
    CHECK(takes(true, 2));
    CHECK_FALSE(takes(true, 2));
    CHECK(takes(false, 2));
    CHECK_FALSE(takes(false, 1));
    CHECK(replica.ghosts.count() == 2);
}

TEST_CASE("malicious peer: ghosts take no more memory than a client allows") {
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
            SchemaAccess::add_field(schema, numbers.id, field);
            if (is_extrapolated) schema.extrapolate(numbers.id, field.name);
        }
        const KindId kind = schema.kind("one", {numbers.id});
        REQUIRE_MESSAGE(schema.problem().empty(), schema.problem());
        Stage stage(schema, 1);
        Replica& replica = *internal(stage.client()).replica;
        CHECK(replica.decoder.bytes_max == ClientDef{}.ghost_bytes_max);
        constexpr std::size_t some = 60'000;
        replica.decoder.bytes_max = some;
        for (int i = 0; i < 400; ++i) stage.spawn(kind);
        stage.step(60);
        CHECK(replica.bytes() <= some);
        CHECK(replica.ghosts.count() > 0);
        CHECK(replica.ghosts.count() < 400);
        CHECK(stage.client().stats().packets_malformed > 0);
        replica.decoder.bytes_max = ClientDef{}.ghost_bytes_max;  // now the rest fits
        stage.step(100);
        CHECK(replica.ghosts.count() == 400);
        CHECK(replica.bytes() > some);
    }
}

}  // namespace purview::test
