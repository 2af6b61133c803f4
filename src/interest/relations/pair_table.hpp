// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Per-observer overrides. A pair of observer and entity has an entry if the entity is allowed,
// denied, owned, held or shown by a custom node for this observer. Reasons are counted, and the
// entry is dropped when none is left. Most look-ups are for one observer after another, so each
// observer has one hash table. Each entity has a list of the observers that have an entry for it.
// The table of a removed observer is used by the next one with its index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/aligned.hpp"
#include "core/flat_map.hpp"
#include "core/prefetch.hpp"
#include "purview/status.hpp"
#include "purview/types.hpp"

namespace purview {

/// Overrides of a pair that the game sets.
enum class PairMark : std::uint8_t { allow, deny };

struct PairEntry {
    using Key = std::uint32_t;

    static constexpr std::uint32_t no_entity = ~std::uint32_t{0};

    std::uint32_t entity = no_entity;  ///< the entity's index
    std::uint32_t at = 0;     ///< position in the entity's list; exact from searched_entries on
    std::uint16_t owned = 0;  ///< owned members of the group, shown by ownership
    std::uint16_t owned_blind = 0;    ///< owned members that ownership does not show
    std::uint16_t member_allows = 0;  ///< members of the entity's group that are allowed
    std::uint16_t nodes : 13 = 0;     ///< custom nodes that show it, 4,096 at most
    std::uint16_t allow : 1 = 0;
    std::uint16_t deny : 1 = 0;  ///< written by PairTable alone, which counts them
    std::uint16_t held : 1 = 0;  ///< no node matches, but its minimum relevance time lasts

    Key key() const noexcept { return entity; }
    bool is_free() const noexcept { return entity == no_entity; }
    bool is_empty() const noexcept {
        return owned == 0 && owned_blind == 0 && member_allows == 0 && nodes == 0 && allow == 0 &&
               deny == 0 && held == 0;
    }
    bool has(PairMark mark) const noexcept { return mark == PairMark::allow ? allow : deny; }
};
static_assert(sizeof(PairEntry) == 16);  // four to a cache line

/// Returns one word for a pair. No pair has the word with all bits set.
constexpr std::uint64_t pair_key(std::uint32_t observer, EntityId entity) noexcept {
    return (std::uint64_t{observer} << 32) | index_of(entity);
}

class PairTable {
  public:
    /// Returns the entry of the pair, or null. `entity` must be alive, or its index must have no
    /// pairs: entries are stored by index, and a despawn drops them.
    const PairEntry* find(std::uint32_t observer, EntityId entity) const noexcept {
        if (observer >= by_observer_.size()) return nullptr;
        const PairEntry* entry = by_observer_[observer].find(index_of(entity));
        PURVIEW_ASSERT(entry == nullptr || find_list(entity)->entity == entity);
        return entry;
    }
    /// Prefetches the entry. Call it some look-ups ahead.
    void prefetch(std::uint32_t observer, EntityId entity) const noexcept {
        if (observer < by_observer_.size()) by_observer_[observer].prefetch(index_of(entity));
    }
    /// Calls visit(one) for each element, in order. Prefetches what an edit of the pair
    /// pair_of(one) reads, for later elements in three stages: the locations of the entry and of
    /// the entity's list, then both, then the observers in the list.
    template <class Span, class PairOf, class Visit>
    void for_each_ahead(const Span& list, PairOf&& pair_of, Visit&& visit) const {
        constexpr std::size_t owner_ahead = 24, entry_ahead = 16, list_ahead = 8;
        for (std::size_t i = 0; i < list.size(); ++i) {
            if (i + owner_ahead < list.size()) {
                const auto [observer, entity] = pair_of(list[i + owner_ahead]);
                if (observer < by_observer_.size()) prefetch_line(&by_observer_[observer]);
                if (index_of(entity) < list_of_.size()) prefetch_line(&list_of_[index_of(entity)]);
            }
            if (i + entry_ahead < list.size()) {
                const auto [observer, entity] = pair_of(list[i + entry_ahead]);
                prefetch(observer, entity);
                if (const List* its = find_list(entity)) prefetch_line(its);
            }
            if (i + list_ahead < list.size()) {
                const EntityId entity = pair_of(list[i + list_ahead]).second;
                if (const List* its = find_list(entity)) {
                    prefetch_line(its->observers.data());
                    prefetch_line(&its->observers.back());
                }
            }
            visit(list[i]);
        }
    }
    /// Returns the entry of the pair and creates it if missing. Valid until the next edit. Call
    /// `settle` when done.
    PairEntry& edit(std::uint32_t observer, EntityId entity);
    /// Drops the entry when no reason is left.
    void settle(std::uint32_t observer, EntityId entity) {
        if (const PairEntry* entry = find(observer, entity)) settle(observer, *entry);
    }
    void settle(std::uint32_t observer, const PairEntry& entry);
    /// Sets or clears a mark of an entry.
    void set(PairEntry& entry, PairMark mark, bool value) noexcept;
    /// Drops the entry of the pair.
    void drop(std::uint32_t observer, EntityId entity);

    /// Calls visit(entity, const PairEntry&) for all pairs of an observer. Nothing may be edited
    /// meanwhile.
    template <class Visit>
    void for_each_of_observer(std::uint32_t observer, Visit&& visit) const {
        if (observer >= by_observer_.size()) return;
        by_observer_[observer].for_each([&](const PairEntry& entry) {
            visit(by_entity_[list_of_[entry.entity]].entity, entry);
        });
    }
    /// Calls visit(observer, const PairEntry&) for all pairs of an entity.
    template <class Visit>
    void for_each_of_entity(EntityId entity, Visit&& visit) const {
        constexpr std::size_t ahead = 8;
        const List* list = find_list(entity);
        if (list == nullptr) return;
        const LineVector<std::uint32_t>& its = list->observers;
        for (std::size_t i = 0; i < its.size(); ++i) {
            if (i + ahead < its.size()) prefetch(its[i + ahead], entity);
            const PairEntry* entry = find(its[i], entity);
            PURVIEW_ASSERT(entry != nullptr);
            visit(its[i], *entry);
        }
    }
    std::size_t count_of_observer(std::uint32_t observer) const noexcept {
        return observer < by_observer_.size() ? by_observer_[observer].size() : 0;
    }
    bool has_any(EntityId entity) const noexcept { return find_list(entity) != nullptr; }
    /// Returns whether the entity is denied to some observer.
    bool has_denial(EntityId entity) const noexcept {
        const List* list = find_list(entity);
        return list != nullptr && list->denials > 0;
    }
    /// Returns some observer that has a pair with the entity. Requires has_any(entity).
    std::uint32_t any_observer(EntityId entity) const noexcept {
        PURVIEW_ASSERT(has_any(entity) && !find_list(entity)->observers.empty());
        return find_list(entity)->observers.back();
    }
    std::size_t size() const noexcept { return size_; }
    /// Asserts that tables and lists have the same pairs, each for some reason. O(pairs).
    void validate() const;
    /// Number of entries at the start of a list that are searched, because PairEntry::at may be out
    /// of date there. Most lists are short, and moving these entries then needs no update.
    static constexpr std::size_t searched_entries = 32;

  private:
    struct List {
        EntityId entity = EntityId::none;
        std::uint32_t denials = 0;            ///< entries that deny
        LineVector<std::uint32_t> observers;  ///< indices
    };
    static constexpr std::uint32_t no_list = ~std::uint32_t{0};
    /// Returns the entity's list, which is not empty, or null.
    const List* find_list(EntityId entity) const noexcept {
        const std::uint32_t index = index_of(entity);
        const std::uint32_t list = index < list_of_.size() ? list_of_[index] : no_list;
        return list == no_list ? nullptr : &by_entity_[list];
    }

    LineVector<FlatTable<PairEntry>> by_observer_;
    LineVector<std::uint32_t> list_of_;  ///< by entity index: in by_entity_, or no_list
    LineVector<List> by_entity_;
    std::vector<std::uint32_t> free_lists_;
    std::size_t size_ = 0;
};

}  // namespace purview
