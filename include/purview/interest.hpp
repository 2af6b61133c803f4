// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What an observer may know, decided sixteen entities at a time.
//
// Feed the manager entities, observers and what changed; call tick(); read who entered and who
// left, for whom and why. It needs no world, no threads, no sockets. One thread calls it.
//
//   relevant = ready and not denied and
//              (owned or (not force hidden and (shown to all or allowed or window or rows)))
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "purview/explain.hpp"
#include "purview/ids.hpp"
#include "purview/rules.hpp"
#include "purview/status.hpp"

namespace purview {

/// Why a pair became relevant, or stopped being so.
enum class Reason : std::uint8_t {
    entered = 0,       ///< a node's steps say yes now
    spawned = 1,       ///< and the entity is new this tick
    owned = 2,         ///< the observer owns it or a member of its group
    forced = 3,        ///< allowed by hand, or shown to all
    left = 4,          ///< no node says yes any more
    hidden = 5,        ///< denied, force hidden, or the observer is not ready any more
    despawned = 6,     ///< the entity is gone
    disconnected = 7,  ///< the observer is gone
};
std::string_view to_string(Reason) noexcept;

struct RelevanceEvent {
    ObserverId observer;
    EntityId entity;
    Reason reason;
    bool enter;
};

/// What interest needs to know of an entity when it appears.
struct EntityDef {
    Vec3 place;
    bool placed = true;       ///< false: works in every node that does not ask for a place (N54)
    std::uint16_t flags = 0;  ///< bit f: FlagId f
    /// Values by KeyDomain; missing ones are Key::none.
    std::span<const Key> keys = {};
};

/// How windows are brought up to date. Both give the same answers; for tests and measurements.
enum class WindowUpdate : std::uint8_t {
    automatic = 0,  ///< by what a tick would cost
    pull = 1,       ///< every observer looks at what changed in its window
    push = 2,       ///< every mover looks up the observers to whom its move matters
};

struct InterestDef {
    InterestRules rules;
    std::uint32_t flag_count = 0;  ///< at most 16
    std::uint32_t key_count = 0;   ///< at most 8
    /// For explanations; those that are missing are called by number.
    std::vector<std::string> flag_names;
    std::vector<std::string> key_names;
    std::uint32_t observers_max = 65'536;
    /// Areas of interest of one observer, the place of its main entity not counted; at most 63.
    std::uint32_t areas_max = 16;
    WindowUpdate window_update = WindowUpdate::automatic;
};

struct InterestCounters {
    std::uint64_t bad_positions = 0;  ///< moves refused because not finite
    std::uint64_t stale_ids = 0;      ///< moves of entities that are not there
    std::uint64_t blocks_tested =
        0;                           ///< blocks that kernels were asked about; see set_count_tested
    std::uint64_t lanes_tested = 0;  ///< entities in them
    std::uint64_t windows_scanned = 0;
};

class InterestData;  // src/interest

/// The one place where nodes, explicit pairs and ownership meet (the RFC's InterestManager).
class InterestManager {
  public:
    /// bad_configuration: see problem_of(rules).
    static Result<InterestManager> create(const InterestDef& def);
    InterestManager(InterestManager&&) noexcept;
    InterestManager& operator=(InterestManager&&) noexcept;
    ~InterestManager();

    // -- entities. Ids are the caller's: an index below 2^31 and a generation of 1 or more. ------
    /// bad_argument (none, or an index of 2^31 or more), bad_position, or duplicate when the index
    /// is in use.
    Status spawn(EntityId entity, const EntityDef& def);
    /// refused while it has members: they leave its unit first (World does so).
    Status despawn(EntityId entity);
    /// Takes effect with the next tick. The last of several wins. Members of a group have no place
    /// of their own here: Status::ok, ignored.
    Status move(EntityId entity, Vec3 place);
    /// As move, for many; what is stale or not finite is counted and skipped.
    void move(std::span<const Move> moves);
    Status set_flag(EntityId entity, FlagId flag, bool value);
    Status set_key(EntityId entity, KeyDomain domain, Key key);
    /// The owner sees it, and it counts as owned for its whole group; none takes the owner away.
    Status set_owner(EntityId entity, ObserverId owner);
    /// Hidden from everybody but owners, whatever the nodes say.
    Status force_hide(EntityId entity, bool hidden);
    /// Shown to every ready observer, whatever the nodes say.
    Status show_to_all(EntityId entity, bool shown);
    /// From now on `member` (with its own members, if it is a root) is judged with `root`, which
    /// must be a unit of its own. Explicit pairs and marks of `member` end.
    Status join_unit(EntityId member, EntityId root);
    /// A unit of its own again, with these values.
    Status leave_unit(EntityId member, const EntityDef& def);

    /// A kernel of your own may answer otherwise about this entity, for a reason the engine cannot
    /// see.
    Status recheck(EntityId entity);

    // -- observers ------------------------------------------------------------------------------
    /// Not ready, nowhere, in no group. capacity: observers_max.
    Result<ObserverId> add_observer();
    /// Its pairs leave with Reason::disconnected at the next tick; the id is stale at once.
    Status remove_observer(ObserverId observer);
    /// Readiness starts false. Twice the same costs nothing (M32).
    Status set_ready(ObserverId observer, bool ready);
    /// The entity that stands for the observer: it looks from there and has its keys. none:
    /// nowhere.
    Status set_main_entity(ObserverId observer, EntityId entity);
    /// A further place to look from, under a key of the caller; replaces the one with that key.
    /// capacity: areas_max. bad_position: not finite, nothing was changed.
    Status set_area(ObserverId observer, std::uint32_t area_key, Vec3 centre);
    Status remove_area(ObserverId observer, std::uint32_t area_key);
    /// A key of its own, used while it has no main entity.
    Status set_observer_key(ObserverId observer, KeyDomain domain, Key key);
    /// Interest switched off for this observer: nodes answer "all" (F7).
    Status set_sees_everything(ObserverId observer, bool value);
    /// A kernel of your own may answer otherwise about anything, for this observer.
    Status rescan(ObserverId observer);
    /// Explicit pair: always relevant, unless denied or force hidden.
    Status allow(ObserverId observer, EntityId entity, bool value);
    /// Explicit pair: never relevant, not even for the owner.
    Status deny(ObserverId observer, EntityId entity, bool value);

    // -- the tick -------------------------------------------------------------------------------
    void tick();
    /// What changed with the last tick, grouped by observer index, at most one a pair. Valid until
    /// the next tick.
    std::span<const RelevanceEvent> events() const noexcept;
    std::span<const RelevanceEvent> events_of(ObserverId observer) const noexcept;

    // -- answers, as of the last tick -----------------------------------------------------------
    bool is_relevant(ObserverId observer, EntityId entity) const noexcept;
    /// Appends all relevant entities, each once, in no particular order.
    void relevant(ObserverId observer, std::vector<EntityId>& out) const;
    std::size_t relevant_count(ObserverId observer) const noexcept;
    /// The whole path to the answer, and what would turn it. The code that decides gives it, on a
    /// copy of the entity. Places and facts are those of now: ask before the next
    /// tick's changes.
    Explanation explain(ObserverId observer, EntityId entity) const;
    const InterestCounters& counters() const noexcept;

    /// Counts blocks and entities that were tested, for measurements.
    void set_count_tested(bool value) noexcept;
    /// Debug: this many cells have their lanes shuffled every tick. No answer may change.
    void set_lane_shuffle(std::uint32_t cells_per_tick, std::uint64_t seed) noexcept;

  private:
    explicit InterestManager(std::unique_ptr<InterestData> data) noexcept;
    std::unique_ptr<InterestData> data_;
};

}  // namespace purview
