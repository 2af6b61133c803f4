// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include <map>

#include "client/client_data.hpp"
#include "core/hash.hpp"
#include "core/internal_access.hpp"
#include "server/history.hpp"
#include "server/server_data.hpp"
#include "support/drive_world.hpp"

using namespace purview;
using namespace purview::test;

namespace {

float distance_to(Vec3 from, Vec3 to, Vec3 point) {
    const Vec3 a{to.x - from.x, to.y - from.y, to.z - from.z};
    const Vec3 b{point.x - from.x, point.y - from.y, point.z - from.z};
    const float l = a.x * a.x + a.y * a.y + a.z * a.z;
    const float t = l > 0 ? std::clamp((a.x * b.x + a.y * b.y + a.z * b.z) / l, 0.0F, 1.0F) : 0;
    return std::sqrt((b.x - a.x * t) * (b.x - a.x * t) + (b.y - a.y * t) * (b.y - a.y * t) +
                     (b.z - a.z * t) * (b.z - a.z * t));
}

struct Victim {
    EntityId body, shield;
};

/// The first player's turret. With every input it shoots at the position where the client displays
/// the target.
class Gunner {
  public:
    Gunner(DriveWorld& world, EntityId target) : world_(world), target_(target) {
        const auto& s = world.schema;
        const ObserverId player = world.player().observer;
        const EntityId vehicle = world.spawn(s.vehicle, {0, -50, 0}, player);
        turret_ = world.spawn_under(vehicle, s.turret, player);
        world.player().control = [this](auto& its, InputNumber tick) { shoot(its, tick); };
        world.when_input = [this](Server& its, ObserverId observer, GroupState&,
                                  const GroupInput& command) { meet(its, observer, command); };
    }
    int shots = 0, hits = 0;

  private:
    void shoot(DriveWorld::Player& its, InputNumber tick) {
        const GhostId target = world_.ghost(0, target_), turret = world_.ghost(0, turret_);
        if (target == GhostId::none || turret == GhostId::none) return;
        aims_[tick] = its.prediction->position_of(target, world_.now);
        (void)its.prediction->set_part(turret, world_.schema.turn, Turn{0, true});
    }
    void meet(Server& its, ObserverId observer, const GroupInput& command) {
        const auto aim = aims_.find(command.tick());
        if (aim == aims_.end()) return;
        const auto view = its.rewind(observer, command.view_tick());
        REQUIRE(view);
        std::vector<PastHit> found;
        REQUIRE(view->find_within(aim->second, 0.1F, found) == Status::ok);
        ++shots;
        hits += found.empty() ? 0 : 1;
    }

    DriveWorld& world_;
    EntityId target_, turret_{};
    std::map<InputNumber, Vec3> aims_;
};

/// A move of more than `teleport_distance` in a tick is a jump; 0: no jumps. Returns how many
/// candidates the history visited.
std::uint64_t compare_history(float teleport_distance, Axes axes = Axes::xy) {
    DriveSchema s;
    s.schema.edit_kind(s.vehicle).teleport_distance = teleport_distance;
    std::uint32_t jumps = 0;
    std::uint64_t candidates = 0;
    World world = World::create({.schema = &s.schema}).value();
    History history(internal(world), 22, 8, axes);
    SplitMix random(3);
    std::vector<EntityId> alive;
    std::map<Tick, std::map<EntityId, std::pair<Vec3, int>>> copies;
    CHECK(history.record(5) == Status::ok);
    CHECK(history.record(5) == Status::refused);
    CHECK(history.record(4) == Status::refused);
    for (Tick tick = 6; tick < 400; ++tick) {
        for (int n = 0; n < 3; ++n) {
            const Vec3 at{random.unit() * 300, random.unit() * 300, random.unit() * 10};
            if (alive.size() < 120)
                alive.push_back(world.spawn({.kind = s.vehicle, .position = exchanged(axes, at)}));
        }
        if (random.chance(0.5F)) {
            const std::size_t at = random.below(static_cast<std::uint32_t>(alive.size()));
            REQUIRE(world.despawn(alive[at]) == Status::ok);
            alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(at));
        }
        for (const EntityId entity : alive) {
            Vec3 at = exchanged(axes, world.position_of(entity));
            at.x += random.unit() * 2 - 1;
            at.y += random.unit() * 2 - 1;
            if (random.chance(0.005F)) at.x += 150;  // a teleport
            REQUIRE(world.move(entity, exchanged(axes, at)) == Status::ok);
        }
        REQUIRE(history.record(tick) == Status::ok);
        internal(world).clear_changes();
        for (const EntityId entity : alive) copies[tick][entity] = {world.position_of(entity), 0};
        // Queries at any recorded time, compared with a scan of all entities.
        for (int q = 0; q < 20; ++q) {
            const double at = tick - static_cast<double>(random.unit()) * 20;
            if (at < 7) continue;
            const auto earlier = static_cast<Tick>(at);
            History::Volume volume;
            volume.from = {random.unit() * 300, random.unit() * 300, 5};
            volume.to = volume.from;
            if (q % 2 == 0) volume.to = {random.unit() * 300, random.unit() * 300, 5};
            volume.radius = random.unit() * 6;
            volume.from = exchanged(axes, volume.from);
            volume.to = exchanged(axes, volume.to);
            std::vector<EntityId> expected;
            for (const EntityId entity : alive) {
                const auto then = copies[earlier].find(entity);
                if (then == copies[earlier].end()) continue;
                Vec3 position = then->second.first;
                if (earlier < tick) {
                    const Vec3 next = copies[earlier + 1][entity].first;
                    const bool is_jump =
                        teleport_distance > 0 && next.x - position.x > teleport_distance;
                    const auto part = is_jump ? 0 : static_cast<float>(at - earlier);
                    jumps += is_jump ? 1 : 0;
                    position = {position.x + (next.x - position.x) * part,
                                position.y + (next.y - position.y) * part,
                                position.z + (next.z - position.z) * part};
                }
                Vec3 remembered;
                REQUIRE(history.position_at(entity, at, remembered));
                REQUIRE(remembered == position);
                if (distance_to(volume.from, volume.to, position) <= volume.radius)
                    expected.push_back(entity);
            }
            std::vector<EntityId> found;
            history.for_each_near(volume, at, [&](EntityId entity) {
                ++candidates;
                Vec3 position;
                if (history.position_at(entity, at, position) &&
                    distance_to(volume.from, volume.to, position) <= volume.radius)
                    found.push_back(entity);
            });
            std::sort(found.begin(), found.end());
            found.erase(std::unique(found.begin(), found.end()), found.end());
            std::sort(expected.begin(), expected.end());
            REQUIRE(found == expected);
        }
    }
    Vec3 position;
    CHECK_FALSE(history.position_at(alive.front(), 300, position));
    CHECK((jumps > 100) == (teleport_distance > 0));
    return candidates;
}

}  // namespace

TEST_CASE("lag compensation: the history equals a plain copy of every tick (O19)") {
    compare_history(0);
    compare_history(100);
}

TEST_CASE("lag compensation: with y up, the index over the past is horizontal, too") {
    CHECK(compare_history(0, Axes::xz) == compare_history(0));
}

TEST_CASE("lag compensation: a passenger of a turning ship is where it was seen (O4 O19)") {
    DriveWorld world(1, Faults{.delay_us = 70'000, .jitter_us = 10'000});
    const auto& s = world.schema;
    const EntityId shooter = world.spawn(s.vehicle, {0, -50, 0}, world.player().observer);
    const EntityId ship = world.spawn(s.vehicle, {0, 0, 0});
    const EntityId rider = world.spawn_under(ship, s.rider, ObserverId::none, {20, 0, 0});
    world.when_tick = [&](Server& server, Tick tick) {
        const Vec3 at = server.world().position_of(ship);
        (void)server.world().move(ship, {at.x + 0.1F, at.y, at.z});
        server.world().edit(ship, s.motion)->heading = static_cast<float>(tick) * 0.02F;
    };
    world.run(90);
    Vec3 seen;
    world.player().control = [&](auto& player, InputNumber) {
        if (world.ghost(0, rider) == GhostId::none) return;
        seen = player.prediction->position_of(world.ghost(0, rider), world.now);
        (void)player.prediction->set_part(world.ghost(0, shooter), s.drive, Drive{});
    };
    std::map<InputNumber, Vec3> sights;
    world.after_client = [&](auto& player, Micros) {
        sights[player.prediction->newest_input()] = seen;
    };
    double worst = 0;
    int shots = 0;
    world.when_input = [&](Server& server, ObserverId observer, GroupState&,
                           const GroupInput& command) {
        if (sights.count(command.tick()) == 0 || command.view_tick() > server.current_tick())
            return;
        const auto view = server.rewind(observer, command.view_tick());
        REQUIRE(view);
        const Vec3 then = view->position_of(rider), sight = sights[command.tick()];
        worst = std::max<double>(worst, std::hypot(then.x - sight.x, then.y - sight.y));
        ++shots;
        std::vector<PastHit> found;
        REQUIRE(view->find_within(sight, 0.5F, found) == Status::ok);
        CHECK(found.size() == 1);
    };
    world.run(400);
    CHECK(shots > 300);
    CHECK(worst < 0.1);
    CHECK(world.world().position_of(rider).x != 20);
}

TEST_CASE("lag compensation: a shot meets what its client saw (O19, the RFC's bug 2)") {
    DriveWorld world(1, Faults{.loss = 0.02F, .delay_us = 70'000, .jitter_us = 10'000});
    const auto& s = world.schema;
    const EntityId shooter = world.spawn(s.vehicle, {0, -50, 0}, world.player().observer);
    const EntityId turret = world.spawn_under(shooter, s.turret, world.player().observer);
    Victim target{};
    target.body = world.spawn(s.vehicle, {0, 0, 0});
    target.shield = world.spawn_under(target.body, s.shell, ObserverId::none);
    std::map<Tick, std::int32_t> score_at;
    // The target crosses at 20 m/s, and its shield loses one point in every tick.
    world.when_tick = [&](Server& server, Tick tick) {
        const Vec3 at = server.world().position_of(target.body);
        (void)server.world().move(target.body, {at.x + 20.0F / 60, at.y, at.z});
        server.world().edit(target.shield, s.shield)->score = 1000 - static_cast<int>(tick) % 900;
        score_at[tick] = 1000 - static_cast<int>(tick) % 900;
    };
    world.run(90);
    Vec3 aimed;
    double aimed_tick = 0;
    int shots = 0, hits = 0, hits_in_present = 0, wrong_score = 0;
    float worst_miss = 0;
    double worst_view = 0;
    world.player().control = [&](auto& player, InputNumber) {
        const GhostId ghost = world.ghost(0, target.body);
        if (ghost == GhostId::none) return;
        const Micros own = world.now;
        aimed = player.prediction->position_of(ghost, own);
        aimed_tick = player.prediction->view_tick(own);
        (void)player.prediction->set_part(world.ghost(0, turret), s.turn, Turn{0, true});
    };
    std::map<InputNumber, Vec3> aims;
    std::map<InputNumber, double> ticks;
    world.after_client = [&](auto& player, Micros) {
        aims[player.prediction->newest_input()] = aimed;
        ticks[player.prediction->newest_input()] = aimed_tick;
    };
    world.when_input = [&](Server& server, ObserverId observer, GroupState& group,
                           const GroupInput& command) {
        const Turn* turn = command.part(1, s.turn);
        if (turn == nullptr || !turn->fire || aims.count(command.tick()) == 0) return;
        const auto view = server.rewind(observer, command.view_tick());
        REQUIRE(view);
        const Vec3 aim = aims[command.tick()];
        const Vec3 from = server.world().position_of(group.entity(0));
        std::vector<PastHit> found;
        REQUIRE(view->find_along(from, {aim.x + (aim.x - from.x), aim.y + (aim.y - from.y), 0},
                                 0.5F, found) == Status::ok);
        ++shots;
        const Vec3 then = view->position_of(target.body);
        worst_view = std::max(worst_view, std::abs(ticks[command.tick()] - command.view_tick()));
        worst_miss = std::max(worst_miss, std::abs(then.x - aim.x));
        hits += !found.empty() && found.front().entity == target.body &&
                found.front().root == target.body;
        const Vec3 now = server.world().position_of(target.body);
        hits_in_present +=
            distance_to(from, {2 * aim.x - from.x, 2 * aim.y - from.y, 0}, now) <= 0.5F;
        // The shield has the value of the rewound tick, not the current one.
        const Shield* shield = view->get(target.shield, s.shield);
        REQUIRE(shield != nullptr);
        const auto tick = static_cast<Tick>(view->tick());
        wrong_score += shield->score != score_at[tick];
        CHECK(server.world().get(target.shield, s.shield)->score != score_at[tick]);
        CHECK(view->write(target.shield, s.shield.id) == Status::refused);
    };
    world.run(600);
    MESSAGE("shots " << shots << ", hits " << hits << ", without lag compensation "
                     << hits_in_present << ", largest difference from the displayed position "
                     << worst_miss << " m");
    CHECK(shots > 500);
    CHECK(hits == shots);
    CHECK(hits_in_present == 0);
    CHECK(wrong_score == 0);
    CHECK(worst_view <= 1.0 / 16);
    CHECK(worst_miss < 0.05F);
}

TEST_CASE("lag compensation: an entity that stops is displayed and hit where it stopped") {
    DriveWorld world(1, Faults{.delay_us = 30'000});
    const EntityId target = world.spawn(world.schema.vehicle);
    float x = 0, speed = 0.2F;
    world.when_tick = [&](Server& its, Tick) {
        x += speed;
        if (speed != 0) REQUIRE(its.world().move(target, {x, 0, 0}) == Status::ok);
    };
    Gunner gunner(world, target);
    world.run(120);
    speed = 0;
    world.run(10);  // the RTT and the interpolation delay
    gunner.hits = gunner.shots = 0;
    float farthest = 0;
    world.after_client = [&](auto& player, Micros at) {
        const Vec3 drawn = player.prediction->position_of(world.ghost(0, target), at);
        farthest = std::max(farthest, std::abs(drawn.x - x));
    };
    world.run(200);
    CHECK(farthest < 0.01F);
    CHECK(gunner.shots > 150);
    CHECK(gunner.hits == gunner.shots);
}

TEST_CASE("lag compensation: an entity with a low send rate moves evenly and is hit") {
    for (const float delay : {4.0F, 6.0F, 10.0F}) {
        CAPTURE(delay);
        PredictionDef prediction;
        prediction.view_delay_ticks = delay;
        ServerDef def;
        def.rules.nodes.resize(1);
        def.rules.nodes[0].name = "all";
        def.rules.nodes[0].replication.every_ticks = 4;
        DriveWorld world(1, Faults{.delay_us = 30'000}, 60, prediction, def);
        const EntityId target = world.spawn(world.schema.vehicle);
        float x = 0;
        world.when_tick = [&](Server& its, Tick) {
            REQUIRE(its.world().move(target, {x += 0.2F, 0, 0}) == Status::ok);
        };
        Gunner gunner(world, target);
        world.run(120);
        gunner.hits = gunner.shots = 0;
        float before = 0, least = 1, most = 0;
        world.after_client = [&](auto& player, Micros at) {
            const float drawn = player.prediction->position_of(world.ghost(0, target), at).x;
            const float step = before == 0 ? 0.2F : drawn - before;
            least = std::min(least, step);
            most = std::max(most, step);
            before = drawn;
        };
        world.run(200);
        CHECK(least > 0.17F);  // the view clock may run a tenth slower or faster
        CHECK(most < 0.23F);
        CHECK(gunner.shots > 150);
        CHECK(gunner.hits == gunner.shots);
    }
}

TEST_CASE("lag compensation: the shooter's own entities are current and not hit (O19)") {
    DriveWorld world(1);
    const auto& s = world.schema;
    const EntityId own = world.spawn(s.vehicle, {0, 0, 0}, world.player().observer);
    const EntityId shell = world.spawn_under(own, s.shell, world.player().observer);
    const EntityId other = world.spawn(s.vehicle, {5, 0, 0});
    world.when_tick = [&](Server& server, Tick tick) {
        (void)server.world().move(own, {static_cast<float>(tick), 0, 0});
        (void)server.world().move(other, {static_cast<float>(tick), 0, 0});
        server.world().edit(shell, s.shield)->score = static_cast<int>(tick);
    };
    world.run(60);
    const Tick now = world.server->current_tick();
    const auto view = world.server->rewind(world.player().observer, now - 10.5);
    REQUIRE(view);
    CHECK(view->position_of(own).x == static_cast<float>(now));
    CHECK(view->get(shell, s.shield)->score == static_cast<int>(now));
    CHECK(view->position_of(other).x == static_cast<float>(now) - 10.5F);
    std::vector<PastHit> found;
    CHECK(view->find_within({static_cast<float>(now), 0, 0}, 0.4F, found) == Status::ok);
    CHECK(found.empty());
    CHECK(view->find_within({static_cast<float>(now) - 10.5F, 0, 0}, 0.4F, found) == Status::ok);
    REQUIRE(found.size() == 1);
    CHECK(found.front().entity == other);
    CHECK(view->find_within({NAN, 0, 0}, 1, found) == Status::bad_position);
    CHECK(view->find_within({0, 0, 0}, -1, found) == Status::bad_argument);
    CHECK(found.size() == 1);
    CHECK(world.server->rewind(ObserverId{999}, now).error() == Status::stale_id);
}

TEST_CASE("lag compensation: entities that were not relevant then are excluded (O19)") {
    DriveWorld world(1);
    const auto& s = world.schema;
    const ObserverId observer = world.player().observer;
    const EntityId seen = world.spawn(s.vehicle, {1, 0, 0});
    const EntityId late = world.spawn(s.vehicle, {2, 0, 0});
    const EntityId gone = world.spawn(s.vehicle, {3, 0, 0});
    REQUIRE(world.server->visibility().deny(observer, late, true) == Status::ok);
    world.run(30);
    const Tick change = world.server->current_tick() + 1;
    REQUIRE(world.server->visibility().deny(observer, late, false) == Status::ok);
    REQUIRE(world.server->visibility().deny(observer, gone, true) == Status::ok);
    REQUIRE(world.server->world().move(gone, {40, 0, 0}) == Status::ok);  // out of view
    world.run(20);
    const auto names = [&](double tick) {
        const auto view = world.server->rewind(observer, tick);
        REQUIRE(view);
        std::vector<PastHit> found;
        REQUIRE(view->find_within({2, 0, 0}, 5, found) == Status::ok);
        std::vector<EntityId> out;
        for (const PastHit& hit : found) out.push_back(hit.entity);
        std::sort(out.begin(), out.end());
        for (const EntityId entity : {seen, late, gone}) {
            CHECK(view->sees(entity) == (std::find(out.begin(), out.end(), entity) != out.end()));
        }
        return out;
    };
    CHECK(names(change - 5.5) == std::vector<EntityId>{seen, gone});
    CHECK(names(change - 0.5) == std::vector<EntityId>{seen, gone});
    CHECK(world.server->rewind(observer, change - 0.5)->position_of(gone).x == 3);
    CHECK(names(change) == std::vector<EntityId>{seen, late});
    CHECK(names(change + 10) == std::vector<EntityId>{seen, late});
    CHECK(world.server->rewind(observer, change)->get(gone, s.position) == nullptr);
}

TEST_CASE("lag compensation: overrides of this tick do not change the past (O19)") {
    DriveWorld world(1);
    const auto& s = world.schema;
    const ObserverId observer = world.player().observer;
    const EntityId revealed = world.spawn(s.vehicle, {1, 0, 0});
    const EntityId cloaked = world.spawn(s.vehicle, {2, 0, 0});
    Visibility& interest = world.server->visibility();
    REQUIRE(interest.deny(observer, revealed, true) == Status::ok);
    world.run(30);
    REQUIRE(interest.deny(observer, revealed, false) == Status::ok);
    REQUIRE(interest.set_hidden(cloaked, true) == Status::ok);
    const auto view = world.server->rewind(observer, world.server->current_tick() - 5.0);
    REQUIRE(view);
    std::vector<PastHit> found;
    REQUIRE(view->find_within({1.5F, 0, 0}, 0.7F, found) == Status::ok);
    REQUIRE(found.size() == 1);
    CHECK(found.front().entity == cloaked);
    CHECK(view->sees(cloaked));
    CHECK(!view->sees(revealed));
    CHECK(view->get(revealed, s.position) == nullptr);
}

TEST_CASE("lag compensation: past relevance is kept as long as past positions (O19)") {
    DriveWorld world(1, {}, 5);
    const auto& s = world.schema;
    const ObserverId observer = world.player().observer;
    const EntityId late = world.spawn(s.vehicle, {2, 0, 0});
    const EntityId gone = world.spawn(s.vehicle, {3, 0, 0});
    REQUIRE(world.server->visibility().deny(observer, late, true) == Status::ok);
    world.run(30);
    const Tick change = world.server->current_tick() + 1;
    REQUIRE(world.server->visibility().deny(observer, late, false) == Status::ok);
    REQUIRE(world.server->visibility().deny(observer, gone, true) == Status::ok);
    world.run(11);
    const auto before = world.server->rewind(observer, change - 2);
    REQUIRE(before);
    CHECK(before->tick() == change - 2);
    CHECK(!before->sees(late));
    CHECK(before->sees(gone));
}

TEST_CASE("lag compensation: a client cannot rewind further than the limit (O19)") {
    DriveWorld world(1);
    const auto& s = world.schema;
    const EntityId car = world.spawn(s.vehicle, {}, world.player().observer);
    (void)car;
    world.run(60);
    double oldest = 1e9, newest = -1e9;
    world.when_input = [&](Server& server, ObserverId, GroupState&, const GroupInput& command) {
        oldest = std::min(oldest, command.view_tick() - server.current_tick());
        newest = std::max(newest, command.view_tick() - server.current_tick());
    };
    world.run(60);
    CHECK(newest <= 0);
    CHECK(oldest > -8);
    for (const double lie : {-500.0, 300.0}) {
        oldest = 1e9, newest = -1e9;
        world.after_client = [&](auto& player, Micros) {
            InputOutbox& outbox = internal(player.client).inputs.outbox;
            if (InputFrame* frame = outbox.find(outbox.newest()))
                frame->view_tick = std::max(0.0, world.server->current_tick() + lie);
        };
        world.run(30);
        CHECK(oldest >= -18);
        CHECK(newest <= 1);
    }
    CHECK(internal(*world.server).rewind.counters.cut > 40);
}
