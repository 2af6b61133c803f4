// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Updates of ghosts with extrapolated fields: whether an update is needed, and its body. A body
// contains differences to the prediction of a state that the observer has acknowledged. It belongs
// to one observer and depends neither on other observers nor on data that this one is not sent.
// Must not depend on sessions or budgets.
#pragma once

#include <vector>

#include "replication/encode_cache.hpp"
#include "replication/ghost_table.hpp"

namespace purview {

/// Returns whether the observer's prediction of the extrapolated fields is wrong.
bool shows_wrong(const FieldStore& fields, const GhostTable& ghosts, LocalId slot,
                 Tick tick) noexcept;

/// Returns whether that is so, or another field that the observer is sent changed in this tick.
bool is_off(const FieldStore& fields, const GhostTable& ghosts, LocalId slot, Tick tick) noexcept;

/// Returns whether differences can be sent: the observer has the state that they refer to.
bool has_baseline(const GhostTable& ghosts, LocalId slot, Tick tick) noexcept;

/// Returns whether the fields have not changed for as long as a move by one step takes at the
/// predicted speed. Their values are then sent in full, with speed 0.
bool has_become_idle(const FieldStore& fields, const GhostTable& ghosts, LocalId slot,
                     Tick tick) noexcept;

/// Appends the predictor states of a ghost that is sent in full.
void append_still(const FieldStore& fields, std::uint32_t entity_index, const KindLayout& layout,
                  std::vector<Motion>& motions);

/// Encodes a plain update against the baseline: the fields of `mask`, none of them extrapolated,
/// and all extrapolated fields. Appends the predictor states that follow from it.
EncodedFields encode_differences(const FieldStore& fields, const GhostTable& ghosts, LocalId slot,
                                 FieldMask mask, Tick tick, EncodeCache& cache,
                                 std::vector<Motion>& motions);

}  // namespace purview
