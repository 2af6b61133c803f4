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

/// Empty when the field is sound, else what is wrong. Derives wire_bits, words and largest.
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
            if (field.size_bytes != 4) return "a quantised field must be a float";
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

/// Everyone knows where an entity is, if only as whoever predicts it.
bool may_position(AudienceType audience) noexcept {
    return audience == AudienceType::everyone || audience == AudienceType::unpredicted;
}

/// Who predicts must be told what he predicts.
bool reaches_owner(AudienceType audience) noexcept {
    return may_position(audience) || audience == AudienceType::owner;
}

/// Whoever is told it must have been told its past.
bool can_be_extrapolated(const FieldDef& field, const ComponentDef& owner) noexcept {
    return (field.type == FieldType::integer || field.type == FieldType::quantized) &&
           field.wire_bits <= Schema::extrapolated_bits_max &&
           owner.audience.type == AudienceType::everyone;
}

static_assert(Schema::extrapolated_bits_max == 24);
constexpr const char* cannot_be_extrapolated =
    " cannot be extrapolated: it must be an integer or quantised, of at most 24 bits, and told to "
    "everyone";

/// In a struct that begins with the place: it lies in that, and is no part of it.
bool is_no_coordinate(const FieldDef& field) noexcept {
    const bool is_float = field.type == FieldType::real || field.type == FieldType::quantized ||
                          field.type == FieldType::ranged;
    return field.offset_bytes < sizeof(Vec3) && (!is_float || field.size_bytes != sizeof(float));
}
constexpr const char* in_the_place = " lies where the Vec3 of the place does, and is no float";

/// Flags and values read it as one number.
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
    return ComponentId{static_cast<std::uint16_t>(components_.size() - 1)};
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
    // Fields of a struct do not share its bytes, but those of a schema off the wire have no struct.
    std::size_t words = field.words;
    for (const FieldDef& other : owner.fields) words += other.words;
    if (!PURVIEW_GUARD(schema_words, words <= component_words_max))
        return fail(where + ": more than 320 bytes of fields");
    if (field.extrapolated && !can_be_extrapolated(field, owner))
        return fail(where + cannot_be_extrapolated);
    if (owner.is_predicted && field.type == FieldType::reference)
        return fail(where + " is a reference, and the component is predicted");
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
        return fail(where + ": the place is for everyone");
    const bool turns = std::any_of(kinds_.begin(), kinds_.end(), [&](const KindDef& kind) {
        return kind.orientation.component == component;
    });
    if (turns && !may_position(audience.type))
        return fail(where + ": an orientation is for everyone");
    if (audience.type > AudienceType::unpredicted) return fail(where + ": unknown type");
    if (audience.type == AudienceType::unpredicted &&
        !components_[index_of(component)].is_predicted)
        return fail(where + ": it is not predicted");
    if (components_[index_of(component)].is_predicted && !reaches_owner(audience.type))
        return fail(where + ": it is predicted, so the owner must be told");
    if (audience.type == AudienceType::same_key && index_of(audience.domain) >= keys_.size())
        return fail(where + ": unknown key domain");
    if (audience.type == AudienceType::custom && audience.custom == nullptr)
        return fail(where + ": nobody to ask");
    const auto& fields = components_[index_of(component)].fields;
    if (audience.type != AudienceType::everyone &&
        std::any_of(fields.begin(), fields.end(), [](const FieldDef& f) { return f.extrapolated; }))
        return fail(where + ": what is extrapolated is for everyone");
    components_[index_of(component)].audience = audience;
    if (audience.type == AudienceType::in_turn || audience.type == AudienceType::unpredicted)
        components_[index_of(component)].audience.keeps_values = true;
}

namespace {

/// Empty when the description does not contradict itself.
std::string_view problem_of(const RpcDesc& desc) noexcept {
    const bool about_entity = desc.target == RpcTarget::entity;
    if (desc.direction > RpcDirection::to_server || desc.target > RpcTarget::nobody ||
        desc.delivery > RpcDelivery::reliable_ordered || desc.policy > RpcPolicy::force ||
        desc.callers > RpcCallers::players) {
        return "unknown value";
    }
    if ((desc.policy == RpcPolicy::hold) != (desc.hold_ticks > 0)) {
        return "hold needs hold_ticks, and nothing else has them";
    }
    if (desc.policy != RpcPolicy::cull && !about_entity) return "only entities are held or forced";
    if (desc.direction == RpcDirection::to_observers) {
        return desc.callers == RpcCallers::anybody ? "" : "only calls to the server have callers";
    }
    if (desc.policy != RpcPolicy::cull) return "calls to the server have no policy";
    if (desc.target == RpcTarget::position) return "calls to the server are not about places";
    if (desc.callers == RpcCallers::owner && !about_entity) return "only entities have owners";
    return "";
}

}  // namespace

RpcId Schema::add_rpc(RpcDef def) {
    const std::string what = "call '" + def.args.name + "'";
    if (!good_name(def.args.name, "call")) return RpcId::none;
    std::string_view wrong = problem_of(def.desc);
    if (rpcs_.size() == rpcs_max) wrong = "more than 128 calls";
    if (find_rpc(def.args.name) != RpcId::none) wrong = "declared twice";
    if (def.args.size_bytes == 0 || def.args.size_bytes > component_bytes_max) {
        wrong = "must have 1 to 256 bytes";
    }
    if (!wrong.empty()) {
        fail(what + ": " + std::string(wrong));
        return RpcId::none;
    }
    rpcs_.push_back(std::move(def));
    return RpcId{static_cast<std::uint16_t>(rpcs_.size() - 1)};
}

void Schema::add_field(RpcId rpc, FieldDef field) {
    if (index_of(rpc) >= rpcs_.size()) return fail("argument of an unknown call");
    if (field.type == FieldType::reference)
        return fail("argument '" + field.name + "': a call names one entity, that it is about");
    add_field(rpcs_[index_of(rpc)].args, "call", std::move(field));
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
    return InputId{static_cast<std::uint8_t>(inputs_.size() - 1)};
}

void Schema::add_field(InputId input, FieldDef field) {
    if (index_of(input) >= inputs_.size()) return fail("field of an unknown input");
    if (field.type == FieldType::reference)
        return fail("field '" + field.name + "': an input names nobody");
    add_field(inputs_[index_of(input)], "input", std::move(field));
}

void Schema::take_input(KindId kind, InputId input) {
    if (index_of(kind) >= kinds_.size() || index_of(input) >= inputs_.size())
        return fail("take_input: unknown kind or input");
    KindDef& its = kinds_[index_of(kind)];
    const std::string what = "kind '" + its.name + "', take_input: ";
    if (its.slot_of(input) < its.inputs.size())
        return fail(what + "'" + inputs_[index_of(input)].name + "' twice");
    if (its.inputs.size() == inputs_of_kind_max) return fail(what + "more than 4 inputs");
    its.inputs.push_back(input);
}

void Schema::predict(ComponentId component) {
    if (index_of(component) >= components_.size()) return fail("predict: unknown component");
    ComponentDef& def = components_[index_of(component)];
    if (!reaches_owner(def.audience.type))
        return fail("predict: the owner must be told '" + def.name + "'");
    for (const FieldDef& field : def.fields) {
        if (field.type == FieldType::reference)
            return fail("predict: '" + def.name + "' has a reference");
    }
    def.is_predicted = true;
}

void Schema::rewind(ComponentId component) {
    if (index_of(component) >= components_.size()) return fail("rewind: unknown component");
    components_[index_of(component)].is_rewound = true;
}

void Schema::set_position(ComponentId component) {
    if (index_of(component) >= components_.size()) return fail("place: unknown component");
    if (position_ != ComponentId::none) return fail("place is set twice");
    if (!may_position(components_[index_of(component)].audience.type))
        return fail("place: it is for everyone");
    if (components_[index_of(component)].size_bytes < sizeof(Vec3)) {
        return fail("place: the struct must begin with a Vec3, or three floats x, y, z");
    }
    for (const FieldDef& field : components_[index_of(component)].fields)
        if (is_no_coordinate(field)) return fail("field '" + field.name + "'" + in_the_place);
    position_ = component;
}

void Schema::set_orientation(KindId kind, ComponentId component, std::string_view field,
                             const Yaw& yaw) {
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
        return fail(where + ": a rotation or a number");
    if (!may_position(owner.audience.type)) return fail(where + ": it is for everyone");
    if (!std::isfinite(yaw.full_turn) || yaw.full_turn == 0 || yaw.axis > TurnAxis::z)
        return fail(where + ": a full turn is not 0, about one of three axes");
    def.orientation = {component, static_cast<std::uint16_t>(at), yaw.axis, yaw.full_turn};
}

KindDef& Schema::edit_kind(KindId kind) {
    if (index_of(kind) < kinds_.size()) return kinds_[index_of(kind)];
    fail("edit of an unknown kind");
    return no_kind_ = {};
}

KindId Schema::kind(std::string_view name, std::span<const ComponentId> components,
                    float priority) {
    const auto none = KindId{static_cast<std::uint16_t>(kinds_.size())};
    if (!good_name(name, "kind")) return none;
    if (kinds_.size() == kinds_max) {
        fail("more than 256 kinds");
        return none;
    }
    if (index_by_name(kinds_, name) != kinds_.size()) {
        fail("kind '" + std::string(name) + "' is declared twice");
        return none;
    }
    if (!(priority > 0) || !std::isfinite(priority)) {
        fail("kind '" + std::string(name) + "': urgency must be above 0");
        return none;
    }
    KindDef def;
    def.name = name;
    def.priority = priority;
    std::array<bool, components_max> has{};
    for (const ComponentId component : components) {
        if (index_of(component) >= components_.size()) {
            fail("kind '" + def.name + "' has an unknown component");
            return none;
        }
        has[index_of(component)] = true;
    }
    for (std::size_t c = 0; c < components_.size(); ++c)
        if (has[c]) def.components.push_back(ComponentId{static_cast<std::uint16_t>(c)});
    if (!good_field_count(def)) return none;
    kinds_.push_back(std::move(def));
    return KindId{static_cast<std::uint16_t>(kinds_.size() - 1)};
}

FlagId Schema::flag(std::string_view name, ComponentId component, std::string_view field) {
    const std::size_t at = find_field(component, field);
    if (!good_name(name, "flag")) return FlagId::none;
    if (flags_.size() == flags_max || at == fields_max || find_flag(name) != FlagId::none ||
        !is_number(components_[index_of(component)].fields[at])) {
        fail("flag '" + std::string(name) +
             "': unknown field, one that is no number, name used twice, or more than 16");
        return FlagId::none;
    }
    flags_.push_back({std::string(name), component, static_cast<std::uint16_t>(at)});
    return FlagId{static_cast<std::uint8_t>(flags_.size() - 1)};
}

KeyId Schema::key(std::string_view name, ComponentId component, std::string_view field) {
    const std::size_t at = find_field(component, field);
    if (!good_name(name, "key")) return KeyId::none;
    if (keys_.size() == keys_max || at == fields_max || find_key(name) != KeyId::none) {
        fail("key '" + std::string(name) + "': unknown field, name used twice, or more than 8");
        return KeyId::none;
    }
    const FieldDef& def = components_[index_of(component)].fields[at];
    if (def.type != FieldType::integer || def.min < 0 || def.max > 65535) {
        fail("key '" + std::string(name) + "': the field must be an integer within 0..65535");
        return KeyId::none;
    }
    keys_.push_back({std::string(name), component, static_cast<std::uint16_t>(at)});
    return KeyId{static_cast<std::uint8_t>(keys_.size() - 1)};
}

ValueId Schema::value(std::string_view name, ComponentId component, std::string_view field) {
    const std::size_t at = find_field(component, field);
    if (!good_name(name, "value")) return ValueId::none;
    if (values_.size() == values_max || at == fields_max || find_value(name) != ValueId::none ||
        !is_number(components_[index_of(component)].fields[at])) {
        fail("value '" + std::string(name) +
             "': unknown field, one that is no number, name used twice, or more than 8");
        return ValueId::none;
    }
    values_.push_back({std::string(name), component, static_cast<std::uint16_t>(at)});
    return ValueId{static_cast<std::uint8_t>(values_.size() - 1)};
}

ComponentId Schema::find_component(std::string_view name) const noexcept {
    const std::size_t index = index_by_name(components_, name);
    return index == components_.size() ? ComponentId::none
                                       : ComponentId{static_cast<std::uint16_t>(index)};
}

KindId Schema::find_kind(std::string_view name) const noexcept {
    return KindId{static_cast<std::uint16_t>(index_by_name(kinds_, name))};
}

FlagId Schema::find_flag(std::string_view name) const noexcept {
    const std::size_t index = index_by_name(flags_, name);
    return index == flags_.size() ? FlagId::none : FlagId{static_cast<std::uint8_t>(index)};
}

KeyId Schema::find_key(std::string_view name) const noexcept {
    const std::size_t index = index_by_name(keys_, name);
    return index == keys_.size() ? KeyId::none : KeyId{static_cast<std::uint8_t>(index)};
}

ValueId Schema::find_value(std::string_view name) const noexcept {
    const std::size_t index = index_by_name(values_, name);
    return index == values_.size() ? ValueId::none : ValueId{static_cast<std::uint8_t>(index)};
}

RpcId Schema::find_rpc(std::string_view name) const noexcept {
    std::size_t index = 0;
    while (index < rpcs_.size() && rpcs_[index].args.name != name) ++index;
    return index == rpcs_.size() ? RpcId::none : RpcId{static_cast<std::uint16_t>(index)};
}

InputId Schema::find_input(std::string_view name) const noexcept {
    const std::size_t index = index_by_name(inputs_, name);
    return index == inputs_.size() ? InputId::none : InputId{static_cast<std::uint8_t>(index)};
}

std::size_t Schema::find_field(ComponentId component, std::string_view name) const noexcept {
    if (index_of(component) >= components_.size()) return fields_max;
    const auto& fields = components_[index_of(component)].fields;
    const std::size_t index = index_by_name(fields, name);
    return index == fields.size() ? fields_max : index;
}

/// No index of a component.
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
