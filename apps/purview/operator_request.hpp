// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// One request to the operator channel of a running server and its reply, as JSON.
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

/// Returns the reply. On failure, returns {"op": "error", "text": reason}, the same form as an
/// error from the server.
nlohmann::json send_request(const OperatorAddress& at, const nlohmann::json& request);

}  // namespace purview::app
