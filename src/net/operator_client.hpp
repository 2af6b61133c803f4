// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Sends one request to the operator channel of a running server, for command-line tools.
#pragma once

#include <cstdint>
#include <string>

namespace purview::net {

struct OperatorAnswer {
    std::string text;     ///< the answer; empty on failure
    std::string problem;  ///< error text; empty on success
};

/// Connects, sends the request, waits for the answer (at most five seconds), and closes.
OperatorAnswer query_operator(const std::string& host, std::uint16_t port, const std::string& token,
                              const std::string& request);

}  // namespace purview::net
