// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors

/// @file
/// A group and one input for it, as the step of the game receives them. The same code runs on the
/// server, where it edits the world, and on the client, where it predicts. An input is what one
/// owner sends for one group in one tick: a part for each member that it owns. docs/prediction.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "purview/limits.hpp"
#include "purview/schema.hpp"
#include "purview/types.hpp"

namespace purview {

/// @addtogroup api_prediction
/// @{

/// The number of an input of one client, from 1, without gaps. Not a tick of the server.
using InputNumber = std::uint32_t;

/// The order of members and of their parts.
enum class InputOrder : std::uint8_t {
    depth_first = 0,   ///< root, plain children depth first, then inner roots with their children
    breadth_first = 1  ///< generation by generation
};

/// A member of a group in a step.
struct GroupMember {
    static constexpr std::uint16_t none = 0xffff;  ///< no parent
    KindId kind{};                                 ///< its kind
    std::uint16_t parent = none;  ///< index in the group; none: a root, or an unknown parent
    bool is_owned = false;        ///< owned by the client that sent the input
    std::uint64_t name = 0;       ///< EntityId on the server, GhostId on a client
};

/// A group in a step: members in the order of InputOrder, root first. Valid during the step only.
/// Members are indices below size(), which is not checked.
///
/// A position that is replicated relative to the parent (KindDef::relative_position) is relative
/// here too: a member that the step does not move moves with its parent.
class GroupState {
  public:
    /// Creates an empty group.
    GroupState() = default;
    /// Creates a group from arrays, which are not owned. For the library.
    GroupState(std::span<const GroupMember> members, std::span<std::byte* const> components,
               std::span<const std::uint8_t> column, std::size_t stride, bool is_server) noexcept
        : members_(members),
          components_(components),
          column_(column),
          stride_(stride),
          is_server_(is_server) {}

    /// Returns the number of members.
    std::size_t size() const noexcept { return members_.size(); }
    /// Returns the kind of a member.
    KindId kind(std::size_t member) const noexcept { return members_[member].kind; }
    /// Returns whether the owner of the input owns a member. Members of other owners can only be
    /// read: on the server their current state, on a client the last received one.
    bool is_owned(std::size_t member) const noexcept { return members_[member].is_owned; }
    /// Returns the index of the parent; size() for the root, and on a client for a member with an
    /// unknown parent.
    std::size_t parent(std::size_t member) const noexcept {
        return members_[member].parent == GroupMember::none ? size() : members_[member].parent;
    }
    /// Returns the entity of a member on the server; none on a client.
    EntityId entity(std::size_t member) const noexcept {
        return is_server_ ? EntityId{members_[member].name} : EntityId::none;
    }
    /// Returns the ghost of a member on a client; none on the server.
    GhostId ghost(std::size_t member) const noexcept {
        return is_server_ ? GhostId::none
                          : GhostId{static_cast<std::uint32_t>(members_[member].name)};
    }

    /// Returns a component of a member; null: not predicted (Schema::predict), or the member's kind
    /// does not have it.
    template <class T>
    const T* get(std::size_t member, Component<T> component) const noexcept {
        return static_cast<const T*>(find(member, component.id));
    }
    /// Returns a component to edit; null as for get, and for a member of another owner.
    template <class T>
    T* edit(std::size_t member, Component<T> component) noexcept {
        return members_[member].is_owned ? static_cast<T*>(find(member, component.id)) : nullptr;
    }

  private:
    void* find(std::size_t member, ComponentId component) const noexcept {
        const std::size_t at = index_of(component);
        if (at >= column_.size() || column_[at] >= stride_) return nullptr;
        return components_[member * stride_ + column_[at]];
    }

    std::span<const GroupMember> members_;
    std::span<std::byte* const> components_;  ///< [members][stride]
    std::span<const std::uint8_t>
        column_;  ///< by component: its index; stride_ or more: not predicted
    std::size_t stride_ = 0;
    bool is_server_ = false;
};

/// The input of one owner for one group. Valid during the step only.
class GroupInput {
  public:
    /// The part of one member and one input type.
    struct Part {
        InputId input = InputId::none;    ///< the input type
        const std::byte* data = nullptr;  ///< the input's struct; null: no part
    };
    /// Creates an empty input.
    GroupInput() = default;
    /// Creates an input from an array, which is not owned. `parts`: [members][slots], one slot for
    /// each input of the member's kind. For the library.
    GroupInput(InputNumber tick, double view_tick, bool is_replay, std::span<const Part> parts,
               std::size_t slots) noexcept
        : tick_(tick), view_tick_(view_tick), is_replay_(is_replay), parts_(parts), slots_(slots) {}

    /// Returns the number of the input. Numbers ascend; on the server those of lost inputs are
    /// missing.
    InputNumber tick() const noexcept { return tick_; }
    /// Returns the server's tick at which the owner displayed everything that it does not predict,
    /// for Server::rewind. On the server it is limited to ticks that the client can have displayed.
    double view_tick() const noexcept { return view_tick_; }
    /// Returns whether a client runs this input again after a correction. A step must not start
    /// effects such as sounds then.
    bool is_replay() const noexcept { return is_replay_; }

    /// Returns a part of a member, by its index in the group; null: none in this input.
    template <class T>
    const T* part(std::size_t member, Input<T> input) const noexcept {
        for (const Part& part : parts(member)) {
            if (part.input == input.id) return reinterpret_cast<const T*>(part.data);
        }
        return nullptr;
    }
    /// Returns the parts of a member in the order of the Schema::take_input calls, not in the order
    /// in which they were set. `data` is null for a part that is not in this input.
    std::span<const Part> parts(std::size_t member) const noexcept {
        return (member + 1) * slots_ > parts_.size() ? std::span<const Part>{}
                                                     : parts_.subspan(member * slots_, slots_);
    }

  private:
    InputNumber tick_ = 0;
    double view_tick_ = 0;
    bool is_replay_ = false;
    std::span<const Part> parts_;  ///< [members][slots]
    std::size_t slots_ = 0;
};

/// The step of the game: computes the next state of a group from its state and one input alone.
/// Write it once, and link it into the server (Game::on_input) and the client
/// (PredictionDef::step).
class GroupStep {
  public:
    virtual ~GroupStep() = default;
    /// Edits `group` by one input. Must be deterministic.
    virtual void step(GroupState& group, const GroupInput& command) = 0;
};

/// How the server processes inputs; part of ServerDef.
struct InputSettings {
    /// The order of members and of their parts.
    InputOrder order = InputOrder::depth_first;
    /// Inputs that should be buffered on the server, to compensate jitter: 1 to `lead_max`. Clients
    /// run faster or slower to keep this number.
    std::uint32_t buffer_target = 2;
    /// Maximum input catch-up budget: inputs beyond one per tick, for earlier ticks without one.
    std::uint32_t catch_up_max = 4;
    /// Maximum input lead: inputs ahead of the last processed one, 1 to limits::inputs_buffered.
    /// Further ones are refused, and counted ("input.too_far_ahead").
    std::uint32_t lead_max = 24;
};

/// @}

}  // namespace purview
