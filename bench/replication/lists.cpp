// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/lists.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <numeric>

namespace purview::bench {

namespace {

constexpr float side = 1000;

ListWorkload::Values draw(SplitMix& random) {
    const float x = random.between(0, side);
    const float y = random.between(0, side);
    return {x, y, random.below(1000)};
}

/// Moves a random choice of `count` elements to the front of `pool`.
void choose(std::vector<std::uint32_t>& pool, std::uint32_t count, SplitMix& random) {
    for (std::uint32_t i = 0; i < count; ++i) {
        std::swap(pool[i], pool[i + random.below(static_cast<std::uint32_t>(pool.size()) - i)]);
    }
}

}  // namespace

ListWorkload::ListWorkload(const ListScene& of, std::uint64_t seed) : scene(of) {
    SplitMix random(seed);
    for (std::uint32_t e = 0; e < scene.entities; ++e) first.push_back(draw(random));
    draw_lists(random);
    draw_ticks(random);
}

void ListWorkload::draw_lists(SplitMix& random) {
    std::vector<std::uint32_t> pool(scene.entities);
    std::iota(pool.begin(), pool.end(), 0U);
    for (std::uint32_t o = 0; o < scene.observers; ++o) {
        if (scene.nearest) {
            const float x = random.between(0, side), y = random.between(0, side);
            const auto distance = [&](std::uint32_t e) {
                const float dx = first[e].x - x, dy = first[e].y - y;
                return dx * dx + dy * dy;
            };
            std::nth_element(pool.begin(), pool.begin() + scene.wanted, pool.end(),
                             [&](std::uint32_t a, std::uint32_t b) {
                                 const float da = distance(a), db = distance(b);
                                 return da != db ? da < db : a < b;
                             });
        } else {
            choose(pool, scene.wanted, random);
        }
        lists.insert(lists.end(), pool.begin(), pool.begin() + scene.wanted);
    }
}

void ListWorkload::draw_ticks(SplitMix& random) {
    std::vector<std::uint32_t> pool(scene.entities);
    std::iota(pool.begin(), pool.end(), 0U);
    std::vector<std::uint32_t> now = lists;
    std::vector<bool> listed(std::size_t{scene.observers} * scene.entities);
    for (std::size_t i = 0; i < now.size(); ++i) {
        listed[i / scene.wanted * scene.entities + now[i]] = true;
    }
    for (std::uint32_t t = 0; t < scene.ticks; ++t) {
        choose(pool, scene.changed, random);
        for (std::uint32_t i = 0; i < scene.changed; ++i) {
            changes.push_back({pool[i], draw(random)});
        }
        for (std::uint32_t i = 0; i < scene.observers * scene.churn; ++i) {
            const std::uint32_t o = i / scene.churn;
            // One entry of each part of the list, so that no entry is replaced twice in a tick.
            const std::uint32_t part = scene.wanted / scene.churn;
            const std::uint32_t at = (i % scene.churn) * part + random.below(part);
            std::uint32_t& entry = now[std::size_t{o} * scene.wanted + at];
            const std::size_t row = std::size_t{o} * scene.entities;
            std::uint32_t fresh = random.below(scene.entities);
            while (listed[row + fresh]) fresh = random.below(scene.entities);
            swaps.push_back({entry, fresh});
            // A removed entity must not return in the same tick, so it stays marked until the tick
            // ends.
            listed[row + fresh] = true;
            entry = fresh;
        }
        for (std::size_t i = swaps.size() - std::size_t{scene.observers} * scene.churn;
             i < swaps.size(); ++i) {
            const std::size_t o = (i / scene.churn) % scene.observers;
            listed[o * scene.entities + swaps[i].out] = false;
        }
    }
}

bool ListWorkload::write(const std::string& path) const {
    std::ofstream out(path, std::ios::binary);
    const std::uint32_t head[] = {scene.entities, scene.observers, scene.wanted,
                                  scene.changed,  scene.churn,     scene.sixteen_bits ? 1U : 0U,
                                  scene.ticks};
    const auto put = [&](const void* data, std::size_t bytes) {
        out.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
    };
    put(head, sizeof head);
    put(first.data(), first.size() * sizeof(Values));
    put(lists.data(), lists.size() * sizeof(std::uint32_t));
    put(changes.data(), changes.size() * sizeof(ValueChange));
    put(swaps.data(), swaps.size() * sizeof(Swap));
    return out.good();
}

}  // namespace purview::bench
