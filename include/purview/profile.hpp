// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Defaults as other systems have them, to begin with when coming from one of them
// (docs/coming-from-*.md). Everything can be changed afterwards.
#pragma once

#include <string_view>

#include "purview/interest.hpp"

namespace purview {

enum class Profile : std::uint8_t {
    ngo = 0,     ///< Unity Netcode: everything to everybody until nodes are bound
    mirror = 1,  ///< distance around the main entity, which an observer must have
    fusion = 2,  ///< areas of interest, owners see nothing by owning, copies freeze
    phaser = 3,  ///< a grid of cells of 34 x 20, one ring
};
/// `ngo`, `mirror`, `fusion`, `phaser`.
std::string_view to_string(Profile profile) noexcept;

/// A definition with the profile's rules and flags. Bounds, flags, keys and kinds are the caller's
/// to add.
InterestDef profile(Profile profile);

}  // namespace purview
