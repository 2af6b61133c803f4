// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// RPC types in the schema, and their arguments.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>

#include "protocol/rpc_args.hpp"
#include "protocol/schema_access.hpp"
#include "protocol/schema_codec.hpp"
#include "small_game.hpp"

namespace purview::test {

namespace {

struct Blast {
    float power = 0;
    float angle = 0;
    std::int16_t count = 0;
    bool loud = false;
};

Schema blast_schema(const RpcDesc& desc) {
    Schema schema;
    schema.rpc<Blast>("blast", desc)
        .real("power", &Blast::power)
        .quantized("angle", &Blast::angle, {-4, 4, 0.5})
        .integer("count", &Blast::count, -10, 300)
        .boolean("loud", &Blast::loud);
    return schema;
}

}  // namespace

TEST_CASE("rpc: RPC types are read back with the same meaning and hash") {
    const SmallSchema small;
    std::vector<std::byte> bytes(8'000);
    BitWriter out(bytes);
    write_schema(small.schema, out);
    REQUIRE(out.ok());
    BitReader in(out.written());
    const auto read = read_schema(in);
    REQUIRE(read.has_value());
    CHECK(in.exhausted());
    REQUIRE(read->rpcs().size() == small.schema.rpcs().size());
    CHECK(read->hash() == small.schema.hash());
    for (std::size_t r = 0; r < read->rpcs().size(); ++r) {
        const RpcDef &one = read->rpcs()[r], &other = small.schema.rpcs()[r];
        CHECK(one.args.name == other.args.name);
        CHECK(one.desc.direction == other.desc.direction);
        CHECK(one.desc.target == other.desc.target);
        CHECK(one.desc.delivery == other.desc.delivery);
        CHECK(one.desc.policy == other.desc.policy);
        CHECK(one.desc.hold_ticks == other.desc.hold_ticks);
        CHECK(one.desc.callers == other.desc.callers);
        CHECK(words_bits(one) == words_bits(other));
    }
}

TEST_CASE("rpc: a schema with more than 320 bytes of arguments is refused") {
    struct Scroll {
        char text[31] = {};
    };
    for (const std::size_t texts : {10U, 11U}) {
        CAPTURE(texts);
        Schema own;
        const Rpc<Scroll> page = own.rpc<Scroll>("page", {});
        const Component<Scroll> held = own.component<Scroll>("held");
        Schema other = own;
        for (std::size_t i = 0; i < texts; ++i) {
            FieldDef field;  // all at the same offset, which is not sent
            field.name = "text" + std::to_string(i);
            field.type = FieldType::text;
            field.size_bytes = 31;
            SchemaAccess::add_field(own, page.id, field);
            SchemaAccess::add_field(other, held.id, field);
        }
        const bool is_one = texts == 10;  // eight words each, 80 in all
        CHECK(own.problem().empty() == is_one);
        CHECK(other.problem().empty() == is_one);
        if (!is_one) CHECK(own.problem().find("320 bytes") != std::string_view::npos);
        // The same schema, written by a server without that limit.
        std::vector<std::byte> bytes(1'000);
        BitWriter out(bytes);
        const auto send_name = [&](const std::string& name) {
            out.u8(static_cast<std::uint8_t>(name.size()));
            for (const char c : name) out.u8(static_cast<std::uint8_t>(c));
        };
        out.bits(0, 1 + 6 + 9);  // no position, components or kinds
        out.u8(1);
        send_name("page");
        out.bits(static_cast<std::uint64_t>(RpcTarget::none) << 1, 1 + 2 + 2 + 2 + 2);
        out.bits(texts, 5);
        for (std::size_t i = 0; i < texts; ++i) {
            send_name("text" + std::to_string(i));
            out.bits(static_cast<std::uint64_t>(FieldType::text), 3);
            out.bits(31, 5);
        }
        out.bits(0, 6);  // no inputs
        REQUIRE(out.ok());
        BitReader in(out.written());
        CHECK(read_schema(in).has_value() == is_one);
    }
}

TEST_CASE("rpc: every attribute of an RPC type affects the schema hash") {
    const RpcDesc plain;
    const std::uint64_t hash = blast_schema(plain).hash();
    std::array<RpcDesc, 6> others;
    others[0].direction = RpcDirection::to_server;
    others[1].target = RpcTarget::position;
    others[2].delivery = RpcDelivery::unreliable;
    others[3].policy = RpcPolicy::force;
    others[4].policy = RpcPolicy::hold;
    others[4].hold_ticks = 5;
    others[5].direction = RpcDirection::to_server;
    others[5].callers = RpcCallers::owner;
    for (const RpcDesc& other : others) {
        const Schema schema = blast_schema(other);
        CHECK(schema.problem().empty());
        CHECK(schema.hash() != hash);
    }
    Schema more = blast_schema(plain);
    more.rpc<Blast>("another", plain);
    CHECK(more.hash() != hash);
}

TEST_CASE("rpc: a contradictory description is refused") {
    std::array<RpcDesc, 8> wrong;
    wrong[0].policy = RpcPolicy::hold;
    wrong[1].hold_ticks = 3;
    wrong[2].target = RpcTarget::none;
    wrong[2].policy = RpcPolicy::force;
    wrong[3].callers = RpcCallers::owner;
    wrong[4].direction = RpcDirection::to_server;
    wrong[4].target = RpcTarget::position;
    wrong[5].direction = RpcDirection::to_server;
    wrong[5].policy = RpcPolicy::force;
    wrong[6].direction = RpcDirection::to_server;
    wrong[6].target = RpcTarget::none;
    wrong[6].callers = RpcCallers::owner;
    wrong[7].delivery = static_cast<RpcDelivery>(3);
    for (const RpcDesc& desc : wrong) {
        const Schema schema = blast_schema(desc);
        CAPTURE(schema.problem());
        CHECK(!schema.problem().empty());
    }
    Schema unknown = blast_schema({});
    unknown.edit_kind(unknown.find_kind("missing")).priority = 2;
    CHECK(!unknown.problem().empty());
    CHECK(unknown.problem().find("unknown kind") != std::string::npos);
    Schema twice = blast_schema({});
    twice.rpc<Blast>("blast", {});
    CHECK(!twice.problem().empty());
    Schema many;
    for (std::size_t i = 0; i <= Schema::rpcs_max; ++i) {
        CHECK(many.problem().empty());
        many.rpc<Blast>("r" + std::to_string(i), {});
    }
    CHECK(!many.problem().empty());
}

TEST_CASE("rpc: arguments from structs, numbers and bytes are clamped and canonical") {
    const Schema schema = blast_schema({});
    const RpcDef& rpc = schema.rpcs()[0];
    const float nan = std::nanf("");
    const Blast wild{nan, 1e30F, -5'000, true};
    const RpcWords words = words_of_struct(rpc, std::as_bytes(std::span(&wild, 1)).data());
    Blast back;
    struct_of_words(rpc, words, std::as_writable_bytes(std::span(&back, 1)).data());
    CHECK(std::isnan(back.power));
    CHECK(back.angle == 4);
    CHECK(back.count == -10);
    CHECK(back.loud);
    const std::array<FieldValue, 4> numbers{2.5, std::nan(""), 1e300, -3.0};
    std::array<double, 4> seen{};
    values_of_words(rpc, words_of_arguments(rpc, numbers), seen);
    CHECK(seen == std::array<double, 4>{2.5, -4, 300, 1});
    std::array<std::byte, 64> all_ones;
    all_ones.fill(std::byte{0xff});
    BitReader in(all_ones);
    const RpcWords read = read_words(rpc, in);
    CHECK(read[0] == 0x7fc00000U);
    values_of_words(rpc, read, seen);
    CHECK(seen[1] == 4);
    CHECK(seen[2] == 300);
}

TEST_CASE("rpc: a server refuses a schema that does not fit into a welcome") {
    SmallSchema small;
    for (int r = 0; r < 100; ++r) {
        const RpcId rpc = small.schema.rpc<std::array<float, 16>>("r" + std::to_string(r), {}).id();
        for (std::uint16_t f = 0; f < 16; ++f) {
            const std::string name = std::string(60, 'x') + std::to_string(f);
            SchemaAccess::add_field(small.schema, rpc,
                                    {name, FieldType::quantized, static_cast<std::uint16_t>(f * 4),
                                     4, true, 0, 1, 0.5, 0});
        }
    }
    REQUIRE(small.schema.problem().empty());
    SmallGame game(small, 1);
    ServerDef def;
    def.schema = &small.schema;
    def.rules = small_rules(small);
    def.mac = &test_mac;
    def.secret = test_secret;
    CHECK(Server::create(def, game).error() == Status::bad_configuration);
}

}  // namespace purview::test
