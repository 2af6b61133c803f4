// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "replication/check.hpp"

#include <algorithm>
#include <iterator>

#include "core/internal_access.hpp"
#include "protocol/quantize.hpp"
#include "server/server_data.hpp"

namespace purview::bench {

namespace {

/// Number of entities that are in only one of the two lists.
std::uint64_t differing(std::vector<EntityId> entities, std::vector<EntityId> wanted) {
    std::sort(entities.begin(), entities.end());
    std::sort(wanted.begin(), wanted.end());
    std::vector<EntityId> apart;
    std::set_symmetric_difference(entities.begin(), entities.end(), wanted.begin(), wanted.end(),
                                  std::back_inserter(apart));
    return apart.size();
}

Checked check_one(const Session& session, const Client& client, const World& world,
                  std::vector<EntityId>& entities) {
    Checked checked;
    const GhostTable& ghosts = session.ghosts;
    std::uint32_t live = 0;
    const Schema& schema = world.schema();
    for (LocalId slot = 0; slot < ghosts.slots().end(); ++slot) {
        if (!ghosts.slots().is_live(slot)) continue;
        ++live;
        const EntityId entity = ghosts.slots().entity(slot);
        entities.push_back(entity);
        if (!client.is_held(ghost_id_of(slot)) || !world.is_alive(entity) ||
            client.kind_of(ghost_id_of(slot)) != world.kind_of(entity)) {
            ++checked.wrong;
            continue;
        }
        std::uint32_t part = 1;
        for (const ComponentId id : schema.kinds()[index_of(world.kind_of(entity))].components) {
            const auto& fields = schema.components()[index_of(id)].fields;
            if (fields.empty()) continue;
            const bool is_replicated = (ghosts.audience().allowed(slot) & part) != 0;
            part <<= 1;
            if (!is_replicated) continue;
            const auto* data = static_cast<const std::byte*>(world.read(entity, id));
            for (std::size_t f = 0; f < fields.size(); ++f) {
                const double right = dequantized_value(fields[f], quantize(fields[f], data));
                ++checked.values;
                // Both derive from the same quantized integers, so they must be exactly equal.
                if (client.value_of(ghost_id_of(slot), id, f) != right) ++checked.wrong;
            }
        }
    }
    if (client.ghost_count() != live) ++checked.wrong;
    if (client.stats().packets_malformed + client.stats().order_violations > 0) ++checked.wrong;
    return checked;
}

}  // namespace

Checked check_clients(Stage& stage) {
    Checked all;
    for (std::uint32_t i = 0; i < stage.watchers(); ++i) {
        const Session* session = internal(stage.server()).sessions.find(stage.observer(i));
        if (session == nullptr) {
            ++all.wrong;
            continue;
        }
        const World& world = stage.server().world();
        std::vector<EntityId> entities;
        all += check_one(*session, stage.watcher(i), world, entities);
        if (stage.script().relevant)
            all += {0, differing(std::move(entities), stage.script().relevant(world, i))};
    }
    return all;
}

Checked settle_and_check(Stage& stage) {
    stage.set_frozen(true);
    stage.set_loss(0);
    constexpr std::uint32_t ticks_max = 400;
    std::uint32_t still = 0;
    // Losses are detected and resent some ticks after nothing is pending.
    for (std::uint32_t i = 0; i < ticks_max && still < 2 * stage.def().ack_ticks + 4; ++i) {
        stage.step();
        still = stage.waiting() == 0 ? still + 1 : 0;
    }
    const Checked checked = check_clients(stage);
    stage.set_frozen(false);
    stage.set_loss(stage.def().loss);
    return checked;
}

}  // namespace purview::bench
