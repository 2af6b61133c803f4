// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// "Update many, fetch one" and "read many": what changed in a tick, written once for everybody in a
// cell (docs/shared.md). A group is the entities of one cell (read many), or of a cell and those
// around it (update many), in the order of spawn numbers; its section of a tick names those that
// changed by their rank among them. Who may read a section is not decided here: a reader takes it
// whole when all of the group are ghosts of his, and without those that are not otherwise. Must not
// know: who is relevant and why; sessions.
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

/// Bits that were written for a group in this tick; valid until the next.
struct Section {
    std::uint32_t offset_bytes = 0;
    std::uint32_t bits = 0;
    std::uint32_t entries = 0;  ///< 0: nothing to say, and no bits
};

struct SharedCounters {
    std::uint64_t sections = 0;  ///< written
    std::uint64_t copies = 0;    ///< taken whole
    std::uint64_t stripped = 0;  ///< written for one reader, without what he must not know
    std::uint64_t left_out = 0;  ///< did not fit a reader's budget: he is told one by one
};

class SharedCells {
  public:
    /// A node in one of the shared modes.
    struct Node {
        Payload payload = Payload::read_many;
        CellGrid grid;
        std::uint32_t rings = 1;
        bool is_flat = false;             ///< the second axis is z
        std::vector<Kernel> steps;        ///< about the entity alone
        std::vector<std::uint8_t> kinds;  ///< [kinds] its entities may be of this one
    };

    explicit SharedCells(const Schema& schema) : schema_(&schema) {}

    /// From now on these; whatever was known of cells is forgotten, and readers begin anew.
    void set_nodes(std::vector<Node> nodes);
    std::span<const Node> nodes() const noexcept { return nodes_; }
    bool is_used() const noexcept { return !nodes_.empty(); }
    /// Differs after every set_nodes.
    std::uint32_t revision() const noexcept { return revision_; }

    /// Moves entities between cells as the world's log says, and marks the groups in which
    /// something changed. After FieldStore::diff, with its tick.
    void update(const WorldData& world, const FieldStore& fields, Tick tick);
    /// Of the last update: entities with another parent, which sections do not tell.
    std::span<const EntityId> relinked() const noexcept { return relinked_; }

    /// Where the entity's replicated place lies; CellGrid::no_cell: nowhere.
    std::uint32_t cell_of(std::size_t node, const WorldData& world, const FieldStore& fields,
                          EntityId entity) const;

    // -- groups ---------------------------------------------------------------------------------
    /// The number of the group of a cell; it is kept up to date for as long as it is asked for.
    std::uint32_t group_at(std::size_t node, std::uint32_t cell, Tick tick);
    bool is_dirty(std::uint32_t group, Tick tick) const noexcept {
        return groups_[group].dirty == tick;
    }
    /// Takes in who came and went; to be called before its members are looked at in a tick. Returns
    /// their indices, by versions that no two groups have in common.
    const ChangeLog& refresh(std::uint32_t group, const WorldData& world);
    bool is_member(std::uint32_t group, std::uint32_t entity_index) const noexcept;
    /// Entity indices, by spawn number.
    std::span<const std::uint32_t> members(std::uint32_t group) const noexcept {
        return groups_[group].members;
    }
    /// A member of whom nothing is told, and who keeps his rank.
    static constexpr std::uint32_t left_out = 0xffffffffU;
    /// What changed in the group: written when it is first asked for in a tick. `members`: empty
    /// for all of it; or all of it, some left out, who are mostly the same for all who ask.
    Section section(std::uint32_t group, std::span<const std::uint32_t> members, EncodeCache& cache,
                    Tick tick);
    /// The same for some of its members only.
    Section section_of(std::span<const std::uint32_t> members, EncodeCache& cache, Tick tick);
    std::span<const std::byte> bytes(const Section& section) const noexcept {
        return std::span(bytes_).subspan(section.offset_bytes,
                                         words_for(section.bits) * sizeof(std::uint64_t));
    }
    /// Its section tells of it in this tick.
    bool is_replicated(std::uint32_t entity_index) const noexcept {
        return told_.test(entity_index);
    }

    SharedCounters counters;

  private:
    static constexpr std::uint32_t none = 0xffffffffU;
    struct Home {
        EntityId entity = EntityId::none;
        std::uint32_t node = none;  ///< none: in no group
        std::uint32_t cell = 0;
        KindId kind{};
        std::uint32_t next = none;  ///< in the cell, by entity index
        std::uint32_t previous = none;
        Tick spawned = 0;
    };
    /// What was written last.
    struct Written {
        Tick tick = 0;
        std::vector<std::uint32_t> members;  ///< if not all
        Section section;
    };
    struct Group {
        std::uint32_t node = none;  ///< none: not in use
        std::uint32_t cell = 0;
        Tick dirty = 0;
        Tick asked = 0;
        ChangeLog::Version known = ChangeLog::unknown;  ///< as of which `members` are
        std::vector<std::uint32_t> members;
        Written whole, without;  ///< with all of them, and with some left out
        ChangeLog turnover;
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
    void note_turnover(std::uint32_t node, std::uint32_t cell, std::uint32_t index);
    void mark(std::uint32_t index, Tick tick);
    void drop_unasked(Tick tick);
    void list_members(const Group& group, const WorldData& world, std::vector<std::uint32_t>& out);

    const Schema* schema_;
    const FieldStore* fields_ = nullptr;  ///< of the last update
    std::vector<Node> nodes_;
    std::vector<Cells> cells_;  ///< [nodes]
    std::vector<Home> homes_;   ///< by entity index
    std::vector<Group> groups_;
    std::vector<std::uint32_t> free_groups_;
    std::vector<EntityId> relinked_;
    Bitset told_;  ///< by entity index: changed, and neither new nor in no cell
    std::uint64_t groups_made_ = 0;
    std::uint32_t revision_ = 0;
    bool is_new_ = false;  ///< nobody has been given a cell yet
    std::vector<std::byte> bytes_;
    std::size_t bytes_end_ = 0;
    std::vector<Entry> entries_;               ///< scratch
    std::vector<std::uint32_t> distances_;     ///< of their ranks
    std::vector<std::uint32_t> around_;        ///< scratch: cells
    std::vector<std::uint32_t> around_other_;  ///< scratch
    std::vector<std::uint32_t> turned_over_;   ///< scratch: entity indices
};

/// The place that the words of an entity's fields stand for: what a client knows of it.
Vec3 replicated_position(const FieldStore& fields, const KindLayout& layout, ComponentId position,
                         std::uint32_t entity_index);

}  // namespace purview
