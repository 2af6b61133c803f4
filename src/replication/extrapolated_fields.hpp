// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Updates of ghosts with dead-reckoned (extrapolated) fields: whether an update is needed, and its
// body. A body contains the differences between the values and a prediction from a state that the
// observer acknowledged. It is encoded for one observer and depends neither on other observers nor
// on data that this observer does not receive. Must not depend on sessions or budgets.
#pragma once

#include <vector>

#include "replication/encode_cache.hpp"
#include "replication/ghost_table.hpp"

namespace purview {

/// Returns whether the observer's prediction of a dead-reckoned field is wrong.
bool is_prediction_wrong(const FieldStore& fields, const GhostTable& ghosts, LocalId slot,
                         Tick tick) noexcept;

/// Returns whether is_prediction_wrong() is true or another allowed field changed in this tick.
bool needs_update(const FieldStore& fields, const GhostTable& ghosts, LocalId slot,
                  Tick tick) noexcept;

/// Returns whether differences can be sent: the observer has the state that they refer to, and the
/// newest tick with a known delivery status is at most baseline_ticks_max ticks old.
bool has_baseline(const GhostTable& ghosts, LocalId slot, Tick tick) noexcept;

/// Returns whether the prediction has moved a field by at least one quantization step since the
/// fields last changed. The values are then sent in full, with speed 0.
bool has_become_idle(const FieldStore& fields, const GhostTable& ghosts, LocalId slot,
                     Tick tick) noexcept;

/// Appends predictor states with speed 0, for a ghost that is sent in full.
void append_idle_states(const FieldStore& fields, std::uint32_t entity_index,
                        const KindLayout& layout, std::vector<Motion>& motions);

/// Encodes a plain update against the baseline: the fields of `mask`, which must not be
/// dead-reckoned, and all dead-reckoned fields. Appends the predictor states after the update.
EncodedFields encode_differences(const FieldStore& fields, const GhostTable& ghosts, LocalId slot,
                                 FieldMask mask, Tick tick, EncodeCache& cache,
                                 std::vector<Motion>& motions);

}  // namespace purview
