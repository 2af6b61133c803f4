// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Builds the list of one observer for one tick: everything that is pending, in send order.
#include <algorithm>
#include <array>
#include <bit>

#include "core/mutate.hpp"
#include "purview/connection.hpp"
#include "purview/limits.hpp"
#include "replication/extrapolated_fields.hpp"
#include "replication/send_limits.hpp"
#include "replication/snapshot_writer.hpp"

namespace purview {

namespace {

/// Generous bound for the bits of a packet besides its items: header checksum, numbers,
/// acknowledgements, tick.
constexpr std::uint64_t packet_bits_max = 200;

/// Factor for LastPlan::likely_priority. Priorities differ between ticks, and the candidates above
/// the estimate should fill a list.
constexpr float likely_margin = 0.85F;

/// Estimated size of an item, for the first allocation.
constexpr std::uint32_t item_bits_estimate = 32;

/// Leaves go first: they are small, and entities that an observer may no longer see must disappear
/// without delay.
constexpr float leave_priority = 1e30F;

SnapshotItem make_leave(const GhostTable& ghosts, LocalId slot) {
    PURVIEW_ASSERT(!ghosts.slots().is_live(slot));
    SnapshotItem item;
    item.slot = slot;
    item.type = ItemType::leave;
    item.keeps = ghosts.retained().is_retained(slot);
    item.bits = leave_reason_bits + 1 + leave_policy_bits;
    item.priority = leave_priority;
    return item;
}

/// Returns whether the ghost is idle: none of the components that the observer already receives
/// changed in this tick.
bool is_idle(const ReplicationInput& input, const GhostTable& ghosts, LocalId slot) {
    if (PURVIEW_GUARD_OR(idle_news, ghosts.sends().is_newly_relevant(slot, input.tick), false))
        return false;
    const std::uint32_t index = ghosts.slots().entity_index(slot);
    if (!input.fields.changed().test(index)) return true;
    const KindId kind = ghosts.slots().kind(slot);
    const KindLayout& layout = input.fields.layout(kind);
    const std::uint32_t allowed =
        ghosts.audience().allowed(slot) & ~ghosts.audience().gained_in(slot, input.tick);
    return layout.audience != 0 &&
           !input.fields.has_changed(index, layout.fields_of(allowed), input.tick);
}

}  // namespace

bool has_new_link(const ReplicationInput& input, const GhostTable& ghosts, LocalId slot) {
    const Tick sent = ghosts.sends().sent_tick(slot);
    // If the slot has waited since before its last packet, that packet was lost and did not deliver
    // the link.
    const bool is_lost = ghosts.sends().waiting_since(slot) <= sent;
    const Tick known = is_lost ? std::min(sent, ghosts.sends().baseline(slot)) : sent;
    return input.fields.parent_tick(ghosts.slots().entity_index(slot)) > known ||
           ghosts.marks().link_tick(slot) > known || ghosts.marks().resumed_tick(slot) > known;
}

namespace {

/// Returns whether the slot may be sent now. An update may have to wait for its send interval; new
/// ghosts, idle ghosts and changed links do not wait.
bool is_due(const ReplicationInput& input, const GhostTable& ghosts, LocalId slot) {
    if (ghosts.sends().is_blocked(slot)) return false;
    const std::uint32_t every = ghosts.rates().policy(slot).every_ticks;
    if (every <= 1 || ghosts.slots().needs_enter(slot) || is_idle(input, ghosts, slot)) return true;
    if (has_new_link(input, ghosts, slot)) return true;
    return input.tick - ghosts.sends().sent_tick(slot) >= every;
}

float priority_of(const ReplicationInput& input, const GhostTable& ghosts, LocalId slot) {
    const float first = ghosts.slots().needs_enter(slot) ? input.enter_priority : 1;
    return first * ghosts.rates().priority(slot, input.tick, ghosts.sends().waiting_since(slot),
                                           is_idle(input, ghosts, slot));
}

/// For assertions.
[[maybe_unused]] bool agrees_with_single_slots(const ReplicationInput& input,
                                               const GhostTable& ghosts, std::size_t word,
                                               std::uint64_t slots) {
    std::uint64_t found = 0;
    for_each_bit(slots, 0, [&](std::size_t i) {
        const auto slot = static_cast<LocalId>(word * bits_per_word + i);
        found |= std::uint64_t{ghosts.sends().is_newly_relevant(slot, input.tick)} << i;
    });
    return found == (ghosts.sends().newly_relevant(word) & slots);
}

/// Computes the priorities of the slots in `slots`, a mask of one word. Returns which of them have
/// at least `least`.
std::uint64_t priorities_of(const ReplicationInput& input, GhostTable& ghosts, std::size_t word,
                            std::uint64_t slots, float least, std::span<float, bits_per_word> out) {
    std::uint64_t idle_slots = ~ghosts.slots().slots_in(input.fields.changed(), word);
    // A change may be in a component that the observer does not receive.
    const std::uint64_t public_only = ghosts.audience().public_only()[word];
    if ((slots & public_only) != 0)
        idle_slots |=
            public_only & ~ghosts.slots().slots_in(input.fields.changed_in_public(), word);
    const std::uint64_t unsure =
        ghosts.audience().restricted()[word] & ghosts.marks().special()[word] & ~public_only;
    for_each_bit(slots & unsure & ~idle_slots, 0, [&](std::size_t i) {
        const auto slot = static_cast<LocalId>(word * bits_per_word + i);
        idle_slots |= std::uint64_t{is_idle(input, ghosts, slot)} << i;
    });
    PURVIEW_ASSERT(agrees_with_single_slots(input, ghosts, word, slots));
    idle_slots &= ~PURVIEW_GUARD_OR(idle_news_of_all, ghosts.sends().newly_relevant(word),
                                    0);  // as in is_idle
    std::uint64_t found = ghosts.priorities(word, input.tick, idle_slots, least, out);
    if (input.enter_priority == 1) return found;
    for_each_bit(slots & ghosts.slots().needs_enter()[word], 0, [&](std::size_t i) {
        const std::uint64_t bit = std::uint64_t{1} << i;
        out[i] *= input.enter_priority;
        found = out[i] >= least ? found | bit : found & ~bit;
    });
    return found;
}

/// Returns a sort key: ascending keys have descending priorities, and equal priorities have
/// ascending slots. Priorities are positive, so their bits sort like their values.
std::uint64_t key_of(float priority, LocalId slot) noexcept {
    return std::uint64_t{~std::bit_cast<std::uint32_t>(priority)} << 32 | slot;
}
LocalId slot_of(std::uint64_t key) noexcept {
    return static_cast<LocalId>(key);
}
float priority_of(std::uint64_t key) noexcept {
    return std::bit_cast<float>(~static_cast<std::uint32_t>(key >> 32));
}

/// Makes the update of a ghost with dead-reckoned fields: differences if the observer has their
/// baseline and the ghost has not become idle, else full values. Returns false if there is nothing
/// to send.
bool make_extrapolated(const ReplicationInput& input, const GhostTable& ghosts, FieldMask mask,
                       SnapshotItem& item, SnapshotPlan& plan) {
    const LocalId slot = item.slot;
    const std::uint32_t index = ghosts.slots().entity_index(slot);
    const KindLayout& layout = input.fields.layout(ghosts.slots().kind(slot));
    mask &= ~layout.extrapolated;
    const bool is_wrong = is_prediction_wrong(input.fields, ghosts, slot, input.tick);
    // An RPC requires everything that is not known to have arrived.
    const bool is_called =
        ghosts.marks().is_requested(slot, input.tick) &&
        ghosts.motions().shown_tick(slot) != ghosts.motions().acknowledged_tick(slot);
    if (mask == 0 && !item.relink && !is_wrong && !is_called) return false;
    item.references = mask & layout.references;
    plan.begin_motions(slot);
    if (!item.relink && has_baseline(ghosts, slot, input.tick) &&
        !(is_wrong && has_become_idle(input.fields, ghosts, slot, input.tick))) {
        item.type = ItemType::plain;
        item.body = encode_differences(input.fields, ghosts, slot, mask, input.tick, input.cache,
                                       plan.motions);
    } else {
        item.type = ItemType::verbose;
        item.body =
            input.cache.update(index, ghosts.slots().kind(slot), mask | layout.extrapolated);
        append_idle_states(input.fields, index, layout, plan.motions);
    }
    return true;
}

/// Adds the link: enter reason, parent, owner and audience of the ghost.
void add_link(const ReplicationInput& input, const GhostTable& ghosts, const KindLayout& layout,
              SnapshotItem& item) {
    const EntityId parent =
        input.world.groups.group_parent_at(ghosts.slots().entity_index(item.slot));
    item.parent = parent == EntityId::none ? no_local_id : ghosts.slots().find(parent);
    item.bits += enter_reason_bits + 3 + static_cast<unsigned>(std::popcount(layout.audience));
    if (item.parent != no_local_id) item.bits += BitWriter::varint_bits(item.parent);
}

void make_enter(const ReplicationInput& input, const GhostTable& ghosts, SnapshotItem& item,
                SnapshotPlan& plan) {
    const std::uint32_t index = ghosts.slots().entity_index(item.slot);
    const KindId kind = ghosts.slots().kind(item.slot);
    const KindLayout& layout = input.fields.layout(kind);
    const FieldMask allowed = layout.fields_of(ghosts.audience().allowed(item.slot));
    item.type = ItemType::enter;
    item.body =
        input.cache.full(index, kind, PURVIEW_GUARD_OR(audience_of_enters, allowed, layout.all));
    item.references = allowed & layout.references;
    if (layout.extrapolated != 0) {
        plan.begin_motions(item.slot);
        append_idle_states(input.fields, index, layout, plan.motions);
    }
    item.bits = kind_bits(input.schema);
    add_link(input, ghosts, layout, item);
}

Tick baseline_of([[maybe_unused]] const ReplicationInput& input, const GhostTable& ghosts,
                 LocalId slot) noexcept {
    return PURVIEW_GUARD_OR(baseline, ghosts.sends().baseline(slot), input.tick - 1);
}

FieldMask public_fields(const KindLayout& layout) noexcept {
    return PURVIEW_GUARD_OR(audience, layout.public_fields, layout.all);
}

/// plain_delta_body for the first observer that needs the body. Not inlined into the loop over all
/// slots.
[[gnu::noinline]] const EncodedFields* make_plain_delta_body(const ReplicationInput& input,
                                                             std::uint32_t index, bool public_only,
                                                             Tick baseline) {
    const KindId kind = input.world.entities.kind_at(index);
    const Tick linked = input.fields.parent_tick(index);
    FieldMask mask = input.cache.changed_since(index, kind, baseline);
    if (public_only) mask &= public_fields(input.fields.layout(kind));
    if (mask == 0 || linked > baseline) return nullptr;
    return input.cache.cache_plain_delta(index, kind, mask, public_only, linked);
}

/// For a estimate slot, returns the body that all observers with about the same baseline share.
/// Null: another update is needed, or none. `resolved`: resolved_tick() of the table.
inline const EncodedFields* plain_delta_body(const ReplicationInput& input,
                                             const GhostTable& ghosts, LocalId slot,
                                             Tick resolved) {
    const std::uint32_t index = ghosts.slots().entity_index(slot);
    const bool public_only = ghosts.audience().is_public_only(slot);
    [[maybe_unused]] const Tick known = ghosts.sends().baseline(slot, resolved);
    const Tick baseline = PURVIEW_GUARD_OR(baseline_of_items, known, input.tick - 1);
    const EncodedFields* made = input.cache.cached_plain_delta(index, public_only, baseline);
    return made != nullptr ? made : make_plain_delta_body(input, index, public_only, baseline);
}

/// Returns false if there is nothing to send.
bool make_update(const ReplicationInput& input, const GhostTable& ghosts, SnapshotItem& item,
                 SnapshotPlan& plan) {
    const LocalId slot = item.slot;
    const std::uint32_t index = ghosts.slots().entity_index(slot);
    const KindId kind = ghosts.slots().kind(slot);
    const KindLayout& layout = input.fields.layout(kind);
    const Tick baseline = baseline_of(input, ghosts, slot);
    FieldMask mask = input.cache.changed_since(index, kind, baseline);
    item.relink = input.fields.parent_tick(index) > baseline;
    if (ghosts.marks().is_special(slot)) {
        const RetainedCopy* copy = ghosts.retained().copy(slot);
        if (PURVIEW_GUARD_OR(copy_differs, copy != nullptr, false))
            mask = unknown_fields(*copy, input.fields, ghosts, slot);
        mask |= layout.audience_fields_of(ghosts.audience().gained(slot));
        if (ghosts.marks().reference_tick(slot) > baseline) mask |= layout.references;
        const FieldMask allowed =
            input.break_audience ? layout.all : layout.fields_of(ghosts.audience().allowed(slot));
        mask &= PURVIEW_GUARD_OR(audience_of_items, allowed, layout.all);
        item.relink |= ghosts.marks().link_tick(slot) > baseline;
    } else if (ghosts.audience().is_public_only(slot)) {
        mask &= public_fields(layout);
    }
    if (layout.extrapolated != 0) {
        if (!make_extrapolated(input, ghosts, mask, item, plan)) return false;
    } else {
        if (mask == 0 && !item.relink) return false;
        // A body of one part cannot express that nothing changed.
        if (mask == 0 && !layout.has_partial_audience()) mask = layout.all;
        item.references = mask & layout.references;
        item.type = item.relink || !PURVIEW_GUARD(plain_is_held, ghosts.slots().is_held(slot))
                        ? ItemType::verbose
                        : ItemType::plain;
        item.body = input.cache.update(index, kind, mask);
    }
    if (item.type == ItemType::verbose) item.bits = kind_bits(input.schema) + 1;
    if (item.relink) add_link(input, ghosts, layout, item);
    return true;
}

/// Returns false if there is nothing to send.
bool make_item(const ReplicationInput& input, const GhostTable& ghosts, SnapshotItem& item,
               SnapshotPlan& plan) {
    if (ghosts.slots().needs_enter(item.slot)) {
        make_enter(input, ghosts, item, plan);
    } else if (!make_update(input, ghosts, item, plan)) {
        return false;
    }
    item.bits += item.body.bits;
    if (item.references != 0) {
        item.bits += static_cast<unsigned>(std::popcount(item.references)) *
                     (1 + BitWriter::varint_bits(ghosts.slots().end()));
    }
    return true;
}

/// Resends the roots of groups that were incomplete when sent and have completely arrived since.
void resend_completed_roots(const ReplicationInput& input, GhostTable& ghosts) {
    if (ghosts.groups().slots().empty()) return;
    std::vector<LocalId> waiting, reported;
    for (const LocalId slot : ghosts.groups().slots()) {
        if (!ghosts.slots().is_live(slot)) continue;
        const EntityId root = input.world.groups.root_at(ghosts.slots().entity_index(slot));
        const LocalId first = ghosts.slots().find(root);
        if (first == no_local_id || !is_whole(input, ghosts, root, nullptr)) {
            waiting.push_back(slot);
        } else if (std::find(reported.begin(), reported.end(), first) == reported.end()) {
            ghosts.touch_link(first, input.tick);
            reported.push_back(first);
        }
    }
    ghosts.groups().assign(waiting);
}

/// Fills one observer's list.
class Planner {
  public:
    Planner(const ReplicationInput& input, GhostTable& ghosts, SnapshotPlan& plan)
        : input_(input), ghosts_(ghosts), plan_(plan), known_(ghosts.sends().resolved_tick()) {
        if (plan.item_of_slot.size() < ghosts.slots().end())
            plan.item_of_slot.resize(std::size_t{ghosts.slots().end()} * 2, 0);
    }

    void add(const SnapshotItem& item) {
        plan_.items.push_back(item);
        count(item);
        if (item.type == ItemType::enter) add_superseded(item.slot);
    }
    /// Counts the item that was added last.
    void count(const SnapshotItem& item) {
        PURVIEW_ASSERT(plan_.item_of_slot[item.slot] == 0);  // one item per slot
        plan_.item_of_slot[item.slot] = static_cast<std::uint32_t>(plan_.items.size());
        ++plan_.counts[static_cast<std::size_t>(item.type)];
        plan_.bits += item.bits;
    }
    /// Adds all `count` slots in `due`. Their plain updates become the run (SnapshotPlan::run).
    void add_due(std::size_t count) {
        if (plan_.slots.size() <= count) plan_.slots.resize(2 * count + 1);
        if (plan_.room.size() < count) plan_.room.resize(2 * count);
        LocalId* end = plan_.slots.data();
        for (std::size_t w = 0; w < plan_.due.size(); ++w)
            end = list_bits(plan_.due[w], static_cast<LocalId>(w * bits_per_word), end);
        const std::span<const LocalId> slots(plan_.slots.data(), end);
        PURVIEW_ASSERT(slots.size() == count);
        for (const LocalId slot : slots) input_.cache.prefetch(ghosts_.slots().entity_index(slot));
        reserve_for(plan_.run_slots, plan_.due.size());
        plan_.run_slots.assign(plan_.due.begin(), plan_.due.end());
        PlainUpdate* run = plan_.room.data();
        std::uint64_t bits = 0;
        for (const LocalId slot : slots) {
            const EncodedFields* body = ghosts_.is_plain_delta(slot)
                                            ? plain_delta_body(input_, ghosts_, slot, known_)
                                            : nullptr;
            if (body != nullptr) {
                *run++ = {slot, *body, PlainUpdate::no_item};
                bits += body->bits;
                continue;
            }
            run_ = run;
            (void)add_pending(slot, 0);
            PURVIEW_ASSERT(run_ <= run + 1);  // new group members become items
            if (run_ == run)
                plan_.run_slots[slot / bits_per_word] &=
                    ~(std::uint64_t{1} << (slot % bits_per_word));
            run = run_;
        }
        run_ = nullptr;
        plan_.bits += bits;
        plan_.run = {plan_.room.data(), run};
        PURVIEW_ASSERT(plan_.run.size() <= count);
        plan_.counts[static_cast<std::size_t>(ItemType::plain)] +=
            static_cast<std::uint32_t>(plan_.run.size());
    }
    /// Converts the run to items. Call if not everything fits.
    void give_up_run() {
        for (const PlainUpdate& update : plan_.run) {
            PURVIEW_ASSERT(plan_.item_of_slot[update.slot] == 0);
            SnapshotItem& item = plan_.items.emplace_back();
            item.slot = update.slot;
            item.body = update.body;
            item.bits = update.body.bits;
            plan_.item_of_slot[item.slot] = static_cast<std::uint32_t>(plan_.items.size());
        }
        plan_.clear_run();
    }
    /// Adds a pending slot. If it is new, also adds the new members of its group, so that they
    /// arrive together. Returns false if there is nothing to send, or if its parent cannot be sent
    /// now and must arrive first.
    bool add_pending(LocalId slot, float priority) {
        const auto is_new = [this](LocalId one) {
            if (ghosts_.slots().needs_enter(one)) return true;
            return ghosts_.marks().is_special(one) && ghosts_.sends().is_away(one) &&
                   has_new_link(input_, ghosts_, one);
        };
        if (!is_new(slot)) return add_one(slot, priority);
        if (!add_one(slot, priority)) return false;
        const WorldData& world = input_.world;
        if (world.groups.is_alone(ghosts_.slots().entity_index(slot))) return true;
        const std::uint32_t root =
            index_of(world.groups.root_at(ghosts_.slots().entity_index(slot)));
        if (world.groups.members_at(root) == 1) return true;
        world.groups.for_each_in_group(root, [&](EntityId member) {
            const LocalId its = ghosts_.slots().find(member);
            if (its == no_local_id || !ghosts_.sends().is_pending(its) ||
                ghosts_.sends().is_blocked(its))
                return;
            if (is_new(its)) (void)add_one(its, priority);
        });
        return true;
    }
    /// Adds an update with a shared body. Returns false if the slot has none.
    bool add_plain_delta(LocalId slot, float priority) {
        if (!ghosts_.is_plain_delta(slot) || plan_.item_of_slot[slot] != 0) return false;
        const EncodedFields* body = plain_delta_body(input_, ghosts_, slot, known_);
        if (body == nullptr) return false;
        SnapshotItem& item = plan_.items.emplace_back();
        item.slot = slot;
        item.priority = priority;
        item.body = *body;
        item.bits = body->bits;
        count(item);
        return true;
    }
    /// Adds the leaves that must accompany the enter of this slot.
    void add_superseded(LocalId slot) {
        ghosts_.slots().for_each_superseded(slot, [this](LocalId older) {
            if (plan_.item_of_slot[older] != 0) return;  // listed already
            SnapshotItem leave = make_leave(ghosts_, older);
            leave.repeats = true;
            add(leave);
        });
    }
    /// Adds the slot after the parents that it needs. Returns false as add_pending() does.
    bool add_one(LocalId slot, float priority) {
        if (plan_.item_of_slot[slot] != 0) return true;
        SnapshotItem& item = plan_.items.emplace_back();
        item.slot = slot;
        item.priority = priority;
        if (!make_item(input_, ghosts_, item, plan_)) {
            plan_.items.pop_back();
            ghosts_.settle(slot);
            return false;
        }
        // Adds the update to the run, as if its body were shared: packets must not depend on which
        // observer encoded a body first.
        if (run_ != nullptr && item.type == ItemType::plain && item.references == 0 &&
            input_.fields.layout(ghosts_.slots().kind(slot)).extrapolated == 0) {
            *run_++ = {slot, item.body, PlainUpdate::no_item};
            plan_.bits += item.body.bits;
            plan_.items.pop_back();
            return true;
        }
        if (!item.has_link() || input_.break_order || is_present(ghosts_, item.parent)) {
            count(item);
            if (item.type == ItemType::enter) add_superseded(slot);
            return true;
        }
        const SnapshotItem child = item;
        plan_.items.pop_back();
        if (!ghosts_.sends().is_pending(child.parent) || ghosts_.sends().is_blocked(child.parent) ||
            !add_one(child.parent, purview::priority_of(input_, ghosts_, child.parent)) ||
            !makes_present(ghosts_, plan_.items[plan_.item_of_slot[child.parent] - 1])) {
            return false;
        }
        add(child);
        return true;
    }
    /// Lower bound for the size of the list.
    std::uint64_t bits_min() const noexcept { return plan_.bits + plan_.items.size(); }
    /// Upper bound for the size of the list, in as many packets as it needs.
    std::uint64_t bits_max() const noexcept {
        std::uint64_t bits = plan_.bits;
        for (std::size_t t = 0; t < item_types; ++t) {
            bits +=
                section_bits_max(static_cast<ItemType>(t), plan_.counts[t], ghosts_.slots().end());
        }
        return bits + (bits / (limits::datagram_bytes * 8) + 1) * packet_bits_max;
    }

  private:
    const ReplicationInput& input_;
    GhostTable& ghosts_;
    SnapshotPlan& plan_;
    Tick known_;                  ///< baseline of slots without an older one
    PlainUpdate* run_ = nullptr;  ///< end of the run; null outside add_due()
};

/// Adds slots by descending priority until the budget is full. First adds those with about the
/// priority that was sufficient in the last list, then the others if there is room. Returns whether
/// some slots remain.
bool add_urgent(const ReplicationInput& input, GhostTable& ghosts, Planner& planner,
                std::uint64_t budget_bits, std::size_t count, LastPlan& last, SnapshotPlan& plan) {
    constexpr std::size_t keys_least = 256;
    if (plan.keys.size() < count) plan.keys.resize(std::max(keys_least, 2 * count));
    const float likely = last.likely_priority;
    const auto list = [&](bool are_likely) {
        auto end = plan.keys.begin();
        std::array<float, bits_per_word> priority;
        for (std::size_t w = 0; w < plan.due.size(); ++w) {
            if (plan.due[w] == 0) continue;
            const std::uint64_t enough =
                priorities_of(input, ghosts, w, plan.due[w], likely, priority);
            for_each_bit(plan.due[w] & (are_likely ? enough : ~enough), 0, [&](std::size_t i) {
                *end++ = key_of(priority[i], static_cast<LocalId>(w * bits_per_word + i));
            });
        }
        return end;
    };
    const auto add = [&](auto from, auto stop) {
        while (from != stop && planner.bits_min() <= budget_bits) {
            // Sorts only as many as fit according to the average item size. Repeats if room is
            // left.
            const std::uint64_t fit = (budget_bits - planner.bits_min()) / last.item_bits + 1;
            auto to = stop;
            if (fit < static_cast<std::uint64_t>(stop - from)) {
                to = from + static_cast<std::ptrdiff_t>(fit);
                std::nth_element(from, to, stop);
                std::sort(from, to);
            }
            last.likely_priority = likely_margin * priority_of(*(to - 1));
            for (; from != to; ++from) {
                const LocalId slot = slot_of(*from);
                if (!planner.add_plain_delta(slot, priority_of(*from)))
                    (void)planner.add_pending(slot, priority_of(*from));
            }
        }
        return from != stop;
    };
    const auto end = list(true);
    const auto others = count - static_cast<std::size_t>(end - plan.keys.begin());
    if (add(plan.keys.begin(), end)) return true;
    if (others == 0 || planner.bits_min() > budget_bits) return others > 0;
    return add(plan.keys.begin(), list(false));
}

}  // namespace

void prefetch_changes(const ReplicationInput& input, const GhostTable& ghosts) {
    for (std::size_t w = 0; w < ghosts.slots().needs_enter().size(); ++w) {
        for_each_bit(ghosts.slots().needs_leave()[w], w * bits_per_word,
                     [&](std::size_t slot) { ghosts.prefetch_slot(static_cast<LocalId>(slot)); });
        for_each_bit(ghosts.slots().needs_enter()[w], w * bits_per_word, [&](std::size_t l) {
            const auto slot = static_cast<LocalId>(l);
            const std::uint32_t index = ghosts.slots().entity_index(slot);
            ghosts.prefetch_slot(slot);
            input.world.entities.prefetch(index);
            input.world.groups.prefetch(index);
            input.cache.prefetch(index);
            input.fields.prefetch(index, ghosts.slots().kind(slot));
        });
    }
}

void prioritize(const ReplicationInput& input, GhostTable& ghosts, std::uint64_t budget_bits,
                LastPlan& last, SnapshotPlan& plan) {
    PURVIEW_ASSERT(plan.is_empty() && plan.bits == 0);
    PURVIEW_ASSERT(last.item_bits > 0);
    if (plan.items.capacity() == 0) {
        const auto estimate = static_cast<std::size_t>(
            std::min<std::uint64_t>(budget_bits / item_bits_estimate, 256));
        plan.items.reserve(estimate);
        plan.slots.resize(estimate + 1);
        plan.room.resize(estimate);
        plan.plain.reserve(estimate);
        for (auto& chosen : plan.chosen) chosen.reserve(estimate);
    }
    resend_completed_roots(input, ghosts);
    Planner planner(input, ghosts, plan);
    // A client controls how many leaves are pending. Those beyond the budget are not even listed.
    const GhostSlots::Mask needs_leave = ghosts.slots().needs_leave();
    for (std::size_t w = 0; w < needs_leave.size() && planner.bits_min() <= budget_bits; ++w) {
        for_each_bit(needs_leave[w], w * bits_per_word, [&](std::size_t slot) {
            planner.add(make_leave(ghosts, static_cast<LocalId>(slot)));
        });
    }
    std::size_t count = 0;
    plan.due.resize(ghosts.sends().pending().size());
    for (std::size_t w = 0; w < plan.due.size(); ++w) {
        plan.due[w] = ghosts.due_at_once(w);
        for_each_bit(
            ghosts.sends().pending()[w] & ~plan.due[w], w * bits_per_word, [&](std::size_t l) {
                const auto slot = static_cast<LocalId>(l);
                if (ghosts.marks().is_requested(slot, input.tick) &&
                    !ghosts.sends().is_blocked(slot)) {  // an RPC needs the size of the item
                    (void)planner.add_pending(slot, priority_of(input, ghosts, slot));
                } else if (is_due(input, ghosts, slot)) {
                    plan.due[w] |= std::uint64_t{1} << (l % bits_per_word);
                }
            });
        count += static_cast<std::size_t>(std::popcount(plan.due[w]));
    }
    if (input.has_limits && budget_bits != unlimited_bits) {
        plan.limited = apply_limits(input, ghosts, last.turns, plan.due, plan.keys);
        PURVIEW_ASSERT(plan.limited <= count);
        count -= plan.limited;
    }
    // If everything may fit, priorities are computed only if it turns out not to fit.
    const bool may_fit = count <= budget_bits / last.item_bits;
    bool is_cut = false;
    if (may_fit) {
        planner.add_due(count);
    } else {
        is_cut = add_urgent(input, ghosts, planner, budget_bits, count, last, plan);
    }
    if (!is_cut) last.likely_priority = 0;
    // Leftovers of the last tick are older than new changes, so the order matters.
    last.was_over_budget = is_cut || last.left_some || planner.bits_max() > budget_bits;
    if (!last.was_over_budget) return;
    planner.give_up_run();
    if (!plan.items.empty())
        last.item_bits = static_cast<std::uint32_t>(planner.bits_min() / plan.items.size());
    if (may_fit) {
        for (SnapshotItem& item : plan.items) {
            if (item.type != ItemType::leave) item.priority = priority_of(input, ghosts, item.slot);
        }
    }
    const auto before = [](const SnapshotItem& left, const SnapshotItem& right) {
        return left.priority != right.priority ? left.priority > right.priority
                                               : left.slot < right.slot;
    };
    if (!std::is_sorted(plan.items.begin(), plan.items.end(), before)) {
        std::sort(plan.items.begin(), plan.items.end(), before);
        for (std::size_t i = 0; i < plan.items.size(); ++i)
            plan.item_of_slot[plan.items[i].slot] = static_cast<std::uint32_t>(i + 1);
    }
    for (const LocalId slot : last.passed_over) {
        if (plan.kept_for == no_local_id && plan.item_of(slot) != nullptr) plan.kept_for = slot;
    }
}

std::uint64_t body_bits_alone(std::uint32_t budget_bytes) noexcept {
    // Generous bound for the rest: header checksum, numbers, acknowledgements, counts, local ids of
    // entity and parent.
    constexpr std::uint64_t besides = 400;
    const std::uint64_t bits = std::min<std::uint64_t>(budget_bytes, limits::datagram_bytes) * 8;
    return bits > besides ? bits - besides : 0;
}

Backlog backlog_of(const GhostTable& ghosts, Tick now) noexcept {
    Backlog backlog;
    for (std::size_t w = 0; w < ghosts.sends().pending().size(); ++w) {
        for_each_bit(ghosts.sends().pending()[w], w * bits_per_word, [&](std::size_t slot) {
            ++backlog.count;
            const Tick since = ghosts.sends().pending_since(static_cast<LocalId>(slot));
            // An edit between ticks waits from the next tick on.
            if (since < now) backlog.age_ticks_max = std::max(backlog.age_ticks_max, now - since);
        });
    }
    return backlog;
}

}  // namespace purview
