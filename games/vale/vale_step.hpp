// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// How players and carts move by what their owners say: one function for the server and for clients
// that predict. Numbers are the same everywhere: of the C library only what is exact is asked.
#pragma once

#include <array>

#include "angle.hpp"
#include "purview/group_input.hpp"
#include "vale_schema.hpp"

namespace vale {

/// A gun fires once in so many ticks.
inline constexpr std::uint8_t cooldown_ticks = 6;

/// {cos, sin} of an angle in radians, of any size that a vale has.
std::array<float, 2> direction(float angle) noexcept;

class ValeStep final : public purview::GroupStep {
  public:
    /// Both must outlive it. Without ground a client believes that it can go everywhere, and is
    /// corrected.
    ValeStep(const Setup& setup, const ValeSchema& schema) : setup_(&setup), schema_(&schema) {}
    void step(purview::GroupState& group, const purview::GroupInput& command) override;
    /// Whether the gun of a member has fired with the step that has just been made.
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
