// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include <cstdlib>
#include <optional>
#include <utility>

#include "runner.hpp"

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
        const std::size_t before = heap_bytes();
        if (const char* r = std::getenv("PVR")) def.refresh = static_cast<Refresh>(std::atoi(r));
        auto made = InterestManager::create(def);
        if (!made) std::abort();
        manager_.emplace(std::move(made).value());
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
    void update(std::span<const Move> moves) override { manager_->move(moves); }
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
    std::string isa() const override { return "shipped"; }

  private:
    OurRules rules_;
    double entity_bytes_ = 0;
    std::optional<InterestManager> manager_;
    std::vector<ObserverId> observers_;
};

}  // namespace

std::unique_ptr<Engine> make_purview(const OurRules& rules) {
    return std::make_unique<PurviewEngine>(rules);
}

}  // namespace purview::bench
