// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Host mode: a server whose process has a player of its own. All of the world is in memory, so
// nothing is sent; what this player may not know is only not presented. His presentation hears what
// a remote client would: enters, leaves, and changes of what he may know. Changes of hidden
// entities wait, and come once when the entity is shown again (M25). Server::events() and calls are
// about those to whom something is sent: what this player sees is asked here (is_shown), and a game
// that makes a call shows him its effect itself.
#pragma once

#include <cstdint>
#include <memory>

#include "purview/events.hpp"
#include "purview/ids.hpp"
#include "purview/server.hpp"
#include "purview/status.hpp"

namespace purview {

/// The player's presentation. Called by HostView::update, on its thread; may edit the world.
class HostPresentation {
  public:
    virtual ~HostPresentation() = default;
    /// Renderers, lights and sounds on. Before its first change.
    virtual void show(EntityId entity, Reason reason) = 0;
    /// Off; despawned tells the two apart.
    virtual void hide(EntityId entity, Reason reason) = 0;
    /// A component of an entity that is shown has another value on the wire than before. Of one
    /// that was hidden meanwhile: once for all of that time, behind `show`.
    virtual void changed(EntityId entity, ComponentId component) = 0;
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
    /// Hides nothing: the presentation ends with it.
    ~HostView();

    ObserverId observer() const noexcept;
    bool is_shown(EntityId entity) const noexcept;
    /// After every tick of the server, once.
    void update();

  private:
    explicit HostView(std::unique_ptr<HostViewData> data) noexcept;
    std::unique_ptr<HostViewData> data_;
};

}  // namespace purview
