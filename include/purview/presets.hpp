// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Rules with the defaults of other systems, to start with when coming from one of them
// (docs/coming-from-*.md). Everything can be changed afterwards.
#pragma once

#include <cstdint>

#include "purview/rules.hpp"

namespace purview {

enum class Preset : std::uint8_t {
    ngo = 0,     ///< Unity Netcode: everything to everybody until nodes are bound
    mirror = 1,  ///< distance around the viewpoint entity, which an observer must have
    fusion = 2,  ///< areas of interest; owning shows nothing; what leaves is retained
    phaser = 3,  ///< cells of 34 x 20, one ring
};

/// Returns the rules of a preset. Bounds, flags, keys and kinds are the caller's to add.
Rules preset(Preset preset);

}  // namespace purview
