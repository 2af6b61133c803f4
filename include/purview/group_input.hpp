// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A group and one command for it, as the game's step sees them: the same code on the server, where
// it moves the world, and on the client, where it predicts. A command is what one owner says to one
// group in one tick: the parts of those members that he owns. docs/prediction.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "purview/limits.hpp"
#include "purview/schema.hpp"
#include "purview/types.hpp"

namespace purview {

/// A number of the commands of one client, from 1 on, without gaps; not a tick of the server.
using InputNumber = std::uint32_t;

/// Order of members and of their parts (O16).
enum class InputOrder : std::uint8_t {
    depth_first = 0,   ///< root, plain children depth first, then inner roots with their own
    breadth_first = 1  ///< generation by generation, whatever the members are
};

/// A member, and where its components stand.
struct GroupMember {
    static constexpr std::uint16_t none = 0xffff;
    KindId kind{};
    std::uint16_t parent = none;  ///< index in the group; none: the root, or not known here
    bool is_owned = false;        ///< by whose command the group is stepped
    std::uint64_t name = 0;       ///< EntityId on the server, GhostId on a client
};

/// The whole group, members in the order of InputOrder, root first. Valid during the step only. The
/// place of a member that is told it relative to its parent (KindDef::relative_position) is as seen
/// from there: whoever the step does not move goes where the parent goes.
class GroupState {
  public:
    GroupState() = default;
    GroupState(std::span<const GroupMember> members, std::span<std::byte* const> components,
               std::span<const std::uint8_t> rank, std::size_t stride, bool is_server) noexcept
        : members_(members),
          components_(components),
          rank_(rank),
          stride_(stride),
          is_server_(is_server) {}

    std::size_t size() const noexcept { return members_.size(); }
    KindId kind(std::size_t member) const noexcept { return members_[member].kind; }
    /// Of the step's owner: what others own can be read, as it is (server) or was last heard of.
    bool is_owned(std::size_t member) const noexcept { return members_[member].is_owned; }
    /// size() for the root, and on a client for a member whose parent it does not know.
    std::size_t parent(std::size_t member) const noexcept {
        return members_[member].parent == GroupMember::none ? size() : members_[member].parent;
    }
    /// On the server; none on a client.
    EntityId entity(std::size_t member) const noexcept {
        return is_server_ ? EntityId{members_[member].name} : EntityId::none;
    }
    /// On a client; 0xffffffff on the server.
    std::uint32_t ghost(std::size_t member) const noexcept {
        return is_server_ ? 0xffffffffU : static_cast<std::uint32_t>(members_[member].name);
    }

    /// Null: not a predicted component, or the member's kind lacks it.
    template <class T>
    const T* get(std::size_t member, Component<T> component) const noexcept {
        return static_cast<const T*>(find(member, component.id));
    }
    /// Null too for a member that the step's owner does not own.
    template <class T>
    T* edit(std::size_t member, Component<T> component) noexcept {
        return members_[member].is_owned ? static_cast<T*>(find(member, component.id)) : nullptr;
    }

  private:
    void* find(std::size_t member, ComponentId component) const noexcept {
        const std::size_t at = index_of(component);
        if (at >= rank_.size() || rank_[at] >= stride_) return nullptr;
        return components_[member * stride_ + rank_[at]];
    }

    std::span<const GroupMember> members_;
    std::span<std::byte* const> components_;  ///< [members][stride]
    std::span<const std::uint8_t> rank_;      ///< [components of the schema]
    std::size_t stride_ = 0;
    bool is_server_ = false;
};

/// What its owner says to one group in one tick. Valid during the step only.
class GroupInput {
  public:
    struct Part {
        InputId input = InputId::none;
        const std::byte* data = nullptr;  ///< the input's struct; null: no part
    };
    GroupInput() = default;
    /// `parts`: [members][slots], a slot for each input of the member's kind.
    GroupInput(InputNumber tick, double view_tick, bool is_replay, std::span<const Part> parts,
               std::size_t slots) noexcept
        : tick_(tick), view_tick_(view_tick), is_replay_(is_replay), parts_(parts), slots_(slots) {}

    InputNumber tick() const noexcept { return tick_; }
    /// The server's tick that the owner saw of everything that he does not predict, when he gave
    /// the command; on the server bounded by what he can have seen. For Server::rewind.
    double view_tick() const noexcept { return view_tick_; }
    /// On a client: this command was stepped before, and is again after a correction. A step makes
    /// no sound then.
    bool is_replay() const noexcept { return is_replay_; }

    /// The part of a member, by its index in the group; null: it has none in this command.
    template <class T>
    const T* part(std::size_t member, Input<T> input) const noexcept {
        for (const Part& part : parts(member)) {
            if (part.input == input.id) return reinterpret_cast<const T*>(part.data);
        }
        return nullptr;
    }
    /// The parts of a member in the order in which its kind takes them (Schema::take_input),
    /// whatever order they were set in. `data` is null where this command has none.
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

/// The game's rule for one command: from the state of a group and a command to its next state, by
/// nothing else. Written once, and linked into the server (Game::input) and the client
/// (PredictionDef::step).
class GroupStep {
  public:
    virtual ~GroupStep() = default;
    virtual void step(GroupState& group, const GroupInput& command) = 0;
};

/// How the server takes commands; part of ServerDef.
struct InputSettings {
    InputOrder order = InputOrder::depth_first;
    /// Commands that wait at the server while all is well: what jitter may eat, 1 to `lead_max`.
    /// Clients speed up or slow down to keep it.
    std::uint32_t waiting_target = 2;
    /// Commands beyond one a tick that a client may make up for ticks without one, at most.
    std::uint32_t catch_up_max = 4;
    /// Commands ahead of the last one consumed; what is further ahead is refused.
    std::uint32_t lead_max = 24;
};

}  // namespace purview
