// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
#include "fault_injection.hpp"

#ifdef PURVIEW_BREAKABLE

#include <utility>

#include "core/internal_access.hpp"
#include "server/server_data.hpp"

namespace purview::app {

namespace {

constexpr std::pair<const char*, InjectedFault> modes[] = {
    {"leak", InjectedFault::leak},     {"stale", InjectedFault::stale},
    {"field", InjectedFault::field},   {"order", InjectedFault::order},
    {"unsent", InjectedFault::unsent}, {"unsaid", InjectedFault::unsaid}};

}  // namespace

std::vector<std::string> injected_fault_names() {
    std::vector<std::string> names;
    for (const auto& [name, mode] : modes) names.emplace_back(name);
    return names;
}

void inject_fault(Server& server, const std::string& mode) {
    for (const auto& [name, its] : modes)
        if (mode == name) internal(server).inject_fault(its);
}

}  // namespace purview::app

#else

namespace purview::app {

std::vector<std::string> injected_fault_names() {
    return {};
}

void inject_fault(Server&, const std::string&) {}

}  // namespace purview::app

#endif
