// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// purview rules: prints the rules of a running server as a file that can be edited, tried and
// applied.
#pragma once

#include <string>

#include "operator_request.hpp"

namespace purview::app {

struct RulesOptions {
    OperatorAddress at;
    std::string try_path;    ///< file with [interest] rules to evaluate without applying them
    std::string apply_path;  ///< file with nodes that replace the current rules
    /// Apply the rules even if they exceed the server's limit of relevant entities.
    bool force = false;
    bool json = false;
};

/// Returns 0 if answered; 1 if there is no server or the rules are wrong. Nothing changes in that
/// case.
int run_rules(const RulesOptions& options);

}  // namespace purview::app
