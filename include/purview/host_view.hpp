// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors

/// @file
/// Listen server: a server with a player in its own process. The whole world is in memory, so
/// nothing is sent to this player. Only what the player may know is presented. Its presentation is
/// called for the same enters, leaves, changes and RPCs as a remote client receives. Changes of
/// hidden entities wait, and are reported once when the entity is shown again.
///
/// In Server::events() and in RPC reports this player is an observer like any other. It has no
/// ghosts: an entity that leaves is removed, with any Retention of its kind, and EventMode::fusion
/// has no events for it. The game itself makes the calls of this player to the server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "purview/events.hpp"
#include "purview/limits.hpp"
#include "purview/rpc.hpp"
#include "purview/server.hpp"
#include "purview/status.hpp"
#include "purview/types.hpp"

namespace purview {

/// @addtogroup api_server
/// @{

/// The presentation of the player. HostView::update calls it on its thread. It may edit the world,
/// and must not destroy the view.
class HostPresentation {
  public:
    virtual ~HostPresentation() = default;
    /// Called before the first change of an entity that entered: switch on renderers, lights and
    /// sounds.
    virtual void show(EntityId entity, Reason reason) = 0;
    /// Called when an entity left: switch them off. Reason::despawned: it does not exist any more.
    virtual void hide(EntityId entity, Reason reason) = 0;
    /// Called when the replicated value of a component of a shown entity changed. For an entity
    /// that was hidden, called once after `show` for all changes meanwhile. Also called for each
    /// component that is newly replicated to the player; for an entity that is shown for the first
    /// time, that is all of them.
    virtual void changed(EntityId entity, ComponentId component) = 0;
    /// Called for an RPC to this player, in order, after all changes of its tick. `target`: the
    /// entity of the RPC while it is shown. none: the RPC has no entity or is about a position, was
    /// forced for a hidden entity, or its entity has left since. `args`: the struct of the RPC,
    /// rounded as on the wire; see read_args.
    virtual void called(RpcId rpc, EntityId target, std::span<const std::byte> args) {
        (void)rpc, (void)target, (void)args;
    }
};

class HostViewData;  // src/server

/// The view of a player in the server's process.
class HostView {
  public:
    /// Adds an observer under the server's rules. Set its viewpoint, areas and overrides as for any
    /// other; it is ready at once, unless Rules::ready_requires_viewpoint. `server` and
    /// `presentation` outlive the view, and are not moved meanwhile. Errors: capacity (as for
    /// Server::add_reference_client).
    static Result<HostView> create(Server& server, HostPresentation& presentation);
    /// Moves a view. The other one can then only be destroyed or assigned to.
    HostView(HostView&&) noexcept;
    /// Moves a view over this one, which ends as when it is destroyed.
    HostView& operator=(HostView&&) noexcept;
    /// Removes the observer; its entities leave with Reason::disconnected. `hide` is not called.
    ~HostView();

    /// Returns the observer of the player.
    ObserverId observer() const noexcept;
    /// Returns whether an entity is shown.
    bool is_shown(EntityId entity) const noexcept;
    /// Calls the presentation for the last tick. Call it after every tick of the server; a second
    /// call after the same tick does nothing. After skipped ticks it presents the total difference
    /// once. It then uses Reason::entered, left or despawned if the last tick has no reason of its
    /// own. It calls `changed` for a changed reference even if the entities that it refers to are
    /// not relevant. At most limits::rpc_pending_per_observer RPCs wait for this call; further ones
    /// are culled.
    void update();

  private:
    explicit HostView(std::unique_ptr<HostViewData> data) noexcept;
    std::unique_ptr<HostViewData> data_;
};

/// @}

}  // namespace purview
