// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/rules/evaluate.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <memory>
#include <vector>

#include "interest/rules/interest_kernel.hpp"
#include "purview/interest.hpp"

namespace purview {

namespace {

/// Matches everything with one score.
class FixedScore final : public InterestKernel {
  public:
    explicit FixedScore(float score) : score_(score) {}
    void test(const KernelQuery& query, std::span<Mask> out,
              std::span<Mask>) const noexcept override {
        for (std::size_t i = 0; i < query.blocks.size(); ++i) out[i] = all_lanes;
    }
    std::string describe(const KernelQuery&, unsigned) const override { return "fixed"; }
    void score(const KernelQuery&, std::span<const Mask>,
               std::span<float> out) const noexcept override {
        for (float& one : out) one = score_;
    }

  private:
    float score_;
};

}  // namespace

TEST_CASE("scores: scores of custom kernels are clamped to above 0 and at most 1") {
    constexpr float infinite = std::numeric_limits<float>::infinity();
    constexpr float none = std::numeric_limits<float>::quiet_NaN();
    for (const auto& [returned, expected] :
         std::vector<std::pair<float, float>>{{0.25F, 0.25F},
                                              {1, 1},
                                              {7, 1},
                                              {infinite, 1},
                                              {0, score_min},
                                              {-3, score_min},
                                              {-infinite, score_min},
                                              {none, score_min}}) {
        Rules rules;
        rules.node("fixed").add(Kernel(std::make_shared<FixedScore>(returned)));
        InterestManager manager(rules);
        const EntityId viewpoint = manager.spawn({.position = {100, 100}});
        const ObserverId observer = manager.add_observer({.viewpoint = viewpoint});
        const std::vector<EntityId> entities{viewpoint, manager.spawn({.position = {110, 100}})};
        manager.tick();
        std::vector<float> scores(2);
        manager.scores(observer, entities, scores);
        CHECK(scores[0] == expected);
        CHECK(scores[1] == expected);
    }
}

}  // namespace purview
