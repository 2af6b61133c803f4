// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/snapshot_writer.hpp"

#include <algorithm>

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
    item.bits_max = BitWriter::varint_bits(lane) + leave_reason_bits;
    item.priority = leave_priority;
    (void)ghosts;
    return item;
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
    const unsigned link_bits =
        2 + (item.parent == no_local_id ? 0 : BitWriter::varint_bits(item.parent));
    if (ghosts.needs_enter(lane)) {
        item.type = ItemType::enter;
        item.body = input.cache.full(index, kind);
        item.bits_max += kind_bits(input.schema) + link_bits;
    } else {
        const Tick baseline = ghosts.baseline(lane);
        FieldMask mask = input.fields.changed_since(index, kind, baseline);
        item.relink =
            input.fields.parent_tick(index) > baseline || ghosts.meta_tick(lane) > baseline;
        if (mask == 0 && !item.relink) return false;
        // A body of one component cannot say that nothing changed.
        if (mask == 0 && input.schema.kinds()[index_of(kind)].components.size() == 1)
            mask = ~FieldMask{0};
        item.type = item.relink || !ghosts.is_held(lane) ? ItemType::verbose : ItemType::plain;
        item.body = input.cache.update(index, kind, mask);
        if (item.type == ItemType::verbose) {
            item.bits_max += kind_bits(input.schema) + 1 + (item.relink ? link_bits : 0);
        }
    }
    item.bits_max += item.body.bits;
    const Tick age = input.tick - ghosts.waiting_since(lane) + 1;
    item.priority = static_cast<float>(age) * input.schema.kinds()[index_of(kind)].urgency;
    return true;
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
            if (make_item(input, ghosts, static_cast<LocalId>(lane), item)) {
                add(item);
            } else {
                ghosts.settle(static_cast<LocalId>(lane));
            }
        });
    }
    if (plan.bits_total + snapshot_overhead_bits > budget_bits) {
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

bool is_parent_known(const GhostTable& ghosts, const SnapshotPlan& plan, const SnapshotItem& item) {
    if (item.parent == no_local_id || ghosts.is_held(item.parent)) return true;
    const std::uint32_t at = plan.item_of_lane[item.parent];
    return at != 0 && plan.items[at - 1].type == ItemType::enter &&
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
        if (parent == 0 || plan.items[parent - 1].type != ItemType::enter ||
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

void write_link(const GhostTable& ghosts, const SnapshotItem& item, BitWriter& out) {
    out.boolean(ghosts.owned(item.lane));
    out.boolean(item.parent != no_local_id);
    if (item.parent != no_local_id) out.varint(item.parent);
}

void write_item(const ReplicationInput& input, const GhostTable& ghosts, const SnapshotItem& item,
                BitWriter& out) {
    switch (item.type) {
        case ItemType::leave:
            out.bits(static_cast<std::uint64_t>(ghosts.leave_reason(item.lane)), leave_reason_bits);
            return;
        case ItemType::enter:
            out.bits(index_of(ghosts.kind(item.lane)), kind_bits(input.schema));
            write_link(ghosts, item, out);
            break;
        case ItemType::verbose:
            out.bits(index_of(ghosts.kind(item.lane)), kind_bits(input.schema));
            out.boolean(item.relink);
            if (item.relink) write_link(ghosts, item, out);
            break;
        case ItemType::plain:
            break;
    }
    out.copy_bits(input.cache.bytes(item.body), item.body.bits);
}

}  // namespace

bool write_snapshot(const ReplicationInput& input, GhostTable& ghosts, SnapshotPlan& plan,
                    std::uint32_t sequence, std::uint64_t capacity_bits, BitWriter& out) {
    if (capacity_bits <= snapshot_overhead_bits) return false;
    std::uint64_t bits_left = capacity_bits - snapshot_overhead_bits;
    plan.chosen.clear();
    plan.skip_taken();
    for (const LocalId lane : plan.first) {
        if (plan.item_of(lane) == nullptr) continue;
        (void)choose(input, ghosts, plan, plan.item_of_lane[lane] - 1, bits_left);
    }
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
                        type == ItemType::leave   ? SentAs::leave
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
