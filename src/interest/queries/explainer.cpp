// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/queries/explainer.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "interest/rules/kernel.hpp"
#include "purview/explain.hpp"
#include "purview/status.hpp"
#include "spatial/move.hpp"

namespace purview {

std::string_view to_string(Stage stage) noexcept {
    constexpr std::array<std::string_view, 11> names{
        "observer not ready", "denied",        "owned",           "force hidden",
        "shown to all",       "allowed",       "sees everything", "a node matches",
        "no node matches",    "explicit only", "promoted"};
    return names[static_cast<std::size_t>(stage)];
}

namespace {

/// Returns a line with the settings that differ from the defaults, or an empty string.
std::string text_of(const ExplainedSettings& its) {
    const Replication defaults;
    std::string out;
    const auto add = [&](const std::string& what, const std::string& node) {
        out += (out.empty() ? "  settings: " : ", ") + what + " ('" + node + "')";
    };
    if (its.settings.every_ticks != defaults.every_ticks)
        add("every " + std::to_string(its.settings.every_ticks) + " ticks", its.every_ticks_by);
    if (its.settings.priority != defaults.priority)
        add("priority " + number_text(its.settings.priority), its.priority_by);
    if (its.settings.leave != defaults.leave)
        add("leave " + std::string(to_string(its.settings.leave)), its.leave_by);
    return out.empty() ? out : out + "\n";
}

}  // namespace

std::string Explanation::text() const {
    if (status != Status::ok)
        return "cannot explain the pair: " + std::string(to_string(status)) + "\n";
    std::string out = std::string(relevant ? "relevant" : "not relevant") + ": " +
                      std::string(to_string(stage)) +
                      (promoted_by == EntityId::none
                           ? "\n"
                           : " by entity " + std::to_string(index_of(promoted_by)) + "\n");
    constexpr std::array<const char*, 3> ops{"add", "subtract", "require"};
    for (const ExplainedNode& node : nodes) {
        constexpr std::array<const char*, 3> joins{"", ", subtracted", ", required"};
        out += "  node '" + node.name + "'" + joins[static_cast<std::size_t>(node.combine)] + ": " +
               (node.is_member ? (node.result ? "yes" : "no") : "not applicable") + "\n";
        for (const ExplainedStep& step : node.steps) {
            out += std::string("    ") + ops[static_cast<std::size_t>(step.combine)] + ": " +
                   step.what +
                   (step.unknown  ? " -> unknown"
                    : step.answer ? " -> applies"
                                  : " -> does not apply") +
                   (step.so_far ? ", so far yes\n" : ", so far no\n");
        }
    }
    out += text_of(settings);
    if (hidden_member != EntityId::none)
        out += "  in its group, entity " + std::to_string(index_of(hidden_member)) +
               " is hidden with all its descendants\n";
    if (!are_changes_known && !relevant)
        out +=
            "  the result is that of entity " + std::to_string(index_of(unit)) + " of its group\n";
    if (held) out += "  no node matches it any more; its minimum relevance time is not over\n";
    const std::string turn = relevant ? "would hide it" : "would show it";
    for (const WhatIf& change : single) out += "  " + turn + ": " + change.what + "\n";
    if (changes_by_itself)
        out +=
            "  no change is needed: a node evaluation is due, or a minimum relevance time or an "
            "area ends\n";
    if (are_changes_known && !changes_by_itself && single.empty() && pair.empty())
        out += "  no single change and no pair of changes " + turn + "\n";
    if (single.empty() && !pair.empty())
        out += "  no single change; together: " + pair[0].what + " and " + pair[1].what + "\n";
    return out;
}

/// All inputs of the result for one pair.
struct Case {
    EntityId id = EntityId::none;
    PairFacts facts;
    bool has_position = true;
    Vec3 position;  ///< horizontal axes first
    std::uint16_t flags = 0;
    std::array<Key, Schema::keys_max> keys{};
    std::array<float, Schema::keys_max> values{};
    float range = 0;
    float group_radius_m = 0;
    std::vector<std::uint8_t> member;  ///< [nodes of the rules]
    std::vector<std::uint8_t> custom;  ///< [nodes of the rules] result of the custom node
    bool held = false;
    bool in_minimum_time = false;  ///< relevant unless hidden
    std::uint32_t memory = 0;      ///< bit p: plane p of the window is set for the entity
};

/// Evaluates cases of one observer, on a copy of the entity.
class Evaluator {
  public:
    Evaluator(const Explainer& data, std::uint32_t observer) : data_(data), observer_(observer) {
        data.observer_views_.collect(observer, sight_);
        data.observer_views_.collect(observer, next_sight_, data.tick_ + 1);
    }
    const Sight& next_sight() const noexcept { return next_sight_; }

    /// Returns the stage that decides. `nodes` receives the explanation of each node, and is null
    /// for a what-if query. `hides` receives whether a step subtracts the entity by its own
    /// attributes.
    Stage stage_of(const Case& c, std::vector<ExplainedNode>* nodes, bool* hides = nullptr) const {
        const Rules& def = data_.rules_;
        const Program& program = data_.program_;
        BlockTable table(data_.table_.is_three_d());
        table.add_layer({0, 0, 0}, {1, 1, 1}, 1);
        const std::uint32_t abstract = table.add_abstract_layer();
        const Columns columns = Columns::add_to(table, def);
        const Slot slot =
            table.insert(make_entity_id(0, 1), c.has_position ? 0 : abstract, c.position);
        for (std::uint32_t f = 0; f < def.flag_names.size(); ++f)
            table.set_flag(f, slot, ((c.flags >> f) & 1U) != 0);
        for (std::uint32_t k = 0; k < def.key_names.size(); ++k) table.set_key(k, slot, c.keys[k]);
        for (std::uint32_t v = 0; v < def.value_names.size(); ++v)
            table.set_number(v, slot, c.values[v]);
        table.set_number(columns.range, slot, c.range);
        table.set_number(columns.bounds, slot, c.group_radius_m);
        table.set_flag(columns.bounded, slot, c.group_radius_m > 0);
        table.set_flag(columns.more_keys, slot, true);
        const std::array block{block_of(slot)};
        const Mask bit = lane_bit(lane_of(slot));
        bool yes = false;
        for (const WholeNode& node : program.whole) {
            const std::size_t n = index_of(node.id);
            PURVIEW_ASSERT(n < c.member.size() && c.member.size() == c.custom.size());
            ExplainedNode out;
            bool result = node.everything || (node.is_custom && c.custom[n] != 0);
            if (!node.everything && !node.is_custom) {
                std::vector<StepTrace> trace;
                std::vector<Mask> masks(1 + program.plane_count, 0);
                for (std::uint32_t p = 0; p < program.plane_count; ++p) {
                    if ((c.memory >> p & 1U) != 0) masks[1 + p] = bit;
                }
                const std::vector<Mask> was = masks;
                const ScanInput input = input_of(c, table, node, nodes != nullptr, trace);
                ScanScratch scratch;
                evaluate(input, block, 0, masks, scratch);
                result = (masks[0] & bit) != 0;
                if (node.program.combine != Combine::add)
                    result = !trace.empty() && (trace.back().so_far & bit) != 0;
                if (nodes != nullptr) describe(input, block, slot, was, trace, out);
                if (nodes != nullptr && waits(node.program)) {
                    result = (was[1 + node.program.result_plane] & bit) != 0 ||
                             data_.explicit_.in_rows_of(node.id, observer_, c.id);
                }
            }
            const bool is_member = c.member[n] != 0;
            result = result && is_member;
            const Combine combine = node.program.combine;
            yes = combine == Combine::add       ? yes || result
                  : combine == Combine::require ? yes && result
                                                : yes && !result;
            if (nodes == nullptr) continue;
            out.name = def.nodes.empty() ? "default" : def.nodes[n].name;
            out.result = result;
            out.is_member = is_member;
            out.combine = combine;
            nodes->push_back(std::move(out));
        }
        if (nodes != nullptr) return c.facts.decide(yes || c.held);
        const bool is_cloaked = (c.in_minimum_time || hides != nullptr) &&
                                is_hidden(c, Slots(table, data_.facts_table_, c.id), slot);
        if (hides != nullptr) *hides = is_cloaked;
        return c.facts.decide(yes || (c.in_minimum_time && !is_cloaked));
    }

    /// A partly split group: all its cull groups, ancestors first.
    struct SplitGroup {
        std::vector<SplitGroupUnit> group;
        std::vector<Case> cases;  ///< [group] each evaluated alone
        EntityId target = EntityId::none;
        std::size_t at = 0;       ///< index of the target's cull group
        std::size_t changed = 0;  ///< index of the changed cull group
    };
    SplitGroup split_group_of(EntityId entity, EntityId changed) const {
        SplitGroup group_state;
        group_state.target = entity;
        data_.relevance_.gather_split_group(data_.lookup_.top_of(data_.lookup_.unit_of(entity)),
                                            group_state.group);
        for (std::size_t i = 0; i < group_state.group.size(); ++i) {
            const EntityId unit = group_state.group[i].unit;
            group_state.cases.push_back(data_.case_of(observer_, unit));
            group_state.cases.back().facts =
                data_.explicit_.facts_of(observer_, unit, data_.table_.slot_of(unit));
            if (unit == data_.lookup_.unit_of(entity)) group_state.at = i;
            if (unit == changed) group_state.changed = i;
        }
        PURVIEW_ASSERT(group_state.group[group_state.at].unit == data_.lookup_.unit_of(entity));
        return group_state;
    }
    /// Returns whether an override hides some member. Ownership and allow then also decide whether
    /// that override applies.
    bool has_cuts(const SplitGroup& group_state) const {
        return std::any_of(
            group_state.group.begin(), group_state.group.end(),
            [&](const SplitGroupUnit& one) { return data_.lookup_.has_cuts(one.unit); });
    }
    /// Evaluates the group with the inputs in `cases`. Returns whether the target is relevant.
    bool is_shown(const SplitGroup& group_state) const {
        std::vector<SplitGroupResult> answers;
        data_.relevance_.evaluate_group(
            observer_, group_state.group, answers, [&](std::size_t i, const PairFacts& below) {
                UnitResult result{group_state.cases[i].facts, false, false};
                result.facts.take_shown(below);
                if (result.facts.decide(false) != Stage::no_node) return result;
                Case by_nodes = group_state.cases[i];
                by_nodes.facts = {};
                by_nodes.facts.ready = true;
                result.nodes = stage_of(by_nodes, nullptr, &result.hides) == Stage::node;
                return result;
            });
        return answers[group_state.at].shown &&
               data_.relevance_.is_path_open(observer_, group_state.group[group_state.at].unit,
                                             group_state.target);
    }

  private:
    /// Returns whether the node's last result counts, not the current result of its steps.
    bool waits(const NodeProgram& node) const noexcept {
        return !data_.observer_views_.input_of(observer_, sight_).is_due(node);
    }
    /// Returns whether some node hides the entity by the entity's own attributes.
    bool is_hidden(const Case& c, const Slots& slots, Slot slot) const {
        return std::any_of(data_.program_.whole.begin(), data_.program_.whole.end(),
                           [&](const WholeNode& node) {
                               return !node.is_custom && c.member[index_of(node.id)] != 0 &&
                                      ExplicitRelevance::hides(node, slots, slot);
                           });
    }

    ScanInput input_of(const Case& c, const BlockTable& table, const WholeNode& node, bool again,
                       std::vector<StepTrace>& trace) const {
        const ScanInput now =
            data_.observer_views_.input_of(observer_, again ? sight_ : next_sight_);
        ScanInput input{.table = table, .facts = data_.facts_table_, .program = data_.program_};
        input.observer_index = now.observer_index;
        input.observer = now.observer;
        input.views = now.views;
        input.keys = now.keys;
        input.context = now.context;
        input.context.again = again;
        input.is_what_if = true;
        input.nodes = {&node.program, 1};
        input.may_be_abstract = true;
        input.trace = &trace;
        input.stands_for = c.id;
        return input;
    }

    void describe(const ScanInput& input, std::span<const BlockIndex> block, Slot slot,
                  const std::vector<Mask>& was, const std::vector<StepTrace>& trace,
                  ExplainedNode& out) const {
        const Slots slots(input.table, input.facts, input.stands_for);
        const Mask bit = lane_bit(lane_of(slot));
        for (const StepTrace& step : trace) {
            const InterestKernel& kernel = *step.step->kernel;
            const std::uint32_t plane = step.step->plane;
            const std::array memory{plane == no_plane ? Mask{0} : was[1 + plane]};
            const KernelQuery query{input.observer,
                                    input.views.of(kernel.looks_from()),
                                    input.keys,
                                    block,
                                    memory,
                                    {},
                                    0,
                                    slots,
                                    input.context,
                                    {}};
            out.steps.push_back({step.step->combine, kernel.describe(query, lane_of(slot)),
                                 (step.answer & bit) != 0, (step.unknown & bit) != 0,
                                 (step.so_far & bit) != 0});
        }
    }

    const Explainer& data_;
    std::uint32_t observer_;
    Sight sight_;
    Sight next_sight_;  ///< for what-if queries, which the next tick answers
};

namespace {

std::string words(Vec3 p, Axes axes) {
    std::string text = number_text(p.x) + ", ";
    if (axes != Axes::xz) text += number_text(p.y);
    if (axes == Axes::xyz) text += ", ";
    if (axes != Axes::xy) text += number_text(p.z);
    return text;
}

void apply(const WhatIf& change, Case& c) {
    switch (change.type) {
        case WhatIfType::ready:
            c.facts.ready = change.value;
            break;
        case WhatIfType::deny:
            c.facts.denied = change.value;
            break;
        case WhatIfType::owner:
            c.facts.owned = change.value;
            break;
        case WhatIfType::force_hide:
            c.facts.force_hidden = change.value;
            break;
        case WhatIfType::show_to_all:
            c.facts.shown_to_all = change.value;
            break;
        case WhatIfType::allow:
            c.facts.allowed = change.value;
            break;
        case WhatIfType::sees_everything:
            c.facts.sees_everything = change.value;
            break;
        case WhatIfType::flag: {
            const auto bit = static_cast<std::uint16_t>(1U << index_of(change.flag));
            c.flags = static_cast<std::uint16_t>(change.value ? c.flags | bit : c.flags & ~bit);
            break;
        }
        case WhatIfType::key:
            c.keys[index_of(change.domain)] = change.key;
            break;
        case WhatIfType::move:
            c.position = change.position;
            break;
        case WhatIfType::explicit_only:
            c.facts.explicit_only = change.value;
            break;
        case WhatIfType::number:
            c.values[index_of(change.number)] = change.to;
            break;
    }
}

/// A change of the observer applies to the whole group.
void apply(const WhatIf& change, std::vector<Case>& group, std::size_t changed) {
    const bool of_observer =
        change.type == WhatIfType::ready || change.type == WhatIfType::sees_everything;
    for (std::size_t i = 0; i < group.size(); ++i) {
        if (of_observer || i == changed) apply(change, group[i]);
    }
}

/// Two changes of the same input cannot form a pair.
bool is_same_input(const WhatIf& a, const WhatIf& b) {
    return a.type == b.type && a.flag == b.flag && a.domain == b.domain && a.number == b.number;
}

/// Adds moves to positions just inside and just outside every radius, on the line from the nearest
/// viewpoint through the entity. The nearest position comes first.
void add_moves(const Case& c, std::span<const Vec3> positions, std::span<const float> edges,
               Axes axes, std::vector<WhatIf>& out) {
    PURVIEW_ASSERT(!positions.empty());
    const Vec3 at = c.position;
    const bool three_d = axes == Axes::xyz;
    const auto away = [&](Vec3 from) {
        const double flat = std::hypot(double{at.x} - from.x, double{at.y} - from.y);
        return three_d ? std::hypot(flat, double{at.z} - from.z) : flat;
    };
    const Vec3 from = *std::min_element(positions.begin(), positions.end(),
                                        [&](Vec3 a, Vec3 b) { return away(a) < away(b); });
    const double nearest = away(from);
    const double dx = nearest > 0 ? (double{at.x} - from.x) / nearest : 1;
    const double dy = nearest > 0 ? (double{at.y} - from.y) / nearest : 0;
    const double dz = nearest > 0 && three_d ? (double{at.z} - from.z) / nearest : 0;
    std::vector<double> distances{0};
    for (const float edge : edges) {
        const double counted = double{edge} + c.group_radius_m;
        distances.push_back(counted * 0.998);
        distances.push_back(counted * 1.002 + 0.001);
    }
    std::sort(distances.begin(), distances.end(),
              [&](double a, double b) { return std::abs(a - nearest) < std::abs(b - nearest); });
    for (const double d : distances) {
        WhatIf change;
        change.type = WhatIfType::move;
        change.value = true;
        change.position = {static_cast<float>(from.x + dx * d), static_cast<float>(from.y + dy * d),
                           three_d ? static_cast<float>(from.z + dz * d) : at.z};
        change.what = "move it to " + words(exchanged(axes, change.position), axes);
        out.push_back(change);
    }
}

/// Adds changes of values to just inside and just outside the ranges of steps.
void add_numbers(const Rules& rules, const AttributeNames& names, std::uint32_t count,
                 std::vector<WhatIf>& out) {
    const auto put = [&](ValueId value, float to) {
        if (!std::isfinite(to) || index_of(value) >= count) return;
        WhatIf change;
        change.type = WhatIfType::number;
        change.value = true;
        change.number = value;
        change.to = to;
        change.what = "set its " + names.value(value) + " to " + number_text(to);
        out.push_back(change);
    };
    for (const NodeDef& node : rules.nodes) {
        for (const Kernel& step : node.steps) {
            if (step.type != KernelType::value) continue;
            put(step.value, step.min);
            put(step.value, step.max);
            put(step.value, step.min - 1);
            put(step.value, step.max + 1);
        }
    }
}

/// Suggests every change that flips the result alone or, if there is none, two that flip it
/// together.
template <class Flips>
void suggest(const std::vector<WhatIf>& changes, Axes axes, Explanation& out, Flips&& flips) {
    bool has_move = false;
    for (const WhatIf& change : changes) {
        if (change.type == WhatIfType::move && has_move) continue;  // the nearest is enough
        if (!flips(change, nullptr)) continue;
        has_move = has_move || change.type == WhatIfType::move;
        out.single.push_back(change);
    }
    for (std::size_t i = 0; out.single.empty() && out.pair.empty() && i < changes.size(); ++i) {
        for (std::size_t j = i + 1; out.pair.empty() && j < changes.size(); ++j) {
            if (!is_same_input(changes[i], changes[j]) && flips(changes[i], &changes[j]))
                out.pair = {changes[i], changes[j]};
        }
    }
    PURVIEW_ASSERT(out.single.empty() || out.pair.empty());
    // Converts positions to the axes of the caller.
    for (std::vector<WhatIf>* list : {&out.single, &out.pair}) {
        for (WhatIf& change : *list) change.position = exchanged(axes, change.position);
    }
}

}  // namespace

/// Returns the current state of the pair.
Case Explainer::case_of(std::uint32_t o, EntityId unit) const {
    const Slot slot = table_.slot_of(unit);
    PURVIEW_ASSERT(slot != no_slot);
    const Observer& observer = observers_[o];
    Case now;
    now.id = unit;
    now.facts = lookup_.is_split_group(unit) ? relevance_.facts_with_below(o, unit)
                                             : explicit_.facts_of(o, unit, slot);
    now.has_position = !table_.is_abstract(block_of(slot));
    now.position = table_.position(slot);
    for (std::uint32_t f = 0; f < rules_.flag_names.size(); ++f) {
        if (table_.flag(f, slot)) now.flags = static_cast<std::uint16_t>(now.flags | 1U << f);
    }
    for (std::uint32_t k = 0; k < rules_.key_names.size(); ++k) now.keys[k] = table_.key(k, slot);
    for (std::uint32_t v = 0; v < rules_.value_names.size(); ++v)
        now.values[v] = table_.number(v, slot);
    now.range = table_.number(facts_table_.columns.range, slot);
    now.group_radius_m = table_.number(facts_table_.columns.bounds, slot);
    const std::size_t nodes = std::max<std::size_t>(rules_.nodes.size(), 1);
    now.member.assign(nodes, 0);
    now.custom.assign(nodes, 0);
    for (std::size_t n = 0; n < nodes; ++n) {
        const Members members = rules_.nodes.empty() ? Members::unbound : rules_.nodes[n].members;
        now.member[n] = facts_table_.bindings.is_member(id_at<NodeId>(n), members, unit);
    }
    for (std::size_t c = 0; c < custom_.size(); ++c)
        now.custom[index_of(program_.custom_nodes[c])] = explicit_.custom_result(c, o, unit);
    const PairEntry* pair = pairs_.find(o, unit);
    now.held = pair != nullptr && pair->held;
    now.in_minimum_time = explicit_.is_in_minimum_time(o, unit, tick_ + 1);
    const std::size_t position = observer.window.find(block_of(slot), table_.cell_end());
    for (std::uint32_t p = 0; position < observer.window.size() && p < program_.plane_count; ++p) {
        const Mask mask = observer.window.masks()[(1 + p) * observer.window.size() + position];
        if ((mask & lane_bit(lane_of(slot))) != 0) now.memory |= 1U << p;
    }
    return now;
}

std::vector<WhatIf> Explainer::changes_of(std::uint32_t o, EntityId unit, const Case& now,
                                          std::span<const Vec3> positions) const {
    std::vector<WhatIf> changes;
    const auto toggle = [&](WhatIfType type, bool is, const char* on, const char* off) {
        WhatIf change;
        change.type = type;
        change.value = !is;
        change.what = is ? off : on;
        changes.push_back(change);
    };
    const Observer& observer = observers_[o];
    // Rules may require a main entity; without one, the observer cannot become ready by itself.
    if (!rules_.ready_requires_viewpoint || observer.main != EntityId::none) {
        toggle(WhatIfType::ready, now.facts.ready, "make the observer ready",
               "make the observer not ready");
    }
    toggle(WhatIfType::deny, now.facts.denied, "deny the pair", "end the deny");
    const bool owns_itself = ownership_.owner_of(unit) == observers_.id_of(o);
    const PairEntry* pair = pairs_.find(o, unit);
    const bool is_blind = ownership_.is_blind(unit);
    const bool reads_owner = program_.needs_owned;
    if (!is_blind && !reads_owner && (!now.facts.owned || (owns_itself && pair->owned == 1))) {
        toggle(WhatIfType::owner, now.facts.owned, "make the observer its owner",
               "end the ownership of the observer");
    }
    const Slot slot = table_.slot_of(unit);
    const bool global = table_.flag(facts_table_.columns.global_mode, slot);
    toggle(WhatIfType::force_hide, now.facts.force_hidden, "force-hide it", "end the force-hide");
    const bool by_member = table_.flag(facts_table_.columns.shown_by_members, slot);
    if (!global && !by_member) {
        toggle(WhatIfType::show_to_all, now.facts.shown_to_all, "show it to all",
               "stop showing it to all");
        toggle(WhatIfType::explicit_only, now.facts.explicit_only, "make it explicit-only",
               "end its explicit-only mode");
    }
    if (pair == nullptr || pair->member_allows == 0)
        toggle(WhatIfType::allow, now.facts.allowed, "allow the pair", "end the allow");
    if (rules_.level == InterestLevel::full) {
        toggle(WhatIfType::sees_everything, now.facts.sees_everything,
               "let the observer see everything", "apply the rules to the observer");
    }
    for (std::uint32_t f = 0; f < rules_.flag_names.size(); ++f) {
        WhatIf change;
        change.type = WhatIfType::flag;
        change.flag = id_at<FlagId>(f);
        change.value = ((now.flags >> f) & 1U) == 0;
        change.what = (change.value ? "set " : "clear ") + names_.flag(change.flag);
        changes.push_back(change);
    }
    // Not for the observer's main entity: its keys are the observer's keys.
    for (std::uint32_t k = 0; k < rules_.key_names.size() && observer.main != unit; ++k) {
        if (observer.keys[k] == Key::none) continue;
        WhatIf change;
        change.type = WhatIfType::key;
        change.value = true;
        change.domain = id_at<KeyId>(k);
        change.key = now.keys[k] == observer.keys[k] ? Key::none : observer.keys[k];
        change.what = "set its " + names_.key(change.domain) + " to " +
                      (change.key == Key::none ? "none" : std::to_string(index_of(change.key)));
        changes.push_back(change);
    }
    add_numbers(rules_, names_, static_cast<std::uint32_t>(rules_.value_names.size()), changes);
    // An entity that shares its position with another, or that the observer views from, does not
    // move alone.
    bool moves_alone = !lookup_.is_routed(unit) && !program_.looks_from_owned &&
                       !lookup_.stands_with(observer.main, unit);
    for (const KeyedArea& area : observer.areas)
        moves_alone = moves_alone && !lookup_.stands_with(area.area.follow, unit);
    if (now.has_position && !positions.empty() && moves_alone)
        add_moves(now, positions, program_.all_edges_m, facts_table_.axes, changes);
    return changes;
}

/// Explains a hidden member of a cull group that may be relevant itself.
Explanation Explainer::explain_hidden(std::uint32_t o, EntityId entity, Explanation out) const {
    if (!out.relevant) return out;  // its cull group is not relevant either
    const EntityId unit = out.unit;
    out.relevant = false;
    out.unit = out.hidden_member;
    out.stage = relevance_.cut_of(o, unit, out.unit);
    PURVIEW_ASSERT(out.stage != Stage::node);  // cut_by found it
    const MemberMarks* found = groups_.marks_of(out.unit);
    const MemberMarks marks = found == nullptr ? MemberMarks{} : *found;
    const bool is_both = marks.force_hidden && marks.mode == EntityMode::explicit_only;
    const bool is_denied = out.stage == Stage::denied;
    std::size_t cuts = 0;
    for (EntityId one = entity; one != unit; one = groups_.parent_of(one))
        cuts += relevance_.cut_of(o, unit, one) != Stage::node ? 1 : 0;
    if (cuts != 1 || is_both || (is_denied && marks.cuts())) return out;
    WhatIf change;
    change.type = is_denied                          ? WhatIfType::deny
                  : out.stage == Stage::force_hidden ? WhatIfType::force_hide
                                                     : WhatIfType::explicit_only;
    change.what = is_denied                          ? "end the deny of the member"
                  : out.stage == Stage::force_hidden ? "end the force-hide of the member"
                                                     : "end the explicit-only mode of the member";
    out.single.push_back(change);
    return out;
}

Explanation Explainer::explain(ObserverId id, EntityId entity) const {
    Explanation out;
    out.status = observers_.is_live(id) && lookup_.is_known(entity) ? Status::ok : Status::stale_id;
    if (out.status != Status::ok) return out;
    const std::uint32_t o = index_of(id);
    const EntityId unit = out.unit = lookup_.unit_of(entity);
    const Case now = case_of(o, unit);
    const Evaluator evaluator(*this, o);
    out.stage = evaluator.stage_of(now, &out.nodes);
    if (Case alone = now; now.held && out.stage == Stage::node) {
        alone.held = false;
        std::vector<ExplainedNode> nodes;
        out.held = evaluator.stage_of(alone, &nodes) != Stage::node;
    }
    out.relevant = is_yes(out.stage);
    out.settings.settings = settings(id, entity, &out.settings);
    if (lookup_.is_split_group(unit)) {
        relevance_.explain_split_group(o, entity, out);
        if (out.hidden_member != EntityId::none) return out;
        const Evaluator::SplitGroup group_state = evaluator.split_group_of(entity, out.unit);
        out.are_changes_known = true;
        out.changes_by_itself = evaluator.is_shown(group_state) != out.relevant;
        if (out.changes_by_itself) return out;
        std::vector<WhatIf> changes = changes_of(
            o, out.unit, group_state.cases[group_state.changed], evaluator.next_sight().positions);
        if (evaluator.has_cuts(group_state)) {
            std::erase_if(changes, [](const WhatIf& change) {
                return change.type == WhatIfType::owner || change.type == WhatIfType::allow ||
                       change.type == WhatIfType::show_to_all;
            });
        }
        suggest(changes, facts_table_.axes, out, [&](const WhatIf& a, const WhatIf* b) {
            Evaluator::SplitGroup then = group_state;
            apply(a, then.cases, then.changed);
            if (b != nullptr) apply(*b, then.cases, then.changed);
            return evaluator.is_shown(then) != out.relevant;
        });
        return out;
    }
    if (lookup_.has_cuts(unit) && entity != unit) {
        out.hidden_member = relevance_.cut_by(o, unit, entity);
        if (out.hidden_member != EntityId::none) return explain_hidden(o, entity, out);
    }
    out.changes_by_itself = is_yes(evaluator.stage_of(now, nullptr)) != out.relevant;
    if (out.changes_by_itself) return out;
    suggest(changes_of(o, unit, now, evaluator.next_sight().positions), facts_table_.axes, out,
            [&](const WhatIf& a, const WhatIf* b) {
                Case then = now;
                apply(a, then);
                if (b != nullptr) apply(*b, then);
                return is_yes(evaluator.stage_of(then, nullptr)) != out.relevant;
            });
    return out;
}

Replication Explainer::settings(ObserverId id, EntityId entity, ExplainedSettings* by) const {
    Replication best;
    if (!answers_.is_relevant(id, entity) || rules_.nodes.empty() ||
        rules_.level == InterestLevel::none) {
        return best;
    }
    const std::uint32_t o = index_of(id);
    const Evaluator evaluator(*this, o);
    std::vector<ExplainedNode> nodes;
    Case now = case_of(o, lookup_.unit_of(entity));
    // Below InterestLevel::full every entity is relevant, but nodes still decide the settings.
    now.facts.sees_everything = observers_[o].sees_everything;
    if (evaluator.stage_of(now, &nodes) != Stage::node) return best;
    bool any = false;
    PURVIEW_ASSERT(nodes.size() == program_.whole.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (!nodes[i].result || nodes[i].combine != Combine::add) continue;
        const Replication& its = rules_.nodes[index_of(program_.whole[i].id)].replication;
        const auto take = [&](auto& value, auto its_value, bool is_better, std::string* name) {
            if (any && !is_better) return;
            value = its_value;
            if (name != nullptr) *name = nodes[i].name;
        };
        take(best.every_ticks, its.every_ticks, its.every_ticks < best.every_ticks,
             by == nullptr ? nullptr : &by->every_ticks_by);
        take(best.priority, its.priority, its.priority > best.priority,
             by == nullptr ? nullptr : &by->priority_by);
        take(best.leave, its.leave, its.leave > best.leave,
             by == nullptr ? nullptr : &by->leave_by);
        any = true;
    }
    return best;
}

}  // namespace purview
