// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Compares the ghost table's view of an observer with what arrived there over a lossy link. A value
// is the tick of its last change. On some links the changes of a ghost do not all fit into a
// packet, so its fields (one component each) are staged.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "core/hash.hpp"
#include "replication/ghost_table.hpp"
#include "support/sanitized.hpp"

namespace purview::test {

namespace {

constexpr std::uint32_t entities = 90;
constexpr Tick round_trip_ticks_max = 4;
constexpr std::size_t field_count = 3;

using Values = std::array<Tick, field_count>;

struct PacketItem {
    LocalId slot;
    SentAs as;
    std::uint32_t entity;
    Values values{};  ///< 0: not sent
    bool is_section = false;
};
struct Packet {
    std::uint32_t sequence;
    Tick tick;
    std::vector<PacketItem> items;
    std::map<LocalId, std::uint32_t> references;  ///< entities that values reference
};

/// What arrived at the observer for one local id.
struct Copy {
    std::uint32_t entity = ~0U;
    bool is_held = false;  ///< false: a retained ghost
    Values values{};
};

class LossyLink {
  public:
    explicit LossyLink(std::uint64_t seed)
        : random_(seed),
          loss_(random_.below(3) == 0 ? 0 : random_.between(0.05F, 0.5F)),
          has_sections_(random_.below(2) == 0),
          is_staged_(!has_sections_ && random_.below(2) == 0),
          is_tight_(random_.below(2) == 0),
          values_(entities, Values{1, 1, 1}) {
        ghosts_.reports().keep(true);
    }

    void run(Tick ticks) {
        for (now_ = 2; now_ < ticks; ++now_) tick(random_.below(6) != 0, loss_);
        // Without changes and losses, everything arrives.
        is_tight_ = false;
        for (Tick i = 0; i < 3 * round_trip_ticks_max; ++i, ++now_) tick(false, 0);
        for (const auto& [slot, copy] : copies_) {
            if (ghosts_.slots().is_live(slot)) REQUIRE(copy.values == values_[copy.entity]);
        }
        for (std::uint32_t e = 0; e < entities; ++e) {
            const LocalId slot = ghosts_.slots().find(id(e));
            REQUIRE((slot != no_local_id) == relevant_.contains(e));
            if (slot == no_local_id) continue;
            REQUIRE(!ghosts_.sends().is_pending(slot));
            REQUIRE((copies_.contains(slot) && copies_[slot].is_held));
        }
    }
    std::uint64_t lost = 0, sectioned = 0, kept = 0, resumed = 0, compared = 0, aged = 0;
    std::uint64_t outstanding = 0, referenced = 0, reported = 0;

  private:
    static EntityId id(std::uint32_t entity) { return make_entity_id(entity, 1); }

    void tick(bool is_busy, float loss) {
        receive(loss);
        if (is_busy) enter_and_leave();
        ghosts_.begin_tick(now_);
        ghosts_.drop_retained(now_, 0, [](LocalId) {});
        if (is_staged_) stage_fields(is_busy);
        Bitset changed(128);
        for (std::uint32_t e = 0; is_busy && e < entities; ++e) {
            if (random_.below(5) != 0) continue;
            changed.set(e);
            for (std::size_t f = random_.below(field_count); f < field_count;
                 f += 1 + random_.below(3))
                values_[e][f] = now_;
            if (relevant_.contains(e)) changes_[e].push_back(now_);
        }
        std::vector<std::uint64_t> covered;
        if (has_sections_ && random_.below(2) == 0) {
            for (std::size_t w = 0; w < ghosts_.slots().live().size(); ++w)
                covered.push_back(ghosts_.slots().live()[w] & (random_.next() | random_.next()));
        }
        std::vector<std::uint64_t> before;
        for (std::size_t w = 0; w < ghosts_.sends().pending().size(); ++w)
            before.push_back(ghosts_.sends().pending()[w]);
        const auto always = [](LocalId) { return true; };
        ghosts_.gather(changed, changed, now_, covered, always, always);
        compare();
        if (!has_sections_ && !is_staged_) compare_ages();
        send(changed, covered, before);
        if (random_.below(2) == 0) ghosts_.end_tick();
    }

    void enter_and_leave() {
        for (std::uint32_t e = 0; e < entities; ++e) {
            if (random_.below(60) != 0) continue;
            if (relevant_.erase(e) != 0) {
                const RetentionPeriod period{Retention::stale, now_ + 20};
                kept += ghosts_.leave(ghosts_.slots().find(id(e)), Reason::left,
                                      random_.below(2) == 0 ? period : RetentionPeriod{})
                            ? 1
                            : 0;
            } else {
                resumed += ghosts_.retained().is_retained(id(e)) ? 1 : 0;
                ghosts_.enter(id(e), id_at<KindId>(0), false, now_);
                changes_[e] = {now_};
                relevant_.insert(e);
            }
        }
        for (const std::uint32_t e : relevant_) {
            if (random_.below(50) == 0) ghosts_.set_owned(id(e), random_.below(2) == 0, now_);
        }
    }

    /// Not all changes may fit. The remainder waits for the delivery status of the sent part.
    void stage_fields(bool is_busy) {
        for (const std::uint32_t e : relevant_) {
            const LocalId slot = ghosts_.slots().find(id(e));
            if (ghosts_.sends().is_blocked(slot)) continue;
            ghosts_.set_layout(slot, true, 0);
            const bool has_pending = is_busy && random_.below(6) == 0;
            const std::uint32_t left_out = has_pending ? 1U << random_.below(field_count) : 0;
            ghosts_.set_allowed(slot, ~left_out, 0, now_);
            has_pending ? ghosts_.set_remainder(slot, random_.below(field_count))
                        : ghosts_.clear_remainder(slot);
            outstanding += has_pending ? 1 : 0;
        }
    }

    void send(const Bitset& changed, const std::vector<std::uint64_t>& covered,
              const std::vector<std::uint64_t>& before) {
        std::vector<std::pair<LocalId, SentAs>> items;
        std::vector<LocalId> sections;
        for (LocalId slot = 0; slot < ghosts_.slots().end(); ++slot) {
            const auto bit = [&](const auto& words) {
                return (words[slot / 64] >> (slot % 64) & 1U) != 0;
            };
            if (bit(ghosts_.slots().needs_leave())) {
                items.emplace_back(
                    slot, ghosts_.retained().is_retained(slot) ? SentAs::keep : SentAs::leave);
            } else if (ghosts_.sends().is_pending(slot) && !ghosts_.sends().is_blocked(slot)) {
                items.emplace_back(
                    slot, ghosts_.slots().needs_enter(slot) ? SentAs::enter : SentAs::update);
            } else if (slot / 64 < covered.size() && bit(covered) && !bit(before) &&
                       changed.test(ghosts_.slots().entity_index(slot))) {
                sections.push_back(slot);
            }
        }
        const bool gives_up = !covered.empty() && random_.below(4) == 0;
        if (gives_up) ghosts_.give_up_sections();
        if (random_.below(5) == 0) return;  // no packet in this tick
        Packet packet{sequence_++, now_, {}, {}};
        PacketRecord& record = ghosts_.begin_packet(packet.sequence, now_);
        for (const auto& [slot, as] : items) {
            if (is_tight_ && random_.below(3) == 0) continue;
            const Tick since = as == SentAs::enter ? 0 : ghosts_.sends().baseline(slot);
            PacketItem item{slot, as, ghosts_.slots().entity_index(slot), {}};
            for (std::size_t f = 0; f < field_count; ++f) {
                const Tick value = values_[item.entity][f];
                const bool is_new =
                    value > since || (ghosts_.audience().gained(slot) >> f & 1U) != 0;
                item.values[f] =
                    is_new && (ghosts_.audience().allowed(slot) >> f & 1U) != 0 ? value : 0;
            }
            ghosts_.sent(record, slot, as);
            packet.items.push_back(item);
            if (random_.below(8) == 0) add_reference(packet);
        }
        if (!covered.empty() && !gives_up) {
            ghosts_.sent_sections(record);
            for (const LocalId slot : sections) {
                PacketItem item{slot, SentAs::update, ghosts_.slots().entity_index(slot), {}, true};
                for (std::size_t f = 0; f < field_count; ++f) {
                    const Tick value = values_[item.entity][f];
                    item.values[f] = value == now_ ? value : 0;
                }
                packet.items.push_back(item);
            }
            sectioned += sections.size();
        }
        in_flight_.push_back(packet);
    }

    /// Adds a reference to a relevant entity, which may not have entered yet.
    void add_reference(Packet& packet) {
        if (relevant_.empty()) return;
        auto it = relevant_.begin();
        std::advance(it, random_.below(static_cast<std::uint32_t>(relevant_.size())));
        const LocalId slot = ghosts_.slots().find(id(*it));
        ghosts_.reference_sent(slot);
        packet.references[slot] = *it;
        referenced += ghosts_.slots().needs_enter(slot) ? 1 : 0;
    }

    void receive(float loss) {
        while (!in_flight_.empty() &&
               (random_.below(2) == 0 || in_flight_.front().tick + round_trip_ticks_max <= now_)) {
            const Packet packet = in_flight_.front();
            in_flight_.pop_front();
            const bool arrives = !random_.chance(loss);
            if (arrives) apply(packet);
            lost += arrives ? 0 : packet.items.size();
            const PacketRecord* record = ghosts_.packets().oldest_with_sections(packet.sequence);
            if (record != nullptr && !arrives) {
                ghosts_.lost_sections(*record, [&](LocalId slot) {
                    const Values& values = values_[ghosts_.slots().entity_index(slot)];
                    return std::find(values.begin(), values.end(), record->tick) != values.end();
                });
            }
            ghosts_.resolve(packet.sequence, arrives);
            if (arrives) compare_report(packet.sequence);
        }
    }

    /// The observer holds as many ghosts as the table reports for this packet.
    void compare_report(std::uint32_t sequence) {
        const HeldReport& report = ghosts_.reports().last();
        REQUIRE(report.sequence == sequence);
        const auto held = std::count_if(copies_.begin(), copies_.end(),
                                        [](const auto& its) { return its.second.is_held; });
        REQUIRE(report.relevant - report.backlog + report.unacknowledged_leaves == held);
        ++reported;
    }

    void apply(const Packet& packet) {
        for (const PacketItem& item : packet.items) {
            if (item.as == SentAs::leave) {
                copies_.erase(item.slot);
                references_.erase(item.slot);
            }
            // A ghost that enters under a referenced id must be the referenced entity.
            if (item.as == SentAs::enter && references_.contains(item.slot))
                REQUIRE(references_[item.slot] == item.entity);
        }
        for (const auto& [slot, entity] : packet.references) references_[slot] = entity;
        for (const PacketItem& item : packet.items) {
            if (item.as == SentAs::leave) continue;
            Copy& copy = copies_[item.slot];
            if (item.as == SentAs::enter || copy.entity == item.entity)
                std::erase_if(changes_[item.entity], [&](Tick t) { return t <= packet.tick; });
            switch (item.as) {
                case SentAs::enter:
                    copy = {item.entity, true, item.values};
                    break;
                case SentAs::update:
                    if (copy.entity != item.entity || (item.is_section && !copy.is_held)) break;
                    copy.is_held = true;  // a retained ghost resumes
                    for (std::size_t f = 0; f < field_count; ++f)
                        if (item.values[f] != 0) copy.values[f] = item.values[f];
                    break;
                case SentAs::keep:
                    copy.is_held = false;
                    break;
                case SentAs::leave:
                    break;
            }
        }
    }

    /// Checks that everything below the table's baselines has arrived.
    void compare() {
        for (const std::uint32_t e : relevant_) {
            const LocalId slot = ghosts_.slots().find(id(e));
            REQUIRE(slot != no_local_id);
            if (!ghosts_.slots().is_held(slot) || ghosts_.sends().is_away(slot)) continue;
            const auto copy = copies_.find(slot);
            REQUIRE(copy != copies_.end());
            REQUIRE(copy->second.entity == e);
            REQUIRE((copy->second.is_held && !is_parting(slot)));
            const std::uint32_t known =
                ghosts_.audience().allowed(slot) & ~ghosts_.audience().gained(slot);
            for (std::size_t f = 0; f < field_count; ++f) {
                if (values_[e][f] > ghosts_.sends().baseline(slot) || (known >> f & 1U) == 0)
                    continue;
                REQUIRE(copy->second.values[f] == values_[e][f]);
                ++compared;
            }
        }
    }

    /// Whether a packet that retains the ghost is in flight.
    bool is_parting(LocalId slot) const {
        return std::any_of(in_flight_.begin(), in_flight_.end(), [&](const Packet& packet) {
            return std::any_of(packet.items.begin(), packet.items.end(),
                               [&](const PacketItem& item) {
                                   return item.slot == slot && item.as == SentAs::keep;
                               });
        });
    }

    /// Checks that a ghost waits at least since its oldest change that did not arrive and is not in
    /// flight.
    void compare_ages() {
        std::map<std::uint32_t, Tick> newest;  // packet in flight, by entity
        for (const Packet& packet : in_flight_) {
            for (const PacketItem& item : packet.items) newest[item.entity] = packet.tick;
        }
        for (const std::uint32_t e : relevant_) {
            const std::vector<Tick>& changes = changes_[e];
            const auto waits =
                std::find_if(changes.begin(), changes.end(), [&](Tick t) { return t > newest[e]; });
            if (waits == changes.end()) continue;
            const LocalId slot = ghosts_.slots().find(id(e));
            REQUIRE(ghosts_.sends().is_pending(slot));
            REQUIRE(ghosts_.sends().waiting_since(slot) <= *waits);
            aged += *waits < now_ ? 1 : 0;
        }
    }

    SplitMix random_;
    float loss_;
    bool has_sections_;
    bool is_staged_;
    bool is_tight_;
    GhostTable ghosts_;
    Tick now_ = 1;
    std::uint32_t sequence_ = 1;
    std::vector<Values> values_;                          ///< by entity
    std::map<std::uint32_t, std::vector<Tick>> changes_;  ///< changes that may not have arrived
    std::set<std::uint32_t> relevant_;
    std::deque<Packet> in_flight_;
    std::map<LocalId, Copy> copies_;
    std::map<LocalId, std::uint32_t> references_;  ///< received references
};

}  // namespace

TEST_CASE("replication: the ghost table matches what the observer received (O29 N29)") {
    std::uint64_t lost = 0, sectioned = 0, kept = 0, resumed = 0, compared = 0, aged = 0;
    std::uint64_t outstanding = 0, referenced = 0, reported = 0;
    constexpr std::uint64_t seeds = unless_sanitized<std::uint64_t>(100, 25);
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        CAPTURE(seed);
        LossyLink link(seed);
        link.run(400);
        lost += link.lost;
        sectioned += link.sectioned;
        kept += link.kept;
        resumed += link.resumed;
        compared += link.compared;
        aged += link.aged;
        outstanding += link.outstanding;
        referenced += link.referenced;
        reported += link.reported;
    }
    CHECK(lost > seeds * 200);
    CHECK(sectioned > seeds * 20);
    CHECK(kept > seeds * 10);
    CHECK(resumed > seeds * 3);
    CHECK(compared > seeds * 10'000);
    CHECK(aged > seeds * 200);
    CHECK(outstanding > seeds * 50);
    CHECK(referenced > seeds * 10);
    CHECK(reported > seeds * 100);
}

}  // namespace purview::test
