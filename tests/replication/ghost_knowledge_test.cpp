// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What the table of ghosts believes that an observer has, beside an observer who has nothing but
// what arrived, on a line that loses. A value is the tick in which it changed. On some lines not
// all that is new of a ghost fits into a packet, so its fields (a part each) go in turns.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "core/hash.hpp"
#include "replication/ghost_table.hpp"

namespace purview::test {

namespace {

constexpr std::uint32_t entities = 90;
constexpr Tick round_trip_ticks_max = 4;
constexpr std::size_t field_count = 3;

using Values = std::array<Tick, field_count>;

struct Told {
    LocalId lane;
    SentAs as;
    std::uint32_t entity;
    Values values{};  ///< 0: not told
    bool is_section = false;
};
struct Packet {
    std::uint32_t sequence;
    Tick tick;
    std::vector<Told> told;
    std::map<LocalId, std::uint32_t> names;  ///< entities that values refer to
};

/// What arrived at the observer, under local ids.
struct Copy {
    std::uint32_t entity = ~0U;
    bool is_held = false;  ///< or it is a copy that is kept
    Values values{};
};

class Line {
  public:
    explicit Line(std::uint64_t seed)
        : random_(seed),
          loss_(random_.below(3) == 0 ? 0 : random_.between(0.05F, 0.5F)),
          has_sections_(random_.below(2) == 0),
          has_turns_(!has_sections_ && random_.below(2) == 0),
          is_tight_(random_.below(2) == 0),
          values_(entities, Values{1, 1, 1}) {
        ghosts_.keep_reports(true);
    }

    void run(Tick ticks) {
        for (now_ = 2; now_ < ticks; ++now_) tick(random_.below(6) != 0, loss_);
        // At rest all of it arrives.
        is_tight_ = false;
        for (Tick i = 0; i < 3 * round_trip_ticks_max; ++i, ++now_) tick(false, 0);
        for (const auto& [lane, copy] : copies_) {
            if (ghosts_.is_live(lane)) REQUIRE(copy.values == values_[copy.entity]);
        }
        for (std::uint32_t e = 0; e < entities; ++e) {
            const LocalId lane = ghosts_.find(id(e));
            REQUIRE((lane != no_local_id) == relevant_.contains(e));
            if (lane == no_local_id) continue;
            REQUIRE(!ghosts_.is_pending(lane));
            REQUIRE((copies_.contains(lane) && copies_[lane].is_held));
        }
    }
    std::uint64_t lost = 0, sectioned = 0, kept = 0, resumed = 0, compared = 0, aged = 0;
    std::uint64_t owed = 0, named = 0, reported = 0;

  private:
    static EntityId id(std::uint32_t entity) { return make_entity_id(entity, 1); }

    void tick(bool is_busy, float loss) {
        hear(loss);
        if (is_busy) come_and_go();
        ghosts_.begin_tick(now_);
        ghosts_.drop_retained(now_, 0, [](LocalId) {});
        if (has_turns_) take_turns(is_busy);
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
            for (std::size_t w = 0; w < ghosts_.live().size(); ++w)
                covered.push_back(ghosts_.live()[w] & (random_.next() | random_.next()));
        }
        std::vector<std::uint64_t> before;
        for (std::size_t w = 0; w < ghosts_.pending().size(); ++w)
            before.push_back(ghosts_.pending()[w]);
        const auto always = [](LocalId) { return true; };
        ghosts_.gather(changed, changed, now_, covered, always, always);
        compare();
        if (!has_sections_ && !has_turns_) compare_ages();
        send(changed, covered, before);
        if (random_.below(2) == 0) ghosts_.end_tick();
    }

    void come_and_go() {
        for (std::uint32_t e = 0; e < entities; ++e) {
            if (random_.below(60) != 0) continue;
            if (relevant_.erase(e) != 0) {
                const Keeping keeping{Retention::stale, now_ + 20};
                kept +=
                    ghosts_.leave(id(e), Reason::left, random_.below(2) == 0 ? keeping : Keeping{})
                        ? 1
                        : 0;
            } else {
                resumed += ghosts_.is_retained(id(e)) ? 1 : 0;
                ghosts_.enter(id(e), KindId{}, false, now_);
                changes_[e] = {now_};
                relevant_.insert(e);
            }
        }
        for (const std::uint32_t e : relevant_) {
            if (random_.below(50) == 0) ghosts_.set_owned(id(e), random_.below(2) == 0, now_);
        }
    }

    /// Of what is new not all may fit; what is left over waits until that has arrived.
    void take_turns(bool is_busy) {
        for (const std::uint32_t e : relevant_) {
            const LocalId lane = ghosts_.find(id(e));
            if (ghosts_.is_awaited(lane)) continue;
            ghosts_.set_restricted(lane);
            const bool owes = is_busy && random_.below(6) == 0;
            const std::uint32_t left_out = owes ? 1U << random_.below(field_count) : 0;
            ghosts_.set_told(lane, ~left_out, 0, now_);
            owes ? ghosts_.owe(lane, random_.below(field_count)) : ghosts_.owe_nothing(lane);
            owed += owes ? 1 : 0;
        }
    }

    void send(const Bitset& changed, const std::vector<std::uint64_t>& covered,
              const std::vector<std::uint64_t>& before) {
        std::vector<std::pair<LocalId, SentAs>> items;
        std::vector<LocalId> sections;
        for (LocalId lane = 0; lane < ghosts_.lane_end(); ++lane) {
            const auto bit = [&](const auto& words) {
                return (words[lane / 64] >> (lane % 64) & 1U) != 0;
            };
            if (bit(ghosts_.needs_leave())) {
                items.emplace_back(lane, ghosts_.is_kept(lane) ? SentAs::keep : SentAs::leave);
            } else if (ghosts_.is_pending(lane) && !ghosts_.is_awaited(lane)) {
                items.emplace_back(lane,
                                   ghosts_.needs_enter(lane) ? SentAs::enter : SentAs::update);
            } else if (lane / 64 < covered.size() && bit(covered) && !bit(before) &&
                       changed.test(ghosts_.entity_index(lane))) {
                sections.push_back(lane);
            }
        }
        const bool gives_up = !covered.empty() && random_.below(4) == 0;
        if (gives_up) ghosts_.give_up_sections();
        if (random_.below(5) == 0) return;  // nothing this time
        Packet packet{sequence_++, now_, {}, {}};
        PacketRecord& record = ghosts_.begin_record(packet.sequence, now_);
        for (const auto& [lane, as] : items) {
            if (is_tight_ && random_.below(3) == 0) continue;
            const Tick since = as == SentAs::enter ? 0 : ghosts_.baseline(lane);
            Told told{lane, as, ghosts_.entity_index(lane), {}};
            for (std::size_t f = 0; f < field_count; ++f) {
                const Tick value = values_[told.entity][f];
                const bool is_new = value > since || (ghosts_.gained(lane) >> f & 1U) != 0;
                told.values[f] = is_new && (ghosts_.told(lane) >> f & 1U) != 0 ? value : 0;
            }
            ghosts_.sent(record, lane, as);
            packet.told.push_back(told);
            if (random_.below(8) == 0) name(packet);
        }
        if (!covered.empty() && !gives_up) {
            ghosts_.sent_sections(record);
            for (const LocalId lane : sections) {
                Told told{lane, SentAs::update, ghosts_.entity_index(lane), {}, true};
                for (std::size_t f = 0; f < field_count; ++f) {
                    const Tick value = values_[told.entity][f];
                    told.values[f] = value == now_ ? value : 0;
                }
                packet.told.push_back(told);
            }
            sectioned += sections.size();
        }
        under_way_.push_back(packet);
    }

    /// A value refers to somebody who is relevant, whether he has been shown or not.
    void name(Packet& packet) {
        if (relevant_.empty()) return;
        auto it = relevant_.begin();
        std::advance(it, random_.below(static_cast<std::uint32_t>(relevant_.size())));
        const LocalId lane = ghosts_.find(id(*it));
        ghosts_.named(lane);
        packet.names[lane] = *it;
        named += ghosts_.needs_enter(lane) ? 1 : 0;
    }

    void hear(float loss) {
        while (!under_way_.empty() &&
               (random_.below(2) == 0 || under_way_.front().tick + round_trip_ticks_max <= now_)) {
            const Packet packet = under_way_.front();
            under_way_.pop_front();
            const bool arrives = !random_.chance(loss);
            if (arrives) apply(packet);
            lost += arrives ? 0 : packet.told.size();
            const PacketRecord* record = ghosts_.oldest_with_sections(packet.sequence);
            if (record != nullptr && !arrives) {
                ghosts_.lost_sections(*record, [&](LocalId lane) {
                    const Values& values = values_[ghosts_.entity_index(lane)];
                    return std::find(values.begin(), values.end(), record->tick) != values.end();
                });
            }
            ghosts_.resolve(packet.sequence, arrives);
            if (arrives) compare_report(packet.sequence);
        }
    }

    /// He holds as many as the table says that he held after this packet.
    void compare_report(std::uint32_t sequence) {
        const HeldReport& report = ghosts_.held_report();
        REQUIRE(report.sequence == sequence);
        const auto held = std::count_if(copies_.begin(), copies_.end(),
                                        [](const auto& its) { return its.second.is_held; });
        REQUIRE(report.relevant - report.backlog + report.unacknowledged_leaves == held);
        ++reported;
    }

    void apply(const Packet& packet) {
        for (const Told& told : packet.told) {
            if (told.as == SentAs::leave) {
                copies_.erase(told.lane);
                names_.erase(told.lane);
            }
            // Whoever was named by an id is who is shown under it.
            if (told.as == SentAs::enter && names_.contains(told.lane))
                REQUIRE(names_[told.lane] == told.entity);
        }
        for (const auto& [lane, entity] : packet.names) names_[lane] = entity;
        for (const Told& told : packet.told) {
            if (told.as == SentAs::leave) continue;
            Copy& copy = copies_[told.lane];
            if (told.as == SentAs::enter || copy.entity == told.entity)
                std::erase_if(changes_[told.entity], [&](Tick t) { return t <= packet.tick; });
            switch (told.as) {
                case SentAs::enter:
                    copy = {told.entity, true, told.values};
                    break;
                case SentAs::update:
                    if (copy.entity != told.entity || (told.is_section && !copy.is_held)) break;
                    copy.is_held = true;  // of a copy: it goes on
                    for (std::size_t f = 0; f < field_count; ++f)
                        if (told.values[f] != 0) copy.values[f] = told.values[f];
                    break;
                case SentAs::keep:
                    copy.is_held = false;
                    break;
                case SentAs::leave:
                    break;
            }
        }
    }

    /// Whatever the table takes for granted has arrived.
    void compare() {
        for (const std::uint32_t e : relevant_) {
            const LocalId lane = ghosts_.find(id(e));
            REQUIRE(lane != no_local_id);
            if (!ghosts_.is_held(lane) || ghosts_.is_away(lane)) continue;
            const auto copy = copies_.find(lane);
            REQUIRE(copy != copies_.end());
            REQUIRE(copy->second.entity == e);
            REQUIRE((copy->second.is_held && !is_parting(lane)));
            const std::uint32_t known = ghosts_.told(lane) & ~ghosts_.gained(lane);
            for (std::size_t f = 0; f < field_count; ++f) {
                if (values_[e][f] > ghosts_.baseline(lane) || (known >> f & 1U) == 0) continue;
                REQUIRE(copy->second.values[f] == values_[e][f]);
                ++compared;
            }
        }
    }

    /// A packet says that of the ghost a copy is kept, and may still arrive.
    bool is_parting(LocalId lane) const {
        return std::any_of(under_way_.begin(), under_way_.end(), [&](const Packet& packet) {
            return std::any_of(packet.told.begin(), packet.told.end(), [&](const Told& told) {
                return told.lane == lane && told.as == SentAs::keep;
            });
        });
    }

    /// What waits is as old as the oldest change that he was never sent, or that was lost each
    /// time.
    void compare_ages() {
        std::map<std::uint32_t, Tick> newest;  // packet under way, by entity
        for (const Packet& packet : under_way_) {
            for (const Told& told : packet.told) newest[told.entity] = packet.tick;
        }
        for (const std::uint32_t e : relevant_) {
            const std::vector<Tick>& changes = changes_[e];
            const auto waits =
                std::find_if(changes.begin(), changes.end(), [&](Tick t) { return t > newest[e]; });
            if (waits == changes.end()) continue;
            const LocalId lane = ghosts_.find(id(e));
            REQUIRE(ghosts_.is_pending(lane));
            REQUIRE(ghosts_.waiting_since(lane) <= *waits);
            aged += *waits < now_ ? 1 : 0;
        }
    }

    SplitMix random_;
    float loss_;
    bool has_sections_;
    bool has_turns_;
    bool is_tight_;
    GhostTable ghosts_;
    Tick now_ = 1;
    std::uint32_t sequence_ = 1;
    std::vector<Values> values_;                          ///< by entity
    std::map<std::uint32_t, std::vector<Tick>> changes_;  ///< that may not have arrived
    std::set<std::uint32_t> relevant_;
    std::deque<Packet> under_way_;
    std::map<LocalId, Copy> copies_;
    std::map<LocalId, std::uint32_t> names_;  ///< that he has heard
};

}  // namespace

TEST_CASE(
    "replication: an observer has what the table believes, and in the end all of it, whatever is "
    "lost, waits, comes back, goes in sections or in turns (O29 N29)") {
    std::uint64_t lost = 0, sectioned = 0, kept = 0, resumed = 0, compared = 0, aged = 0;
    std::uint64_t owed = 0, named = 0, reported = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        CAPTURE(seed);
        Line line(seed);
        line.run(400);
        lost += line.lost;
        sectioned += line.sectioned;
        kept += line.kept;
        resumed += line.resumed;
        compared += line.compared;
        aged += line.aged;
        owed += line.owed;
        named += line.named;
        reported += line.reported;
    }
    CHECK(lost > 20'000);
    CHECK(sectioned > 2'000);
    CHECK(kept > 1'000);
    CHECK(resumed > 300);
    CHECK(compared > 1'000'000);
    CHECK(aged > 20'000);
    CHECK(owed > 5'000);
    CHECK(named > 1'000);
    CHECK(reported > 10'000);
}

}  // namespace purview::test
