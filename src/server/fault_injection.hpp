// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Fault injection, to test that the checks detect faults. It has an effect only if the sources are
// compiled with PURVIEW_BREAKABLE.
#pragma once

#include <cstdint>

namespace purview {

enum class InjectedFault : std::uint8_t {
    none,
    leak,
    stale,
    field,
    order,
    unsent,
    unsaid,
    audience
};

}  // namespace purview
