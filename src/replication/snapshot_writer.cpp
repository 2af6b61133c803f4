// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/snapshot_writer.hpp"

#include <algorithm>
#include <bit>

namespace purview {

namespace {

/// Presence, tick, four counts and the parameter of the plain section, generously.
constexpr std::uint64_t snapshot_overhead_bits = 1 + wire_tick_bits + 4 * 16 + 4;

unsigned kind_bits(const Schema& schema) noexcept {
    return bits_for(schema.kinds().size() - 1);
}

/// Leaves before everything: they are small, and knowledge that must end, ends now.
constexpr float leave_priority = 1e30F;

SnapshotItem make_leave(const GhostTable& ghosts, LocalId lane) {
    SnapshotItem item;
    item.lane = lane;
    item.type = ItemType::leave;
    item.keeps = ghosts.kept_as(lane) != LeavePolicy::despawn;
    item.bits_max = BitWriter::varint_bits(lane) + leave_reason_bits + 1 + leave_policy_bits;
    item.priority = leave_priority;
    return item;
}

/// It did not change in this tick.
bool is_at_rest(const ReplicationInput& input, const GhostTable& ghosts, LocalId lane) {
    return !input.fields.changed().test(index_of(ghosts.entity(lane)));
}

/// False when there is nothing to tell after all.
bool make_item(const ReplicationInput& input, const GhostTable& ghosts, LocalId lane,
               SnapshotItem& item) {
    const EntityId entity = ghosts.entity(lane);
    const std::uint32_t index = index_of(entity);
    const KindId kind = ghosts.kind(lane);
    item = SnapshotItem{};
    item.lane = lane;
    const EntityId parent = input.world.parent_at(index);
    item.parent = parent == EntityId::none ? no_local_id : ghosts.find(parent);
    item.bits_max = BitWriter::varint_bits(lane);
    const KindLayout& layout = input.fields.layout(kind);
    const unsigned link_bits =
        2 + static_cast<unsigned>(std::popcount(layout.audience)) +
        (item.parent == no_local_id ? 0 : BitWriter::varint_bits(item.parent));
    const FieldMask told = layout.fields_of(ghosts.told(lane));
    if (ghosts.needs_enter(lane)) {
        item.type = ItemType::enter;
        item.body = input.cache.full(index, kind, told);
        item.references = told & layout.references;
        item.bits_max += kind_bits(input.schema) + link_bits;
    } else {
        const Tick baseline = ghosts.baseline(lane);
        FieldMask mask = input.cache.changed_since(index, kind, baseline);
        if (const std::uint32_t gained = ghosts.gained(lane); gained != 0)
            mask |=
                layout.fields_of(gained | ~layout.audience) & ~layout.fields_of(~layout.audience);
        if (ghosts.reference_tick(lane) > baseline) mask |= layout.references;
        mask &= told;
        item.relink =
            input.fields.parent_tick(index) > baseline || ghosts.meta_tick(lane) > baseline;
        if (mask == 0 && !item.relink) return false;
        // A body of one part cannot say that nothing changed.
        if (mask == 0 && !layout.asks_parts()) mask = layout.all;
        item.references = mask & layout.references;
        item.type = item.relink || !ghosts.is_held(lane) ? ItemType::verbose : ItemType::plain;
        item.body = input.cache.update(index, kind, mask);
        if (item.type == ItemType::verbose) {
            item.bits_max += kind_bits(input.schema) + 1 + (item.relink ? link_bits : 0);
        }
    }
    item.bits_max += item.body.bits + static_cast<unsigned>(std::popcount(item.references)) *
                                          (1 + BitWriter::varint_bits(ghosts.lane_end()));
    const Tick age = input.tick - ghosts.waiting_since(lane) + 1;
    item.priority = static_cast<float>(age) * input.schema.kinds()[index_of(kind)].urgency *
                    ghosts.pace(lane).weight;
    // What came to rest is not corrected by the next update: its last value goes first.
    if (is_at_rest(input, ghosts, lane)) item.priority *= rest_urgency;
    return true;
}

/// An update may wait for its turn; what is new, what came to rest and links may not.
bool is_due(const ReplicationInput& input, const GhostTable& ghosts, LocalId lane) {
    const std::uint32_t every = ghosts.pace(lane).every_ticks;
    if (every <= 1 || ghosts.needs_enter(lane) || is_at_rest(input, ghosts, lane)) return true;
    return input.tick - ghosts.sent_tick(lane) >= every;
}

}  // namespace

void prioritise(const ReplicationInput& input, GhostTable& ghosts, std::uint64_t budget_bits,
                SnapshotPlan& plan) {
    plan.items.clear();
    plan.next = 0;
    plan.bits_total = 0;
    plan.item_of_lane.assign(ghosts.lane_end(), 0);
    const auto add = [&](const SnapshotItem& item) {
        plan.items.push_back(item);
        plan.bits_total += item.bits_max;
    };
    for (std::size_t w = 0; w < ghosts.needs_leave().size(); ++w) {
        for_each_bit(ghosts.needs_leave()[w], w * bits_per_word, [&](std::size_t lane) {
            add(make_leave(ghosts, static_cast<LocalId>(lane)));
        });
    }
    for (std::size_t w = 0; w < ghosts.pending().size(); ++w) {
        for_each_bit(ghosts.pending()[w], w * bits_per_word, [&](std::size_t lane) {
            SnapshotItem item;
            if (!is_due(input, ghosts, static_cast<LocalId>(lane))) return;
            if (make_item(input, ghosts, static_cast<LocalId>(lane), item)) {
                add(item);
            } else {
                ghosts.settle(static_cast<LocalId>(lane));
            }
        });
    }
    plan.is_over_budget = plan.bits_total + snapshot_overhead_bits > budget_bits;
    if (plan.is_over_budget) {
        // Ties are broken by local id, never by anything that an observer must not see.
        std::sort(plan.items.begin(), plan.items.end(),
                  [](const SnapshotItem& a, const SnapshotItem& b) {
                      return a.priority != b.priority ? a.priority > b.priority : a.lane < b.lane;
                  });
    }
    for (std::size_t i = 0; i < plan.items.size(); ++i) {
        plan.item_of_lane[plan.items[i].lane] = static_cast<std::uint32_t>(i + 1);
    }
}

namespace {

/// It makes the ghost present: an enter, or what a copy goes on with.
bool makes_present(const GhostTable& ghosts, const SnapshotItem& item) {
    return item.type == ItemType::enter ||
           (item.type == ItemType::verbose && item.relink && ghosts.is_away(item.lane));
}

bool is_parent_known(const GhostTable& ghosts, const SnapshotPlan& plan, const SnapshotItem& item) {
    if (item.parent == no_local_id) return true;
    if (ghosts.is_held(item.parent) && !ghosts.is_away(item.parent)) return true;
    const std::uint32_t at = plan.item_of_lane[item.parent];
    return at != 0 && makes_present(ghosts, plan.items[at - 1]) &&
           std::find(plan.chosen.begin(), plan.chosen.end(), at - 1) != plan.chosen.end();
}

/// Takes the item, its parents before it, while it fits.
bool choose(const ReplicationInput& input, const GhostTable& ghosts, SnapshotPlan& plan,
            std::uint32_t at, std::uint64_t& bits_left) {
    SnapshotItem& item = plan.items[at];
    if (item.taken) return false;
    const bool links = item.type == ItemType::enter || item.relink;
    if (input.break_order && item.type == ItemType::enter &&
        ghosts.waiting_since(item.lane) == input.tick &&
        !input.world.children_at(index_of(ghosts.entity(item.lane))).empty()) {
        return false;
    }
    if (links && !input.break_order && !is_parent_known(ghosts, plan, item)) {
        const std::uint32_t parent = plan.item_of_lane[item.parent];
        if (parent == 0 || !makes_present(ghosts, plan.items[parent - 1]) ||
            !choose(input, ghosts, plan, parent - 1, bits_left)) {
            return false;  // its parent is under way: wait
        }
    }
    if (item.bits_max > bits_left) return false;
    bits_left -= item.bits_max;
    item.taken = true;
    plan.chosen.push_back(at);
    return true;
}

/// The Rice parameter that codes these gaps in the fewest bits.
unsigned best_rice(const SnapshotPlan& plan, std::size_t first, std::size_t end) {
    std::uint64_t best_bits = ~std::uint64_t{0};
    unsigned best = 0;
    for (unsigned k = 0; k < 15; ++k) {
        std::uint64_t bits = 0;
        LocalId expected = 0;
        for (std::size_t i = first; i < end; ++i) {
            const LocalId lane = plan.items[plan.chosen[i]].lane;
            bits += ((lane - expected) >> k) + 1 + k;
            expected = lane + 1;
        }
        if (bits >= best_bits) break;  // convex in k
        best_bits = bits;
        best = k;
    }
    return best;
}

void write_link(const GhostTable& ghosts, const KindLayout& layout, const SnapshotItem& item,
                BitWriter& out) {
    out.boolean(ghosts.owned(item.lane));
    out.boolean(item.parent != no_local_id);
    if (item.parent != no_local_id) out.varint(item.parent);
    for_each_bit(layout.audience, 0, [&](std::size_t part) {
        out.boolean((ghosts.told(item.lane) >> part & 1U) != 0);
    });
}

/// To this observer: the ghost, or none.
void write_references(const ReplicationInput& input, GhostTable& ghosts, const SnapshotItem& item,
                      BitWriter& out) {
    const std::uint32_t index = index_of(ghosts.entity(item.lane));
    const KindLayout& layout = input.fields.layout(ghosts.kind(item.lane));
    for_each_bit(item.references, 0, [&](std::size_t f) {
        const std::uint32_t* named = input.fields.words(index, layout.fields[f]);
        const LocalId lane = ghosts.find(make_entity_id(named[0], named[1]));
        out.boolean(lane != no_local_id);
        if (lane == no_local_id) return;
        out.varint(lane);
        ghosts.named(lane);
    });
}

void write_item(const ReplicationInput& input, GhostTable& ghosts, const SnapshotItem& item,
                BitWriter& out) {
    const KindLayout& layout = input.fields.layout(ghosts.kind(item.lane));
    switch (item.type) {
        case ItemType::leave:
            out.bits(static_cast<std::uint64_t>(ghosts.leave_reason(item.lane)), leave_reason_bits);
            out.boolean(item.keeps);
            if (item.keeps)
                out.bits(static_cast<std::uint64_t>(ghosts.kept_as(item.lane)), leave_policy_bits);
            return;
        case ItemType::enter:
            out.bits(index_of(ghosts.kind(item.lane)), kind_bits(input.schema));
            write_link(ghosts, layout, item, out);
            break;
        case ItemType::verbose:
            out.bits(index_of(ghosts.kind(item.lane)), kind_bits(input.schema));
            out.boolean(item.relink);
            if (item.relink) write_link(ghosts, layout, item, out);
            break;
        case ItemType::plain:
            break;
    }
    out.copy_bits(input.cache.bytes(item.body), item.body.bits);
    write_references(input, ghosts, item, out);
}

}  // namespace

bool write_snapshot(const ReplicationInput& input, GhostTable& ghosts, SnapshotPlan& plan,
                    std::uint32_t sequence, std::uint64_t capacity_bits, BitWriter& out) {
    if (capacity_bits <= snapshot_overhead_bits) return false;
    std::uint64_t bits_left = capacity_bits - snapshot_overhead_bits;
    plan.chosen.clear();
    plan.skip_taken();
    for (std::size_t i = plan.next; i < plan.items.size() && bits_left > 0; ++i) {
        (void)choose(input, ghosts, plan, static_cast<std::uint32_t>(i), bits_left);
    }
    if (plan.chosen.empty()) return false;
    std::sort(plan.chosen.begin(), plan.chosen.end(), [&](std::uint32_t a, std::uint32_t b) {
        const SnapshotItem& left = plan.items[a];
        const SnapshotItem& right = plan.items[b];
        return left.type != right.type ? left.type < right.type : left.lane < right.lane;
    });
    PacketRecord& record = ghosts.begin_record(sequence, input.tick);
    out.boolean(true);
    out.bits(input.tick & ((1U << wire_tick_bits) - 1), wire_tick_bits);
    std::size_t at = 0;
    for (const ItemType type :
         {ItemType::leave, ItemType::enter, ItemType::verbose, ItemType::plain}) {
        std::size_t end = at;
        while (end < plan.chosen.size() && plan.items[plan.chosen[end]].type == type) ++end;
        out.varint(end - at);
        const unsigned k = type == ItemType::plain ? best_rice(plan, at, end) : 0;
        if (type == ItemType::plain && end > at) out.bits(k, 4);
        LocalId expected = 0;
        for (; at < end; ++at) {
            const SnapshotItem& item = plan.items[plan.chosen[at]];
            type == ItemType::plain ? out.rice(item.lane - expected, k)
                                    : out.varint(item.lane - expected);
            expected = item.lane + 1;
            write_item(input, ghosts, item, out);
            ghosts.sent(record, item.lane,
                        type == ItemType::leave   ? (item.keeps ? SentAs::keep : SentAs::leave)
                        : type == ItemType::enter ? SentAs::enter
                                                  : SentAs::update);
        }
    }
    return true;
}

Backlog backlog_of(const GhostTable& ghosts, Tick now) noexcept {
    Backlog backlog;
    for (std::size_t w = 0; w < ghosts.pending().size(); ++w) {
        for_each_bit(ghosts.pending()[w], w * bits_per_word, [&](std::size_t lane) {
            ++backlog.count;
            backlog.age_ticks_max = std::max(
                backlog.age_ticks_max, now - ghosts.waiting_since(static_cast<LocalId>(lane)));
        });
    }
    return backlog;
}

}  // namespace purview
