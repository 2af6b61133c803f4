// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include <purview/client.hpp>
#include <purview/interest.hpp>
#include <purview/server.hpp>

int main() {
    purview::InterestDef def;
    auto manager = purview::InterestManager::create(def);
    if (!manager) return 1;
    const auto observer = manager->add_observer();
    if (!observer) return 2;
    purview::Client client{purview::ClientDef{}};
    return client.state() == purview::ClientState::connecting ? 0 : 3;
}
