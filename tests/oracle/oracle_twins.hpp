// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Custom kernels, nodes, dispatchers and line-of-sight tests, as a game would write them. Each
// kernel and node has a twin: the same rule as a function of one pair, for the oracle.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "core/hash.hpp"
#include "interest/rules/custom_kernel.hpp"
#include "oracle/truth_kernels.hpp"
#include "purview/extend/kernel.hpp"
#include "purview/extend/node.hpp"
#include "purview/interest.hpp"

namespace purview::test {

/// Data of the game outside of the manager: the living entities and observers, and its own tables.
struct PairChoice {
    std::vector<EntityId> units;  ///< ascending by index, for the coming tick
    std::vector<ObserverId> observers;
    /// Marks that a kernel reads, by entity index and observer index.
    std::vector<std::uint8_t> entity_marks;
    std::vector<std::uint8_t> observer_marks;
    /// Pairs that a node matches, by index (observer, entity).
    std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;

    bool is_marked(ObserverId observer, EntityId entity) const;
};

/// A kernel with its twin.
class TwinnedKernel final : public InterestKernel {
  public:
    using Twin = std::function<check::CustomAnswer(const check::ObserverView&,
                                                   const check::EntityView&, bool was)>;
    TwinnedKernel(std::string name, const std::shared_ptr<const KernelBase>& kernel, Twin twin)
        : name_(std::move(name)), kernel_(engine_kernel(kernel)), twin_(std::move(twin)) {}

    const std::string& name() const { return name_; }
    const Twin& twin() const { return twin_; }
    void test(const KernelQuery& query, std::span<Mask> out,
              std::span<Mask> unknown) const noexcept override {
        kernel_->test(query, out, unknown);
    }
    std::string describe(const KernelQuery& query, unsigned lane) const override {
        return kernel_->describe(query, lane);
    }
    bool answers_unknown() const noexcept override { return kernel_->answers_unknown(); }
    DependsOn depends_on() const noexcept override { return kernel_->depends_on(); }
    bool remembers() const noexcept override { return kernel_->remembers(); }
    unsigned planes() const noexcept override { return kernel_->planes(); }
    bool needs_every_tick() const noexcept override { return kernel_->needs_every_tick(); }
    Viewpoints looks_from() const noexcept override { return kernel_->looks_from(); }
    float reach() const noexcept override { return kernel_->reach(); }
    float inside_m() const noexcept override { return kernel_->inside_m(); }
    bool reads_positions() const noexcept override { return kernel_->reads_positions(); }
    std::vector<float> edges_m() const override { return kernel_->edges_m(); }
    bool test_entity(const Slots& slots, Slot slot) const noexcept override {
        return kernel_->test_entity(slots, slot);
    }
    KeyId domain() const noexcept override { return kernel_->domain(); }

  private:
    std::string name_;
    std::shared_ptr<const InterestKernel> kernel_;
    Twin twin_;
};

/// A custom node with its twin.
class TwinnedNode : public CustomNode {
  public:
    /// Reads only the choice and current positions.
    using Twin = std::function<bool(ObserverId, EntityId)>;
    TwinnedNode(std::string name, std::shared_ptr<const PairChoice> choice, Twin twin,
                bool entity_centric)
        : name_(std::move(name)),
          choice_(std::move(choice)),
          twin_(std::move(twin)),
          entity_centric_(entity_centric) {}

    const std::string& name() const { return name_; }
    const Twin& twin() const { return twin_; }
    /// Returns whether its matches are in PairChoice::pairs.
    virtual bool is_table() const { return false; }
    void query_for(const Visibility&, ObserverId observer, std::vector<EntityId>& out) override;
    void observers_for(const Visibility&, EntityId entity, std::vector<ObserverId>& out) override;
    bool is_entity_centric() const noexcept override { return entity_centric_; }

  private:
    std::string name_;
    std::shared_ptr<const PairChoice> choice_;
    Twin twin_;
    bool entity_centric_;
};

class TableNode final : public TwinnedNode {
  public:
    using TwinnedNode::TwinnedNode;
    bool is_table() const override { return true; }
};

/// A dispatcher with a name.
class NamedDispatcher : public Dispatcher {
  public:
    explicit NamedDispatcher(std::string name) : name_(std::move(name)) {}
    const std::string& name() const { return name_; }
    /// Sets the number of step lists. Inner nodes use them in turn, then no steps.
    void set_lists(std::size_t lists) { lists_ = lists; }
    std::size_t steps_of(CellId cell) const noexcept override {
        const std::size_t list = static_cast<std::size_t>(cell % 7) % (lists_ + 1);
        return list < lists_ ? list : no_steps;
    }

  private:
    std::string name_;
    std::size_t lists_ = 0;
};

/// The world that custom kernels, nodes and dispatchers are made for.
struct TwinSpace {
    Axes axes = Axes::xy;
    std::uint32_t flags = 1;
    std::uint32_t keys = 1;
    float side_m = 100;
    bool lattice = false;  ///< numbers are whole
    std::shared_ptr<PairChoice> choice;
};

std::shared_ptr<const InterestKernel> random_kernel_of_our_own(SplitMix& random,
                                                               const TwinSpace& space);
std::shared_ptr<CustomNode> random_node_of_our_own(SplitMix& random, const TwinSpace& space);
std::shared_ptr<NamedDispatcher> random_dispatcher(SplitMix& random, const TwinSpace& space);
/// Walls between whole cells.
std::shared_ptr<const RayTest> random_sight(SplitMix& random, const TwinSpace& space);

/// Evaluates the twin of a kernel or node.
check::CustomAnswer evaluate_kernel_twin(const Kernel& kernel, const check::ObserverView& observer,
                                         const check::EntityView& entity, bool was);
bool evaluate_node_twin(const NodeDef& node, const check::ObserverView& observer,
                        const check::EntityView& entity);

}  // namespace purview::test
