// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// purview rules: rules of a running server, shown as a file that can be edited, tried and applied.
#pragma once

#include <string>

#include "operator_question.hpp"

namespace purview::app {

struct RulesOptions {
    OperatorAddress at;
    std::string try_path;    ///< what would its [interest] change?
    std::string apply_path;  ///< use its nodes from now on
    bool force = false;      ///< whatever they cost
    bool json = false;
};

/// 0: answered; 1: no server, or the rules are wrong: nothing was changed.
int run_rules(const RulesOptions& options);

}  // namespace purview::app
