// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/snapshot_writer.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "core/mutate.hpp"

namespace purview {

std::uint64_t section_bits_max(ItemType type, std::uint32_t count, std::uint32_t lanes) noexcept {
    std::uint64_t bits = BitWriter::varint_bits(count);
    if (count == 0) return bits;
    PURVIEW_ASSERT(count <= lanes);
    const std::uint32_t spare = lanes - count;
    if (type == ItemType::plain) {
        // Any parameter bounds it; the best one lies by the mean distance, and no division is worth
        // more than a look at both that it can be.
        const int k =
            static_cast<int>(std::bit_width(spare)) - static_cast<int>(std::bit_width(count));
        const auto high = static_cast<unsigned>(std::clamp<int>(k, 0, rice_parameter_max));
        const unsigned low = high == 0 ? 0 : high - 1;
        const auto with = [&](unsigned parameter) {
            return std::uint64_t{count} * (1 + parameter) + (spare >> parameter);
        };
        return bits + rice_parameter_bits + std::min(with(high), with(low));
    }
    bits += std::uint64_t{count} * 4;
    for (unsigned shift = 3; spare >> shift != 0; shift += 3) {
        bits += 4 * std::min(count, spare >> shift);  // so many can be as far as that
        if (shift >= 30) break;
    }
    return bits;
}

bool is_present(const GhostTable& ghosts, LocalId lane) noexcept {
    return PURVIEW_GUARD(parent,
                         lane == no_local_id || (ghosts.is_held(lane) && !ghosts.is_away(lane)));
}

bool makes_present(const GhostTable& ghosts, const SnapshotItem& item) noexcept {
    return item.type == ItemType::enter ||
           (item.type == ItemType::verbose && item.relink && ghosts.is_away(item.lane));
}

bool is_whole(const ReplicationInput& input, const GhostTable& ghosts, EntityId root,
              const SnapshotPlan* plan) noexcept {
    // Who is alone as far as this observer knows is alone: whether others are there whom he does
    // not see must not show.
    bool whole = true;
    unsigned known = 0;
    input.world.for_each_in_group(index_of(root), [&](EntityId member) {
        const LocalId lane = whole || known < 2 ? ghosts.find(member) : no_local_id;
        if (lane == no_local_id) return;
        ++known;
        if (!whole || is_present(ghosts, lane)) return;
        const std::uint32_t at = plan == nullptr ? 0 : plan->item_of_lane[lane];
        whole = at != 0 && plan->items[at - 1].packet == plan->packet &&
                makes_present(ghosts, plan->items[at - 1]);
    });
    return whole || (known == 1 && plan != nullptr);
}

namespace {

/// How full a packet will be at most.
class Filling {
  public:
    /// Of which `reserved_bits` are another's.
    Filling(std::uint64_t capacity_bits, std::uint64_t reserved_bits, std::uint32_t lanes) noexcept
        : capacity_(capacity_bits), lanes_(lanes) {
        for (std::size_t t = 0; t < item_types; ++t) {
            sections_[t] = section_bits_max(static_cast<ItemType>(t), 0, lanes);
            bits_ += sections_[t];
        }
        is_reserved_ = bits_ + reserved_bits <= capacity_;
        if (is_reserved_) bits_ += reserved_bits;
        empty_bits_ = bits_;
    }
    Filling without_sections() const noexcept {
        Filling filling = *this;
        filling.is_reserved_ = false;
        return filling;
    }
    /// As it was when nothing had been added.
    Filling emptied() const noexcept {
        Filling empty = *this;
        empty.bits_ = empty_bits_;
        empty.counts_ = {};
        for (std::size_t t = 0; t < item_types; ++t)
            empty.sections_[t] = section_bits_max(static_cast<ItemType>(t), 0, lanes_);
        empty.has_all_ = false;
        return empty;
    }
    /// The whole plan fits: nothing has to be asked one by one.
    void add_all_of(const SnapshotPlan& plan) noexcept {
        std::uint64_t bits = bits_ + plan.bits;
        for (std::size_t t = 0; t < item_types; ++t) {
            bits -= sections_[t];
            bits += section_bits_max(static_cast<ItemType>(t), plan.counts[t], lanes_);
        }
        has_all_ = bits <= capacity_;
    }
    /// There was room for what was reserved.
    bool is_reserved() const noexcept { return is_reserved_; }
    /// False, with nothing added, when it would not fit.
    bool add(const SnapshotItem& item) noexcept {
        if (has_all_) return true;
        const auto t = static_cast<std::size_t>(item.type);
        const std::uint64_t section = section_bits_max(item.type, counts_[t] + 1, lanes_);
        const std::uint64_t bits = bits_ - sections_[t] + section + item.bits;
        if (bits > capacity_) return false;
        bits_ = bits;
        sections_[t] = section;
        ++counts_[t];
        return true;
    }
    /// As many plain updates as fit, from the first on: their number.
    std::size_t add_run(std::span<const PlainUpdate> run) noexcept {
        constexpr auto t = static_cast<std::size_t>(ItemType::plain);
        const auto others = bits_ - sections_[t];
        const auto section = [&](std::size_t count) {
            return section_bits_max(ItemType::plain, counts_[t] + static_cast<std::uint32_t>(count),
                                    lanes_);
        };
        std::uint64_t bodies = 0;
        std::size_t count = 0;
        // What more ids cost is looked at once an id's least might be too much.
        for (; count < run.size(); ++count) {
            const std::uint64_t bits = bodies + run[count].body.bits;
            if (others + sections_[t] + bits + count + 1 > capacity_) break;
            bodies = bits;
        }
        while (count > 0 && others + section(count) + bodies > capacity_)
            bodies -= run[--count].body.bits;
        sections_[t] = section(count);
        bits_ = others + sections_[t] + bodies;
        counts_[t] += static_cast<std::uint32_t>(count);
        return count;
    }
    bool has_all() const noexcept { return has_all_; }
    bool has_room() const noexcept { return has_all_ || bits_ < capacity_; }

  private:
    std::uint64_t capacity_;
    std::uint64_t bits_ = 1 + wire_tick_bits + 1;  // two flags: it is there, it has shared sections
    std::uint64_t empty_bits_ = 0;
    bool is_reserved_ = false;
    bool has_all_ = false;
    std::uint32_t lanes_;
    std::array<std::uint32_t, item_types> counts_{};
    std::array<std::uint64_t, item_types> sections_{};
};

/// With room for shared sections, unless they alone keep out what has waited longest, or whom calls
/// of this packet are about: what sections say can be said otherwise, in every tick.
Filling filling_of(const SnapshotPlan& plan, std::uint64_t capacity_bits,
                   std::uint64_t section_bits, std::uint32_t lanes) {
    const Filling beside(capacity_bits, section_bits, lanes);
    if (section_bits == 0 || plan.next == plan.items.size()) return beside;
    const Filling alone(capacity_bits, 0, lanes);
    const SnapshotItem* first = plan.item_of(plan.kept_for);
    if (first == nullptr || first->packet != 0) first = &plan.items[plan.next];
    const auto fits = [&](Filling filling) {
        return filling.add(*first) &&
               std::all_of(plan.first.begin(), plan.first.end(), [&](LocalId lane) {
                   const SnapshotItem* item = plan.item_of(lane);
                   return item == nullptr || item == first || item->packet != 0 ||
                          filling.add(*item);
               });
    };
    return !fits(beside) && fits(alone) ? alone.without_sections() : beside;
}

/// Its parent has arrived, or this packet brings it.
bool is_parent_known(const GhostTable& ghosts, const SnapshotPlan& plan, const SnapshotItem& item) {
    if (is_present(ghosts, item.parent)) return true;
    const std::uint32_t at = plan.item_of_lane[item.parent];
    return at != 0 && plan.items[at - 1].packet == plan.packet &&
           makes_present(ghosts, plan.items[at - 1]);
}

bool choose_one(const ReplicationInput& input, const GhostTable& ghosts, SnapshotPlan& plan,
                std::size_t at, Filling& filling);

void put_into_packet(SnapshotPlan& plan, SnapshotItem& item, std::size_t at) {
    // A leave goes again beside an enter of its entity.
    PURVIEW_ASSERT(item.packet == 0 ||
                   (item.type == ItemType::leave && item.packet != plan.packet));
    item.packet = plan.packet;
    const auto index = static_cast<std::uint32_t>(at);
    if (item.type == ItemType::plain) {
        plan.plain.push_back({item.lane, item.body, index});
    } else {
        plan.chosen[static_cast<std::size_t>(item.type)].push_back({item.lane, index});
    }
}

/// Calls visit(index) for every leave that this enter must not go without and that is not in the
/// packet yet. One that another packet of this tick carries goes again: that one may be lost.
template <class Visit>
void for_each_leave_with(const GhostTable& ghosts, const SnapshotPlan& plan,
                         const SnapshotItem& item, Visit&& visit) {
    if (item.type != ItemType::enter) return;
    ghosts.for_each_superseded(item.lane, [&](LocalId older) {
        const std::uint32_t at = plan.item_of_lane[older];
        PURVIEW_ASSERT(at != 0);
        if (at != 0 && plan.items[at - 1].packet != plan.packet) visit(at - 1);
    });
}

/// Adds the item and the leaves that it must not go without.
bool add_whole(const GhostTable& ghosts, const SnapshotPlan& plan, const SnapshotItem& item,
               Filling& filling) noexcept {
    bool fits = true;
    for_each_leave_with(ghosts, plan, item,
                        [&](std::size_t leave) { fits = fits && filling.add(plan.items[leave]); });
    return fits && filling.add(item);
}

/// Takes the item, and the leaves that it must not go without, if all of it fits.
bool take(const GhostTable& ghosts, SnapshotPlan& plan, std::size_t at, Filling& filling) {
    SnapshotItem& item = plan.items[at];
    Filling with = filling;
    if (!PURVIEW_GUARD(packet_room, add_whole(ghosts, plan, item, with))) return false;
    filling = with;
    for_each_leave_with(ghosts, plan, item, [&](std::size_t leave) {
        put_into_packet(plan, plan.items[leave], leave);
    });
    put_into_packet(plan, item, at);
    return true;
}

/// Takes the item; of a group all that is new with it, or, if that would fit into a packet of its
/// own, nothing.
bool choose(const ReplicationInput& input, const GhostTable& ghosts, SnapshotPlan& plan,
            std::size_t at, Filling& filling) {
    const SnapshotItem& item = plan.items[at];
    const WorldData& world = input.world;
    const bool is_new = item.packet == 0 && makes_present(ghosts, item);
    const std::uint32_t index = ghosts.entity_index(item.lane);
    if (!is_new || world.is_alone(index) || input.break_order)
        return choose_one(input, ghosts, plan, at, filling);
    const std::uint32_t root = index_of(world.root_at(index));
    if (world.members_at(root) == 1) return choose_one(input, ghosts, plan, at, filling);
    Filling with = filling, alone = filling.emptied();
    bool fits = true, fits_alone = true;
    const auto for_each_new = [&](auto&& visit) {
        world.for_each_in_group(root, [&](EntityId member) {
            const LocalId lane = ghosts.find(member);
            const std::uint32_t its = lane == no_local_id ? 0 : plan.item_of_lane[lane];
            if (its != 0 && plan.items[its - 1].packet == 0 &&
                makes_present(ghosts, plan.items[its - 1]))
                visit(its - 1);
        });
    };
    for_each_new([&](std::size_t one) {
        fits = fits && add_whole(ghosts, plan, plan.items[one], with);
        fits_alone = fits_alone && add_whole(ghosts, plan, plan.items[one], alone);
    });
    if (!fits && fits_alone) return false;
    for_each_new([&](std::size_t one) { (void)choose_one(input, ghosts, plan, one, filling); });
    return item.packet != 0;
}

/// Takes the item, its parents before it, while it fits.
bool choose_one(const ReplicationInput& input, const GhostTable& ghosts, SnapshotPlan& plan,
                std::size_t at, Filling& filling) {
    SnapshotItem& item = plan.items[at];
    if (item.packet != 0) return false;
    if (input.break_order && makes_present(ghosts, item) &&
        ghosts.waiting_since(item.lane) == input.tick &&
        !input.world.children_at(ghosts.entity_index(item.lane)).empty()) {
        return false;
    }
    if (item.has_link() && !input.break_order && !is_parent_known(ghosts, plan, item)) {
        const std::uint32_t parent = plan.item_of_lane[item.parent];
        if (parent == 0 || !makes_present(ghosts, plan.items[parent - 1]) ||
            !choose_one(input, ghosts, plan, parent - 1, filling)) {
            return false;  // its parent is under way: wait
        }
    }
    return take(ghosts, plan, at, filling);
}

/// Whoever was kept room, behind the leaves; of its group as many as fit, if not all do.
void take_kept(const ReplicationInput& input, const GhostTable& ghosts, SnapshotPlan& plan,
               Filling& filling) {
    const SnapshotItem* kept = plan.item_of(plan.kept_for);
    if (kept == nullptr || kept->packet != 0) return;
    for (std::size_t i = plan.next; i < plan.items.size() && plan.items[i].type == ItemType::leave;
         ++i) {
        if (plan.items[i].packet == 0 && !plan.items[i].repeats)
            (void)take(ghosts, plan, i, filling);
    }
    const std::size_t at = plan.item_of_lane[plan.kept_for] - 1;
    if (!choose(input, ghosts, plan, at, filling))
        (void)choose_one(input, ghosts, plan, at, filling);
}

/// In the order of sending, until it is full; what was kept room, and what was asked for, before
/// all.
void take_what_fits(const ReplicationInput& input, const GhostTable& ghosts, SnapshotPlan& plan,
                    Filling& filling) {
    take_kept(input, ghosts, plan, filling);
    for (const LocalId lane : plan.first) {
        if (plan.item_of(lane) == nullptr) continue;
        (void)choose(input, ghosts, plan, plan.item_of_lane[lane] - 1, filling);
    }
    for (std::size_t i = plan.next; i < plan.items.size() && filling.has_room(); ++i) {
        const SnapshotItem& item = plan.items[i];
        if (item.has_link()) {
            (void)choose(input, ghosts, plan, i, filling);
        } else if (item.packet == 0 && !item.repeats) {
            (void)take(ghosts, plan, i, filling);
        }
    }
}

/// Nobody has to wait: of what is in the plan, parents are in it or have arrived.
void take_all(SnapshotPlan& plan) {
    reserve_for(plan.plain, plan.items.size());
    for (std::size_t t = 0; t < plan.chosen.size(); ++t)
        reserve_for(plan.chosen[t], plan.counts[t]);
    for (std::size_t at = 0; at < plan.items.size(); ++at)
        put_into_packet(plan, plan.items[at], at);
    plan.next = plan.items.size();
}

/// By lane: as they are written.
template <class T>
void sort_by_lane(std::vector<T>& list) {
    const auto before = [](const T& left, const T& right) { return left.lane < right.lane; };
    if (!std::is_sorted(list.begin(), list.end(), before))
        std::sort(list.begin(), list.end(), before);
}

/// Of the run, whatever fits: plain updates of the packet, all of them, by lane.
std::span<const PlainUpdate> take_run(SnapshotPlan& plan, Filling& filling) {
    const auto run = std::span(plan.run).subspan(plan.run_next);
    const auto taken = run.first(filling.has_all() ? run.size() : filling.add_run(run));
    plan.run_next += taken.size();
    if (plan.plain.empty()) return taken;
    plan.plain.insert(plan.plain.end(), taken.begin(), taken.end());
    sort_by_lane(plan.plain);
    return plan.plain;
}

/// Some bits before they are written: few of them are worth a store of their own.
struct Bits {
    std::uint64_t value = 0;
    unsigned count = 0;
    void add(std::uint64_t more, unsigned bits) noexcept {
        value |= more << count;
        count += bits;
    }
};

/// Behind what has been begun of the item.
void write_link(const ReplicationInput& input, GhostTable& ghosts, const SnapshotPlan& plan,
                const KindLayout& layout, const SnapshotItem& item, Bits head, BitWriter& out) {
    const WorldData& world = input.world;
    const std::uint32_t index = ghosts.entity_index(item.lane);
    const auto is_group_whole = [&] {
        const EntityId root = world.root_at(index);
        return world.members_at(index_of(root)) == 1 || is_whole(input, ghosts, root, &plan);
    };
    const bool whole = PURVIEW_GUARD(whole_groups, world.is_alone(index) || is_group_whole());
    if (!whole) ghosts.hold_back(item.lane);
    const bool has_parent = item.parent != no_local_id;
    head.add(wire_enter_reason(ghosts.enter_reason(item.lane)), enter_reason_bits);
    head.add((ghosts.owned(item.lane) ? 1U : 0U) | (whole ? 2U : 0U) | (has_parent ? 4U : 0U), 3);
    out.bits(head.value, head.count);
    if (has_parent) out.varint(item.parent);
    for_each_bit(layout.audience, 0, [&](std::size_t part) {
        out.boolean((ghosts.told(item.lane) >> part & 1U) != 0);
    });
}

/// To this observer: the ghost, or none.
void write_references(const ReplicationInput& input, GhostTable& ghosts, const SnapshotItem& item,
                      BitWriter& out) {
    const std::uint32_t index = ghosts.entity_index(item.lane);
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

void write_item(const ReplicationInput& input, GhostTable& ghosts, const SnapshotPlan& plan,
                const SnapshotItem& item, BitWriter& out) {
    const auto layout = [&]() -> const KindLayout& {
        return input.fields.layout(ghosts.kind(item.lane));
    };
    Bits head;
    switch (item.type) {
        case ItemType::leave:
            head.add(static_cast<std::uint64_t>(ghosts.leave_reason(item.lane)), leave_reason_bits);
            head.add(item.keeps ? 1 : 0, 1);
            if (item.keeps)
                head.add(static_cast<std::uint64_t>(ghosts.retention(item.lane)),
                         leave_policy_bits);
            return out.bits(head.value, head.count);
        case ItemType::enter:
            head.add(index_of(ghosts.kind(item.lane)), kind_bits(input.schema));
            write_link(input, ghosts, plan, layout(), item, head, out);
            break;
        case ItemType::verbose:
            head.add(index_of(ghosts.kind(item.lane)), kind_bits(input.schema));
            head.add(item.relink ? 1 : 0, 1);
            if (item.relink) {
                write_link(input, ghosts, plan, layout(), item, head, out);
            } else {
                out.bits(head.value, head.count);
            }
            break;
        case ItemType::plain:
            break;
    }
    out.copy_bits(input.cache.bytes(item.body), item.body.bits);
    if (item.references != 0) write_references(input, ghosts, item, out);
}

/// Most of what there is to write.
void write_plain(const ReplicationInput& input, GhostTable& ghosts, const SnapshotPlan& plan,
                 std::span<const PlainUpdate> updates, unsigned k, BitWriter& out) {
    constexpr std::uint32_t ones_max = 32;  // of a code that goes with its body
    const std::byte* const bodies = input.cache.bodies();
    const std::uint32_t* const distances = plan.distances.data();
    const auto has_references = [&](const PlainUpdate& update) {
        return update.item != PlainUpdate::no_item && plan.items[update.item].references != 0;
    };
    for (std::size_t i = 0; i < updates.size(); ++i) {
        // As many as there is nothing else to: the writer stays in registers.
        BitWriter writer = out;
        for (; i < updates.size(); ++i) {
            const PlainUpdate& update = updates[i];
            const std::uint32_t ones = distances[i] >> k;
            const std::uint64_t low = distances[i] & ((1U << k) - 1);
            if (ones >= ones_max || has_references(update)) break;
            if (!writer.try_code_and_bits(((2 * low + 1) << ones) - 1, ones + 1 + k,
                                          bodies + update.body.offset_bytes, update.body.bits))
                break;
        }
        out = writer;
        if (i == updates.size()) return;
        out.rice(distances[i], k);
        out.copy_bits(input.cache.bytes(updates[i].body), updates[i].body.bits);
        if (has_references(updates[i]))
            write_references(input, ghosts, plan.items[updates[i].item], out);
    }
}

/// Tick and four counts of none, and the bits that there is a snapshot, and that it has sections.
constexpr std::uint64_t empty_bits =
    1 + wire_tick_bits + 1 + item_types * BitWriter::varint_bits(0);

/// Ticks back to the one up to which every fate is known; 0: too far.
std::uint64_t baseline_back(const GhostTable& ghosts, Tick tick) noexcept {
    const Tick back = tick - ghosts.resolved_tick();
    return back <= baseline_ticks_max ? back : 0;
}

std::span<const Motion> motions_of(const ReplicationInput& input, const GhostTable& ghosts,
                                   const SnapshotPlan& plan, const SnapshotItem& item) noexcept {
    if (item.type == ItemType::leave || !input.fields.has_extrapolated()) return {};
    const KindLayout& layout = input.fields.layout(ghosts.kind(item.lane));
    if (layout.extrapolated == 0) return {};
    PURVIEW_ASSERT(plan.motions_of_lane[item.lane] +
                       static_cast<std::size_t>(std::popcount(layout.extrapolated)) <=
                   plan.motions.size());
    return std::span(plan.motions)
        .subspan(plan.motions_of_lane[item.lane],
                 static_cast<std::size_t>(std::popcount(layout.extrapolated)));
}

void write_plain_section(const ReplicationInput& input, GhostTable& ghosts, SnapshotPlan& plan,
                         std::span<const PlainUpdate> updates, BitWriter& out) {
    out.varint(updates.size());
    if (updates.empty()) return;
    reserve_for(plan.distances, updates.size());
    plan.distances.resize(updates.size());
    LocalId expected = 0;
    for (std::size_t i = 0; i < updates.size(); ++i) {
        PURVIEW_ASSERT(updates[i].lane >= expected);
        plan.distances[i] = updates[i].lane - expected;
        expected = updates[i].lane + 1;
    }
    const unsigned k = best_rice(plan.distances, expected - static_cast<LocalId>(updates.size()));
    out.bits(k, rice_parameter_bits);
    if (input.fields.has_extrapolated()) out.bits(baseline_back(ghosts, input.tick), baseline_bits);
    write_plain(input, ghosts, plan, updates, k, out);
}

/// For assertions: of the run there are just as many lanes from the first of these to the last.
[[maybe_unused]] bool are_all_of_run(const SnapshotPlan& plan,
                                     std::span<const PlainUpdate> updates) noexcept {
    const LocalId from = updates.front().lane, to = updates.back().lane;
    std::size_t count = 0;
    for (std::size_t w = from / bits_per_word; w <= to / bits_per_word; ++w)
        count += static_cast<std::size_t>(std::popcount(plan.run_lanes[w]));
    const std::uint64_t below = (std::uint64_t{1} << (from % bits_per_word)) - 1;
    const std::uint64_t above = ~(~std::uint64_t{0} >> (bits_per_word - 1 - to % bits_per_word));
    count -= static_cast<std::size_t>(std::popcount(plan.run_lanes[from / bits_per_word] & below));
    count -= static_cast<std::size_t>(std::popcount(plan.run_lanes[to / bits_per_word] & above));
    return count == updates.size();
}

/// What the packet told, if that is a part of the run.
void note_run(GhostTable& ghosts, const SnapshotPlan& plan, std::span<const PlainUpdate> updates,
              PacketRecord& record) {
    if (updates.empty()) return;
    PURVIEW_ASSERT(are_all_of_run(plan, updates));
    const LocalId from = updates.front().lane, to = updates.back().lane;
    for (std::size_t w = from / bits_per_word; w <= to / bits_per_word; ++w) {
        std::uint64_t lanes = plan.run_lanes[w];
        if (w == from / bits_per_word) lanes &= ~std::uint64_t{0} << (from % bits_per_word);
        if (w == to / bits_per_word)
            lanes &= ~std::uint64_t{0} >> (bits_per_word - 1 - to % bits_per_word);
        if (lanes != 0) ghosts.sent_updates(record, w, lanes);
    }
}

/// The same of some updates.
void note_plain(const ReplicationInput& input, GhostTable& ghosts, const SnapshotPlan& plan,
                std::span<const PlainUpdate> updates, PacketRecord& record) {
    std::size_t word = 0;
    std::uint64_t lanes = 0;
    const auto note = [&] {
        if (lanes != 0) ghosts.sent_updates(record, word, lanes);
        lanes = 0;
    };
    for (const PlainUpdate& update : updates) {
        if (update.item != PlainUpdate::no_item) {
            const auto motions = motions_of(input, ghosts, plan, plan.items[update.item]);
            if (!motions.empty()) {
                ghosts.sent(record, update.lane, SentAs::update, motions);
                continue;
            }
        }
        if (update.lane / bits_per_word != word) {
            note();
            word = update.lane / bits_per_word;
        }
        lanes |= std::uint64_t{1} << (update.lane % bits_per_word);
    }
    note();
}

}  // namespace

std::uint64_t empty_snapshot_bits(const FieldStore& fields) noexcept {
    return empty_bits + (fields.has_extrapolated() ? baseline_bits : 0);
}

bool write_snapshot(const ReplicationInput& input, GhostTable& ghosts, SnapshotPlan& plan,
                    SharedReader* shared, std::uint32_t sequence, std::uint64_t capacity_bits,
                    BitWriter& out) {
    PURVIEW_ASSERT(capacity_bits <= out.bits_left());
    const bool names_baseline = input.fields.has_extrapolated();
    const std::uint64_t baseline = names_baseline ? baseline_bits : 0;
    plan.took_any = false;
    if (capacity_bits < empty_snapshot_bits(input.fields)) return false;
    plan.skip_taken();
    Filling filling = filling_of(plan, capacity_bits - baseline,
                                 shared != nullptr ? shared->bits() : 0, ghosts.lane_end());
    const bool has_sections = shared != nullptr && shared->has_sections() && filling.is_reserved();
    ++plan.packet;
    if (plan.packet == 1) filling.add_all_of(plan);
    for (auto& chosen : plan.chosen) chosen.clear();
    plan.plain.clear();
    if (filling.has_all() && !input.break_order) {
        take_all(plan);
    } else {
        take_what_fits(input, ghosts, plan, filling);
    }
    const auto plain = take_run(plan, filling);
    plan.took_any = !plain.empty() || std::any_of(plan.chosen.begin(), plan.chosen.end(),
                                                  [](const auto& list) { return !list.empty(); });
    if (!plan.took_any && !has_sections && !(plan.packet == 1 && plan.must_tell_tick)) return false;
    const std::size_t begun = out.bits_written();
    PacketRecord& record = ghosts.begin_record(sequence, input.tick);
    out.boolean(true);
    out.bits(input.tick & ((1U << wire_tick_bits) - 1), wire_tick_bits);
    const auto write_type = [&](ItemType type, auto&& sent_as) {
        auto& chosen = plan.chosen[static_cast<std::size_t>(type)];
        sort_by_lane(chosen);
        out.varint(chosen.size());
        LocalId expected = 0;
        for (const auto [lane, at] : chosen) {
            const SnapshotItem& item = plan.items[at];
            PURVIEW_ASSERT(lane >= expected);
            out.varint(lane - expected);
            expected = lane + 1;
            write_item(input, ghosts, plan, item, out);
            ghosts.sent(record, lane, sent_as(item), motions_of(input, ghosts, plan, item));
        }
    };
    write_type(ItemType::leave,
               [](const SnapshotItem& item) { return item.keeps ? SentAs::keep : SentAs::leave; });
    write_type(ItemType::enter, [](const SnapshotItem&) { return SentAs::enter; });
    write_type(ItemType::verbose, [](const SnapshotItem&) { return SentAs::update; });
    write_plain_section(input, ghosts, plan, plain, out);
    if (plan.plain.empty()) {
        note_run(ghosts, plan, plain, record);
    } else {
        note_plain(input, ghosts, plan, plain, record);
    }
    out.boolean(has_sections);
    if (has_sections) {
        ghosts.sent_sections(record);
        shared->write(input, ghosts, sequence, out);
    }
    PURVIEW_ASSERT(out.ok() && out.bits_written() - begun <= capacity_bits);
    return true;
}

}  // namespace purview
