// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The result of an inverse query.
#pragma once

#include <compare>
#include <cstdint>

#include "purview/types.hpp"

namespace purview {

/// An entity at the position with this index would be relevant to the observer.
struct Covering {
    std::uint32_t position;
    ObserverId observer;
    // NOLINTNEXTLINE(modernize-use-nullptr): the 0 of <=> is none.
    friend auto operator<=>(const Covering&, const Covering&) = default;
};

}  // namespace purview
