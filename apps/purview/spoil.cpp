// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "spoil.hpp"

#ifdef PURVIEW_BREAKABLE

#include <utility>

#include "core/internal_access.hpp"
#include "server/server_data.hpp"

namespace purview::app {

namespace {

constexpr std::pair<const char*, Spoil> modes[] = {
    {"leak", Spoil::leak},   {"stale", Spoil::stale},   {"field", Spoil::field},
    {"order", Spoil::order}, {"unsent", Spoil::unsent}, {"unsaid", Spoil::unsaid}};

}  // namespace

std::vector<std::string> spoil_modes() {
    std::vector<std::string> names;
    for (const auto& [name, mode] : modes) names.emplace_back(name);
    return names;
}

void spoil(Server& server, const std::string& mode) {
    for (const auto& [name, its] : modes)
        if (mode == name) internal(server).set_spoil(its);
}

}  // namespace purview::app

#else

namespace purview::app {

std::vector<std::string> spoil_modes() {
    return {};
}

void spoil(Server&, const std::string&) {}

}  // namespace purview::app

#endif
