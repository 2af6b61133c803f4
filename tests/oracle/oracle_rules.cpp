// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "oracle_rules.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace purview::test {

namespace {

constexpr std::uint32_t nodes_max = 4;
constexpr std::uint32_t steps_max = 5;
/// Refused rules in a row before something must be wrong.
constexpr int attempts_max = 200;

/// Writes rules at random; all that is random is in one place.
class Writer {
  public:
    Writer(SplitMix& random, const RuleSpace& space) : random_(random), space_(space) {}

    InterestRules rules();
    NodeDesc node(std::uint32_t number);
    StepDesc step(bool is_first);
    void add_inner_steps(std::vector<StepDesc>& steps);
    void add_many_nodes(InterestRules& rules);
    void change(InterestRules& rules);

  private:
    bool has(Feature feature) const { return space_.features.has(feature); }
    float length(float low, float high) {
        const float any = random_.between(low, high);
        return space_.twins.lattice ? std::floor(any) + 1 : any;
    }
    FlagId flag() { return FlagId{static_cast<std::uint8_t>(random_.below(space_.twins.flags))}; }
    KeyDomain domain() {
        return KeyDomain{static_cast<std::uint8_t>(random_.below(space_.twins.keys))};
    }
    KernelDesc kernel(bool is_first);
    KernelDesc distance();
    KernelDesc flag_kernel();
    KernelDesc group();
    KernelDesc area();
    KernelDesc value();
    KernelDesc owner();
    KernelDesc cells(KernelType type);
    KernelDesc sight();
    KernelDesc custom();
    LookFrom look_from();
    void set_frame(InterestRules& rules);

    SplitMix& random_;
    const RuleSpace& space_;
};

LookFrom Writer::look_from() {
    if (!has(Feature::look_from) || random_.chance(0.5F)) return LookFrom::main_and_areas;
    return LookFrom{static_cast<std::uint8_t>(1 + random_.below(3))};
}

KernelDesc Writer::distance() {
    KernelDesc kernel;
    kernel.type = KernelType::distance;
    kernel.enter_m = length(3, 60);
    kernel.leave_m = kernel.enter_m;
    if (random_.chance(0.7F)) kernel.leave_m += length(0, 25);
    kernel.from = look_from();
    if (has(Feature::ranges) && random_.chance(0.4F))
        kernel.range = random_.chance(0.5F) ? RangeOf::entity : RangeOf::observer;
    return kernel;
}

KernelDesc Writer::flag_kernel() {
    KernelDesc kernel;
    kernel.type = KernelType::flag;
    kernel.flag = flag();
    return kernel;
}

KernelDesc Writer::group() {
    KernelDesc kernel;
    kernel.type = KernelType::same_group;
    kernel.domain = domain();
    return kernel;
}

KernelDesc Writer::area() {
    KernelDesc kernel;
    kernel.type = KernelType::area;
    kernel.leave_m = random_.chance(0.5F) ? 0 : length(0, 12);
    return kernel;
}

KernelDesc Writer::value() {
    KernelDesc kernel;
    kernel.type = KernelType::value;
    kernel.value = ValueId{static_cast<std::uint8_t>(random_.below(space_.values))};
    if (random_.chance(0.8F)) kernel.value_min = std::floor(random_.between(-6, 6));
    if (random_.chance(0.8F)) {
        const float begin = std::isfinite(kernel.value_min) ? kernel.value_min : -3;
        kernel.value_max = begin + std::floor(random_.between(0, 9));
    }
    return kernel;
}

KernelDesc Writer::owner() {
    KernelDesc kernel;
    kernel.type = KernelType::owner;
    return kernel;
}

KernelDesc Writer::cells(KernelType type) {
    KernelDesc kernel;
    kernel.type = type;
    kernel.from = look_from();
    kernel.cells.width_m = length(6, 30);
    kernel.cells.height_m = length(6, 30);
    if (random_.chance(0.7F)) kernel.cells.depth_m = length(6, 30);
    kernel.cells.rings = static_cast<std::uint16_t>(random_.below(3));
    return kernel;
}

KernelDesc Writer::sight() {
    KernelDesc kernel;
    kernel.type = KernelType::line_of_sight;
    kernel.from = look_from();
    kernel.enter_m = length(10, 80);
    kernel.sight = random_sight(random_, space_.twins);
    kernel.sight_def.tests_per_tick = 1'000'000;  // enough for everybody in every tick
    kernel.sight_def.predict = random_.chance(0.4F);
    kernel.sight_def.shown_when_unknown = random_.chance(0.5F);
    return kernel;
}

KernelDesc Writer::custom() {
    KernelDesc kernel;
    kernel.type = KernelType::custom;
    kernel.custom = random_kernel_of_our_own(random_, space_.twins);
    return kernel;
}

/// Flags are left out of first steps more often: a rule that begins with them shows few.
KernelDesc Writer::kernel(bool is_first) {
    struct Choice {
        std::uint32_t weight;
        KernelDesc (Writer::*make)();
    };
    const auto weight = [&](Feature feature, std::uint32_t some) {
        return has(feature) ? some : 0;
    };
    const std::array<Choice, 8> choices{{{8, &Writer::distance},
                                         {4, &Writer::group},
                                         {is_first ? 2U : 5U, &Writer::flag_kernel},
                                         {weight(Feature::own_kernels, 3), &Writer::custom},
                                         {weight(Feature::shapes, 4), &Writer::area},
                                         {weight(Feature::values, 3), &Writer::value},
                                         {weight(Feature::owner_kernel, 2), &Writer::owner},
                                         {weight(Feature::sight, 3), &Writer::sight}}};
    const std::uint32_t squares = weight(Feature::neighbourhood, 3);
    const std::uint32_t hexagons = weight(Feature::hexagons, 3);
    std::uint32_t total = squares + hexagons;
    for (const Choice& choice : choices) total += choice.weight;
    std::uint32_t at = random_.below(total);
    if (at < squares) return cells(KernelType::neighbourhood);
    at -= squares;
    if (at < hexagons) return cells(KernelType::hexagons);
    at -= hexagons;
    for (const Choice& choice : choices) {
        if (at < choice.weight) return (this->*choice.make)();
        at -= choice.weight;
    }
    return distance();
}

StepDesc Writer::step(bool is_first) {
    StepDesc step;
    const bool adds =
        is_first ? !has(Feature::no_adds) || random_.chance(0.92F) : random_.chance(0.4F);
    if (!adds) step.op = random_.chance(0.5F) ? StepOp::require : StepOp::subtract;
    step.kernel = kernel(is_first);
    return step;
}

/// Steps of an inner node may not remember.
void Writer::add_inner_steps(std::vector<StepDesc>& steps) {
    const std::uint32_t count = random_.below(3);
    while (steps.size() < count) {
        StepDesc one = step(steps.empty());
        if (one.kernel.type == KernelType::line_of_sight) continue;
        if (one.kernel.type == KernelType::custom && one.kernel.custom->remembers()) continue;
        if (one.kernel.type == KernelType::distance) one.kernel.leave_m = one.kernel.enter_m;
        if (one.kernel.type == KernelType::area) one.kernel.leave_m = 0;
        steps.push_back(one);
    }
}

NodeDesc Writer::node(std::uint32_t number) {
    NodeDesc node;
    node.name = "node" + std::to_string(number);
    node.type = NodeType::grid;
    const std::uint32_t steps = random_.chance(0.04F) ? 0 : 1 + random_.below(steps_max);
    for (std::uint32_t s = 0; s < steps; ++s) node.steps.push_back(step(s == 0));
    if (has(Feature::binding))
        node.members = random_.chance(0.5F)
                           ? NodeMembers::all
                           : NodeMembers{static_cast<std::uint8_t>(1 + random_.below(2))};
    if (has(Feature::combine) && number > 0 && random_.chance(0.3F))
        node.combine = random_.chance(0.5F) ? StepOp::require : StepOp::subtract;
    if (has(Feature::combine)) node.enabled = random_.chance(0.93F);
    if (has(Feature::settings)) {
        node.settings.every_ticks = 1 + random_.below(4);
        node.settings.urgency = random_.between(0.5F, 4);
        node.settings.leave = LeavePolicy{static_cast<std::uint8_t>(random_.below(4))};
    }
    if (has(Feature::dispatchers) && random_.chance(0.2F)) {
        node.type = NodeType::dispatcher;
        const auto dispatcher = random_dispatcher(random_, space_.twins);
        if (random_.chance(0.3F)) node.steps.clear();
        if (random_.chance(0.4F)) {
            node.inner.resize(1 + random_.below(2));
            for (auto& inner : node.inner) add_inner_steps(inner);
            dispatcher->set_lists(node.inner.size());
        }
        node.dispatcher = dispatcher;
    } else if (has(Feature::custom_nodes) && random_.chance(0.15F)) {
        node.type = NodeType::custom;
        node.steps.clear();
        node.custom = random_node_of_our_own(random_, space_.twins);
        if (random_.chance(0.5F)) node.refresh.type = RefreshType::dormant;
        return node;
    }
    if (has(Feature::dormant) && random_.chance(0.25F)) node.refresh.type = RefreshType::dormant;
    return node;
}

void Writer::set_frame(InterestRules& rules) {
    const float side = space_.twins.side_m;
    rules.axes = space_.twins.axes;
    rules.bounds_min = {0, 0, 0};
    rules.bounds_max = {side, side, side};
    if (rules.axes == Axes::xyz) rules.bounds_max.z = space_.height_m;
    if (rules.axes == Axes::xy && random_.chance(0.5F)) rules.bounds_max.z = 0;
    if (random_.chance(0.3F)) {
        rules.bounds_min = {length(-20, 30), length(-20, 30), 0};
        if (rules.axes == Axes::xz) rules.bounds_min.z = length(-20, 30);
    }
    rules.entities_expected = 200;
    rules.cell_m = random_.chance(0.5F) ? length(4, 60) : 0;
    if (has(Feature::ranges)) {
        const std::uint32_t classes = random_.below(3);
        for (std::uint32_t i = 0; i < classes; ++i)
            rules.range_classes_m.push_back(space_.range_max_m / static_cast<float>(1U << i));
        std::reverse(rules.range_classes_m.begin(), rules.range_classes_m.end());
        rules.observer_range_max_m = space_.range_max_m;
    }
    if (has(Feature::bounds) && random_.chance(0.6F)) rules.group_bounds_max_m = length(1, 80);
    if (has(Feature::min_stay) && random_.chance(0.4F)) rules.min_stay_ticks = 1 + random_.below(6);
}

InterestRules Writer::rules() {
    InterestRules rules;
    set_frame(rules);
    if (random_.chance(0.02F)) return rules;
    const std::uint32_t nodes = 1 + random_.below(nodes_max);
    for (std::uint32_t n = 0; n < nodes; ++n) rules.nodes.push_back(node(n));
    if (has(Feature::many_nodes) && has(Feature::binding) && random_.chance(0.15F))
        add_many_nodes(rules);
    return rules;
}

/// Bound nodes whose steps do not remember; often two have the same steps.
void Writer::add_many_nodes(InterestRules& rules) {
    const std::size_t first = rules.nodes.size();
    constexpr std::size_t most_of_all = 32;  // an answer of the oracle names no more
    const std::size_t most = std::min<std::size_t>(most_of_all, first + 12 + random_.below(30));
    while (rules.nodes.size() < most) {
        NodeDesc many;
        many.name = "node" + std::to_string(rules.nodes.size());
        many.type = NodeType::grid;
        many.members = NodeMembers::bound;
        if (rules.nodes.size() > first && random_.chance(0.4F)) {
            const auto made = static_cast<std::uint32_t>(rules.nodes.size() - first);
            many.steps = rules.nodes[first + random_.below(made)].steps;
        } else {
            add_inner_steps(many.steps);
        }
        rules.nodes.push_back(many);
    }
}

void Writer::change(InterestRules& rules) {
    if (rules.nodes.empty()) {
        rules.nodes.push_back(node(0));
        return;
    }
    const std::uint32_t at = random_.below(static_cast<std::uint32_t>(rules.nodes.size()));
    NodeDesc& node_at = rules.nodes[at];
    const auto any_step = [&] {
        return node_at.steps.begin() +
               random_.below(static_cast<std::uint32_t>(node_at.steps.size()));
    };
    const bool takes_steps = node_at.type != NodeType::custom;
    switch (random_.below(9)) {
        case 0:  // another radius, or another kernel
            if (!node_at.steps.empty()) any_step()->kernel = kernel(false);
            return;
        case 1:
            if (takes_steps && node_at.steps.size() < steps_max)
                node_at.steps.push_back(step(node_at.steps.empty()));
            return;
        case 2:
            if (!node_at.steps.empty())
                node_at.steps.erase(has(Feature::moved_steps) ? any_step()
                                                              : node_at.steps.end() - 1);
            break;
        case 3:
            if (!node_at.steps.empty())
                any_step()->op = StepOp{static_cast<std::uint8_t>(random_.below(3))};
            break;
        case 4:
            if (node_at.steps.size() > 1 && has(Feature::moved_steps))
                std::swap(node_at.steps.front(), node_at.steps.back());
            break;
        case 5:
            if (rules.nodes.size() < nodes_max) {
                std::uint32_t number = 0;  // a name that is free
                const auto is_taken = [&](const NodeDesc& one) {
                    return one.name == "node" + std::to_string(number);
                };
                while (std::any_of(rules.nodes.begin(), rules.nodes.end(), is_taken)) ++number;
                rules.nodes.push_back(node(number));
                if (rules.nodes.size() == 1) rules.nodes[0].combine = StepOp::add;
            }
            return;
        case 6:
            if (rules.nodes.size() > 1 && has(Feature::fewer_nodes))
                rules.nodes.erase(rules.nodes.begin() + at);
            return;
        case 7:
            if (has(Feature::combine)) node_at.enabled = !node_at.enabled;
            return;
        default:
            if (has(Feature::combine) && rules.nodes.size() > 1)
                std::swap(rules.nodes.front(), rules.nodes.back());
            return;
    }
    if (!has(Feature::no_adds) && !node_at.steps.empty()) node_at.steps.front().op = StepOp::add;
}

// -- written down
// -----------------------------------------------------------------------------------

std::string digits(float value) {
    std::array<char, 32> text{};
    (void)std::snprintf(text.data(), text.size(), "%.9g", static_cast<double>(value));
    return text.data();
}

template <std::size_t count, class Enum>
std::string word(const std::array<const char*, count>& words, Enum value) {
    return words[static_cast<std::size_t>(value)];
}

std::string kernel_text(const KernelDesc& kernel, bool numbers) {
    static constexpr std::array<const char*, 10> types{"distance", "group", "flag",  "custom",
                                                       "area",     "owner", "value", "cells",
                                                       "hexagons", "sight"};
    static constexpr std::array<const char*, 3> ranges{"", " range of entity",
                                                       " range of observer"};
    static constexpr std::array<const char*, 4> places{"", " from main", " from areas",
                                                       " from owned"};
    std::string text = word(types, kernel.type);
    const auto add = [&](const std::string& more) {
        if (numbers) text += " " + more;
    };
    switch (kernel.type) {
        case KernelType::distance:
            add(digits(kernel.enter_m) + "/" + digits(kernel.leave_m));
            if (kernel.leave_m > kernel.enter_m) text += " margin";
            return text + word(ranges, kernel.range) + word(places, kernel.from);
        case KernelType::same_group:
            return text + " " + std::to_string(index_of(kernel.domain));
        case KernelType::flag:
            return text + " " + std::to_string(index_of(kernel.flag));
        case KernelType::custom:
            return text + " " + static_cast<const TwinnedKernel&>(*kernel.custom).name();
        case KernelType::area:
            add(digits(kernel.leave_m));
            return text + (kernel.leave_m > 0 ? " margin" : "");
        case KernelType::owner:
            return text;
        case KernelType::value:
            add(digits(kernel.value_min) + ".." + digits(kernel.value_max));
            return text + " of " + std::to_string(index_of(kernel.value));
        case KernelType::neighbourhood:
        case KernelType::hexagons:
            add(digits(kernel.cells.width_m) + " x " + digits(kernel.cells.height_m) + " x " +
                digits(kernel.cells.depth_m));
            return text + " rings " + std::to_string(kernel.cells.rings) +
                   word(places, kernel.from);
        case KernelType::line_of_sight:
            add(digits(kernel.enter_m));
            return text + (kernel.sight_def.predict ? " ahead" : "") + word(places, kernel.from);
    }
    return text;
}

std::string node_text(const NodeDesc& node, bool numbers) {
    static constexpr std::array<const char*, 3> signs{"+", "-", "&"};
    static constexpr std::array<const char*, 3> members{"", " bound", " unbound"};
    static constexpr std::array<const char*, 4> types{"everything", "grid", "dispatcher", "custom"};
    std::string text = word(signs, node.combine) + (numbers ? node.name + ": " : "") +
                       word(types, node.type) + word(members, node.members);
    if (!node.enabled) text += " off";
    if (node.refresh.type == RefreshType::dormant) text += " dormant";
    if (node.type == NodeType::dispatcher)
        text += " " + static_cast<const NamedDispatcher&>(*node.dispatcher).name();
    if (node.type == NodeType::custom) {
        text += " " + static_cast<const TwinnedNode&>(*node.custom).name();
        text += node.custom->is_entity_centric() ? " by entity" : " by observer";
    }
    const auto add_steps = [&](const std::vector<StepDesc>& steps) {
        text += " [";
        for (const StepDesc& step : steps)
            text += " " + word(signs, step.op) + kernel_text(step.kernel, numbers);
        text += " ]";
    };
    add_steps(node.steps);
    for (const auto& inner : node.inner) {
        text += " inner";
        add_steps(inner);
    }
    return text;
}

std::string written(const InterestRules& rules, bool numbers) {
    static constexpr std::array<const char*, 3> axes{"xy", "xz", "xyz"};
    std::string text = word(axes, rules.axes);
    if (numbers) {
        text += " from " + digits(rules.bounds_min.x) + "," + digits(rules.bounds_min.y) + "," +
                digits(rules.bounds_min.z) + " cell " + digits(rules.cell_m) + " classes";
        for (const float range : rules.range_classes_m) text += " " + digits(range);
    }
    if (rules.min_stay_ticks > 0)
        text += " stay" + (numbers ? " " + std::to_string(rules.min_stay_ticks) : std::string());
    for (const NodeDesc& node : rules.nodes) text += "\n  " + node_text(node, numbers);
    return text;
}

}  // namespace

InterestRules random_rules(SplitMix& random, const RuleSpace& space) {
    Writer writer(random, space);
    for (int attempt = 0; attempt < attempts_max; ++attempt) {
        InterestRules rules = writer.rules();
        if (problem_of(rules).empty()) return rules;
        if (attempt + 1 == attempts_max) {
            std::printf("no sound rules: %s\n%s\n", problem_of(rules).c_str(),
                        text_of(rules).c_str());
            std::abort();
        }
    }
    return {};
}

InterestRules changed_rules(SplitMix& random, const RuleSpace& space, const InterestRules& rules) {
    Writer writer(random, space);
    InterestRules changed = rules;
    const std::uint32_t changes = 1 + random.below(2);
    for (std::uint32_t i = 0; i < changes; ++i) writer.change(changed);
    if (rules.min_stay_ticks > 0 && random.chance(0.5F))
        changed.min_stay_ticks = random.below(7);  // none as well
    return problem_of(changed).empty() ? changed : rules;
}

std::string text_of(const InterestRules& rules) {
    return written(rules, true);
}

std::string shape_of(const InterestRules& rules) {
    return written(rules, false);
}

unsigned depth_of(const InterestRules& rules) {
    std::size_t depth = 0;
    for (const NodeDesc& node : rules.nodes) {
        const std::size_t found = node.type == NodeType::dispatcher ? 1 : 0;
        depth = std::max(depth, node.steps.size() + found);
    }
    return static_cast<unsigned>(depth);
}

bool has_kernel(const InterestRules& rules, KernelType type) {
    return std::any_of(rules.nodes.begin(), rules.nodes.end(), [&](const NodeDesc& node) {
        return std::any_of(node.steps.begin(), node.steps.end(),
                           [&](const StepDesc& step) { return step.kernel.type == type; });
    });
}

}  // namespace purview::test
