// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Evaluates each kernel for one observer and one entity in one tick, implemented from the
// documentation in purview/rules.hpp alone. A kernel with a margin has three results: in, out, and
// "in if it was in before". The oracle determines the previous result.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <vector>

#include "oracle/truth_records.hpp"
#include "purview/rules.hpp"

namespace purview::check {

/// An entity as kernels see it in one tick. Positions are flat: a coordinate that does not count is
/// 0.
struct EntityView {
    EntityId id = EntityId::none;
    bool is_unit = false;
    bool has_position = false;
    Vec3 position;
    float range = 0;
    float group_radius_m = 0;
    std::uint32_t joins = 0;
    const TruthEntity* facts = nullptr;  ///< set only for the newest tick
};

/// An area with a shape, at its position in this tick; flat.
struct ShapeView {
    Area area;
    float cosine = 1;  ///< for a cone: of its half angle
    float sine = 0;
    Vec3 axis;  ///< for a cone: its direction, of length 1
};

/// An observer as kernels see it in one tick.
struct ObserverView {
    ObserverId id = ObserverId::none;
    std::uint32_t times_ready = 0;
    std::array<std::vector<Vec3>, 4> positions;  ///< by Viewpoints; flat
    std::vector<ShapeView> shapes;
    float range = 0;
    float lookahead_s = 0;
    std::array<Key, Schema::keys_max> keys{};  ///< in force, by domain
    std::vector<TruthKey> more_keys;           ///< of its own and of its main entity
    Vec3 velocity;                             ///< of its main entity
    const TruthObserver* facts = nullptr;      ///< set only for the newest tick

    const std::vector<Vec3>& from(Viewpoints viewpoints) const {
        return positions[static_cast<std::size_t>(viewpoints)];
    }
};

enum class Zone : std::uint8_t {
    out = 0,
    margin = 1,  ///< matches if it matched before
    in = 2,
};

struct StepResult {
    bool unknown = false;
    Zone zone = Zone::out;
    float score = 1;
};

/// The result of a custom kernel, by a second implementation in the caller. `was`: its result in
/// the previous tick.
enum class CustomAnswer : std::uint8_t { no, yes, unknown };
using CustomTwin =
    std::function<CustomAnswer(const Kernel&, const ObserverView&, const EntityView&, bool was)>;

/// The frame of positions: which axes count, and where cells begin.
struct Frame {
    Axes axes = Axes::xy;
    Vec3 cells_from;  ///< flat

    Vec3 flat(Vec3 position) const;
    /// The second counted coordinate.
    float second(Vec3 position) const { return axes == Axes::xz ? position.z : position.y; }
};

/// Squared distance in float arithmetic, coordinate by coordinate. This defines distance in every
/// part of the library.
float squared(Vec3 a, Vec3 b);

/// Whether the kernel has a margin, so that its past counts.
bool has_margin(const Kernel& kernel);

/// Evaluates a kernel for each of `entities`. Custom kernels are not allowed. `owned`: by entity
/// index.
void evaluate_kernel(const Frame& frame, const Kernel& kernel,
                     const std::vector<std::uint8_t>& owned, const ObserverView& observer,
                     std::span<const EntityView* const> entities, std::span<StepResult> results);

/// Precomputes a cone's axis and angle. `area` is flat and at its current position.
ShapeView shape_view(const Area& area);

}  // namespace purview::check
