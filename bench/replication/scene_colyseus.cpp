// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// 10,000 entities, explicit lists of 200, a tenth of the entities with new values in every tick.
// Runs alternately with @colyseus/schema on the same lists and values.
#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>

#include "replication/check.hpp"
#include "replication/colyseus_peer.hpp"
#include "replication/lists.hpp"
#include "replication/scenes.hpp"

namespace purview::bench {

namespace {

constexpr std::uint32_t rounds = 6;

struct Thing {
    float x = 0, y = 0;
    std::uint16_t hp = 0;
};

/// A component with restricted audience, in some rows.
struct Purse {
    std::uint16_t gold = 0;
};

struct Variant {
    std::string name;
    ListScene scene;
    float loss = 0;
    bool with_peer = true;
    std::uint32_t budget_bytes = 0;  ///< 0: the default, which is large enough for everything
    bool ranged = false;             ///< x and y lossless, with fewer bits within 0..1000
    bool purses = false;             ///< an additional component that only the owner receives
    /// Clients are correct after every tick; otherwise only after everything has arrived.
    bool right_at_once() const { return loss <= 0 && budget_bytes == 0; }
};

struct ThingSchema {
    explicit ThingSchema(const Variant& variant) {
        auto builder = schema.component<Thing>("thing");
        if (variant.scene.sixteen_bits) {
            const NumberRange range{0, 1000, 1000.0 / 65535};
            builder.quantized("x", &Thing::x, range).quantized("y", &Thing::y, range);
        } else if (variant.ranged) {
            builder.ranged("x", &Thing::x, 0, 1000).ranged("y", &Thing::y, 0, 1000);
        } else {
            builder.real("x", &Thing::x).real("y", &Thing::y);
        }
        thing = builder.integer("hp", &Thing::hp, 0, 999);
        if (!variant.purses) {
            kind = schema.kind("thing", {thing.id});
            return;
        }
        purse = schema.component<Purse>("purse").integer("gold", &Purse::gold, 0, 999);
        AudienceDef owner;
        owner.type = AudienceType::owner;
        schema.audience(purse.id, owner);
        kind = schema.kind("thing", {thing.id, purse.id});
    }
    Schema schema;
    Component<Thing> thing;
    Component<Purse> purse;
    KindId kind{};
};

/// Purview's side of a variant.
class OurSide {
  public:
    OurSide(const Variant& variant, const ListWorkload& workload)
        : workload_(&workload),
          right_at_once_(variant.right_at_once()),
          purses_(variant.purses),
          schema_(variant) {
        StageDef def;
        def.server.schema = &schema_.schema;
        def.server.rules.for_kind(id_at<KindId>(0)).mode = EntityMode::explicit_only;
        def.server.entities_max = variant.scene.entities;
        if (variant.budget_bytes > 0) def.server.budget_bytes_per_tick = variant.budget_bytes;
        def.clients = variant.scene.observers;
        def.watchers = static_cast<std::uint32_t>(lists_.size());
        def.loss = variant.loss;
        Script script;
        script.populate = [this](World& world) { populate(world); };
        script.joined = [this](Server& server, ObserverId o, std::uint32_t c) {
            const std::uint32_t wanted = workload_->scene.wanted;
            for (std::uint32_t i = 0; i < wanted; ++i) {
                const std::uint32_t e = workload_->lists[std::size_t{c} * wanted + i];
                (void)server.visibility().allow(o, entities_[e], true);
            }
            const EntityId mine = entities_[workload_->lists[std::size_t{c} * wanted]];
            if (purses_) (void)server.world().set_owner(mine, o);
        };
        script.simulate = [this](Server& server, Tick) { change(server.world()); };
        script.notify = [this](Server& server, Tick) { swap(server.visibility()); };
        script.relevant = [this](const World&, std::uint32_t client) { return lists_[client]; };
        stage_ = std::make_unique<Stage>(def, std::move(script));
        meter_.emplace(schema_.schema);
        stage_->on_datagram = [this](std::span<const std::byte> datagram) {
            meter_->read(datagram);
        };
    }
    bool ready() { return stage_->join(); }
    void turn(std::uint32_t ticks, Meter* meter) {
        if (meter != nullptr) meter->begin_round();
        for (std::uint32_t i = 0; i < ticks; ++i) {
            const TickCost cost = stage_->step();
            note_swaps();
            ++tick_;
            if (meter != nullptr) meter->add(cost);
            if (right_at_once_) checked += check_some();
        }
    }
    void count_from_here() { meter_->reset(); }
    const WireBits& bits() const { return meter_->bits(); }
    Stage& stage() { return *stage_; }
    Checked checked;

  private:
    void populate(World& world) {
        for (const ListWorkload::Values& v : workload_->first) {
            const EntityId entity = world.spawn({.kind = schema_.kind});
            (void)world.set(entity, schema_.thing, {v.x, v.y, static_cast<std::uint16_t>(v.hp)});
            if (purses_) (void)world.set(entity, schema_.purse, {static_cast<std::uint16_t>(v.hp)});
            entities_.push_back(entity);
        }
        const auto wanted = static_cast<std::ptrdiff_t>(workload_->scene.wanted);
        auto next = workload_->lists.begin();
        for (std::vector<EntityId>& list : lists_) {
            for (const auto end = next + wanted; next != end; ++next)
                list.push_back(entities_[*next]);
        }
    }
    /// Applies the swaps to the lists of complete clients.
    void note_swaps() {
        for (std::uint32_t o = 0; o < lists_.size(); ++o) {
            const auto* swaps = workload_->swaps_of(tick_, o);
            for (std::uint32_t i = 0; i < workload_->scene.churn; ++i) {
                std::replace(lists_[o].begin(), lists_[o].end(), entities_[swaps[i].out],
                             entities_[swaps[i].in]);
            }
        }
    }
    void change(World& world) {
        const auto* changes = workload_->changes_of(tick_);
        for (std::uint32_t i = 0; i < workload_->scene.changed; ++i) {
            const ListWorkload::Values& v = changes[i].values;
            Thing* thing = world.edit(entities_[changes[i].entity], schema_.thing);
            *thing = {v.x, v.y, static_cast<std::uint16_t>(v.hp)};
            if (purses_) world.edit(entities_[changes[i].entity], schema_.purse)->gold = thing->hp;
        }
    }
    void swap(Visibility& interest) {
        edits_.clear();
        for (std::uint32_t o = 0; o < workload_->scene.observers; ++o) {
            const auto* swaps = workload_->swaps_of(tick_, o);
            for (std::uint32_t i = 0; i < workload_->scene.churn; ++i) {
                const ObserverId observer = stage_->observer(o);
                edits_.push_back({observer, entities_[swaps[i].out], false});
                edits_.push_back({observer, entities_[swaps[i].in], true});
            }
        }
        (void)interest.allow(edits_);
    }
    /// Checks every tenth tick: without loss, clients are correct after each tick.
    Checked check_some() { return tick_ % 10 == 0 ? check_clients(*stage_) : Checked{}; }

    const ListWorkload* workload_;
    bool right_at_once_;
    bool purses_;
    ThingSchema schema_;
    std::vector<EntityId> entities_;
    /// Of complete clients, according to the workload.
    std::array<std::vector<EntityId>, 8> lists_;
    std::vector<PairEdit> edits_;
    std::unique_ptr<Stage> stage_;
    std::optional<WireMeter> meter_;
    std::uint32_t tick_ = 0;
};

void run(Report& report, const Options& options, Variant variant) {
    if (variant.name.find(options.row) == std::string::npos) return;
    const std::uint32_t ticks = ticks_of(options, 6, 20), warm_up = 20;
    variant.scene.ticks = warm_up + rounds * ticks;
    report_progress(variant.name, "workload");
    const ListWorkload workload(variant.scene);
    OurSide ours(variant, workload);
    report_progress(variant.name, "purview joins");
    if (!ours.ready()) {
        report.could_not_run(variant.name + " joined", "not all clients joined");
        return;
    }
    ColyseusPeer peer;
    ColyseusPeer::Turn turn;
    bool with_peer = variant.with_peer && !options.peer_script.empty();
    if (with_peer) {
        report_progress(variant.name, "colyseus joins");
        const std::string problem = peer.start(options.peer_script, workload);
        if (!problem.empty())
            std::fprintf(stderr, "\nthe peer does not run: %s\n", problem.c_str());
        with_peer = problem.empty() && peer.run(warm_up, turn);
    }
    ours.turn(warm_up, nullptr);
    ours.count_from_here();
    Meter mine, theirs;
    std::vector<double> view_ms;
    Row peer_row;
    for (std::uint32_t r = 0; r < rounds; ++r) {
        report_progress(variant.name,
                        "round " + std::to_string(r + 1) + " of " + std::to_string(rounds));
        ours.turn(ticks, &mine);
        if (!with_peer || !peer.run(ticks, turn)) continue;
        theirs.begin_round();
        for (std::size_t i = 0; i < turn.ms.size(); ++i) {
            theirs.add_ms(turn.ms[i] + turn.view_ms[i]);
            theirs.add_bytes(turn.bytes * variant.scene.observers);
        }
        view_ms.insert(view_ms.end(), turn.view_ms.begin(), turn.view_ms.end());
        peer_row.checked += {turn.values, turn.wrong};
    }
    mine.add_bits(ours.bits());
    if (!variant.right_at_once()) ours.checked += settle_and_check(ours.stage());
    std::vector<Row> rows{mine.row(variant.name, "purview", variant.scene.observers)};
    rows[0].checked = ours.checked;
    if (with_peer) {
        Row row = theirs.row(variant.name, "colyseus", variant.scene.observers);
        row.checked = peer_row.checked;
        row.more["view_ms"] = median(view_ms);
        rows.push_back(row);
    }
    add_rows(report, rows);
}

}  // namespace

void scene_colyseus(Report& report, const Options& options) {
    const auto with = [](auto edit) {
        ListScene scene;
        edit(scene);
        return scene;
    };
    run(report, options, {"colyseus 100", with([](auto& s) { s.observers = 100; })});
    run(report, options, {"colyseus 500", with([](auto& s) { s.observers = 500; })});
    run(report, options, {"colyseus 1000", {}});
    run(report, options, {"colyseus nearest", with([](auto& s) { s.nearest = true; })});
    run(report, options, {"colyseus churn", with([](auto& s) { s.churn = 4; })});
    run(report, options, {"colyseus 16 bit", with([](auto& s) { s.sixteen_bits = true; })});
    run(report, options, {"colyseus tight budget", {}, 0, false, 150});
    run(report, options, {"colyseus loss", {}, 0.05F, false});
    run(report, options, {"colyseus ranged floats", {}, 0, false, 0, true});
    run(report, options, {"colyseus ranged floats loss", {}, 0.05F, false, 0, true});
    run(report, options, {"colyseus owner's purse", {}, 0, false, 0, false, true});
    run(report, options,
        {"colyseus 16 bit loss", with([](auto& s) { s.sixteen_bits = true; }), 0.05F, false});
}

void figures_of_colyseus(Report& report) {
    const auto is_ours = [](const Row& row) {
        return row.scene.rfind("colyseus", 0) == 0 && row.engine == "purview";
    };
    if (std::none_of(report.rows.begin(), report.rows.end(), is_ours)) return;
    const auto faster = [&](const std::string& scene, double gate, double target) {
        const Row* ours = report.find(scene, "purview");
        const Row* peer = report.find(scene, "colyseus");
        const std::string name = scene + ", times as fast";
        if (ours == nullptr) return;  // rows can be run alone
        if (peer == nullptr || peer->checked.wrong > 0) {
            report.does_not_count(name, false, gate, target,
                                  peer == nullptr ? "peer did not run" : "peer decoded wrongly");
            return;
        }
        report.at_least(name, ratio(*peer, *ours), gate, target);
    };
    const auto bytes = [&](const std::string& scene, double gate) {
        const Row* row = report.find(scene, "purview");
        if (row != nullptr) report.count_at_most(scene + ", bytes", row->bytes, gate, gate);
    };
    faster("colyseus 1000", 7.5, 15);
    faster("colyseus churn", 8, 15);
    bytes("colyseus 1000", 220);
    bytes("colyseus loss", 230);
    bytes("colyseus 16 bit", 140);
    bytes("colyseus 16 bit loss", 145);
    if (const Row* row = report.find("colyseus tight budget", "purview")) {
        report.count_at_most("colyseus tight budget, most bytes/budget",
                             row->more.at("largest_bytes") / 150, 1, 1);
    }
    bytes("colyseus ranged floats", 185);
    bytes("colyseus ranged floats loss", 195);
    Checked all;
    for (const Row& row : report.rows)
        if (is_ours(row)) all += row.checked;
    report.count_at_most("colyseus mismatches in decoded clients", static_cast<double>(all.wrong),
                         0, 0);
    report.count_at_least("colyseus values compared", static_cast<double>(all.values), 1, 1);
}

}  // namespace purview::bench
