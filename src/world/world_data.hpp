// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The entity table behind purview::World, as the other rooms read it: component columns by entity
// index, the parent forest, and the change log of the running tick. Must not know: observers'
// views, slots, ghosts. Keeps: no cycle in the forest; root_of and member counts are stored, never
// walked up to in a tick (O14); the log names an entity only with the index it had when it was
// written.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/aligned.hpp"
#include "core/bitset.hpp"
#include "core/finite.hpp"
#include "core/id_pool.hpp"
#include "core/prefetch.hpp"
#include "purview/world.hpp"
#include "world/group_bounds.hpp"

namespace purview {

/// One structural edit, in the order in which it was made.
struct WorldOp {
    enum class Type : std::uint8_t { spawn, despawn, root, owner };
    Type type;
    EntityId entity;
    EntityId root;                               ///< the new root (type root)
    EntityId parent = EntityId::none;            ///< within the group (type root)
    ObserverId owner_before = ObserverId::none;  ///< (type owner)
    bool is_orphan = false;                      ///< the parent that it had is gone (type root)
};

/// A flag, key or value of an entity that differs from the last tick; one of the three is named.
struct AttributeChange {
    EntityId entity;
    FlagId flag = FlagId::none;
    KeyId domain = KeyId::none;
    Key key = Key::none;  ///< key: the new one; flag: 1 or 0
    ValueId value = ValueId::none;
    float number = 0;  ///< value: the new one
};

/// Values of one component for all entities, in pages that never move.
class ComponentColumn {
  public:
    static constexpr std::uint32_t page_entities = 1024;

    explicit ComponentColumn(std::uint32_t size_bytes) : size_bytes_(size_bytes) {}
    void ensure(std::uint32_t index);
    std::byte* at(std::uint32_t index) noexcept {
        return pages_[index / page_entities].data() +
               std::size_t{index % page_entities} * size_bytes_;
    }
    const std::byte* at(std::uint32_t index) const noexcept {
        return pages_[index / page_entities].data() +
               std::size_t{index % page_entities} * size_bytes_;
    }
    std::uint32_t size_bytes() const noexcept { return size_bytes_; }

    Bitset dirty;  ///< by entity index: written since the last tick

  private:
    std::uint32_t size_bytes_;
    std::vector<LineVector<std::byte>> pages_;  ///< empty, or for page_entities
};

class WorldData {
  public:
    explicit WorldData(const WorldDef& def);

    const Schema& schema() const noexcept { return *def_.schema; }
    std::uint32_t entity_count() const noexcept { return pool_.live_count(); }
    std::uint32_t index_end() const noexcept { return pool_.index_end(); }
    bool is_alive(EntityId entity) const noexcept {
        return pool_.is_live(index_of(entity), generation_of(entity));
    }
    EntityId at_index(std::uint32_t index) const noexcept {
        return pool_.is_live(index) ? make_entity_id(index, pool_.generation(index))
                                    : EntityId::none;
    }

    Result<EntityId> spawn(KindId kind, Vec3 position);
    Status despawn(EntityId entity);
    /// Parts in this order, into `out`; empty where it is refused.
    Status spawn_group(std::span<const GroupPart> parts, Vec3 position, std::vector<EntityId>& out);
    /// With all below it, deepest first.
    Status despawn_group(EntityId entity);
    KindId kind_at(std::uint32_t index) const noexcept { return entities_[index].kind; }
    const KindDef& kind_def_at(std::uint32_t index) const noexcept {
        return schema().kinds()[index_of(entities_[index].kind)];
    }
    bool has(std::uint32_t index, ComponentId component) const noexcept {
        return ((kind_masks_[index_of(entities_[index].kind)] >> index_of(component)) & 1U) != 0;
    }
    std::byte* component_at(std::uint32_t index, ComponentId component) noexcept {
        PURVIEW_ASSERT(has(index, component));  // others may have no page
        return columns_[index_of(component)].at(index);
    }
    const std::byte* component_at(std::uint32_t index, ComponentId component) const noexcept {
        PURVIEW_ASSERT(has(index, component));
        return columns_[index_of(component)].at(index);
    }
    void mark_dirty(std::uint32_t index, ComponentId component) noexcept {
        PURVIEW_ASSERT(has(index, component));
        columns_[index_of(component)].dirty.set(index);
        fresh_.add(index / bits_per_word);
        if (has_relative_positions_ && component == schema().position())
            entities_[index].keeps_local = false;
    }
    Vec3 position_at(std::uint32_t index) const noexcept;
    /// Whom a parent took along since the last settle, without being moved by itself; kept on
    /// demand.
    std::span<const std::uint32_t> carried() const noexcept { return carried_; }
    void keep_carried(bool keep) noexcept { keeps_carried_ = keep; }
    bool has_position(std::uint32_t index) const noexcept {
        return schema().position() != ComponentId::none && has(index, schema().position());
    }
    Status move(EntityId entity, Vec3 position);

    // -- groups.cpp
    Status attach(EntityId child, EntityId parent, OwnerPolicy policy);
    Status detach(EntityId child);
    Status set_group_enabled(EntityId entity, bool enabled);
    bool is_group_enabled(std::uint32_t index) const noexcept { return entities_[index].enabled; }
    EntityId parent_at(std::uint32_t index) const noexcept { return entities_[index].parent; }
    void prefetch(std::uint32_t index) const noexcept {
        prefetch_line(&entities_[index]);
        prefetch_line(&entities_[index].members);  // it may be in the next line
    }
    /// Nobody has been above it or below it since its spawn. Most are: it is known without a look
    /// at them.
    bool is_alone(std::uint32_t index) const noexcept { return !related_.test(index); }
    EntityId root_at(std::uint32_t index) const noexcept { return entities_[index].root; }
    /// It is in the group of its parent.
    bool is_linked(std::uint32_t index) const noexcept {
        const EntityId parent = entities_[index].parent;
        return parent != EntityId::none && takes_part(index) && takes_part(index_of(parent));
    }
    EntityId group_parent_at(std::uint32_t index) const noexcept {
        return !is_alone(index) && is_linked(index) ? entities_[index].parent : EntityId::none;
    }
    /// Members of the group below it, itself included.
    std::uint16_t members_at(std::uint32_t index) const noexcept {
        return entities_[index].members;
    }
    std::span<const EntityId> children_at(std::uint32_t index) const noexcept {
        return children_[index];
    }
    /// visit(EntityId) of the entity and all below it in its group, parents first.
    template <class Visit>
    void for_each_in_group(std::uint32_t index, Visit&& visit) const {
        visit(at_index(index));
        if (entities_[index].members == 1) return;
        for (const EntityId child : children_[index]) {
            if (is_linked(index_of(child))) for_each_in_group(index_of(child), visit);
        }
    }
    std::span<const GroupEvent> group_events() const noexcept { return relation_events_; }
    /// What changes of relation have cost so far; a tick without any adds nothing (O14).
    struct RelationWork {
        std::uint64_t visited = 0;   ///< members looked at
        std::uint64_t steps_up = 0;  ///< from a child to its parent
    };
    const RelationWork& relation_work() const noexcept { return work_; }
    std::uint16_t depth_at(std::uint32_t index) const noexcept { return entities_[index].depth; }

    Status set_owner(EntityId entity, ObserverId owner);
    ObserverId owner_at(std::uint32_t index) const noexcept { return entities_[index].owner; }

    /// Never reused, ascending with every spawn: what orders enters of one tick.
    std::uint64_t spawn_number_at(std::uint32_t index) const noexcept {
        return entities_[index].spawn_number;
    }
    std::uint16_t flags_at(std::uint32_t index) const noexcept { return flags_[index]; }
    Key key_at(std::uint32_t index, KeyId domain) const noexcept {
        return keys_[index_of(domain)][index];
    }
    float value_at(std::uint32_t index, ValueId value) const noexcept {
        return values_[index_of(value)][index];
    }

    // -- positions.cpp: relative places
    /// Its place is told as seen from its parent.
    bool is_relative(std::uint32_t index) const noexcept {
        return kind_def_at(index).relative_position && is_linked(index) && has_position(index) &&
               has_position(index_of(entities_[index].parent));
    }
    /// Where the tick will find it, as edits are until now: position_at is brought along at its
    /// end.
    Vec3 position_now(std::uint32_t index) const noexcept;
    Rotation orientation_now(std::uint32_t index) const noexcept;
    Vec3 local_position_at(std::uint32_t index) const noexcept {
        return is_relative(index) ? locals_[index] : position_at(index);
    }
    /// As edits are until now; of a relative one.
    Vec3 local_position_now(std::uint32_t index) const noexcept;
    Status set_local_position(EntityId entity, Vec3 position);
    bool has_orientation(std::uint32_t index) const noexcept {
        return kind_def_at(index).orientation.component != ComponentId::none;
    }
    /// How it is turned in the world, by what clients are told.
    Rotation orientation_at(std::uint32_t index) const noexcept;

    // -- bounds.cpp: bounds of groups, of those whose root is of such a kind
    /// by_kind[kind]: a root of the kind has bounds.
    void keep_bounds(std::vector<bool> by_kind);
    float bounds_at(std::uint32_t index) const noexcept { return bounds_.radius(at_index(index)); }
    /// Roots whose bounds changed since the last call, as of the last settle.
    std::span<const GroupBounds::Change> take_bounds_changes();
    std::uint64_t bounds_measured() const noexcept { return bounds_measured_; }

    // -- the change log of the running tick -----------------------------------------------------
    std::span<const WorldOp> ops() const noexcept { return ops_; }
    bool has_untracked_ops() const noexcept { return tracked_ops_ < ops_.size(); }
    /// What the structural edits since the last call come to; they count as tracked from now on.
    /// Spawns first, so that others may join them. Then who left its group, then who joined one or
    /// has another place in it or is below one that has, parents first; not who is where it was.
    /// Then owners and despawns.
    std::span<const WorldOp> track_ops();
    const Bitset& dirty(ComponentId component) const noexcept {
        return columns_[index_of(component)].dirty;
    }
    /// Reads flags, keys and values of everything written this tick and puts back places that are
    /// not finite. Entities whose spawn is not tracked yet are brought up to date without a change
    /// record (their spawn carries the values). May be called several times in a tick; `fresh`: of
    /// what was written since the last call alone, and what is near it.
    void settle(bool fresh = false);
    /// Of this tick.
    std::span<const AttributeChange> attribute_changes() const noexcept {
        return attribute_changes_;
    }
    /// Those since the last call.
    std::span<const AttributeChange> track_attribute_changes() noexcept;
    std::uint64_t bad_positions() const noexcept { return bad_positions_; }
    /// Ends the tick: the log is emptied and released indices may be used again.
    void clear_changes();

  private:
    struct Entity {
        EntityId parent = EntityId::none;
        EntityId root = EntityId::none;
        EntityId tracked_parent = EntityId::none;  ///< in a group, as others know of it
        std::uint64_t spawn_number = 0;
        ObserverId owner = ObserverId::none;
        ObserverId own_owner = ObserverId::none;  ///< while it inherits from nobody
        std::uint32_t relation = no_relation;     ///< in relations_: it changed this tick
        KindId kind{};
        std::uint16_t depth = 0;    ///< in its group; 0 for a root
        std::uint16_t members = 1;  ///< of the group below it, itself included
        bool tracked = false;       ///< others know of its spawn
        bool enabled = true;        ///< takes part in groups
        bool inherits = false;      ///< is its parent's owner's while it is in a group
        bool keeps_local = false;   ///< this tick its place follows from its local one
        bool is_edited = false;     ///< scratch of track_positions_in_groups, as the next
        bool is_replicated = false;
    };
    static constexpr std::uint32_t no_relation = ~std::uint32_t{0};
    /// Of bitsets by entity index.
    struct WordRange {
        std::size_t begin = ~std::size_t{0}, end = 0;
        void add(std::size_t word) noexcept {
            begin = std::min(begin, word);
            end = std::max(end, word + 1);
        }
        template <class Visit>
        void for_each(const Bitset& bits, Visit&& visit) const {
            for (std::size_t w = begin; w < std::min(end, bits.words().size()); ++w)
                for_each_bit(bits.words()[w], w * bits_per_word, visit);
        }
    };

    bool takes_part(std::uint32_t index) const noexcept {
        return entities_[index].enabled && kind_def_at(index).in_groups;
    }
    bool is_in_subtree(EntityId entity, EntityId top) noexcept;
    bool is_too_deep(std::uint32_t index, unsigned depth);
    std::uint16_t height_of(std::uint32_t index);
    Status check_group(std::uint32_t index, unsigned members, EntityId parent);
    void regroup(std::uint32_t index, EntityId root, std::uint16_t depth);
    void add_members(EntityId from, int delta) noexcept;
    void unlink(EntityId child);
    void note_relation(std::uint32_t index);
    void end_relations();
    void track_positions_in_groups(std::span<const WorldOp> fresh);
    void settle_owner(std::uint32_t index);
    void pass_owner_down(std::uint32_t index);
    void bring_along(std::uint32_t index);
    void keep_position(std::uint32_t index);
    Vec3 from_parent(std::uint32_t index, Vec3 local) const noexcept;
    Vec3 as_seen_from_parent(std::uint32_t index) const noexcept;
    void keep_orientation(std::uint32_t index);
    void settle_relative_positions(WordRange among);
    bool is_written(std::uint32_t index) const noexcept;
    bool is_taken_along(std::uint32_t index) const noexcept;
    Rotation own_orientation(std::uint32_t index) const noexcept;
    void settle_positions(WordRange among);
    void settle_position(std::uint32_t index);
    bool has_bounds(std::uint32_t root) const noexcept {
        return bounded_kinds_[index_of(entities_[root].kind)];
    }
    void measure(std::uint32_t index);
    void settle_bounds();
    void settle_attributes(std::uint32_t index, bool report);

    WorldDef def_;
    IdPool pool_;
    LineVector<Entity> entities_;
    std::vector<std::vector<EntityId>> children_;
    Bitset related_;   ///< by entity index: see is_alone
    WordRange fresh_;  ///< written since the last settle
    std::vector<ComponentColumn> columns_;
    std::vector<std::uint32_t> kind_masks_;   ///< components of a kind, a bit each
    std::uint32_t attribute_components_ = 0;  ///< components that an attribute reads
    std::vector<std::uint16_t> flags_;
    std::array<std::vector<Key>, Schema::keys_max> keys_;
    std::array<std::vector<float>, Schema::values_max> values_;
    std::vector<Vec3> settled_positions_;
    bool has_relative_positions_ = false;
    std::vector<Vec3> locals_;  ///< by entity index; empty where no kind has relative places
    std::uint32_t orientation_components_ = 0;  ///< a bit each; 0 without relative places
    /// By entity index: how what is relative to it is turned, as of the last settle. Empty where no
    /// kind has an orientation.
    std::vector<Rotation> frames_;
    std::vector<std::vector<std::uint32_t>> waves_;  ///< scratch: by depth
    std::vector<bool> bounded_kinds_;                ///< empty: nobody asks for bounds
    GroupBounds bounds_;
    std::vector<GroupBounds::Change> bounds_changes_;
    std::size_t bounded_ops_ = 0;  ///< of ops_, those that bounds know
    Bitset shifted_;               ///< scratch: moved within its group
    std::uint64_t bounds_measured_ = 0;
    std::vector<std::uint32_t> carried_;
    bool keeps_carried_ = false;
    std::vector<WorldOp> ops_;
    std::vector<WorldOp> net_ops_;  ///< what track_ops returned last
    std::vector<WorldOp> joins_;    ///< scratch
    struct Relation {               ///< as it was before the tick
        EntityId entity;
        EntityId root;
        EntityId parent;
    };
    std::vector<Relation> relations_;
    std::vector<GroupEvent> relation_events_;
    RelationWork work_;
    std::vector<AttributeChange> attribute_changes_;
    std::size_t tracked_changes_ = 0;  ///< of these
    std::size_t tracked_ops_ = 0;
    std::uint64_t next_spawn_number_ = 1;
    std::uint64_t bad_positions_ = 0;
};

}  // namespace purview
