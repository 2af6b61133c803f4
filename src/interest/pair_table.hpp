// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What is exceptional between one observer and one entity: allowed, denied, owned, held, wanted by
// a custom node. Counted reasons, never masks: a reason is added and taken back, the entry goes
// when none is left. Found by hash in a table for each observer, as questions come observer by
// observer; what an observer has left of its table is the next one's with the same index. The pairs
// of an observer and of an entity are contiguous lists, never chains.
#pragma once

#include <cstdint>
#include <vector>

#include "core/aligned.hpp"
#include "core/flat_map.hpp"
#include "core/prefetch.hpp"
#include "purview/ids.hpp"
#include "spatial/block_table.hpp"

namespace purview {

struct PairEntry {
    EntityId entity = EntityId::none;
    std::uint32_t observer = 0;     ///< index
    std::uint32_t in_observer = 0;  ///< position in the observer's list
    std::uint32_t in_entity = 0;
    std::uint16_t owned =
        0;  ///< members of the entity's group that the observer owns and sees by it
    std::uint16_t owned_blind = 0;    ///< and those that he does not see by owning them
    std::uint16_t member_allows = 0;  ///< members of the entity's group that are allowed
    std::uint16_t nodes = 0;          ///< custom nodes that say yes
    bool allow = false;
    bool deny = false;
    bool held = false;  ///< no node says yes any more, and its time is not over

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

    /// Null when nothing is exceptional about the pair.
    const PairEntry* find(std::uint32_t observer, EntityId entity) const noexcept {
        if (!may_be_there(observer, entity)) return nullptr;
        const std::uint32_t* at = by_observer_[observer].index.find(index_of(entity));
        return at == nullptr ? nullptr : &entries_[*at];
    }
    /// Of many that are looked up one after the other: first where an entry is, then the entry.
    void prefetch(std::uint32_t observer, EntityId entity) const noexcept {
        if (may_be_there(observer, entity)) by_observer_[observer].index.prefetch(index_of(entity));
    }
    void prefetch_entry(std::uint32_t observer, EntityId entity) const noexcept {
        const PairEntry* entry = find(observer, entity);
        if (entry != nullptr) prefetch_line(entry);
    }
    /// visit(one) for each, in order, while what an edit of pair_of(one) touches is fetched for
    /// those that come later: the observer, then the index and the lists, then the entry and the
    /// ends of its lists, then the entries that stand there.
    template <class Span, class PairOf, class Visit>
    void for_each_ahead(const Span& list, PairOf&& pair_of, Visit&& visit) const {
        constexpr std::size_t owner_ahead = 24, index_ahead = 16, entry_ahead = 10, last_ahead = 5;
        for (std::size_t i = 0; i < list.size(); ++i) {
            if (i + owner_ahead < list.size()) {
                const auto [observer, entity] = pair_of(list[i + owner_ahead]);
                if (observer < by_observer_.size()) prefetch_line(&by_observer_[observer]);
                if (index_of(entity) < list_of_.size()) prefetch_line(&list_of_[index_of(entity)]);
            }
            if (i + index_ahead < list.size()) {
                const auto [observer, entity] = pair_of(list[i + index_ahead]);
                prefetch(observer, entity);
                for_lists(observer, entity, [](const List& ids) { prefetch_line(&ids); });
            }
            if (i + entry_ahead < list.size()) {
                const auto [observer, entity] = pair_of(list[i + entry_ahead]);
                prefetch_entry(observer, entity);
                for_ends(observer, entity,
                         [](const List& ids) { prefetch_line(ids.data() + ids.size() - 1); });
            }
            if (i + last_ahead < list.size()) {
                const auto [observer, entity] = pair_of(list[i + last_ahead]);
                for_ends(observer, entity,
                         [&](const List& ids) { prefetch_line(&entries_[ids.back()]); });
            }
            visit(list[i]);
        }
    }
    /// The entry, made where there was none. Call `settle` when the edit is done.
    PairEntry& edit(std::uint32_t observer, EntityId entity);
    /// Drops the entry when no reason is left.
    void settle(std::uint32_t observer, EntityId entity) {
        if (const PairEntry* entry = find(observer, entity)) settle(*entry);
    }
    void settle(const PairEntry& entry);

    /// Pairs of an observer, or of an entity: visit(const PairEntry&). Nothing is edited meanwhile.
    template <class Visit>
    void for_each_of_observer(std::uint32_t observer, Visit&& visit) const {
        if (observer < by_observer_.size()) for_each(by_observer_[observer].ids, visit);
    }
    template <class Visit>
    void for_each_of_entity(EntityId entity, Visit&& visit) const {
        if (const List* list = find_list(entity)) for_each(*list, visit);
    }
    /// One of them, or null.
    const PairEntry* any_of_observer(std::uint32_t observer) const noexcept {
        const bool has_any = observer < by_observer_.size() && !by_observer_[observer].ids.empty();
        return has_any ? &entries_[by_observer_[observer].ids.front()] : nullptr;
    }
    const PairEntry* any_of_entity(EntityId entity) const noexcept {
        const List* list = find_list(entity);
        return list != nullptr ? &entries_[list->front()] : nullptr;
    }
    std::size_t size() const noexcept { return entries_.size() - free_.size(); }

  private:
    /// Ids may be anything.
    bool may_be_there(std::uint32_t observer, EntityId entity) const noexcept {
        return observer < by_observer_.size() && index_of(entity) < entity_index_end;
    }

    using List = std::vector<std::uint32_t>;  ///< positions in entries_
    struct alignas(cache_line_bytes) OfObserver {
        FlatMap<std::uint32_t, std::uint32_t> index;  ///< entity index -> position in entries_
        List ids;
    };

    static constexpr std::uint32_t no_list = ~std::uint32_t{0};
    /// Null, or not empty.
    const List* find_list(EntityId entity) const noexcept {
        const std::uint32_t index = index_of(entity);
        const std::uint32_t list = index < list_of_.size() ? list_of_[index] : no_list;
        return list == no_list ? nullptr : &by_entity_[list];
    }

    template <class Visit>
    void for_each(const List& list, Visit&& visit) const {
        constexpr std::size_t ahead = 8;
        for (std::size_t i = 0; i < list.size(); ++i) {
            if (i + ahead < list.size()) prefetch_line(&entries_[list[i + ahead]]);
            visit(entries_[list[i]]);
        }
    }

    /// The lists that a pair is in, or would be. Ids may be anything.
    template <class Visit>
    void for_lists(std::uint32_t observer, EntityId entity, Visit&& visit) const {
        if (observer < by_observer_.size()) visit(by_observer_[observer].ids);
        if (const List* list = find_list(entity)) visit(*list);
    }
    /// The same of those that are not empty.
    template <class Visit>
    void for_ends(std::uint32_t observer, EntityId entity, Visit&& visit) const {
        for_lists(observer, entity, [&](const List& ids) {
            if (!ids.empty()) visit(ids);
        });
    }

    LineVector<PairEntry> entries_;
    std::vector<std::uint32_t> free_;
    std::vector<OfObserver> by_observer_;
    std::vector<std::uint32_t> list_of_;  ///< by entity index: in by_entity_, or no_list
    std::vector<List> by_entity_;
    std::vector<std::uint32_t> free_lists_;
};

}  // namespace purview
