// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "interest/windows/scan.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>

#include "core/hash.hpp"
#include "core/trim.hpp"
#include "purview/status.hpp"

namespace purview {

namespace {

void add_bits(Mask& mask, int bits) noexcept {
    mask = static_cast<Mask>(mask | bits);
}

// -- cells of a window ----------------------------------------------------------------------------

/// Hashes everything that decides which cells a window covers. 0: the cells are valid for this scan
/// only.
class CellsHash {
  public:
    explicit CellsHash(std::uint64_t seed) noexcept : hash_(mix64(seed + 1)) {}
    void add(std::uint64_t value) noexcept { hash_ = mix64(hash_ ^ value); }
    void add(float a, float b) noexcept {
        add(std::uint64_t{std::bit_cast<std::uint32_t>(a)} << 32 | std::bit_cast<std::uint32_t>(b));
    }
    void add(const SubCell& box) noexcept {
        is_alone_ |= box.alone;
        add(static_cast<std::uint64_t>(static_cast<std::uint32_t>(box.x)) << 32 |
            static_cast<std::uint32_t>(box.y));
        if (box.z != 0) add(static_cast<std::uint32_t>(box.z));
    }
    std::uint64_t value() const noexcept { return is_alone_ || hash_ == 0 ? 0 : hash_; }

  private:
    std::uint64_t hash_;
    bool is_alone_ = false;
};

std::uint64_t hash_of_cells(const ScanInput& input) noexcept {
    const Program& program = input.program;
    CellsHash hash(input.rules_revision);
    if (program.everywhere) return hash.value();  // all cells, at every position
    const GridLayer& finest = input.table.layers().front();
    const bool three_d = input.table.is_three_d();
    if (!program.spreads.empty()) {
        for (const Vec3& position : input.views.all)
            hash.add(sub_cell_of(finest, three_d, position));
        hash.add(std::uint64_t{input.views.owned} << 32 | input.views.main);
        if (input.context.range > 0) hash.add(input.context.range, 0);
    }
    for (const Area& area : input.context.areas) {
        if (!program.looks_into_areas) break;
        hash.add(sub_cell_of(finest, three_d, area.center));
        hash.add(static_cast<std::uint64_t>(area.shape) + 1);
        hash.add(area.radius, area.half_angle_degrees);
        hash.add(area.half_size.x, area.half_size.y);
        hash.add(area.half_size.z, area.direction.x);
        hash.add(area.direction.y, area.direction.z);
    }
    return hash.value();
}

/// Returns how far a cone of this half angle and length extends along an axis at `angle` to the
/// cone's axis.
float cone_along(float angle, float half_angle, float radius) noexcept {
    const float off = std::max(angle - half_angle, 0.0F);
    constexpr float right = std::numbers::pi_v<float> / 2;
    return off < right ? radius * std::cos(off) : 0.0F;
}

Reach reach_of_area(const GridLayer& finest, bool three_d, const Area& area,
                    float margin_m) noexcept {
    const Vec3 c = area.center;
    if (area.shape == AreaShape::sphere)
        return reach_of(finest, three_d, c, area.radius + margin_m, -1);
    if (area.shape == AreaShape::box) {
        const Vec3 h = area.half_size;
        return reach_of_box(finest, three_d, c, {c.x - h.x, c.y - h.y, c.z - h.z},
                            {c.x + h.x, c.y + h.y, c.z + h.z}, margin_m);
    }
    const float half = area.half_angle_degrees * std::numbers::pi_v<float> / 180;
    const auto along = [&](float cosine) {
        // Rounding must not make the cone smaller.
        return cone_along(std::acos(std::clamp(cosine, -1.0F, 1.0F)), half, area.radius) +
               area.radius * 1e-4F;
    };
    const Vec3 d = area.direction;
    return reach_of_box(finest, three_d, c,
                        {c.x - along(-d.x), c.y - along(-d.y), c.z - along(-d.z)},
                        {c.x + along(d.x), c.y + along(d.y), c.z + along(d.z)}, margin_m);
}

float radius_of(const ScanInput& input, const Spread& spread, std::size_t layer) noexcept {
    float radius = spread.enter;
    if (spread.range == RangeFrom::observer && input.context.range > 0)
        radius = std::max(input.context.range, 0.0F);
    if (spread.range == RangeFrom::entity && layer < input.range_classes.size()) {
        // Entities without a range of their own are in the first layer.
        radius = std::max(layer == 0 ? radius : 0.0F, input.range_classes[layer]);
    }
    if (layer == input.bounds_layer) {  // this layer has ranges of all classes
        if (spread.range == RangeFrom::entity && !input.range_classes.empty())
            radius = std::max(radius, input.range_classes.back());
        radius += input.bounds_max_m;
    }
    return radius + spread.margin_m;
}

void find_reaches(const ScanInput& input, std::size_t layer, ScanScratch& scratch) {
    const GridLayer& finest = input.table.layers().front();
    const bool three_d = input.table.is_three_d();
    const Program& program = input.program;
    scratch.reaches.clear();
    for (const Spread& spread : program.spreads) {
        const bool has_inside = program.inside_kernel != nullptr &&
                                spread.range == RangeFrom::kernel &&
                                spread.from == Viewpoints::entity_and_points;
        const float inside_m = has_inside ? program.inside_kernel->inside_m() : -1;
        const float radius = radius_of(input, spread, layer);
        for (const Vec3 position : input.views.of(spread.from))
            scratch.reaches.push_back(reach_of(finest, three_d, position, radius, inside_m));
    }
    for (const Area& area : input.context.areas) {
        if (!program.looks_into_areas) break;
        const float wider_m = layer == input.bounds_layer ? input.bounds_max_m : 0;
        scratch.reaches.push_back(
            reach_of_area(finest, three_d, area, program.area_margin_m + wider_m));
    }
}

void find_runs(const ScanInput& input, ScanScratch& scratch) {
    scratch.runs.clear();
    if (!input.program.has_windows()) return;  // no step reads or updates windows
    if (input.program.everywhere) {
        constexpr BlockIndex run_max = 0xffff;
        const BlockIndex end = input.table.cell_end();
        for (BlockIndex first = 0; first < end; first += std::min(run_max, end - first)) {
            scratch.runs.push_back(
                {first, static_cast<std::uint16_t>(std::min(run_max, end - first)), 0, 0});
        }
        return;
    }
    const auto layers = input.table.layers();
    bool is_same_for_all = true;
    for (const Spread& spread : input.program.spreads)
        is_same_for_all &= spread.range != RangeFrom::entity;
    for (std::size_t l = 0; l + 1 < layers.size(); ++l) {  // the last layer has no positions
        if (l == 0 || !is_same_for_all || l == input.bounds_layer) find_reaches(input, l, scratch);
        cover(layers[l], input.table.is_three_d(), scratch.reaches, scratch.spans, scratch.runs);
    }
}

/// Adds the block of a candidate that is in none of the cells of the runs.
void pull(const ScanInput& input, EntityId unit, ScanScratch& scratch) {
    const Slot slot = input.table.slot_of(unit);
    if (slot == no_slot) return;
    const BlockIndex block = block_of(slot);
    const BlockIndex cell = input.table.cell_of_block(block);
    const bool is_covered =
        std::any_of(scratch.runs.begin(), scratch.runs.end(),
                    [&](const CellRun& run) { return cell - run.first < run.count; });
    if (is_covered || scratch.pulled.contains(block)) return;
    scratch.pulled[block] = 1;
    scratch.outside_loose.push_back(block);
}

/// Collects the loose blocks: the overflow blocks of the runs' cells, and pulled blocks.
void find_loose(const ScanInput& input, ScanScratch& scratch) {
    const BlockTable& table = input.table;
    scratch.inside_loose.clear();
    scratch.outside_loose.clear();
    for (const CellRun& run : scratch.runs) {
        table.overflowing().for_each_in(run.first, run.count, [&](std::size_t cell) {
            const auto base = static_cast<BlockIndex>(cell);
            const bool is_inside = base - run.first - run.inside_first < run.inside_count;
            auto& out = is_inside ? scratch.inside_loose : scratch.outside_loose;
            for (BlockIndex b = table.next(base); b != base; b = table.next(b)) out.push_back(b);
        });
    }
    for (const Row* row : input.pulled) {
        for (const EntityId member : row->members) {
            if (member != EntityId::none) pull(input, member, scratch);
        }
    }
    if (input.program.pulls_owned) {
        for (const EntityId unit : input.context.owned) pull(input, unit, scratch);
    }
    scratch.pulled.clear();
    // Sorted, so that windows of the same cells have the same blocks in the same order and can be
    // searched.
    std::sort(scratch.inside_loose.begin(), scratch.inside_loose.end());
    std::sort(scratch.outside_loose.begin(), scratch.outside_loose.end());
}

// -- remap bits on slot change -------------------------------------------------------------------

/// Returns the planes in which the lane is set, one bit per plane.
std::uint32_t planes_of(std::span<const Mask> masks, std::size_t n, std::size_t position, Mask bit,
                        std::uint32_t planes) noexcept {
    PURVIEW_ASSERT(planes <= 32 && position < n);
    std::uint32_t out = 0;
    for (std::uint32_t p = 0; p < planes; ++p) {
        if ((masks[p * n + position] & bit) != 0) out |= 1U << p;
    }
    return out;
}

/// Moves the bits of a slot to the current slot of its entity. Call it if the entity left the slot,
/// or if the window no longer covers the slot. If the window does not cover the current slot
/// either, the entity leaves; with `keeps_strays` it is added to scratch.strays instead.
/// `find(block)` returns the position of a block in the window, or n.
template <class Find>
void remap_slot(const ScanInput& input, Slot slot, std::uint32_t planes, std::span<Mask> masks,
                std::size_t n, bool keeps_strays, ScanScratch& scratch, Find&& find) {
    PURVIEW_ASSERT(planes != 0);
    const BlockTable& table = input.table;
    Slot now = slot;
    while (now != no_slot && table.is_vacated(now)) {
        const Displaced& gone = table.displaced_from(now);
        if (gone.silent) return;
        now = gone.to;
    }
    const std::size_t at = now == no_slot ? n : find(block_of(now));
    if (at == n && now != no_slot && keeps_strays) {
        scratch.strays.push_back({slot, now, planes});
        return;
    }
    if (at == n) {
        const std::uint16_t wait = now == no_slot ? std::uint16_t{0} : input.lazy_wait(planes);
        if ((planes & 1U) != 0)
            scratch.toggles.push_back({input.observer_index, slot, false, wait});
        return;
    }
    for (std::uint32_t p = 0; p <= input.program.plane_count; ++p) {
        if ((planes >> p & 1U) != 0) add_bits(masks[p * n + at], lane_bit(lane_of(now)));
    }
}

/// Remaps the bits of the lanes that were vacated in this tick.
template <class Find>
void remap_vacated(const ScanInput& input, BlockIndex block, std::size_t position,
                   std::span<Mask> masks, std::size_t n, bool keeps_strays, ScanScratch& scratch,
                   Find&& find) {
    const Mask vacated = input.table.vacated(block);
    const std::uint32_t plane_end = 1 + input.program.plane_count;
    Mask left = 0;
    for (std::uint32_t p = 0; p < plane_end; ++p) left |= masks[p * n + position];
    left &= vacated;
    for (; left != 0; left &= static_cast<Mask>(left - 1)) {
        const auto lane = static_cast<unsigned>(std::countr_zero(left));
        const Mask bit = lane_bit(lane);
        const std::uint32_t planes = planes_of(masks, n, position, bit, plane_end);
        for (std::uint32_t p = 0; p < plane_end; ++p) {
            masks[p * n + position] = static_cast<Mask>(masks[p * n + position] & ~bit);
        }
        remap_slot(input, slot_at(block, lane), planes, masks, n, keeps_strays, scratch, find);
    }
}

/// Maps blocks to positions, for windows that are too large to search.
void map_blocks(const ScanInput& input, std::span<const BlockIndex> blocks, ScanScratch& scratch) {
    auto& position = scratch.position;
    if (const std::size_t end = input.table.block_end(); position.size() < end) {
        constexpr std::size_t growth = 16;  // grows by 1 / 16, like the table
        if (position.capacity() < end) position.reserve(end + end / growth);
        position.resize(end, 0);
    }
    if (std::equal(scratch.mapped.begin(), scratch.mapped.end(), blocks.begin(), blocks.end()))
        return;
    for (const BlockIndex block : scratch.mapped) position[block] = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        PURVIEW_ASSERT(position[blocks[i]] == 0);  // no block twice
        position[blocks[i]] = static_cast<std::uint32_t>(i + 1);
    }
    reserve_for(scratch.mapped, blocks.size());
    scratch.mapped.assign(blocks.begin(), blocks.end());
}

/// Assigns the cells and loose blocks in scratch to the window, and remaps its old bits.
void rebuild(const ScanInput& input, Window& window, std::uint64_t cells_hash,
             ScanScratch& scratch) {
    const std::uint32_t plane_end = 1 + input.program.plane_count;
    list_blocks(scratch.runs, scratch.inside_loose, scratch.outside_loose, scratch.blocks);
    const std::size_t n = scratch.blocks.size(), old_n = window.size();
    map_blocks(input, scratch.blocks, scratch);
    const auto find = [&](BlockIndex block) {
        const std::uint32_t at = scratch.position[block];
        return at == 0 ? n : std::size_t{at} - 1;
    };
    reserve_for(scratch.masks, plane_end * n);
    scratch.masks.assign(plane_end * n, 0);
    const auto old_masks = std::as_const(window).masks();
    PURVIEW_ASSERT(old_masks.size() == plane_end * old_n);
    for (std::size_t i = 0; i < old_n; ++i) {
        const BlockIndex block = window.blocks()[i];
        const std::size_t to = find(block);
        Mask any = 0;
        for (std::uint32_t p = 0; p < plane_end; ++p) {
            const Mask mask = old_masks[p * old_n + i];
            any |= mask;
            if (to != n) add_bits(scratch.masks[p * n + to], mask);
        }
        for (; to == n && any != 0; any &= static_cast<Mask>(any - 1)) {
            const auto lane = static_cast<unsigned>(std::countr_zero(any));
            remap_slot(input, slot_at(block, lane),
                       planes_of(old_masks, old_n, i, lane_bit(lane), plane_end), scratch.masks, n,
                       false, scratch, find);
        }
    }
    for (std::size_t i = 0; i < n; ++i) {
        if (input.table.vacated(scratch.blocks[i]) != 0)
            remap_vacated(input, scratch.blocks[i], i, scratch.masks, n, false, scratch, find);
    }
    window.assign({cells_hash, scratch.runs, scratch.blocks, scratch.inside_loose.size(),
                   scratch.outside_loose.size(), scratch.masks, input.pulls()},
                  scratch.arena);
}

/// Remaps bits in one pass over the displaced entities of this tick, in the order in which they
/// left. Used in a crowd, where each window contains nearly all of them.
void remap_displaced(const ScanInput& input, Window& window, ScanScratch& scratch) {
    const std::size_t n = window.size();
    const std::uint32_t plane_end = 1 + input.program.plane_count;
    const std::span<Mask> masks = window.masks();
    PURVIEW_ASSERT(scratch.mapped.size() == n);
    const std::uint32_t* position = scratch.position.data();
    for (const Displaced& gone : input.table.displaced()) {
        const std::uint32_t from = position[block_of(gone.from)];
        if (from == 0) continue;
        const Mask bit = lane_bit(lane_of(gone.from));
        const std::uint32_t to = gone.to == no_slot ? 0 : position[block_of(gone.to)];
        std::uint16_t wait = 0;
        if (to == 0 && gone.to != no_slot)
            wait = input.lazy_wait(planes_of(masks, n, from - 1, bit, plane_end));
        for (std::uint32_t p = 0; p < plane_end; ++p) {
            Mask& mask = masks[p * n + from - 1];
            if ((mask & bit) == 0) continue;
            mask = static_cast<Mask>(mask & ~bit);
            if (to != 0) {
                add_bits(masks[p * n + to - 1], lane_bit(lane_of(gone.to)));
            } else if (p == 0 && !gone.silent) {
                scratch.toggles.push_back({input.observer_index, gone.from, false, wait});
            }
        }
    }
}

/// Remaps the bits of entities that left their slot, within the window's blocks. Returns false if a
/// cell gained or lost a block: then the window is unchanged and must be rebuilt. `keeps_strays`:
/// entities that left the window's blocks go to scratch.strays instead of leaving.
bool remap_moved(const ScanInput& input, Window& window, bool keeps_strays, ScanScratch& scratch) {
    const BlockTable& table = input.table;
    const std::size_t n = window.size();
    constexpr std::size_t large = 64;  // from this many blocks on, a map is faster than a search
    const bool is_crowd = n >= large && !keeps_strays && table.displaced().size() < 2 * n;
    scratch.left.clear();
    bool is_settled = true, any = false;
    for (const CellRun& cells : window.cells()) {
        table.unsettled().for_each_in(cells.first, cells.count, [&](std::size_t cell) {
            any = true;
            is_settled &= !table.ring_changed().test(cell);
            const auto base = static_cast<BlockIndex>(cell);
            for (BlockIndex block = base; !is_crowd;) {
                if (table.vacated(block) != 0) {
                    scratch.left.push_back(block);
                    table.prefetch_entity(slot_at(block, 0));  // has the indices of its records
                }
                block = table.next(block);
                if (block == base) break;
            }
        });
    }
    if (!is_settled || !any) return is_settled;
    if (n >= large) map_blocks(input, window.blocks(), scratch);
    if (is_crowd) {
        remap_displaced(input, window, scratch);
        return true;
    }
    const auto find = [&](BlockIndex block) {
        if (n < large) return window.find(block, table.cell_end());
        const std::uint32_t at = scratch.position[block];
        return at == 0 ? n : std::size_t{at} - 1;
    };
    for (const BlockIndex block : scratch.left) {
        PURVIEW_ASSERT(find(block) < n);
        remap_vacated(input, block, find(block), window.masks(), n, keeps_strays, scratch, find);
    }
    return true;
}

// -- scan ---------------------------------------------------------------------------------------

/// Clears the lanes of denied pairs. Visits only blocks with a denied entity.
void clear_denied(const ScanInput& input, std::span<const BlockIndex> blocks,
                  std::span<Mask> result) {
    PURVIEW_ASSERT(result.size() == blocks.size());
    if (input.pairs == nullptr) return;
    const auto special = input.table.flags(input.facts.columns.special);
    for (std::size_t i = 0; i < blocks.size() && !special.empty(); ++i) {
        Mask rest = result[i] & special[blocks[i]];
        for (; rest != 0; rest &= static_cast<Mask>(rest - 1)) {
            const auto lane = static_cast<unsigned>(std::countr_zero(rest));
            const EntityId entity = input.table.entity(slot_at(blocks[i], lane));
            const PairEntry* pair = input.pairs->find(input.observer_index, entity);
            if (pair != nullptr && pair->deny)
                result[i] = static_cast<Mask>(result[i] & ~lane_bit(lane));
        }
    }
}

void compare(const ScanInput& input, std::span<const BlockIndex> blocks,
             std::span<const Mask> before, std::span<const Mask> now, ScanScratch& scratch) {
    const auto report = [&](std::size_t i, unsigned lane) {
        scratch.toggles.push_back(
            {input.observer_index, slot_at(blocks[i], lane), (now[i] & lane_bit(lane)) != 0});
    };
    // Compares four masks per word, because most words are equal.
    constexpr std::size_t per_word = sizeof(std::uint64_t) / sizeof(Mask);
    const std::size_t n = blocks.size();
    PURVIEW_ASSERT(before.size() == n && now.size() == n);
    std::size_t i = 0;
    for (; i + per_word <= n; i += per_word) {
        std::uint64_t was = 0, is = 0;
        std::memcpy(&was, before.data() + i, sizeof was);
        std::memcpy(&is, now.data() + i, sizeof is);
        if (was == is) continue;
        if constexpr (std::endian::native == std::endian::little) {
            for_each_bit(was ^ is, 0, [&](std::size_t bit) {
                report(i + bit / lanes_per_block, static_cast<unsigned>(bit % lanes_per_block));
            });
            continue;
        }
        for (std::size_t k = i; k < i + per_word; ++k) {
            for (Mask bits = before[k] ^ now[k]; bits != 0; bits &= static_cast<Mask>(bits - 1))
                report(k, static_cast<unsigned>(std::countr_zero(bits)));
        }
    }
    for (; i < n; ++i) {
        for (Mask bits = before[i] ^ now[i]; bits != 0; bits &= static_cast<Mask>(bits - 1))
            report(i, static_cast<unsigned>(std::countr_zero(bits)));
    }
}

/// Counts what kernels evaluated: blocks that are not wholly inside, and the entities in them.
void count_tested(const ScanInput& input, std::span<const BlockIndex> blocks,
                  ScanScratch& scratch) {
    const auto occupied = input.table.occupied();
    std::uint32_t tested = 0, lanes = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        tested += occupied[blocks[i]] != 0 ? 1 : 0;
        lanes += count_lanes(occupied[blocks[i]]);
    }
    scratch.blocks_tested += tested;
    scratch.lanes_tested += lanes;
}

/// Returns whether the masks have bits of occupied lanes only.
[[maybe_unused]] bool have_only_occupied(const ScanInput& input, std::span<const BlockIndex> blocks,
                                         std::span<const Mask> masks) noexcept {
    const auto occupied = input.table.occupied();
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        if ((masks[i] & ~occupied[blocks[i]]) != 0) return false;
    }
    return true;
}

/// Evaluates all blocks of the window. The first `inside` are wholly inside.
void evaluate_all(const ScanInput& input, Window& window, std::size_t inside,
                  ScanScratch& scratch) {
    const std::size_t n = window.size();
    PURVIEW_ASSERT(inside <= window.inside_count());
    const std::span<const BlockIndex> blocks = window.blocks();
    const std::span<Mask> result = window.masks().first(n);
    if (scratch.before.size() < n) scratch.before.resize(n + n / 2);
    const std::span<Mask> before = std::span(scratch.before).first(n);
    for (std::size_t i = 0; i < n; ++i) before[i] = result[i];
    evaluate(input, blocks, inside, window.masks(), scratch);
    clear_denied(input, blocks, result);
    PURVIEW_ASSERT(have_only_occupied(input, blocks, result));
    compare(input, blocks, before, result, scratch);
    if (scratch.count_tested) count_tested(input, blocks.subspan(inside), scratch);
}

/// Evaluates scratch.blocks. scratch.some has their positions in the window.
void evaluate_some(const ScanInput& input, Window& window, ScanScratch& scratch) {
    const std::size_t n = scratch.blocks.size(), window_n = window.size();
    PURVIEW_ASSERT(scratch.some.size() == n && n <= window_n);
    if (n == 0) return;
    const std::uint32_t planes = 1 + input.program.plane_count;
    reserve_for(scratch.masks, planes * n);
    scratch.masks.resize(planes * n);
    for (std::uint32_t p = 0; p < planes; ++p) {
        for (std::size_t i = 0; i < n; ++i)
            scratch.masks[p * n + i] = window.masks()[p * window_n + scratch.some[i]];
    }
    reserve_for(scratch.before, n);
    scratch.before.assign(scratch.masks.begin(),
                          scratch.masks.begin() + static_cast<std::ptrdiff_t>(n));
    evaluate(input, scratch.blocks, 0, scratch.masks, scratch);
    const std::span<Mask> result = std::span(scratch.masks).first(n);
    clear_denied(input, scratch.blocks, result);
    PURVIEW_ASSERT(have_only_occupied(input, scratch.blocks, result));
    compare(input, scratch.blocks, scratch.before, result, scratch);
    if (scratch.count_tested) count_tested(input, scratch.blocks, scratch);
    for (std::uint32_t p = 0; p < planes; ++p) {
        for (std::size_t i = 0; i < n; ++i)
            window.masks()[p * window_n + scratch.some[i]] = scratch.masks[p * n + i];
    }
}

void rebuild_from_here(const ScanInput& input, Window& window, std::uint64_t cells_hash,
                       ScanScratch& scratch) {
    find_runs(input, scratch);
    find_loose(input, scratch);
    rebuild(input, window, cells_hash, scratch);
}

}  // namespace

void scan(const ScanInput& input, Window& window, ScanScratch& scratch) {
    if (!input.program.has_windows() && !window.is_made()) return;
    scratch.reserve_usual();
    const std::uint64_t cells_hash = hash_of_cells(input);
    const bool has_same_cells = window.is_made() && !input.pulls() && !window.has_pulled() &&
                                cells_hash != 0 && cells_hash == window.cells_hash();
    if (!has_same_cells || !remap_moved(input, window, false, scratch)) {
        rebuild_from_here(input, window, cells_hash, scratch);
    }
    evaluate_all(input, window, window.inside_count(), scratch);
}

void rescan_dirty(const ScanInput& input, Window& window, ScanScratch& scratch) {
    PURVIEW_ASSERT(window.is_made());
    const BlockTable& table = input.table;
    bool is_settled = true;
    scratch.blocks.clear();
    for (const CellRun& cells : window.cells()) {
        table.for_each_dirty_in(cells.first, cells.count, [&](std::size_t cell) {
            const auto base = static_cast<BlockIndex>(cell);
            is_settled &= !table.unsettled().test(cell);
            scratch.blocks.push_back(base);
            if (!table.overflowing().test(cell)) return;
            for (BlockIndex b = table.next(base); b != base; b = table.next(b)) {
                if (table.is_dirty(b)) scratch.blocks.push_back(b);
            }
        });
    }
    // While all enters wait, only blocks with relevant entities have to be evaluated.
    if (!is_settled && input.program.all_wait) return rescan_shown(input, window, scratch);
    if (!is_settled) return scan(input, window, scratch);
    scratch.some.clear();
    for (const BlockIndex block : scratch.blocks) {
        scratch.some.push_back(static_cast<std::uint32_t>(window.find(block, table.cell_end())));
        PURVIEW_ASSERT(scratch.some.back() < window.size());
    }
    evaluate_some(input, window, scratch);
}

void rescan_shown(const ScanInput& input, Window& window, ScanScratch& scratch) {
    PURVIEW_ASSERT(window.is_made() && input.program.all_wait);
    scratch.strays.clear();
    if (!remap_moved(input, window, true, scratch)) return scan(input, window, scratch);
    const std::uint32_t planes = 1 + input.program.plane_count;
    if (!scratch.strays.empty()) {
        // Rebuilds the window at the observer's current position, so that an entity that moves
        // along with the observer does not leave and enter again.
        rebuild_from_here(input, window, hash_of_cells(input), scratch);
        const std::size_t n = window.size();
        for (const Stray& stray : scratch.strays) {
            const std::size_t at = window.find(block_of(stray.to), input.table.cell_end());
            if (at == n && (stray.planes & 1U) != 0) {
                scratch.toggles.push_back(
                    {input.observer_index, stray.from, false, input.lazy_wait(stray.planes)});
            }
            for (std::uint32_t p = 0; at != n && p < planes; ++p) {
                if ((stray.planes >> p & 1U) != 0)
                    add_bits(window.masks()[p * n + at], lane_bit(lane_of(stray.to)));
            }
        }
        return evaluate_all(input, window, window.inside_count(), scratch);
    }
    const std::size_t n = window.size();
    const std::span<const Mask> result = window.masks().first(n);
    const auto empty = static_cast<std::size_t>(std::count(result.begin(), result.end(), Mask{0}));
    // Copying blocks out and back costs as much as evaluating some for nothing. No block counts as
    // inside, because the window was made for another position.
    if (empty < n / 2) return evaluate_all(input, window, 0, scratch);
    scratch.some.clear();
    scratch.blocks.clear();
    for (std::size_t i = 0; i < n; ++i) {
        Mask shown = window.masks()[i];
        for (const NodeProgram& node : input.nodes)
            shown |= window.masks()[(1 + node.result_plane) * n + i];
        if ((shown | input.new_lanes_of(window.blocks()[i])) == 0) continue;
        scratch.some.push_back(static_cast<std::uint32_t>(i));
        scratch.blocks.push_back(window.blocks()[i]);
    }
    evaluate_some(input, window, scratch);
}

}  // namespace purview
