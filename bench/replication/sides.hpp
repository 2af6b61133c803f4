// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// One game three times: Purview on a stage, and the two encoders it is compared with.
#pragma once

#include <optional>
#include <utility>

#include "core/internal_access.hpp"
#include "replication/stage.hpp"
#include "replication/straight.hpp"
#include "replication/wire_meter.hpp"

namespace purview::bench {

/// An encoder with its own copy of the game's world. Sides run alternately, one round each, so
/// within a round no side evicts another's caches.
template <class Life, class Encoder>
class OtherSide {
  public:
    OtherSide(const WorldDef& def, const Life& life, Encoder encoder)
        : world_(World::create(def).value()), life_(life), encoder_(std::move(encoder)) {
        life_.populate(world_);
    }
    void turn(std::uint32_t ticks, Meter& meter) {
        meter.begin_round();
        for (std::uint32_t i = 0; i < ticks; ++i) {
            life_.live(world_);
            meter.add(encoder_.encode(world_, life_.observers(), life_.changed()));
            internal(world_).clear_changes();
        }
    }
    Checked check_idle() { return encoder_.check_idle(world_, life_.observers()); }

  private:
    World world_;
    Life life_;
    Encoder encoder_;
};

/// Every player is an observer and sees what is within `range`.
template <class GameSchema, class Life>
struct Sides {
    /// `def` must have no schema, and no rules except the bounds of the space.
    Sides(StageDef def, float range, bool has_owners)
        : life(schema),
          straight({&schema.schema, def.server.entities_max}, life,
                   StraightEncoder(schema.schema, {range, def.server.budget_bytes_per_tick,
                                                   def.ack_ticks, def.loss})),
          blind({&schema.schema, def.server.entities_max}, life,
                BlindEncoder(schema.schema, range)) {
        def.server.schema = &schema.schema;
        NodeDef node;
        node.name = "near";
        node.add(within(range));
        def.server.rules.nodes = {node};
        Script script;
        script.populate = [this](World& world) { life.populate(world); };
        script.joined = [this, has_owners](Server& server, ObserverId o, std::uint32_t c) {
            if (has_owners) (void)server.world().set_owner(life.observers()[c], o);
            (void)server.visibility().set_viewpoint(o, life.observers()[c]);
        };
        script.simulate = [this](Server& server, Tick) { life.live(server.world()); };
        script.relevant = [this, range](const World& world, std::uint32_t client) {
            const Vec3 from = world.position_of(life.observers()[client]);
            std::vector<EntityId> near = all_of(world);
            std::erase_if(near, [&](EntityId entity) {
                const Vec3 at = world.position_of(entity);
                const float dx = at.x - from.x, dy = at.y - from.y;
                return dx * dx + dy * dy > range * range;
            });
            return near;
        };
        stage.emplace(def, std::move(script));
        meter.emplace(schema.schema);
        stage->on_datagram = [this](std::span<const std::byte> datagram) { meter->read(datagram); };
    }
    /// The straight encoder processes acknowledgements within its timed part, so their time is
    /// added here too.
    TickCost step() {
        TickCost cost = stage->step();
        cost.tick_ms += cost.receive_ms;
        return cost;
    }
    Sides(const Sides&) = delete;
    Sides& operator=(const Sides&) = delete;

    GameSchema schema;
    Life life;
    std::optional<Stage> stage;
    std::optional<WireMeter> meter;
    OtherSide<Life, StraightEncoder> straight;
    OtherSide<Life, BlindEncoder> blind;
};

}  // namespace purview::bench
