// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What each kernel says of one observer and one entity in one tick, from the words of
// purview/rules.hpp and nothing else. A kernel with a margin has three answers: in, out, and "in if
// it was in before"; what was before is the oracle's business.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <vector>

#include "oracle/truth_records.hpp"
#include "purview/rules.hpp"

namespace purview::check {

/// An entity as kernels see it in one tick. Places are flat: a coordinate that does not count is 0.
struct EntityView {
    EntityId id = EntityId::none;
    bool is_unit = false;
    bool has_position = false;
    Vec3 position;
    float range = 0;
    float group_radius_m = 0;
    std::uint32_t joins = 0;
    const TruthEntity* facts = nullptr;  ///< of the newest tick only
};

/// An area with a shape, where it is in this tick; flat.
struct ShapeView {
    Area area;
    float cosine = 1;  ///< of a cone: of its half angle
    float sine = 0;
    Vec3 axis;  ///< of a cone: its direction, of length 1
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
    const TruthObserver* facts = nullptr;      ///< of the newest tick only

    const std::vector<Vec3>& from(Viewpoints look) const {
        return positions[static_cast<std::size_t>(look)];
    }
};

enum class Zone : std::uint8_t {
    out = 0,
    margin = 1,  ///< yes for whoever was in before
    in = 2,
};

struct Said {
    bool unknown = false;
    Zone zone = Zone::out;
    float score = 1;
};

/// What a kernel of the caller's own says, by the caller's own twin of it. `was`: its answer of the
/// tick before.
enum class CustomAnswer : std::uint8_t { no, yes, unknown };
using CustomTwin =
    std::function<CustomAnswer(const Kernel&, const ObserverView&, const EntityView&, bool was)>;

/// The frame in which places are meant: which axes count, and where cells begin.
struct Frame {
    Axes axes = Axes::xy;
    Vec3 cells_from;  ///< flat

    Vec3 flat(Vec3 position) const;
    /// The second counted coordinate.
    float second(Vec3 position) const { return axes == Axes::xz ? position.z : position.y; }
};

/// float arithmetic, coordinate by coordinate: the definition of distance in every part of the
/// library.
float squared(Vec3 a, Vec3 b);

/// True if the kernel has a margin, so that its past counts.
bool has_margin(const Kernel& kernel);

/// What a kernel says of each of `entities`; every kernel but custom ones. `owned`: by index of the
/// entity.
void say(const Frame& frame, const Kernel& kernel, const std::vector<std::uint8_t>& owned,
         const ObserverView& observer, std::span<const EntityView* const> entities,
         std::span<Said> said);

/// A cone's axis and angle made ready; `area` is flat and stands where it is now.
ShapeView shape_view(const Area& area);

}  // namespace purview::check
