// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What is exceptional between one observer and one entity: allowed, denied, owned, held, wanted by
// a custom node. Counted reasons,
// never masks: a reason is added and taken back, the entry goes when none is left. Found by hash;
// the pairs of an observer and of an entity are contiguous lists, never chains.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/flat_map.hpp"
#include "purview/ids.hpp"

namespace purview {

struct PairEntry {
    std::uint32_t observer = 0;  ///< index
    EntityId entity = EntityId::none;
    std::uint16_t owned =
        0;  ///< members of the entity's group that the observer owns and sees by it
    std::uint16_t owned_blind = 0;    ///< and those that he does not see by owning them
    std::uint16_t member_allows = 0;  ///< members of the entity's group that are allowed
    std::uint16_t nodes = 0;          ///< custom nodes that say yes
    bool allow = false;
    bool deny = false;
    bool held = false;              ///< no node says yes any more, and its time is not over
    std::uint32_t in_observer = 0;  ///< position in the observer's list
    std::uint32_t in_entity = 0;

    bool is_empty() const noexcept {
        return owned == 0 && owned_blind == 0 && member_allows == 0 && nodes == 0 && !allow &&
               !deny && !held;
    }
    void clear() noexcept {
        owned = owned_blind = member_allows = nodes = 0;
        allow = deny = held = false;
    }
};

class PairTable {
  public:
    static constexpr std::uint64_t key(std::uint32_t observer,
                                       std::uint32_t entity_index) noexcept {
        return (std::uint64_t{observer} << 32) | entity_index;
    }

    /// Null when nothing is exceptional about the pair. Two words of hash for strangers to pairs.
    const PairEntry* find(std::uint32_t observer, EntityId entity) const noexcept {
        if (index_.size() == 0) return nullptr;
        const std::uint32_t* at = index_.find(key(observer, index_of(entity)));
        return at == nullptr ? nullptr : &entries_[*at];
    }
    /// The entry, made where there was none. Call `settle` when the edit is done.
    PairEntry& edit(std::uint32_t observer, EntityId entity);
    /// Drops the entry when no reason is left.
    void settle(std::uint32_t observer, EntityId entity);

    /// Entities of an observer's pairs. Valid until the next edit.
    std::span<const EntityId> entities_of(std::uint32_t observer) const noexcept;
    /// Observer indices of an entity's pairs.
    std::span<const std::uint32_t> observers_of(EntityId entity) const noexcept;
    std::size_t size() const noexcept { return index_.size(); }

  private:
    FlatMap<std::uint64_t, std::uint32_t> index_;
    std::vector<PairEntry> entries_;
    std::vector<std::uint32_t> free_;
    std::vector<std::vector<EntityId>> by_observer_;
    FlatMap<std::uint32_t, std::uint32_t> entity_list_;  ///< entity index -> list
    std::vector<std::vector<std::uint32_t>> by_entity_;
    std::vector<std::uint32_t> free_lists_;
};

}  // namespace purview
