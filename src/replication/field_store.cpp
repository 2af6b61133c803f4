// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/field_store.hpp"

#include <algorithm>

#include "wire/quantise.hpp"

namespace purview {

FieldStore::FieldStore(const Schema& schema) : schema_(&schema) {
    for (std::uint16_t k = 0; k < schema.kinds().size(); ++k) {
        kinds_.push_back(fields_of(schema, KindId{k}));
        PURVIEW_ASSERT(kinds_.back().size() <= Schema::kind_fields_max);
    }
    for (const ComponentDef& component : schema.components()) {
        columns_.push_back({component.fields.size(), {}, {}});
    }
}

void FieldStore::grow(std::uint32_t entities) {
    if (changed_.size() >= entities) return;
    const std::size_t size = std::max<std::size_t>(1024, std::size_t{entities} * 2);
    changed_.resize(size);
    spawned_.resize(size);
    parent_ticks_.resize(size, 0);
    for (Column& column : columns_) {
        column.values.resize(size * column.fields, 0);
        column.ticks.resize(size * column.fields, 0);
    }
}

bool FieldStore::quantise_component(const WorldData& world, std::uint32_t index,
                                    ComponentId component, Tick tick, bool all) {
    const ComponentDef& def = schema_->components()[index_of(component)];
    Column& column = columns_[index_of(component)];
    const std::byte* data = world.component_at(index, component);
    bool differs = all;
    for (std::size_t f = 0; f < def.fields.size(); ++f) {
        const std::uint32_t now = quantise(def.fields[f], data);
        const std::size_t slot = std::size_t{index} * column.fields + f;
        if (!all && column.values[slot] == now) continue;
        column.values[slot] = now;
        column.ticks[slot] = tick;
        differs = true;
    }
    return differs;
}

void FieldStore::diff(const WorldData& world, Tick tick) {
    grow(world.index_end());
    changed_.clear_all();
    spawned_.clear_all();
    for (const WorldOp& op : world.ops()) {
        if (!world.is_alive(op.entity)) continue;
        const std::uint32_t index = index_of(op.entity);
        if (op.type == WorldOp::Type::spawn) spawned_.set(index);
        if (op.type == WorldOp::Type::root) {
            parent_ticks_[index] = tick;
            changed_.set(index);
        }
    }
    for (std::size_t c = 0; c < columns_.size(); ++c) {
        const ComponentId component{static_cast<std::uint16_t>(c)};
        world.dirty(component).for_each([&](std::size_t i) {
            const auto index = static_cast<std::uint32_t>(i);
            if (world.at_index(index) == EntityId::none || !world.has(index, component)) return;
            const bool fresh = spawned_.test(index);
#ifdef PURVIEW_BREAKABLE
            if (!fresh && break_stale_every != 0 && (index + tick) % break_stale_every == 0) return;
#endif
            if (quantise_component(world, index, component, tick, fresh)) changed_.set(index);
        });
    }
}

FieldMask FieldStore::changed_since(std::uint32_t entity_index, KindId kind,
                                    Tick baseline) const noexcept {
    FieldMask mask = 0;
    const auto& list = kinds_[index_of(kind)];
    for (std::size_t f = 0; f < list.size(); ++f) {
        if (changed_tick(entity_index, list[f]) > baseline) mask |= FieldMask{1} << f;
    }
    return mask;
}

}  // namespace purview
