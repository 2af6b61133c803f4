// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The scratch memory and the results of one thread of the window pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "interest/relations/row_store.hpp"
#include "interest/rules/evaluate.hpp"
#include "interest/windows/scan.hpp"
#include "interest/windows/score_list.hpp"
#include "purview/area.hpp"
#include "purview/types.hpp"

namespace purview {

/// The positions and areas that an observer views from.
struct Sight {
    std::vector<Vec3> positions;    ///< horizontal axes first: owned, main, areas without a shape
    std::vector<Vec3> outer;        ///< only if y is up: main and areas, in the caller's axes
    std::vector<Area> areas;        ///< with a shape
    std::vector<Area> outer_areas;  ///< only if y is up: the same in the caller's axes
    std::vector<EntityId> owned;
    std::size_t owned_positions = 0;
    std::size_t main_positions = 0;
};

/// The scan of one observer.
struct ObserverScan {
    std::uint32_t observer = 0;
    Sight sight;
    std::vector<const Row*> pulled;
    std::optional<ScanInput> input;  ///< refers to the members above
};

/// A bit of a window that differs from that of the last tick.
struct WindowChange {
    EntityId unit;
    ObserverId observer;
    bool enter;
    bool is_there;             ///< the cull group has not been despawned
    std::uint16_t wait_ticks;  ///< see Toggle
};

struct WindowWorker {
    WindowWorker() = default;
    WindowWorker(const WindowWorker&) {}  ///< a copy starts with empty memory
    WindowWorker(WindowWorker&&) = default;
    WindowWorker& operator=(const WindowWorker&) = delete;
    WindowWorker& operator=(WindowWorker&&) = delete;
    ~WindowWorker() = default;

    ScanScratch scratch;
    ObserverScan observer_scan;
    ScoreList scores;  ///< for the entities that changed
    MeasureScratch measure;
    std::vector<EntityId> special;      ///< of one observer (ChangedScores)
    std::vector<float> special_scores;  ///< [special] scores
    std::vector<std::uint32_t> moved;   ///< observers that were scanned in full
    struct Chunk {
        std::uint32_t number;
        std::size_t end;  ///< index after its last change
    };
    std::vector<Chunk> chunks;
    std::vector<WindowChange> changes;
};

}  // namespace purview
