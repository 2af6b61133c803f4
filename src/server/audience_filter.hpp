// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Which components of a relevant entity are replicated to an observer, and what a reference means
// to it. Both follow from the relevant set of this tick, and never change it.
//
// Owns the audiences of the schema, and the set of entities whose audience may be another
// one than in the last tick. That set is written while edits are tracked and inputs run, complete
// when the sessions are processed (begin_sessions), and empty after the tick (end_tick).
//
// Sessions are independent: `decide` is called for different sessions by different threads.
//
// Must not know: packets, how relevance was decided.
#pragma once

#include <span>
#include <vector>

#include "core/bitset.hpp"
#include "interest/interest_data.hpp"
#include "purview/world.hpp"
#include "replication/field_store.hpp"
#include "server/server_time.hpp"
#include "server/session_table.hpp"
#include "server/tick_worker.hpp"

namespace purview {

class AudienceFilter {
  public:
    AudienceFilter(const ServerDef& def, const ServerTime& time, const World& world,
                   const InterestData& interest, FieldStore& fields, const SessionTable& sessions);

    /// Its owner or a key is another one, or another group gives its inputs: audiences that depend
    /// on that are evaluated again in this tick.
    void note_changed(std::uint32_t index);
    /// As note_changed, where audiences depend on the group that an entity is in.
    void note_group_changed(std::uint32_t index) {
        if (has_unpredicted_) note_changed(index);
    }
    /// Some component is left out of updates for a client that predicts it.
    bool has_unpredicted() const noexcept { return has_unpredicted_; }

    /// From here to end_tick nothing is noted. Entities have indices below the end.
    void begin_sessions(std::size_t index_end);
    void end_tick() noexcept;

    /// The components that each ghost of the session is sent from now on.
    void decide(TickWorker& worker, Session& session) const;
    /// allowed[i]: the parts of the entity of indices[i] that are replicated to the observer, if it
    /// is relevant to it, a bit each.
    void decide(AudienceScratch& scratch, ObserverId observer,
                std::span<const std::uint32_t> indices, std::span<std::uint32_t> allowed) const;

    /// Ghosts that refer to an entity which entered or left in this tick send that reference again.
    void note_references(Session& session) const;
    /// Ghosts that refer to another entity than before send that reference, unless the observer
    /// sees neither.
    void note_changed_references(Session& session) const;

  private:
    template <class IsInOneOf>
    void touch_references(Session& session, EntityId referrer, IsInOneOf&& is_in_one_of) const;
    bool is_predicted_now(const SessionInputs::KnownGroup& group) const noexcept;
    bool does_predict(const Session& session, std::uint32_t index) const noexcept;
    void list_predicted(AudienceScratch& scratch, Session& session) const;
    void list(AudienceScratch& scratch, Session& session) const;
    bool may_be_split(const Session& session, LocalId lane) const noexcept;
    bool take_turns(TickWorker& worker, Session& session, LocalId lane,
                    std::uint32_t& allowed) const;

    const ServerDef& def_;
    const ServerTime& time_;
    const World& world_;
    const InterestData& interest_;
    FieldStore& fields_;
    const SessionTable& sessions_;
    bool has_audiences_ = false;         ///< some kind has parts that only some are sent
    bool has_unpredicted_ = false;       ///< of these, parts that are unpredicted
    std::vector<bool> is_asked_always_;  ///< by KindId: an audience of it may change by itself
    bool is_any_asked_always_ = false;
    std::vector<bool> takes_turns_;  ///< by KindId: some of its parts may wait for others
    Bitset changed_;                 ///< by entity index
    bool has_changed_ = false;       ///< some bit is set; valid from begin_sessions to end_tick
    bool in_sessions_ = false;       ///< from begin_sessions to end_tick; for assertions
};

}  // namespace purview
