// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The workload of the scene `colyseus`: the entity list of each observer, the changed values and
// the changed lists. Generated once and used by both sides.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/hash.hpp"

namespace purview::bench {

struct ListScene {
    std::uint32_t entities = 10'000;
    std::uint32_t observers = 1'000;
    std::uint32_t wanted = 200;
    std::uint32_t changed = 1'000;  ///< entities with new values per tick
    std::uint32_t churn = 0;        ///< replaced entries of each list per tick
    bool nearest = false;           ///< lists contain the nearest entities instead of random ones
    bool sixteen_bits = false;      ///< x and y quantized
    std::uint32_t ticks = 0;        ///< number of generated ticks
};

struct ListWorkload {
    struct Values {
        float x, y;
        std::uint32_t hp;
    };
    struct ValueChange {
        std::uint32_t entity;
        Values values;
    };
    struct Swap {
        std::uint32_t out, in;
    };
    explicit ListWorkload(const ListScene& scene, std::uint64_t seed = 1);

    const ValueChange* changes_of(std::uint32_t tick) const {
        return changes.data() + std::size_t{tick} * scene.changed;
    }
    const Swap* swaps_of(std::uint32_t tick, std::uint32_t observer) const {
        return swaps.data() + (std::size_t{tick} * scene.observers + observer) * scene.churn;
    }
    /// Writes everything as little-endian 32-bit words, the format that the peer reads. Returns
    /// false on failure.
    bool write(const std::string& path) const;

    ListScene scene;
    std::vector<Values> first;         ///< [entities]
    std::vector<std::uint32_t> lists;  ///< [observers][wanted], initial lists
    std::vector<ValueChange> changes;  ///< [ticks][changed]
    std::vector<Swap> swaps;           ///< [ticks][observers][churn]

  private:
    void draw_lists(SplitMix& random);
    void draw_ticks(SplitMix& random);
};

}  // namespace purview::bench
