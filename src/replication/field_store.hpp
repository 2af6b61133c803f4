// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What the world's values are on the wire, and since when. Every value is quantised once per tick;
// a field has changed when its quantised value has. Fields are left out of an update by their tick
// of change, never by comparing values with a baseline: a value may go A, B, A while B is under
// way. Must not know: observers, ghosts, slots.
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

/// What has changed since a baseline, and the baselines since which the same has.
struct ChangedFields {
    FieldMask mask = 0;
    Tick from = 0;
    Tick until = ~Tick{0};  ///< not included

    bool are_since(Tick baseline) const noexcept { return from <= baseline && baseline < until; }
};

class FieldStore {
  public:
    explicit FieldStore(const Schema& schema);

    /// Quantises everything written this tick. Afterwards changed() names the entities that differ.
    void diff(const WorldData& world, Tick tick);

    /// By entity index: differs from last tick in a field (references aside) or in its parent.
    /// Spawned ones count.
    const Bitset& changed() const noexcept { return changed_; }
    /// Of these, those that differ in what is told to who is nobody in particular; empty where no
    /// kind has parts for some only.
    const Bitset& changed_in_public() const noexcept { return changed_in_public_; }
    const KindLayout& layout(KindId kind) const noexcept { return layouts_[index_of(kind)]; }
    /// The field's words; valid until the next diff.
    const std::uint32_t* words(std::uint32_t entity_index, const KindField& field) const noexcept {
        return words(entity_index, field.component) + field.word;
    }
    /// Those of all fields of the component.
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
    /// What changed_since asks.
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
    /// Numbers that are told as the end of their range, because they lie beyond it: one more
    /// whenever a field comes to its end so.
    struct Clamped {
        std::uint64_t values = 0;
        EntityId entity = EntityId::none;  ///< the last of them
        ComponentId component = ComponentId::none;
        std::uint32_t components = 0;                          ///< all that ever were, a bit each
        std::array<EntityId, Schema::components_max> first{};  ///< by component
    };
    const Clamped& clamped() const noexcept { return clamped_; }
    /// A reference of a live entity that names somebody else since this tick.
    struct ReferenceChange {
        EntityId referrer;
        ComponentId component;  ///< that the reference is in
        EntityId before;
        EntityId now;
    };
    /// Of the last diff. Who is told of one depends on whom he sees (changed_since does not count
    /// references).
    std::span<const ReferenceChange> reference_changes() const noexcept {
        return reference_changes_;
    }
    bool has_references() const noexcept { return has_references_; }
    bool has_extrapolated() const noexcept { return has_extrapolated_; }
    /// The entities that name this one in a reference, each once, and some that do not, or name
    /// whoever had its index before: does_name says which. Until the next diff.
    std::span<const EntityId> referrers_of(const WorldData& world, EntityId target);
    /// It does so in one of these fields of its kind.
    bool does_name(const WorldData& world, EntityId referrer, EntityId target,
                   FieldMask fields) const noexcept {
        return does_name(world, referrer, index_of(target), generation_of(target), fields);
    }
    /// Tick of the last change of its parent within its group; 0: never.
    Tick parent_tick(std::uint32_t entity_index) const noexcept {
        return entity_index < parent_ticks_.size() ? parent_ticks_[entity_index] : 0;
    }
    /// Of one in changed() whose kind has audiences or extrapolated fields: its parent changed in
    /// the last diff, or one of these fields did.
    bool has_changed(std::uint32_t entity_index, FieldMask fields, Tick tick) const noexcept {
        PURVIEW_ASSERT(keeps_changed_fields_ && changed_.test(entity_index));
        return parent_ticks_[entity_index] == tick || (changed_fields_[entity_index] & fields) != 0;
    }
    /// Fields that changed after `baseline`, references aside.
    FieldMask changed_since(std::uint32_t entity_index, KindId kind, Tick baseline) const noexcept {
        return changes_since(entity_index, kind, baseline).mask;
    }
    ChangedFields changes_since(std::uint32_t entity_index, KindId kind,
                                Tick baseline) const noexcept;

    /// Test builds: spoil one thing (PURVIEW_BREAKABLE).
    std::uint32_t break_stale_every = 0;

  private:
    struct Column {
        std::size_t field_count = 0;
        std::size_t word_count = 0;
        LineVector<std::uint32_t> words;  ///< [entities][words]
        LineVector<Tick> ticks;           ///< [entities][fields]
    };
    void grow(std::uint32_t entities);
    void note_clamped(EntityId entity, ComponentId component);
    void add_referrer(const WorldData& world, EntityId referrer, std::uint32_t target_index);
    /// `generation` 0: whichever.
    bool does_name(const WorldData& world, EntityId referrer, std::uint32_t target_index,
                   std::uint32_t generation, FieldMask among) const noexcept;
    void forget_former(const WorldData& world, std::uint32_t target_index);
    bool quantize_component(const WorldData& world, std::uint32_t index, ComponentId component,
                            Tick tick, bool all);

    const Schema* schema_;
    std::vector<KindLayout> layouts_;
    std::vector<Column> columns_;
    bool has_references_ = false;
    bool keeps_changed_fields_ = false;
    bool has_audiences_ = false;
    bool has_extrapolated_ = false;
    /// By index of the entity that is named, or was: who may name it.
    std::vector<std::vector<EntityId>> referrers_;
    Bitset asked_since_diff_;  ///< by the same index: former ones are forgotten
    std::vector<ReferenceChange> reference_changes_;
    Clamped clamped_;
    LineVector<Tick> parent_ticks_;
    std::vector<EntityId> parents_;  ///< by entity index: as of the last diff
    Bitset changed_;
    Bitset changed_in_public_;
    LineVector<FieldMask> changed_fields_;  ///< by entity index, if they are kept
    Bitset spawned_;
};

}  // namespace purview
