// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Nodes in a shared mode: plans which shared cell payloads (sections) an observer receives instead
// of individual updates, and resends their data if a packet with them is lost (docs/shared.md).
// Owns the cells and their encoded payloads.
//
// Must not know: the game, connections beyond the stream of a session, the tick.
#pragma once

#include "interest/engine.hpp"
#include "replication/field_store.hpp"
#include "replication/replication_input.hpp"
#include "replication/shared_cells.hpp"
#include "server/server_time.hpp"
#include "server/session_table.hpp"

namespace purview {

/// Returns why a node cannot use its shared mode, or an empty string. Reasons: the schema has no
/// position, or some kind in the node has a component with a restricted audience, send intervals, a
/// limit, dead-reckoned fields, or parent-relative positions.
std::string problem_of_sharing(const ServerDef& def);

class SharedSections {
  public:
    SharedSections(const ServerDef& def, const ServerTime& time, const InterestEngine& interest,
                   const FieldStore& fields, const SessionTable& sessions)
        : def_(def),
          time_(time),
          interest_(interest),
          fields_(fields),
          sessions_(sessions),
          cells_(*def.schema) {}

    /// Reads the nodes of the rules; call again after a change of rules.
    void set_nodes();
    /// Sends the cell grids to the client, which derives the cell of a ghost from its position, as
    /// the server does. If the stream has no room, sends them in the next tick
    /// (Session::has_unsent_cells).
    void queue_cells(Session& session) const;
    /// Plans the sections of this tick. `may_send`: the connection accepts a packet.
    void plan(Session& session, const ReplicationInput& input, bool may_send);
    /// Call if the sections do not fit beside required data: their changes are then sent
    /// individually.
    void give_up(Session& session) const;
    /// Handles the delivery status of a packet. Call before the ghosts are notified of it.
    void resolve(Session& session, DeliveryNotice notice) const;

    SharedCells& cells() noexcept { return cells_; }
    const SharedCells& cells() const noexcept { return cells_; }

  private:
    const ServerDef& def_;
    const ServerTime& time_;
    const InterestEngine& interest_;
    const FieldStore& fields_;
    const SessionTable& sessions_;
    SharedCells cells_;
};

}  // namespace purview
