// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include <cstdlib>
#include <optional>
#include <utility>

#include "purview/kernel.hpp"
#include "runner.hpp"
#include "spatial/lane_test.hpp"

namespace purview::bench {

namespace {

class PurviewEngine final : public Engine {
  public:
    explicit PurviewEngine(const OurRules& rules) : rules_(rules) {}

    void load(const Workload& workload, std::uint32_t observers) override {
        const Scene& scene = workload.scene();
        const auto radius = static_cast<float>(scene.radius);
        const auto side = static_cast<float>(workload.side());
        InterestDef def;
        def.rules.bounds_max = {side, side, scene.three_d ? side : 0};
        def.rules.entities_expected = scene.entities;
        def.window_update = rules_.window_update;
        StepDesc near{StepOp::add, {KernelType::distance, radius, radius, {}, {}}};
        if (rules_.margin) near.kernel.leave_m = radius * 1.1F;
        def.rules.nodes = {{"near", NodeType::grid, {near}}};
        if (rules_.composed) {
            def.key_count = 1;
            def.flag_count = 1;
            def.rules.nodes[0].steps.push_back(
                {StepOp::add, {KernelType::same_group, 0, 0, KeyDomain{0}, {}}});
            def.rules.nodes[0].steps.push_back(
                {StepOp::subtract, {KernelType::flag, 0, 0, {}, FlagId{0}}});
        }
        if (rules_.scalar) {
            def.flag_count = 1;
            const float squared = radius * radius;
            const auto near_pair = [squared](const Pair& p) noexcept {
                const Vec3 at = p.place(), from = p.places()[0];
                const float dx = at.x - from.x, dy = at.y - from.y;
                return dx * dx + dy * dy <= squared;
            };
            const auto cloaked_pair = [](const Pair& p) noexcept { return p.has(FlagId{0}); };
            StepDesc add{StepOp::add, {KernelType::custom}};
            add.kernel.custom = make_pair_kernel(
                {.name = "near", .reach_m = rules_.static_node ? 0 : radius}, near_pair);
            StepDesc subtract{StepOp::subtract, {KernelType::custom}};
            subtract.kernel.custom =
                make_pair_kernel({.name = "cloaked", .reads_places = false}, cloaked_pair);
            def.rules.nodes[0].steps = {add, subtract};
        }
        const std::size_t before = heap_bytes();
        auto made = InterestManager::create(def);
        if (!made) std::abort();
        manager_.emplace(std::move(made).value());
        manager_->set_count_tested(rules_.count_tested);
        entities_ = scene.entities;
        for (std::uint32_t i = 0; i < scene.entities; ++i) {
            EntityDef entity{.place = workload.places()[i]};
            const Key team[1] = {i < scene.observers ? Key{static_cast<std::uint16_t>(1 + i % 20)}
                                                     : Key::none};
            if (rules_.composed) {
                entity.keys = team;
                entity.flags = mix(i * 31) % 20 == 0 ? 1 : 0;
            }
            if (manager_->spawn(entity_of(i), entity) != Status::ok) std::abort();
        }
        manager_->tick();
        entity_bytes_ = static_cast<double>(heap_bytes() - before);
        observers_.clear();
        for (std::uint32_t o = 0; o < observers; ++o) {
            observers_.push_back(*manager_->add_observer());
            (void)manager_->set_main_entity(observers_[o], entity_of(o));
            (void)manager_->set_ready(observers_[o], true);
        }
    }
    void update(std::span<const Move> moves) override {
        if (rules_.composed) change_facts();
        manager_->move(moves);
    }
    void query() override { manager_->tick(); }
    void for_each_event(const Tell& tell) const override {
        for (const RelevanceEvent& e : manager_->events()) {
            tell(index_of(e.observer), index_of(e.entity), e.enter);
        }
    }
    void for_each_relevant(std::uint32_t o, const Visit& visit) const override {
        std::vector<EntityId> out;
        manager_->relevant(observers_[o], out);
        for (const EntityId e : out) visit(index_of(e));
    }
    double entity_bytes() const override { return entity_bytes_; }
    std::string isa() const override { return std::string(instruction_set()); }

    double lanes_tested() const override {
        return static_cast<double>(manager_->counters().lanes_tested);
    }

  private:
    /// One in a thousand cloaks or uncloaks, ten observers change team.
    void change_facts() {
        ++tick_;
        for (std::uint64_t i = 0; i < entities_ / 1000; ++i) {
            const std::uint64_t h = mix((tick_ << 32) + i);
            (void)manager_->set_flag(entity_of(static_cast<std::uint32_t>(h % entities_)),
                                     FlagId{0}, (h >> 40) % 20 == 0);
        }
        for (std::uint64_t i = 0; i < 10; ++i) {
            const std::uint64_t h = mix((tick_ << 32) + (1U << 30) + i);
            (void)manager_->set_key(entity_of(static_cast<std::uint32_t>(h % observers_.size())),
                                    KeyDomain{0},
                                    Key{static_cast<std::uint16_t>(1 + (h >> 40) % 20)});
        }
    }

    OurRules rules_;
    std::uint64_t tick_ = 0;
    std::uint32_t entities_ = 0;
    double entity_bytes_ = 0;
    std::optional<InterestManager> manager_;
    std::vector<ObserverId> observers_;
};

}  // namespace

std::unique_ptr<Engine> make_purview(const OurRules& rules) {
    return std::make_unique<PurviewEngine>(rules);
}

}  // namespace purview::bench
