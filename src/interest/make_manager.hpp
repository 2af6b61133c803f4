// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Makes a manager with a setting that only tests and benchmarks need.
#pragma once

#include <memory>

#include "core/internal_access.hpp"
#include "interest/engine.hpp"
#include "purview/interest.hpp"

namespace purview {

inline InterestManager make_manager(const Rules& rules, WindowUpdate window_update,
                                    const LogSink& log = {}) {
    InterestManager manager(rules, log);
    InternalAccess::pointer(static_cast<Visibility&>(manager)) =
        std::make_unique<InterestEngine>(rules, log, window_update);
    return manager;
}

}  // namespace purview
