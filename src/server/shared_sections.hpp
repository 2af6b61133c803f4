// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Nodes in a shared mode: which shared cell payloads (sections) an observer receives instead of
// updates of its own, and what happens to them when a packet is lost (docs/shared.md). Owns the
// cells and what is encoded of them.
//
// Must not know: the game, connections beyond the stream of a session, the tick.
#pragma once

#include "interest/interest_data.hpp"
#include "replication/field_store.hpp"
#include "replication/replication_input.hpp"
#include "replication/shared_cells.hpp"
#include "server/server_time.hpp"
#include "server/session_table.hpp"

namespace purview {

/// Empty, or why a node cannot be in the shared mode that it is in: some kind of entity in it has a
/// component for some only, a curve of rates, a limit, extrapolated fields, or places relative to a
/// parent; or the schema has no place.
std::string problem_of_sharing(const ServerDef& def);

class SharedSections {
  public:
    SharedSections(const ServerDef& def, const ServerTime& time, const InterestData& interest,
                   const FieldStore& fields, const SessionTable& sessions)
        : def_(def),
          time_(time),
          interest_(interest),
          fields_(fields),
          sessions_(sessions),
          cells_(*def.schema) {}

    /// Reads the nodes of the rules; again when the rules are new.
    void set_nodes();
    /// Sends the grids to the client, which finds the cell of a ghost by its position, as the
    /// server does. Where the stream has no room, it is due again in the next tick
    /// (Session::owes_cells).
    void queue_cells(Session& session) const;
    /// The sections of this tick. `may_send`: its link accepts a packet.
    void plan(Session& session, const ReplicationInput& input, bool may_send);
    /// They did not fit beside what had to be sent: each member waits as an update of its own.
    void give_up(Session& session) const;
    /// The delivery status of a packet, before the ghosts are notified of it.
    void resolve(Session& session, DeliveryNotice notice) const;

    SharedCells& cells() noexcept { return cells_; }
    const SharedCells& cells() const noexcept { return cells_; }

  private:
    const ServerDef& def_;
    const ServerTime& time_;
    const InterestData& interest_;
    const FieldStore& fields_;
    const SessionTable& sessions_;
    SharedCells cells_;
};

}  // namespace purview
