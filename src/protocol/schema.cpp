// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "purview/schema.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/hash.hpp"
#include "core/mutate.hpp"

namespace purview {

namespace {

std::uint64_t hash_text(std::uint64_t hash, std::string_view text) noexcept {
    return combine64(hash, hash_bytes(std::as_bytes(std::span(text.data(), text.size()))));
}

std::uint64_t hash_real(std::uint64_t hash, double value) noexcept {
    return combine64(hash, std::bit_cast<std::uint64_t>(value));
}

std::uint64_t hash_fields(std::uint64_t hash, const ComponentDef& owner) noexcept {
    hash = hash_text(hash, owner.name);
    hash = combine64(hash, owner.fields.size());
    for (const auto& field : owner.fields) {
        hash = hash_text(hash, field.name);
        hash = combine64(hash, static_cast<std::uint64_t>(field.type));
        const bool has_range = field.type == FieldType::integer ||
                               field.type == FieldType::quantized ||
                               field.type == FieldType::ranged;
        if (has_range) hash = hash_real(hash_real(hash, field.min), field.max);
        if (field.type == FieldType::quantized) hash = hash_real(hash, field.step);
        if (field.type == FieldType::text) hash = combine64(hash, field.size_bytes);
        if (field.extrapolated) hash = combine64(hash, 1);
    }
    if (owner.audience.type != AudienceType::everyone)
        hash = combine64(hash, owner.audience.keeps_values ? 2 : 1);
    return hash;
}

template <class Items>
std::size_t index_by_name(const Items& items, std::string_view name) noexcept {
    std::size_t index = 0;
    while (index < items.size() && items[index].name != name) ++index;
    return index;
}

/// Returns an empty text if the field is valid, else what is wrong. Derives wire_bits, words and
/// largest.
std::string derive_width(FieldDef& field) {
    const auto whole = [](double v) { return std::isfinite(v) && v == std::floor(v); };
    switch (field.type) {
        case FieldType::boolean:
            if (field.size_bytes != 1) return "a boolean must be a bool";
            field.wire_bits = 1;
            field.largest = 1;
            return {};
        case FieldType::integer: {
            if (field.size_bytes != 1 && field.size_bytes != 2 && field.size_bytes != 4) {
                return "an integer must have 1, 2 or 4 bytes";
            }
            if (!whole(field.min) || !whole(field.max) || field.min > field.max) {
                return "the range must be min <= max in whole numbers";
            }
            const double bits = field.size_bytes * 8.0;
            const double low = field.is_signed ? -std::exp2(bits - 1) : 0;
            const double high = std::exp2(field.is_signed ? bits - 1 : bits) - 1;
            if (field.min < low || field.max > high) return "the range does not fit the type";
            field.largest = static_cast<std::uint32_t>(field.max - field.min);
            field.wire_bits = static_cast<std::uint8_t>(std::bit_width(field.largest));
            if (field.wire_bits == 0) field.wire_bits = 1;
            return {};
        }
        case FieldType::real:
            if (field.size_bytes != 4) return "a real must be a float";
            field.wire_bits = 32;
            return {};
        case FieldType::quantized: {
            if (field.size_bytes != 4) return "a quantized field must be a float";
            const double steps = (field.max - field.min) / field.step;
            if (!std::isfinite(steps) || !(field.step > 0) || !(steps >= 1) ||
                steps > 4294967294.0) {
                return "needs min < max and a step that divides the range into 1 to 2^32 - 2 parts";
            }
            field.largest = static_cast<std::uint32_t>(std::llround(steps));
            field.wire_bits = static_cast<std::uint8_t>(std::bit_width(field.largest));
            return {};
        }
        case FieldType::ranged:
            if (field.size_bytes != 4) return "a ranged field must be a float";
            if (!std::isfinite(field.min) || !std::isfinite(field.max) || field.min >= field.max) {
                return "the range must be min < max";
            }
            field.wire_bits = 39;
            return {};
        case FieldType::rotation:
            if (field.size_bytes != sizeof(Rotation)) return "a rotation must be a Rotation";
            field.wire_bits = 32;
            return {};
        case FieldType::text:
            if (field.size_bytes < 1 || field.size_bytes > 31) return "a text has 1 to 31 bytes";
            field.wire_bits = static_cast<std::uint8_t>(5 + field.size_bytes * 8);
            field.words = static_cast<std::uint8_t>((field.size_bytes + 3) / 4);
            return {};
        case FieldType::reference:
            if (field.size_bytes != sizeof(EntityId)) return "a reference must be an EntityId";
            field.wire_bits = 1;
            field.words = 2;
            return {};
    }
    return "unknown field type";
}

/// A position must be replicated to everyone, except to owners that predict it.
bool may_position(AudienceType audience) noexcept {
    return audience == AudienceType::everyone || audience == AudienceType::unpredicted;
}

/// A predicted component must be replicated to the owner.
bool reaches_owner(AudienceType audience) noexcept {
    return may_position(audience) || audience == AudienceType::owner;
}

/// Every receiver of an extrapolated field must have received its earlier values.
bool can_be_extrapolated(const FieldDef& field, const ComponentDef& owner) noexcept {
    return (field.type == FieldType::integer || field.type == FieldType::quantized) &&
           field.wire_bits <= Schema::extrapolated_bits_max &&
           owner.audience.type == AudienceType::everyone;
}

static_assert(Schema::extrapolated_bits_max == 24);
constexpr const char* cannot_be_extrapolated =
    " cannot be extrapolated: it must be an integer or quantized field of at most 24 bits, in a "
    "component that is replicated to everyone";

/// Returns whether a field of a position component overlaps the Vec3 at its start without being a
/// coordinate.
bool is_no_coordinate(const FieldDef& field) noexcept {
    const bool is_float = field.type == FieldType::real || field.type == FieldType::quantized ||
                          field.type == FieldType::ranged;
    return field.offset_bytes < sizeof(Vec3) && (!is_float || field.size_bytes != sizeof(float));
}
constexpr const char* in_the_place = " overlaps the Vec3 of the position and is not a float";

/// Flags and values read the field as one number.
bool is_number(const FieldDef& field) noexcept {
    return field.type <= FieldType::ranged;
}

}  // namespace

void Schema::fail(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
}

bool Schema::good_name(std::string_view name, std::string_view what) {
    if (!name.empty() && name.size() <= name_bytes_max) return true;
    fail(std::string(what) + ": a name has 1 to 63 bytes");
    return false;
}

bool Schema::good_field_count(const KindDef& kind) {
    std::size_t fields = 0;
    for (const ComponentId component : kind.components)
        fields += components_[index_of(component)].fields.size();
    if (fields <= kind_fields_max) return true;
    fail("kind '" + kind.name + "' has more than 64 fields");
    return false;
}

ComponentId Schema::add_component(ComponentDef def) {
    if (!good_name(def.name, "component")) return ComponentId::none;
    if (components_.size() == components_max) {
        fail("more than 32 components");
        return ComponentId::none;
    }
    if (find_component(def.name) != ComponentId::none) {
        fail("component '" + def.name + "' is declared twice");
        return ComponentId::none;
    }
    if (def.size_bytes == 0 || def.size_bytes > component_bytes_max) {
        fail("component '" + def.name + "' must have 1 to 256 bytes");
        return ComponentId::none;
    }
    components_.push_back(std::move(def));
    return id_at<ComponentId>(components_.size() - 1);
}

void Schema::add_field(ComponentId component, FieldDef field) {
    if (index_of(component) >= components_.size()) return fail("field of an unknown component");
    add_field(components_[index_of(component)], "component", std::move(field));
    for (const KindDef& kind : kinds_)
        if (!good_field_count(kind)) return;
}

void Schema::add_field(ComponentDef& owner, const std::string& what, FieldDef field) {
    const std::string where = "field '" + field.name + "' of " + what + " '" + owner.name + "'";
    if (!good_name(field.name, where)) return;
    if (owner.fields.size() == fields_max) return fail(where + ": more than 16 fields");
    if (index_by_name(owner.fields, field.name) != owner.fields.size()) {
        return fail(where + " is declared twice");
    }
    if (std::string wrong = derive_width(field); !wrong.empty()) return fail(where + ": " + wrong);
    if (std::size_t{field.offset_bytes} + field.size_bytes > owner.size_bytes) {
        return fail(where + " lies outside its struct");
    }
    // Fields of a C++ struct do not share bytes, but a schema decoded from the wire has no struct.
    std::size_t words = field.words;
    for (const FieldDef& other : owner.fields) words += other.words;
    if (!PURVIEW_GUARD(schema_words, words <= component_words_max))
        return fail(where + ": the fields of the struct exceed 320 bytes");
    if (field.extrapolated && !can_be_extrapolated(field, owner))
        return fail(where + cannot_be_extrapolated);
    if (owner.is_predicted && field.type == FieldType::reference)
        return fail(where + " is a reference: a predicted component must not have references");
    if (position_ != ComponentId::none && &owner == &components_[index_of(position_)] &&
        is_no_coordinate(field))
        return fail(where + in_the_place);
    owner.fields.push_back(std::move(field));
}

void Schema::extrapolate(ComponentId component, std::string_view field) {
    const std::size_t at = find_field(component, field);
    if (at == fields_max)
        return fail("extrapolation of '" + std::string(field) + "': unknown field");
    ComponentDef& owner = components_[index_of(component)];
    if (!can_be_extrapolated(owner.fields[at], owner)) {
        return fail("field '" + owner.fields[at].name + "' of component '" + owner.name + "'" +
                    cannot_be_extrapolated);
    }
    owner.fields[at].extrapolated = true;
}

void Schema::audience(ComponentId component, const AudienceDef& audience) {
    if (index_of(component) >= components_.size()) return fail("audience: unknown component");
    const std::string where = "audience of '" + components_[index_of(component)].name + "'";
    if (component == position_ && !may_position(audience.type))
        return fail(where + ": the position must be replicated to everyone");
    const bool turns = std::any_of(kinds_.begin(), kinds_.end(), [&](const KindDef& kind) {
        return kind.orientation.component == component;
    });
    if (turns && !may_position(audience.type))
        return fail(where + ": an orientation must be replicated to everyone");
    if (audience.type > AudienceType::unpredicted) return fail(where + ": unknown type");
    if (audience.type == AudienceType::unpredicted &&
        !components_[index_of(component)].is_predicted)
        return fail(where + ": audience unpredicted requires a predicted component");
    if (components_[index_of(component)].is_predicted && !reaches_owner(audience.type))
        return fail(where + ": a predicted component must be replicated to its owner");
    if (audience.type == AudienceType::same_key && index_of(audience.domain) >= keys_.size())
        return fail(where + ": unknown key domain");
    if (audience.type == AudienceType::custom && audience.custom == nullptr)
        return fail(where + ": a custom audience requires a callback");
    const auto& fields = components_[index_of(component)].fields;
    if (audience.type != AudienceType::everyone &&
        std::any_of(fields.begin(), fields.end(), [](const FieldDef& f) { return f.extrapolated; }))
        return fail(where +
                    ": a component with extrapolated fields must be replicated to everyone");
    components_[index_of(component)].audience = audience;
    if (audience.type == AudienceType::staged || audience.type == AudienceType::unpredicted)
        components_[index_of(component)].audience.keeps_values = true;
}

namespace {

/// Returns an empty text if the description is consistent.
std::string_view problem_of(const RpcDesc& desc) noexcept {
    const bool about_entity = desc.target == RpcTarget::entity;
    if (desc.direction > RpcDirection::to_server || desc.target > RpcTarget::none ||
        desc.delivery > RpcDelivery::reliable_ordered || desc.policy > RpcPolicy::force ||
        desc.callers > RpcCallers::players) {
        return "unknown value";
    }
    if ((desc.policy == RpcPolicy::hold) != (desc.hold_ticks > 0)) {
        return "hold_ticks must be above 0 with policy hold, and 0 otherwise";
    }
    if (desc.policy != RpcPolicy::cull && !about_entity)
        return "policies hold and force require an entity as target";
    if (desc.direction == RpcDirection::to_observers) {
        return desc.callers == RpcCallers::anyone
                   ? ""
                   : "callers may be set only for an RPC to the server";
    }
    if (desc.policy != RpcPolicy::cull) return "an RPC to the server must have policy cull";
    if (desc.target == RpcTarget::position)
        return "an RPC to the server cannot have a position as target";
    if (desc.callers == RpcCallers::owner && !about_entity)
        return "callers owner requires an entity as target";
    return "";
}

bool is_rpc(const std::vector<RpcDef>& rpcs, std::string_view name) {
    return std::any_of(rpcs.begin(), rpcs.end(),
                       [&](const RpcDef& rpc) { return rpc.args.name == name; });
}

}  // namespace

RpcId Schema::add_rpc(RpcDef def) {
    const std::string what = "RPC '" + def.args.name + "'";
    if (!good_name(def.args.name, "RPC")) return RpcId::none;
    std::string_view wrong = problem_of(def.desc);
    if (rpcs_.size() == rpcs_max) wrong = "more than 128 RPCs";
    if (is_rpc(rpcs_, def.args.name)) wrong = "declared twice";
    if (def.args.size_bytes == 0 || def.args.size_bytes > component_bytes_max) {
        wrong = "must have 1 to 256 bytes";
    }
    if (!wrong.empty()) {
        fail(what + ": " + std::string(wrong));
        return RpcId::none;
    }
    rpcs_.push_back(std::move(def));
    return id_at<RpcId>(rpcs_.size() - 1);
}

void Schema::add_field(RpcId rpc, FieldDef field) {
    if (index_of(rpc) >= rpcs_.size()) return fail("argument of an unknown RPC");
    if (field.type == FieldType::reference)
        return fail("argument '" + field.name +
                    "': it cannot be a reference; use the target of the RPC");
    add_field(rpcs_[index_of(rpc)].args, "RPC", std::move(field));
}

InputId Schema::add_input(ComponentDef def) {
    const std::string what = "input '" + def.name + "'";
    if (!good_name(def.name, "input")) return InputId::none;
    std::string_view wrong;
    if (inputs_.size() == inputs_max) wrong = "more than 32 inputs";
    if (find_input(def.name) != InputId::none) wrong = "declared twice";
    if (def.size_bytes == 0 || def.size_bytes > component_bytes_max)
        wrong = "must have 1 to 256 bytes";
    if (!wrong.empty()) {
        fail(what + ": " + std::string(wrong));
        return InputId::none;
    }
    inputs_.push_back(std::move(def));
    return id_at<InputId>(inputs_.size() - 1);
}

void Schema::add_field(InputId input, FieldDef field) {
    if (index_of(input) >= inputs_.size()) return fail("field of an unknown input");
    if (field.type == FieldType::reference)
        return fail("field '" + field.name + "': an input field cannot be a reference");
    add_field(inputs_[index_of(input)], "input", std::move(field));
}

void Schema::take_input(KindId kind, InputId input) {
    if (index_of(kind) >= kinds_.size() || index_of(input) >= inputs_.size())
        return fail("take_input: unknown kind or input");
    KindDef& its = kinds_[index_of(kind)];
    const std::string what = "kind '" + its.name + "', take_input: ";
    if (std::find(its.inputs.begin(), its.inputs.end(), input) != its.inputs.end())
        return fail(what + "'" + inputs_[index_of(input)].name + "' is declared twice");
    if (its.inputs.size() == inputs_of_kind_max) return fail(what + "more than 4 inputs");
    its.inputs.push_back(input);
}

void Schema::predict(ComponentId component) {
    if (index_of(component) >= components_.size()) return fail("predict: unknown component");
    ComponentDef& def = components_[index_of(component)];
    if (!reaches_owner(def.audience.type))
        return fail("predict: the owner must receive '" + def.name + "'");
    for (const FieldDef& field : def.fields) {
        if (field.type == FieldType::reference)
            return fail("predict: '" + def.name +
                        "' has a reference field: a predicted component must not have one");
    }
    def.is_predicted = true;
}

void Schema::rewind(ComponentId component) {
    if (index_of(component) >= components_.size()) return fail("rewind: unknown component");
    components_[index_of(component)].is_rewound = true;
}

void Schema::set_position(ComponentId component) {
    if (index_of(component) >= components_.size()) return fail("position: unknown component");
    if (position_ != ComponentId::none) return fail("position is set twice");
    if (!may_position(components_[index_of(component)].audience.type))
        return fail("position: the component must be replicated to everyone");
    if (components_[index_of(component)].size_bytes < sizeof(Vec3)) {
        return fail("position: the struct must begin with a Vec3, or three floats x, y, z");
    }
    for (const FieldDef& field : components_[index_of(component)].fields)
        if (is_no_coordinate(field)) return fail("field '" + field.name + "'" + in_the_place);
    position_ = component;
}

void Schema::set_orientation(KindId kind, ComponentId component, std::string_view field,
                             double full_turn, TurnAxis axis) {
    if (index_of(kind) >= kinds_.size()) return fail("orientation: unknown kind");
    KindDef& def = kinds_[index_of(kind)];
    const std::string where = "orientation of kind '" + def.name + "'";
    const std::size_t at = find_field(component, field);
    if (at == fields_max ||
        std::find(def.components.begin(), def.components.end(), component) == def.components.end())
        return fail(where + ": unknown field");
    const ComponentDef& owner = components_[index_of(component)];
    const FieldType type = owner.fields[at].type;
    if (type == FieldType::boolean || type == FieldType::text || type == FieldType::reference)
        return fail(where + ": the field must be a rotation or a number");
    if (!may_position(owner.audience.type))
        return fail(where + ": the component must be replicated to everyone");
    if (!std::isfinite(full_turn) || full_turn == 0 || axis > TurnAxis::z)
        return fail(where + ": full_turn must be finite and not 0, and the axis x, y or z");
    def.orientation = {component, static_cast<std::uint16_t>(at), axis, full_turn};
}

KindDef& Schema::edit_kind(KindId kind) {
    if (index_of(kind) < kinds_.size()) return kinds_[index_of(kind)];
    fail("edit of an unknown kind");
    return no_kind_ = {};
}

KindId Schema::kind(std::string_view name, std::span<const ComponentId> components,
                    float priority) {
    if (!good_name(name, "kind")) return KindId::none;
    if (kinds_.size() == kinds_max) {
        fail("more than 256 kinds");
        return KindId::none;
    }
    if (index_by_name(kinds_, name) != kinds_.size()) {
        fail("kind '" + std::string(name) + "' is declared twice");
        return KindId::none;
    }
    if (!(priority > 0) || !std::isfinite(priority)) {
        fail("kind '" + std::string(name) + "': priority must be above 0");
        return KindId::none;
    }
    KindDef def;
    def.name = name;
    def.priority = priority;
    std::array<bool, components_max> has{};
    for (const ComponentId component : components) {
        if (index_of(component) >= components_.size()) {
            fail("kind '" + def.name + "' has an unknown component");
            return KindId::none;
        }
        has[index_of(component)] = true;
    }
    for (std::size_t c = 0; c < components_.size(); ++c)
        if (has[c]) def.components.push_back(id_at<ComponentId>(c));
    if (!good_field_count(def)) return KindId::none;
    kinds_.push_back(std::move(def));
    return id_at<KindId>(kinds_.size() - 1);
}

FlagId Schema::flag(std::string_view name, ComponentId component, std::string_view field) {
    const std::size_t at = find_field(component, field);
    if (!good_name(name, "flag")) return FlagId::none;
    if (flags_.size() == flags_max || at == fields_max ||
        index_by_name(flags_, name) != flags_.size() ||
        !is_number(components_[index_of(component)].fields[at])) {
        fail("flag '" + std::string(name) +
             "': unknown field, a field that is not a number, a name used twice, or more than 16 "
             "flags");
        return FlagId::none;
    }
    flags_.push_back({std::string(name), component, static_cast<std::uint16_t>(at)});
    return id_at<FlagId>(flags_.size() - 1);
}

KeyId Schema::key(std::string_view name, ComponentId component, std::string_view field) {
    const std::size_t at = find_field(component, field);
    if (!good_name(name, "key")) return KeyId::none;
    if (keys_.size() == keys_max || at == fields_max ||
        index_by_name(keys_, name) != keys_.size()) {
        fail("key '" + std::string(name) +
             "': unknown field, a name used twice, or more than 8 keys");
        return KeyId::none;
    }
    const FieldDef& def = components_[index_of(component)].fields[at];
    if (def.type != FieldType::integer || def.min < 0 || def.max > 65535) {
        fail("key '" + std::string(name) + "': the field must be an integer within 0..65535");
        return KeyId::none;
    }
    keys_.push_back({std::string(name), component, static_cast<std::uint16_t>(at)});
    return id_at<KeyId>(keys_.size() - 1);
}

ValueId Schema::value(std::string_view name, ComponentId component, std::string_view field) {
    const std::size_t at = find_field(component, field);
    if (!good_name(name, "value")) return ValueId::none;
    if (values_.size() == values_max || at == fields_max ||
        index_by_name(values_, name) != values_.size() ||
        !is_number(components_[index_of(component)].fields[at])) {
        fail("value '" + std::string(name) +
             "': unknown field, a field that is not a number, a name used twice, or more than 8 "
             "values");
        return ValueId::none;
    }
    values_.push_back({std::string(name), component, static_cast<std::uint16_t>(at)});
    return id_at<ValueId>(values_.size() - 1);
}

ComponentId Schema::find_component(std::string_view name) const noexcept {
    const std::size_t index = index_by_name(components_, name);
    return index == components_.size() ? ComponentId::none : id_at<ComponentId>(index);
}

KindId Schema::find_kind(std::string_view name) const noexcept {
    const std::size_t index = index_by_name(kinds_, name);
    return index == kinds_.size() ? KindId::none : id_at<KindId>(index);
}

InputId Schema::find_input(std::string_view name) const noexcept {
    const std::size_t index = index_by_name(inputs_, name);
    return index == inputs_.size() ? InputId::none : id_at<InputId>(index);
}

std::size_t Schema::find_field(ComponentId component, std::string_view name) const noexcept {
    if (index_of(component) >= components_.size()) return fields_max;
    const auto& fields = components_[index_of(component)].fields;
    const std::size_t index = index_by_name(fields, name);
    return index == fields.size() ? fields_max : index;
}

/// Marks for the hash that are not indices of components.
constexpr std::uint64_t relative_position_mark = 0x10000;
constexpr std::uint64_t orientation_mark = 0x10001;
constexpr std::uint64_t teleport_mark = 0x10002;

std::uint64_t Schema::hash() const noexcept {
    std::uint64_t hash = combine64(0, components_.size());
    for (const auto& component : components_) hash = hash_fields(hash, component);
    hash = combine64(hash, index_of(position_));
    for (const auto& kind : kinds_) {
        hash = hash_text(hash, kind.name);
        for (const ComponentId component : kind.components)
            hash = combine64(hash, index_of(component));
        if (kind.relative_position) hash = combine64(hash, relative_position_mark);
        if (kind.teleport_distance > 0) {
            hash = combine64(hash, teleport_mark);
            hash = combine64(hash, std::bit_cast<std::uint32_t>(kind.teleport_distance));
        }
        const OrientationDef& turn = kind.orientation;
        if (turn.component == ComponentId::none) continue;
        hash = combine64(combine64(hash, orientation_mark), index_of(turn.component));
        hash = combine64(combine64(hash, turn.field), static_cast<std::uint64_t>(turn.axis));
        hash = hash_real(hash, turn.full_turn);
    }
    for (const auto& rpc : rpcs_) {
        const RpcDesc& desc = rpc.desc;
        for (const auto part :
             {static_cast<unsigned>(desc.direction), static_cast<unsigned>(desc.target),
              static_cast<unsigned>(desc.delivery), static_cast<unsigned>(desc.policy),
              unsigned{desc.hold_ticks}, static_cast<unsigned>(desc.callers)}) {
            hash = combine64(hash, part);
        }
        hash = hash_fields(hash, rpc.args);
    }
    if (inputs_.empty()) return hash == 0 ? 1 : hash;
    for (const auto& input : inputs_) hash = hash_fields(hash, input);
    for (const auto& kind : kinds_) {
        hash = combine64(hash, kind.inputs.size());
        for (const InputId input : kind.inputs) hash = combine64(hash, index_of(input));
        hash = combine64(hash, kind.is_inner_root ? 1 : 0);
        hash = combine64(hash, kind.starts_in_input ? 1 : 0);
    }
    for (const auto& component : components_)
        hash = combine64(hash, component.is_predicted ? 1 : 0);
    return hash == 0 ? 1 : hash;
}

}  // namespace purview
