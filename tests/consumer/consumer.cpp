// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include <limits>
#include <string_view>

#include <purview/client.hpp>
#include <purview/interest.hpp>
#include <purview/server.hpp>

int main() {
#ifdef PACKAGE_VERSION
    if (std::string_view(PURVIEW_VERSION_TEXT) != PACKAGE_VERSION) return 7;
#endif
    static_assert(PURVIEW_VERSION >= 1000 && PURVIEW_VERSION_MAJOR < 1000);
    purview::Rules rules;
    rules.node("near").add(purview::within(60).leave_at(66));
    purview::InterestManager manager(rules);
    const auto entity = manager.spawn({.position = {10, 10}});
    const auto observer = manager.add_observer({.viewpoint = entity});
    manager.tick();
    if (!manager.is_relevant(observer, entity)) return 1;
    const float not_a_number = std::numeric_limits<float>::quiet_NaN();
    if (manager.move(entity, {not_a_number, 0, 0}) != purview::Status::bad_position) return 5;
    purview::ClientDef client_def;
    if (purview::Client::create(client_def)) return 6;  // without a nonce
    client_def.nonce = 7;
    const purview::Client client = purview::Client::create(client_def).value();
    return client.state() == purview::ClientState::connecting ? 0 : 3;
}
