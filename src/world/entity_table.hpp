// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The entities of a world: ids, kinds, owners, and spawn order.
//
// Invariants: an index is reused only after recycle(), so that the values of a despawned entity can
// be read until the tick ends; spawn numbers ascend and are never reused.
//
// Must not depend on component values or parents.
#pragma once

#include <cstdint>
#include <vector>

#include "core/aligned.hpp"
#include "core/id_pool.hpp"
#include "core/prefetch.hpp"
#include "purview/schema.hpp"
#include "purview/status.hpp"
#include "purview/types.hpp"

namespace purview {

class EntityTable {
  public:
    /// `schema` must outlive the table.
    EntityTable(const Schema& schema, std::uint32_t entities_max);

    const Schema& schema() const noexcept { return schema_; }
    /// Number of live entities.
    std::uint32_t count() const noexcept { return pool_.live_count(); }
    std::uint32_t index_end() const noexcept { return pool_.index_end(); }
    bool is_alive(EntityId entity) const noexcept {
        return pool_.is_live(index_of(entity), generation_of(entity));
    }
    bool is_live(std::uint32_t index) const noexcept { return pool_.is_live(index); }
    EntityId at_index(std::uint32_t index) const noexcept {
        return pool_.is_live(index) ? make_entity_id(index, pool_.generation(index))
                                    : EntityId::none;
    }

    /// Whether the caller may pass this id to add: not used in this tick, index below the capacity,
    /// and a generation above all earlier ones of the index.
    bool is_free(EntityId id) const noexcept {
        return pool_.is_free(index_of(id), generation_of(id));
    }
    /// Adds an entity. `id` must be free; if it is none, the table assigns one. Returns none if the
    /// table is full.
    EntityId add(KindId kind, EntityId id = EntityId::none);
    void remove(EntityId entity);
    /// Allows the indices of removed entities to be reused.
    void recycle() { pool_.recycle(); }

    KindId kind_at(std::uint32_t index) const noexcept { return records_[index].kind; }
    const KindDef& kind_def_at(std::uint32_t index) const noexcept {
        return schema_.kinds()[index_of(records_[index].kind)];
    }
    bool has(std::uint32_t index, ComponentId component) const noexcept {
        return ((kind_masks_[index_of(records_[index].kind)] >> index_of(component)) & 1U) != 0;
    }
    bool has_position(std::uint32_t index) const noexcept {
        return schema_.position() != ComponentId::none && has(index, schema_.position());
    }
    bool has_orientation(std::uint32_t index) const noexcept {
        return kind_def_at(index).orientation.component != ComponentId::none;
    }
    /// Unique and ascending with every spawn; defines the order of the enters of one tick.
    std::uint64_t spawn_number_at(std::uint32_t index) const noexcept {
        return records_[index].spawn_number;
    }
    ObserverId owner_at(std::uint32_t index) const noexcept { return records_[index].owner; }
    void set_owner(std::uint32_t index, ObserverId owner) noexcept {
        PURVIEW_ASSERT(pool_.is_live(index));
        records_[index].owner = owner;
    }
    /// Prefetches the record of an index that may be read soon.
    void prefetch(std::uint32_t index) const noexcept { prefetch_line(&records_[index]); }

    void validate() const;

  private:
    struct Record {
        std::uint64_t spawn_number = 0;
        ObserverId owner = ObserverId::none;
        KindId kind{};
    };
    static_assert(cache_line_bytes % sizeof(Record) == 0);  // no record spans two lines

    const Schema& schema_;
    IdPool pool_;
    LineVector<Record> records_;             ///< by index
    std::vector<std::uint32_t> kind_masks_;  ///< by KindId: its components, one bit each
    std::uint64_t next_spawn_number_ = 1;
};

}  // namespace purview
