// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Host mode: a server whose process has a player of its own. All of the world is in memory, so
// nothing is sent; what this player may not know is only not presented. His presentation hears what
// a remote client would: enters, leaves, changes of what he may know, and calls. Changes of hidden
// entities wait, and come once when the entity is shown again (M25). Of Server::events() and of
// reports about calls he is one observer like the others; he holds no copies, so what leaves is
// removed, whatever its kind says (Change), and EventMode::fusion, which is about copies, hears
// nothing of him. A call of his own to the server is the game's to make.
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

/// The player's presentation. Called by HostView::update, on its thread; may edit the world, but
/// not end the view.
class HostPresentation {
  public:
    virtual ~HostPresentation() = default;
    /// Renderers, lights and sounds on. Before its first change.
    virtual void show(EntityId entity, Reason reason) = 0;
    /// Off; despawned tells the two apart.
    virtual void hide(EntityId entity, Reason reason) = 0;
    /// A component of an entity that is shown has another value on the wire than before. Of one
    /// that was hidden meanwhile: once for all of that time, behind `show`. Also, changed or not,
    /// each that he was not told before: of what is shown for the first time all that he is told.
    virtual void changed(EntityId entity, ComponentId component) = 0;
    /// A call to observers that reaches him, in the order in which it does, behind all changes of
    /// its tick. `target`: what it is about, if it is shown; none of a static one, about a place,
    /// forced about what is hidden, or about what has gone since. `args`: the struct of the type,
    /// as the wire can say it; see read_args.
    virtual void called(RpcId rpc, EntityId target, std::span<const std::byte> args) {
        (void)rpc, (void)target, (void)args;
    }
};

class HostViewData;  // src/host

class HostView {
  public:
    /// An observer of the server's own, under the server's rules: set its main entity, areas and
    /// pairs as for any other. `server` and `presentation` outlive it, and are not moved
    /// meanwhile. The status: see InterestManager::add_observer.
    static Result<HostView> create(Server& server, HostPresentation& presentation);
    HostView(HostView&&) noexcept;
    HostView& operator=(HostView&&) noexcept;
    /// Hides nothing: the presentation ends with it. His events end as of one who disconnected.
    ~HostView();

    ObserverId observer() const noexcept;
    bool is_shown(EntityId entity) const noexcept;
    /// After every tick of the server; another one after the same tick does nothing. Of ticks that
    /// were left out the next one makes up: it shows and hides what that takes, for
    /// Reason::entered, left or despawned where the last tick has no reason of its own, and says
    /// once what has changed, a reference also where what it names is nothing to him. More than
    /// limits::rpc_pending_per_observer calls for him until then are culled, as for a client whom
    /// they do not reach.
    void update();

  private:
    explicit HostView(std::unique_ptr<HostViewData> data) noexcept;
    std::unique_ptr<HostViewData> data_;
};

}  // namespace purview
