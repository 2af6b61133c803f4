// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Shared cell payloads (also called sections), in the modes "update many" and "read many": the
// changes of a tick are encoded once for all readers of a cell (docs/shared.md). A cell group has
// the entities of one cell (read many), or of a cell and the cells around it (update many), in the
// order of spawn numbers. The payload identifies changed entities by their index in the group. This
// class does not check permissions. A reader uses the whole payload if all members are its ghosts;
// otherwise a payload without the other members is encoded for it. Must not depend on relevance or
// sessions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/change_log.hpp"
#include "purview/cells.hpp"
#include "purview/rules.hpp"
#include "replication/encode_cache.hpp"
#include "replication/field_store.hpp"
#include "world/world_data.hpp"

namespace purview {

/// The payload of a group in this tick. Valid until the next tick.
struct Section {
    std::uint32_t offset_bytes = 0;
    std::uint32_t bits = 0;
    std::uint32_t entries = 0;  ///< 0: no changes and no bits
};

struct SharedCounters {
    std::uint64_t sections = 0;  ///< encoded
    std::uint64_t copies = 0;    ///< sent unchanged to a reader
    std::uint64_t stripped = 0;  ///< encoded for one reader, without its hidden members
    std::uint64_t left_out = 0;  ///< exceeded a reader's budget; sent individually instead
};

class SharedCells {
  public:
    /// A node in one of the shared modes.
    struct Node {
        Payload payload = Payload::read_many;
        CellGrid grid;
        std::uint32_t rings = 1;
        bool is_flat = false;             ///< the second axis is z
        std::vector<Kernel> steps;        ///< conditions that depend on the entity alone
        std::vector<std::uint8_t> kinds;  ///< [kinds] 1: may contain entities of this kind
    };

    explicit SharedCells(const Schema& schema) : schema_(&schema) {}

    /// Replaces the nodes. Cells and groups are discarded, and readers start again.
    void set_nodes(std::vector<Node> nodes);
    std::span<const Node> nodes() const noexcept { return nodes_; }
    bool is_used() const noexcept { return !nodes_.empty(); }
    /// Returns a number that changes with every set_nodes().
    std::uint32_t revision() const noexcept { return revision_; }

    /// Moves entities between cells according to the world's log, and marks the groups with
    /// changes. Call it after FieldStore::diff, with the same tick.
    void update(const WorldData& world, const FieldStore& fields, Tick tick);
    /// Returns the entities that changed their parent in the last update. Payloads do not contain
    /// parents.
    std::span<const EntityId> relinked() const noexcept { return relinked_; }

    /// Returns the cell of the entity's replicated position, or CellGrid::no_cell.
    std::uint32_t cell_of(std::size_t node, const WorldData& world, const FieldStore& fields,
                          EntityId entity) const;

    // -- groups ---------------------------------------------------------------------------------
    /// Returns the number of the group of a cell; creates the group if necessary. Call it in every
    /// tick for as long as the group has a reader.
    std::uint32_t group_at(std::size_t node, std::uint32_t cell, Tick tick);
    bool is_dirty(std::uint32_t group, Tick tick) const noexcept {
        return groups_[group].dirty == tick;
    }
    /// Adds members that entered and removes those that left. Call it before the members are read
    /// in a tick. Returns the log of their indices. No two groups share a version of the log.
    const ChangeLog& refresh(std::uint32_t group, const WorldData& world);
    bool is_member(std::uint32_t group, std::uint32_t entity_index) const noexcept;
    /// Entity indices of the members, in the order of spawn numbers.
    std::span<const std::uint32_t> members(std::uint32_t group) const noexcept {
        return groups_[group].members;
    }
    /// Placeholder for a member without an entry. The other members keep their indices.
    static constexpr std::uint32_t left_out = 0xffffffffU;
    /// Returns the group's payload of this tick. Encodes it again only if `members` differs from
    /// the last call. `members`: empty for the whole group, or all members with some replaced by
    /// left_out, usually the same ones for all readers.
    Section section(std::uint32_t group, std::span<const std::uint32_t> members, EncodeCache& cache,
                    Tick tick);
    /// Encodes a payload for a list of members of which some may be left_out.
    Section section_of(std::span<const std::uint32_t> members, EncodeCache& cache, Tick tick);
    std::span<const std::byte> bytes(const Section& section) const noexcept {
        return std::span(bytes_).subspan(section.offset_bytes,
                                         words_for(section.bits) * sizeof(std::uint64_t));
    }
    /// Returns whether the payload of the entity's group has an entry for it in this tick.
    bool is_replicated(std::uint32_t entity_index) const noexcept {
        return sent_.test(entity_index);
    }

    SharedCounters counters;

  private:
    static constexpr std::uint32_t none = 0xffffffffU;
    struct Home {
        EntityId entity = EntityId::none;
        std::uint32_t node = none;  ///< none: in no cell
        std::uint32_t cell = 0;
        KindId kind{};
        std::uint32_t next = none;  ///< next in the cell: an entity index
        std::uint32_t previous = none;
        Tick spawned = 0;
    };
    /// The payload that was encoded last.
    struct Written {
        Tick tick = 0;
        std::vector<std::uint32_t> members;  ///< empty: all
        Section section;
    };
    struct Group {
        std::uint32_t node = none;  ///< none: not in use
        std::uint32_t cell = 0;
        Tick dirty = 0;
        Tick used_tick = 0;
        ChangeLog::Version known = ChangeLog::unknown;  ///< log version of `members`
        std::vector<std::uint32_t> members;
        Written whole, without;  ///< with all members; with some left out
        ChangeLog enter_leave_log;
    };
    struct Cells {
        std::vector<std::uint32_t> first;  ///< [cells] entity index
        std::vector<std::uint32_t> group;  ///< [cells]
    };
    struct Entry {
        std::uint32_t rank;
        EncodedFields body;
    };
    void put(const WorldData& world, std::uint32_t index);
    void take_out(std::uint32_t index);
    bool belongs(const Node& node, const WorldData& world, std::uint32_t index) const;
    void go(std::uint32_t index, std::uint32_t node, std::uint32_t cell);
    void log_enter_leave(std::uint32_t node, std::uint32_t cell, std::uint32_t index);
    void mark(std::uint32_t index, Tick tick);
    void drop_unused(Tick tick);
    void list_members(const Group& group, const WorldData& world, std::vector<std::uint32_t>& out);

    const Schema* schema_;
    const FieldStore* fields_ = nullptr;  ///< of the last update
    std::vector<Node> nodes_;
    std::vector<Cells> cells_;  ///< [nodes]
    std::vector<Home> homes_;   ///< by entity index
    std::vector<Group> groups_;
    std::vector<std::uint32_t> free_groups_;
    std::vector<EntityId> relinked_;
    Bitset sent_;  ///< by entity index: changed, not spawned in this tick, and in a cell
    std::uint64_t groups_made_ = 0;
    std::uint32_t revision_ = 0;
    bool is_new_ = false;  ///< entities have no cells yet
    std::vector<std::byte> bytes_;
    std::size_t bytes_end_ = 0;
    std::vector<Entry> entries_;               ///< scratch
    std::vector<std::uint32_t> distances_;     ///< scratch: between member indices
    std::vector<std::uint32_t> around_;        ///< scratch: cells
    std::vector<std::uint32_t> around_other_;  ///< scratch
    std::vector<std::uint32_t> changed_;       ///< scratch: entity indices
};

/// Returns the position of an entity as a client has it: decoded from the wire words.
Vec3 replicated_position(const FieldStore& fields, const KindLayout& layout, ComponentId position,
                         std::uint32_t entity_index);

}  // namespace purview
