// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// An element of the result of Answers::observers_covering().
#pragma once

#include <compare>
#include <cstdint>

#include "purview/types.hpp"

namespace purview {

/// An entity at the position with this index would be relevant to the observer by a spatial step.
struct Covering {
    std::uint32_t position;
    ObserverId observer;
    // NOLINTNEXTLINE(modernize-use-nullptr): the 0 of <=> is none.
    friend auto operator<=>(const Covering&, const Covering&) = default;
};

}  // namespace purview
