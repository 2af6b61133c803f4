// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Send priority and maximum send rate of each ghost of one observer. Most ghosts have weight 1 and
// the default policy. A flag marks those with another policy.
// Invariant: a slot without the flag has the default policy. Must not depend on what waits or why.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/aligned.hpp"
#include "purview/types.hpp"
#include "replication/slot_priorities.hpp"
#include "replication/slot_words.hpp"

namespace purview {

/// Minimum send interval of a ghost, and its retention.
struct SendPolicy {
    std::uint32_t every_ticks = 1;
    Retention leave = Retention::despawn;

    bool operator==(const SendPolicy&) const noexcept = default;
};

class SendRates {
  public:
    static constexpr SendPolicy default_policy{};

    explicit SendRates(SlotBlocks& blocks) noexcept : flags_(blocks), weights_(blocks) {}
    SendRates(const SendRates&) = delete;  // blocks belong to one table
    SendRates& operator=(const SendRates&) = delete;

    const SendPolicy& policy(LocalId slot) const noexcept {
        return has_policy(slot) ? policies_[slot] : default_policy;
    }
    bool has_policy(LocalId slot) const noexcept {
        return flags_.test(&RateWords::has_policy, slot);
    }
    std::uint64_t with_policy(std::size_t word) const noexcept { return flags_[word].has_policy; }
    void set_policy(LocalId slot, const SendPolicy& policy) noexcept {
        PURVIEW_ASSERT(policy.every_ticks > 0);
        flags_.assign(&RateWords::has_policy, slot, policy != default_policy);
        if (has_policy(slot)) policies_[slot] = policy;
    }
    /// Priority weight of the ghost: relevance score times the weights of its kind and of nodes.
    float weight(LocalId slot) const noexcept { return weights_.at(slot); }
    void set_weight(LocalId slot, float weight) noexcept {
        has_weights_ = true;
        weights_.at(slot) = weight;
    }
    /// Send priority, which grows with the waiting time. `is_idle`: the ghost will not change
    /// again.
    float priority(LocalId slot, Tick now, Tick waiting_since, bool is_idle) const noexcept {
        return slot_priority(now, waiting_since, weight(slot), is_idle);
    }
    /// Computes the priorities of 64 slots and returns which of them have at least `least`.
    std::uint64_t priorities(std::size_t word, Tick now,
                             std::span<const Tick, bits_per_word> waiting_since, std::uint64_t idle,
                             float least, std::span<float, bits_per_word> out) const noexcept {
        return slot_priorities(now, waiting_since, weights_[word], idle, least, out);
    }

    /// Starts a new or a resumed ghost in the slot: weight 1, default policy.
    void begin(LocalId slot) noexcept {
        flags_.reset_all(slot);
        if (has_weights_) set_weight(slot, 1);
    }
    void release(LocalId slot) noexcept { flags_.reset_all(slot); }
    void grow(std::size_t words, std::size_t room);
    std::size_t memory_bytes() const noexcept { return policies_.size() * sizeof(SendPolicy); }

  private:
    SlotFlags<&SlotBlock::rates> flags_;
    SlotArrays<&SlotBlock::weights> weights_;
    std::vector<SendPolicy> policies_;  ///< by slot
    bool has_weights_ = false;          ///< some weight may differ from 1
};

}  // namespace purview
