// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The workload of the scene `colyseus`: who has which entities on his list, what changes, and whose
// lists change; drawn once, and handed to both sides.
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
    std::uint32_t changed = 1'000;  ///< entities that get new values in a tick
    std::uint32_t churn = 0;        ///< entries of each list that are replaced in a tick
    bool nearest = false;           ///< lists are the nearest ones instead of random ones
    bool sixteen_bits = false;      ///< x and y quantised
    std::uint32_t ticks = 0;        ///< that are drawn
};

struct ListWorkload {
    struct Values {
        float x, y;
        std::uint32_t hp;
    };
    struct WhatIf {
        std::uint32_t entity;
        Values values;
    };
    struct Swap {
        std::uint32_t out, in;
    };
    explicit ListWorkload(const ListScene& scene, std::uint64_t seed = 1);

    const WhatIf* changes_of(std::uint32_t tick) const {
        return changes.data() + std::size_t{tick} * scene.changed;
    }
    const Swap* swaps_of(std::uint32_t tick, std::uint32_t observer) const {
        return swaps.data() + (std::size_t{tick} * scene.observers + observer) * scene.churn;
    }
    /// All of it as little-endian words of four bytes, as the peer reads it. False: not written.
    bool write(const std::string& path) const;

    ListScene scene;
    std::vector<Values> first;         ///< [entities]
    std::vector<std::uint32_t> lists;  ///< [observers][wanted], as they are at first
    std::vector<WhatIf> changes;       ///< [ticks][changed]
    std::vector<Swap> swaps;           ///< [ticks][observers][churn]

  private:
    void draw_lists(SplitMix& random);
    void draw_ticks(SplitMix& random);
};

}  // namespace purview::bench
