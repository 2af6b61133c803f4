// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The world's values in wire format, and the tick of each change. Every value is quantized once per
// tick. A field has changed if its quantized value has changed. An update leaves out fields by
// their tick of change, never by comparing values with a baseline: a value may change from A to B
// and back to A while B is in flight. Must not depend on observers, ghosts or slots.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/aligned.hpp"
#include "core/bitset.hpp"
#include "core/prefetch.hpp"
#include "protocol/schema_codec.hpp"
#include "world/world_data.hpp"

namespace purview {

/// The fields that changed since a baseline, and the range of baselines with the same result.
struct ChangedFields {
    FieldMask mask = 0;
    Tick from = 0;
    Tick until = ~Tick{0};  ///< exclusive

    bool are_since(Tick baseline) const noexcept { return from <= baseline && baseline < until; }
};

class FieldStore {
  public:
    explicit FieldStore(const Schema& schema);

    /// Quantizes everything that was written in this tick and updates changed().
    void diff(const WorldData& world, Tick tick);

    /// By entity index: entities with a parent or field (references excepted) that differs from the
    /// last tick. Spawned entities are included.
    const Bitset& changed() const noexcept { return changed_; }
    /// The entities in changed() that differ in public fields (KindLayout). Empty if all components
    /// of all kinds are for everyone.
    const Bitset& changed_in_public() const noexcept { return changed_in_public_; }
    const KindLayout& layout(KindId kind) const noexcept { return layouts_[index_of(kind)]; }
    /// Returns the field's words. Valid until the next diff.
    const std::uint32_t* words(std::uint32_t entity_index, const KindField& field) const noexcept {
        return words(entity_index, field.component) + field.word;
    }
    /// Returns the words of all fields of the component.
    const std::uint32_t* words(std::uint32_t entity_index, ComponentId component) const noexcept {
        PURVIEW_ASSERT(entity_index < changed_.size());
        const Column& column = columns_[index_of(component)];
        return column.words.data() + std::size_t{entity_index} * column.word_count;
    }
    void prefetch(std::uint32_t entity_index, KindId kind) const noexcept {
        for (const KindLayout::Part& part : layout(kind).parts) {
            const Column& column = columns_[index_of(part.component)];
            prefetch_line(column.words.data() + std::size_t{entity_index} * column.word_count);
        }
    }
    /// Prefetches what changed_since reads.
    void prefetch_ticks(std::uint32_t entity_index, KindId kind) const noexcept {
        prefetch_line(&parent_ticks_[entity_index]);
        for (const KindLayout::Part& part : layout(kind).parts) {
            const Column& column = columns_[index_of(part.component)];
            prefetch_line(column.ticks.data() + std::size_t{entity_index} * column.field_count);
        }
    }
    Tick changed_tick(std::uint32_t entity_index, const KindField& field) const noexcept {
        PURVIEW_ASSERT(entity_index < changed_.size());
        const Column& column = columns_[index_of(field.component)];
        return column.ticks[std::size_t{entity_index} * column.field_count + field.field];
    }
    /// Values outside the range of their field, which are sent as the nearest end of the range.
    /// Each change to such a value counts.
    struct Clamped {
        std::uint64_t values = 0;
        EntityId entity = EntityId::none;  ///< the last entity with such a value
        ComponentId component = ComponentId::none;
        std::uint32_t components = 0;                          ///< ever clamped, a bit each
        std::array<EntityId, Schema::components_max> first{};  ///< by component
    };
    const Clamped& clamped() const noexcept { return clamped_; }
    /// A reference of a live entity that changed its target in this tick.
    struct ReferenceChange {
        EntityId referrer;
        ComponentId component;  ///< the component with the reference
        EntityId before;
        EntityId now;
    };
    /// Reference changes of the last diff. Whether an observer receives a reference change depends
    /// on its relevant set, so changed_since does not count references.
    std::span<const ReferenceChange> reference_changes() const noexcept {
        return reference_changes_;
    }
    bool has_references() const noexcept { return has_references_; }
    bool has_extrapolated() const noexcept { return has_extrapolated_; }
    /// Returns the entities that refer to `target`, each once. The list may also contain entities
    /// that no longer do, or that refer to an earlier entity with the same index: check with
    /// has_reference_to. Valid until the next diff.
    std::span<const EntityId> referrers_of(const WorldData& world, EntityId target);
    /// Returns whether the referrer refers to the target in one of these fields of its kind.
    bool has_reference_to(const WorldData& world, EntityId referrer, EntityId target,
                          FieldMask fields) const noexcept {
        return has_reference_to(world, referrer, index_of(target), generation_of(target), fields);
    }
    /// Returns the tick of the last change of the entity's parent within its group; 0: never.
    Tick parent_tick(std::uint32_t entity_index) const noexcept {
        return entity_index < parent_ticks_.size() ? parent_ticks_[entity_index] : 0;
    }
    /// Returns whether the last diff changed the entity's parent or one of these fields. The entity
    /// must be in changed(), and its kind must have audiences or extrapolated fields.
    bool has_changed(std::uint32_t entity_index, FieldMask fields, Tick tick) const noexcept {
        PURVIEW_ASSERT(keeps_changed_fields_ && changed_.test(entity_index));
        return parent_ticks_[entity_index] == tick || (changed_fields_[entity_index] & fields) != 0;
    }
    /// Returns the fields that changed after `baseline`, references excepted.
    FieldMask changed_since(std::uint32_t entity_index, KindId kind, Tick baseline) const noexcept {
        return changes_since(entity_index, kind, baseline).mask;
    }
    ChangedFields changes_since(std::uint32_t entity_index, KindId kind,
                                Tick baseline) const noexcept;

    /// Test builds: ignores every n-th change (PURVIEW_BREAKABLE).
    std::uint32_t break_stale_every = 0;

  private:
    struct Column {
        std::size_t field_count = 0;
        std::size_t word_count = 0;
        LineVector<std::uint32_t> words;  ///< [entities][words]
        LineVector<Tick> ticks;           ///< [entities][fields]
    };
    void grow(std::uint32_t entities);
    void record_clamped(EntityId entity, ComponentId component);
    void add_referrer(const WorldData& world, EntityId referrer, std::uint32_t target_index);
    /// `generation` 0: any.
    bool has_reference_to(const WorldData& world, EntityId referrer, std::uint32_t target_index,
                          std::uint32_t generation, FieldMask among) const noexcept;
    void prune_referrers(const WorldData& world, std::uint32_t target_index);
    bool quantize_component(const WorldData& world, std::uint32_t index, ComponentId component,
                            Tick tick, bool all);

    const Schema* schema_;
    std::vector<KindLayout> layouts_;
    std::vector<Column> columns_;
    bool has_references_ = false;
    bool keeps_changed_fields_ = false;
    bool has_audiences_ = false;
    bool has_extrapolated_ = false;
    /// By index of the target: entities that may refer to it.
    std::vector<std::vector<EntityId>> referrers_;
    Bitset read_since_diff_;  ///< by index of the target: its list was pruned since the last diff
    std::vector<ReferenceChange> reference_changes_;
    Clamped clamped_;
    LineVector<Tick> parent_ticks_;
    std::vector<EntityId> parents_;  ///< by entity index: as of the last diff
    Bitset changed_;
    Bitset changed_in_public_;
    LineVector<FieldMask> changed_fields_;  ///< by entity index, if keeps_changed_fields_
    Bitset spawned_;
};

}  // namespace purview
