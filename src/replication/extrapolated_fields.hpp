// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Updates of ghosts with extrapolated fields: when there is anything to tell, and the body that
// tells it as differences to what a motion says that the observer has acknowledged. Such bodies are
// the observer's own; nothing in them depends on another one, or on what he is not told. Must not
// know: sessions, budgets.
#pragma once

#include <vector>

#include "replication/encode_cache.hpp"
#include "replication/ghost_table.hpp"

namespace purview {

/// The observer does not see the extrapolated fields of the ghost as they are.
bool shows_wrong(const FieldStore& fields, const GhostTable& ghosts, LocalId lane,
                 Tick tick) noexcept;

/// That, or something else of it that he is told changed in this tick.
bool is_off(const FieldStore& fields, const GhostTable& ghosts, LocalId lane, Tick tick) noexcept;

/// Differences can be told: the observer has the motion against which they are.
bool has_baseline(const GhostTable& ghosts, LocalId lane, Tick tick) noexcept;

/// It has stood for as long as it should have taken it to move a step: it is told as it is, and
/// that it stands.
bool has_come_to_rest(const FieldStore& fields, const GhostTable& ghosts, LocalId lane,
                      Tick tick) noexcept;

/// Appends the motions of a ghost that is told whole.
void append_still(const FieldStore& fields, std::uint32_t entity_index, const KindLayout& layout,
                  std::vector<Motion>& motions);

/// The body of a plain update against the baseline: fields of `mask`, none of them extrapolated,
/// and all extrapolated ones. Appends the motions that follow from it.
EncodedFields encode_differences(const FieldStore& fields, const GhostTable& ghosts, LocalId lane,
                                 FieldMask mask, Tick tick, EncodeCache& cache,
                                 std::vector<Motion>& motions);

}  // namespace purview
