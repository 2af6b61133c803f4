// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The last state that an observer saw of a retained ghost. When the ghost is resumed, the observer
// is sent what differs from that state. It must not detect that a value was written while the ghost
// was hidden if the value is the same again.
#pragma once

#include <vector>

#include "replication/field_store.hpp"
#include "replication/packet_records.hpp"

namespace purview {

class GhostTable;

struct KeptCopy {
    FieldMask unknown = 0;             ///< fields that may differ from `words` on the client
    std::vector<std::uint32_t> words;  ///< of all parts of the kind, one after the other
};

/// Makes the copy for a slot that was just retained. The field store must have the state that the
/// observer saw last.
KeptCopy make_copy(const FieldStore& fields, const GhostTable& ghosts, LocalId slot);
/// For a resumed slot with this copy, returns the fields that the observer is not known to have
/// with their current values, references excepted.
FieldMask unknown_fields(const KeptCopy& copy, const FieldStore& fields, const GhostTable& ghosts,
                         LocalId slot) noexcept;

}  // namespace purview
