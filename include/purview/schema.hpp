// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors

/// @file
/// The schema of a world, built at run time: components with fields, and kinds of entities with
/// components. A component is a plain struct of the game; the schema describes its fields and how
/// they are sent. Clients receive the schema when they connect, so a browser needs no generated
/// code. Flags, keys and values are fields that interest may read.
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
#include "purview/types.hpp"

namespace purview {

/// @addtogroup api_schema
/// @{

/// How a field is stored and sent.
enum class FieldType : std::uint8_t {
    boolean = 0,    ///< 1 bit; a bool in the struct
    integer = 1,    ///< min..max in the fewest bits; any integer type up to 32 bits
    real = 2,       ///< the 32 bits of a float, NaN made canonical
    quantized = 3,  ///< a float rounded to min + n * step, clamped to min..max
    ranged = 4,     ///< a float without loss, in about 25 bits while it is within min..max
    rotation = 5,   ///< a Rotation: its three smallest parts in 10 bits each
    text = 6,       ///< an array of 1 to 31 chars: the bytes before the first zero
    reference = 7,  ///< an EntityId; sent as the observer's ghost of it, or none
};

/// A field: its place in the struct, and its format on the wire.
struct FieldDef {
    std::string name;                     ///< unique in its component
    FieldType type = FieldType::boolean;  ///< how it is stored and sent
    std::uint16_t offset_bytes = 0;       ///< in the struct
    std::uint8_t size_bytes = 0;          ///< in the struct
    bool is_signed = false;               ///< integers only
    double min = 0;                       ///< integer, quantized, ranged
    double max = 0;                       ///< integer, quantized, ranged
    double step = 0;                      ///< quantized only
    std::uint8_t wire_bits = 0;  ///< derived: maximum; for a reference without the ghost id
    std::uint8_t words = 1;      ///< derived: number of 32-bit words in comparisons and digests
    bool extrapolated = false;   ///< Schema::extrapolate
    std::uint32_t largest = ~std::uint32_t{0};  ///< derived: word of the largest number
};

/// Which observers receive a component, among those to which its entity is relevant (as Fusion's
/// ReplicateTo). It has no influence on relevance and RPCs.
enum class AudienceType : std::uint8_t {
    everyone = 0,  ///< all of them
    owner = 1,     ///< the owner of the entity
    others = 2,    ///< all but the owner
    same_key = 3,  ///< observers with the same key (Visibility::has_key), and the owner
    custom = 4,    ///< decided by a ComponentAudience
    /// Everyone. If the new data of such components of an entity exceeds a packet or the budget of
    /// a tick, they are sent one after the other (docs/budget.md). Sets keeps_values.
    staged = 5,
    /// Everyone, except the owner while its prediction agrees with the server; corrections replace
    /// its updates (docs/prediction.md). The owner's ghost keeps the last values, marked: sets
    /// keeps_values. For predicted components only. A position or orientation may have this
    /// audience only in a schema without relative positions, and no other but everyone.
    unpredicted = 6,
};

/// An audience of your own. It is evaluated in every tick, so that its result may change at any
/// time. It must not depend on data that the observer may not receive, and must not edit the world.
/// On a server with an executor it is called on any thread, several at a time.
class ComponentAudience {
  public:
    virtual ~ComponentAudience() = default;
    /// Sets `allowed[n]` to 1 if the component of `entities[n]` is replicated to the observer. All
    /// are 0 before.
    virtual void decide(ObserverId observer, std::span<const EntityId> entities,
                        std::span<std::uint8_t> allowed) const = 0;
};

/// The audience of a component.
struct AudienceDef {
    AudienceType type = AudienceType::everyone;  ///< which observers
    KeyId domain = KeyId::none;                  ///< for same_key
    const ComponentAudience* custom = nullptr;   ///< for custom; not owned, outlives the server
    /// True: an observer to which the component is not replicated any more keeps the last values,
    /// marked (Client::is_replicated). False: it has zeros.
    bool keeps_values = false;
};

/// A component: its struct and its fields.
struct ComponentDef {
    std::string name;              ///< unique among the components, the inputs or the RPCs
    std::uint32_t size_bytes = 0;  ///< of the struct
    std::vector<FieldDef> fields;  ///< at most Schema::fields_max
    AudienceDef audience;          ///< Schema::audience
    bool is_predicted = false;     ///< Schema::predict
    bool is_rewound = false;       ///< Schema::rewind
};

/// The axis about which a number turns: z from x towards y, y from z towards x, x from y towards z.
/// The vertical axis is z if interest works in xy, and y if it works in xz (Rules::axes).
enum class TurnAxis : std::uint8_t {
    x = 0,  ///< from y towards z
    y = 1,  ///< from z towards x
    z = 2   ///< from x towards y
};

/// The field with the orientation of a kind (Schema::set_orientation).
struct OrientationDef {
    ComponentId component = ComponentId::none;  ///< none: no orientation
    std::uint16_t field = 0;                    ///< index in the component
    TurnAxis axis = TurnAxis::z;                ///< for a number; a rotation has its own axis
    double full_turn = 6.283185307179586;       ///< for a number: the value of a full turn
};

/// A kind of entity.
struct KindDef {
    std::string name;                     ///< unique among the kinds
    std::vector<ComponentId> components;  ///< in schema order
    float priority = 1;                   ///< weight in the send order; 1e-6 to 1e6
    bool owner_sees = true;               ///< false: ownership does not make it relevant
    /// Inputs that entities of this kind take as their parts of a group input, in the order of
    /// GroupInput::parts. Empty: none. See Schema::take_input.
    std::vector<InputId> inputs;
    /// False: an entity takes no input until Server::set_in_input.
    bool starts_in_input = true;
    /// True: in the input order, an attached entity of this kind comes after all plain children,
    /// followed by its own children. For example, a player who boards a vehicle.
    bool is_inner_root = false;
    /// What happens to its ghosts at a leave, unless Replication::leave of a node is higher.
    Retention leave = Retention::despawn;
    /// Ticks after which a retained ghost is dropped if its entity has not returned. A deactivated
    /// ghost is dropped when others need its room (docs/limits.md).
    std::uint32_t retention_ticks = 200;
    bool in_groups = true;  ///< false: has parents and children, but separates groups
    /// In a group, the position is replicated relative to the parent. The schema must have a
    /// position.
    bool relative_position = false;
    /// A move of more than this in one tick is a teleport, in meters; 0: none is. Interpolation and
    /// lag compensation use the old position until the tick of the teleport (Client::position_of,
    /// Prediction, Server::rewind). If ticks were not sent or were lost, a client knows only the
    /// total distance: make teleports several times as long as this.
    float teleport_distance = 0;
    OrientationDef orientation;  ///< Schema::set_orientation
    /// Send intervals by relevance score, for example {{0, 8}, {0.6, 4}, {0.8, 1}}: every tick if
    /// near, every eighth if far. Scores ascend, and intervals do not; below the first score the
    /// first interval holds. A group member is not sent more often than its ancestors. The last
    /// value of an entity that becomes idle is sent at once.
    std::vector<SendInterval> intervals;
    /// Maximum number of ghosts of this kind that are sent to one observer in one tick, enters
    /// included; 0: no limit. Entities that the observer owns do not count, and leaves never wait.
    /// Ghosts that others need are sent in any case: a parent with its child, members with a group
    /// that enters, a ghost with an RPC. Priorities are ignored among the ghosts of the kind.
    std::uint32_t limit_per_tick = 0;
    /// Which ghosts are sent first if limit_per_tick delays some.
    LimitOrder limit_order = LimitOrder::fill;
};

/// A flag, key or value for interest, read from a field of a component. An entity without the
/// component has no flag, Key::none, or 0.
struct AttributeDef {
    std::string name;                           ///< unique among the flags, the keys or the values
    ComponentId component = ComponentId::none;  ///< the component that it is read from
    std::uint16_t field = 0;                    ///< index in the component
};

/// An RPC type. Its arguments are the fields of a struct, as for a component.
struct RpcDef {
    RpcDesc desc;       ///< direction, target and delivery
    ComponentDef args;  ///< fields of the arguments, and the name of the RPC
};

/// The range of a quantized field. It has (max - min) / step steps, rounded to a whole number from
/// 1 to 2^32 - 2.
struct NumberRange {
    double min = 0;   ///< the least value
    double max = 0;   ///< the largest value, above `min`
    double step = 0;  ///< the distance of two values, above 0
};

template <class T, class Id = ComponentId>
class ComponentBuilder;

/// The schema of a world. Build it once, then share it read-only. Not thread-safe while it is
/// built. Copyable. An error of a declaration is a problem(): it is recorded, nothing is declared,
/// and a returned id is `none`.
class Schema {
  public:
    /// @name Limits
    /// @{

    static constexpr std::size_t components_max = 32;        ///< of the schema
    static constexpr std::size_t fields_max = 16;            ///< per component
    static constexpr std::size_t kinds_max = 256;            ///< of the schema
    static constexpr std::size_t kind_fields_max = 64;       ///< of all components of one kind
    static constexpr std::size_t flags_max = 16;             ///< of the schema
    static constexpr std::size_t keys_max = 8;               ///< of the schema
    static constexpr std::size_t values_max = 8;             ///< of the schema
    static constexpr std::size_t name_bytes_max = 63;        ///< of each name; at least 1
    static constexpr std::size_t component_bytes_max = 256;  ///< of the struct
    /// Number of 4-byte words of all fields of one component, input or RPC. A reference takes two;
    /// a text takes its bytes, rounded up.
    static constexpr std::size_t component_words_max = component_bytes_max / 4 + fields_max;
    static constexpr std::size_t rpcs_max = 128;           ///< of the schema
    static constexpr unsigned extrapolated_bits_max = 24;  ///< per field
    static constexpr std::size_t inputs_max = 32;          ///< of the schema
    static constexpr std::size_t inputs_of_kind_max = 4;   ///< per kind
    /// @}

    /// @name Components and kinds
    /// @{

    /// Declares a component with the struct T (trivially copyable). Add its fields to the result.
    /// An exceeded limit or a name that is used twice is a problem().
    template <class T>
    ComponentBuilder<T> component(std::string_view name);

    /// Sets the component with the position of entities. Its struct begins with three floats x, y,
    /// z (a Vec3). At most one; interest reads it, and World::move writes it.
    void set_position(ComponentId component);

    /// Declares a kind of entity. `components`: in any order; each counts once. `priority`: weight
    /// in the send order, 1e-6 to 1e6. Returns none after a problem().
    KindId kind(std::string_view name, std::span<const ComponentId> components, float priority = 1);
    /// The same with a list: `schema.kind("wolf", {position, health})`.
    KindId kind(std::string_view name, std::initializer_list<ComponentId> components,
                float priority = 1) {
        return kind(name, std::span<const ComponentId>(components.begin(), components.size()),
                    priority);
    }
    /// Returns the definition of a kind, to edit it. Valid until the next kind(). An unknown kind
    /// is a problem(); the edit then has no effect.
    KindDef& edit_kind(KindId kind);

    /// Sets the field with the orientation of a kind: a rotation, or a number (an angle; NaN is 0)
    /// that turns about `axis`. `full_turn`: the value of a full turn, for example 360 for degrees;
    /// negative: the other direction. The component must be for everyone, or unpredicted.
    ///
    /// Members with a relative position turn with the entity. The replicated (quantized) value
    /// counts, also on the server. In a kind with relative positions the field is relative to the
    /// parent, as the position is; attach and detach rewrite it so that the entity does not turn.
    void set_orientation(KindId kind, ComponentId component, std::string_view field,
                         double full_turn = 6.283185307179586, TurnAxis axis = TurnAxis::z);

    /// Sets the audience of a component; the default is everyone. The position component must be
    /// for everyone, or unpredicted: clients must not simulate a position that they do not receive.
    void audience(ComponentId component, const AudienceDef& audience);

    /// Enables dead reckoning for a field: only differences from a linear prediction are sent, and
    /// nothing while the prediction is correct (docs/adr/0014). Costs memory and time for each
    /// observer. For integers and quantized fields of at most 24 bits, in components for everyone.
    /// Clients have the same values in the same ticks as without dead reckoning.
    void extrapolate(ComponentId component, std::string_view field);
    /// @}

    /// @name Attributes for interest
    /// @{

    /// Declares a flag: `field` of `component`, a boolean or a number, is not zero.
    FlagId flag(std::string_view name, ComponentId component, std::string_view field);
    /// Declares a key: the value of `field`, an integer with a range within 0..65535; 0 matches
    /// nothing.
    KeyId key(std::string_view name, ComponentId component, std::string_view field);
    /// Declares a value: `field` as a number, of any numeric type. A field that is not finite
    /// leaves the value unchanged.
    ValueId value(std::string_view name, ComponentId component, std::string_view field);
    /// @}

    /// Declares an RPC type with the arguments in the struct T. Add the fields to the result, as
    /// for a component, but without references: an RPC about an entity has it as its target. The
    /// limits are those of a component.
    template <class T>
    ComponentBuilder<T, RpcId> rpc(std::string_view name, const RpcDesc& desc);

    /// @name Groups that take input (docs/prediction.md)
    /// @{

    /// Declares an input type: the part of one entity in a group input. The struct T has fields as
    /// a component has, but no references.
    template <class T>
    ComponentBuilder<T, InputId> input(std::string_view name);
    /// Adds an input to a kind. Several inputs of a kind are processed in the order of these calls.
    /// More than inputs_of_kind_max inputs, or the same input twice, is a problem().
    void take_input(KindId kind, InputId input);
    /// Lets the owner predict a component, which must follow from the owner's inputs alone. Between
    /// two inputs the component is quantized, also on the server: members of the struct without a
    /// field lose their values. The component must have no references, and be for everyone or for
    /// the owner. Set AudienceType::unpredicted after this call.
    void predict(ComponentId component);
    /// Keeps a history of a component for lag compensation (RewindSettings::ticks).
    void rewind(ComponentId component);
    /// @}

    /// @name Queries
    /// Spans are valid until the next declaration.
    /// @{

    /// Returns the first error as text; empty: none.
    const std::string& problem() const noexcept { return problem_; }

    /// Returns all components, in the order of declaration.
    std::span<const ComponentDef> components() const noexcept { return components_; }
    /// Returns all kinds, in the order of declaration.
    std::span<const KindDef> kinds() const noexcept { return kinds_; }
    /// Returns all RPC types, in the order of declaration.
    std::span<const RpcDef> rpcs() const noexcept { return rpcs_; }
    /// Returns all input types, in the order of declaration.
    std::span<const ComponentDef> inputs() const noexcept { return inputs_; }
    /// Returns all flags, in the order of declaration.
    std::span<const AttributeDef> flags() const noexcept { return flags_; }
    /// Returns all keys, in the order of declaration.
    std::span<const AttributeDef> keys() const noexcept { return keys_; }
    /// Returns all values, in the order of declaration.
    std::span<const AttributeDef> values() const noexcept { return values_; }
    /// Returns the position component, or none.
    ComponentId position() const noexcept { return position_; }

    /// Returns the component with this name, or none.
    ComponentId find_component(std::string_view name) const noexcept;
    /// Returns the kind with this name, or none.
    KindId find_kind(std::string_view name) const noexcept;
    /// Returns the input type with this name, or none.
    InputId find_input(std::string_view name) const noexcept;
    /// Returns the index of a field of a component; fields_max: there is none.
    std::size_t find_field(ComponentId component, std::string_view name) const noexcept;

    /// Returns a hash that is equal for schemas that read and write the same bytes: names, order,
    /// types and ranges, without the layout of the structs. Never 0.
    std::uint64_t hash() const noexcept;
    /// @}

  private:
    template <class T, class Id>
    friend class ComponentBuilder;
    friend struct SchemaAccess;  // src/protocol
    ComponentId add_component(ComponentDef def);
    void add_field(ComponentId component, FieldDef field);
    RpcId add_rpc(RpcDef def);
    void add_field(RpcId rpc, FieldDef field);
    InputId add_input(ComponentDef def);
    void add_field(InputId input, FieldDef field);
    void add_field(ComponentDef& owner, const std::string& what, FieldDef field);
    void fail(std::string problem);
    bool good_name(std::string_view name, std::string_view what);
    bool good_field_count(const KindDef& kind);

    std::vector<ComponentDef> components_;
    std::vector<KindDef> kinds_;
    KindDef no_kind_;  ///< target of edits of unknown kinds
    std::vector<RpcDef> rpcs_;
    std::vector<ComponentDef> inputs_;
    std::vector<AttributeDef> flags_;
    std::vector<AttributeDef> keys_;
    std::vector<AttributeDef> values_;
    ComponentId position_ = ComponentId::none;
    std::string problem_;
};

/// Describes the fields of one struct, for example `builder.quantized("x", &Position::x, {0, 2048,
/// 0.01})`. Converts to Component<T>, to Rpc<T> for the arguments of an RPC, or to Input<T> for an
/// input. Valid as long as its schema.
template <class T, class Id>
class ComponentBuilder {
    using Name =
        std::conditional_t<std::is_same_v<Id, RpcId>, Rpc<T>,
                           std::conditional_t<std::is_same_v<Id, InputId>, Input<T>, Component<T>>>;
    static_assert(std::is_trivially_copyable_v<T>, "components are plain structs");
    static_assert(sizeof(T) <= Schema::component_bytes_max, "component too large");

  public:
    /// Adds a boolean field: 1 bit.
    ComponentBuilder& boolean(std::string_view name, bool T::*member) {
        return add(name, member, FieldType::boolean, {0, 1, 1});
    }
    /// Adds an integer field, min..max.
    template <class Integer>
    ComponentBuilder& integer(std::string_view name, Integer T::*member, std::int64_t min,
                              std::int64_t max) {
        static_assert(std::is_integral_v<Integer> && sizeof(Integer) <= 4);
        return add(name, member, FieldType::integer,
                   {static_cast<double>(min), static_cast<double>(max), 1});
    }
    /// Adds a float field with all of its 32 bits.
    ComponentBuilder& real(std::string_view name, float T::*member) {
        return add(name, member, FieldType::real, {0, 0, 0});
    }
    /// Adds a float field that is rounded to the nearest min + n * step.
    ComponentBuilder& quantized(std::string_view name, float T::*member, NumberRange range) {
        return add(name, member, FieldType::quantized, range);
    }
    /// Adds a field for each named coordinate of a Vec3, in the order x, y, z: {"x", "y"}; {"x",
    /// "", "z"}. A coordinate without a name is not replicated, and is 0 on clients.
    ComponentBuilder& quantized(const std::array<std::string_view, 3>& names, Vec3 T::*member,
                                NumberRange range) {
        for (std::size_t axis = 0; axis < names.size(); ++axis) {
            if (names[axis].empty()) continue;
            add_at(names[axis], offset_of(member) + axis * sizeof(float), sizeof(float), false,
                   FieldType::quantized, range);
        }
        return *this;
    }
    /// Adds a float field without loss. It takes fewer bits the nearer it is to the larger of |min|
    /// and |max|. A value out of range or near 0 takes 39 bits.
    ComponentBuilder& ranged(std::string_view name, float T::*member, float min, float max) {
        return add(name, member, FieldType::ranged, {min, max, 0});
    }
    /// Adds a rotation field: 32 bits, off by at most 0.28 degrees. A zero quaternion is no
    /// rotation.
    ComponentBuilder& rotation(std::string_view name, Rotation T::*member) {
        return add(name, member, FieldType::rotation, {});
    }
    /// Adds a text field: the bytes before the first zero, or all N; any bytes.
    template <std::size_t N>
    ComponentBuilder& text(std::string_view name, char (T::*member)[N]) {
        static_assert(N <= 31, "a text has at most 31 bytes");
        return add(name, member, FieldType::text, {});
    }
    /// Adds a reference field. A client receives its ghost of the entity while it is relevant,
    /// otherwise none.
    ComponentBuilder& reference(std::string_view name, EntityId T::*member) {
        return add(name, member, FieldType::reference, {});
    }

    /// Enables dead reckoning for all fields that were added so far (Schema::extrapolate).
    ComponentBuilder& extrapolated() requires std::is_same_v<Id, ComponentId> {
        for (std::size_t f = 0; f < schema_->components()[index_of(id_)].fields.size(); ++f)
            schema_->extrapolate(id_, schema_->components()[index_of(id_)].fields[f].name);
        return *this;
    }

    /// Converts to the typed id.
    operator Name() const noexcept { return {id_}; }  // NOLINT: implicit on purpose
    /// Returns the id.
    Id id() const noexcept { return id_; }

  private:
    friend class Schema;
    ComponentBuilder(Schema& schema, Id id) : schema_(&schema), id_(id) {}

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

/// Copies a text into the array of a text field and fills the rest with zeros. A text that does not
/// fit is cut before a UTF-8 character that would be split.
void set_text(std::span<char> field, std::string_view text) noexcept;

template <class T>
ComponentBuilder<T> Schema::component(std::string_view name) {
    ComponentDef def;
    def.name = name;
    def.size_bytes = sizeof(T);
    return ComponentBuilder<T>(*this, add_component(std::move(def)));
}

template <class T>
ComponentBuilder<T, InputId> Schema::input(std::string_view name) {
    ComponentDef def;
    def.name = name;
    def.size_bytes = sizeof(T);
    return ComponentBuilder<T, InputId>(*this, add_input(std::move(def)));
}

template <class T>
ComponentBuilder<T, RpcId> Schema::rpc(std::string_view name, const RpcDesc& desc) {
    RpcDef def;
    def.desc = desc;
    def.args.name = name;
    def.args.size_bytes = sizeof(T);
    return ComponentBuilder<T, RpcId>(*this, add_rpc(std::move(def)));
}

/// @}

}  // namespace purview
