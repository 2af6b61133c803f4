// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/rules/evaluate.hpp"

#include <algorithm>
#include <bit>

#include "core/trim.hpp"
#include "purview/status.hpp"

namespace purview {

ScanScratch::ScanScratch() = default;
ScanScratch::ScanScratch(ScanScratch&&) noexcept = default;
ScanScratch& ScanScratch::operator=(ScanScratch&&) noexcept = default;
ScanScratch::~ScanScratch() = default;

namespace {

void combine(Combine op, std::span<const Mask> answer, std::span<const Mask> unknown,
             bool any_unknown, std::span<Mask> so_far) noexcept {
    const std::size_t n = so_far.size();
    PURVIEW_ASSERT(answer.size() == n && (!any_unknown || unknown.size() == n));
    if (!any_unknown) {
        switch (op) {
            case Combine::add:
                for (std::size_t i = 0; i < n; ++i) so_far[i] |= answer[i];
                break;
            case Combine::require:
                for (std::size_t i = 0; i < n; ++i) so_far[i] &= answer[i];
                break;
            case Combine::subtract:
                for (std::size_t i = 0; i < n; ++i)
                    so_far[i] = static_cast<Mask>(so_far[i] & ~answer[i]);
                break;
        }
        return;
    }
    for (std::size_t i = 0; i < n; ++i) {
        const auto yes = static_cast<Mask>(answer[i] & ~unknown[i]);
        switch (op) {
            case Combine::add:
                so_far[i] |= yes;
                break;
            case Combine::require:
                so_far[i] &= yes;
                break;
            case Combine::subtract:
                so_far[i] = static_cast<Mask>(so_far[i] & ~(answer[i] | unknown[i]));
                break;
        }
    }
}

void run_steps(const ScanInput& input, const NodeProgram& node, std::span<const BlockIndex> blocks,
               std::size_t inside, std::span<Mask> masks, ScanScratch& scratch,
               std::span<Mask> so_far);

/// Finds the inner nodes that the observer covers, ascending.
void find_cover(const ScanInput& input, const Dispatcher& dispatcher, std::vector<CellId>& out) {
    out.clear();
    dispatcher.cover(
        {input.observer, input.context.main, input.context.outer_positions, input.keys}, out);
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
}

/// Calls visit(list of steps, or no_steps) for every inner node that the entity on the lane shares
/// with the observer.
template <class Visit>
void for_each_shared(const ScanInput& input, const InnerNodes& inner, Slot slot,
                     std::span<const CellId> cover, std::vector<CellId>& cells, Visit&& visit) {
    cells.clear();
    add_cells_of(*inner.dispatcher, Slots(input.table, input.facts, input.stands_for), slot, cells);
    for (const CellId cell : cells) {
        if (std::binary_search(cover.begin(), cover.end(), cell))
            visit(inner.dispatcher->steps_of(cell));
    }
}

/// Evaluates the bucket of a dispatcher that has steps in its inner nodes. An entity matches if
/// some inner node that it shares with the observer matches it. `requested`: the lanes that matter;
/// empty: all.
void evaluate_bucket(const ScanInput& input, const InnerNodes& inner,
                     std::span<const BlockIndex> blocks, std::span<const Mask> requested,
                     ScanScratch& scratch, std::span<Mask> out) {
    if (scratch.bucket == nullptr) scratch.bucket = std::make_unique<BucketScratch>();
    BucketScratch& room = *scratch.bucket;
    ScanInput of_inner = input;
    of_inner.trace = nullptr;
    find_cover(input, *inner.dispatcher, room.cover);
    room.results.resize(std::max(room.results.size(), inner.programs.size()));
    for (auto& result : room.results) result.clear();
    for (const CellId cell : room.cover) {
        const std::size_t list = inner.dispatcher->steps_of(cell);
        PURVIEW_ASSERT(list == Dispatcher::no_steps || list < inner.programs.size());
        if (list >= inner.programs.size() || !room.results[list].empty()) continue;
        room.results[list].resize(blocks.size());
        run_steps(of_inner, inner.programs[list], blocks, 0, {}, room.scan, room.results[list]);
    }
    const auto occupied = input.table.occupied();
    for (std::size_t i = 0; i < blocks.size() && !room.cover.empty(); ++i) {
        Mask rest = occupied[blocks[i]];
        if (!requested.empty()) rest &= requested[i];
        for (; rest != 0; rest &= static_cast<Mask>(rest - 1)) {
            const auto lane = static_cast<unsigned>(std::countr_zero(rest));
            bool yes = false;
            const auto visit = [&](std::size_t list) {
                yes |=
                    list == Dispatcher::no_steps ||
                    (list < inner.programs.size() && (room.results[list][i] & lane_bit(lane)) != 0);
            };
            for_each_shared(input, inner, slot_at(blocks[i], lane), room.cover, room.cells, visit);
            if (yes) out[i] |= lane_bit(lane);
        }
    }
}

/// Evaluates the kernel of one step. Clears `out` first. Returns whether results may be unknown;
/// these lanes are in scratch.unknown. `memory`: all planes of the step.
bool test_step(const ScanInput& input, const Step& step, std::span<const BlockIndex> blocks,
               std::size_t inside, std::span<Mask> memory, std::span<const Mask> requested,
               ScanScratch& scratch, std::span<Mask> out) {
    const std::size_t n = blocks.size();
    PURVIEW_ASSERT(out.size() == n && inside <= n && (requested.empty() || requested.size() == n));
    PURVIEW_ASSERT(memory.empty() || memory.size() == step.planes * n);
    const InterestKernel& kernel = *step.kernel;
    const auto positions = input.views.of(step.from);
    std::fill(out.begin(), out.end(), Mask{0});
    if (step.inner != nullptr) {
        evaluate_bucket(input, *step.inner, blocks, requested, scratch, out);
        return false;
    }
    const bool is_nowhere =
        step.needs_position && (step.into_areas ? input.context.areas.empty() : positions.empty());
    const bool has_abstract = step.needs_position && input.may_be_abstract;
    const bool may_be_unknown = is_nowhere || has_abstract || step.answers_unknown;
    if (may_be_unknown) scratch.unknown.assign(n, is_nowhere ? all_lanes : Mask{0});
    if (is_nowhere) return true;
    const Slots slots(input.table, input.facts, input.stands_for);
    const std::span<Mask> was = memory.first(std::min(n, memory.size()));
    kernel.test({input.observer, positions, input.keys, blocks, was, requested,
                 &kernel == input.program.inside_kernel ? inside : 0, slots, input.context,
                 memory.subspan(was.size())},
                out, scratch.unknown);
    for (std::size_t i = 0; has_abstract && i < n; ++i) {
        if (input.table.is_abstract(blocks[i])) scratch.unknown[i] = all_lanes;
    }
    return may_be_unknown;
}

std::span<Mask> memory_of(const Step& step, std::span<Mask> masks, std::size_t n) noexcept {
    if (step.plane == no_plane) return {};
    PURVIEW_ASSERT((std::size_t{1} + step.plane + step.planes) * n <= masks.size());
    return masks.subspan((1 + step.plane) * n, step.planes * n);
}

/// Returns the occupied lanes that a step may still change; with a trace, all of them.
std::span<const Mask> open_lanes(const ScanInput& input, Combine op,
                                 std::span<const BlockIndex> blocks, std::span<const Mask> so_far,
                                 ScanScratch& scratch) {
    const auto occupied = input.table.occupied();
    const bool all = input.trace != nullptr;
    scratch.requested.resize(blocks.size());
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        const int open = op == Combine::add ? ~so_far[i] : so_far[i];
        scratch.requested[i] = static_cast<Mask>((all ? ~0 : open) & occupied[blocks[i]]);
    }
    return scratch.requested;
}

/// Evaluates a node while its enters and leaves wait. The result is the last one, minus what steps
/// without memory subtract and no later step adds again. Steps with memory repeat their last
/// result.
void evaluate_waiting(const ScanInput& input, const NodeProgram& node,
                      std::span<const BlockIndex> blocks, std::span<Mask> masks,
                      std::span<const Mask> last, ScanScratch& scratch, std::span<Mask> so_far) {
    PURVIEW_ASSERT(last.size() == blocks.size() && so_far.size() == blocks.size());
    std::copy(last.begin(), last.end(), so_far.begin());
    bool has_added = false, has_hidden = false;
    for (const Step& step : node.steps) {
        const bool is_first_add = step.combine == Combine::add && !has_added;
        has_added |= step.combine == Combine::add;
        if (is_first_add || !has_added || step.combine == Combine::require) continue;
        const std::span<const Mask> memory = memory_of(step, masks, blocks.size());
        if (step.combine == Combine::add && !has_hidden) continue;
        if (step.combine == Combine::add && !memory.empty()) {
            for (std::size_t i = 0; i < blocks.size(); ++i)
                so_far[i] |= static_cast<Mask>(memory[i] & last[i]);
            continue;
        }
        if (!memory.empty()) continue;
        has_hidden |= step.combine == Combine::subtract;
        scratch.answer.resize(blocks.size());
        std::span<const Mask> requested;
        if (step.uses_requested)
            requested = open_lanes(input, step.combine, blocks, so_far, scratch);
        const bool any_unknown =
            test_step(input, step, blocks, 0, {}, requested, scratch, scratch.answer);
        combine(step.combine, scratch.answer, scratch.unknown, any_unknown, so_far);
        for (std::size_t i = 0; i < blocks.size(); ++i) so_far[i] &= last[i];
    }
}

void run_steps(const ScanInput& input, const NodeProgram& node, std::span<const BlockIndex> blocks,
               std::size_t inside, std::span<Mask> masks, ScanScratch& scratch,
               std::span<Mask> so_far) {
    const std::size_t n = blocks.size();
    PURVIEW_ASSERT(so_far.size() == n);
    const auto occupied = input.table.occupied();
    bool is_first_step = true;
    for (const Step& step : node.steps) {
        const std::span<Mask> memory = memory_of(step, masks, n);
        if (is_first_step && step.combine == Combine::add && memory.empty() &&
            input.trace == nullptr) {
            // The first add step writes the node's result directly.
            if (test_step(input, step, blocks, inside, {}, {}, scratch, so_far)) {
                for (std::size_t i = 0; i < n; ++i)
                    so_far[i] = static_cast<Mask>(so_far[i] & ~scratch.unknown[i]);
            }
            is_first_step = false;
            continue;
        }
        if (is_first_step) std::fill(so_far.begin(), so_far.end(), Mask{0});
        is_first_step = false;
        scratch.answer.resize(n);
        // Lanes that cannot change are skipped. Kernels with memory and traces need all lanes.
        std::span<const Mask> requested;
        if (step.uses_requested || (memory.empty() && input.trace == nullptr))
            requested = open_lanes(input, step.combine, blocks, so_far, scratch);
        const bool any_unknown =
            test_step(input, step, blocks, inside, memory, requested, scratch, scratch.answer);
        combine(step.combine, scratch.answer, scratch.unknown, any_unknown, so_far);
        if (input.trace != nullptr) {
            input.trace->push_back(
                {&step, scratch.answer[0], any_unknown ? scratch.unknown[0] : Mask{0}, so_far[0]});
        }
        if (memory.empty()) continue;
        for (std::size_t i = 0; any_unknown && i < n; ++i)
            scratch.answer[i] = static_cast<Mask>(scratch.answer[i] & ~scratch.unknown[i]);
        for (std::size_t i = 0; i < n; ++i) memory[i] = scratch.answer[i] & occupied[blocks[i]];
    }
    if (is_first_step) std::fill(so_far.begin(), so_far.end(), Mask{0});
}

/// Evaluates the lanes of cull groups that appear in this tick although the node is not due. There
/// are few, so this runs block by block. All other lanes stay as they are, including their kernel
/// memory.
void run_new_lanes(const ScanInput& input, const NodeProgram& node,
                   std::span<const BlockIndex> blocks, std::span<Mask> masks, ScanScratch& scratch,
                   std::span<Mask> so_far) {
    const std::size_t n = blocks.size(), planes = 1 + input.program.plane_count;
    PURVIEW_ASSERT(input.new_lanes != nullptr && masks.size() == planes * n);
    std::vector<Mask>& own = scratch.own_planes;
    for (std::size_t i = 0; i < n; ++i) {
        const Mask lanes = input.new_lanes_of(blocks[i]);
        if (lanes == 0) continue;
        own.resize(planes);
        for (std::size_t p = 0; p < planes; ++p) own[p] = masks[p * n + i];
        Mask result = 0;
        run_steps(input, node, blocks.subspan(i, 1), 0, own, scratch, {&result, 1});
        const auto merge = [&](Mask& into, Mask from) {
            into = static_cast<Mask>((into & ~lanes) | (from & lanes));
        };
        merge(so_far[i], result);
        for (std::size_t p = 1; p < planes; ++p) merge(masks[p * n + i], own[p]);
    }
}

/// Computes the node's result: its steps, limited to its members and to what may enter now.
void evaluate_node(const ScanInput& input, const NodeProgram& node,
                   std::span<const BlockIndex> blocks, std::size_t inside, std::span<Mask> masks,
                   ScanScratch& scratch, std::span<Mask> so_far) {
    const std::size_t n = blocks.size();
    const bool is_due = input.is_due(node);
    std::span<Mask> last;
    if (node.result_plane != no_plane) last = masks.subspan((1 + node.result_plane) * n, n);
    const auto members = node.member_column == no_column ? std::span<const Mask>{}
                                                         : input.table.flags(node.member_column);
    const auto remembers = [](const Step& step) { return step.plane != no_plane; };
    const auto needs_every_tick = [](const Step& step) { return step.kernel->needs_every_tick(); };
    if (node.member_column != no_column && members.empty() &&
        std::none_of(node.steps.begin(), node.steps.end(), remembers)) {
        std::fill(so_far.begin(), so_far.end(), Mask{0});  // no members, so no kernel is called
    } else if (!is_due && node.lazy_leave &&
               std::none_of(node.steps.begin(), node.steps.end(), needs_every_tick)) {
        evaluate_waiting(input, node, blocks, masks, last, scratch, so_far);
        if (input.new_lanes != nullptr) run_new_lanes(input, node, blocks, masks, scratch, so_far);
    } else {
        run_steps(input, node, blocks, inside, masks, scratch, so_far);
    }
    if (node.member_column != no_column) {
        for (std::size_t i = 0; i < n; ++i)
            so_far[i] &= members.empty() ? Mask{0} : members[blocks[i]];
    }
    if (!is_due) {  // only what matched before or appears in this tick
        for (std::size_t i = 0; i < last.size(); ++i)
            last[i] = so_far[i] &= static_cast<Mask>(last[i] | input.new_lanes_of(blocks[i]));
        return;
    }
    const auto occupied = input.table.occupied();
    for (std::size_t i = 0; i < last.size(); ++i) last[i] = so_far[i] & occupied[blocks[i]];
}

}  // namespace

namespace {

/// Calls visit(class) for every class that some of these lanes are bound to, with the blocks and
/// lanes of the class in `room`. `lanes_at(i)`: occupied lanes of block i.
template <class LanesAt, class Visit>
void for_each_class(const ScanInput& input, std::span<const BlockIndex> blocks, LanesAt&& lanes_at,
                    ClassLanes& room, Visit&& visit) {
    room.first.resize(input.classes.size(), ClassLanes::none);
    room.last.resize(input.classes.size(), ClassLanes::none);
    room.entries.clear();
    room.classes.clear();
    const std::uint32_t* const indices = input.table.entity_indices();
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        for_each_bit(lanes_at(i), 0, [&](std::size_t lane) {
            const Slot slot = slot_at(blocks[i], static_cast<unsigned>(lane));
            for (const std::uint32_t c : input.facts.bindings.classes_at(indices[slot])) {
                const std::uint32_t end = room.last[c];
                if (end != ClassLanes::none && room.entries[end].position == i) {
                    room.entries[end].lanes |= lane_bit(static_cast<unsigned>(lane));
                    continue;
                }
                const auto at = static_cast<std::uint32_t>(room.entries.size());
                room.entries.push_back({static_cast<std::uint32_t>(i),
                                        lane_bit(static_cast<unsigned>(lane)), ClassLanes::none});
                if (end == ClassLanes::none) {
                    room.first[c] = at;
                    room.classes.push_back(c);
                } else {
                    room.entries[end].next = at;
                }
                room.last[c] = at;
            }
        });
    }
    for (const std::uint32_t c : room.classes) {
        room.positions.clear();
        room.blocks.clear();
        room.lanes.clear();
        for (std::uint32_t at = room.first[c]; at != ClassLanes::none; at = room.entries[at].next) {
            room.positions.push_back(room.entries[at].position);
            room.blocks.push_back(blocks[room.entries[at].position]);
            room.lanes.push_back(room.entries[at].lanes);
        }
        room.first[c] = room.last[c] = ClassLanes::none;
        visit(c);
    }
}

/// Adds the results of classes of bound nodes. Each class evaluates only the entities that are
/// bound to it. So the cost depends on the entities of the window, not on the number of nodes.
void evaluate_classes(const ScanInput& input, std::span<const BlockIndex> blocks,
                      ScanScratch& scratch, std::span<Mask> result) {
    const auto occupied = input.table.occupied();
    ClassLanes& room = scratch.class_lanes;
    const auto undecided = [&](std::size_t i) {
        return static_cast<Mask>(occupied[blocks[i]] & ~result[i]);
    };
    for_each_class(input, blocks, undecided, room, [&](std::uint32_t c) {
        room.result.resize(room.blocks.size());
        run_steps(input, input.classes[c], room.blocks, 0, {}, scratch, room.result);
        for (std::size_t k = 0; k < room.blocks.size(); ++k) {
            Mask& all = result[room.positions[k]];
            all = static_cast<Mask>(all | (room.result[k] & room.lanes[k]));
        }
    });
}

}  // namespace

void evaluate(const ScanInput& input, std::span<const BlockIndex> blocks, std::size_t inside,
              std::span<Mask> masks, ScanScratch& scratch) {
    const std::size_t n = blocks.size();
    PURVIEW_ASSERT(masks.size() == (std::size_t{1} + input.program.plane_count) * n);
    const std::span<Mask> result = masks.first(n);
    for (auto* list : {&scratch.node_result, &scratch.answer, &scratch.unknown, &scratch.requested})
        reserve_for(*list, n);
    bool is_first_node = true;
    for (const NodeProgram& node : input.nodes) {
        // The first node writes the result directly.
        const bool writes = is_first_node && node.combine == Combine::add;
        if (is_first_node && !writes) std::fill(result.begin(), result.end(), Mask{0});
        if (!writes) scratch.node_result.resize(n);
        const std::span<Mask> so_far = writes ? result : std::span(scratch.node_result);
        evaluate_node(input, node, blocks, inside, masks, scratch, so_far);
        if (!writes) combine(node.combine, so_far, {}, false, result);
        is_first_node = false;
    }
    if (is_first_node) std::fill(result.begin(), result.end(), Mask{0});
    if (!input.classes.empty()) evaluate_classes(input, blocks, scratch, result);
    const auto occupied = input.table.occupied();
    for (std::size_t i = 0; !input.skips_empty && i < n; ++i) result[i] &= occupied[blocks[i]];
    if (input.any_cut) {
        const auto hidden = input.table.flags(input.facts.columns.no_window);
        for (std::size_t i = 0; i < n && !hidden.empty(); ++i) {
            result[i] = static_cast<Mask>(result[i] & ~hidden[blocks[i]]);
        }
    }
}

// -- score ---------------------------------------------------------------------------------------

namespace {

/// Evaluates one step again for the lanes in `requested`, with a copy of its memory. Writes the
/// result to scratch.yes.
void query_again(const ScanInput& input, const Step& step, std::span<const BlockIndex> blocks,
                 std::span<const Mask> masks, std::span<const Mask> requested,
                 MeasureScratch& scratch) {
    const std::size_t n = blocks.size();
    scratch.memory.clear();
    if (step.plane != no_plane) {
        const auto kept = masks.subspan((1 + step.plane) * n, step.planes * n);
        scratch.memory.assign(kept.begin(), kept.end());
    }
    const std::span<Mask> yes = scratch.yes;
    const bool sees_all = step.plane != no_plane && !step.uses_requested;
    const bool any_unknown =
        test_step(input, step, blocks, 0, scratch.memory,
                  sees_all ? std::span<const Mask>{} : requested, scratch.scan, yes);
    for (std::size_t i = 0; i < n; ++i) {
        if (any_unknown) {  // unknown adds nothing, but subtracts
            const Mask unknown = scratch.scan.unknown[i];
            yes[i] = static_cast<Mask>(step.combine == Combine::subtract ? yes[i] | unknown
                                                                         : yes[i] & ~unknown);
        }
        yes[i] &= requested[i];
    }
}

/// Calls visit(position of the block, lane) for all lanes of the masks, one after another.
template <class Visit>
void for_each_lane(std::span<const Mask> masks, Visit&& visit) {
    for (std::size_t i = 0; i < masks.size(); ++i) {
        for (Mask rest = masks[i]; rest != 0; rest &= static_cast<Mask>(rest - 1))
            visit(i, static_cast<unsigned>(std::countr_zero(rest)));
    }
}

}  // namespace

float joined_score(Combine op, float so_far, float more) noexcept {
    if (op == Combine::add) return std::max(so_far, more);
    return op == Combine::require ? std::min(so_far, more) : (more > 0 ? 0 : so_far);
}

namespace {

/// Writes the score of a bucket that has steps in its inner nodes: the highest score among the
/// inner nodes that observer and entity share.
void score_bucket(const ScanInput& input, const InnerNodes& inner,
                  std::span<const BlockIndex> blocks, std::span<const Mask> requested,
                  std::span<float> out, MeasureScratch& scratch) {
    if (scratch.inner == nullptr) scratch.inner = std::make_unique<MeasureScratch>();
    MeasureScratch& room = *scratch.inner;
    if (scratch.scan.bucket == nullptr) scratch.scan.bucket = std::make_unique<BucketScratch>();
    BucketScratch& bucket = *scratch.scan.bucket;
    ScanInput of_inner = input;
    of_inner.trace = nullptr;
    find_cover(input, *inner.dispatcher, bucket.cover);
    bucket.scores.resize(std::max(bucket.scores.size(), inner.programs.size()));
    for (auto& scores : bucket.scores) scores.clear();
    for (const CellId cell : bucket.cover) {
        const std::size_t list = inner.dispatcher->steps_of(cell);
        if (list >= inner.programs.size() || !bucket.scores[list].empty()) continue;
        bucket.scores[list].resize(out.size() + lanes_per_block);
        measure(of_inner, inner.programs[list], blocks, {}, requested,
                std::span(bucket.scores[list]).first(out.size()), room);
    }
    std::size_t k = 0;
    for_each_lane(requested, [&](std::size_t i, unsigned lane) {
        float& best = out[k];
        best = 0;
        const auto visit = [&](std::size_t list) {
            if (list == Dispatcher::no_steps) best = 1;
            if (list < inner.programs.size()) best = std::max(best, bucket.scores[list][k]);
        };
        for_each_shared(input, inner, slot_at(blocks[i], lane), bucket.cover, bucket.cells, visit);
        ++k;
    });
    PURVIEW_ASSERT(k == out.size());
}

/// Writes the score of a step's kernel for all lanes in `requested`, whether they match or not.
void score_step(const ScanInput& input, const Step& step, std::span<const BlockIndex> blocks,
                std::span<const Mask> requested, std::span<float> out, MeasureScratch& scratch) {
    if (step.inner != nullptr)
        return score_bucket(input, *step.inner, blocks, requested, out, scratch);
    const Slots slots(input.table, input.facts, input.stands_for);
    step.kernel->score({input.observer,
                        input.views.of(step.from),
                        input.keys,
                        blocks,
                        {},
                        requested,
                        0,
                        slots,
                        input.context,
                        {}},
                       requested, out);
    // A custom kernel may return anything: NaN, 0, or more than 1.
    for (float& one : out) one = one > score_min ? std::min(one, 1.0F) : score_min;
}

/// Resizes a list, with extra room at the end that kernels may write to.
std::span<float> room_for(std::vector<float>& list, std::size_t n) {
    list.resize(n + lanes_per_block);
    return std::span(list).first(n);
}

}  // namespace

void measure(const ScanInput& input, const NodeProgram& node, std::span<const BlockIndex> blocks,
             std::span<const Mask> masks, std::span<const Mask> requested, std::span<float> score,
             MeasureScratch& scratch) {
    PURVIEW_ASSERT(requested.size() == blocks.size());
    scratch.yes.resize(blocks.size());
    std::fill(score.begin(), score.end(), 0.0F);
    const auto members = node.member_column == no_column ? std::span<const Mask>{}
                                                         : input.table.flags(node.member_column);
    if (node.member_column != no_column && members.empty()) return;
    for (const Step& step : node.steps) {
        query_again(input, step, blocks, masks, requested, scratch);
        std::span<float> one;
        if (step.combine != Combine::subtract) {
            one = room_for(scratch.one, score.size());
            score_step(input, step, blocks, requested, one, scratch);
        }
        std::size_t k = 0;
        for_each_lane(requested, [&](std::size_t i, unsigned lane) {
            const Mask of = members.empty() ? all_lanes : members[blocks[i]];
            const bool applies = (scratch.yes[i] & of & lane_bit(lane)) != 0;
            const float step_score = !applies ? 0 : one.empty() ? 1 : one[k];
            score[k] = joined_score(step.combine, score[k], step_score);
            ++k;
        });
        PURVIEW_ASSERT(k == score.size());
    }
}

namespace {

/// Scores classes of bound nodes. The larger score counts.
void measure_classes(const ScanInput& input, std::span<const BlockIndex> blocks,
                     std::span<const Mask> requested, std::span<float> score,
                     MeasureScratch& scratch) {
    if (input.classes.empty()) return;
    scratch.begin.resize(blocks.size());
    std::uint32_t lanes = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        scratch.begin[i] = lanes;
        lanes += count_lanes(requested[i]);
    }
    ClassLanes& room = scratch.class_lanes;
    const auto requested_at = [&](std::size_t i) { return requested[i]; };
    for_each_class(input, blocks, requested_at, room, [&](std::uint32_t c) {
        std::size_t count = 0;
        for (const Mask mask : room.lanes) count += count_lanes(mask);
        const std::span<float> its = room_for(scratch.node, count);
        measure(input, input.classes[c], room.blocks, {}, room.lanes, its, scratch);
        std::size_t at = 0;
        for_each_lane(room.lanes, [&](std::size_t k, unsigned lane) {
            const std::uint32_t i = room.positions[k];
            const auto before = static_cast<Mask>(requested[i] & (lane_bit(lane) - 1U));
            float& best = score[scratch.begin[i] + count_lanes(before)];
            best = std::max(best, its[at++]);
        });
    });
}

}  // namespace

void measure_relevant(const ScanInput& input, const Window& window,
                      std::span<const BlockIndex> blocks, std::span<const Mask> requested,
                      std::span<float> score, MeasureScratch& scratch) {
    if (score.empty()) return;
    const auto is_add = [](const Step& step) { return step.combine == Combine::add; };
    if (input.nodes.size() == 1 && input.classes.empty() &&
        input.nodes.front().result_plane == no_plane) {
        const NodeProgram& node = input.nodes.front();
        const auto add = std::find_if(node.steps.begin(), node.steps.end(), is_add);
        if (std::count_if(add, node.steps.end(), is_add) == 1) {
            // These lanes passed every step, so no step has to be evaluated for a match.
            score_step(input, *add, blocks, requested, score, scratch);
            for (auto step = add + 1; step < node.steps.end(); ++step) {
                if (step->combine != Combine::require) continue;
                const std::span<float> one = room_for(scratch.one, score.size());
                score_step(input, *step, blocks, requested, one, scratch);
                for (std::size_t k = 0; k < one.size(); ++k) score[k] = std::min(score[k], one[k]);
            }
            return;
        }
    }
    const std::size_t n = blocks.size(), planes = 1 + input.program.plane_count;
    scratch.masks.resize(planes * n);
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t at = window.find(blocks[i], input.table.cell_end());
        PURVIEW_ASSERT(at < window.size());
        for (std::size_t p = 0; p < planes; ++p)
            scratch.masks[p * n + i] = window.masks()[p * window.size() + at];
    }
    ScanInput again = input;
    again.may_be_abstract = again.context.again = true;
    std::fill(score.begin(), score.end(), 0.0F);
    const std::span<float> its = room_for(scratch.node, score.size());
    for (const NodeProgram& one : input.nodes) {
        measure(again, one, blocks, scratch.masks, requested, its, scratch);
        for (std::size_t k = 0; k < its.size(); ++k)
            score[k] = joined_score(one.combine, score[k], its[k]);
    }
    measure_classes(again, blocks, requested, score, scratch);
    for (float& one : score) one = one > 0 ? one : 1;  // relevant until its node is evaluated again
}

}  // namespace purview
