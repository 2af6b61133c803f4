// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What is exceptional between one observer and one entity: allowed, denied, owned, held, wanted by
// a custom node. Counted reasons, never masks: a reason is added and taken back, the entry goes
// when none is left. An observer's pairs are one hash table, as questions come observer by
// observer; of an entity there is a list of the observers that have a pair with it. What an
// observer has left of its table is the next one's with the same index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/aligned.hpp"
#include "core/flat_map.hpp"
#include "core/prefetch.hpp"
#include "purview/ids.hpp"

namespace purview {

struct PairEntry {
    using Key = std::uint32_t;

    EntityId entity = EntityId::none;
    std::uint32_t observer = 0;   ///< index
    std::uint32_t in_entity = 0;  ///< position in the entity's list
    std::uint16_t owned = 0;      ///< members of the entity's group that he owns and sees by owning
    std::uint16_t owned_blind = 0;    ///< and those that he does not see by owning them
    std::uint16_t member_allows = 0;  ///< members of the entity's group that are allowed
    std::uint16_t nodes = 0;          ///< custom nodes that say yes
    bool allow = false;
    bool deny = false;
    bool held = false;  ///< no node says yes any more, and its time is not over

    Key key() const noexcept { return index_of(entity); }
    bool is_free() const noexcept { return entity == EntityId::none; }
    bool is_empty() const noexcept {
        return owned == 0 && owned_blind == 0 && member_allows == 0 && nodes == 0 && !allow &&
               !deny && !held;
    }
    void clear() noexcept {
        owned = owned_blind = member_allows = nodes = 0;
        allow = deny = held = false;
    }
};
static_assert(sizeof(PairEntry) == 32);  // two to a cache line

class PairTable {
  public:
    static constexpr std::uint64_t key(std::uint32_t observer,
                                       std::uint32_t entity_index) noexcept {
        return (std::uint64_t{observer} << 32) | entity_index;
    }

    /// Null when nothing is exceptional about the pair. Ids may be anything.
    const PairEntry* find(std::uint32_t observer, EntityId entity) const noexcept {
        return observer < by_observer_.size() ? by_observer_[observer].find(index_of(entity))
                                              : nullptr;
    }
    /// Before many are looked up one after the other.
    void prefetch(std::uint32_t observer, EntityId entity) const noexcept {
        if (observer < by_observer_.size()) by_observer_[observer].prefetch(index_of(entity));
    }
    /// visit(one) for each, in order, while what an edit of pair_of(one) touches is fetched for
    /// those that come later: where the entry and the entity's list are, then both, then whose
    /// place in that list changes.
    template <class Span, class PairOf, class Visit>
    void for_each_ahead(const Span& list, PairOf&& pair_of, Visit&& visit) const {
        constexpr std::size_t owner_ahead = 24, entry_ahead = 16, list_ahead = 10, last_ahead = 5;
        const auto ahead = [&](std::size_t at, auto&& fetch) {
            if (at >= list.size()) return;
            const auto [observer, entity] = pair_of(list[at]);
            fetch(observer, entity, find_list(entity));
        };
        for (std::size_t i = 0; i < list.size(); ++i) {
            if (i + owner_ahead < list.size()) {
                const auto [observer, entity] = pair_of(list[i + owner_ahead]);
                if (observer < by_observer_.size()) prefetch_line(&by_observer_[observer]);
                if (index_of(entity) < list_of_.size()) prefetch_line(&list_of_[index_of(entity)]);
            }
            ahead(i + entry_ahead, [&](std::uint32_t observer, EntityId entity, const List* its) {
                prefetch(observer, entity);
                if (its != nullptr) prefetch_line(its);
            });
            ahead(i + list_ahead, [](std::uint32_t, EntityId, const List* its) {
                if (its != nullptr) prefetch_line(its->data() + its->size() - 1);
            });
            ahead(i + last_ahead, [&](std::uint32_t, EntityId entity, const List* its) {
                if (its != nullptr) prefetch(its->back(), entity);
            });
            visit(list[i]);
        }
    }
    /// The entry, made where there was none; it stands there until the next edit. Call `settle`
    /// when this one is done.
    PairEntry& edit(std::uint32_t observer, EntityId entity);
    /// Drops the entry when no reason is left.
    void settle(std::uint32_t observer, EntityId entity) {
        if (const PairEntry* entry = find(observer, entity)) settle(*entry);
    }
    void settle(const PairEntry& entry);

    /// Pairs of an observer, or of an entity: visit(const PairEntry&). Nothing is edited meanwhile.
    template <class Visit>
    void for_each_of_observer(std::uint32_t observer, Visit&& visit) const {
        if (observer < by_observer_.size()) by_observer_[observer].for_each(visit);
    }
    template <class Visit>
    void for_each_of_entity(EntityId entity, Visit&& visit) const {
        constexpr std::size_t ahead = 8;
        const List* list = find_list(entity);
        for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
            if (i + ahead < list->size()) prefetch((*list)[i + ahead], entity);
            visit(*find((*list)[i], entity));
        }
    }
    std::size_t count_of_observer(std::uint32_t observer) const noexcept {
        return observer < by_observer_.size() ? by_observer_[observer].size() : 0;
    }
    /// One of them, or null.
    const PairEntry* any_of_entity(EntityId entity) const noexcept {
        const List* list = find_list(entity);
        return list != nullptr ? find(list->back(), entity) : nullptr;
    }
    std::size_t size() const noexcept { return size_; }

  private:
    using List = LineVector<std::uint32_t>;  ///< indices of observers
    static constexpr std::uint32_t no_list = ~std::uint32_t{0};
    /// Null, or not empty.
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
