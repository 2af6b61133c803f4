// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The list of one observer for one tick: what waits, in the order in which it may go.
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

/// Of a packet, besides its items: seal, numbers, acknowledgements, tick; generously.
constexpr std::uint64_t packet_bits_max = 200;

/// Priorities differ from one tick to the next; the front is to hold a list all the same.
constexpr float likely_margin = 0.85F;

/// For room, and until a list says what is usual.
constexpr std::uint32_t item_bits_usual = 32;

/// Leaves before everything: they are small, and knowledge that must end, ends now.
constexpr float leave_priority = 1e30F;

SnapshotItem make_leave(const GhostTable& ghosts, LocalId lane) {
    PURVIEW_ASSERT(!ghosts.is_live(lane));
    SnapshotItem item;
    item.lane = lane;
    item.type = ItemType::leave;
    item.keeps = ghosts.is_kept(lane);
    item.bits = leave_reason_bits + 1 + leave_policy_bits;
    item.priority = leave_priority;
    return item;
}

/// Nothing changed in this tick of what the observer is told, and was told in the last.
bool is_at_rest(const ReplicationInput& input, const GhostTable& ghosts, LocalId lane) {
    if (PURVIEW_GUARD_OR(rest_news, ghosts.has_come(lane, input.tick), false)) return false;
    const std::uint32_t index = ghosts.entity_index(lane);
    if (!input.fields.changed().test(index)) return true;
    const KindId kind = ghosts.kind(lane);
    const KindLayout& layout = input.fields.layout(kind);
    const std::uint32_t told = ghosts.told(lane) & ~ghosts.gained_in(lane, input.tick);
    return layout.audience != 0 &&
           !input.fields.has_changed(index, layout.fields_of(told), input.tick);
}

}  // namespace

bool has_new_link(const ReplicationInput& input, const GhostTable& ghosts, LocalId lane) {
    const Tick sent = ghosts.sent_tick(lane);
    // What has waited since before it was sent last is lost: that did not tell it.
    const bool is_lost = ghosts.waiting_since(lane) <= sent;
    const Tick told = is_lost ? std::min(sent, ghosts.baseline(lane)) : sent;
    return input.fields.parent_tick(ghosts.entity_index(lane)) > told ||
           ghosts.meta_tick(lane) > told || ghosts.resumed_tick(lane) > told;
}

namespace {

/// An update may wait for its turn; what is new, what came to rest and links may not.
bool is_due(const ReplicationInput& input, const GhostTable& ghosts, LocalId lane) {
    if (ghosts.is_awaited(lane)) return false;
    const std::uint32_t every = ghosts.pace(lane).every_ticks;
    if (every <= 1 || ghosts.needs_enter(lane) || is_at_rest(input, ghosts, lane)) return true;
    if (has_new_link(input, ghosts, lane)) return true;
    return input.tick - ghosts.sent_tick(lane) >= every;
}

float priority_of(const ReplicationInput& input, const GhostTable& ghosts, LocalId lane) {
    const float first = ghosts.needs_enter(lane) ? input.enter_priority : 1;
    return first * ghosts.priority(lane, input.tick, is_at_rest(input, ghosts, lane));
}

/// For assertions.
[[maybe_unused]] bool agrees_on_news(const ReplicationInput& input, const GhostTable& ghosts,
                                     std::size_t word, std::uint64_t asked) {
    std::uint64_t come = 0;
    for_each_bit(asked, 0, [&](std::size_t i) {
        const auto lane = static_cast<LocalId>(word * bits_per_word + i);
        come |= std::uint64_t{ghosts.has_come(lane, input.tick)} << i;
    });
    return come == (ghosts.come(word) & asked);
}

/// The same of 64 lanes, as far as they are asked about, and which of them have at least `least`.
std::uint64_t priorities_of(const ReplicationInput& input, GhostTable& ghosts, std::size_t word,
                            std::uint64_t asked, float least, std::span<float, bits_per_word> out) {
    std::uint64_t at_rest = ~ghosts.lanes_in(input.fields.changed(), word);
    // Of these a change may be one that the observer is not told.
    const std::uint64_t public_only = ghosts.public_only()[word];
    if ((asked & public_only) != 0)
        at_rest |= public_only & ~ghosts.lanes_in(input.fields.changed_in_public(), word);
    const std::uint64_t unsure = ghosts.restricted()[word] & ghosts.special()[word] & ~public_only;
    for_each_bit(asked & unsure & ~at_rest, 0, [&](std::size_t i) {
        const auto lane = static_cast<LocalId>(word * bits_per_word + i);
        at_rest |= std::uint64_t{is_at_rest(input, ghosts, lane)} << i;
    });
    PURVIEW_ASSERT(agrees_on_news(input, ghosts, word, asked));
    at_rest &= ~PURVIEW_GUARD_OR(rest_news_of_all, ghosts.come(word), 0);  // as is_at_rest has it
    std::uint64_t found = ghosts.priorities(word, input.tick, at_rest, least, out);
    if (input.enter_priority == 1) return found;
    for_each_bit(asked & ghosts.needs_enter()[word], 0, [&](std::size_t i) {
        const std::uint64_t bit = std::uint64_t{1} << i;
        out[i] *= input.enter_priority;
        found = out[i] >= least ? found | bit : found & ~bit;
    });
    return found;
}

/// Ascending keys: the highest priority first (it is positive: its bits rise with it), then lanes.
std::uint64_t key_of(float priority, LocalId lane) noexcept {
    return std::uint64_t{~std::bit_cast<std::uint32_t>(priority)} << 32 | lane;
}
LocalId lane_of(std::uint64_t key) noexcept {
    return static_cast<LocalId>(key);
}
float priority_of(std::uint64_t key) noexcept {
    return std::bit_cast<float>(~static_cast<std::uint32_t>(key >> 32));
}

/// The update of a ghost with extrapolated fields: differences where the observer has what they are
/// against, whole values where he has not, or where it came to rest. False as for make_item.
bool make_extrapolated(const ReplicationInput& input, const GhostTable& ghosts, FieldMask mask,
                       SnapshotItem& item, SnapshotPlan& plan) {
    const LocalId lane = item.lane;
    const std::uint32_t index = ghosts.entity_index(lane);
    const KindLayout& layout = input.fields.layout(ghosts.kind(lane));
    mask &= ~layout.extrapolated;
    const bool is_wrong = shows_wrong(input.fields, ghosts, lane, input.tick);
    // A call goes with all that is not known to have arrived.
    const bool is_called =
        ghosts.is_requested(lane, input.tick) &&
        ghosts.motions().shown_tick(lane) != ghosts.motions().acknowledged_tick(lane);
    if (mask == 0 && !item.relink && !is_wrong && !is_called) return false;
    item.references = mask & layout.references;
    plan.begin_motions(lane);
    if (!item.relink && has_baseline(ghosts, lane, input.tick) &&
        !(is_wrong && has_come_to_rest(input.fields, ghosts, lane, input.tick))) {
        item.type = ItemType::plain;
        item.body = encode_differences(input.fields, ghosts, lane, mask, input.tick, input.cache,
                                       plan.motions);
    } else {
        item.type = ItemType::verbose;
        item.body = input.cache.update(index, ghosts.kind(lane), mask | layout.extrapolated);
        append_still(input.fields, index, layout, plan.motions);
    }
    return true;
}

/// Why it is known, parent, owner and audience of the ghost go along.
void add_link(const ReplicationInput& input, const GhostTable& ghosts, const KindLayout& layout,
              SnapshotItem& item) {
    const EntityId parent = input.world.group_parent_at(ghosts.entity_index(item.lane));
    item.parent = parent == EntityId::none ? no_local_id : ghosts.find(parent);
    item.bits += enter_reason_bits + 3 + static_cast<unsigned>(std::popcount(layout.audience));
    if (item.parent != no_local_id) item.bits += BitWriter::varint_bits(item.parent);
}

void make_enter(const ReplicationInput& input, const GhostTable& ghosts, SnapshotItem& item,
                SnapshotPlan& plan) {
    const std::uint32_t index = ghosts.entity_index(item.lane);
    const KindId kind = ghosts.kind(item.lane);
    const KindLayout& layout = input.fields.layout(kind);
    const FieldMask told = layout.fields_of(ghosts.told(item.lane));
    item.type = ItemType::enter;
    item.body =
        input.cache.full(index, kind, PURVIEW_GUARD_OR(audience_of_enters, told, layout.all));
    item.references = told & layout.references;
    if (layout.extrapolated != 0) {
        plan.begin_motions(item.lane);
        append_still(input.fields, index, layout, plan.motions);
    }
    item.bits = kind_bits(input.schema);
    add_link(input, ghosts, layout, item);
}

Tick baseline_of([[maybe_unused]] const ReplicationInput& input, const GhostTable& ghosts,
                 LocalId lane) noexcept {
    return PURVIEW_GUARD_OR(baseline, ghosts.baseline(lane), input.tick - 1);
}

FieldMask public_fields(const KindLayout& layout) noexcept {
    return PURVIEW_GUARD_OR(audience, layout.public_fields, layout.all);
}

/// usual_body, of the first who is told it: not in the loop over all others.
[[gnu::noinline]] const EncodedFields* first_usual_body(const ReplicationInput& input,
                                                        std::uint32_t index, bool public_only,
                                                        Tick baseline) {
    const KindId kind = input.world.kind_at(index);
    const Tick linked = input.fields.parent_tick(index);
    FieldMask mask = input.cache.changed_since(index, kind, baseline);
    if (public_only) mask &= public_fields(input.fields.layout(kind));
    if (mask == 0 || linked > baseline) return nullptr;
    return input.cache.make_usual(index, kind, mask, public_only, linked);
}

/// Of a usual lane: what everybody is told who has about the same baseline. Null: something else is
/// to be told, or nothing. `resolved`: that of the table.
inline const EncodedFields* usual_body(const ReplicationInput& input, const GhostTable& ghosts,
                                       LocalId lane, Tick resolved) {
    const std::uint32_t index = ghosts.entity_index(lane);
    const bool public_only = ghosts.is_public_only(lane);
    [[maybe_unused]] const Tick known = ghosts.baseline(lane, resolved);
    const Tick baseline = PURVIEW_GUARD_OR(baseline_of_items, known, input.tick - 1);
    const EncodedFields* made = input.cache.usual_update(index, public_only, baseline);
    return made != nullptr ? made : first_usual_body(input, index, public_only, baseline);
}

/// False when there is nothing to tell after all.
bool make_update(const ReplicationInput& input, const GhostTable& ghosts, SnapshotItem& item,
                 SnapshotPlan& plan) {
    const LocalId lane = item.lane;
    const std::uint32_t index = ghosts.entity_index(lane);
    const KindId kind = ghosts.kind(lane);
    const KindLayout& layout = input.fields.layout(kind);
    const Tick baseline = baseline_of(input, ghosts, lane);
    FieldMask mask = input.cache.changed_since(index, kind, baseline);
    item.relink = input.fields.parent_tick(index) > baseline;
    if (ghosts.is_special(lane)) {
        const KeptCopy* copy = ghosts.kept_copy(lane);
        if (PURVIEW_GUARD_OR(copy_differs, copy != nullptr, false))
            mask = unknown_fields(*copy, input.fields, ghosts, lane);
        mask |= layout.audience_fields_of(ghosts.gained(lane));
        if (ghosts.reference_tick(lane) > baseline) mask |= layout.references;
        const FieldMask told =
            input.break_audience ? layout.all : layout.fields_of(ghosts.told(lane));
        mask &= PURVIEW_GUARD_OR(audience_of_items, told, layout.all);
        item.relink |= ghosts.meta_tick(lane) > baseline;
    } else if (ghosts.is_public_only(lane)) {
        mask &= public_fields(layout);
    }
    if (layout.extrapolated != 0) {
        if (!make_extrapolated(input, ghosts, mask, item, plan)) return false;
    } else {
        if (mask == 0 && !item.relink) return false;
        // A body of one part cannot say that nothing changed.
        if (mask == 0 && !layout.asks_parts()) mask = layout.all;
        item.references = mask & layout.references;
        item.type = item.relink || !PURVIEW_GUARD(plain_is_held, ghosts.is_held(lane))
                        ? ItemType::verbose
                        : ItemType::plain;
        item.body = input.cache.update(index, kind, mask);
    }
    if (item.type == ItemType::verbose) item.bits = kind_bits(input.schema) + 1;
    if (item.relink) add_link(input, ghosts, layout, item);
    return true;
}

/// False when there is nothing to tell after all.
bool make_item(const ReplicationInput& input, const GhostTable& ghosts, SnapshotItem& item,
               SnapshotPlan& plan) {
    if (ghosts.needs_enter(item.lane)) {
        make_enter(input, ghosts, item, plan);
    } else if (!make_update(input, ghosts, item, plan)) {
        return false;
    }
    item.bits += item.body.bits;
    if (item.references != 0) {
        item.bits += static_cast<unsigned>(std::popcount(item.references)) *
                     (1 + BitWriter::varint_bits(ghosts.lane_end()));
    }
    return true;
}

/// Groups that were held back and have arrived by now: their roots say so.
void tell_wholes(const ReplicationInput& input, GhostTable& ghosts) {
    if (ghosts.held_back().empty()) return;
    std::vector<LocalId> waiting, told;
    for (const LocalId lane : ghosts.held_back()) {
        if (!ghosts.is_live(lane)) continue;
        const EntityId root = input.world.root_at(ghosts.entity_index(lane));
        const LocalId first = ghosts.find(root);
        if (first == no_local_id || !is_whole(input, ghosts, root, nullptr)) {
            waiting.push_back(lane);
        } else if (std::find(told.begin(), told.end(), first) == told.end()) {
            ghosts.tell_link(first, input.tick);
            told.push_back(first);
        }
    }
    ghosts.set_held_back(waiting);
}

/// Fills one observer's list.
class Planner {
  public:
    Planner(const ReplicationInput& input, GhostTable& ghosts, SnapshotPlan& plan)
        : input_(input), ghosts_(ghosts), plan_(plan), known_(ghosts.resolved_tick()) {
        if (plan.item_of_lane.size() < ghosts.lane_end())
            plan.item_of_lane.resize(std::size_t{ghosts.lane_end()} * 2, 0);
    }

    void add(const SnapshotItem& item) {
        plan_.items.push_back(item);
        count(item);
        if (item.type == ItemType::enter) add_superseded(item.lane);
    }
    /// The last item.
    void count(const SnapshotItem& item) {
        PURVIEW_ASSERT(plan_.item_of_lane[item.lane] == 0);  // one item a lane
        plan_.item_of_lane[item.lane] = static_cast<std::uint32_t>(plan_.items.size());
        ++plan_.counts[static_cast<std::size_t>(item.type)];
        plan_.bits += item.bits;
    }
    /// All of `count` lanes that may go: plain updates among them become the run.
    void add_due(std::size_t count) {
        if (plan_.lanes.size() <= count) plan_.lanes.resize(2 * count + 1);
        if (plan_.room.size() < count) plan_.room.resize(2 * count);
        LocalId* end = plan_.lanes.data();
        for (std::size_t w = 0; w < plan_.due.size(); ++w)
            end = list_bits(plan_.due[w], static_cast<LocalId>(w * bits_per_word), end);
        const std::span<const LocalId> lanes(plan_.lanes.data(), end);
        PURVIEW_ASSERT(lanes.size() == count);
        for (const LocalId lane : lanes) input_.cache.prefetch(ghosts_.entity_index(lane));
        reserve_for(plan_.run_lanes, plan_.due.size());
        plan_.run_lanes.assign(plan_.due.begin(), plan_.due.end());
        PlainUpdate* run = plan_.room.data();
        std::uint64_t bits = 0;
        for (const LocalId lane : lanes) {
            const EncodedFields* body =
                ghosts_.is_usual(lane) ? usual_body(input_, ghosts_, lane, known_) : nullptr;
            if (body != nullptr) {
                *run++ = {lane, *body, PlainUpdate::no_item};
                bits += body->bits;
                continue;
            }
            run_ = run;
            (void)add_pending(lane, 0);
            PURVIEW_ASSERT(run_ <= run + 1);  // whoever comes along is new: no plain update
            if (run_ == run)
                plan_.run_lanes[lane / bits_per_word] &=
                    ~(std::uint64_t{1} << (lane % bits_per_word));
            run = run_;
        }
        run_ = nullptr;
        plan_.bits += bits;
        plan_.run = {plan_.room.data(), run};
        PURVIEW_ASSERT(plan_.run.size() <= count);
        plan_.counts[static_cast<std::size_t>(ItemType::plain)] +=
            static_cast<std::uint32_t>(plan_.run.size());
    }
    /// Not all fits: what is in the run becomes items.
    void give_up_run() {
        for (const PlainUpdate& update : plan_.run) {
            PURVIEW_ASSERT(plan_.item_of_lane[update.lane] == 0);
            SnapshotItem& item = plan_.items.emplace_back();
            item.lane = update.lane;
            item.body = update.body;
            item.bits = update.body.bits;
            plan_.item_of_lane[item.lane] = static_cast<std::uint32_t>(plan_.items.size());
        }
        plan_.clear_run();
    }
    /// Adds what waits, and whoever of its group is new as well: they come as one. False: nothing
    /// is to be told, or a parent is under way and has to arrive first.
    bool add_pending(LocalId lane, float priority) {
        const auto is_new = [this](LocalId one) {
            if (ghosts_.needs_enter(one)) return true;
            return ghosts_.is_special(one) && ghosts_.is_away(one) &&
                   has_new_link(input_, ghosts_, one);
        };
        if (!is_new(lane)) return add_one(lane, priority);
        if (!add_one(lane, priority)) return false;
        const WorldData& world = input_.world;
        if (world.is_alone(ghosts_.entity_index(lane))) return true;
        const std::uint32_t root = index_of(world.root_at(ghosts_.entity_index(lane)));
        if (world.members_at(root) == 1) return true;
        world.for_each_in_group(root, [&](EntityId member) {
            const LocalId its = ghosts_.find(member);
            if (its == no_local_id || !ghosts_.is_pending(its) || ghosts_.is_awaited(its)) return;
            if (is_new(its)) (void)add_one(its, priority);
        });
        return true;
    }
    /// False: it is not one that others are told as well.
    bool add_usual(LocalId lane, float priority) {
        if (!ghosts_.is_usual(lane) || plan_.item_of_lane[lane] != 0) return false;
        const EncodedFields* body = usual_body(input_, ghosts_, lane, known_);
        if (body == nullptr) return false;
        SnapshotItem& item = plan_.items.emplace_back();
        item.lane = lane;
        item.priority = priority;
        item.body = *body;
        item.bits = body->bits;
        count(item);
        return true;
    }
    /// The leaves without which the enter of this slot must not go.
    void add_superseded(LocalId lane) {
        ghosts_.for_each_superseded(lane, [this](LocalId older) {
            if (plan_.item_of_lane[older] != 0) return;  // it has to be sent anyway
            SnapshotItem leave = make_leave(ghosts_, older);
            leave.repeats = true;
            add(leave);
        });
    }
    /// And before it the parents that it cannot come without.
    bool add_one(LocalId lane, float priority) {
        if (plan_.item_of_lane[lane] != 0) return true;
        SnapshotItem& item = plan_.items.emplace_back();
        item.lane = lane;
        item.priority = priority;
        if (!make_item(input_, ghosts_, item, plan_)) {
            plan_.items.pop_back();
            ghosts_.settle(lane);
            return false;
        }
        // Into the run, as if somebody else had been told it before: who was must not show.
        if (run_ != nullptr && item.type == ItemType::plain && item.references == 0 &&
            input_.fields.layout(ghosts_.kind(lane)).extrapolated == 0) {
            *run_++ = {lane, item.body, PlainUpdate::no_item};
            plan_.bits += item.body.bits;
            plan_.items.pop_back();
            return true;
        }
        if (!item.has_link() || input_.break_order || is_present(ghosts_, item.parent)) {
            count(item);
            if (item.type == ItemType::enter) add_superseded(lane);
            return true;
        }
        const SnapshotItem child = item;
        plan_.items.pop_back();
        if (!ghosts_.is_pending(child.parent) || ghosts_.is_awaited(child.parent) ||
            !add_one(child.parent, purview::priority_of(input_, ghosts_, child.parent)) ||
            !makes_present(ghosts_, plan_.items[plan_.item_of_lane[child.parent] - 1])) {
            return false;
        }
        add(child);
        return true;
    }
    /// The list will not come out smaller.
    std::uint64_t bits_min() const noexcept { return plan_.bits + plan_.items.size(); }
    /// All of it, in as many packets as it takes.
    std::uint64_t bits_max() const noexcept {
        std::uint64_t bits = plan_.bits;
        for (std::size_t t = 0; t < item_types; ++t) {
            bits += section_bits_max(static_cast<ItemType>(t), plan_.counts[t], ghosts_.lane_end());
        }
        return bits + (bits / (limits::datagram_bytes * 8) + 1) * packet_bits_max;
    }

  private:
    const ReplicationInput& input_;
    GhostTable& ghosts_;
    SnapshotPlan& plan_;
    Tick known_;                  ///< baseline of who is not behind
    PlainUpdate* run_ = nullptr;  ///< end of the run, while there may be one
};

/// What is most urgent of all that may go, in that order, until the budget is full. First those
/// with about the priority that was enough for the last list; the others where that leaves room.
/// True: there was more.
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
            // As many as fit by what the last ones cost, the first of all; then anew.
            const std::uint64_t fit = (budget_bits - planner.bits_min()) / last.item_bits + 1;
            auto to = stop;
            if (fit < static_cast<std::uint64_t>(stop - from)) {
                to = from + static_cast<std::ptrdiff_t>(fit);
                std::nth_element(from, to, stop);
                std::sort(from, to);
            }
            last.likely_priority = likely_margin * priority_of(*(to - 1));
            for (; from != to; ++from) {
                const LocalId lane = lane_of(*from);
                if (!planner.add_usual(lane, priority_of(*from)))
                    (void)planner.add_pending(lane, priority_of(*from));
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
    for (std::size_t w = 0; w < ghosts.needs_enter().size(); ++w) {
        for_each_bit(ghosts.needs_leave()[w], w * bits_per_word,
                     [&](std::size_t lane) { ghosts.prefetch_lane(static_cast<LocalId>(lane)); });
        for_each_bit(ghosts.needs_enter()[w], w * bits_per_word, [&](std::size_t l) {
            const auto lane = static_cast<LocalId>(l);
            const std::uint32_t index = ghosts.entity_index(lane);
            ghosts.prefetch_lane(lane);
            input.world.prefetch(index);
            input.cache.prefetch(index);
            input.fields.prefetch(index, ghosts.kind(lane));
        });
    }
}

void prioritize(const ReplicationInput& input, GhostTable& ghosts, std::uint64_t budget_bits,
                LastPlan& last, SnapshotPlan& plan) {
    PURVIEW_ASSERT(plan.is_empty() && plan.bits == 0);
    PURVIEW_ASSERT(last.item_bits > 0);
    if (plan.items.capacity() == 0) {
        const auto usual =
            static_cast<std::size_t>(std::min<std::uint64_t>(budget_bits / item_bits_usual, 256));
        plan.items.reserve(usual);
        plan.lanes.resize(usual + 1);
        plan.room.resize(usual);
        plan.plain.reserve(usual);
        for (auto& chosen : plan.chosen) chosen.reserve(usual);
    }
    tell_wholes(input, ghosts);
    Planner planner(input, ghosts, plan);
    // A client decides how many wait: beyond the budget the others are not even listed.
    const LaneMask needs_leave = ghosts.needs_leave();
    for (std::size_t w = 0; w < needs_leave.size() && planner.bits_min() <= budget_bits; ++w) {
        for_each_bit(needs_leave[w], w * bits_per_word, [&](std::size_t lane) {
            planner.add(make_leave(ghosts, static_cast<LocalId>(lane)));
        });
    }
    std::size_t count = 0;
    plan.due.resize(ghosts.pending().size());
    for (std::size_t w = 0; w < plan.due.size(); ++w) {
        plan.due[w] = ghosts.due_at_once(w);
        for_each_bit(ghosts.pending()[w] & ~plan.due[w], w * bits_per_word, [&](std::size_t l) {
            const auto lane = static_cast<LocalId>(l);
            if (ghosts.is_requested(lane, input.tick) &&
                !ghosts.is_awaited(lane)) {  // a call wants to know what it costs
                (void)planner.add_pending(lane, priority_of(input, ghosts, lane));
            } else if (is_due(input, ghosts, lane)) {
                plan.due[w] |= std::uint64_t{1} << (l % bits_per_word);
            }
        });
        count += static_cast<std::size_t>(std::popcount(plan.due[w]));
    }
    if (input.has_limits && budget_bits != unlimited_bits) {
        plan.limited = keep_limits(input, ghosts, last.turns, plan.due, plan.keys);
        PURVIEW_ASSERT(plan.limited <= count);
        count -= plan.limited;
    }
    // Where all may fit, nobody is asked for a priority before it is known that it does not.
    const bool may_fit = count <= budget_bits / last.item_bits;
    bool is_cut = false;
    if (may_fit) {
        planner.add_due(count);
    } else {
        is_cut = add_urgent(input, ghosts, planner, budget_bits, count, last, plan);
    }
    if (!is_cut) last.likely_priority = 0;
    // What was left over is older than what is new: then it counts who waits.
    last.was_over_budget = is_cut || last.left_some || planner.bits_max() > budget_bits;
    if (!last.was_over_budget) return;
    planner.give_up_run();
    if (!plan.items.empty())
        last.item_bits = static_cast<std::uint32_t>(planner.bits_min() / plan.items.size());
    if (may_fit) {
        for (SnapshotItem& item : plan.items) {
            if (item.type != ItemType::leave) item.priority = priority_of(input, ghosts, item.lane);
        }
    }
    const auto before = [](const SnapshotItem& left, const SnapshotItem& right) {
        return left.priority != right.priority ? left.priority > right.priority
                                               : left.lane < right.lane;
    };
    if (!std::is_sorted(plan.items.begin(), plan.items.end(), before)) {
        std::sort(plan.items.begin(), plan.items.end(), before);
        for (std::size_t i = 0; i < plan.items.size(); ++i)
            plan.item_of_lane[plan.items[i].lane] = static_cast<std::uint32_t>(i + 1);
    }
    for (const LocalId lane : last.passed_over) {
        if (plan.kept_for == no_local_id && plan.item_of(lane) != nullptr) plan.kept_for = lane;
    }
}

std::uint64_t body_bits_alone(std::uint32_t budget_bytes) noexcept {
    // Beside it: seal, numbers, acknowledgements, counts, its local id and its parent's;
    // generously.
    constexpr std::uint64_t besides = 400;
    const std::uint64_t bits = std::min<std::uint64_t>(budget_bytes, limits::datagram_bytes) * 8;
    return bits > besides ? bits - besides : 0;
}

Backlog backlog_of(const GhostTable& ghosts, Tick now) noexcept {
    Backlog backlog;
    for (std::size_t w = 0; w < ghosts.pending().size(); ++w) {
        for_each_bit(ghosts.pending()[w], w * bits_per_word, [&](std::size_t lane) {
            ++backlog.count;
            const Tick since = ghosts.pending_since(static_cast<LocalId>(lane));
            // What is edited between ticks waits from the next one on.
            if (since < now) backlog.age_ticks_max = std::max(backlog.age_ticks_max, now - since);
        });
    }
    return backlog;
}

}  // namespace purview
