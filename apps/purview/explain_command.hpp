// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// purview explain: a question to the operator channel of a running server.
#pragma once

#include <cstdint>

#include "operator_question.hpp"

namespace purview::app {

struct ExplainOptions {
    OperatorAddress at;
    std::uint64_t observer = 0;
    std::uint64_t entity = 0;
    bool json = false;
};

/// 0: answered; 1: no server, no such observer or entity.
int run_explain(const ExplainOptions& options);

}  // namespace purview::app
