// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// One question to a running server's operator channel, for command lines.
#pragma once

#include <cstdint>
#include <string>

namespace purview::net {

struct OperatorAnswer {
    std::string text;     ///< what came back; empty when something went wrong
    std::string problem;  ///< what went wrong, for people
};

/// Connects, asks, waits for the one answer (five seconds at most), and closes.
OperatorAnswer ask_operator(const std::string& host, std::uint16_t port, const std::string& token,
                            const std::string& request);

}  // namespace purview::net
