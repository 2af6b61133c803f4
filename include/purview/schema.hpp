// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What a world is made of, at run time: components with fields, and kinds of entity made of
// components. A component is a plain struct of the game; the schema knows where its fields lie and
// how many bits they are worth on the wire. Clients receive the schema when they connect, so a
// browser needs no generated code. Flags, keys and values name fields that interest may read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "purview/handles.hpp"
#include "purview/rpc.hpp"
#include "purview/settings.hpp"
#include "purview/status.hpp"
#include "purview/types.hpp"

namespace purview {

enum class FieldType : std::uint8_t {
    boolean = 0,    ///< 1 bit; a bool in the struct
    integer = 1,    ///< min..max in as few bits as hold them; any integer type up to 32 bits
    real = 2,       ///< the 32 bits of a float, NaN made canonical
    quantized = 3,  ///< a float rounded to min + n * step, clamped to min..max
    ranged = 4,     ///< a float without loss, in some 25 bits while it is mostly within min..max
    rotation = 5,   ///< a Rotation: the three smallest parts in 10 bits each
    text = 6,       ///< an array of 1 to 31 chars: the bytes before the first zero
    reference = 7,  ///< an EntityId: to an observer its ghost, or none while it is not relevant
};

/// How a field stands in its struct and on the wire.
struct FieldDef {
    std::string name;
    FieldType type = FieldType::boolean;
    std::uint16_t offset_bytes = 0;
    std::uint8_t size_bytes = 0;  ///< in the struct
    bool is_signed = false;       ///< integers only
    double min = 0;
    double max = 0;
    double step = 0;             ///< quantised only
    std::uint8_t wire_bits = 0;  ///< derived: at most so many; a reference: beside its ghost's id
    std::uint8_t words = 1;      ///< derived: of 32 bits, as comparisons and digests see it
    bool extrapolated = false;   ///< Schema::extrapolate
    std::uint32_t largest = ~std::uint32_t{0};  ///< derived: word of its largest number
};

/// Who is told a component of an entity that is relevant to him (Fusion's ReplicateTo). It decides
/// nothing but that: neither who sees the entity nor which calls reach him.
enum class AudienceType : std::uint8_t {
    everyone = 0,
    owner = 1,     ///< of the entity
    others = 2,    ///< all but the owner
    same_key = 3,  ///< who has the same key (InterestManager::has_key); and the owner
    custom = 4,
    /// Everyone; but where such components of an entity have more to say than fits into a packet or
    /// the budget of a tick, they are told one after the other (docs/budget.md). keeps_values is
    /// on.
    in_turn = 5,
    /// Of a predicted component: everyone, but not the owner while he predicts it and the server
    /// comes to the same; what he has wrong, a correction tells him (docs/prediction.md). His ghost
    /// keeps what it was told last, marked: keeps_values is on. The only one that a place or an
    /// orientation may have beside everyone, in a schema without relative places: others are told
    /// as seen from there.
    unpredicted = 6,
};

/// An audience of your own. Asked in every tick, so its answer may change at any time; must not
/// depend on what the observer may not know, and must not edit the world. Of a server with an
/// executor: on any of its threads, several at a time.
class ComponentAudience {
  public:
    virtual ~ComponentAudience() = default;
    /// told[n] = 1 for those of entities[n] of which the observer is told the component; 0 before.
    virtual void decide(ObserverId observer, std::span<const EntityId> entities,
                        std::span<std::uint8_t> told) const = 0;
};

struct AudienceDef {
    AudienceType type = AudienceType::everyone;
    KeyId domain = KeyId::none;                 ///< same_key
    const ComponentAudience* custom = nullptr;  ///< custom; not owned, outlives the server
    /// Who is not told any more keeps the last values, marked (Client::is_replicated); or they are
    /// zero.
    bool keeps_values = false;
};

struct ComponentDef {
    std::string name;
    std::uint32_t size_bytes = 0;
    std::vector<FieldDef> fields;  ///< at most Schema::fields_max
    AudienceDef audience;
    bool is_predicted = false;  ///< Schema::predict
    bool is_rewound = false;    ///< Schema::rewind
};

/// About which axis a number turns: z from x towards y, y from z towards x, x from y towards z. The
/// vertical one is z where interest works in xy, and y where it works in xz (Rules::axes).
enum class TurnAxis : std::uint8_t { x = 0, y = 1, z = 2 };

/// How a number says an orientation.
struct Yaw {
    double full_turn = 6.283185307179586;  ///< 360 for degrees; negative: the other way round
    TurnAxis axis = TurnAxis::z;
};

/// The field that says how an entity of a kind is turned (Schema::set_orientation).
struct OrientationDef {
    ComponentId component = ComponentId::none;  ///< none: it is not turned, and turns nobody
    std::uint16_t field = 0;
    TurnAxis axis = TurnAxis::z;           ///< of a number; a rotation has its own
    double full_turn = 6.283185307179586;  ///< of a number
};

struct KindDef {
    std::string name;
    std::vector<ComponentId> components;  ///< in schema order
    float priority = 1;                   ///< weight in the send order; 1e-6 to 1e6
    bool owner_sees = true;               ///< the owner sees his own, whatever the rules say
    /// The inputs that entities of this kind take as their parts of a command, in the order in
    /// which a step finds them (GroupInput::parts); empty: they take none. See
    /// Schema::take_input.
    std::vector<InputId> inputs;
    /// False: an entity of this kind takes no input until Server::set_in_input switches it on.
    bool starts_in_input = true;
    /// Under another entity it stays a root of its own: its input comes after that of all plain
    /// children, with its own children behind it (O16). A player who boards a vehicle.
    bool is_inner_root = false;
    /// Position of the input among `inputs`; inputs.size(): it does not take it.
    std::size_t slot_of(InputId input) const noexcept {
        std::size_t slot = 0;
        while (slot < inputs.size() && inputs[slot] != input) ++slot;
        return slot;
    }
    Retention leave = Retention::despawn;
    /// A copy that is kept is dropped when its entity has not come back after so many ticks; a
    /// deactivated one when others need its room (docs/limits.md).
    std::uint32_t retention_ticks = 200;
    bool in_groups = true;  ///< false: a plain parent or child, which cuts groups (O9)
    /// In a group, its place is told as seen from its parent. A server refuses it without a place.
    bool relative_position = false;
    /// A move of more than this in a tick is a jump, in metres: it is in the old place until it is
    /// in the new one, for clients (Client::position_of, Prediction) and for rewound views. 0: none
    /// is. Of ticks that were not told, or are lost, a client knows only what they moved in all:
    /// let jumps be several times as long.
    float teleport_distance = 0;
    OrientationDef orientation;  ///< Schema::set_orientation
    /// How often by strength, for example {{0, 8}, {0.6, 4}, {0.8, 1}}: nearby every tick, far away
    /// every eighth. What comes to rest is told at once.
    std::vector<SendInterval> rates;
    /// How many one observer is told in one tick, by number or by how many he has, for example
    /// {.buckets = {{24, 2}, {96, 4}}}: from 24 on half of them a tick, from 96 on a quarter.
    SendLimit limit = {};
};

/// A yes/no (flag), group (key) or number (value) for interest, read from a field of a component.
/// An entity without the component answers no, Key::none, or 0.
struct AttributeDef {
    std::string name;
    ComponentId component = ComponentId::none;
    std::uint16_t field = 0;
};

/// A type of remote call; its arguments stand in a struct as the fields of a component do.
struct RpcDef {
    RpcDesc desc;
    ComponentDef args;  ///< and the name of the call
};

struct NumberRange {
    double min = 0;
    double max = 0;
    double step = 0;
};

template <class T, class Id = ComponentId>
class ComponentBuilder;
template <class T>
using RpcBuilder = ComponentBuilder<T, RpcId>;
template <class T>
using InputBuilder = ComponentBuilder<T, InputId>;

/// Built once, then shared read-only. Not thread-safe while it is built. Copyable.
class Schema {
  public:
    static constexpr std::size_t components_max = 32;
    static constexpr std::size_t fields_max = 16;  ///< of one component
    static constexpr std::size_t kinds_max = 256;
    static constexpr std::size_t kind_fields_max = 64;  ///< of all components of one kind
    static constexpr std::size_t flags_max = 16;
    static constexpr std::size_t keys_max = 8;
    static constexpr std::size_t values_max = 8;
    static constexpr std::size_t name_bytes_max = 63;
    static constexpr std::size_t component_bytes_max = 256;
    /// Of 4 bytes, of all fields of one component, input or call; a reference takes two, a text its
    /// bytes rounded up.
    static constexpr std::size_t component_words_max = component_bytes_max / 4 + fields_max;
    static constexpr std::size_t rpcs_max = 128;
    static constexpr unsigned extrapolated_bits_max = 24;  ///< of one field
    static constexpr std::size_t inputs_max = 32;
    static constexpr std::size_t inputs_of_kind_max = 4;

    /// Declares a component that is the struct T (trivially copyable). Fields are added to the
    /// builder. More than a limit allows, or a name used twice, makes status() bad_configuration.
    template <class T>
    ComponentBuilder<T> component(std::string_view name);

    /// The place of entities: a component whose struct begins with three floats x, y, z (a Vec3).
    /// At most one; interest reads it, and World::move writes it.
    void set_position(ComponentId component);

    KindId kind(std::string_view name, std::span<const ComponentId> components, float priority = 1);
    KindId kind(std::string_view name, std::initializer_list<ComponentId> components,
                float priority = 1) {
        return kind(name, std::span<const ComponentId>(components.begin(), components.size()),
                    priority);
    }
    /// Of a kind that there is not (one that failed, or was not found): noted as a problem, and the
    /// edit is of nothing.
    KindDef& edit_kind(KindId kind);

    /// Entities of the kind are turned as `field` says: a rotation, or a number (an angle; NaN is
    /// 0) that turns about one axis. Members with a relative place turn with it, and stand where
    /// they stood: what counts is the value that clients are told. In a kind with a relative place
    /// the field is as seen from the parent, while that is so of the place; attach and detach write
    /// it then, so that nobody turns. A component for everyone, or unpredicted.
    void set_orientation(KindId kind, ComponentId component, std::string_view field,
                         const Yaw& yaw = {});

    /// Who is told the component; without a call, everyone. Clients must not simulate a place that
    /// they are not told: the place component is for everyone, or unpredicted.
    void audience(ComponentId component, const AudienceDef& audience);

    /// The field mostly goes on as it did: clients are told what a straight line through its past
    /// does not say, and nothing while the line is right (docs/adr/0014). Costs memory and time for
    /// each observer. Integers and quantised fields of at most 24 bits, in components that everyone
    /// is told. Clients hold the same values in the same ticks as without.
    void extrapolate(ComponentId component, std::string_view field);

    /// `field` of `component` answers yes when it is not zero.
    FlagId flag(std::string_view name, ComponentId component, std::string_view field);
    /// The value of `field` is the group, 0..65535; 0 matches nobody.
    KeyId key(std::string_view name, ComponentId component, std::string_view field);
    /// `field` as a number, of whatever type it is. What is not finite leaves the value as it was.
    ValueId value(std::string_view name, ComponentId component, std::string_view field);

    /// Declares a type of call whose arguments are the struct T. Fields are added to the builder,
    /// as for a component, but no references: an entity that a call is about is its target. Limits
    /// are those of a component.
    template <class T>
    RpcBuilder<T> rpc(std::string_view name, const RpcDesc& desc);

    // -- groups that take input; docs/prediction.md ---------------------------------------------
    /// Declares what one entity takes as its part of a command: the struct T, with fields as a
    /// component has them, but no references.
    template <class T>
    InputBuilder<T> input(std::string_view name);
    /// Entities of the kind take this input. Several inputs of a kind are processed in the order of
    /// these calls. problem(): more than inputs_of_kind_max, or the same one twice.
    void take_input(KindId kind, InputId input);
    /// The owner predicts the component: it follows from his commands alone. Between two commands
    /// it is what its fields say on the wire, on the server too: what no field says is lost. No
    /// references; for everyone, or for the owner. AudienceType::unpredicted is said afterwards.
    void predict(ComponentId component);
    /// The server remembers the component for a second, so that it can be seen as it was.
    void rewind(ComponentId component);

    /// Status::ok, or bad_configuration with the first mistake in problem().
    Status status() const noexcept {
        return problem_.empty() ? Status::ok : Status::bad_configuration;
    }
    const std::string& problem() const noexcept { return problem_; }

    std::span<const ComponentDef> components() const noexcept { return components_; }
    std::span<const KindDef> kinds() const noexcept { return kinds_; }
    std::span<const RpcDef> rpcs() const noexcept { return rpcs_; }
    std::span<const ComponentDef> inputs() const noexcept { return inputs_; }
    std::span<const AttributeDef> flags() const noexcept { return flags_; }
    std::span<const AttributeDef> keys() const noexcept { return keys_; }
    std::span<const AttributeDef> values() const noexcept { return values_; }
    ComponentId position() const noexcept { return position_; }

    ComponentId find_component(std::string_view name) const noexcept;
    /// kinds().size() as a KindId when there is none.
    KindId find_kind(std::string_view name) const noexcept;
    FlagId find_flag(std::string_view name) const noexcept;
    KeyId find_key(std::string_view name) const noexcept;
    ValueId find_value(std::string_view name) const noexcept;
    RpcId find_rpc(std::string_view name) const noexcept;
    InputId find_input(std::string_view name) const noexcept;
    /// Index of the field, or fields_max.
    std::size_t find_field(ComponentId component, std::string_view name) const noexcept;

    /// Equal for schemas that read and write the same bytes: names, order, types, ranges; not the
    /// layout of the structs. Never 0.
    std::uint64_t hash() const noexcept;

    /// Low level, for bindings and decoders: a component or field without a C++ struct behind it.
    ComponentId add_component(ComponentDef def);
    void add_field(ComponentId component, FieldDef field);
    RpcId add_rpc(RpcDef def);
    void add_field(RpcId rpc, FieldDef field);
    InputId add_input(ComponentDef def);
    void add_field(InputId input, FieldDef field);

  private:
    void add_field(ComponentDef& owner, const std::string& what, FieldDef field);
    void fail(std::string problem);
    bool good_name(std::string_view name, std::string_view what);
    bool good_field_count(const KindDef& kind);

    std::vector<ComponentDef> components_;
    std::vector<KindDef> kinds_;
    KindDef no_kind_;  ///< what is edited in place of one that there is not
    std::vector<RpcDef> rpcs_;
    std::vector<ComponentDef> inputs_;
    std::vector<AttributeDef> flags_;
    std::vector<AttributeDef> keys_;
    std::vector<AttributeDef> values_;
    ComponentId position_ = ComponentId::none;
    std::string problem_;
};

/// Names the fields of one struct. `builder.quantized("x", &Position::x, {0, 2048, 0.01})` and so
/// on; converts to Component<T>, to Rpc<T> for the arguments of a call, to Input<T> for an input.
/// Valid while its schema is.
template <class T, class Id>
class ComponentBuilder {
    using Name =
        std::conditional_t<std::is_same_v<Id, RpcId>, Rpc<T>,
                           std::conditional_t<std::is_same_v<Id, InputId>, Input<T>, Component<T>>>;
    static_assert(std::is_trivially_copyable_v<T>, "components are plain structs");
    static_assert(sizeof(T) <= Schema::component_bytes_max, "component too large");

  public:
    ComponentBuilder(Schema& schema, Id id) : schema_(&schema), id_(id) {}

    ComponentBuilder& boolean(std::string_view name, bool T::*member) {
        return add(name, member, FieldType::boolean, {0, 1, 1});
    }
    template <class Integer>
    ComponentBuilder& integer(std::string_view name, Integer T::*member, std::int64_t min,
                              std::int64_t max) {
        static_assert(std::is_integral_v<Integer> && sizeof(Integer) <= 4);
        return add(name, member, FieldType::integer,
                   {static_cast<double>(min), static_cast<double>(max), 1});
    }
    /// All 32 bits of the float.
    ComponentBuilder& real(std::string_view name, float T::*member) {
        return add(name, member, FieldType::real, {0, 0, 0});
    }
    /// Rounded to the nearest min + n * step.
    ComponentBuilder& quantized(std::string_view name, float T::*member, NumberRange range) {
        return add(name, member, FieldType::quantized, range);
    }
    /// Coordinates of a Vec3, a field each: x, y and z by these names, in this order; one without a
    /// name is not told, and stays 0 on clients. {"x", "y"}; {"x", "", "z"}.
    ComponentBuilder& quantized(const std::array<std::string_view, 3>& names, Vec3 T::*member,
                                NumberRange range) {
        for (std::size_t axis = 0; axis < names.size(); ++axis) {
            if (names[axis].empty()) continue;
            add_at(names[axis], offset_of(member) + axis * sizeof(float), sizeof(float), false,
                   FieldType::quantized, range);
        }
        return *this;
    }
    /// Every bit of the float, in fewer bits the nearer it is to the larger of |min| and |max|;
    /// what is out of range or near 0 takes 39 bits.
    ComponentBuilder& ranged(std::string_view name, float T::*member, float min, float max) {
        return add(name, member, FieldType::ranged, {min, max, 0});
    }
    /// 32 bits; off by at most 0.28 of a degree. What has no length is no rotation at all.
    ComponentBuilder& rotation(std::string_view name, Rotation T::*member) {
        return add(name, member, FieldType::rotation, {});
    }
    /// The bytes before the first zero, all N if there is none; any bytes.
    template <std::size_t N>
    ComponentBuilder& text(std::string_view name, char (T::*member)[N]) {
        static_assert(N <= 31, "a text has at most 31 bytes");
        return add(name, member, FieldType::text, {});
    }
    /// A client learns its own name for the entity while that is relevant to him, else none.
    ComponentBuilder& reference(std::string_view name, EntityId T::*member) {
        return add(name, member, FieldType::reference, {});
    }

    /// The fields that were added so far are extrapolated (Schema::extrapolate).
    ComponentBuilder& extrapolated() requires std::is_same_v<Id, ComponentId> {
        for (std::size_t f = 0; f < schema_->components()[index_of(id_)].fields.size(); ++f)
            schema_->extrapolate(id_, schema_->components()[index_of(id_)].fields[f].name);
        return *this;
    }

    operator Name() const noexcept { return {id_}; }  // NOLINT: implicit on purpose
    Id id() const noexcept { return id_; }

  private:
    template <class M>
    ComponentBuilder& add(std::string_view name, M T::*member, FieldType type, NumberRange range) {
        return add_at(name, offset_of(member), sizeof(M),
                      std::is_integral_v<M> && std::is_signed_v<M>, type, range);
    }
    template <class M>
    static std::size_t offset_of(M T::*member) {
        const T probe{};
        return static_cast<std::size_t>(reinterpret_cast<const char*>(&(probe.*member)) -
                                        reinterpret_cast<const char*>(&probe));
    }
    ComponentBuilder& add_at(std::string_view name, std::size_t offset, std::size_t size,
                             bool is_signed, FieldType type, NumberRange range) {
        FieldDef field;
        field.name = name;
        field.type = type;
        field.offset_bytes = static_cast<std::uint16_t>(offset);
        field.size_bytes = static_cast<std::uint8_t>(size);
        field.is_signed = is_signed;
        field.min = range.min;
        field.max = range.max;
        field.step = range.step;
        schema_->add_field(id_, std::move(field));
        return *this;
    }

    Schema* schema_;
    Id id_;
};

/// Fills an array of a text field; what does not fit is cut off, before a character of UTF-8 that
/// would be cut in two. With zeros behind it.
void set_text(std::span<char> field, std::string_view text) noexcept;

template <class T>
ComponentBuilder<T> Schema::component(std::string_view name) {
    ComponentDef def;
    def.name = name;
    def.size_bytes = sizeof(T);
    return ComponentBuilder<T>(*this, add_component(std::move(def)));
}

template <class T>
InputBuilder<T> Schema::input(std::string_view name) {
    ComponentDef def;
    def.name = name;
    def.size_bytes = sizeof(T);
    return InputBuilder<T>(*this, add_input(std::move(def)));
}

template <class T>
RpcBuilder<T> Schema::rpc(std::string_view name, const RpcDesc& desc) {
    RpcDef def;
    def.desc = desc;
    def.args.name = name;
    def.args.size_bytes = sizeof(T);
    return RpcBuilder<T>(*this, add_rpc(std::move(def)));
}

}  // namespace purview
