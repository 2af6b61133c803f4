// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Brute force over the rule of a scene: evaluates every entity for every observer. It is slow and
// obviously correct, and the reference for scenes without a packaged peer.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "tested_engine.hpp"

namespace purview::bench {

/// Changes of a scene besides positions, applied before the moves of each tick (from 1 on).
using SceneChange = std::function<void(std::uint32_t tick)>;

/// `evaluate(observer, its position, entity, its position)` returns whether the entity is relevant.
template <class Matcher>
class BruteRule final : public Engine {
  public:
    BruteRule(Matcher evaluate, SceneChange change)
        : evaluate_(std::move(evaluate)), change_(std::move(change)) {}
    void load(const Workload& workload, std::uint32_t observers) override {
        positions_.assign(workload.positions().begin(), workload.positions().end());
        observers_ = observers;
        sets_.reset(observers);
    }
    void update(std::span<const Move> moves) override {
        ++tick_;
        if (change_) change_(tick_);
        for (const Move& m : moves) positions_[index_of(m.entity)] = m.position;
    }
    void query() override {
        sets_.begin_tick();
        for (std::uint32_t o = 0; o < observers_; ++o) {
            auto& out = sets_.fresh(o);
            for (std::uint32_t e = 0; e < positions_.size(); ++e) {
                if (evaluate_(o, positions_[o], e, positions_[e])) out.push_back(e);
            }
            sets_.compare(o);
        }
    }
    void for_each_event(const Notify& notify) const override { sets_.for_each_event(notify); }
    void for_each_relevant(std::uint32_t o, const Visit& visit) const override {
        sets_.for_each_relevant(o, visit);
    }

  private:
    Matcher evaluate_;
    SceneChange change_;
    std::uint32_t tick_ = 0;
    std::uint32_t observers_ = 0;
    std::vector<Vec3> positions_;
    SortedSets sets_;
};

template <class Matcher>
std::unique_ptr<Engine> make_brute(Matcher evaluate, SceneChange change = {}) {
    return std::make_unique<BruteRule<Matcher>>(std::move(evaluate), std::move(change));
}

inline float squared_distance(Vec3 a, Vec3 b) {
    const float dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z;
    return dx * dx + dy * dy + dz * dz;
}

}  // namespace purview::bench
