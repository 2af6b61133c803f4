// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "oracle_rules.hpp"

#include "interest/rules/rule_problems.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace purview::test {

namespace {

constexpr std::uint32_t nodes_max = 4;
constexpr std::uint32_t steps_max = 5;
/// More consecutive refused rules than this are an error.
constexpr int attempts_max = 200;

/// Makes random rules. Contains all random choices.
class Writer {
  public:
    Writer(SplitMix& random, const RuleSpace& space) : random_(random), space_(space) {}

    Rules rules();
    NodeDef node(std::uint32_t number);
    Kernel step(bool is_first);
    void add_inner_steps(std::vector<Kernel>& steps);
    void add_many_nodes(Rules& rules);
    void change(Rules& rules);

  private:
    bool has(Feature feature) const { return space_.features.has(feature); }
    float length(float low, float high) {
        const float any = random_.between(low, high);
        return space_.twins.lattice ? std::floor(any) + 1 : any;
    }
    FlagId flag() { return id_at<FlagId>(random_.below(space_.twins.flags)); }
    KeyId domain() { return id_at<KeyId>(random_.below(space_.twins.keys)); }
    Kernel kernel(bool is_first);
    Kernel distance();
    Kernel flag_kernel();
    Kernel group();
    Kernel area();
    Kernel value();
    Kernel owner();
    Kernel everything();
    Kernel cells(KernelType type);
    Kernel sight();
    Kernel custom();
    Viewpoints look_from();
    void set_frame(Rules& rules);

    SplitMix& random_;
    const RuleSpace& space_;
};

Viewpoints Writer::look_from() {
    if (!has(Feature::viewpoints) || random_.chance(0.5F)) return Viewpoints::entity_and_points;
    return Viewpoints{static_cast<std::uint8_t>(1 + random_.below(3))};
}

Kernel Writer::distance() {
    Kernel kernel;
    kernel.type = KernelType::distance;
    kernel.enter = length(3, 60);
    kernel.leave = kernel.enter;
    if (random_.chance(0.7F)) kernel.leave += length(0, 25);
    kernel.view_from = look_from();
    if (has(Feature::ranges) && random_.chance(0.4F))
        kernel.range = random_.chance(0.5F) ? RangeFrom::entity : RangeFrom::observer;
    return kernel;
}

Kernel Writer::flag_kernel() {
    Kernel kernel;
    kernel.type = KernelType::flag;
    kernel.flag = flag();
    return kernel;
}

Kernel Writer::group() {
    Kernel kernel;
    kernel.type = KernelType::same_key;
    kernel.key = domain();
    return kernel;
}

Kernel Writer::area() {
    Kernel kernel;
    kernel.type = KernelType::area;
    kernel.leave = random_.chance(0.5F) ? 0 : length(0, 12);
    return kernel;
}

Kernel Writer::value() {
    Kernel kernel;
    kernel.type = KernelType::value;
    kernel.value = id_at<ValueId>(random_.below(space_.values));
    if (random_.chance(0.8F)) kernel.min = std::floor(random_.between(-6, 6));
    if (random_.chance(0.8F)) {
        const float begin = std::isfinite(kernel.min) ? kernel.min : -3;
        kernel.max = begin + std::floor(random_.between(0, 9));
    }
    return kernel;
}

Kernel Writer::everything() {
    return purview::everything();
}

Kernel Writer::owner() {
    Kernel kernel;
    kernel.type = KernelType::owner;
    return kernel;
}

Kernel Writer::cells(KernelType type) {
    Kernel kernel;
    kernel.type = type;
    kernel.view_from = look_from();
    kernel.cell_size.x = length(6, 30);
    kernel.cell_size.y = length(6, 30);
    if (random_.chance(0.7F)) kernel.cell_size.z = length(6, 30);
    kernel.rings = static_cast<std::uint16_t>(random_.below(3));
    return kernel;
}

Kernel Writer::sight() {
    Kernel kernel;
    kernel.type = KernelType::line_of_sight;
    kernel.view_from = look_from();
    kernel.enter = length(10, 80);
    kernel.rays = random_sight(random_, space_.twins);
    kernel.ray_entities_per_tick = 1'000'000;  // enough for all entities in every tick
    kernel.predicts_sight = random_.chance(0.4F);
    kernel.visible_when_unknown = random_.chance(0.5F);
    return kernel;
}

Kernel Writer::custom() {
    Kernel kernel;
    kernel.type = KernelType::custom;
    kernel.custom = random_kernel_of_our_own(random_, space_.twins);
    return kernel;
}

/// Flags are rarer in first steps: a node that begins with one matches few entities.
Kernel Writer::kernel(bool is_first) {
    struct Choice {
        std::uint32_t weight;
        Kernel (Writer::*make)();
    };
    const auto weight = [&](Feature feature, std::uint32_t some) {
        return has(feature) ? some : 0;
    };
    const std::array<Choice, 9> choices{{{1, &Writer::everything},
                                         {8, &Writer::distance},
                                         {4, &Writer::group},
                                         {is_first ? 2U : 5U, &Writer::flag_kernel},
                                         {weight(Feature::own_kernels, 3), &Writer::custom},
                                         {weight(Feature::shapes, 4), &Writer::area},
                                         {weight(Feature::values, 3), &Writer::value},
                                         {weight(Feature::owner_kernel, 2), &Writer::owner},
                                         {weight(Feature::sight, 3), &Writer::sight}}};
    const std::uint32_t squares = weight(Feature::cells, 3);
    const std::uint32_t hexagons = weight(Feature::hexagons, 3);
    std::uint32_t total = squares + hexagons;
    for (const Choice& choice : choices) total += choice.weight;
    std::uint32_t at = random_.below(total);
    if (at < squares) return cells(KernelType::cells);
    at -= squares;
    if (at < hexagons) return cells(KernelType::hexagons);
    at -= hexagons;
    for (const Choice& choice : choices) {
        if (at < choice.weight) return (this->*choice.make)();
        at -= choice.weight;
    }
    return distance();
}

Kernel Writer::step(bool is_first) {
    Kernel step;
    const bool adds =
        is_first ? !has(Feature::no_adds) || random_.chance(0.92F) : random_.chance(0.4F);
    if (!adds) step.combine = random_.chance(0.5F) ? Combine::require : Combine::subtract;
    const Combine combine = step.combine;
    step = kernel(is_first);
    step.combine = combine;
    return step;
}

/// Steps of an inner node cannot have hysteresis.
void Writer::add_inner_steps(std::vector<Kernel>& steps) {
    const std::uint32_t count = random_.below(3);
    while (steps.size() < count) {
        Kernel one = step(steps.empty());
        if (one.type == KernelType::line_of_sight) continue;
        if (one.type == KernelType::custom && one.custom->remembers()) continue;
        if (one.type == KernelType::distance) one.leave = one.enter;
        if (one.type == KernelType::area) one.leave = 0;
        steps.push_back(one);
    }
}

NodeDef Writer::node(std::uint32_t number) {
    NodeDef node;
    node.name = "node" + std::to_string(number);
    const std::uint32_t steps = random_.chance(0.04F) ? 0 : 1 + random_.below(steps_max);
    for (std::uint32_t s = 0; s < steps; ++s) node.steps.push_back(step(s == 0));
    if (has(Feature::binding))
        node.members = random_.chance(0.5F)
                           ? Members::all
                           : Members{static_cast<std::uint8_t>(1 + random_.below(2))};
    if (has(Feature::combine) && number > 0 && random_.chance(0.3F))
        node.combine = random_.chance(0.5F) ? Combine::require : Combine::subtract;
    if (has(Feature::combine)) node.enabled = random_.chance(0.93F);
    if (has(Feature::settings)) {
        node.replication.every_ticks = 1 + random_.below(4);
        node.replication.priority = random_.between(0.5F, 4);
        node.replication.leave = Retention{static_cast<std::uint8_t>(random_.below(4))};
    }
    if (has(Feature::dispatchers) && random_.chance(0.2F)) {
        const auto dispatcher = random_dispatcher(random_, space_.twins);
        if (random_.chance(0.3F)) node.steps.clear();
        if (random_.chance(0.4F)) {
            node.inner.resize(1 + random_.below(2));
            for (auto& inner : node.inner) add_inner_steps(inner);
            dispatcher->set_lists(node.inner.size());
        }
        node.dispatcher = dispatcher;
    } else if (has(Feature::custom_nodes) && random_.chance(0.15F)) {
        node.steps.clear();
        node.custom = random_node_of_our_own(random_, space_.twins);
        if (random_.chance(0.5F)) node.dormant = true;
        return node;
    }
    if (has(Feature::dormant) && random_.chance(0.25F)) node.dormant = true;
    return node;
}

void Writer::set_frame(Rules& rules) {
    const float side = space_.twins.side_m;
    rules.axes = space_.twins.axes;
    rules.min = {0, 0, 0};
    rules.max = {side, side, side};
    if (rules.axes == Axes::xyz) rules.max.z = space_.height;
    if (rules.axes == Axes::xy && random_.chance(0.5F)) rules.max.z = 0;
    if (random_.chance(0.3F)) {
        rules.min = {length(-20, 30), length(-20, 30), 0};
        if (rules.axes == Axes::xz) rules.min.z = length(-20, 30);
    }
    rules.entities_expected = 200;
    rules.cell_size = random_.chance(0.5F) ? length(4, 60) : 0;
    if (has(Feature::ranges)) {
        const std::uint32_t classes = random_.below(3);
        for (std::uint32_t i = 0; i < classes; ++i)
            rules.range_classes.push_back(space_.range_max_m / static_cast<float>(1U << i));
        std::reverse(rules.range_classes.begin(), rules.range_classes.end());
        rules.observer_range_max = space_.range_max_m;
    }
    if (has(Feature::bounds) && random_.chance(0.6F)) rules.group_radius_max = length(1, 80);
    if (has(Feature::minimum_relevance) && random_.chance(0.4F))
        rules.minimum_relevance_ticks = 1 + random_.below(6);
}

Rules Writer::rules() {
    Rules rules;
    set_frame(rules);
    if (random_.chance(0.02F)) return rules;
    const std::uint32_t nodes = 1 + random_.below(nodes_max);
    for (std::uint32_t n = 0; n < nodes; ++n) rules.nodes.push_back(node(n));
    if (has(Feature::many_nodes) && has(Feature::binding) && random_.chance(0.15F))
        add_many_nodes(rules);
    return rules;
}

/// Bound nodes with steps without hysteresis. Often two nodes have the same steps.
void Writer::add_many_nodes(Rules& rules) {
    const std::size_t first = rules.nodes.size();
    constexpr std::size_t most_of_all = 32;  // a verdict of the oracle holds no more
    const std::size_t most = std::min<std::size_t>(most_of_all, first + 12 + random_.below(30));
    while (rules.nodes.size() < most) {
        NodeDef many;
        many.name = "node" + std::to_string(rules.nodes.size());
        many.members = Members::bound;
        if (rules.nodes.size() > first && random_.chance(0.4F)) {
            const auto made = static_cast<std::uint32_t>(rules.nodes.size() - first);
            many.steps = rules.nodes[first + random_.below(made)].steps;
        } else {
            add_inner_steps(many.steps);
        }
        rules.nodes.push_back(many);
    }
}

void Writer::change(Rules& rules) {
    if (rules.nodes.empty()) {
        rules.nodes.push_back(node(0));
        return;
    }
    const std::uint32_t at = random_.below(static_cast<std::uint32_t>(rules.nodes.size()));
    NodeDef& node_at = rules.nodes[at];
    const auto any_step = [&] {
        return node_at.steps.begin() +
               random_.below(static_cast<std::uint32_t>(node_at.steps.size()));
    };
    const bool takes_steps = node_at.custom == nullptr;
    switch (random_.below(9)) {
        case 0:  // another radius, or another kernel
            if (!node_at.steps.empty()) {
                Kernel& step = *any_step();
                const Combine combine = step.combine;
                step = kernel(false);
                step.combine = combine;
            }
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
                any_step()->combine = Combine{static_cast<std::uint8_t>(random_.below(3))};
            break;
        case 4:
            if (node_at.steps.size() > 1 && has(Feature::moved_steps))
                std::swap(node_at.steps.front(), node_at.steps.back());
            break;
        case 5:
            if (rules.nodes.size() < nodes_max) {
                std::uint32_t number = 0;  // a name that is free
                const auto is_taken = [&](const NodeDef& one) {
                    return one.name == "node" + std::to_string(number);
                };
                while (std::any_of(rules.nodes.begin(), rules.nodes.end(), is_taken)) ++number;
                rules.nodes.push_back(node(number));
                if (rules.nodes.size() == 1) rules.nodes[0].combine = Combine::add;
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
    if (!has(Feature::no_adds) && !node_at.steps.empty())
        node_at.steps.front().combine = Combine::add;
}

// -- text form ----------------------------------------------------------------------------------

std::string digits(float value) {
    std::array<char, 32> text{};
    (void)std::snprintf(text.data(), text.size(), "%.9g", static_cast<double>(value));
    return text.data();
}

template <std::size_t count, class Enum>
std::string word(const std::array<const char*, count>& words, Enum value) {
    return words[static_cast<std::size_t>(value)];
}

std::string kernel_text(const Kernel& kernel, bool numbers) {
    static constexpr std::array<const char*, 11> types{"distance", "group", "flag",      "custom",
                                                       "area",     "owner", "value",     "cells",
                                                       "hexagons", "sight", "everything"};
    static constexpr std::array<const char*, 3> ranges{"", " range of entity",
                                                       " range of observer"};
    static constexpr std::array<const char*, 4> positions{"", " from main", " from areas",
                                                          " from owned"};
    std::string text = word(types, kernel.type);
    const auto add = [&](const std::string& more) {
        if (numbers) text += " " + more;
    };
    switch (kernel.type) {
        case KernelType::distance:
            add(digits(kernel.enter) + "/" + digits(kernel.leave));
            if (kernel.leave > kernel.enter) text += " margin";
            return text + word(ranges, kernel.range) + word(positions, kernel.view_from);
        case KernelType::same_key:
            return text + " " + std::to_string(index_of(kernel.key));
        case KernelType::flag:
            return text + " " + std::to_string(index_of(kernel.flag));
        case KernelType::custom:
            return text + " " + static_cast<const TwinnedKernel&>(*kernel.custom).name();
        case KernelType::area:
            add(digits(kernel.leave));
            return text + (kernel.leave > 0 ? " margin" : "");
        case KernelType::owner:
        case KernelType::everything:
            return text;
        case KernelType::value:
            add(digits(kernel.min) + ".." + digits(kernel.max));
            return text + " of " + std::to_string(index_of(kernel.value));
        case KernelType::cells:
        case KernelType::hexagons:
            add(digits(kernel.cell_size.x) + " x " + digits(kernel.cell_size.y) + " x " +
                digits(kernel.cell_size.z));
            return text + " rings " + std::to_string(kernel.rings) +
                   word(positions, kernel.view_from);
        case KernelType::line_of_sight:
            add(digits(kernel.enter));
            return text + (kernel.predicts_sight ? " predicted" : "") +
                   word(positions, kernel.view_from);
    }
    return text;
}

std::string node_text(const NodeDef& node, bool numbers) {
    static constexpr std::array<const char*, 3> signs{"+", "-", "&"};
    static constexpr std::array<const char*, 3> members{"", " bound", " unbound"};
    std::string text = word(signs, node.combine) + (numbers ? node.name + ": " : "") +
                       (node.dispatcher != nullptr ? "dispatcher"
                        : node.custom != nullptr   ? "custom"
                                                   : "grid") +
                       word(members, node.members);
    if (!node.enabled) text += " disabled";
    if (node.dormant) text += " dormant";
    if (node.dispatcher != nullptr)
        text += " " + static_cast<const NamedDispatcher&>(*node.dispatcher).name();
    if (node.custom != nullptr) {
        text += " " + static_cast<const TwinnedNode&>(*node.custom).name();
        text += node.custom->is_entity_centric() ? " by entity" : " by observer";
    }
    const auto add_steps = [&](const std::vector<Kernel>& steps) {
        text += " [";
        for (const Kernel& step : steps)
            text += " " + word(signs, step.combine) + kernel_text(step, numbers);
        text += " ]";
    };
    add_steps(node.steps);
    for (const auto& inner : node.inner) {
        text += " inner";
        add_steps(inner);
    }
    return text;
}

std::string written(const Rules& rules, bool numbers) {
    static constexpr std::array<const char*, 3> axes{"xy", "xz", "xyz"};
    std::string text = word(axes, rules.axes);
    if (numbers) {
        text += " from " + digits(rules.min.x) + "," + digits(rules.min.y) + "," +
                digits(rules.min.z) + " cell " + digits(rules.cell_size) + " classes";
        for (const float range : rules.range_classes) text += " " + digits(range);
    }
    if (rules.minimum_relevance_ticks > 0)
        text += " minimum relevance" +
                (numbers ? " " + std::to_string(rules.minimum_relevance_ticks) : std::string());
    for (const NodeDef& node : rules.nodes) text += "\n  " + node_text(node, numbers);
    return text;
}

}  // namespace

Rules random_rules(SplitMix& random, const RuleSpace& space) {
    Writer writer(random, space);
    for (int attempt = 0; attempt < attempts_max; ++attempt) {
        Rules rules = writer.rules();
        if (problem_of_structure(rules).empty()) return rules;
        if (attempt + 1 == attempts_max) {
            std::printf("no valid rules: %s\n%s\n", problem_of_structure(rules).c_str(),
                        text_of(rules).c_str());
            std::abort();
        }
    }
    return {};
}

Rules changed_rules(SplitMix& random, const RuleSpace& space, const Rules& rules) {
    Writer writer(random, space);
    Rules changed = rules;
    const std::uint32_t changes = 1 + random.below(2);
    for (std::uint32_t i = 0; i < changes; ++i) writer.change(changed);
    if (rules.minimum_relevance_ticks > 0 && random.chance(0.5F))
        changed.minimum_relevance_ticks = random.below(7);  // 0 disables it
    return problem_of_structure(changed).empty() ? changed : rules;
}

std::string text_of(const Rules& rules) {
    return written(rules, true);
}

std::string shape_of(const Rules& rules) {
    return written(rules, false);
}

unsigned depth_of(const Rules& rules) {
    std::size_t depth = 0;
    for (const NodeDef& node : rules.nodes) {
        const std::size_t found = node.dispatcher != nullptr ? 1 : 0;
        depth = std::max(depth, node.steps.size() + found);
    }
    return static_cast<unsigned>(depth);
}

bool has_kernel(const Rules& rules, KernelType type) {
    return std::any_of(rules.nodes.begin(), rules.nodes.end(), [&](const NodeDef& node) {
        return std::any_of(node.steps.begin(), node.steps.end(),
                           [&](const Kernel& step) { return step.type == type; });
    });
}

}  // namespace purview::test
