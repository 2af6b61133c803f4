// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Why, and what would have to be otherwise. The entity is copied into a table of its own and judged
// there by `evaluate` and PairFacts::decide, the code of the tick; a what-if question changes the
// copy.
#include "purview/explain.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "interest/interest_data.hpp"

namespace purview {

std::string_view to_string(Stage stage) noexcept {
    constexpr std::array<std::string_view, 9> names{
        "observer not ready", "denied",          "owned",
        "force hidden",       "shown to all",    "allowed",
        "sees everything",    "a node says yes", "no node says yes"};
    return names[static_cast<std::size_t>(stage)];
}

std::string Explanation::text() const {
    if (status != Status::ok) return "nobody to explain: " + std::string(to_string(status)) + "\n";
    std::string out = std::string(relevant ? "relevant" : "not relevant") + ": " +
                      std::string(to_string(stage)) + "\n";
    constexpr std::array<const char*, 3> ops{"add", "subtract", "require"};
    for (const ExplainedNode& node : nodes) {
        out += "  node '" + node.name + "': " + (node.result ? "yes" : "no") + "\n";
        for (const ExplainedStep& step : node.steps) {
            out += std::string("    ") + ops[static_cast<std::size_t>(step.op)] + ": " + step.what +
                   (step.unknown  ? " -> unknown"
                    : step.answer ? " -> applies"
                                  : " -> does not apply") +
                   (step.so_far ? ", so far yes\n" : ", so far no\n");
        }
    }
    const std::string turn = relevant ? "would hide it" : "would show it";
    for (const Change& change : single) out += "  " + turn + ": " + change.what + "\n";
    if (single.empty() && pair.empty()) out += "  no single change and no pair " + turn + "\n";
    if (single.empty() && !pair.empty())
        out += "  no single change; together: " + pair[0].what + " and " + pair[1].what + "\n";
    return out;
}

namespace {

/// All that the answer about one pair depends on.
struct Case {
    EntityId id = EntityId::none;
    PairFacts facts;
    EntityDef entity;
    std::array<Key, Schema::keys_max> keys{};
    std::uint32_t memory = 0;  ///< bit p: plane p of the window remembers the entity
};

/// Judges cases of one observer.
class Judge {
  public:
    Judge(const Program& program, const InterestDef& def, bool three_d, ObserverId observer,
          std::span<const Vec3> places, std::span<const Key> keys)
        : program_(program),
          def_(def),
          three_d_(three_d),
          observer_(observer),
          places_(places),
          keys_(keys) {}

    /// `nodes` may be null.
    Stage judge(const Case& c, std::vector<ExplainedNode>* nodes) const {
        BlockTable table(three_d_);
        table.add_layer({0, 0, 0}, {1, 1, 1}, 1);
        const std::uint32_t unplaced = table.add_unplaced_layer();
        for (std::uint32_t f = 0; f < def_.flag_count; ++f) table.add_flag_column();
        for (std::uint32_t k = 0; k < def_.key_count; ++k) table.add_key_column();
        const Slot slot =
            table.insert(make_entity_id(0, 1), c.entity.placed ? 0 : unplaced, c.entity.place);
        for (std::uint32_t f = 0; f < def_.flag_count; ++f)
            table.set_flag(f, slot, ((c.entity.flags >> f) & 1U) != 0);
        for (std::uint32_t k = 0; k < def_.key_count; ++k) table.set_key(k, slot, c.keys[k]);
        const std::array block{block_of(slot)};
        const Mask bit = lane_bit(lane_of(slot));
        bool any = false;
        ScanScratch scratch;
        const Slots slots(table, c.id);
        for (const WholeNode& node : program_.whole) {
            std::vector<Mask> masks(1 + program_.plane_count, 0);
            for (std::uint32_t p = 0; p < program_.plane_count; ++p) {
                if ((c.memory >> p & 1U) != 0) masks[1 + p] = bit;
            }
            const std::vector<Mask> was = masks;
            std::vector<StepTrace> trace;
            const ScanInput input{
                0, observer_, places_, keys_, table,  program_, {&node.program, 1},
                0, false,     {},      true,  &trace, c.id};
            evaluate(input, block, 0, masks, scratch);
            const bool yes = node.everything || (masks[0] & bit) != 0;
            any = any || yes;
            if (nodes == nullptr) continue;
            ExplainedNode& out = nodes->emplace_back();
            out.name = node.name;
            out.result = yes;
            for (const StepTrace& step : trace) {
                const std::uint32_t plane = step.step->plane;
                const std::array memory{plane == no_plane ? Mask{0} : was[1 + plane]};
                const Question question{observer_, places_, keys_, block, memory, {}, 0, slots, Asker{}, {}};
                out.steps.push_back({step.step->op,
                                     step.step->kernel->describe(question, lane_of(slot)),
                                     (step.answer & bit) != 0, (step.unknown & bit) != 0,
                                     (step.so_far & bit) != 0});
            }
        }
        return c.facts.decide(any);
    }

  private:
    const Program& program_;
    const InterestDef& def_;
    bool three_d_;
    ObserverId observer_;
    std::span<const Vec3> places_;
    std::span<const Key> keys_;
};

std::string words(Vec3 p) {
    const auto tenth = [](float v) {
        const auto t = static_cast<long long>(std::llround(double{v} * 10));
        return std::string(t < 0 ? "-" : "") + std::to_string(std::llabs(t) / 10) + "." +
               std::to_string(std::llabs(t) % 10);
    };
    return tenth(p.x) + ", " + tenth(p.y);
}

void apply(const Change& change, Case& c) {
    switch (change.type) {
        case ChangeType::ready:
            c.facts.ready = change.value;
            break;
        case ChangeType::deny:
            c.facts.denied = change.value;
            break;
        case ChangeType::owner:
            c.facts.owned = change.value;
            break;
        case ChangeType::force_hide:
            c.facts.force_hidden = change.value;
            break;
        case ChangeType::show_to_all:
            c.facts.shown_to_all = change.value;
            break;
        case ChangeType::allow:
            c.facts.allowed = change.value;
            break;
        case ChangeType::sees_everything:
            c.facts.sees_everything = change.value;
            break;
        case ChangeType::flag: {
            const auto bit = static_cast<std::uint16_t>(1U << index_of(change.flag));
            c.entity.flags = static_cast<std::uint16_t>(change.value ? c.entity.flags | bit
                                                                     : c.entity.flags & ~bit);
            break;
        }
        case ChangeType::key:
            c.keys[index_of(change.domain)] = change.key;
            break;
        case ChangeType::move:
            c.entity.place = change.place;
            break;
    }
}

/// Two changes of the same thing are no pair.
bool is_same_input(const Change& a, const Change& b) {
    return a.type == b.type && a.flag == b.flag && a.domain == b.domain;
}

/// Places just inside and just outside of every circle, on the line through the entity, nearest
/// first.
void add_moves(const Case& c, std::span<const Vec3> places, std::span<const float> edges,
               std::vector<Change>& out) {
    const Vec3 at = c.entity.place;
    Vec3 from = places.front();
    double nearest = -1;
    for (const Vec3 place : places) {
        const double d = std::hypot(double{at.x} - place.x, double{at.y} - place.y);
        if (nearest < 0 || d < nearest) {
            nearest = d;
            from = place;
        }
    }
    const double dx = nearest > 0 ? (double{at.x} - from.x) / nearest : 1;
    const double dy = nearest > 0 ? (double{at.y} - from.y) / nearest : 0;
    std::vector<double> distances;
    for (const float edge : edges) {
        distances.push_back(double{edge} * 0.998);
        distances.push_back(double{edge} * 1.002 + 0.001);
    }
    std::sort(distances.begin(), distances.end(),
              [&](double a, double b) { return std::abs(a - nearest) < std::abs(b - nearest); });
    for (const double d : distances) {
        Change change;
        change.type = ChangeType::move;
        change.value = true;
        change.place = {static_cast<float>(from.x + dx * d), static_cast<float>(from.y + dy * d),
                        at.z};
        change.what = "move it to " + words(change.place);
        out.push_back(change);
    }
}

}  // namespace

Explanation InterestData::explain(ObserverId id, EntityId entity) const {
    Explanation out;
    out.status = is_observer(id) && is_known(entity) ? Status::ok : Status::stale_id;
    if (out.status != Status::ok) return out;
    const std::uint32_t o = index_of(id);
    const EntityId unit = out.unit = unit_of(entity);
    const Slot slot = table_.slot_of(unit);
    const Observer& observer = observers_[o];
    Case now;
    now.id = unit;
    now.facts = facts_of(o, unit, slot);
    now.entity.placed = !table_.is_unplaced(block_of(slot));
    now.entity.place = table_.place(slot);
    for (std::uint32_t f = 0; f < def_.flag_count; ++f) {
        if (table_.flag(f, slot))
            now.entity.flags = static_cast<std::uint16_t>(now.entity.flags | 1U << f);
    }
    for (std::uint32_t k = 0; k < def_.key_count; ++k) now.keys[k] = table_.key(k, slot);
    const std::size_t position = observer.window.find(block_of(slot), table_.cell_end());
    for (std::uint32_t p = 0; position < observer.window.size() && p < program_.plane_count; ++p) {
        const Mask mask = observer.window.masks()[(1 + p) * observer.window.size() + position];
        if ((mask & lane_bit(lane_of(slot))) != 0) now.memory |= 1U << p;
    }
    std::vector<Vec3> places;
    collect_places(observer, places);
    const Judge judge(program_, def_, table_.is_three_d(), id, places,
                      std::span(observer.keys).first(def_.key_count));
    out.stage = judge.judge(now, &out.nodes);
    out.relevant = is_yes(out.stage);

    std::vector<Change> changes;
    const auto toggle = [&](ChangeType type, bool is, const char* on, const char* off) {
        Change change;
        change.type = type;
        change.value = !is;
        change.what = is ? off : on;
        changes.push_back(change);
    };
    toggle(ChangeType::ready, now.facts.ready, "make the observer ready",
           "make the observer not ready");
    toggle(ChangeType::deny, now.facts.denied, "deny the pair", "end the deny");
    const ObserverId* owner = owners_.find(index_of(unit));
    const bool owns_itself = owner != nullptr && *owner == id;
    const PairEntry* pair = pairs_.find(o, unit);
    if (!now.facts.owned || (owns_itself && pair->owned == 1)) {
        toggle(ChangeType::owner, now.facts.owned, "give it to the observer",
               "take it from the observer");
    }
    toggle(ChangeType::force_hide, now.facts.force_hidden, "force-hide it", "end the force-hide");
    toggle(ChangeType::show_to_all, now.facts.shown_to_all, "show it to all",
           "end the show to all");
    toggle(ChangeType::allow, now.facts.allowed, "allow the pair", "end the allow");
    toggle(ChangeType::sees_everything, now.facts.sees_everything,
           "let the observer see everything", "let the rules count for the observer");
    for (std::uint32_t f = 0; f < def_.flag_count; ++f) {
        Change change;
        change.type = ChangeType::flag;
        change.flag = FlagId{static_cast<std::uint8_t>(f)};
        change.value = ((now.entity.flags >> f) & 1U) == 0;
        change.what = (change.value ? "set " : "clear ") + names_.flag(change.flag);
        changes.push_back(change);
    }
    // The observer's own main entity takes keys and place along.
    const bool is_main = observer.main != EntityId::none && unit_of(observer.main) == unit;
    for (std::uint32_t k = 0; k < def_.key_count && !is_main; ++k) {
        if (observer.keys[k] == Key::none) continue;
        Change change;
        change.type = ChangeType::key;
        change.value = true;
        change.domain = KeyDomain{static_cast<std::uint8_t>(k)};
        change.key = now.keys[k] == observer.keys[k] ? Key::none : observer.keys[k];
        change.what = "set its " + names_.key(change.domain) + " to " +
                      (change.key == Key::none ? "none" : std::to_string(index_of(change.key)));
        changes.push_back(change);
    }
    if (now.entity.placed && !places.empty() && !is_main)
        add_moves(now, places, program_.all_edges_m, changes);

    const auto flips = [&](const Change& a, const Change* b) {
        Case then = now;
        apply(a, then);
        if (b != nullptr) apply(*b, then);
        return is_yes(judge.judge(then, nullptr)) != out.relevant;
    };
    bool has_move = false;
    for (const Change& change : changes) {
        if (change.type == ChangeType::move && has_move) continue;  // the nearest is enough
        if (!flips(change, nullptr)) continue;
        has_move = has_move || change.type == ChangeType::move;
        out.single.push_back(change);
    }
    for (std::size_t i = 0; out.single.empty() && out.pair.empty() && i < changes.size(); ++i) {
        for (std::size_t j = i + 1; out.pair.empty() && j < changes.size(); ++j) {
            if (!is_same_input(changes[i], changes[j]) && flips(changes[i], &changes[j]))
                out.pair = {changes[i], changes[j]};
        }
    }
    return out;
}

}  // namespace purview
