// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/field_store.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "core/bitset.hpp"
#include "protocol/quantize.hpp"

namespace purview {

namespace {

constexpr std::size_t words_max = 8;  // per field: 31 bytes of text

}  // namespace

FieldStore::FieldStore(const Schema& schema) : schema_(&schema), layouts_(layouts_of(schema)) {
    for (const KindLayout& layout : layouts_) {
        PURVIEW_ASSERT(layout.fields.size() <= Schema::kind_fields_max);
        has_references_ |= layout.references != 0;
        has_audiences_ |= layout.audience != 0;
        keeps_changed_fields_ |= layout.audience != 0 || layout.extrapolated != 0;
        has_extrapolated_ |= layout.extrapolated != 0;
    }
    for (const ComponentDef& component : schema.components()) {
        Column& column = columns_.emplace_back();
        column.field_count = component.fields.size();
        for (const FieldDef& field : component.fields) {
            PURVIEW_ASSERT(field.words > 0 && field.words <= words_max);
            column.word_count += field.words;
        }
    }
}

void FieldStore::grow(std::uint32_t entities) {
    if (changed_.size() >= entities) return;
    const std::size_t size = std::max<std::size_t>(1024, std::size_t{entities} * 2);
    changed_.resize(size);
    spawned_.resize(size);
    parent_ticks_.resize(size, 0);
    parents_.resize(size, EntityId::none);
    for (Column& column : columns_) {
        column.words.resize(size * column.word_count, 0);
        column.ticks.resize(size * column.field_count, 0);
    }
    if (has_references_) {
        referrers_.resize(size);
        read_since_diff_.resize(size);
    }
    if (keeps_changed_fields_) changed_fields_.resize(size);
    if (has_audiences_) changed_in_public_.resize(size);
}

bool FieldStore::quantize_component(const WorldData& world, std::uint32_t index,
                                    ComponentId component, Tick tick, bool all) {
    const ComponentDef& def = schema_->components()[index_of(component)];
    Column& column = columns_[index_of(component)];
    const std::byte* data = world.components.component_at(index, component);
    std::array<std::byte, Schema::component_bytes_max> relative;
    if (component == schema_->position() && world.positions.is_relative(index)) {
        std::copy_n(data, def.size_bytes, relative.data());
        const Vec3 local = world.positions.local_position_at(index);
        std::memcpy(relative.data(), &local, sizeof local);
        add_relative_origins(def, relative.data());
        data = relative.data();
    }
    bool differs = all;
    std::uint32_t* words = column.words.data() + std::size_t{index} * column.word_count;
    for (std::size_t f = 0; f < def.fields.size(); ++f) {
        const FieldDef& field = def.fields[f];
        std::array<std::uint32_t, words_max> now;
        quantize(field, data, now.data());
        if (all || !std::equal(words, words + field.words, now.data())) {
            const std::array<std::uint32_t, 2> before{words[0], words[field.words - 1]};
            std::copy_n(now.data(), field.words, words);
            if (is_clamped(field, data, now[0]))
                record_clamped(world.entities.at_index(index), component);
            column.ticks[std::size_t{index} * column.field_count + f] = tick;
            differs |= all || field.type != FieldType::reference;
            if (field.type == FieldType::reference) {
                const EntityId referrer = world.entities.at_index(index);
                const EntityId target = make_entity_id(now[0], now[1]);
                if (!all) {
                    reference_changes_.push_back(
                        {referrer, component, make_entity_id(before[0], before[1]), target});
                }
                if (generation_of(target) != 0) add_referrer(world, referrer, index_of(target));
            }
        }
        words += field.words;
    }
    return differs;
}

void FieldStore::record_clamped(EntityId entity, ComponentId component) {
    ++clamped_.values;
    clamped_.entity = entity;
    clamped_.component = component;
    const std::uint32_t bit = 1U << index_of(component);
    if ((clamped_.components & bit) == 0) clamped_.first[index_of(component)] = entity;
    clamped_.components |= bit;
}

void FieldStore::add_referrer(const WorldData& world, EntityId referrer,
                              std::uint32_t target_index) {
    if (target_index >= referrers_.size()) return;  // an id that was never used
    std::vector<EntityId>& list = referrers_[target_index];
    list.push_back(referrer);
    // A reference that alternates between targets adds the same referrer many times.
    if (list.size() >= 16 && std::has_single_bit(list.size())) prune_referrers(world, target_index);
}

bool FieldStore::has_reference_to(const WorldData& world, EntityId referrer,
                                  std::uint32_t target_index, std::uint32_t generation,
                                  FieldMask among) const noexcept {
    if (!world.entities.is_alive(referrer)) return false;
    const std::uint32_t index = index_of(referrer);
    const KindLayout& its = layout(world.entities.kind_at(index));
    bool found = false;
    for_each_bit(its.references & among, 0, [&](std::size_t f) {
        const std::uint32_t* target = words(index, its.fields[f]);
        found |= target[0] == target_index && target[1] != 0 &&
                 (generation == 0 || target[1] == generation);
    });
    return found;
}

void FieldStore::prune_referrers(const WorldData& world, std::uint32_t target_index) {
    std::vector<EntityId>& list = referrers_[target_index];
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    std::erase_if(list, [&](EntityId one) {
        return !has_reference_to(world, one, target_index, 0, all_fields);
    });
}

std::span<const EntityId> FieldStore::referrers_of(const WorldData& world, EntityId target) {
    const std::uint32_t index = index_of(target);
    if (index >= referrers_.size() || referrers_[index].empty()) return {};
    // Pruned once per diff, because several observers may read the list.
    if (!read_since_diff_.test(index)) prune_referrers(world, index);
    read_since_diff_.set(index);
    return referrers_[index];
}

void FieldStore::diff(const WorldData& world, Tick tick) {
    grow(world.entities.index_end());
    changed_.clear_all();
    spawned_.clear_all();
    read_since_diff_.clear_all();
    reference_changes_.clear();
    for (const WorldOp& op : world.log.ops()) {
        if (!world.entities.is_alive(op.entity)) continue;
        const std::uint32_t index = index_of(op.entity);
        if (op.type == WorldOp::Type::spawn) {
            spawned_.set(index);
            parents_[index] = EntityId::none;
        }
        // If a subtree is attached elsewhere, only its topmost entity changes its parent.
        const EntityId parent = world.groups.group_parent_at(index);
        if (op.type == WorldOp::Type::root && parents_[index] != parent) {
            parents_[index] = parent;
            parent_ticks_[index] = tick;
            changed_.set(index);
        }
    }
    for (std::size_t c = 0; c < columns_.size(); ++c) {
        const ComponentId component = id_at<ComponentId>(c);
        world.components.dirty(component).for_each([&](std::size_t i) {
            const auto index = static_cast<std::uint32_t>(i);
            if (world.entities.at_index(index) == EntityId::none ||
                !world.entities.has(index, component))
                return;
            const bool is_spawned = spawned_.test(index);
#ifdef PURVIEW_BREAKABLE
            if (!is_spawned && break_stale_every != 0 && (index + tick) % break_stale_every == 0)
                return;
#endif
            if (quantize_component(world, index, component, tick, is_spawned)) changed_.set(index);
        });
    }
    if (!keeps_changed_fields_) return;
    // Computed once, because every observer of these entities needs the result.
    if (has_audiences_) changed_in_public_.clear_all();
    changed_.for_each([&](std::size_t i) {
        const auto index = static_cast<std::uint32_t>(i);
        const KindId kind = world.entities.kind_at(index);
        changed_fields_[index] = changed_since(index, kind, tick - 1);
        if (has_audiences_ && has_changed(index, layout(kind).public_fields, tick))
            changed_in_public_.set(index);
    });
}

ChangedFields FieldStore::changes_since(std::uint32_t entity_index, KindId kind,
                                        Tick baseline) const noexcept {
    ChangedFields changed;
    const auto& list = layouts_[index_of(kind)].fields;
    for (std::size_t f = 0; f < list.size(); ++f) {
        const Tick at = changed_tick(entity_index, list[f]);
        const bool is_later = at > baseline;  // branchless: the comparison is unpredictable
        changed.mask |= FieldMask{is_later} << f;
        changed.until = std::min(changed.until, is_later ? at : changed.until);
        changed.from = std::max(changed.from, is_later ? changed.from : at);
    }
    changed.mask &= ~layouts_[index_of(kind)].references;
    return changed;
}

}  // namespace purview
