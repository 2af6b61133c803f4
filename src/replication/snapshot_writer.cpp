// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/snapshot_writer.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "core/mutate.hpp"

namespace purview {

std::uint64_t section_bits_max(ItemType type, std::uint32_t count, std::uint32_t slots) noexcept {
    std::uint64_t bits = BitWriter::varint_bits(count);
    if (count == 0) return bits;
    PURVIEW_ASSERT(count <= slots);
    const std::uint32_t spare = slots - count;
    if (type == ItemType::plain) {
        // Any parameter gives a bound. The best one is near the mean distance. Trying both
        // candidates is cheaper than a division.
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
        bits += 4 * std::min(count, spare >> shift);  // at most this many distances are that large
        if (shift >= 30) break;
    }
    return bits;
}

bool is_present(const GhostTable& ghosts, LocalId slot) noexcept {
    return PURVIEW_GUARD(parent, slot == no_local_id || (ghosts.slots().is_held(slot) &&
                                                         !ghosts.sends().is_away(slot)));
}

bool makes_present(const GhostTable& ghosts, const SnapshotItem& item) noexcept {
    return item.type == ItemType::enter ||
           (item.type == ItemType::verbose && item.relink && ghosts.sends().is_away(item.slot));
}

bool is_whole(const ReplicationInput& input, const GhostTable& ghosts, EntityId root,
              const SnapshotPlan* plan) noexcept {
    // A group with a single visible member counts as complete: hidden members must not affect the
    // result.
    bool whole = true;
    unsigned known = 0;
    input.world.groups.for_each_in_group(index_of(root), [&](EntityId member) {
        const LocalId slot = whole || known < 2 ? ghosts.slots().find(member) : no_local_id;
        if (slot == no_local_id) return;
        ++known;
        if (!whole || is_present(ghosts, slot)) return;
        const std::uint32_t at = plan == nullptr ? 0 : plan->item_of_slot[slot];
        whole = at != 0 && plan->items[at - 1].packet == plan->packet &&
                makes_present(ghosts, plan->items[at - 1]);
    });
    return whole || (known == 1 && plan != nullptr);
}

namespace {

/// Upper bound for the size of a packet.
class Filling {
  public:
    /// `reserved_bits`: room for shared payloads.
    Filling(std::uint64_t capacity_bits, std::uint64_t reserved_bits, std::uint32_t slots) noexcept
        : capacity_(capacity_bits), slots_(slots) {
        for (std::size_t t = 0; t < item_types; ++t) {
            sections_[t] = section_bits_max(static_cast<ItemType>(t), 0, slots);
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
    /// Returns the state before anything was added.
    Filling emptied() const noexcept {
        Filling empty = *this;
        empty.bits_ = empty_bits_;
        empty.counts_ = {};
        for (std::size_t t = 0; t < item_types; ++t)
            empty.sections_[t] = section_bits_max(static_cast<ItemType>(t), 0, slots_);
        empty.has_all_ = false;
        return empty;
    }
    /// Checks whether the whole plan fits. If it does, its items are not checked one by one.
    void add_all_of(const SnapshotPlan& plan) noexcept {
        std::uint64_t bits = bits_ + plan.bits;
        for (std::size_t t = 0; t < item_types; ++t) {
            bits -= sections_[t];
            bits += section_bits_max(static_cast<ItemType>(t), plan.counts[t], slots_);
        }
        has_all_ = bits <= capacity_;
    }
    /// Returns whether the reserved bits fit into an empty packet.
    bool is_reserved() const noexcept { return is_reserved_; }
    /// Returns false, and adds nothing, if the item does not fit.
    bool add(const SnapshotItem& item) noexcept {
        if (has_all_) return true;
        const auto t = static_cast<std::size_t>(item.type);
        const std::uint64_t section = section_bits_max(item.type, counts_[t] + 1, slots_);
        const std::uint64_t bits = bits_ - sections_[t] + section + item.bits;
        if (bits > capacity_) return false;
        bits_ = bits;
        sections_[t] = section;
        ++counts_[t];
        return true;
    }
    /// Adds plain updates from the first on, as many as fit. Returns their number.
    std::size_t add_run(std::span<const PlainUpdate> run) noexcept {
        constexpr auto t = static_cast<std::size_t>(ItemType::plain);
        const auto others = bits_ - sections_[t];
        const auto section = [&](std::size_t count) {
            return section_bits_max(ItemType::plain, counts_[t] + static_cast<std::uint32_t>(count),
                                    slots_);
        };
        std::uint64_t bodies = 0;
        std::size_t count = 0;
        // First adds while a lower bound for the ids fits, then removes until the exact size fits.
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
    std::uint64_t bits_ = 1 + wire_tick_bits + 1;  // two flags: snapshot, shared payloads
    std::uint64_t empty_bits_ = 0;
    bool is_reserved_ = false;
    bool has_all_ = false;
    std::uint32_t slots_;
    std::array<std::uint32_t, item_types> counts_{};
    std::array<std::uint64_t, item_types> sections_{};
};

/// Reserves room for shared payloads, unless they alone would keep out the item that has waited
/// longest or a ghost that an RPC of this packet needs. The content of payloads can be sent
/// individually in any tick.
Filling filling_of(const SnapshotPlan& plan, std::uint64_t capacity_bits,
                   std::uint64_t section_bits, std::uint32_t slots) {
    const Filling beside(capacity_bits, section_bits, slots);
    if (section_bits == 0 || plan.next == plan.items.size()) return beside;
    const Filling alone(capacity_bits, 0, slots);
    const SnapshotItem* first = plan.item_of(plan.kept_for);
    if (first == nullptr || first->packet != 0) first = &plan.items[plan.next];
    const auto fits = [&](Filling filling) {
        return filling.add(*first) &&
               std::all_of(plan.first.begin(), plan.first.end(), [&](LocalId slot) {
                   const SnapshotItem* item = plan.item_of(slot);
                   return item == nullptr || item == first || item->packet != 0 ||
                          filling.add(*item);
               });
    };
    return !fits(beside) && fits(alone) ? alone.without_sections() : beside;
}

/// Returns whether the parent of the item has arrived or is in this packet.
bool is_parent_known(const GhostTable& ghosts, const SnapshotPlan& plan, const SnapshotItem& item) {
    if (is_present(ghosts, item.parent)) return true;
    const std::uint32_t at = plan.item_of_slot[item.parent];
    return at != 0 && plan.items[at - 1].packet == plan.packet &&
           makes_present(ghosts, plan.items[at - 1]);
}

bool choose_one(const ReplicationInput& input, const GhostTable& ghosts, SnapshotPlan& plan,
                std::size_t at, Filling& filling);

void put_into_packet(SnapshotPlan& plan, SnapshotItem& item, std::size_t at) {
    // A leave is repeated beside an enter of its entity.
    PURVIEW_ASSERT(item.packet == 0 ||
                   (item.type == ItemType::leave && item.packet != plan.packet));
    item.packet = plan.packet;
    const auto index = static_cast<std::uint32_t>(at);
    if (item.type == ItemType::plain) {
        plan.plain.push_back({item.slot, item.body, index});
    } else {
        plan.chosen[static_cast<std::size_t>(item.type)].push_back({item.slot, index});
    }
}

/// Calls visit(index) for every leave that must accompany this enter and is not in the packet yet.
/// A leave in another packet of this tick is repeated, because that packet may be lost.
template <class Visit>
void for_each_leave_with(const GhostTable& ghosts, const SnapshotPlan& plan,
                         const SnapshotItem& item, Visit&& visit) {
    if (item.type != ItemType::enter) return;
    ghosts.slots().for_each_superseded(item.slot, [&](LocalId older) {
        const std::uint32_t at = plan.item_of_slot[older];
        PURVIEW_ASSERT(at != 0);
        if (at != 0 && plan.items[at - 1].packet != plan.packet) visit(at - 1);
    });
}

/// Adds the item and the leaves that must accompany it.
bool add_whole(const GhostTable& ghosts, const SnapshotPlan& plan, const SnapshotItem& item,
               Filling& filling) noexcept {
    bool fits = true;
    for_each_leave_with(ghosts, plan, item,
                        [&](std::size_t leave) { fits = fits && filling.add(plan.items[leave]); });
    return fits && filling.add(item);
}

/// Puts the item and the leaves that must accompany it into the packet, if all of them fit.
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

/// Puts the item into the packet. In a group, puts all new members together. Puts nothing if these
/// would fit into an empty packet but not into this one. Returns whether the item is in the packet.
bool choose(const ReplicationInput& input, const GhostTable& ghosts, SnapshotPlan& plan,
            std::size_t at, Filling& filling) {
    const SnapshotItem& item = plan.items[at];
    const WorldData& world = input.world;
    const bool is_new = item.packet == 0 && makes_present(ghosts, item);
    const std::uint32_t index = ghosts.slots().entity_index(item.slot);
    if (!is_new || world.groups.is_alone(index) || input.break_order)
        return choose_one(input, ghosts, plan, at, filling);
    const std::uint32_t root = index_of(world.groups.root_at(index));
    if (world.groups.members_at(root) == 1) return choose_one(input, ghosts, plan, at, filling);
    Filling with = filling, alone = filling.emptied();
    bool fits = true, fits_alone = true;
    const auto for_each_new = [&](auto&& visit) {
        world.groups.for_each_in_group(root, [&](EntityId member) {
            const LocalId slot = ghosts.slots().find(member);
            const std::uint32_t its = slot == no_local_id ? 0 : plan.item_of_slot[slot];
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

/// Puts the parents of the item into the packet, then the item. Returns false if one of them does
/// not fit.
bool choose_one(const ReplicationInput& input, const GhostTable& ghosts, SnapshotPlan& plan,
                std::size_t at, Filling& filling) {
    SnapshotItem& item = plan.items[at];
    if (item.packet != 0) return false;
    if (input.break_order && makes_present(ghosts, item) &&
        ghosts.sends().waiting_since(item.slot) == input.tick &&
        !input.world.groups.children_at(ghosts.slots().entity_index(item.slot)).empty()) {
        return false;
    }
    if (item.has_link() && !input.break_order && !is_parent_known(ghosts, plan, item)) {
        const std::uint32_t parent = plan.item_of_slot[item.parent];
        if (parent == 0 || !makes_present(ghosts, plan.items[parent - 1]) ||
            !choose_one(input, ghosts, plan, parent - 1, filling)) {
            return false;  // the parent is in flight or does not fit
        }
    }
    return take(ghosts, plan, at, filling);
}

/// Puts the leaves into the packet, then the item with reserved room (kept_for). If its whole group
/// does not fit, puts the item without it.
void take_kept(const ReplicationInput& input, const GhostTable& ghosts, SnapshotPlan& plan,
               Filling& filling) {
    const SnapshotItem* kept = plan.item_of(plan.kept_for);
    if (kept == nullptr || kept->packet != 0) return;
    for (std::size_t i = plan.next; i < plan.items.size() && plan.items[i].type == ItemType::leave;
         ++i) {
        if (plan.items[i].packet == 0 && !plan.items[i].repeats)
            (void)take(ghosts, plan, i, filling);
    }
    const std::size_t at = plan.item_of_slot[plan.kept_for] - 1;
    if (!choose(input, ghosts, plan, at, filling))
        (void)choose_one(input, ghosts, plan, at, filling);
}

/// Puts items into the packet in send order until it is full. The item with reserved room and those
/// that RPCs need (plan.first) go first.
void take_what_fits(const ReplicationInput& input, const GhostTable& ghosts, SnapshotPlan& plan,
                    Filling& filling) {
    take_kept(input, ghosts, plan, filling);
    for (const LocalId slot : plan.first) {
        if (plan.item_of(slot) == nullptr) continue;
        (void)choose(input, ghosts, plan, plan.item_of_slot[slot] - 1, filling);
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

/// Puts the whole plan into the packet. The parents of its items are in the plan or have arrived.
void take_all(SnapshotPlan& plan) {
    reserve_for(plan.plain, plan.items.size());
    for (std::size_t t = 0; t < plan.chosen.size(); ++t)
        reserve_for(plan.chosen[t], plan.counts[t]);
    for (std::size_t at = 0; at < plan.items.size(); ++at)
        put_into_packet(plan, plan.items[at], at);
    plan.next = plan.items.size();
}

/// Sorts by slot, which is the order on the wire.
template <class T>
void sort_by_slot(std::vector<T>& list) {
    const auto before = [](const T& left, const T& right) { return left.slot < right.slot; };
    if (!std::is_sorted(list.begin(), list.end(), before))
        std::sort(list.begin(), list.end(), before);
}

/// Puts as much of the run as fits into the packet. Returns all plain updates of the packet, by
/// slot.
std::span<const PlainUpdate> take_run(SnapshotPlan& plan, Filling& filling) {
    const auto run = std::span(plan.run).subspan(plan.run_next);
    const auto taken = run.first(filling.has_all() ? run.size() : filling.add_run(run));
    plan.run_next += taken.size();
    if (plan.plain.empty()) return taken;
    plan.plain.insert(plan.plain.end(), taken.begin(), taken.end());
    sort_by_slot(plan.plain);
    return plan.plain;
}

/// Collects bits, so that a few of them are written with one store.
struct Bits {
    std::uint64_t value = 0;
    unsigned count = 0;
    void add(std::uint64_t more, unsigned bits) noexcept {
        value |= more << count;
        count += bits;
    }
};

/// Writes the link after the bits in `head`.
void write_link(const ReplicationInput& input, const GhostTable& ghosts, SnapshotPlan& plan,
                const KindLayout& layout, const SnapshotItem& item, Bits head, BitWriter& out) {
    const WorldData& world = input.world;
    const std::uint32_t index = ghosts.slots().entity_index(item.slot);
    const auto is_group_whole = [&] {
        const EntityId root = world.groups.root_at(index);
        return world.groups.members_at(index_of(root)) == 1 || is_whole(input, ghosts, root, &plan);
    };
    const bool whole =
        PURVIEW_GUARD(whole_groups, world.groups.is_alone(index) || is_group_whole());
    if (!whole) plan.incomplete.push_back(item.slot);
    const bool has_parent = item.parent != no_local_id;
    head.add(wire_enter_reason(ghosts.slots().enter_reason(item.slot)), enter_reason_bits);
    head.add(
        (ghosts.marks().is_owned(item.slot) ? 1U : 0U) | (whole ? 2U : 0U) | (has_parent ? 4U : 0U),
        3);
    out.bits(head.value, head.count);
    if (has_parent) out.varint(item.parent);
    for_each_bit(layout.audience, 0, [&](std::size_t part) {
        out.boolean((ghosts.audience().allowed(item.slot) >> part & 1U) != 0);
    });
}

/// Writes the references for this observer: for each the local id of the target's ghost, or none.
void write_references(const ReplicationInput& input, const GhostTable& ghosts, SnapshotPlan& plan,
                      const SnapshotItem& item, BitWriter& out) {
    const std::uint32_t index = ghosts.slots().entity_index(item.slot);
    const KindLayout& layout = input.fields.layout(ghosts.slots().kind(item.slot));
    for_each_bit(item.references, 0, [&](std::size_t f) {
        const std::uint32_t* target = input.fields.words(index, layout.fields[f]);
        const LocalId slot = ghosts.slots().find(make_entity_id(target[0], target[1]));
        out.boolean(slot != no_local_id);
        if (slot == no_local_id) return;
        out.varint(slot);
        plan.referenced.push_back(slot);
    });
}

void write_item(const ReplicationInput& input, const GhostTable& ghosts, SnapshotPlan& plan,
                const SnapshotItem& item, BitWriter& out) {
    const auto layout = [&]() -> const KindLayout& {
        return input.fields.layout(ghosts.slots().kind(item.slot));
    };
    Bits head;
    switch (item.type) {
        case ItemType::leave:
            head.add(static_cast<std::uint64_t>(ghosts.slots().leave_reason(item.slot)),
                     leave_reason_bits);
            head.add(item.keeps ? 1 : 0, 1);
            if (item.keeps)
                head.add(static_cast<std::uint64_t>(ghosts.retained().policy(item.slot)),
                         leave_policy_bits);
            return out.bits(head.value, head.count);
        case ItemType::enter:
            head.add(index_of(ghosts.slots().kind(item.slot)), kind_bits(input.schema));
            write_link(input, ghosts, plan, layout(), item, head, out);
            break;
        case ItemType::verbose:
            head.add(index_of(ghosts.slots().kind(item.slot)), kind_bits(input.schema));
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
    if (item.references != 0) write_references(input, ghosts, plan, item, out);
}

/// Writes plain updates, which are most of the data.
void write_plain(const ReplicationInput& input, const GhostTable& ghosts, SnapshotPlan& plan,
                 std::span<const PlainUpdate> updates, unsigned k, BitWriter& out) {
    constexpr std::uint32_t ones_max = 32;  // in a code that is written together with its body
    const std::byte* const bodies = input.cache.bodies();
    const std::uint32_t* const distances = plan.distances.data();
    const auto has_references = [&](const PlainUpdate& update) {
        return update.item != PlainUpdate::no_item && plan.items[update.item].references != 0;
    };
    for (std::size_t i = 0; i < updates.size(); ++i) {
        // Handles updates without special cases in a row, so that the writer stays in registers.
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
            write_references(input, ghosts, plan, plan.items[updates[i].item], out);
    }
}

/// Size of an empty snapshot: the snapshot flag, the tick, four counts of zero, and the flag for
/// shared payloads.
constexpr std::uint64_t empty_bits =
    1 + wire_tick_bits + 1 + item_types * BitWriter::varint_bits(0);

/// Returns how many ticks ago the resolved tick was; 0: more than baseline_ticks_max.
std::uint64_t baseline_back(const GhostTable& ghosts, Tick tick) noexcept {
    const Tick back = tick - ghosts.sends().resolved_tick();
    return back <= baseline_ticks_max ? back : 0;
}

std::span<const Motion> motions_of(const ReplicationInput& input, const GhostTable& ghosts,
                                   const SnapshotPlan& plan, const SnapshotItem& item) noexcept {
    if (item.type == ItemType::leave || !input.fields.has_extrapolated()) return {};
    const KindLayout& layout = input.fields.layout(ghosts.slots().kind(item.slot));
    if (layout.extrapolated == 0) return {};
    PURVIEW_ASSERT(plan.motions_of_slot[item.slot] +
                       static_cast<std::size_t>(std::popcount(layout.extrapolated)) <=
                   plan.motions.size());
    return std::span(plan.motions)
        .subspan(plan.motions_of_slot[item.slot],
                 static_cast<std::size_t>(std::popcount(layout.extrapolated)));
}

void write_plain_section(const ReplicationInput& input, const GhostTable& ghosts,
                         SnapshotPlan& plan, std::span<const PlainUpdate> updates, BitWriter& out) {
    out.varint(updates.size());
    if (updates.empty()) return;
    reserve_for(plan.distances, updates.size());
    plan.distances.resize(updates.size());
    LocalId expected = 0;
    for (std::size_t i = 0; i < updates.size(); ++i) {
        PURVIEW_ASSERT(updates[i].slot >= expected);
        plan.distances[i] = updates[i].slot - expected;
        expected = updates[i].slot + 1;
    }
    const unsigned k = best_rice(plan.distances, expected - static_cast<LocalId>(updates.size()));
    out.bits(k, rice_parameter_bits);
    if (input.fields.has_extrapolated()) out.bits(baseline_back(ghosts, input.tick), baseline_bits);
    write_plain(input, ghosts, plan, updates, k, out);
}

/// For assertions: returns whether the run has exactly these slots between the first and the last
/// of them.
[[maybe_unused]] bool are_all_of_run(const SnapshotPlan& plan,
                                     std::span<const PlainUpdate> updates) noexcept {
    const LocalId from = updates.front().slot, to = updates.back().slot;
    std::size_t count = 0;
    for (std::size_t w = from / bits_per_word; w <= to / bits_per_word; ++w)
        count += static_cast<std::size_t>(std::popcount(plan.run_slots[w]));
    const std::uint64_t below = (std::uint64_t{1} << (from % bits_per_word)) - 1;
    const std::uint64_t above = ~(~std::uint64_t{0} >> (bits_per_word - 1 - to % bits_per_word));
    count -= static_cast<std::size_t>(std::popcount(plan.run_slots[from / bits_per_word] & below));
    count -= static_cast<std::size_t>(std::popcount(plan.run_slots[to / bits_per_word] & above));
    return count == updates.size();
}

/// Records the plain updates of a packet if all of them are from the run.
void note_run(GhostTable& ghosts, const SnapshotPlan& plan, std::span<const PlainUpdate> updates,
              PacketRecord& record) {
    if (updates.empty()) return;
    PURVIEW_ASSERT(are_all_of_run(plan, updates));
    const LocalId from = updates.front().slot, to = updates.back().slot;
    for (std::size_t w = from / bits_per_word; w <= to / bits_per_word; ++w) {
        std::uint64_t slots = plan.run_slots[w];
        if (w == from / bits_per_word) slots &= ~std::uint64_t{0} << (from % bits_per_word);
        if (w == to / bits_per_word)
            slots &= ~std::uint64_t{0} >> (bits_per_word - 1 - to % bits_per_word);
        if (slots != 0) ghosts.sent_updates(record, w, slots);
    }
}

/// Records the plain updates of a packet, from the run or with items.
void note_plain(const ReplicationInput& input, GhostTable& ghosts, const SnapshotPlan& plan,
                std::span<const PlainUpdate> updates, PacketRecord& record) {
    std::size_t word = 0;
    std::uint64_t slots = 0;
    const auto note = [&] {
        if (slots != 0) ghosts.sent_updates(record, word, slots);
        slots = 0;
    };
    for (const PlainUpdate& update : updates) {
        if (update.item != PlainUpdate::no_item) {
            const auto motions = motions_of(input, ghosts, plan, plan.items[update.item]);
            if (!motions.empty()) {
                ghosts.sent(record, update.slot, SentAs::update, motions);
                continue;
            }
        }
        if (update.slot / bits_per_word != word) {
            note();
            word = update.slot / bits_per_word;
        }
        slots |= std::uint64_t{1} << (update.slot % bits_per_word);
    }
    note();
}

/// Writes the items of one type: the distances between their slots, and their content.
void write_chosen(const ReplicationInput& input, const GhostTable& ghosts, SnapshotPlan& plan,
                  std::span<const ChosenItem> chosen, BitWriter& out) {
    out.varint(chosen.size());
    LocalId expected = 0;
    for (const auto [slot, at] : chosen) {
        PURVIEW_ASSERT(slot >= expected);
        out.varint(slot - expected);
        expected = slot + 1;
        write_item(input, ghosts, plan, plan.items[at], out);
    }
}

SentAs sent_as(const SnapshotItem& item) noexcept {
    switch (item.type) {
        case ItemType::leave:
            return item.keeps ? SentAs::keep : SentAs::leave;
        case ItemType::enter:
            return SentAs::enter;
        case ItemType::verbose:
        case ItemType::plain:
            break;
    }
    return SentAs::update;
}

/// Records the content of a written packet in the ghost table, in the order of the packet.
void note_packet(const ReplicationInput& input, GhostTable& ghosts, const SnapshotPlan& plan,
                 std::span<const PlainUpdate> plain, bool has_sections, std::uint32_t sequence) {
    PacketRecord& record = ghosts.begin_packet(sequence, input.tick);
    for (const LocalId slot : plan.incomplete) ghosts.groups().add(slot);
    for (const LocalId slot : plan.referenced) ghosts.reference_sent(slot);
    for (const auto& chosen : plan.chosen) {
        for (const auto [slot, at] : chosen) {
            const SnapshotItem& item = plan.items[at];
            ghosts.sent(record, slot, sent_as(item), motions_of(input, ghosts, plan, item));
        }
    }
    if (plan.plain.empty()) {
        note_run(ghosts, plan, plain, record);
    } else {
        note_plain(input, ghosts, plan, plain, record);
    }
    if (has_sections) ghosts.sent_sections(record);
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
                                 shared != nullptr ? shared->bits() : 0, ghosts.slots().end());
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
    if (!plan.took_any && !has_sections && !(plan.packet == 1 && plan.must_send_tick)) return false;
    const std::size_t begun = out.bits_written();
    plan.incomplete.clear();
    plan.referenced.clear();
    out.boolean(true);
    out.bits(input.tick & ((1U << wire_tick_bits) - 1), wire_tick_bits);
    for (auto& chosen : plan.chosen) {
        sort_by_slot(chosen);
        write_chosen(input, ghosts, plan, chosen, out);
    }
    write_plain_section(input, ghosts, plan, plain, out);
    out.boolean(has_sections);
    if (has_sections) shared->write(input, ghosts, sequence, out);
    note_packet(input, ghosts, plan, plain, has_sections, sequence);
    PURVIEW_ASSERT(out.ok() && out.bits_written() - begun <= capacity_bits);
    return true;
}

}  // namespace purview
