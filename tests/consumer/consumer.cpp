// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include <limits>

#include <purview/client.hpp>
#include <purview/interest.hpp>
#include <purview/server.hpp>

int main() {
    purview::InterestDef def;
    auto manager = purview::InterestManager::create(def);
    if (!manager) return 1;
    const auto observer = manager->add_observer();
    if (!observer) return 2;
    constexpr purview::EntityId entity = purview::make_entity_id(0, 1);
    if (manager->spawn(entity, {}) != purview::Status::ok) return 4;
    const float nowhere = std::numeric_limits<float>::quiet_NaN();
    if (manager->move(entity, {nowhere, 0, 0}) != purview::Status::bad_position) return 5;
    purview::ClientDef client_def;
    if (purview::Client::create(client_def)) return 6;  // without a nonce
    client_def.nonce = 7;
    const purview::Client client = purview::Client::create(client_def).value();
    return client.state() == purview::ClientState::connecting ? 0 : 3;
}
