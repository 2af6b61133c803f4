// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Construction of observer ids. Only the engine creates them.
#pragma once

#include <cstdint>

#include "purview/types.hpp"

namespace purview {

constexpr ObserverId make_observer_id(std::uint32_t index, std::uint32_t generation) noexcept {
    return ObserverId{(generation << observer_index_bits) | index};
}

}  // namespace purview
