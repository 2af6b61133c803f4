// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Brute force over a rule of the scene's own: every entity asked about, for every observer. Slow,
// and obviously right; scenes without a packaged peer are compared with it.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "engine.hpp"

namespace purview::bench {

/// What the scene changes besides places, before the moves of each tick (from 1 on).
using WhatIf = std::function<void(std::uint32_t tick)>;

/// judge(observer, its place, entity, its place): relevant?
template <class Judge>
class BruteRule final : public Engine {
  public:
    BruteRule(Judge judge, WhatIf change) : judge_(std::move(judge)), change_(std::move(change)) {}
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
                if (judge_(o, positions_[o], e, positions_[e])) out.push_back(e);
            }
            sets_.compare(o);
        }
    }
    void for_each_event(const Tell& tell) const override { sets_.for_each_event(tell); }
    void for_each_relevant(std::uint32_t o, const Visit& visit) const override {
        sets_.for_each_relevant(o, visit);
    }

  private:
    Judge judge_;
    WhatIf change_;
    std::uint32_t tick_ = 0;
    std::uint32_t observers_ = 0;
    std::vector<Vec3> positions_;
    SortedSets sets_;
};

template <class Judge>
std::unique_ptr<Engine> make_brute(Judge judge, WhatIf change = {}) {
    return std::make_unique<BruteRule<Judge>>(std::move(judge), std::move(change));
}

inline float squared_distance(Vec3 a, Vec3 b) {
    const float dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z;
    return dx * dx + dy * dy + dz * dz;
}

}  // namespace purview::bench
