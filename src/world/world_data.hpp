// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The entity table behind purview::World, as the other rooms read it: component columns by entity
// index, the parent forest, and the change log of the running tick. Must not know: observers'
// views, slots, ghosts. Keeps: no cycle in the forest; root_of and member counts are stored, never
// walked up to in a tick (O14); the log names an entity only with the index it had when it was
// written.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/bitset.hpp"
#include "core/id_pool.hpp"
#include "purview/world.hpp"

namespace purview {

/// One structural edit, in the order in which it was made.
struct WorldOp {
    enum class Type : std::uint8_t { spawn, despawn, root, owner };
    Type type;
    EntityId entity;
    EntityId root;  ///< the new root (type root)
};

/// A flag, key or value of an entity that differs from the last tick; one of the three is named.
struct AttributeChange {
    EntityId entity;
    FlagId flag = FlagId::none;
    KeyDomain domain = KeyDomain::none;
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
        return pages_[index / page_entities].get() +
               std::size_t{index % page_entities} * size_bytes_;
    }
    const std::byte* at(std::uint32_t index) const noexcept {
        return pages_[index / page_entities].get() +
               std::size_t{index % page_entities} * size_bytes_;
    }
    std::uint32_t size_bytes() const noexcept { return size_bytes_; }

    Bitset dirty;  ///< by entity index: written since the last tick

  private:
    std::uint32_t size_bytes_;
    std::vector<std::unique_ptr<std::byte[]>> pages_;
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

    Result<EntityId> spawn(KindId kind, Vec3 place);
    Status despawn(EntityId entity);
    KindId kind_at(std::uint32_t index) const noexcept { return entities_[index].kind; }
    const KindDef& kind_def_at(std::uint32_t index) const noexcept {
        return schema().kinds()[index_of(entities_[index].kind)];
    }
    bool has(std::uint32_t index, ComponentId component) const noexcept {
        return ((kind_masks_[index_of(entities_[index].kind)] >> index_of(component)) & 1U) != 0;
    }
    std::byte* component_at(std::uint32_t index, ComponentId component) noexcept {
        return columns_[index_of(component)].at(index);
    }
    const std::byte* component_at(std::uint32_t index, ComponentId component) const noexcept {
        return columns_[index_of(component)].at(index);
    }
    void mark_dirty(std::uint32_t index, ComponentId component) noexcept {
        columns_[index_of(component)].dirty.set(index);
    }
    Vec3 place_at(std::uint32_t index) const noexcept;
    bool is_placed(std::uint32_t index) const noexcept {
        return schema().place() != ComponentId::none && has(index, schema().place());
    }
    Status move(EntityId entity, Vec3 place);

    Status attach(EntityId child, EntityId parent);
    Status detach(EntityId child);
    EntityId parent_at(std::uint32_t index) const noexcept { return entities_[index].parent; }
    EntityId root_at(std::uint32_t index) const noexcept { return entities_[index].root; }
    std::span<const EntityId> children_at(std::uint32_t index) const noexcept {
        return children_[index];
    }
    std::uint16_t depth_at(std::uint32_t index) const noexcept { return entities_[index].depth; }

    Status set_owner(EntityId entity, ObserverId owner);
    ObserverId owner_at(std::uint32_t index) const noexcept { return entities_[index].owner; }

    /// Never reused, ascending with every spawn: what orders enters of one tick.
    std::uint64_t spawn_number_at(std::uint32_t index) const noexcept {
        return entities_[index].spawn_number;
    }
    std::uint16_t flags_at(std::uint32_t index) const noexcept { return flags_[index]; }
    Key key_at(std::uint32_t index, KeyDomain domain) const noexcept {
        return keys_[index_of(domain)][index];
    }
    float value_at(std::uint32_t index, ValueId value) const noexcept {
        return values_[index_of(value)][index];
    }

    // -- the change log of the running tick -----------------------------------------------------
    std::span<const WorldOp> ops() const noexcept { return ops_; }
    bool has_untracked_ops() const noexcept { return tracked_ops_ < ops_.size(); }
    /// The structural edits since the last call; they count as tracked from now on.
    std::span<const WorldOp> track_ops() noexcept;
    const Bitset& dirty(ComponentId component) const noexcept {
        return columns_[index_of(component)].dirty;
    }
    /// Reads flags, keys and values of everything written this tick and puts back places that are
    /// not finite. Entities whose spawn is not tracked yet are brought up to date without a change
    /// record (their spawn carries the values). May be called several times in a tick.
    void settle();
    std::span<const AttributeChange> attribute_changes() const noexcept {
        return attribute_changes_;
    }
    std::uint64_t bad_places() const noexcept { return bad_places_; }
    /// Ends the tick: the log is emptied and released indices may be used again.
    void clear_changes();

  private:
    struct Entity {
        EntityId parent = EntityId::none;
        EntityId root = EntityId::none;
        std::uint64_t spawn_number = 0;
        ObserverId owner = ObserverId::none;
        KindId kind{};
        std::uint16_t depth = 0;    ///< 0 for a root
        std::uint16_t members = 1;  ///< of the subtree, itself included
        bool tracked = false;       ///< others know of its spawn
    };

    bool is_in_subtree(EntityId entity, EntityId top) const noexcept;
    std::uint16_t height_of(std::uint32_t index) const noexcept;
    void set_root(std::uint32_t index, EntityId root, std::uint16_t depth);
    void add_members(EntityId from, int delta) noexcept;
    void unlink(EntityId child);
    void settle_places();
    void settle_attributes(std::uint32_t index, bool report);

    WorldDef def_;
    IdPool pool_;
    std::vector<Entity> entities_;
    std::vector<std::vector<EntityId>> children_;
    std::vector<ComponentColumn> columns_;
    std::vector<std::uint32_t> kind_masks_;   ///< components of a kind, a bit each
    std::uint32_t attribute_components_ = 0;  ///< components that an attribute reads
    std::vector<std::uint16_t> flags_;
    std::array<std::vector<Key>, Schema::keys_max> keys_;
    std::array<std::vector<float>, Schema::values_max> values_;
    std::vector<Vec3> settled_places_;
    std::vector<WorldOp> ops_;
    std::vector<AttributeChange> attribute_changes_;
    std::size_t tracked_ops_ = 0;
    std::uint64_t next_spawn_number_ = 1;
    std::uint64_t bad_places_ = 0;
};

}  // namespace purview
