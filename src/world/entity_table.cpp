// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "world/entity_table.hpp"

namespace purview {

EntityTable::EntityTable(const Schema& schema, std::uint32_t entities_max)
    : schema_(schema), pool_(entities_max) {
    for (const KindDef& kind : schema.kinds()) {
        std::uint32_t mask = 0;
        for (const ComponentId component : kind.components) mask |= 1U << index_of(component);
        kind_masks_.push_back(mask);
    }
}

EntityId EntityTable::add(KindId kind, EntityId id) {
    PURVIEW_ASSERT(index_of(kind) < kind_masks_.size());
    PURVIEW_ASSERT(id == EntityId::none || is_free(id));
    std::uint32_t index = index_of(id);
    if (id == EntityId::none) {
        index = pool_.acquire();
        if (index == IdPool::no_index) return EntityId::none;
    } else if (!pool_.acquire_as(index, generation_of(id))) {
        return EntityId::none;
    }
    if (records_.size() <= index) records_.resize(index + std::size_t{1});
    PURVIEW_ASSERT(records_.size() == pool_.index_end());
    records_[index] = {next_spawn_number_++, ObserverId::none, kind};
    return make_entity_id(index, pool_.generation(index));
}

void EntityTable::remove(EntityId entity) {
    PURVIEW_ASSERT(is_alive(entity));
    pool_.release(index_of(entity));
}

void EntityTable::validate() const {
    PURVIEW_ASSERT(records_.size() == pool_.index_end());
    for (std::uint32_t i = 0; i < records_.size(); ++i) {
        if (!pool_.is_live(i)) continue;
        PURVIEW_ASSERT(index_of(records_[i].kind) < kind_masks_.size());
        PURVIEW_ASSERT(records_[i].spawn_number > 0);
        PURVIEW_ASSERT(records_[i].spawn_number < next_spawn_number_);
    }
}

}  // namespace purview
