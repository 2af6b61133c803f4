// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/queries/answers.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "core/finite.hpp"
#include "core/flat_map.hpp"
#include "core/prefetch.hpp"
#include "purview/status.hpp"
#include "spatial/move.hpp"

namespace purview {

bool Answers::is_relevant(ObserverId observer, EntityId entity) const noexcept {
    if (!observers_.is_live(observer) || !lookup_.is_known(entity)) return false;
    return relevance_.is_visible(index_of(observer), entity);
}

bool Answers::is_ready(ObserverId observer) const noexcept {
    return observers_.is_live(observer) && observers_[index_of(observer)].ready;
}

bool Answers::is_denied(ObserverId observer, EntityId entity) const noexcept {
    if (!observers_.is_live(observer) || !lookup_.is_known(entity)) return false;
    for (EntityId one = entity; one != EntityId::none; one = lookup_.parent_of(one)) {
        const PairEntry* pair = pairs_.find(index_of(observer), one);
        if (pair != nullptr && pair->deny) return true;
    }
    return false;
}

bool Answers::is_denied_to_any(EntityId entity) const noexcept {
    if (!lookup_.is_known(entity)) return false;
    for (EntityId one = entity; one != EntityId::none; one = lookup_.parent_of(one)) {
        if (pairs_.has_denial(one)) return true;
    }
    return false;
}

void Answers::observers_of(EntityId entity, std::vector<ObserverId>& out) const {
    if (!lookup_.is_known(entity)) return;
    const EntityId unit = lookup_.unit_of(entity);
    const Slot slot = table_.slot_of(unit);
    if (slot == no_slot) return;
    if (lookup_.is_split_group(unit)) {
        for (std::uint32_t o = 0; o < observers_.size(); ++o) {
            if (relevance_.is_visible(o, entity)) out.push_back(observers_.id_of(o));
        }
        return;
    }
    const bool may_be_cut = unit != entity && lookup_.has_cuts(unit);
    const auto add = [&](std::uint32_t o) {
        if (!may_be_cut || !relevance_.is_cut(o, unit, entity)) out.push_back(observers_.id_of(o));
    };
    if (explicit_.is_open_to_all(slot)) {
        for (std::uint32_t o = 0; o < observers_.size(); ++o) {
            if (explicit_.is_seen(o, unit)) add(o);
        }
        return;
    }
    const std::size_t first = out.size();
    const BlockIndex cell_end = table_.cell_end();
    for (std::uint32_t o = 0; o < observers_.size(); ++o) {
        const Observer& observer = observers_[o];
        if (observer.ready && observer.window.contains(slot, cell_end)) add(o);
    }
    const std::size_t in_windows = out.size();
    explicit_.for_each_explicit_candidate(unit, [&](std::uint32_t o) {
        if (explicit_.is_explicitly_relevant(o, unit)) add(o);
    });
    if (out.size() == in_windows) return;
    const auto mine = out.begin() + static_cast<std::ptrdiff_t>(first);
    std::sort(mine, out.end(),
              [](ObserverId l, ObserverId r) { return index_of(l) < index_of(r); });
    out.erase(std::unique(mine, out.end()), out.end());
}

std::uint32_t Answers::observer_count(EntityId entity) const noexcept {
    return lookup_.is_known(entity) ? observer_counts_.of(index_of(entity)) : 0;
}

bool Answers::has_key(EntityId entity, KeyId domain, Key key) const noexcept {
    if (key == Key::none || !lookup_.is_known(entity)) return false;
    if (lookup_.key_of(entity, domain) == key) return true;
    const auto more = facts_table_.more_keys.of(index_of(entity));
    return std::any_of(more.begin(), more.end(), [&](const DomainKey& one) {
        return one.domain == domain && one.key == key;
    });
}

/// Scratch memory of score(), one per thread, so that several threads may query at once. It
/// outlives the engine, so it does not use the memory hooks (purview/extend/memory.hpp).
struct ScoreScratch {
    /// An entity that the nodes are evaluated for.
    struct ScoreQuery {
        std::uint32_t at;        ///< index of the result
        std::uint32_t position;  ///< index of its block in `blocks`
        Slot slot;
        EntityId unit;
        float best;
        bool decides;       ///< nodes decide the score, not only the settings
        bool has_settings;  ///< some node set them
        bool shown;         ///< the nodes, combined, match it
    };
    std::vector<Slot> slots;  ///< [entities]
    std::vector<ScoreQuery> queries;
    std::vector<BlockIndex> blocks;        ///< each once
    std::vector<std::uint32_t> in_window;  ///< [blocks] window position, or the window's size
    std::vector<std::uint32_t> position;   ///< by window position: index in `blocks` + 1, or 0
    /// For blocks outside the window: index in `blocks` + 1.
    FlatMap<std::uint32_t, std::uint32_t, ~std::uint32_t{0}, HeapVector> elsewhere;
    std::vector<Mask> masks;
    std::vector<Mask> queried;         ///< [blocks] lanes with a query
    std::vector<std::uint32_t> begin;  ///< [blocks] index of the first score in `scores`
    std::vector<float> scores;         ///< scores of one node
    std::vector<NodeId> bound;         ///< nodes that some entity is bound to, ascending
    Sight sight;
    MeasureScratch measure;
};

void Answers::score(ObserverId id, std::span<const EntityId> entities, std::span<float> score,
                    std::span<Replication> settings) const {
    PURVIEW_ASSERT(entities.size() == score.size());
    PURVIEW_ASSERT(settings.empty() || entities.size() == settings.size());
    std::fill(score.begin(), score.end(), 0.0F);
    std::fill(settings.begin(), settings.end(), Replication{});
    if (!observers_.is_live(id) || !observers_[index_of(id)].ready) return;
    entities = entities.first(std::min(entities.size(), score.size()));
    if (settings.size() < entities.size()) settings = {};
    if (rules_.nodes.empty() || rules_.level == InterestLevel::none) settings = {};
    static thread_local ScoreScratch scratch;
    find_scored(index_of(id), entities, score, !settings.empty(), scratch);
    if (!scratch.queries.empty()) measure_scored(index_of(id), score, settings, scratch);
}

/// Collects the entities that nodes must be evaluated for, and writes the scores of all others.
void Answers::find_scored(std::uint32_t o, std::span<const EntityId> entities,
                          std::span<float> score, bool with_settings, ScoreScratch& scratch) const {
    const Window& window = observers_[o].window;
    const bool may_be_explicit = explicit_.may_be_explicit();
    scratch.queries.clear();
    scratch.blocks.clear();
    scratch.in_window.clear();
    scratch.queried.clear();
    scratch.position.assign(window.size() + 1, 0);
    scratch.elsewhere.clear();
    scratch.slots.resize(entities.size());
    // Prefetches each look-up for all entities, because their data is far apart.
    for (const EntityId entity : entities) table_.prefetch_home_of(entity);
    for (std::size_t i = 0; i < entities.size(); ++i) {
        scratch.slots[i] = table_.slot_of(lookup_.unit_of(entities[i]));
        if (scratch.slots[i] == no_slot) continue;
        const float* block = table_.coordinates(block_of(scratch.slots[i]));
        for (unsigned f = 0; f < table_.floats_per_block(); f += lanes_per_block)
            prefetch_line(block + f);
    }
    for (std::size_t i = 0; i < entities.size(); ++i) {
        const EntityId unit = lookup_.unit_of(entities[i]);
        const Slot slot = scratch.slots[i];
        if (slot == no_slot) continue;
        const BlockIndex block = block_of(slot);
        const Mask bit = lane_bit(lane_of(slot));
        const std::size_t at = window.find(block, table_.cell_end());
        const bool is_inside = at < window.size();
        const bool is_in_split_group = lookup_.is_split_group(unit);
        if (is_in_split_group) {
            if (!views_.of(o, entities[i]).seen) continue;
        } else {
            if (!(is_inside && (window.masks()[at] & bit) != 0) &&
                !explicit_.is_explicitly_relevant(o, unit))
                continue;
            if (lookup_.has_cuts(unit) && relevance_.is_cut(o, unit, entities[i])) continue;
        }
        score[i] = 1;  // by an override or the minimum relevance time
        bool decides = true;
        if (may_be_explicit) {
            PairFacts facts = is_in_split_group ? relevance_.facts_with_below(o, unit)
                                                : explicit_.facts_of(o, unit, slot);
            decides = facts.decide(false) == Stage::no_node;
            // Below InterestLevel::full every entity is relevant, but nodes still decide the
            // settings.
            facts.sees_everything = observers_[o].sees_everything;
            const bool needs_nodes =
                decides || (with_settings && facts.decide(false) == Stage::no_node);
            if (!needs_nodes) continue;
        }
        std::uint32_t& position = is_inside ? scratch.position[at] : scratch.elsewhere[block];
        if (position == 0) {
            scratch.blocks.push_back(block);
            scratch.in_window.push_back(static_cast<std::uint32_t>(at));
            scratch.queried.push_back(0);
            position = static_cast<std::uint32_t>(scratch.blocks.size());
        }
        scratch.queried[position - 1] |= bit;
        scratch.queries.push_back(
            {static_cast<std::uint32_t>(i), position - 1, slot, unit, 0, decides, false, false});
    }
    PURVIEW_ASSERT(scratch.in_window.size() == scratch.blocks.size());
    PURVIEW_ASSERT(scratch.queried.size() == scratch.blocks.size());
}

namespace {

/// Takes the more generous value of each setting.
void take(Replication& best, const Replication& its, bool& has_settings) noexcept {
    if (!std::exchange(has_settings, true)) {
        best = its;
        return;
    }
    best.every_ticks = std::min(best.every_ticks, its.every_ticks);
    best.priority = std::max(best.priority, its.priority);
    best.leave = std::max(best.leave, its.leave);
}

}  // namespace

/// Evaluates the nodes for the collected entities, block by block.
void Answers::measure_scored(std::uint32_t o, std::span<float> score,
                             std::span<Replication> settings, ScoreScratch& scratch) const {
    const Window& window = observers_[o].window;
    const std::size_t n = scratch.blocks.size(), planes = 1 + program_.plane_count;
    scratch.masks.assign(planes * n, 0);
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t p = 0; scratch.in_window[i] < window.size() && p < planes; ++p)
            scratch.masks[p * n + i] = window.masks()[p * window.size() + scratch.in_window[i]];
    }
    observer_views_.collect(o, scratch.sight);
    ScanInput input = observer_views_.input_of(o, scratch.sight);
    input.may_be_abstract = true;
    input.context.again = true;
    // Evaluates whole nodes one by one: also the steps that rows replace, not only those that run
    // over windows.
    std::uint32_t queried = 0;  // lanes
    scratch.begin.clear();
    for (const Mask mask : scratch.queried) {
        scratch.begin.push_back(queried);
        queried += count_lanes(mask);
    }
    scratch.scores.resize(queried + lanes_per_block);
    const std::span<float> scores = std::span(scratch.scores).first(queried);
    // There may be thousands of bound nodes, so only those with a collected member are evaluated.
    scratch.bound.clear();
    for (const ScoreScratch::ScoreQuery& one : scratch.queries) {
        const auto its = facts_table_.bindings.nodes_of(one.unit);
        scratch.bound.insert(scratch.bound.end(), its.begin(), its.end());
    }
    std::sort(scratch.bound.begin(), scratch.bound.end());
    std::size_t custom = 0;  // index of the node among the custom nodes
    for (const WholeNode& node : program_.whole) {
        const Members members =
            rules_.nodes.empty() ? Members::unbound : rules_.nodes[index_of(node.id)].members;
        if (members == Members::bound && node.program.combine != Combine::require &&
            !std::binary_search(scratch.bound.begin(), scratch.bound.end(), node.id)) {
            custom += node.is_custom ? 1 : 0;
            continue;
        }
        const bool is_measured = !node.is_custom && !node.everything;
        if (is_measured) {
            measure(input, node.program, scratch.blocks, scratch.masks, scratch.queried, scores,
                    scratch.measure);
        }
        const std::uint32_t plane = node.program.result_plane;
        const bool is_due = input.is_due(node.program);
        for (ScoreScratch::ScoreQuery& one : scratch.queries) {
            float its = 0;
            bool matches = false;
            if (facts_table_.bindings.is_member(node.id, members, one.unit)) {
                const Mask bit = lane_bit(lane_of(one.slot));
                const PairEntry* pair = node.is_custom ? pairs_.find(o, one.unit) : nullptr;
                const bool shown_by_node = pair != nullptr && pair->nodes > 0;
                const auto before = static_cast<Mask>(bit - 1);
                const std::uint32_t rank = count_lanes(scratch.queried[one.position] & before);
                its = node.everything || shown_by_node ? 1
                      : is_measured                    ? scores[scratch.begin[one.position] + rank]
                                                       : 0;
                matches = node.is_custom
                              ? !settings.empty() && explicit_.custom_result(custom, o, one.unit)
                          : is_measured && plane != no_plane && !is_due
                              ? (scratch.masks[(1 + plane) * n + one.position] & bit) != 0 ||
                                    explicit_.in_rows_of(node.id, o, one.unit)
                              : its > 0;
            }
            one.best = joined_score(node.program.combine, one.best, its);
            one.shown = node.program.combine == Combine::add       ? one.shown || matches
                        : node.program.combine == Combine::require ? one.shown && matches
                                                                   : one.shown && !matches;
            if (matches && !settings.empty() && node.program.combine == Combine::add) {
                take(settings[one.at], rules_.nodes[index_of(node.id)].replication,
                     one.has_settings);
            }
        }
        custom += node.is_custom ? 1 : 0;
    }
    PURVIEW_ASSERT(custom == custom_.size());
    for (const ScoreScratch::ScoreQuery& one : scratch.queries) {
        if (one.decides && one.best > 0) score[one.at] = one.best;
        if (settings.empty() || one.shown) continue;
        const PairEntry* pair = pairs_.find(o, one.unit);
        if (pair == nullptr || !pair->held) settings[one.at] = {};
    }
}

void Answers::entities_of(NodeId node, std::vector<EntityId>& out) const {
    const std::vector<NodeDef>& nodes = rules_.nodes;
    if (index_of(node) >= std::max<std::size_t>(nodes.size(), 1)) return;
    const Members members = nodes.empty() ? Members::unbound : nodes[index_of(node)].members;
    lookup_.for_each_unit([&](EntityId unit) {
        if (facts_table_.bindings.is_member(node, members, unit)) out.push_back(unit);
    });
}

void Answers::entities_in(Vec3 min, Vec3 max, std::vector<EntityId>& out, KindId kind) const {
    if (!is_finite(min) || !is_finite(max)) return;
    const Vec3 low = lookup_.inner(min), high = lookup_.inner(max);
    const bool three_d = table_.is_three_d();
    const auto inside = [&](Vec3 at) {
        return low.x <= at.x && at.x <= high.x && low.y <= at.y && at.y <= high.y &&
               (!three_d || (low.z <= at.z && at.z <= high.z));
    };
    const auto is_wanted = [&](EntityId entity) {
        return kind == KindId::none || kinds_.of(index_of(entity)) == kind;
    };
    const auto add_block = [&](BlockIndex block) {
        for (Mask rest = table_.occupied(block); rest != 0; rest &= static_cast<Mask>(rest - 1)) {
            const Slot slot = slot_at(block, static_cast<unsigned>(std::countr_zero(rest)));
            if (!inside(table_.position(slot))) continue;
            const EntityId entity = table_.entity(slot);
            if (is_wanted(entity)) out.push_back(entity);
        }
    };
    const auto layers = table_.layers();
    for (std::size_t l = 0; l + 1 < layers.size(); ++l) {
        const GridLayer& layer = layers[l];
        const float slack = layer.cell_size * 0.01F;
        const std::uint32_t z0 = three_d ? layer.cell_z(low.z - slack) : 0;
        const std::uint32_t z1 = three_d ? layer.cell_z(high.z + slack) : 0;
        for (std::uint32_t z = z0; z <= z1; ++z) {
            for (std::uint32_t y = layer.cell_y(low.y - slack); y <= layer.cell_y(high.y + slack);
                 ++y) {
                for (std::uint32_t x = layer.cell_x(low.x - slack);
                     x <= layer.cell_x(high.x + slack); ++x) {
                    const BlockIndex base = layer.first_cell + (z * layer.ny + y) * layer.nx + x;
                    add_block(base);
                    for (BlockIndex b = table_.next(base); b != base; b = table_.next(b))
                        add_block(b);
                }
            }
        }
    }
    // An entity that moved here since the last tick is still in the cell it came from.
    const std::size_t first = out.size();
    for (const EntityId entity : table_.leaving()) {
        const Slot slot = table_.slot_of(entity);
        if (slot == no_slot || !inside(table_.position(slot))) continue;
        const std::uint32_t number = table_.layer_of(block_of(slot));
        if (number + 1 == layers.size()) continue;  // the entity has no position any more
        const GridLayer& layer = layers[number];
        const float slack = layer.cell_size * 0.01F;
        const std::uint32_t cell = table_.cell_of_block(block_of(slot)) - layer.first_cell;
        const std::uint32_t x = cell % layer.nx, y = cell / layer.nx % layer.ny;
        const std::uint32_t z = cell / (layer.nx * layer.ny);
        const bool is_searched =
            x >= layer.cell_x(low.x - slack) && x <= layer.cell_x(high.x + slack) &&
            y >= layer.cell_y(low.y - slack) && y <= layer.cell_y(high.y + slack) &&
            (!three_d || (z >= layer.cell_z(low.z - slack) && z <= layer.cell_z(high.z + slack)));
        if (!is_searched && is_wanted(entity)) out.push_back(entity);
    }
    const auto late = out.begin() + static_cast<std::ptrdiff_t>(first);
    std::sort(late, out.end());  // an entity that moved twice is listed twice
    out.erase(std::unique(late, out.end()), out.end());
}

/// Returns the spatial add steps of every node that does not subtract, and the largest distance
/// from an observer at which any of them may match.
Answers::SpatialSteps Answers::spatial_steps() const {
    SpatialSteps out;
    const auto add_steps_of = [&](const NodeProgram& node) {
        NodeProgram spatial;
        spatial.combine = node.combine;
        for (const Step& step : node.steps) {
            if (step.combine == Combine::add && step.kernel->needs_position())
                spatial.steps.push_back(step);
        }
        // Other steps are ignored: what they subtract or require may depend on the entity.
        if (spatial.steps.empty() || node.combine == Combine::subtract) return;
        for (const Step& step : spatial.steps) {
            const float reach = step.kernel->reach();
            if (!(reach > 0)) out.is_bounded = false;
            out.reach = std::max(out.reach, reach * 1.001F);
        }
        out.nodes.push_back(std::move(spatial));
    };
    for (const NodeProgram& node : program_.nodes) add_steps_of(node);
    for (const NodeProgram& node : program_.classes) add_steps_of(node);
    return out;
}

/// Moves a probe entity without flags and keys to each position and evaluates the spatial steps for
/// it.
void Answers::observers_covering(std::span<const Vec3> positions,
                                 std::vector<Covering>& out) const {
    const SpatialSteps spatial = spatial_steps();
    BlockTable table(table_.is_three_d());
    table.add_layer({0, 0, 0}, {1, 1, 1}, 1);
    (void)table.add_abstract_layer();
    EntityFacts facts;
    facts.axes = facts_table_.axes;
    facts.columns = Columns::add_to(table, rules_);
    constexpr EntityId probe = make_entity_id(0, 1);
    (void)table.insert(probe, 0, {});
    const auto put = [&](Vec3 at) {
        const std::array move{Move{probe, at}};
        (void)table.write_positions(std::span<const Move>(move));
        table.settle_moves();
        table.end_tick();
        return table.slot_of(probe);
    };
    struct Probed {
        Vec3 at;
        std::uint32_t number;
    };
    std::vector<Probed> probed;
    for (std::uint32_t i = 0; i < positions.size(); ++i) {
        if (is_finite(positions[i])) probed.push_back({lookup_.inner(positions[i]), i});
    }
    const float reach = spatial.reach;
    const float reach_z = table.is_three_d() ? reach : std::numeric_limits<float>::infinity();
    const std::size_t first = out.size();
    std::vector<std::uint32_t> near;
    std::vector<Mask> masks(1 + program_.plane_count);
    Sight sight;
    ScanScratch scratch;
    for (std::uint32_t o = 0; o < observers_.size(); ++o) {
        if (!observers_[o].ready) continue;
        observer_views_.collect(o, sight);
        const bool may_be_anywhere = !spatial.is_bounded || !sight.areas.empty();
        near.clear();
        for (std::uint32_t i = 0; i < probed.size(); ++i) {
            const Vec3 at = probed[i].at;
            bool is_near = may_be_anywhere;
            for (const Vec3 from : sight.positions) {
                const float across = std::max(std::abs(from.x - at.x), std::abs(from.y - at.y));
                is_near = is_near || (across <= reach && std::abs(from.z - at.z) <= reach_z);
            }
            if (is_near) near.push_back(i);
        }
        if (near.empty()) continue;
        const ScanInput now = observer_views_.input_of(o, sight);
        ScanInput input{.table = table, .facts = facts, .program = program_};
        input.observer = now.observer;
        input.views = now.views;
        input.keys = now.keys;
        input.context = now.context;
        input.nodes = spatial.nodes;
        for (const std::uint32_t i : near) {
            const Slot slot = put(probed[i].at);
            PURVIEW_ASSERT(slot != no_slot);
            const std::array block{block_of(slot)};
            std::fill(masks.begin(), masks.end(), Mask{0});
            evaluate(input, block, 0, masks, scratch);
            if ((masks[0] & lane_bit(lane_of(slot))) != 0)
                out.push_back({probed[i].number, now.observer});
        }
    }
    std::sort(out.begin() + static_cast<std::ptrdiff_t>(first), out.end());
}

}  // namespace purview
