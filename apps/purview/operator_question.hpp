// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A question to the operator channel of a running server, and its answer as JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace purview::app {

struct OperatorAddress {
    std::string host;
    std::uint16_t port = 0;
    std::string token;
};

/// The answer; when there is none, {"op": "error", "text": why}, as from the server itself.
nlohmann::json ask(const OperatorAddress& at, const nlohmann::json& request);

}  // namespace purview::app
