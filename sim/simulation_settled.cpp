// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The world is idle and the network has no faults: everything pending must arrive.
#include <algorithm>
#include <cmath>

#include "core/internal_access.hpp"
#include "purview/limits.hpp"
#include "replay_sim.hpp"
#include "server/server_data.hpp"
#include "simulation.hpp"

namespace purview::test {

namespace {

constexpr std::uint32_t quiet_ticks_max = 30 * sim_tick_hz;
/// Tolerance in the idle world: half a step of 1 cm on each axis, for each of three levels of
/// parents.
constexpr double position_error_m = 0.03;

/// Clamps a position to the quantized range, as for a crate far outside of it. For group members,
/// the world already uses the quantized position.
Vec3 as_replicated(Vec3 position) {
    constexpr float least = -SmallGame::beside_m, most = SmallGame::side_m + SmallGame::beside_m;
    return {std::clamp(position.x, least, most), std::clamp(position.y, least, most), position.z};
}

}  // namespace

void Simulation::settle() {
    world_.recorder->note(freeze_note);
    world_.game.frozen = true;
    for (auto& client : world_.clients) {
        for (FaultyNetwork* network : {client->up.get(), client->down.get()}) {
            network->blackout = false;
            network->faults = {};
        }
    }
    std::string missing = "no client was checked";
    for (std::uint32_t i = 0; i < quiet_ticks_max && trouble.empty() && !missing.empty(); ++i) {
        step();
        missing = what_is_missing();
    }
    if (trouble.empty() && !missing.empty()) fail("idle world: " + missing);
}

std::string Simulation::what_is_missing() {
    std::vector<SessionStats> sessions;
    world_.server->sessions(sessions);
    for (auto& client : world_.clients) {
        const auto its = std::find_if(sessions.begin(), sessions.end(), [&](const auto& one) {
            return one.address == client->address;
        });
        if (client->client.state() == ClientState::closed) continue;  // it never joined
        if (client->client.state() != ClientState::joined || its == sessions.end())
            return "a client has not joined";
        if (its->backlog > 0 || client->client.ghost_count() != its->relevant) {
            return std::to_string(client->client.ghost_count()) + " ghosts of " +
                   std::to_string(its->relevant) + " relevant entities";
        }
        if (const double off = largest_error(*client, its->observer); off > position_error_m)
            return "a position error of " + std::to_string(off) + " m";
        if (const std::uint64_t missing = world_.missing_calls(*client); missing > 0)
            return std::to_string(missing) + " reliable calls have not arrived";
        if (const std::uint64_t missing = world_.mail->missing(client->nonce); missing > 0)
            return std::to_string(missing) + " messages have not arrived";
        if (const std::string wrong = wrong_page(*client, its->observer); !wrong.empty())
            return wrong;
        if (const std::string wrong = wrong_gait(*client, its->observer); !wrong.empty())
            return wrong;
    }
    return "";
}

double Simulation::largest_error(const SmallClient& client, ObserverId observer) {
    const Session* session = internal(*world_.server).sessions.find(observer);
    const World& all = world_.server->world();
    double largest = 0;
    all.for_each([&](EntityId entity) {
        const GhostId ghost = ghost_id_of(session->ghosts.slots().find(entity));
        if (!client.client.is_held(ghost)) return;
        const Vec3 actual = client.client.position_of(ghost, client.client.newest_tick());
        Vec3 expected = all.position_of(entity);
        if (all.root_of(entity) == entity) expected = as_replicated(expected);
        largest =
            std::max<double>(largest, std::hypot(actual.x - expected.x, actual.y - expected.y));
        ++counts.positions;
    });
    return largest;
}

std::string Simulation::wrong_page(const SmallClient& client, ObserverId observer) {
    const Session* session = internal(*world_.server).sessions.find(observer);
    const World& all = world_.server->world();
    std::string wrong;
    all.for_each([&](EntityId entity) {
        if (all.kind_of(entity) != world_.schema.book) return;
        const GhostId ghost = ghost_id_of(session->ghosts.slots().find(entity));
        if (!client.client.is_held(ghost)) return;
        for (std::size_t i = 0; i < world_.schema.pages.size(); ++i) {
            const Component<Page> page = world_.schema.pages[i];
            const Page& expected = *all.get(entity, page);
            if (!client.client.is_replicated(ghost, page.id) ||
                client.client.text_of(ghost, page.id, 0) !=
                    std::string(expected.left, sizeof expected.left) ||
                client.client.text_of(ghost, page.id, 1) !=
                    std::string(expected.right, sizeof expected.right))
                wrong = "page " + std::to_string(i) + " of a book is missing or differs";
        }
    });
    return wrong;
}

std::string Simulation::wrong_gait(const SmallClient& client, ObserverId observer) {
    const Session* session = internal(*world_.server).sessions.find(observer);
    const World& all = world_.server->world();
    const SmallSchema& small = world_.schema;
    const CartDriver& driver = *client.driver;
    const std::size_t steps = small.schema.find_field(small.gait.id, "steps");
    std::set<EntityId> roots;  // of all entities that the observer owns
    for (const EntityId entity : world_.game.carts.all) {
        if (all.owner_of(entity) == observer) roots.insert(all.root_of(entity));
    }
    for (const EntityId entity : world_.game.carts.all) {
        const GhostId ghost = ghost_id_of(session->ghosts.slots().find(entity));
        if (!client.client.is_held(ghost)) continue;
        const bool is_replicated = client.client.is_replicated(ghost, small.gait.id);
        const Gait& expected = *all.get(entity, small.gait);
        if (is_replicated && client.client.value_of(ghost, small.gait.id, steps) != expected.steps)
            return "the replicated gait of a cart differs from the world";
        const bool drives = all.owner_of(entity) == observer && !driver.is_silent();
        const bool is_predicted = drives && driver.prediction.is_predicted(ghost);
        if (drives && !is_predicted && roots.size() <= limits::input_groups)
            return "a cart is not predicted by its driver";
        if (!is_predicted && !is_replicated)
            return "a cart's gait is not replicated to a client that does not predict it";
        if (!is_predicted) continue;
        if (!(*driver.prediction.get(ghost, small.gait) == expected))
            return "the predicted gait of a cart differs from the world";
        if (is_replicated) return "a cart's gait is replicated to the client that predicts it";
        ++counts.driven.idle_comparisons;
    }
    return "";
}

}  // namespace purview::test
