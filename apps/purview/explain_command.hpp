// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// purview explain: sends an explain query to the operator channel of a running server.
#pragma once

#include <cstdint>

#include "operator_request.hpp"

namespace purview::app {

struct ExplainOptions {
    OperatorAddress at;
    std::uint64_t observer = 0;
    std::uint64_t entity = 0;
    bool json = false;
};

/// Returns 0 if answered; 1 if there is no server, no such observer or no such entity.
int run_explain(const ExplainOptions& options);

}  // namespace purview::app
