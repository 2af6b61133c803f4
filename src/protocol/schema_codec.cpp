// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "protocol/schema_codec.hpp"
#include "protocol/schema_access.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "protocol/difference.hpp"
#include "protocol/quantize.hpp"

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

/// Maximum size of the varint of a local id.
constexpr unsigned ghost_name_bits_max = 30;

/// Larger than any encoded schema.
constexpr std::size_t schema_bytes_max = std::size_t{1} << 17;
constexpr unsigned type_bits = 3;
/// Index of the coordinate for a field of the position: 0, 1, 2, or 3 for none.
constexpr unsigned axis_bits = 2;
unsigned axis_of(const FieldDef& field) noexcept {
    return field.offset_bytes % 4 == 0 && field.offset_bytes < sizeof(Vec3) &&
                   (field.type == FieldType::real || field.type == FieldType::quantized ||
                    field.type == FieldType::ranged)
               ? field.offset_bytes / 4U
               : 3U;
}

bool has_range(const FieldDef& field) noexcept {
    return field.type == FieldType::integer || field.type == FieldType::quantized ||
           field.type == FieldType::ranged;
}

/// Returns whether a field of this type may be extrapolated.
bool is_number(FieldType type) noexcept {
    return type == FieldType::integer || type == FieldType::quantized;
}

std::uint8_t size_of(FieldType type) noexcept {
    switch (type) {
        case FieldType::boolean:
            return 1;
        case FieldType::rotation:
            return sizeof(Rotation);
        case FieldType::reference:
            return sizeof(EntityId);
        default:
            return 4;
    }
}

/// A decoded position component begins with its three coordinates. All other fields share one
/// offset after them.
constexpr std::uint16_t beside_position = sizeof(Vec3);
constexpr std::uint32_t decoded_bytes = beside_position + 32;

void write_field(const FieldDef& field, bool of_position, BitWriter& out) noexcept {
    write_name(field.name, out);
    out.bits(static_cast<std::uint64_t>(field.type), type_bits);
    if (of_position) out.bits(axis_of(field), axis_bits);
    if (field.type == FieldType::text) out.bits(field.size_bytes, 5);
    if (has_range(field)) {
        out.u64(std::bit_cast<std::uint64_t>(field.min));
        out.u64(std::bit_cast<std::uint64_t>(field.max));
    }
    if (field.type == FieldType::quantized) out.u64(std::bit_cast<std::uint64_t>(field.step));
    if (is_number(field.type)) out.boolean(field.extrapolated);
}

FieldDef read_field(BitReader& in, bool of_position) {
    FieldDef field;
    field.name = read_name(in);
    field.type = static_cast<FieldType>(in.bits(type_bits));
    field.offset_bytes = beside_position;
    if (of_position) {
        if (const auto axis = in.bits(axis_bits); axis < 3)
            field.offset_bytes = static_cast<std::uint16_t>(axis * sizeof(float));
    }
    field.size_bytes = size_of(field.type);
    if (field.type == FieldType::text) field.size_bytes = static_cast<std::uint8_t>(in.bits(5));
    if (has_range(field)) {
        field.min = std::bit_cast<double>(in.u64());
        field.max = std::bit_cast<double>(in.u64());
    }
    if (field.type == FieldType::quantized) field.step = std::bit_cast<double>(in.u64());
    if (is_number(field.type)) field.extrapolated = in.boolean();
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
        def.args.size_bytes = decoded_bytes;
        if (!in.ok()) return;
        const RpcId id = SchemaAccess::add_rpc(schema, std::move(def));
        for (std::uint64_t f = 0; f < fields && in.ok(); ++f) {
            SchemaAccess::add_field(schema, id, read_field(in, false));
        }
        if (!schema.problem().empty()) in.fail();
    }
}

/// Writes inputs, the kinds that take them, and which components are predicted.
void write_inputs(const Schema& schema, BitWriter& out) noexcept {
    out.bits(schema.inputs().size(), 6);
    for (const ComponentDef& input : schema.inputs()) {
        write_name(input.name, out);
        out.bits(input.fields.size(), 5);
        for (const FieldDef& field : input.fields) write_field(field, false, out);
    }
    for (const KindDef& kind : schema.kinds()) {
        if (schema.inputs().empty()) break;
        out.bits(kind.inputs.size(), 3);
        for (const InputId input : kind.inputs) out.bits(index_of(input), 5);
        out.boolean(kind.is_inner_root);
        out.boolean(kind.starts_in_input);
    }
    for (const ComponentDef& component : schema.components()) {
        if (!schema.inputs().empty()) out.boolean(component.is_predicted);
    }
}

void read_inputs(BitReader& in, Schema& schema) {
    const auto inputs = in.bits(6);
    for (std::uint64_t i = 0; i < inputs && in.ok(); ++i) {
        ComponentDef def;
        def.name = read_name(in);
        def.size_bytes = decoded_bytes;
        const auto fields = in.bits(5);
        if (fields > Schema::fields_max) in.fail();
        if (!in.ok()) return;
        const InputId id = SchemaAccess::add_input(schema, std::move(def));
        for (std::uint64_t f = 0; f < fields && in.ok(); ++f)
            SchemaAccess::add_field(schema, id, read_field(in, false));
        if (!schema.problem().empty()) in.fail();
    }
    if (inputs == 0 || !in.ok()) return;
    for (std::uint16_t k = 0; k < schema.kinds().size() && in.ok(); ++k) {
        for (auto taken = in.bits(3); taken > 0 && in.ok(); --taken)
            schema.take_input(id_at<KindId>(k), id_at<InputId>(in.bits(5)));
        schema.edit_kind(id_at<KindId>(k)).is_inner_root = in.boolean();
        schema.edit_kind(id_at<KindId>(k)).starts_in_input = in.boolean();
    }
    for (std::uint16_t c = 0; c < schema.components().size() && in.ok(); ++c) {
        if (in.boolean()) schema.predict(id_at<ComponentId>(c));
    }
    if (!schema.problem().empty()) in.fail();
}

void read_orientation(BitReader& in, Schema& schema, KindId kind) {
    const ComponentId component = id_at<ComponentId>(in.bits(5));
    const auto field = static_cast<std::size_t>(in.bits(4));
    const auto axis = static_cast<TurnAxis>(in.bits(2));
    const auto full_turn = std::bit_cast<double>(in.u64());
    if (!in.ok() || index_of(component) >= schema.components().size()) return in.fail();
    const auto& fields = schema.components()[index_of(component)].fields;
    if (field >= fields.size()) return in.fail();
    schema.set_orientation(kind, component, fields[field].name, full_turn, axis);
}

float read_teleport(BitReader& in) noexcept {
    if (!in.boolean()) return 0;
    const auto teleport_distance = std::bit_cast<float>(static_cast<std::uint32_t>(in.bits(32)));
    if (!(teleport_distance > 0) || !std::isfinite(teleport_distance)) in.fail();
    return teleport_distance;
}

}  // namespace

ComponentId restricted_components(const Schema& schema) {
    const auto& kinds = schema.kinds();
    const bool is_relative = std::any_of(
        kinds.begin(), kinds.end(), [](const KindDef& kind) { return kind.relative_position; });
    const auto is_replicated = [&](ComponentId component) {
        if (component == ComponentId::none) return true;
        const ComponentDef& def = schema.components()[index_of(component)];
        return def.audience.type == AudienceType::everyone || (def.is_predicted && !is_relative);
    };
    if (!is_replicated(schema.position())) return schema.position();
    for (const KindDef& kind : kinds)
        if (!is_replicated(kind.orientation.component)) return kind.orientation.component;
    return ComponentId::none;
}

void write_schema(const Schema& schema, BitWriter& out) noexcept {
    const ComponentDef* position = schema.position() == ComponentId::none
                                       ? nullptr
                                       : &schema.components()[index_of(schema.position())];
    out.boolean(schema.position() != ComponentId::none);
    if (schema.position() != ComponentId::none) out.bits(index_of(schema.position()), 5);
    out.bits(schema.components().size(), 6);
    for (const ComponentDef& component : schema.components()) {
        write_name(component.name, out);
        out.boolean(component.audience.type != AudienceType::everyone);
        if (component.audience.type != AudienceType::everyone)
            out.boolean(component.audience.keeps_values);
        out.bits(component.fields.size(), 5);
        for (const FieldDef& field : component.fields) {
            write_field(field, &component == position, out);
        }
    }
    out.bits(schema.kinds().size(), 9);
    for (const KindDef& kind : schema.kinds()) {
        write_name(kind.name, out);
        std::uint32_t mask = 0;
        for (const ComponentId component : kind.components) mask |= 1U << index_of(component);
        out.bits(mask, static_cast<unsigned>(schema.components().size()));
        out.boolean(kind.relative_position);
        out.boolean(kind.teleport_distance > 0);
        if (kind.teleport_distance > 0)
            out.bits(std::bit_cast<std::uint32_t>(kind.teleport_distance), 32);
        const OrientationDef& turn = kind.orientation;
        out.boolean(turn.component != ComponentId::none);
        if (turn.component == ComponentId::none) continue;
        out.bits(index_of(turn.component), 5);
        out.bits(turn.field, 4);
        out.bits(static_cast<std::uint64_t>(turn.axis), 2);
        out.u64(std::bit_cast<std::uint64_t>(turn.full_turn));
    }
    write_rpcs(schema, out);
    write_inputs(schema, out);
}

bool are_same_on_the_wire(const Schema& left, const Schema& right) {
    std::array<std::vector<std::byte>, 2> written;
    for (const bool is_left : {true, false}) {
        std::vector<std::byte>& bytes = written[is_left ? 0 : 1];
        bytes.resize(schema_bytes_max);
        BitWriter out(bytes);
        write_schema(is_left ? left : right, out);
        if (!out.ok()) return false;
        bytes.resize(out.bytes_written());
    }
    return written[0] == written[1];
}

Result<Schema> read_schema(BitReader& in) {
    Schema schema;
    constexpr std::uint64_t no_position = 32;
    const std::uint64_t position = in.boolean() ? in.bits(5) : no_position;
    const auto components = in.bits(6);
    for (std::uint64_t c = 0; c < components && in.ok(); ++c) {
        ComponentDef def;
        def.name = read_name(in);
        if (in.boolean()) {
            // The real audience is not sent: a restricted one is represented by one of these two.
            def.audience.keeps_values = in.boolean();
            def.audience.type =
                def.audience.keeps_values ? AudienceType::unpredicted : AudienceType::owner;
        }
        const auto fields = in.bits(5);
        if (fields > Schema::fields_max) in.fail();
        def.size_bytes = decoded_bytes;
        const ComponentId id = SchemaAccess::add_component(schema, std::move(def));
        for (std::uint64_t f = 0; f < fields && in.ok(); ++f)
            SchemaAccess::add_field(schema, id, read_field(in, c == position));
        if (!schema.problem().empty()) in.fail();
    }
    if (position != no_position) schema.set_position(id_at<ComponentId>(position));
    const auto kinds = in.bits(9);
    for (std::uint64_t k = 0; k < kinds && in.ok(); ++k) {
        const std::string name = read_name(in);
        const auto mask = in.bits(static_cast<unsigned>(components));
        std::vector<ComponentId> list;
        for (std::uint16_t c = 0; c < components; ++c) {
            if (((mask >> c) & 1U) != 0) list.push_back(id_at<ComponentId>(c));
        }
        const KindId id = schema.kind(name, list);
        const bool is_relative = in.boolean();
        const float teleport_distance = read_teleport(in);
        if (schema.problem().empty()) {
            schema.edit_kind(id).relative_position = is_relative;
            schema.edit_kind(id).teleport_distance = teleport_distance;
        }
        if (in.boolean()) read_orientation(in, schema, id);
        if (!schema.problem().empty()) in.fail();
    }
    read_rpcs(in, schema);
    read_inputs(in, schema);
    if (in.ok() && restricted_components(schema) != ComponentId::none) in.fail();
    if (!in.ok() || !schema.problem().empty()) return Status::malformed;
    return schema;
}

namespace {

/// Returns whether observers without a special relation to the entity receive it.
bool is_public(AudienceType audience) noexcept {
    return audience == AudienceType::everyone || audience == AudienceType::others ||
           audience == AudienceType::staged || audience == AudienceType::unpredicted;
}

}  // namespace

KindLayout layout_of(const Schema& schema, KindId kind) {
    PURVIEW_ASSERT(index_of(kind) < schema.kinds().size());
    KindLayout layout;
    for (const ComponentId component : schema.kinds()[index_of(kind)].components) {
        const ComponentDef& def = schema.components()[index_of(component)];
        if (def.fields.empty()) continue;
        KindLayout::Part part;
        part.component = component;
        part.first = static_cast<unsigned>(layout.fields.size());
        part.count = static_cast<unsigned>(def.fields.size());
        part.has_audience = def.audience.type != AudienceType::everyone;
        part.bits_max = 2 + static_cast<unsigned>(def.fields.size());
        for (std::size_t f = 0; f < def.fields.size(); ++f) {
            const FieldDef& field = def.fields[f];
            PURVIEW_ASSERT(layout.fields.size() < Schema::kind_fields_max);
            const FieldMask bit = FieldMask{1} << layout.fields.size();
            part.fields |= bit;
            if (field.type == FieldType::reference) layout.references |= bit;
            layout.fields.push_back({component, static_cast<std::uint16_t>(f),
                                     static_cast<std::uint16_t>(part.words), &field});
            if (field.extrapolated) {
                layout.extrapolated |= bit;
                layout.fields.back().largest = field.largest;
                part.bits_max += difference_bits_max;
            }
            part.words += field.words;
            part.bits_max += field.wire_bits;
            if (field.type == FieldType::reference) part.bits_max += ghost_name_bits_max;
        }
        if (part.has_audience) layout.audience |= 1U << layout.parts.size();
        if (def.audience.type == AudienceType::staged) layout.staged |= 1U << layout.parts.size();
        if (is_public(def.audience.type)) {
            layout.public_fields |= part.fields;
        } else {
            layout.public_parts &= ~(1U << layout.parts.size());
        }
        layout.body_bits_max += part.bits_max;
        layout.all |= part.fields;
        layout.words += part.words;
        layout.parts.push_back(part);
    }
    PURVIEW_ASSERT((layout.references & layout.extrapolated) == 0);
    return layout;
}

std::vector<KindLayout> layouts_of(const Schema& schema) {
    std::vector<KindLayout> out;
    for (std::uint16_t k = 0; k < schema.kinds().size(); ++k)
        out.push_back(layout_of(schema, id_at<KindId>(k)));
    return out;
}

}  // namespace purview
