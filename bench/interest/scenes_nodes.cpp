// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include <algorithm>
#include <bit>
#include <cstdio>
#include <iterator>
#include <unordered_set>

#include "exact.hpp"
#include "scenes.hpp"

namespace purview::bench {

namespace {

// -- nodes: entities in many nodes, some in several -----------------------------------------------

/// Every node shows an observer the members that are in its team. Per tick, 100 entities change
/// their nodes and 10 change their team.
struct NodesCase {
    std::uint32_t nodes;
    std::uint32_t memberships;
};
constexpr std::uint32_t teams = 20, rebound_per_tick = 100, regrouped_per_tick = 10,
                        changes_per_tick = rebound_per_tick + regrouped_per_tick;

std::uint16_t team_of(std::uint32_t entity, std::uint32_t tick) {
    return static_cast<std::uint16_t>(1 + mix((std::uint64_t{tick} << 32) + entity) % teams);
}

/// The nodes of an entity from this tick on, without duplicates.
std::vector<NodeId> nodes_of(const NodesCase& c, std::uint32_t entity, std::uint32_t tick) {
    std::vector<NodeId> nodes;
    for (std::uint64_t i = 0; nodes.size() < std::min(c.memberships, c.nodes); ++i) {
        const std::uint64_t h = mix(mix((std::uint64_t{tick} << 32) + entity) + i);
        const NodeId node = id_at<NodeId>(h % c.nodes);
        if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
    }
    return nodes;
}

/// Calls change(entity) for the changed entities of this tick. `salt` separates the kinds of
/// change.
template <class Edit>
void for_each_changed(std::uint32_t entities, std::uint32_t tick, std::uint64_t salt,
                      std::uint32_t count, Edit&& change) {
    for (std::uint64_t i = 0; i < count; ++i)
        change(static_cast<std::uint32_t>(mix((salt << 60) + (std::uint64_t{tick} << 32) + i) %
                                          entities));
}

OurRules in_nodes(const NodesCase& c, std::uint32_t entities) {
    OurRules rules;
    rules.edit = [c](Rules& def) {
        def.key_names.resize(1);
        NodeDef node;
        node.members = Members::bound;
        node.add(same(id_at<KeyId>(0)));
        def.nodes.assign(c.nodes, node);
        for (std::uint32_t i = 0; i < c.nodes; ++i) def.nodes[i].name = "node " + std::to_string(i);
    };
    struct Held {
        std::vector<NodeId> nodes;
        Key team;
    };
    rules.dress = [c, held = Held{}](EntityDef& entity, std::uint32_t i) mutable {
        held.nodes = nodes_of(c, i, 0);
        held.team = Key{team_of(i, 0)};
        entity.nodes = held.nodes;
        entity.keys = std::span(&held.team, 1);
    };
    rules.change = [c, entities](InterestManager& manager, OurRules::Observers,
                                 std::uint32_t tick) {
        for_each_changed(entities, tick, 1, rebound_per_tick, [&](std::uint32_t e) {
            (void)manager.rebind(entity_of(e), nodes_of(c, e, tick));
        });
        for_each_changed(entities, tick, 2, regrouped_per_tick, [&](std::uint32_t e) {
            (void)manager.set_key(entity_of(e), id_at<KeyId>(0), Key{team_of(e, tick)});
        });
    };
    return rules;
}

/// A set of indices: open addressing, at most half full, constant-time clear.
class FlatSet {
  public:
    void clear() {
        if (++round_ == 0) {
            slots_.assign(slots_.size(), {});
            round_ = 1;
        }
        values_.clear();
    }
    void insert(std::uint32_t value) {
        if (2 * (values_.size() + 1) > slots_.size()) grow();
        Slot& slot = slots_[find(value)];
        if (slot.round == round_) return;
        slot = {value, round_};
        values_.push_back(value);
    }
    bool contains(std::uint32_t value) const {
        return !slots_.empty() && slots_[find(value)].round == round_;
    }
    const std::vector<std::uint32_t>& values() const { return values_; }

  private:
    struct Slot {
        std::uint32_t value = 0, round = 0;
    };
    std::size_t find(std::uint32_t value) const {
        std::size_t at = (value * 0x9E3779B97F4A7C15ULL) >> shift_;
        while (slots_[at].round == round_ && slots_[at].value != value)
            at = (at + 1) & (slots_.size() - 1);
        return at;
    }
    void grow() {
        const std::size_t size = std::max<std::size_t>(64, 2 * slots_.size());
        slots_.assign(size, {});
        shift_ = 64 - static_cast<unsigned>(std::countr_zero(size));
        for (const std::uint32_t value : values_) slots_[find(value)] = {value, round_};
    }
    std::vector<Slot> slots_;
    std::vector<std::uint32_t> values_;
    std::uint32_t round_ = 1;
    unsigned shift_ = 64;
};

/// The usual implementation: members of each node in an array, the results of all nodes merged in a
/// hash set per observer, and compared with the set of the previous tick.
class MergedSets final : public Engine {
  public:
    explicit MergedSets(const NodesCase& c) : case_(c), members_(c.nodes) {}
    void load(const Workload& workload, std::uint32_t observers) override {
        const auto n = static_cast<std::uint32_t>(workload.positions().size());
        homes_.resize(n);
        teams_.resize(n);
        for (std::uint32_t e = 0; e < n; ++e) {
            teams_[e] = team_of(e, 0);
            bind(e, 0);
        }
        now_.resize(observers);
        before_.resize(observers);
    }
    void update(std::span<const Move>) override {
        ++tick_;
        const auto n = static_cast<std::uint32_t>(teams_.size());
        for_each_changed(n, tick_, 1, rebound_per_tick, [&](std::uint32_t e) {
            for (const Home home : homes_[e]) leave(home);
            homes_[e].clear();
            bind(e, tick_);
        });
        for_each_changed(n, tick_, 2, regrouped_per_tick,
                         [&](std::uint32_t e) { teams_[e] = team_of(e, tick_); });
    }
    void query() override {
        events_.clear();
        for (std::uint32_t o = 0; o < now_.size(); ++o) {
            std::swap(now_[o], before_[o]);
            FlatSet& now = now_[o];
            const FlatSet& before = before_[o];
            now.clear();
            const std::uint16_t team = teams_[o];
            for (const auto& node : members_) {
                for (const std::uint32_t e : node) {
                    if (teams_[e] == team) now.insert(e);
                }
            }
            for (const std::uint32_t e : now.values()) {
                if (!before.contains(e)) events_.push_back({o, e, true});
            }
            for (const std::uint32_t e : before.values()) {
                if (!now.contains(e)) events_.push_back({o, e, false});
            }
        }
    }
    void for_each_event(const Notify& notify) const override {
        for (const Event& e : events_) notify(e.observer, e.entity, e.enter);
    }
    void for_each_relevant(std::uint32_t o, const Visit& visit) const override {
        for (const std::uint32_t e : now_[o].values()) visit(e);
    }

  private:
    struct Home {
        std::uint32_t node, at;
    };
    struct Event {
        std::uint32_t observer, entity;
        bool enter;
    };
    void bind(std::uint32_t e, std::uint32_t tick) {
        for (const NodeId node : nodes_of(case_, e, tick)) {
            auto& members = members_[index_of(node)];
            homes_[e].push_back({index_of(node), static_cast<std::uint32_t>(members.size())});
            members.push_back(e);
        }
    }
    void leave(Home home) {
        auto& members = members_[home.node];
        const auto last = static_cast<std::uint32_t>(members.size() - 1);
        for (Home& other : homes_[members[last]]) {
            if (other.node == home.node) other.at = home.at;
        }
        members[home.at] = members[last];
        members.pop_back();
    }

    NodesCase case_;
    std::uint32_t tick_ = 0;
    std::vector<std::vector<std::uint32_t>> members_;
    std::vector<std::vector<Home>> homes_;
    std::vector<std::uint16_t> teams_;
    std::vector<FlatSet> now_, before_;
    std::vector<Event> events_;
};

constexpr NodesCase nodes_cases[] = {{1, 1}, {100, 1}, {4000, 1}, {100, 4}, {4000, 4}};

std::string name_of(const NodesCase& c) {
    return "nodes " + std::to_string(c.nodes) + " x" + std::to_string(c.memberships);
}

void nodes(Report& report, const Options& options) {
    for (const NodesCase& c : nodes_cases) {
        Plan plan;
        plan.name = name_of(c);
        plan.scene = {plan.name, 10'000, 100, 200, 0, 0, 0, 0, false, 1600, 16};
        plan.ticks = ticks_of(options, 12);
        plan.entries = {ours("purview", in_nodes(c, plan.scene.entities)),
                        {"merged sets", [c] { return std::make_unique<MergedSets>(c); }, 0, true}};
        run_plan(report, plan);
    }
}

// -- spatial nodes: each entity is bound to one of K grid nodes with a radius ---------------------

struct SpatialCase {
    std::uint32_t nodes;
    bool are_equal;  ///< all nodes have one radius; otherwise each has its own
};
constexpr SpatialCase spatial_cases[] = {
    {1, true}, {100, true}, {1000, true}, {4000, true}, {4000, false}};

struct Motion {
    const char* name;
    std::uint32_t moving;  ///< per 1000 entities
    std::uint32_t step;
};
constexpr std::uint32_t spatial_radius = 1600, spatial_side = 106'667;  // 30 m and 2,000 m
constexpr Motion motions[] = {{"at rest", 0, 0},
                              {"moving", 1000, 5},  // 0.1 m along each axis
                              {"teleporting", 1000, spatial_side}};

std::string name_of(const SpatialCase& c, const Motion& motion) {
    return "spatial nodes " + std::to_string(c.nodes) + (c.are_equal ? " " : " unequal ") +
           motion.name;
}

float radius_of(const SpatialCase& c, std::uint32_t node) {
    return static_cast<float>(spatial_radius) - (c.are_equal ? 0.0F : static_cast<float>(node) / 8);
}

OurRules in_spatial_nodes(const SpatialCase& c) {
    OurRules rules;
    rules.edit = [c](Rules& def) {
        NodeDef node = def.nodes[0];
        node.members = Members::bound;
        def.nodes.assign(c.nodes, node);
        for (std::uint32_t i = 0; i < c.nodes; ++i) {
            def.nodes[i].name = "node " + std::to_string(i);
            def.nodes[i].steps = {within(radius_of(c, i))};
        }
    };
    rules.dress = [c, held = id_at<NodeId>(0)](EntityDef& entity, std::uint32_t i) mutable {
        held = id_at<NodeId>(i % c.nodes);
        entity.nodes = std::span(&held, 1);
    };
    return rules;
}

/// The RFC's algorithm as written: each node stores its entities in a hash set. A query evaluates
/// the kernel for each of them into a separate result set, and the sets of all nodes are merged.
/// Only the queries are timed, because the RFC computes no differences.
class LiteralNodes final : public Engine {
  public:
    explicit LiteralNodes(const SpatialCase& c) : case_(c), nodes_(c.nodes) {}
    void load(const Workload& workload, std::uint32_t observers) override {
        positions_.assign(workload.positions().begin(), workload.positions().end());
        for (std::uint32_t e = 0; e < positions_.size(); ++e) nodes_[e % case_.nodes].insert(e);
        now_.resize(observers);
        before_.resize(observers);
    }
    void update(std::span<const Move> moves) override {
        for (const Move& move : moves) positions_[index_of(move.entity)] = move.position;
    }
    void query() override {
        now_.swap(before_);
        for (std::uint32_t o = 0; o < now_.size(); ++o) {
            now_[o].clear();
            for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
                std::unordered_set<std::uint32_t> matches;
                const float reach = radius_of(case_, n) * radius_of(case_, n);
                for (const std::uint32_t e : nodes_[n]) {
                    if (squared_distance(positions_[o], positions_[e]) <= reach) matches.insert(e);
                }
                now_[o].insert(matches.begin(), matches.end());
            }
        }
    }
    void gather() override {
        events_.clear();
        for (std::uint32_t o = 0; o < now_.size(); ++o) {
            for (const std::uint32_t e : now_[o])
                if (!before_[o].contains(e)) events_.push_back({o, e, true});
            for (const std::uint32_t e : before_[o])
                if (!now_[o].contains(e)) events_.push_back({o, e, false});
        }
    }
    void for_each_event(const Notify& notify) const override {
        for (const Event& e : events_) notify(e.observer, e.entity, e.enter);
    }
    void for_each_relevant(std::uint32_t o, const Visit& visit) const override {
        for (const std::uint32_t e : now_[o]) visit(e);
    }

  private:
    struct Event {
        std::uint32_t observer, entity;
        bool enter;
    };
    SpatialCase case_;
    std::vector<std::unordered_set<std::uint32_t>> nodes_;
    std::vector<Vec3> positions_;
    std::vector<std::unordered_set<std::uint32_t>> now_, before_;
    std::vector<Event> events_;
};

void spatial_nodes(Report& report, const Options& options) {
    for (const Motion& motion : motions) {
        std::vector<Plan> plans;
        for (const SpatialCase& c : spatial_cases) {
            Plan plan;
            plan.name = name_of(c, motion);
            plan.scene = {plan.name,    10'000,         100,           0,
                          spatial_side, motion.moving,  motion.moving, 0,
                          false,        spatial_radius, motion.step};
            plan.ticks = ticks_of(options, 12);
            plan.entries = {
                ours("purview", in_spatial_nodes(c)),
                {"literal", [c] { return std::make_unique<LiteralNodes>(c); }, 0, true}};
            plans.push_back(plan);
        }
        for (const auto& rows : run_together(plans)) add_rows(report, rows);
    }
}

// -- shared store: four conditions of relevance, in one node or in four ---------------------------

void shared_store(Report& report, const Options& options) {
    Plan plan = plan_of("W2", options, 24);
    plan.name = "shared store";
    plan.scene.entities = 100'000;
    plan.scene.observers = 1'000;
    const auto rules_in = [](bool one_node) {
        OurRules rules;
        rules.edit = [one_node](Rules& def) {
            def.key_names.resize(1);
            def.flag_names.resize(1);
            def.value_names.resize(1);
            const Kernel near = def.nodes[0].steps[0];
            Kernel high(KernelType::value);
            high.value = id_at<ValueId>(0);
            high.min = 1;
            const Kernel steps[] = {near, same(id_at<KeyId>(0)), id_at<FlagId>(0), high};
            def.nodes.clear();
            for (const Kernel& step : steps) {
                if (!one_node || def.nodes.empty()) def.nodes.emplace_back().name = "some";
                def.nodes.back().add(step);
            }
        };
        struct Held {
            Key team;
            float height;
        };
        rules.dress = [held = Held{}](EntityDef& entity, std::uint32_t i) mutable {
            held.team = i < 1'000 ? Key{static_cast<std::uint16_t>(1 + i % teams)} : Key::none;
            held.height = mix(i) % 1000 == 0 ? 2 : 0;
            entity.flags = FlagSet(mix(i + 7) % 1000 == 0 ? 1 : 0);
            entity.keys = std::span(&held.team, 1);
            entity.values = std::span(&held.height, 1);
        };
        return rules;
    };
    const auto reach = static_cast<float>(plan.scene.radius * plan.scene.radius);
    const auto evaluate = [reach](std::uint32_t o, Vec3 from, std::uint32_t e, Vec3 at) {
        const bool are_mates = e < 1'000 && e % teams == o % teams;
        const bool is_flagged = mix(e + 7) % 1000 == 0, is_high = mix(e) % 1000 == 0;
        return squared_distance(from, at) <= reach || are_mates || is_flagged || is_high;
    };
    plan.entries = {ours("1 node", rules_in(true)),
                    ours("4 nodes", rules_in(false)),
                    {"brute", [evaluate] { return make_brute(evaluate); }, 20, true}};
    run_plan(report, plan);
}

// -- cells ----------------------------------------------------------------------------------------

/// The same entities and cell size, with bounds that contain more and more empty cells. Then, for
/// information only, W1 with smaller and smaller cells.
void cells(Report& report, const Options& options) {
    Plan plan = plan_of("W1", options, 60);
    plan.name = "cells";
    plan.scene.entities = 1'200;
    plan.scene.side = 6940;
    for (const float count : {10.0F, 100.0F, 1000.0F}) {
        OurRules rules;
        rules.edit = [count](Rules& def) {
            def.cell_size = 694;
            def.max = {694 * count, 694 * count, 0};
        };
        plan.entries.push_back(ours(std::to_string(static_cast<unsigned>(count * count)), rules));
    }
    plan.entries.push_back({"textbook", [] { return make_peer("textbook"); }, 0, true});
    run_plan(report, plan);

    Plan sizes = plan_of("W1", options, 24);
    sizes.name = "cell size";
    sizes.entries.push_back(ours("derived", {}));
    for (const float count : {10.0F, 100.0F, 1000.0F}) {
        OurRules rules;
        rules.edit = [count](Rules& def) { def.cell_size = def.max.x / count; };
        sizes.entries.push_back(ours(std::to_string(static_cast<unsigned>(count * count)), rules));
    }
    run_plan(report, sizes);
}

}  // namespace

NamedScenes scenes_of_nodes() {
    return {{"nodes", nodes},
            {"spatial nodes", spatial_nodes},
            {"shared store", shared_store},
            {"cells", cells}};
}

void figures_of_nodes(Report& report) {
    for (const NodesCase& c : nodes_cases) {
        const Row* ours = report.find(name_of(c), "purview");
        if (ours == nullptr) continue;
        const Row* sets = report.find(name_of(c), "merged sets");
        report.at_least(name_of(c) + " merged sets/ours", ratio(*sets, *ours), 5, 5);
        std::printf(
            "%s: results alone %.1f times, a state change takes %.2f us, with merged sets %.2f\n",
            name_of(c).c_str(), sets->query_ms / ours->query_ms,
            ours->update_ms * 1e3 / changes_per_tick, sets->update_ms * 1e3 / changes_per_tick);
    }
    for (const Motion& motion : motions) {
        const Row* one = report.find(name_of(spatial_cases[0], motion), "purview");
        for (const SpatialCase& c : spatial_cases) {
            const std::string name = name_of(c, motion);
            const Row* ours = report.find(name, "purview");
            if (one == nullptr || ours == nullptr) continue;
            report.at_least(name + " literal/ours", ratio(*report.find(name, "literal"), *ours), 1,
                            3);
            if (ours == one) continue;
            // Nodes with different rules are evaluated one by one. This case has no gate against
            // the literal algorithm.
            if (c.are_equal) {
                report.at_most(name + "/1", ratio(*ours, *one), 5, 2);
            } else {
                report.aim_at_most(name + "/1", ratio(*ours, *one), 5);
            }
        }
    }
    for (const char* name : {"1 node", "4 nodes"}) {
        const Row* row = report.find("shared store", name);
        if (row == nullptr) continue;
        std::printf("shared store, %s: %.3f ms, %.1f B per entity, %.0f B per observer\n", name,
                    row->ms_p50, row->bytes_entities, row->bytes_observers);
    }
    if (const Row* few = report.find("cells", "100")) {
        const Row* many = report.find("cells", "1000000");
        report.at_most("cells 1,000,000/100, query time", many->query_ms / few->query_ms, 1.2, 1.1);
    }
}

}  // namespace purview::bench
