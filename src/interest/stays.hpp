// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Minimum stay: until when a pair that nodes made relevant stays so. Must not know: why it would
// leave.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/flat_map.hpp"
#include "interest/pair_table.hpp"
#include "purview/ids.hpp"

namespace purview {

class Stays {
  public:
    struct Stay {
        EntityId entity = EntityId::none;
        Tick from = 0;
        Tick until = 0;  ///< the first tick in which it may leave
    };
    void begin(std::uint32_t observer, EntityId unit, Tick now, std::uint32_t ticks) {
        const Tick until = later(now, ticks);
        by_pair_[pair_key(observer, unit)] = {unit, now, until};
        constexpr std::size_t few = 64;
        if (queue_.size() > 2 * by_pair_.size() + few) forget_ended();
        queue_.push_back({observer, now, unit, until});
    }
    /// Null: it has none.
    const Stay* find(std::uint32_t observer, EntityId unit) const noexcept {
        if (by_pair_.size() == 0) return nullptr;
        const Stay* stay = by_pair_.find(pair_key(observer, unit));
        return stay != nullptr && stay->entity == unit ? stay : nullptr;
    }
    void end(std::uint32_t observer, EntityId unit) {
        if (find(observer, unit) != nullptr) by_pair_.erase(pair_key(observer, unit));
    }
    /// visit(observer, unit) for all that end with this tick or before it, in the order in which
    /// they began.
    template <class Visit>
    void expire(Tick now, Visit&& visit) {
        while (begin_ < queue_.size() && queue_[begin_].until <= now) {
            const Entry entry = queue_[begin_++];
            if (!is_its_end(entry)) continue;  // begun anew since
            end(entry.observer, entry.unit);
            visit(entry.observer, entry.unit);
        }
        if (begin_ * 2 > queue_.size()) {
            queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(begin_));
            begin_ = 0;
        }
    }
    /// From now on nobody stays for longer than so many ticks, counted from when he came.
    void shorten(std::uint32_t ticks) {
        for (std::size_t i = begin_; i < queue_.size(); ++i) {
            Entry& entry = queue_[i];
            if (!is_its_end(entry)) {
                entry.until = 0;  // begun anew since
                continue;
            }
            Stay* stay = by_pair_.find(pair_key(entry.observer, entry.unit));
            entry.until = stay->until = std::min(stay->until, later(stay->from, ticks));
        }
    }
    std::size_t size() const noexcept { return by_pair_.size(); }
    /// Ends that are waited for: of pairs that began anew some twice, but no more than that.
    std::size_t ends() const noexcept { return queue_.size(); }

  private:
    static constexpr Tick later(Tick now, std::uint32_t ticks) noexcept {
        return now > std::numeric_limits<Tick>::max() - ticks ? std::numeric_limits<Tick>::max()
                                                              : now + ticks;
    }
    struct Entry {
        std::uint32_t observer;
        Tick from;
        EntityId unit;
        Tick until;
    };
    /// False: its pair has ended, or begun anew since.
    bool is_its_end(const Entry& entry) const noexcept {
        const Stay* stay = find(entry.observer, entry.unit);
        return stay != nullptr && stay->from == entry.from && stay->until == entry.until;
    }
    void forget_ended() {
        std::erase_if(queue_, [&](const Entry& entry) { return !is_its_end(entry); });
        begin_ = 0;
    }
    FlatMap<std::uint64_t, Stay> by_pair_;
    std::vector<Entry> queue_;
    std::size_t begin_ = 0;
};

}  // namespace purview
