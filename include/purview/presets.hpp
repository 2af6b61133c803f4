// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors

/// @file
/// Rules with the defaults of other systems, as a start for users who come from them
/// (docs/coming-from-*.md). Everything can be changed afterwards.
#pragma once

#include <cstdint>

#include "purview/rules.hpp"

namespace purview {

/// @addtogroup api_interest
/// @{

/// A system that provides the defaults.
enum class Preset : std::uint8_t {
    ngo = 0,     ///< Unity Netcode: all entities to all observers, until nodes are bound
    mirror = 1,  ///< distance 10 around the viewpoint entity, which an observer must have
    fusion = 2,  ///< areas of interest; ownership gives no relevance; ghosts are retained
    phaser = 3,  ///< cells of 34 x 20, one ring
};

/// Returns the rules of a preset. The caller adds bounds, flags, keys and kinds. The bounds are 0
/// to 1024 along each axis that counts: all three, but only x and y for Preset::phaser.
Rules preset(Preset preset);

/// @}

}  // namespace purview
