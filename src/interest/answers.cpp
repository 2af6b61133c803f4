// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What the engine says between ticks.
#include <algorithm>
#include <cmath>

#include "interest/interest_data.hpp"

namespace purview {

bool InterestData::is_relevant(ObserverId observer, EntityId entity) const noexcept {
    if (!is_observer(observer) || !is_known(entity)) return false;
    return is_seen(index_of(observer), unit_of(entity));
}

void InterestData::observers_of(EntityId entity, std::vector<ObserverId>& out) const {
    if (!is_known(entity)) return;
    const EntityId unit = unit_of(entity);
    for (std::uint32_t o = 0; o < observers_.size(); ++o) {
        if (is_seen(o, unit)) out.push_back(id_of(o));
    }
}

std::uint32_t InterestData::observer_count(EntityId entity) const noexcept {
    if (!is_known(entity) || index_of(entity) >= observer_counts_.size()) return 0;
    return observer_counts_[index_of(entity)];
}

Vec3 InterestData::place_of(EntityId entity) const noexcept {
    const Slot slot = table_.slot_of(unit_of(entity));
    if (slot == no_slot || !table_.will_be_placed(slot)) return {};
    return exchanged(facts_table_.axes, table_.place(slot));
}

void InterestData::strength(ObserverId id, std::span<const EntityId> entities,
                            std::span<float> strength) const {
    PURVIEW_ASSERT(entities.size() == strength.size());
    std::fill(strength.begin(), strength.end(), 0.0F);
    if (!is_observer(id)) return;
    const std::uint32_t o = index_of(id);
    Sight sight;
    collect(o, sight);
    ScanInput input = input_of(o, sight);
    input.may_be_unplaced = true;
    input.asker.again = true;
    // Blocks that are asked about, each once, with the masks that the window has of them.
    FlatMap<std::uint32_t, std::uint32_t> position;
    std::vector<BlockIndex> blocks;
    const auto wants = [&](std::size_t i) {
        if (!is_known(entities[i]) || !is_seen(o, unit_of(entities[i]))) return no_slot;
        const Slot slot = table_.slot_of(unit_of(entities[i]));
        return facts_of(o, unit_of(entities[i]), slot).decide(false) == Stage::no_node ? slot
                                                                                       : no_slot;
    };
    for (std::size_t i = 0; i < entities.size(); ++i) {
        if (!is_known(entities[i]) || !is_seen(o, unit_of(entities[i]))) continue;
        strength[i] = 1;  // by other means than nodes
        const Slot slot = wants(i);
        if (slot == no_slot || position.contains(block_of(slot))) continue;
        position[block_of(slot)] = static_cast<std::uint32_t>(blocks.size());
        blocks.push_back(block_of(slot));
    }
    const std::size_t n = blocks.size(), planes = 1 + program_.plane_count;
    if (n == 0) return;
    const Window& window = observers_[o].window;
    std::vector<Mask> masks(planes * n), asked(n);
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t at = window.find(blocks[i], table_.cell_end());
        for (std::size_t p = 0; at < window.size() && p < planes; ++p)
            masks[p * n + i] = window.masks()[p * window.size() + at];
        asked[i] = table_.occupied(blocks[i]);
    }
    // Node by node, rows too: whole nodes, not only what runs over windows.
    std::vector<float> by_lane(n * lanes_per_block), best(entities.size());
    ScanScratch scratch;
    for (const WholeNode& node : program_.whole) {
        const NodeMembers members = def_.rules.nodes.empty()
                                        ? NodeMembers::unbound
                                        : def_.rules.nodes[index_of(node.id)].members;
        NodeProgram alone = node.program;
        alone.combine = StepOp::add;
        input.nodes = {&alone, 1};
        if (!node.is_custom && !node.everything)
            measure(input, blocks, masks, asked, by_lane, scratch);
        for (std::size_t i = 0; i < entities.size(); ++i) {
            const Slot slot = wants(i);
            if (slot == no_slot) continue;
            const EntityId unit = unit_of(entities[i]);
            float its = 0;
            if (facts_table_.bindings.is_member(node.id, members, unit)) {
                const PairEntry* pair = pairs_.find(o, unit);
                const bool named = node.is_custom && pair != nullptr && pair->nodes > 0;
                its =
                    node.everything || named ? 1
                    : node.is_custom
                        ? 0
                        : by_lane[*position.find(block_of(slot)) * lanes_per_block + lane_of(slot)];
            }
            best[i] = joined_strength(node.program.combine, best[i], its);
        }
    }
    for (std::size_t i = 0; i < entities.size(); ++i) {
        // Whoever only stays for the rest of his time is not measured.
        if (wants(i) != no_slot && best[i] > 0) strength[i] = best[i];
    }
}

void InterestData::entities_in(Vec3 min, Vec3 max, std::vector<EntityId>& out, KindId kind) const {
    const Vec3 low = inner(min), high = inner(max);
    const bool three_d = table_.is_three_d();
    const auto inside = [&](Vec3 at) {
        return low.x <= at.x && at.x <= high.x && low.y <= at.y && at.y <= high.y &&
               (!three_d || (low.z <= at.z && at.z <= high.z));
    };
    const auto add_block = [&](BlockIndex block) {
        for (Mask rest = table_.occupied(block); rest != 0; rest &= static_cast<Mask>(rest - 1)) {
            const Slot slot = slot_at(block, static_cast<unsigned>(std::countr_zero(rest)));
            if (!inside(table_.place(slot))) continue;
            const EntityId entity = table_.entity(slot);
            const bool has_kind = index_of(entity) < kinds_.size();
            if (kind != EntityDef::no_kind && (!has_kind || kinds_[index_of(entity)] != kind)) {
                continue;
            }
            out.push_back(entity);
        }
    };
    const auto layers = table_.layers();
    for (std::size_t l = 0; l + 1 < layers.size(); ++l) {
        const GridLayer& layer = layers[l];
        const float slack = layer.cell_m * 0.01F;
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
}

/// A thing without flags and keys at this place, judged by the steps that look at places.
void InterestData::observers_covering(Vec3 place, std::vector<ObserverId>& out) const {
    BlockTable table(table_.is_three_d());
    table.add_layer({0, 0, 0}, {1, 1, 1}, 1);
    (void)table.add_unplaced_layer();
    EntityFacts facts;
    facts.axes = facts_table_.axes;
    facts.columns = Columns::add_to(table, def_.flag_count, def_.key_count, def_.value_count);
    const Slot slot = table.insert(make_entity_id(0, 1), 0, inner(place));
    std::vector<NodeProgram> nodes;
    for (const NodeProgram& node : program_.nodes) {
        NodeProgram& spatial = nodes.emplace_back();
        for (const Step& step : node.steps) {
            if (step.op == StepOp::add && step.kernel->needs_place()) spatial.steps.push_back(step);
        }
    }
    const std::array block{block_of(slot)};
    std::vector<Mask> masks(1 + program_.plane_count);
    Sight sight;
    ScanScratch scratch;
    for (std::uint32_t o = 0; o < observers_.size(); ++o) {
        if (!observers_[o].ready) continue;
        collect(o, sight);
        const ScanInput now = input_of(o, sight);
        ScanInput input{.table = table, .facts = facts, .program = program_};
        input.observer = now.observer;
        input.views = now.views;
        input.keys = now.keys;
        input.asker = now.asker;
        input.nodes = nodes;
        std::fill(masks.begin(), masks.end(), Mask{0});
        evaluate(input, block, 0, masks, scratch);
        if ((masks[0] & lane_bit(lane_of(slot))) != 0) out.push_back(now.observer);
    }
}

}  // namespace purview
