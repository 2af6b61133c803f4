// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/schema_codec.hpp"

#include <bit>

namespace purview {

namespace {

void write_name(std::string_view name, BitWriter& out) noexcept {
    out.u8(static_cast<std::uint8_t>(name.size()));
    for (const char c : name) out.u8(static_cast<std::uint8_t>(c));
}

std::string read_name(BitReader& in) {
    const std::size_t size = in.u8();
    if (size == 0 || size > Schema::name_bytes_max || in.bits_left() < size * 8) {
        in.fail();
        return {};
    }
    std::string name;
    for (std::size_t i = 0; i < size; ++i) name.push_back(static_cast<char>(in.u8()));
    return name;
}

/// Which coordinate a field of the place is: 0, 1, 2, or 3 for none.
constexpr unsigned axis_bits = 2;
unsigned axis_of(const FieldDef& field) noexcept {
    return field.offset_bytes % 4 == 0 && field.offset_bytes < sizeof(Vec3) &&
                   (field.type == FieldType::real || field.type == FieldType::quantised)
               ? field.offset_bytes / 4U
               : 3U;
}

void write_field(const FieldDef& field, bool of_place, BitWriter& out) noexcept {
    write_name(field.name, out);
    out.bits(static_cast<std::uint64_t>(field.type), 2);
    if (of_place) out.bits(axis_of(field), axis_bits);
    if (field.type == FieldType::integer || field.type == FieldType::quantised) {
        out.u64(std::bit_cast<std::uint64_t>(field.min));
        out.u64(std::bit_cast<std::uint64_t>(field.max));
    }
    if (field.type == FieldType::quantised) out.u64(std::bit_cast<std::uint64_t>(field.step));
}

FieldDef read_field(BitReader& in, std::uint16_t offset, bool of_place) {
    FieldDef field;
    field.name = read_name(in);
    const auto type = in.bits(2);
    field.type = static_cast<FieldType>(type);
    if (of_place) {
        if (const auto axis = in.bits(axis_bits); axis < 3) {
            offset = static_cast<std::uint16_t>(axis * sizeof(float));
        }
    }
    field.offset_bytes = offset;
    field.size_bytes = field.type == FieldType::boolean ? 1 : 4;
    if (field.type == FieldType::integer || field.type == FieldType::quantised) {
        field.min = std::bit_cast<double>(in.u64());
        field.max = std::bit_cast<double>(in.u64());
    }
    if (field.type == FieldType::quantised) field.step = std::bit_cast<double>(in.u64());
    field.is_signed = field.type == FieldType::integer && field.min < 0;
    return field;
}

void write_rpcs(const Schema& schema, BitWriter& out) noexcept {
    out.u8(static_cast<std::uint8_t>(schema.rpcs().size()));
    for (const RpcDef& rpc : schema.rpcs()) {
        write_name(rpc.args.name, out);
        out.bits(static_cast<std::uint64_t>(rpc.desc.direction), 1);
        out.bits(static_cast<std::uint64_t>(rpc.desc.target), 2);
        out.bits(static_cast<std::uint64_t>(rpc.desc.delivery), 2);
        out.bits(static_cast<std::uint64_t>(rpc.desc.policy), 2);
        out.bits(static_cast<std::uint64_t>(rpc.desc.callers), 2);
        if (rpc.desc.policy == RpcPolicy::hold) out.u16(rpc.desc.hold_ticks);
        out.bits(rpc.args.fields.size(), 5);
        for (const FieldDef& field : rpc.args.fields) write_field(field, false, out);
    }
}

void read_rpcs(BitReader& in, Schema& schema) {
    const std::size_t count = in.u8();
    for (std::size_t r = 0; r < count && in.ok(); ++r) {
        RpcDef def;
        def.args.name = read_name(in);
        def.desc.direction = static_cast<RpcDirection>(in.bits(1));
        def.desc.target = static_cast<RpcTarget>(in.bits(2));
        def.desc.delivery = static_cast<RpcDelivery>(in.bits(2));
        def.desc.policy = static_cast<RpcPolicy>(in.bits(2));
        def.desc.callers = static_cast<RpcCallers>(in.bits(2));
        if (def.desc.policy == RpcPolicy::hold) def.desc.hold_ticks = in.u16();
        const auto fields = in.bits(5);
        if (fields > Schema::fields_max) in.fail();
        def.args.size_bytes = static_cast<std::uint32_t>(fields == 0 ? 4 : fields * 4);
        if (!in.ok()) return;
        const RpcId id = schema.add_rpc(std::move(def));
        for (std::uint64_t f = 0; f < fields && in.ok(); ++f) {
            schema.add_field(id, read_field(in, static_cast<std::uint16_t>(f * 4), false));
        }
        if (schema.status() != Status::ok) in.fail();
    }
}

}  // namespace

void write_schema(const Schema& schema, BitWriter& out) noexcept {
    const ComponentDef* place = schema.place() == ComponentId::none
                                    ? nullptr
                                    : &schema.components()[index_of(schema.place())];
    out.boolean(schema.place() != ComponentId::none);
    if (schema.place() != ComponentId::none) out.bits(index_of(schema.place()), 5);
    out.bits(schema.components().size(), 6);
    for (const ComponentDef& component : schema.components()) {
        write_name(component.name, out);
        out.bits(component.fields.size(), 5);
        for (const FieldDef& field : component.fields) {
            write_field(field, &component == place, out);
        }
    }
    out.bits(schema.kinds().size(), 9);
    for (const KindDef& kind : schema.kinds()) {
        write_name(kind.name, out);
        std::uint32_t mask = 0;
        for (const ComponentId component : kind.components) mask |= 1U << index_of(component);
        out.bits(mask, static_cast<unsigned>(schema.components().size()));
    }
    write_rpcs(schema, out);
}

Result<Schema> read_schema(BitReader& in) {
    Schema schema;
    constexpr std::uint64_t no_place = 32;
    const std::uint64_t place = in.boolean() ? in.bits(5) : no_place;
    const auto components = in.bits(6);
    for (std::uint64_t c = 0; c < components && in.ok(); ++c) {
        ComponentDef def;
        def.name = read_name(in);
        const auto fields = in.bits(5);
        if (fields > Schema::fields_max) in.fail();
        // A place begins with its three coordinates, whichever of them are sent.
        const std::uint64_t first = c == place ? sizeof(Vec3) : 0;
        def.size_bytes =
            static_cast<std::uint32_t>(first + fields * 4 == 0 ? 4 : first + fields * 4);
        const ComponentId id = schema.add_component(std::move(def));
        for (std::uint64_t f = 0; f < fields && in.ok(); ++f) {
            schema.add_field(id,
                             read_field(in, static_cast<std::uint16_t>(first + f * 4), c == place));
        }
        if (schema.status() != Status::ok) in.fail();
    }
    if (place != no_place) schema.set_place(ComponentId{static_cast<std::uint16_t>(place)});
    const auto kinds = in.bits(9);
    for (std::uint64_t k = 0; k < kinds && in.ok(); ++k) {
        const std::string name = read_name(in);
        const auto mask = in.bits(static_cast<unsigned>(components));
        std::vector<ComponentId> list;
        for (std::uint16_t c = 0; c < components; ++c) {
            if (((mask >> c) & 1U) != 0) list.push_back(ComponentId{c});
        }
        schema.kind(name, list);
        if (schema.status() != Status::ok) in.fail();
    }
    read_rpcs(in, schema);
    if (!in.ok() || schema.status() != Status::ok) return Status::malformed;
    return schema;
}

std::vector<KindField> fields_of(const Schema& schema, KindId kind) {
    std::vector<KindField> out;
    for (const ComponentId component : schema.kinds()[index_of(kind)].components) {
        const auto& fields = schema.components()[index_of(component)].fields;
        for (std::size_t f = 0; f < fields.size(); ++f) {
            out.push_back({component, static_cast<std::uint16_t>(f), fields[f].wire_bits});
        }
    }
    return out;
}

}  // namespace purview
