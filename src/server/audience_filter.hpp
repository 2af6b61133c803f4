// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Decides which components of a relevant entity are replicated to an observer, and which references
// it may receive. Both follow from the relevant set of this tick and never change it.
//
// Owns the audiences of the schema and the set of entities that may have a new audience in this
// tick. The set is written while edits are tracked and inputs run, is complete when the sessions
// are processed (begin_sessions), and is empty after the tick (end_tick).
//
// Sessions are independent: `decide` is called for different sessions by different threads.
//
// Must not know: packets, how relevance was decided.
#pragma once

#include <span>
#include <vector>

#include "core/bitset.hpp"
#include "interest/engine.hpp"
#include "purview/world.hpp"
#include "replication/field_store.hpp"
#include "server/server_time.hpp"
#include "server/session_table.hpp"
#include "server/tick_worker.hpp"

namespace purview {

class AudienceFilter {
  public:
    AudienceFilter(const ServerDef& def, const ServerTime& time, const World& world,
                   const InterestEngine& interest, FieldStore& fields,
                   const SessionTable& sessions);

    /// Call when an audience of the entity may have changed: its owner or a key changed, or another
    /// group provides its inputs. Dependent audiences are evaluated again in this tick.
    void note_changed(std::uint32_t index);
    /// Call when the entity's group changed in a way that affects AudienceType::unpredicted.
    void note_group_changed(std::uint32_t index) {
        if (has_unpredicted_) note_changed(index);
    }
    /// Returns whether the schema has components that are not sent to a client that predicts them.
    bool has_unpredicted() const noexcept { return has_unpredicted_; }

    /// Starts the phase in which the sessions are processed. note_changed must not be called until
    /// end_tick. All entity indices are below `index_end`.
    void begin_sessions(std::size_t index_end);
    void end_tick() noexcept;

    /// Decides which components of each ghost the session receives from this tick on.
    void decide(TickWorker& worker, Session& session) const;
    /// Sets allowed[i] to a bit mask of parts: those of the entity at indices[i] that the observer
    /// receives while the entity is relevant to it.
    void decide(AudienceScratch& scratch, ObserverId observer,
                std::span<const std::uint32_t> indices, std::span<std::uint32_t> allowed) const;

    /// Marks the references to entities that entered or left in this tick, so that they are sent
    /// again.
    void note_references(Session& session) const;
    /// Marks changed references for resending, unless neither the old nor the new target is
    /// relevant to the observer.
    void note_changed_references(Session& session) const;

  private:
    template <class IsInOneOf>
    void touch_references(Session& session, EntityId referrer, IsInOneOf&& is_in_one_of) const;
    bool is_predicted_now(const SessionInputs::KnownGroup& group) const noexcept;
    bool does_predict(const Session& session, std::uint32_t index) const noexcept;
    void list_predicted(AudienceScratch& scratch, Session& session) const;
    void list(AudienceScratch& scratch, Session& session) const;
    bool may_be_split(const Session& session, LocalId slot) const noexcept;
    bool stage_components(TickWorker& worker, Session& session, LocalId slot,
                          std::uint32_t& allowed) const;

    const ServerDef& def_;
    const ServerTime& time_;
    const World& world_;
    const InterestEngine& interest_;
    FieldStore& fields_;
    const SessionTable& sessions_;
    bool has_audiences_ = false;    ///< some kind has parts with a restricted audience
    bool has_unpredicted_ = false;  ///< some of these parts are AudienceType::unpredicted
    /// By KindId: has a custom audience, which may change at any time.
    std::vector<bool> is_always_decided_;
    bool is_any_always_decided_ = false;
    std::vector<bool> is_staged_;  ///< by KindId: has parts that use staged replication
    Bitset changed_;               ///< by entity index
    bool has_changed_ = false;     ///< some bit is set; valid from begin_sessions to end_tick
    bool in_sessions_ = false;     ///< from begin_sessions to end_tick; for assertions
};

}  // namespace purview
