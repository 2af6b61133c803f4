// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Movement of players and carts by the inputs of their owners: one function for the server and for
// clients with prediction. Results are identical on all platforms, because it calls only exact
// functions of the C library.
#pragma once

#include <array>

#include "angle.hpp"
#include "purview/group_input.hpp"
#include "vale_schema.hpp"

namespace vale {

/// Minimum number of ticks between two shots.
inline constexpr std::uint8_t cooldown_ticks = 6;

/// Returns {cos, sin} of an angle in radians, of any size that occurs in a vale.
std::array<float, 2> direction(float angle) noexcept;

class ValeStep final : public purview::GroupStep {
  public:
    /// Both must outlive this object. Without ground data a client predicts free movement and is
    /// corrected.
    ValeStep(const Setup& setup, const ValeSchema& schema) : setup_(&setup), schema_(&schema) {}
    void step(purview::GroupState& group, const purview::GroupInput& command) override;
    /// Returns true if the last step fired the gun of this member.
    bool has_fired(const purview::GroupState& group, const purview::GroupInput& command,
                   std::size_t member) const noexcept;

  private:
    void walk(purview::GroupState& group, const purview::GroupInput& command) const;
    void drive(purview::GroupState& group, const purview::GroupInput& command) const;
    void aim(purview::GroupState& group, const purview::GroupInput& command,
             std::size_t member) const;
    void go(Position& position, float dx, float dy) const;

    const Setup* setup_;
    const ValeSchema* schema_;
};

}  // namespace vale
