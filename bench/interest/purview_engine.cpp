// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include <cstdlib>
#include <optional>
#include <utility>

#include "core/internal_access.hpp"
#include "interest/engine.hpp"
#include "net/thread_pool.hpp"
#include "our_world.hpp"
#include "purview/extend/kernel.hpp"
#include "runner.hpp"
#include "spatial/simd_lanes.hpp"

namespace purview::bench {

namespace {

class PurviewEngine final : public Engine {
  public:
    explicit PurviewEngine(const OurRules& rules) : rules_(rules) {}

    void load(const Workload& workload, std::uint32_t observers) override {
        const Scene& scene = workload.scene();
        Rules def = near_rule(workload);
        def.measure_scores = rules_.measure_scores;
        if (rules_.scalar) {
            def.flag_names.resize(1);
            const auto radius = static_cast<float>(scene.radius);
            const float squared = radius * radius;
            const auto near_pair = [squared](Vec3 at, Vec3 from) noexcept {
                const float dx = at.x - from.x, dy = at.y - from.y;
                return dx * dx + dy * dy <= squared;
            };
            const auto cloaked_pair = [](const Pair& p) noexcept {
                return p.has(id_at<FlagId>(0));
            };
            def.nodes[0].steps.clear();
            def.nodes[0]
                .add(make_pair_kernel({.name = "near", .reach = rules_.static_node ? 0 : radius},
                                      near_pair))
                .subtract(
                    make_pair_kernel({.name = "cloaked", .reads_positions = false}, cloaked_pair));
        }
        if (rules_.edit) rules_.edit(def);
        const std::size_t before = heap_bytes();
        entities_ = scene.entities;
        manager_.emplace(fill(def, workload, rules_.dress, rules_.window_update));
        internal(*manager_).windows.set_count_tested(rules_.count_tested);
        entity_bytes_ = static_cast<double>(heap_bytes() - before);
        if (rules_.workers > 1) {
            pool_ = std::make_unique<ThreadPool>(rules_.workers);
            manager_->set_executor(pool_->executor());
        }
        observers_ = add_observers(*manager_, observers);
        if (rules_.set_up) rules_.set_up(*manager_, observers_);
        if (rules_.score) moved_.assign(entities_, 0);
    }
    void update(std::span<const Move> moves) override {
        ++tick_;
        if (rules_.before_tick) rules_.before_tick();
        if (rules_.change) rules_.change(*manager_, observers_, tick_);
        internal(*manager_).positions.move(moves);
        if (rules_.score) moves_.assign(moves.begin(), moves.end());
    }
    void query() override {
        manager_->tick();
        isa_ = instruction_set();
    }
    void gather() override {
        if (rules_.score) gather_changed();
    }
    void finish() override {
        float read = 0;
        for (std::size_t o = 0; rules_.read_changed && o < observers_.size(); ++o) {
            const Scores changed = manager_->changed_scores(observers_[o]);
            for (std::size_t i = 0; i < changed.entities.size(); ++i)
                read += changed.score[i] * static_cast<float>(changed.entities[i] % 2);
        }
        read_ = read;
        for (std::size_t o = 0; o < starts_.size(); ++o) {
            const std::size_t end = o + 1 < starts_.size() ? starts_[o + 1] : changed_.size();
            const std::size_t n = end - starts_[o];
            manager_->scores(observers_[o], std::span(changed_).subspan(starts_[o], n),
                             std::span(score_).subspan(starts_[o], n));
        }
    }
    void for_each_event(const Notify& notify) const override {
        for (const InterestEvent& e : manager_->events()) {
            notify(index_of(e.observer), index_of(e.entity), e.enter);
        }
    }
    void for_each_relevant(std::uint32_t o, const Visit& visit) const override {
        std::vector<EntityId> out;
        manager_->relevant(observers_[o], out);
        for (const EntityId e : out) visit(index_of(e));
    }
    double entity_bytes() const override { return entity_bytes_; }
    std::string isa() const override { return std::string(isa_); }
    std::uint32_t threads() const override { return rules_.workers; }

    double lanes_tested() const override {
        return static_cast<double>(internal(*manager_).counters().lanes_tested);
    }

  private:
    /// Collects the relevant entities that moved in this tick, by observer.
    void gather_changed() {
        for (const Move& m : moves_) moved_[index_of(m.entity)] = 1;
        starts_.clear();
        changed_.clear();
        for (const ObserverId o : observers_) {
            starts_.push_back(changed_.size());
            manager_->for_each_relevant(o, [&](EntityId e) {
                if (moved_[index_of(e)] != 0) changed_.push_back(e);
            });
        }
        score_.assign(changed_.size(), 0);
        for (const Move& m : moves_) moved_[index_of(m.entity)] = 0;
    }

    OurRules rules_;
    std::uint32_t tick_ = 0;
    std::uint32_t entities_ = 0;
    double entity_bytes_ = 0;
    std::optional<InterestManager> manager_;
    std::vector<ObserverId> observers_;
    std::unique_ptr<ThreadPool> pool_;
    std::string_view isa_;
    std::vector<Move> moves_;
    std::vector<std::uint8_t> moved_;
    std::vector<EntityId> changed_;
    std::vector<std::size_t> starts_;
    std::vector<float> score_;
    volatile float read_ = 0;  ///< keeps the compiler from removing the reads
};

}  // namespace

std::unique_ptr<Engine> make_purview(const OurRules& rules) {
    return std::make_unique<PurviewEngine>(rules);
}

}  // namespace purview::bench
